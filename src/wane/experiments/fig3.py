"""Figure 3 of the paper: the runtime of a round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wane.experiments.figures import COLOURS
from wane.experiments.results import Finding

KINDS = {"batch": "a whole array", "step": "a round at a time, from Python"}


def run(rows: Sequence[dict[str, Any]]) -> Finding:
    """From the rows of Table 1."""
    data: dict[str, Any] = {key: [] for key in ("method", "kind", "runtime", "runtime_std", "nanoseconds")}
    for row in rows:
        for kind in KINDS:
            data["method"].append(row["method"])
            data["kind"].append(kind)
            for key in ("runtime", "nanoseconds"):
                data[key].append(row[f"{key}_{kind}"])
            data["runtime_std"].append(row[f"runtime_{kind}_std"])
    found = {row["method"]: row for row in rows}
    slowest = max(rows, key=lambda row: row["runtime_batch"])
    said = (
        f"A round of MagL-D takes {found['magl-d']['nanoseconds_batch']:.0f} ns in an array, "
        f"{found['magl-d']['runtime_batch']:.2f} times Simple OGD; {slowest['title']} takes "
        f"{slowest['runtime_batch']:.0f} times as long as Simple OGD."
    )
    numbers = {row["method"]: {k: row[k] for k in row if k.startswith(("runtime", "nanoseconds"))} for row in rows}
    return Finding("fig3", said, numbers, data, lambda figure: draw(figure, rows), (6.0, 3.6))


def draw(figure: Any, rows: Sequence[dict[str, Any]]) -> None:
    """Bars on a logarithmic axis, for arrays and for single steps."""
    axes = figure.subplots()
    places = np.arange(len(rows))
    for i, (kind, label) in enumerate(KINDS.items()):
        values = [row[f"runtime_{kind}"] for row in rows]
        errors = [row[f"runtime_{kind}_std"] for row in rows]
        style = {"color": COLOURS[i], "hatch": "" if i else "//", "edgecolor": "white", "label": label}
        axes.barh(places + 0.4 * i - 0.2, values, 0.4, xerr=errors, **style)
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks(places, [row["title"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("runtime of a round / that of Simple OGD")
    axes.legend(loc="best")
