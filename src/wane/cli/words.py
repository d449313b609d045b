"""Errors of the library, which speak of arguments, in the words of the command line, which has options."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

SET = {  # how the settings of a panel are given to `wane run`
    "warm_up": "--warm-up N",
    "on_unbounded": "--set on_unbounded={}",
    "lower_limit": "--set lower_limit=NUMBER",
    "upper_limit": "--set upper_limit=NUMBER",
}
OPTIONS = {  # and to `wane serve-lines`
    "on_unbounded": "--on-unbounded {}",
    "lower_limit": "--lower-limit NUMBER",
    "upper_limit": "--upper-limit NUMBER",
}
ARGUMENT = re.compile(
    r"(?<!--set )(?<![\w'\"/.-])(warm_up|lower_limit|upper_limit)(?![\w='\"/.-])"
)  # no part of a name

SIGNATURE = re.compile(
    r"([\w-]+): (missing a required|got an unexpected)(?: \w+-only| keyword)? argument:? '(\w+)'; it takes (.*)", re.S
)
HIDDEN = ("alpha", "domain", "on_missing")  # every method has these, and they are not set by name


def argument(found: re.Match[str]) -> str:
    """What is said of an argument that a method or a score lacks, or does not know."""
    from wane import trackers

    name, wrong, given, signature = found.groups()
    known = name in trackers.names()
    option, more = ("--set", f" (`wane methods {name}` says more)") if known else ("--score-set", "")
    if wrong.startswith("missing"):
        return f"{name} needs {given!r}: give {option} {given}=VALUE{more}"
    there = [word for word in re.findall(r"(\w+): ", signature) if word not in HIDDEN]
    return f"{name} has no setting {given!r}: {option} takes {', '.join(there) or 'nothing'}{more}"


def in_options(text: str, options: dict[str, str] = SET) -> str:
    """The message of an error with options instead of arguments.

    >>> in_options("sf-ogd: missing a required argument: 'max_score'; it takes (alpha: 'float', *, max_score: 'float')")
    "sf-ogd needs 'max_score': give --set max_score=VALUE (`wane methods sf-ogd` says more)"
    >>> in_options("there are too few scores: give warm_up, or choose on_unbounded='clip' (to the limits) or 'allow'")
    'there are too few scores: give --warm-up N, or choose --set on_unbounded=clip (to the limits) or allow'
    """
    text = SIGNATURE.sub(argument, text)
    text = re.sub(r"\b(clip|published)=True", lambda found: f"--set {found[1]}=true", text)
    text = re.sub(r"\bepsilon='auto'", "--set epsilon=auto", text)
    text = re.sub(r"\bon_unbounded='(\w+)'", lambda found: options["on_unbounded"].format(found[1]), text)
    text = re.sub(r"(\(to the limits\) or )'(\w+)'", r"\1\2", text)
    text = text.replace("give warm_up, how many", "give warm_up")
    return ARGUMENT.sub(lambda found: options.get(found[1], found[1]), text)


@contextlib.contextmanager
def spoken(options: dict[str, str] = SET) -> Iterator[None]:
    """Errors from within, in the words of the command line."""
    try:
        yield
    except (TypeError, ValueError) as error:
        said = in_options(str(error), options)
        if said == str(error):
            raise
        raise ValueError(said) from error
