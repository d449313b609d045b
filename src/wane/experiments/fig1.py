"""Figure 1 of the paper: local coverage and local width while the images get worse and better again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from wane import metrics
from wane.experiments.figures import COLOURS, GREY
from wane.experiments.protocol import ALPHA, MAGNITUDE, TITLES, WINDOW, Experiment
from wane.experiments.results import Finding

SIGMA = 3.0  # of the Gaussian filter that the paper draws its curves with; the data are not filtered
Curves = dict[str, dict[str, np.ndarray]]


def run(experiments: Sequence[Experiment], tick: Callable[[], Any] = lambda: None) -> Finding:
    """One column of panels for each experiment; a point is at the first round of its window."""
    curves = []
    for experiment in experiments:
        curves.append(local(experiment))
        tick()
    columns = [table(e, c) for e, c in zip(experiments, curves, strict=True)]
    data = {key: np.concatenate([c[key] for c in columns]) for key in columns[0]}
    numbers = {e.stream.name: numbers_of(e, c) for e, c in zip(experiments, curves, strict=True)}
    return Finding(
        "fig1",
        sentence(numbers),
        numbers,
        data,
        lambda figure: draw(figure, experiments, curves),
        (max(5.0, 4.0 * len(experiments)), 5.0),
    )


def local(experiment: Experiment) -> Curves:
    """Local coverage and width of each method, and the best fixed local width.

    As published, "width" is the radius; by default it is the size of the sets.
    """
    optimal = experiment.scores[experiment.judged] if experiment.published else experiment.optimal_sizes
    found = {"": {"width": metrics.best_fixed_local_width(optimal, ALPHA, WINDOW)}}
    for name in MAGNITUDE:
        play = experiment.play(name)
        widths = play.radii if experiment.published else play.sizes
        found[name] = {
            "coverage": metrics.local_coverage(play.covered, WINDOW),
            "width": metrics.local_width(widths, WINDOW),
        }
    return found


def table(experiment: Experiment, curves: Curves) -> dict[str, np.ndarray]:
    """The curves as columns, one row for each round and method."""
    rounds = len(curves[""]["width"])
    severity = experiment.stream.severity
    assert severity is not None
    severity = severity[experiment.judged][:rounds]
    parts = [
        {
            "stream": np.full(rounds, experiment.stream.name),
            "method": np.full(rounds, name),
            "round": np.arange(rounds),
            "severity": severity,
            "local_coverage": curves[name]["coverage"],
            "local_width": curves[name]["width"],
            "best_fixed_local_width": curves[""]["width"],
        }
        for name in MAGNITUDE
    ]
    return {key: np.concatenate([p[key] for p in parts]) for key in parts[0]}


def numbers_of(experiment: Experiment, curves: Curves) -> dict[str, Any]:
    """How far each curve is from its ideal, on average."""
    return {
        name: {
            "mean_local_coverage_error": float(np.abs(curves[name]["coverage"] - (1.0 - ALPHA)).mean()),
            "mean_local_width_error": float(np.abs(curves[name]["width"] - curves[""]["width"]).mean()),
            "mean_best_fixed_local_width": float(curves[""]["width"].mean()),
        }
        for name in MAGNITUDE
    }


def sentence(numbers: dict[str, Any]) -> str:
    """The numbers in words."""
    parts = []
    for stream, found in numbers.items():
        errors = [v["mean_local_coverage_error"] for v in found.values()]
        widths = [v["mean_local_width_error"] for v in found.values()]
        best = next(iter(found.values()))["mean_best_fixed_local_width"]
        parts.append(
            f"on {stream} local coverage is off 0.9 by {min(errors):.3f} to {max(errors):.3f} on average, and local "
            f"width off the best fixed one, {best:.3g}, by {min(widths):.2g} to {max(widths):.2g}"
        )
    return f"Over windows of {WINDOW} rounds, " + "; ".join(parts) + "."


def draw(figure: Any, experiments: Sequence[Experiment], curves: Sequence[Curves]) -> None:
    """Local coverage, local width and, where it is known, severity, one above the other."""
    corrupted = any(e.stream.severity is not None and e.stream.severity.any() for e in experiments)
    heights = (3.0, 3.0, 1.2)[: 3 if corrupted else 2]
    axes = figure.subplots(
        len(heights), len(experiments), squeeze=False, sharex="col", sharey="row", height_ratios=heights
    )
    for i, (experiment, found) in enumerate(zip(experiments, curves, strict=True)):
        top, middle = axes[:2, i]
        for name, colour, dash in zip(MAGNITUDE, COLOURS, ("-", "--", "-."), strict=False):
            top.plot(smooth(found[name]["coverage"]), dash, color=colour, label=TITLES[name])
            middle.plot(smooth(found[name]["width"]), dash, color=colour)
        top.axhline(1.0 - ALPHA, color="black", linewidth=0.8)
        middle.plot(smooth(found[""]["width"]), ":", color="black", linewidth=1.6, label="best fixed")
        if corrupted:
            severity = experiment.stream.severity
            assert severity is not None
            severity = severity[experiment.judged]
            axes[2, i].step(np.arange(len(severity)), severity, color=GREY)
            axes[2, i].set_ylim(-0.3, 5.3)
        top.set_title(experiment.stream.name)
        axes[-1, i].set_xlabel(f"round (the first of {WINDOW})")
    axes[0, 0].set_ylabel("local coverage, smoothed")
    axes[1, 0].set_ylabel("radius, local" if experiments[0].published else "set size, local")
    if corrupted:
        axes[2, 0].set_ylabel("severity")
    lines = [*axes[0, 0].get_lines()[: len(MAGNITUDE)], axes[1, 0].get_lines()[-1]]
    figure.legend(handles=lines, loc="outside upper center", ncols=len(lines) if len(experiments) > 1 else 2)


def smooth(curve: np.ndarray) -> np.ndarray:
    """As the paper draws it."""
    return gaussian_filter1d(curve, SIGMA)
