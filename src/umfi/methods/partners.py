"""With whom a feature shares what it says, and with whom it interacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from umfi.columns import Columns, Kind
from umfi.contracts import DependenceRemover, PredictivePower, measure_of
from umfi.errors import InputError, check_level
from umfi.inference import (
    MAX_INTERVAL_SHARE,
    MIN_INTERVAL_REPEATS,
    MIN_INTERVAL_SHARE,
    adjust_p_values,
    subsampling_interval,
    subsampling_test,
)
from umfi.methods.contexts import default_remover
from umfi.methods.features import Feature, Groups, with_copies
from umfi.methods.problem import Problem, with_common_parameters
from umfi.partnership import Partners
from umfi.power import CallablePower, find_power, score_columns
from umfi.removal import AutoRemover, find_remover, refuse_levels
from umfi.target import Target
from umfi.tasks import TaskName

__all__ = ["partners"]

# Less than this is as good as nothing: fitted main effects leave about a thousandth that can pass
# for an interaction.
NEGLIGIBLE_EFFECT = 0.005
# What is asked of a pair, and what it is called when it is found.
VERDICTS = {"sharing": "shares", "interaction": "interacts"}
# What a column says by itself is told by straight lines between so many quantiles, or fewer where
# there are few rows for each of all the lines that are fitted.
MAX_KNOTS, MIN_KNOTS = 8, 1
ROWS_PER_KNOT = 10
# In ranks from 0 to 1: far more than the distance of neighbours, little beside all there is to say.
BLUR = 0.02


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
    executor: str | None = None,
    progress: bool | None = None,
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
    remover : {"transport", "linear", "sliced", "chained"} or object, optional
        As for :func:`umfi.ultra_marginal`; ``"auto"``, which would choose for each pair, is not
        taken.
    alpha : float
        Level of the false discovery rate, over all pairs and both questions. Effects of less than
        0.005 R² are never called found.
    {groups_parameter}
    repeats, subsample
        Subsamples tell how sure it is: 20 or more, of a fifth to four fifths of the rows.
    task, power, kinds, missing, random_state, n_jobs, executor, progress
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
    same with a permuted copy of z'. Because a model learns more of x once z' explains a part of the
    response, what x, z' and the copy say each by itself is taken out of the response first. For
    independent features this is the variance that functional analysis of variance gives to the
    pair and to all sets of features that contain it.

    p-values are one-sided, by a t distribution: the estimate of all rows beside its standard error,
    which the subsamples tell.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("nonlinear_interactions", n=400, random_state=0)
    >>> print(umfi.partners(X, y, "x1", random_state=0).summary[0])
    'x1' shares what it says with none, and interacts with 'x2', of 3 others.
    """
    level = check_level("alpha", alpha)
    remover = default_remover(power) if remover is None else remover
    chosen = find_remover(remover, "matched")
    if isinstance(chosen, AutoRemover):
        raise InputError(
            "partners does not take remover='auto': choose 'transport', 'linear', 'sliced' or "
            "'chained'; umfi.diagnose tells which of them works."
        )
    problem = Problem.check(
        "partners",
        X,
        y,
        remover=remover,
        alpha=level,
        groups=groups,
        task=task,
        power=power,
        kinds=kinds,
        missing=missing,
        repeats=repeats,
        subsample=subsample,
        random_state=random_state,
        n_jobs=n_jobs,
        executor=executor,
        progress=progress,
    )
    refuse_levels(problem.columns, "matched")
    if len(problem.runs) == problem.repeats:
        raise InputError(
            f"partners needs subsamples to tell how sure it is: pass subsample=0.5 "
            f"({MIN_INTERVAL_SHARE} to {MAX_INTERVAL_SHARE}) and repeats={MIN_INTERVAL_REPEATS} or "
            "more."
        )
    numeric = _numeric_power(power, problem)
    pairs = [
        (first, second)
        for first in _find_features(problem, feature, "feature")
        for second in _find_features(problem, among, "among")
        if first != second
    ]
    if not pairs:
        raise InputError("There is no pair to look at: pass a table of two features at least.")
    is_constant = [one.is_constant for one in problem.features]

    def work(name: TaskName) -> tuple[float, float]:
        first, second, run = (int(part) for part in name)
        pair = _Pair(
            problem, chosen, numeric, problem.features[first], problem.features[second], run
        )
        return pair.find_sharing(), pair.find_interaction()

    answers = problem.run(
        work,
        [
            (*pair, run)
            for run in problem.runs
            for pair in pairs
            if not is_constant[pair[0]] and not is_constant[pair[1]]
        ],
    )
    rows = []
    for first, second in pairs:
        row: dict[str, Any] = {
            "feature": problem.features[first].name,
            "partner": problem.features[second].name,
        }
        for place, name in enumerate(VERDICTS):
            found = [answers.get((first, second, run), (0.0, 0.0))[place] for run in problem.runs]
            row |= _summarise(name, np.array(found), problem)
        rows.append(row)
    return Partners(_add_verdicts(pd.DataFrame(rows), level), problem.settings)


