"""What prediction sets cost on top of a tracker: ``make bench``, or ``python benchmarks/conformal.py --quick``.

A round is predict() and update() from Python, or its part of one call of ``run``; ratios are to the bare magl tracker,
by turns or by run, and for files to what the disk takes by itself. What waits for the disk is measured by the clock on
the wall, all else by the time of this thread on the processor; what is compared takes turns, and the best of several
counts. ``--json PATH`` writes the numbers too.
"""

import argparse
import os
import tempfile
import time
from collections import deque
from pathlib import Path

import numpy as np
from measure import best, by_turns, machine, nanoseconds, whole, write

import wane
from wane import trackers

ALPHA = 0.1
LEVELS = (0.2, 0.1, 0.05)
DELAY = 10
FEW = 50  # rounds in a journal, each of which waits for the disk twice
TURNS_AIM, RUN_AIM, FILE_AIM = 3_000.0, 200.0, 1e6  # ns
BARE_TURNS, BARE_RUN, DISK = "bare tracker, by turns", "bare tracker, run", "the disk alone: replace a file, sync"


def made(alpha=ALPHA):
    return wane.OnlineConformal("magl", alpha=alpha)


def turns(oc, outputs, labels, delay=0):
    """predict and update in a Python loop, as a program that meets one label at a time would call them."""

    def play():
        predict, update, waiting = oc.predict, oc.update, deque()
        for output, y in zip(outputs, labels, strict=True):
            waiting.append((predict(output).id, y))
            if len(waiting) > delay:
                update(*waiting.popleft())

    return play


def replay(oc, outputs, labels, delay=0):
    return lambda: oc.run(outputs, labels, delay)


def per_round(rounds, long, repeats):
    """ns a round: of ``rounds`` calls from Python, of a run over ``long`` rounds."""
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=long)
    labels = outputs + rng.normal(size=long)
    scores = np.abs(labels - outputs)
    some = outputs[:rounds].tolist(), labels[:rounds].tolist()
    calls = {
        BARE_TURNS: lambda: by_turns(trackers.make("magl", ALPHA), scores[:rounds].tolist()),
        "OnlineConformal, by turns": lambda: turns(made(), *some),
        "  3 levels": lambda: turns(made(LEVELS), *some),
        f"  labels {DELAY} late": lambda: turns(made(), *some, DELAY),
    }
    found = nanoseconds(repeats, rounds, calls)
    calls = {
        BARE_RUN: lambda: whole(trackers.make("magl", ALPHA), scores),
        "OnlineConformal, run": lambda: replay(made(), outputs, labels),
        "  3 levels, run": lambda: replay(made(LEVELS), outputs, labels),
        f"  labels {DELAY} late, run": lambda: replay(made(), outputs, labels, DELAY),
    }
    return found | nanoseconds(repeats, long, calls)


def saved(path, thing, sync):
    def play():
        wane.save(path, thing, sync=sync)
        wane.load(path)

    return play


def by_hand(folder, data):
    """What the disk alone takes to replace a file safely: write, sync, rename, sync the folder."""

    def play():
        with open(folder / "new", "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(folder / "new", folder / "by_hand")
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)

    return play


def files(folder, rounds, repeats):
    """ns of saving and loading, and of a round through a journal."""
    tracker, oc = trackers.make("magl", ALPHA), made()
    past = np.abs(np.random.default_rng(0).normal(size=1_000))
    tracker.run(past)
    oc.run(np.zeros(len(past)), past)
    path = folder / "saved.wane"
    wane.save(path, tracker)
    size = path.stat().st_size
    calls = {
        DISK: lambda: by_hand(folder, bytes(size)),
        "save and load a tracker, no sync": lambda: saved(path, tracker, False),
        "save and load a tracker, sync": lambda: saved(path, tracker, True),
        "save and load OnlineConformal, no sync": lambda: saved(path, oc, False),
    }
    found = {name: 1e9 * seconds for name, seconds in best(repeats, calls, time.perf_counter).items()}

    outputs, labels = [0.0] * rounds, past[:rounds].tolist()
    journals = {
        "round in a journal, no sync": wane.Journal(folder / "fast.wane", made, sync=False),
        "round in a journal, sync": wane.Journal(folder / "slow.wane", made, sync=True),
    }
    calls = {name: (lambda j=j: turns(j, outputs, labels)) for name, j in journals.items()}
    for name, seconds in best(repeats, calls, time.perf_counter).items():
        found[name] = 1e9 * seconds / rounds
        journals[name].close()
    return found


def compared(name):
    """What a row is a multiple of."""
    if name.startswith(("save", DISK)):
        return DISK
    return BARE_RUN if name.endswith("run") else BARE_TURNS


def aims(found):
    """Each target with the number that is held against it."""
    wanted = [
        ("OnlineConformal, by turns", TURNS_AIM),
        ("OnlineConformal, run", RUN_AIM),
        ("save and load a tracker, no sync", FILE_AIM),
        ("save and load a tracker, sync", FILE_AIM),  # a matter of the disk: see the ratio
    ]
    return [
        {"aim": name, "target": f"below {most:g}", "unit": "ns", "value": found[name], "reached": found[name] < most}
        for name, most in wanted
    ]


def main():
    parser = argparse.ArgumentParser(description="Speed of prediction sets, files and journals.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and repeats")
    parser.add_argument("--folder", type=Path, help="where to write files; a temporary folder by default")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers to this file as well")
    options = parser.parse_args()
    slower = 1 if wane.compiled() else 10
    rounds, long = 5_000 // slower, (20_000 if options.quick else 100_000) // slower
    repeats = 3 if options.quick else 15
    m = machine()
    print(f"Intervals by magl, absolute scores; wane {m['wane']}, compiled: {m['compiled']}")
    print(f"{m['cpu']}, load {m['load']} at the start")
    print(f"{rounds:,} rounds by turns, {long:,} in run, {FEW} in a journal; the best of {repeats}")
    found = per_round(rounds, long, repeats)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        found |= files(Path(folder), FEW, repeats)
    print(f"  {'':<42}{'ns':>12}{'ratio':>10}")
    for name, ns in found.items():
        print(f"  {name:<42}{ns:>12,.0f}{ns / found[compared(name)]:>10,.1f}")
    targets = aims(found)
    print("\nAims")
    for a in targets:
        target, value = f"{a['target']} {a['unit']}", f"{a['value']:,.0f} {a['unit']}"
        print(f"  {a['aim']:<42}{target:>18}{value:>16}   {'reached' if a['reached'] else 'MISSED'}")
    if options.json:
        write(options.json, {"machine": m, "quick": options.quick, "ns": found, "aims": targets})


if __name__ == "__main__":
    main()
