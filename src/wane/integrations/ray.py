"""Intervals for Ray datasets: the series are dealt out to groups, and each group is one call of a panel."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import ray.data

from wane.checks import described, whole
from wane.errors import InputError, InputTypeError
from wane.panel.partitions import Plan

__all__ = ["run", "split"]

GROUP = "wane: group"  # a column of our own while rows are dealt out
LOOK = 1_000  # rows of pandas from which types are taken


def run(
    ds: Any,
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
    """Make an interval for every row of a Ray dataset, with the very bits of ``wane.panel.run`` on one machine.

    The result is lazy. It holds the rows of the dataset with the columns that ``wane.panel.run`` adds, and one more row
    for the state of each series, so that both are written in one pass; ``split`` takes them apart. Where there is no
    interval, the columns are null.

    Args:
        ds: a Ray dataset of tables.
        id: the column that names the series of a row, whole numbers or text.
        time: the column by which the rows of a series are ordered; numbers, dates or timestamps.
        y: the column with the true values. A value may be null if it is not known.
        y_hat: the column of forecasts; two columns for the scores "normalised" and "cqr".
        pool: with the method "pool", the column of those series that learn from each other, or a number of pools to
            which series are dealt by a hash of their id. The number of partitions never changes the result.
        method: the name of a method; None is "pool".
        alpha, delay, prefix, settings: as for ``wane.panel.run``.
        states: the states that ``split`` found in the result of an earlier run, from which to go on.
        partitions: how many groups to deal the series out to; by default two for each processor of the cluster.
    """
    if not isinstance(ds, ray.data.Dataset):
        cure = "ray.data.from_arrow or read_parquet makes one"
        raise InputTypeError(f"must be a Ray dataset, got {described(ds)}", about="ds", cure=cure)
    columns: dict[str, Any] = {"id": id, "time": time, "y": y, "y_hat": y_hat, "pool": pool, "prefix": prefix}
    plan = Plan.of(schema_of(ds), **columns, method=method, alpha=alpha, delay=delay, **settings)
    count = whole("partitions", partitions, 1) if partitions is not None else 2 * int(ray.cluster_resources()["CPU"])

    # Rows of data and rows of state become one dataset with the same columns, and the number of their group.
    how = {"batch_format": "pyarrow", "batch_size": None, "zero_copy_batch": True}
    table = ds.map_batches(grouped, fn_kwargs={"plan": plan, "count": count}, **how)
    if states is not None:
        plan.refuse_states(schema_of(states).names)
        table = table.union(states.map_batches(grouped, fn_kwargs={"plan": plan, "count": count}, **how))

    # A group is one call. Ray may cut partitions into blocks of bytes, but never a group.
    groups = table.groupby(GROUP, num_partitions=count)
    return groups.map_groups(played, fn_kwargs={"plan": plan}, batch_format="pyarrow")


def split(table: Any, *, id: str, prefix: str = "") -> tuple[Any, Any]:
    """Take the result of a run apart: the rows with their intervals, and the states for the next run.

    Give it a table that was written and read again. Otherwise each of the two computes the run once more.
    """
    state, pool = prefix + "state", prefix + "pool"
    names = schema_of(table).names
    how = {"batch_format": "pyarrow", "batch_size": None}

    def rows(batch: pa.Table) -> pa.Table:
        return batch.filter(pa.compute.is_null(batch[state])).drop(state)

    def states(batch: pa.Table) -> pa.Table:
        kept = [c for c in (id, pool, state) if c in names]
        return batch.filter(pa.compute.is_valid(batch[state])).select(kept)

    return table.map_batches(rows, **how), table.map_batches(states, **how)


def schema_of(ds: Any) -> pa.Schema:
    """Return the Arrow schema of a dataset; blocks of pandas do not know theirs, and one is looked at."""
    if (found := ds.schema()) is None:
        raise InputError("has no rows, so that its columns are not known", about="ds")
    schema = found.base_schema
    if not isinstance(schema, pa.Schema):
        schema = ds.take_batch(LOOK, batch_format="pyarrow").schema
    return schema.remove_metadata()


def grouped(batch: pa.Table, plan: Plan, count: int) -> pa.Table:
    """Give a block of data, or of states, the columns of both, and the number of its group."""
    wide = plan.widened(batch)
    codes = wide[plan.key].combine_chunks().dictionary_encode()
    groups = np.array([zlib.crc32(str(key).encode()) % count for key in codes.dictionary.to_pylist()], dtype=np.int64)
    return wide.append_column(GROUP, pa.array(groups).take(codes.indices))


def played(group: pa.Table, plan: Plan) -> pa.Table:
    """Play one group."""
    wide = plan.wide()
    return plan.play(group.select(wide.names).cast(wide))
