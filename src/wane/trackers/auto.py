"""``auto``: no learning rate, no discount, no scale to choose. A blend of experts, corrected to the right coverage."""

from __future__ import annotations

from wane.checks import described
from wane.errors import InputError
from wane.trackers.blend import Blend
from wane.trackers.calibrated import Calibrated
from wane.trackers.registry import register

# What the correction may cost in width, as its epsilon in mean scores.
PRIORITIES = {"narrow": 0.3, "balanced": 1.5, "local-coverage": 6.0}


@register("auto")
def auto(
    alpha: float,
    *,
    priority: str = "balanced",
    context: int = 0,
    domain: str = "nonnegative",
    on_missing: str = "error",
) -> Calibrated:
    """No knobs: scales, seasons and discounts chosen online, and the right coverage in the long run.

    It is ``Calibrated(Blend(alpha))``. ``priority`` says what to pay for with width: "narrow" nothing, "balanced", or
    "local-coverage", which keeps windows of 100 rounds nearest to the target. ``context`` is how many numbers
    ``OnlineConformal.predict(output, context=...)`` gives beside each output.
    """
    if priority not in PRIORITIES:
        raise InputError(f"must be one of {', '.join(PRIORITIES)}, got {described(priority)}", about="priority")
    return Calibrated(Blend(alpha, domain, on_missing, context), epsilon=PRIORITIES[priority])
