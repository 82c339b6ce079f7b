"""Whether removal works on a table, feature by feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from umfi.data.columns import Columns, Kind
from umfi.data.contracts import DependenceRemover, PredictivePower
from umfi.data.frames import drop_incomplete_rows, read_columns
from umfi.data.reading import read_table
from umfi.data.target import Target
from umfi.errors import InputError
from umfi.execution import Runner, Streams, TaskName, one_blas_thread
from umfi.execution.checkpoint import Checkpoint, describe, find_seed
from umfi.importance.diagnosis import Diagnosis, find_verdict
from umfi.importance.features import Feature, Groups, read_features, with_copies
from umfi.importance.study import identify_data
from umfi.power import find_power, score_columns
from umfi.removal import (
    find_distortion,
    find_leakage,
    find_remover,
    has_rare_levels,
    leakage_limit,
    measure_leakages,
)

__all__ = ["diagnose"]

# Enough to tell what a copy shows by chance.
N_COPIES = 3
N_JUDGE_TREES = 200
# Power above chance that a share of it can be taken of.
MIN_POWER = 0.02
TABLE_COLUMNS = [
    "remover",
    "feature",
    "before",
    "leakage",
    "excess",
    "retention",
    "distortion",
    "verdict",
]
JUDGES: tuple[Literal["best", "random"], ...] = ("best", "random")


def diagnose(
    X: Any,
    y: Any = None,
    *,
    remover: str | DependenceRemover | Sequence[str | DependenceRemover] = "joint",
    task: str = "auto",
    power: Any = "extra-trees",
    groups: Groups | None = None,
    kinds: Mapping[str, str] | None = None,
    missing: str = "error",
    random_state: Any = None,
    n_jobs: int | None = None,
    executor: Any = None,
    progress: bool | None = None,
    checkpoint: Any = None,
    time_limit: float | str | None = None,
) -> Diagnosis:
    """Return whether removal works: leakage before and after, retention and distortion.

    The guarantees of ultra-marginal importance rest on S, what removal leaves of the other
    features, being independent of the protected one. This tells feature by feature how far it is.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,), optional
        Without it there is no retention.
    remover : {"joint", "linear", "transport", "chained"}, object or list of these
        A list is compared.
    task : {"auto", "regression", "classification"}
    power : {"forest", "extra-trees"}, ForestPower, scikit-learn estimator or callable
        What retention is measured with.
    groups, kinds, missing
        See :func:`umfi.ultra_marginal`.
    random_state : None, int or Generator
    n_jobs, executor, progress, checkpoint, time_limit
        See :func:`umfi.ultra_marginal`.

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

    runner = Runner(n_jobs=n_jobs, executor=executor, progress=progress, time_limit=time_limit)
    kept_in = Checkpoint.read(checkpoint)
    is_list = isinstance(remover, Sequence) and not isinstance(remover, str)
    given: list[Any] = list(remover) if is_list else [remover]  # type: ignore[arg-type]
    if not given:
        raise InputError("remover=[] names no remover: pass one, or a list of them.")
    removers = [find_remover(one) for one in given]
    labels = [one if isinstance(one, str) else repr(one) for one in given]
    if len(set(labels)) < len(labels):
        raise InputError(f"remover={labels!r} names a remover twice: leave one out.")
    target = None
    if y is not None:
        columns, target, _ = read_table(X, y, task=task, kinds=kinds, missing=missing)
    else:
        X, _ = drop_incomplete_rows(X) if missing == "drop" else (X, None)
        columns = read_columns(X, kinds=kinds, missing=missing)
    features = [one for one in read_features(columns, groups) if not one.is_constant]
    if not features:
        raise InputError("All columns are constant: there is nothing to diagnose.")
    chosen = None if target is None else find_power(power, target.task)
    if random_state is None and kept_in is not None:
        random_state = find_seed(kept_in)
    streams = Streams.from_random_state(random_state)
    patient = _Patient(columns, target, chosen, streams)
    for feature in features:
        if patient.others(feature).n_columns == 0:
            raise InputError(
                f"There are no other features that {feature.name!r} could be removed from."
            )
    whole = np.nan
    if target is not None and chosen is not None:
        with one_blas_thread():
            whole = score_columns(chosen, columns, target, streams.seed("all features"))
        if whole < target.chance_level() + MIN_POWER:
            whole = np.nan  # A share of nothing is no number.

    def work(name: TaskName) -> dict[str, Any]:
        feature = features[int(name[0])]
        if name[1] == "before":
            return {"before": patient.tell(patient.others(feature), feature)}
        number = int(name[1])
        return {
            "remover": labels[number],
            "feature": feature.name,
            **patient.examine(removers[number], feature),
        }

    def label(name: TaskName) -> str:
        what = "before" if name[1] == "before" else labels[int(name[1])]
        return f"diagnose {features[int(name[0])].name}, {what}"

    tasks: list[TaskName] = [
        (index, what)
        for index in range(len(features))
        for what in ("before", *range(len(removers)))
    ]
    settings = {
        "remover": labels,
        "power": power if isinstance(power, str) else repr(power),
        "target": None if target is None else target.name,
        "score_of_all": whole,
        "n_rows": columns.n_rows,
        "random_state": streams.entropy,
    }
    if kept_in is not None:
        runner.keep_in(
            kept_in,
            lambda: {
                "method": "diagnose",
                "remover": describe(removers),
                "power": describe(power),
                "groups": describe([(one.name, one.positions) for one in features]),
                "random_state": streams.entropy,
                **identify_data(columns, target),
            },
            lambda: {"settings": {"method": "diagnose", **settings, "score_of_all": None}},
        )
    try:
        answers = runner.run(
            "features",
            work,
            tasks,
            title="diagnose",
            label_of=label,
            owner_of=lambda name: int(name[0]),
            is_one_due=True,
        )
    finally:
        runner.close()
    names = [
        (index, number)
        for number in range(len(removers))
        for index in range(len(features))
        if (index, number) in answers and (index, "before") in answers
    ]
    if not names:
        runner.pass_on_interrupt()
        raise InputError(
            f"{runner.describe_stop()} before any feature was diagnosed: allow more time."
        )
    n_missing = len(features) * len(removers) - len(names)
    if n_missing:
        reason = runner.describe_stop() or "The run is not complete"
        settings |= {"notes": [f"{reason}: {n_missing} rows are missing."], "stopped": reason}
    table = pd.DataFrame([answers[name] | answers[name[0], "before"] for name in names])
    table["retention"] = table["retention"].astype(float) / whole
    return Diagnosis(table=table[TABLE_COLUMNS], settings=settings)


