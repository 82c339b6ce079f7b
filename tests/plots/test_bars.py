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
    assert "R²" in umfi.bivariate(X, y > 0, power=power).plot().get_xlabel()
    voting = umfi.ForestPower(n_trees=2, measure="accuracy")
    assert "accuracy" in umfi.bivariate(X, y > 0, power=voting).plot().get_xlabel()
    assert "mean squared error" in umfi.permutation(X, y, power=power).plot().get_xlabel()


def test_two_hundred_features_and_dollar_signs_are_drawn():
    figure = make_result(200, target="price $a_$ of").plot().figure
    figure.canvas.draw()
    assert figure.get_size_inches()[1] <= 46


def test_features_that_are_not_related_are_pale_and_intervals_are_drawn():
    X, y = umfi.datasets.simulate("blood_relation", n=200, random_state=0)
    result = umfi.ultra_marginal(
        X,
        y,
        test="permutation",
        repeats=20,
        subsample=0.5,
        power=umfi.ForestPower(n_trees=20),
        random_state=0,
    )
    ax = result.plot()
    is_pale = [bar.get_facecolor() != ax.patches[0].get_facecolor() for bar in ax.patches]
    assert is_pale == (~result.table["related"]).tolist()
    assert is_pale == [False, False, True, True]
    assert "95 % intervals" in ax.get_xlabel()
    lines = ax.containers[0].lines[2][0].get_segments()
    bounds = result.table[["low", "high"]].to_numpy()
    drawn = np.array([line[:, 0] for line in lines])
    importances = result.table["importance"].to_numpy()
    np.testing.assert_allclose(drawn[:, 0], np.minimum(bounds[:, 0], importances))
    np.testing.assert_allclose(drawn[:, 1], np.maximum(bounds[:, 1], importances))


def test_stacked_bars_add_up_to_the_importance():
    X, y = umfi.datasets.simulate("blood_relation", n=200, random_state=0)
    result = umfi.decompose(X, y, repeats=1, subsample=None, random_state=0)
    ax = result.plot()
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(4, 4)
    importances = result.table["importance"].to_numpy()
    np.testing.assert_allclose(widths[0] + widths[1], importances, atol=1e-12)
    np.testing.assert_allclose(widths[2] + widths[3], importances, atol=1e-12)
    # What lies below zero hangs to the left, what lies above stands to the right.
    for bar in ax.patches:
        assert bar.get_x() * bar.get_width() >= 0.0
    assert len(ax.get_legend().get_texts()) == 5
    _, given = plt.subplots()
    assert result.plot(ax=given) is given


def make_partners(n_features):
    names = [f"gene ${number}$" for number in range(n_features)]
    rng = np.random.default_rng(0)
    pairs = [(one, other) for one in names for other in names if one < other]
    table = pd.DataFrame(pairs, columns=["feature", "partner"])
    for effect, verdict in (("sharing", "shares"), ("interaction", "interacts")):
        table[effect] = rng.uniform(0.0, 0.3, len(table))
        table[verdict] = rng.random(len(table)) < 0.05
    return umfi.Partners(table, {"target": "$y$"})


def test_a_network_of_fifty_features_has_a_line_for_each_pair_found():
    found = make_partners(50)
    ax = found.plot()
    n_lines = int(found.table["shares"].sum() + found.table["interacts"].sum())
    assert len(ax.patches) == n_lines
    ax.figure.canvas.draw()
    assert len(ax.texts) == 50
    none = umfi.Partners(found.table.assign(shares=False, interacts=False), {})
    assert none.plot().texts[-1].get_text() == "no pair was found"
    _, given = plt.subplots()
    assert found.plot(ax=given) is given


def test_comparisons_have_a_column_of_bars_for_each_result():
    X, y = umfi.datasets.simulate("correlation", n=80, random_state=0)
    found = umfi.compare(X, y, methods=["ablation", "permutation"], random_state=0)
    axes = found.plot()
    assert [ax.get_xlabel() for ax in axes] == ["R²", "mean squared error"]
    assert [len(ax.patches) for ax in axes] == [4, 4]
    _, given = plt.subplots(1, 2)
    assert list(found.plot(axes=list(given))) == list(given)
