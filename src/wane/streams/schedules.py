"""Schedules of shift: how severely the image of each round is corrupted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wane.checks import described, real_array, room
from wane.errors import InputError

WORST = 5  # the severities are 0, ..., 5
STRETCH = 500  # rounds between two changes
OFFSET = 50  # the published schedules are late by this
CLEAN = 100  # first rounds that are clean in any case: without them, gradual would begin with severity 1


def sudden(t: int) -> int:
    """Severity 0 and 5 in turn, 500 rounds each; the first change is in round 550."""
    return 0 if t < CLEAN else WORST * (((t - OFFSET) // STRETCH) % 2)


def gradual(t: int) -> int:
    """Severity up to 5 and down to 0 again, one step every 500 rounds; the first is in round 550."""
    k = 0 if t < CLEAN else ((t - OFFSET) // STRETCH) % (2 * WORST)
    return k if k <= WORST else 2 * WORST - k


def none(t: int) -> int:
    """Severity 0 in every round."""
    return 0


SCHEDULES: dict[str, Callable[[int], int]] = {"gradual": gradual, "none": none, "sudden": sudden}


def schedule_names() -> list[str]:
    """Every schedule that has a name, sorted.

    >>> schedule_names()
    ['gradual', 'none', 'sudden']
    """
    return sorted(SCHEDULES)


def severities(schedule: Any = "sudden", rounds: int = 6050, warm_up: int = 1000) -> np.ndarray:
    """The severity of each round: ``warm_up`` rounds of 0, then rounds t = 0, 1, ... of the schedule.

    Args:
        schedule: one of ``schedule_names()``; or a function of the round t that returns a severity; or an array of
            ``rounds`` severities. Severities are whole numbers from 0 to 5.
        rounds: after the warm-up.
        warm_up: rounds before it, all of severity 0, which a function does not see.

    Returns:
        int64, (warm_up + rounds,).

    >>> severities(lambda t: min(t, 3), rounds=6, warm_up=2)
    array([0, 0, 0, 1, 2, 3, 3, 3])
    >>> severities("sudden")[[1000, 1549, 1550, 2049, 2050]]
    array([0, 0, 5, 5, 0])
    """
    rounds, warm_up = room("rounds", rounds, 0), room("warm_up", warm_up, 0)
    if isinstance(schedule, str) and schedule not in SCHEDULES:
        known = f"known are {', '.join(schedule_names())}"
        raise InputError(f"no schedule is called {described(schedule)}", argument="schedule", cure=known)
    of = SCHEDULES[schedule] if isinstance(schedule, str) else schedule
    values = real_array("schedule", [of(t) for t in range(rounds)] if callable(of) else of)
    if values.shape != (rounds,):
        raise InputError(f"must give one severity a round, ({rounds},), got {values.shape}", about="schedule")
    good = (values >= 0.0) & (values <= WORST) & (values == np.floor(values))
    if not good.all():
        t = int(np.argmin(good))
        problem = f"severity of round {t} must be a whole number from 0 to {WORST}, got {values[t]:g}"
        raise InputError(problem, argument="schedule")
    return np.concatenate([np.zeros(warm_up, dtype=np.int64), values.astype(np.int64)])


def shifts(severity: Any) -> tuple[int, ...]:
    """The rounds whose severity is not that of the round before, counted from the first, warm-up included.

    >>> shifts([0, 0, 5, 5, 0])
    (2, 4)
    """
    given = real_array("severity", severity)
    if given.ndim != 1:
        raise InputError(f"must have shape (rounds,), got {given.shape}", about="severity")
    return tuple(int(t) for t in np.flatnonzero(given[1:] != given[:-1]) + 1)
