"""What is asked, without the data: enough to make a result of the answers of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from umfi.errors import INCOMPLETE, InputError, StopCode, StopReason, listed
from umfi.importance.features import Feature
from umfi.importance.result import SCORE_COLUMNS, ImportanceResult
from umfi.inference import standard_error

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AnswersOf", "Assembler", "ScorePair", "Specification", "Undone", "assemble"]


class ScorePair(NamedTuple):
    """The two scores of an importance, the importance, and its standard error, NaN if unknown."""

    score_with: float
    score_without: float
    importance: float
    standard_error: float = float("nan")

    @classmethod
    def difference(
        cls,
        score_with: float,
        score_without: float,
        influences: NDArray[np.float64] | None = None,
    ) -> ScorePair:
        """Return the pair whose importance is the plain difference of two scores."""
        importance = score_with - score_without
        return cls(score_with, score_without, importance, standard_error(influences))


@dataclass(frozen=True, eq=False)
class Specification:
    """A study without its data.

    Attributes
    ----------
    features : what gets an importance; the columns one by one unless there are groups
    representatives : for each feature the index of the feature whose scores it gets
    settings : arguments and facts for the result
    extra : what else a method needs to make a result of its answers
    """

    features: tuple[Feature, ...]
    representatives: tuple[int, ...]
    settings: dict[str, Any]
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(self.settings["method"])

    @property
    def repeats(self) -> int:
        """How often everything is run."""
        return int(self.settings["repeats"])

    @property
    def scored(self) -> list[int]:
        """Indices of the features that stand for themselves."""
        return sorted(set(self.representatives))

    def with_facts(
        self,
        *,
        settings: Mapping[str, Any] | None = None,
        notes: Iterable[str] = (),
        extra: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return the same with more settings, notes and extra facts."""
        all_notes = list(dict.fromkeys([*self.settings["notes"], *notes]))
        return replace(
            self,
            settings=self.settings | dict(settings or {}) | {"notes": all_notes},
            extra=self.extra | dict(extra or {}),
        )

    def result(
        self,
        pairs: Iterable[tuple[int, int, ScorePair]],
        *,
        columns: Mapping[str, Sequence[Any]] | None = None,
    ) -> ImportanceResult:
        """Return the result from (feature index, repeat, scores) and more columns of scores."""
        import pandas as pd

        rows = [(self.features[feature].name, repeat, *pair) for feature, repeat, pair in pairs]
        scores = pd.DataFrame(rows, columns=list(SCORE_COLUMNS)).assign(**dict(columns or {}))
        return ImportanceResult(scores=scores, settings=self.settings)

    def to_plain(self) -> dict[str, Any]:
        """Return the specification as JSON can hold it."""
        return {
            "features": [asdict(feature) for feature in self.features],
            "representatives": self.representatives,
            "settings": self.settings,
            "extra": self.extra,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Specification:
        """Return the specification from what JSON held."""
        features = tuple(
            Feature(**{**one, "positions": tuple(one["positions"])}) for one in plain["features"]
        )
        return cls(features, tuple(plain["representatives"]), plain["settings"], plain["extra"])


# From a stage to its answers by the names of the tasks.
AnswersOf = Callable[[str], Mapping[tuple[str | int, ...], Any]]
# How a method makes a result of its answers; with it, what there is less of than was asked for.
Assembler = Callable[[Specification, AnswersOf], tuple[ImportanceResult, list["Undone"]]]


class Undone(NamedTuple):
    """What there is less of than was asked for."""

    text: str
    n_undecided: int = 0


def assemble(
    specification: Specification,
    assembler: Assembler,
    answers_of: AnswersOf,
    reason: StopReason | None = None,
) -> ImportanceResult:
    """Return the result of a run that is complete, stopped early, or going on.

    The reason says why answers may be missing. Raises if no feature has an importance yet.
    """
    result, undone = assembler(specification, answers_of)
    n_repeats = result.scores.groupby("feature")["repeat"].nunique()
    if n_repeats.empty and reason is not None and reason.code is StopCode.PART_OF_RUN:
        raise InputError(
            f"{reason}, which has no whole feature: what it did is stored, so merge the files."
        )
    if n_repeats.empty:
        reason_text = reason or "The run was stopped early"
        raise InputError(f"{reason_text} before any feature had its importance: allow more time.")
    undone = [*_find_missing(specification, n_repeats), *undone]
    if not undone:
        return result
    reason = reason or INCOMPLETE
    stopped = reason.as_settings() | {"n_undecided": sum(one.n_undecided for one in undone)}
    note = f"{reason}: {'; '.join(one.text for one in undone)}."
    complete = specification.with_facts(settings=stopped, notes=[note])
    return replace(result, settings=complete.settings)


def _find_missing(specification: Specification, n_repeats: pd.Series) -> list[Undone]:
    """Return which importances and repeats there are less of than were asked for."""
    undone = []
    missing = [one.name for one in specification.features if one.name not in n_repeats.index]
    if missing:
        undone.append(Undone(f"there is no importance of {listed(missing)}"))
    least, most = int(n_repeats.min()), int(n_repeats.max())
    if least < specification.repeats:
        n_done = f"{least}" if least == most else f"{least} to {most}"
        undone.append(Undone(f"{n_done} of {specification.repeats} repeats are done"))
    return undone
