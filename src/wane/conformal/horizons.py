"""Forecasts of several steps: one `OnlineConformal` for each step ahead, and labels that serve once they are known."""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wane.checks import described, whole
from wane.conformal import batch
from wane.conformal.online import OnlineConformal
from wane.conformal.predictions import Alarm, Explanation, Metrics, Prediction, Table, tell
from wane.conformal.settings import learned_pattern
from wane.errors import InputError, InputTypeError
from wane.state import data as plain_data
from wane.state.encoding import checked_key
from wane.state.files import known
from wane.trackers import Tracker


@known
class Horizons:
    """A forecaster that looks several steps ahead: each step has trackers of its own.

    A forecast made at time t for the steps 1, ..., H is about the times t + 1, ..., t + H, and the label of time tau
    serves the (up to H) predictions made for it, when ``update(tau, y)`` says it. Errors of 10 steps ahead never widen
    the intervals of 1 step ahead, and nothing is learned before it is known.

    All methods may be called from several threads, as those of ``OnlineConformal``.

    Args:
        steps: H.
        tracker: the name of a method, or a tracker that has learned nothing, as the pattern of all.
        score: as for ``OnlineConformal``.
        alpha: as for ``OnlineConformal``.
        stride: the times between two forecasts; 1 is a rolling origin, 24 with hourly data is a forecast a day.
        on_alarm: called with an ``Alarm`` that names the step.
        history: as for ``OnlineConformal``, for each step.
        settings: as for ``OnlineConformal``.

    >>> import wane
    >>> hz = wane.Horizons(2, "magl", alpha=0.1)
    >>> first = hz.predict([10.0, 11.0])          # made at time 0, about times 1 and 2
    >>> hz.update(1, 10.5)                        # time 1 has come: one prediction was about it
    1
    >>> second = hz.predict([10.8, 11.2])         # made at time 1, about times 2 and 3
    >>> hz.update(2, 11.0)                        # time 2: the second step of the first, the first of the second
    2
    >>> hz.pending()
    [3]
    """

    def __init__(
        self,
        steps: int,
        tracker: str | Tracker,
        score: Any = "absolute",
        alpha: Any = None,
        *,
        stride: int = 1,
        on_alarm: Callable[[Alarm], Any] | None = None,
        history: int = 100,
        **settings: Any,
    ) -> None:
        """No forecast has been made: the time of the first is 0."""
        count = whole("steps", steps, 1)
        if not isinstance(tracker, (str, Tracker)):
            raise InputTypeError(
                f"must be the name of a method or one tracker as a pattern, got {described(tracker)}", about="tracker"
            )
        if isinstance(tracker, Tracker) and tracker.rounds:
            raise learned_pattern("all steps")
        self.stride = whole("stride", stride, 1)
        self.time = 0  # of the next forecast
        self._take(
            [OnlineConformal(copy.copy(tracker), score, alpha, history=history, **settings) for _ in range(count)],
            on_alarm,
        )

    def _take(self, steps: list[OnlineConformal], on_alarm: Callable[[Alarm], Any] | None) -> None:
        if on_alarm is not None and not callable(on_alarm):
            raise InputTypeError(f"must be a function of an Alarm, got {described(on_alarm)}", about="on_alarm")
        self.steps = steps
        self.on_alarm = on_alarm
        self._lock = threading.RLock()

    def _tell(self, alarms: list[list[Alarm]]) -> None:
        """Pass on the alarms of each step."""
        tell(self.on_alarm, [replace(alarm, step=h) for h, each in enumerate(alarms, 1) for alarm in each])

    def predict(self, outputs: Sequence[Any], targets: Sequence[Hashable] | None = None) -> list[Prediction | None]:
        """The sets of one forecast, one for each step ahead; the id of each is the time it is about.

        Args:
            outputs: one model output for each step; None leaves a step out.
            targets: the times they are about, as keys of your own; by default whole numbers from ``time`` + 1 on.
        """
        outputs = list(outputs)
        if len(outputs) != len(self.steps):
            raise InputError(
                f"must be one for each of the {len(self.steps)} steps, got {len(outputs)}", about="outputs"
            )
        with self._lock:
            about = [self.time + h for h in range(1, len(self.steps) + 1)] if targets is None else list(targets)
            if len(about) != len(self.steps):
                raise InputError(
                    f"must be one for each of the {len(self.steps)} steps, got {len(about)}", about="targets"
                )
            ready = [
                None if output is None else oc._prepare(output, checked_key(target))
                for oc, output, target in zip(self.steps, outputs, about, strict=True)
            ]
            self.time += self.stride
            return [None if made is None else oc._commit(made) for oc, made in zip(self.steps, ready, strict=True)]

    def update(self, target: Hashable, y: Any, discount: Any = None) -> int:
        """Learn the label of a time: every prediction about it gets it; returns how many there were."""
        with self._lock:
            serving = self._about(target)
            made = [oc._waiting.find(target) for oc in serving]
            scores = [  # an error here has changed nothing
                oc.settings.scored(m.output, y, m.u, m.radii) for oc, m in zip(serving, made, strict=True)
            ]
            rates = [oc._discount(discount) for oc in serving]
            careful = not all(t.atomic for oc in serving for t in oc.trackers)
            before = copy.deepcopy(self.steps) if careful else self.steps
            try:
                told = dict(zip(map(id, serving), zip(rates, scores, strict=True), strict=True))
                alarms = [oc._learn(target, y, *told[id(oc)]) if id(oc) in told else [] for oc in self.steps]
            except BaseException:
                self.steps = before
                raise
        self._tell(alarms)
        return len(serving)

    def run(self, outputs: Any, y: Any, delay: int = 0, times: Sequence[Hashable] | None = None) -> list[Table]:
        """Replay arrays, bit for bit as step by step: a table for each step ahead.

        Args:
            outputs: row i is the forecast made at time i * stride for the next H times: shape (rows, H), or
                (rows, H, ...) where the score needs more than a number.
            y: y[tau] is the label of time tau, counted from the first row's time; NaN, and times after its end, never
                come. The label of tau is known to forecasts made at time tau + delay and later, also to the one that
                would come after the last row.
            delay: in times. Labels of times before the first row's that are still unknown then are for ``update``.
            times: keys of your own for the times, from the first row's on and as far as the forecasts reach; then
                labels of earlier rows that are still unknown are for ``update``.
        """
        delay = whole("delay", delay, 0)
        outputs = self._rows(outputs)
        y = list(y)
        keys = None if times is None else [checked_key(k) for k in times]
        reach = (len(outputs) - 1) * self.stride + len(self.steps) + 1
        if keys is not None and len(outputs) and len(keys) < reach:
            raise InputError(f"must reach as far as the forecasts, {reach} of them, got {len(keys)}", about="times")
        with self._lock:
            rows, start = len(outputs), self.time
            before = copy.deepcopy(self.steps)
            try:
                tables, alarms = [], []
                for h, oc in enumerate(self.steps, 1):
                    now = start if keys is None else keys[0] if keys else None
                    known_now = (
                        not delay and now in oc._waiting.pending and bool(oc.score.labels(y[:1], len(y[:1]))[1].any())
                    )
                    heard_now = oc._learn(now, y[0], math.nan) if known_now else []
                    about = start + np.arange(rows) * self.stride + h
                    wait = -(-(h + delay) // self.stride) - 1
                    due = [start + (i - wait) * self.stride + h for i in range(wait)]  # of rows before this call
                    late = [(k if k in oc._waiting.pending else None, known_at(y, k - start)) for k in due]
                    ahead = (about - start).tolist()
                    ids = about.tolist() if keys is None else [keys[tau] for tau in ahead]
                    labels = [known_at(y, tau) for tau in ahead]
                    late = late if keys is None else []
                    table, heard = batch.run(oc, outputs[:, h - 1], labels, wait, ids, None, late)
                    tables.append(table)
                    alarms.append(heard_now + heard)
            except BaseException:
                self.steps = before
                raise
            self.time += rows * self.stride
        self._tell(alarms)
        return tables

    def warm_start(self, outputs: Any, y: Any) -> None:
        """Learn from forecasts of the past, in the form that ``run`` takes; nothing in the metrics."""
        with self._lock:
            outputs = self._rows(outputs)
            times = [i * self.stride for i in range(len(outputs))]
            y = list(y)
            before = copy.deepcopy(self.steps)
            try:
                for h, oc in enumerate(self.steps, 1):
                    oc.warm_start(outputs[:, h - 1], [known_at(y, t + h) for t in times])
            except BaseException:
                self.steps = before
                raise

    def _rows(self, outputs: Any) -> np.ndarray:
        outputs = outputs if isinstance(outputs, np.ndarray) else np.asarray(outputs)
        outputs = outputs.reshape(0, len(self.steps)) if outputs.shape == (0,) else outputs
        if outputs.ndim < 2 or outputs.shape[1] != len(self.steps):
            raise InputError(f"must have shape (rows, {len(self.steps)}, ...), got {outputs.shape}", about="outputs")
        return outputs

    def pending(self) -> list[Hashable]:
        """The times that predictions wait for, each once: those of the first step, oldest first, then of the next."""
        with self._lock:
            return list(dict.fromkeys(k for oc in self.steps for k in oc.pending()))

    def expire(self, id: Hashable) -> int:
        """Give up waiting for the label of a time; returns how many predictions were about it."""
        with self._lock:
            serving = self._about(id)
            for oc in serving:
                oc.expire(id)
            return len(serving)

    def _about(self, target: Hashable) -> list[OnlineConformal]:
        """The steps in which a prediction about this time waits; at least one, or an error."""
        serving = [oc for oc in self.steps if target in oc._waiting.pending]
        if not serving:
            over = [oc for oc in self.steps if target in oc._waiting.closed]
            raise (over or self.steps)[0]._waiting.unknown(target)
        return serving

    def explain(self, target: Hashable) -> dict[int, Explanation]:
        """What is known of the predictions about a time, by the number of steps ahead."""
        with self._lock:
            made = {
                h: oc
                for h, oc in enumerate(self.steps, 1)
                if target in oc._waiting.pending or target in oc._waiting.closed
            }
            if not made:
                raise self.steps[0]._waiting.unknown(target)
            return {h: oc.explain(target) for h, oc in made.items()}

    def metrics(self) -> list[Metrics | dict[float, Metrics]]:
        """How it has gone so far, for each step ahead."""
        with self._lock:
            return [oc.metrics() for oc in self.steps]

    def state_dict(self) -> dict[str, Any]:
        """Plain JSON-able data; ``wane.save`` writes it to a file."""
        with self._lock:
            return {
                **plain_data.header(type(self)),
                "parameters": {"stride": self.stride, "steps": [oc.state_dict() for oc in self.steps]},
                "memory": {"time": self.time},
            }

    @classmethod
    def from_state_dict(cls, state: dict[str, Any], **objects: Any) -> Horizons:
        """The object whose state this is; ``objects`` as for ``OnlineConformal``."""
        plain_data.refuse_other(cls, state)
        on_alarm = objects.pop("on_alarm", None)
        made = cls.__new__(cls)
        try:
            made.stride = whole("stride", state["parameters"]["stride"], 1)
            made.time = whole("time", state["memory"]["time"], 0)
            parts = list(state["parameters"]["steps"])
            whole("the number of steps", len(parts), 1)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the state of {cls.__name__} is damaged or incomplete: {error!r}") from error
        made._take([OnlineConformal.from_state_dict(part, **objects) for part in parts], on_alarm)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles share nothing that changes, and are of one moment."""
        with self._lock:
            inside = {k: v for k, v in vars(self).items() if k != "_lock"}
            return inside | {"steps": copy.deepcopy(self.steps)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As it was."""
        vars(self).update(state)
        self._take(self.steps, self.on_alarm)

    def __repr__(self) -> str:
        """The number of steps, and the first."""
        return f"Horizons({len(self.steps)} steps of {self.steps[0]!r})"


def known_at(y: list[Any], time: int) -> Any:
    """The label of a time, or None where there is none."""
    return y[time] if 0 <= time < len(y) else None
