"""Online conformal prediction around any model: ids, late labels, several levels, several steps ahead."""

from wane.conformal.grouping import Quantiles
from wane.conformal.horizons import Horizons
from wane.conformal.monitor import Monitor
from wane.conformal.online import OnlineConformal
from wane.conformal.predictions import Alarm, Explanation, Metrics, Prediction, Table
from wane.conformal.series import Learned, ManySeries

__all__ = [
    "Alarm",
    "Explanation",
    "Horizons",
    "Learned",
    "ManySeries",
    "Metrics",
    "Monitor",
    "OnlineConformal",
    "Prediction",
    "Quantiles",
    "Table",
]
