"""Five hundred short series of very different sizes: who covers 90 % from the first row?

Each series has 24 rows, and its size is drawn from three orders of magnitude. ``pool``, the default for many series,
learns from all of them. ``auto`` learns from each series alone, and so does ``magl``, the method of the paper, which
starts at a radius of zero.

What to see: coverage by the age of a series, in rows. Only ``pool`` is near the target from the second row on.

    python examples/many_series.py [--series 500] [--plot FILE] [--json]
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

import wane

ROWS, ALPHA = 24, 0.1
METHODS = {"pool": "pool (the default)", "auto": "auto, each series alone", "magl": "magl, each series alone"}


def panel(series: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Sales with forecasts: errors in proportion to the size of the series."""
    rng = np.random.default_rng(seed)
    size = np.exp(rng.uniform(0.0, np.log(1000.0), series))
    t, who = np.repeat(np.arange(ROWS), series), np.tile(np.arange(series), ROWS)
    y_hat = 10.0 * size[who]
    return {"t": t, "id": who, "y_hat": y_hat, "y": y_hat + size[who] * rng.normal(size=len(t))}


def coverage_by_age(table: dict[str, np.ndarray], method: str) -> np.ndarray:
    """The share of true values inside for the first row of each series, the second, and so on; NaN where none."""
    result = wane.panel.run(table, id="id", time="t", y="y", y_hat="y_hat", alpha=ALPHA, method=method)
    covered = np.asarray(result.frame["covered"], dtype=float).reshape(ROWS, -1)
    there = ~np.isnan(covered)
    return np.where(there.any(axis=1), np.nansum(covered, axis=1) / np.maximum(there.sum(axis=1), 1), np.nan)


def draw(found: dict[str, np.ndarray], path: str) -> None:
    """Coverage over age, a line for each method."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        sys.exit('the figure needs matplotlib: pip install ".[plot]"')
    figure, axis = plt.subplots(figsize=(7, 3.5), layout="constrained")
    for name, shares in found.items():
        axis.plot(np.arange(1, ROWS + 1), shares, marker=".", label=METHODS[name])
    axis.axhline(1.0 - ALPHA, color="grey", linestyle="--", linewidth=1)
    axis.set(xlabel="row of the series", ylabel="share of true values inside", ylim=(0.0, 1.02))
    axis.legend(frameon=False, loc="center right")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Play the panel, print the coverage, and draw it if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--series", type=int, default=500)
    parser.add_argument("--plot", metavar="FILE", help="draw a figure, which needs matplotlib")
    parser.add_argument("--json", action="store_true", help="print the facts in JSON as the last line")
    options = parser.parse_args()
    table = panel(options.series)
    found = {method: coverage_by_age(table, method) for method in METHODS}
    for method, shares in found.items():
        print(f"{method:6} rows 2-5: {shares[1:5].mean():.2f}   rows 6-24: {shares[5:].mean():.2f}")
    if options.plot:
        draw(found, options.plot)
    if options.json:
        print(json.dumps({method: {"early": s[1:5].mean(), "late": s[5:].mean()} for method, s in found.items()}))


if __name__ == "__main__":
    main()
