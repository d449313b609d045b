"""What every tracker shares: checks at the boundary, batches, missing scores, state.

A method defines ``parameters``, ``memory``, ``__init__``, ``_predict`` and ``_update``; with a ``.pxd`` beside it, it
compiles. It becomes known by name through ``wane.trackers.registry.register``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.checks import EXTREME, discount_factor, listed, number, one_of, scalar, share
from wane.errors import InputError, Setting
from wane.state import data as plain_data
from wane.state.cells import Cells
from wane.state.limits import MOST
from wane.state.stateful import Stateful
from wane.trackers.losses import at_tie

DOMAINS = ("nonnegative", "real")  # of scores


class Tracker(Stateful):
    """Online conformal prediction of one number: ``predict()`` plays a radius, ``update(score)`` answers.

    A round is covered when the radius exceeds the score. The aim is to miss a share ``alpha`` of the rounds, whatever
    the scores do. A tracker belongs to one thread at a time.

    >>> import wane
    >>> tracker = wane.trackers.make("magl", alpha=0.1)
    >>> radii = tracker.run([1.0, 2.0, 1.5] * 100)
    >>> radii.shape, tracker.rounds, tracker.cold
    ((300,), 300, False)
    """

    parameters = ("alpha", "domain", "on_missing")  # type: tuple[str, ...]
    memory = ("rounds",)  # type: tuple[str, ...]  # a method adds its own to this
    context = 0  # type: Any  # how many numbers of the user's a method hears of each round

    ties = ("miss", "covered")  # type: tuple[str, ...]  # what a tie may be in this method

    def __init__(self, alpha: float, domain: str = "nonnegative", on_missing: str = "error", tie: str = "miss") -> None:
        """Every tracker has a miss rate, a domain of scores, and rules for missing scores and for ties."""
        one_of("domain", domain, DOMAINS)
        one_of("on_missing", on_missing, ("error", "skip"))
        self.at_tie = at_tie(tie, self.ties)
        self.tie = tie
        self.alpha = alpha
        self.domain = domain
        self.signed = domain == "real"
        self.on_missing = on_missing
        self.rounds = 0

    @property
    def alpha(self) -> float:
        """The share of rounds that may be missed; it may be changed at any time."""
        return self.miss

    @alpha.setter
    def alpha(self, value: float) -> None:
        self.level_changed(share("alpha", value))

    def level_changed(self, miss: float) -> None:
        """Take a new alpha, already checked; a method that keeps it elsewhere too says so here."""
        self.miss = miss

    @property
    def cold(self) -> bool:
        """Whether the radius does not rest on any score yet."""
        return self.rounds == 0

    def limits(self) -> dict[str, tuple[float, float]]:
        """Rounds are counted; a method adds its own counts and indices."""
        return {"rounds": (0, MOST)}

    def predict(self) -> float:
        """The radius for the next score; calling it changes nothing."""
        return self._predict()

    def note(self) -> tuple[float, ...]:
        """What a late score of the round that is predicted now must be learned with; empty for most methods.

        >>> import wane
        >>> tracker = wane.trackers.make("auto", alpha=0.1)
        >>> radius, note = tracker.predict(), tracker.note()
        >>> tracker.update(1.0)     # the score of another round
        >>> tracker.update(2.0, radius, note=note)
        """
        rows = np.zeros((1, self.noted()))
        if rows.size:
            cells = Cells()
            cells._write(rows.data, 0)  # type: ignore[attr-defined]
            self._predict()
            self._note(cells)
        return tuple(rows[0].tolist())

    def noted(self) -> int:
        """How many numbers a note holds."""
        cells = Cells()
        self._note(cells)
        return cells.at

    def update(self, score: Any, radius: float | None = None, discount: Any = None, note: Any = None) -> None:
        """Ingest the score of a round.

        Args:
            score: None or NaN is a missing score: an error, or no news with ``on_missing="skip"``.
            radius: the radius that was played for it, when it is not the current one (a late label).
            discount: ages everything before this score, for the methods that discount: a number, a schedule (a function
                of the number of rounds so far), or None for the method's own.
            note: what ``note()`` said when its radius was predicted, for a late label; None if it is not known.
        """
        if getattr(score, "ndim", None) == 0:
            score = score.item()  # a scalar of numpy's
        if score is None or (isinstance(score, float) and score != score):
            if self.on_missing == "skip":
                return
            raise InputError(
                "is missing (None or NaN)",
                about="score",
                cure=("leave the round out, or use ", Setting("on_missing", "skip")),
            )
        s = number("score", score)
        if s < 0.0 and not self.signed:
            raise InputError(
                f"must be >= 0, got {score!r}",
                about="score",
                cure=("signed scores need ", Setting("domain", "real")),
            )
        if abs(s) > EXTREME:
            raise InputError(
                f"must be at most {EXTREME:g}, got {score!r}", about="score", cure="measure in a larger unit"
            )
        if callable(discount):
            discount = discount(self.rounds)
        r = math.nan if radius is None else scalar("radius", radius)
        if radius is not None and r != r:
            raise InputError("must be the one that was played, got NaN", about="radius")
        if note is not None:
            self._recall(note)
        self._ingest(s, r, math.nan if discount is None else discount_factor(discount))

    def run(self, scores: Any, discounts: Any = None) -> np.ndarray:
        """Play a whole sequence; returns the radius before each score, bit for bit as step by step.

        ``discounts`` is None, one number, one a round, or a schedule: a function of the number of rounds so far.

        After an error, which names its round, the tracker is as before the call.
        """
        from wane.trackers import batch

        return batch.run(self, scores, discounts)

    def warm_start(self, scores: Any) -> None:
        """Learn from scores of the past, before the first prediction that counts."""
        self.run(scores)

    def _recall(self, note: Any) -> None:
        """Take back what a note says, for the score that is learned next."""
        rows = np.array([[number("note", value) for value in listed("note", note)]], dtype=float)
        if rows.shape[1] != self.noted():
            raise InputError(f"must hold {self.noted()} numbers, got {rows.shape[1]}", about="note")
        if rows.size:
            cells = Cells()
            cells._read(rows.data, 0)  # type: ignore[attr-defined]
            self._note(cells)

    def _foresee(self, given, t):
        """Hear what is known of the round that is predicted next: row t; most methods know nothing of a round."""
        return 0

    def _note(self, cells):
        """Show to ``cells`` what the score of this prediction is to be learned with, should it come late.

        Writing it clears the desk: the next prediction begins anew. Reading it puts things back for the score that is
        learned next; a note that begins with NaN says nothing. Most methods learn from the score alone.
        """
        return 0

    def _ready(self, score: float) -> None:
        """Raise, or warn, about a score before it is learned; a method that does so says it here."""

    def _ingest(self, score: float, radius: float, discount: float) -> None:
        self._ready(score)
        self._update(score, radius, discount)
        self.rounds = self.rounds + 1

    # The hooks. Compiled, these are what C finds for a method written in Python, and they ask the functions below.

    def _predict(self) -> float:
        return predict_in_python(self)

    def _update(self, score: float, radius: float, discount: float) -> None:
        update_in_python(self, score, radius, discount)


def predict_in_python(tracker):
    """The ``_predict`` of a method written in Python."""
    return hook(tracker, "_predict")(tracker)


def update_in_python(tracker, score, radius, discount):
    """The ``_update`` of a method written in Python."""
    hook(tracker, "_update")(tracker, score, radius, discount)


def hook(tracker, name):
    """The method that a subclass defines, or an error that names it."""
    method = getattr(type(tracker), name, None)
    if method is None or method is vars(Tracker).get(name):
        raise NotImplementedError(f"{type(tracker).__name__} must define {name}")
    return method


def load(state: dict[str, Any], **objects: Any) -> Any:
    """The tracker whose ``state_dict`` this is; ``objects`` are the arguments that plain data cannot hold, by name.

    >>> import wane
    >>> load(wane.trackers.make("magl", alpha=0.2).state_dict()).alpha
    0.2
    """
    return plain_data.load(Tracker, state, objects)
