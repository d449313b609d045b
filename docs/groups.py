"""The tables of docs/groups.md: how far the worst group is from its target, by several ways to treat groups.

``python docs/groups.py`` prints the table of single series, ``python docs/groups.py panel`` that of a panel.
"""

import sys
import warnings

import numpy as np
from scipy.special import logsumexp

import wane
from wane.metrics import group_coverage, worst_group
from wane.panel import GroupedPanel, Panel
from wane.trackers import make

ALPHA, UNSCORED = 0.1, 500  # rounds at the start that are not judged
SERIES = {"wti-volatility": (5, "day"), "sp500-volatility": (5, "day"), "brent": (5, "day"), "sunspots": (12, "month")}
PARTS = 4


def groups_of(forecasts, period):
    """The groups of each round: the size of the forecast, as known at the time, and a place in the week or year."""
    grouping = wane.conformal.grouping.Grouping(["place", wane.Quantiles("size", PARTS)])
    rows = grouping.take_rows({"place": np.arange(len(forecasts)) % period, "size": forecasts}, len(forecasts))
    return {
        name: [grouping.groups[j - 1][1] for j in column] for name, column in zip(grouping.names, rows.T, strict=True)
    }


def grouped(stream, groups):
    """This package: a learner for each group on top of ``auto``."""
    oc = wane.OnlineConformal(alpha=ALPHA, groups=list(groups))
    return oc.run(stream.y_hat, stream.y, groups=groups).radius


def apart(scores, keys):
    """One ``auto`` for each key, which sees nothing of the others."""
    radii, keys = np.empty(len(scores)), np.array([str(key) for key in keys])
    for key in np.unique(keys):
        radii[keys == key] = make("auto", ALPHA).run(scores[keys == key])
    return radii


def indicators(groups):
    """A column of 0 and 1 for each group."""
    names = [(kind, value) for kind, values in groups.items() for value in dict.fromkeys(values)]
    return np.array([[float(v == value) for v in groups[kind]] for kind, value in names]).T


def descent(scores, groups):
    """Gradient descent on the pinball loss of a radius that is linear in the indicators (gradient equilibrium).

    The rate is a tenth of the 0.9 quantile of the scores that are not judged.
    """
    features, radii = indicators(groups), np.empty(len(scores))
    rate = 0.1 * float(np.quantile(scores[:UNSCORED], 1.0 - ALPHA))
    weights = np.zeros(features.shape[1])
    for t, score in enumerate(scores):
        radii[t] = weights @ features[t]
        weights -= rate * (ALPHA - float(radii[t] <= score)) * features[t]
    return radii


def multivalid(scores, groups, buckets=50, eta=0.5, r=1000):
    """MVP (Bastani et al. 2022), Algorithm 2, with the constants of its authors' code.

    It needs scores in [0, 1]: it is told the largest score of the series in hindsight.
    """
    rng, features, top = np.random.default_rng(0), indicators(groups) > 0.0, float(scores.max())
    value, count = np.zeros((buckets, features.shape[1])), np.zeros((buckets, features.shape[1]))
    radii = np.empty(len(scores))
    for t, score in enumerate(scores / top):
        here = features[t]
        weight = 1.0 / (np.sqrt(count[:, here] + 1.0) * np.log2(count[:, here] + 2.0))
        a = eta * value[:, here] * weight
        over, under = logsumexp(a, axis=1, b=weight), logsumexp(-a, axis=1, b=weight)
        sign = over - under
        turn = np.flatnonzero(sign[:-1] * sign[1:] <= 0.0)
        if len(turn):
            i = turn[0]
            sizes = np.abs(np.exp(over[i : i + 2]) - np.exp(under[i : i + 2]))
            stay = 1.0 if sizes.sum() == 0.0 else sizes[1] / sizes.sum()
            radius = (i + 1.0) / buckets - (1.0 / (r * buckets) if rng.random() <= stay else 0.0)
        else:
            radius = 1.0 if (sign <= 0.0).all() else 0.0
        bucket = min(int(radius * buckets + 0.5 / r), buckets - 1)
        value[bucket, here] += ALPHA - float(score > radius)
        count[bucket, here] += 1.0
        radii[t] = radius * top
    return radii


def judged(radii, scores, groups):
    """How far the worst group is from the target, how far all rounds are, and the mean pinball loss."""
    late = slice(UNSCORED, None)
    covered = (radii > scores)[late]
    found = group_coverage(covered, {name: values[late] for name, values in groups.items()}, ALPHA)
    loss = np.where(radii > scores, ALPHA * (radii - scores), (1.0 - ALPHA) * (scores - radii))[late].mean()
    return abs(worst_group(found).coverage - 1.0 + ALPHA), abs(covered.mean() - 1.0 + ALPHA), loss


