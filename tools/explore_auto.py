"""What was tried on the way to the tracker ``auto``, measured again: its parts, its peers, and what did not work.

python tools/explore_auto.py [--streams FOLDER] [--json]

Plays every variant on the bundled streams, or on the streams of a folder (see ``wane.streams.read_all``), and prints
tables in Markdown. The streams are shown in two halves, taken in turn from their list: how much the halves differ says
how far the mean of a few streams can be trusted. No half was put aside while ``auto`` was made: neither is a test set.

Alpha is 0.1; the first 300 rounds, or a third of a short stream, are not judged. *Off target* is the distance of the
coverage from 0.9, *LCE_100* that of the worst 100 rounds in a row, *pinball* the loss divided by that of the best of
the methods in ``RIVALS``, which is chosen for each stream in hindsight; these are means over streams, and *worst* is
the largest ratio. Rivals and peers see the scores divided by the median of the first 200; ``sf-ogd`` knows the largest.

Without a folder there are two tests more, on |N(0,1)|: *i.i.d.* is the pinball loss divided by that of the ideal radius
(20,000 rounds); *up* the share of misses in the 50 rounds after the scores become 10 times larger in round 1000, and
*down* the radius divided by the ideal one, 50 rounds after they become 10 times smaller: means of 200 draws.
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
from wane.learners import MultiscaleLearner
from wane.trackers import Calibrated, blend
from wane.trackers.auto import PRIORITIES
from wane.trackers.blend import Blend, pinball
from wane.trackers.calibrated import DISCOUNTS, Given
from wane.trackers.history import History, inverted_cdf
from wane.trackers.mixture import Mixture
from wane.trackers.scale_models import LogScale, NoScale, RecentScale, SteadyScale
from wane.trackers.scaled_expert import Scaled

ALPHA = 0.1
IDEAL = 1.6448536269514722  # the 0.9 quantile of |N(0,1)|
RIVALS = {
    "magl-d": {}, "magl": {}, "magdis": {}, "simple-ogd": {}, "sf-ogd": {"max_score": None}, "split": {}, "nex": {},
    "faci": {}, "dtaci": {}, "aci": {"gamma": 0.05, "window": 500, "clip": True},
}  # fmt: skip
MODELS = {
    "none": NoScale,
    "seasons": LogScale,
    "averages": lambda: LogScale(()),
    "fast": lambda: RecentScale(blend.FAST),
    "slow": lambda: RecentScale(blend.SLOW),
}
BOUNDS = ("levels", "quantile")  # the two radii of an expert
LABELS = [f"{model}, {by}" for model in MODELS for by in BOUNDS]
# As in wane.trackers.blend, whose compiled form does not show them; ``check`` compares.
FAR, CREDIT, TRUST, PARDON, MOST, SETTLED, FAST_ONE = 2.0, 5.0, 0.999, 0.9995, 1e6, 20, 6
FARTHEST = 2.0  # times the largest score so far
BEFORE, AFTER, JUMP, DRAWS, BATCH, LONG = 1000, 50, 10.0, 200, 25, 20_000
MEASURES = ("off", "lce", "pinball")


def gradient(radius, score):
    """Of the pinball loss."""
    return ALPHA if radius > score else ALPHA - 1.0


def experts(scores):
    """The radii of the experts of the blend, (T, 10)."""
    each = [Scaled(ALPHA, model()) for model in MODELS.values()]
    found = np.empty((len(scores), 2 * len(each)))
    for t, score in enumerate(scores.tolist()):
        for k, expert in enumerate(each):
            found[t, 2 * k : 2 * k + 2] = expert.radii()
            expert.learn(score)
    record = np.maximum.accumulate(np.concatenate([[0.0], np.abs(scores[:-1])]))[:, None]
    return np.clip(found, -FARTHEST * record, FARTHEST * record)


class Stage:
    """The scores of a stream, and what several variants need of them."""

    def __init__(self, scores):
        self.scores = scores
        self.unscored = min(UNSCORED, len(scores) // 3)
        self.unit = float(np.median(scores[:UNIT])) or float(scores[: self.unscored].mean()) or 1.0
        unit = SteadyScale()
        self.means = []  # the steady scale before each round
        for score in scores.tolist():
            self.means.append(unit.scale)
            unit.learn(score)

    @functools.cached_property
    def experts(self):
        return experts(self.scores)

    @functools.cached_property
    def blend(self):
        return Blend(ALPHA).run(self.scores)

    def rival(self, name, **settings):
        """A method by name, in units of the stream; an infinite radius is the largest score so far."""
        scores = self.scores / self.unit
        if "max_score" in settings:
            settings["max_score"] = float(scores.max())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wane.trackers.CoverageWarning)
            radii = wane.trackers.make(name, ALPHA, **settings).run(scores)
        so_far = np.maximum.accumulate(np.concatenate([[0.0], scores[:-1]]))
        return np.where(np.isfinite(radii), radii, np.where(radii > 0.0, so_far, 0.0)) * self.unit

    @functools.cached_property
    def best(self):
        """The pinball loss of the best rival."""
        return min(self.judge(self.rival(name, **settings))["loss"] for name, settings in RIVALS.items())

    def judge(self, radii):
        """Distance from the target, LCE, and pinball loss."""
        radii, scores = radii[self.unscored :], self.scores[self.unscored :]
        covered = wane.metrics.covered(radii, scores)
        return {
            "off": abs(wane.metrics.coverage(covered) - (1.0 - ALPHA)),
            "lce": wane.metrics.lce(covered, ALPHA, WINDOW),
            "loss": wane.metrics.pinball(np.maximum(radii, 0.0), scores, ALPHA),
        }


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


def corrected_in_units_of(radii, stage, epsilon=PRIORITIES["balanced"]):
    """The same, the correction multiplied by the radius itself in place of the steady scale."""
    learner = MultiscaleLearner(None, epsilon, DISCOUNTS)
    played = np.empty(len(radii))
    for t, (radius, score) in enumerate(zip(radii.tolist(), stage.scores.tolist(), strict=True)):
        played[t] = max(0.0, radius * (1.0 + learner.predict()))
        learner.update(gradient(played[t], score))
    return played


class Guard:
    """The rule of ``Blend``: far above the mixture, the fast expert is played, as long as that has paid."""

    def __init__(self):
        self.gain = 0.0

    def radius(self, t, mixed, fast, mean):
        self.speaks = t > SETTLED and mean > 0.0 and fast > FAR * abs(mixed)
        return fast if self.speaks and self.gain > -CREDIT else mixed

    def learn(self, mixed, fast, score, mean):
        if self.speaks:
            gain = pinball(mixed, score, ALPHA) - pinball(fast, score, ALPHA)
            self.gain = TRUST * self.gain + min(max(gain / mean, -MOST), MOST)
        else:
            self.gain *= PARDON


def blended(stage, kept=tuple(range(10)), discount=0.999, guard=True, full=False, equal=False, radii=None):
    """``Blend`` with another mixture: of some of the experts, by other weights, with or without the guard."""
    every = stage.experts if radii is None else radii
    mixture, guarding = Mixture(len(kept), discount), Guard()
    used = np.ascontiguousarray(every[:, list(kept)])
    fast = every[:, FAST_ONE].tolist()
    played = np.empty(len(used))
    for t, score in enumerate(stage.scores.tolist()):
        row, mean = used[t], stage.means[t]
        mixed = float(row.mean()) if equal else mixture.mix(row)
        radius = guarding.radius(t, mixed, fast[t], mean)
        played[t] = radius if guard else mixed
        guarding.learn(mixed, fast[t], score, mean)
        if mean > 0.0 and not equal:
            if full:  # losses in place of radii, at a slope of 1: the regret that is not linearised
                losses = np.maximum(ALPHA * (row - score), (ALPHA - 1.0) * (row - score))
                mixture.learn(losses, pinball(mixed, score, ALPHA), 1.0, mean)
            else:
                mixture.learn(row, mixed, gradient(mixed, score), mean)
    return played


def rescaled(stage):
    """A detector in place of the guard: where the last scores are 3 averages, all experts see scores in that unit."""
    short, long, held = RecentScale(1.0), RecentScale(80.0), 1.0
    units = np.ones(len(stage.scores))
    for t, score in enumerate(stage.scores.tolist()):
        if t > SETTLED and long.scale > 0.0:
            held = max(short.scale / long.scale, 0.97 * held)
            units[t] = held if held > 3.0 else 1.0
        short.learn(score)
        long.learn(score)
    radii = experts(stage.scores / units) * units[:, None]
    return corrected(stage, blended(stage, guard=False, radii=radii))


def erfi_on_scales(stage):
    """Prototype A: averages times sums of odd learners, each with its own gradient, mixed and corrected."""
    scales = [RecentScale(half_life) for half_life in (10.0, 40.0, 160.0, 640.0)]
    learners = [MultiscaleLearner(None, 1.0, DISCOUNTS) for _ in range(1 + len(scales))]
    mixture, mixed = Mixture(len(learners)), np.empty(len(stage.scores))
    for t, score in enumerate(stage.scores.tolist()):
        mean = stage.means[t]
        units = [mean, *(scale.scale for scale in scales)]
        radii = np.array([u * max(0.0, learner.predict()) for u, learner in zip(units, learners, strict=True)])
        mixed[t] = mixture.mix(radii)
        if mean > 0.0:
            mixture.learn(radii, mixed[t], gradient(mixed[t], score), mean)
        for learner, radius in zip(learners, radii.tolist(), strict=True):
            learner.update(gradient(radius, score))
        for scale in scales:
            scale.learn(score)
    return corrected(stage, mixed, epsilon=1.0)


def erfi_on_levels(stage):
    """The quantile of the last 1,000 scores at a level that a sum of odd learners moves."""
    learner, past, played = MultiscaleLearner(None, ALPHA, DISCOUNTS), History(1000), np.zeros(len(stage.scores))
    for t, score in enumerate(stage.scores.tolist()):
        if past.bag.n > 0:
            level = 1.0 - ALPHA + learner.predict()
            played[t] = inverted_cdf(past.bag, min(level, 1.0)) if level > 0.0 else 0.0
        learner.update(gradient(played[t], score))
        past.push(score)
    return played


def without(*models):
    """The places of the other experts."""
    return tuple(k for k, label in enumerate(LABELS) if label.split(",")[0] not in models)


def windowed(stage, window):
    """``auto`` with another window."""
    return Calibrated(Blend(ALPHA, window), epsilon=PRIORITIES["balanced"]).run(stage.scores)


def variants():
    """Every variant by name: a function of the stage."""
    found = {
        f"`auto`, {name}": lambda s, e=epsilon: corrected(s, s.blend, e)
        for name, epsilon in sorted(PRIORITIES.items(), key=lambda item: item[1] != PRIORITIES["balanced"])
    }
    found |= {f"`{name}`": lambda s, name=name: s.rival(name) for name in ("faci", "dtaci", "nex", "pid", "magl")}
    found["erfi sums on five scales, mixed, corrected"] = erfi_on_scales
    found["erfi sum on the level of a quantile"] = erfi_on_levels
    found |= {f"expert alone: {label}": lambda s, k=k: s.experts[:, k] for k, label in enumerate(LABELS)}
    found["blend without correction"] = lambda s: s.blend
    found["blend without correction and guard"] = lambda s: blended(s, guard=False)
    found["equal weights"] = lambda s: corrected(s, blended(s, equal=True))
    for discount in (0.99, 0.998, 0.9999):
        found[f"mixture with discount {discount}"] = lambda s, d=discount: corrected(s, blended(s, discount=d))
    found["mixture by full losses"] = lambda s: corrected(s, blended(s, full=True))
    found["without the seasonal model"] = lambda s: corrected(s, blended(s, without("seasons")))
    found["without fast and slow in the mixture"] = lambda s: corrected(s, blended(s, without("fast", "slow")))
    found["without the guard"] = lambda s: corrected(s, blended(s, guard=False))
    found["a detector that rescales all experts, for the guard"] = rescaled
    found |= {f"window of {n}": lambda s, n=n: windowed(s, n) for n in (250, 500, 2000)}
    for grid in ((1.0,), (0.9, 1.0)):
        name = ", ".join(f"{d:g}" for d in grid)
        found[f"correction with discounts {name}"] = lambda s, g=grid: corrected(s, s.blend, discounts=g)
    found["correction in units of the blend"] = lambda s: corrected_in_units_of(s.blend, s)
    return found


def on_stream(scores):
    """Every variant on one stream."""
    stage = Stage(scores)
    rows = {}
    for name, play in variants().items():
        row = stage.judge(play(stage))
        row["pinball"] = row.pop("loss") / stage.best if stage.best > 0.0 else 1.0
        rows[name] = row
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
    """Name and scores of each stream that is long enough."""
    found = wane.streams.read_all(folder) if folder else [wane.streams.make(name) for name in wane.streams.names()]
    entries = [entry(stream.name, [stream]) for stream in found]
    for one in entries:
        if not one.scores:
            print(f"{one.name}: shorter than {LEAST} rounds, left out", file=sys.stderr)
    return [(one.name, one.scores[0]) for one in entries if one.scores]


def play_all(played, synthetic):
    """All results, by two processes or more; progress on stderr."""
    results = {}
    with concurrent.futures.ProcessPoolExecutor(max(2, min(os.cpu_count() or 1, 8))) as pool:
        jobs = {}
        if synthetic:
            jobs[pool.submit(on_iid)] = "iid"
            for start in range(0, DRAWS, BATCH):
                jobs[pool.submit(on_jumps, range(start, start + BATCH))] = f"jumps {start}"
        for name, scores in sorted(played, key=lambda pair: -len(pair[1])):
            jobs[pool.submit(on_stream, scores)] = f"stream {name}"
        start = time.perf_counter()
        for count, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            results[jobs[job]] = job.result()
            print(f"{count}/{len(jobs)} {jobs[job]}, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return results


def table(results, names):
    """Means over the two halves of the streams, in Markdown."""
    halves = (names[0::2], names[1::2])
    head = " | ".join("off target | LCE_100 | pinball | worst" for half in halves if half)
    yield f"| variant | {head} |"
    yield "| --- " * (1 + 4 * sum(bool(half) for half in halves)) + "|"
    for variant in variants():
        cells = []
        for half in halves:
            rows = [results[f"stream {name}"][variant] for name in half]
            if rows:
                off, lce, ratio = (np.mean([row[key] for row in rows]) for key in MEASURES)
                cells += [f"{off:.4f}", f"{lce:.3f}", f"{ratio:.3f}", f"{max(row['pinball'] for row in rows):.3f}"]
        yield f"| {variant} | " + " | ".join(cells) + " |"


def synthetic_table(results):
    """The two tests on |N(0,1)|, in Markdown."""
    jumps = [found for name, found in results.items() if name.startswith("jumps")]
    yield "| variant | i.i.d. | up | down |"
    yield "| --- | --- | --- | --- |"
    for variant in variants():
        up, down = np.mean([found[variant] for found in jumps], axis=0)
        yield f"| {variant} | {results['iid'][variant]:.4f} | {100.0 * up:.1f} % | {down:.2f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=Path, metavar="FOLDER", help="in place of the bundled streams")
    parser.add_argument("--json", action="store_true", help="print all results in JSON as the last line")
    options = parser.parse_args()
    check()
    played = streams(options.streams)
    names = [name for name, _ in played]
    results = play_all(played, synthetic=options.streams is None)
    for title, half in (("First", names[0::2]), ("Second", names[1::2])):
        print(f"{title} half: {len(half)} streams" + (f", {', '.join(half)}." if len(half) <= 20 else "."))
    print("", *table(results, names), sep="\n")
    if options.streams is None:
        print("", *synthetic_table(results), sep="\n")
    if options.json:
        print(json.dumps({"compiled": wane.compiled(), "first": names[0::2], "second": names[1::2], **results}))


if __name__ == "__main__":
    main()
