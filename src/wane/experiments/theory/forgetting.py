"""Past mistakes are forgotten: how long a catastrophe lasts, and what it does to the bound."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from wane import learners, theory
from wane.experiments.figures import COLOURS, DASHES, GREY
from wane.experiments.results import Finding
from wane.experiments.theory.games import chase, columns, slope, where

DISCOUNT = 0.99
CALM = 300  # rounds before the catastrophe
FAR = 1e9  # where the target is during the catastrophe
FEW = 30  # gradients, of any size, that carry the prediction away
LONG = 300  # rounds of the catastrophe on the right of the figure
ONE, BEST, SPARED = "one window", "the best window", "no mistake made"


def run(seed: int = 0, quick: bool = False) -> Finding:
    """A target at 1 that is far away for a while; or whose gradients are larger for a while."""
    marks = (FEW * np.geomspace(1.0, 30.0 if quick else 300.0, 4 if quick else 11)).round().astype(int).tolist()
    rows = []
    for discount in (DISCOUNT, 1.0):
        for n in marks:
            rows.append(("length", discount, n, float(rounds_until_back(discount, n, 1.0))))
            rows.append(("size", discount, n, float(rounds_until_back(discount, FEW, n / FEW))))
    after = 1000
    rows += [(name, DISCOUNT, t, value) for name, path in bounds(after).items() for t, value in path]
    data = columns("what discount x value", rows)
    back = {(what, d): where(data, what=what, discount=d) for what in ("length", "size") for d in (DISCOUNT, 1.0)}
    later = {name: where(data, what=name, x=700)["value"][0] for name in ("regret", ONE, BEST, SPARED)}
    numbers = {
        "rounds_until_back": {f"{what}, discount {d:g}": dict(zip(f["x"].tolist(), f["value"].tolist(), strict=True))
                              for (what, d), f in back.items()},
        "exponent_in_the_length": {f"discount {d:g}": slope(back["length", d]["x"], back["length", d]["value"])
                                   for d in (DISCOUNT, 1.0)},
        "700_rounds_later": later,
        "largest_regret_over_bound": float(
            np.max(where(data, what="regret")["value"] / where(data, what=BEST)["value"])
        ),
        "forgetting_factor_of_700_rounds": DISCOUNT**700,
    }  # fmt: skip
    longest, largest = marks[-1], marks[-1] // FEW
    sentence = (
        f"After {longest:,} rounds that all say 'more', the undiscounted learner needs "
        f"{back['length', 1.0]['value'][-1]:,.0f} rounds to come back and the discounted one (0.99) "
        f"{back['length', DISCOUNT]['value'][-1]:.0f}, and no more however many they were; after {FEW} gradients that "
        f"are {largest:,} times larger they need {back['size', 1.0]['value'][-1]:,.0f} and "
        f"{back['size', DISCOUNT]['value'][-1]:,.0f}. Seven hundred rounds after {LONG} of the first kind the bound is "
        f"{later[BEST]:.0f} with the best window tau, as if no mistake had been made ({later[SPARED]:.0f}), and "
        f"{later[ONE]:.0f} with one window."
    )
    return Finding("forgetting", sentence, numbers, data, partial(draw, data), size=(7.2, 3.2))


def rounds_until_back(discount: float, rounds: int, size: float) -> int:
    """How long the prediction stays 0.5 or more from the target, 1, after so many gradients of -size."""
    learner = learners.MagnitudeLearner(discount=discount)
    chase(learner, np.ones(CALM))
    learner.run(np.full(rounds, -size))
    waited = 0
    while abs(away := learner.predict() - 1.0) > 0.5:
        learner.update(math.copysign(1.0, away))
        waited += 1
    return waited


def bounds(after: int) -> dict[str, list[tuple[int, float]]]:
    """After the catastrophe: the discounted regret of the whole game, and its bounds; the comparator is 1.

    The regret is far below 0 at first: the catastrophe itself was won, and what is lost afterwards is less.
    """
    targets = np.concatenate([np.ones(CALM), np.full(LONG, FAR), np.ones(after)])
    record = chase(learners.MagnitudeLearner(discount=DISCOUNT), targets)
    calm = chase(learners.MagnitudeLearner(discount=DISCOUNT), np.ones(len(targets)))
    path = record.regret_path(1.0)
    found: dict[str, list[tuple[int, float]]] = {"regret": [], ONE: [], BEST: [], SPARED: []}
    for t in range(0, after, 10):
        end = CALM + LONG + t + 1
        g, x = record.gradients[:end], record.predictions[:end]
        found["regret"].append((t, float(path[end - 1])))
        found[ONE].append((t, theory.base_bound(1.0, g, x, DISCOUNT, window=end)))
        found[BEST].append((t, theory.base_bound(1.0, g, x, DISCOUNT)))
        found[SPARED].append((t, theory.base_bound(1.0, calm.gradients[:end], calm.predictions[:end], DISCOUNT)))
    return found


def draw(data: dict[str, np.ndarray], figure: Any) -> None:
    """Rounds until back; regret and bounds after the catastrophe."""
    left, right = figure.subplots(1, 2)
    for discount, colour, face in ((DISCOUNT, COLOURS[0], COLOURS[0]), (1.0, COLOURS[1], "white")):
        for what, dash, marker in (("length", "-", "o"), ("size", "--", "^")):
            found = where(data, what=what, discount=discount)
            label = rf"$\lambda$ = {discount:g}, " + ("n of size 1" if what == "length" else f"{FEW} of size n/{FEW}")
            left.loglog(found["x"], found["value"], color=colour, ls=dash, marker=marker, ms=4, mfc=face, label=label)
    left.set(xlabel="total of the mistaken gradients, n", ylabel="rounds until back", title="How long a mistake lasts")
    left.legend(loc="upper left", fontsize=7)
    for name, colour, dash in ((ONE, COLOURS[1], DASHES[1]), (BEST, COLOURS[0], DASHES[0]), (SPARED, GREY, DASHES[3])):
        found = where(data, what=name)
        right.semilogy(found["x"], found["value"], color=colour, ls=dash, label=name)
    right.set(
        xlabel="rounds since the mistake", ylabel="bound on the regret", title=r"The window $\tau$ forgets it too"
    )
    right.set_ylim(10.0, 10_000.0)
    right.legend(loc="upper right")
