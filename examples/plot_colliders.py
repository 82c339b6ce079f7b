"""
Colliders, and what is guaranteed
=================================

**What is asked.** A feature can help to predict a response without having anything to
do with it. That happens behind a *collider*, a feature on which two independent causes
act. Which methods fall for it? And what does ultra-marginal importance promise, under
which assumptions?

The table is the simulation of section 4.1.4 of the paper. The cause of y is hidden. It
acts on y and on x3. x1 acts on x2, and x2 on x3; neither acts on y.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import umfi

X, y = umfi.datasets.simulate("blood_relation", n=600, random_state=0)

# sphinx_gallery_start_ignore
places = {
    "x1": (0.0, 0.0),
    "x2": (1.0, 0.0),
    "x3": (2.0, 0.0),
    "hidden\ncause": (3.0, 0.0),
    "y": (4.0, 0.0),
    "x4": (5.0, 0.0),
}
arrows = [
    ("x1", "x2"),
    ("x2", "x3"),
    ("hidden\ncause", "x3"),
    ("hidden\ncause", "y"),
    ("y", "x4"),
]
colours = {"x3": "#0072B2", "x4": "#0072B2", "y": "#D55E00", "hidden\ncause": "#DDDDDD"}
_, ax = plt.subplots(figsize=(7, 1.5), layout="constrained")
for start, end in arrows:
    arrow = {"arrowstyle": "-|>", "color": "0.3", "shrinkA": 22, "shrinkB": 22}
    ax.annotate("", xy=places[end], xytext=places[start], arrowprops=arrow)
for name, (across, up) in places.items():
    colour = colours.get(name, "#B8CCD8")
    is_dark = colour in ("#0072B2", "#D55E00")
    ax.plot(across, up, "o", color=colour, markersize=38)
    ax.text(
        across,
        up,
        name,
        horizontalalignment="center",
        verticalalignment="center",
        fontsize=9,
        color="white" if is_dark else "black",
    )
ax.set_xlim(-0.5, 5.5)
ax.set_ylim(-0.5, 0.5)
ax.set_axis_off()
plt.show()
# sphinx_gallery_end_ignore

# %%
# Blue features are related to y: x4 is its effect, x3 has a cause in common with it. x1
# and x2 are not related to it. Both arrows at x3 point towards it, so no influence
# passes through.
#
# Who falls for it
# ----------------
#
# But where x3 is known, x2 reveals what in x3 is *not* about y.

methods = ["ultra_marginal", "ablation", "permutation", "marginal_contribution"]
found = umfi.compare(X, y, methods=methods, repeats=3, random_state=0)
axes = found.plot()
print(found)

# %%
# Ultra-marginal importance gives x1 and x2 nothing, and x3 and x4 all there is.
# Ablation gives x2 twice as much as x4. Permutation importance gives x2 about half of
# what x3 has. Marginal contribution puts x2 level with x3, before x4. None of these is
# a mistake in arithmetic: each of them measures what x2 adds *once x3 is known*, and
# that is much.
#
# With p-values
# -------------
#
# The test gives the same answer with an error rate.

result = umfi.ultra_marginal(X, y, test="permutation", random_state=0)
print(result)

# %%
# x4 and x3 are found, x1 and x2 are not.
#
# What holds, and under which assumptions
# ---------------------------------------
#
# Two features are *blood related* if one is an ancestor of the other or if both have a
# common ancestor, seen or hidden (section 2.2). Let S be independent of x, which
# removal is there for, and let no effects cancel each other exactly (faithfulness).
# Then
#
# * a feature that is blood related to y has an importance above zero, whatever the
#   distributions (the remarks after theorem 3.1);
# * a feature that is not blood related has the importance zero if the table is Gaussian
#   (theorem 3.1), if S and x have no information together beyond their own (theorem
#   C.5), or if what removal makes is faithful as well (theorem C.4).
#
# That is about the importance of the ideal power and endless rows. In a table, the test
# takes the place of "above zero".
#
# Where it ends: removal fails
# ----------------------------
#
# Another collider, x3 = x1² + 0.5 × hidden cause. Its dependence on x1 has no linear
# part, so linear removal leaves all of it. Transport regresses inside bins of about 150
# rows along x1, which are four bins here; a third remover has bins of 50.

rng = np.random.default_rng(0)
x1, hidden_cause = rng.standard_normal((2, 600))
curved = pd.DataFrame({"x1": x1, "x3": x1**2 + 0.5 * hidden_cause})
response = pd.Series(hidden_cause + 0.3 * rng.standard_normal(600), name="y")
removers = {
    "linear": "linear",
    "transport, 150 rows per bin": "transport",
    "transport, 50 rows per bin": umfi.TransportRemover(rows_per_bin=50),
}
rows = {}
for name, remover in removers.items():
    found = umfi.ultra_marginal(
        curved,
        response,
        remover=remover,
        test="permutation",
        random_state=0,
    )
    of_x1 = found.table.set_index("feature").loc["x1"]
    rows[name] = of_x1[["importance", "p_value", "related", "leakage", "leaks"]]
print(pd.DataFrame(rows).T)

# %%
# x1 is unrelated to y. With linear removal it is called related, and the result itself
# warns that it cannot be trusted: a leakage of 0.8. With transport in four bins it is
# called related as well, with a ninth of the importance, and *nothing* is flagged: the
# curve inside a bin is too weak for a forest to predict x1 from what is left of x3, and
# still strong enough to be of use once y is looked at. With bins of 50 rows it is not
# called related.
#
# So a leakage of zero is needed, and is not a proof. Where you know of strong curves
# between features, try smaller bins and check whether the answer stays.
# :doc:`plot_choosing_a_remover` shows more.
#
# Where it ends: an unfaithful table
# ----------------------------------
#
# A coin decides the sign of x3. x3 is then independent of the coin, although the coin
# acts on it: this is what faithfulness forbids. There is nothing to remove, and coin
# and x3 together determine the hidden cause.

coin = rng.choice([-1.0, 1.0], 600)
unfaithful = pd.DataFrame({"coin": coin, "x3": hidden_cause * coin})
print(umfi.ultra_marginal(unfaithful, response, test="permutation", random_state=0))

# %%
# The coin has no causal relation to y, and is found. What the test claims is still
# true: the coin is *not* independent of x3 and y taken together. The step from there to
# causes is what fails.
#
# **What not to conclude.** "Related" does not show which way an arrow points: x4 is an
# effect of y, x3 has a hidden cause in common with it, and neither would change y if it
# were changed. A feature that is not found is not shown to be unrelated. And where rows
# were chosen by something that both a feature and the response act on, such as patients
# who came to a hospital, the table itself is behind a collider, which no method can
# see.
