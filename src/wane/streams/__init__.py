"""Streams to learn on: real, synthetic and your own; schedules of shift, corruption of images."""

from wane.streams.corruption import corrupt, kinds
from wane.streams.files import read, read_all, write
from wane.streams.forecasters import ewma_scale, rolling_ar
from wane.streams.images import digits
from wane.streams.schedules import schedule_names, severities, shifts
from wane.streams.series import make, names
from wane.streams.synthetic import synthetic, synthetic_names
from wane.streams.types import About, ForecastStream, LabelStream, ScoreStream
from wane.streams.types import Stream as Stream

__all__ = [
    "About",
    "ForecastStream",
    "LabelStream",
    "ScoreStream",
    "corrupt",
    "digits",
    "ewma_scale",
    "kinds",
    "make",
    "names",
    "read",
    "read_all",
    "rolling_ar",
    "schedule_names",
    "severities",
    "shifts",
    "synthetic",
    "synthetic_names",
    "write",
]
