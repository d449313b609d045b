"""Methods for several steps ahead on the autoregression of the AcMCP paper, forecast by its own law.

``python tools/steps_ahead.py`` prints the coverage and the interval score of each step, after 300 rounds, and the time
of a forecast. The methods have their defaults. It takes a minute.
"""

import time
import warnings

import numpy as np

import wane
from wane.metrics import winkler

ROUNDS, STEPS, SKIPPED, SEEDS, ALPHA = 1500, 3, 300, 2, 0.1
METHODS = {
    "acmcp": {},
    "auto, signed": {"tracker": "auto", "score": "signed"},
    "auto": {},
    "pid, signed": {"tracker": "pid", "score": "signed", "saturation": 5.0},
    "magl": {},
}


def series(seed):
    """Values, and the best forecasts of the next steps."""
    rng, y = np.random.default_rng(seed), np.zeros(ROUNDS + STEPS + 2)
    for t in range(2, len(y)):
        y[t] = 0.8 * y[t - 1] - 0.5 * y[t - 2] + rng.normal()
    y = y[1:]
    forecasts, newer, older = np.empty((ROUNDS, STEPS)), y[:ROUNDS], np.concatenate([[0.0], y[: ROUNDS - 1]])
    for h in range(STEPS):
        newer, older = 0.8 * newer - 0.5 * older, newer
        forecasts[:, h] = newer
    return forecasts, y


if __name__ == "__main__":
    warnings.simplefilter("ignore", wane.trackers.CoverageWarning)
    print(
        "| method | coverage, 1 to 3 steps | interval score, 1 to 3 steps | ms a forecast |\n| --- | --- | --- | --- |"
    )
    for name, settings in METHODS.items():
        covered, scores, begun = np.zeros((SEEDS, STEPS)), np.zeros((SEEDS, STEPS)), time.perf_counter()
        for seed in range(SEEDS):
            forecasts, y = series(seed)
            tables = wane.Horizons(STEPS, alpha=ALPHA, **{"tracker": name} | settings).run(forecasts, y)
            for h, table in enumerate(tables, 1):
                covered[seed, h - 1] = table.covered[SKIPPED:].mean()
                labels = y[h + SKIPPED : h + ROUNDS]
                scores[seed, h - 1] = winkler(table.lower[SKIPPED:], table.upper[SKIPPED:], labels, alpha=ALPHA)
        each = 1000.0 * (time.perf_counter() - begun) / (SEEDS * ROUNDS)
        shown = [
            " ".join(f"{x:{form}}" for x in cells.mean(axis=0)) for cells, form in ((covered, ".3f"), (scores, ".2f"))
        ]
        print(f"| {name} | {shown[0]} | {shown[1]} | {each:.2f} |")
