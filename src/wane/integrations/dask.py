"""Intervals for Dask data frames: the series are dealt out to partitions, and each partition is one call of a panel."""

from __future__ import annotations

from typing import Any

import dask.dataframe as dd
import pandas as pd
import pyarrow as pa

from wane.checks import described, whole
from wane.errors import InputTypeError
from wane.panel.partitions import Plan

__all__ = ["run", "split"]


def run(
    df: Any,
    *,
    id: str,
    time: str,
    y: str,
    y_hat: str | tuple[str, str] | list[str],
    pool: str | int | None = None,
    method: str | None = None,
    alpha: Any = 0.1,
    delay: int = 0,
    states: Any = None,
    partitions: int | None = None,
    prefix: str = "",
    **settings: Any,
) -> Any:
    """Make an interval for every row of a Dask data frame, with the very bits of ``wane.panel.run`` on one machine.

    The result is lazy. It holds the rows of the frame with the columns that ``wane.panel.run`` adds, and one more row
    for the state of each series, so that both are written in one pass; ``split`` takes them apart. Its columns have
    types of Arrow, and where there is no interval the value is missing.

    Args:
        df: a Dask data frame.
        id: the column that names the series of a row, whole numbers or text.
        time: the column by which the rows of a series are ordered; numbers, dates or timestamps.
        y: the column with the true values. A value may be missing if it is not known.
        y_hat: the column of forecasts; two columns for the scores "normalised" and "cqr".
        pool: with the method "pool", the column of those series that learn from each other, or a number of pools to
            which series are dealt by a hash of their id. The number of partitions never changes the result.
        method: the name of a method; None is "pool".
        alpha, delay, prefix, settings: as for ``wane.panel.run``.
        states: the states that ``split`` found in the result of an earlier run, from which to go on.
        partitions: how many partitions to deal the series out to; by default as many as the frame has.
    """
    if not isinstance(df, dd.DataFrame):
        cure = "dask.dataframe.from_pandas or read_parquet makes one; wane.panel.run plays frames in memory"
        raise InputTypeError(f"must be a Dask data frame, got {described(df)}", about="df", cure=cure)
    columns: dict[str, Any] = {"id": id, "time": time, "y": y, "y_hat": y_hat, "pool": pool, "prefix": prefix}
    plan = Plan.of(schema_of(df), **columns, method=method, alpha=alpha, delay=delay, **settings)
    count = df.npartitions if partitions is None else whole("partitions", partitions, 1)

    # Rows of data and rows of state become one frame with the same columns.
    table = df.map_partitions(widened, plan, meta=frame_of(plan.wide().empty_table()))
    if states is not None:
        plan.refuse_states(list(states.columns))
        table = dd.concat([table, states.map_partitions(widened, plan, meta=table._meta)])

    # All rows of a series, or of a pool, come together in one partition, which is one call.
    dealt = table.shuffle(on=plan.key, npartitions=count, ignore_index=True)
    return dealt.map_partitions(played, plan, meta=frame_of(plan.result().empty_table()))


def split(table: Any, *, id: str, prefix: str = "") -> tuple[Any, Any]:
    """Take the result of a run apart: the rows with their intervals, and the states for the next run.

    Give it a table that was written and read again. Otherwise each of the two computes the run once more.
    """
    state, pool = prefix + "state", prefix + "pool"
    of_state = table[state].notnull()
    return table[~of_state].drop(columns=state), table[of_state][[c for c in (id, pool, state) if c in table.columns]]


def schema_of(df: Any) -> pa.Schema:
    """Return the Arrow schema of a Dask data frame."""
    schema = pa.Schema.from_pandas(df._meta, preserve_index=False)
    for name, kind in zip(schema.names, schema.types, strict=True):
        if kind == pa.null():  # objects, of which nothing is known before they are computed
            problem = f"the column {name!r} holds objects of an unknown kind"
            raise InputTypeError(problem, argument=name, cure="convert it: df.astype({...: 'string[pyarrow]'})")
    return schema.remove_metadata()


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a pandas frame with Arrow columns, in which a missing value is missing in any column."""
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def widened(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Give a partition of data, or of states, the columns of both."""
    return frame_of(plan.widened(pa.Table.from_pandas(frame, preserve_index=False)))


def played(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Play one partition."""
    return frame_of(plan.play(pa.Table.from_pandas(frame, schema=plan.wide(), preserve_index=False)))
