"""What discounting costs and what it buys: draws ``docs/figures/under_coverage.png`` for ``methods.md``.

Run it with ``python docs/under_coverage.py``; it prints the numbers that it draws. It needs matplotlib.
"""

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import wane

ALPHA = 0.1
DISCOUNTS = (0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 1.0)
EPSILONS = (0.1, 1.0, 10.0)
ROUNDS, SETTLING = 60_000, 20_000
STREAMS, BEFORE, AFTER, JUMP, SMOOTH = 300, 20_000, 500, 5.0, 20
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"  # Okabe and Ito: safe for colour-blind eyes
MARKERS = ("o", "s", "^")
FIGURE = Path(__file__).parent / "figures" / "under_coverage.png"


def settled(discount, epsilon, scores):
    """The coverage after settling, and what the identity says it is."""
    tracker = wane.trackers.make("magl-d", ALPHA, discount=discount, epsilon=epsilon)
    tracker.run(scores[:SETTLING])
    misses, sums = 0, 0.0
    for score in scores[SETTLING:].tolist():
        sums += tracker.coverage_sum()
        misses += tracker.predict() <= score
        tracker.update(score)
    rounds = len(scores) - SETTLING
    return 1.0 - misses / rounds, 1.0 - ALPHA - (1.0 - discount) * sums / rounds


def after_a_jump(discount, rng):
    """The share of streams that are covered in each round, smoothed over the last few rounds."""
    covered = np.zeros(BEFORE + AFTER)
    scale = np.where(np.arange(BEFORE + AFTER) < BEFORE, 1.0, JUMP)
    for _ in range(STREAMS):
        scores = scale * np.abs(rng.normal(size=len(scale)))
        covered += wane.trackers.make("magl-d", ALPHA, discount=discount).run(scores) > scores
    return np.convolve(covered / STREAMS, np.full(SMOOTH, 1.0 / SMOOTH))[: len(covered)]


def left(axes):
    scores = np.abs(np.random.default_rng(0).normal(size=ROUNDS))
    places = np.arange(len(DISCOUNTS))
    print(f"coverage on |N(0,1)| after {SETTLING:,} rounds, and what the identity predicts")
    for epsilon, colour, marker in zip(EPSILONS, (BLUE, ORANGE, GREEN), MARKERS, strict=True):
        found = np.array([settled(discount, epsilon, scores) for discount in DISCOUNTS])
        for discount, (measured, predicted) in zip(DISCOUNTS, found, strict=True):
            print(f"  epsilon {epsilon:<5g} discount {discount:<7g} {measured:.4f} {predicted:.4f}")
        axes.plot(
            places, found[:, 0], color=colour, marker=marker, ms=7, mfc="white", label=rf"$\varepsilon$ = {epsilon:g}"
        )
        axes.plot(places, found[:, 1], color=colour, marker="x", ms=7, mew=1.6, ls="none")
    axes.plot([], [], color=GREY, marker="x", ms=7, mew=1.6, ls="none", label="the identity")
    axes.set_xticks(places, [f"{d:g}" for d in DISCOUNTS], rotation=45)
    axes.set_xlabel(r"discount $\lambda$")
    axes.set_ylabel("coverage, i.i.d. scores")
    axes.set_title("Bias: what a discount costs")


def right(axes):
    shown = np.arange(-100, AFTER)
    print(f"coverage around a jump by {JUMP:g}, over {SMOOTH} rounds and {STREAMS} streams")
    print(f"  {'rounds after it':<18}{'-1':>7}{'24':>7}{'49':>7}{'99':>7}{'199':>7}{'499':>7}")
    for discount, colour, style in zip((0.99, 0.999, 1.0), (ORANGE, BLUE, GREEN), ("-", "--", "-."), strict=True):
        covered = after_a_jump(discount, np.random.default_rng(1))
        axes.plot(shown, covered[BEFORE + shown], color=colour, ls=style, lw=1.8, label=rf"$\lambda$ = {discount:g}")
        print(f"  discount {discount:<9g}" + "".join(f"{covered[BEFORE + t]:7.3f}" for t in (-1, 24, 49, 99, 199, 499)))
    axes.axvline(0, color=GREY, lw=0.8, ls=":")
    axes.set_xlabel(f"rounds after the scores become {JUMP:g} times larger")
    axes.set_ylabel(f"local coverage ({SMOOTH} rounds, {STREAMS} streams)")
    axes.set_title("Agility: what it buys")


def main():
    warnings.simplefilter("ignore", wane.trackers.CoverageWarning)
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    for draw, axes in zip((left, right), panels, strict=True):
        draw(axes)
        axes.axhline(1.0 - ALPHA, color="black", lw=1.0)
        axes.text(0.01, 1.0 - ALPHA, "target", transform=axes.get_yaxis_transform(), va="bottom")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
        axes.legend(loc="lower right", frameon=False)
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=150)
    print(f"wrote {FIGURE.name}")


if __name__ == "__main__":
    main()
