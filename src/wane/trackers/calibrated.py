r"""Any radius predictor, corrected so that its long-run coverage is right.

The radius of the base, plus a scale times the sum of odd magnitude learners over a grid of discounts, 1 among them,
which are fed the subgradient of the pinball loss at the radius that was *played*. The learner that never forgets keeps
the sum of miss - alpha within :math:`\sqrt V` times a logarithm, whatever the base does and however late labels come:
``coverage_bound``, and the proof is in ``wane.theory.calibration_bound``. The others react within tens and hundreds of
rounds; what they say together is capped, because what they could say is part of the bound.
"""

from __future__ import annotations

import math
from typing import Any

from wane.checks import described, number, positive, scalar
from wane.errors import InputError, InputTypeError, Setting
from wane.learners.hint import Hint
from wane.learners.rule import erfi_rule
from wane.learners.wrapping import checked_discounts
from wane.state import data as plain_data
from wane.state.limits import GREATEST, MOST
from wane.theory.calibration import calibration_bound
from wane.trackers.base import Tracker
from wane.trackers.bend import bent, straight
from wane.trackers.context import ceiling, floor
from wane.trackers.room import Room
from wane.trackers.scale_models import SteadyScale

DISCOUNTS = (0.99, 0.999, 1.0)
LIMIT = 2.0  # times the largest score so far: the correction goes no further
TINY = 1e-150  # the scale while there is none
CAP = 10.0  # of what the learners that forget say together, in mean scores
DAMPING = 0.5  # measured: no stream loses more than a tenth to its best rival with labels 10 rounds late
LARGEST_DAMPING = 100.0
USUAL = 0.98  # the discount of the average delay
ENDLESS = 1e308  # stands for an infinite base radius, which no correction can lower
UNKNOWN = -1  # no round: what was looked at is not that of the next prediction
NAN = float("nan")


class Given(Tracker):
    """The radius that you give: a constant, or in each round the quantile that a model says.

    Args:
        alpha: the share of misses.
        radius: the first one; set it to another before ``predict`` in any round.
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> given = Given(0.1, 2.0)
    >>> given.radius = 3.0     # what the model says of this round
    >>> given.predict()
    3.0
    """

    parameters = ("alpha", "radius", "domain", "on_missing")
    atomic = True

    def __init__(
        self, alpha: float, radius: float = 0.0, domain: str = "nonnegative", on_missing: str = "error"
    ) -> None:
        """Take the first radius."""
        super().__init__(alpha, domain, on_missing)
        self.radius = radius

    @property
    def radius(self) -> float:
        """The radius of the next round."""
        return self.given

    @radius.setter
    def radius(self, value: Any) -> None:
        self.given = number("radius", value)
        if self.given < 0.0 and not self.signed:
            raise InputError(
                f"must be >= 0, got {value!r}", about="radius", cure=("negative ones need ", Setting("domain", "real"))
            )

    def _predict(self) -> float:
        return self.given

    def _update(self, score: float, radius: float, discount: float) -> None:
        pass


