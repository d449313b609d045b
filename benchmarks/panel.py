"""Many streams, rows a second: ``make bench``, or ``python benchmarks/panel.py --quick``.

Intervals by magl with absolute scores, from arrays and from a Polars frame to a Polars frame, in shapes streams x
rows. Ratios are to the bare tracker's ``run`` over as many scores in one stream, measured in turns with it. Threads are
compared, so all times are by the clock on the wall, and the best of several counts. A tick is one prediction and one
label for every stream. Bytes are the sum of the panel's arrays, and how much the process grew while it was made and had
its first tick. ``--json PATH`` writes the numbers too. The method pool, whose streams learn from each other, is
measured beside it, except on a single stream. It is held against magl on one thread, by the time of the processor
(``--pool`` measures only that): threads share the rows of a moment only if there are many.
"""

import argparse
import gc
import time
import warnings
from pathlib import Path

import numpy as np
from measure import best, machine, resident, write

import wane
from wane import trackers

try:
    import polars
except ImportError:
    polars = None

METHOD, POOL, ALPHA = "magl", "pool", 0.1
SHAPES = (414, 900), (100_000, 100), (1, 10_000_000)
BESIDE = (414, 900), (10_000, 100), (100_000, 10), (1_000_000, 2)
MANY = 1_000_000  # streams of a tick
THREADS = 1, 2
ARRAYS_AIM, FRAME_AIM = 10.0, 3.0  # million rows a second
BYTES_AIM, TICK_AIM = 200.0, 200.0  # MB, ms
POOL_AIM = 3.0  # times the time of the other method
BARE = "bare tracker"


class Columns:
    """Streams in turn, each in time: forecasts and labels."""

    def __init__(self, streams, rows):
        rng = np.random.default_rng(0)
        self.ids = np.repeat(np.arange(streams), rows)
        self.times = np.tile(np.arange(rows), streams)
        self.outputs = rng.normal(size=streams * rows)
        self.labels = self.outputs + rng.normal(size=streams * rows)
        self.scores = np.abs(self.labels - self.outputs)
        self.mixed = rng.permutation(streams * rows)

    def arrays(self, threads, method=METHOD):
        times = {"times": self.times} if method == POOL else {}
        return lambda: wane.Panel(method, ALPHA, threads=threads).run(self.ids, self.outputs, self.labels, **times)

    def frames(self):
        """The same rows as frames: ids that are numbers or text, in order and mixed."""
        frame = polars.DataFrame({"id": self.ids, "time": self.times, "y": self.labels, "m": self.outputs})
        text = frame.with_columns(("series " + polars.col("id").cast(polars.String)).alias("id"))
        return {
            "frame": frame,
            "frame, text ids": text,
            "frame, mixed rows": frame[self.mixed],
            "frame, text ids, mixed rows": text[self.mixed],
        }


def end_to_end(frame, method=METHOD, **settings):
    how = {"id": "id", "time": "time", "y": "y", "y_hat": "m", "method": method, "alpha": ALPHA, **settings}
    return lambda: wane.panel.run(frame, **how)


def beside(streams, rows, repeats):
    """The time of pool over that of the other method, on one thread: from arrays, from frames, and in ticks."""
    columns, ids = Columns(streams, rows), np.arange(streams)
    frames = {
        "arrays": None,
        **({name: f for name, f in columns.frames().items() if "text" not in name} if polars else {}),
    }
    calls = {}
    for method in (METHOD, POOL):
        for name, frame in frames.items():
            work = columns.arrays(1, method) if frame is None else end_to_end(frame, method, threads=1)
            calls[name, method] = lambda work=work: work
        panel = wane.Panel(method, ALPHA, threads=1)
        again = tick(panel, ids, np.zeros(streams), columns.labels[::rows])
        again()
        calls["ticks", method] = lambda again=again: again
    found = best(repeats, calls, time.process_time)
    return {name: (found[name, METHOD], found[name, POOL]) for name, method in calls if method == POOL}


def seconds(streams, rows, repeats):
    """The shortest time of each way through all rows."""
    columns = Columns(streams, rows)
    calls = {BARE: lambda: lambda: trackers.make(METHOD, ALPHA).run(columns.scores)}
    for threads in THREADS:
        calls[f"arrays, {threads} thread{'s' * (threads > 1)}"] = lambda threads=threads: columns.arrays(threads)
        if streams > 1:
            name = f"{POOL}, arrays, {threads} thread{'s' * (threads > 1)}"
            calls[name] = lambda threads=threads: columns.arrays(threads, POOL)
    if polars:
        frames = columns.frames()
        for name, frame in frames.items():
            calls[name] = lambda frame=frame: end_to_end(frame)
        if streams > 1:
            calls[f"{POOL}, frame"] = lambda: end_to_end(frames["frame"], POOL)
    return best(repeats, calls, time.perf_counter)


def tick(panel, ids, outputs, labels):
    def play():
        panel.predict(ids, outputs)
        panel.update(ids, labels)

    return play


