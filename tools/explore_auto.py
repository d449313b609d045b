"""What the tracker ``auto`` is worth and what its parts are, measured: late labels, steps ahead, and what was tried.

python tools/explore_auto.py [--streams FOLDER] [--json]

Plays every variant on the bundled streams, or on the streams of a folder (see ``wane.streams.read_all``), and prints
tables in Markdown.

Alpha is 0.1; the first 300 rounds, or a third of a short stream, are not judged. *Off target* is the distance of the
coverage from 0.9, *LCE_100* that of the worst 100 rounds in a row, *pinball* the loss divided by that of the best of
the methods in ``RIVALS`` with labels as late, which is chosen for each stream in hindsight; these are means over
streams, and *worst* is the largest ratio. *Chance* is the mean LCE_100 of as many independent rounds of which exactly a
tenth is missed on average. Rivals and peers see the scores divided by the median of the first 200; ``aci`` has the
step 0.05 and the window 500.

The first table is about late labels, the second about what was tried with labels in time. The label of a round comes
after the prediction of the round that is so many later. *Steps ahead* are forecasts of the same series 6 and 24 rounds
ahead, by a regression on its last 12 values. *Damping* is how much of the delay the correction is told; ``auto`` has
0.5.

Without a folder the second table has two tests more, on |N(0,1)|: *i.i.d.* is the pinball loss divided by that of the
ideal radius (20,000 rounds); *up* the share of misses in the 50 rounds after the scores become 10 times larger in round
1000, and *down* the radius divided by the ideal one, 50 rounds after they become 10 times smaller: means of 200 draws.
"""

import argparse
import concurrent.futures
import functools
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import wane
from wane.experiments.leaderboard import LEAST, UNIT, UNSCORED, WINDOW, entry
from wane.streams import ForecastStream
from wane.trackers import Blend, Calibrated, Given
from wane.trackers.auto import PRIORITIES
from wane.trackers.calibrated import DISCOUNTS
from wane.trackers.mixture import Mixture

ALPHA = 0.1
IDEAL = 1.6448536269514722  # the 0.9 quantile of |N(0,1)|
RIVALS = {
    "faci": {}, "dtaci": {}, "nex": {}, "split": {}, "aci": {"gamma": 0.05, "window": 500, "clip": True}, "magl": {},
    "magdis": {}, "trailing-window": {},
}  # fmt: skip
SCALES = ("steady", "regression", "fast")
LABELS = [f"{scale}, {by}" for scale in SCALES for by in ("levels", "quantile")]  # the two radii of an expert
EVERY = tuple(range(len(LABELS)))
BEFORE, AFTER, JUMP, DRAWS, BATCH, LONG = 1000, 50, 10.0, 200, 25, 20_000
DELAYS = (0, 10, 100)
STEPS, LAGS, FORGET, SETTLED, LONGEST = (6, 24), 12, 0.999, 200, 9000  # of the forecasts several steps ahead


def gradient(radius, score):
    """Of the pinball loss."""
    return ALPHA if radius > score else ALPHA - 1.0


@functools.cache
def chance(rounds):
    """The mean LCE_100 of so many independent rounds that are missed with probability alpha."""
    missed = np.random.default_rng(0).random((200, rounds)) < ALPHA
    return float(np.mean([wane.metrics.lce(~row, ALPHA, WINDOW) for row in missed]))


