"""A table of series for the tests of clusters, what one machine makes of it, and comparisons bit for bit."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import wane
from wane.panel.partitions import HASH_POOLS, Plan, hash_pools

COLUMNS = {"id": "shop", "time": "day", "y": "sold", "y_hat": "forecast"}
CASES = {
    "nested levels, late labels": {"method": "magl", "alpha": (0.1, 0.3), "delay": 3},
    "objects": {"method": "faci", "alpha": 0.1, "on_unbounded": "allow"},
    "a warm-up": {"method": "magl-d", "alpha": 0.1, "warm_up": 5, "epsilon": "auto"},
    "one pool": {"alpha": (0.1, 0.2), "delay": 2, "pool": 1},
    "pools by a column": {"alpha": 0.1, "delay": 1, "pool": "region"},
    "hash pools": {"alpha": 0.1},
}


def sales(series=40, rows=1200, text=True, seed=0):
    """Rows of series of different lengths, in any order, of which some labels are missing."""
    rng = np.random.default_rng(seed)
    of = np.sort(rng.integers(0, series, rows))
    first = np.flatnonzero(np.diff(of, prepend=-1))
    day = np.arange(rows) - np.repeat(first, np.diff([*first, rows])) + rng.integers(0, 5, series)[of]
    sold = rng.normal(size=rows) * 10.0 ** (of % 3)
    names = pa.array([f"shop {i}" for i in range(series)]) if text else pa.array(np.arange(series) * 7 - 20)
    table = pa.table(
        {
            "shop": names.take(pa.array(of)),
            "region": pa.array(["north", "south", "east"]).take(pa.array(of % 3)),
            "day": pa.array(np.datetime64("2024-01-01", "us") + day.astype("m8[D]")),
            "sold": pa.array(sold, mask=rng.random(rows) < 0.1),
            "forecast": rng.normal(size=rows),
            "items": rng.integers(0, 9, rows),
        }
    )
    return table.take(rng.permutation(rows))


def chunks(table):
    """The table in two parts by time; the first shops are in the first part only."""
    middle = np.datetime64("2024-01-16", "us")
    early = pc.less(table["day"], pa.scalar(middle))
    some = pc.less(pc.cast(pc.equal(table["region"], "north"), pa.int8()), 1)
    late = pc.and_(pc.invert(early), some)
    return table.filter(early), table.filter(late)


def one_machine(table, pool=None, **how):
    """The table with the columns of ``wane.panel.run``: a run for each pool."""
    method = how.pop("method", "pool")
    if method != "pool" or pool == 1:
        return played(table, method, how)
    names = table[pool].to_pylist() if isinstance(pool, str) else hash_pools(table["shop"].to_pylist(), HASH_POOLS)
    return pa.concat_tables(played(table.filter(pc.equal(pa.array(names), n)), method, how) for n in sorted(set(names)))


def played(table, method, how):
    return wane.panel.run(table, **COLUMNS, method=method, threads=1, **how).frame


def states_on_one_machine(table, **how):
    """The states after one call of the function that all engines call."""
    plan = Plan.of(table.schema, **COLUMNS, **how)
    return states_of(plan.play(plan.widened(table)))


def states_of(table):
    """States by pool and id; a row without an id is that of a pool."""
    rows = [row for row in table.to_pylist() if row["state"] is not None]
    found = {(row.get("pool"), row["shop"]): bytes(row["state"]) for row in rows}
    assert len(found) == len(rows)
    return found


def results_of(table):
    """The rows of data in a result."""
    return table.filter(pc.is_null(table["state"])).drop("state") if "state" in table.column_names else table


def refuse_differences(made, wanted):
    """An error unless both hold the same rows, bit for bit; without a value, ``made`` is NULL and not NaN."""
    made, wanted = (t.sort_by([("shop", "ascending"), ("day", "ascending")]) for t in (results_of(made), wanted))
    assert len(made) == len(wanted) > 0
    for name in wanted.column_names:
        a, b = made[name], wanted[name]
        if pa.types.is_floating(b.type):
            missing = np.asarray(pc.is_null(b, nan_is_null=True))
            assert np.array_equal(np.asarray(pc.is_null(a)), missing), name
            assert np.array_equal(a.to_numpy()[~missing].view(np.int64), b.to_numpy()[~missing].view(np.int64)), name
        elif pa.types.is_timestamp(b.type):  # with or without a zone
            assert a.cast(pa.int64()).equals(b.cast(pa.int64())), name
        else:
            assert a.to_pylist() == b.to_pylist(), name


def run_snippets(*headings):
    """Run what docs/cluster.md shows under these headings, one after the other."""
    page, space = (Path(__file__).parent.parent / "docs" / "cluster.md").read_text(), {}
    for heading in headings:
        section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, flags=re.S | re.M)[1]
        code = "\n".join(re.findall(r"^```python\n(.*?)^```", section, flags=re.S | re.M))
        assert code
        exec(compile(code, f"cluster.md, {heading}", "exec"), space)
    return space
