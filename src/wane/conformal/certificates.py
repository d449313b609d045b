"""What theory proves about a tracker, beside what the metrics count: a bound, or the reason why there is none."""

from __future__ import annotations

from typing import Any

SAME = 1e-9  # two sums over the same rounds differ by rounding only


def bound_of(tracker: Any, counted: float | None = None) -> tuple[float | None, str | None]:
    """Return the bound that theory gives for the coverage error, or None and why there is none.

    Args:
        tracker: whose bound it is.
        counted: the coverage error that the bound will stand beside. The bound is about the tracker's own sum of all it
            has learned. Where a past that was learned before makes the two sums differ, the difference is added.
    """
    if not hasattr(tracker, "coverage_bound"):
        return None, f"there is a bound for auto, magl, magl-d and portfolio, not for {type(tracker).__name__}"
    try:
        bound, own = tracker.coverage_bound(), tracker.coverage_sum()
    except (TypeError, ValueError) as error:
        return None, str(error)
    apart = 0.0 if counted is None else abs(counted - own)
    if apart <= SAME * (abs(own) + tracker.rounds):
        return bound, None
    if apart <= bound:
        return bound + apart, None
    return None, (
        "the bound is about all that the tracker has learned, and coverage_error counts something else: another alpha, "
        "or discounts that the method ignores"
    )


def gradients_of(tracker: Any) -> tuple[float | None, float | None]:
    """Return the sum of the gradients that a tracker was told, and its bound; None where theory has none."""
    try:
        return tracker.gradient_sum(), tracker.gradient_bound()
    except (AttributeError, TypeError, ValueError):
        return None, None
