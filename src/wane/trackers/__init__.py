"""Online conformal prediction: the radius for the next score."""

from wane.trackers import (  # noqa: F401  # they register
    auto,
    bayes,
    control,
    cop,
    decaying,
    eci,
    eci_cutoff,
    eci_integral,
    linear,
    loss_methods,
    portfolio,
    saocp,
    trivial,
)
from wane.trackers.aci import AdaptiveConformal
from wane.trackers.agaci import AggregatedConformal
from wane.trackers.base import Tracker, load
from wane.trackers.blend import Blend
from wane.trackers.calibrated import Calibrated, Given
from wane.trackers.faci import QuantileExperts
from wane.trackers.faci_s import RadiusExperts
from wane.trackers.grouped import GroupCoverage, Grouped
from wane.trackers.lagged import Lagged
from wane.trackers.loss_tracker import CoverageWarning, LossTracker
from wane.trackers.losses import Loss, Pinball, SkewedQuadratic, UserLoss
from wane.trackers.nex import NexConformal
from wane.trackers.registry import make, names, register
from wane.trackers.schedules import HalfLife
from wane.trackers.split import SplitConformal
from wane.trackers.trailing_window import TrailingWindow

__all__ = [
    "AdaptiveConformal",
    "AggregatedConformal",
    "Blend",
    "Calibrated",
    "CoverageWarning",
    "Given",
    "GroupCoverage",
    "Grouped",
    "HalfLife",
    "Lagged",
    "Loss",
    "LossTracker",
    "NexConformal",
    "Pinball",
    "QuantileExperts",
    "RadiusExperts",
    "SkewedQuadratic",
    "SplitConformal",
    "Tracker",
    "TrailingWindow",
    "UserLoss",
    "load",
    "make",
    "names",
    "register",
]
