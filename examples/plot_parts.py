"""
Alone or together, replaceable or not
=====================================

**What is asked.** Two features can have the same importance for different reasons. One
is informative by itself, another only together with a partner. One carries information
that no other has, another what three others carry too. :func:`umfi.decompose`
distinguishes these.

The table is made so that the answers are known:

* ``light`` and ``warmth`` act only together, as their product;
* ``rain`` acts by itself;
* ``wetness`` is a noisy copy of rain;
* ``noise`` does nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import umfi

rng = np.random.default_rng(0)
n_rows = 400
light, warmth, rain, noise = rng.standard_normal((4, n_rows))
wetness = rain + 0.2 * rng.standard_normal(n_rows)
X = pd.DataFrame(
    {"light": light, "warmth": warmth, "rain": rain, "wetness": wetness, "noise": noise}
)
y = pd.Series(light * warmth + rain + 0.3 * rng.standard_normal(n_rows), name="growth")

# %%
# One run; the intervals come from the rows of its fits.

result = umfi.decompose(X, y, power="extra-trees", random_state=0)
result.plot()
plt.show()

# %%
# Two bars per feature. The upper one is split into what the feature predicts alone and
# what only together with others, the lower one into what nothing can replace and what
# others predict too. A black line marks the importance.
#
# Rain and wetness are informative alone, and all they predict is replaceable: by the
# other of the two. Light and warmth predict nothing alone and much together, and
# nothing can take the place of either. Noise has nothing. With intervals:

print(result)

# %%
# The truth of ``together`` is 0 for rain and wetness, and the estimates are. The truth
# of ``replaceable`` is 0 for light and warmth. For light it comes out below, although
# nothing here is behind a collider: what is irreplaceable takes two fits, whose noise
# the interval does not show, and which find somewhat more than the one fit of the
# importance.
#
# Which feature is the partner?
# -----------------------------
#
# :func:`umfi.partners` looks at pairs. Two features are asked about, each with all
# others.

found = umfi.partners(X, y, ["light", "rain"], power="extra-trees", random_state=0)
for sentence in found.summary:
    print(sentence)
found.plot()
plt.show()

# %%
# **What not to conclude.** Replaceable does not mean superfluous: rain acts on growth,
# and its copy does not. The table cannot show which of two near-copies is the cause.
# Irreplaceable means "by the columns of this table". And the test of pairs is cautious:
# a pair that is not named may still interact, weakly or among three.
