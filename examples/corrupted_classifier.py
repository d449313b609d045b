"""Sets of labels around a classifier whose images get worse and better again.

A logistic regression learns scikit-learn's digits. Then it meets digits it has not seen, clean at first, then with
noise, clean, blurred, with both, and clean again; nobody tells it. RAPS turns its probabilities into sets of labels.

What to see: the threshold that was calibrated once, on clean images, misses far too often on bad ones. magl widens the
sets until 90 % are covered again. magl-d, which forgets (the weight of a label halves in 690 rounds), gets back to
small sets sooner when the images are clean again, and pays for it: it covers a little less than it is asked to, as
every method that forgets does.

    python examples/corrupted_classifier.py [--rounds 4200] [--plot FILE] [--json]

scikit-learn is needed: pip install ".[data]".
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np
from scipy import ndimage

import wane

ALPHA = 0.1
DISCOUNT = 0.999
PHASES = ("clean", "noise", "clean", "blur", "noise and blur", "clean")
TRAIN, CALIBRATE = 800, 300  # images; the stream draws from the rest
WINDOW = 100  # rounds of local coverage


def corrupted(images, phases, rng):
    """The images as their phases leave them: values from 0 to 16, on 8 x 8."""
    noise = rng.normal(scale=6.0, size=images.shape)
    result = images.copy()
    for i, kind in enumerate(PHASES):
        chosen = phases == i
        if "blur" in kind:
            result[chosen] = ndimage.gaussian_filter(result[chosen], sigma=(0.0, 1.0, 1.0))
        if "noise" in kind:
            result[chosen] = np.clip(result[chosen] + noise[chosen], 0.0, 16.0)
    return result


def world(rounds):
    """Probabilities and labels for the calibration and for the stream, and the phase of each round of the stream."""
    try:
        from sklearn.datasets import load_digits
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        sys.exit('this example needs scikit-learn: pip install ".[data]"')
    digits = load_digits()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(digits.target))
    images, labels = digits.images[order], digits.target[order]
    flat = images.reshape(len(images), -1) / 16.0
    model = LogisticRegression(C=10.0, max_iter=500).fit(flat[:TRAIN], labels[:TRAIN])
    held_out = slice(TRAIN, TRAIN + CALIBRATE)
    drawn = rng.integers(TRAIN + CALIBRATE, len(labels), size=rounds)
    phases = np.arange(rounds) * len(PHASES) // rounds
    stream = corrupted(images[drawn], phases, rng).reshape(rounds, -1) / 16.0
    past = model.predict_proba(flat[held_out]), labels[held_out]
    return past, (model.predict_proba(stream), labels[drawn]), phases


def play(past, stream):
    """For each method, whether each round was covered and the size of its set."""
    played = {}
    score = wane.scores.RAPS(penalty=0.01, k_reg=2, seed=0)
    for name, keywords in (("magl", {}), ("magl-d", {"discount": DISCOUNT})):
        online = wane.OnlineConformal(name, score, alpha=ALPHA, epsilon="auto", **keywords)
        online.warm_start(*past)
        table = online.run(*stream)
        played[name] = table.covered, table.width

    # The fixed threshold is the first radius of split conformal prediction, for ever.
    split = wane.OnlineConformal("split", score, alpha=ALPHA)
    split.warm_start(*past)
    threshold = split.predict(stream[0][0]).radius
    u = wane.scores.uniforms(0, 0, len(stream[1]))  # the same as the others had
    size = score.width(stream[0], np.full(len(u), threshold), u)
    played["fixed"] = (score.score(*stream, u) <= threshold).astype(float), size
    return played


def worst_window(covered):
    """The smallest share of covered rounds among WINDOW in a row."""
    sums = np.cumsum(np.concatenate([[0.0], covered]))
    return float((sums[WINDOW:] - sums[:-WINDOW]).min() / WINDOW)


def report(played, stream, phases):
    """Print the table; returns the facts."""
    right = stream[0].argmax(axis=1) == stream[1]
    print(f"{len(right)} images, sets that should cover {1 - ALPHA:.0%}: coverage and mean number of labels\n")
    print(f"{'phase':16s}{'accuracy':>9s}" + "".join(f"{name:>10s}{'size':>7s}" for name in played))
    parts = [(name, phases == i) for i, name in enumerate(PHASES)] + [("overall", phases >= 0)]
    for name, inside in parts:
        cells = [f"{covered[inside].mean():10.3f}{size[inside].mean():7.2f}" for covered, size in played.values()]
        print(f"{name:16s}{right[inside].mean():9.3f}{''.join(cells)}")
    worst = {name: worst_window(covered) for name, (covered, _) in played.items()}
    print(f"{f'worst {WINDOW}':25s}" + "".join(f"{w:10.3f}{'':7s}" for w in worst.values()))
    return {
        "target": 1.0 - ALPHA,
        "coverage": {name: float(covered.mean()) for name, (covered, _) in played.items()},
        "coverage_after_300": {name: float(covered[300:].mean()) for name, (covered, _) in played.items()},
        "worst": worst,
        "size_by_phase": {
            name: [float(size[phases == i].mean()) for i in range(len(PHASES))] for name, (_, size) in played.items()
        },
    }


def draw(played, phases, out):
    """Local coverage and set size of every method."""
    try:
        import matplotlib
    except ImportError:
        sys.exit('the figure needs matplotlib: pip install ".[plot]"')
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    mean = np.full(WINDOW, 1.0 / WINDOW)
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 6), sharex=True, layout="constrained")
    for (name, (covered, size)), colour in zip(played.items(), ("#0072B2", "#CC79A7", "#E69F00"), strict=True):
        rounds = np.arange(WINDOW - 1, len(covered))
        above.plot(rounds, np.convolve(covered, mean, mode="valid"), color=colour, label=name)
        below.plot(rounds, np.convolve(size, mean, mode="valid"), color=colour)
    above.axhline(1.0 - ALPHA, color="black", lw=0.8, ls="--")
    for i, name in enumerate(PHASES):
        edge = int(np.argmax(phases == i))
        above.axvline(edge, color="0.8")
        below.axvline(edge, color="0.8")
        below.text(edge, below.get_ylim()[1], f" {name}", va="top", fontsize=8)
    above.set_ylabel(f"coverage of the last {WINDOW}")
    above.legend(loc="lower left")
    below.set_ylabel(f"labels, mean of the last {WINDOW}")
    below.set_xlabel("round")
    figure.savefig(out, dpi=130)


def main():
    """Play, print the table, draw if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4200, help="of the stream, at least 600")
    parser.add_argument("--plot", metavar="FILE", help="draw a figure, which needs matplotlib")
    parser.add_argument("--json", action="store_true", help="print the facts in JSON as the last line")
    options = parser.parse_args()
    if options.rounds < 600:
        parser.error(f"--rounds must be at least 600, got {options.rounds}: each phase needs room for its windows")
    past, stream, phases = world(options.rounds)
    played = play(past, stream)
    facts = report(played, stream, phases)
    if options.plot:
        draw(played, phases, options.plot)
        print(f"\nfigure: {options.plot}")
    if options.json:
        print(json.dumps(facts))


if __name__ == "__main__":
    main()
