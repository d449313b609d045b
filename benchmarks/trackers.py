"""What a round of each tracker costs, young and old: ``make bench``, or ``python benchmarks/trackers.py --quick``.

Young is the first 5,000 rounds of a new tracker, old are 5,000 rounds after 300,000 others; both are one call of
``run``. A call first copies the memory, so that an error can be undone: that is in the time, and "call" shows it alone,
as a call without rounds on the old one. A method's calls take turns, in several passes over all methods, so that a
disturbance does not fall on all calls of one; the best counts, so caches are warm. Memory is the length of
``state_dict()`` as JSON. ``--json PATH`` writes the numbers too.
"""

import argparse
import inspect
import json
import time
import warnings
from pathlib import Path

import numpy as np
from measure import machine, nanoseconds, whole, write

import wane
from wane import trackers

ALPHA = 0.1
ROUNDS = 5_000  # of one measured call
PASSES = 4
REQUIRED = {"max_score": 5.0}  # values of hyperparameters without a default; scores beyond 5 are one in a million
AGEING = 3.0  # at most so many times slower when old
FASTEST = 100.0, ("magl-d", "magl", "magdis", "simple-ogd", "sf-ogd")
FAST = 2_000.0, ("split", "faci", "dtaci")
MIXED = 5_000.0, ("saocp",)


def make(name):
    """The method with its defaults, and with what it cannot do without."""
    arguments = inspect.signature(trackers.registry.METHODS[name]).parameters.values()
    required = [p.name for p in arguments if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    return trackers.make(name, ALPHA, **{k: REQUIRED[k] for k in required})


def size(tracker):
    return len(json.dumps(tracker.state_dict()))


class Aged:
    """A method young and old; the last scores, a chunk for each call, are kept for measuring the old one."""

    def __init__(self, name, scores, calls):
        self.name, self.first = name, scores[:ROUNDS]
        self.fresh = iter(scores[-calls * ROUNDS :].reshape(calls, ROUNDS))
        self.old = make(name)
        self.old.run(self.first)
        self.row = {"young bytes": size(self.old)}
        self.old.run(scores[ROUNDS : -calls * ROUNDS])
        self.row["old bytes"] = size(self.old)

    def measure(self, repeats):
        """Keep the shortest times so far."""
        calls = {
            "young": lambda: whole(make(self.name), self.first),
            "old": lambda: whole(self.old, next(self.fresh)),
            "call": lambda: whole(self.old, self.first[:0]),
        }
        for what, ns in nanoseconds(repeats, ROUNDS, calls).items():
            self.row[what] = min(ns, self.row.get(what, ns))
        self.row["ratio"] = self.row["old"] / self.row["young"]


def measured(scores, repeats):
    """The rows of all methods, by name."""
    print("  ageing", end="", flush=True)
    aged = []
    for name in trackers.names():
        print(f" {name}", end="", flush=True)
        aged.append(Aged(name, scores, PASSES * repeats))
    print("\n  timing", end="", flush=True)
    for _ in range(PASSES):
        for one in aged:
            one.measure(repeats)
        print(" .", end="", flush=True)
    print()
    return {one.name: one.row for one in aged}


def aims(rows):
    """Each target with the number that is held against it, the worse of young and old."""
    found = [(f"{name}, old / young", AGEING, row["ratio"], "x") for name, row in rows.items()]
    for most, names in (FASTEST, FAST, MIXED):
        found += [(name, most, max(rows[name]["young"], rows[name]["old"]), "ns") for name in names]
    return [
        {"aim": aim, "target": f"at most {most:g}", "unit": unit, "value": value, "reached": bool(value <= most)}
        for aim, most, value, unit in found
    ]


def main():
    parser = argparse.ArgumentParser(description="Speed and memory of the trackers, young and old.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the age, fewer repeats")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers to this file as well")
    options = parser.parse_args()
    warnings.simplefilter("ignore", trackers.CoverageWarning)
    started = time.perf_counter()
    age = (30_000 if options.quick else 300_000) // (1 if wane.compiled() else 10)
    repeats = (2 if options.quick else 6) if wane.compiled() else 1
    scores = np.abs(np.random.default_rng(0).normal(size=age + PASSES * repeats * ROUNDS))
    m = machine()
    print(f"Trackers on |N(0,1)|, alpha {ALPHA}; wane {m['wane']}, compiled: {m['compiled']}")
    print(f"{m['cpu']}, load {m['load']} at the start")
    print(f"old: after {age:,} rounds; ns a round in run, processor time, the best of {PASSES * repeats};")
    print(f"call: that of a call without rounds, spread over {ROUNDS:,}")
    rows = measured(scores, repeats)
    print(f"  {'':<18}{'young':>9}{'old':>9}{'ratio':>8}{'call':>7}{'young bytes':>14}{'old bytes':>12}")
    for name, row in rows.items():
        text = f"{row['young']:>9,.0f}{row['old']:>9,.0f}{row['ratio']:>8.2f}{row['call']:>7,.0f}"
        print(f"  {name:<18}{text}{row['young bytes']:>14,}{row['old bytes']:>12,}")
    targets = aims(rows)
    print("\nAims")
    for a in targets:
        target, value = f"{a['target']} {a['unit']}", f"{a['value']:,.1f} {a['unit']}"
        print(f"  {a['aim']:<34}{target:>18}{value:>14}   {'reached' if a['reached'] else 'MISSED'}")
    print(f"\n{time.perf_counter() - started:.0f} s")
    if options.json:
        write(options.json, {"machine": m, "quick": options.quick, "age": age, "trackers": rows, "aims": targets})


if __name__ == "__main__":
    main()
