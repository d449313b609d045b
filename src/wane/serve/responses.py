"""What was done, or refused, as a response: plain data that every JSON reader takes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.conformal import Learned, Prediction
from wane.scores.sets import Ball, LabelSet

MESSAGE = 500  # characters of a message
INTERVAL = ("lower", "upper")
FORMS: dict[type, tuple[str, ...]] = {LabelSet: ("labels",), Ball: ("center",)}  # what is told of other sets
ALARM = ("alpha", "side", "local_coverage", "band")  # what is told of one


def failure(kind: str, message: Any, echo: dict[str, Any] | None = None) -> dict[str, Any]:
    """The response to a request that was refused."""
    text = str(message)
    text = text if len(text) <= MESSAGE else text[: MESSAGE - 3] + "..."
    return {"ok": False, **(echo or {}), "error": {"kind": kind, "message": text}}


def given(p: Prediction) -> dict[str, Any]:
    """A prediction; several levels are lists in the order of alpha."""
    form = FORMS.get(type(p.sets[0]), INTERVAL)
    said = {"id": p.id, "cold": p.cold, "radius": plain(p.radius)}
    for end in form:
        said[end] = plain(p._each(end))
    return said


def learned(found: Learned) -> dict[str, Any]:
    """What a label did; nothing is known where no history is kept."""
    e = found.explanation
    said = {} if e is None else {"score": plain(e.score), "covered": plain(e.covered)}
    if found.alarms:
        said["alarms"] = [plain({k: getattr(a, k) for k in ALARM}) for a in found.alarms]
    return said


def plain(value: Any) -> Any:
    """JSON-able data, with None for a number that is not finite.

    >>> plain((1.5, float("inf"), np.array([2.0])))
    [1.5, None, [2.0]]
    """
    if type(value) is float:
        return value if math.isfinite(value) else None
    if value is None or type(value) is bool:
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value