class Stage:
    """The scores of a stream, and what several variants need of them.

    Args:
        scores: how wrong a model was.
        forecasts: what it said and what came, where that is known.
    """

    def __init__(self, scores, forecasts=None):
        self.scores = scores
        self.forecasts = (np.zeros(len(scores)), scores) if forecasts is None else forecasts
        self.unscored = min(UNSCORED, len(scores) // 3)
        self.unit = float(np.median(scores[:UNIT])) or float(scores[: self.unscored].mean()) or 1.0
        self.losses = {}

    @functools.cached_property
    def experts(self):
        """The radii of the experts before each round, (T, 6), and the steady scale."""
        blend, radii, means = Blend(ALPHA), np.empty((len(self.scores), len(LABELS))), np.empty(len(self.scores))
        for t, score in enumerate(self.scores.tolist()):
            blend.predict()
            radii[t], means[t] = np.asarray(blend.radii), blend.unit.scale
            blend.update(score)
        return radii, means

    @functools.cached_property
    def blend(self):
        return Blend(ALPHA).run(self.scores)

    def auto(self, delay=0, output=True, method="auto", **settings):
        """``auto`` with late labels, told what the model says or not; or another tracker."""
        outputs, y = self.forecasts if output else (np.zeros(len(self.scores)), self.scores)
        oc = wane.OnlineConformal(method, alpha=ALPHA, history=0, **settings)
        return oc.run(outputs, y, delay=delay).radius

    def rival(self, name, delay=0, **settings):
        """A method by name, in units of the stream; an infinite radius is the largest score so far."""
        scores = self.scores / self.unit
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wane.trackers.CoverageWarning)
            oc = wane.OnlineConformal(name, alpha=ALPHA, history=0, on_unbounded="allow", **settings)
            radii = oc.run(np.zeros(len(scores)), scores, delay=delay).radius
        so_far = np.maximum.accumulate(np.concatenate([np.zeros(delay + 1), scores])[: len(scores)])
        return np.where(np.isfinite(radii), radii, np.where(radii > 0.0, so_far, 0.0)) * self.unit

    def best(self, delay=0):
        """The pinball loss of the best rival with labels as late."""
        if delay not in self.losses:
            played = [self.rival(name, delay, **settings) for name, settings in RIVALS.items()]
            self.losses[delay] = min(self.judge(radii)["loss"] for radii in played)
        return self.losses[delay]

    def judge(self, radii):
        """Distance from the target, LCE, and pinball loss."""
        radii, scores = radii[self.unscored :], self.scores[self.unscored :]
        covered = wane.metrics.covered(radii, scores)
        return {
            "off": abs(wane.metrics.coverage(covered) - (1.0 - ALPHA)),
            "lce": wane.metrics.lce(covered, ALPHA, WINDOW),
            "chance": chance(len(scores)),
            "loss": wane.metrics.pinball(np.maximum(radii, 0.0), scores, ALPHA),
        }

    def row(self, radii, delay=0):
        """The measures, the loss relative to the best rival."""
        found = self.judge(radii)
        found["pinball"] = found.pop("loss") / self.best(delay) if self.best(delay) > 0.0 else 1.0
        return found


def corrected(stage, radii, epsilon=PRIORITIES["balanced"], discounts=DISCOUNTS):
    """Given radii under the correction of ``auto``."""
    given = Given(ALPHA)
    tracker = Calibrated(given, epsilon=epsilon, discounts=discounts)
    played = np.empty(len(radii))
    for t, (radius, score) in enumerate(zip(radii.tolist(), stage.scores.tolist(), strict=True)):
        given.radius = radius
        played[t] = tracker.predict()
        tracker.update(score)
    return played


def blended(stage, kept=EVERY, discount=0.999, full=False, equal=False):
    """``Blend`` with another mixture: of some of the experts, or by other weights."""
    every, means = stage.experts
    mixture, used = Mixture(len(kept), discount), np.ascontiguousarray(every[:, list(kept)])
    played = np.empty(len(used))
    for t, score in enumerate(stage.scores.tolist()):
        row = used[t]
        played[t] = mixed = float(row.mean()) if equal else mixture.mix(row)
        if means[t] > 0.0 and not equal:
            if full:  # losses in place of radii, at a slope of 1: the regret that is not linearised
                losses = np.maximum(ALPHA * (row - score), (ALPHA - 1.0) * (row - score))
                mixture.learn(losses, gradient(mixed, score) * (mixed - score), 1.0, means[t])
            else:
                mixture.learn(row, mixed, gradient(mixed, score), means[t])
    return played


def without(scale):
    """The places of the other experts."""
    return tuple(k for k, label in enumerate(LABELS) if label.split(",")[0] != scale)


def variants():
    """Every variant by name: a function of the stage."""
    found = {
        f"`auto`, {name}": lambda s, p=name: s.auto(priority=p)
        for name in sorted(PRIORITIES, key=lambda name: name != "balanced")
    }
    found["`auto`, from the scores alone"] = lambda s: s.auto(output=False)
    found |= {f"`{name}`": lambda s, name=name: s.rival(name) for name in ("faci", "dtaci", "nex", "pid", "magl")}
    found |= {f"expert alone: {label}": lambda s, k=k: s.experts[0][:, k] for k, label in enumerate(LABELS)}
    found["blend without correction"] = lambda s: s.blend
    found["equal weights"] = lambda s: corrected(s, blended(s, equal=True))
    for discount in (0.99, 0.9999):
        found[f"mixture with discount {discount}"] = lambda s, d=discount: corrected(s, blended(s, discount=d))
    found["mixture by full losses"] = lambda s: corrected(s, blended(s, full=True))
    for scale in SCALES:
        found[f"without the experts: {scale}"] = lambda s, scale=scale: corrected(s, blended(s, without(scale)))
    for grid in ((1.0,), (0.9, 1.0)):
        name = ", ".join(f"{d:g}" for d in grid)
        found[f"correction with discounts {name}"] = lambda s, g=grid: corrected(s, s.blend, discounts=g)
    return found


