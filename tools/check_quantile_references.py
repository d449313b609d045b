"""Compare the trackers that play quantiles with what other people's code played.

python tools/check_quantile_references.py FOLDER, which holds salesforce_amzn.npz, conformal_time_series_amzn.npz,
r_adaptiveconformal_amzn.npz and r_dtaci_sp500.npz.
Prints, for each, the rounds compared, the rounds where exactly one of the two is infinite, and the largest relative
difference where both are finite.
"""

import sys
from pathlib import Path

import numpy as np

from wane.trackers import make

WINDOW = 50  # of its trailing window; its ACI looks at everything
BURN_IN = 101  # rounds in which conformal_time_series leaves the level alone; it then plays an interpolated quantile


def row(name, ours, theirs):
    both = np.isfinite(ours) & np.isfinite(theirs)
    infinite = int((np.isfinite(ours) != np.isfinite(theirs)).sum())
    gap = np.abs(ours[both] - theirs[both]) / np.maximum(np.abs(theirs[both]), 1e-300)
    gap = np.where(ours[both] == theirs[both], 0.0, gap)
    off = int((gap > 1e-9).sum())
    print(f"{name:58s} {len(ours):6d} {infinite:8d} {off:8d} {gap.max(initial=0.0):12.2e}")


def salesforce(folder):
    data = np.load(folder / "salesforce_amzn.npz")
    scores = data["amzn_theta_abs__scores"]
    alpha = 1.0 - 0.9  # as the code computes it
    for name, theirs in [("split", "SplitConformal"), ("nex", "NExConformal"), ("faci", "FACI"), ("faci-s", "FACI_S")]:
        ours = make(name, alpha, published=True).run(scores)
        row(f"salesforce {theirs}", ours, np.maximum(data[f"amzn_theta_abs__{theirs}"], 0.0))


def conformal_time_series(folder):
    data = np.load(folder / "conformal_time_series_amzn.npz")
    signed = data["y"] - data["yhat_theta"]
    for side, scores, alpha in [("abs", np.abs(signed), 0.1), ("hi", signed, 0.05), ("lo", -signed, 0.05)]:
        for lr in (0.005, 0.1):
            for kind, clip in [("aci", False), ("aci_clipped", True)]:
                tracker = make("aci", alpha, gamma=lr, burn_in=BURN_IN, clip=clip, published=True, domain="real")
                theirs = data[f"theta__{kind}_lr{lr:g}__{side}"]
                row(f"conformal_time_series {kind} {lr} {side}", tracker.run(scores)[BURN_IN:], theirs[BURN_IN:])
        tracker = make("trailing-window", alpha, window=WINDOW, domain="real")
        theirs = data[f"theta__trailing_window_lr0__{side}"]
        row(f"conformal_time_series trailing window {side}", tracker.run(scores), theirs)


def adaptive_conformal(folder):
    data = np.load(folder / "r_adaptiveconformal_amzn.npz")
    scores = np.abs(data["y"] - data["yhat"])

    def theirs(name):
        return (data[f"{name}_upper"] - data[f"{name}_lower"]) / 2.0

    row("R AdaptiveConformal SCP", make("split", 0.1, published=True).run(scores), theirs("SCP"))
    for gamma in (0.01, 0.05):
        ours = make("aci", 0.1, gamma=gamma, published="adaptiveconformal").run(scores)
        row(f"R AdaptiveConformal ACI gamma {gamma}", ours, theirs(f"ACI_g{gamma}"))
    for name, eta in [("DtACI", None), ("DtACI_eta2.72", 2.72)]:
        ours = make("dtaci", 0.1, eta=eta, published="adaptiveconformal").run(scores)
        row(f"R AdaptiveConformal {name}", ours, theirs(name))


def dtaci(folder):
    data = np.load(folder / "r_dtaci_sp500.npz")
    tracker = make("dtaci", 0.1, published=True, sigma=1.0 / 1000.0)
    levels = []
    for beta in data["beta"]:
        levels.append(tracker.level)
        tracker.learn(beta)
    row("R DtACI mean level on given betas", np.array(levels), data["dtaci_alphabar"])
    tracker = make("agaci", 0.1, published=True)
    levels = []
    for beta in data["beta"]:
        levels.append(tracker.level)
        tracker.learn(beta)
    row("R AgACI (code of DtACI) mean level on given betas", np.array(levels), data["agaci_alpha"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(f"{'':58s} {'rounds':>6s} {'infinite':>8s} {'off 1e-9':>8s} {'largest':>12s}")
    for part in (salesforce, conformal_time_series, adaptive_conformal, dtaci):
        part(Path(sys.argv[1]))
