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
from typing import Any

import numpy as np

from wane.checks import described, flag, number
from wane.errors import InputError, InputTypeError
from wane.learners.base import Learner
from wane.learners.magnitude import MagnitudeLearner
from wane.learners.odd import OddMagnitudeLearner
from wane.learners.rule import erfi_rule
from wane.theory.coverage import coverage_bound
from wane.trackers.base import Tracker
from wane.trackers.batch import checked
from wane.trackers.losses import Loss, Pinball

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
    ties = ("miss", "covered", "neither")

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
        super().__init__(loss.alpha, domain, on_missing, loss.tie if isinstance(loss, Pinball) else "miss")

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
        if "epsilon" not in given:
            raise InputError(f"is no setting of {type(self.learner).__name__}", about="epsilon")
        self._adopt(type(self.learner)(**{**given, "epsilon": epsilon}))
        self.waiting = 0.0

    def level_changed(self, miss: float) -> None:
        """The level lives in the loss as well."""
        self.miss = miss
        self.loss.alpha = miss

    def coverage_sum(self, clipped: bool = False) -> float:
        r"""The (discounted) number of misses minus alpha times that of rounds; of the pinball loss only.

        It is ``gradient_sum()``, because the gradients of the pinball loss count misses. What a tie counts depends on
        ``tie``: 1 as a miss, 0 as covered, alpha as neither.

        >>> import wane
        >>> tracker = wane.trackers.make("magl", 0.1)
        >>> _ = tracker.run([1.0, 1.0, 0.0, 0.0])
        >>> round(tracker.coverage_sum(), 12)     # four misses: the radius is still 0
        3.6
        """
        if not isinstance(self.loss, Pinball):
            raise self._counts_no_misses()
        return self.gradient_sum(clipped)

    def coverage_bound(self, max_score: float | None = None) -> float:
        r"""A bound on abs(coverage_sum()) that holds whatever the scores were; of the pinball loss, ties as misses.

        It is ``gradient_bound()``. With other losses, and other ties, that is no bound on the misses, and an error says
        why.

        Args:
            max_score: D, if it is known.

        >>> import wane
        >>> tracker = wane.trackers.make("magl", 0.1)
        >>> _ = tracker.run([1.0] * 100)
        >>> abs(tracker.coverage_sum()) <= tracker.coverage_bound() <= tracker.coverage_bound(max_score=10.0)
        True
        """
        self._with_guarantees()
        if not isinstance(self.loss, Pinball):
            raise self._counts_no_misses()
        if self.tie != "miss":
            raise InputError(
                f"the lemmas bound misses where radius = score is one: this tracker has tie={self.tie!r}",
                argument="tie",
                cure="use tie='miss'",
            )
        return self.gradient_bound(max_score)

    def gradient_sum(self, clipped: bool = False) -> float:
        r"""The discounted sum of the gradients, :math:`S^* = -\sum_i (\prod_j \lambda_j)\, g_i`, with a minus.

        With the pinball loss it counts misses (``coverage_sum``); with other losses it does not. ``clipped`` gives the
        sum of the clipped gradients, which is the learner's own s.

        >>> import wane
        >>> tracker = wane.trackers.make("magl", 0.1, loss="skewed-quadratic")
        >>> _ = tracker.run([1.0, 2.0])
        >>> round(tracker.gradient_sum(), 12)     # 0.9 times the scores: the radius is still 0
        2.7
        """
        learner = self._with_guarantees()
        return (learner.a if flag("clipped", clipped) else self.total) * learner.h.value

    def gradient_bound(self, max_score: float | None = None) -> float:
        r"""A bound on abs(gradient_sum()) that holds whatever the scores were: ``wane.theory.coverage_bound``.

        It is Lemma "connecting" at the next radius; or, given the largest score there can be, Lemma
        "bounded_induction".

        Args:
            max_score: D, if it is known.

        >>> import wane
        >>> tracker = wane.trackers.make("magl", 0.1, loss="skewed-quadratic")
        >>> _ = tracker.run([1.0, 5.0] * 50)
        >>> abs(tracker.gradient_sum()) <= tracker.gradient_bound()
        True
        """
        if self.signed:
            raise InputError("the lemmas are about scores >= 0: this tracker was made with domain='real'")
        learner = self._with_guarantees()
        if self.tie == "covered":
            raise InputError(
                "the lemmas ask for a gradient of at most 0 where radius = score, and with tie='covered' it is alpha",
                argument="tie",
                cure="use tie='miss'",
            )
        if self.late:
            raise InputError(
                "the lemmas are about labels in time and a tracker's own radii: a label came late, or for a radius "
                "that a narrower level had lifted"
            )
        radius = self.predict() if max_score is None else None
        most = None if max_score is None else abs(number("max_score", max_score))
        return learner.h.value * coverage_bound(learner.b, 1.0, radius, most, learner.epsilon)

    def _counts_no_misses(self) -> InputError:
        return InputError(
            f"the gradients of {type(self.loss).__name__} count no misses, so the lemmas say nothing about misses",
            argument="loss",
            cure="gradient_sum() and gradient_bound() are about the gradients; loss='pinball' counts misses",
        )

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
