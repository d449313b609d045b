"""What trackers hear of rounds before they predict them: when it is, what the model says, and what the user adds."""

from __future__ import annotations

from typing import Any

import numpy as np

from wane.checks import number, real_array
from wane.conformal.levels import Levels
from wane.errors import InputError
from wane.scores import Score
from wane.trackers.context import rows_of

HEARD = "say context=..., how many numbers there are, when you make it; only the method auto hears them"


def foreseen(
    levels: Levels, score: Score, moments: Any, floors: np.ndarray, outputs: Any, further: Any = None
) -> np.ndarray:
    """Return what is known of many rounds, a row each; no rows if the trackers keep no notes.

    Args:
        levels: the trackers.
        score: it knows what the forecast of an output is.
        moments: the number of each round.
        floors: the smallest radius that makes a set, for each round.
        outputs: of the model.
        further: numbers of the user's, a row for each round; by default they are 0.
    """
    if not levels.noted:
        return np.zeros((0, 0))
    centres = np.broadcast_to(np.asarray(score.centre(outputs), dtype=float), floors.shape)
    known = np.zeros((len(floors), levels.context)) if further is None else further
    return rows_of(moments, floors, score.ceiling(outputs), centres, known)


def checked_context(context: Any, count: int) -> tuple[float, ...]:
    """Return the numbers that a user gives beside an output; none if there are none."""
    if context is None:
        return (0.0,) * count
    numbers = np.atleast_1d(real_array("context", context))
    if numbers.shape != (count,):
        found = numbers.size if numbers.ndim == 1 else f"an array of shape {numbers.shape}"
        raise InputError(f"must be {count} numbers, got {found}", about="context", cure=HEARD)
    return tuple([number("context", value) for value in numbers.tolist()])


def checked_contexts(context: Any, count: int, rounds: int) -> np.ndarray:
    """Return such numbers for many rounds, a row each."""
    if context is None:
        return np.zeros((rounds, count))
    array = real_array("context", context)
    if array.ndim == 1 and count == 1:
        array = array[:, None]
    if array.shape != (rounds, count) or not np.isfinite(array).all():
        raise InputError(
            f"must be finite, of shape {(rounds, count)}, got shape {array.shape}",
            about="context",
            cure=HEARD,
        )
    return array
