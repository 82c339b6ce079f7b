"""
Does removal work here?
=======================

**What is asked.** Ultra-marginal importance rests on S, what is left of the other
features when their information about one feature has been removed. Is it really
removed? With which remover? And how much does the answer depend on it?

The table is a hard one: nine attributes of the climate of 643 catchments (CAMELS),
which predict each other nearly in full. The whole table of 29 attributes is on the page
:doc:`/removal`.
"""

from textwrap import fill

import matplotlib.pyplot as plt

import umfi

climate = [
    "p_mean",
    "pet_mean",
    "p_seasonality",
    "frac_snow",
    "aridity",
    "high_prec_freq",
    "high_prec_dur",
    "low_prec_freq",
    "low_prec_dur",
]
X, y = umfi.datasets.load_camels()
X = X[climate]

# %%
# Diagnose first
# --------------
#
# :func:`umfi.diagnose` removes each feature from the others, and then lets forests look
# for it.

removers = ["linear", "transport", "joint"]
found = umfi.diagnose(X, y, remover=removers, random_state=0)
found.plot()
plt.show()

# %%
# The black line is where things stand before removal: the other eight attributes
# predict each one with an R² of 0.7 and more. Whatever lies in the green band is as
# good as nothing. Linear removal leaves most of what there was. Transport leaves about
# half of that. Joint removal is in the band or just above it.

print(found.summary.round(2).to_string(index=False))

# %%
# * *leakage*: R² of the feature from what is left, mean over the features; *worst*: the
#   largest;
# * *retention*: how well S and the feature still predict the response, as a fraction of
#   how well all features do as they are;
# * *distortion*: how far the transformed columns are from the originals (0: not at
#   all).
#
# There is a price: with less leakage goes less retention. Linear removal keeps 98 % of
# the power, and fails for all nine features. Joint removal keeps 83 %; six
# features are good and three are doubtful. The advice in words:

for sentence in found.advice:
    print(fill(sentence, 84))

# %%
# What it does to importances
# ---------------------------
#
# One run for each remover, with extra-trees, which suit tables in which many columns
# carry the same information.

methods = {name: {"method": "ultra_marginal", "remover": name} for name in removers}
compared = umfi.compare(X, y, methods=methods, powers=["extra-trees"], random_state=0)
axes = compared.plot()
plt.show()
print(compared)

# %%
# Precipitation and aridity lead with all three. But the sizes differ: linear removal
# gives precipitation 0.27 and joint removal 0.84, aridity 0.10 and 0.78. Where the
# others still carry information about a feature, its importance is only what it adds to
# them.
#
# A rule of thumb
# ---------------
#
# 1. Stay with ``remover="joint"``, the default: it is as gentle as it can be.
# 2. Run :func:`umfi.diagnose`. If joint removal leaves doubtful features, protect those
#    that predict each other as one group, or leave one of them out.
# 3. ``"linear"`` is for tables that are close to Gaussian, and for very wide ones.
#
# **What not to conclude.** Importances of different removers are not on one scale, so
# do not compare 0.27 with 0.84 as if they were measurements of the same thing: compare
# features within a column. And a good diagnosis is a sign, not a proof;
# :doc:`plot_colliders` has a case that it misses.
