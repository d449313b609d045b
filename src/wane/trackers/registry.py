"""Methods by name: each file of this package registers its class, in a row that says what makes it this method."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wane.checks import alpha_of, described, flag
from wane.errors import InputError, InputTypeError, Setting
from wane.trackers.base import Tracker

METHODS: dict[str, Callable[..., Tracker]] = {}
NEEDED: Any = inspect.Parameter.empty  # in place of a default: the setting must be given
COMMON = {"domain": "nonnegative", "on_missing": "error"}  # every method takes these, unless its row fixes them


class Method:
    """A row of the registry: the class of a method, and what can be set, with the defaults of this method.

    Args:
        maker: the class, or a function of alpha and keywords.
        about: one line for tables; what follows an empty line is said only of this method.
        settings: what can be set, and the defaults, where ``NEEDED`` is none and a class is a new object of it.
        fixed: arguments of the class that cannot be set.
        published: what published code does, by the value of the setting ``published``: these arguments take the place
            of what was given. An explicit ``tie`` stays.
    """

    def __init__(
        self,
        maker: Callable[..., Tracker],
        about: str,
        settings: dict[str, Any],
        fixed: dict[str, Any],
        published: dict[Any, dict[str, Any]],
    ) -> None:
        """Take the row."""
        self.maker, self.fixed, self.published, self.__doc__ = maker, fixed, published, about
        self.new = {k: v for k, v in settings.items() if isinstance(v, type) and v is not NEEDED}
        shown = settings | dict.fromkeys(self.new) | ({"published": False} if published else {})
        shown |= {k: v for k, v in COMMON.items() if k not in fixed}
        keyword = [
            inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY, default=v, annotation=kind_of(v))
            for k, v in shown.items()
        ]
        alpha = inspect.Parameter("alpha", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=float)
        self.__signature__ = inspect.Signature([alpha, *keyword])

    def __call__(self, *args: Any, **given: Any) -> Tracker:
        """The tracker."""
        bound = self.__signature__.bind(*args, **given)
        bound.apply_defaults()
        values = {**self.fixed, **bound.arguments}
        whose = chosen_preset(values.pop("published", False), self.published)
        if "tie" in values and values["tie"] is None:
            values["tie"] = self.published.get(whose, {}).get("tie", "miss")
        values |= {k: v for k, v in self.published.get(whose, {}).items() if k != "tie"}
        values |= {k: cls() for k, cls in self.new.items() if values[k] is None}
        if "published" in getattr(self.maker, "parameters", ()):
            values["published"] = whose
        return self.maker(values.pop("alpha"), **values)


def kind_of(default: Any) -> Any:
    """What a signature says of a setting with this default."""
    return float if default is NEEDED else Any if default is None else type(default)


def chosen_preset(published: Any, known: dict[Any, Any]) -> Any:
    """Whose code to follow: nobody's (False), the authors' (True), or that of a package by name.

    >>> chosen_preset(0, {True: {}}), chosen_preset("adaptiveconformal", {"adaptiveconformal": {}})
    (False, 'adaptiveconformal')
    """
    if not isinstance(published, str):
        return flag("published", published)
    if published not in known:
        named = ["False", *map(repr, known)]
        raise InputError(
            f"must be {', '.join(named[:-1])} or {named[-1]}, got {described(published)}", about="published"
        )
    return published


def register(
    name: str,
    maker: Callable[..., Tracker] | None = None,
    about: str = "",
    *,
    fixed: dict[str, Any] | None = None,
    published: dict[Any, dict[str, Any]] | None = None,
    **settings: Any,
) -> Any:
    """Make a method known by name: by its class and a row, or, as a decorator, by a function of alpha and keywords.

    ``Method`` explains the arguments. A tracker of your own is registered in the same way:

    >>> from wane.trackers.trivial import Trivial
    >>> _ = register("doctest-only", Trivial, "As trivial, for real scores.", fixed={"domain": "real"})
    >>> make("doctest-only", 0.25).run([1.0, 1.0, 1.0, 1.0])
    array([ inf,  inf,  inf, -inf])
    >>> _ = METHODS.pop("doctest-only")
    """
    if name in METHODS:
        raise InputError(f"a method called {name!r} exists already", argument="name")
    if maker is not None:
        METHODS[name] = Method(maker, about, settings, fixed or {}, published or {})
        return maker

    def known(factory: Callable[..., Tracker]) -> Callable[..., Tracker]:
        METHODS[name] = factory
        return factory

    return known


def names() -> list[str]:
    """Every registered name, sorted.

    >>> "magl-d" in names()
    True
    """
    return sorted(METHODS)


def refuse_unknown(given: Iterable[Any], *more: str) -> None:
    """An error unless there is a name, and each is that of a method, or one of ``more``.

    >>> refuse_unknown(["magl", "mgal-d"])
    Traceback (most recent call last):
    ...
    wane.errors.InputError: no method is called 'mgal-d': did you mean 'magl-d' or 'magl'? known are aci, agaci, ...
    """
    wanted = list(given)
    there = sorted([*METHODS, *more])
    known = ", ".join(there)
    if not wanted:
        raise InputError("no method is given", argument="method", cure=f"known are {known}")
    for name in wanted:
        if not isinstance(name, str):
            raise InputError(f"must be a name, got {described(name)}", about="method", cure=f"known are {known}")
        if name not in there:
            near = difflib.get_close_matches(name.lower(), there, 3)
            meant = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
            if name == "pool":
                meant = "pool is a method of wane.Panel and of tables with several series; "
            raise InputError(f"no method is called {name!r}", argument="method", cure=f"{meant}known are {known}")


def refuse_other_settings(name: str, given: dict[str, Any]) -> None:
    """An error that names the first setting that the method lacks or does not know."""
    known = [p for k, p in inspect.signature(METHODS[name]).parameters.items() if k != "alpha"]
    for p in known:
        if p.default is p.empty and p.kind is p.KEYWORD_ONLY and p.name not in given:
            raise InputTypeError(f"{name} needs {p.name!r}", argument=p.name, cure=("give ", Setting(p.name)))
    if not any(p.kind is p.VAR_KEYWORD for p in known):
        for k in given.keys() - {p.name for p in known}:
            takes = f"it takes {', '.join(p.name for p in known)}"
            raise InputTypeError(f"{name} has no setting {k!r}", argument=k, cure=takes)


def make(name: str, alpha: float | None = None, *, coverage: float | None = None, **hyperparameters: Any) -> Tracker:
    """A tracker by name.

    Args:
        name: one of ``names()``.
        alpha: the share of rounds that may be missed.
        coverage: 1 - alpha, instead of alpha.
        hyperparameters: of the method; ``wane methods NAME`` lists them, and a missing one is a TypeError.

    >>> make("magl-d", coverage=0.9).alpha
    0.1
    """
    refuse_unknown([name])
    if (alpha is None) == (coverage is None):
        raise InputTypeError("give alpha, the share of misses, or coverage = 1 - alpha, and not both", argument="alpha")
    if alpha is None:
        alpha = alpha_of(coverage)
    if isinstance(alpha, (float, np.floating)) and alpha > 0.5:
        warnings.warn(
            f"alpha = {alpha:g} is the share of rounds that may be missed: did you mean coverage={alpha:g}?",
            stacklevel=2,
        )
    refuse_other_settings(name, hyperparameters)
    return METHODS[name](alpha, **hyperparameters)
