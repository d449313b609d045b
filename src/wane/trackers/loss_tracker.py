# cython: boundscheck=False, wraparound=False
"""Algorithm 4: a learner on the losses of a radius. The paper's methods, and gradient descent, are this.

Differences from the paper:

1. A late label's gradient is taken at the radius that was played for it.
2. Line 7 of Algorithm 1 is left out, as in the paper, and s may become negative: with labels in time and nonnegative
   scores it never does (Appendix C.1); with late labels, or where a nested level plays more than its own radius, the
   sum then counts every label, so that coverage is right in the long run. The learner is the odd one, and the radius
   its positive part, because the rule itself needs s >= 0.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wane.checks import described, number
from wane.domains import Nonnegative
from wane.errors import InputError, InputTypeError
from wane.learners.adagrad import AdaGrad
from wane.learners.base import Learner
from wane.learners.coin_betting import CoinBetting
from wane.learners.magnitude import MagnitudeLearner
from wane.learners.odd import OddMagnitudeLearner
from wane.learners.rule import erfi_rule
from wane.learners.simplified import SimplifiedMagnitudeLearner
from wane.trackers.base import Tracker
from wane.trackers.batch import checked
from wane.trackers.losses import Loss, Pinball, SkewedQuadratic, UserLoss
from wane.trackers.registry import NEEDED, register

LONGEST = 1e300  # a gradient that a learner is given
TOLERATED = 0.01  # under-coverage by discounting that passes without a warning


class CoverageWarning(UserWarning):
    """A tracker that will miss more rounds than asked for, with the number and the cure; given once a tracker."""


class LossTracker(Tracker):
    r"""The radius is what a learner on the line plays; its gradient is that of a loss at the radius and the score.

    Args:
        learner: any learner on the line; from now on it belongs to this tracker.
        loss: ``Pinball(alpha)``, ``SkewedQuadratic(alpha)`` or ``UserLoss(alpha, subgradient)``.
        domain: "nonnegative", where the radius is projected to [0, inf), or "real".
        on_missing: "error" or "skip".
        auto_epsilon: take the learner's epsilon from the scores of ``warm_start``, which must then come first.

    >>> from wane.learners import MagnitudeLearner
    >>> from wane.trackers import LossTracker, Pinball
    >>> tracker = LossTracker(MagnitudeLearner(discount=0.999), Pinball(0.1))
    >>> tracker.run([1.0] * 60)[[0, 20, 40, 59]].round(3)
    array([0.   , 1.076, 1.03 , 0.998])
    """

    parameters = ("learner", "loss", "domain", "on_missing", "auto_epsilon")
    memory = ("rounds", "waiting", "total", "late", "sums", "warned_of_reach", "warned_of_bias")

    def __init__(
        self,
        learner: Learner,
        loss: Loss,
        domain: str = "nonnegative",
        on_missing: str = "error",
        auto_epsilon: bool = False,
    ) -> None:
        """Take over the learner and the loss."""
        if not isinstance(learner, Learner) or learner.dim is not None:
            raise InputTypeError(f"must be a Learner on the line (dim=None), got {described(learner)}", about="learner")
        if not isinstance(loss, Loss):
            raise InputTypeError(f"must be a Loss such as Pinball(alpha), got {described(loss)}", about="loss")
        if auto_epsilon and "epsilon" not in learner.parameters:
            raise InputTypeError(f"needs a learner with an epsilon, got {learner!r}", about="auto_epsilon")
        self.loss = copy.copy(loss)  # its level is this tracker's own
        self.loss_remembers = len(self.loss.memory) > 0
        self.auto_epsilon = auto_epsilon
        self.waiting = 1.0 if auto_epsilon else 0.0  # for warm_start
        self.total = 0.0  # S*, Eq. (discounted_g_sum), in units of the learner's h; magnitude learners only
        self.late = 0.0  # 1 once a label came for another radius than the current one
        self.sums = 0.0  # S* added up over the rounds
        self.warned_of_reach = self.warned_of_bias = 0.0
        self._adopt(learner)
        super().__init__(loss.alpha, domain, on_missing)

    def _adopt(self, learner: Any) -> None:
        self.learner = learner
        self.hint: Any = learner.h if isinstance(learner, (MagnitudeLearner, OddMagnitudeLearner)) else None
        steady = self.hint is not None and isinstance(self.loss, Pinball) and learner.discount < 1.0
        self.reach = largest_radius(learner) if steady else math.inf
        self.patience = 5.0 / (1.0 - learner.discount) if steady else math.inf  # rounds until the bias is judged

    def warm_start(self, scores: Any) -> None:
        """Learn from scores of the past; with ``auto_epsilon`` their (1 - alpha) quantile becomes epsilon first.

        >>> import wane
        >>> tracker = wane.trackers.make("magl", 0.1, epsilon="auto")
        >>> tracker.warm_start([100.0, 300.0, 200.0] * 10)
        >>> tracker.learner.epsilon
        300.0
        """
        if self.waiting:
            past = checked(self, scores)
            past = past[~np.isnan(past)]
            if not len(past):
                raise InputError("warm_start needs at least one score to choose epsilon from", argument="scores")
            before = self.learner
            self.begin_with(float(guessed_epsilon(past[None], self.alpha)[0]))
            try:
                self.run(scores)
            except BaseException:
                self._adopt(before)
                self.waiting = 1.0
                raise
        else:
            self.run(scores)

    def begin_with(self, epsilon: float) -> None:
        """Start anew with this epsilon, as ``warm_start`` does with the one that it has guessed."""
        given = {k: getattr(self.learner, k) for k in self.learner.parameters}
        self._adopt(type(self.learner)(**{**given, "epsilon": epsilon}))
        self.waiting = 0.0

    def level_changed(self, miss: float) -> None:
        """The level lives in the loss as well."""
        self.miss = miss
        self.loss.alpha = miss

    def coverage_sum(self, clipped: bool = False) -> float:
        r"""The discounted coverage metric, :math:`S^* = -\sum_i (\prod_j \lambda_j)\, g_i` over the rounds so far.

        With the pinball loss it is the (discounted) number of misses minus alpha times that of rounds. ``clipped``
        gives the sum of the clipped gradients, which is the learner's own s.

        >>> import wane
        >>> tracker = wane.trackers.make("magl", 0.1)
        >>> _ = tracker.run([1.0, 1.0, 0.0, 0.0])
        >>> round(tracker.coverage_sum(), 12)     # four misses: the radius is still 0
        3.6
        """
        learner = self._with_guarantees()
        return (learner.a if clipped else self.total) * learner.h.value

    def coverage_bound(self, max_score: float | None = None) -> float:
        r"""A bound on abs(coverage_sum()) that holds whatever the scores were.

        Lemma "connecting", :math:`2\sqrt{V}(1+L) + 14 G (1+L)^2` with :math:`L = \sqrt{\log(1 + 2r/\varepsilon)}` at
        the next radius r; or, given the largest score there can be, Lemma "bounded_induction": that score instead of
        r, and 15 instead of 14.

        Args:
            max_score: D, if it is known.

        >>> import wane
        >>> tracker = wane.trackers.make("magl", 0.1)
        >>> _ = tracker.run([1.0] * 100)
        >>> abs(tracker.coverage_sum()) <= tracker.coverage_bound() <= tracker.coverage_bound(max_score=10.0)
        True
        """
        if self.signed:
            raise InputError("the lemmas are about scores >= 0: this tracker was made with domain='real'")
        learner = self._with_guarantees()
        if self.late:
            raise InputError(
                "the lemmas are about labels in time and a tracker's own radii: a label came late, or for a radius "
                "that a narrower level had lifted"
            )
        v, _, h = learner.statistics
        reach = self.predict() if max_score is None else abs(number("max_score", max_score))
        one = 1.0 + math.sqrt(math.log1p(2.0 * reach / learner.epsilon))
        return 2.0 * math.sqrt(v) * one + (14.0 if max_score is None else 15.0) * h * one * one

    def _with_guarantees(self) -> Any:
        if self.hint is None:
            raise InputTypeError(f"the coverage lemmas are about magl-d and magl, not {self.learner!r}")
        return self.learner

    def limits(self) -> dict[str, tuple[float, float]]:
        """What has happened is 1, what has not is 0."""
        return super().limits() | dict.fromkeys(("waiting", "late", "warned_of_reach", "warned_of_bias"), (0.0, 1.0))

    def _fields(self, cells):
        if self.loss_remembers:  # a loss of a user's
            cells.vary()
        self.rounds = cells.whole(self.rounds)
        self.waiting = cells.number(self.waiting)
        self.total = cells.number(self.total)
        self.late = cells.number(self.late)
        self.sums = cells.number(self.sums)
        self.warned_of_reach = cells.number(self.warned_of_reach)
        self.warned_of_bias = cells.number(self.warned_of_bias)
        self.reach = cells.number(self.reach)
        self.learner._fields(cells)

    def _predict(self) -> float:
        radius = self.learner._predict()
        return radius if self.signed or radius > 0.0 else 0.0

    @property
    def atomic(self) -> Any:
        """The gradient of the pinball loss is always one that can be learned; so it depends on the learner."""
        return isinstance(self.loss, Pinball) and self.learner.atomic

    def _ready(self, score: float) -> None:
        if self.waiting != 0.0:
            self._needs_warm_start()
        if score > self.reach and self.warned_of_reach == 0.0:
            self._warn_of_reach(score)
        if self.rounds > self.patience and self.warned_of_bias == 0.0:
            self._judge_bias()

    def _update(self, score: float, radius: float, discount: float) -> None:
        current = self._predict()
        played = current if radius != radius else radius
        factor = self.learner.discount if discount != discount else discount
        gradient = self.loss._gradient(played, score)
        if not -LONGEST <= gradient <= LONGEST:
            self._too_steep(gradient)
        self.learner._update(gradient, factor)
        if played != current:
            self.late = 1.0
        if self.hint is not None:
            self._add(gradient)

    def _add(self, gradient: float) -> None:
        """S* after this gradient; the learner's h has just become the unit."""
        kept = self.hint.shrink if self.hint.shrink_exponent == 0 else 0.0  # else a jump by 2^512 or more
        self.total = kept * self.total - self.hint.divide(gradient)
        if self.hint.exponent == 0:
            self.sums = self.sums + self.total * self.hint.mantissa

    def _judge_bias(self) -> None:
        if (1.0 - self.learner.discount) * self.sums > TOLERATED * self.rounds:
            self._warn_of_bias()

    def _needs_warm_start(self) -> None:
        raise InputError(
            "epsilon='auto' is chosen from past scores",
            argument="epsilon",
            cure="call warm_start(scores) first, or give a number",
        )

    def _too_steep(self, gradient: float) -> None:
        raise InputError(f"the loss has the gradient {gradient!r} here, too steep to learn from: nothing was learned")

    def _warn_of_reach(self, score: float) -> None:
        warnings.warn(
            f"the score {score:.4g} is beyond reach: with discount {self.learner.discount:g} the radius never exceeds "
            f"{self.reach:.4g}, however many misses come; raise epsilon (it scales the reach), or the discount",
            CoverageWarning,
            stacklevel=3,
        )
        self.warned_of_reach = 1.0

    def _warn_of_bias(self) -> None:
        excess = (1.0 - self.learner.discount) * self.sums / self.rounds
        warnings.warn(
            f"discounting costs coverage: with discount {self.learner.discount:g} the miss rate exceeds alpha by about "
            f"{excess:.3f}; take a discount nearer to 1, 'magl', or a larger alpha for the same effect on purpose",
            CoverageWarning,
            stacklevel=3,
        )
        self.warned_of_bias = 1.0


