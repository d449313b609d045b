"""The one reader and writer of tables: CSV, JSON lines and Parquet, larger than memory, and which column is which."""

from wane.tables.columns import GUESSES, Columns, chosen
from wane.tables.files import reading, writing

__all__ = ["GUESSES", "Columns", "chosen", "reading", "writing"]