def single():
    """Print the table of single series."""
    ways = "`auto`|`groups=`|one `auto` a size|one `auto` a combination|descent|MVP".split("|")
    print(f"| series (rounds, groups) | {' | '.join(ways)} |\n| {' | '.join(['---'] * (len(ways) + 1))} |")
    for name, (period, _) in SERIES.items():
        stream = wane.streams.make(name)
        scores, groups = np.abs(stream.y - stream.y_hat), groups_of(stream.y_hat, period)
        played = (
            wane.OnlineConformal(alpha=ALPHA).run(stream.y_hat, stream.y).radius,
            grouped(stream, groups),
            apart(scores, groups["size"]),
            apart(scores, list(zip(*groups.values(), strict=True))),
            descent(scores, groups),
            multivalid(scores, groups),
        )
        found = [judged(radii, scores, groups) for radii in played]
        cells = [f"{worst:.3f}, {every:.3f}, {loss / found[0][2]:.2f}" for worst, every, loss in found]
        print(f"| {name} ({len(scores):,}, {PARTS + period}) | {' | '.join(cells)} |")


BUNDLED = (
    "sp500-volatility nasdaq-volatility wti-volatility brent apple bitcoin vix credit-spread market-monthly "
    "core-inflation sunspots water-flow seattle-rain approval"
).split()


def bundled(most):
    """Bundled streams as one panel, in order of time; a group is a size of the forecast within its own series."""
    parts = []
    for i, name in enumerate(BUNDLED):
        stream = wane.streams.make(name)
        y, y_hat = stream.y[:most], stream.y_hat[:most]
        parts.append((np.full(len(y), i), np.arange(len(y)), y, y_hat, groups_of(y_hat, 5)["size"]))
    ids, times, y, y_hat, sizes = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((ids, times))
    scale = np.array([np.abs(part[2] - part[3]).mean() for part in parts])
    groups = {"size": sizes[order].tolist(), "place": (times[order] % 5).tolist()}
    return ids[order], times[order], y[order], y_hat[order], groups, scale[ids[order]]


def synthetic(series, moments):
    """Series of very different sizes whose errors are three times larger on one day of seven."""
    rng = np.random.default_rng(0)
    ids, times = np.tile(np.arange(series), moments), np.repeat(np.arange(moments), series)
    spread = 10.0 ** (ids % 4 - 1.0) * np.where(times % 7 == 6, 3.0, 1.0)
    groups = {"day": (times % 7).tolist(), "region": (ids % 3).tolist()}
    return ids, times, spread * rng.normal(size=len(ids)), np.zeros(len(ids)), groups, spread


def panel():
    """Print the table of panels: the worst group and the loss, in the first and in the second half of the moments."""
    print("| panel | `pool` | `pool` with groups | `auto` | `auto` with groups |")
    print("| --- | --- | --- | --- | --- |")
    made = {f"synthetic, {s} x {m:,}": synthetic(s, m) for s, m in ((6, 1400), (50, 700), (200, 350))}
    made[f"{len(BUNDLED)} bundled streams x 1,000"] = bundled(1000)
    for name, (ids, times, y, y_hat, groups, scale) in made.items():
        cells = []
        for method in ("pool", "auto"):
            for thing in (Panel(method, ALPHA), GroupedPanel(list(groups), method, ALPHA)):
                how = {"groups": groups} if isinstance(thing, GroupedPanel) else {}
                shown = thing.run(ids, y_hat, y, times=times, **how)
                radii, score = shown.radius, np.abs(y - y_hat)
                loss = np.where(radii > score, ALPHA * (radii - score), (1.0 - ALPHA) * (score - radii)) / scale
                found, half = [], times > times.max() // 2
                for part in (~half & ~np.isnan(shown.lower), half):
                    inside = {key: np.array(values, dtype=object)[part].tolist() for key, values in groups.items()}
                    worst = worst_group(group_coverage((radii > score)[part], inside, ALPHA)).coverage
                    found.append(f"{abs(worst - 1.0 + ALPHA):.3f}, {loss[part].mean():.3f}")
                cells.append(" then ".join(found))
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    warnings.simplefilter("ignore", wane.trackers.CoverageWarning)
    panel() if "panel" in sys.argv else single()
