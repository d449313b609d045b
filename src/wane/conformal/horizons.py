"""``Horizons``: intervals for forecasts of several steps, with one `OnlineConformal` for each step ahead."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from operator import setitem
from typing import Any

import numpy as np

from wane.checks import described, listed, room, whole
from wane.conformal import acmcp, batch
from wane.conformal import groups as groups_in
from wane.conformal.labels import learn
from wane.conformal.online import OnlineConformal
from wane.conformal.predictions import Alarm, Explanation, Metrics, Prediction, Table, alarms_of, tell
from wane.conformal.settings import learned_pattern
from wane.conformal.waiting import add_all
from wane.errors import InputError, InputTypeError
from wane.metrics.groups import GroupMetrics
from wane.scores import as_score
from wane.scores.intervals import Signed
from wane.state import data as plain_data
from wane.state.encoding import checked_key
from wane.state.files import known
from wane.state.forks import CONTAINER, lock_of
from wane.state.one_step import in_one_step
from wane.trackers import Tracker

MOST_STEPS = 10_000  # each has trackers of its own


@known
class Horizons:
    """Prediction sets for a forecaster that looks several steps ahead. Each step ahead has its own trackers.

    A forecast made at time t for the steps 1, ..., H is about the times t + 1, ..., t + H. So up to H predictions are
    about time tau, and ``update(tau, y)`` teaches the label to all of them. Errors of 10 steps ahead never widen the
    intervals of 1 step ahead, and no label is used before it is known.

    All methods may be called from several threads, as those of ``OnlineConformal``.

    Args:
        steps: how many steps ahead the forecasts reach, H.
        tracker: the name of a method, or a tracker that has learned nothing, which is copied for each step. "acmcp"
            links the steps: it forecasts the error of each from those of the others (``wane.conformal.acmcp``).
        score: as for ``OnlineConformal``; None is "absolute", and "signed" for "acmcp", which needs it.
        alpha: as for ``OnlineConformal``.
        stride: the time between two forecasts. 1 is a rolling origin; 24 with hourly data is one forecast a day.
        on_alarm: called with each ``Alarm``, which names the step.
        history: as for ``OnlineConformal``, for each step.
        settings: as for ``OnlineConformal``, ``groups`` among them.

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
        tracker: str | Tracker = "auto",
        score: Any = None,
        alpha: Any = None,
        *,
        stride: int = 1,
        on_alarm: Callable[[Alarm], Any] | None = None,
        history: int = 100,
        **settings: Any,
    ) -> None:
        """Begin at time 0, without forecasts."""
        count = room("steps", steps, 1, MOST_STEPS)
        if not isinstance(tracker, (str, Tracker)):
            raise InputTypeError(
                f"must be the name of a method or one tracker as a pattern, got {described(tracker)}", about="tracker"
            )
        if isinstance(tracker, Tracker) and tracker.rounds:
            raise learned_pattern("all steps")
        self.stride = whole("stride", stride, 1)
        self.time = 0  # of the next forecast
        self.forecasts: Any = None  # of errors, for "acmcp"
        each: list[Any] = []
        if tracker == "acmcp":
            score = as_score("signed" if score is None else score)
            if type(score) is not Signed or self.stride > 1:
                problem = f"acmcp needs score='signed' and stride=1, got {score!r} and {self.stride}"
                raise InputError(problem, argument="tracker")
            self.forecasts, each, alpha, settings = acmcp.begin(count, alpha, settings)
        else:
            score = "absolute" if score is None else score
            each = [copy.copy(tracker) for _ in range(count)]
        self._set_parts([OnlineConformal(one, score, alpha, history=history, **settings) for one in each], on_alarm)

    def _set_parts(self, steps: list[OnlineConformal], on_alarm: Callable[[Alarm], Any] | None) -> None:
        if on_alarm is not None and not callable(on_alarm):
            raise InputTypeError(f"must be a function of an Alarm, got {described(on_alarm)}", about="on_alarm")
        self.steps = steps
        self.on_alarm = on_alarm
        self._lock = lock_of(self, CONTAINER)

    def _tell(self, alarms: list[list[Alarm]]) -> None:
        """Deliver the alarms of each step, with the number of the step."""
        tell(self.on_alarm, [replace(alarm, step=h) for h, each in enumerate(alarms, 1) for alarm in each])

    def predict(
        self, outputs: Sequence[Any], targets: Sequence[Hashable] | None = None, groups: Any = None
    ) -> list[Prediction | None]:
        """Make the sets of one forecast, one for each step ahead. The id of each is the time that it is about.

        Args:
            outputs: one model output for each step; None leaves a step out.
            targets: your own keys for the times that they are about; by default the numbers from ``time`` + 1 on.
            groups: as for ``OnlineConformal``; a list has a value for each step, such as {"weekday": [5, 6, 0]}.
        """
        outputs = self._one_for_each_step("outputs", outputs)
        groups_of = groups_in.by_step(groups, len(self.steps))
        with self._lock:
            about = (
                [self.time + h for h in range(1, len(self.steps) + 1)]
                if targets is None
                else self._one_for_each_step("targets", targets)
            )
            contexts: list[Any] = [None] * len(self.steps)
            if self.forecasts is not None:
                if any(output is None for output in outputs):
                    raise InputError("must have no None", about="outputs", cure=acmcp.NEEDS)
                number = self.steps[0].predictions
                made = self.forecasts.forecast(number)
                contexts = np.nan_to_num(made).tolist()
            # Prepare all steps, which may fail, before the first of them changes.
            prepared = [
                None if output is None else oc._prepare(output, checked_key(target), context, inside)
                for oc, output, target, context, inside in zip(
                    self.steps, outputs, about, contexts, groups_of, strict=True
                )
            ]
            forecasts = copy.copy(self.forecasts)
            if forecasts is not None:
                forecasts.open(number, made)
            parts = [(oc._waiting, p) for oc, p in zip(self.steps, prepared, strict=True) if p is not None]
            grouped = [
                step
                for oc, p, inside in zip(self.steps, prepared, groups_of, strict=True)
                for step in (groups_in.taking(oc, inside) if p is not None and oc.grouping is not None else ())
            ]
            in_one_step(
                *grouped,
                partial(setitem, vars(self), "forecasts", forecasts),
                partial(add_all, parts, vars(self), "time", self.time + self.stride),
            )
            return [None if p is None else p[0] for p in prepared]

    def _one_for_each_step(self, name: str, values: Any) -> list[Any]:
        values = listed(name, values)
        if len(values) != len(self.steps):
            raise InputError(f"must be one for each of the {len(self.steps)} steps, got {len(values)}", about=name)
        return values

    def update(self, target: Hashable, y: Any, discount: Any = None) -> int:
        """Learn the label of a time from every prediction about it, and return how many there were."""
        with self._lock:
            # Check and score the label for every step, before all of them learn it or none.
            target = checked_key(target)
            waiting = self._about(target)
            rates = [oc._discount(discount) for oc in waiting]
            labels = {id(oc): oc._label(target, y, rate) for oc, rate in zip(waiting, rates, strict=True)}
            forecasts = copy.copy(self.forecasts)
            for error in [] if forecasts is None else acmcp.errors_at(self.steps, target, y):
                forecasts.learn(*error)
            in_one_step(partial(learn, tuple(labels.values())), partial(setitem, vars(self), "forecasts", forecasts))
            alarms = [alarms_of(labels[id(oc)], target) if id(oc) in labels else [] for oc in self.steps]
        self._tell(alarms)
        return len(waiting)

    def run(
        self, outputs: Any, y: Any, delay: int = 0, times: Sequence[Hashable] | None = None, groups: Any = None
    ) -> list[Table]:
        """Replay whole arrays, bit for bit as step by step, and return a table for each step ahead.

        Args:
            outputs: row i is the forecast made at time i * stride for the next H times: shape (rows, H), or
                (rows, H, ...) where the score needs more than a number.
            y: y[tau] is the label of time tau, counted from the first row's time. NaN is a label that never comes, and
                so are times after the end of ``y``. Forecasts made at time tau + delay and later have learned the label
                of tau; so has the forecast that would follow the last row.
            delay: how many times later a label is known. Labels of times before the first row that are not known by
                then are not learned here; give them to ``update``.
            times: your own keys for the times, from the first row's time on and as far as the forecasts reach. With
                them, no label of an earlier forecast is learned here; give those to ``update``.
            groups: as for ``predict``, an array for each kind with a value, or a list of one for each step, a row.
        """
        # Check the input of all steps.
        delay = whole("delay", delay, 0)
        outputs = self._rows(outputs)
        y = listed("y", y)
        keys = None if times is None else [checked_key(k) for k in listed("times", times)]
        reach = (len(outputs) - 1) * self.stride + len(self.steps) + 1
        if keys is not None and len(outputs) and len(keys) < reach:
            raise InputError(f"must reach as far as the forecasts, {reach} of them, got {len(keys)}", about="times")
        with self._lock:
            # The steps are played one after the other. If one of them fails, all are put back.
            rows, start = len(outputs), self.time
            before, forecasts = copy.deepcopy(self.steps), copy.copy(self.forecasts)
            groups_of = groups_in.rows_by_step(groups, rows, len(self.steps))
            contexts: Any = [None] * len(self.steps)
            try:
                if forecasts is not None:
                    earlier = acmcp.earlier_errors(self.steps, y, start, delay, keys)
                    errors = acmcp.errors_of(self.steps, outputs, y)
                    contexts = forecasts.play(self.steps[0].predictions, errors, delay, earlier)
                tables, alarms = [], []
                for h, oc in enumerate(self.steps, 1):
                    # Without a delay, the label of the first row's time is learned before the first forecast is made.
                    now = start if keys is None else keys[0] if keys else None
                    known_now = (
                        not delay and now in oc._waiting.pending and bool(oc.score.labels(y[:1], len(y[:1]))[1].any())
                    )
                    first_alarms = oc._learn(now, y[0], math.nan) if known_now else []

                    # Find the labels of this step, and after how many further forecasts each is known.
                    about = [i * self.stride + h for i in range(rows)]
                    ids = [start + tau if keys is None else keys[tau] for tau in about]
                    labels = [acmcp.known_at(y, tau) for tau in about]
                    wait = -(-(h + delay) // self.stride) - 1

                    # Earlier forecasts get their labels meanwhile. With the user's keys their times are not known.
                    due = [(i - wait) * self.stride + h for i in range(wait)] if keys is None else []
                    pending = oc._waiting.pending
                    late = [(start + tau if start + tau in pending else None, acmcp.known_at(y, tau)) for tau in due]
                    table, more_alarms = batch.run(
                        oc, outputs[:, h - 1], labels, wait, ids, None, late, contexts[h - 1], groups_of[h - 1]
                    )
                    tables.append(table)
                    alarms.append(first_alarms + more_alarms)
                vars(self).update(time=start + rows * self.stride, forecasts=forecasts)
            except BaseException:
                vars(self).update(steps=before, time=start)  # in one step
                raise
        self._tell(alarms)
        return tables

    def warm_start(self, outputs: Any, y: Any) -> None:
        """Learn from past forecasts, given as for ``run``, before the first one that counts in the metrics."""
        with self._lock:
            outputs = self._rows(outputs)
            y = listed("y", y)
            before, forecasts = copy.deepcopy(self.steps), copy.copy(self.forecasts)
            try:
                if forecasts is not None:
                    forecasts.past(acmcp.errors_of(self.steps, outputs, y))
                for h, oc in enumerate(self.steps, 1):
                    labels = [acmcp.known_at(y, i * self.stride + h) for i in range(len(outputs))]
                    oc.warm_start(outputs[:, h - 1], labels)
                self.forecasts = forecasts
            except BaseException:
                self.steps = before
                raise

    def _rows(self, outputs: Any) -> np.ndarray:
        """Check the shape of forecasts, and return them as an array with a row for each."""
        try:
            outputs = np.asarray(outputs)
        except ValueError:
            problem = f"must have shape (rows, {len(self.steps)}, ...), got rows that differ: {described(outputs)}"
            raise InputError(problem, about="outputs") from None
        outputs = outputs.reshape(0, len(self.steps)) if outputs.shape == (0,) else outputs
        if outputs.ndim < 2 or outputs.shape[1] != len(self.steps):
            raise InputError(f"must have shape (rows, {len(self.steps)}, ...), got {outputs.shape}", about="outputs")
        return outputs

    def pending(self) -> list[Hashable]:
        """Return the times that predictions wait for, each once: those of step 1, oldest first, then of step 2, ..."""
        with self._lock:
            return list(dict.fromkeys(k for oc in self.steps for k in oc.pending()))

    def expire(self, id: Hashable) -> int:
        """Give up waiting for the label of a time, and return how many predictions were about it."""
        with self._lock:
            waiting = self._about(checked_key(id))
            for oc in waiting:
                oc.expire(id)
            return len(waiting)

    def _about(self, target: Hashable) -> list[OnlineConformal]:
        """Return the steps in which a prediction about this time waits; it is an error if there is none."""
        waiting = [oc for oc in self.steps if target in oc._waiting.pending]
        if not waiting:
            closed = [oc for oc in self.steps if target in oc._waiting.closed]
            raise (closed or self.steps)[0]._waiting.unknown(target)
        return waiting

    def explain(self, target: Hashable) -> dict[int, Explanation]:
        """Return what is known of the predictions about a time, by the number of steps ahead."""
        target = checked_key(target)
        with self._lock:
            explained = {
                h: oc.explain(target)
                for h, oc in enumerate(self.steps, 1)
                if target in oc._waiting.pending or target in oc._waiting.closed
            }
            if not explained:
                raise self.steps[0]._waiting.unknown(target)
            return explained

    def metrics(self) -> list[Metrics | dict[float, Metrics]]:
        """Return how well it has done so far, for each step ahead."""
        with self._lock:
            return [oc.metrics() for oc in self.steps]

    def group_metrics(self) -> list[list[GroupMetrics] | dict[float, list[GroupMetrics]]]:
        """Return how well each group is covered so far, for each step ahead."""
        with self._lock:
            return [oc.group_metrics() for oc in self.steps]

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain JSON-able data; ``wane.save`` writes it to a file."""
        with self._lock:
            parameters: dict[str, Any] = {"stride": self.stride, "steps": [oc.state_dict() for oc in self.steps]}
            memory: dict[str, Any] = {"time": self.time}
            if self.forecasts is not None:
                parameters["acmcp"], memory["acmcp"] = self.forecasts.settings(), self.forecasts.memory()
            return {**plain_data.header(type(self)), "parameters": parameters, "memory": memory}

    @classmethod
    def from_state_dict(cls, state: dict[str, Any], **objects: Any) -> Horizons:
        """Make the object whose state this is; ``objects`` are as for ``OnlineConformal``."""
        plain_data.refuse_other(cls, state)
        on_alarm = objects.pop("on_alarm", None)
        made = cls.__new__(cls)
        try:
            made.stride = whole("stride", state["parameters"]["stride"], 1)
            made.time = whole("time", state["memory"]["time"], 0)
            parts = list(state["parameters"]["steps"])
            whole("the number of steps", len(parts), 1)
            made.forecasts = None
            if "acmcp" in state["parameters"]:
                settings, memory = state["parameters"]["acmcp"], state["memory"]["acmcp"]
                made.forecasts = acmcp.ErrorForecasts.from_plain(len(parts), settings, memory)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the state of {cls.__name__} is damaged or incomplete: {error!r}") from error
        made._set_parts([OnlineConformal.from_state_dict(part, **objects) for part in parts], on_alarm)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Let copies and pickles share nothing that changes, and be of one moment."""
        with self._lock:
            inside = {k: v for k, v in vars(self).items() if k != "_lock"}
            return inside | {"steps": copy.deepcopy(self.steps), "forecasts": copy.copy(self.forecasts)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Continue from the state of a copy or pickle."""
        vars(self).update(state)
        self._set_parts(self.steps, self.on_alarm)

    def __repr__(self) -> str:
        """Show the number of steps, and the first of them."""
        return f"Horizons({len(self.steps)} steps of {self.steps[0]!r})"
