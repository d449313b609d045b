"""Target-rate adaptivity: rounds until the miss rate is right, against the miss rate that is wanted."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq

from wane import trackers
from wane.errors import InputError
from wane.experiments.figures import COLOURS, DASHES, GREY
from wane.experiments.results import Finding
from wane.experiments.theory.games import columns, where
from wane.learners.rule import erfi_rule

OURS, OGD, SCALE_FREE = "Algorithm 4", "gradient descent, rate D / sqrt(T)", "scale-free gradient descent, D known"
RULE = "what the prediction rule says"


def run(seed: int = 0, quick: bool = False) -> Finding:
    """Uniform scores on [0, 1]; the largest score, D = 1, is known to gradient descent only."""
    tolerance, rounds, steps = (0.01, 40_000, 16) if quick else (0.002, 600_000, 64)
    alphas = (0.5, 0.1, 0.01, 0.001) if quick else (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
    scores = np.random.default_rng(seed).random(rounds)
    rows = []
    for alpha in alphas:
        rows += [
            (OURS, alpha, settled(misses("magl", alpha, scores), alpha, tolerance)),
            (SCALE_FREE, alpha, settled(misses("sf-ogd", alpha, scores, max_score=1.0), alpha, tolerance)),
            (OGD, alpha, descent(alpha, scores, tolerance, steps)),
            (RULE, alpha, implied(alpha, tolerance)),
        ]
    data = columns("method alpha rounds", rows)
    needed = {str(m): where(data, method=m)["rounds"] for m in dict.fromkeys(data["method"])}
    fewer = needed[OGD] / needed[OURS]
    tenth = alphas.index(0.1)
    numbers = {
        "tolerance": tolerance,
        "alphas": alphas,
        "rounds_needed": needed,
        "ogd_over_ours": fewer,
        "rounds_times_tolerance_at_the_smallest_alpha": float(needed[OURS][-1] * tolerance),
    }
    sentence = (
        f"To bring the miss rate within {tolerance:g} of alpha for good, Algorithm 4 needs {needed[OURS][tenth]:,.0f} "
        f"rounds at alpha = 0.1 and {needed[OURS][-1]:,.0f} at {alphas[-1]:g}, gradient descent with the rate D / "
        f"sqrt(T) {needed[OGD][tenth]:,.0f} and {needed[OGD][-1]:,.0f}: {fewer[tenth]:.1f} and {fewer[-1]:.0f} times "
        f"as many (by the bounds, 1/alpha = 10 and {1 / alphas[-1]:,.0f}; the misses of the first rounds, about "
        f"{needed[OURS][-1] * tolerance:.0f} whatever alpha is, set a floor). On such steady scores scale-free "
        f"gradient descent, told D, is faster than both ({needed[SCALE_FREE][tenth]:,.0f})."
    )
    return Finding("target_rate", sentence, numbers, data, partial(draw, data, tolerance))


def misses(method: str, alpha: float, scores: np.ndarray, **parameters: Any) -> np.ndarray:
    """Which rounds are missed."""
    return trackers.make(method, alpha, **parameters).run(scores) <= scores


def settled(missed: np.ndarray, alpha: float, tolerance: float) -> float:
    """The first round from which on the miss rate so far stays within the tolerance.

    >>> settled(np.array([True, True, False, False, False, True, False, True]), 0.5, 0.15)
    4.0
    """
    rate = np.cumsum(missed) / np.arange(1, len(missed) + 1)
    outside = np.flatnonzero(np.abs(rate - alpha) > tolerance)
    if outside.size and outside[-1] + 1 == len(missed):
        problem = f"{len(missed)} rounds do not bring the miss rate within {tolerance} of {alpha}"
        raise InputError(problem, cure="play more")
    return float(outside[-1] + 2) if outside.size else 1.0


def descent(alpha: float, scores: np.ndarray, tolerance: float, steps: int) -> float:
    """The least T of a grid from which on games of length T, at the rate 1 / sqrt(T), end within the tolerance."""
    lengths = np.unique(np.geomspace(100, len(scores), steps).astype(int))
    ends = [
        np.mean(misses("decaying-ogd", alpha, scores[:n], rate=1.0 / math.sqrt(n), exponent=0.0))
        for n in lengths.tolist()
    ]
    outside = np.flatnonzero(np.abs(np.array(ends) - alpha) > tolerance)
    if outside.size and outside[-1] + 1 == len(lengths):
        problem = f"{len(scores)} rounds do not bring gradient descent within {tolerance} of {alpha}"
        raise InputError(problem, cure="play more")
    return float(lengths[outside[-1] + 1]) if outside.size else float(lengths[0])


def implied(alpha: float, tolerance: float) -> float:
    """The T at which the sum of gradients that the (1 - alpha) quantile needs is tolerance * T.

    Gradients are alpha - 1 in a share alpha of the rounds and alpha in the others: h is 1 - alpha, v is alpha h T.
    """

    def excess(log_rounds: float) -> float:
        rounds = math.exp(log_rounds)
        h = 1.0 - alpha
        return erfi_rule(tolerance * rounds / h, alpha * rounds / h) - (1.0 - alpha)

    return math.exp(brentq(excess, 0.0, math.log(1e12)))


def draw(data: dict[str, np.ndarray], tolerance: float, figure: Any) -> None:
    """Rounds against alpha, and the two rates of the paper."""
    axes = figure.subplots()
    for name, colour, dash, marker in (
        (OGD, COLOURS[1], DASHES[1], "s"),
        (OURS, COLOURS[0], DASHES[0], "o"),
        (RULE, COLOURS[6], DASHES[3], ""),
        (SCALE_FREE, COLOURS[2], DASHES[2], "^"),
    ):
        found = where(data, method=name)
        axes.loglog(found["alpha"], found["rounds"], color=colour, ls=dash, marker=marker, ms=4, label=name)
    alphas = np.unique(data["alpha"])
    for rate, text in (
        (tolerance**-2 + 0.0 * alphas, r"$\delta^{-2}$"),
        (alphas * tolerance**-2, r"$\alpha\,\delta^{-2}$"),
    ):
        axes.loglog(alphas, rate, color=GREY, lw=0.8, ls="-")
        axes.annotate(text, (alphas[-1], rate[-1]), xytext=(4, 0), textcoords="offset points", va="center", color=GREY)
    axes.set(
        xlabel=r"target miss rate $\alpha$",
        ylabel="rounds needed",
        title=rf"Until the miss rate is within $\delta$ = {tolerance:g}",
    )
    axes.set_xlim(0.8 * alphas[0], 2.4 * alphas[-1])
    axes.legend(loc="lower right", fontsize=7)
