"""What a universal portfolio that bets on misses promises: coverage from wealth that cannot become negative.

Reference: the method is after arXiv 2602.03168; statement and proof are this package's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.special import betaln

from wane.checks import positive, share, whole
from wane.theory.arguments import as_number
from wane.theory.calibration import LARGEST


def log_wealth(misses: float, covers: float, alpha: float, prior: float) -> float:
    """The logarithm of the wealth after so many misses and covers: Cover's mixture, in closed form.

    log B(m + a, n + b) - log B(a, b) - m log(alpha) - n log(1 - alpha), with a = prior * alpha, b = prior * (1 -
    alpha).

    >>> round(log_wealth(3, 27, 0.1, prior=10.0), 3)     # at the right rate nothing is won
    -0.754
    """
    a, b = prior * alpha, prior * (1.0 - alpha)
    won = betaln(misses + a, covers + b) - betaln(a, b)
    return float(won - misses * math.log(alpha) - covers * math.log1p(-alpha))


def portfolio_bet(misses: float, covers: float, alpha: float, epsilon: float = 1.0, prior: float = 10.0) -> float:
    """What the portfolio bets after so many misses and covers: epsilon W (p - alpha) / (alpha (1 - alpha)).

    p = (misses + prior * alpha) / (misses + covers + prior). It rises with misses, and falls with covers while it is
    positive.

    >>> portfolio_bet(1, 9, 0.1), portfolio_bet(5, 5, 0.1) > portfolio_bet(4, 6, 0.1) > 0.0 > portfolio_bet(0, 9, 0.1)
    (0.0, True)
    """
    alpha, epsilon, prior = share("alpha", alpha), as_number("epsilon", epsilon, strict=True), positive("prior", prior)
    misses, covers = as_number("misses", misses), as_number("covers", covers)
    edge = (misses + prior * alpha) / (misses + covers + prior) - alpha
    if abs(edge) < 1e-15:  # at the right rate, up to rounding
        return 0.0
    return epsilon * math.exp(min(log_wealth(misses, covers, alpha, prior), 700.0)) * edge / (alpha * (1.0 - alpha))


def portfolio_bounds(
    alpha: float,
    rounds: int,
    reach: float,
    drop: float = 0.0,
    epsilon: float = 1.0,
    prior: float = 10.0,
    delay: int = 0,
) -> tuple[float, float]:
    r"""Both bounds on misses - alpha * rounds when a universal portfolio bets the radius, or a correction of it.

    Every bet above ``reach`` (X+) covers its round, and every bet below -``drop`` (X-) misses it. For the tracker
    ``portfolio`` X+ is the largest score and X- is 0; for a correction of base radii in [0, B] in units of at least c
    they are max(D, B) / c and B / c.

    With at most d labels outstanding when a bet is made, and q(m, n) the bet after m misses and n covers:
    q(m - 1 - d, n) <= X+ if m > d, and q(m, n - 1 - d) >= -X- if n > d.

    Proof. Take the last missed label that was learned, and the moment at which its bet was made. At most d of the
    labels learned since then come from earlier bets, so the counts then were m' >= m - 1 - d misses and n' <= n covers,
    and q(m', n') <= X+ because the bet was missed. The bet rises with misses; while it is positive it falls with
    covers, and where it is not positive the claim is trivial. Hence q(m - 1 - d, n) <= X+. The other side is the mirror
    image.

    Args:
        alpha: the share of misses, the same in all rounds; ties are misses.
        rounds: N = m + n, the labels learned.
        reach: X+ >= 0.
        drop: X- >= 0.
        epsilon: the initial wealth.
        prior: kappa, of the Beta law with parameters kappa alpha and kappa (1 - alpha).
        delay: d.

    Returns:
        The lower and the upper bound; infinite where X is beyond 1e149 epsilon, at which bets are cut.

    >>> tuple(round(x, 1) for x in portfolio_bounds(0.1, 1000, reach=5.0))
    (0.0, 32.0)
    >>> tuple(round(x, 1) for x in portfolio_bounds(0.1, 1000, reach=5.0, delay=10))
    (-1.0, 41.0)
    """
    a, N = share("alpha", alpha), whole("rounds", rounds, 0)
    high, low = as_number("reach", reach), as_number("drop", drop)
    eps, kappa = as_number("epsilon", epsilon, strict=True), positive("prior", prior)
    d = whole("delay", delay, 0)
    if max(high, low) >= 0.1 * LARGEST * eps:
        return -math.inf, math.inf

    def possible(m: int) -> bool:
        """Whether so many misses are not too many."""
        return m <= d or portfolio_bet(m - 1 - d, N - m, a, eps, kappa) <= high

    def enough(m: int) -> bool:
        """Whether so many misses are not too few."""
        n = N - m
        return n <= d or portfolio_bet(m, n - 1 - d, a, eps, kappa) >= -low

    most = _last(possible, min(math.floor(a * N), N), N)
    least = N - _last(lambda n: enough(N - n), min(math.floor((1.0 - a) * N), N), N)
    return least - a * N, most - a * N


def _last(holds: Callable[[int], bool], start: int, end: int) -> int:
    """The last whole number in [start, end] for which something holds, which holds up to there and not beyond."""
    low, high = start, end + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
