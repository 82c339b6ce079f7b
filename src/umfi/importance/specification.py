"""What is asked, without the data: enough to make a result of the answers of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from umfi.importance.features import Feature
from umfi.importance.result import SCORE_COLUMNS, ImportanceResult
from umfi.inference import standard_error
from umfi.power import Comparison

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Outline", "ScorePair"]


class ScorePair(NamedTuple):
    """The two scores of an importance, the importance, and its standard error.

    The error is NaN where the rows do not tell it.
    """

    score_with: float
    score_without: float
    importance: float
    standard_error: float = float("nan")

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> ScorePair:
        """Return the pair with the difference of the scores as its importance."""
        error = standard_error(comparison.influences)
        with_, without = comparison.score_with, comparison.score_without
        return cls(with_, without, with_ - without, error)

    def to_plain(self) -> list[float | None]:
        """Return the pair as JSON can hold it."""
        return [None if np.isnan(value) else float(value) for value in self]

    @classmethod
    def from_plain(cls, plain: Sequence[float | None]) -> ScorePair:
        """Return the pair from what JSON held."""
        return cls(*(float("nan") if value is None else value for value in plain))

    @classmethod
    def difference(cls, score_with: float, score_without: float) -> ScorePair:
        """Return the pair with the plain difference as its importance."""
        return cls(score_with, score_without, score_with - score_without)


@dataclass(frozen=True)
class Outline:
    """A question without its data.

    Attributes
    ----------
    features : what gets an importance; the columns one by one unless there are groups
    representatives : for each feature the index of the feature whose scores it gets
    repeats : int
    n_rows : int
    n_sampled_rows : rows of each repeat, None for all
    settings : arguments and facts for the result
    extra : what else a method needs to make a result of its answers
    """

    features: tuple[Feature, ...]
    representatives: tuple[int, ...]
    repeats: int
    n_rows: int
    n_sampled_rows: int | None
    settings: dict[str, Any]
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(self.settings["method"])

    @property
    def scored(self) -> list[int]:
        """Indices of the features that stand for themselves."""
        return sorted(set(self.representatives))

    def result(
        self,
        pairs: Iterable[tuple[int, int, ScorePair]],
        *,
        extra: Mapping[str, Sequence[Any]] | None = None,
        tests: pd.DataFrame | None = None,
    ) -> ImportanceResult:
        """Return the result from (feature index, repeat, scores), extra columns and tests."""
        import pandas as pd

        rows = [(self.features[feature].name, repeat, *pair) for feature, repeat, pair in pairs]
        scores = pd.DataFrame(rows, columns=list(SCORE_COLUMNS))
        for name, values in (extra or {}).items():
            scores[name] = values
        return ImportanceResult(scores=scores, settings=self.settings, tests=tests)

    def to_plain(self) -> dict[str, Any]:
        """Return the outline as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Outline:
        """Return the outline from what JSON held."""
        features = tuple(
            Feature(**{**one, "positions": tuple(one["positions"])}) for one in plain["features"]
        )
        representatives = tuple(plain["representatives"])
        return cls(**{**plain, "features": features, "representatives": representatives})
