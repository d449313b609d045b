"""How well methods cover panels of many short series: the table of docs/panels.md.

python tools/panel_table.py [FOLDER] [--apart NAME ...] [--alphas 0.1 ...] [--methods NAME ...] [--each] [--json FILE]

FOLDER holds .npz files with the arrays y, yhat, id, t (the time, shared by the series) and h (how many steps ahead the
forecasts are: the labels known to a forecast for time t have times up to t - h). Without FOLDER the panels are some
that anyone can make: the bundled streams cut into short series, and three synthetic ones.

Nothing is set but alpha and the delay. Rows before the first label of the panel are left out for all methods. Methods
that play each series by itself have no interval before the first label of a series; "none" is the share of such rows,
which are left out for them. "First 20" is the coverage of the first 20 rows of a series, "worst panel" that of the
panel furthest from the target, "spread" the standard deviation of the coverage between series beyond what chance
explains. Pinball loss and width are relative to split, on rows where both have an interval; each series is
measured in units of its mean score. Numbers are means over panels, except for the worst ones.
"""

import argparse
import bisect
import json
import sys
from pathlib import Path

import numpy as np

import wane
from wane import streams
from wane.metrics.losses import pinball_losses

FIRST = 20  # rows of a series that count as its first ones
LAST = 10  # residuals that are kept where only the last ones count
SINGLES = 25  # series of each panel that are put into another unit, one at a time
FEW = 10  # a series with fewer rows says nothing about the spread between series
PIECE = 60  # rows of a series that is cut out of a bundled stream
ALPHAS = (0.1, 0.05, 0.2)
REFERENCE = "split per series"
COLUMNS = ("first", "all", "worst", "spread", "pinball", "worst_pinball", "width", "none")
HEADINGS = ("first 20", "all rows", "worst panel", "spread", "pinball", "worst", "width", "none")


class Panel:
    """One panel, its rows sorted by series and by time."""

    def __init__(self, name, y, yhat, ids, t, h):
        ids = np.unique(ids, return_inverse=True)[1]
        order = np.lexsort((t, ids))
        self.name, self.h, self.ids, self.t = name, int(h), ids[order], np.asarray(t)[order]
        self.y, self.yhat = (np.asarray(values, dtype=float)[order] for values in (y, yhat))
        self.scores = np.abs(self.y - self.yhat)
        self.starts = np.flatnonzero(np.diff(self.ids, prepend=-1, append=-1))
        first, count = self.starts[:-1], np.diff(self.starts)
        self.row = np.arange(len(order)) - np.repeat(first, count)  # the place of a row in its series
        self.warm = self.t >= self.t.min() + self.h  # the panel has a label
        self.known = self.t >= self.t[first][self.ids] + self.h  # the series has one
        means = np.add.reduceat(self.scores, first) / count
        self.unit = np.where(means > 0.0, means, 1.0)[self.ids]


def by_method(panel, alpha, method):
    """Radii of a method of wane."""
    table = {"id": panel.ids, "t": panel.t, "y": panel.y, "yhat": panel.yhat}
    how = {"id": "id", "time": "t", "y": "y", "y_hat": "yhat", "alpha": alpha, "delay": panel.h - 1}
    radii = np.array(wane.panel.run(table, method=method, **how).frame["radius"], dtype=float)
    return radii if method == "pool" else np.where(panel.known, radii, np.nan)


def by_past(panel, alpha, last=None):
    """Split conformal on the past scores of a series, all or the last ones; the largest one while they are too few."""
    radii = np.full(len(panel.t), np.nan)
    for start, stop in zip(panel.starts[:-1], panel.starts[1:], strict=True):
        past, known = [], start
        for row in range(start, stop):
            while panel.t[known] <= panel.t[row] - panel.h:
                if last is not None and known - start >= last:
                    past.remove(panel.scores[known - last])
                bisect.insort(past, panel.scores[known])
                known += 1
            if past:
                radii[row] = past[rank(len(past), alpha)]
    return radii


def by_all(panel, alpha):
    """Split conformal on the scores of all series together."""
    order = np.argsort(panel.t, kind="stable")
    times, scores = panel.t[order], panel.scores[order]
    radii = np.full(len(times), np.nan)
    for now in np.unique(times):
        past = scores[: np.searchsorted(times, now - panel.h, side="right")]
        if len(past):
            k = rank(len(past), alpha)
            radii[panel.t == now] = np.partition(past, k)[k]
    return radii


def rank(n, alpha):
    """Which of n scores, from 0, split conformal takes."""
    return min(int(np.ceil((n + 1) * (1.0 - alpha) - 1e-9)), n) - 1


