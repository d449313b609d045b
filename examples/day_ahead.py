"""Day-ahead demand for electricity: every midnight a forecast of the next 48 half-hours, with intervals for each.

The forecast of a half-hour mixes the same half-hour of yesterday and of last week with the latest values, by least
squares on the last eight weeks. The default series is synthetic: days, weeks, years, a trend, wandering weather, noise,
and a shift after two thirds. ``--data FILE.npz`` takes the array ``y``, half-hourly from midnight, from your own file.

What to see: the interval grows with the hours ahead, since each of the 48 steps has trackers of its own
(wane.Horizons), and the coverage is near 80 % and 95 % for every hour. Intervals calibrated once, before the first
forecast, do not keep what they promise.

    python examples/day_ahead.py [--days 1460] [--data FILE.npz] [--plot FILE] [--json]
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

import wane

DAY = 48  # half-hours
WEEK = 7 * DAY
LEVELS = (0.2, 0.05)  # shares of misses
FIT = 56  # days that a fit looks at
WARM_UP = 60  # days of forecasts that make the first intervals


def synthetic(days):
    """Demand in GW."""
    rng = np.random.default_rng(0)
    t = np.arange(days * DAY)
    hour, day = t % DAY / 2.0, t // DAY
    shape = 1.2 * np.exp(-0.5 * ((hour - 8.5) / 2.0) ** 2) + 1.8 * np.exp(-0.5 * ((hour - 18.5) / 2.5) ** 2)
    week = np.where(day % 7 >= 5, 0.75, 1.0)
    year = 1.0 + 0.15 * np.cos(2.0 * np.pi * t / (365.25 * DAY))
    weather = np.zeros(len(t))  # wanders, so that it is known less and less well the further ahead
    for i, shock in enumerate(rng.normal(scale=0.04, size=len(t) - 1)):
        weather[i + 1] = 0.995 * weather[i] + shock
    shift = np.where(t > 2 * len(t) // 3, 1.3, 1.0)  # a region joins: everything is larger, errors too
    return shift * (5.0 + 2e-4 * day + week * year * shape + weather + rng.normal(scale=0.05, size=len(t)))


def features(y, origins):
    """What is known after the half-hours ``origins``, for each of the 48 that follow: (origins, 48, 5).

    No look-ahead: the newest value used for origin s is y[s], also in the last column of "yesterday", y[s + 48 - 48].
    """
    ahead = np.asarray(origins)[:, None] + np.arange(1, DAY + 1)
    now = np.broadcast_to(y[ahead[:, :1] - 1] - y[ahead[:, :1] - 1 - DAY], ahead.shape)
    recent = np.stack([y[s - DAY + 1 : s + 1].mean() for s in origins])[:, None]
    return np.stack(
        [y[ahead - DAY], y[ahead - WEEK], now, np.broadcast_to(recent, ahead.shape), np.ones(ahead.shape)], 2
    )


def forecasts(y):
    """A forecast for each day from the first possible one: the origins, and an array (days, 48).

    No look-ahead: the fit for origin s learns from the origins s - 48, s - 96, ..., whose last labels are y[s],
    y[s - 48], ...; all are known at s.
    """
    origins = np.arange(7, len(y) // DAY) * DAY + DAY - 1  # the last half-hour of each day, after a week
    x = features(y, origins[:-1])
    targets = np.stack([y[s + 1 : s + 1 + DAY] for s in origins[:-1]])
    made = []
    for i in range(FIT, len(origins) - 1):
        past, labels = x[i - FIT : i], targets[i - FIT : i]
        gram = np.einsum("dhi,dhj->hij", past, past) + 1e-6 * np.eye(x.shape[2])
        weights = np.linalg.solve(gram, np.einsum("dhi,dh->hi", past, labels)[:, :, None])[:, :, 0]
        made.append(np.sum(weights * x[i], axis=1))
    return origins[FIT:-1], np.array(made)


def play(y, origins, made):
    """For each method, whether each label was covered and the widths: arrays (days, 48, levels)."""
    targets = np.stack([y[s + 1 : s + 1 + DAY] for s in origins])
    online = wane.Horizons(DAY, "magl", alpha=LEVELS, stride=DAY, epsilon="auto")
    fixed = [wane.OnlineConformal("split", alpha=LEVELS) for _ in range(DAY)]
    for h in range(DAY):
        for step in (online.steps[h], fixed[h]):
            step.warm_start(made[:WARM_UP, h], targets[:WARM_UP, h])

    # The forecast of each midnight meets trackers that know the labels until this midnight, and none after it: that is
    # what Horizons.run does, as if predict(forecast) and update(time, label) were called in turns.
    tables = online.run(made[WARM_UP:], y[origins[WARM_UP] :])
    played = {"online": tuple(np.stack([getattr(t, k) for t in tables], axis=1) for k in ("covered", "width"))}
    radii = np.array([step.predict(0.0).radius for step in fixed])
    errors = np.abs(targets - made)[WARM_UP:]
    played["fixed"] = (errors[:, :, None] <= radii).astype(float), np.broadcast_to(2.0 * radii, (*errors.shape, 2))
    return played


def report(played):
    """Print the table by hours ahead; returns the facts."""
    days = len(played["online"][0])
    print(f"{days} days, a forecast of 48 half-hours each midnight; coverage and mean width\n")
    heads = [f"{name} {1 - a:.0%}" for name in played for a in LEVELS]
    print(f"{'hour ahead':>10s}" + "".join(f"{head:>14s}{'width':>8s}" for head in heads))
    for hour in range(24):
        print(f"{hour + 1:10d}" + cells(played, slice(2 * hour, 2 * hour + 2)))
    print(f"{'overall':>10s}" + cells(played, slice(None)))
    last = days // 4
    print(f"{'at the end':>10s}" + cells(played, slice(None), last) + f"   (the last {last} days)")
    return {
        "levels": LEVELS,
        "coverage": {name: covered.mean(axis=(0, 1)).tolist() for name, (covered, _) in played.items()},
        "coverage_at_the_end": {
            name: covered[-last:].mean(axis=(0, 1)).tolist() for name, (covered, _) in played.items()
        },
        "coverage_by_step": played["online"][0].mean(axis=0).T.tolist(),
        "width_by_step": played["online"][1].mean(axis=0).T.tolist(),
    }


def cells(played, steps, last=0):
    """One row of the table: some steps, the last days or all."""
    return "".join(
        f"{covered[-last:, steps, i].mean():14.3f}{width[-last:, steps, i].mean():8.3f}"
        for covered, width in played.values()
        for i in range(len(LEVELS))
    )


def draw(played, out):
    """Coverage and width against the hours ahead."""
    try:
        import matplotlib
    except ImportError:
        sys.exit('the figure needs matplotlib: pip install ".[plot]"')
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    hours = np.arange(1, DAY + 1) / 2.0
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 6), sharex=True, layout="constrained")
    for (name, (covered, width)), colour in zip(played.items(), ("#0072B2", "#E69F00"), strict=True):
        for i, alpha in enumerate(LEVELS):
            style = {"color": colour, "ls": ("-", "--")[i]}
            above.plot(hours, covered[:, :, i].mean(axis=0), label=f"{name}, {1 - alpha:.0%}", **style)
            below.plot(hours, width[:, :, i].mean(axis=0), **style)
            above.axhline(1.0 - alpha, color="black", lw=0.5)
    above.set_ylabel("coverage")
    above.legend(fontsize=8, ncols=2)
    below.set_ylabel("mean width")
    below.set_xlabel("hours ahead")
    figure.savefig(out, dpi=130)


def read(path):
    """The array y of a file."""
    with np.load(path) as data:
        if "y" not in data.files:
            sys.exit(f"{path} must hold an array y, half-hourly from midnight, got {', '.join(data.files)}")
        y = np.asarray(data["y"], dtype=float)
    if y.ndim != 1 or not np.isfinite(y).all():
        sys.exit(f"y in {path} must be one finite number a half-hour, got shape {y.shape}")
    return y


def main():
    """Forecast, play, print the table, draw if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--days", type=int, default=1460, help="of the synthetic series")
    parser.add_argument("--data", metavar="FILE", help="an .npz with the array y, half-hourly from midnight")
    parser.add_argument("--plot", metavar="FILE", help="draw a figure, which needs matplotlib")
    parser.add_argument("--json", action="store_true", help="print the facts in JSON as the last line")
    options = parser.parse_args()
    y = read(options.data) if options.data else synthetic(max(options.days, 0))
    least = 7 + FIT + WARM_UP + 30
    if len(y) < least * DAY:
        parser.error(f"{least} days are the least: a week, {FIT} to fit, {WARM_UP} to calibrate, 30 to look at")
    played = play(y, *forecasts(y))
    facts = report(played)
    if options.plot:
        draw(played, options.plot)
        print(f"\nfigure: {options.plot}")
    if options.json:
        print(json.dumps(facts))


if __name__ == "__main__":
    main()
