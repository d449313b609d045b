"""Many streams at once."""

from wane.panel.panel import Intervals, Panel

__all__ = ["Intervals", "Panel"]
