"""How a run begins: which columns and which method it takes, and the session that plays the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from wane.conformal.grouping import Grouping
from wane.errors import InputError, Setting
from wane.panel import GroupedPanel, Panel
from wane.panel.settings import POOL, default_method
from wane.runs.backtest import BacktestSession
from wane.runs.events import EventSession, LabelSession
from wane.runs.forecasts import Forecaster
from wane.runs.glance import Glance, dates_not_used
from wane.runs.groups import kinds_of_groups, refuse_other_groups
from wane.runs.options import Options, refuse_both
from wane.runs.session import Session
from wane.tables.chunks import Reader
from wane.tables.columns import Columns
from wane.trackers.registry import refuse_unknown


def started(
    session: Session | None,
    reader: Reader,
    path: str,
    kind: str,
    options: Options,
    state: str | None,
    told: Callable[[str], Any],
) -> Session:
    """The session to go on with, or a new one; the user is told what was guessed and chosen."""
    # The columns come first: a new session depends on them, and an old one must have had the same.
    o = options
    columns = o.columns(reader.names, o.score or (session.score if session else None), path, kind)
    kinds = kinds_of_groups(o.by, reader.names, columns.time)
    if kinds:
        grouping = Grouping(kinds)
        columns = replace(columns, by=grouping.names, cut=tuple(grouping.cuts))
        if columns.cutoff is not None or columns.arrived is not None or columns.classes:
            problem = "groups work only for intervals whose true values are known a number of rows later"
            raise InputError(problem, argument="by", cure="leave it out")
    told(f"using {columns.said()}")
    if session is None and not o.no_time and (hint := dates_not_used(path, kind, columns, o.notation())):
        told(hint)
    if o.sort and columns.time is None:
        cure = ("give ", Setting("time"))
        raise InputError("to sort the rows, a column of times is needed", argument="sort", cure=cure)
    if session is not None:
        refuse_other(session, columns, o, state)
        refuse_other_groups(session, kinds, state)
        design = session.panel.settings
        told(
            f"continuing from {state}: {design.method}, alpha {', '.join(f'{a:g}' for a in design.alphas)}, "
            f"{session.rows:,} rows of {len(session.panel):,} series so far"
        )
        return session
    made = new_session(columns, o, chosen_method(columns, o, path, kind, told), state, told, kinds)
    made.forecaster = None if o.forecast is None else Forecaster(o.forecast, o.delay or 0)
    return made


def chosen_method(columns: Columns, options: Options, path: str, kind: str, told: Callable[[str], Any]) -> str:
    """The name of the method: the one that is given, or the one for so many series."""
    if options.method is not None:
        if options.method != POOL:
            refuse_unknown([options.method], POOL)
        return options.method
    if columns.classes:
        told("method auto: the table is that of a classifier")
        return default_method(1)
    series = Glance.at(path, kind, columns, options.notation(), times=False).series
    method = default_method(2 if series is None else series)
    many = "has one series" if series == 1 else "may have many series" if series is None else f"has {series:,} series"
    told(f"method {method}: the table {many}")
    return method


def new_session(
    columns: Columns, options: Options, method: str, state: str | None, told: Callable[[str], Any], kinds: list[Any]
) -> Session:
    """A session that begins: that of intervals, of a backtest, of a classifier, or of true values with times."""
    o = options
    levels = o.alpha or (0.1,)
    score = "absolute" if columns.classes else o.score or "absolute"
    build: Any = partial(GroupedPanel, kinds) if kinds else Panel
    make = partial(
        build, method, levels[0] if len(levels) == 1 else levels, score, warm_up=o.warm_up or 0, **o.settings
    )
    refuse_both(columns, o)
    if columns.classes:
        if method == POOL:
            problem = "the method pool makes intervals, not sets of labels"
            raise InputError(problem, argument="method", cure=("give ", Setting("method", "auto")))
        return LabelSession.of(o.score or LabelSession.kind, make(), columns, o.delay or 0)
    if columns.cutoff is None and columns.arrived is None:
        return Session(make(), columns, o.delay or 0)
    if columns.arrived is not None and method != POOL:
        return EventSession(make(), columns)
    # The others are played as a whole.
    if state is not None:
        if columns.arrived is not None:
            problem = f"with {columns.arrived!r}, series that learn from each other are played as a whole"
            instead = ("leave out ", Setting("state"), ", or give ", Setting("method", "auto"))
            raise InputError(problem, argument="state", cure=instead)
        raise InputError(
            "a backtest is played as a whole, and no state can continue from it",
            argument="state",
            cure=("leave out ", Setting("state"), ", or drop the column of cutoffs"),
        )
    if columns.arrived is not None:
        session = Session(make(), columns)
        session.whole = True
        return session
    told(
        f"this is a backtest: each number of steps ahead is learned separately, and no forecast knows a value "
        f"of {columns.time!r} after its {columns.cutoff!r}"
    )
    return BacktestSession(make, columns, o.delay or 0)


def refuse_other(session: Session, columns: Columns, options: Options, state: str | None) -> None:
    """Raise an error if a state was made with other columns or settings than those that are given now."""
    design = session.panel.settings
    had = {**design.hyperparameters, "lower_limit": design.limits[0], "upper_limit": design.limits[1]}
    had |= {"on_unbounded": design.on_unbounded, "threads": session.panel.threads}
    pairs = [
        ("method", design.method, options.method),
        ("alpha", design.alphas, options.alpha or None),
        ("score", session.score, options.score),
        ("forecast", session.forecaster and session.forecaster.rule, options.forecast),
        ("delay", session.delay, options.delay),
        ("warm_up", design.warm_up, options.warm_up),
        *((name, had.get(name, "its default"), value) for name, value in options.settings.items()),
        ("columns", session.columns.said(), columns.said()),
    ]
    for name, old, new in pairs:
        if new is not None and new != old:
            then, now = (", ".join(f"{v:g}" for v in x) if isinstance(x, tuple) else str(x) for x in (old, new))
            raise InputError(
                f"{state} was made with {name} {then}, now it is {now}",
                argument=name,
                cure=("give the same settings, or another ", Setting("state")),
            )
