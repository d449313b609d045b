"""What the theory says, seen in games: one file a claim, each with a figure, a sentence and its numbers.

Reference: Zhang, Bombara, Yang, "Discounted Adaptive Online Learning: Towards Better Regularization".
"""

from __future__ import annotations

from collections.abc import Callable

from wane.experiments.results import Finding
from wane.experiments.theory import (
    bounds,
    center,
    epsilon,
    forgetting,
    ogd_failure,
    rescaling,
    restarts,
    smallest_set,
    target_rate,
)

EXPERIMENTS: dict[str, Callable[..., Finding]] = {
    "bounds": bounds.run,
    "epsilon": epsilon.run,
    "center": center.run,
    "forgetting": forgetting.run,
    "restarts": restarts.run,
    "ogd_failure": ogd_failure.run,
    "rescaling": rescaling.run,
    "target_rate": target_rate.run,
    "smallest_set": smallest_set.run,
}
