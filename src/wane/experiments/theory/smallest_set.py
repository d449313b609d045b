"""Starting at zero picks small sets: where every radius of an interval covers equally well, who ends where."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from wane import trackers
from wane.experiments.figures import COLOURS, GREY
from wane.experiments.results import Finding
from wane.experiments.theory.games import columns, where

ALPHA = 0.1
LOW, HIGH = 1.0, 5.0  # no score falls between them: all these radii miss a share of exactly alpha
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "Algorithm 4 (from 0)": ("magl", {}),
    "decaying steps, from 0": ("decaying-ogd", {"start": 0.0}),
    "scale-free gradient descent": ("sf-ogd", {"max_score": HIGH + 1.0}),
    "split conformal": ("split", {}),
    "decaying steps, from above": ("decaying-ogd", {"start": HIGH + 1.0}),
}


def run(seed: int = 0, quick: bool = False) -> Finding:
    """Scores below 1 with probability 0.9, else above 5: the pinball loss is flat between."""
    rounds, games = (2000, 30) if quick else (20_000, 200)
    streams = [law(rounds, np.random.default_rng([seed, k])) for k in range(games)]
    rows = []
    for name, (method, parameters) in METHODS.items():
        for k, scores in enumerate(streams):
            radii = trackers.make(method, ALPHA, **parameters).run(scores)
            later = slice(rounds // 2, None)
            rows.append((name, k, radii[-1], float(np.mean(radii[later] > scores[later]))))
    data = columns("method stream radius coverage", rows)
    found = {name: where(data, method=name) for name in METHODS}
    numbers: dict[str, Any] = {
        "rounds": rounds,
        "streams": games,
        "median_radius": {name: float(np.median(f["radius"])) for name, f in found.items()},
        "mean_radius": {name: float(np.mean(f["radius"])) for name, f in found.items()},
        "mean_coverage": {name: float(np.mean(f["coverage"])) for name, f in found.items()},
        "share_in_the_lower_half": {
            name: float(np.mean(f["radius"] < 0.5 * (LOW + HIGH))) for name, f in found.items()
        },
    }
    ours, zero, free, split, above = METHODS
    median = numbers["median_radius"]
    sentence = (
        f"Where all radii from {LOW:g} to {HIGH:g} miss exactly 10 %, Algorithm 4 ends at a median of "
        f"{median[ours]:.2f} and in {100 * numbers['share_in_the_lower_half'][ours]:.0f} % of {games} streams in the "
        f"lower half (coverage {numbers['mean_coverage'][ours]:.3f}): near the smallest, not at it. Decaying steps "
        f"from 0 end there too ({median[zero]:.2f}); scale-free gradient descent ends anywhere (median "
        f"{median[free]:.2f}), split conformal at one end or the other (mean {numbers['mean_radius'][split]:.2f}), and "
        f"decaying steps that start above stay there ({median[above]:.2f})."
    )
    return Finding("smallest_set", sentence, numbers, data, partial(draw, data), size=(6.4, 3.2))


def law(rounds: int, rng: np.random.Generator) -> np.ndarray:
    """Independent scores with a gap in their law."""
    return np.where(rng.random(rounds) < ALPHA, HIGH, 0.0) + rng.random(rounds)


def draw(data: dict[str, np.ndarray], figure: Any) -> None:
    """The last radius of each stream, by method."""
    axes = figure.subplots()
    names = list(METHODS)[::-1]
    shades = dict(zip(METHODS, (COLOURS[0], COLOURS[2], COLOURS[1], COLOURS[4], COLOURS[3]), strict=True))
    for place, name in enumerate(names):
        radius = np.sort(where(data, method=name)["radius"])
        jitter = place + 0.6 * (np.arange(len(radius)) * 0.618034 % 1.0 - 0.5)  # evenly spread, always the same
        axes.plot(radius, jitter, ".", color=shades[name], ms=3, alpha=0.6)
        axes.plot([np.median(radius)] * 2, [place - 0.38, place + 0.38], color="black", ls="-", lw=1.6)
    axes.axvspan(LOW, HIGH, color=GREY, alpha=0.12, lw=0)
    axes.text(0.5 * (LOW + HIGH), len(names) - 0.45, "all of these cover 90 %", ha="center", va="bottom", color=GREY)
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="last radius (bar: median)", xlim=(0.0, None), ylim=(-0.6, len(names)))
    axes.grid(axis="y", visible=False)
    axes.set_title("Among radii that cover equally well")
