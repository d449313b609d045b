"""The table of docs/groups.md: how far the worst group is from its target, by four ways to treat groups.

Rounds of a series belong to a size of the forecast (quarters of the forecasts of the last year, as known at the time)
and to a place in the week or the year. ``python docs/groups.py`` prints the table.
"""

import warnings

import numpy as np

import wane
from wane.trackers import Grouped, make

ALPHA, UNSCORED, LEAST = (
    0.1,
    500,
    100,
)  # rounds at the start that are not judged; groups with fewer rounds are not either
SERIES = {"wti-volatility": (5, "day"), "sp500-volatility": (5, "day"), "brent": (5, "day"), "sunspots": (12, "month")}


def groups_of(forecasts, period, unit):
    """The names of the groups of each round: the size of the forecast, and a place in the period."""
    names = []
    for t, forecast in enumerate(forecasts):
        size = int(np.searchsorted(np.quantile(forecasts[max(0, t - 250) : t + 1], [0.25, 0.5, 0.75]), forecast))
        names.append((f"size {size + 1}", f"{unit} {t % period + 1}"))
    return names


def grouped(scores, names):
    """One tracker with a learner for each group."""
    tracker, radii = Grouped(make("auto", ALPHA)), np.empty(len(scores))
    for t, score in enumerate(scores):
        tracker.set_groups(names[t])
        radii[t] = tracker.predict()
        tracker.update(score)
    return radii


def apart(scores, keys):
    """One tracker for each key, which sees nothing of the others."""
    radii = np.empty(len(scores))
    for key in set(keys):
        rows = [t for t, k in enumerate(keys) if k == key]
        radii[rows] = make("auto", ALPHA).run(scores[rows])
    return radii


def judged(radii, scores, names):
    """How far the worst group is from the target, how far all rounds are, and the mean pinball loss."""
    missed = (radii <= scores)[UNSCORED:]
    off = []
    for group in {g for inside in names for g in inside}:
        rows = np.array([group in inside for inside in names[UNSCORED:]])
        if rows.sum() >= LEAST:
            off.append(abs(missed[rows].mean() - ALPHA))
    loss = np.where(radii > scores, ALPHA * (radii - scores), (1.0 - ALPHA) * (scores - radii))[UNSCORED:].mean()
    return max(off), abs(missed.mean() - ALPHA), loss


def main():
    """Print the table."""
    warnings.simplefilter("ignore", wane.trackers.CoverageWarning)
    print("| series (rounds, groups) | `auto` | `Grouped` | one `auto` a size | one `auto` for each combination |")
    print("| --- | --- | --- | --- | --- |")
    for name, (period, unit) in SERIES.items():
        stream = wane.streams.make(name)
        scores = np.abs(stream.y - stream.y_hat)
        names = groups_of(stream.y_hat, period, unit)
        ways = (
            make("auto", ALPHA).run(scores),
            grouped(scores, names),
            apart(scores, [size for size, _ in names]),
            apart(scores, names),
        )
        found = [judged(radii, scores, names) for radii in ways]
        cells = [f"{worst:.3f}, {every:.3f}, {loss / found[0][2]:.3f}" for worst, every, loss in found]
        print(f"| {name} ({len(scores):,}, {4 + period}) | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
