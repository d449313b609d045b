"""One series as bytes, for stores that keep many small states: predictions by id, with labels in any order."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from wane.errors import InputError, InputTypeError
from wane.panel.frames import new_columns
from wane.panel.settings import POOL, PanelSettings

MARK = b"S\x01"  # what a state begins with: the letter S and a version


class OneSeries:
    """One series at a time: its trackers, their state as bytes, and the predictions that wait as bytes.

    It does what ``OnlineConformal`` does, without counts and history, so that a state is small. A state is a mark, a
    fingerprint of the settings, the number of predictions, a number of the caller, and the numbers of the trackers.
    What a prediction keeps is whether it was cold, its outputs, its radii, and the note of the trackers.

    Args:
        method: the name of a method with a state of fixed size.
        alpha, score, lower_limit, upper_limit, on_unbounded, hyperparameters: as for ``wane.Panel``.

    >>> series = OneSeries("magl", alpha=0.1)
    >>> shown, kept = series.predict([20.0], 0)
    >>> series.learn(kept, 23.0)[-2:], len(series.write(1, 0))
    ([None, True], 138)
    """

    def __init__(
        self,
        method: str = "auto",
        alpha: Any = 0.1,
        score: Any = "absolute",
        lower_limit: float = -math.inf,
        upper_limit: float = math.inf,
        on_unbounded: str = "error",
        **hyperparameters: Any,
    ) -> None:
        """Check the settings, and make trackers that have learned nothing."""
        if method == POOL:
            problem = "the method pool learns from all series in order of time, and here each is played by itself"
            raise InputError(problem, argument="method", cure="take auto, or play batches")
        alpha = None if "coverage" in hyperparameters else alpha
        limits = (lower_limit, upper_limit)
        self.settings = PanelSettings(method, score, alpha, *limits, on_unbounded, 0, hyperparameters)
        self.levels = self.settings.levels
        if not self.levels.flat():
            problem = f"the state of {method!r} has no fixed size"
            raise InputTypeError(problem, argument="method", cure="take another one, such as auto or magl")
        self.columns = len(new_columns(self.settings))
        self.head = MARK + self.settings.fingerprint()
        self.numbers = np.zeros((1, self.levels.flat()))
        self.levels.write(self.numbers, 0)
        self.fresh = self.numbers.copy()

    def read(self, state: bytes | None) -> tuple[int, int]:
        """Take over the state of a series; return the number of its predictions, and the number of the caller."""
        if state is None:
            self.levels.read(self.fresh, 0)
            return 0, 0
        size = len(self.head)
        if state[:size] != self.head or len(state) != size + 16 + self.numbers.nbytes:
            problem = "the state of this series was made with other settings, or by another version of wane"
            raise InputError(problem, argument="settings", cure="use the old settings, or begin without states")
        self.numbers[0] = np.frombuffer(state, "<f8", offset=size + 16)
        self.levels.read(self.numbers, 0)
        made, further = struct.unpack_from("<qq", state, size)
        return made, further

    def write(self, made: int, further: int) -> bytes:
        """Return the state of the series."""
        self.levels.write(self.numbers, 0)
        return self.head + struct.pack("<qq", made, further) + self.numbers.astype("<f8").tobytes()

    def predict(self, outputs: list[float], moment: int) -> tuple[list[Any], bytes]:
        """Return the columns of a prediction, and what it keeps until its label comes."""
        settings, levels, score = self.settings, self.levels, self.settings.score
        output = score.output(outputs[0] if len(outputs) == 1 else tuple(outputs))
        floor, note = score.floor(output, None), ()
        if levels.noted:
            levels.foresee(moment, floor, score.ceiling(output), score.centre(output), (0.0,) * levels.context)
        radii = levels.predict(floor)
        if levels.noted:
            note = levels.note()
        if settings.finite_only and not levels.bounded(radii):
            raise settings.unbounded(radii)
        cold = levels.untaught()
        kept = struct.pack(f"<?{len(outputs) + len(radii) + len(note)}d", cold, *outputs, *radii, *note)
        return self.shown(output, radii, [None] * len(settings.alphas), cold), kept

    def learn(self, kept: bytes, y: float) -> list[Any]:
        """Learn a label, and return the columns of its prediction with what it covered."""
        settings, score = self.settings, self.settings.score
        cold, *numbers = struct.unpack(f"<?{len(kept) // 8}d", kept)
        parts, width = settings.parts, settings.width
        output = score.output(numbers[0] if parts == 1 else tuple(numbers[:parts]))
        radii, note = tuple(numbers[parts : parts + width]), tuple(numbers[parts + width :])
        below, above = settings.scored(output, y, None, radii)
        self.levels.update(below, above, radii, math.nan, note)
        return self.shown(output, radii, settings.covered_each(below, above, radii), cold)

    def shown(self, output: Any, radii: tuple[float, ...], covered: Any, cold: bool) -> list[Any]:
        """Return the columns of results; without an interval, before the first label, they have no values."""
        settings = self.settings
        made: list[Any] = []
        for radius, inside in zip(settings.each(radii), covered, strict=True):
            radius = radius if isinstance(radius, tuple) else (radius,)
            if cold and all(map(math.isfinite, radius)):
                made += [None] * (3 + len(radius))
                continue
            ends = settings.score.set(output, radius if len(radius) > 1 else radius[0], None, settings.limits)
            made += [ends.lower, ends.upper, *radius, inside if inside is None else bool(inside)]
        return [*made, cold]
