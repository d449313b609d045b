"""Online conformal prediction for many streams at once: panels, groups within streams, and data frames."""

from wane.panel.arrays import Intervals
from wane.panel.certificates import bounds
from wane.panel.frames import Result, run
from wane.panel.grouped import GroupedPanel
from wane.panel.groups import Groups
from wane.panel.panel import Panel

__all__ = ["GroupedPanel", "Groups", "Intervals", "Panel", "Result", "bounds", "run"]
