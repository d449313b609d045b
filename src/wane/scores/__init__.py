"""Scores: how wrong a model output was for a label, and the set that a radius makes of an output."""

from __future__ import annotations

import inspect
from typing import Any

from wane.checks import described
from wane.errors import InputError, InputTypeError, Setting
from wane.scores.base import Score
from wane.scores.intervals import CQR, Absolute, IntervalScore, Normalised, OneSided, Signed
from wane.scores.labels import APS, LAC, RAPS, uniforms
from wane.scores.user import UserScore
from wane.scores.vectors import NormBall

__all__ = [
    "APS",
    "CQR",
    "LAC",
    "RAPS",
    "Absolute",
    "IntervalScore",
    "NormBall",
    "Normalised",
    "OneSided",
    "Score",
    "Signed",
    "UserScore",
    "as_score",
    "make",
    "names",
    "uniforms",
]

SCORES: dict[str, type[Score]] = {
    "absolute": Absolute,
    "aps": APS,
    "ball": NormBall,
    "cqr": CQR,
    "lac": LAC,
    "normalised": Normalised,
    "one-sided": OneSided,
    "raps": RAPS,
    "signed": Signed,
    "user": UserScore,
}


def names() -> list[str]:
    """Every name that ``make`` knows, sorted.

    >>> "cqr" in names()
    True
    """
    return sorted(SCORES)


def make(name: str, **arguments: Any) -> Score:
    """A score by name, with the arguments of its class.

    >>> make("one-sided", side="lower")
    OneSided(side='lower')
    """
    if not isinstance(name, str) or name not in SCORES:
        known = f"known are {', '.join(names())}"
        raise InputError(f"no score is called {described(name)}", argument="name", cure=known)
    parameters = inspect.signature(SCORES[name]).parameters
    for given in arguments.keys() - parameters.keys():
        takes = f"it takes {', '.join(parameters) or 'nothing'}"
        raise InputTypeError(f"{name} has no setting {given!r}", argument=given, cure=takes)
    for needed, parameter in parameters.items():
        if parameter.default is parameter.empty and needed not in arguments:
            raise InputTypeError(f"{name} needs {needed!r}", argument=needed, cure=("give ", Setting(needed)))
    return SCORES[name](**arguments)


def as_score(score: Any) -> Score:
    """The score itself, or the one of that name.

    >>> as_score("absolute"), as_score(OneSided("lower"))
    (Absolute(), OneSided(side='lower'))
    """
    if isinstance(score, Score):
        return score
    if isinstance(score, str):
        return make(score)
    hint = "; is it alpha? write alpha=..." if isinstance(score, float) else ""
    problem = f"must be one of wane.scores or a name of one, got {described(score)}"
    raise InputTypeError(problem, about="score", cure=f"{', '.join(names())}{hint}")
