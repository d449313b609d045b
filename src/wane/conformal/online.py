"""Sets around the outputs of any model, kept honest while the world drifts: labels meet predictions by id."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from copy import deepcopy
from typing import Any

from wane.checks import EXTREME, described, discount_factor, whole
from wane.conformal.levels import arranged
from wane.conformal.monitor import Monitor
from wane.conformal.predictions import UNBOUNDED, Alarm, Explanation, Metrics, Prediction, Table, following, tell
from wane.conformal.settings import bound_of, checked_band, crew, interval_limits, policy
from wane.errors import IdError, UnboundedError
from wane.scores import Score, as_score, uniforms
from wane.scores.base import EVERYWHERE
from wane.state.encoding import checked_key
from wane.state.files import known
from wane.trackers import Tracker

INFINITY = math.inf


@known
class OnlineConformal:
    """Prediction sets that hold their coverage: ``predict(model_output)``, and ``update(id, y)`` when the label comes.

    Labels may come in any order, any time later, or never. Each is learned at the radius that was played for it. All
    methods may be called from several threads: each call is one step, done under a lock, and labels are learned in the
    order in which their calls get it. The trackers inside are not protected against use from outside.

    Args:
        tracker: the name of a method, then ``alpha`` and its hyperparameters are needed; or a tracker, which belongs to
            this object from now on, and serves as a pattern if several are needed; or a sequence of them, one for each
            level (for each level of the lower side, then of the upper side).
        score: the name of a score, or one from ``wane.scores``.
        alpha: the share of labels that may be missed; or several, then the sets are nested.
        lower_limit: labels are never below this; intervals are cut there.
        upper_limit: labels are never above this.
        on_unbounded: what to do when a tracker asks for an infinite radius (too few scores): "error", "clip" to the
            limits, or "allow" an infinite interval.
        max_pending: how many predictions may wait for their label; the oldest expires when another comes.
        history: how many labelled or expired predictions are remembered, for ``explain`` and for errors.
        window: the number of labels of local coverage.
        on_alarm: called with an ``Alarm`` when local coverage leaves its band, after the label has been learned; on
            each side at most once in ``window`` labels. A cold start is a cause of alarm: ``warm_start`` first.
        band: the lowest and highest local coverage without alarm; by default three standard deviations.
        hyperparameters: of the method, if it is given by name.

    >>> import wane
    >>> oc = wane.OnlineConformal("magl", alpha=0.1)
    >>> for y in [1.0, -2.0, 0.5] * 50:
    ...     p = oc.predict(0.25)
    ...     oc.update(p.id, y)
    >>> p = oc.predict(0.25)
    >>> round(p.lower, 2), round(p.upper, 2), -2.0 in p
    (-2.06, 2.56, True)
    """

    def __init__(
        self,
        tracker: str | Tracker | Sequence[Tracker] = "auto",
        score: str | Score = "absolute",
        alpha: float | Sequence[float] | None = None,
        *,
        lower_limit: float = -INFINITY,
        upper_limit: float = INFINITY,
        on_unbounded: str = "error",
        max_pending: int = 10_000,
        history: int = 1_000,
        window: int = 100,
        on_alarm: Callable[[Alarm], Any] | None = None,
        band: tuple[float, float] | None = None,
        **hyperparameters: Any,
    ) -> None:
        """No prediction waits."""
        self.score = as_score(score)
        self.alpha, trackers = crew(tracker, self.score, alpha, hyperparameters)
        self.alphas = self.alpha if isinstance(self.alpha, tuple) else (self.alpha,)
        self.limits = interval_limits(self.score, lower_limit, upper_limit)
        self.on_unbounded = policy(self.score, on_unbounded, self.limits)
        self.max_pending = whole("max_pending", max_pending, 1)
        self.history = whole("history", history, 0)
        if on_alarm is not None and not callable(on_alarm):
            raise TypeError(f"on_alarm must be a function of an Alarm, got {described(on_alarm)}")
        self.on_alarm = on_alarm
        aging = [getattr(getattr(t, "learner", None), "discount", 1.0) for t in trackers]  # what the lemmas age by
        self.monitors = [Monitor(a, window, d, *checked_band(band)) for a, d in zip(self.alphas, aging, strict=False)]
        self.predictions = 0  # made so far
        self.expired = 0  # without a label
        self._alarmed: dict[tuple[float, str], int] = {}  # the label of the last alarm, by level and side
        self.next_id = 0  # above every number that was an id
        # Ordered: a plain dict slows down when its first entry is removed over and over.
        self._pending: OrderedDict[Hashable, tuple[Any, ...]] = OrderedDict()  # id -> number, output, u, radii, widths
        self._closed: OrderedDict[Hashable, tuple[Any, ...]] = OrderedDict()  # id -> the arguments of an Explanation
        self._arrange(trackers)

    def _arrange(self, trackers: list[Tracker]) -> None:
        """The trackers as ``Levels``, from the narrowest to the widest."""
        self._levels = arranged(self.alphas, trackers, self.score.sides)
        self._finite_only = self.on_unbounded == "error" and not self.score.finite
        self._lock = threading.RLock()

    @property
    def trackers(self) -> list[Tracker]:
        """The trackers, in the order of alpha; with two sides, those of the lower side first."""
        n, inside = len(self.alphas), self._levels.trackers
        return [inside[s * n + c] for s in range(self.score.sides) for c in self._levels.columns]

    def predict(self, output: Any, id: Hashable | None = None) -> Prediction:
        """The set around a model output.

        Args:
            output: what the score needs of the model: a number, a pair, probabilities, a vector.
            id: a key of your own, not in use by a prediction that waits; by default the next whole number.
        """
        with self._lock:
            return self._commit(self._prepare(output, None if id is None else checked_key(id)))

    def preview(self, output: Any) -> Prediction:
        """The set that ``predict`` would give now, without an id: nothing changes, and no label is waited for."""
        with self._lock:
            *_, each, sets, _ = self._prepare(output, None)
            return self._given(None, each, sets)

    def update(self, id: Hashable, y: Any, discount: Any = None) -> None:
        """Learn the label of a prediction; once for each id.

        Args:
            id: of the prediction, or the prediction itself.
            y: the label.
            discount: ages everything learned before, for the methods that discount; None is the method's own.
        """
        if type(id) is not int:
            id = checked_key(id.id if isinstance(id, Prediction) else id)
        with self._lock:
            alarms = self._learn(id, y, math.nan if discount is None else self._discount(discount))
        if alarms:
            tell(self.on_alarm, alarms)

    def run(
        self,
        outputs: Any,
        y: Any,
        delay: int = 0,
        *,
        ids: Sequence[Hashable] | None = None,
        discounts: Any = None,
        late: dict[Hashable, Any] | None = None,
    ) -> Table:
        """Replay whole arrays, bit for bit as step by step; after an error, everything is as before the call.

        Args:
            outputs: model outputs, one a round.
            y: labels, one a round; None or NaN is a label that never comes.
            delay: the label of round t is revealed after the prediction of round t + delay. The last ``delay``
                predictions wait: update them by id, or give their labels to the next ``run`` as ``late``.
            ids: keys of your own, one a round.
            discounts: None, one number, one for each label of ``y``, or a function of the number of labels so far.
            late: labels of waiting predictions by id, at most ``delay``; the i-th is revealed after round i.
        """
        from wane.conformal.replay import replay

        if late is not None and not isinstance(late, dict):
            raise TypeError(f"late must be a dict of labels by id, got {described(late)}")
        with self._lock:
            table, alarms = replay(self, outputs, y, delay, ids, discounts, list((late or {}).items()))
        tell(self.on_alarm, alarms)
        return table

    def warm_start(self, outputs: Any, y: Any) -> None:
        """Learn from the past, before the first prediction that counts: no ids, nothing in the metrics."""
        from wane.conformal.replay import past_scores

        with self._lock:
            self._levels.warm_start(past_scores(self, outputs, y))

    def pending(self) -> list[Hashable]:
        """The ids that wait for a label, the oldest first."""
        with self._lock:
            return list(self._pending)

    def expire(self, id: Hashable | None = None, older_than: int | None = None) -> list[Hashable]:
        """Give up waiting for a label; returns the ids.

        Args:
            id: of one prediction.
            older_than: all that were made more than this many predictions before the newest.
        """
        if (id is None) == (older_than is None):
            raise TypeError("give the id of a prediction, or older_than: how many later predictions make one too old")
        with self._lock:
            if id is not None:
                id = checked_key(id)
                self._waiting(id)
                gone = [id]
            else:
                newest = self.predictions - 1 - whole("older_than", older_than, 0)
                gone = [k for k, waiting in self._pending.items() if waiting[0] < newest]
            for k in gone:
                self._close(k, "expired")
            return gone

    def metrics(self) -> Metrics | dict[float, Metrics]:
        """How it has gone so far; with several levels, by alpha."""
        with self._lock:
            each = {a: self._metrics(i) for i, a in enumerate(self.alphas)}
        return each if isinstance(self.alpha, tuple) else each[self.alpha]

    def explain(self, id: Hashable) -> Explanation:
        """What is known of a prediction: its radius, its score, and what its label changed."""
        with self._lock:
            if id in self._pending:
                return Explanation(id, "waiting", self._by_level(self._pending[id][3]))
            if id not in self._closed:
                raise IdError(self._unknown(id))
            status, radii, *rest = self._closed[id]
            if not rest:
                return Explanation(id, status, self._by_level(radii))
            said, covered, before, after, waited = rest
            score = said if self.score.sides == 2 else said[0]
            inside = covered if isinstance(self.alpha, tuple) else covered[0]
            return Explanation(
                id, status, self._by_level(radii), score, inside, self._by_level(before), self._by_level(after), waited
            )

    def state_dict(self) -> dict[str, Any]:
        """Plain JSON-able data, with the predictions that wait; ``wane.save`` writes it to a file."""
        from wane.conformal.state import state_dict

        with self._lock:
            return state_dict(self)

    @classmethod
    def from_state_dict(cls, state: dict[str, Any], **objects: Any) -> OnlineConformal:
        """The object whose state this is; ``objects`` are what plain data cannot hold: on_alarm, a user's functions."""
        from wane.conformal.state import rebuild

        return rebuild(cls, state, objects)

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles share nothing that changes, and are of one moment."""
        with self._lock:
            inside = {k: v for k, v in vars(self).items() if k not in ("_levels", "_lock")}
            inside |= {k: inside[k].copy() for k in ("_pending", "_closed", "_alarmed")}
            return {"inside": inside | {"monitors": deepcopy(self.monitors)}, "trackers": deepcopy(self.trackers)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrange the trackers again."""
        vars(self).update(state["inside"])
        self.limits = EVERYWHERE if self.limits == EVERYWHERE else self.limits  # compared by identity
        self._arrange(state["trackers"])

    def __repr__(self) -> str:
        """Its parts, and how many predictions wait."""
        return (
            f"OnlineConformal({self.trackers[0]!r}, score={self.score!r}, alpha={self.alpha!r}, "
            f"{self.predictions} predictions, {len(self._pending)} waiting)"
        )

    # The pieces of a step; the lock is held.

    def _prepare(self, output: Any, id: Hashable | None) -> tuple[Any, ...]:
        """All that can fail of a prediction, and what ``_commit`` needs; nothing changes."""
        score = self.score
        output = score.output(output)
        if id is None:
            id = self.next_id
        elif id in self._pending:
            raise IdError(f"a prediction with id {id!r} waits for its label: update or expire it first")
        u = float(uniforms(score.seed, self.predictions, 1)[0]) if score.randomised else None  # type: ignore[attr-defined]
        levels = self._levels
        radii = levels.predict(score.floor(output, u))
        if self._finite_only and not levels.bounded(radii):
            raise UnboundedError(UNBOUNDED.format(radii=", ".join(map(str, radii))))
        each = levels.each(radii)
        if len(each) == 1:
            made = score.set(output, each[0], u, self.limits)
            return id, output, u, radii, each, (made,), (made.width,)
        sets = tuple([score.set(output, radius, u, self.limits) for radius in each])
        return id, output, u, radii, each, sets, tuple([made.width for made in sets])

    def _commit(self, prepared: tuple[Any, ...]) -> Prediction:
        id, output, u, radii, each, sets, widths = prepared
        if len(self._pending) >= self.max_pending:
            self._close(next(iter(self._pending)), "expired")
        self._pending[id] = (self.predictions, output, u, radii, widths)
        self.predictions += 1
        self.next_id = id + 1 if id == self.next_id else following(id, self.next_id)
        return self._given(id, each, sets)

    def _given(self, id: Hashable | None, each: tuple[Any, ...], sets: tuple[Any, ...]) -> Prediction:
        radius = each if type(self.alpha) is tuple else each[0]
        return Prediction(id, self.alpha, sets, radius, self._levels.cold())

    def _scored(self, id: Hashable, y: Any) -> tuple[float, float]:
        """The scores of a label, or the reason why it cannot be learned."""
        found = self._pending.get(id) or self._waiting(id)
        _, output, u, _, _ = found
        score = self.score
        label = score.label(y)
        if self.limits is not EVERYWHERE and not self.limits[0] <= label <= self.limits[1]:
            low, high = self.limits
            raise ValueError(f"y = {y!r} is outside the limits [{low!r}, {high!r}]: correct it, or widen the limits")
        s = score.score(output, label, u)
        below, above = (s, 0.0) if score.sides == 1 else s
        if not (-EXTREME <= below <= EXTREME and -EXTREME <= above <= EXTREME):
            raise ValueError(f"the score must be a number within +-{EXTREME:g}, got {s!r}: measure in a larger unit")
        if score.unsure:
            score.compare(output, label, s, self._levels.each(found[3]))
        if below < 0.0 and not score.signed:
            raise ValueError(f"the score must be >= 0, got {s!r}: a score that may be negative needs signed=True")
        return below, above

    def _learn(self, id: Hashable, y: Any, d: float) -> list[Alarm]:
        """Everything of ``update`` but the calls of on_alarm; ``d`` is NaN for the method's own discount."""
        below, above = self._scored(id, y)
        number, _, _, radii, widths = self._pending[id]
        covered, before, after = self._levels.update(below, above, radii, d)
        del self._pending[id]
        alarms: list[Alarm] = []
        rate = None if d != d else d
        for i, monitor in enumerate(self.monitors):
            if side := monitor.add(covered[i], widths[i], rate):
                alarms += self._alarm(monitor, monitor.rounds - 1, id, side, monitor.local_coverage)
        said = (below,) if self.score.sides == 1 else (below, above)
        waited = self.predictions - number - 1
        self._remember(id, ("labelled", radii, said, covered, before, after, waited))
        return alarms

    def _by_level(self, radii: tuple[float, ...]) -> Any:
        """The radius, or a tuple with that of each level."""
        each = self._levels.each(radii)
        return each if isinstance(self.alpha, tuple) else each[0]

    def _waiting(self, id: Hashable) -> tuple[Any, ...]:
        if id not in self._pending:
            raise IdError(self._unknown(id))
        return self._pending[id]

    def _unknown(self, id: Any) -> str:
        if id in self._closed:
            if self._closed[id][0] == "labelled":
                return f"prediction {id!r} has had its label: each id is updated once"
            return (
                f"prediction {id!r} has expired: it was given up, or more than {self.max_pending} (max_pending) waited"
            )
        old = isinstance(id, int) and 0 <= id < self.next_id
        over = f", or it was over long ago: history keeps {self.history}" if old else ""
        return f"no prediction has the id {id!r}{over}: take it from predict(...).id, and check its type"

    def _discount(self, discount: Any) -> float:
        if callable(discount):
            discount = discount(self.monitors[0].rounds)
        return math.nan if discount is None else discount_factor(discount)

    def _close(self, id: Hashable, status: str) -> None:
        """A prediction whose label will not be learned."""
        radii = self._pending.pop(id)[3]
        self.expired += 1
        self._remember(id, (status, radii))

    def _remember(self, id: Hashable, what: tuple[Any, ...]) -> None:
        if id in self._closed:
            del self._closed[id]  # to the end
        self._closed[id] = what
        if len(self._closed) > self.history:
            self._closed.popitem(last=False)

    def _alarm(self, monitor: Monitor, round: int, id: Hashable, side: float, local: float) -> list[Alarm]:
        """An alarm, unless there was one on this side so recently that the windows overlap."""
        key = (monitor.alpha, "low" if side < 0 else "high")
        if round - self._alarmed.get(key, -monitor.window) < monitor.window:
            return []
        self._alarmed[key] = round
        return [Alarm(round, id, *key, local, monitor.band)]

    def _metrics(self, i: int) -> Metrics:
        m, tracker = self.monitors[i], self.trackers[i]
        bound, reason = (
            (None, "the lemmas are about one tracker a level") if self.score.sides == 2 else bound_of(tracker)
        )
        seen = (m.alpha, m.rounds, m.coverage, m.window, m.local_coverage, m.worst_local_coverage, m.worst_round)
        wide = (m.width, m.local_width, m.unbounded, m.band, m.longest_misses, m.coverage_error)
        return Metrics(*seen, *wide, bound, reason, len(self._pending), self.expired)
