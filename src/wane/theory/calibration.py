"""The coverage of a corrected radius predictor: the theorem behind ``wane.trackers.Calibrated``."""

from __future__ import annotations

import math

from wane.theory.arguments import as_number
from wane.theory.potentials import prediction_rule

LARGEST = 1e150  # of a score in units of the scale, beyond which the rule, which is capped, may not go
RELATIVE = 1e-9  # how exactly the bound is computed; it is rounded up


def calibration_bound(
    variance: float,
    hint: float,
    largest: float,
    scale: float,
    epsilon: float = 1.0,
    cap: float = 0.0,
    exceptions: int = 0,
    late: int = 0,
    damping: float = 1.0,
) -> float:
    r"""How far the sum of miss - alpha can be from 0 when any bounded radius predictor is corrected.

    The radius is :math:`r_t = \max(0, b_t + c_t (x_t + y_t))` with base radii :math:`b_t \in [0, B]`, scales
    :math:`c_t \ge c > 0`, any :math:`|y_t| \le C`, and :math:`x_t` from an odd magnitude learner with discount 1 that
    is fed :math:`g_t = \alpha_t - 1[r_t \le s_t]`, for scores :math:`s_t \in [0, D]`.

    Proof. Let s be minus the sum of the clipped gradients, and X the larger of max(D, B) / c + C and epsilon / 5. If
    :math:`x_t > X`, then :math:`r_t > c_t \max(D, B) / c \ge s_t`: the round is covered and s does not rise. If
    :math:`x_t < -X`, then :math:`b_t + c_t (x_t + y_t) < B - c_t B / c \le 0`, so that :math:`r_t = 0 \le s_t`: the
    round is missed and s does not fall. So s leaves the interval in which :math:`|x_t| \le X` by one step at most, of
    length h or less. What the learner plays at a given s >= 4 h falls as v and h grow, and below that it plays less
    than epsilon / 5, so that the interval at the end contains those before. (With :math:`E = v + 2hs + 16h^2` and
    :math:`z = s / (2\sqrt E)` its rule f has :math:`\partial f / \partial s = \varepsilon e^{z^2} E^{-1/2}
    [(1 - hs/E)^2 / 2 + h^2 / E] > 0` and :math:`\partial f / \partial E = \varepsilon e^{z^2} E^{-3/2}
    [2h - s + h s^2 / E] / 4 \le 0` for s >= 4 h.) Clipping withholds at most h in total.
    Hence the bound: the largest s at which the rule plays at most X, plus 2 h. It is
    :math:`O(\sqrt{V \log(1 + X / \varepsilon)})` for large V.

    If the radius is limited to a multiple of the largest score so far, then a round with :math:`x_t > X` may be missed
    when the score is a new record by that multiple. Each of these exceptions adds h; with the multiple 2 there are at
    most :math:`\log_2` of D over the first score that is not 0.

    Late labels. Let at most d other labels be learned between a prediction and its label, in any order, and let
    :math:`b_t`, :math:`c_t`, :math:`x_t` and the record be those at the prediction. Take the last prediction that was
    made while s was in the interval. Every later one has :math:`|x_t| > X`, so that its label moves s back. Of the
    labels of this prediction and of earlier ones, at most d + 1 are learned after it: between the prediction of the
    last of them and its label all the others are learned. Each moves s by h at most, so d h is added. The learner may
    play by larger v and h than it has: at a given s >= 4 h it then plays less, and the interval for the largest that it
    used contains all.

    Args:
        variance: v of the learner, the sum of its squared clipped gradients.
        hint: h, its largest gradient.
        largest: max(D, B).
        scale: c.
        epsilon: of the learner.
        cap: C.
        exceptions: how many rounds broke a record by the limit of the radius.
        late: d.
        damping: how many times larger than h the learner took gradients for, at most; at least 1.

    >>> round(calibration_bound(90.0, 0.9, largest=5.0, scale=1.0, cap=10.0), 1)
    60.9
    >>> round(calibration_bound(9000.0, 0.9, largest=5.0, scale=1.0, cap=10.0), 1)
    392.4
    """
    v, h = as_number("variance", variance), as_number("hint", hint)
    reach, c = as_number("largest", largest), as_number("scale", scale)
    eps = as_number("epsilon", epsilon, strict=True)
    wanted = as_number("cap", cap)
    if h == 0.0:
        return 0.0
    wanted += reach / c if c > 0.0 else math.inf
    wanted = max(wanted, eps / 5.0)
    if wanted > LARGEST * min(1.0, eps):
        return math.inf
    most = largest_sum(v, h * as_number("damping", damping), wanted, eps)
    return most + (2.0 + as_number("exceptions", exceptions) + as_number("late", late)) * h


def largest_sum(v: float, h: float, wanted: float, epsilon: float) -> float:
    """Return the largest s at which the learner plays at most ``wanted``, rounded up."""
    low, high = 0.0, h
    while played(v, high, h, epsilon) <= wanted:
        low, high = high, 2.0 * high
    while high - low > RELATIVE * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if played(v, middle, h, epsilon) <= wanted else (low, middle)
    return high


def played(v: float, s: float, h: float, epsilon: float) -> float:
    """What the learner plays."""
    return float(prediction_rule(v, s, h, epsilon))
