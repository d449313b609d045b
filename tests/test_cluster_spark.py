"""Spark batches: intervals and states are those of one machine, bit for bit, for any partitions and in any chunks."""

import os
import sys

import pytest

if not os.environ.get("WANE_CLUSTER"):
    pytest.skip("make test-cluster runs it", allow_module_level=True)
pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")

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

from wane.errors import InputError, InputTypeError, MissingExtraError, NotFoundError  # noqa: E402
from wane.integrations import spark  # noqa: E402

try:
    spark.refuse_java()
except MissingExtraError as error:
    pytest.skip(str(error), allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore")  # pyspark 4 uses what pandas 3 and Python deprecate
cases = pytest.mark.parametrize("how", CASES.values(), ids=CASES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def session(folder):
    here = os.getcwd()
    os.chdir(folder)  # relative paths of Spark are those of Java, which stays where it was started
    made = spark.session("local[2]", spark__ui__enabled=False, spark__sql__session__timeZone="UTC")
    os.chdir(here)
    yield made
    made.stop()


def frame(session, table):
    return session.createDataFrame(table)


def collected(frame):
    return frame.toArrow()


@cases
@pytest.mark.parametrize("partitions", [None, 3])
def test_equals_one_machine(session, how, partitions):
    table = sales()
    made = collected(spark.run(frame(session, table), **COLUMNS, **how, partitions=partitions))
    refuse_differences(made, one_machine(table, **how))
    assert states_of(made) == states_on_one_machine(table, **how)


@cases
def test_two_chunks_in_other_partitions_equal_one_run(session, how, tmp_path):
    first, second = chunks(sales(text=False))
    both = pa.concat_tables([first, second])
    path = str(tmp_path / "first")
    spark.run(frame(session, first), **COLUMNS, **how, partitions=2).write.parquet(path)
    intervals, states = spark.split(session.read.parquet(path), id="shop")
    again = collected(spark.run(frame(session, second), **COLUMNS, **how, states=states, partitions=5))
    made = pa.concat_tables([collected(intervals), results_of(again)], promote_options="permissive")
    refuse_differences(made, one_machine(both, **how))
    assert states_of(again) == states_on_one_machine(both, **how)


def test_without_an_interval_sql_sees_null(session):
    table = sales()
    spark.run(frame(session, table), **COLUMNS, method="magl").createOrReplaceTempView("made")
    shown = " OR ".join(f"{name} IS NOT NULL" for name in ("lower", "upper", "radius", "covered"))
    count = f"SELECT count(*) AS n FROM made WHERE cold AND ({shown})"
    assert session.sql(count).first()["n"] == 0
    assert session.sql("SELECT avg(upper - lower) AS w FROM made").first()["w"] > 0.0


def test_other_settings_and_columns_are_refused_before_anything_is_computed(session):
    table = sales(series=6, rows=60)
    df = frame(session, table)
    states = spark.split(spark.run(df, **COLUMNS, method="magl", alpha=0.1), id="shop")[1]
    with pytest.raises(InputError, match="states was made with other settings"):
        spark.run(df, **COLUMNS, method="magl", alpha=0.2, states=states)
    pooled = spark.split(spark.run(df, **COLUMNS, pool=3), id="shop")[1]
    with pytest.raises(InputError, match="come from other pools: this run has 4 hash pools"):
        spark.run(df, **COLUMNS, pool=4, states=pooled)
    with pytest.raises(NotFoundError, match="no column 'pool'"):
        spark.run(df, **COLUMNS, states=states)
    with pytest.raises(InputTypeError, match="'day' must hold numbers, dates or timestamps, got string"):
        spark.run(df.withColumn("day", df["day"].cast("string")), **COLUMNS)
    with pytest.raises(InputTypeError, match="must be a Spark data frame, got"):
        spark.run(table, **COLUMNS)


def test_a_wrong_java_is_an_error_in_words(tmp_path, monkeypatch):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingExtraError, match=r"needs Java 17 or 21, got openjdk version \"11.*: install Java 17"):
        spark.session()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(MissingExtraError, match="needs Java, and there is none: install Java 17"):
        spark.session()


def test_workers_without_pyarrow_are_an_error_in_words(session, tmp_path, monkeypatch):
    """The workers of a session run the Python of its driver's environment; here pyarrow cannot be imported there."""
    (tmp_path / "pyarrow").mkdir()
    (tmp_path / "pyarrow" / "__init__.py").write_text("raise ImportError('No module named pyarrow')")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}:$PYTHONPATH exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(session.sparkContext, "pythonExec", str(python))
    monkeypatch.delattr(session, "_wane_workers", raising=False)
    with pytest.raises(MissingExtraError, match=r"No module named pyarrow.*let PYSPARK_PYTHON name a Python with wane"):
        spark.run(frame(session, sales(series=3, rows=20)), **COLUMNS)
    assert os.path.exists(python)


def test_the_page_of_clusters(session, folder, monkeypatch):
    monkeypatch.chdir(folder)
    made = run_snippets("A table to try", "Spark", "Streams")
    assert made["intervals"].count() == 2500
    assert session.read.parquet("tuesday").count() == 500 + made["states"].count()
    counts = session.read.parquet("made").groupBy("event").count().collect()
    assert {row["event"]: row["count"] for row in counts} == {"predicted": 100, "learned": 100}
