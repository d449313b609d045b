"""The methods that are a learner on the losses of a radius: the paper's, scale-free descent, and betting."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from wane.checks import described, one_of, positive
from wane.domains import Nonnegative
from wane.errors import InputError
from wane.learners.adagrad import AdaGrad
from wane.learners.base import Learner
from wane.learners.coin_betting import CoinBetting
from wane.learners.odd import OddMagnitudeLearner
from wane.learners.simplified import SimplifiedMagnitudeLearner
from wane.trackers.base import DOMAINS
from wane.trackers.loss_tracker import LossTracker
from wane.trackers.losses import Loss, Pinball, SkewedQuadratic, UserLoss
from wane.trackers.registry import NEEDED, register


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
    largest = positive("max_score", max_score)
    learner = AdaGrad(
        largest / math.sqrt(3.0), domain=None if one_of("domain", domain, DOMAINS) == "real" else Nonnegative()
    )
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
