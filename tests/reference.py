"""Literal, slow references for the learners, written from the pseudocode in the paper's letters.

Nothing here imports the package under test. Everything is computed with mpmath, whose exponents are unbounded and whose
precision is an argument (`dps`, decimal digits), so v, s and h are kept unscaled, as the paper prints them, without any
guard against overflow or underflow. The only guards are the ones the algorithms themselves need: h = 0 (predict 0)
and V = 0 (AdaGrad does not move). A V that is tiny but not zero is a move of full length here, however tiny; an
implementation in floating point has to take care that it does not underflow.

Each function takes gradients and discounts of equal length, where discounts[t] is the paper's lambda_{t-1}: it arrives
together with gradient t and ages everything before it. A discount may be an mpf: a zero gradient with the discount
lambda^n is the same as n zero gradients with the discount lambda.

Each function returns a `Path`:

* `predictions`: those made before each gradient and, with `last=True`, the one after the last gradient;
* `scales`: for each prediction the size against which a rounding error is to be measured. The erfi rule is the
  difference of two terms of order eps*exp(z^2), hence near its zero crossing an error relative to the prediction itself
  means nothing;
* `tie`: the first round in which a *discontinuous* test (line 7 of Algorithm 1 at an unprojected prediction of 0, the
  domain surrogate at the boundary) is too close to call in floating point, or None. That round's prediction is still
  comparable; the later ones are not.
"""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from mpmath import mp, mpf

DPS = 60
RTOL = 1e-9
FLOOR = 1e-12  # relative to a path's scale: eps * exp(z^2) for the erfi rule
TIE = mpf(10) ** -12  # line 7: |x~| below this share of the prediction's scale
TIE_INSIDE = mpf(10) ** -9  # distance of x~ to the boundary, relative to 1 + |x~|
CAPPED = 30  # erfi of it is past every cap
TIE_OUTSIDE = mpf(10) ** -4  # the same from outside, where theta = (x~ - x)/|x~ - x| amplifies errors


@dataclass
class Path:
    predictions: list = field(default_factory=list)
    scales: list = field(default_factory=list)
    tie: int | None = None

    def add(self, prediction, scale, tie=False):
        if tie and self.tie is None:
            self.tie = len(self.predictions)
        self.predictions.append(prediction)
        self.scales.append(scale)


def rounds(gradients, discounts, last):
    """Pairs (gradient, discount) as mpf, or as a list of mpf; one more pair (None, None) when `last`."""
    for g, lam in zip(gradients, discounts, strict=True):
        yield ([mpf(float(c)) for c in g] if np.ndim(g) else mpf(float(g))), mpf(lam)
    if last:
        yield None, None


def dot(a, b):
    return mp.fsum(p * q for p, q in zip(a, b, strict=True))


def norm(a):
    return mp.sqrt(dot(a, a))


def axpy(c, a, b):
    """c*a + b"""
    return [c * p + q for p, q in zip(a, b, strict=True)]


# ---------------------------------------------------------------------------------------------------------------------
# The prediction rule
# ---------------------------------------------------------------------------------------------------------------------


def erfi(x):
    """The paper's: the integral of exp(u^2) from 0 to x."""
    return mp.sqrt(mp.pi) / 2 * mp.erfi(x)


def rule(v, s, h, eps):
    """The unprojected prediction of Algorithm 1, line 3, and its scale eps*exp(z^2)."""
    if h == 0:
        return mpf(0), mpf(0)
    e = v + 2 * h * s + 16 * h**2
    growth = mp.exp(s**2 / (4 * e))
    return eps * erfi(s / (2 * mp.sqrt(e))) - eps * h / mp.sqrt(e) * growth, eps * growth


def potential(v, s, h, eps):
    """The potential of Algorithm 2, line 1, whose derivative in s is the rule."""
    root = mp.sqrt(v + 2 * h * s + 16 * h**2)
    return eps * root * (2 * mp.quad(erfi, [0, s / (2 * root)]) - 1)


# ---------------------------------------------------------------------------------------------------------------------
# One-dimensional learners
# ---------------------------------------------------------------------------------------------------------------------


