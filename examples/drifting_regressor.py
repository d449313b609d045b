"""Intervals around a scikit-learn regressor while the world drifts and labels come late.

A linear model learns from each label by ``partial_fit``. The stream is calm, then its weights move, then its noise
grows, then it is calm again. Labels come 1 to 40 rounds late, not in the order of their rounds, and are matched by id.

What to see: intervals that were calibrated once lose their coverage when the stream changes, and stay as wide as they
were. The online ones (magl) widen when needed, narrow when the calm is back, and stay near the target in every phase;
their several levels are nested, and hold each for itself. Nobody looks ahead: an interval is fixed before its label is
known to the model or to the trackers.

    python examples/drifting_regressor.py [--rounds 4000] [--plot FILE] [--json]

scikit-learn is needed: pip install ".[data]".
"""

from __future__ import annotations

import argparse
import heapq
import json
import sys

import numpy as np

import wane

LEVELS = (0.2, 0.1, 0.05)  # shares of misses
SHOWN = 0.1  # the level of the table by phases
PHASES = ("calm", "weights move", "noise grows", "calm again")
WARM_UP = 600  # rounds before the stream: the first half trains the model, the second calibrates both methods
LATEST = 40  # rounds that a label may take
WINDOW = 100  # rounds of local coverage


def world(rounds):
    """Inputs and labels of the warm-up and of the stream, and the phase of each round of the stream."""
    rng = np.random.default_rng(0)
    phase = np.minimum(np.arange(rounds) * len(PHASES) // rounds, len(PHASES) - 1)
    phase_with_past = np.concatenate([np.zeros(WARM_UP, dtype=int), phase])
    x = rng.normal(size=(len(phase_with_past), 5))
    steps = 0.05 * (phase_with_past == 1)[:, None] * rng.normal(size=x.shape)
    weights = np.array([1.0, -2.0, 0.5, 0.0, 1.5]) + np.cumsum(steps, axis=0)
    noise = np.where(phase_with_past == 2, 1.5, 0.5) * rng.normal(size=len(x))
    return x, np.sum(weights * x, axis=1) + noise, phase


def play(x, y):
    """Both methods on the stream: for each, the lower and upper ends, one row a round and one column a level."""
    try:
        from sklearn.linear_model import SGDRegressor
    except ImportError:
        sys.exit('this example needs scikit-learn: pip install ".[data]"')
    half = WARM_UP // 2
    model = SGDRegressor(learning_rate="constant", eta0=0.01, random_state=0)
    for _ in range(5):
        model.partial_fit(x[:half], y[:half])
    online = wane.OnlineConformal("magl", alpha=LEVELS, epsilon="auto")
    fixed = wane.OnlineConformal("split", alpha=LEVELS)
    for method in (online, fixed):
        method.warm_start(model.predict(x[half:WARM_UP]), y[half:WARM_UP])

    wait = np.random.default_rng(1).integers(1, LATEST + 1, size=len(y))
    late: list[tuple[int, int]] = []  # a heap of (the round when the label comes, the round it belongs to)
    ends = {"online": [], "fixed": []}
    for t in range(WARM_UP, len(y)):
        while late and late[0][0] <= t:
            _, i = heapq.heappop(late)
            online.update(i, y[i])
            model.partial_fit(x[i : i + 1], y[i : i + 1])
        output = model.predict(x[t : t + 1])[0]
        for name, method in (("online", online), ("fixed", fixed)):
            p = method.predict(output, id=t)
            ends[name].append((p.lower, p.upper))
        fixed.expire(t)  # its labels are never learned
        heapq.heappush(late, (t + int(wait[t]), t))
    return {name: np.swapaxes(np.array(rows), 0, 1) for name, rows in ends.items()}


def worst_window(covered):
    """The smallest share of covered rounds among WINDOW in a row."""
    sums = np.cumsum(np.concatenate([[0.0], covered]))
    return float((sums[WINDOW:] - sums[:-WINDOW]).min() / WINDOW)


def tables(ends, y, phase):
    """Print both tables; returns the facts."""
    covered = {name: (low <= y[:, None]) & (y[:, None] <= high) for name, (low, high) in ends.items()}
    width = {name: high - low for name, (low, high) in ends.items()}
    column = LEVELS.index(SHOWN)
    print(f"{1 - SHOWN:.0%} intervals, {len(y)} rounds, labels up to {LATEST} rounds late\n")
    print(f"{'':14s}" + "".join(f"{m:>10s}{'':8s}" for m in ends))
    print(f"{'phase':14s}" + f"{'coverage':>10s}{'width':>8s}" * len(ends))
    parts = [(name, phase == i) for i, name in enumerate(PHASES)] + [("overall", phase >= 0)]
    for name, inside in parts:
        cells = [f"{covered[m][inside, column].mean():10.3f}{width[m][inside, column].mean():8.2f}" for m in ends]
        print(f"{name:14s}{''.join(cells)}")
    worst = {m: worst_window(covered[m][:, column]) for m in ends}
    print(f"{f'worst {WINDOW}':14s}" + "".join(f"{worst[m]:10.3f}{'':8s}" for m in ends))

    print(f"\n{'all levels':14s}{'method':>8s}{'coverage':>10s}{f'worst {WINDOW}':>11s}{'width':>8s}")
    for i, alpha in enumerate(LEVELS):
        for m in ends:
            numbers = (
                f"{covered[m][:, i].mean():10.3f}{worst_window(covered[m][:, i]):11.3f}{width[m][:, i].mean():8.2f}"
            )
            print(f"{f'{1 - alpha:.0%}':14s}{m:>8s}{numbers}")
    return {
        "levels": LEVELS,
        "coverage": {m: covered[m].mean(axis=0).tolist() for m in ends},
        "coverage_after_300": {m: covered[m][300:].mean(axis=0).tolist() for m in ends},
        "worst": {m: [worst_window(covered[m][:, i]) for i in range(len(LEVELS))] for m in ends},
        "width": {m: width[m].mean(axis=0).tolist() for m in ends},
        "width_by_phase": {m: [float(width[m][phase == i, column].mean()) for i in range(len(PHASES))] for m in ends},
        "nested": bool((np.diff(width["online"], axis=1) >= 0.0).all()),
    }


def draw(ends, y, phase, out):
    """Local coverage and width of both methods."""
    try:
        import matplotlib
    except ImportError:
        sys.exit('the figure needs matplotlib: pip install ".[plot]"')
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    column = LEVELS.index(SHOWN)
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 6), sharex=True, layout="constrained")
    for name, colour in (("online", "#0072B2"), ("fixed", "#E69F00")):
        low, high = ends[name][0][:, column], ends[name][1][:, column]
        covered = ((low <= y) & (y <= high)).astype(float)
        local = np.convolve(covered, np.full(WINDOW, 1.0 / WINDOW), mode="valid")
        above.plot(np.arange(WINDOW - 1, len(y)), local, color=colour, label=name)
        below.plot(high - low, color=colour)
    above.axhline(1.0 - SHOWN, color="black", lw=0.8, ls="--")
    for edge in np.flatnonzero(np.diff(phase)) + 1:
        above.axvline(edge, color="0.8")
        below.axvline(edge, color="0.8")
    above.set_ylabel(f"coverage of the last {WINDOW}")
    above.legend(loc="lower left")
    below.set_ylabel("width")
    below.set_xlabel("round")
    figure.savefig(out, dpi=130)


def main():
    """Play, print the tables, draw if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4000, help="of the stream, at least 1000")
    parser.add_argument("--plot", metavar="FILE", help="draw a figure, which needs matplotlib")
    parser.add_argument("--json", action="store_true", help="print the facts in JSON as the last line")
    options = parser.parse_args()
    if options.rounds < 1000:
        parser.error(f"--rounds must be at least 1000, got {options.rounds}: each phase needs room for its windows")
    x, y, phase = world(options.rounds)
    ends, y = play(x, y), y[WARM_UP:]
    facts = tables(ends, y, phase)
    if options.plot:
        draw(ends, y, phase, options.plot)
        print(f"\nfigure: {options.plot}")
    if options.json:
        print(json.dumps(facts))


if __name__ == "__main__":
    main()
