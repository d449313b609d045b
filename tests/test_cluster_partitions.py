"""The one function that all engines call: partitions and pools, states, and early errors in words."""

import zlib

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("narwhals")

from cluster_cases import CASES, COLUMNS, chunks, one_machine, refuse_differences, sales, states_of  # noqa: E402

from wane.errors import InputError, InputTypeError, NotFoundError  # noqa: E402
from wane.panel.partitions import HASH_POOLS, Plan, hash_pools  # noqa: E402

cases = pytest.mark.parametrize("how", CASES.values(), ids=CASES)


def dealt(plan, table, partitions):
    """Play a table in partitions, as the engines deal it out, and put the results together again."""
    at = np.array([zlib.crc32(str(key).encode()) % partitions for key in table[plan.key].to_pylist()])
    return pa.concat_tables(plan.play(table.filter(pa.array(at == p))) for p in range(partitions))


@cases
def test_neither_partitions_nor_chunks_change_a_bit(how):
    first, second = chunks(sales(text=False))
    both = pa.concat_tables([first, second])
    plan = Plan.of(both.schema, **COLUMNS, **how)
    whole = plan.play(plan.widened(both))
    refuse_differences(whole, one_machine(both, **how))
    for partitions in (2, 7):
        again = dealt(plan, plan.widened(both), partitions)
        refuse_differences(again, one_machine(both, **how))
        assert states_of(again) == states_of(whole)
    made = dealt(plan, plan.widened(first), 3)
    states = made.filter(pa.compute.is_valid(made["state"])).select(["shop", *plan.more()])
    rest = dealt(plan, pa.concat_tables([plan.widened(second), plan.widened(states)]), 5)
    assert states_of(rest) == states_of(whole)


@cases
def test_states_without_rows_stay_as_they_are(how):
    table = sales(series=9, rows=90)
    plan = Plan.of(table.schema, **COLUMNS, **how)
    made = plan.play(plan.widened(table))
    states = made.filter(pa.compute.is_valid(made["state"]))
    assert states_of(dealt(plan, plan.widened(states), 3)) == states_of(made)
    assert plan.play(plan.wide().empty_table()).schema == made.schema


def test_the_state_of_a_series_is_small():
    table = sales(series=9, rows=90)
    for how in ({"method": "magl"}, {"pool": 1}):
        plan = Plan.of(table.schema, **COLUMNS, **how)
        sizes = [len(state) for (_, id), state in states_of(plan.play(plan.widened(table))).items() if id is not None]
        assert max(sizes) <= 300


def test_hash_pools_are_even_and_do_not_depend_on_the_process():
    for ids in (range(10_000), [f"store_{i:05}" for i in range(10_000)]):
        names, counts = np.unique(hash_pools(ids, HASH_POOLS), return_counts=True)
        assert len(names) == HASH_POOLS and counts.min() > 0.8 * counts.max()
    assert hash_pools(["größe", -5], 7) == ["hash 3/7", "hash 3/7"]


def refused(table, kind, match, argument, **how):
    with pytest.raises(kind, match=match) as caught:
        Plan.of(table.schema, **{**COLUMNS, **how})
    assert caught.value.argument == argument and caught.value.cure


def test_columns_of_the_wrong_type_are_refused_before_anything_is_computed():
    table = sales(series=3, rows=20)
    changed = {name: table.set_column(table.column_names.index(name), name, table[name].cast(pa.string()))
               for name in ("day", "sold", "forecast")}  # fmt: skip
    refused(changed["day"], InputTypeError, "'day' must hold numbers, dates or timestamps, got string", "time")
    refused(changed["sold"], InputTypeError, "'sold' must hold numbers, got string", "y")
    refused(changed["forecast"], InputTypeError, "'forecast' must hold numbers, got string", "y_hat")
    refused(table, InputTypeError, "'sold' must hold whole numbers or text, got double", "id", id="sold")
    refused(table, InputTypeError, "'sold' must hold whole numbers or text, got double", "pool", pool="sold")
    refused(table, NotFoundError, "there is no column 'store'", "id", id="store")
    refused(table.append_column("lower", table["sold"]), InputError, "the columns lower already", "prefix")
    refused(table.append_column("cutoff", table["day"]), InputError, "means a backtest", "table")
    refused(table, InputTypeError, "share nothing", "pool", method="magl", pool=3)
    with pytest.raises(InputError, match="alpha"):
        Plan.of(table.schema, **COLUMNS, alpha=2.0)


def test_states_of_other_runs_are_refused():
    table = sales(series=9, rows=90)

    def states(**how):
        plan = Plan.of(table.schema, **COLUMNS, **how)
        made = plan.play(plan.widened(table))
        return made.filter(pa.compute.is_valid(made["state"])).select(["shop", *plan.more()])

    def play(given, **how):
        plan = Plan.of(table.schema, **COLUMNS, **how)
        return plan.play(pa.concat_tables([plan.widened(table), plan.widened(given)]))

    for other, mine in (({"pool": 3}, {"pool": 4}), ({"pool": "region"}, {}), ({}, {"pool": "region"})):
        with pytest.raises(InputError, match="come from other pools: this run has"):
            play(states(**other), **mine)
    with pytest.raises(InputError, match="made with other settings"):
        play(states(alpha=0.1), alpha=0.2)
    with pytest.raises(InputError, match="must hold one row without an id for the pool"):
        given = states(pool=1)
        play(given.filter(pa.compute.is_valid(given["shop"])), pool=1)
    with pytest.raises(InputError, match="holds an id twice"):
        given = states(method="magl")
        play(pa.concat_tables([given, given]), method="magl")
