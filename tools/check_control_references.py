"""Compare our trackers with the outputs of other people's code: python tools/check_control_references.py FOLDER

FOLDER holds conformal_time_series_amzn.npz, decaying_step_sp500.npz, salesforce_amzn.npz, paper_repo_amzn.npz and
r_adaptiveconformal_amzn.npz. Prints the largest relative difference of each sequence; exits with 1 if one is too large.
"""

import argparse
import math
import sys
from pathlib import Path

import numpy as np

from wane.trackers import make
from wane.trackers.lagged import Lagged

CLOSE = 1e-9
failures = 0


def difference(ours, theirs):
    """The largest difference relative to the larger of the two and the mean size; infinities must agree."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    infinite = np.isinf(ours) | np.isinf(theirs)
    if (ours[infinite] != theirs[infinite]).any() or np.isnan(ours).any():
        return math.inf
    a, b = ours[~infinite], theirs[~infinite]
    scale = np.maximum(np.maximum(abs(a), abs(b)), abs(b).mean() * 1e-3 + 1e-300)
    return float((abs(a - b) / scale).max())


def report(name, value, limit=CLOSE, note=""):
    global failures
    failures += not value <= limit
    print(f"{name:58s} {value:10.2e}  {'ok' if value <= limit else 'FAR'} {note}")


def control(folder):
    data = np.load(folder / "conformal_time_series_amzn.npz")
    y, yhat = data["y"], data["yhat_theta"]
    sides = {"lo": (yhat - y, 0.05), "hi": (y - yhat, 0.05), "abs": (abs(y - yhat), 0.1)}
    for key in data:
        kind, _, rest = key.removeprefix("theta__").partition("_lr")
        rate, _, side = rest.partition("__")
        if kind not in ("quantile", "quantile_integrator_log"):
            continue
        scores, alpha = sides[side]
        if kind == "quantile":
            tracker = make("p-control", alpha, rate=float(rate), published=True, domain="real")
        else:
            tracker = make("pi-control", alpha, rate=float(rate), gain=200.0, published=True, domain="real")
        infinite = int(np.isinf(data[key]).sum())
        report(key, difference(tracker.run(scores), data[key]), note=f"({infinite} infinite radii)" * bool(infinite))


def decaying(folder):
    data = np.load(folder / "decaying_step_sp500.npz")
    s = data["sp500_scores"]
    for key, made, skip in [
        ("sp500_q_fixed0.05", make("decaying-ogd", 0.1, rate=0.05, exponent=0.0, published=True, domain="real"), 1),
        ("sp500_q_decay_eps0.1", make("decaying-ogd", 0.1, published=True, domain="real"), 1),
        ("sp500_q_decay_c3", make("decaying-ogd", 0.1, rate=3.0, tie="covered", domain="real"), 0),
    ]:
        report(key, difference(made.run(s)[skip:], data[key][skip:]), note="(from the second round on)" * skip)


def salesforce(folder):
    data = np.load(folder / "salesforce_amzn.npz")
    s, largest = data["amzn_theta_abs__scores"], float(data["amzn_theta_abs__D"])
    for name, scale in [("Dmax", largest), ("D1", 1.0)]:
        key = f"amzn_theta_abs__ScaleFreeOGD_{name}"
        report(key, difference(make("sf-ogd", 0.1, max_score=scale).run(s), data[key]))
    for key in data:
        if "SAOCP" not in key:
            continue
        name, _, life = key.split("SAOCP_")[1].partition("_g")
        tracker = make("saocp", 0.1, max_score=largest if name == "Dmax" else 1.0, lifetime=int(life), published=True)
        ours, theirs = tracker.run(s), data[key]
        far = abs(ours - theirs) > 1e-9 * abs(theirs).max()
        first = int(np.argmax(far)) if far.any() else len(s)
        report(f"{key}, 8 steps", difference(ours[:8], theirs[:8]), note=f"(the paths part in round {first})")
        report(f"{key}, coverage", abs((s <= ours).mean() - (s <= theirs).mean()), 0.01)
        report(f"{key}, mean radius", abs(ours.mean() / theirs.mean() - 1.0), 0.05)


def paper_repo(folder):
    data = np.load(folder / "paper_repo_amzn.npz")
    s = data["amzn_theta_abs__scores"]
    for name, made in [
        ("MagL-D", make("magl-d", 0.1)),
        ("MagL", make("magl", 0.1)),
        ("MagDis", make("magdis", 0.1)),
    ]:
        theirs = data[f"amzn_theta_abs__{name}"]
        report(f"paper repository {name}, Lagged", difference(Lagged(made).run(s), theirs))
    report("paper repository SimpleOGD", difference(make("simple-ogd", 0.1).run(s), data["amzn_theta_abs__SimpleOGD"]))


def adaptive_conformal(folder):
    data = np.load(folder / "r_adaptiveconformal_amzn.npz")
    s = abs(data["y"] - data["yhat"])
    largest = s[:100].max()  # 5.168254, the D of that run
    theirs = (data["SFOGD_upper"] - data["SFOGD_lower"]) / 2.0
    report("R AdaptiveConformal SFOGD", difference(make("sf-ogd", 0.1, max_score=largest).run(s), theirs))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for check in (control, decaying, salesforce, paper_repo, adaptive_conformal):
        check(folder)
    sys.exit(failures > 0)
