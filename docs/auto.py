"""The figures and the numbers of ``auto.md``, but for the tables that ``tools/explore_auto.py`` prints.

Run it with ``python docs/auto.py``; it needs matplotlib, and prints the numbers that it draws. ``--labels FILE`` adds
a stream of labels, an npz file that ``wane.streams.read`` reads, by the protocol of ``wane.experiments.protocol``.
"""

import argparse
import functools
import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import wane
from wane.experiments import leaderboard
from wane.experiments.figures import COLOURS, GREY, STYLE
from wane.experiments.protocol import Experiment
from wane.trackers.auto import PRIORITIES

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import explore_auto as explore  # noqa: E402

ALPHA = explore.ALPHA
STREAM, PEER = "sp500-volatility", "dtaci"
EPSILONS = (0.1, 0.2, 0.3, 0.5, 0.8, 1.5, 2.5, 4.0, 6.0, 10.0, 20.0)
SHOWN_TO = {"off": 0.03, "lce": 0.22, "pinball": 1.2}  # methods beyond are named, not drawn
BESIDE = {  # where labels would overlap
    "lce": {"eci": (-5, 3), "p-control": (-5, -4), "saocp": (-5, -4), "faci-s": (4, -10), "agaci": (5, -6)},
    "off": {"eci": (-5, 3), "p-control": (5, -8), "faci": (-3, -11), "pi-control": (5, 1)},
}
NAMES = ("steady", "regression", "fast")
FOLDER = Path(__file__).parent / "figures"
BLUE, ORANGE, GREEN, PINK = COLOURS[:4]


@functools.cache
def stages():
    """The bundled streams."""
    return [explore.Stage(scores, forecasts) for _, scores, forecasts in explore.streams(None)]


def watched(scores):
    """``auto`` round by round: radius, weights by scale, and both parts of the correction."""
    tracker = wane.trackers.make("auto", ALPHA)
    radii, weights, parts = [], [], []
    for score in scores.tolist():
        radii.append(tracker.predict())
        weights.append(tracker.base.weights().reshape(len(NAMES), 2).sum(axis=1))
        parts.append([tracker.scale * part for part in tracker.correction()])
        tracker.update(score)
    return np.array(radii), np.array(weights), np.array(parts)


def draw_weights():
    """A stream with its crises: the radii, who is believed, and what the correction adds."""
    stream = wane.streams.make(STREAM)
    scores = stream.scores
    when = stream.time if stream.time is not None else np.arange(len(scores))
    radii, weights, parts = watched(scores)
    peer = explore.Stage(scores).rival(PEER)
    shown = slice(100, None)
    when = when[shown]
    print(
        f"{STREAM}: mean weights:",
        ", ".join(f"{n} {w:.2f}" for n, w in zip(NAMES, weights[shown].mean(axis=0), strict=True)),
    )
    with matplotlib.rc_context(STYLE):
        figure, (top, middle, low) = plt.subplots(3, 1, figsize=(9.0, 8.0), sharex=True, height_ratios=(1.5, 1.0, 1.0))
        floor = np.quantile(scores[scores > 0.0], 0.02)
        top.plot(when, np.maximum(scores[shown], floor), ".", ms=1.6, color="#B5B5B5", label="scores", rasterized=True)
        top.plot(when, peer[shown], color=ORANGE, lw=0.9, label=PEER)
        top.plot(when, radii[shown], color=BLUE, lw=0.8, label="auto")
        top.set_yscale("log")
        top.set_ylim(bottom=floor)
        top.set_ylabel("score, radius")
        top.set_title(f"{STREAM}: scores and 90 % radii")
        top.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=5)
        tones = (GREY, GREEN, PINK)
        middle.stackplot(when, weights[shown].T, labels=NAMES, colors=tones, lw=0)
        middle.set_ylim(0.0, 1.0)
        middle.set_ylabel("weight")
        middle.set_title("Weights of the mixture by scale model")
        middle.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)
        low.axhline(0.0, color="black", lw=0.8)
        low.plot(when, parts[shown, 1], color=ORANGE, lw=0.8, label="quick:\n0.99, 0.999")
        low.plot(when, parts[shown, 0], color=BLUE, lw=1.4, label="steady: 1")
        low.set_ylabel("added to the radius")
        low.set_title("The correction")
        low.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        low.set_xlim(when[0], when[-1])
        keep(figure, "auto_weights")


def means(rows):
    """Of measures over the streams."""
    return {key: float(np.mean([row[key] for row in rows])) for key in SHOWN_TO}


def judged(radii_of):
    """A method, a function of the stage, over all streams."""
    rows = []
    for stage in stages():
        row = stage.judge(radii_of(stage))
        rows.append(row | {"pinball": row["loss"] / stage.best()})
    return means(rows)


def on_the_board(name):
    """A method by the rules of the leaderboard, with the rivals of the exploration."""
    rows = []
    for stage in stages():
        row = leaderboard.judge(name, stage.scores, ALPHA)
        off = abs(row["coverage"] - (1.0 - ALPHA))
        rows.append({"off": off, "lce": row["lce_100"], "pinball": row["pinball"] / stage.best()})
    return means(rows)