def guessed_epsilon(scores: np.ndarray, alpha: float) -> np.ndarray:
    """For each row of scores their (1 - alpha) quantile; where it is 0 the largest score, where that is 0 too 1.

    >>> guessed_epsilon(np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]), 0.1)
    array([3., 1.])
    """
    guess = np.abs(np.quantile(scores, 1.0 - alpha, axis=1, method="inverted_cdf"))
    guess = np.where(guess > 0.0, guess, np.abs(scores).max(axis=1))
    return np.where(guess > 0.0, guess, 1.0)


def largest_radius(learner: Learner) -> float:
    """What a discounted magnitude learner plays after misses for ever: a = s/h ends at discount / (1 - discount).

    >>> from wane.learners import MagnitudeLearner
    >>> [round(largest_radius(MagnitudeLearner(discount=d)), 2) for d in (0.5, 0.9, 0.95, 0.98)]
    [0.0, 0.6, 1.59, 15.36]
    """
    d = learner.discount
    return max(0.0, learner.epsilon * erfi_rule(d / (1.0 - d), d * d / (1.0 - d * d)))  # type: ignore[attr-defined]


def chosen(loss: Any, alpha: float, tie: str = "miss") -> Loss:
    """A loss by name, as it is, or from a user's subgradient."""
    if isinstance(loss, Loss):
        if loss.alpha != alpha:
            raise InputError(
                f"the loss has alpha {loss.alpha!r}, the tracker {alpha!r}", argument="loss", cure="give both the same"
            )
        return loss
    if callable(loss):
        return UserLoss(alpha, loss)
    if loss == "pinball":
        return Pinball(alpha, tie)
    if loss != "skewed-quadratic":
        raise InputError(
            f"must be one of pinball, skewed-quadratic, a Loss or a subgradient, got {described(loss)}", about="loss"
        )
    return SkewedQuadratic(alpha)


