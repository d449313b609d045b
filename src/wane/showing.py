"""How results show themselves in a notebook: as data frames, small HTML tables, charts and reports.

pandas and matplotlib are imported when they are asked for, and so is ``wane.report``, the one higher floor that is
called from below: a result knows its rows, and the report knows how to draw them.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any

import numpy as np

from wane.errors import InputError, InputTypeError, MissingExtraError, installing

EVERY = 0.5  # seconds between two looks at a long call
LAST = 300  # rounds that a chart shows unless it is told otherwise: more cannot be told apart
BAND, TRUE, MISSED = "#9ecae1", "#333333", "#d62728"  # colours of the band, of true values, and of those outside


def to_frame(columns: Mapping[str, Any]) -> Any:
    """Columns as a data frame of pandas.

    >>> to_frame({"lower": [0.0], "upper": [1.0]}).shape
    (1, 2)
    """
    try:
        import pandas as pd
    except ImportError:
        cure = "pip install pandas, or take the columns as arrays"
        raise MissingExtraError("a data frame needs pandas", cure=cure) from None
    return pd.DataFrame(dict(columns))


def html(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    """A small table with a title, a row for each name and value.

    >>> html("Demo", [("coverage", 0.9)])
    '<table><caption>Demo</caption><tr><th>coverage</th><td>0.9</td></tr></table>'
    """
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(shown(value))}</td></tr>" for name, value in rows)
    return f"<table><caption>{escape(title)}</caption>{cells}</table>"


def shown(value: Any) -> str:
    """A value in a cell: numbers with four digits, several of them with commas.

    >>> shown(0.123456), shown((1.0, 2.5)), shown(12345), shown(float("nan"))
    ('0.1235', '1, 2.5', '12,345', '')
    """
    if isinstance(value, (tuple, list)):
        return ", ".join(map(shown, value))
    if isinstance(value, float):
        return "" if value != value else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the axes of matplotlib that were given, or new ones of this size."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("plot needs matplotlib", cure=installing("plot")) from None
    if ax is None:
        return plt.subplots(figsize=size, layout="constrained")[1]
    if not isinstance(ax, plt.Axes):
        raise InputTypeError(f"must be axes of matplotlib, got {type(ax).__name__}", about="ax", cure="leave it out")
    return ax


def bars(names: Iterable[str], begins: Any, ends: Any, title: str, label: str, ax: Any = None) -> Any:
    """Draw a horizontal bar for each name, the first on top, and return the axes of matplotlib.

    Args:
        names: of the bars.
        begins: where each bar begins.
        ends: where each bar ends.
        title: of the chart.
        label: of the horizontal axis.
        ax: axes to draw into; by default new ones.
    """
    rows = list(names)
    ax = axes(ax, (6, 1.2 + 0.35 * len(rows)))
    begins, ends = (np.broadcast_to(np.asarray(x, dtype=float), len(rows)) for x in (begins, ends))
    ax.barh(rows, ends - begins, left=begins, height=0.5, color=BAND)
    ax.invert_yaxis()
    ax.set(title=title, xlabel=label)
    return ax


def band(
    x: Any, lower: Any, upper: Any, y: Any, title: str, ax: Any = None, last: int | None = LAST, unit: str = "round"
) -> Any:
    """Draw intervals as a band, with the true values as dots, and return the axes of matplotlib.

    Args:
        x: the moment of each round.
        lower: the lower ends; NaN where there is no interval.
        upper: the upper ends.
        y: the true values; NaN where one is not known.
        title: of the chart.
        ax: axes to draw into; by default new ones.
        last: how many rounds to show, counted from the end; None shows all of them.
        unit: what the horizontal axis counts.
    """
    ax = axes(ax, (9, 3.5))
    x, lower, upper, y = (np.asarray(values)[-(last or len(y)) :] for values in (x, lower, upper, y))
    ax.fill_between(x, lower, upper, step="mid", color=BAND, alpha=0.6, linewidth=0, label="interval")
    with np.errstate(invalid="ignore"):
        inside, outside = (lower <= y) & (y <= upper), (y < lower) | (y > upper)  # neither, where there is no interval
    ax.plot(x[inside], y[inside], ".", markersize=3, color=TRUE, label="inside")
    ax.plot(x[outside], y[outside], ".", markersize=5, color=MISSED, label="outside")
    ax.set(title=title, xlabel=unit)
    ax.legend(frameon=False, ncols=3, fontsize="small")
    return ax


@contextlib.contextmanager
def progress(wanted: bool, total: int, done: Callable[[], int], what: str = "rounds") -> Iterator[None]:
    """While the block runs, write to standard error how far it is; nothing if it is not wanted, or soon over.

    Args:
        wanted: whether to write anything.
        total: how many rounds there are.
        done: tells how many are done. It is called from another thread, so that compiled loops are not held up.
        what: the name of what is counted.
    """
    if not wanted:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        shown = False
        while not over.wait(EVERY):
            count = min(max(done(), 0), total)
            sys.stderr.write(f"\r{count:,} of {total:,} {what} ({100 * count // max(total, 1)} %)")
            sys.stderr.flush()
            shown = True
        if shown:
            sys.stderr.write("\n")

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def report(path: Any, tracks: Iterable[Mapping[str, Any]], title: str, settings: Mapping[str, Any]) -> None:
    """Write the HTML page of some series; each mapping has the columns of ``wane.report.Track.judged``."""
    pages = importlib.import_module("wane.report")
    made = [pages.Track.judged(**columns) for columns in tracks]
    found = [track for track in made if track is not None]
    if not found:
        raise InputError("no row has an interval", argument="path", cure="there is nothing to report yet")
    pages.write(path, found, settings, title)


def two_dimensional(values: Any) -> np.ndarray:
    """Ends of intervals with a column for each level."""
    array = np.asarray(values, dtype=float)
    return array[:, None] if array.ndim == 1 else array
