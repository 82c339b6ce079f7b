"""
What goes with streamflow
=========================

**What is asked.** Some rivers carry much water for the size of their catchment, others
little. Which attributes of a catchment go with mean streamflow: climate, soil, geology,
topography or vegetation?

CAMELS (Addor et al. 2017) has 29 attributes of 643 catchments of the United States
without missing values. They are strongly tied to each other: each is predicted by the
others with an R² of 0.66 to 0.98 (:doc:`/removal`). In such a table it matters most
what a method does with information that several features carry.
"""

import matplotlib.pyplot as plt

import umfi

X, y = umfi.datasets.load_camels()
print(X.shape, y.name)

# %%
# Three questions, three answers
# ------------------------------
#
# Joint removal is the default, and the remover for this table
# (:doc:`plot_choosing_a_remover`). All three methods use extra-trees, in one run each:
# enough for a picture, not for a paper.

found = umfi.compare(
    X,
    y,
    methods=["ultra_marginal", "ablation", "permutation"],
    powers=["extra-trees"],
    remover="joint",
    random_state=0,
)
axes = found.plot()
plt.show()

# %%
# All three put mean precipitation first and aridity second. Then they part.
#
# * **Ultra-marginal** (is it related?): the frequencies of dry and of very wet days
#   follow, then forest cover, seasonality and slope. Porosity and permeability of the
#   bedrock and porosity of the soil are among the last, around zero.
# * **Ablation** (what can no other replace?): nearly nothing of anything. Even
#   precipitation has no more than 0.04, because the other 28 attributes predict it well
#   enough. The frequency of dry days has less than nothing.
# * **Permutation** (what does this forest rely on?): an order much like the first, in
#   squared millimetres per day. What several attributes predict is divided among them,
#   so its sizes depend on which other columns the table happens to have.

print(found.ranks.head(10).to_string(index=False))

# %%
# Groups
# ------
#
# The question was about climate, soil and the rest, not about single columns. A group
# is protected as one: the other attributes lose their information about *all* its
# members. This is the mean of three repeats.

groups = {
    "climate": list(X.loc[:, "p_mean":"low_prec_dur"]),
    "geology": list(X.loc[:, "carbonate_rocks_frac":"geol_permeability"]),
    "soil": list(X.loc[:, "soil_depth_pelletier":"clay_frac"]),
    "topography": list(X.loc[:, "elev_mean":"slope_mean"]),
    "vegetation": list(X.loc[:, "frac_forest":"root_depth_99"]),
}
of_groups = umfi.ultra_marginal(
    X,
    y,
    groups=groups,
    remover="joint",
    power="extra-trees",
    repeats=3,
    random_state=0,
)
of_groups.plot()
plt.show()

# %%
# Climate has nearly all there is to know. Vegetation comes second with half as much,
# topography and soil follow, and geology is last. These numbers overlap and do not add
# up to anything: plants grow where it rains, and what both predict of streamflow counts
# for both.
#
# **What not to conclude.** Forest cover goes with streamflow; that does not mean that
# planting a forest brings water. Rain brings both. An attribute with a small importance
# may act on streamflow in one region and not in another, which one number for all
# catchments does not show. Whether a small importance is more than chance is for
# ``test="permutation"`` to decide. And neighbouring catchments are not independent
# draws, so p-values of this table would be too small, and its intervals are too narrow.
