"""Intervals for Spark data frames: each partition is one call of a panel; ``stream`` serves Structured Streaming."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from wane.checks import described, whole
from wane.errors import InputTypeError, MissingExtraError
from wane.integrations.spark_stream import dropped, stream
from wane.panel.partitions import HASH, Plan
from wane.version import __version__

__all__ = ["dropped", "run", "session", "split", "stream"]

JAVAS = (17, 21)  # the oldest and the newest Java that Spark 4 is known to run on
ROWS = 65_536  # rows of a batch that goes back to Spark
JAVA = "install Java 17 (on Debian: apt-get install openjdk-17-jre-headless) and set JAVA_HOME to it"


def session(master: str = "local[*]", **config: Any) -> SparkSession:
    """Start Spark on this machine, or return the session that runs already.

    Java is looked for first, so that a missing or wrong one is an error in words. Workers use this Python.

    Args:
        master: the cluster; ``local[2]`` is this machine with two workers.
        config: settings of Spark, with ``__`` for a dot: ``spark__driver__memory="4g"``.
    """
    refuse_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    made = SparkSession.builder.master(master)
    wanted = {"spark.sql.execution.arrow.maxRecordsPerBatch": ROWS, "spark.ui.showConsoleProgress": False}
    for name, value in {**wanted, **{k.replace("__", "."): v for k, v in config.items()}}.items():
        made = made.config(name, value)
    return made.getOrCreate()


def refuse_java() -> None:
    """Raise an error if there is no Java, or one that Spark does not run on."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    try:
        said = subprocess.run([java or "java", "-version"], capture_output=True, text=True).stderr
    except OSError:
        raise MissingExtraError("Spark needs Java, and there is none", cure=JAVA) from None
    found = re.search(r'version "(\d+)', said)
    version = int(found[1]) if found else 0
    if not JAVAS[0] <= version <= JAVAS[1]:
        problem = f"Spark 4 needs Java {JAVAS[0]} or {JAVAS[1]}, got {said.splitlines()[0] if said else java}"
        raise MissingExtraError(problem, cure=JAVA)


def run(
    df: DataFrame,
    *,
    id: str,
    time: str,
    y: str,
    y_hat: str | tuple[str, str] | list[str],
    pool: str | int | None = None,
    method: str | None = None,
    alpha: Any = 0.1,
    delay: int = 0,
    states: DataFrame | None = None,
    partitions: int | None = None,
    prefix: str = "",
    **settings: Any,
) -> DataFrame:
    """Make an interval for every row of a Spark data frame, with the very bits of ``wane.panel.run`` on one machine.

    The result is lazy. It holds the rows of the frame with the columns that ``wane.panel.run`` adds, and one more row
    for the state of each series, so that both are written in one pass; ``split`` takes them apart. Where there is no
    interval, the columns are NULL.

    Args:
        df: a Spark data frame.
        id: the column that names the series of a row, whole numbers or text.
        time: the column by which the rows of a series are ordered; numbers, dates or timestamps.
        y: the column with the true values. A value may be NULL if it is not known.
        y_hat: the column of forecasts; two columns for the scores "normalised" and "cqr".
        pool: with the method "pool", the column of those series that learn from each other, or a number of pools to
            which series are dealt by a hash of their id. The number of partitions never changes the result.
        method: the name of a method; None is "pool".
        alpha, delay, prefix, settings: as for ``wane.panel.run``.
        states: the states that ``split`` found in the result of an earlier run, from which to go on.
        partitions: how many partitions to deal the series out to; by default Spark decides. A partition must fit into
            the memory of a worker.
    """
    if not isinstance(df, DataFrame):
        raise InputTypeError(f"must be a Spark data frame, got {described(df)}", about="df")
    columns: dict[str, Any] = {"id": id, "time": time, "y": y, "y_hat": y_hat, "pool": pool, "prefix": prefix}
    schema = to_arrow_schema(df.schema, timezone=df.sparkSession.conf.get("spark.sql.session.timeZone"))
    plan = Plan.of(schema, **columns, method=method, alpha=alpha, delay=delay, **settings)
    count = None if partitions is None else whole("partitions", partitions, 1)
    refuse_workers(df.sparkSession)

    # Rows of data and rows of state become one frame with the same columns.
    table = df.withColumn(plan.state, F.lit(None).cast("binary"))
    if plan.by is not None:
        table = table.withColumn(plan.key, pools(plan))
    if states is not None:
        plan.refuse_states(states.columns)
        if first := states.select(*plan.more()).first():  # the rest is looked at where it is played
            plan.refuse_state(first[plan.state], first[plan.key] if plan.by is not None else None)
        table = table.unionByName(states.select(id, *plan.more()), allowMissingColumns=True)

    # All rows of a series, or of a pool, come together in one partition, which is one call.
    dealt = table.repartition(plan.key) if count is None else table.repartition(count, plan.key)
    if count is not None and isinstance(plan.by, int):  # as evenly as it goes
        dealt = table.repartitionById(count, F.regexp_extract(plan.key, r"(\d+)/", 1).cast("int"))
    wide = plan.wide()

    def play(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if given := list(batches):
            table = pa.Table.from_batches(given).select(wide.names).cast(wide)
            yield from plan.play(table).to_batches(max_chunksize=ROWS)

    return dealt.mapInArrow(play, from_arrow_schema(plan.result()))


def pools(plan: Plan) -> Any:
    """Return the column of pools as an expression; its hash is that of ``wane.panel.partitions.hash_pools``."""
    if isinstance(plan.by, str):
        return F.col(plan.by).cast("string")
    number = F.crc32(F.col(plan.id).cast("string").cast("binary")) % plan.by
    return F.concat(F.lit(HASH), number.cast("string"), F.lit(f"/{plan.by}"))


def split(table: DataFrame, *, id: str, prefix: str = "") -> tuple[DataFrame, DataFrame]:
    """Take the result of a run apart: the rows with their intervals, and the states for the next run.

    Give it a table that was written and read again. Otherwise each of the two computes the run once more.
    """
    state, pool = prefix + "state", prefix + "pool"
    rows, states = table.where(F.col(state).isNull()), table.where(F.col(state).isNotNull())
    return rows.drop(state), states.select([c for c in (id, pool, state) if c in table.columns])


def refuse_workers(spark: SparkSession) -> None:
    """Raise an error, once for each session, if the Python of the workers lacks what a run needs."""
    if getattr(spark, "_wane_workers", False):
        return

    def asked(_: Any) -> str:  # it is sent as code, because the workers may not have wane
        try:
            import narwhals  # noqa: F401
            import pyarrow  # noqa: F401

            from wane.version import __version__ as there

            return there
        except ImportError as error:
            return f"{error}"

    cure = f"let PYSPARK_PYTHON name a Python with wane {__version__} and its extra 'spark' on every worker"
    try:
        said = spark.range(1).select(F.udf(asked, "string", useArrow=False)("id")).first()[0]
    except PySparkException as error:
        line = next((line for line in str(error).splitlines() if "Error" in line or "Exception" in line), str(error))
        raise MissingExtraError(f"the workers cannot run Python: {line.strip()}", cure=cure) from error
    if said != __version__:
        problem = (
            f"the Python of the workers has another wane, {said}" if said[:1].isdigit() else f"on a worker, {said}"
        )
        raise MissingExtraError(problem, cure=cure)
    spark._wane_workers = True
