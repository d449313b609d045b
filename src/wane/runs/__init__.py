"""A table through a panel: what ``wane run`` does, and what ``wane compare`` reads."""

from wane.runs.run import Options, Report, play
from wane.runs.series import Series, Whole, series
from wane.runs.session import Session

__all__ = ["Options", "Report", "Series", "Session", "Whole", "play", "series"]
