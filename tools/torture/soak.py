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
CHUNK = {"magl": 100_000, "auto": 20_000}
RESIDENT = Path("/proc/self/statm")


def memory():
    """Megabytes in use by this process; 0 where the system does not say."""
    return int(RESIDENT.read_text().split()[1]) * 4096 / 1e6 if RESIDENT.exists() else 0.0


def batches(name, rng, seconds):
    """Whole arrays through one tracker: rounds, coverage, growth of memory, ratio of times."""
    tracker, scores = wane.trackers.make(name, 0.1), np.empty(CHUNK[name])
    rounds, hits, times, first = 0, 0, [], None
    begun = time.monotonic()
    while time.monotonic() < begun + seconds or len(times) < 4:
        scores[:] = np.abs(rng.normal(size=len(scores))) * (1.0 + 0.5 * np.sin(rounds / 1e7))
        start = time.process_time()
        radii = tracker.run(scores)
        times.append(time.process_time() - start)
        rounds, hits = rounds + len(scores), hits + int(np.count_nonzero(radii > scores))
        if first is None and len(times) > 2 and time.monotonic() > begun + seconds / 10:
            first = memory()
    return rounds, hits / rounds, memory() - (first or memory()), np.median(times[-9:]) / np.median(times[:9])


def steps(path, rng, seconds):
    """Predictions and late labels through a journal; the log starts afresh now and then."""
    rounds, hits, times, first = 0, 0, [], None
    begun = time.monotonic()
    make = lambda: wane.OnlineConformal("magl", alpha=0.1, max_pending=100)  # noqa: E731
    with wane.Journal(path, make, sync=False, compact_every=2000) as journal:
        waiting = []
        while time.monotonic() < begun + seconds or len(times) < 4:
            start = time.process_time()
            for _ in range(500):
                waiting.append(journal.predict(0.0))
                if len(waiting) > 50:
                    one = waiting.pop(int(rng.integers(50)))
                    y = float(rng.normal())
                    hits, rounds = hits + (y in one), rounds + 1
                    journal.update(one.id, y)
            times.append(time.process_time() - start)
            if first is None and len(times) > 2 and time.monotonic() > begun + seconds / 10:
                first = memory()
        assert len(Path(journal.log).read_bytes().splitlines()) <= 2000
    return rounds, hits / rounds, memory() - (first or memory()), np.median(times[-9:]) / np.median(times[:9])


def main(seconds, seed):
    """Play for so long, a third each; rounds by kind, and failures."""
    counts = {"failed": 0}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, play in (
            ("magl", lambda rng: batches("magl", rng, seconds / 3)),
            ("auto", lambda rng: batches("auto", rng, seconds / 3)),
            ("journal", lambda rng: steps(Path(folder) / "x.wane", rng, seconds / 3)),
        ):
            rounds, coverage, growth, ratio = play(np.random.default_rng([seed, len(name)]))
            said = (
                f"{name}: {rounds:,} rounds, coverage {coverage:.4f}, {growth:+.1f} MB, time of a round x {ratio:.2f}"
            )
            print(said, flush=True)
            counts[f"rounds of {name}"] = rounds
            if growth > ROOM or (rounds > 100_000 and abs(coverage - 0.9) > BAND):
                counts["failed"] += 1
                print(f"seed {seed}: at most {ROOM} MB and {BAND} off 0.9 are allowed", flush=True)
    return counts
