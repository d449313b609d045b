"""Rows a second on Spark, Dask and Ray, beside one machine and beside a pass of the engine that changes nothing.

python benchmarks/cluster.py [--series 10000] [--rows 100] [--method magl] [--engines dask spark ray] [--repeats 2]
    [--partitions 4] [--folder FOLDER] [--once ENGINE] [--write]

Every engine reads one Parquet table and writes one, with as many workers as there are processors. "identity" deals the
series out to partitions as wane does, gives each partition to Python as Arrow tables and takes it back. All are played
in turns, and the best of the repeats counts: the time on the wall, and the time on processors of all processes, which
depends less on what else the machine does. ``--once spark`` plays one engine once, and prints how much memory its
largest Python worker took, for tables that are too large to be played several times. ``--write`` puts the table and
what follows from it into docs/cluster.md.
"""

import argparse
import contextlib
import os
import re
import shutil
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from measure import machine

import wane
from wane.panel.partitions import Plan

HOW = {"id": "shop", "time": "day", "y": "sold", "y_hat": "forecast"}
PIECE = 5_000_000  # rows that are made at a time
PAGE = Path(__file__).parents[1] / "docs" / "cluster.md"
CORES = 80  # of the cluster for which the page computes the time: ten machines with eight each


def write_table(path, series, rows):
    """A table of series with rows in order of time, all series of a day together, as daily data come."""
    rng, days = np.random.default_rng(0), max(PIECE // series, 1)
    shops = np.arange(series)
    with pq.ParquetWriter(path, table_of(rng, shops, 0, 1).schema) as writer:
        for first in range(0, rows, days):
            writer.write_table(table_of(rng, shops, first, min(days, rows - first)), row_group_size=500_000)


def table_of(rng, shops, first, days):
    count = len(shops) * days
    day = np.repeat(np.arange(first, first + days), len(shops))
    return pa.table(
        {
            "shop": np.tile(shops, days),
            "day": np.datetime64("2000-01-01", "us") + day.astype("m8[D]"),
            "sold": rng.normal(size=count),
            "forecast": rng.normal(size=count),
        }
    )


def one_machine(source, out, method):
    table = pq.read_table(source)
    made = wane.panel.run(table, **HOW, method=method)
    pq.write_table(made.frame, out)


def one_thread(source, out, method):
    """The function that every engine calls, on the whole table: rows and states."""
    table = pq.read_table(source)
    plan = Plan.of(table.schema, **HOW, method=method)
    pq.write_table(plan.play(plan.widened(table)), out)


class Dask:
    """Dask with one process for each processor."""

    def __init__(self, partitions):
        import dask.dataframe as dd
        from dask.distributed import Client, LocalCluster

        self.dd, self.partitions = dd, partitions
        self.cluster = LocalCluster(n_workers=os.cpu_count(), threads_per_worker=1, dashboard_address=None)
        self.client = Client(self.cluster)

    def read(self, source):
        return self.dd.read_parquet(source, dtype_backend="pyarrow", blocksize="16MiB", split_row_groups=True)

    def wane(self, source, out, method):
        from wane.integrations.dask import run

        run(self.read(source), **HOW, method=method, partitions=self.partitions).to_parquet(out)

    def identity(self, source, out, method):
        df = self.read(source).shuffle(on="shop", npartitions=self.partitions, ignore_index=True)
        df.map_partitions(back_and_forth, meta=df._meta).to_parquet(out)

    def close(self):
        self.client.close()
        self.cluster.close()


def back_and_forth(frame):
    import pandas as pd

    return pa.Table.from_pandas(frame, preserve_index=False).to_pandas(types_mapper=pd.ArrowDtype)


class Spark:
    """Spark in local mode."""

    def __init__(self, partitions):
        from wane.integrations import spark

        self.partitions, self.spark = partitions, spark
        self.session = spark.session(spark__ui__enabled=False, spark__driver__memory="4g")
        self.session.sparkContext.setLogLevel("ERROR")

    def wane(self, source, out, method):
        df = self.session.read.parquet(source)
        self.spark.run(df, **HOW, method=method, partitions=self.partitions).write.parquet(out)

    def identity(self, source, out, method):
        df = self.session.read.parquet(source)
        df.repartition(self.partitions, "shop").mapInArrow(lambda batches: batches, df.schema).write.parquet(out)

    def close(self):
        self.session.stop()


class Ray:
    """Ray on this machine."""

    def __init__(self, partitions):
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        import ray

        self.ray, self.partitions = ray, partitions
        ray.init(include_dashboard=False, log_to_driver=False)
        ray.data.DataContext.get_current().enable_progress_bars = False

    def wane(self, source, out, method):
        from wane.integrations.ray import run

        run(self.ray.data.read_parquet(source), **HOW, method=method, partitions=self.partitions).write_parquet(out)

    def identity(self, source, out, method):
        ds = self.ray.data.read_parquet(source).repartition(self.partitions, keys=["shop"])
        ds.map_batches(lambda table: table, batch_size=None, batch_format="pyarrow").write_parquet(out)

    def close(self):
        self.ray.shutdown()


def processors():
    """The time that this process and all that it has started have spent on processors so far, in seconds."""
    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            spent = process.cpu_times()
            total += spent.user + spent.system
    return total


class Memory(threading.Thread):
    """Looks again and again at the Python processes that this one has started, and keeps the size of the largest."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most = 0
        self.start()

    def run(self):
        while True:
            for process in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if "java" not in process.name():
                        self.most = max(self.most, process.memory_info().rss)
            time.sleep(0.2)


ONE = "one machine"  # wane.panel.run
ENGINES = {"dask": Dask, "spark": Spark, "ray": Ray}


def table_for_page(count, best, busy):
    """The measured times as a table, and what a billion rows cost at that rate, as Markdown."""
    lines = ["| | seconds | seconds of all processors | million rows a second |", "|---|---|---|---|"]
    for name, seconds in best.items():
        lines.append(f"| {name} | {seconds:.2f} | {busy[name]:.2f} | {count / seconds / 1e6:.2f} |")
    costs = []
    for name in busy:
        if name in (ONE, *(f"{engine.title()}, wane" for engine in ENGINES)):
            hours = busy[name] * 1e9 / count / 3600
            costs.append(f"| {name} | {hours:.1f} | {hours * 60 / CORES:.1f} |")
    head = f"| a billion rows | hours of one core | minutes of {CORES} cores |"
    return "\n".join([*lines, "", head, "|---|---|---|", *costs])


def write(text):
    """Put the tables between the marks of the page."""
    marks = r"(<!-- begin cluster -->\n).*?(<!-- end cluster -->)"
    PAGE.write_text(re.sub(marks, lambda m: f"{m[1]}\n{text}\n\n{m[2]}", PAGE.read_text(), flags=re.S))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=100, help="of each series")
    parser.add_argument("--method", default="magl")
    parser.add_argument("--engines", nargs="*", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--folder", type=Path, help="for the tables; by default a temporary one")
    parser.add_argument("--once", choices=ENGINES, help="play one engine once, and measure its memory")
    parser.add_argument("--write", action="store_true", help="put the table into docs/cluster.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    source, out, count = str(folder / "table.parquet"), folder / "out", options.series * options.rows
    write_table(source, options.series, options.rows)
    print(machine())
    print(f"{count:,} rows of {options.series:,} series, {options.method}, {options.partitions} partitions")
    chosen = [options.once] if options.once else options.engines
    engines = {name: ENGINES[name](options.partitions) for name in chosen}
    memory = Memory()
    try:
        works = {ONE: one_machine, "one thread": one_thread}
        works = {} if options.once else works
        for name, engine in engines.items():
            works |= {f"{name.title()}, wane": engine.wane}
            works |= {} if options.once else {f"{name.title()}, identity": engine.identity}
        best, busy = dict.fromkeys(works, np.inf), dict.fromkeys(works, np.inf)
        for _ in range(1 if options.once else options.repeats + 1):  # the first is to start the workers
            for name, work in works.items():
                start, before = time.perf_counter(), processors()
                work(source, str(out), options.method)
                best[name] = min(best[name], time.perf_counter() - start)
                busy[name] = min(busy[name], processors() - before)
                out.unlink() if out.is_file() else shutil.rmtree(out)
        for name, seconds in best.items():
            rate = f"{count / seconds / 1e6:8.3f} million rows a second"
            print(f"{name:24} {seconds:8.2f} s {rate}, {busy[name]:8.2f} s of processors")
        if options.write and not options.once:
            said = f"{count:,} rows of {options.series:,} series, `{options.method}`, {options.partitions} partitions"
            write(f"{said}, {os.cpu_count()} cores:\n\n{table_for_page(count, best, busy)}")
        print(f"the largest Python worker took {memory.most / 1e9:.2f} GB")
    finally:
        for engine in engines.values():
            engine.close()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
