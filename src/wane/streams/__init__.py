"""Streams to learn on: real, synthetic and your own; schedules of shift, corruption of images."""

from wane.streams.types import About, ForecastStream, LabelStream, ScoreStream, Stream

__all__ = ["About", "ForecastStream", "LabelStream", "ScoreStream", "Stream"]