def damped(damping):
    """``auto`` that is told so much of the delay."""
    return Calibrated(Blend(ALPHA), epsilon=PRIORITIES["balanced"], damping=damping)


def late_variants():
    """What is played with late labels: a function of the stage and the delay."""
    return {
        "`auto`": lambda s, d: s.auto(d),
        "`auto`, from the scores alone": lambda s, d: s.auto(d, output=False),
        "damping 0": lambda s, d: s.auto(d, method=damped(0.0)),
        "damping 1": lambda s, d: s.auto(d, method=damped(1.0)),
    }


def forecasts_of(y, steps):
    """Forecasts of a series from its last values: found[t, h - 1] is about round t and was made h rounds before.

    Each step has a regression that learns as labels come. The last values are the same for all steps, so that their
    gains are too, only later.
    """
    unit = float(np.median(np.abs(y[:100] - np.median(y[:100])))) or 1.0
    middle = float(np.median(y[:100]))
    z, n = (y - middle) / unit, LAGS + 1
    past = np.ones((len(y), n))
    for k in range(LAGS):
        past[k:, 1 + k] = z[: len(y) - k]
    gains, spread = np.zeros((len(y), n)), 10.0 * np.eye(n)
    for t in range(LAGS, len(y)):
        x = past[t]
        gains[t] = spread @ x / (FORGET + x @ spread @ x)
        spread = (spread - np.outer(gains[t], x @ spread)) / FORGET
        spread *= min(1.0, 1e6 / np.trace(spread))
    weights, found = np.tile(np.eye(n)[1], (steps, 1)), np.full((len(y) + steps, steps), np.nan)
    ahead = np.arange(1, steps + 1)
    least, most = np.minimum.accumulate(z) - 2.0, np.maximum.accumulate(z) + 2.0
    for t in range(LAGS, len(y)):
        known = ahead[t - ahead >= LAGS]  # the labels of the forecasts that were made so many rounds ago have come
        x, w = past[t - known], weights[: len(known)]
        weights[: len(known)] = w + gains[t - known] * (z[t] - (x * w).sum(axis=1))[:, None]
        found[t + ahead, ahead - 1] = np.clip(weights @ past[t], least[t], most[t])
    return found[: len(y)] * unit + middle


def steps_ahead(y, h):
    """A series and its forecasts h rounds ahead, without the rounds in which the regression has hardly begun."""
    found = forecasts_of(y, h)[:, h - 1]
    known = np.isfinite(found) & (np.arange(len(y)) >= LAGS + SETTLED)
    return y[known], found[known]


def on_stream(scores, forecasts):
    """Every variant on one stream, late ones too."""
    stage = Stage(scores, forecasts)
    rows = {name: stage.row(play(stage)) for name, play in variants().items()}
    for delay in DELAYS:
        rows |= {(name, delay): stage.row(play(stage, delay), delay) for name, play in late_variants().items()}
    if forecasts is not None:
        for h in STEPS:
            y, y_hat = steps_ahead(forecasts[1][:LONGEST], h)
            if len(y) >= LEAST:
                ahead = Stage(np.abs(y - y_hat), (y_hat, y))
                played = {name: play(ahead, h - 1) for name, play in late_variants().items()}
                rows |= {(name, f"{h} ahead"): ahead.row(radii, h - 1) for name, radii in played.items()}
    return rows


def on_iid():
    """The pinball loss of every variant relative to the ideal radius."""
    stage = Stage(np.abs(np.random.default_rng(0).normal(size=LONG)))
    ideal = stage.judge(np.full(LONG, IDEAL))["loss"]
    return {name: stage.judge(play(stage))["loss"] / ideal for name, play in variants().items()}


def on_jumps(draws):
    """Misses after a jump up and radius after a jump down, of every variant: means over the draws."""
    found = {name: [] for name in variants()}
    for draw in draws:
        normal = np.abs(np.random.default_rng(draw).normal(size=BEFORE + AFTER + 1))
        factor = np.where(np.arange(len(normal)) < BEFORE, 1.0, JUMP)
        up, down = Stage(normal * factor), Stage(normal / factor)
        for name, play in variants().items():
            missed = (play(up) <= up.scores)[BEFORE : BEFORE + AFTER].mean()
            found[name].append((missed, play(down)[-1] * JUMP / IDEAL))
    return {name: np.mean(pairs, axis=0).tolist() for name, pairs in found.items()}


