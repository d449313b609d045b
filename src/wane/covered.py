"""What counts as covered: two rules, one for each purpose, which differ only where a label lies on the very edge.

*Learning* asks whether the radius exceeded the score (``covers``). This is the paper's rule (Section 3): a tie is a
miss. Trackers learn by it, and the monitors, the counts of a panel, ``Table.covered`` and ``wane.metrics.covered``
follow it, so that coverage can be held against alpha and against the bounds of the theory. A tracker that was told
``tie="covered"`` learns a tie as covered (``holds``), and what it learned as covered is not counted as a miss.

*Judging a finished set* asks whether the label lies in it (``contains`` for an interval, ``holds`` for a set that a
radius makes). Sets are closed: their edge belongs to them. This is what ``y in prediction`` says, and what a reader of
a table with the columns lower and upper would count; ``wane run`` and the report judge such tables, and count so too.

All functions take numbers or arrays.
"""

from __future__ import annotations

from typing import Any


def covers(radius: Any, score: Any) -> Any:
    """Whether a radius covered a score, for learning: False at a tie, and where either is NaN.

    >>> covers(2.0, 1.0), covers(2.0, 2.0)
    (True, False)
    """
    return score < radius


def holds(radius: Any, score: Any) -> Any:
    """Whether the set that a radius makes holds a label of this score: True at a tie; False where either is NaN.

    >>> holds(2.0, 2.0), holds(2.0, 2.5)
    (True, False)
    """
    return score <= radius


def contains(lower: Any, upper: Any, y: Any) -> Any:
    """Whether an interval holds a label, its ends included; False where anything is NaN.

    >>> contains(0.0, 2.0, 2.0), contains(0.0, 2.0, 2.5)
    (True, False)
    """
    return (lower <= y) & (y <= upper)
