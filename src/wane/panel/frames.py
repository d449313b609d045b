"""``wane.run``: intervals for a data frame of many streams, from pandas, Polars, PyArrow or a dict of arrays."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from wane import showing
from wane.checks import described, flag, one_of, whole
from wane.conformal.grouping import Grouping
from wane.errors import InputError, InputTypeError
from wane.panel.arrays import Played
from wane.panel.backtests import CUTOFF, Backtest, numbered
from wane.panel.frame_kinds import Arrays, Frame, refuse_missing
from wane.panel.grouped import GroupedPanel
from wane.panel.groups import Groups
from wane.panel.index import as_list
from wane.panel.panel import Panel
from wane.panel.results import Result, Roles
from wane.panel.settings import default_method
from wane.panel.sorting import moments
from wane.panel.undo import Undo
from wane.state.encoding import checked_key
from wane.tables.calendar import CALENDAR, calendar

log = logging.getLogger(__name__)

COLD = "cold"  # the column that marks rows without an interval


def run(
    frame: Any,
    *,
    y: str,
    y_hat: str | tuple[str, str] | list[str],
    id: str | None = None,
    time: str | None = None,
    by: Any = None,
    apart: str | None = None,
    method: str | None = None,
    alpha: Any = 0.1,
    score: Any = "absolute",
    delay: int = 0,
    warm_up: int = 0,
    duplicates: str = "error",
    prefix: str = "",
    panel: Panel | Groups | GroupedPanel | None = None,
    cutoff: str | None = None,
    progress: bool = False,
    **settings: Any,
) -> Result:
    """Make an interval for every row of a data frame; each is learned from the earlier rows of its stream.

    Use it for tables of forecasts with the true values beside them. The result has the new columns ``lower``,
    ``upper``, ``radius`` and ``covered`` (missing where there is no label or no interval); with several levels they are
    called ``lower_0.1`` and so on. The column ``cold`` marks rows without an interval: no label was known yet, or too
    few for the warm-up. Rows stay in their order.

    If there are several streams, they learn from each other, in order of time and never from the future (the method
    "pool"); a single one is played by "auto". With any other method the results of a stream do not depend on others.

    Args:
        frame: a frame of pandas, Polars or PyArrow (with the extra ``frames``), or a dict of arrays; also a lazy
            frame or an Arrow stream, such as a relation of DuckDB, which comes back as an eager one.
        y: the column with the true values. A value may be missing if it is not known.
        y_hat: the column of forecasts; two columns for the scores "normalised" (forecast, scale) and "cqr" (quantiles).
        id: the column that names the stream of a row; without it there is one stream.
        time: the column by which rows are ordered. Without it they are in the order of the frame, and the k-th rows of
            all streams are taken as one moment. Text must be numbers or dates, such as 2024-01-31 or 31.01.2024. Here
            and for ``id``, a level of a pandas index is a column too; one without a name is called ``index``.
        by: columns of groups, which may overlap, as in ``["weekday", Quantiles("price", 4)]``. The share of misses of
            each group comes to alpha, over all streams, as in ``GroupedPanel``. "weekday", "hour" and "month" are taken
            from the times if there is no such column. A row with a missing value belongs to no group of that column.
        apart: a column of groups within streams. Each group gets its own trackers, as in ``Groups``, and learns nothing
            from the others.
        method: the name of a method; None means "pool" for several streams and "auto" for one.
        alpha: the share of labels that may be missed, or several shares.
        score: as for ``Panel``.
        delay: the label of a row is learned after the prediction of the row that is so many later in its stream.
        warm_up: how many labels a stream learns before its first interval; ``epsilon="auto"`` needs some.
        duplicates: what to do about rows of a stream with the same time: raise an "error", or "keep" them in the order
            of the frame.
        prefix: put before the names of the new columns.
        panel: the ``panel`` of an earlier result, to go on from it. It keeps its own method, alpha and so on.
        cutoff: the column of the last time that each forecast has seen, if the frame is a backtest of several steps
            ahead; None takes ``cutoff`` if there is such a column beside times. Every number of steps ahead then has a
            panel of its own (``Result.panel`` is a dict of them), in which nothing after its cutoff is learned.
        progress: write to standard error how far a long run is.
        settings: ``lower_limit``, ``upper_limit``, ``on_unbounded``, ``threads``, and the method's hyperparameters.

    >>> table = {"shop": np.repeat([1, 2], 100), "y": np.tile([1.0, -1.0], 100), "forecast": np.zeros(200)}
    >>> result = run(table, id="shop", y="y", y_hat="forecast", method="magl")
    >>> result.frame["upper"][[0, 50, 199]].round(2), result.summary["coverage"].round(2)
    (array([ nan, 1.05, 1.  ]), array([0.75, 0.75]))
    """
    # Check the names of columns before anything is read.
    one_of("duplicates", duplicates, ("error", "keep"))
    progress = flag("progress", progress)
    forecasts = list(y_hat) if isinstance(y_hat, (tuple, list)) else [y_hat]
    keys = [c for c in (id, time, apart) if c is not None]
    grouping = None if by is None else Grouping(by)
    if grouping is not None and apart is not None:
        raise InputError("groups are corrected or kept apart, not both", argument="apart", cure="leave one out")
    for name in [y, *forecasts, *keys]:
        if not isinstance(name, str):
            raise InputTypeError(f"columns are named by text, got {described(name)}", argument="y", cure="rename them")
    if id is not None and id == time:
        raise InputError(f"id and time must be columns of their own, got {id!r} twice", argument="id")
    table = Arrays(frame) if isinstance(frame, Mapping) else Frame(frame)
    table.need([y, *forecasts, *keys])
    if cutoff is None and time is not None and CUTOFF in table.columns:
        cutoff = CUTOFF
    if cutoff is not None:
        if time is None or panel is not None or by is not None or apart is not None:
            problem = "a backtest needs times, and neither goes on from a panel nor has groups"
            raise InputError(problem, argument="cutoff", cure="rename the column if it holds no cutoffs")
        given = {"alpha": None if "coverage" in settings else alpha, "score": score, "warm_up": warm_up, **settings}
        return run_backtest(table, y, forecasts, (id, time, cutoff), method, given, delay, prefix, progress)

    # Find the order that brings the rows of each stream together, in time.
    for name in keys:
        refuse_missing(table, name)
    order, starts, ids = table.streams(id, time, duplicates)

    # Make a panel, or go on with the one given.
    if not (panel is None or isinstance(panel, (Panel, Groups, GroupedPanel))):
        raise InputTypeError(f"must be the panel of an earlier result, got {described(panel)}", about="panel")
    if panel is None:
        alpha = None if "coverage" in settings else alpha  # then alpha is 1 - coverage
        method = default_method(len(ids), apart is not None) if method is None else method
        kind: Any = Panel if apart is None else Groups
        kind = kind if grouping is None else partial(GroupedPanel, grouping)
        panel = kind(method, alpha, score, warm_up=warm_up, **settings)
    else:
        fits = {Panel: by is None and apart is None, Groups: apart is not None, GroupedPanel: by is not None}
        if settings or not fits[type(panel)]:
            raise InputTypeError(
                "a panel given has its settings; give no others, and by= or apart= only with one that was made with it",
                argument="panel",
            )
        if isinstance(panel, GroupedPanel) and grouping is not None:
            grouping = panel.correction.grouping.agreeing(grouping)
    shared = panel.parent.settings if isinstance(panel, Groups) else panel.settings

    # New columns must not replace columns of the user.
    if taken := sorted({prefix + name for name in new_columns(shared)} & set(table.columns)):
        raise InputError(
            f"the frame has the columns {', '.join(taken)} already", argument="prefix", cure="choose another prefix"
        )
    own = {"rows", "labels", *(f"{what}{end}" for what in ("coverage", "width") for end in shared.suffixes)}
    if taken := [c for c in (id, apart) if c in own]:
        raise InputError(
            f"the summary has a column {taken[0]} of its own", argument="id", cure="rename that of the frame"
        )

    # Read the columns.
    in_time = time is not None and (shared.pooled or grouping is not None)
    times = moments(str(time), table.array(str(time))) if in_time else None
    labels, model = table.numbers(y), outputs_of(table, forecasts)

    # Play the rows; the results come back in the order of the frame.
    if isinstance(panel, Panel):
        with panel._lock, Undo(panel), showing.progress(progress, len(labels), lambda: panel.done, "rows"):
            panel.done = 0
            places = panel.index.places(ids, add=True)
            played = panel._run_sorted(places, starts, model, labels, delay, order, times)
    elif isinstance(panel, GroupedPanel):
        groups = groups_of(table, panel.correction.grouping, times)
        panel.base.done = 0
        with showing.progress(progress, len(labels), lambda: panel.base.done, "rows"):
            played = play_grouped(panel, ids, starts, model, labels, delay, order, times, groups)
    else:
        order = np.arange(len(labels)) if order is None else order
        keys_of_groups = list(map(checked_key, table.values(apart)))
        done = partial(getattr, panel.children, "done")
        panel.children.done = 0
        with panel._lock, Undo(panel.parent, panel.children), showing.progress(progress, len(labels), done, "rows"):
            places = panel.parent.index.places(ids, add=True)
            played = panel._replay(places, starts, as_list(ids), model, labels, keys_of_groups, delay, order, times)

    log.info("%d rows of %d streams were played by %s", len(labels), len(starts) - 1, shared.method)

    # Give back frames of the kind that was given.
    summary = panel.summary()
    if id is None:
        summary.pop("id")
    roles = Roles.of(shared, prefix, y, forecasts, id, time)
    return Result(table.extended(columns(played, shared, prefix)), table.like(summary, id, apart), panel, roles)


def groups_of(table: Arrays | Frame, grouping: Grouping, times: np.ndarray | None) -> dict[str, list[Any]]:
    """Return the columns of groups by name; those of the calendar may come from the times."""
    found: dict[str, list[Any]] = {}
    for name in grouping.names:
        if name in table.columns:
            found[name] = table.numbers(name).tolist() if name in grouping.cuts else table.values(name)
        elif name in CALENDAR and times is not None and times.dtype.kind == "M":
            found[name] = calendar(name, times)
        else:
            table.need([name])
    return found


def play_grouped(
    panel: GroupedPanel,
    ids: Any,
    starts: np.ndarray,
    model: Any,
    labels: np.ndarray,
    delay: int,
    order: np.ndarray | None,
    times: np.ndarray | None,
    groups: dict[str, list[Any]],
) -> Played:
    """Play the rows of a frame through a panel with groups, and return the results in the order of the frame."""
    sorted_rows = np.arange(len(labels)) if order is None else order
    model = tuple(c[sorted_rows] for c in model) if isinstance(model, tuple) else model[sorted_rows]
    times = None if times is None else times[sorted_rows]
    groups = {name: [values[t] for t in sorted_rows.tolist()] for name, values in groups.items()}
    with panel._lock, panel.base._lock, panel._undo():
        places = np.repeat(panel.base.index.places(ids, add=True), np.diff(starts))
        played = panel._run_at(places, model, labels[sorted_rows], delay, times, groups)
    return played.unsorted(sorted_rows)


def run_backtest(
    table: Arrays | Frame,
    y: str,
    forecasts: list[str],
    keys: tuple[str | None, str, str],
    method: str | None,
    given: dict[str, Any],
    delay: int,
    prefix: str,
    progress: bool,
) -> Result:
    """Do what ``run`` does for a backtest; ``keys`` are the columns of ids, times and cutoffs, ``given`` settings."""
    id, time, cutoff = keys
    table.need([cutoff])
    for name in filter(None, keys):
        refuse_missing(table, name)
    ids, series = numbered([0] * len(table.array(time)) if id is None else table.values(id))
    make = partial(Panel, default_method(len(ids)) if method is None else method, **given)
    settings = make().settings
    if taken := sorted({prefix + name for name in new_columns(settings)} & set(table.columns)):
        said = f"the frame has the columns {', '.join(taken)} already"
        raise InputError(said, argument="prefix", cure="choose another prefix")
    backtest = Backtest.of(
        series, moments(time, table.array(time)), moments(cutoff, table.array(cutoff)), (time, cutoff)
    )
    late = whole("delay", delay, 0)
    labels, made = table.numbers(y), [make() for _ in range(max(len(np.unique(backtest.steps)), 1))]
    with showing.progress(progress, len(labels), lambda: sum(panel.done for panel in made), "rows"):
        played, panels = backtest.play(iter(made).__next__, outputs_of(table, forecasts), labels, late)
    # One line for each series and number of steps ahead.
    summary: dict[str, Any] = {}
    for steps, panel in panels.items():
        found = panel.summary()
        names = [ids[k] for k in found.pop("id")]
        lines = {**({} if id is None else {id: names}), "steps": [steps] * len(names), **found}
        summary = {k: [*summary.get(k, []), *v] for k, v in lines.items()}
    roles = Roles.of(settings, prefix, y, forecasts, id, time)
    return Result(table.extended(columns(played, settings, prefix)), table.like(summary, None, None), panels, roles)


def outputs_of(table: Arrays | Frame, forecasts: list[str]) -> Any:
    """Return the columns of forecasts as the score takes them: one array, or a tuple of two; all must be finite."""
    outputs = [table.numbers(c) for c in forecasts]
    for name, values in zip(forecasts, outputs, strict=True):
        if not np.isfinite(values).all():
            t = int(np.argmin(np.isfinite(values)))
            said = f"the column {name!r} must hold a finite forecast in every row, got {values[t]}"
            raise InputError(said, argument=name, row=t, cure="fill it, or drop the row")
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def new_columns(settings: Any) -> list[str]:
    """Return the names of the new columns, level by level, and ``cold``, which is the same for all levels.

    A score with two sides has two columns of radii.
    """
    radii = ("radius",) if settings.score.sides == 1 else ("radius{}_below", "radius{}_above")
    parts = ("lower", "upper", *radii, "covered")
    named = [part.format(end) if "{}" in part else part + end for end in settings.suffixes for part in parts]
    return [*named, COLD]


def columns(played: Played, settings: Any, prefix: str) -> dict[str, np.ndarray]:
    """Return the new columns by name. Here ``covered`` is 1, 0 or -1; ``extended`` makes that missing values."""
    made: list[np.ndarray] = []
    cold = np.isnan(played.lower[:, 0])
    rows = np.flatnonzero(cold)
    for i, c in enumerate(settings.columns):
        radii = [played.radii[:, c + s * len(settings.alphas)] for s in range(settings.score.sides)]
        if len(rows):  # what was played there is not shown
            radii = [radius.copy() for radius in radii]
            for radius in radii:
                radius[rows] = math.nan
        made += [played.lower[:, i], played.upper[:, i], *radii, played.covered[:, i]]
    return dict(zip([prefix + name for name in new_columns(settings)], [*made, cold], strict=True))
