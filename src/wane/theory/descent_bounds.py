"""What gradient descent promises, by its rate: the schedules of the paper, AdaGrad, and any constant rate.

Reference: Zhang, Bombara, Yang, "Discounted Adaptive Online Learning: Towards Better Regularization", Theorems "ogd"
and "adagrad". The notation is that of ``wane.theory.bounds``: w_t is the weight of round t at the end of the game.
"""

from __future__ import annotations

import math

from wane.errors import InputError
from wane.theory.arguments import as_number, as_rounds


def ogd_bound(diameter: float, lipschitz: float, horizon: float) -> float:
    """Regret bound of gradient descent with the rate D / (G sqrt(H_t)).

    3/2 D G sqrt(H_T).

    Args:
        diameter: D, of the domain.
        lipschitz: G, a bound on every gradient's norm.
        horizon: H_T, the effective horizon (`statistics(...).H[-1]`).

    Returns:
        The bound, for every comparator in the domain.

    >>> ogd_bound(diameter=2.0, lipschitz=1.0, horizon=4.0)
    6.0

    Reference: Theorem "ogd", first part.
    """
    d, g = as_number("diameter", diameter), as_number("lipschitz", lipschitz)
    return 1.5 * d * g * math.sqrt(as_number("horizon", horizon))


def constant_ogd_bound(diameter: float, lipschitz: float, discount: float, rounds: int | None = None) -> float:
    """Regret bound of gradient descent with the constant rate D sqrt(1 - lambda^2) / G.

    3/2 D G / sqrt(1 - lambda^2), at any length of the game (the proof of this part never uses the length). From T >=
    1 / (2 (1 - lambda)) on it is at most 3 / (2 sqrt(1 - 1/e)) D G sqrt(H_T), the form returned for given `rounds`.

    Args:
        diameter: D, of the domain.
        lipschitz: G, a bound on every gradient's norm.
        discount: lambda, the same in every round, in [0, 1).
        rounds: T; None for the first form.

    Returns:
        The bound, for every comparator in the domain.

    >>> round(constant_ogd_bound(diameter=2.0, lipschitz=1.0, discount=0.6), 12)
    3.75

    Reference: Theorem "ogd", second part.
    """
    d, g = as_number("diameter", diameter), as_number("lipschitz", lipschitz)
    rate = as_number("discount", discount)
    if rate >= 1.0:
        cure = "use ogd_bound for other discounts"
        raise InputError(f"is {rate}; wanted 0 <= discount < 1", about="discount", cure=cure)
    if rounds is None:
        return 1.5 * d * g / math.sqrt((1.0 - rate) * (1.0 + rate))
    t = as_rounds("rounds", rounds)
    if t < 0.5 / (1.0 - rate):
        raise InputError(
            f"is {t}, too few for discount {rate}; wanted at least {0.5 / (1.0 - rate):g} = 1 / (2 (1 - discount))",
            about="rounds",
            cure="leave rounds out for the form that holds at any length",
        )
    horizon = (1.0 - rate ** (2 * t)) / ((1.0 - rate) * (1.0 + rate))
    return 1.5 / math.sqrt(1.0 - math.exp(-1.0)) * d * g * math.sqrt(horizon)


def ogd_rate_bound(
    rate: float, diameter: float, lipschitz: float, discount: float = 1.0, rounds: int | None = None
) -> float:
    """Regret bound of gradient descent with any constant rate: a wrong rate costs in proportion.

    D^2 / (2 eta) + eta G^2 N / 2, where N = sum_t lambda^(T - t), which is at most 1 / (1 - lambda). The bound is
    polynomial in eta and in 1 / eta, where that of `base_bound` is logarithmic in 1 / epsilon.

    Proof. The one-step lemma of gradient descent, <g_t, x_t - u> <= (|x_t - u|^2 - |x_{t+1} - u|^2) / (2 eta) +
    eta |g_t|^2 / 2, weighted by w_t and summed. As w_{t-1} <= w_t, the first part is at most
    sum_t (w_t - w_{t-1}) D^2 / (2 eta) <= D^2 / (2 eta), and the second at most eta G^2 N / 2. At eta =
    D sqrt(1 - lambda^2) / G both together are at most 3/2 D G / sqrt(1 - lambda^2): `constant_ogd_bound`.

    Args:
        rate: eta > 0.
        diameter: D, of the domain.
        lipschitz: G, a bound on every gradient's norm.
        discount: lambda, the same in every round, in [0, 1].
        rounds: T; None for the form that holds at any length, which needs a discount below 1.

    Returns:
        The bound, for every comparator in the domain.

    >>> [ogd_rate_bound(rate, diameter=1.0, lipschitz=1.0, rounds=100) for rate in (0.01, 0.1, 1.0)]
    [50.5, 10.0, 50.5]

    Reference: the second item after Theorem "base", and Appendix B.1.
    """
    eta, d, g = as_number("rate", rate, strict=True), as_number("diameter", diameter), as_number("lipschitz", lipschitz)
    kept = as_number("discount", discount)
    if kept > 1.0 or (kept == 1.0 and rounds is None):
        cure = "give rounds" if kept == 1.0 else "use ogd_bound for other discounts"
        raise InputError(f"is {kept}; wanted at most 1, and below 1 without rounds", about="discount", cure=cure)
    T = math.inf if rounds is None else as_rounds("rounds", rounds)
    total = T if kept == 1.0 else (1.0 - kept**T) / (1.0 - kept)
    return d * d / (2.0 * eta) + eta * g * g * total / 2.0


def adagrad_bound(diameter: float, variance: float) -> float:
    """Regret bound of gradient descent with the rate D / sqrt(V_t).

    3/2 D sqrt(V_T). A zero gradient at V_t = 0 makes no step.

    Proof, for every discount a_t >= 0. Let r_t = 1 / eta_t = sqrt(V_t) / D, so r_t >= a_t r_{t-1}. The one-step lemma
    of gradient descent, <g_t, x_t - u> <= r_t (|x_t - u|^2 - |x_{t+1} - u|^2) / 2 + |g_t|^2 / (2 r_t), weighted by
    w_t and summed with w_{t-1} = a_t w_t, gives at most sum_t w_t (r_t - a_t r_{t-1}) D^2 / 2 + sum_t w_t |g_t|^2 /
    (2 r_t). The first sum telescopes to r_T D^2 / 2 = D sqrt(V_T) / 2. In the second, |g_t|^2 = V_t - a_t^2 V_{t-1}
    <= 2 sqrt(V_t) (sqrt(V_t) - a_t sqrt(V_{t-1})), which telescopes to D sqrt(V_T). A discount of 0 starts the same
    sums anew from wherever x_t is.

    Args:
        diameter: D, of the domain.
        variance: V_T, the discounted gradient variance (`statistics(...).V[-1]`).

    Returns:
        The bound, for every comparator in the domain.

    >>> adagrad_bound(diameter=2.0, variance=9.0)
    9.0

    Reference: Theorem "adagrad".
    """
    return 1.5 * as_number("diameter", diameter) * math.sqrt(as_number("variance", variance))
