"""Scripts and styles as text."""

from __future__ import annotations

from importlib import resources

SCRIPTS = ("uPlot.iife.min.js", "numbers.js", "draw.js", "view.js", "charts.js", "parts.js")  # in this order
STYLES = ("uPlot.min.css", "theme.css")


def asset(name: str, package: str = "wane.charts") -> str:
    """The text of a script, style or page of a package.

    >>> "prefers-color-scheme" in asset("theme.css")
    True
    """
    return (resources.files(package) / "assets" / name).read_text(encoding="utf-8").rstrip()


def licence() -> str:
    """The licence of the library that draws, which goes wherever its code goes."""
    return asset("uPlot.LICENSE")