def algorithm_1(gradients, discounts, eps=1, last=False, dps=DPS):
    """The magnitude learner on [0, inf)."""
    with mp.workdps(dps):
        eps = mpf(eps)
        path = Path()
        v = s = h = mpf(0)  # line 1
        for g, lam in rounds(gradients, discounts, last):
            x_tilde, scale = rule(v, s, h, eps)  # line 3
            x = max(mpf(0), x_tilde)  # line 4
            path.add(x, scale, tie=h > 0 and abs(x_tilde) < TIE * scale)
            if g is None:
                break
            g_clip = min(max(g, -lam * h), lam * h)  # line 6
            h = max(lam * h, abs(g))
            if g_clip * x_tilde < g_clip * x:  # line 7
                g_clip = mpf(0)
            v = lam**2 * v + g_clip**2  # line 8
            s = lam * s - g_clip
        return path


def algorithm_2(gradients, eps=1, last=False, dps=DPS):
    """The undiscounted magnitude learner, typed separately; no discount appears in it."""
    with mp.workdps(dps):
        path = Path()
        variance, total, hint = mpf(0), mpf(0), mpf(0)
        for g, _ in rounds(gradients, [1] * len(gradients), last):
            if hint == 0:
                unprojected = scale = mpf(0)
            else:
                e = variance + 2 * hint * total + 16 * hint * hint
                z = total / (2 * mp.sqrt(e))
                scale = mpf(eps) * mp.exp(z * z)
                unprojected = scale * (mp.exp(-z * z) * erfi(z) - hint / mp.sqrt(e))
            projected = unprojected if unprojected > 0 else mpf(0)
            path.add(projected, scale, tie=hint > 0 and abs(unprojected) < TIE * scale)
            if g is None:
                break
            clipped = g if abs(g) <= hint else mp.sign(g) * hint
            hint = max(hint, abs(g))
            if clipped * unprojected >= clipped * projected:
                variance += clipped**2
                total -= clipped
        return path


def algorithm_5(gradients, discounts, eps=1, initial_variance=1, last=False, dps=DPS):
    """The modified magnitude learner: no hint, no clipping, v_1 > 0, which ages too. With v = 0 it predicts 0."""
    with mp.workdps(dps):
        eps = mpf(eps)
        path = Path()
        v, s = mpf(initial_variance), mpf(0)
        reach = mpf(0)  # the aged sum of |g|: s is known to a rounding error of this
        for g, lam in rounds(gradients, discounts, last):
            z = s / (2 * mp.sqrt(v)) if v > 0 else mpf(0)
            x_tilde = eps * erfi(z)
            x = max(mpf(0), x_tilde)
            path.add(x, eps * mp.exp(z**2), tie=reach > 0 and abs(s) < TIE * reach)
            if g is None:
                break
            g_tilde = mpf(0) if g * x_tilde < g * x else g
            v = lam**2 * v + g_tilde**2
            s = lam * s - g_tilde
            reach = lam * reach + abs(g_tilde)
        return path


def trac(gradients, discounts, eps=1e-8, last=False, dps=DPS):
    """The rule of Fast TRAC (arXiv 2405.16642) within 0 and the cap; before the first gradient it plays 0. No tie."""
    with mp.workdps(dps):
        eps, tiny = mpf(eps), mpf(1e-8)
        path = Path()
        v, sigma, x = mpf(0), tiny, mpf(0)
        scale = mpf(0)
        for g, beta in rounds(gradients, discounts, last):
            path.add(max(mpf(0), x), scale)
            if g is None:
                break
            v = beta**2 * v + g**2
            sigma = beta * sigma - g
            z = sigma / (mp.sqrt(2 * v) + tiny)
            z = max(-CAPPED, min(CAPPED, z))
            unit = 2 / mp.sqrt(mp.pi) * eps / mp.erfi(1 / mp.sqrt(2))
            x = unit * max(-mpf(1e150), min(mpf(1e150), erfi(z)))
            scale = eps * mp.exp(z**2)
        return path


def odd_magnitude(gradients, discounts, eps=1, last=False, dps=DPS):
    """sign(s) * max(0, rule(v, |s|, h)); clips as Algorithm 1, has no line 7 (hence no tie: it is continuous)."""
    with mp.workdps(dps):
        eps = mpf(eps)
        path = Path()
        v = s = h = mpf(0)
        for g, lam in rounds(gradients, discounts, last):
            x_tilde, scale = rule(v, abs(s), h, eps)
            path.add(mp.sign(s) * max(mpf(0), x_tilde), scale)
            if g is None:
                break
            g_clip = min(max(g, -lam * h), lam * h)
            h = max(lam * h, abs(g))
            v = lam**2 * v + g_clip**2
            s = lam * s - g_clip
        return path


