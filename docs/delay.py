"""What delay costs: prints the rows of the table in ``delay.md`` and draws ``docs/figures/delay.png``.

Run it with ``python docs/delay.py``. The figure needs matplotlib; the table does not, and ``tests/test_docs.py``
compares it with the page.
"""

import warnings
from pathlib import Path

import numpy as np

import wane

ALPHA, ROUNDS, WINDOW, JUMP, PAST = 0.1, 3000, 100, 3.0, 200
METHODS = {"magl": {}, "magl-d": {}, "aci": {"clip": True}, "dtaci": {}}
DELAYS = (0, 10, 30, 100, 300)
SHOWN = (0, 20, 100)  # on the left
BLUE, ORANGE, GREEN, PINK, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555"  # Okabe and Ito
FIGURE = Path(__file__).parent / "figures" / "delay.png"


def stream():
    """Scores of the past, and scores that are ``JUMP`` times larger in the second third of the rounds."""
    t = np.arange(-PAST, ROUNDS)
    scale = np.where((t >= ROUNDS // 3) & (t < 2 * ROUNDS // 3), JUMP, 1.0)
    scores = scale * np.abs(np.random.default_rng(0).normal(size=len(t)))
    return scores[:PAST], scores[PAST:]


def replay(name, delay):
    """Radii and scores: the label of round t is learned after the prediction of round t + delay."""
    past, scores = stream()
    oc = wane.OnlineConformal(name, alpha=ALPHA, **METHODS[name])
    oc.warm_start(np.zeros(PAST), past)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wane.trackers.CoverageWarning)
        table = oc.run(np.zeros(ROUNDS), scores, delay)
    return table.radius, table.score


def summary(name, delay):
    """Coverage, mean radius and mean pinball loss, of all rounds."""
    radii, scores = replay(name, delay)
    loss = np.maximum(ALPHA * (radii - scores), (ALPHA - 1.0) * (radii - scores))
    return (radii > scores).mean(), radii.mean(), loss.mean()


def local(name, delay):
    """The coverage of the last ``WINDOW`` rounds."""
    radii, scores = replay(name, delay)
    return np.convolve(radii > scores, np.full(WINDOW, 1.0 / WINDOW), "valid")


def rows(results):
    """The lines of the table."""
    for d in DELAYS:
        cells = ["{:.3f} / {:,.2f} / {:,.3f}".format(*results[name][d]) for name in METHODS]
        yield f"| {d} | " + " | ".join(cells) + " |"


def measured():
    """All numbers of the table: method, then delay."""
    return {name: {d: summary(name, d) for d in DELAYS} for name in METHODS}


def draw(results):
    """The figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from PIL import Image

    figure = plt.figure(figsize=(10, 4.4), dpi=120, layout="constrained")
    grid = figure.add_gridspec(3, 2)
    left = figure.add_subplot(grid[:, 0])
    for d, colour, style in zip(SHOWN, (BLUE, GREEN, ORANGE), ("-", "--", "-."), strict=True):
        covered = local("magl", d)
        rounds = np.arange(WINDOW - 1, ROUNDS)
        left.plot(rounds[::10], covered[::10], color=colour, ls=style, lw=1.5, label=f"delay {d}")
    for jump in (ROUNDS // 3, 2 * ROUNDS // 3):
        left.axvline(jump, color=GREY, lw=0.8, ls=":")
    left.axhline(1.0 - ALPHA, color="black", lw=1.0)
    left.set_xlabel(f"round; scores are {JUMP:g} times larger between the dotted lines")
    left.set_ylabel(f"coverage of the last {WINDOW} rounds")
    left.set_title("magl, labels in time and late")
    left.legend(loc="lower right", frameon=False)
    places = np.arange(len(DELAYS))
    for row, what in enumerate(("coverage", "mean radius", "pinball loss")):
        axes = figure.add_subplot(grid[row, 1])
        for name, colour, marker in zip(METHODS, (BLUE, ORANGE, GREEN, PINK), "os^D", strict=True):
            values = [results[name][d][row] for d in DELAYS]
            axes.plot(places, values, color=colour, marker=marker, ms=5, mfc="white", lw=1.4, label=name)
        axes.set_ylabel(what)
        axes.set_yscale("linear" if row == 0 else "log")
        axes.set_xticks(places, [f"{d}" for d in DELAYS] if row == 2 else [])
        if row == 0:
            axes.axhline(1.0 - ALPHA, color="black", lw=1.0)
            axes.set_title("What it costs")
    axes.set_xlabel("delay")
    axes.legend(loc="upper left", frameon=False, ncols=2)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    FIGURE.parent.mkdir(exist_ok=True)
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3].copy()
    Image.fromarray(pixels).quantize(64).save(FIGURE, optimize=True)  # a palette: a third of the size
    print(f"wrote {FIGURE.name}")


def main():
    """The table, then the figure."""
    results = measured()
    print("\n".join(rows(results)))
    for d in SHOWN:
        lowest = local("magl", d)[ROUNDS // 3 - WINDOW + 1 : 2 * ROUNDS // 3 - WINDOW + 1].min()
        print(f"magl, delay {d}: lowest coverage of {WINDOW} rounds after the jump {lowest:.2f}")
    draw(results)


if __name__ == "__main__":
    main()
