"""With whom a feature shares what it says, and with whom it interacts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from umfi.data.contracts import DependenceRemover, measure_of
from umfi.errors import InputError, check_level, unknown_name
from umfi.execution import TaskName
from umfi.importance.contexts import default_remover, refuse_large_groups
from umfi.importance.features import Groups
from umfi.importance.options import with_common_parameters
from umfi.importance.pairs import PairEffects, find_pair_effects
from umfi.importance.partnership import Partners
from umfi.importance.study import Problem
from umfi.inference import (
    MAX_INTERVAL_SHARE,
    MIN_INTERVAL_REPEATS,
    MIN_INTERVAL_SHARE,
    adjust_p_values,
    subsampling_interval,
    subsampling_test,
)
from umfi.power import CallablePower
from umfi.removal import find_remover

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["partners"]

PAIRS = "pairs"
# How far what is found moves with the number of rows is told from all rows: one run for so many
# repeats.
REPEATS_PER_WHOLE = 5
# Less than this is as good as nothing: fitted main effects leave some thousandths that can pass for
# an interaction.
NEGLIGIBLE_EFFECT = 0.01
# What is asked of a pair, and what it is called when it is found.
VERDICTS = {"sharing": "shares", "interaction": "interacts"}


@with_common_parameters
def partners(
    X: Any,
    y: Any,
    feature: str | int | Sequence[str | int] | None = None,
    *,
    among: Sequence[str | int] | None = None,
    remover: str | DependenceRemover | None = None,
    alpha: float = 0.05,
    groups: Groups | None = None,
    task: str = "auto",
    power: Any = "forest",
    kinds: Mapping[str, str] | None = None,
    missing: str = "error",
    repeats: int = 20,
    subsample: int | float = 0.5,
    random_state: Any = None,
    n_jobs: int | None = None,
    executor: Any = None,
    progress: bool | None = None,
    checkpoint: Any = None,
    time_limit: float | str | None = None,
) -> Partners:
    """Return with which features a feature shares what it says, and with which it interacts.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    feature : str, int or sequence of them, optional
        The features of interest, by name (of a column or group) or position; all by default, which
        takes long in tables of many.
    among : sequence of str or int, optional
        Only these are looked at as partners.
    remover : {"joint", "linear", "transport", "chained"} or object, optional
        As for :func:`umfi.ultra_marginal`.
    alpha : float
        Level of the false discovery rate, over all pairs and both questions. Effects of less than
        0.01 R² are never called found.
    {groups_parameter}
    repeats, subsample
        Subsamples tell how sure it is: 20 or more, of a fifth to four fifths of the rows.
    task, power, kinds, missing, random_state, n_jobs, executor, progress, checkpoint, time_limit
        As for :func:`umfi.ultra_marginal`. The power must measure R²; classes are told as
        indicators, so a classifier cannot be one.

    Returns
    -------
    Partners

    Notes
    -----
    For a feature x and a partner z, S are all others without what they tell about x and z.

    Sharing is by how much nu(S, x) falls when what z tells about x is removed from x, beyond what
    removing a permuted copy of z takes. It can be negative, where z tells what in x is not about
    the response.

    Interaction is the joint importance of the pair above the sum: with z' = z without what x tells
    about it, by how much nu(S, x, z') - nu(S, x', z'), x' being a permuted copy of x, exceeds the
    same with a permuted copy of z'. What x, z and the copy say each by itself is taken out of the
    response first: a function of z alone is no interaction, and how well a model learns x depends
    on how much z explains. For independent features this is the variance that functional analysis
    of variance gives to the pair and to all sets of features that contain it; of correlated ones
    some of it counts as said by each.

    p-values are one-sided, by a t distribution: the estimate of all rows beside its standard error,
    which the subsamples tell. They are cautious: single runs on subsamples vary more than the mean
    of the runs on all rows does.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("nonlinear_interactions", n=400, random_state=0)
    >>> print(umfi.partners(X, y, "x1", random_state=0).summary[0])
    'x1' shares what it says with none, and interacts with 'x2', of 3 others.
    """
    import pandas as pd

    level = check_level("alpha", alpha)
    remover = default_remover(power) if remover is None else remover
    chosen = find_remover(remover, "matched")
    problem = Problem.check(
        "partners",
        X,
        y,
        remover=remover,
        alpha=level,
        groups=groups,
        task=task,
        power=power,
        power_task="regression",
        kinds=kinds,
        missing=missing,
        repeats=repeats,
        subsample=subsample,
        random_state=random_state,
        n_jobs=n_jobs,
        executor=executor,
        progress=progress,
        checkpoint=checkpoint,
        time_limit=time_limit,
    )
    refuse_large_groups(problem)
    _refuse_power(problem)
    share = (problem.n_sampled_rows or problem.columns.n_rows) / problem.columns.n_rows
    is_fitting = MIN_INTERVAL_SHARE <= share <= MAX_INTERVAL_SHARE
    if not is_fitting or problem.repeats < MIN_INTERVAL_REPEATS:
        raise InputError(
            f"partners needs subsamples to tell how sure it is: pass subsample=0.5 "
            f"({MIN_INTERVAL_SHARE} to {MAX_INTERVAL_SHARE}) and repeats={MIN_INTERVAL_REPEATS} or "
            "more."
        )
    firsts, seconds = _find_features(problem, feature), _find_features(problem, among)
    pairs = [(first, second) for first in firsts for second in seconds if first != second]
    if not pairs:
        raise InputError(
            "There is no pair to look at: name a feature, and another among the partners."
        )
    names = [one.name for one in problem.features]
    asked = {"feature": firsts, "among": seconds}
    settings = problem.settings | {
        argument: [names[index] for index in indices] for argument, indices in asked.items()
    }

    def work(name: TaskName) -> PairEffects:
        first, second, run = (int(part) for part in name)
        pair = (problem.features[first], problem.features[second])
        return find_pair_effects(problem, chosen, *pair, run)

    def label(name: TaskName) -> str:
        first, second, run = (int(part) for part in name)
        return f"partners {names[first]} and {names[second]}, repeat {run}"

    is_constant = [one.is_constant for one in problem.features]
    varying = [pair for pair in pairs if not is_constant[pair[0]] and not is_constant[pair[1]]]
    places = {pair: place for place, pair in enumerate(varying)}
    # Which numbers are of all rows changes with the number of repeats, so these have a stage of
    # their own.
    n_runs = problem.repeats + ceil(problem.repeats / REPEATS_PER_WHOLE)
    stages = {
        PAIRS: range(problem.repeats),
        f"{PAIRS} of all rows": range(problem.repeats, n_runs),
    }
    # A pair says nothing before its last run, so that with little time it goes pair by pair.
    rounds = [[pair] for pair in varying] if time_limit is not None else [varying]
    with problem:
        for some, (stage, runs) in product(rounds, stages.items()):
            problem.run(
                stage,
                work,
                [(*pair, run) for run in runs for pair in some],
                label_of=label,
                owner_of=lambda name: places[int(name[0]), int(name[1])],
            )
        answers = {
            name: answer
            for stage, runs in stages.items()
            for name, answer in problem.runner.answers_of(stage).items()
            if int(name[2]) in runs
        }
    rows = []
    for pair in pairs:
        keys = [(*pair, run) for run in range(n_runs)]
        if pair in places and not all(key in answers for key in keys):
            continue
        found = [
            PairEffects(*answers[key]) if pair in places else PairEffects(0.0, 0.0) for key in keys
        ]
        row: dict[str, Any] = {"feature": names[pair[0]], "partner": names[pair[1]]}
        for effect in VERDICTS:
            effects = np.array([getattr(one, effect) for one in found])
            row |= _summarise(effect, effects[: problem.repeats], effects[problem.repeats :], share)
        rows.append(row)
    stopped = problem.runner.describe_stop()
    if not rows:
        problem.runner.pass_on_interrupt()
        raise InputError(f"{stopped} before any pair was complete: allow more time.")
    if len(rows) < len(pairs):
        settings["notes"] = [
            *settings["notes"],
            f"{stopped}: {len(pairs) - len(rows)} of {len(pairs)} pairs are missing.",
        ]
    return Partners(_add_verdicts(pd.DataFrame(rows), level), settings)


def _summarise(
    name: str, subsampled: NDArray[np.float64], whole: NDArray[np.float64], share: float
) -> dict[str, float]:
    """Return estimate, interval and p-value of what was found run by run."""
    low, high = subsampling_interval(subsampled, whole, share, 0.95)
    return {
        name: float(whole.mean()),
        f"{name}_low": low,
        f"{name}_high": high,
        f"{name}_p_value": subsampling_test(subsampled, whole, share),
    }


def _add_verdicts(table: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Return the table with p-values adjusted over both questions and all pairs."""
    p_values = np.concatenate([table[f"{name}_p_value"].to_numpy() for name in VERDICTS])
    adjusted = np.split(adjust_p_values(p_values, "fdr"), len(VERDICTS))
    for (name, verdict), q_values in zip(VERDICTS.items(), adjusted, strict=True):
        place = list(table).index(f"{name}_p_value") + 1
        table.insert(place, f"{name}_q_value", q_values)
        is_found = (q_values <= alpha) & (table[name] > NEGLIGIBLE_EFFECT)
        table.insert(place + 1, verdict, is_found)
    return table


def _find_features(problem: Problem, wanted: Any) -> list[int]:
    """Return the indices of features by name, or else by position; all for None."""
    names = [feature.name for feature in problem.features]
    if wanted is None:
        return list(range(len(names)))
    is_listed = isinstance(wanted, Iterable) and not isinstance(wanted, str)
    found = []
    for one in wanted if is_listed else [wanted]:
        is_position = isinstance(one, int | np.integer) and not isinstance(one, bool)
        if str(one) in names:
            found.append(names.index(str(one)))
        elif is_position and -len(names) <= int(one) < len(names):
            found.append(int(one) % len(names))
        else:
            raise unknown_name("feature", one, names)
    return list(dict.fromkeys(found))


def _refuse_power(problem: Problem) -> None:
    """Raise if the power cannot score numbers, or does not measure R²."""
    power = problem.power
    if isinstance(power, CallablePower):
        if problem.target.task == "classification":
            raise InputError(
                "partners tells classes as indicators, which a function that expects classes "
                "cannot score: pass a named power such as 'forest'."
            )
    elif measure_of(power, "regression") != "R²":
        raise InputError(
            f"partners compares R², which power={problem.settings['power']!r} does not measure: "
            "pass 'forest', 'extra-trees', 'boosting', 'linear', 'neural-network' or a regressor."
        )
