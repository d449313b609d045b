"""Why gradient descent with the oracle rate |u| / sqrt(V_t) fails without a domain, and FTRL does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wane import learners
from wane.experiments.figures import COLOURS, DASHES
from wane.experiments.results import Finding
from wane.experiments.theory.games import columns, listen, signs, slope, where

SIZE = 1.0  # |u|, which the oracle tells
VARYING, CONSTANT = "gradient descent, rate |u| / sqrt(V_t)", "gradient descent, rate |u| / sqrt(T)"
REGULARIZED, ALGORITHM_1, ALGORITHM_3 = "FTRL, rate |u| / sqrt(V_t)", "Algorithm 1", "Algorithm 3"


def run(seed: int = 0, quick: bool = False) -> Finding:
    """Worst regret over games whose gradients, all of size 1, turn round once, and games of random signs."""
    lengths = [2**k for k in range(4, 8 if quick else 10)]
    fractions = np.linspace(0.0, 1.0, 17 if quick else 65)
    tosses = 8 if quick else 64
    rows = []
    for rounds in lengths:
        turning = [np.where(np.arange(rounds) < f * rounds, -1.0, 1.0) for f in fractions]
        random = [signs(rounds, np.random.default_rng([seed, rounds, k])) for k in range(tosses)]
        for name, make in players(rounds).items():
            turned = [regret(make(), g) for g in turning]
            tossed = [regret(make(), g) for g in random]
            worst = max(*turned, *tossed)
            rows.append((name, rounds, worst, worst / (SIZE * math.sqrt(rounds)), fractions[int(np.argmax(turned))]))
    data = columns("learner rounds worst_regret over_optimal_rate worst_turn", rows)
    exponents = {
        str(n): slope(where(data, learner=n)["rounds"], where(data, learner=n)["worst_regret"])
        for n in dict.fromkeys(data["learner"])
    }
    last = {name: float(where(data, learner=name)["over_optimal_rate"][-1]) for name in exponents}
    tame = max(last[name] for name in last if name != VARYING)
    numbers = {
        "exponents": exponents,
        "over_optimal_rate_in_the_longest_game": last,
        "worst_turn": float(where(data, learner=VARYING)["worst_turn"][-1]),
    }
    sentence = (
        "Without a domain, gradient descent with the oracle rate |u| / sqrt(V_t) has a worst regret that grows with "
        f"the power {exponents[VARYING]:.2f} of T, where |u| sqrt(V_T) grows with 0.5: {last[VARYING]:.0f} times as "
        f"much after {lengths[-1]} rounds, if all gradients agree and then reverse at {numbers['worst_turn']:.2f} T. A "
        "constant oracle rate, FTRL with the same varying rate, and Algorithms 1 and 3, which need no oracle, stay "
        f"within {tame:.1f} times |u| sqrt(V_T)."
    )
    return Finding("ogd_failure", sentence, numbers, data, partial(draw, data))


def players(rounds: int) -> dict[str, Callable[[], Any]]:
    """The oracle's gradient descent, and what it is compared with."""
    return {
        VARYING: partial(learners.AdaGrad, SIZE),  # with no domain, the "diameter" is just the factor of the rate
        CONSTANT: partial(learners.GradientDescent, SIZE / math.sqrt(rounds)),
        REGULARIZED: partial(learners.FTRL, scaled_sum),
        ALGORITHM_1: partial(learners.MagnitudeLearner, SIZE),
        ALGORITHM_3: partial(learners.AdaptiveLearner, 1, SIZE),
    }


def scaled_sum(s: Any, v: float, h: float) -> Any:
    """The prediction function |u| s / sqrt(v): every step taken with the newest rate, from the origin."""
    return SIZE * s / math.sqrt(v) if v > 0.0 else 0.0 * s


def regret(learner: Any, gradients: np.ndarray) -> float:
    """The larger regret against u and -u; against u and 0 for a learner on [0, inf)."""
    total = float(gradients.sum())
    against = max(-total, 0.0) if isinstance(learner, learners.MagnitudeLearner) else abs(total)
    return math.fsum(gradients * listen(learner, gradients)) + SIZE * against


def draw(data: dict[str, np.ndarray], figure: Any) -> None:
    """Worst regret in units of the optimal rate."""
    axes = figure.subplots()
    labels = {
        VARYING: r"gradient descent, oracle rate $|u|/\sqrt{V_t}$",
        CONSTANT: r"gradient descent, oracle rate $|u|/\sqrt{T}$",
        REGULARIZED: r"FTRL, oracle rate $|u|/\sqrt{V_t}$",
    }
    colours = (COLOURS[1], COLOURS[4], COLOURS[2], COLOURS[0], COLOURS[3])
    for name, colour, dash, marker in zip(dict.fromkeys(data["learner"]), colours, DASHES, "s^vod", strict=False):
        found = where(data, learner=name)
        axes.loglog(
            found["rounds"],
            found["over_optimal_rate"],
            color=colour,
            ls=dash,
            marker=marker,
            ms=4,
            label=labels.get(name, name),
        )
    axes.set(
        xlabel="rounds T", ylabel=r"worst regret / ($|u|\sqrt{V_T}$)", title="An oracle does not save gradient descent"
    )
    axes.set_xticks(np.unique(data["rounds"]), [f"{n}" for n in np.unique(data["rounds"])])
    axes.minorticks_off()
    axes.legend(loc="upper left")