def check():
    """The parts of this script, put together, are ``auto`` to the last bit."""
    stage = Stage(np.abs(np.random.default_rng(1).normal(size=600)) * np.where(np.arange(600) < 400, 1.0, JUMP))
    played = corrected(stage, blended(stage))
    if not np.array_equal(played, wane.trackers.make("auto", ALPHA).run(stage.scores)):
        raise RuntimeError("the parts of this script are not those of auto: has Blend or Calibrated changed?")


def streams(folder):
    """Name, scores, and forecasts with outcomes where there are any, of each stream that is long enough."""
    found = wane.streams.read_all(folder) if folder else [wane.streams.make(name) for name in wane.streams.names()]
    kept = []
    for stream in found:
        one = entry(stream.name, [stream])
        if not one.scores:
            print(f"{one.name}: shorter than {LEAST} rounds, left out", file=sys.stderr)
            continue
        plain = isinstance(stream, ForecastStream) and np.array_equal(np.abs(stream.y - stream.y_hat), one.scores[0])
        kept.append((one.name, one.scores[0], (stream.y_hat, stream.y) if plain else None))
    return kept


def play_all(played, synthetic):
    """All results, by two processes or more; progress on stderr."""
    results = {}
    with concurrent.futures.ProcessPoolExecutor(max(2, min(os.cpu_count() or 1, 8))) as pool:
        jobs = {}
        if synthetic:
            jobs[pool.submit(on_iid)] = "iid"
            for start in range(0, DRAWS, BATCH):
                jobs[pool.submit(on_jumps, range(start, start + BATCH))] = f"jumps {start}"
        for name, *given in sorted(played, key=lambda one: -len(one[1])):
            jobs[pool.submit(on_stream, *given)] = f"stream {name}"
        start = time.perf_counter()
        for count, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            results[jobs[job]] = job.result()
            print(f"{count}/{len(jobs)} {jobs[job]}, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return results


def cells(rows):
    """Means over streams, and the worst loss."""
    off, lce, ratio = (np.mean([row[key] for row in rows]) for key in ("off", "lce", "pinball"))
    return [f"{off:.4f}", f"{lce:.3f}", f"{ratio:.3f}", f"{max(row['pinball'] for row in rows):.3f}"]


def table(results, names):
    """Means over all streams, and the tests on |N(0,1)| if they were played, in Markdown."""
    jumps = [found for name, found in results.items() if name.startswith("jumps")]
    yield "| variant | off target | LCE_100 | pinball | worst |" + (" i.i.d. | up | down |" if jumps else "")
    yield "| --- " * (8 if jumps else 5) + "|"
    for variant in variants():
        said = [variant, *cells([results[f"stream {name}"][variant] for name in names])]
        if jumps:
            up, down = np.mean([found[variant] for found in jumps], axis=0)
            said += [f"{results['iid'][variant]:.4f}", f"{100.0 * up:.1f} %", f"{down:.2f}"]
        yield f"| {' | '.join(said)} |"


def late_table(results, names):
    """For each delay, what every method has as a mean over all streams, in Markdown."""
    yield f"| labels | chance | {' | '.join(late_variants())} |"
    yield "| --- " * (2 + len(late_variants())) + "|"
    for when in (*DELAYS, *(f"{h} ahead" for h in STEPS)):
        played = [found for name in names if ("`auto`", when) in (found := results[f"stream {name}"])]
        if played:
            luck = np.mean([found["`auto`", when]["chance"] for found in played])
            each = [" / ".join(cells([found[variant, when] for found in played])) for variant in late_variants()]
            said = when if isinstance(when, str) else f"{when} late"
            yield f"| {said} | {luck:.3f} | {' | '.join(each)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=Path, metavar="FOLDER", help="in place of the bundled streams")
    parser.add_argument("--json", action="store_true", help="print all results in JSON as the last line")
    options = parser.parse_args()
    check()
    played = streams(options.streams)
    names = [name for name, *_ in played]
    results = play_all(played, synthetic=options.streams is None)
    print(f"{len(names)} streams" + (f": {', '.join(names)}." if len(names) <= 20 else "."))
    print("", *late_table(results, names), sep="\n")
    print("", *table(results, names), sep="\n")
    if options.json:
        said = {job: {str(name): row for name, row in rows.items()} for job, rows in results.items()}
        print(json.dumps({"compiled": wane.compiled(), "streams": names, **said}))


if __name__ == "__main__":
    main()