def ticks(streams, repeats, method=METHOD):
    """Memory of a panel of many streams, and the shortest time of a tick over all of them."""
    ids, outputs, labels = np.arange(streams), np.zeros(streams), np.ones(streams)
    gc.collect()
    before = resident()
    panel = wane.Panel(method, ALPHA)
    tick(panel, ids, outputs, labels)()
    gc.collect()
    grown = None if before is None else resident() - before
    calls = {}
    for threads in THREADS:

        def ready(threads=threads):
            panel.threads = threads
            return tick(panel, ids, outputs, labels)

        calls[threads] = ready
    found = best(repeats, calls, time.perf_counter)
    size = sum(getattr(panel, name).nbytes for name in panel.ARRAYS)
    size += panel.index.sorted.nbytes + panel.index.order.nbytes
    return {"streams": streams, "bytes": size, "grown": grown, "seconds": {str(k): v for k, v in found.items()}}


def aims(shapes, many, pooled, compared):
    """Each target with the number that is held against it."""
    found = []
    for shape in shapes:
        million = {name: shape["rows"] / 1e6 / s for name, s in shape["seconds"].items()}
        arrays = max(million[name] for name in million if name.startswith("arrays"))
        found.append((f"{shape['shape']}, arrays", ARRAYS_AIM, arrays, "million rows/s"))
        if polars:
            found.append((f"{shape['shape']}, frame", FRAME_AIM, million["frame"], "million rows/s"))
    size = max(many["bytes"], many["grown"] or 0)
    found += [(f"{many['streams']:,} streams", -BYTES_AIM, size / 1e6, "MB")]
    found += [("a tick over all", -TICK_AIM, 1e3 * min(many["seconds"].values()), "ms")]
    found += [(f"{POOL}, bytes a stream", -BYTES_AIM, pooled["bytes"] / pooled["streams"], "bytes")]
    for shape, times in compared.items():
        found += [(f"{shape}, {POOL}, {name}", -POOL_AIM, new / old, "times") for name, (old, new) in times.items()]
    return [
        {
            "aim": name,
            "target": f"at least {wanted:g}" if wanted > 0 else f"below {-wanted:g}",
            "unit": unit,
            "value": value,
            "reached": bool(value >= wanted if wanted > 0 else value < -wanted),
        }
        for name, wanted, value, unit in found
    ]


def main():
    parser = argparse.ArgumentParser(description="Speed and memory of many streams.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows and streams, fewer repeats")
    parser.add_argument("--pool", action="store_true", help=f"only {POOL} beside {METHOD}, on one thread")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers to this file as well")
    options = parser.parse_args()
    warnings.simplefilter("ignore", trackers.CoverageWarning)
    fewer = (10 if options.quick else 1) * (1 if wane.compiled() else 100)
    repeats = 2 if options.quick else 5
    m = machine()
    print(f"Intervals by {METHOD}, absolute scores; wane {m['wane']}, compiled: {m['compiled']}")
    print(f"{m['cpu']}, {m['cores']} cores, load {m['load']} at the start")
    print(f"million rows a second, and the time as a multiple of the {BARE}'s; the best of {repeats}")
    compared = {}
    for streams, rows in BESIDE:
        streams = max(streams // fewer, 100)
        name = f"{streams:,} x {rows}"
        compared[name] = beside(streams, rows, repeats)
        for way, (old, new) in compared[name].items():
            ns = 1e9 / (streams * (1 if way == "ticks" else rows))
            times = f"{METHOD} {ns * old:>6,.0f} ns a row, {POOL} {ns * new:>6,.0f}: {new / old:.2f} times"
            print(f"  {name:<14} {way:<20} {times}")
    if options.pool:
        return
    many, pooled = (ticks(MANY // fewer, 2 * repeats, method) for method in (METHOD, POOL))
    shapes = []
    for streams, rows in SHAPES:
        rows = max(rows // fewer, 1) if streams == 1 else rows
        streams = max(streams // fewer, 1) if rows * streams > 1_000_000 and streams > 1 else streams
        total = streams * rows
        found = seconds(streams, rows, repeats if total > 1_000_000 else 4 * repeats)
        shapes.append({"shape": f"{streams:,} x {rows:,}", "rows": total, "seconds": found})
    print(f"  {'':<30}" + "".join(f"{s['shape']:>24}" for s in shapes))
    for name in shapes[0]["seconds"]:
        text = "".join(
            f"{s['rows'] / 1e6 / s['seconds'][name]:>16.1f}{s['seconds'][name] / s['seconds'][BARE]:>7.2f}x"
            if name in s["seconds"]
            else f"{'-':>24}"
            for s in shapes
        )
        print(f"  {name:<30}{text}")
    for method, one in ((METHOD, many), (POOL, pooled)):
        grown = "?" if one["grown"] is None else f"{one['grown'] / 1e6:,.0f}"
        size = f"{one['bytes'] / 1e6:,.0f} MB in arrays, the process grew by {grown} MB"
        print(f"\n{one['streams']:,} streams of {method}: {size}")
        for threads, s in one["seconds"].items():
            print(
                f"  a tick over all, threads {threads}: {1e3 * s:,.0f} ms, {1e9 * s / one['streams']:,.0f} ns a stream"
            )
    targets = aims(shapes, many, pooled, compared)
    print("\nAims")
    for a in targets:
        target, value = f"{a['target']} {a['unit']}", f"{a['value']:,.1f} {a['unit']}"
        print(f"  {a['aim']:<30}{target:>26}{value:>24}   {'reached' if a['reached'] else 'MISSED'}")
    if options.json:
        write(
            options.json,
            {"machine": m, "quick": options.quick, "shapes": shapes, "many": many, "pooled": pooled, "aims": targets},
        )


if __name__ == "__main__":
    main()
