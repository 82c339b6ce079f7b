"""The answer in words, what to beware of, and the code that repeats a result."""

import numpy as np
import pandas as pd
import pytest

import umfi
from umfi.report import answer_in_words
from umfi.report.words import check_in_words, code_of, question_in_words

POWER = umfi.ForestPower(n_trees=10)


def make_result(p_values=None, leaks=(), repeats=1, **settings):
    names = [f"f{number}" for number in range(1, 8)]
    scores = pd.DataFrame(
        [
            (n, r, 0.9 - 0.1 * i, 0.5, 0.4 - 0.1 * i)
            for r in range(repeats)
            for i, n in enumerate(names)
        ],
        columns=["feature", "repeat", "score_with", "score_without", "importance"],
    )
    tests = None
    if p_values is not None:
        tests = pd.DataFrame(
            {
                "feature": names,
                "p_value": p_values,
                "tail": False,
                "n_permutations": 99,
                "leakage": 0.0,
                "leaks": [name in leaks for name in names],
            }
        )
    defaults = {"method": "ultra_marginal", "target": "yield", "measure": "R²", "n_rows": 500}
    return umfi.ImportanceResult(scores, defaults | settings, tests)


def levels(result):
    return {check.title: check.level for check in check_in_words(result)}


def test_related_features_are_counted_and_named():
    result = make_result([0.001] * 6 + [0.9])
    first, second, third = answer_in_words(result)
    assert first == (
        "6 of 7 features are related to 'yield' at a false discovery rate of 5 %: "
        "'f1', 'f2', 'f3', 'f4', 'f5' and 1 more."
    )
    assert second == "The strongest is 'f1': with it the R² is 0.9, without it 0.5."
    assert "does not prove" in third


def test_no_relation_and_one_relation_read_well():
    none = answer_in_words(make_result([0.9] * 7, alpha=0.01))
    assert none[0].startswith("None of 7 features is found to be related to 'yield'")
    assert "of 1 %" in none[0]
    one = answer_in_words(make_result([0.0001] + [0.9] * 6))
    assert one[0].startswith("1 of 7 features is related")


def test_without_a_test_the_answer_says_so():
    sentences = answer_in_words(make_result())
    assert sentences[0].startswith(
        "Of 7 features, 'f1', 'f2', 'f3' have the largest importance for 'yield'"
    )
    assert "No test" in sentences[-1]


def test_every_method_has_its_question():
    from umfi.importance import METHODS

    for method in METHODS:
        assert "'yield'" in question_in_words(make_result(method=method))


def test_leakage_is_a_warning_and_its_absence_is_good():
    assert levels(make_result([0.01] * 7))["No leakage beyond chance"] == "good"
    assert levels(make_result([0.01] * 7, leaks=["f2"]))["Leakage"] == "warning"
    assert levels(make_result())["Leakage was not measured"] == "note"
    assert levels(make_result(method="ablation"))["Correlated features"] == "note"


def test_the_weakness_of_each_method_is_reported():
    assert "Features alone" in levels(make_result(method="bivariate"))
    assert "Maxima" in levels(make_result(method="marginal_contribution"))
    sentences = answer_in_words(make_result(method="permutation"))
    assert sentences[-1].startswith("This method has no test")


def test_errors_are_reported_without_their_minus():
    X, y = umfi.datasets.simulate("correlation", n=80, random_state=0)
    result = umfi.permutation(X, y, power=POWER, random_state=0)
    sentence = answer_in_words(result)[1]
    assert "mean squared error is" in sentence
    assert "-" not in sentence


def test_a_run_that_stopped_early_says_nothing_of_what_it_did_not_test():
    X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    result = umfi.ultra_marginal(X, y, test="permutation", time_limit=0.01, random_state=0)
    assert "stopped early" in answer_in_words(result)[-1]
    assert levels(result)["Leakage was not measured"] == "note"
    assert result.tests["leakage"].isna().all()


def test_few_rows_and_many_features_are_reported():
    assert levels(make_result(n_rows=60))["Few rows"] == "warning"
    assert levels(make_result(n_rows=200, n_features=5000))["More features than rows"] == "note"
    assert levels(make_result(n_rows=500))["Enough rows"] == "good"


@pytest.mark.parametrize(
    ("sizes", "measure", "title"),
    [
        ([480, 20], "accuracy", "Unequal classes"),
        ([480, 20], "AUC", "Classes"),
        ([490, 10], "AUC", "A rare class"),
        ([250, 250], "accuracy", "Classes"),
    ],
)
def test_unequal_classes_are_reported(sizes, measure, title):
    data = {"class_sizes": sizes, "tied": [], "kinds": {}}
    result = make_result(data=data, classes=["no", "yes"], measure=measure)
    assert title in levels(result)


def test_what_the_data_are_like_is_found_out_by_every_method():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=80), "b": np.repeat(range(8), 10), "c": list("xy") * 40})
    y = np.where(rng.normal(size=80) > 1, "yes", "no")
    data = umfi.bivariate(X, y, power=POWER, random_state=0).settings["data"]
    assert data["kinds"] == {"continuous": 2, "boolean": 1}
    assert data["tied"] == ["b"]
    assert sorted(data["class_sizes"]) == sorted(np.unique(y, return_counts=True)[1].tolist())


def test_the_code_gives_the_result_again():
    X, y = umfi.datasets.simulate("correlation", n=80, random_state=0)
    result = umfi.ultra_marginal(
        X, y, remover=umfi.TransportRemover(rows_per_bin=30), power=POWER, repeats=2, random_state=7
    )
    code = code_of(result)
    assert "random_state=7" in code
    assert "task='regression'" in code
    again = eval(code, {"umfi": umfi, "X": X, "y": y})
    pd.testing.assert_series_equal(again.importances, result.importances, check_exact=True)
