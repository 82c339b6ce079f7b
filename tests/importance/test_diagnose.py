"""Diagnosis: leakage before and after, retention, distortion, verdicts and advice."""

import numpy as np
import pandas as pd
import pytest

import umfi
from umfi.errors import InputError
from umfi.removal.distortion import mic_e


@pytest.fixture(scope="module")
def twisted():
    """Two columns that predict x only together."""
    rng = np.random.default_rng(0)
    x, first, second = rng.normal(size=(3, 500))
    second = np.where(x > 0.0, first + 0.3 * second, -first + 0.3 * second)
    X = pd.DataFrame({"x": x, "first": first, "second": second})
    return X, X["x"] + X["first"]


@pytest.fixture(scope="module")
def diagnosis(twisted):
    return umfi.diagnose(*twisted, remover=["transport", "joint"], random_state=0)


def test_removers_that_fail_are_distinguished_from_those_that_do_not(diagnosis):
    table = diagnosis.table.set_index(["remover", "feature"])
    assert table.loc[("transport", "x"), "before"] > 0.4
    assert table.loc[("transport", "x"), "leakage"] > 0.4
    assert table.loc[("transport", "x"), "verdict"] == "failed"
    assert table.loc[("joint", "x"), "leakage"] < 0.05
    assert table.loc[("joint", "x"), "verdict"] != "failed"
    assert table["retention"].between(0.5, 1.05).all()
    assert table["distortion"].between(0.0, 1.0).all()


def test_advice_is_in_words(diagnosis):
    text = " ".join(diagnosis.advice)
    assert "transport: " in text
    assert "Use joint removal, the default, instead of 'transport'." in text
    assert diagnosis.advice[0] in repr(diagnosis)
    assert "<table" in diagnosis._repr_html_()


def test_summary_counts_verdicts(diagnosis):
    summary = diagnosis.summary.set_index("remover")
    assert (summary[["good", "doubtful", "failed"]].sum(axis=1) == 3).all()
    assert summary.loc["transport", "failed"] == 3


def test_the_picture_has_a_line_before_and_one_for_each_remover(diagnosis):
    ax = diagnosis.plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["before", "transport", "joint"]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["x", "first", "second"]


def test_without_a_response_there_is_no_retention(twisted):
    found = umfi.diagnose(twisted[0], remover="linear", random_state=0)
    assert found.table["retention"].isna().all()
    assert "retention" not in repr(found)


def test_it_is_the_same_for_any_number_of_workers(twisted):
    first, second = (
        umfi.diagnose(*twisted, remover="joint", random_state=1, n_jobs=n_jobs).table
        for n_jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(first, second, check_exact=True)


def test_a_remover_cannot_hide_leakage_by_fitting_these_rows():
    """One that moves each row by what a nearest neighbour predicts fools forests, not copies."""

    class Overfitted:
        def remove(self, columns, protected, *, protocol, rng):
            values = columns.values.copy()
            for block in protected:
                x = block.values[:, 0]
                order = np.argsort(x)
                rows = values[order]
                # Neighbours in x are pushed apart: out of the bag they predict the wrong way.
                push = np.where(np.arange(len(x)) % 2 == 0, 1.0, -1.0)[:, np.newaxis]
                values[order] = rows + 1.5 * push * rows.std(axis=0)
            return columns.with_changed(values)

    rng = np.random.default_rng(2)
    x = rng.normal(size=400)
    X = pd.DataFrame({"x": x, "follower": x + rng.normal(size=400)})
    found = umfi.diagnose(X, remover=Overfitted(), random_state=0).table
    assert found.loc[0, "excess"] > 0.05
    assert found.loc[0, "verdict"] != "good"


def test_groups_and_kinds_are_diagnosed():
    rng = np.random.default_rng(3)
    soil = rng.choice(["clay", "sand", "silt"], 400)
    wet = (soil == "clay") + 0.3 * rng.normal(size=400)
    X = pd.DataFrame({"soil": soil, "wet": wet, "rain": rng.normal(size=400)})
    X.loc[::9, "rain"] = np.nan
    found = umfi.diagnose(
        X, groups={"climate": ["wet", "rain"]}, missing="level", remover="joint", random_state=0
    )
    assert found.table["feature"].tolist() == ["soil", "climate"]
    assert (found.table["verdict"] == "good").all()


def test_levels_too_rare_to_judge_are_doubtful_and_said_to_be():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"site": rng.integers(0, 60, 200).astype(str), "rain": rng.normal(size=200)})
    found = umfi.diagnose(X, random_state=0)
    assert found.table["verdict"].tolist() == ["doubtful", "good"]
    assert len(found.advice) == 1
    assert found.advice[0].startswith("joint: 'site' has levels of too few rows to show")


def test_what_makes_no_sense_is_refused():
    X, _ = umfi.datasets.simulate("correlation", n=60, random_state=0)
    with pytest.raises(InputError, match=r"remover=\[\] names no remover"):
        umfi.diagnose(X, remover=[])
    with pytest.raises(InputError, match="did you mean 'joint'"):
        umfi.diagnose(X, remover=["linear", "jiont"])
    with pytest.raises(InputError, match="names a remover twice"):
        umfi.diagnose(X, remover=["linear", "linear"])
    with pytest.raises(InputError, match="All columns are constant"):
        umfi.diagnose(0.0 * X)
    with pytest.raises(InputError, match="no other features that 'all'"):
        umfi.diagnose(X, groups={"all": list(X)})
    with pytest.raises(InputError, match="no other features that 'x1'"):
        umfi.diagnose(X[["x1"]])


@pytest.mark.parametrize("n_rows", [100, 500])
def test_mic_e_is_one_for_functions_and_small_for_independence(n_rows):
    rng = np.random.default_rng(n_rows)
    x, y = rng.normal(size=(2, n_rows))
    assert mic_e(x, np.exp(-x)) == pytest.approx(1.0, abs=1e-12)
    assert mic_e(x, x**2) > 0.85
    # The expected information of independent columns: (k - 1)(l - 1) / 2n nats and what the choice
    # of cuts adds.
    assert mic_e(x, y) < 0.25
    assert mic_e(x, y) == mic_e(np.exp(x), y**3) == mic_e(y, x)


def test_mic_e_of_two_by_two_cells_is_their_mutual_information():
    table = np.array([[30, 10], [5, 15]])
    rows, columns = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], table.ravel(), axis=0).T
    p = table / table.sum()
    expected = (p * np.log(p / np.outer(p.sum(1), p.sum(0)))).sum() / np.log(2)
    assert mic_e(rows.astype(float), columns.astype(float)) == pytest.approx(expected)
