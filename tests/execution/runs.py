"""The run that tests break off: importances of subsamples with intervals, and a test."""

import umfi

POWER = umfi.ForestPower(n_trees=60)


def table():
    X, y = umfi.datasets.simulate("correlation", n=200, random_state=1)
    return X.assign(flag=X["x2"] > 0, again=X["x1"]), y


def run(**arguments):
    X, y = table()
    settings = {
        "power": POWER,
        "repeats": 20,
        "subsample": 0.5,
        "test": "permutation",
        "max_permutations": 60,
        "random_state": 5,
        "n_jobs": 2,
    }
    return umfi.ultra_marginal(X, y, **(settings | arguments))
