"""Whether removal works on a table, feature by feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from umfi.columns import Columns
from umfi.contracts import DependenceRemover, PredictivePower
from umfi.diagnosis import Diagnosis, find_verdict
from umfi.errors import InputError
from umfi.frames import drop_incomplete_rows, read_columns
from umfi.methods.features import Feature, Groups, read_features, with_copies
from umfi.power import find_leakage, find_power, measure_leakages, score_columns
from umfi.removal import find_distortion, find_remover
from umfi.target import Target, read_target
from umfi.tasks import Streams, TaskName, check_workers, run_tasks

__all__ = ["diagnose"]

# Enough to tell what a copy shows by chance.
N_COPIES = 3
JUDGES: tuple[Literal["best", "random"], ...] = ("best", "random")


def diagnose(
    X: Any,
    y: Any = None,
    *,
    remover: str | DependenceRemover | Sequence[str | DependenceRemover] = "transport",
    task: str = "auto",
    power: Any = "extra-trees",
    groups: Groups | None = None,
    kinds: Mapping[str, str] | None = None,
    missing: str = "error",
    random_state: Any = None,
    n_jobs: int | None = None,
    executor: str | None = None,
    progress: bool | None = None,
) -> Diagnosis:
    """Return whether removal works: leakage before and after, retention and distortion.

    The guarantees of ultra-marginal importance rest on S, what removal leaves of the other
    features, being independent of the protected one. This tells feature by feature how far it is.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,), optional
        Without it there is no retention.
    remover : {"linear", "transport", "sliced", "chained", "auto"}, object or list of these
        A list is compared.
    task : {"auto", "regression", "classification"}
    power : {"forest", "extra-trees"}, ForestPower, scikit-learn estimator or callable
        What retention is measured with.
    groups, kinds, missing
        See :func:`umfi.ultra_marginal`.
    random_state : None, int or Generator
    n_jobs, executor, progress
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
    is_list = isinstance(remover, Sequence) and not isinstance(remover, str)
    given: list[Any] = list(remover) if is_list else [remover]  # type: ignore[arg-type]
    if not given:
        raise InputError("remover=[] names no remover: pass one, or a list of them.")
    removers = {_name_of(one): find_remover(one) for one in given}
    X, y = drop_incomplete_rows(X, y) if missing == "drop" else (X, y)
    columns = read_columns(X, kinds=kinds, missing=missing)
    if columns.n_columns < 2:
        raise InputError("X has one column only: there are no others to remove it from.")
    features = [one for one in read_features(columns, groups) if not one.is_constant]
    target = None if y is None else read_target(y, task=task, X=X)
    chosen = None if target is None else find_power(power, target.task)
    check_workers(n_jobs, executor)
    streams = Streams.from_random_state(random_state)
    whole = np.nan
    if target is not None and chosen is not None:
        whole = score_columns(chosen, columns, target, streams.seed("all features"))

    def work(name: TaskName) -> dict[str, Any]:
        feature = features[int(name[1])]
        others = columns.without(feature.positions)
        row = _measure(
            str(name[0]), removers[str(name[0])], others, columns, feature, target, chosen, streams
        )
        return row | {"retention": row["retention"] / whole if whole > 0.0 else np.nan}

    names: list[TaskName] = [
        (remover_name, index) for remover_name in removers for index in range(len(features))
    ]
    answers = run_tasks(
        work, names, n_jobs=n_jobs, executor=executor, progress=progress, title="diagnose"
    )
    return Diagnosis(
        table=pd.DataFrame([answers[name] for name in names]),
        settings={
            "remover": list(removers),
            "power": power if isinstance(power, str) else repr(power),
            "target": None if target is None else target.name,
            "score_of_all": whole,
            "n_rows": columns.n_rows,
            "random_state": streams.entropy,
        },
    )


def _name_of(remover: str | DependenceRemover) -> str:
    return remover if isinstance(remover, str) else repr(remover)


def _measure(
    name: str,
    remover: DependenceRemover,
    others: Columns,
    columns: Columns,
    feature: Feature,
    target: Target | None,
    power: PredictivePower | None,
    streams: Streams,
) -> dict[str, Any]:
    """Return the row of the table of one remover and feature."""
    own = columns.select(feature.positions)

    def leave(protected: Sequence[Columns], what: str) -> Columns:
        rng = streams.generator(feature.name, name, what)
        return remover.remove(others, protected, protocol="matched", rng=rng)

    def tell(context: Columns) -> float:
        """Return the most that judges of two kinds find, on seeds that no remover has seen."""
        context = context.select(np.flatnonzero(~context.is_constant()))
        return max(
            find_leakage(
                context, own, streams.seed(feature.name, "judge", split), split=split, n_trees=200
            )
            for split in JUDGES
        )

    unrelated = leave([own], "alone")
    rng = streams.generator(feature.name, "copies")
    permutations = [rng.permutation(columns.n_rows) for _ in range(N_COPIES)]
    copies = with_copies(own, permutations)
    beside = leave(copies, "with copies")
    found = measure_leakages(
        beside.select(np.flatnonzero(~beside.is_constant())),
        own,
        copies[1:],
        streams.seed(feature.name, "excess"),
    )
    leakage = tell(unrelated)
    excess = max((one.excess for one in found), default=0.0)
    score = np.nan
    if target is not None and power is not None:
        together = unrelated.select(np.flatnonzero(~unrelated.is_constant())).prepend(own)
        score = score_columns(power, together, target, streams.seed(feature.name, "retention"))
    return {
        "remover": name,
        "feature": feature.name,
        "before": tell(others),
        "leakage": leakage,
        "excess": excess,
        "retention": score,
        "distortion": find_distortion(others, unrelated),
        "verdict": find_verdict(leakage, excess),
    }