METHODS = {
    "pool": lambda panel, alpha: by_method(panel, alpha, "pool"),
    "auto per series": lambda panel, alpha: by_method(panel, alpha, "auto"),
    REFERENCE: by_past,
    "last 10 residuals": lambda panel, alpha: by_past(panel, alpha, LAST),
    "split of all series": by_all,
    "magl per series": lambda panel, alpha: by_method(panel, alpha, "magl"),
}


def measured(panel, radii, reference, alpha):
    """The numbers of one method on one panel."""
    some = panel.warm & ~np.isnan(radii)
    covered = radii > panel.scores
    count = np.bincount(panel.ids, some)
    shares = (np.bincount(panel.ids, some & covered) / np.maximum(count, 1))[count >= FEW]
    chance = np.mean(shares.mean() * (1.0 - shares.mean()) / count[count >= FEW]) if len(shares) else 0.0
    both = some & ~np.isnan(reference)
    r, s, base = (a[both] / panel.unit[both] for a in (radii, panel.scores, reference))
    return {
        "first": covered[some & (panel.row < FIRST)].mean(),
        "all": covered[some].mean(),
        "spread": np.sqrt(max(shares.var() - chance, 0.0)) if len(shares) else np.nan,
        "pinball": pinball_losses(r, s, alpha).mean() / pinball_losses(base, s, alpha).mean(),
        "width": r.mean() / base.mean(),
        "none": 1.0 - some.sum() / panel.warm.sum(),
    }


def summary(rows, alpha):
    """Means over panels, and the worst panel."""
    mean = {key: float(np.nanmean([row[key] for row in rows])) for key in rows[0]}
    worst = max((row["all"] for row in rows), key=lambda share: abs(share - (1.0 - alpha)))
    return {**mean, "worst": worst, "worst_pinball": max(row["pinball"] for row in rows)}


def from_folder(folder):
    """The panels of a folder."""
    files = sorted(folder.glob("*.npz"))
    if not files:
        sys.exit(f"{folder} holds no .npz files")
    for path in files:
        with np.load(path) as data:
            missing = {"y", "yhat", "id", "t", "h"} - set(data.files)
            if missing:
                sys.exit(f"{path} lacks {', '.join(sorted(missing))}: it holds {', '.join(data.files)}")
            yield Panel(path.stem, *(data[name] for name in ("y", "yhat", "id", "t", "h")))


