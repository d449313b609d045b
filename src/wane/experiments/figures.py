"""Figures for papers: vector files, readable in black and white and by the colour-blind, the same bytes every time."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from wane.errors import MissingExtraError, installing
from wane.experiments.results import Finding
from wane.state.files import replace_file

# Okabe and Ito's colours, which colour-blind readers tell apart; the first two are for what a figure is about.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
GREY = "#767676"
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (6, 2, 1, 2)))
STYLE: dict[Any, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,  # letters stay letters
    "svg.hashsalt": "wane",
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}
FORMATS = ("pdf", "svg", "png")


def needed() -> None:
    """Say what is missing before work begins that ends in a figure."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError("figures need matplotlib", cure=installing("plot")) from None


def save(finding: Finding, folder: Path, name: str | None = None) -> list[Path]:
    """Draw a finding under its name, or another; returns the files. Needs matplotlib."""
    import matplotlib
    from cycler import cycler
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    cycle = cycler(color=COLOURS) + cycler(linestyle=DASHES)
    files = []
    with matplotlib.rc_context({**STYLE, "axes.prop_cycle": cycle}):
        figure: Any = Figure(figsize=finding.size)
        FigureCanvasAgg(figure)
        finding.draw(figure)
        for kind in FORMATS:
            data = io.BytesIO()
            undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}[kind]
            figure.savefig(data, format=kind, dpi=130, metadata=undated)
            path = folder / f"{name or finding.name}.{kind}"
            replace_file(path, data.getvalue(), sync=False)
            files.append(path)
    return files
