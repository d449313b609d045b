"""Tables in files, larger than memory: CSV, JSON lines and Parquet through a panel, chunk by chunk."""

from wane.tables.columns import Columns, chosen
from wane.tables.run import Options, Report, play
from wane.tables.series import Series, Whole, series
from wane.tables.session import Session

__all__ = ["Columns", "Options", "Report", "Series", "Session", "Whole", "chosen", "play", "series"]