# ---------------------------------------------------------------------------------------------------------------------
# Learners in d dimensions. Gradients are lists of coordinates.
# ---------------------------------------------------------------------------------------------------------------------


class Everything:
    """No constraint."""

    def project(self, x):
        return x

    def near_boundary(self, x):
        return False


class Ball:
    def __init__(self, radius, center):
        self.radius = mpf(radius)
        self.center = [mpf(float(c)) for c in center]

    def project(self, x):
        r = axpy(-1, self.center, x)
        n = norm(r)
        if n <= self.radius * (1 + 1000 * mp.eps):  # a projected point is inside, whatever its last digit says
            return x
        return axpy(self.radius / n, r, self.center)

    def near_boundary(self, x):
        outside = norm(axpy(-1, self.center, x)) - self.radius
        return -TIE_INSIDE * (1 + norm(x)) < outside < TIE_OUTSIDE * norm(x)


class Box:
    def __init__(self, lower, upper):
        self.lower = [mpf(float(c)) for c in lower]
        self.upper = [mpf(float(c)) for c in upper]

    def project(self, x):
        return [min(max(p, a), b) for p, a, b in zip(x, self.lower, self.upper, strict=True)]

    def near_boundary(self, x):
        outside = norm(axpy(-1, self.project(x), x))
        inside = min(min(p - a, b - p) for p, a, b in zip(x, self.lower, self.upper, strict=True))
        return inside < TIE_INSIDE * (1 + norm(x)) and outside < TIE_OUTSIDE * norm(x)


def algorithm_3(gradients, discounts, eps=1, center=None, domain=None, last=False, dps=DPS):
    """Polar decomposition in R^d, lambda_{t-1} throughout; with a domain, wrapped in Cutkosky's (2020) reduction."""
    with mp.workdps(dps):
        eps = mpf(eps)
        path = Path()
        d = len(gradients[0])
        domain = domain or Everything()
        origin = domain.project([mpf(0)] * d) if center is None else [mpf(float(c)) for c in center]
        v = s = h = mpf(0)  # the magnitude
        w, v_w = [mpf(0)] * d, mpf(0)  # the direction: AdaGrad on the unit ball, D = 2
        unit_ball = Ball(1, [0] * d)
        for g, lam in rounds(gradients, discounts, last):
            y_tilde, scale = rule(v, s, h, eps)  # line 5
            y = max(mpf(0), y_tilde)
            x_tilde = axpy(y, w, origin)  # line 7
            x = domain.project(x_tilde)
            tie = h > 0 and abs(y_tilde) < TIE * scale
            # y = 0 puts x~ on the centre, which belongs to the domain, if only to its boundary: no tie there.
            path.add(x, scale + y + norm(origin), tie=tie or (y > 0 and domain.near_boundary(x_tilde)))
            if g is None:
                break
            gap = axpy(-1, x, x_tilde)
            if dot(g, gap) < 0:
                theta = [c / norm(gap) for c in gap]
                g = axpy(-dot(g, theta), theta, g)
            h_next = max(lam * h, norm(g))  # line 8
            g_clip = [c * lam * h / h_next for c in g] if h_next > 0 else [mpf(0)] * d
            g_1d = dot(g_clip, w)  # line 9
            if g_1d * y_tilde < g_1d * y:  # line 7 of Algorithm 1
                g_1d = mpf(0)
            v = lam**2 * v + g_1d**2
            s = lam * s - g_1d
            v_w = lam**2 * v_w + dot(g_clip, g_clip)
            if v_w > 0:  # the first clipped gradient is 0, so V is 0 then: no move
                w = unit_ball.project(axpy(-2 / mp.sqrt(v_w), g_clip, w))
            h = h_next  # line 11
        return path


def adagrad(gradients, discounts, diameter, start=None, domain=None, last=False, dps=DPS):
    """OGD with the learning rate D / sqrt(V); V = 0: no move."""
    with mp.workdps(dps):
        path = Path()
        domain = domain or Everything()
        x = [mpf(0)] * len(gradients[0]) if start is None else [mpf(float(c)) for c in start]
        big_v, reach = mpf(0), norm(x) + mpf(diameter)
        for g, lam in rounds(gradients, discounts, last):
            path.add(x, reach)
            if g is None:
                break
            big_v = lam**2 * big_v + dot(g, g)
            if big_v > 0:
                x = domain.project(axpy(-mpf(diameter) / mp.sqrt(big_v), g, x))
            reach = max(reach, norm(x))
        return path


