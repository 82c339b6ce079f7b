"""
Copies, and why divided importances mislead
===========================================

**What is asked.** Two features act on a response with the same strength. Then someone
measures the first of them again: once, twice, four times, each time with a small error.
The world has not changed. Does the importance of the first feature change?

Explanations of models divide what features predict: Shapley values by their definition,
permutation importance because a tree uses one copy or the other. The more copies there
are, the less each of them gets. Here this is seen on a table that is small enough to
compute Shapley values *exactly*: no approximation and no explainer library takes part.
"""

from itertools import combinations
from math import comb

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import umfi

rng = np.random.default_rng(1)
n_rows = 300
x1, x2, unrelated = rng.standard_normal((3, n_rows))
y = pd.Series(x1 + x2 + 0.5 * rng.standard_normal(n_rows), name="y")


def table_with(n_copies):
    """Return the three features and so many noisy copies of the first."""
    copies = {
        f"copy{k + 1}": x1 + 0.1 * rng.standard_normal(n_rows) for k in range(n_copies)
    }
    return pd.DataFrame({"x1": x1, "x2": x2, "unrelated": unrelated, **copies})


# %%
# Exact Shapley values
# --------------------
#
# The Shapley value of a feature is a weighted mean of what it adds to each set of the
# others. The value of a set is here its predictive power: the out-of-bag R² of a forest
# on these columns, and 0 for no columns. With seven columns there are 128 sets, and
# :func:`umfi.predictive_power` scores them in seconds.


def shapley_values(X):
    """Return the exact Shapley value of R² for each feature."""
    names = list(X)
    power = {(): 0.0}
    for size in range(1, len(names) + 1):
        for subset in combinations(names, size):
            power[subset] = umfi.predictive_power(X[list(subset)], y, random_state=0)
    values = {}
    for name in names:
        others = [other for other in names if other != name]
        values[name] = sum(
            (power[tuple(c for c in names if c in (*subset, name))] - power[subset])
            / (len(names) * comb(len(others), size))
            for size in range(len(names))
            for subset in combinations(others, size)
        )
    return pd.Series(values)


# %%
# Copies are added
# ----------------
#
# Three kinds of importance for tables with 0, 1, 2 and 4 copies. Permutation importance
# is in units of squared error; divided by the variance of the response it is in R² too.

n_copies_tried = [0, 1, 2, 4]
found = {"ultra-marginal": [], "Shapley, exact": [], "permutation": []}
for n_copies in n_copies_tried:
    X = table_with(n_copies)
    found["ultra-marginal"].append(
        umfi.ultra_marginal(X, y, repeats=5, random_state=0).importances
    )
    found["Shapley, exact"].append(shapley_values(X))
    permuted = umfi.permutation(X, y, repeats=5, random_state=0).importances
    found["permutation"].append(permuted / y.var())

of_x1 = pd.DataFrame(
    {method: [one["x1"] for one in tables] for method, tables in found.items()},
    index=pd.Index(n_copies_tried, name="copies of x1"),
)
print(of_x1.round(2))

# %%
# The same for x2, which has no copy:

of_x2 = pd.DataFrame(
    {method: [one["x2"] for one in tables] for method, tables in found.items()},
    index=of_x1.index,
)
print(of_x2.round(2))

# %%
# Without copies all three say that x1 and x2 matter about alike. With one copy, the
# Shapley value of x1 is half of what it was, and with four it is a sixth: 0.07 beside
# 0.46 for x2. Permutation importance falls to about a third. The ultra-marginal
# importance of x1 stays between 0.42 and 0.44.
#
# As a picture, relative to the table without copies:

styles = {
    "ultra-marginal": ("#0072B2", "o"),
    "Shapley, exact": ("#D55E00", "s"),
    "permutation": ("#E69F00", "^"),
}
_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for method, (colour, marker) in styles.items():
    kept = of_x1[method] / of_x1[method].iloc[0]
    ax.plot(
        n_copies_tried, kept, color=colour, marker=marker, linewidth=2.2, label=method
    )
ax.axhline(1.0, color="0.6", linewidth=0.8, linestyle=":")
ax.set_xticks(n_copies_tried)
ax.set_xlabel("noisy copies of x1 in the table")
ax.set_ylabel("importance of x1, relative to no copies")
ax.set_ylim(0.0, 1.15)
ax.set_title("Copies of a feature, and what is left of its importance", loc="left")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# All features of the table with four copies:

print(pd.DataFrame({method: tables[-1] for method, tables in found.items()}).round(2))

# %%
# The copies are as important as x1 itself with ultra-marginal importance, up to their
# errors, and the unrelated feature has nothing with any of the three.
#
# **What not to conclude.** Shapley values are not wrong. They answer another question:
# how to divide the power of *these columns*, so that the parts add up to the whole.
# Then a copy has to take something away from its original. Ultra-marginal importances
# do not add up to anything: x1 and each copy count in full, because each of them is
# related to y. If you want to know which columns to measure again, ask for what cannot
# be replaced (:func:`umfi.ablation`, :func:`umfi.decompose`); none of the copies can
# claim that here. And a table of 300 rows has its own noise: differences of a few
# hundredths between the rows above mean nothing.
