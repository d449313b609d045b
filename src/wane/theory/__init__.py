"""Discounted online learning on paper: regret, statistics, bounds, adversaries and the game itself.

Reference: Zhang, Bombara, Yang, "Discounted Adaptive Online Learning: Towards Better Regularization".
`discounts[t]` (t from 0) arrives with round t and ages everything before it (the paper's lambda_{t-1}).
"""

from wane.theory.adversary import RandomSigns
from wane.theory.bounds import base_bound, base_undiscounted_bound, lower_bound, main_bound
from wane.theory.calibration import calibration_bound
from wane.theory.coverage import (
    OcpBound,
    coverage_bound,
    forgetting_bound,
    late_coverage_bounds,
    nested_coverage_bounds,
    ocp_main_bound,
    target_rate_bound,
    target_rate_rounds,
)
from wane.theory.descent_bounds import adagrad_bound, constant_ogd_bound, ogd_bound, ogd_rate_bound
from wane.theory.drift import DriftingTarget, best_fixed
from wane.theory.game import play
from wane.theory.game_record import Record
from wane.theory.groups import (
    FibonacciAdversary,
    group_bounds,
    group_certificate,
    group_reach,
    portfolio_group_bounds,
)
from wane.theory.intervals import covering, interval_regrets_to_discounted, strongly_adaptive_bound
from wane.theory.losses import Absolute, Linear, Quadratic
from wane.theory.multiscale import change_of_discount, multiscale_bound, odd_bound
from wane.theory.pool import pool_bound
from wane.theory.portfolio import portfolio_bet, portfolio_bounds
from wane.theory.potentials import potential, prediction_rule
from wane.theory.regret import (
    IntervalRegret,
    discounted_regret,
    discounted_regret_path,
    dynamic_regret,
    strongly_adaptive_regret,
    weighted_average_loss,
    weighted_average_loss_bound,
    weights,
)
from wane.theory.summaries import Statistics, statistics

__all__ = [
    "Absolute",
    "DriftingTarget",
    "FibonacciAdversary",
    "IntervalRegret",
    "Linear",
    "OcpBound",
    "Quadratic",
    "RandomSigns",
    "Record",
    "Statistics",
    "adagrad_bound",
    "base_bound",
    "base_undiscounted_bound",
    "best_fixed",
    "calibration_bound",
    "change_of_discount",
    "constant_ogd_bound",
    "coverage_bound",
    "covering",
    "discounted_regret",
    "discounted_regret_path",
    "dynamic_regret",
    "forgetting_bound",
    "group_bounds",
    "group_certificate",
    "group_reach",
    "interval_regrets_to_discounted",
    "late_coverage_bounds",
    "lower_bound",
    "main_bound",
    "multiscale_bound",
    "nested_coverage_bounds",
    "ocp_main_bound",
    "odd_bound",
    "ogd_bound",
    "ogd_rate_bound",
    "play",
    "pool_bound",
    "portfolio_bet",
    "portfolio_bounds",
    "portfolio_group_bounds",
    "potential",
    "prediction_rule",
    "statistics",
    "strongly_adaptive_bound",
    "strongly_adaptive_regret",
    "target_rate_bound",
    "target_rate_rounds",
    "weighted_average_loss",
    "weighted_average_loss_bound",
    "weights",
]
