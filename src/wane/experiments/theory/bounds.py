"""Every theorem's bound beside the regret it bounds, and the lower bound beside what its adversary does."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wane import learners, theory
from wane.domains import Box
from wane.experiments.figures import COLOURS, DASHES
from wane.experiments.results import Finding
from wane.experiments.theory.games import chase, columns, listen, where

DISCOUNT = 0.99
STYLES: dict[str, tuple[str, Any, float, str]] = {  # colour, dashes, width (some lines coincide), marker
    "gradient descent, constant rate": (COLOURS[1], DASHES[0], 3.2, "s"),
    "gradient descent, horizon": (COLOURS[4], DASHES[1], 1.8, ""),
    "AdaGrad": (COLOURS[2], DASHES[2], 1.2, "^"),
    "Algorithm 1": (COLOURS[0], DASHES[0], 1.2, ""),
    "Algorithm 2 (undiscounted)": (COLOURS[5], DASHES[4], 1.2, ""),
    "Algorithm 3": (COLOURS[3], DASHES[3], 1.6, "d"),
}

Bound = Callable[[float, theory.Record, int], float]
Row = tuple[str, str, float, int, float, float]


def run(seed: int = 0, quick: bool = False) -> Finding:
    """Play a drifting game with every learner that has a theorem, and the game of the lower bound."""
    rounds, segment, every = (600, 150, 50) if quick else (4000, 400, 50)
    targets = np.abs(theory.DriftingTarget(rounds, segment=segment, jump=2.0, seed=seed).targets)
    upper: list[Row] = [
        ("drift", name, 0.0, t, ratio, 0.0)
        for name, player in players(math.ceil(targets.max())).items()
        for t, ratio in ratios(*player, targets, range(every, rounds + 1, every))
    ]
    lower = adversary((0.9, 0.98) if quick else (0.9, 0.98, 0.995), 60 if quick else 2000, seed)
    data = columns("game learner discount round ratio standard_error", upper + lower)
    drift, signs = where(data, game="drift"), where(data, game="random signs")
    largest = {str(name): where(drift, learner=name)["ratio"].max() for name in dict.fromkeys(drift["learner"])}
    worst = max(largest, key=lambda name: largest[name])
    sentence = (
        "On a target that jumps and drifts, the discounted regret of six learners never exceeds its bound (it is at "
        f"most {largest[worst]:.2f} of it, for {worst}, and {largest['Algorithm 1']:.2f} for Algorithm 1); against "
        f"random signs every learner has {signs['ratio'].min():.2f} to {signs['ratio'].max():.2f} times the lower "
        "bound on average, where the proof says sqrt(4/pi) = 1.13 for long games, whoever plays."
    )
    numbers = {
        "rounds": rounds,
        "largest_share_of_the_bound": largest,
        "largest_share_of_the_bound_random_signs": where(data, game="random signs, upper")["ratio"].max(),
        "multiples_of_the_lower_bound": {
            f"{n}, discount {d:g}": r
            for n, d, r in zip(signs["learner"], signs["discount"], signs["ratio"], strict=True)
        },
    }
    return Finding("bounds", sentence, numbers, data, partial(draw, data), size=(7.2, 3.4))


def players(top: float) -> dict[str, tuple[Any, Bound]]:
    """The learners that have a theorem, each with its bound on the first t rounds; ``top`` is the largest target."""
    inside = Box([0.0], [top])
    fixed = theory.constant_ogd_bound(top, 1.0, DISCOUNT)
    return {
        "gradient descent, constant rate": (
            learners.GradientDescent(discount=DISCOUNT, domain=inside),
            lambda u, record, t: fixed,
        ),
        "gradient descent, horizon": (
            learners.GradientDescent(discount=DISCOUNT, domain=inside, schedule="horizon"),
            lambda u, record, t: theory.ogd_bound(top, 1.0, record.statistics().H[t - 1]),
        ),
        "AdaGrad": (
            learners.AdaGrad(discount=DISCOUNT, domain=inside),
            lambda u, record, t: theory.adagrad_bound(top, record.statistics().V[t - 1]),
        ),
        "Algorithm 1": (
            learners.MagnitudeLearner(discount=DISCOUNT),
            lambda u, record, t: theory.base_bound(u, record.gradients[:t], record.predictions[:t], DISCOUNT),
        ),
        "Algorithm 2 (undiscounted)": (
            learners.MagnitudeLearner(),
            lambda u, record, t: theory.base_undiscounted_bound(u, record.gradients[:t], record.predictions[:t]),
        ),
        "Algorithm 3": (
            learners.AdaptiveLearner(1, discount=DISCOUNT),
            lambda u, record, t: theory.main_bound(
                u, record.gradients[:t], np.abs(record.predictions[:t, 0]), DISCOUNT
            ),
        ),
    }


def ratios(learner: Any, bound: Bound, targets: np.ndarray, moments: range) -> list[tuple[int, float]]:
    """Regret over bound of the game that ends at each moment, against the best fixed point until then.

    It is the regret of the linear losses g_t x, which is at least that of the true ones, and what the theorems bound.
    """
    record = chase(learner, targets)
    g, x = record.gradients.reshape(-1), record.predictions.reshape(-1)
    found = []
    for t in moments:
        u = theory.best_fixed(targets[:t], learner.discount)
        regret = theory.discounted_regret(g[:t] * x[:t], g[:t] * u, learner.discount)
        found.append((t, regret / bound(u, record, t)))
    return found


def adversary(discounts: tuple[float, ...], games: int, seed: int) -> list[Row]:
    """Games of random signs, u = 1: the mean of max(regret(u), regret(-u)) in units of the lower bound.

    And the largest of them in units of the learner's own upper bound.
    """
    rows: list[Row] = []
    for discount in discounts:
        rounds = round(5.0 / (1.0 - discount))
        w = theory.weights(discount, rounds)
        variance = float((w * w).sum())
        drawn = [theory.RandomSigns(1.0, variance, discount, rounds, seed=seed * games + k) for k in range(games)]
        for name, (make, upper) in balanced(discount, variance).items():
            regrets, shares = [], []
            for game in drawn:
                x, g = listen(make(), game.gradients), w * game.gradients
                regrets.append(float(g @ x) + abs(float(g.sum())))
                shares.append(regrets[-1] / upper(game.gradients, x))
            multiples = np.array(regrets) / drawn[0].bound
            error = float(multiples.std() / math.sqrt(games))
            rows.append(("random signs", name, discount, rounds, float(multiples.mean()), error))
            rows.append(("random signs, upper", name, discount, rounds, max(shares), 0.0))
    return rows


def balanced(discount: float, variance: float) -> dict[str, tuple[Callable[[], Any], Callable[..., float]]]:
    """The learners that may play u = 1 and -1, each with its bound, a function of gradients and predictions."""
    inside = Box([-1.0], [1.0])
    return {
        "gradient descent, constant rate": (
            partial(learners.GradientDescent, discount=discount, domain=inside),
            lambda g, x: theory.constant_ogd_bound(2.0, 1.0, discount),
        ),
        "AdaGrad": (
            partial(learners.AdaGrad, discount=discount, domain=inside),
            lambda g, x: theory.adagrad_bound(2.0, variance),
        ),
        "Algorithm 3": (
            partial(learners.AdaptiveLearner, 1, discount=discount),
            lambda g, x: theory.main_bound(1.0, g, np.abs(x), discount),
        ),
    }


def draw(data: dict[str, np.ndarray], figure: Any) -> None:
    """The shares of the upper bounds over time; the multiples of the lower bound."""
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    drift, signs = where(data, game="drift"), where(data, game="random signs")
    for name, (colour, dash, width, _) in STYLES.items():
        chosen = where(drift, learner=name)
        left.plot(chosen["round"], chosen["ratio"], color=colour, ls=dash, lw=width, label=name)
    left.axhline(1.0, color="black", lw=1.0)
    left.text(0.01, 1.01, "the bound", transform=left.get_yaxis_transform(), va="bottom")
    left.set(
        xlabel="round",
        ylabel="regret / upper bound",
        title="Drifting target",
        ylim=(min(0.0, drift["ratio"].min()) - 0.05, 1.6),
    )
    left.set_yticks(np.arange(0.0, 1.1, 0.2))
    left.legend(loc="upper center", ncols=2, handlelength=2.4, fontsize=7, columnspacing=1.0)
    discounts = list(dict.fromkeys(signs["discount"]))
    for k, name in enumerate(dict.fromkeys(signs["learner"])):
        chosen = where(signs, learner=name)
        places = np.arange(len(discounts)) + 0.16 * (k - 1)
        colour, _, _, marker = STYLES[str(name)]
        right.errorbar(
            places,
            chosen["ratio"],
            2.0 * chosen["standard_error"],
            color=colour,
            fmt=marker,
            ms=4,
            capsize=2,
            label=name,
        )
    right.axhline(1.0, color="black", lw=1.0)
    right.text(0.01, 0.995, "the lower bound", transform=right.get_yaxis_transform(), va="top")
    top = float((signs["ratio"] + 2.0 * signs["standard_error"]).max())
    right.axhline(math.sqrt(4.0 / math.pi), color="black", lw=0.8, ls=":")
    right.text(
        0.99,
        math.sqrt(4.0 / math.pi),
        r"$\sqrt{4/\pi}$",
        transform=right.get_yaxis_transform(),
        ha="right",
        va="bottom",
    )
    right.set_xticks(np.arange(len(discounts)), [f"{d:g}" for d in discounts])
    right.set(xlabel=r"discount $\lambda$", ylabel="mean regret / lower bound", title="Random signs")
    right.set(xlim=(-0.6, len(discounts) - 0.2), ylim=(0.9, top + 0.2))
    right.legend(loc="upper left")