@dataclass(frozen=True)
class _Patient:
    """A table and what is asked about it."""

    columns: Columns
    target: Target | None
    power: PredictivePower | None
    streams: Streams

    def others(self, feature: Feature) -> Columns:
        """Return the other columns, without constants and copies, as importances take them."""
        is_other = self.columns.first_copies() == np.arange(self.columns.n_columns)
        is_other &= ~self.columns.is_constant()
        is_other[list(feature.positions)] = False
        return self.columns.select(np.flatnonzero(is_other))

    def tell(self, context: Columns, feature: Feature) -> float:
        """Return the most that judges of two kinds find, on seeds that no remover has seen."""
        own = self.columns.select(feature.positions)
        return max(
            find_leakage(
                context,
                own,
                self.streams.seed(feature.name, "judge", split),
                split=split,
                n_trees=N_JUDGE_TREES,
            )
            for split in JUDGES
        )

    def examine(self, remover: DependenceRemover, feature: Feature) -> dict[str, Any]:
        """Return what one remover does to one feature."""
        own, others = self.columns.select(feature.positions), self.others(feature)

        def leave(protected: Sequence[Columns], what: str) -> Columns:
            rng = self.streams.generator(feature.name, what)
            return remover.remove(others, protected, protocol="matched", rng=rng)

        unrelated = leave([own], "alone")
        told = unrelated.select(np.flatnonzero(~unrelated.is_constant()))
        rng = self.streams.generator(feature.name, "copies")
        permutations = [rng.permutation(others.n_rows) for _ in range(N_COPIES)]
        candidates = with_copies(own, permutations)
        beside = leave(candidates, "with copies")
        found = measure_leakages(
            beside.select(np.flatnonzero(~beside.is_constant())),
            own,
            candidates[1:],
            self.streams.seed(feature.name, "excess"),
        )
        leakage = self.tell(told, feature)
        excess = max((one.excess for one in found), default=0.0)
        is_rare = any(
            kind is Kind.CATEGORICAL and has_rare_levels(column)
            for kind, column in zip(own.kinds, own.values.T, strict=True)
        )
        score = np.nan
        if self.target is not None and self.power is not None:
            seed = self.streams.seed(feature.name, "retention")
            score = score_columns(self.power, told.prepend(own), self.target, seed)
        return {
            "leakage": leakage,
            "excess": excess,
            "retention": score,
            "distortion": find_distortion(others, unrelated),
            "verdict": find_verdict(leakage, excess, leakage_limit(found), is_rare),
        }
