"""The rows of a panel whose labels are not learned yet."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True)
class Tail:
    """Rows whose labels a panel has not learned yet, either because labels are delayed or because of the warm-up.

    A row belongs to the stream at ``place`` and is its row number ``pos``. ``below`` and ``above`` are the scores of
    the two sides, NaN where no label comes, and ``radii`` are those that were played, NaN in the warm-up. ``notes`` are
    what ``auto`` and ``pool`` keep with a prediction; other methods have none.
    """

    place: np.ndarray
    pos: np.ndarray
    below: np.ndarray
    above: np.ndarray
    radii: np.ndarray
    notes: np.ndarray

    @classmethod
    def empty(cls, width: int, note: int = 0) -> Tail:
        """Make a tail without rows, for so many columns of radii and so many numbers in a note."""
        none = np.zeros(0)
        return cls(none.astype(np.intp), none.astype(np.int64), none, none, np.zeros((0, width)), np.zeros((0, note)))

    @staticmethod
    def joined(tails: list[Tail]) -> Tail:
        """Put the rows of several tails one after the other."""
        names = [field.name for field in fields(Tail)]
        return Tail(*[np.concatenate([getattr(t, k) for t in tails]) for k in names])

    def take(self, rows: np.ndarray) -> Tail:
        """Select rows by number."""
        return Tail(*[getattr(self, field.name)[rows] for field in fields(self)])
