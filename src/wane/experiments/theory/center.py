"""The inductive bias x*: regret grows with the distance to it, and a discounted learner never forgets where it is."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from wane import learners
from wane.experiments.figures import COLOURS
from wane.experiments.results import Finding
from wane.experiments.theory.games import chase, columns, listen, signs, slope, where

DISCOUNT = 0.99
EPSILON = 0.1
TEST = 300  # rounds of the test, three horizons
OURS, THEIRS = "Algorithm 3, center x*", "gradient descent, start x*"


def run(seed: int = 0, quick: bool = False) -> Finding:
    """Noise for long, then a target at a distance from x*; and the same without the noise."""
    games, late = (4, 2000) if quick else (12, 10_000)
    distances = np.geomspace(0.01, 10.0, 4 if quick else 10)
    tosses = [signs(late, np.random.default_rng([seed, k])) for k in range(games)]
    lengths = np.unique(np.geomspace(30, late, 6 if quick else 13).astype(int)).tolist()
    rows = [("noise", name, n, 0.0, size) for name in (OURS, THEIRS) for n, size in drift(name, tosses, lengths)]
    for name in (OURS, THEIRS):
        for noise in (0, late):
            for distance in distances.tolist():
                regrets = [tested(name, toss[:noise], distance) for toss in (tosses if noise else tosses[:1])]
                rows.append(("test", name, noise, distance, float(np.mean(regrets))))
    data = columns("game learner noise distance value", rows)
    test = where(data, game="test")
    numbers: dict[str, Any] = {"noise": late, "games": games}
    for name in (OURS, THEIRS):
        fresh, aged = (where(test, learner=name, noise=noise)["value"] for noise in (0, late))
        moved = where(data, game="noise", learner=name)
        numbers[name] = {
            "distance_from_x*_after_the_noise": moved["value"][-1],
            "exponent_of_the_distance_in_the_noise": slope(moved["noise"], moved["value"]),
            "regret_near_x*_fresh": fresh[0],
            "regret_near_x*_after_the_noise": aged[0],
            "largest_change_by_the_noise": float(np.max(np.abs(aged / fresh - 1.0))),
            "exponent_in_the_distance_fresh": slope(distances, fresh),
            "exponent_in_the_distance_after_the_noise": slope(distances, aged),
        }
    ours, theirs = numbers[OURS], numbers[THEIRS]
    sentence = (
        f"After {late:,} rounds of noise Algorithm 3 is {ours['distance_from_x*_after_the_noise']:.3f} from x* and its "
        f"regret against a target {distances[0]:g} away is {ours['regret_near_x*_after_the_noise']:.2f}, as at the "
        f"start ({ours['regret_near_x*_fresh']:.2f}), growing with the distance to the power of "
        f"{ours['exponent_in_the_distance_after_the_noise']:.2f}; gradient descent has wandered "
        f"{theirs['distance_from_x*_after_the_noise']:.1f} away, its regret has grown from "
        f"{theirs['regret_near_x*_fresh']:.1f} to {theirs['regret_near_x*_after_the_noise']:.0f}, and where it started "
        "no longer matters."
    )
    return Finding("center", sentence, numbers, data, partial(draw, data), size=(7.2, 3.2))


def player(name: str, center: float) -> Any:
    """A learner that begins at the center."""
    if name == OURS:
        return learners.AdaptiveLearner(1, EPSILON, DISCOUNT, center=[center])
    return learners.GradientDescent(discount=DISCOUNT, diameter=1.0, start=center)


def drift(name: str, tosses: list[np.ndarray], lengths: list[int]) -> list[tuple[int, float]]:
    """The root mean square of the distance to x* in rounds n/2 to n of the noise."""
    paths = np.array([listen(player(name, 0.0), np.append(toss, 0.0)) for toss in tosses])
    return [(n, float(np.sqrt(np.mean(paths[:, n // 2 : n + 1] ** 2)))) for n in lengths]


def tested(name: str, noise: np.ndarray, distance: float) -> float:
    """The largest discounted regret while a target at 0 is chased, x* being at ``distance``, after noise."""
    learner = player(name, distance)
    listen(learner, noise)
    return float(chase(learner, np.zeros(TEST)).regret_path(0.0 if learner.dim is None else [0.0]).max())


def draw(data: dict[str, np.ndarray], figure: Any) -> None:
    """The distance from x* in noise; the regret against the distance of the target from x*."""
    left, right = figure.subplots(1, 2)
    noise, test = where(data, game="noise"), where(data, game="test")
    for name, colour, marker in ((OURS, COLOURS[0], "o"), (THEIRS, COLOURS[1], "s")):
        moved = where(noise, learner=name)
        left.loglog(moved["noise"], moved["value"], color=colour, marker=marker, ms=3, ls="-", label=name)
        for n, dash, what in ((0, "--", "at the start"), (test["noise"].max(), "-", "after the noise")):
            found = where(test, learner=name, noise=n)
            right.loglog(
                found["distance"], found["value"], color=colour, ls=dash, marker=marker, ms=3,
                mfc="white" if n == 0 else colour, label=f"{name.split(',')[0]}, {what}",
            )  # fmt: skip
    left.set(xlabel="rounds of noise", ylabel="distance from x* (root mean square)", title="Noise: who stays at x*")
    right.set(
        xlabel="distance of the target from x*", ylabel="largest discounted regret", title="Then: a target near x*"
    )
    left.set_ylim(bottom=1e-3)
    right.set_ylim(bottom=0.01)
    left.legend(loc="lower right")
    right.legend(loc="lower right", fontsize=7)
