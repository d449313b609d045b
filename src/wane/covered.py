"""What counts as covered: two rules, one for each purpose, which differ only where a label lies on the very edge.

*Learning* asks whether the radius exceeded the score. This is the paper's rule (Section 3): a tie is a miss. Trackers
learn by it, and so do the monitors, the counts of a panel and every coverage that is compared with alpha or a bound.

*Judging a finished interval* asks whether the label lies in it. Intervals are closed: both ends belong to them. This is
what ``y in prediction`` says, and what a reader of a table with the columns lower and upper would count.

Both functions take numbers or arrays.
"""

from __future__ import annotations

from typing import Any


def covers(radius: Any, score: Any) -> Any:
    """Whether a radius covered a score, for learning: False at a tie, and where either is NaN.

    >>> covers(2.0, 1.0), covers(2.0, 2.0)
    (True, False)
    """
    return score < radius


def contains(lower: Any, upper: Any, y: Any) -> Any:
    """Whether a label lies in a finished interval, its ends included; False where anything is NaN.

    >>> contains(0.0, 2.0, 2.0), contains(0.0, 2.0, 2.5)
    (True, False)
    """
    return (lower <= y) & (y <= upper)
