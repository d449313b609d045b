"""The rescaling trick wants a learner without a guess of the Lipschitz constant: with one, regret grows with time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wane import learners
from wane.experiments.figures import COLOURS, DASHES, GREY
from wane.experiments.results import Finding
from wane.experiments.theory.games import chase, columns, listen, signs, where

DISCOUNT = 0.99
TEST = 300
OURS, RESCALED = "Algorithm 1", "Algorithm 2, rescaled"
CLASSICAL, UNAGED = "exponential potential, rescaled", "exponential potential, guess not aged"


def run(seed: int = 0, quick: bool = False) -> Finding:
    """Noise until some round, then a target at 1, against which the regret is measured."""
    games = 4 if quick else 12
    waits = (0, 100, 300, 1000, 3000) if quick else (0, 50, 100, 200, 300, 500, 1000, 2000, 3000, 5000, 10_000)
    rows = []
    for name, make in players().items():
        for wait in waits:
            played = range(games if wait else 1)  # without noise all games are the same
            regrets = [tested(make(), signs(wait, np.random.default_rng([seed, k]))) for k in played]
            rows.append((name, wait, float(np.mean(regrets)), float(np.std(regrets) / np.sqrt(games))))
    data = columns("learner wait regret standard_error", rows)
    path = {str(name): where(data, learner=name)["regret"] for name in dict.fromkeys(data["learner"])}
    never = chase(learners.GradientDescent(1e-12, DISCOUNT), np.ones(TEST)).regret(1.0)
    apart = float(np.abs(path[OURS] - path[RESCALED]).max())
    numbers = {"waits": waits, "regret": path, "never_moving": never, "rescaled_differs_by": apart}
    stuck = waits[int(np.argmax(path[CLASSICAL] > 0.98 * never))]
    sentence = (
        "Against a target at 1 that appears after t rounds of noise, the rescaled exponential potential has a regret "
        f"of {path[CLASSICAL][0]:.0f} at t = 0, {path[CLASSICAL][list(waits).index(300)]:.0f} at t = 300 and "
        f"{path[CLASSICAL][-1]:.0f}, that of never moving, from t = {stuck:,} on; Algorithm 1 has {path[OURS][0]:.1f} "
        f"at the start and {path[OURS].min():.1f} to {path[OURS].max():.1f} throughout, and by rescaling Algorithm 2 "
        f"the same to {apart:.0e}."
    )
    return Finding("rescaling", sentence, numbers, data, partial(draw, data))


def players() -> dict[str, Callable[[], Any]]:
    """Two learners under the rescaling trick, and each with a discount of its own."""
    return {
        OURS: partial(learners.MagnitudeLearner, discount=DISCOUNT),
        RESCALED: lambda: learners.Rescaled(learners.MagnitudeLearner(), DISCOUNT),
        CLASSICAL: lambda: learners.Rescaled(learners.ExponentialPotential(), DISCOUNT),
        UNAGED: partial(learners.ExponentialPotential, discount=DISCOUNT),
    }


def tested(learner: Any, noise: np.ndarray) -> float:
    """The largest discounted regret while a target at 1 is chased, after noise."""
    listen(learner, noise)
    return float(chase(learner, np.ones(TEST)).regret_path(1.0).max())


def draw(data: dict[str, np.ndarray], figure: Any) -> None:
    """Regret of the test against the round in which it begins."""
    axes = figure.subplots()
    styles = {
        CLASSICAL: (COLOURS[1], DASHES[1], "s"),
        UNAGED: (COLOURS[2], DASHES[2], "^"),
        OURS: (COLOURS[0], DASHES[0], "o"),
        RESCALED: (COLOURS[4], "", "x"),
    }
    for name, (colour, dash, marker) in styles.items():
        found = where(data, learner=name)
        axes.errorbar(
            found["wait"], found["regret"], 2.0 * found["standard_error"], color=colour, ls=dash, marker=marker, ms=4,
            label=name, zorder=3 if dash == "" else 2,
        )  # fmt: skip
    never = (1.0 - DISCOUNT**TEST) / (1.0 - DISCOUNT)
    axes.axhline(never, color=GREY, lw=0.8, ls=":")
    axes.text(0.01, never, "never moving", transform=axes.get_yaxis_transform(), va="bottom", color=GREY)
    axes.set_xscale("symlog", linthresh=100)
    axes.set(
        xlabel="rounds of noise before the test",
        ylabel="largest discounted regret",
        ylim=(0.0, 1.12 * never),
        xlim=(-6.0, 1.2 * data["wait"].max()),
    )
    axes.set_title("A guess of the Lipschitz constant does not survive rescaling")
    axes.legend(loc="upper left", bbox_to_anchor=(0.0, 0.86))
