"""What ``Panel.summary`` says of each stream: counts, coverage, widths, and on demand what is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wane.checks import flag
from wane.panel import certificates

if TYPE_CHECKING:
    from wane.panel.panel import Panel


def columns(panel: Panel, bounds: bool) -> dict[str, Any]:
    """Return the columns of ``Panel.summary``; the caller holds the lock."""
    n, wanted = len(panel.index), flag("bounds", bounds)
    labels = panel.labels[:n]
    with np.errstate(invalid="ignore"):
        coverage = 1.0 - panel.misses[:n] / labels[:, None]
        width = panel.widths[:n] / (labels[:, None] - panel.unbounded[:n])
    made: dict[str, Any] = {"id": panel.ids(), "rows": panel.seen[:n].copy(), "labels": labels.copy()}
    for i, end in enumerate(panel.settings.suffixes):
        made |= {f"coverage{end}": coverage[:, i], f"width{end}": width[:, i]}
    if wanted:
        made |= {k: column for k, column in certificates.columns(panel).items() if k not in made}
    return made
