"""Whether removal works on a table, feature by feature: what is left, what is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

import numpy as np

from umfi.data.columns import Columns
from umfi.data.contracts import DependenceRemover
from umfi.errors import INCOMPLETE, InputError, listed
from umfi.execution import one_blas_thread
from umfi.importance.display import is_gentle
from umfi.importance.features import Feature, drop_constant, find_distinct, find_rare, with_copies
from umfi.importance.options import RunOptions, with_options
from umfi.importance.study import Study
from umfi.removal import (
    find_distortion,
    find_leakage,
    find_remover,
    leakage_limit,
    measure_leakages,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["GOOD_LEAKAGE", "Diagnosis", "diagnose", "find_verdict"]

# Leakage up to this is as good as none, and up to that may be lived with; in R².
GOOD_LEAKAGE, DOUBTFUL_LEAKAGE = 0.05, 0.15
# What the fit may hide before a good removal is doubtful.
HIDDEN_LEAKAGE = 0.15
# Less retention than this deserves a word.
LOW_RETENTION = 0.7
# Enough to show what a copy has by chance.
N_COPIES = 3
N_JUDGE_TREES = 200
# Power above chance that a fraction of it can be taken of.
MIN_POWER = 0.02
MEASURED = ["before", "leakage", "excess", "retention", "distortion", "verdict"]
JUDGES: tuple[Literal["best", "random"], ...] = ("best", "random")
BEFORE = "before"


class Examination(NamedTuple):
    """A task: what one remover, by number, does to a feature, or what there is before any."""

    feature: int
    remover: int | str


@dataclass(frozen=True)
class Diagnosis:
    """What :func:`umfi.diagnose` found.

    Attributes
    ----------
    table : DataFrame, one row for each remover and feature
        ``remover, feature``;

        ``before``, the out-of-bag R² with which the other features predict the feature as they are;

        ``leakage``, the same after removal, by the one that finds more of a forest and extremely
        randomised trees (for booleans and categories the fraction of the room above chance);

        ``excess``, how much better the feature is predicted than permuted copies of it that were
        removed together with it: a transformation that is fitted to these rows says less than
        nothing about what it was fitted to, which can hide leakage, but not from this difference;

        ``retention``, the power of what is left together with the feature, as a fraction of the
        power of all features; missing without a response;

        ``distortion``, the mean over the other features of 1 - MIC_e(before, after);

        ``verdict``, good up to a leakage of 0.05 and an excess of 0.15, failed beyond a leakage
        of 0.15, doubtful between; in short tables chance is allowed for. A feature with levels
        of fewer than 10 rows is doubtful at best, because its removal cannot be judged.
    settings : dict

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> found = umfi.diagnose(X, y, remover="linear", random_state=0)
    >>> found.table["verdict"].tolist()
    ['good', 'good', 'good', 'good']
    """

    table: pd.DataFrame
    settings: dict[str, Any]

    @property
    def summary(self) -> pd.DataFrame:
        """One row per remover: numbers of verdicts and means."""
        import pandas as pd

        rows = []
        for remover, part in self.table.groupby("remover", sort=False):
            counts = part["verdict"].value_counts()
            rows.append(
                {
                    "remover": remover,
                    **{name: int(counts.get(name, 0)) for name in ("good", "doubtful", "failed")},
                    "leakage": part["leakage"].mean(),
                    "worst": part["leakage"].max(),
                    "retention": part["retention"].mean(),
                    "distortion": part["distortion"].mean(),
                }
            )
        return pd.DataFrame(rows)

    @property
    def advice(self) -> list[str]:
        """What to do, in words."""
        advice = [
            sentence
            for remover, part in self.table.groupby("remover", sort=False)
            for sentence in _advise(str(remover), part)
        ]
        return [*advice, *self.settings.get("notes", ())]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw leakage before and after for each feature (as figures 6 and 14 of the paper)."""
        from umfi.plots import plot_leakage

        return plot_leakage(self, ax=ax)

    def __repr__(self) -> str:
        """Return the summary and the advice."""
        shown = self.summary.round(3)
        if self.summary["retention"].isna().all():
            shown = shown.drop(columns="retention")
        return "\n".join([shown.to_string(index=False), "", *self.advice])

    def _repr_html_(self) -> str:
        from html import escape

        table = self.table.round(3).to_html(index=False)
        return "".join(f"<p>{escape(sentence)}</p>" for sentence in self.advice) + table