def gradient_descent(gradients, discounts, rate, start=None, domain=None, last=False, dps=DPS):
    """OGD. `rate` is a number, or a pair (D, G) for the rates D / (G sqrt(H_t)), H_t the effective horizon."""
    with mp.workdps(dps):
        path = Path()
        domain = domain or Everything()
        x = [mpf(0)] * len(gradients[0]) if start is None else [mpf(float(c)) for c in start]
        horizon, reach = mpf(0), norm(x)
        for g, lam in rounds(gradients, discounts, last):
            path.add(x, reach)
            if g is None:
                break
            horizon = lam**2 * horizon + 1
            eta = mpf(rate[0]) / (mpf(rate[1]) * mp.sqrt(horizon)) if isinstance(rate, tuple) else mpf(rate)
            x = domain.project(axpy(-eta, g, x))
            reach = max(reach, norm(x), eta * norm(g))
        return path


def linear_ftrl(gradients, discounts, rate=1, last=False, dps=DPS):
    """Section 2.2, prediction function c * lambda^(t-2) * x: x = c * (discounted sum of -g)."""
    with mp.workdps(dps):
        path = Path()
        s, reach = [mpf(0)] * len(gradients[0]), mpf(0)
        for g, lam in rounds(gradients, discounts, last):
            path.add([mpf(rate) * c for c in s], mpf(rate) * reach)
            if g is None:
                break
            s = axpy(lam, s, [-c for c in g])
            reach = lam * reach + norm(g)
        return path


def regularized_descent(gradients, discounts, rate=1, weight=None, last=False, dps=DPS):
    """Section 2.2, OGD on the losses <g, x> + weight/2 |x|^2; weight None: (1 - lambda)/rate, round by round."""
    with mp.workdps(dps):
        path = Path()
        x, reach = [mpf(0)] * len(gradients[0]), mpf(0)
        for g, lam in rounds(gradients, discounts, last):
            path.add(x, reach)
            if g is None:
                break
            gamma = (1 - lam) / mpf(rate) if weight is None else mpf(weight)
            # max: x - eta*gamma*x is a difference of terms of size |x|, even when next to nothing of x remains
            reach = max(norm(x), abs(1 - mpf(rate) * gamma) * reach) + mpf(rate) * norm(g)
            x = axpy(-mpf(rate) * gamma, x, axpy(-mpf(rate), g, x))
        return path


def exponential_potential(gradients, discounts, eps=1, lipschitz=1, constant=4, last=False, dps=DPS):
    """The classical potential exp(|s|^2 / (C v)) / sqrt(v), with v = 1 + the discounted sum of squares."""
    with mp.workdps(dps):
        path = Path()
        s, b, reach = [mpf(0)] * len(gradients[0]), mpf(0), mpf(0)
        for g, lam in rounds(gradients, discounts, last):
            v = 1 + b
            factor = mpf(eps) * 2 / (mpf(constant) * v ** mpf(1.5)) * mp.exp(dot(s, s) / (mpf(constant) * v))
            path.add([factor * c for c in s], factor * reach)
            if g is None:
                break
            g = [c / mpf(lipschitz) for c in g]
            s = axpy(lam, s, [-c for c in g])
            b = lam**2 * b + dot(g, g)
            reach = lam * reach + norm(g)
        return path


def coin_betting(gradients, discounts, eps=1, lipschitz=1, last=False, dps=DPS):
    """Krichevsky-Trofimov betting in terms of the log-wealth; the coin is -g / G."""
    with mp.workdps(dps):
        path = Path()
        s, n, log_wealth = [mpf(0)] * len(gradients[0]), mpf(0), mpf(0)
        for g, lam in rounds(gradients, discounts, last):
            fraction = [c / (n + 1) for c in s]
            wealth = mpf(eps) * mp.exp(log_wealth)
            path.add([wealth * c for c in fraction], wealth)
            if g is None:
                break
            coin = [-c / mpf(lipschitz) for c in g]
            log_wealth = lam * log_wealth + mp.log(1 + dot(coin, fraction))
            s = axpy(lam, s, coin)
            n = lam * n + 1
        return path


