"""Intervals in Nixtla's long format: for what StatsForecast, MLForecast and NeuralForecast give; none is imported."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from wane.checks import described, scalar, whole
from wane.errors import InputError
from wane.panel.backtests import CUTOFF, Backtest, numbered
from wane.panel.frame_kinds import Arrays, Frame
from wane.panel.panel import Panel
from wane.panel.settings import default_method

__all__ = ["conformalize"]

BOUND = re.compile(r"-(lo|hi)-[\d.]+$")  # how the names of columns with the ends of intervals end


def conformalize(
    frame: Any,
    models: str | Iterable[str] | None = None,
    level: float | Iterable[float] = (80, 90),
    method: str | None = None,
    *,
    id_col: str = "unique_id",
    time_col: str = "ds",
    target_col: str = "y",
    cutoff_col: str | None = None,
    delay: int = 0,
    **settings: Any,
) -> Any:
    """The frame, with columns ``<model>-lo-90`` and ``<model>-hi-90`` for each model and level.

    Each interval rests on the labels that were known when the forecast was made, and on those of the same number of
    steps ahead only. Rows without a label get intervals too; rows before the first label have none, and their ends are
    missing. Rows stay where they are.

    Args:
        frame: any that ``wane.panel.run`` takes.
        models: the columns of forecasts; None takes all that are not named below and are not ends of intervals.
        level: coverage in per cent, or several; the intervals of one model are nested.
        method: the name of a method, as for ``wane.panel.run``; None leaves the choice to the number of series.
        id_col: the column that names the series of a row.
        time_col: the column of the times that the forecasts are about.
        target_col: the column of labels, missing where they are not known.
        cutoff_col: the column of the last times that each forecast has seen, as ``cross_validation`` gives it; None
            takes ``cutoff`` if there is one. Without it every row is one step ahead.
        delay: labels become known so many times of their series later than the time they are about.
        settings: of ``wane.Panel``: ``score``, ``warm_up``, limits, ``threads``, hyperparameters of the method.

    >>> table = {"unique_id": np.repeat(["a", "b"], 100), "ds": np.tile(np.arange(100), 2), "AutoARIMA": np.zeros(200)}
    >>> table["y"] = np.where(table["ds"] < 99, (-1.0) ** table["ds"], np.nan)
    >>> result = conformalize(table, level=90)
    >>> list(result)[-2:], result["AutoARIMA-hi-90"][[0, 99, 199]].round(2)
    (['AutoARIMA-lo-90', 'AutoARIMA-hi-90'], array([ nan, 1.04, 1.04]))
    """
    table = Arrays(frame) if isinstance(frame, Mapping) else Frame(frame)
    if cutoff_col is None and CUTOFF in table.columns:
        cutoff_col = CUTOFF
    named = [id_col, time_col, target_col] + ([] if cutoff_col is None else [cutoff_col])
    if models is None:
        models = [c for c in table.columns if c not in named and not BOUND.search(c)]
    models = [models] if isinstance(models, str) else list(models)
    if not models:
        problem = f"there is no column of forecasts beside {', '.join(named)}"
        raise InputError(problem, argument="models", cure="add one, or name it in models")
    table.need([*named, *models])
    alphas = alphas_of(level)
    names = {m: [*[f"{m}-lo-{k}" for k in reversed(alphas)], *[f"{m}-hi-{k}" for k in alphas]] for m in models}
    if taken := [name for m in models for name in names[m] if name in table.columns]:
        problem = f"the frame has the columns {', '.join(taken)} already"
        raise InputError(problem, argument="level", cure="drop them, or take other levels")
    labels = table.numbers(target_col)
    outputs = {m: forecasts(table, m) for m in models}
    series, rows = numbered(table.array(id_col))
    cutoffs = None if cutoff_col is None else table.array(cutoff_col)
    backtest = Backtest.of(rows, table.array(time_col), cutoffs, (time_col, cutoff_col or CUTOFF))
    method = default_method(len(series)) if method is None else method
    late = whole("delay", delay, 0)

    def panel() -> Panel:
        with warnings.catch_warnings():  # levels below 50 are meant
            warnings.filterwarnings("ignore", message="alpha = ")
            return Panel(method, tuple(alphas.values()), **settings)

    new: dict[str, np.ndarray] = {}
    for m in models:
        played, _ = backtest.play(panel, outputs[m], labels, late)
        ends = [*reversed(played.lower.T), *played.upper.T]
        new |= {name: np.ascontiguousarray(end) for name, end in zip(names[m], ends, strict=True)}
    return table.extended(new)


def alphas_of(level: Any) -> dict[str, float]:
    """The share of misses of each level, by its name in a column, the lowest level first.

    >>> alphas_of([99.5, 90])
    {'90': 0.1, '99.5': 0.005}
    """
    given = [level] if isinstance(level, str) or not isinstance(level, Iterable) else list(level)
    levels = sorted({scalar("level", x) for x in given})
    if not levels or not 0.0 < levels[0] <= levels[-1] < 100.0:
        problem = f"must be coverage in per cent, between 0 and 100, or several, got {described(level)}"
        raise InputError(problem, about="level")
    return {str(int(x) if x.is_integer() else x): round(1.0 - x / 100.0, 12) for x in levels}


def forecasts(table: Arrays | Frame, model: str) -> np.ndarray:
    """A column of forecasts, none of them missing."""
    values = table.numbers(model)
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        problem = f"the column {model!r} must hold forecasts, got {values[row]}"
        raise InputError(problem, argument=model, row=row, cure="drop such rows")
    return values
