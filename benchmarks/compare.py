"""Two builds of wane side by side: ``python benchmarks/compare.py OLD/bin/python NEW/bin/python``.

Each interpreter plays the same short set of timings in child processes of its own. Old and new take turns, so that a
machine which gets busier slows both, and the best of all turns counts. Times are of the processor (all threads of a
child), not of the clock on the wall. A ratio above 1 means that the new build is slower; the command never fails
because of one. Only names that every version keeps are called. It takes about two minutes.

Memory that was freed stays with the process (two settings of the GNU C library), and the first of several repeats
counts only if it is the best. Otherwise pages that the system hands out anew take up to half of the time of a batch,
by chance more of them in one build or the other.
"""

import argparse
import gc
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ALPHA = 0.1
TURNS = 12  # of each interpreter
REPEATS = 6  # of a timing in each turn
KEEP = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}  # freed memory


def timings(folder):
    """What is timed: its name, how many rounds or rows it has, and a function that prepares what is called once."""
    import numpy as np

    import wane
    from wane import learners, trackers

    rng = np.random.default_rng(0)
    outputs, noise = rng.normal(size=(2, 200_000))
    labels, scores = outputs + noise, np.abs(noise)
    vectors = rng.normal(size=(5_000, 10))
    some = list(zip(outputs[:3_000].tolist(), labels[:3_000].tolist(), strict=True))

    def steps(play, rounds):
        def work():
            for g in rounds:
                play.predict()
                play.update(g)

        return work

    def turns(oc, rounds):
        def work():
            for y_hat, y in rounds:
                oc.update(oc.predict(y_hat).id, y)

        return work

    def tracker(method, rounds):
        return lambda: trackers.make(method, ALPHA).run(scores[:rounds])

    def conformal(method, alpha=ALPHA, **settings):
        return wane.OnlineConformal(method, alpha=alpha, **settings)

    def replay(method, rounds):
        return lambda: conformal(method).run(outputs[:rounds], labels[:rounds])

    def horizons(rows, ahead):
        forecasts = np.repeat(outputs[:rows, None], ahead, axis=1)
        return lambda: wane.Horizons(ahead, "magl", alpha=ALPHA).run(forecasts, labels[: rows + ahead])

    def expiring(rounds):
        known = labels[:rounds].copy()
        known[::2] = np.nan  # every other label never comes, and few predictions may wait
        return lambda: conformal("magl", max_pending=100).run(outputs[:rounds], known)

    def panel(series, rows, method, **settings):
        n = series * rows
        frame = {"id": np.repeat(np.arange(series), rows), "y": labels[:n], "m": outputs[:n]}
        return lambda: wane.panel.run(frame, id="id", y="y", y_hat="m", method=method, alpha=ALPHA, **settings)

    def ticks(streams, rounds):
        ids, zeros = np.arange(streams), np.zeros(streams)
        made = wane.Panel("magl", ALPHA, threads=1)
        made.predict(ids, zeros)
        made.update(ids, zeros)

        def work():
            for t in range(rounds):
                made.predict(ids, zeros)
                made.update(ids, np.full(streams, labels[t]))

        return work

    def command(*arguments):
        line = [sys.executable, "-m", "wane", "run", str(folder / "table.csv"), *arguments]
        return lambda: subprocess.run(line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    magnitude, run = learners.MagnitudeLearner, ["--out", str(folder / f"{os.getpid()}.csv")]
    found = [
        ("learner, step", 5_000, lambda: steps(magnitude(discount=0.99), noise[:5_000].tolist())),
        ("learner, batch", 200_000, lambda: lambda: magnitude(discount=0.99).run(noise)),
        ("learner in 10 dimensions, batch", 5_000, lambda: lambda: learners.AdaptiveLearner(10).run(vectors)),
        ("tracker magl, step", 5_000, lambda: steps(trackers.make("magl", ALPHA), scores[:5_000].tolist())),
    ]
    for name, rounds in (("magl", 50_000), ("simple-ogd", 50_000), ("nex", 5_000), ("faci", 20_000), ("auto", 5_000)):
        found.append((f"tracker {name}, batch", rounds, lambda n=name, r=rounds: tracker(n, r)))
    for name, rounds in (("magl", 50_000), ("auto", 5_000)):
        found.append((f"OnlineConformal {name}, step", len(some), lambda n=name: turns(conformal(n), some)))
        found.append((f"OnlineConformal {name}, run", rounds, lambda n=name, r=rounds: replay(n, r)))
    guessed = {"warm_up": 10, "epsilon": "auto"}
    levels = (0.05, 0.1, 0.2)
    found += [
        ("OnlineConformal magl, three levels, step", len(some), lambda: turns(conformal("magl", levels), some)),
        ("OnlineConformal magl, predictions expire, run", 20_000, lambda: expiring(20_000)),
        ("panel.run, 5,000 series of 40 rows, epsilon chosen", 200_000, lambda: panel(5_000, 40, "magl", **guessed)),
        ("Horizons(12).run", 2_000 * 12, lambda: horizons(2_000, 12)),
        ("panel.run, 10,000 series of 20 rows", 200_000, lambda: panel(10_000, 20, "magl")),
        ("panel.run, 5 series of 40,000 rows", 200_000, lambda: panel(5, 40_000, "magl")),
        ("panel.run, 10 series of 500 rows, auto", 5_000, lambda: panel(10, 500, "auto")),
        ("Panel, ticks of 10,000 series", 10 * 10_000, lambda: ticks(10_000, 10)),
        ("Panel, ticks of 10 series", 100 * 10, lambda: ticks(10, 100)),
        ("wane run, CSV of 50,000 rows, magl", 50_000, lambda: command("--method", "magl", *run)),
    ]
    return found


def processor():
    """Seconds on the processor so far, of this process and of the children it has waited for."""
    t = os.times()
    return time.process_time() + t.children_user + t.children_system


def child(folder):
    """One turn of one interpreter: ns a round of each timing, as JSON."""
    import wane

    shortest = {}
    gc.disable()
    for name, rounds, make in timings(folder):
        for _ in range(1 if name.startswith("wane run") else REPEATS):
            work = make()
            start = processor()
            work()
            shortest[name] = min(shortest.get(name, math.inf), 1e9 * (processor() - start) / rounds)
        gc.collect()
    print(json.dumps({"version": wane.__version__, "compiled": wane.compiled(), "ns": shortest}))


def write_table(path):
    """The rows for ``wane run``, written without wane or NumPy: 50 series of 1,000 rows."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("shop,day,y,yhat\n")
        for i in range(50_000):
            file.write(f"s{i // 1000},{i % 1000},{math.sin(i) + 0.3 * math.sin(7 * i * i):.4f},{math.sin(i):.4f}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", help="the interpreter of an environment with the old build")
    parser.add_argument("new", help="that of one with the new build")
    parser.add_argument("--turns", type=int, default=TURNS, help=f"of each; {TURNS}")
    options = parser.parse_args()
    found = {"old": {}, "new": {}}
    about = {}
    with tempfile.TemporaryDirectory() as folder:
        write_table(Path(folder, "table.csv"))
        for turn in range(options.turns):
            for which in ("old", "new") if turn % 2 == 0 else ("new", "old"):
                line = [os.path.abspath(getattr(options, which)), os.path.abspath(__file__), "--child", folder]
                # started in the temporary folder, so that no wane beside this file is imported
                said = json.loads(
                    subprocess.run(line, check=True, stdout=subprocess.PIPE, cwd=folder, env=os.environ | KEEP).stdout
                )
                about[which] = f"{which}: wane {said['version']}, compiled: {said['compiled']}"
                for name, ns in said["ns"].items():
                    found[which][name] = min(ns, found[which].get(name, math.inf))
    print("\n".join(about.values()))
    print(f"ns a round or row, the best of {options.turns} turns\n\n  {'':<52}{'old':>10}{'new':>10}{'ratio':>8}")
    for name, old in found["old"].items():
        new = found["new"][name]
        print(f"  {name:<52}{old:>10,.0f}{new:>10,.0f}{new / old:>8.2f}{'  slower' if new > 1.05 * old else ''}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(Path(sys.argv[2]))
    else:
        main()