@with_options(RunOptions, power="extra-trees")
def diagnose(
    X: Any,
    y: Any = None,
    *,
    remover: str | DependenceRemover | Sequence[str | DependenceRemover] = "joint",
    **options: Unpack[RunOptions],
) -> Diagnosis:
    """Return whether removal works: leakage before and after, retention and distortion.

    The guarantees of ultra-marginal importance rest on S, what removal leaves of the other
    features, being independent of the protected one. This shows feature by feature how far it is.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,), optional
        Without it there is no retention, which ``power`` measures.
    remover : {"joint", "linear", "transport", "chained"}, object or list of these
        A list is compared.
    {common_parameters}

    Returns
    -------
    Diagnosis
        Its ``table``, ``summary``, ``advice`` and ``plot()``.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=300, random_state=0)
    >>> found = umfi.diagnose(X, y, remover=["linear", "transport"], random_state=0)
    >>> found.summary[["remover", "good", "failed"]]
         remover  good  failed
    0     linear     4       0
    1  transport     4       0
    """
    import pandas as pd

    is_list = isinstance(remover, Sequence) and not isinstance(remover, str)
    given: list[Any] = list(remover) if is_list else [remover]  # type: ignore[arg-type]
    if not given:
        raise InputError("names no remover: pass one, or a list.", argument="remover", value=[])
    removers = [find_remover(one) for one in given]
    labels = [one if isinstance(one, str) else repr(one) for one in given]
    if len(set(labels)) < len(labels):
        raise InputError("names a remover twice: leave one out.", argument="remover", value=labels)
    power = options["power"]
    if y is None:
        options["power"] = "extra-trees"  # It is not used.
    study = Study.prepare("diagnose", X, y, {"removers": removers}, options)
    examined = [index for index, one in enumerate(study.features) if not one.is_constant]
    if not examined:
        raise InputError("All columns are constant: there is nothing to diagnose.")
    for index in examined:
        if _others(study, study.features[index]).n_columns == 0:
            raise InputError(
                f"There are no other features that {study.features[index].name!r} could be removed "
                "from."
            )
    whole = _score_all(study)
    tasks = [
        Examination(index, what) for index in examined for what in (BEFORE, *range(len(removers)))
    ]
    work = partial(examine, study, removers)
    with study:
        answers = study.run("features", work, tasks, is_one_due=True)
    names = [
        (index, number)
        for number in range(len(removers))
        for index in examined
        if (index, number) in answers and (index, BEFORE) in answers
    ]
    stopped = study.runner.describe_stop()
    if not names:
        study.runner.pass_on_interrupt()
        raise InputError(f"{stopped} before any feature was diagnosed: allow more time.")
    settings: dict[str, Any] = {
        "remover": labels,
        "power": power if isinstance(power, str) else repr(power),
        "target": study.settings["target"],
        "score_of_all": whole,
        "n_rows": study.columns.n_rows,
        "random_state": study.streams.entropy,
    }
    n_missing = len(examined) * len(removers) - len(names)
    if n_missing:
        reason = stopped or INCOMPLETE
        settings |= {"notes": [f"{reason}: {n_missing} rows are missing."], **reason.as_settings()}
    rows = [
        {"remover": labels[number], "feature": study.features[index].name}
        | answers[index, number]
        | answers[index, BEFORE]
        for index, number in names
    ]
    table = pd.DataFrame(rows)
    table["retention"] = table["retention"].astype(float) / whole
    return Diagnosis(table=table[["remover", "feature", *MEASURED]], settings=settings)


def _score_all(study: Study) -> float:
    """Return the power of all features, NaN where there is no response or too little power."""
    if study.response is None:
        return float("nan")
    with one_blas_thread():
        score = study.score(study.columns, study.target, "all features")
    # A fraction of nothing is no number.
    return float("nan") if score < study.target.chance_level() + MIN_POWER else score


def _others(study: Study, feature: Feature) -> Columns:
    """Return the other columns without constants and copies, as importances do."""
    is_other = find_distinct(study.columns)
    is_other[list(feature.positions)] = False
    return study.columns.select(np.flatnonzero(is_other))


def _judge(study: Study, context: Columns, feature: Feature) -> float:
    """Return the most leakage that two kinds of forest find, on seeds that no remover has seen."""
    own = study.columns.select(feature.positions)
    seeds = {split: study.streams.seed(feature.name, "judge", split) for split in JUDGES}
    return max(
        find_leakage(context, own, seed, split=split, n_trees=N_JUDGE_TREES)
        for split, seed in seeds.items()
    )


