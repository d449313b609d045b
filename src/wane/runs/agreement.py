"""Whether a run can go on from a state: it must have been made with the columns, settings and groups of now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wane.errors import InputError, Setting
from wane.panel import Panel
from wane.runs.session import Session
from wane.tables.columns import Columns

if TYPE_CHECKING:
    from wane.runs.run import Options


def score_name(panel: Panel) -> str:
    """The name of the score of a panel."""
    return type(panel.settings.score).__name__.lower()


def refuse_other(session: Session, columns: Columns, options: Options, state: str | None) -> None:
    """Raise an error if a state was made with other columns or settings than those that are given now."""
    design = session.panel.settings
    had = {**design.hyperparameters, "lower_limit": design.limits[0], "upper_limit": design.limits[1]}
    had |= {"on_unbounded": design.on_unbounded, "threads": session.panel.threads}
    pairs = [
        ("method", design.method, options.method),
        ("alpha", design.alphas, options.alpha or None),
        ("score", score_name(session.panel), options.score),
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


def refuse_other_groups(session: Session, kinds: Any, state: str | None) -> None:
    """Raise an error if the groups are others than those of the run that this one goes on from."""
    before = () if session.grouped is None else session.grouped.correction.grouping.columns
    if tuple(kinds) != before:
        had, now = (", ".join(map(str, columns)) or "no groups" for columns in (before, kinds))
        cure = ("give the same ", Setting("by"), ", or another ", Setting("state"))
        raise InputError(f"{state} was made with {had}, now there are {now}", argument="by", cure=cure)
