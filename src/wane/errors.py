"""Every exception of this package: what was wrong, in which argument and row, and what to do about it, as fields.

A message is a sentence for people. Whoever formats errors for another audience, as the command line does, reads the
fields instead of the sentence, and may say it again in other words with ``said``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = [
    "AlarmError",
    "AmbiguousDatesError",
    "FileError",
    "ForkError",
    "IdError",
    "InUseError",
    "InputError",
    "InputTypeError",
    "JournalError",
    "MissingExtraError",
    "MissingFileError",
    "NonfiniteError",
    "NotFoundError",
    "SavedFileError",
    "SeriesError",
    "Setting",
    "StepError",
    "TooLargeError",
    "UnboundedError",
    "WaneError",
]


@dataclass(frozen=True)
class Setting:
    """A setting that a cure names, and the value to give it; None where any value may be the right one.

    >>> str(Setting("warm_up")), str(Setting("on_unbounded", "clip"))
    ('warm_up', "on_unbounded='clip'")
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        """As an argument in Python."""
        return self.name if self.value is None else f"{self.name}={self.value!r}"


Cure = str | tuple[str | Setting, ...]


class WaneError(Exception):
    """What all exceptions of this package have in common.

    Args:
        problem: the sentence; without its subject, if ``about`` is given.
        about: the argument that is the subject of the sentence.
        argument: the argument concerned, where it is not the subject.
        row: the row, or round, of the argument.
        cure: what to do, without a full stop: text, or parts of text and ``Setting`` between them.
        where: the place in a file, such as "sales.csv, line 7", which then stands for the row.
        unit: what the message calls a row of no argument in particular.

    >>> error = InputError("must be finite, got nan", about="y", row=3, cure=("give ", Setting("warm_up")))
    >>> error.argument, error.row, error.cure
    ('y', 3, 'give warm_up')
    >>> print(error)
    y[3] must be finite, got nan: give warm_up
    >>> error.said("sales.csv, line 5", lambda setting: f"--{setting.name}")
    'sales.csv, line 5: y must be finite, got nan: give --warm_up'
    """

    def __init__(
        self,
        problem: str = "",
        *,
        about: str | None = None,
        argument: str | None = None,
        row: int | None = None,
        cure: Cure | None = None,
        where: str | None = None,
        unit: str = "row",
    ) -> None:
        """All but the problem may be left out."""
        super().__init__(problem)
        self.problem = problem
        self.about = about
        self.argument = argument if about is None else about
        self.row, self.unit = row, unit
        self.where = where
        self.option: Callable[[Setting], str] = str  # how the reader gives settings; the command line has its own way
        self.parts: tuple[str | Setting, ...] = () if cure is None else (cure,) if isinstance(cure, str) else cure

    @property
    def cure(self) -> str | None:
        """What to do, in the words of Python; None where nothing can be said."""
        return "".join(map(str, self.parts)) or None

    def said(self, where: str | None = None, option: Callable[[Setting], str] | None = None) -> str:
        """The whole message in other words.

        Args:
            where: what to call the row, such as "sales.csv, line 7"; None is ``self.where``, or else its number.
            option: how to write a setting that the cure names; None is ``self.option``.
        """
        option = self.option if option is None else option
        where = self.where if where is None else where
        if where is not None:
            subject = f"{where}: " + ("" if self.about is None else f"{self.about} ")
        elif self.about is not None:
            subject = self.about + (" " if self.row is None else f"[{self.row}] ")
        else:
            subject = "" if self.row is None else f"{self.unit} {self.row}: "
        cure = "".join(part if isinstance(part, str) else option(part) for part in self.parts)
        return subject + self.problem + (f": {cure}" if cure else "")

    def __str__(self) -> str:
        """The whole message."""
        return self.said()

    def __reduce__(self) -> Any:
        """Pickled with its fields."""
        return type(self), self.args, vars(self)


@contextlib.contextmanager
def located(where: Callable[[int | None], str]) -> Iterator[None]:
    """Say of errors from within where in a file they arise; one that says so already is left as it is.

    Args:
        where: what to call a row of the file, by its number; None is a row that the error does not name.

    >>> with located(lambda row: "sales.csv" if row is None else f"sales.csv, line {row + 2}"):
    ...     raise InputError("must be finite, got nan", about="y", row=3)
    Traceback (most recent call last):
        ...
    wane.errors.InputError: sales.csv, line 5: y must be finite, got nan
    """
    try:
        yield
    except WaneError as error:
        if error.where is None:
            error.where = where(error.row)
        raise
    except (TypeError, ValueError) as error:
        kind = InputTypeError if isinstance(error, TypeError) else InputError
        raise kind(str(error), where=where(None)) from error


class InputError(WaneError, ValueError):
    """A value that cannot be used."""


class InputTypeError(WaneError, TypeError):
    """A value of a kind that cannot be used, or an argument that is missing or unknown."""


class FileError(WaneError, OSError):
    """A file that cannot be read or written."""

    __str__ = WaneError.__str__


class MissingExtraError(WaneError, ImportError):
    """A package that is not installed; the cure is the command that installs it."""


def installing(extra: str) -> str:
    """How to install an extra; wane itself is installed from a clone of its repository.

    >>> installing("cli")
    'run pip install ".[cli]" in a clone of wane'
    """
    return f'run pip install ".[{extra}]" in a clone of wane'


class SavedFileError(InputError):
    """A file that cannot be read: foreign, cut short, corrupted, too new, or with a state that its class refuses."""


class AmbiguousDatesError(InputError):
    """Dates such as 01/02/2024, of which nothing says whether the day or the month comes first.

    ``example`` is one of them.
    """

    def __init__(self, problem: str = "", *, example: str = "", **fields: Any) -> None:
        """Take the fields of any error, and an example."""
        super().__init__(problem, **fields)
        self.example = example


class UnboundedError(InputError):
    """A tracker has no finite radius to play, and an unbounded set was not allowed."""


class AlarmError(WaneError, RuntimeError):
    """The function on_alarm has failed. The label that led to the alarm was learned all the same."""


class NotFoundError(WaneError, KeyError):
    """A name, of a column, a level or a field, that is not there."""

    __str__ = WaneError.__str__  # KeyError's shows a message in quotes


class IdError(WaneError, KeyError, ValueError):
    """No prediction with this id waits for a label: it is unknown, has had its label, or has expired."""

    __str__ = WaneError.__str__  # KeyError's shows a message in quotes


class SeriesError(InputError):
    """No series has this name, or there is no room for another."""


class MissingFileError(FileError, FileNotFoundError):
    """A file or a folder that is not there."""


class ForkError(WaneError, RuntimeError):
    """An object that another thread was changing when the process was forked; it can be used in the parent only."""


class InUseError(FileError):
    """A file that belongs to another process at present; ``holder`` says in words to which, and since when."""

    holder = "another process holds it"


class JournalError(WaneError, RuntimeError):
    """A journal that takes no calls: it is closed, or open elsewhere, or lacks a call."""


class TooLargeError(WaneError, OverflowError):
    """A number that has grown beyond what can be computed with."""


class NonfiniteError(WaneError, FloatingPointError):
    """Gradients or parameters that are not finite, with which no step can be taken."""


class StepError(WaneError, RuntimeError):
    """Parameters with which no step can be taken."""
