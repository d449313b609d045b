"""Losses for a radius: convex, and smallest where the radius is the score (Section 3.2, "Beyond pinball loss")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wane.checks import described, scalar, share
from wane.errors import InputError, InputTypeError
from wane.state.stateful import Stateful

AT_TIE = {"miss": 1.0, "covered": 0.0, "neither": -1.0}


def at_tie(tie: Any, allowed: tuple[str, ...] = tuple(AT_TIE)) -> float:
    """What ``missed`` needs to know of a rule for ties, checked.

    >>> at_tie("covered")
    0.0
    """
    if not isinstance(tie, str) or tie not in allowed:
        known = ", ".join(map(repr, allowed[:-1]))
        raise InputError(f"must be {known} or {allowed[-1]!r}, got {described(tie)}", about="tie")
    return AT_TIE[tie]


def missed(score, radius, at_tie, alpha):
    """1 for a miss and 0 for a round that is covered. A tie is a miss, covered, or neither: alpha, which moves nothing.

    >>> missed(2.0, 1.0, 1.0, 0.1), missed(1.0, 1.0, 1.0, 0.1), missed(1.0, 1.0, -1.0, 0.1)
    (1.0, 1.0, 0.1)
    """
    if radius > score:
        return 0.0
    if radius == score:
        return at_tie if at_tie >= 0.0 else alpha
    return 1.0


class Loss(Stateful):
    """A convex loss of the radius, minimised at the score; its subgradient is at most 0 where radius <= score."""

    alpha: float
    parameters = ("alpha",)  # type: tuple[str, ...]

    def gradient(self, radius: float, score: float) -> float:
        """The subgradient at this radius.

        >>> Pinball(0.1).gradient(2.0, 1.0), Pinball(0.1).gradient(1.0, 1.0)
        (0.1, -0.9)
        """
        return self._gradient(scalar("radius", radius), scalar("score", score))

    def _gradient(self, radius: float, score: float) -> float:
        return gradient_in_python(self, radius, score)


class Pinball(Loss):
    r"""The pinball loss: alpha (r - s) above the score, (alpha - 1)(r - s) at it and below. It tracks a quantile.

    The sum of its subgradients is the number of rounds times alpha, minus the number of misses.

    Args:
        alpha: the share of misses.
        tie: what radius = score is: a "miss", as in the paper (subgradient alpha - 1), "covered" (alpha), or
            "neither" (0, as in published code).
    """

    parameters = ("alpha", "tie")

    def __init__(self, alpha: float, tie: str = "miss") -> None:
        """A level and a rule for ties."""
        self.at_tie = at_tie(tie)
        self.tie = tie
        self.alpha = share("alpha", alpha)

    def _gradient(self, radius: float, score: float) -> float:
        return self.alpha - missed(score, radius, self.at_tie, self.alpha)


class SkewedQuadratic(Loss):
    r"""The skewed quadratic loss, :math:`\frac12 |\alpha - 1[r \le s]| (r - s)^2`. It tracks an expectile.

    That is not the quantile: on absolute values of Gaussians alpha = 0.1 covers 84 %, not 90 %. (The paper's footnote
    leaves out the absolute value, which makes the loss concave below the score.)

    >>> SkewedQuadratic(0.1).gradient(3.0, 1.0), SkewedQuadratic(0.1).gradient(0.0, 1.0)
    (0.2, -0.9)
    """

    def __init__(self, alpha: float) -> None:
        """A level."""
        self.alpha = share("alpha", alpha)

    def _gradient(self, radius: float, score: float) -> float:
        if radius > score:
            return self.alpha * (radius - score)
        return (1.0 - self.alpha) * (radius - score)


class UserLoss(Loss):
    """A loss by its subgradient, a function of (radius, score) that is at most 0 where radius <= score.

    >>> UserLoss(0.1, lambda r, s: 0.1 if r > s else -0.9).gradient(1.0, 2.0)
    -0.9
    """

    parameters = ("alpha", "subgradient")

    def __init__(self, alpha: float, subgradient: Callable[[float, float], float]) -> None:
        """Any function; alpha is what the tracker reports as its level."""
        if not callable(subgradient):
            raise InputTypeError(
                f"must be a function of (radius, score), got {described(subgradient)}", about="subgradient"
            )
        self.alpha = share("alpha", alpha)
        self.subgradient = subgradient


def gradient_in_python(loss: Any, radius: float, score: float) -> float:
    """The subgradient of a user's function, checked."""
    if not isinstance(loss, UserLoss):
        raise NotImplementedError(f"{type(loss).__name__} must define _gradient")
    g = scalar("the subgradient", loss.subgradient(radius, score))
    if not (g <= 0.0 if radius <= score else g >= 0.0):
        raise InputError(
            f"the subgradient of a loss that is smallest at the score must be <= 0 at radius <= score and >= 0 above, "
            f"got {g!r} at radius {radius!r}, score {score!r}"
        )
    return g
