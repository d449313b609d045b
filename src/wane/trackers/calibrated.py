r"""Any radius predictor, corrected so that its long-run coverage is right.

The radius of the base, plus a scale times the sum of odd magnitude learners over a grid of discounts, 1 among them,
which are fed the subgradient of the pinball loss at the radius that was *played*. The learner that never forgets keeps
the sum of miss - alpha within :math:`\sqrt V` times a logarithm, whatever the base does: ``coverage_bound``, and the
proof is in ``wane.theory.calibration_bound``. The others react within tens and hundreds of rounds; what they say
together is capped, because what they could say is part of the bound.
"""

from __future__ import annotations

import math
from typing import Any

from wane.checks import described, number, positive, scalar
from wane.errors import InputError, InputTypeError, Setting
from wane.learners.multiscale import MultiscaleLearner
from wane.learners.odd import OddMagnitudeLearner
from wane.learners.wrapping import checked_discounts
from wane.state.limits import GREATEST, MOST
from wane.theory.calibration import calibration_bound
from wane.trackers.base import Tracker
from wane.trackers.scale_models import SteadyScale

DISCOUNTS = (0.99, 0.999, 1.0)
LIMIT = 2.0  # times the largest score so far: the correction goes no further
TINY = 1e-150  # the scale while there is none
CAP = 10.0  # of what the learners that forget say together, in mean scores
ENDLESS = 1e308  # stands for an infinite base radius among the largest, because memory holds finite numbers only
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

    where :math:`b_t` is the radius of the base, :math:`c_t` an average of the absolute scores (half-life 500, outliers
    cut), :math:`x_t` what
    the odd learner that never forgets plays, and :math:`y_t` the sum of those with discounts below 1, cut to [-10, 10].
    All have :math:`\varepsilon / K` and are fed :math:`g_t`. The correction never takes the radius beyond twice the
    largest score so far. When a label is late, the learner that never forgets is fed the gradient of the radius that
    was played for it, so that the coverage sum stays its own; the others are fed that of the current radius, because
    with the played one they would go on widening for as long as labels are on their way. The base learns from every
    score, as if its own radius had been played.

    Args:
        base: a Tracker (this one takes it over), or a number, which is a constant radius.
        alpha: the share of misses; None is that of the base. It must be given with a number.
        epsilon: how strong the correction is: a larger one keeps windows of 100 rounds nearer to the target, and costs
            width. In units of the mean score.
        discounts: the grid, with 1 in it.

    >>> import wane
    >>> scores = wane.streams.synthetic("iid", rounds=5000).scores
    >>> tracker = Calibrated(1.0, alpha=0.1)     # 1.0 alone would miss 32 %
    >>> abs(float((tracker.run(scores) <= scores).mean()) - 0.1) < 0.02
    True
    >>> abs(tracker.coverage_sum()) <= tracker.coverage_bound()
    True
    """

    parameters = ("base", "alpha", "epsilon", "discounts")
    memory = ("rounds", "steady", "quick", "unit", "least", "records", "largest", "total", "late")

    def __init__(self, base: Any, alpha: float | None = None, epsilon: float = 1.0, discounts: Any = DISCOUNTS) -> None:
        """Take over the base."""
        if not isinstance(base, Tracker):
            if alpha is None:
                raise InputTypeError(
                    f"must be a Tracker, or a number beside alpha=..., got {described(base)}", about="base"
                )
            base = Given(alpha, scalar("base", base))
        self.base = base
        self.epsilon = positive("epsilon", epsilon)
        self.discounts = checked_discounts(discounts)
        if len(set(self.discounts)) < len(self.discounts):
            raise InputError(f"must differ, got {self.discounts}", about="discounts")
        if 1.0 not in self.discounts:
            raise InputError(
                f"must have 1 among them, which makes coverage right, got {self.discounts}", about="discounts"
            )
        share = self.epsilon / len(self.discounts)
        others = tuple(d for d in self.discounts if d != 1.0)
        self.steady = OddMagnitudeLearner(share, 1.0)
        self.quick = MultiscaleLearner(None, share * max(len(others), 1), others or (0.0,))
        self.unit = SteadyScale()
        self.least = 0.0  # the smallest scale that was used, 0 before
        self.records = 0  # how often a score was at least LIMIT times the largest before it
        self.largest = 0.0  # of the scores and of the base radii so far
        self.total = 0.0  # of miss - alpha
        self.late = 0.0  # 1 if a label came for another radius than that of its round
        super().__init__(base.alpha if alpha is None else alpha, base.domain, base.on_missing)

    def limits(self) -> dict[str, tuple[float, float]]:
        """Records are counted, and a label was late or not."""
        return super().limits() | {
            "records": (0, MOST), "least": (0.0, GREATEST), "largest": (0.0, GREATEST), "late": (0.0, 1.0)
        }  # fmt: skip

    def level_changed(self, miss: float) -> None:
        """The base has the same level."""
        self.miss = miss
        self.base.alpha = miss

    @property
    def cold(self) -> bool:
        """Whether the base is."""
        return self.base.cold

    def coverage_sum(self) -> float:
        """The sum of miss - alpha over all rounds, by the radii that were played."""
        return self.total

    def coverage_bound(self, largest: float | None = None) -> float:
        """A bound on ``abs(coverage_sum())`` for scores and base radii in [0, largest].

        By default that is the largest of both so far: then the bound says what could have happened to other scores up
        to there. It holds when labels come in time; ``wane.theory.calibration_bound`` has the proof. It is infinite if
        the base was infinite while all scores were 0, which it then covers whatever the correction says.
        """
        if self.signed:
            raise InputError("the bound is for scores >= 0: this tracker was made with domain='real'")
        if self.late:
            raise InputError("the bound is for labels in time: a label came late, or for a radius that was lifted")
        if self.largest == ENDLESS:
            return math.inf
        v, _, h = self.steady.statistics
        top = self.largest if largest is None else number("largest", largest)
        return calibration_bound(v, h, top, self.least, self.steady.epsilon, CAP, self.records)

    @property
    def atomic(self) -> Any:
        """Whether the base is: its own learners cannot fail."""
        return self.base.atomic

    def _ready(self, score: float) -> None:
        self.base._ready(score)

    def _scale(self):
        """Of the correction; next to nothing while all scores are 0, which any radius above 0 covers."""
        return self.unit.scale if self.unit.scale > 0.0 else TINY

    def _base(self):
        """The radius of the base; where that is infinite, the limit, once there is one."""
        base = self.base._predict()
        if base < 0.0 and not self.signed:
            return 0.0
        if math.isfinite(base) or self.unit.record == 0.0:
            return base
        return LIMIT * self.unit.record if base > 0.0 else -LIMIT * self.unit.record

    def _predict(self) -> float:
        quick = min(max(self.quick._predict(), -CAP), CAP)
        base = self._base()
        radius = base + self._scale() * (self.steady.x + quick)
        if self.unit.record > 0.0:
            radius = min(radius, max(base, LIMIT * self.unit.record))
            radius = max(radius, min(base, -LIMIT * self.unit.record))
        return radius if self.signed or radius > 0.0 else 0.0

    def _update(self, score: float, radius: float, discount: float) -> None:
        current = self._predict()
        played = current if radius != radius else radius
        gradient = self._gradient(played, score)
        self._remember(score)
        self.base._ingest(score, NAN, discount)
        self.steady._update(gradient, 1.0)
        self.quick._update(self._gradient(current, score), 1.0)
        self.total = self.total - gradient
        if played != current:
            self.late = 1.0
        self.unit._learn(score)

    def _remember(self, score):
        """What the bound depends on."""
        base = self._base()
        if math.isfinite(base):
            self.largest = max(self.largest, score, base)
        elif score == 0.0:
            self.largest = ENDLESS  # it covers however low the learner goes; the first other score counts as a record
        if self.unit.record > 0.0 or (score == 0.0 and base != 0.0):  # the first score is a record, which is counted
            self.least = min(self.least, self._scale()) if self.least > 0.0 else self._scale()
        if abs(score) >= LIMIT * self.unit.record and score != 0.0:
            self.records = self.records + 1

    def _gradient(self, radius, score):
        """Of the pinball loss; a tie is a miss."""
        return self.miss if radius > score else self.miss - 1.0