def draw_tradeoff():
    """What epsilon buys and costs, and where the others are."""
    curve = {e: judged(lambda stage, e=e: explore.corrected(stage, stage.blend, e)) for e in EPSILONS}
    others = {name: on_the_board(name) for name in wane.trackers.names() if name not in ("auto", "trivial")}
    print("epsilon: off target, LCE_100, pinball / best; then the methods of the leaderboard")
    for name, row in (curve | others).items():
        print(f"  {name:<16}" + "".join(f"{row[key]:9.4f}" for key in SHOWN_TO))
    beyond = sorted(n for n, row in others.items() if any(row[key] > most for key, most in SHOWN_TO.items()))
    print("  beyond the edges:", ", ".join(beyond))
    with matplotlib.rc_context(STYLE):
        figure, panels = plt.subplots(1, 2, figsize=(10.0, 4.6), sharey=True)
        for axes, key in zip(panels, ("lce", "off"), strict=True):
            for name, row in others.items():
                if name not in beyond:
                    axes.plot(row[key], row["pinball"], "o", ms=5, color=GREY, mfc="white")
                    side = BESIDE[key].get(name, (5, -3))
                    right = {"ha": "right"} if side[0] < 0 else {}
                    axes.annotate(name, (row[key], row["pinball"]), side, textcoords="offset points", color="#444444",
                                  fontsize=7.5, **right)  # fmt: skip
            axes.plot([r[key] for r in curve.values()], [r["pinball"] for r in curve.values()], ".-", color=BLUE)
            for (name, e), mark, tone in zip(PRIORITIES.items(), "^sD", (GREEN, BLUE, ORANGE), strict=True):
                axes.plot(curve[e][key], curve[e]["pinball"], mark, ms=9, color=tone, label=f"auto, {name}", zorder=3)
            axes.axhline(1.0, color="black", lw=0.8, ls=":")
            axes.set_xlim(left=0.0)
        panels[0].set_xlabel("LCE_100: distance of the worst 100 rounds from 0.9")
        panels[1].set_xlabel("off target: distance of the coverage from 0.9")
        panels[0].set_ylabel("pinball loss / best of eight in hindsight")
        panels[1].legend(loc="lower right")
        panels[0].set_title(r"Local coverage against width; $\varepsilon$ from 20 (left) to 0.1 on the curve")
        panels[1].set_title("Coverage of the whole stream against width")
        keep(figure, "auto_tradeoff")


def keep(figure, name):
    """Write a figure."""
    FOLDER.mkdir(exist_ok=True)
    figure.savefig(FOLDER / f"{name}.png", dpi=130, metadata={"Software": None})
    print(f"wrote {name}.png")


def costs():
    """Microseconds of a round (the best of five runs), and kB of a tracker after 5,000 rounds."""
    scores = np.abs(np.random.default_rng(0).normal(size=5000))
    for name in ("auto", "dtaci", "magl"):
        seconds = []
        for _ in range(5):
            tracker = wane.trackers.make(name, ALPHA)
            start = time.perf_counter()
            tracker.run(scores)
            seconds.append(time.perf_counter() - start)
        tracemalloc.start()
        kept = [wane.trackers.make(name, ALPHA) for _ in range(20)]
        for tracker in kept:
            tracker.run(scores)
        size = tracemalloc.get_traced_memory()[0] / len(kept)
        tracemalloc.stop()
        yield f"  {name}: {1e6 * min(seconds) / len(scores):.2f} us a round, {size / 1000.0:.0f} kB"


def rescaled():
    """How many streams are played otherwise when the scores are divided by a number, and what it does to the loss."""
    changed, losses = 0, []
    for stage in stages():
        radii = wane.trackers.make("auto", ALPHA).run(stage.scores)
        again = wane.trackers.make("auto", ALPHA).run(stage.scores / stage.unit) * stage.unit
        changed += bool((np.abs(radii - again) > 1e-6 * np.abs(stage.scores).mean()).any())
        losses.append(abs(stage.judge(again)["loss"] / stage.judge(radii)["loss"] - 1.0))
    return f"in other units: {changed} of {len(losses)} streams change, the loss by at most {100.0 * max(losses):.2f} %"


def labels(path):
    """``auto`` and others on a stream of labels, by the protocol of the paper."""
    experiment = Experiment(wane.streams.read(path))
    plays = {f"auto, {p}": wane.trackers.make("auto", ALPHA, priority=p) for p in PRIORITIES}
    plays |= {name: experiment.tracker(name) for name in ("faci", "nex", "magl", "magl-d")}
    for name, tracker in plays.items():
        radii = tracker.run(experiment.scores)[experiment.judged]
        covered = wane.metrics.covered(radii, experiment.scores[experiment.judged])
        sizes = np.count_nonzero(experiment.every <= radii[:, None], axis=1)
        lce = wane.metrics.lce(covered, ALPHA, explore.WINDOW)
        yield f"| {name} | {covered.mean():.4f} | {lce:.2f} | {sizes.mean():.1f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=Path, metavar="FILE", help="a stream of labels")
    options = parser.parse_args()
    warnings.simplefilter("ignore", wane.trackers.CoverageWarning)
    draw_weights()
    draw_tradeoff()
    print(f"cost, {'compiled' if wane.compiled() else 'not compiled'}")
    print(*costs(), sep="\n")
    print(rescaled())
    if options.labels:
        print("coverage, LCE_100, mean size of the sets on the stream of labels")
        print(*labels(options.labels), sep="\n")


if __name__ == "__main__":
    main()
