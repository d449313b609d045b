"""How good were the sets: coverage, widths, losses and regret, of whole arrays and while they come."""

from wane.metrics.base import covered
from wane.metrics.coverage import (
    LCE,
    Coverage,
    DiscountedCoverageError,
    LocalCoverage,
    MeanLCE,
    SmoothedLCE,
    coverage,
    discounted_coverage_error,
    lce,
    lce_smoothed,
    local_coverage,
    mean_lce,
)
from wane.metrics.groups import GroupMetrics, group_coverage, worst_group
from wane.metrics.losses import MeanPinball, Winkler, pinball, winkler
from wane.metrics.regret import Regret, WindowRegret, regret, window_regret
from wane.metrics.runs import LongestRun, Recovery, longest_run, recovery
from wane.metrics.sizes import SetSizes, SizeCounts, set_sizes
from wane.metrics.widths import (
    BestFixedLocalWidth,
    LocalWidth,
    Width,
    best_fixed_local_width,
    local_width,
    width,
)

__all__ = [
    "LCE",
    "BestFixedLocalWidth",
    "Coverage",
    "DiscountedCoverageError",
    "GroupMetrics",
    "LocalCoverage",
    "LocalWidth",
    "LongestRun",
    "MeanLCE",
    "MeanPinball",
    "Recovery",
    "Regret",
    "SetSizes",
    "SizeCounts",
    "SmoothedLCE",
    "Width",
    "WindowRegret",
    "Winkler",
    "best_fixed_local_width",
    "coverage",
    "covered",
    "discounted_coverage_error",
    "group_coverage",
    "lce",
    "lce_smoothed",
    "local_coverage",
    "local_width",
    "longest_run",
    "mean_lce",
    "pinball",
    "recovery",
    "regret",
    "set_sizes",
    "width",
    "window_regret",
    "winkler",
    "worst_group",
]
