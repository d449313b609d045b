"""A table through a panel: what ``wane run`` does, and what ``wane compare`` reads."""

from wane.runs.options import Options
from wane.runs.run import Report, play
from wane.runs.series import ScoredTable, Series, series
from wane.runs.session import Session

__all__ = ["Options", "Report", "ScoredTable", "Series", "Session", "play", "series"]
