"""Partners of a feature: which carry the same information, and which interact with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import ceil
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from umfi.data.contracts import DependenceRemover, measure_of
from umfi.errors import InputError, check_level, listed, unknown_name
from umfi.importance.display import Printed, Shown
from umfi.importance.options import CommonOptions, with_options
from umfi.importance.pairs import PairEffects, PairTask, find_pair_effects
from umfi.importance.study import Study
from umfi.importance.ultra_marginal import refuse_large_groups
from umfi.inference import (
    MAX_INTERVAL_FRACTION,
    MIN_INTERVAL_FRACTION,
    MIN_INTERVAL_REPEATS,
    adjust_p_values,
    subsampling_interval,
    subsampling_test,
)
from umfi.power import CallablePower
from umfi.removal import find_remover

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Partners", "partners"]

PAIRS = "pairs"
# How far what is found moves with the number of rows shows in all rows: one run for so many
# repeats.
REPEATS_PER_WHOLE = 5
# Less than this is as good as nothing: fitted main effects leave some thousandths that can pass for
# an interaction.
NEGLIGIBLE_EFFECT = 0.01
# What is asked of a pair, and what it is called when it is found.
VERDICTS = {"sharing": "shares", "interaction": "interacts"}
NO_EFFECTS = PairEffects(0.0, 0.0)


@dataclass(frozen=True, repr=False, eq=False)
class Partners(Printed):
    """What :func:`umfi.partners` found.

    Attributes
    ----------
    table : DataFrame, one row for each feature and partner
        ``feature, partner``;

        ``sharing``, by how much R² the feature's importance falls when what the partner says
        about it is removed as well, its 95 % interval ``sharing_low, sharing_high``,
        ``sharing_p_value``, ``sharing_q_value`` and ``shares``;

        ``interaction``, by how much R² the two say more together than the sum of what each says
        without the other, with the same columns and ``interacts``.

        q-values are adjusted for the false discovery rate over both kinds and all pairs. R² of
        classes is that of their indicators.
    settings : dict

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> found = umfi.partners(X, y, "x1", random_state=0)
    >>> bool(found.table.set_index("partner").loc["x3", "shares"])
    True
    """

    table: pd.DataFrame
    settings: dict[str, Any]

    @property
    def summary(self) -> list[str]:
        """A sentence for each feature."""
        return [
            _describe(str(name), part) for name, part in self.table.groupby("feature", sort=False)
        ]

    @property
    def notes(self) -> list[str]:
        """What a reader should know of how the data were taken."""
        return list(self.settings.get("notes", ()))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the pairs that are found as a network, and return the axes."""
        from umfi.plots import plot_partners

        return plot_partners(self, ax=ax)

    def _show(self) -> Shown:
        strength = self.table[["sharing", "interaction"]].max(axis=1)
        table = self.table.iloc[strength.argsort()[::-1]]
        shown = table[["feature", "partner"]].copy()
        for effect, verdict in VERDICTS.items():
            shown[effect] = table[effect].map("{:.3f}".format)
            shown[f"{effect}_q_value"] = table[f"{effect}_q_value"].map("{:.2g}".format)
            shown[verdict] = table[verdict].map({True: "yes", False: "no"})
        return Shown(self.summary, shown, "pairs", self.notes)


def _describe(feature: str, part: pd.DataFrame) -> str:
    """Return in words with which others a feature shares what it says and interacts."""
    strongest = part.sort_values(["sharing", "interaction"], ascending=False)
    sharing = strongest["partner"][strongest["shares"]].tolist()
    by_interaction = part.sort_values("interaction", ascending=False)
    interacting = by_interaction["partner"][by_interaction["interacts"]].tolist()
    return (
        f"{feature!r} shares what it says with {listed(sharing) if sharing else 'none'}, and "
        f"interacts with {listed(interacting) if interacting else 'none'}, of "
        f"{len(part)} {'other' if len(part) == 1 else 'others'}."
    )


