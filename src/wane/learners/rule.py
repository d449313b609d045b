# cython: cdivision=True
"""The prediction rule of Algorithms 1 and 2, Eq. (discounted_prediction_rule), in units where it cannot fail.

With a = s/h, b = v/h^2, E = b + 2a + 16 and z = a / (2 sqrt E) the paper's rule is

    prediction / epsilon = erfi(z) - exp(z^2) / sqrt(E) = exp(z^2) (Dawson(z) - 1 / sqrt(E)),

and the second form has no difference of two infinities.
"""

import math

from wane.special import dawson

CAP = 1e150  # a prediction never exceeds CAP * epsilon: beyond it floats would soon end, and no comparator lies there
STEEP = 400.0  # exp(400) is 5e173: past it every prediction is above the cap


def erfi_rule(a: float, b: float) -> float:
    """The unprojected prediction over epsilon, from a = s/h >= 0 and b = v/h^2; at most 1e150.

    >>> erfi_rule(0.0, 0.0)
    -0.25
    >>> round(erfi_rule(100.0, 100.0), 6)
    371.677189
    """
    root = math.sqrt(b + 2.0 * a + 16.0)
    z = 0.5 * a / root
    if z * z > STEEP:
        return CAP
    return min(math.exp(z * z) * (dawson(z) - 1.0 / root), CAP)


def capped_exp(x: float, factor: float = 1.0) -> float:
    """factor * exp(x), at most 1e150.

    >>> capped_exp(0.0, 2.0), capped_exp(1e9)
    (2.0, 1e+150)
    """
    return min(factor * math.exp(min(x, STEEP)), CAP)


def simple_erfi_rule(a: float, b: float) -> float:
    """erfi(s / (2 sqrt v)) from a = s/h and b = v/h^2: the rule of Algorithm 5, within +-1e150, and 0 where v = 0.

    >>> simple_erfi_rule(2.0, 1.0)
    1.4626517459071815
    """
    if b == 0.0:
        return 0.0
    z = 0.5 * a / math.sqrt(b)
    if z * z > STEEP:
        return CAP if z > 0.0 else -CAP
    return min(max(math.exp(z * z) * dawson(z), -CAP), CAP)


def rule_of_misses(alpha: float, rounds: float, misses: float) -> float:
    """The prediction of an odd learner with epsilon 1 whose gradients were alpha - 1 for a miss and alpha else.

    Its hint is max(alpha, 1 - alpha) from the beginning, so nothing is clipped and two counts hold its state.

    >>> rule_of_misses(0.1, 100.0, 10.0), rule_of_misses(0.1, 100.0, 40.0) > 1.0
    (0.0, True)
    """
    hint = max(alpha, 1.0 - alpha)
    total = (misses - alpha * rounds) / hint
    if abs(total) <= 2.0:
        return 0.0  # the rule is not positive yet, because Dawson(z) <= z
    squares = (misses * (1.0 - alpha) * (1.0 - alpha) + (rounds - misses) * alpha * alpha) / (hint * hint)
    x = max(erfi_rule(abs(total), squares), 0.0)
    return x if total > 0.0 else -x
