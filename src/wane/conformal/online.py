"""``OnlineConformal``: prediction sets around any model that hold their coverage while the data drift."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from copy import copy, deepcopy
from functools import partial
from typing import Any

from wane.checks import described, discount_factor, flag, whole
from wane.conformal import groups as groups_in
from wane.conformal import progress
from wane.conformal.grouping import Grouping
from wane.conformal.labels import Label, learn
from wane.conformal.monitor import Monitor
from wane.conformal.predictions import Alarm, Explanation, Metrics, Prediction, Table, alarms_of, tell
from wane.conformal.settings import Settings, checked_band, trackers_for
from wane.conformal.steps import checked_label, drawn, moment, prepare
from wane.conformal.waiting import Waiting
from wane.errors import InputTypeError
from wane.metrics.groups import GroupMetrics
from wane.scores import Score, as_score
from wane.state.encoding import checked_key
from wane.state.files import known
from wane.state.forks import SINGLE, lock_of
from wane.state.one_step import in_one_step
from wane.trackers import Tracker

INFINITY = math.inf


@known
class OnlineConformal:
    """Prediction sets for one stream: call ``predict(model_output)``, and ``update(id, y)`` when the label comes.

    The sets grow and shrink so that the share of labels outside of them stays near alpha, whatever the model and the
    data do. Labels may come in any order, any time later, or never. Each is learned at the radius that was played for
    it. All methods may be called from several threads: each call holds a lock, and labels are learned in the order in
    which their calls get it. The trackers inside are not protected against use from outside.

    Args:
        tracker: the name of a method, which needs ``alpha`` and takes its hyperparameters; or a tracker, which belongs
            to this object from now on, and is copied if several are needed; or a sequence of trackers, one for each
            level (for each level of the lower side, then of the upper side).
        score: the name of a score, or one from ``wane.scores``.
        alpha: the share of labels that may be missed. If several are given, their sets are nested.
        lower_limit: labels are never below this; intervals are cut there.
        upper_limit: labels are never above this.
        on_unbounded: what to do when a tracker asks for an infinite radius (too few scores): "error", "clip" to the
            limits, or "allow" an infinite interval.
        max_pending: how many predictions may wait for their label; the oldest expires when one more is made.
        history: how many labelled or expired predictions are remembered, for ``explain`` and for errors.
        window: over how many labels local coverage is measured.
        on_alarm: called with an ``Alarm`` when local coverage leaves its band, after the label has been learned; on
            each side at most once in ``window`` labels. A cold start raises alarms too: call ``warm_start`` first.
        band: the lowest and the highest local coverage without an alarm; by default three standard deviations.
        groups: names of kinds of groups, such as ["weekday", "region"]; ``Quantiles`` cut a number into groups. Then
            ``predict`` is told the groups of each output, and the share of misses of *every* group comes to alpha.
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
        groups: Any = None,
        **hyperparameters: Any,
    ) -> None:
        """Check the settings, and begin without predictions."""
        found = as_score(score)
        alpha, trackers = trackers_for(tracker, found, alpha, hyperparameters)
        self.grouping: Any = None  # which groups there are
        if groups is not None:
            self.grouping = groups if isinstance(groups, Grouping) else Grouping(groups)
            trackers = [groups_in.with_groups(t, len(self.grouping.names)) for t in trackers]
        self.settings = Settings(
            found, alpha, lower_limit, upper_limit, on_unbounded, "give past data to warm_start", "in round"
        )
        self._waiting = Waiting(whole("max_pending", max_pending, 1), whole("history", history, 0))
        if on_alarm is not None and not callable(on_alarm):
            raise InputTypeError(f"must be a function of an Alarm, got {described(on_alarm)}", about="on_alarm")
        self.on_alarm = on_alarm
        # The paper's lemmas bound the coverage error with the discount of the learner.
        aging = [getattr(getattr(t, "learner", None), "discount", 1.0) for t in trackers]
        self.monitors = [Monitor(a, window, d, *checked_band(band)) for a, d in zip(self.alphas, aging, strict=False)]
        self._alarmed: dict[tuple[float, str], int] = {}  # the number of the label of the last alarm, by level and side
        self._levels = self.settings.arranged(trackers)
        self.method = tracker if isinstance(tracker, str) else type(trackers[0]).__name__  # for people to read
        self._lock = lock_of(self, SINGLE)

    # The settings, and counts of what has happened so far.
    score = property(lambda self: self.settings.score, doc="The score.")
    alpha = property(lambda self: self.settings.alpha, doc="The share of labels that may be missed; or a tuple.")
    alphas = property(lambda self: self.settings.alphas, doc="The levels, as a tuple.")
    limits = property(lambda self: self.settings.limits, doc="The limits of the labels.")
    on_unbounded = property(lambda self: self.settings.on_unbounded, doc="What to do about an infinite radius.")
    max_pending = property(lambda self: self._waiting.most, doc="How many predictions may wait for their label.")
    history = property(lambda self: self._waiting.history, doc="How many closed predictions are remembered.")
    predictions = property(lambda self: self._waiting.made, doc="How many predictions were made.")
    expired = property(lambda self: self._waiting.expired, doc="How many predictions expired without a label.")
    next_id = property(lambda self: self._waiting.next_id, doc="A whole number above every one that was an id.")
    trackers = property(
        lambda self: self.settings.in_user_order(self._levels.trackers),
        doc="The trackers, in the order of alpha; with two sides, those of the lower side first.",
    )

    def predict(self, output: Any, id: Hashable | None = None, context: Any = None, groups: Any = None) -> Prediction:
        """Make the set around a model output. It waits for its label under its id.

        Before the first label nobody knows how wide it should be: the set is what the method starts from, mostly of
        width 0, and ``cold`` is True. It is learned and counted as any other.

        Args:
            output: what the score needs of the model: a number, a pair, probabilities, or a vector.
            id: your own key, under which no other prediction waits; by default the next whole number.
            context: numbers that say how hard this round is, such as a volatility: as many as the method ``auto`` was
                told to expect (``context=2``). By default they are 0.
            groups: the group of each kind that this round belongs to, such as {"weekday": 3, "region": "north"}; None
                for no group. A value that is new makes a new group.
        """
        with self._lock:
            prepared = self._prepare(output, None if id is None else checked_key(id), context, groups)
            if self.grouping is None:
                self._waiting.add_prepared(prepared)
            else:
                in_one_step(*groups_in.taking(self, groups), partial(self._waiting.add_prepared, prepared))
            return prepared[0]

    def preview(self, output: Any, context: Any = None, groups: Any = None) -> Prediction:
        """Return the set that ``predict`` would return now. It has no id, waits for no label, and changes nothing."""
        with self._lock:
            prediction = self._prepare(output, None, context, groups)[0]
            prediction.id = None
            return prediction

    def recall(self, id: Hashable) -> Prediction:
        """Return a prediction that waits for its label, as ``predict`` made it; ``cold`` says what holds now."""
        with self._lock:
            made = self._waiting.find(key_of(id))
            return drawn(self.settings, self._levels, made.id, made.output, made.u, made.radii)

    def update(self, id: Hashable, y: Any, discount: Any = None) -> None:
        """Learn the label of a prediction. Each prediction can be updated once.

        Args:
            id: of the prediction, or the prediction itself.
            y: the label.
            discount: how much to keep of what was learned before, for methods that discount; None is the method's own.
        """
        if type(id) is not int:
            id = key_of(id)
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
        context: Any = None,
        groups: Any = None,
        progress: bool = False,
    ) -> Table:
        """Replay whole arrays, bit for bit as step by step. After an error, everything is as before the call.

        Args:
            outputs: model outputs, one for each round.
            y: labels, one for each round; None or NaN is a label that never comes.
            delay: the label of round t is revealed after the prediction of round t + delay. The last ``delay``
                predictions wait: update them by id, or give their labels to the next ``run`` as ``late``.
            ids: your own keys, one for each round.
            discounts: None, one number, one for each label of ``y``, or a function of the number of labels so far.
            late: labels of waiting predictions by id, at most ``delay`` of them; the i-th is revealed after round i.
            context: the numbers that ``predict`` takes, a row for each round.
            groups: the groups that ``predict`` takes, an array for each kind.
            progress: write to standard error how far a long replay is.
        """
        from wane.conformal import batch

        if late is not None and not isinstance(late, dict):
            raise InputTypeError(f"must be a dict of labels by id, got {described(late)}", about="late")
        progress = flag("progress", progress)
        with self._lock:
            given = list((late or {}).items())
            table, alarms = batch.run(self, outputs, y, delay, ids, discounts, given, context, groups, progress)
        tell(self.on_alarm, alarms)
        return table

    def warm_start(self, outputs: Any, y: Any, context: Any = None) -> None:
        """Learn from past outputs and labels before the first prediction. They get no ids, and metrics ignore them.

        ``context`` holds the numbers that ``predict`` takes, a row for each round.
        """
        from wane.conformal.batch import past_rounds

        with self._lock:
            self._levels.warm_start(*past_rounds(self, outputs, y, context))

    def pending(self) -> list[Hashable]:
        """Return the ids that wait for a label, the oldest first."""
        with self._lock:
            return list(self._waiting.pending)

    def expire(self, id: Hashable | None = None, older_than: int | None = None) -> list[Hashable]:
        """Give up waiting for labels that will not come, and return the ids.

        Args:
            id: of one prediction.
            older_than: give up all predictions that were made more than this many before the newest.
        """
        if (id is None) == (older_than is None):
            raise InputTypeError(
                "give the id of a prediction, or older_than",
                argument="id",
                cure="older_than says how many later predictions make one too old",
            )
        with self._lock:
            waiting = self._waiting
            if id is not None:
                id = checked_key(id)
                waiting.find(id)
                gone = [id]
            else:
                newest = waiting.made - 1 - whole("older_than", older_than, 0)
                gone = [k for k, made in waiting.pending.items() if made.number < newest]
            in_one_step(*[partial(waiting.expire, k) for k in gone])
            return gone

    def metrics(self) -> Metrics | dict[float, Metrics]:
        """Return how well it has done so far: coverage, widths, bounds; with several levels, by alpha."""
        with self._lock:
            each = {a: progress.metrics(self, i) for i, a in enumerate(self.alphas)}
        return each if isinstance(self.alpha, tuple) else each[self.alpha]

    def group_metrics(self) -> list[GroupMetrics] | dict[float, list[GroupMetrics]]:
        """Return how well each group is covered so far, and what is proved about it; with several levels, by alpha.

        They count every label that was learned, those of ``warm_start`` too, which belong to no group.
        """
        with self._lock:
            each = {a: groups_in.metrics_of(self, i) for i, a in enumerate(self.alphas)}
        return each if isinstance(self.alpha, tuple) else each[self.alpha]

    def explain(self, id: Hashable) -> Explanation:
        """Return what is known of a prediction: its radius, its score, and what its label changed."""
        with self._lock:
            id, waiting, by_level = key_of(id), self._waiting, self._by_level
            if id in waiting.pending:
                return Explanation(id, "waiting", by_level(waiting.pending[id].radii))
            if id not in waiting.closed:
                raise waiting.unknown(id)
            status, radii, *rest = waiting.closed[id]
            if not rest:
                return Explanation(id, status, by_level(radii))
            said, covered, before, after, waited = rest
            score = said if self.score.sides == 2 else said[0]
            inside = self.settings.by_level(covered)
            return Explanation(id, status, by_level(radii), score, inside, by_level(before), by_level(after), waited)

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the waiting predictions as plain JSON-able data; ``wane.save`` writes it to a file."""
        from wane.conformal.state import state_dict

        with self._lock:
            return state_dict(self)

    @classmethod
    def from_state_dict(cls, state: dict[str, Any], **objects: Any) -> OnlineConformal:
        """Make the object whose state this is; ``objects`` are what data cannot hold, by name: on_alarm, functions."""
        from wane.conformal.state import rebuild

        return rebuild(cls, state, objects)

    def __getstate__(self) -> dict[str, Any]:
        """Let copies and pickles share nothing that changes, and be of one moment."""
        with self._lock:
            inside = {k: v for k, v in vars(self).items() if k not in ("_levels", "_lock")}
            inside |= {"_waiting": copy(self._waiting), "_alarmed": dict(self._alarmed)}
            inside |= {"grouping": copy(self.grouping)}
            return {"inside": inside | {"monitors": deepcopy(self.monitors)}, "trackers": deepcopy(self.trackers)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Continue from the state of a copy or pickle."""
        vars(self).update(state["inside"])
        self._levels = self.settings.arranged(state["trackers"])
        self._lock = lock_of(self, SINGLE)

    def __repr__(self) -> str:
        """Say what it is, and how it goes."""
        with self._lock:
            return progress.sentence(self)

    def _repr_html_(self) -> str:
        """Show in a notebook how it goes."""
        return progress.html(self)

    # The parts of a step, which are in ``wane.conformal.steps``. Their callers hold the lock.

    def _moment(self) -> int:
        """Return the number of the round that is predicted next, as the trackers count: past labels come first."""
        return moment(self._waiting, self._levels, self.monitors[0])

    def _prepare(self, output: Any, id: Hashable | None, context: Any = None, groups: Any = None) -> tuple[Any, ...]:
        """Do all of a prediction that can fail, without changing anything.

        Returns the prediction and what ``Waiting.add`` needs.
        """
        return prepare(self, output, id, context, groups)

    def _learn(self, id: Hashable, y: Any, d: float) -> list[Alarm]:
        """Do all of ``update`` except calling on_alarm, and return the alarms.

        Args:
            id: of a prediction that waits.
            y: its label.
            d: the discount; NaN stands for the method's own.
        """
        label = checked_label(self, id, y, d)
        learn((label,))
        return alarms_of(label, id) if label.alarms else []

    def _label(self, id: Hashable, y: Any, d: float) -> Label:
        """Check and score a label, without changing anything, and return what ``learn`` needs."""
        return checked_label(self, id, y, d)

    def _by_level(self, radii: tuple[float, ...]) -> Any:
        """Return the radius, or a tuple with the radius of each level."""
        return self.settings.by_level(self.settings.each(radii))

    def _discount(self, discount: Any) -> float:
        if callable(discount):
            discount = discount(self.monitors[0].rounds)
        return math.nan if discount is None else discount_factor(discount)


def key_of(id: Any) -> Hashable:
    """Return the id that a user gave, or that of the prediction that was given."""
    return checked_key(id.id if isinstance(id, Prediction) else id)
