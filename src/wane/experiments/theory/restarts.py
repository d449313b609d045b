"""Discounts in {0, 1} are restarts: one learner with a 0 at each shift is a fresh learner for each segment."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from wane import learners, theory
from wane.experiments.figures import COLOURS, DASHES, GREY
from wane.experiments.results import Finding
from wane.experiments.theory.games import chase, columns, where

RESTARTS, NEVER, AGILE, SLOW = "0 at each shift, else 1", "1 (never forgets)", "0.99", "0.999"
LEVELS = (4.0, 1.0, 6.0, 2.0, 8.0, 0.5, 3.0, 5.0)


def run(seed: int = 0, quick: bool = False) -> Finding:
    """A noisy target that jumps at known rounds."""
    parts, length = (8 if quick else 16), 500
    middle = np.repeat(np.resize(LEVELS, parts), length)
    targets = np.abs(middle + np.random.default_rng(seed).normal(scale=0.5, size=len(middle)))
    at_shifts = np.where(np.arange(len(targets)) % length == 0, 0.0, 1.0)
    best = np.repeat([theory.best_fixed(part, 1.0) for part in targets.reshape(parts, length)], length)
    best_losses = np.abs(targets - best)
    records = {
        name: chase(learners.MagnitudeLearner(), targets, discounts)
        for name, discounts in ((RESTARTS, at_shifts), (NEVER, 1.0), (AGILE, 0.99), (SLOW, 0.999))
    }
    gap = unlike_fresh_learners(records[RESTARTS], parts)
    data = columns(
        "discount round target prediction regret_so_far",
        [
            (name, *row)
            for name, record in records.items()
            for row in zip(
                range(len(targets)), targets, record.predictions, (record.losses - best_losses).cumsum(), strict=True
            )
        ],
    )
    segments = {
        name: (record.losses - best_losses).reshape(parts, length).sum(axis=1) for name, record in records.items()
    }
    dynamic = {name: theory.dynamic_regret(record.losses, best_losses) for name, record in records.items()}
    numbers = {
        "segments": segments,
        "dynamic_regret": dynamic,
        "largest_difference_from_fresh_learners": gap,
        "rounds": len(targets),
    }
    place = ("the best", "the second", "the third", "the last")[sorted(dynamic.values()).index(dynamic[RESTARTS])]
    sentence = (
        f"With a discount of 0 at each of {parts - 1} known shifts and 1 elsewhere, Algorithm 1 plays what a fresh "
        f"learner would in each segment (largest difference {gap:g}, from the second round of a segment on); its "
        f"regrets on the segments sum to a dynamic regret of {dynamic[RESTARTS]:,.0f}, against {dynamic[AGILE]:,.0f} "
        f"with a constant discount of 0.99, {dynamic[SLOW]:,.0f} with 0.999, and {dynamic[NEVER]:,.0f} if it never "
        f"forgets. A restart goes back to 0 even if the learner was nearer, and is {place} of the four here."
    )
    return Finding("restarts", sentence, numbers, data, partial(draw, data), size=(6.0, 4.6))


def unlike_fresh_learners(record: theory.Record, parts: int) -> float:
    """The largest difference between the game with zeros and fresh learners.

    The first round of a segment is left out: its prediction was made before the 0 came.
    """
    played, heard = record.predictions.reshape(parts, -1), record.gradients.reshape(parts, -1)
    fresh = np.array([learners.MagnitudeLearner().run(g) for g in heard])
    return float(np.abs(played - fresh)[:, 1:].max())


def draw(data: dict[str, np.ndarray], figure: Any) -> None:
    """The chase above, the dynamic regret below."""
    above, below = figure.subplots(2, 1, sharex=True)
    names = list(dict.fromkeys(data["discount"]))
    first = where(data, discount=names[0])
    above.plot(first["round"], first["target"], ".", color="0.8", ms=1.5, label="targets")
    for name, colour, dash in zip(names, (COLOURS[0], COLOURS[1], COLOURS[2], GREY), DASHES, strict=False):
        found = where(data, discount=name)
        above.plot(found["round"], found["prediction"], color=colour, ls=dash, lw=1.0)
        below.plot(found["round"], found["regret_so_far"], color=colour, ls=dash, label=f"discount {name}")
    above.set(ylabel="prediction", ylim=(0.0, 1.2 * first["target"].max()), title="A target that jumps at known rounds")
    above.legend(loc="upper left", markerscale=4)
    below.set(xlabel="round", ylabel="dynamic regret so far")
    below.legend(loc="upper left", handlelength=3.0)
