"""Error-quantified conformal inference (Wu, Hu, Bao, Xia, Zou 2025, arXiv 2502.00818).

Verified in the authors' public code: the sigmoid with c = 1, the rate times the range of the last 100 scores (the rate
itself in the first round), ties covered, and difference 1. The update below is the one the paper is cited for; its
text was not at hand, so the paper's own choice of rates was not verified. ``wane.trackers.eci_cutoff`` and
``wane.trackers.eci_integral`` are its two variants.

Differences from the published code:

1. The authors' code adds the error term to the radius of the next round only, not to q. That is the default here,
   since it was verified and its miss rate settles at alpha; ``output_only=False`` puts the term into q, as in the
   formula below. Then the miss rate settles where err - alpha + (s - r) f'(s - r) has mean 0, which is not alpha: a
   coverage of .80 instead of .90 on absolute values of Gaussians with c = 1.
2. A miss is score >= radius; their code says score > radius (``tie="covered"``, or ``published=True``).
3. With domain "nonnegative" the radius is max(0, q); q itself is never clipped.
"""

from __future__ import annotations

import math

from wane.checks import flag, positive
from wane.trackers.range_descent import RangeDescent
from wane.trackers.registry import register


class ErrorQuantified(RangeDescent):
    r"""Gradient descent that also feels by how much the radius was wrong.

    .. math::
        q_{t+1} = q_t + \eta_t \bigl[ err_t - \alpha + (s_t - r_t) f'(s_t - r_t) \bigr], \quad f(d) = 1/(1 + e^{-c d})

    with r the radius that was played; with ``output_only`` the last term is added to the next radius only and q moves
    by the others. Discounts are ignored.

    Args:
        alpha: the share of misses.
        rate: times the range of the last ``window`` scores before the round (times 1 in the first) this is eta.
        scale: c, one over the scale of the scores.
        window: the number of scores in the range; 0 takes the rate as it is.
        output_only: whether the error term moves the next radius only, and not q.
        tie: what score = radius is, a "miss" or "covered".
        domain: "nonnegative" or "real".
        on_missing: "error" or "skip".

    >>> ErrorQuantified(0.1, rate=0.5, window=0, output_only=False).run([1.0, 1.0, 1.0]).round(4)
    array([0.    , 0.5483, 1.052 ])
    """

    parameters = ("alpha", "rate", "scale", "window", "output_only", "tie", "domain", "on_missing")

    def __init__(
        self,
        alpha: float,
        rate: float = 0.1,
        scale: float = 1.0,
        window: int = 100,
        output_only: bool = True,
        tie: str = "miss",
        domain: str = "nonnegative",
        on_missing: str = "error",
    ) -> None:
        """Start at 0."""
        super().__init__(alpha, rate, window, tie, domain, on_missing, least=0)
        self.scale = positive("scale", scale)
        self.output_only = flag("output_only", output_only)

    def _ahead(self, score, played, eta):
        term = eta * error_term(score - played, self.scale)
        if self.output_only:
            return term
        self.q = self.q + term
        return 0.0


def error_term(d, scale):
    """By how much the radius was wrong, d f'(d) with f the sigmoid of scale * d: near 0 for small and for large d.

    >>> error_term(0.0, 1.0), error_term(1.0, 1.0) == -error_term(-1.0, 1.0), error_term(1e4, 1.0)
    (0.0, True, 0.0)
    """
    e = math.exp(-scale * abs(d))
    return d * (scale * e / ((1.0 + e) * (1.0 + e))) if e > 0.0 else 0.0


register(
    "eci",
    ErrorQuantified,
    "ECI: P control that is also moved by the size of the error; ``published=True`` is the authors' code.",
    published={True: {"output_only": True, "tie": "covered"}},
    rate=0.1,
    scale=1.0,
    window=100,
    output_only=True,
    tie=None,
)
