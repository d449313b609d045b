"""Methods by name: each file of this package registers what it defines."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wane.trackers.base import Tracker

METHODS: dict[str, Callable[..., Tracker]] = {}


def register(name: str) -> Callable[[Callable[..., Tracker]], Callable[..., Tracker]]:
    """Make a factory, a function of alpha and keywords, known by name."""

    def known(factory: Callable[..., Tracker]) -> Callable[..., Tracker]:
        if name in METHODS:
            raise ValueError(f"a method called {name!r} exists already")
        METHODS[name] = factory
        return factory

    return known


def tie_rule(tie: str | None, published: Any, theirs: str = "covered") -> str:
    """What a tie is: as the user says; else as in published code, if that is asked for; else a miss, as in the paper.

    >>> tie_rule(None, False), tie_rule(None, True), tie_rule("miss", True)
    ('miss', 'covered', 'miss')
    """
    return tie if tie is not None else theirs if published else "miss"


def names() -> list[str]:
    """Every registered name, sorted.

    >>> "magl-d" in names()
    True
    """
    return sorted(METHODS)


def refuse_unknown(given: Iterable[Any]) -> None:
    """An error unless there is a name, and each is that of a method.

    >>> refuse_unknown(["magl", "mgal-d"])
    Traceback (most recent call last):
    ...
    ValueError: no method is called 'mgal-d', did you mean 'magl-d'? Known are aci, agaci, ...
    """
    wanted = list(given)
    known = ", ".join(names())
    if not wanted:
        raise ValueError(f"no method is given: known are {known}")
    for name in wanted:
        if name not in METHODS:
            near = difflib.get_close_matches(str(name), METHODS, 1)
            hint = f", did you mean {near[0]!r}? Known" if near else ": known"
            raise ValueError(f"no method is called {name!r}{hint} are {known}")


def make(name: str, alpha: float | None = None, *, coverage: float | None = None, **hyperparameters: Any) -> Tracker:
    """A tracker by name.

    Args:
        name: one of ``names()``.
        alpha: the share of rounds that may be missed.
        coverage: 1 - alpha, instead of alpha.
        hyperparameters: of the method; its factory documents them, and a missing one is a TypeError.

    >>> make("magl-d", coverage=0.9).alpha
    0.1
    """
    refuse_unknown([name])
    if (alpha is None) == (coverage is None):
        raise TypeError("give alpha, the share of misses, or coverage = 1 - alpha, and not both")
    if alpha is None:
        alpha = round(1.0 - coverage, 12)  # type: ignore[operator]
    if isinstance(alpha, (float, np.floating)) and alpha > 0.5:
        warnings.warn(
            f"alpha = {alpha:g} is the share of rounds that may be missed: did you mean coverage={alpha:g}?",
            stacklevel=2,
        )
    factory = METHODS[name]
    try:
        inspect.signature(factory).bind(alpha, **hyperparameters)
    except TypeError as error:
        raise TypeError(f"{name}: {error}; it takes {inspect.signature(factory)}") from None
    return factory(alpha, **hyperparameters)
