"""Sets around the outputs of any model: predictions with ids, late labels, several levels, several steps ahead."""

from wane.conformal.horizons import Horizons
from wane.conformal.many import Learned, ManySeries, SeriesError
from wane.conformal.monitor import Monitor
from wane.conformal.online import OnlineConformal
from wane.conformal.predictions import (
    Alarm,
    AlarmError,
    Explanation,
    IdError,
    Metrics,
    Prediction,
    Table,
    UnboundedError,
)

__all__ = [
    "Alarm",
    "AlarmError",
    "Explanation",
    "Horizons",
    "IdError",
    "Learned",
    "ManySeries",
    "Metrics",
    "Monitor",
    "OnlineConformal",
    "Prediction",
    "SeriesError",
    "Table",
    "UnboundedError",
]
