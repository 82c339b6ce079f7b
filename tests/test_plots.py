import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import umfi


def make_result(n_features, repeats=1, **settings):
    rng = np.random.default_rng(0)
    scores = pd.DataFrame(
        [
            (f"feature ${number}$", repeat, 1.0, 0.5, rng.normal())
            for repeat in range(repeats)
            for number in range(n_features)
        ],
        columns=["feature", "repeat", "score_with", "score_without", "importance"],
    )
    return umfi.ImportanceResult(scores, settings)


def test_bars_stand_in_the_order_of_the_table():
    result = make_result(6)
    ax = result.plot()
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == result.table["importance"].tolist()
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_axes_can_be_given():
    _, ax = plt.subplots()
    assert make_result(3).plot(ax=ax) is ax


def test_repeats_get_error_bars_and_a_label():
    ax = make_result(3, repeats=4, measure="accuracy").plot()
    assert "accuracy, ± spread over 4 repeats" in ax.get_xlabel()
    assert len(ax.containers) == 2


def test_units_are_named():
    X, y = umfi.datasets.simulate("correlation", n=40, random_state=0)
    power = umfi.ForestPower(n_trees=2)
    assert "R²" in umfi.bivariate(X, y, power=power).plot().get_xlabel()
    assert "accuracy" in umfi.bivariate(X, y > 0, power=power).plot().get_xlabel()
    assert "mean squared error" in umfi.permutation(X, y, power=power).plot().get_xlabel()


def test_two_hundred_features_and_dollar_signs_are_drawn():
    figure = make_result(200, target="price $a_$ of").plot().figure
    figure.canvas.draw()
    assert figure.get_size_inches()[1] <= 46
