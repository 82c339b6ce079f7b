"""A result in words: the question, the answer, what to beware of, the code that repeats it."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from umfi.errors import listed
from umfi.importance import METHODS
from umfi.importance.result import ImportanceResult
from umfi.power import POWERS

__all__ = ["Check", "answer_in_words", "check_in_words", "code_of", "question_in_words"]

# Fewer rows than this leave much to chance, in all and in a class.
MIN_ROWS_FOR_WEAK_RELATIONS, MIN_CLASS_ROWS = 100, 20
# With a commonest class of this proportion, accuracy hardly moves.
UNEQUAL_PROPORTION = 0.8
N_NAMED, N_LEADING = 5, 3
# What a call has anyway wherever it can, so that code need not ask for it.
IMPLIED = {"protocol": "one-fit"}


class Check(NamedTuple):
    """Something that a reader should know.

    Attributes
    ----------
    level : {"good", "note", "warning"}
    title, text : str
    """

    level: str
    title: str
    text: str


HIDDEN_CORRELATED = Check(
    "note",
    "Correlated features",
    "This method leaves correlated features as they are, so they can hide each other's importance; "
    "with ultra_marginal they do not.",
)
# Of methods that remove nothing.
WEAKNESSES = {
    "bivariate": Check(
        "note",
        "Features alone",
        "Each feature was used by itself: what it adds only beside others is missed.",
    ),
    "marginal_contribution": Check(
        "note",
        "Maxima",
        "The largest of many noisy differences is taken, so unrelated features come out above "
        "zero.",
    ),
}
UNMEASURED_LEAKAGE = Check(
    "note",
    "Leakage was not measured",
    "Whether the other features still carry information about each feature after removal is not "
    "known; diagnose or a complete run with a permutation test measures it.",
)
NO_LEAKAGE = Check(
    "good",
    "No leakage beyond chance",
    "After removal, the other features predict no feature better than its permuted copies, beyond "
    "0.05 in R² or what chance can do.",
)
ONE_RUN = Check(
    "note",
    "One run",
    "Everything was computed once, so noise is not seen; 20 repeats on a fraction of 0.5 of the "
    "rows give intervals.",
)


def question_in_words(result: ImportanceResult) -> str:
    """Return what was asked."""
    method = METHODS.get(str(result.settings.get("method")))
    question = "What is related to {}?" if method is None else method.question
    return question.format(_target(result))


def answer_in_words(result: ImportanceResult) -> list[str]:
    """Return the answer in two sentences or three.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("blood_relation", n=300, random_state=0)
    >>> result = umfi.ultra_marginal(X, y, test="permutation", random_state=0)
    >>> answer_in_words(result)[0]
    "2 of 4 features are related to 'y' at a false discovery rate of 5 %: 'x4', 'x3'."
    """
    table = result.table
    n_features = len(table)
    features = "1 feature" if n_features == 1 else f"{n_features} features"
    target = _target(result)
    if result.tests is None:
        leading = table["feature"].head(max(1, min(N_LEADING, n_features // 2)))
        has = "has" if len(leading) == 1 else "have"
        return [
            f"Of {features}, {listed(leading)} {has} the largest importance for {target}.",
            _strongest(result, str(leading.iloc[0])),
            _no_test(result),
        ]
    so_far = "So far " if result.settings.get("stopped") is not None else ""
    level = f"at a false discovery rate of {100 * result.settings.get('alpha', 0.05):g} %"
    related = table["feature"][table["related"]]
    n_other = n_features - len(related)
    if len(related) == 0:
        none = "the only feature is not" if n_features == 1 else f"none of {features} is"
        none = so_far + none if so_far else none.capitalize()
        return [f"{none} found to be related to {target} {level}.", _on_others(result, n_other)]
    are = "is" if len(related) == 1 else "are"
    found = f"{so_far}{len(related)} of {features} {are} related to {target} {level}"
    sentences = [f"{found}: {listed(related, N_NAMED)}.", _strongest(result, str(related.iloc[0]))]
    return [*sentences, _on_others(result, n_other)] if n_other > 0 else sentences


def _on_others(result: ImportanceResult, n_others: int) -> str:
    """Return what is not said about features that are not found to be related."""
    if result.settings.get("n_undecided"):
        return (
            "The run stopped early, before all features were tested to the end, so nothing is said "
            "about the others."
        )
    others = "it" if n_others == 1 else f"the other {n_others}"
    return (
        f"For {others} the table shows no relation beyond chance, which does not prove that there "
        "is none."
    )


def _no_test(result: ImportanceResult) -> str:
    method = METHODS.get(str(result.settings.get("method")))
    if method is None or not method.is_tested:
        return "This method has no test, so importances are not compared with chance."
    return (
        "No test was run, so importances are not compared with chance; a permutation test would "
        "do that."
    )


def _strongest(result: ImportanceResult, feature: str) -> str:
    own = result.scores[result.scores["feature"] == feature].mean(numeric_only=True)
    measure = str(result.settings.get("measure", "score"))
    # Scores are larger where they are better, so errors are stored with a minus.
    sign = -1.0 if measure.endswith("error") else 1.0
    return (
        f"The strongest is {feature!r}: with it the {measure} is {sign * own['score_with']:.3g}, "
        f"without it {sign * own['score_without']:.3g}."
    )


def _target(result: ImportanceResult) -> str:
    return repr(str(result.settings.get("target", "y")))


def check_in_words(result: ImportanceResult) -> list[Check]:
    """Return what to beware of, and what is in order."""
    settings = result.settings
    checks = [_check_leakage(result), _check_rows(result)]
    data = settings.get("data", {})
    sizes = data.get("class_sizes") or []
    if sizes and len(sizes) == len(settings.get("classes", ())):
        checks.append(_check_classes(settings, sizes))
    tied = data.get("tied") or []
    if tied:
        text = (
            f"{listed(tied)} {'holds' if len(tied) == 1 else 'hold'} many equal values. Equal "
            "values are ranked at random when they are transformed; if they are labels rather "
            "than measurements, set kinds to say so."
        )
        checks.append(Check("note", "Ties", text))
    if result.n_repeats == 1 and "low" not in result.table:
        checks.append(ONE_RUN)
    return [*checks, *(Check("note", "Note", note) for note in settings.get("notes", ()))]


def _check_leakage(result: ImportanceResult) -> Check:
    """Return the weakness of a method that removes nothing, or else how well removal worked."""
    method = str(result.settings.get("method"))
    if method in METHODS and METHODS[method].hides_correlated:
        return HIDDEN_CORRELATED
    if method in WEAKNESSES:
        return WEAKNESSES[method]
    if result.tests is None or result.tests["leakage"].isna().all():
        return UNMEASURED_LEAKAGE
    leaking = result.tests["feature"][result.tests["leaks"].astype(bool)]
    if len(leaking) == 0:
        return NO_LEAKAGE
    remover = str(result.settings.get("remover")).partition("(")[0]
    is_joint = remover in ("joint", "JointRemover")
    way_out = "" if is_joint else "Joint removal, the default, removes more. "
    text = (
        f"For {len(leaking)} of {len(result.tests)} features, the other features still carry "
        f"information about them after removal: {listed(leaking)}. Their p-values may be too "
        f"small. {way_out}Diagnose shows how much is left."
    )
    return Check("warning", "Leakage", text)


def _check_rows(result: ImportanceResult) -> Check:
    n_rows = int(result.settings.get("n_rows", 0))
    if n_rows == 0:
        return Check("note", "Rows", "How many rows there were is not known.")
    n_features = int(result.settings.get("n_features", len(result.importances)))
    if n_rows < MIN_ROWS_FOR_WEAK_RELATIONS:
        text = f"{n_rows} rows leave much to chance: weak relations will not be found."
        return Check("warning", "Few rows", text)
    if n_features > n_rows:
        text = (
            f"There are more features ({n_features:,}) than rows ({n_rows:,}): some will look "
            "related by chance, which only the q-values allow for."
        )
        return Check("note", "More features than rows", text)
    return Check("good", "Enough rows", f"{n_rows:,} rows for {n_features:,} features.")


def _check_classes(settings: dict[str, Any], sizes: list[int]) -> Check:
    classes = [str(label) for label in settings.get("classes", ())]
    by_size = sorted(zip(sizes, classes, strict=True))
    (least, rarest), (most, commonest) = by_size[0], by_size[-1]
    if least < MIN_CLASS_ROWS:
        rows = "row" if least == 1 else "rows"
        text = f"Class {rarest!r} has {least} {rows}, too few to learn what predicts it."
        return Check("warning", "A rare class", text)
    proportion = most / sum(sizes)
    if proportion > UNEQUAL_PROPORTION and settings.get("measure") == "accuracy":
        text = (
            f"{100 * proportion:.0f} % of the rows are {commonest!r}, so accuracy hardly moves: "
            "the measures 'auc' and 'balanced_accuracy' are more sensitive."
        )
        return Check("warning", "Unequal classes", text)
    counts = ", ".join(f"{label!r} {size:,}" for size, label in reversed(by_size[-N_NAMED:]))
    return Check("good", "Classes", f"Rows of each class: {counts}.")


def code_of(result: ImportanceResult) -> str:
    """Return the call that gives this result again, with what differs from the defaults.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=100, random_state=0)
    >>> remover = umfi.LinearRemover()
    >>> print(code_of(umfi.ultra_marginal(X, y, remover=remover, random_state=3)))
    umfi.ultra_marginal(X, y, remover=umfi.LinearRemover(), task='regression', random_state=3)
    """
    settings = result.settings
    name_of_method = str(settings.get("method"))
    if name_of_method not in METHODS:
        return ""
    shown = []
    for name, default in METHODS[name_of_method].options.items():
        if name not in settings:
            continue
        value = settings[name]
        if name == "power" and value not in POWERS and isinstance(value, str):
            # Of our own making, or the caller's, whose name it has.
            shown.append(f"power={_as_code(value) if '(' in value else value}")
        elif value not in (default, IMPLIED.get(name)):
            shown.append(f"{name}={_as_code(value)}")
    return f"umfi.{name_of_method}({', '.join(['X', 'y', *shown])})"


def _as_code(value: Any) -> str:
    """Return a setting as code: those of our objects are stored as the text that makes them."""
    name, bracket, rest = str(value).partition("(")
    is_code = bracket and rest[-1:] == ")" and name.isidentifier() and name[0].isupper()
    if not isinstance(value, str) or not is_code:
        return repr(value)
    return f"umfi.{value}" if name in import_module("umfi").__all__ else value