def with_learner(
    learner: Callable[..., Learner],
    alpha: float,
    *,
    loss: Any = "pinball",
    tie: str = "miss",
    domain: str = "nonnegative",
    on_missing: str = "error",
    **arguments: Any,
) -> LossTracker:
    """A tracker by its learner, made with these arguments; an epsilon of "auto" is replaced at the warm start."""
    epsilon = arguments.get("epsilon")
    auto = isinstance(epsilon, str) and epsilon == "auto"
    made = learner(**arguments | {"epsilon": 1.0} if auto else arguments)
    return LossTracker(made, chosen(loss, alpha, tie), domain, on_missing, auto)


def scale_free(
    alpha: float, *, max_score: float, tie: str, domain: str = "nonnegative", on_missing: str = "error"
) -> LossTracker:
    """Scale-free gradient descent (Bhatnagar et al. 2023)."""
    learner = AdaGrad(max_score / math.sqrt(3.0), domain=None if domain == "real" else Nonnegative())
    return LossTracker(learner, Pinball(alpha, tie), domain, on_missing)


# Algorithm 4: the odd form of Algorithm 1, of which the radius on [0, inf) is the positive part.
register(
    "magl-d",
    partial(with_learner, OddMagnitudeLearner),
    "MagL-D, the paper's method: Algorithm 1 with a discount. It under-covers by (1 - discount) times its mean sum.",
    epsilon=1.0,
    discount=0.999,
    loss="pinball",
)
register(
    "magl",
    partial(with_learner, OddMagnitudeLearner),
    "MagL: Algorithm 2, which forgets nothing.",
    epsilon=1.0,
    loss="pinball",
)
register(
    "magdis",
    partial(with_learner, SimplifiedMagnitudeLearner),
    "MagDis: Algorithm 5, without hint and clipping; on [0, inf) only.",
    fixed={"domain": "nonnegative"},
    epsilon=1.0,
    discount=0.999,
    initial_variance=1.0,
    loss="pinball",
)
register(
    "sf-ogd",
    scale_free,
    """Scale-free gradient descent (Bhatnagar et al. 2023): r <- max(0, r - D g / sqrt(3 sum g^2)), D = max_score.

    ``published=True`` takes the gradient of the published code, which is 0 at a tie.
    """,
    published={True: {"tie": "neither"}},
    max_score=NEEDED,
    tie=None,
)
register(
    "simple-ogd",
    scale_free,
    "Simple OGD of the paper's table: scale-free gradient descent with D = 1, whatever the scores are.",
    fixed={"max_score": 1.0},
    published={True: {"tie": "neither"}},
    tie=None,
)
# Adaptive conformal inference by betting (Podkopaev, Xu, Lee 2024, arXiv 2412.19318). Verified from public summaries of
# the paper: the Krichevsky-Trofimov bettor on the subgradients of the pinball loss, which gives the long-run coverage
# and has no rate. Not verified: its initial wealth (taken as 1, ``epsilon``), its ties, and the other algorithm of the
# paper (online Newton steps), which is not here.
register(
    "kt",
    partial(with_learner, CoinBetting),
    r"""KT betting: :math:`q_{t+1} = W_t \frac{-\sum_{i \le t} g_i}{t+1}`, with wealth :math:`W_t = W_{t-1} - g_t q_t`.

    This is ``learners.CoinBetting`` on the pinball loss. The rule has no discount; one below 1 is this library's own.
    """,
    epsilon=1.0,
    discount=1.0,
    tie="miss",
)