class Calibrated(Tracker):
    r"""A base tracker, corrected to miss a share alpha of the rounds in the long run.

    .. math::
        r_t = \max\bigl(0,\; b_t + c_t (x_t + y_t)\bigr), \qquad g_t = \alpha - 1[r_t \le s_t],

    where :math:`b_t` is the radius of the base, :math:`c_t` half of it plus half of an average of the absolute scores
    (half-life 500, outliers cut), :math:`x_t` what
    the odd learner that never forgets plays, and :math:`y_t` the sum of those with discounts below 1, cut to [-10, 10].
    All have :math:`\varepsilon / K` and are fed :math:`g_t`. The correction never takes the radius beyond twice the
    largest score so far.

    Late labels: every learner is fed the gradient of the radius that was played. If so many labels were learned in
    between, d of them, the squared gradient counts :math:`1 + d` times, and the learners play as if gradients were
    :math:`1 + 0.5 \bar d` times larger than they can be, with :math:`\bar d` the average of the last d. So they wait
    before they widen, because more labels of the same kind are on their way. The base learns each score with what it
    knew when it predicted, if it keeps notes, as ``Blend`` does; else as if its own radius had been played now.

    Class labels: ``OnlineConformal`` says which score is the largest. The scores are then bent by
    ``wane.trackers.bend.bent`` before anything is learned from them, and the radius is straightened. The theorem is
    about the bent scores, so ``coverage_bound(largest=...)`` wants the largest of these.

    Args:
        base: a Tracker (this one takes it over), or a number, which is a constant radius.
        alpha: the share of misses; None is that of the base. It must be given with a number.
        epsilon: how strong the correction is: a larger one keeps windows of 100 rounds nearer to the target, and costs
            width. In units of the mean score.
        discounts: the grid, with 1 in it.
        damping: how much of the delay of late labels the learners hear of. With 0, coverage is best and radii widest.

    >>> import wane
    >>> scores = wane.streams.synthetic("iid", rounds=5000).scores
    >>> tracker = Calibrated(1.0, alpha=0.1)     # 1.0 alone would miss 32 %
    >>> abs(float((tracker.run(scores) <= scores).mean()) - 0.1) < 0.02
    True
    >>> abs(tracker.coverage_sum()) <= tracker.coverage_bound()
    True
    """

    parameters = ("base", "alpha", "epsilon", "discounts", "damping")
    added = ("damping",)
    memory = (
        "rounds", "sums", "squares", "hint", "usual", "widest", "latest", "unit", "least", "reach", "records", "total",
        "lifted",
    )  # fmt: skip

    def __init__(
        self,
        base: Any,
        alpha: float | None = None,
        epsilon: float = 1.0,
        discounts: Any = DISCOUNTS,
        damping: float = DAMPING,
    ) -> None:
        """Take over the base."""
        if not isinstance(base, Tracker):
            if alpha is None:
                raise InputTypeError(
                    f"must be a Tracker, or a number beside alpha=..., got {described(base)}", about="base"
                )
            base = Given(alpha, scalar("base", base))
        self.base = base
        self.aware = base.noted() > 0  # whether the base hears of rounds, and predicts the same until it learns
        self.epsilon = positive("epsilon", epsilon)
        self.damping = number("damping", damping)
        if not 0.0 <= self.damping <= LARGEST_DAMPING:
            raise InputError(f"must be from 0 to {LARGEST_DAMPING:g}, got {damping!r}", about="damping")
        self.discounts = checked_discounts(discounts)
        if len(set(self.discounts)) < len(self.discounts):
            raise InputError(f"must differ, got {self.discounts}", about="discounts")
        if 1.0 not in self.discounts:
            raise InputError(
                f"must have 1 among them, which makes coverage right, got {self.discounts}", about="discounts"
            )
        self.share = self.epsilon / len(self.discounts)
        self.steady = self.discounts.index(1.0)
        n = len(self.discounts)
        room = Room(3 * n)
        self.kept: Any = room.cut(n)
        self.sums: Any = room.cut(n)  # of minus the gradients
        self.squares: Any = room.cut(n)  # of the gradients, more for late ones
        for k in range(n):
            self.kept[k] = self.discounts[k]
        self.hint = 0.0  # the largest gradient that there can be
        self.usual = 0.0  # delay, in labels that are learned between a prediction and its label
        self.widest = 1.0  # how many times larger than they are gradients were ever taken for
        self.latest = 0  # delay
        self.unit = SteadyScale()
        self.least = 0.0  # the smallest scale that was used, 0 before
        self.reach = 0.0  # the largest x at which a round could have gone the other way than the correction wants
        self.records = 0  # how often a score was at least LIMIT times the largest known when its radius was played
        self.total = 0.0  # of miss - alpha
        self.lifted = 0.0  # 1 if a label came for another radius than the tracker's own
        # The round that is predicted. It is no part of the memory, because it can be looked at again.
        self.looked = UNKNOWN
        self.recalled = False  # whether it comes from a note
        self.made = self.under = self.ceiling = self.middle = self.scale = self.record = self.radius = 0.0
        super().__init__(base.alpha if alpha is None else alpha, base.domain, base.on_missing)

    def limits(self) -> dict[str, tuple[float, float]]:
        """Records and delays are counted, and a radius was lifted or not."""
        sizes = dict.fromkeys(("squares", "hint", "usual", "least", "reach"), (0.0, GREATEST))
        counts = dict.fromkeys(("records", "latest"), (0, MOST))
        return super().limits() | counts | sizes | {"widest": (1.0, GREATEST), "lifted": (0.0, 1.0)}

    def level_changed(self, miss: float) -> None:
        """The base has the same level."""
        self.miss = miss
        self.looked = UNKNOWN
        self.base.alpha = miss

    @property
    def context(self) -> Any:
        """As many as the base hears."""
        return self.base.context

    @property
    def cold(self) -> bool:
        """Whether the base is."""
        return self.base.cold

    def coverage_sum(self) -> float:
        """The sum of miss - alpha over all rounds, by the radii that were played."""
        return self.total

    def coverage_bound(self, largest: float | None = None) -> float:
        """A bound on ``abs(coverage_sum())``, whatever the base plays and however late labels are.

        It is computed from what was seen: the scores and base radii in units of the scale, and the longest delay. With
        ``largest`` it is a bound for all scores and base radii in [0, largest]. ``wane.theory.calibration_bound`` has
        the proof. It is infinite if the base was infinite while all scores were 0, which it then covers whatever the
        correction says.
        """
        if self.signed:
            raise InputError("the bound is for scores >= 0: this tracker was made with domain='real'")
        if self.lifted:
            raise InputError(
                "the bound is for the tracker's own radii: a label came for another one",
                cure="give late labels with their note; a level that a narrower one lifts has no bound",
            )
        top, scale = (self.reach, 1.0) if largest is None else (number("largest", largest), self.least)
        v = self.squares[self.steady]
        return calibration_bound(v, self.hint, top, scale, self.share, CAP, self.records, self.latest, self.widest)

    def correction(self) -> tuple[float, float]:
        """What the learner that never forgets and the others add to the next radius, in units of the scale."""
        return self._learner(self.steady), self._quick()

    @property
    def atomic(self) -> Any:
        """Whether the base is: its own learners cannot fail."""
        return self.base.atomic

    def _older(self, memory: Any) -> bool:
        """Take over what version 0.1.0 kept: the same sums in another form."""
        if not isinstance(memory, dict) or "steady" not in memory:
            return False
        learners = {1.0: memory["steady"]}
        part = memory["quick"]["parts"]
        for discount in [d for d in self.discounts if d != 1.0]:
            learners[discount], part = part["learner"], part.get("rest")
        for k, discount in enumerate(self.discounts):
            h = Hint(*learners[discount]["h"]).value
            self.sums[k], self.squares[k] = learners[discount]["a"] * h, learners[discount]["b"] * h * h
        self.hint = max(self.miss, 1.0 - self.miss)
        plain_data.restore(self.unit, memory["unit"])
        self.least, self.records = float(memory["least"]), int(memory["records"])
        self.reach = float(memory["largest"]) / self.least if self.least > 0.0 else 0.0
        self.total, self.lifted, self.rounds = float(memory["total"]), float(memory["late"]), int(memory["rounds"])
        return True

    def _ready(self, score: float) -> None:
        self.base._ready(score)

    def _fields(self, cells):
        self.rounds = cells.whole(self.rounds)
        cells.vector(self.sums)
        cells.vector(self.squares)
        self.hint = cells.number(self.hint)
        self.usual = cells.number(self.usual)
        self.widest = cells.number(self.widest)
        self.latest = cells.whole(self.latest)
        self.unit._fields(cells)
        self.least = cells.number(self.least)
        self.reach = cells.number(self.reach)
        self.records = cells.whole(self.records)
        self.total = cells.number(self.total)
        self.lifted = cells.number(self.lifted)
        self.base._fields(cells)
        self.looked = UNKNOWN
        self.recalled = False

    def _note(self, cells):
        self.made = cells.number(self.made)
        self.under = cells.number(self.under)
        self.ceiling = cells.number(self.ceiling)
        self.middle = cells.number(self.middle)
        self.scale = cells.number(self.scale)
        self.record = cells.number(self.record)
        self.radius = cells.number(self.radius)
        self.base._note(cells)
        self.looked = UNKNOWN
        self.recalled = cells.reading and self.made == self.made
        return 0

    def _foresee(self, given, t):
        """Predict a round of which something is known."""
        if self.aware:
            self.base._foresee(given, t)
            if self.signed:
                self._look(max(-floor(given, t), 0.0), 0.0)
            else:
                self._look(0.0, ceiling(given, t))
        return 0

    def _look(self, under, ceiling):
        """Find the radius of a round. Scores below 0 that reach at most ``under`` far are counted from there.

        Scores that crowd below a ceiling are bent, and the radius that was found for them is straightened.
        """
        self.made = self.rounds
        self.under = under
        self.ceiling = ceiling
        self.record = self.unit.record
        self.middle = self._base()
        self.scale = 0.5 * (self.unit.scale + abs(self.middle)) if self.unit.scale > 0.0 else TINY
        self.radius = self.middle
        if math.isfinite(self.middle):
            radius = self.middle + self.scale * (self._learner(self.steady) + self._quick())
            if self.record > 0.0:
                radius = min(radius, max(self.middle, LIMIT * self.record))
                radius = max(radius, min(self.middle, -LIMIT * self.record))
            self.radius = radius if (self.signed and self.under == 0.0) or radius > 0.0 else 0.0
        self.radius = straight(self.radius, self.ceiling) - self.under
        self.looked = self.rounds
        self.recalled = False
        return 0

    def _base(self):
        """The radius of the base; where that is infinite, the limit, once there is one."""
        base = self.base._predict()
        if base < 0.0 and not self.signed:
            return 0.0
        if math.isfinite(base) or self.record == 0.0:
            return base
        return LIMIT * self.record if base > 0.0 else -LIMIT * self.record

    def _quick(self):
        """What the learners that forget say together."""
        total = 0.0
        for k in range(self.sums.shape[0]):
            if k != self.steady:
                total += self._learner(k)
        return min(max(total, -CAP), CAP)

    def _learner(self, k):
        """What one learner plays: the odd magnitude learner, for gradients whose size is known."""
        if self.hint == 0.0:
            return 0.0
        h = (1.0 + self.damping * self.usual) * self.hint
        x = self.share * erfi_rule(abs(self.sums[k]) / h, self.squares[k] / (h * h))
        return 0.0 if x <= 0.0 else x if self.sums[k] > 0.0 else -x

    def _predict(self) -> float:
        if not self.aware or self.looked != self.rounds:
            self._look(0.0, 0.0)
        return self.radius

    def _update(self, score: float, radius: float, discount: float) -> None:
        if not self.recalled and (not self.aware or self.looked != self.rounds):
            self._look(0.0, 0.0)
        self.looked = UNKNOWN
        self.recalled = False
        played = self.radius if radius != radius else radius
        gradient = self.miss if played > score else self.miss - 1.0  # of the pinball loss; a tie is a miss
        if played != self.radius:
            self.lifted = 1.0
        above = bent(score + self.under, self.ceiling)
        late = max(self.rounds - max(self.made, 0.0), 0.0)  # no note is older than the first round
        self._remember(above, late)
        self.base._ingest(above, NAN, discount)
        self.hint = max(self.hint, self.miss, 1.0 - self.miss)
        for k in range(self.sums.shape[0]):
            self.sums[k] = self.kept[k] * self.sums[k] - gradient
            self.squares[k] = self.kept[k] * self.kept[k] * self.squares[k] + gradient * gradient * (
                1.0 + 2.0 * self.damping * late
            )
        self.total = self.total - gradient
        self.unit._learn(above)

    def _remember(self, score, late):
        """What the bound depends on, and the usual delay."""
        rate = max(1.0 - USUAL, 1.0 / (1.0 + self.rounds))
        self.usual = self.usual + rate * (late - self.usual)
        self.widest = max(self.widest, 1.0 + self.damping * self.usual)
        if late > self.latest:
            self.latest = int(late)
        if not math.isfinite(self.middle):
            if score == 0.0:
                self.reach = ENDLESS  # it covers however low the learner goes
        elif self.record > 0.0 or (
            score == 0.0 and self.middle != 0.0
        ):  # the first score is a record, which is counted
            self.reach = min(max(self.reach, abs(score - self.middle) / self.scale, self.middle / self.scale), ENDLESS)
            self.least = min(self.least, self.scale) if self.least > 0.0 else self.scale
        if abs(score) >= LIMIT * self.record and score != 0.0:
            self.records = self.records + 1
        return 0
