"""A report about a run: one HTML file that opens anywhere, and the same figures for papers."""

from wane.report.figures import figure
from wane.report.labels import LabelTrack
from wane.report.page import write
from wane.report.results import read
from wane.report.track import Track

__all__ = ["LabelTrack", "Track", "figure", "read", "write"]