def kt_wealth(gradients, eps=1, lipschitz=1, last=False, dps=DPS):
    """The textbook form in one dimension: bet wealth * (sum of coins)/t, win coin * bet. The coin is -g / G."""
    with mp.workdps(dps):
        path = Path()
        wealth, coins, t = mpf(eps), mpf(0), 1
        for g, _ in rounds(gradients, [1] * len(gradients), last):
            bet = wealth * coins / t
            path.add(bet, wealth)
            if g is None:
                break
            coin = -g / mpf(lipschitz)
            wealth += coin * bet
            coins += coin
            t += 1
        return path


def scalars(path):
    """The path of a learner in one dimension as numbers instead of lists with one element."""
    return Path([x for (x,) in path.predictions], path.scales, path.tie)


# ---------------------------------------------------------------------------------------------------------------------
# Streams: gradients and discounts that visit the interesting regimes
# ---------------------------------------------------------------------------------------------------------------------


def unit_gradients(rng, n, dim=None):
    """Norms at most 1, a drift that changes at random (otherwise no learner ever leaves zero), some zeros."""
    width = dim or 1
    drift = np.repeat(rng.normal(size=(n // 25 + 1, width)), 25, axis=0)[:n]
    g = rng.uniform(0.2, 2.5) * drift + rng.normal(size=(n, width)) * rng.uniform(0.0, 1.0)
    g /= np.maximum(1.0, np.linalg.norm(g, axis=1))[:, None]
    g[rng.random(n) < 0.05] = 0.0
    return g[:, 0] if dim is None else g


def wild_gradients(rng, n, dim=None):
    """As `unit_gradients`, times a magnitude that changes, sometimes by 1e12 in one round."""
    kind = rng.integers(3)
    if kind == 0:
        magnitude = np.full(n, 10.0 ** rng.uniform(-12, 12))
    elif kind == 1:
        magnitude = 10.0 ** np.repeat(rng.uniform(-6, 6, size=n // 30 + 1), 30)[:n]
    else:
        magnitude = np.where(rng.random(n) < 0.03, 1e12, 1.0) * np.exp(rng.normal(size=n))
    g = unit_gradients(rng, n, dim)
    return g * (magnitude if dim is None else magnitude[:, None])


def mixed_discounts(rng, n, top=2.0, zeros=True):
    """Constant at 1 or below, or drawn anew each round: mostly near 1, some above, some small, some 0."""
    kind = rng.integers(4)
    if kind == 0:
        return np.ones(n)
    if kind == 1:
        return np.full(n, 1.0 - 10.0 ** rng.uniform(-4, -0.5))
    lam = 1.0 - rng.exponential(0.01, size=n)
    pick = rng.random(n)
    lam[pick < 0.2] = 1.0
    lam[(pick >= 0.2) & (pick < 0.3)] = rng.uniform(1.0, 1.05)
    if kind == 3:
        lam[pick > 0.96] = rng.random(np.count_nonzero(pick > 0.96))
        lam[pick > 0.98] = rng.uniform(1.0, top)
        lam[pick > 0.99] = 0.0 if zeros else 0.25
    return lam


# ---------------------------------------------------------------------------------------------------------------------
# Comparison
# ---------------------------------------------------------------------------------------------------------------------


def play(learner, gradients, discounts=None):
    """The predictions before each gradient, and the one after the last."""
    before = learner.run(np.asarray(gradients, dtype=float), discounts)
    return np.concatenate([before, [learner.predict()]])


def assert_follows(got, path, rtol=RTOL, floor=FLOOR):
    """`got` is the path up to its first tie. Returns how many predictions were compared."""
    assert len(got) == len(path.predictions)
    compared = len(got) if path.tie is None else path.tie + 1
    want = np.array(path.predictions[:compared], dtype=float)
    have = np.asarray(got[:compared], dtype=float)
    assert have.shape == want.shape
    assert np.all(np.isfinite(have))
    size = np.abs if want.ndim == 1 else partial(np.linalg.norm, axis=1)
    allowed = rtol * size(want) + floor * np.array(path.scales[:compared], dtype=float)
    error = size(have - want)
    worst = int(np.argmax(error - allowed))
    assert error[worst] <= allowed[worst], (
        f"round {worst}: got {have[worst]}, want {want[worst]}, scale {float(path.scales[worst])}"
    )
    return compared
