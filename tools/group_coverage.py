"""How far the worst of 18 overlapping groups is from its target on streams of 20,000 rounds.

``python tools/group_coverage.py`` plays five synthetic hourly streams, whose errors depend on the hour, the weekday
and the size of the forecast, and change in the middle. ``python tools/group_coverage.py FILE.npz ...`` plays streams
with the arrays ``y`` and ``yhat``, hour by hour. The groups are six blocks of hours, seven weekdays, four sizes of the
forecast, and everything. The columns are the distance of the worst group from 10 % misses, that of the worst group in
the worst fifth of the stream (of 200 rounds or more), two standard deviations of the smallest of these parts, and the
pinball loss over that of ``auto``.
"""

import sys

import numpy as np

import wane

ROUNDS, ALPHA, FIFTHS, LEAST = 20_000, 0.1, 5, 200


def synthetic(seed):
    """A stream with a daily and a weekly pattern in level and noise, and a jump of the noise in the middle."""
    rng, t = np.random.default_rng(seed), np.arange(ROUNDS)
    hour, day = t % 24, t // 24 % 7
    level = 100.0 + 30.0 * np.sin(2.0 * np.pi * hour / 24.0) + 10.0 * (day < 5) + 10.0 * rng.normal(size=ROUNDS)
    noise = (1.0 + (hour >= 18)) * np.where(day == 6, 2.0, 1.0) * (0.5 + np.abs(level) / 100.0)
    noise = noise * np.where(t > ROUNDS // 2, np.where(hour < 8, 2.0, 1.0), 1.0)
    return level + noise * rng.standard_t(5, size=ROUNDS), level


def from_file(path):
    """The first rounds of a stream in a file."""
    found = np.load(path)
    known = np.isfinite(found["y"]) & np.isfinite(found["yhat"])
    return found["y"][known][:ROUNDS], found["yhat"][known][:ROUNDS]


def measured(y, y_hat):
    """The numbers of a stream, with groups and without."""
    t = np.arange(len(y))
    columns = ["block", "weekday", wane.Quantiles("size", 4)]
    groups = {"block": t % 24 // 4, "weekday": t // 24 % 7, "size": y_hat}
    grouping = wane.conformal.grouping.Grouping(columns)
    inside = grouping.take_rows(groups, len(y))
    masks = [np.ones(len(y), dtype=bool), *((inside == j).any(axis=1) for j in range(1, len(grouping.groups) + 1))]
    score, found = np.abs(y - y_hat), []
    for settings, given in (({}, {}), ({"groups": columns}, {"groups": groups})):
        radius = wane.OnlineConformal(alpha=ALPHA, **settings).run(y_hat, y, **given).radius
        miss = (radius <= score).astype(float)
        worst = max(abs(miss[mask].mean() - ALPHA) for mask in masks)
        parts = [mask & (t * FIFTHS // len(y) == k) for mask in masks for k in range(FIFTHS)]
        parts = [part for part in parts if part.sum() >= LEAST]
        local = max(abs(miss[part].mean() - ALPHA) for part in parts)
        chance = 2.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / min(part.sum() for part in parts))
        found.append(
            (worst, local, chance, np.where(miss == 0.0, ALPHA * (radius - score), 0.9 * (score - radius)).mean())
        )
    return found


if __name__ == "__main__":
    streams = [(path, from_file(path)) for path in sys.argv[1:]]
    streams = streams or [(f"synthetic {seed}", synthetic(seed)) for seed in range(5)]
    print("| stream (rounds) | worst group: `auto`, `groups=` | in a fifth: `auto`, `groups=` | chance | loss |")
    print("| --- | --- | --- | --- | --- |")
    for name, (y, y_hat) in streams:
        (worst, local, chance, loss), (worst_with, local_with, _, loss_with) = measured(y, y_hat)
        cells = f"{worst:.4f}, {worst_with:.4f} | {local:.3f}, {local_with:.3f} | {chance:.3f} | {loss_with / loss:.3f}"
        print(f"| {name.rsplit('/', 1)[-1]} ({len(y):,}) | {cells} |")
