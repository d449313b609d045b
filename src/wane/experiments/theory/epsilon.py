"""An epsilon that is too small costs a logarithm; a learning rate that is too small costs its factor."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from wane import learners
from wane.experiments.figures import COLOURS, DASHES
from wane.experiments.results import Finding
from wane.experiments.theory.games import chase, columns, slope, where

OURS, THEIRS = "Algorithm 1, epsilon", "gradient descent, rate"


def run(seed: int = 0, quick: bool = False) -> Finding:
    """Chase a noisy target at 1 for 1 / (1 - discount) rounds with parameters from far too small to far too large."""
    discount, games, steps = (0.999, 1, 9) if quick else (0.9997, 2, 17)
    rounds = round(1.0 / (1.0 - discount))
    factors = np.geomspace(1e-4, 1e4, steps)
    natural = float(np.sqrt(1.0 - discount * discount))  # the rate of Theorem "ogd" for D = G = 1
    rng = np.random.default_rng(seed)
    worlds = 1.0 + rng.normal(scale=0.3, size=(games, rounds))
    rows = []
    for name, unit, make in (
        (OURS, 1.0, lambda p: learners.MagnitudeLearner(p, discount)),
        (THEIRS, natural, lambda p: learners.GradientDescent(p, discount)),
    ):
        regrets = np.array(
            [np.mean([chase(make(unit * f), world).regret(1.0) for world in worlds]) for f in factors.tolist()]
        )
        best = int(regrets.argmin())
        rows += [
            (name, unit * f, f / factors[best], r, r / regrets[best]) for f, r in zip(factors, regrets, strict=True)
        ]
    data = columns("learner parameter parameter_over_best regret regret_over_best", rows)
    ours, theirs = where(data, learner=OURS), where(data, learner=THEIRS)
    added = np.diff([cost(ours, 10.0**-k) for k in range(5)])
    numbers = {
        "added_by_each_decade_below": added,
        "rounds": rounds,
        "discount": discount,
        "never_moving": float((1.0 - discount**rounds) / (1.0 - discount)) / theirs["regret"].min(),
        "best": {OURS: ours["regret"].min(), THEIRS: theirs["regret"].min()},
        "slopes": {OURS: slopes(ours), THEIRS: slopes(theirs)},
        "cost_of_the_smallest": {OURS: ours["regret_over_best"][0], THEIRS: theirs["regret_over_best"][0]},
        "cost_of_the_largest": {OURS: ours["regret_over_best"][-1], THEIRS: theirs["regret_over_best"][-1]},
        "cost_of_a_hundredth": {OURS: cost(ours, 0.01), THEIRS: cost(theirs, 0.01)},
    }
    sentence = (
        f"An epsilon 100 times below the best multiplies the regret by {cost(ours, 0.01):.1f} and one 10,000 times "
        f"below by {cost(ours, 1e-4):.1f}, each decade adding {added.min():.1f} to {added.max():.1f} times the best "
        "regret, as a logarithm does; a learning rate 100 times below the best multiplies it by "
        f"{cost(theirs, 0.01):.0f} (exponent {slopes(theirs)['below']:.2f}; never moving at all: "
        f"{numbers['never_moving']:.0f}). Far above the best both pay in proportion (exponents "
        f"{slopes(ours)['above']:.2f} and {slopes(theirs)['above']:.2f}), as the theorem's term in epsilon says: guess "
        "low."
    )
    return Finding("epsilon", sentence, numbers, data, partial(draw, data))


def slopes(found: dict[str, np.ndarray]) -> dict[str, float]:
    """Exponents of the regret in the parameter: up to two decades below the best, and two decades and more above it."""
    p, r = found["parameter_over_best"], found["regret"]
    below, above = (p >= 0.0099) & (p <= 1.0), p >= 99.0
    return {"below": slope(p[below], r[below]), "above": slope(p[above], r[above])}


def cost(found: dict[str, np.ndarray], factor: float) -> float:
    """The regret over the best one at a multiple of the best parameter."""
    x, y = np.log(found["parameter_over_best"]), np.log(found["regret_over_best"])
    return float(np.exp(np.interp(np.log(factor), x, y)))


def draw(data: dict[str, np.ndarray], figure: Any) -> None:
    """Regret over the best regret, against parameter over the best parameter."""
    axes = figure.subplots()
    for name, label, colour, dash, marker in (
        (OURS, r"Algorithm 1, $\varepsilon$", COLOURS[0], DASHES[0], "o"),
        (THEIRS, r"gradient descent, rate $\eta$", COLOURS[1], DASHES[1], "s"),
    ):
        chosen = where(data, learner=name)
        axes.loglog(
            chosen["parameter_over_best"],
            chosen["regret_over_best"],
            color=colour,
            ls=dash,
            marker=marker,
            ms=3,
            label=label,
        )
    axes.set(xlabel="parameter / best parameter", ylabel="regret / best regret", title="What a wrong parameter costs")
    axes.legend(loc="upper left")
