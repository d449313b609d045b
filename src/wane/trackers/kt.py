"""Adaptive conformal inference by betting (Podkopaev, Xu, Lee 2024, arXiv 2412.19318).

Verified from public summaries of the paper: the Krichevsky-Trofimov bettor on the subgradients of the pinball loss,
which gives the long-run coverage and has no rate. Not verified: its initial wealth (taken as 1, ``epsilon``), its ties,
and the other algorithm of the paper (online Newton steps), which is not here.
"""

from __future__ import annotations

from wane.learners.coin_betting import CoinBetting
from wane.trackers.base import Tracker
from wane.trackers.loss_tracker import LossTracker
from wane.trackers.losses import Pinball
from wane.trackers.registry import register


@register("kt")
def kt(
    alpha: float,
    *,
    epsilon: float = 1.0,
    discount: float = 1.0,
    tie: str = "miss",
    domain: str = "nonnegative",
    on_missing: str = "error",
) -> Tracker:
    r"""KT betting: :math:`q_{t+1} = W_t \frac{-\sum_{i \le t} g_i}{t+1}`, with wealth :math:`W_t = W_{t-1} - g_t q_t`.

    This is ``learners.CoinBetting`` on the pinball loss. The rule has no discount; one below 1 is this library's own.

    >>> kt(0.1).run([1.0] * 4).round(4)
    array([0.    , 0.45  , 0.843 , 1.4605])
    """
    return LossTracker(CoinBetting(epsilon, 1.0, discount), Pinball(alpha, tie), domain, on_missing)
