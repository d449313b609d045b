"""The charts that the report and the live page draw in a browser: scripts and styles, which both take from here."""

from wane.charts.assets_of import SCRIPTS, STYLES, asset, licence

__all__ = ["SCRIPTS", "STYLES", "asset", "licence"]
