"""Removers: turn columns into S, which carries no information about the protected ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from umfi.data.columns import Columns, Kind
from umfi.data.contracts import DependenceRemover, ProtocolName, check_protocol
from umfi.data.frames import drop_incomplete_rows, frame_like, read_columns
from umfi.errors import InputError, unknown_name
from umfi.execution import Streams
from umfi.removal.chained import ChainedRemover
from umfi.removal.distortion import find_distortion, mic_e
from umfi.removal.donors import find_donors
from umfi.removal.joint import JointRemover
from umfi.removal.leakage import MAX_LEAKAGE, Leakage, find_leakage, leakage_limit, measure_leakages
from umfi.removal.linear import LinearRemover
from umfi.removal.protected import MIN_CELL_ROWS, count_directions, has_rare_levels
from umfi.removal.transport import TransportRemover

__all__ = [
    "MAX_LEAKAGE",
    "MIN_CELL_ROWS",
    "ChainedRemover",
    "JointRemover",
    "Leakage",
    "LinearRemover",
    "TransportRemover",
    "count_directions",
    "find_distortion",
    "find_donors",
    "find_leakage",
    "find_remover",
    "has_rare_levels",
    "leakage_limit",
    "measure_leakages",
    "mic_e",
    "refuse_levels",
    "remove_dependence",
]

REMOVERS: dict[str, type[DependenceRemover]] = {
    "joint": JointRemover,
    "linear": LinearRemover,
    "transport": TransportRemover,
    "chained": ChainedRemover,
}


def find_remover(
    remover: str | DependenceRemover, protocol: ProtocolName = "one-fit"
) -> DependenceRemover:
    """Return the remover of this name, or the object itself if it is one."""
    if isinstance(remover, str):
        if remover not in REMOVERS:
            raise unknown_name("remover", remover, REMOVERS)
        remover = REMOVERS[remover]()
    if isinstance(remover, type):
        name = remover.__name__
        raise InputError(f"remover={name} is a class: pass an object, {name}().")
    if not isinstance(remover, DependenceRemover):
        raise InputError(
            f"is not a remover: pass one of {', '.join(map(repr, REMOVERS))} or an object such as "
            "umfi.TransportRemover(rows_per_bin=30).",
            argument="remover",
            value=remover,
        )
    is_joint = isinstance(remover, JointRemover | ChainedRemover)
    if protocol == "paper" and is_joint:
        raise InputError(
            "The paper protocol has linear and transport removal only: pass remover='linear' or "
            "remover='transport', or leave protocol out."
        )
    return remover


def refuse_levels(columns: Columns, protocol: ProtocolName) -> None:
    """Raise if the paper protocol meets kinds of columns that the authors' package has not."""
    for name, kind in zip(columns.names, columns.kinds, strict=True):
        if protocol == "paper" and kind in (Kind.ORDINAL, Kind.CATEGORICAL):
            raise InputError(
                f"Column {name!r} is {kind}, which the paper protocol does not have: leave "
                "protocol out."
            )


def remove_dependence(
    X: Any,
    feature: str | int | Sequence[str | int],
    *,
    remover: str | DependenceRemover = "joint",
    protocol: str = "matched",
    kinds: Mapping[str, str] | None = None,
    missing: str = "error",
    random_state: Any = None,
) -> Any:
    """Return S, all other columns without their information about one feature.

    Parameters
    ----------
    X : frame or array, shape (n_rows, n_features)
    feature : str, int or list
        The protected feature, by name or position; a list is a group that is protected jointly.
    remover : {"joint", "linear", "transport", "chained"} or object
    protocol : {"matched", "paper"}
        ``"paper"`` repeats the authors' package to the last digit.
    kinds : dict, optional
        Column name to ``"continuous"``, ``"ordinal"``, ``"categorical"`` or ``"boolean"``, where it
        is not as found.
    missing : {"error", "drop", "level"}
        What is done about missing values; see :func:`umfi.ultra_marginal`. Rows that are dropped
        are missing from S as well.
    random_state : None, int or Generator
        For the random ranks of levels and other values that many rows hold, and for the forests
        that decide when to stop.

    Returns
    -------
    frame or array of the same type as X, shape (n_rows, number of other features)
        With X's names and row index.

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
    >>> umfi.remove_dependence(X, "x1", remover="linear").round(2).head(2)
         x2    x3    x4
    0  1.28 -0.08  0.25
    1  0.15 -0.18 -0.03
    """
    import pandas as pd

    checked_protocol = check_protocol(protocol) or "matched"
    chosen = find_remover(remover, checked_protocol)
    X, _ = drop_incomplete_rows(X) if missing == "drop" else (X, None)
    columns = read_columns(X, kinds=kinds, missing=missing)
    refuse_levels(columns, checked_protocol)
    rng = Streams.from_random_state(random_state).generator("remove_dependence")
    is_name = str(feature) in columns.names
    is_group = isinstance(feature, list | tuple | pd.Index | np.ndarray) and not is_name
    names: list[Any] = list(feature) if is_group else [feature]  # type: ignore[arg-type]
    if not names:
        raise InputError("feature=[] names no feature: pass a name, or a list of names.")
    members = sorted({columns.index(name) for name in names})
    if len(members) == columns.n_columns:
        raise InputError("All features are protected: leave one at least to remove them from.")
    if len(members) > 1 and checked_protocol == "paper":
        raise InputError("The paper protocol protects one feature: leave protocol out.")
    unrelated = chosen.remove(
        columns.without(members), [columns.select(members)], protocol=checked_protocol, rng=rng
    )
    return frame_like(X, unrelated, columns)
