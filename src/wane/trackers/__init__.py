"""Online conformal prediction: the radius for the next score."""

from wane.trackers.base import Tracker, load
from wane.trackers.loss_tracker import CoverageWarning, LossTracker
from wane.trackers.losses import Loss, Pinball, SkewedQuadratic, UserLoss
from wane.trackers.registry import make, names, register
from wane.trackers.schedules import HalfLife

__all__ = [
    "CoverageWarning",
    "HalfLife",
    "Loss",
    "LossTracker",
    "Pinball",
    "SkewedQuadratic",
    "Tracker",
    "UserLoss",
    "load",
    "make",
    "names",
    "register",
]
