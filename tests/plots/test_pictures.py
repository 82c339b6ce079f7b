"""Pictures of stability, redundancy and leakage; sizes, names and files."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import umfi
from umfi.plots import draw_svg, plot_comparison, plot_importances, plot_redundancy, plot_stability
from umfi.plots.style import plain_text


def make_result(n_features, repeats=5, names=None, **settings):
    rng = np.random.default_rng(0)
    names = names or [f"feature {number}" for number in range(n_features)]
    rows = [
        (name, repeat, 1.0, 0.5, 1.0 / (1 + place) + 0.02 * rng.normal())
        for repeat in range(repeats)
        for place, name in enumerate(names)
    ]
    columns = ["feature", "repeat", "score_with", "score_without", "importance"]
    return umfi.ImportanceResult(pd.DataFrame(rows, columns=columns), settings)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def test_a_result_draws_what_it_is_asked_for():
    result = make_result(5)
    assert result.plot().get_xlabel().startswith("importance")
    assert result.plot(kind="stability").get_xlabel() == "rank in each of 5 repeats"
    with pytest.raises(umfi.InputError, match="did you mean 'stability'"):
        result.plot(kind="stabilty")
    with pytest.raises(umfi.InputError, match=r"run umfi\.decompose"):
        result.plot(kind="parts")
    with pytest.raises(umfi.InputError, match="are no axes"):
        result.plot("importance.png")


def test_stability_shows_the_median_rank_of_each_feature():
    result = make_result(6)
    ax = plot_stability(result)
    ranks = result.scores.groupby("repeat")["importance"].rank(ascending=False)
    medians = ranks.groupby(result.scores["feature"]).median()
    assert list(ax.lines[0].get_xdata()) == medians[result.table["feature"]].tolist()
    with pytest.raises(umfi.InputError, match="repeats=20"):
        plot_stability(make_result(3, repeats=1))


@pytest.mark.parametrize("n_features", [1, 5, 30, 200])
@pytest.mark.parametrize("draw", [plot_importances, plot_stability])
def test_names_do_not_overlap(draw, n_features):
    ax = draw(make_result(n_features))
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert len(boxes) == n_features
    edges = sorted((box.y0, box.y1) for box in boxes)
    assert all(low >= before - 1 for (_, before), (low, _) in pairwise(edges))
    left = min(box.x0 for box in boxes)
    assert left >= 0


def test_small_axes_get_small_letters():
    _, small = plt.subplots(figsize=(4, 3))
    plot_importances(make_result(60), ax=small)
    assert small.get_yticklabels()[0].get_fontsize() < 5
    assert plot_importances(make_result(5)).get_yticklabels()[0].get_fontsize() == 9


def test_more_features_than_are_looked_at_are_said_to_be_there():
    ax = make_result(250).plot()
    assert len(ax.patches) == 200
    assert "the first 200 of 250 features" in [text.get_text() for text in ax.texts]
    assert len(make_result(50).plot(max_features=10).patches) == 10


def test_a_diagnosis_that_stopped_early_is_drawn_with_gaps():
    table = pd.DataFrame(
        {
            "remover": ["linear", "linear", "joint"],
            "feature": ["a", "b", "b"],
            "before": [0.5, 0.4, 0.4],
            "leakage": [0.1, 0.2, 0.0],
        }
    )
    ax = umfi.Diagnosis(table, {}).plot()
    joint = next(line for line in ax.lines if line.get_label() == "joint")
    assert np.isnan(joint.get_ydata()[0])
    assert joint.get_ydata()[1] == 0.0


def test_redundancy_puts_alike_features_side_by_side():
    rng = np.random.default_rng(0)
    blocks = rng.normal(size=(300, 3))
    table = np.repeat(blocks, 2, axis=1) + 0.1 * rng.normal(size=(300, 6))
    X = pd.DataFrame(table[:, [0, 2, 4, 1, 3, 5]], columns=list("abcABC"))
    X["soil"] = rng.choice(["clay", None, "sand"], size=300)
    ax = plot_redundancy(X)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert all(abs(names.index(one) - names.index(one.upper())) == 1 for one in "abc")
    picture = ax.images[0].get_array()
    assert picture.shape == (7, 7)
    assert picture[names.index("a"), names.index("A")] > 0.9
    assert picture[names.index("a"), names.index("b")] < 0.1


def test_gaps_do_not_make_alike_features_look_different():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    X = pd.DataFrame({"a": x, "b": x + 0.1 * rng.normal(size=200), "c": rng.normal(size=200)})
    for name in X:
        X.loc[rng.choice(200, 10), name] = np.nan
    ax = plot_redundancy(X)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert ax.images[0].get_array()[names.index("a"), names.index("b")] > 0.9


def test_redundancy_of_few_and_of_many_features_is_drawn():
    rng = np.random.default_rng(0)
    for n_features in (1, 2, 200):
        table = rng.normal(size=(30, n_features))
        names = [f"x{number}" for number in range(n_features)]
        ax = plot_redundancy(pd.DataFrame(table, columns=names))
        ax.figure.canvas.draw()
        order = [names.index(label.get_text()) for label in ax.get_yticklabels()]
        assert sorted(order) == list(range(n_features))
        # Squared rank correlations, less what is expected by chance, as adjusted R² is.
        squares = pd.DataFrame(table).corr("spearman").to_numpy() ** 2
        adjusted = np.clip(1.0 - (1.0 - squares) * 29 / 28, 0.0, 1.0)
        drawn = ax.images[0].get_array()
        np.testing.assert_allclose(drawn, adjusted[np.ix_(order, order)], atol=1e-12)


def test_the_caller_keeps_its_axes_and_table():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=list("abc"))
    before = X.copy()
    _, ax = plt.subplots()
    assert plot_redundancy(X, ax=ax) is ax
    pd.testing.assert_frame_equal(X, before)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("$a_b$", r"\$a_b\$"),
        ("two\nlines\tand more", "two lines and more"),
        ("\x1b[31mred", "\N{REPLACEMENT CHARACTER}[31mred"),
        ("", "(no name)"),
        ("x" * 100, "x" * 16 + "…" + "x" * 15),
    ],
)
def test_names_are_one_line_of_plain_text(name, shown):
    assert plain_text(name) == shown


def test_pictures_for_pages_have_the_ink_of_the_page_and_are_the_same_each_time():
    result = make_result(5, names=["<script>", "a & b", "基因", "$x$", "#010203"])
    first, second = draw_svg(result.plot), draw_svg(result.plot)
    assert first == second
    assert "currentColor" in first
    assert "<script>" not in first
    assert "&lt;script&gt;" in first
    assert "基因" in first
    assert "#010203" in first
    assert "<metadata" not in first
    assert not plt.get_fignums()


def test_methods_side_by_side_share_their_order():
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    powers = [umfi.ForestPower(n_trees=5)]
    found = umfi.compare(X, y, methods=["ablation", "bivariate"], powers=powers, random_state=0)
    axes = plot_comparison(found)
    order = [label.get_text() for label in axes[0].get_yticklabels()]
    assert order == found.table["feature"].tolist()