def bundled():
    """Panels without any file: pieces of the bundled streams, and three synthetic panels of 300 series."""
    y, yhat, ids, t = [], [], [], []
    for stream in map(streams.make, streams.names()):
        rounds = len(stream) // PIECE * PIECE
        y.append(stream.y[:rounds])
        yhat.append(stream.y_hat[:rounds])
        ids.append(np.arange(rounds) // PIECE + sum(len(np.unique(i)) for i in ids))
        t.append(np.arange(rounds) % PIECE)
    yield Panel("pieces of streams", *map(np.concatenate, (y, yhat, ids, t)), 1)
    rng = np.random.default_rng(0)
    series, rows = 300, 50
    ids, t = np.repeat(np.arange(series), rows), np.tile(np.arange(rows), series)
    scale = np.exp(rng.normal(0.0, 1.5, series))[ids]
    yhat = 5.0 * scale
    yield Panel("scales", yhat + scale * rng.standard_t(4, len(t)), yhat, ids, t, 1)
    rate = np.exp(rng.normal(-1.0, 1.0, series))[ids]
    yield Panel("counts", rng.poisson(rate), rate, ids, t, 3)
    shock = np.where(t < 30, 1.0, 3.0)
    late = t >= (ids % 20)  # series begin at different times
    yield Panel(*["shock", *(a[late] for a in (yhat + scale * shock * rng.normal(size=len(t)), yhat, ids, t)), 1])


def played(panel, alphas, methods, shown):
    """The numbers of all methods on one panel, for each level."""
    rows = {}
    for alpha in alphas:
        reference = by_past(panel, alpha)
        for name in methods:
            shown(f"{panel.name}, alpha {alpha:g}: {name}")
            radii = reference if name == REFERENCE else METHODS[name](panel, alpha)
            rows[alpha, name] = measured(panel, radii, reference, alpha)
    return rows


def show(text):
    """Say on the terminal what is being played, in one line that is written over."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def lines(title, results, alpha):
    """A table in Markdown: a row for each method."""
    yield f"\n{title}, alpha {alpha:g}: {', '.join(sorted(results))}\n"
    yield "| method | " + " | ".join(HEADINGS) + " |"
    yield "| --- |" + " --- |" * len(HEADINGS)
    for name in [m for a, m in next(iter(results.values())) if a == alpha]:
        row = summary([rows[alpha, name] for rows in results.values()], alpha)
        yield f"| {name} | " + " | ".join(f"{row[column]:.3f}" for column in COLUMNS) + " |"


def overview(title, results, alphas):
    """One table in Markdown for all levels: a row for each method."""
    some = ("first", "all", "worst", "pinball")
    yield f"\n{title}: {', '.join(sorted(results))}\n"
    names = [HEADINGS[COLUMNS.index(column)] for column in some]
    yield f"| alpha {', '.join(f'{alpha:g}' for alpha in alphas)}: | " + " | ".join(names) + " |"
    yield "| --- |" + " --- |" * len(some)
    for name in dict.fromkeys(m for _, m in next(iter(results.values()))):
        rows = [summary([found[alpha, name] for found in results.values()], alpha) for alpha in alphas]
        yield f"| {name} | " + " | ".join(", ".join(f"{row[column]:.3f}" for row in rows) for column in some) + " |"


def covered_in_units(panel, alpha, some, unit):
    """Whether pool covers each row of these series, if they are multiplied by ``unit``."""
    factor = np.where(some, unit, 1.0)
    other = Panel(panel.name, panel.y * factor, panel.yhat * factor, panel.ids, panel.t, panel.h)
    return (by_method(other, alpha, "pool") > other.scores)[some & panel.warm]


def other_units(panel, alpha):
    """How pool covers series as they are and in another unit: a tenth of them times 100, and one at a time.

    Returns shares of the first rows and of all rows, before and after, for a tenth; then the same for one.
    """
    every_tenth = panel.ids % 10 == 3
    chosen = np.random.default_rng(0).permutation(np.unique(panel.ids))[:SINGLES]
    cases = {"tenth": [(every_tenth, 100.0)], "one": [(panel.ids == i, u) for u in (100.0, 0.01) for i in chosen]}
    found = []
    for series in cases.values():
        first = np.concatenate([(panel.row < FIRST)[some & panel.warm] for some, _ in series])
        for units in ([1.0] * len(series), [unit for _, unit in series]):
            pairs = zip(series, units, strict=True)
            covered = np.concatenate([covered_in_units(panel, alpha, some, unit) for (some, _), unit in pairs])
            found += [covered[first].mean(), covered.mean()]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="of .npz files; without it, panels that are made here")
    parser.add_argument("--apart", nargs="*", default=[], metavar="NAME", help="panels that get a table of their own")
    parser.add_argument("--alphas", nargs="*", type=float, default=ALPHAS, help="the levels")
    parser.add_argument("--methods", nargs="*", choices=METHODS, default=list(METHODS), help="some of the methods")
    parser.add_argument(
        "--units", action="store_true", help="show instead what pool does if some series have another unit"
    )
    parser.add_argument("--each", action="store_true", help="also print the numbers of each panel")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to a file")
    options = parser.parse_args()
    if options.units:
        panels = list(bundled() if options.folder is None else from_folder(options.folder))
        for alpha in options.alphas:
            for title, apart in (("panels", False), ("panels apart", True)):
                found = [other_units(p, alpha) for p in panels if (p.name in options.apart) is apart]
                if found:
                    means = np.mean(found, axis=0).reshape(2, 2, 2)
                    for what, (before, after) in zip(("a tenth", "one series"), means, strict=True):
                        rows = f"first {FIRST} rows {before[0]:.3f} -> {after[0]:.3f}"
                        rows += f", all rows {before[1]:.3f} -> {after[1]:.3f}"
                        print(f"{title}, alpha {alpha:g}, {what} in another unit: {rows}")
        return
    results = {}
    try:
        for panel in bundled() if options.folder is None else from_folder(options.folder):
            results[panel.name] = played(panel, options.alphas, options.methods, show)
    except KeyboardInterrupt:
        show("")
        print(f"interrupted after {len(results)} panels", file=sys.stderr)
    show("")
    groups = {"Panels": [n for n in results if n not in options.apart], "Panels apart": options.apart}
    parts = {title: {n: results[n] for n in names if n in results} for title, names in groups.items()}
    for title, some in parts.items():
        for line in overview(title, some, options.alphas) if some else ():
            print(line)
    for alpha in options.alphas:
        for title, some in parts.items():
            for line in lines(title, some, alpha) if some else ():
                print(line)
            for name in some if options.each else ():
                for line in lines("Panel", {name: some[name]}, alpha):
                    print(line)
    if options.json:
        flat = [
            {"panel": p, "alpha": a, "method": m, **row} for p, rows in results.items() for (a, m), row in rows.items()
        ]
        options.json.write_text(json.dumps(flat, indent=1) + "\n")


if __name__ == "__main__":
    main()