@with_options(CommonOptions, repeats=20, subsample=0.5)
def partners(
    X: Any,
    y: Any,
    feature: str | int | Sequence[str | int] | None = None,
    *,
    among: Sequence[str | int] | None = None,
    remover: str | DependenceRemover | None = None,
    alpha: float = 0.05,
    **options: Unpack[CommonOptions],
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
    {common_parameters}

    Returns
    -------
    Partners

    Notes
    -----
    For a feature x and a partner z, S are all others without what they say about x and z.

    Subsamples show how sure it is: there must be 20 repeats or more of a fifth to four fifths of
    the rows. The power must measure R²; classes are predicted as indicators, so a classifier cannot
    be one.

    Sharing is by how much nu(S, x) falls when what z says about x is removed from x, beyond what
    removing a permuted copy of z takes. It can be negative, where z explains what in x is not about
    the response.

    Interaction is the joint importance of the pair above the sum: with z' = z without what x says
    about it, by how much nu(S, x, z') - nu(S, x', z'), x' being a permuted copy of x, exceeds the
    same with a permuted copy of z'. What x, z and the copy say each by itself is taken out of the
    response first: a function of z alone is no interaction, and how well a model learns x depends
    on how much z explains. For independent features this is the variance that functional analysis
    of variance gives to the pair and to all sets of features that contain it; of correlated ones
    some of it counts as said by each.

    p-values are one-sided, by a t distribution: the estimate of all rows beside its standard error,
    which the subsamples show. They are cautious: single runs on subsamples vary more than the mean
    of the runs on all rows does.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("nonlinear_interactions", n=400, random_state=0)
    >>> print(umfi.partners(X, y, "x1", random_state=0).summary[0])
    'x1' shares what it says with none, and interacts with 'x2', of 3 others.
    """
    level = check_level("alpha", alpha)
    own = {"remover": remover, "alpha": level}
    study = Study.prepare("partners", X, y, own, options, power_task="regression")
    chosen = find_remover(study.arguments["remover"], "matched")
    refuse_large_groups(study)
    _refuse_power(study)
    _refuse_rows(study)
    firsts, seconds = _find_features(study, feature), _find_features(study, among)
    pairs = [(first, second) for first in firsts for second in seconds if first != second]
    if not pairs:
        raise InputError(
            "There is no pair to look at: name a feature, and another among the partners.",
            argument="feature",
        )
    is_constant = [one.is_constant for one in study.features]
    varying = [pair for pair in pairs if not is_constant[pair[0]] and not is_constant[pair[1]]]
    positions = {pair: position for position, pair in enumerate(varying)}
    # Which numbers are of all rows changes with the number of repeats, so these have a stage of
    # their own.
    n_repeats = study.repeats + ceil(study.repeats / REPEATS_PER_WHOLE)
    stages = {
        PAIRS: range(study.repeats),
        f"{PAIRS} of all rows": range(study.repeats, n_repeats),
    }
    # A pair says nothing before its last repeat, so that with little time it goes pair by pair.
    rounds = [[pair] for pair in varying] if options["time_limit"] is not None else [varying]
    work = partial(find_pair_effects, study, chosen)
    answers: dict[PairTask, Any] = {}
    with study:
        for some, (stage, repeats) in product(rounds, stages.items()):
            tasks = [PairTask(*pair, repeat) for repeat in repeats for pair in some]
            found = study.run(stage, work, tasks, owner_of=lambda task: positions[task[:2]])
            answers |= {task: found[task] for task in tasks if task in found}
    effects = {}
    for pair in pairs:
        tasks = [PairTask(*pair, repeat) for repeat in range(n_repeats)]
        if pair not in positions:
            effects[pair] = [NO_EFFECTS] * n_repeats
        elif all(task in answers for task in tasks):
            effects[pair] = [PairEffects(*answers[task]) for task in tasks]
    return _assemble_partners(study, effects, len(pairs), {"feature": firsts, "among": seconds})


def _assemble_partners(
    study: Study,
    found: Mapping[tuple[int, int], Sequence[PairEffects]],
    n_pairs: int,
    asked: Mapping[str, Sequence[int]],
) -> Partners:
    """Return the result from the effects of pairs: those of all repeats, then of all rows."""
    import pandas as pd

    stopped = study.runner.describe_stop()
    if not found:
        study.runner.pass_on_interrupt()
        raise InputError(f"{stopped} before any pair was complete: allow more time.")
    names = [one.name for one in study.features]
    fraction = study.n_rows_each / study.columns.n_rows
    rows = []
    for (first, second), effects in found.items():
        row: dict[str, Any] = {"feature": names[first], "partner": names[second]}
        for kind in VERDICTS:
            values = np.array([getattr(one, kind) for one in effects])
            subsampled, whole = values[: study.repeats], values[study.repeats :]
            row[kind] = float(whole.mean())
            low_high = subsampling_interval(subsampled, whole, fraction, 0.95)
            row[f"{kind}_low"], row[f"{kind}_high"] = low_high
            row[f"{kind}_p_value"] = subsampling_test(subsampled, whole, fraction)
        rows.append(row)
    n_missing = n_pairs - len(rows)
    study = study.with_facts(
        settings={name: [names[index] for index in indices] for name, indices in asked.items()},
        notes=[f"{stopped}: {n_missing} of {n_pairs} pairs are missing."] if n_missing else [],
    )
    table = _add_verdicts(pd.DataFrame(rows), study.settings["alpha"])
    return Partners(table, dict(study.settings))


def _add_verdicts(table: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Return the table with p-values adjusted over both questions and all pairs."""
    p_values = np.concatenate([table[f"{name}_p_value"].to_numpy() for name in VERDICTS])
    adjusted = np.split(adjust_p_values(p_values, "fdr"), len(VERDICTS))
    for (name, verdict), q_values in zip(VERDICTS.items(), adjusted, strict=True):
        position = list(table).index(f"{name}_p_value") + 1
        table.insert(position, f"{name}_q_value", q_values)
        is_found = (q_values <= alpha) & (table[name] > NEGLIGIBLE_EFFECT)
        table.insert(position + 1, verdict, is_found)
    return table


def _find_features(study: Study, wanted: Any) -> list[int]:
    """Return the indices of features by name, or else by position; all for None."""
    names = [feature.name for feature in study.features]
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


def _refuse_power(study: Study) -> None:
    """Raise if the power cannot score numbers, or does not measure R²."""
    power = study.power
    if isinstance(power, CallablePower):
        if study.target.task == "classification":
            raise InputError(
                "partners predicts classes as indicators, which a function that expects classes "
                "cannot score: pass a named power such as 'forest'."
            )
    elif measure_of(power, "regression") != "R²":
        raise InputError(
            f"partners compares R², which power={study.settings['power']!r} does not measure: "
            "pass 'forest', 'extra-trees', 'boosting', 'linear', 'neural-network' or a regressor."
        )


def _refuse_rows(study: Study) -> None:
    """Raise if the repeats do not show how sure it is."""
    fraction = study.n_rows_each / study.columns.n_rows
    is_fitting = MIN_INTERVAL_FRACTION <= fraction <= MAX_INTERVAL_FRACTION
    if not is_fitting or study.repeats < MIN_INTERVAL_REPEATS:
        raise InputError(
            "partners needs subsamples to show how sure it is: pass subsample=0.5 "
            f"({MIN_INTERVAL_FRACTION} to {MAX_INTERVAL_FRACTION}) and "
            f"repeats={MIN_INTERVAL_REPEATS} or more.",
            argument="subsample",
        )
