"""Whether coverage is off target by more than chance allows, and what the likely cause is.

Misses come together: after a jump, and in all series at once. So chance is not that of independent rounds. The labels,
in order of time, are cut into batches, where all labels of one moment are in the same batch. The standard error of the
coverage comes from the differences between neighbouring batches, so that neither a slow drift nor a single jump hides
itself in it, and it is never taken smaller than that of independent labels. Chance allows three standard errors: a
method that is right leaves them in about one of 370 runs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

LEAST = 200  # labels, below which nothing is said
ERRORS = 3.0  # standard errors that chance allows
NEAR = 0.01  # of the target: nobody acts on less, however many labels there are,
NEAR_SHARE = 0.25  # nor on a quarter of alpha, where that is less
MOST = 64  # batches; then pairs of them are joined
FEW = 8  # batches, below which their differences say little
EARLY = 20  # labels of a series, which count as its beginning
JUMP = 4.0  # standard deviations below the target: a batch in which something happened
JUMP_SHARE = 0.5  # of the labels at most are in such batches; else it is no jump


@dataclass(frozen=True)
class Verdict:
    """Coverage that chance does not explain.

    Args:
        alpha: the level.
        labels: how many were judged.
        coverage: the share of them inside.
        chance: how far from the target chance alone may lead.
        cause: "few labels", "cold start", "jump" or "throughout".
        why: the cause in words.
    """

    alpha: float
    labels: int
    coverage: float
    chance: float
    cause: str
    why: str

    def said(self, command: str | None = None) -> str:
        """What a reader must know first, with the next command to run.

        >>> print(Verdict(0.1, 5000, 0.255, 0.013, "throughout", "the intervals are too narrow").said("wane compare f"))
        BAD: 25.5 % of 5,000 true values are inside (target 90 %); chance explains 1.3 points, not 64.5.
        Likely cause: the intervals are too narrow. Next: wane compare f
        """
        target = 1.0 - self.alpha
        off, chance = 100 * abs(self.coverage - target), 100 * self.chance
        digits = 1 if f"{off:.1f}" != f"{chance:.1f}" else 2  # so that a reader sees which is larger
        said = f"BAD: {100 * self.coverage:.1f} % of {self.labels:,} true values are inside "
        said += f"(target {100 * target:.4g} %); chance explains {chance:.{digits}f} points, not {off:.{digits}f}.\n"
        said += f"Likely cause: {self.why}."
        return said if command is None else f"{said} Next: {command}"


class Judged:
    """Labels in order of time, inside or not, in a few batches; from these comes the verdict.

    >>> judged = Judged(0.1)
    >>> judged.add(np.arange(1000) % 10 > 4)  # half are inside
    >>> judged.verdict(series=1).cause, Judged(0.1).verdict(series=1)
    ('throughout', None)
    """

    def __init__(self, alpha: float) -> None:
        """Begin without labels."""
        self.alpha = alpha
        self.counts, self.hits = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)  # by batch
        self.size, self.filled = 1, 1  # moments of a batch, and of the last one
        self.last: Any = None  # the last moment
        self.early = np.zeros(2, dtype=np.int64)  # labels at the beginning of their series, and hits among them

    def add(self, inside: Any, moments: Any = None, early: Any = None) -> None:
        """Count some labels.

        Args:
            inside: whether each is in its interval.
            moments: when; they do not decrease. None: each label has a moment of its own.
            early: whether each is among the first ``EARLY`` of its series; None if none is.
        """
        inside = np.asarray(inside, dtype=bool)
        if not len(inside):
            return
        if early is not None:
            self.early += [np.count_nonzero(early), np.count_nonzero(inside & early)]
        # A new moment begins at each of these rows; the first row may belong to the last moment.
        new = np.ones(len(inside), dtype=bool)
        if moments is not None:
            moments = np.asarray(moments)
            new[1:] = moments[1:] != moments[:-1]
            new[0] = self.last is None or bool(moments[0] != self.last)
            self.last = moments[-1]
        batch = (self.filled - 1 + np.cumsum(new)) // self.size + len(self.counts) - 1
        batch = batch if len(self.counts) else batch - batch[0]
        rows = max(int(batch[-1]) + 1, len(self.counts))
        counts, hits = (np.bincount(batch, values, rows).astype(np.int64) for values in (None, inside))
        counts[: len(self.counts)] += self.counts
        hits[: len(self.hits)] += self.hits
        self.counts, self.hits = counts, hits
        self.filled = (self.filled - 1 + int(new.sum())) % self.size + 1
        self._join()

    def _join(self) -> None:
        """Join pairs of batches until there are few."""
        while len(self.counts) > MOST:
            odd = len(self.counts) % 2
            self.filled += self.size * (1 - odd)
            self.counts, self.hits = (
                np.add.reduceat(part, np.arange(0, len(part), 2)) for part in (self.counts, self.hits)
            )
            self.size *= 2

    @property
    def labels(self) -> int:
        """How many were counted."""
        return int(self.counts.sum())

    @property
    def coverage(self) -> float:
        """The share of them inside; NaN if there are none."""
        return int(self.hits.sum()) / self.labels if self.labels else math.nan

    def chance(self) -> float:
        """How far from the target chance alone may lead."""
        variance = self.labels * self.alpha * (1.0 - self.alpha)
        if len(self.counts) >= FEW:
            beyond = self.hits - self.coverage * self.counts
            variance = max(variance, 0.5 * float(np.square(np.diff(beyond)).sum()))
        return ERRORS * math.sqrt(variance) / max(self.labels, 1)

    def allowed(self, labels: int) -> float:
        """How far off so many labels may be: as far as independent ones by chance, or not worth a word."""
        near = min(NEAR, NEAR_SHARE * self.alpha)
        return max(near, ERRORS * math.sqrt(self.alpha * (1.0 - self.alpha) / max(labels, 1)))

    def verdict(self, series: int) -> Verdict | None:
        """Say if the coverage is bad, and why; None if it is not, or if there are too few labels to say so."""
        near = min(NEAR, NEAR_SHARE * self.alpha)
        off, chance = self.coverage - (1.0 - self.alpha), self.chance()
        if self.labels < LEAST or abs(off) <= max(near, chance):
            return None
        return Verdict(self.alpha, self.labels, self.coverage, chance, *self._cause(off, series))

    def _cause(self, off: float, series: int) -> tuple[str, str]:
        """The likely cause, and the same in words."""
        target, each = 1.0 - self.alpha, self.labels / max(series, 1)
        if off > 0.0:
            return "throughout", "the intervals are wider than was asked for"
        if series > 1 and each < EARLY:
            return "few labels", f"there are too few labels, {each:.3g} for each of {series:,} series"
        # The beginning of each series, and of the whole: the rest is on target.
        first = max(len(self.counts) // 4, 1)
        begun = [self.early.tolist(), [int(self.counts[:first].sum()), int(self.hits[:first].sum())]]
        for labels, hits in begun:
            rest, inside = self.labels - labels, int(self.hits.sum()) - hits
            if labels and rest and abs(inside / rest - target) <= self.allowed(rest):
                return "cold start", (
                    f"it is a cold start: {100 * hits / labels:.1f} % of the first {labels:,} labels are inside, and "
                    f"{100 * inside / rest:.1f} % of the others"
                )
        # Some batches are far off, and the others are on target.
        spread = np.sqrt(self.alpha * target * np.maximum(self.counts, 1))
        far = self.hits < target * self.counts - JUMP * spread
        labels, rest = int(self.counts[far].sum()), int(self.counts[~far].sum())
        if 0 < labels <= JUMP_SHARE * self.labels:
            inside = int(self.hits[~far].sum())
            if abs(inside / rest - target) <= self.allowed(rest):
                return "jump", (
                    f"there was a jump: {100 * self.hits[far].sum() / labels:.1f} % of {labels:,} labels are inside, "
                    f"and {100 * inside / rest:.1f} % of the others"
                )
        return "throughout", "the intervals are too narrow throughout"
