"""Coverage, worst local coverage and width of a handful of methods on real streams.

python tools/coverage_on_streams.py FOLDER [--json], where FOLDER holds .npz files with the arrays y and yhat (NaN where
there is no forecast yet), and possibly a column that says which of several series a row belongs to.

Every method plays 90 % intervals by OnlineConformal, after a warm start on the first labels of the series (200, or a
fifth of a short series). Columns: the coverage; the smallest coverage of 100 labels in a row; the mean width of the
finite intervals, divided by that of split; the share of infinite intervals. Of a panel of series, coverage and infinite
intervals are of all rounds together, the others are medians over the series. Labels come ``delay`` rounds late.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np

import wane

ALPHA = 0.1
WINDOW = 100
DELAYS = (0, 10)
METHODS = {
    "split": {},
    "magl": {"epsilon": "auto"},
    "magl-d": {"epsilon": "auto"},
    "aci": {},
    "dtaci": {},
    "nex": {},
}
SERIES = ("series", "state")  # the columns that name one of several series
PLACEHOLDERS = {"delhi": 30, "stock": 30}  # files that begin so: this many first forecasts are none
AHEAD = {"covid": 4}  # rounds that a forecast looks ahead, so that its label is at least that late; else 1
SCALED = ("vol",)  # variances: their forecast is the scale of their error as well


def streams(path):
    """The streams of one file: name, score, outputs and labels of each series, the least delay."""
    with np.load(path) as data:
        missing = {"y", "yhat"} - set(data.files)
        if missing:
            sys.exit(f"{path} lacks {', '.join(sorted(missing))}: it holds {', '.join(data.files)}")
        y, yhat = np.asarray(data["y"], dtype=float), np.asarray(data["yhat"], dtype=float)
        groups = next((data[k] for k in SERIES if k in data.files), np.zeros(len(y)))
    kind = path.stem.split("_")[0]
    good = np.isfinite(y) & np.isfinite(yhat)
    good[: PLACEHOLDERS.get(kind, 0)] = False
    rows = [np.flatnonzero(good & (groups == g)) for g in np.unique(groups)]
    least = AHEAD.get(kind, 1) - 1  # the label of round t is known before the prediction of round t + least + 1 is made
    yield path.stem, "absolute", [(yhat[r], y[r]) for r in rows], least
    if kind in SCALED:
        yield f"{path.stem}, scaled", "normalised", [((yhat[r], yhat[r]), y[r]) for r in rows], least


def cut(outputs, part):
    """Some rounds of the outputs."""
    return tuple(column[part] for column in outputs) if isinstance(outputs, tuple) else outputs[part]


def play(method, score, outputs, y, delay):
    """Whether each round was covered, and its width."""
    oc = wane.OnlineConformal(method, score, ALPHA, on_unbounded="allow", **METHODS[method])
    warm = 200 if len(y) >= 400 else len(y) // 5
    oc.warm_start(cut(outputs, slice(warm)), y[:warm])
    table = oc.run(cut(outputs, slice(warm, None)), y[warm:], delay)
    return table.covered, table.width


def worst_window(covered):
    """The smallest share of covered rounds among WINDOW in a row; NaN where there are fewer."""
    sums = np.cumsum(np.concatenate([[0.0], covered]))
    return float((sums[WINDOW:] - sums[:-WINDOW]).min(initial=np.inf) / WINDOW) if len(covered) >= WINDOW else np.nan


def measured(name, score, series, delay):
    """The rows of all methods on one stream."""
    rows, widths_of_split = [], None
    for method in METHODS:
        covered, widths, worst, infinite = [], [], [], []
        for i, (outputs, y) in enumerate(series):
            if sys.stderr.isatty():
                progress = f"{name}, delay {delay}: {method} {i + 1}/{len(series)}"
                print(f"\r\033[K{progress}", end="", file=sys.stderr, flush=True)
            inside, width = play(method, score, outputs, y, delay)
            covered.append(inside)
            worst.append(worst_window(inside))
            infinite.append(~np.isfinite(width))
            widths.append(width[~infinite[-1]].mean())
        widths_of_split = widths if method == "split" else widths_of_split
        rows.append(
            {
                "stream": name,
                "method": method,
                "delay": delay,
                "rounds": sum(map(len, covered)),
                "coverage": float(np.concatenate(covered).mean()),
                "worst": float(np.median(worst)),
                "width": float(np.median(np.array(widths) / widths_of_split)),
                "infinite": float(np.concatenate(infinite).mean()),
            }
        )
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of .npz files with the arrays y and yhat")
    parser.add_argument("--json", action="store_true", help="print all rows in JSON as the last line")
    options = parser.parse_args()
    warnings.simplefilter("ignore", wane.trackers.CoverageWarning)
    files = sorted(options.folder.glob("*.npz"))
    if not files:
        sys.exit(f"{options.folder} holds no .npz files")
    print(f"{'stream':34s}{'rounds':>8s}{'delay':>6s} {'method':8s}{'coverage':>9s}{'worst 100':>10s}", end="")
    print(f"{'width':>7s}{'infinite':>9s}")
    rows = []
    for path in files:
        for name, score, series, least in streams(path):
            for delay in DELAYS:
                for row in measured(name, score, series, max(delay, least)):
                    rows.append(row)
                    first = row["method"] == next(iter(METHODS))
                    head = f"{name:34s}{row['rounds']:8d}{row['delay']:6d}" if first else " " * 48
                    numbers = f"{row['coverage']:9.3f}{row['worst']:10.2f}{row['width']:7.2f}{row['infinite']:9.4f}"
                    print(f"{head} {row['method']:8s}{numbers}", flush=True)
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
