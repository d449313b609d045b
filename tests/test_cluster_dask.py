"""Dask: intervals and states are those of one machine, bit for bit, for any partitions and in any chunks."""

import pytest

pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

import dask  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from cluster_cases import (  # noqa: E402
    CASES,
    COLUMNS,
    chunks,
    one_machine,
    refuse_differences,
    results_of,
    run_snippets,
    sales,
    states_of,
    states_on_one_machine,
)

from wane.errors import InputError, InputTypeError, NotFoundError  # noqa: E402
from wane.integrations.dask import run, split  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask's own code, with pandas 3.1
cases = pytest.mark.parametrize("how", CASES.values(), ids=CASES)


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def frame(table, partitions=3):
    return dd.from_pandas(table.to_pandas(), npartitions=partitions, sort=False)


def computed(made):
    return pa.Table.from_pandas(made.compute(), preserve_index=False)


@cases
@pytest.mark.parametrize("partitions", [1, 5])
def test_equals_one_machine(how, partitions):
    table = sales()
    made = computed(run(frame(table), **COLUMNS, **how, partitions=partitions))
    refuse_differences(made, one_machine(table, **how))
    assert states_of(made) == states_on_one_machine(table, **how)


@cases
def test_two_chunks_in_other_partitions_equal_one_run(how, tmp_path):
    first, second = chunks(sales())
    both = pa.concat_tables([first, second])
    assert set(second["shop"].to_pylist()) < set(first["shop"].to_pylist())  # some series are absent from the second
    run(frame(first), **COLUMNS, **how, partitions=2).to_parquet(tmp_path / "first")
    intervals, states = split(dd.read_parquet(tmp_path / "first"), id="shop")
    again = computed(run(frame(second), **COLUMNS, **how, states=states, partitions=5))
    wanted = one_machine(both, **how)
    refuse_differences(pa.concat_tables([computed(intervals), results_of(again)], promote_options="permissive"), wanted)
    assert states_of(again) == states_on_one_machine(both, **how)


def test_whole_numbers_stay_whole_numbers_and_missing_is_missing(tmp_path):
    table = sales(text=False)
    run(frame(table), **COLUMNS, method="magl").to_parquet(tmp_path / "made")
    intervals, states = split(dd.read_parquet(tmp_path / "made", dtype_backend="pyarrow"), id="shop")
    found = computed(intervals)
    refuse_differences(found, one_machine(table, method="magl"))
    assert found["items"].type == pa.int64()
    cold = found.filter(found["cold"])
    assert len(cold) and all(cold[c].null_count == len(cold) for c in ("lower", "upper", "radius", "covered"))
    assert states.compute().shape[0] == len(set(table["shop"].to_pylist()))


def test_other_settings_are_refused(tmp_path):
    table = sales(series=6, rows=60)
    run(frame(table), **COLUMNS, method="magl", alpha=0.1).to_parquet(tmp_path / "made")
    _, states = split(dd.read_parquet(tmp_path / "made"), id="shop")
    with pytest.raises(InputError, match="states was made with other settings"):
        run(frame(table), **COLUMNS, method="magl", alpha=0.2, states=states).compute()
    with pytest.raises(NotFoundError, match="no column 'pool'"):
        run(frame(table), **COLUMNS, states=states)


def test_early_errors():
    table = sales(series=6, rows=60)
    with pytest.raises(InputTypeError, match="must be a Dask data frame, got"):
        run(table.to_pandas(), **COLUMNS)
    with dask.config.set({"dataframe.convert-string": False}):
        objects = dd.from_pandas(table.to_pandas().astype({"shop": object}), npartitions=1)
    with pytest.raises(InputTypeError, match=r"'shop' holds objects of an unknown kind: convert it: df.astype"):
        run(objects, **COLUMNS)
    with pytest.raises(InputError, match="partitions must be a whole number"):
        run(frame(table), **COLUMNS, partitions="many")


def test_the_page_of_clusters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = run_snippets("A table to try", "Dask")
    assert len(made["intervals"]) == 2500 and len(dd.read_parquet("tuesday")) == 500 + len(made["states"])