def examine(
    study: Study, removers: Sequence[DependenceRemover], task: Examination
) -> dict[str, Any]:
    """Return what one remover does to one feature, or the leakage before removal."""
    feature = study.features[task.feature]
    own, others = study.columns.select(feature.positions), _others(study, feature)
    if isinstance(task.remover, str):
        return {BEFORE: _judge(study, others, feature)}
    remover, streams = removers[task.remover], study.streams

    def leave(protected: Sequence[Columns], what: str) -> Columns:
        rng = streams.generator(feature.name, what)
        return remover.remove(others, protected, protocol="matched", rng=rng)

    transformed = leave([own], "alone")
    unrelated = drop_constant(transformed)
    rng = streams.generator(feature.name, "copies")
    permutations = [rng.permutation(others.n_rows) for _ in range(N_COPIES)]
    candidates = with_copies(own, permutations)
    beside = drop_constant(leave(candidates, "with copies"))
    seed = streams.seed(feature.name, "excess")
    found = measure_leakages(beside, own, candidates[1:], seed)
    leakage = _judge(study, unrelated, feature)
    excess = max((one.excess for one in found), default=0.0)
    score = np.nan
    if study.response is not None:
        score = study.score(unrelated.prepend(own), study.target, feature.name, "retention")
    return {
        "leakage": leakage,
        "excess": excess,
        "retention": score,
        "distortion": find_distortion(others, transformed),
        "verdict": find_verdict(leakage, excess, leakage_limit(found), bool(find_rare(own))),
    }


def find_verdict(
    leakage: float, excess: float, chance: float = GOOD_LEAKAGE, is_rare: bool = False
) -> str:
    """Return good, doubtful or failed; chance is the leakage that it alone may show.

    Examples
    --------
    >>> find_verdict(0.02, 0.01), find_verdict(0.02, 0.3), find_verdict(0.5, 0.5)
    ('good', 'doubtful', 'failed')
    """
    if leakage > max(DOUBTFUL_LEAKAGE, chance):
        return "failed"
    is_leaking = leakage > max(GOOD_LEAKAGE, chance) or excess > max(HIDDEN_LEAKAGE, chance)
    return "doubtful" if is_leaking or is_rare else "good"


def _advise(remover: str, part: pd.DataFrame) -> list[str]:
    """Return sentences about one remover."""
    bad = part[part["verdict"] != "good"].sort_values("leakage", ascending=False)
    is_found, is_hidden = bad["leakage"] > GOOD_LEAKAGE, bad["excess"] > HIDDEN_LEAKAGE
    rare = bad["feature"][~is_found & ~is_hidden].tolist()
    bad = bad[is_found | is_hidden]
    worst = listed(bad["feature"].head(3).tolist())
    sentences = []
    if rare:
        sentences.append(
            f"{remover}: {listed(rare)} has levels of too few rows to show whether they are "
            "removed: merge levels where you can."
        )
    if len(bad) == 0 and not rare:
        sentences.append(
            f"{remover}: no leakage is found for any of the {len(part)} features, so that its "
            "importances can be relied on as far as removal goes."
        )
    elif len(bad) > 0 and not is_found.any():
        sentences.append(
            f"{remover}: forests find nothing of any feature in the others; for {len(bad)} of "
            f"{len(part)}, {worst} first, that is in part because removal is fitted to these very "
            "rows, so their p-values may be too small."
        )
    elif len(bad) > 0:
        n_failed = int((bad["verdict"] == "failed").sum())
        sentences.append(
            f"{remover}: {len(bad)} of {len(part)} features are still predicted by the others "
            f"({n_failed} clearly), {worst} first. Their importances may be too low where others "
            "say the same, and above zero where they are unrelated."
        )
        sentences.append(
            f"Use joint removal, the default, instead of {remover!r}."
            if is_gentle(remover)
            else "Protect features that predict each other as a group, or leave one out."
        )
    retention = part["retention"].mean()
    if np.isfinite(retention) and retention < LOW_RETENTION:
        sentences.append(
            f"{remover} keeps {100 * retention:.0f} % of the power on average: importances are "
            "comparable with each other, and smaller than with a gentler remover."
        )
    return sentences
