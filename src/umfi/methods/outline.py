"""What is asked, without the data: enough to make a result of the answers of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from umfi.inference import MAX_INTERVAL_SHARE, MIN_INTERVAL_REPEATS, MIN_INTERVAL_SHARE
from umfi.methods.features import Feature
from umfi.result import SCORE_COLUMNS, ImportanceResult

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Outline", "ScorePair"]

# An interval also needs the importance of all rows: one run for so many repeats.
REPEATS_PER_WHOLE = 5


class ScorePair(NamedTuple):
    """The two scores of an importance, and the importance: their difference."""

    score_with: float
    score_without: float
    importance: float

    @classmethod
    def difference(cls, score_with: float, score_without: float) -> ScorePair:
        """Return the pair with the plain difference as its importance."""
        return cls(score_with, score_without, score_with - score_without)

    @classmethod
    def no_difference(cls, score: float) -> ScorePair:
        """Return the pair of a feature that can have no importance."""
        return cls(score, score, 0.0)


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

    @property
    def sampled_share(self) -> float:
        """Rows of a repeat as a share of all."""
        return (self.n_sampled_rows or self.n_rows) / self.n_rows

    @property
    def runs(self) -> range:
        """Numbers of the repeats, then of those on all rows that intervals are made with.

        Which is which changes with the number of repeats, so these are stages of their own.
        """
        is_fitting = MIN_INTERVAL_SHARE <= self.sampled_share <= MAX_INTERVAL_SHARE
        if not is_fitting or self.repeats < MIN_INTERVAL_REPEATS:
            return range(self.repeats)
        return range(self.repeats + ceil(self.repeats / REPEATS_PER_WHOLE))

    def split_runs(self, stage: str) -> list[tuple[str, range]]:
        """Return the stages of the repeats and of the runs on all rows, with their runs."""
        parts = {
            stage: range(self.repeats),
            f"{stage} of all rows": range(self.repeats, len(self.runs)),
        }
        return [(own, runs) for own, runs in parts.items() if runs]

    def result(
        self,
        pairs: Iterable[tuple[int, int, ScorePair]],
        *,
        extra: Mapping[str, Sequence[Any]] | None = None,
        tests: pd.DataFrame | None = None,
    ) -> ImportanceResult:
        """Return the result from (feature index, run, scores), extra columns and tests.

        Runs on all rows count where all features of the result have them, and repeats enough for
        an interval.
        """
        import pandas as pd

        rows = [(self.features[feature].name, run, *pair) for feature, run, pair in pairs]
        scores = pd.DataFrame(rows, columns=list(SCORE_COLUMNS))
        for name, values in (extra or {}).items():
            scores[name] = values
        is_whole = scores["repeat"] >= self.repeats
        whole = scores[is_whole].reset_index(drop=True)
        subsampled = scores[~is_whole]
        n_features = subsampled["feature"].nunique()
        n_each = whole.groupby("repeat")["feature"].nunique()
        whole = whole[whole["repeat"].map(n_each) == n_features].reset_index(drop=True)
        n_least = subsampled.groupby("feature")["repeat"].nunique().min() if len(subsampled) else 0
        has_intervals = len(whole) > 0 and n_least >= MIN_INTERVAL_REPEATS
        return ImportanceResult(
            scores=subsampled,
            settings=self.settings,
            tests=tests,
            whole_scores=whole if has_intervals else None,
        )

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
