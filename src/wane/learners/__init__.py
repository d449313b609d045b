"""Online convex optimisation: ``predict() -> x``, ``update(gradient, discount)``."""

from wane.learners.adagrad import AdaGrad
from wane.learners.adaptive import AdaptiveLearner
from wane.learners.base import Learner, load
from wane.learners.centered import Centered
from wane.learners.coin_betting import CoinBetting
from wane.learners.constrained import Constrained
from wane.learners.exponential import ExponentialPotential
from wane.learners.ftrl import FTRL
from wane.learners.gradient_descent import GradientDescent
from wane.learners.hedge import DiscountHedge
from wane.learners.linear_ftrl import LinearFTRL
from wane.learners.magnitude import MagnitudeLearner
from wane.learners.multiscale import MultiscaleLearner
from wane.learners.odd import OddMagnitudeLearner
from wane.learners.regularized import RegularizedGradientDescent
from wane.learners.rescaled import Rescaled
from wane.learners.simplified import SimplifiedMagnitudeLearner
from wane.learners.strongly_adaptive import StronglyAdaptive
from wane.learners.trac import TracLearner

__all__ = [
    "FTRL",
    "AdaGrad",
    "AdaptiveLearner",
    "Centered",
    "CoinBetting",
    "Constrained",
    "DiscountHedge",
    "ExponentialPotential",
    "GradientDescent",
    "Learner",
    "LinearFTRL",
    "MagnitudeLearner",
    "MultiscaleLearner",
    "OddMagnitudeLearner",
    "RegularizedGradientDescent",
    "Rescaled",
    "SimplifiedMagnitudeLearner",
    "StronglyAdaptive",
    "TracLearner",
    "load",
]
