"""Ray: intervals and states are those of one machine, bit for bit, for any partitions and in any chunks."""

import os

import pytest

if not os.environ.get("WANE_CLUSTER"):
    pytest.skip("make test-cluster runs it", allow_module_level=True)
ray = pytest.importorskip("ray")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

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

from wane.errors import InputTypeError, NotFoundError  # noqa: E402
from wane.integrations.ray import run, split  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray uses what others deprecate
SOME = ("nested levels, late labels", "pools by a column", "hash pools")  # each takes seconds
cases = pytest.mark.parametrize("how", [CASES[name] for name in SOME], ids=SOME)


@pytest.fixture(scope="module", autouse=True)
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200_000_000)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def collected(ds):
    return pa.concat_tables(ray.get(ds.to_arrow_refs()), promote_options="permissive")


def frame(table):
    return ray.data.from_arrow([table.slice(0, 500), table.slice(500)])


@cases
def test_two_chunks_in_other_partitions_equal_one_run(how, tmp_path):
    first, second = chunks(sales())
    both = pa.concat_tables([first, second])
    run(frame(first), **COLUMNS, **how, partitions=2).write_parquet(str(tmp_path / "first"))
    intervals, states = split(ray.data.read_parquet(str(tmp_path / "first")), id="shop")
    again = collected(run(frame(second), **COLUMNS, **how, states=states, partitions=5))
    made = pa.concat_tables([collected(intervals), results_of(again)], promote_options="permissive")
    refuse_differences(made, one_machine(both, **how))
    assert states_of(again) == states_on_one_machine(both, **how)


def test_early_errors():
    table = sales(series=6, rows=60)
    with pytest.raises(InputTypeError, match="must be a Ray dataset, got"):
        run(table, **COLUMNS)
    with pytest.raises(NotFoundError, match="there is no column 'store'"):
        run(ray.data.from_arrow(table), **{**COLUMNS, "id": "store"})
    with pytest.raises(InputTypeError, match="must hold whole numbers or text, got double"):
        run(ray.data.from_arrow(table), **{**COLUMNS, "id": "sold"})
    with pytest.raises(NotFoundError, match="the states have no column 'state'"):
        run(ray.data.from_arrow(table), **COLUMNS, method="magl", states=ray.data.from_arrow(table))


def test_the_page_of_clusters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = run_snippets("A table to try", "Ray")
    assert made["intervals"].count() == 2500
    assert ray.data.read_parquet(str(tmp_path / "tuesday")).count() == 500 + made["states"].count()
