"""Rounds without end: memory stays flat, coverage stays right, and a round takes no longer than at the beginning.

python tools/torture/run.py --only soak --seconds 60 --seed 0

Memory may grow by ``ROOM`` after the first tenth of the time, and coverage may be off by ``BAND`` in the long run. The
time of a round, of the processor, is printed as a ratio of the end to the beginning and is not judged, because other
processes share the machine.
"""

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import wane

ROOM = 4.0  # megabytes
BAND = 0.005
CHUNK = {"magl": 100_000, "auto": 20_000, "pool": 20_000}
STREAMS = 200  # of the panel
RESIDENT = Path("/proc/self/statm")


def memory():
    """Megabytes in use by this process; 0 where the system does not say."""
    return int(RESIDENT.read_text().split()[1]) * 4096 / 1e6 if RESIDENT.exists() else 0.0


def drawn(rng, count, rounds):
    """Scores whose size comes and goes slowly."""
    return np.abs(rng.normal(size=count)) * (1.0 + 0.5 * np.sin(rounds / 1e7))


def tracked(name, rng):
    """Play whole arrays through one tracker; how many scores were covered, of how many, chunk after chunk."""
    tracker, rounds = wane.trackers.make(name, 0.1), 0
    while True:
        scores = drawn(rng, CHUNK[name], rounds)
        rounds += len(scores)
        yield int(np.count_nonzero(tracker.run(scores) > scores)), len(scores)


def pooled(rng):
    """The same for the histories of many streams that learn from each other."""
    panel, rounds = wane.Panel("pool", 0.1), 0
    ids = np.repeat(np.arange(STREAMS), CHUNK["pool"] // STREAMS)
    while True:
        scores = drawn(rng, len(ids), rounds)
        rounds += len(scores)
        yield int(np.count_nonzero(panel.run(ids, np.zeros(len(ids)), scores).radius > scores)), len(scores)


def journalled(path, rng):
    """The same for predictions and late labels through a journal; the log starts afresh now and then."""
    make = lambda: wane.OnlineConformal("magl", alpha=0.1, max_pending=100)  # noqa: E731
    with wane.Journal(path, make, sync=False, compact_every=2000) as journal:
        waiting = [journal.predict(0.0) for _ in range(50)]
        while True:
            hits = 0
            for _ in range(500):
                waiting.append(journal.predict(0.0))
                one, y = waiting.pop(int(rng.integers(50))), float(rng.normal())
                hits += y in one
                journal.update(one.id, y)
            assert len(Path(journal.log).read_bytes().splitlines()) <= 2000
            yield hits, 500


def watched(chunks, seconds):
    """Play chunks for so long: rounds, coverage, growth of memory, ratio of times."""
    rounds, hits, times, first = 0, 0, [], None
    begun, start = time.monotonic(), time.process_time()
    for covered, count in chunks:
        times.append(time.process_time() - start)
        rounds, hits = rounds + count, hits + covered
        if len(times) > 3 and time.monotonic() > begun + seconds:
            chunks.close()
            break
        if first is None and len(times) > 2 and time.monotonic() > begun + seconds / 10:
            first = memory()
        start = time.process_time()
    return rounds, hits / rounds, memory() - (first or memory()), np.median(times[-9:]) / np.median(times[:9])


def main(seconds, seed):
    """Play for so long; rounds by kind, and failures."""
    counts = {"failed": 0}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, share, play in (
            ("magl", 0.28, lambda rng: tracked("magl", rng)),
            ("auto", 0.5, lambda rng: tracked("auto", rng)),
            ("pool", 0.1, pooled),
            ("journal", 0.12, lambda rng: journalled(Path(folder) / "x.wane", rng)),
        ):
            chunks = play(np.random.default_rng([seed, *name.encode()]))
            rounds, coverage, growth, ratio = watched(chunks, share * seconds)
            what = f"{name}: {rounds:,} rounds, coverage {coverage:.4f}"
            print(f"{what}, {growth:+.1f} MB, time of a round x {ratio:.2f}", flush=True)
            counts[f"rounds of {name}"] = rounds
            if growth > ROOM or (rounds > 100_000 and abs(coverage - 0.9) > BAND):
                counts["failed"] += 1
                print(f"seed {seed}: at most {ROOM} MB and {BAND} off 0.9 are allowed", flush=True)
    return counts
