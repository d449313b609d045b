"""Figure 2 of the paper: what a wrong guess of the largest score costs the methods that need one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wane.experiments.figures import COLOURS
from wane.experiments.protocol import ALPHA, MAGNITUDE, TITLES, Experiment
from wane.experiments.results import Finding

RATIOS = 10.0 ** np.arange(-3.0, 4.0)  # all seven; the last published point repeats the one before it
GUESSING = ("sf-ogd", "saocp")
METHODS = (*MAGNITUDE, "simple-ogd", *GUESSING)


def run(experiment: Experiment, tick: Callable[[], Any] = lambda: None) -> Finding:
    """Coverage and width against the guess, divided by the largest score there can be."""
    rows = []
    for name in METHODS:
        fixed = None if name in GUESSING else experiment.play(name)
        for ratio in RATIOS:
            play = fixed or experiment.play(name, largest=ratio * experiment.largest)
            judged = play.judged()
            rows.append((name, ratio, judged["coverage"], judged["width"]))
        tick()
    names, ratios, coverage, width = (np.array(column) for column in zip(*rows, strict=True))
    ranges = {n: [float(coverage[names == n].min()), float(coverage[names == n].max())] for n in METHODS}
    widths = {n: [float(width[names == n].min()), float(width[names == n].max())] for n in METHODS}
    own = [ranges[n][0] for n in MAGNITUDE]
    low, high = ranges["sf-ogd"]
    small, large = widths["sf-ogd"]
    said = (
        f"As the guess of the largest score goes from a thousandth to a thousand times of it, the coverage of SF-OGD "
        f"goes from {low:.3f} to {high:.3f} and its width from {small:.1f} to {large:.1f}, the coverage of SAOCP from "
        f"{ranges['saocp'][0]:.3f} to {ranges['saocp'][1]:.3f}; the magnitude learners need no guess and stay at "
        f"{min(own):.3f} to {max(own):.3f}."
    )
    data = {"method": names, "guess": ratios, "coverage": coverage, "width": width}
    return Finding("fig2", said, {"coverage": ranges, "width": widths}, data, lambda f: draw(f, data), (7.0, 3.4))


def draw(figure: Any, data: dict[str, np.ndarray]) -> None:
    """Coverage on the left, width on the right."""
    left, right = figure.subplots(1, 2)
    marks = "os^Dvx"
    for i, name in enumerate(METHODS):
        mine = data["method"] == name
        style = {"marker": marks[i], "markersize": 4, "color": COLOURS[i], "label": TITLES[name]}
        for axes, key in ((left, "coverage"), (right, "width")):
            axes.plot(data["guess"][mine], data[key][mine], **style)
    left.axhline(1.0 - ALPHA, color="black", linewidth=0.8)
    for axes, title in ((left, "coverage"), (right, "mean set size")):
        axes.set_xscale("log")
        axes.set_xlabel("guess of the largest score / the largest score")
        axes.set_ylabel(title)
    left.legend(loc="lower right")