def _summarise(name: str, found: NDArray[np.float64], problem: Problem) -> dict[str, float]:
    """Return estimate, interval and p-value of what was found run by run."""
    subsampled, whole = found[: problem.repeats], found[problem.repeats :]
    share = (problem.n_sampled_rows or problem.columns.n_rows) / problem.columns.n_rows
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


def _find_features(
    problem: Problem, wanted: str | int | Sequence[str | int] | None, what: str
) -> list[int]:
    """Return the indices of features by name or position, all for None."""
    if wanted is None:
        return list(range(len(problem.features)))
    names = [feature.name for feature in problem.features]
    found = []
    for one in [wanted] if isinstance(wanted, str | int) else wanted:
        if isinstance(one, int) and not isinstance(one, bool) and 0 <= one < len(names):
            found.append(one)
        elif str(one) in names:
            found.append(names.index(str(one)))
        else:
            raise InputError(
                f"{what}={one!r} is not a feature of X: pass a name such as {names[0]!r}."
            )
    return list(dict.fromkeys(found))


def _numeric_power(power: Any, problem: Problem) -> PredictivePower:
    """Return the power for responses that are numbers, or raise if it does not measure R²."""
    if problem.target.task == "classification" and isinstance(problem.power, CallablePower):
        raise InputError(
            "partners tells classes as indicators, which a function that expects classes cannot "
            "score: pass a named power such as 'forest'."
        )
    # A power that is asked for by name, or that takes any task, is made for numbers.
    numeric = find_power(
        replace(power, measure=None) if hasattr(power, "measure") else power, "regression"
    )
    if not isinstance(numeric, CallablePower) and measure_of(numeric, "regression") != "R²":
        raise InputError(
            f"partners compares R², which power={power!r} does not measure: pass 'forest', "
            "'boosting', 'linear' or a regressor."
        )
    return numeric


def _make_responses(target: Target) -> NDArray[np.float64]:
    """Return the response, or the indicators of its classes, centred, shape (n_rows, any)."""
    if target.task == "regression":
        return target.standardise(target.values)[:, np.newaxis]
    indicators = np.eye(len(target.classes))[target.labels]
    # Two classes have the same indicator but for the sign.
    return (indicators - indicators.mean(axis=0))[:, int(len(target.classes) == 2) :]


