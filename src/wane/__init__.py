"""Online learning that forgets gracefully."""

from __future__ import annotations

import importlib
import logging
import sys
from typing import TYPE_CHECKING, Any

from wane.version import __version__

if TYPE_CHECKING:
    from wane import conformal, domains, errors, learners, metrics, panel, scores, special, streams, theory, trackers
    from wane.conformal import Horizons, OnlineConformal
    from wane.errors import AlarmError, IdError, SavedFileError, UnboundedError
    from wane.panel import Panel
    from wane.state.files import load, save
    from wane.state.journal import Journal, JournalWarning

logging.getLogger("wane").addHandler(logging.NullHandler())  # silent, unless the program that uses it listens

__all__ = [
    "AlarmError",
    "Horizons",
    "IdError",
    "Journal",
    "JournalWarning",
    "OnlineConformal",
    "Panel",
    "Quantiles",
    "SavedFileError",
    "UnboundedError",
    "__version__",
    "compiled",
    "conformal",
    "domains",
    "errors",
    "learners",
    "load",
    "metrics",
    "panel",
    "save",
    "scores",
    "special",
    "streams",
    "theory",
    "trackers",
]

NAMES = {  # where each name comes from; a module stands for itself
    "wane.conformal": ("Horizons", "OnlineConformal", "Quantiles"),
    "wane.state.journal": ("Journal", "JournalWarning"),
    "wane.panel": ("Panel",),
    "wane.errors": ("AlarmError", "IdError", "SavedFileError", "UnboundedError"),
    "wane.state.files": ("load", "save"),
    **{
        f"wane.{name}": ()
        for name in ("domains", "learners", "metrics", "scores", "special", "streams", "theory", "trackers")
    },
    "wane.runs.session": (),  # what can be saved is known to load
}


def complete() -> None:
    """Import all of the package, so that every class that can be saved is known by its name."""
    for module, names in NAMES.items():
        found = importlib.import_module(module)
        globals().update({name: getattr(found, name) for name in names})


def __getattr__(name: str) -> Any:
    """A name that is not there yet: the first one brings all of them, so that ``wane --help`` waits for none."""
    if name not in __all__:
        raise AttributeError(f"module 'wane' has no attribute {name!r}")
    if f"wane.{name}" in sys.modules:  # it is being imported at this moment
        return sys.modules[f"wane.{name}"]
    complete()
    return globals()[name]


def __dir__() -> list[str]:
    """The public names, imported already or not yet."""
    return sorted(__all__)


def compiled() -> bool:
    """Whether the compiled algorithms are running; the uncompiled ones give the same results, 10-50 times slower.

    >>> compiled() in (True, False)
    True
    """
    return not str(importlib.import_module("wane.special").__file__).endswith(".py")
