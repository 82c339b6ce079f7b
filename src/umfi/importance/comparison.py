"""Several methods and powers on one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from umfi.data.target import read_target
from umfi.errors import InputError, listed, unknown_name
from umfi.execution import Budget, Streams
from umfi.execution.checkpoint import Checkpoint, read_checkpoint
from umfi.importance import METHODS
from umfi.importance.display import Printed, Shown
from umfi.importance.result import ImportanceResult
from umfi.power import ForestPower, find_power

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Comparison", "compare"]

# What data and powers are given to.
COMPARED = {name: method for name, method in METHODS.items() if method.is_compared}
DEFAULT_METHODS = [name for name, method in COMPARED.items() if method.is_compared_by_default]


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Printed):
    """What :func:`umfi.compare` found.

    Attributes
    ----------
    results : dict
        The result of each method and power, by the name of its column in :attr:`table`.
    own_notes : tuple of str
        What is to be said of none of them.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> found = umfi.compare(X, y, methods=["ultra_marginal", "ablation"], random_state=0)
    >>> list(found.table)
    ['feature', 'ultra_marginal', 'ablation']
    """

    results: dict[str, ImportanceResult]
    own_notes: tuple[str, ...] = ()

    @property
    def table(self) -> pd.DataFrame:
        """One row per feature, a column of importances for each result, sorted by the first."""
        import pandas as pd

        table = pd.DataFrame({name: result.importances for name, result in self.results.items()})
        first = next(iter(self.results))
        table = table.sort_values(first, ascending=False, kind="stable")
        return table.rename_axis("feature").reset_index()

    @property
    def ranks(self) -> pd.DataFrame:
        """The same with ranks, 1 for the most important."""
        table = self.table.set_index("feature")
        return table.rank(ascending=False, method="min").astype("Int64").reset_index()

    @property
    def agreement(self) -> pd.DataFrame:
        """Rank correlations (Spearman's) between the results."""
        return self.table.set_index("feature").corr(method="spearman")

    def plot(self, axes: Sequence[Axes] | None = None) -> Sequence[Axes]:
        """Draw the importances of each result as bars side by side, and return the axes."""
        from umfi.plots import plot_comparison

        return plot_comparison(self, axes=axes)

    @property
    def notes(self) -> list[str]:
        """What a reader should know, of any of the results."""
        of_results = (note for result in self.results.values() for note in result.notes)
        return list(dict.fromkeys([*self.own_notes, *of_results]))

    def _show(self) -> Shown:
        settings = next(iter(self.results.values())).settings
        headline = (
            f"importances for {settings.get('target', 'y')!r} ({settings.get('n_rows', 0)} rows, "
            f"{settings.get('n_features', 0)} features)"
        )
        units = {
            name: f"{name} [{result.settings.get('measure', 'score')}]"
            for name, result in self.results.items()
        }
        return Shown([headline], self.table.rename(columns=units), None, self.notes)


def compare(
    X: Any,
    y: Any,
    *,
    methods: Sequence[str] | Mapping[str, Mapping[str, Any]] | None = None,
    powers: Sequence[Any] | Mapping[str, Any] = ("forest",),
    task: str = "auto",
    random_state: Any = None,
    **arguments: Any,
) -> Comparison:
    """Return the importances that several methods and powers give to the same features.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    y : series or array, shape (n_rows,)
    methods : sequence of str, or dict, optional
        Names such as ``"ultra_marginal"`` and ``"ablation"``; or any name to arguments, such as
        ``{"with linear removal": {"method": "ultra_marginal", "remover": "linear"}}``. By default
        ultra-marginal importance, ablation, bivariate association and, if all powers are forests,
        permutation.
    powers : sequence, or dict
        What measures predictive power, as ``power=`` of the methods; each method is run with each.
        A dictionary gives them names.
    task : {"auto", "regression", "classification"}
    random_state : None, int, Generator or SeedSequence
        The same for all, so that methods differ in nothing else.
    **arguments
        For all methods that know them, such as ``repeats=20`` or ``remover="linear"``.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("nonlinear_interactions", n=300, random_state=0)
    >>> found = umfi.compare(
    ...     X, y, methods=["ultra_marginal"], powers=["forest", "linear"], random_state=0
    ... )
    >>> list(found.table)
    ['feature', 'ultra_marginal, forest', 'ultra_marginal, linear']
    """
    if "power" in arguments:
        raise InputError("compare takes several powers: pass powers=[...] instead of power=.")
    by_power = _read_powers(powers)
    known = {name for method in COMPARED for name in _arguments_of(method)}
    for name in arguments:
        if name not in known:
            raise unknown_name("argument", name, sorted(known))
    found_task = read_target(y, task=task).task
    checkpoint = Checkpoint.read(arguments.get("checkpoint"))
    if random_state is None and checkpoint is not None and checkpoint.file.is_file():
        # That of the runs in the checkpoint, if there are any.
        stored = (run.identity.get("random_state") for run in read_checkpoint(checkpoint.file))
        random_state = next(stored, None)
    seed = Streams.from_random_state(random_state).entropy
    notes: tuple[str, ...] = ()
    if methods is None:
        found_powers = [find_power(power, found_task) for power in by_power.values()]
        are_forests = all(isinstance(power, ForestPower) for power in found_powers)
        for_forests = [name for name in DEFAULT_METHODS if COMPARED[name].needs_forest]
        methods = DEFAULT_METHODS
        if not are_forests:
            methods = [name for name in DEFAULT_METHODS if name not in for_forests]
            notes = (f"Left out, being for forests alone: {listed(for_forests)}.",)
    calls: dict[str, tuple[str, dict[str, Any]]] = {}
    for label, (method, own) in _read_methods(methods).items():
        taken = _arguments_of(method)
        shared = {name: value for name, value in arguments.items() if name in taken}
        for power_name, power in by_power.items():
            used = own.get("power", power)
            is_forest = isinstance(find_power(used, found_task), ForestPower)
            if COMPARED[method].needs_forest and not is_forest:
                raise InputError(
                    f"{method} looks into the trees of a forest, so power={used!r} cannot be "
                    f"compared with it: leave {method} out of the methods.",
                    argument="methods",
                )
            name = label if len(by_power) == 1 else f"{label}, {power_name}"
            settings = {"power": power, "task": task, "random_state": seed, **shared, **own}
            calls[name] = (method, settings)
    budget = Budget(arguments.get("time_limit"))
    results: dict[str, ImportanceResult] = {}
    for name, (method, settings) in calls.items():
        if checkpoint is not None:
            settings["checkpoint"] = replace(checkpoint, label=name)
        # What one method leaves is for those after it.
        part = settings["time_limit"] = budget.share(len(calls) - len(results))
        try:
            results[name] = COMPARED[method].function(X, y, **settings)
        except InputError:
            if not results or not part.is_over:
                raise  # Others than for want of time.
        except KeyboardInterrupt:
            if not results or checkpoint is not None:
                raise
        if part.is_interrupted:
            break
    return Comparison(results, notes)


def _arguments_of(method: str) -> set[str]:
    """Return the names of the arguments of a method, beside data and power."""
    return set(COMPARED[method].options) - {"power"}


def _read_methods(
    methods: Sequence[str] | Mapping[str, Mapping[str, Any]],
) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return by label a method and its own arguments."""
    is_listed = isinstance(methods, Sequence | Mapping) and not isinstance(methods, str)
    if not is_listed or not methods:
        raise InputError(
            f"is not valid: pass a list such as {list(DEFAULT_METHODS)}.",
            argument="methods",
            value=methods,
        )
    wanted: dict[str, tuple[str, dict[str, Any]]] = {}
    for label in methods:
        own = methods[label] if isinstance(methods, Mapping) else {}
        if not isinstance(own, Mapping):
            raise InputError(
                f"methods[{label!r}]={own!r} is not valid: pass arguments, such as "
                "{'method': 'ablation'}."
            )
        method = own.get("method", label)
        if not isinstance(method, str) or method not in COMPARED:
            raise unknown_name("method", method, COMPARED, argument="methods")
        valid = _arguments_of(method) | {"method", "power"}
        for name in own:
            if name not in valid:
                raise unknown_name(f"argument of {method}", name, sorted(valid))
        if str(label) in wanted:
            raise InputError(
                f"names {label!r} twice: pass each once.", argument="methods", value=methods
            )
        wanted[str(label)] = method, {key: own[key] for key in own if key != "method"}
    return wanted


def _read_powers(powers: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """Return powers by the name that is shown."""
    if isinstance(powers, Mapping):
        named = {str(name): power for name, power in powers.items()}
    elif isinstance(powers, Sequence) and not isinstance(powers, str):
        names = (
            one if isinstance(one, str) else str(getattr(one, "__name__", None) or repr(one))
            for one in powers
        )
        named = dict(zip(names, powers, strict=True))
    else:
        named = {}
    if not named:
        raise InputError(
            "is not valid: pass a list such as ['forest'].", argument="powers", value=powers
        )
    if len(named) < len(powers):
        raise InputError(
            "Two powers have the same name: give them names, as {'first': ..., 'second': ...}.",
            argument="powers",
        )
    return named