@dataclass(frozen=True)
class _Pair:
    """A feature and a partner in one run.

    Attributes
    ----------
    problem : Problem
    remover : DependenceRemover
    power : PredictivePower
        Measures R² of numbers.
    feature, partner : Feature
    run : int
    """

    problem: Problem
    remover: DependenceRemover
    power: PredictivePower
    feature: Feature
    partner: Feature
    run: int

    @cached_property
    def own(self) -> Columns:
        """The feature."""
        return self.problem.rows_of(self.run)[0].select(self.feature.positions)

    @cached_property
    def responses(self) -> NDArray[np.float64]:
        """What is told, shape (n_rows, n_responses)."""
        return _make_responses(self.problem.rows_of(self.run)[1])

    @cached_property
    def candidates(self) -> list[Columns]:
        """The partner, and a permuted copy of it."""
        columns, _ = self.problem.rows_of(self.run)
        rows = self._generator("permutation").permutation(columns.n_rows)
        return with_copies(columns.select(self.partner.positions), [rows])

    @cached_property
    def context(self) -> Columns:
        """All others without what they tell about the feature, the partner and its copy."""
        columns, _ = self.problem.rows_of(self.run)
        originals = columns.first_copies()
        taken = [*self.feature.positions, *self.partner.positions]
        is_used = (originals == np.arange(columns.n_columns)) & ~columns.is_constant()
        is_used[originals[taken]] = False
        rest = self._remove(columns.select(np.flatnonzero(is_used)), [self.own], "feature")
        rest = self._remove(rest, self.candidates, "partner")
        return rest.select(np.flatnonzero(~rest.is_constant()))

    def find_sharing(self) -> float:
        """Return how much less the feature says without what the partner tells about it."""
        without_partner, without_copy = (
            self._score(
                self.context.prepend(self._blur(self._remove(self.own, [one], "own"))),
                self.responses,
            )
            for one in self.candidates
        )
        return without_copy - without_partner

    def find_interaction(self) -> float:
        """Return how much more the feature says beside the partner, main effects set aside."""
        if self._is_copy():
            return 0.0
        left = [self._remove(one, [self.own], "candidate") for one in self.candidates]
        responses = self.responses - _fit_main_effects([self.own, *left], self.responses)
        copy = self.own.take_rows(self._generator("copy").permutation(self.own.n_rows))
        beside_partner, beside_copy = (
            self._score(self.context.prepend(one).prepend(self.own), responses)
            - self._score(self.context.prepend(one).prepend(copy), responses)
            for one in left
        )
        share = np.sum(responses**2) / np.sum(self.responses**2)
        return float(share * (beside_partner - beside_copy))

    def _is_copy(self) -> bool:
        """Return whether the partner repeats the feature, so that nothing of it would be left."""
        originals = self.problem.columns.first_copies()
        own = set(originals[list(self.feature.positions)].tolist())
        return set(originals[list(self.partner.positions)].tolist()) <= own

    def _generator(self, *what: str) -> np.random.Generator:
        return self.problem.streams.generator(self.feature.name, self.partner.name, self.run, *what)

    def _remove(self, columns: Columns, protected: Sequence[Columns], what: str) -> Columns:
        # The same random numbers for partner and copy, so that they differ in nothing else.
        rng = self._generator("removal", what)
        return self.remover.remove(columns, protected, protocol="matched", rng=rng)

    def _blur(self, columns: Columns) -> Columns:
        """Return columns as ranks with some noise.

        What removal leaves of a column is spread too evenly over the protected one: next to a row
        of one value lies a row of another, so that neighbours tell the partner upside down.
        """
        ranks = rankdata(columns.values, axis=0) / columns.n_rows
        noise = self._generator("blur").normal(0.0, BLUR, ranks.shape)
        is_constant = columns.is_constant()
        return columns.with_changed(np.where(is_constant, columns.values, ranks + noise))

    def _score(self, columns: Columns, responses: NDArray[np.float64]) -> float:
        """Return R² over all responses."""
        seed = self.problem.streams.seed(self.feature.name, self.partner.name, self.run, "power")
        sizes = np.sum(responses**2, axis=0)
        scores = [
            score_columns(self.power, columns, Target("regression", response), seed)
            for response in responses.T
        ]
        return float(np.dot(sizes, scores) / sizes.sum())


def _fit_main_effects(
    blocks: Sequence[Columns], responses: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what columns say each by itself, fitted to all of them at once.

    A feature and copies of it are fitted alike, so that what is lost by chance is lost to all.
    """
    n_rows = len(responses)
    n_columns = sum(block.n_columns for block in blocks)
    n_knots = int(np.clip(n_rows // (ROWS_PER_KNOT * n_columns) - 1, MIN_KNOTS, MAX_KNOTS))
    basis = np.concatenate(
        [
            _main_effects(block.values[:, position], block.kinds[position], n_knots)
            for block in blocks
            for position in range(block.n_columns)
        ],
        axis=1,
    )
    basis = np.concatenate([np.ones((n_rows, 1)), basis], axis=1)
    return np.asarray(basis @ np.linalg.lstsq(basis, responses, rcond=None)[0])


def _main_effects(values: NDArray[np.float64], kind: Kind, n_knots: int) -> NDArray[np.float64]:
    """Return what a function of a column is made of, shape (n_rows, any).

    Indicators of levels where there are few, otherwise the values and straight lines that bend at
    quantiles.
    """
    levels = np.unique(values)
    if kind in (Kind.CATEGORICAL, Kind.BOOLEAN) or len(levels) <= n_knots + 2:
        return (values[:, np.newaxis] == levels[:-1]).astype(np.float64)
    scaled = (values - values.mean()) / values.std()
    ranks = (rankdata(values) - 0.5) / len(values)
    knots = np.arange(1, n_knots + 1) / (n_knots + 1.0)
    # Bends in ranks, because long tails would leave them to a few rows; normal scores, because
    # what removal leaves are ranks, and tails of a response that followed the values bend in them.
    bends = np.maximum(ranks[:, np.newaxis] - knots, 0.0)
    return np.column_stack([scaled, ranks, ndtri(ranks), bends])
