"""How fast the learners are, as ratios inside one run: ``make bench``, or ``python benchmarks/speed.py --quick``.

Everything is the best of several; what is compared takes turns, so that a disturbance falls on all alike. Nothing is
timed before it is checked to compute the same predictions. ``--json PATH`` writes the numbers too.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from measure import best, by_turns, machine, memory_of, nanoseconds, whole, write
from references import Tuned, Typed, c_loop, loop_without_scipy, tuned_loop

import wane
from wane import domains, learners

EPSILON = 1.0
DISCOUNT = 0.999
SOURCE = Path(__file__).resolve().parent.parent / "src"
RUN_RATIO = "fastest Python / run"
TURNS_RATIO = "faster class / predict()+update()"

LEARNERS = {  # a learner of the line for None, one of R^d for d; None where it has no such form
    "AdaGrad": lambda d: learners.AdaGrad(1.0, DISCOUNT, dim=d),
    "AdaptiveLearner": lambda d: d and learners.AdaptiveLearner(d, EPSILON, DISCOUNT),
    "Centered": lambda d: learners.Centered(linear(d), np.ones(d) if d else 1.0),
    "CoinBetting": lambda d: learners.CoinBetting(EPSILON, 100.0, DISCOUNT, dim=d),
    "Constrained": lambda d: learners.Constrained(linear(d), domains.Ball(1.0)),
    "ExponentialPotential": lambda d: learners.ExponentialPotential(EPSILON, 10.0, DISCOUNT, dim=d),
    "FTRL": lambda d: learners.FTRL(lambda s, v, h: 0.1 * s, DISCOUNT, dim=d),
    "GradientDescent": lambda d: learners.GradientDescent(0.1, DISCOUNT, dim=d),
    "LinearFTRL": lambda d: linear(d),
    "MagnitudeLearner": lambda d: None if d else magnitude(),
    "OddMagnitudeLearner": lambda d: None if d else learners.OddMagnitudeLearner(EPSILON, DISCOUNT),
    "RegularizedGradientDescent": lambda d: learners.RegularizedGradientDescent(0.1, discount=DISCOUNT, dim=d),
    "Rescaled": lambda d: learners.Rescaled(learners.AdaGrad(1.0, dim=d), DISCOUNT),
    "SimplifiedMagnitudeLearner": lambda d: None if d else learners.SimplifiedMagnitudeLearner(EPSILON, DISCOUNT),
    "TracLearner": lambda d: None if d else learners.TracLearner(EPSILON, DISCOUNT),
}


def linear(d):
    return learners.LinearFTRL(0.1, DISCOUNT, dim=d)


def magnitude():
    return learners.MagnitudeLearner(EPSILON, DISCOUNT)


def streams(rounds):
    """Gradients on the line, by name."""
    rng = np.random.default_rng(0)
    pinball = np.where(rng.random(rounds) < 0.12, -0.9, 0.1)
    gaussian = rng.normal(size=rounds)
    swing = 50.0 * (1.0 - np.cos(np.linspace(0.0, 2.0 * np.pi, rounds)))  # to 1e100 and back: h changes its exponent
    return {
        "pinball": pinball,
        "Gaussian": gaussian,
        "mixed magnitudes": rng.normal(size=rounds) * 10.0 ** (swing + rng.uniform(-8.0, 8.0, size=rounds)),
    }


class Report:
    """Prints as it goes, and keeps the numbers."""

    def __init__(self, quick, c_loop):
        self.repeats = 3 if quick else 25
        self.rounds = (20_000 if quick else 50_000) // (1 if wane.compiled() else 10)
        self.quick = quick
        self.c_loop = c_loop
        self.numbers = {"machine": machine(), "quick": quick}
        self.aims = []

    def section(self, title):
        print(f"\n{title}", flush=True)

    def row(self, name, text, section=None, numbers=None):
        print(f"  {name:<28}{text}", flush=True)
        if section is not None:
            self.numbers.setdefault(section, {})[name] = numbers

    def aim(self, what, value, least=None, most=None, unit="x"):
        reached = bool(value >= least if most is None else value <= most)
        target = f"at least {least:g}" if most is None else f"at most {most:g}"
        self.aims.append({"aim": what, "target": target, "unit": unit, "value": value, "reached": reached})

    def summary(self):
        self.numbers["aims"] = self.aims
        self.section("Aims")
        for a in self.aims:
            target, value = f"{a['target']} {a['unit']}", f"{a['value']:,.1f} {a['unit']}"
            print(f"  {a['aim']:<62}{target:>18}{value:>12}   {'reached' if a['reached'] else 'MISSED'}")


def predictions_by_turns(learner, gradients):
    predictions = []
    for g in gradients:
        predictions.append(learner.predict())
        learner.update(g)
    return np.array(predictions)


def refuse_unless(same, what):
    if not same:
        raise SystemExit(f"{what} predicts something else than MagnitudeLearner: not timing two different things")


def against_c(report):
    """Ratio of run to the C loop, for each stream."""
    report.section(f"1. MagnitudeLearner.run against a plain C loop of the same bits, discount {DISCOUNT}, ns a round")
    if report.c_loop is None:
        print("  skipped: no C compiler (set CC to one)")
        return
    ratios = []
    for name, g in streams(report.rounds).items():
        discounts = np.full(len(g), DISCOUNT)
        makes = {"run": lambda g=g: whole(magnitude(), g), "C": lambda g=g, d=discounts: in_c(report, g, d)}
        refuse_unless((magnitude().run(g) == in_c(report, g, discounts)()).all(), "the C loop")
        ns = nanoseconds(2 * report.repeats, len(g), makes)
        ratios.append(ns["run"] / ns["C"])
        text = f"run {ns['run']:7.1f}   C {ns['C']:7.1f}   ratio {ratios[-1]:5.2f}   bits equal"
        report.row(name, text, "against C", {**ns, "ratio": ratios[-1]})
    one = np.ones(1)
    call = nanoseconds(50 * report.repeats, 1, {"run": lambda: whole(magnitude(), one)})
    report.row("a call of one round", f"run {call['run']:7,.0f}", "against C", call)
    report.aim("MagnitudeLearner.run / the C loop, worst stream", max(ratios), most=2.5)


def in_c(report, g, discounts):
    return lambda: report.c_loop(EPSILON, g, discounts)


def against_python(report):
    """Ratios of the literal Python to run, and to predict and update."""
    report.section("2. MagnitudeLearner against the paper's formula in plain Python, ns a round")
    columns = {}
    print(f"  {'':<44}", end="", flush=True)
    for name, g in streams(report.rounds).items():
        columns[name] = literal_times(report, g)
        print(f"{name:>18}", end="", flush=True)
    print()
    for what in next(iter(columns.values())):
        report.row(f"{what:<44}", "".join(f"{ns[what]:>18,.1f}" for ns in columns.values()))
    report.numbers["against Python"] = columns
    for what, least in (("class, as typed / run", 25.0), ("class, as typed / predict()+update()", 6.0)):
        report.aim(f"{what}, worst stream", min(ns[what] for ns in columns.values()), least=least)


def literal_times(report, g):
    """One column of that table."""
    listed = g.tolist()
    classes = {"class, as typed": Typed, "class, tuned": Tuned}
    loops = {"loop, tuned": tuned_loop, "loop, tuned, without scipy": loop_without_scipy}
    makes = {"run": lambda: whole(magnitude(), g), "predict()+update()": lambda: by_turns(magnitude(), listed)}
    ours = magnitude().run(g)
    for how, cls in classes.items():
        refuse_unless(close(predictions_by_turns(cls(EPSILON, DISCOUNT), listed), ours), f"the Python {how}")
        makes[how] = lambda cls=cls: by_turns(cls(EPSILON, DISCOUNT), listed)
    for how, loop in loops.items():
        refuse_unless(close(loop(EPSILON, DISCOUNT, listed), ours), f"the Python {how}")
        makes[how] = lambda loop=loop: lambda: loop(EPSILON, DISCOUNT, listed)
    if report.c_loop is not None:
        discounts = np.full(len(g), DISCOUNT)
        makes["the C loop"] = lambda: in_c(report, g, discounts)
    ns = nanoseconds(max(2, report.repeats // 2), len(g), makes)
    fastest = min(ns[how] for how in (*classes, *loops))
    ratios = {
        RUN_RATIO: fastest / ns["run"],
        TURNS_RATIO: min(ns[how] for how in classes) / ns["predict()+update()"],
        "class, as typed / run": ns["class, as typed"] / ns["run"],
        "class, as typed / predict()+update()": ns["class, as typed"] / ns["predict()+update()"],
    }
    if report.c_loop is not None:
        ratios["fastest Python / the C loop"] = fastest / ns["the C loop"]
    return ns | ratios


def close(x, ours):
    return np.allclose(x, ours, rtol=1e-9, atol=1e-9 * EPSILON)


def adaptive(report):
    report.section("3. AdaptiveLearner.run, Gaussian gradients, ns a round")
    rng = np.random.default_rng(0)
    for dim in (1, 10, 100, 1000):
        g = rng.normal(size=(max(report.rounds // max(dim // 5, 1), 100), dim))
        ns = nanoseconds(report.repeats, len(g), {"run": lambda g=g: whole(LEARNERS["AdaptiveLearner"](g.shape[1]), g)})
        text = f"run {ns['run']:9.1f}   {ns['run'] / dim:7.2f} a coordinate"
        report.row(f"dim {dim}", text, "AdaptiveLearner", ns)
        if dim == 100:
            report.aim("AdaptiveLearner.run at dim 100", ns["run"], most=1000.0, unit="ns")


def every_learner(report):
    report.section("4. Every learner, Gaussian gradients, ns a round")
    print(f"  {'':<28}{'line: run':>12}{'predict+update':>17}{'dim 10: run':>15}{'predict+update':>17}")
    rng = np.random.default_rng(0)
    rounds = report.rounds // 4
    for name, make in LEARNERS.items():
        text, numbers = "", {}
        for dim, where, width in ((None, "line", 12), (10, "dim 10", 15)):
            if make(dim) is None:
                text += f"{'-':>{width}}{'-':>17}"
                continue
            g = rng.normal(size=rounds if dim is None else (rounds, dim))
            listed = g.tolist() if dim is None else list(g)
            makes = {
                f"{where} run": lambda m=make, d=dim, g=g: whole(m(d), g),
                f"{where} predict+update": lambda m=make, d=dim, g=listed: by_turns(m(d), g),
            }
            ns = nanoseconds(max(2, report.repeats // 3), rounds, makes)
            text += "".join(f"{v:>{w},.1f}" for v, w in zip(ns.values(), (width, 17), strict=True))
            numbers |= ns
        report.row(name, text, "every learner", numbers)
    classes = {k for k in learners.__all__ if isinstance(getattr(learners, k), type)} - {"Learner"}
    if classes - LEARNERS.keys():
        print(f"  not timed, for want of a row in LEARNERS: {', '.join(sorted(classes - LEARNERS.keys()))}")


def memory(report):
    rounds = (50_000 if report.quick else 1_000_000) // (1 if wane.compiled() else 10)
    report.section(f"5. Memory over {rounds:,} rounds of update(), bytes")
    for name, learner, dim in (
        ("MagnitudeLearner", magnitude(), None),
        ("AdaptiveLearner(100)", LEARNERS["AdaptiveLearner"](100), 100),
    ):
        g = np.random.default_rng(0).normal(size=1000 if dim is None else (1000, dim))
        numbers = memory_of(learner, g.tolist() if dim is None else list(g), rounds)
        grown = numbers["resident_growth"]
        text = f"state {numbers['state_before']:,} -> {numbers['state_after']:,}"
        text += f"   traced {numbers['traced_growth']:+,} (peak {numbers['traced_peak']:+,})"
        text += f"   resident, peak {'unknown here' if grown is None else format(grown, '+,')}"
        report.row(name, text, "memory", numbers)


def threads(report):
    report.section("6. Threads: two learners, each with its own long array, one after the other and at once, wall time")
    arrays = [streams(4 * report.rounds)["pinball"] for _ in range(2)]
    seconds = best(
        2 * report.repeats,
        {
            "one thread": lambda: one_after_the_other([magnitude() for _ in arrays], arrays),
            "two threads": lambda: at_once([magnitude() for _ in arrays], arrays),
        },
        clock=time.perf_counter,
    )
    speedup = seconds["one thread"] / seconds["two threads"]
    text = "   ".join(f"{k} {1e3 * v:.1f} ms" for k, v in seconds.items())
    report.row(
        "MagnitudeLearner.run",
        f"{text}   {speedup:.2f} times faster, 2 is perfect, on an idle machine",
        "threads",
        seconds,
    )
    if report.numbers["machine"]["cores"] < 2:
        print("  this process has one core: nothing can be learned from that ratio")


def one_after_the_other(pair, arrays):
    return lambda: [learner.run(g) for learner, g in zip(pair, arrays, strict=True)]


def at_once(pair, arrays):
    workers = [threading.Thread(target=learner.run, args=(g,)) for learner, g in zip(pair, arrays, strict=True)]

    def play():
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return play


def one_measurement():
    """run on one short stream: the time of it and a digest of its predictions, for the next section."""
    g = streams(10_000)["pinball"]
    ns = nanoseconds(500 if wane.compiled() else 20, len(g), {"ns": lambda: whole(magnitude(), g)})
    digest = hashlib.sha256(magnitude().run(g).tobytes()).hexdigest()
    return {"compiled": wane.compiled(), "digest": digest, **ns}


def measurement_in_src():
    command = [sys.executable, str(Path(__file__).resolve()), "--one-measurement"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def uncompiled(report):
    report.section("7. The same files uncompiled, in a process of their own, ns a round")
    if not (SOURCE / "wane").is_dir():
        print("  skipped: no src/ beside benchmarks/")
        return
    tries = [(one_measurement(), measurement_in_src()) for _ in range(1 if report.quick else 3)]
    here, there = (min(several, key=lambda m: m["ns"]) for several in zip(*tries, strict=True))
    if there["compiled"] or not here["compiled"]:
        print("  skipped: this needs a compiled wane here and an uncompiled one in src/")
        return
    slower = there["ns"] / here["ns"]
    bits = "bits equal" if there["digest"] == here["digest"] else "DIFFERENT BITS"
    text = f"uncompiled {there['ns']:,.0f}   compiled {here['ns']:,.1f}   {slower:,.0f} times slower   {bits}"
    report.row("MagnitudeLearner.run", text, "uncompiled", {"there": there, "here": here})


def main():
    parser = argparse.ArgumentParser(description="Speed of wane, as ratios inside one run.")
    parser.add_argument("--quick", action="store_true", help="a few seconds, fewer repeats")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers to this file as well")
    parser.add_argument("--one-measurement", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_measurement:
        print(json.dumps(one_measurement()))
        return
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        report = Report(options.quick, c_loop(folder))
        m = report.numbers["machine"]
        print(
            f"wane {m['wane']}, compiled: {m['compiled']}; Python {m['python']}, numpy {m['numpy']}, scipy {m['scipy']}"
        )
        print(f"{m['cpu']}, {m['cores']} cores, {m['system']}")
        print(f"load {m['load']} at the start; best of several; processor time of one thread unless said")
        for part in (against_c, against_python, adaptive, every_learner, memory, threads, uncompiled):
            part(report)
    report.summary()
    print(f"\n{time.perf_counter() - started:.0f} s")
    if options.json:
        write(options.json, report.numbers)


if __name__ == "__main__":
    main()
