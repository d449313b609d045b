"""Tables: what is not computed with comes out as it went in, whatever its kind; both files are replaced, or none."""

import csv
import datetime
import errno
import io
import json
import os
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wane
from wane.errors import InUseError
from wane.runs import Options, play, session
from wane.runs import run as running
from wane.tables.csv import CsvReader
from wane.tables.files import kind_of

MAGL = Options(method="magl")
ROWS = "id,y,yhat\n" + "".join(f"a,{t % 3},0\n" for t in range(20))
CELLS = ["", "x", '5" pipe', '"', '""', '"a\nb"', '"say ""hi"""', '"\n""\n"', '"7"', 'x""']  # as they stand in a file


def written(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


@given(st.lists(st.tuples(st.sampled_from(CELLS), st.sampled_from(CELLS)), max_size=8), st.integers(1, 4))
def test_rows_are_those_of_the_whole_text_wherever_it_is_cut(rows, size):
    text = 'z,a,5"\n' + "".join(",".join(("z", *row)) + "\n" for row in rows)
    try:
        wanted = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        wanted = []
    assume(wanted and all(len(row) == 3 for row in wanted))
    reader, found = CsvReader(io.BytesIO(text.encode()), "made"), []
    while (chunk := reader.read(size)) is not None:
        found += zip(*map(chunk.column, reader.names), strict=True)
    assert [reader.names, *map(list, found)] == wanted


def test_a_quote_within_a_cell_is_a_character(tmp_path):
    """One in the header once made a header of the whole table; one in a row had the rest of the table read at once."""
    text = 'ds,size 5",y,yhat\n' + "".join(f'{t},7" x,1,2\n' for t in range(5))
    made = play(written(tmp_path / "in.csv", text), str(tmp_path / "out.csv"), MAGL)
    assert made.rows == 5 and lines_of(tmp_path / "out.csv")[0] == 'ds,size 5",y,yhat,lower,upper,cold'
    reader = CsvReader(io.BytesIO(text.encode()), "made")
    assert [reader.read(2).rows for _ in range(3)] == [2, 2, 1]


def test_the_mark_of_excel_stays_and_a_prefix_is_quoted(tmp_path):
    text = "\ufeffds;y;yhat\r\n1;1;2\r\n"
    options = Options(method="magl", prefix="a;")
    play(written(tmp_path / "in.csv", text), str(tmp_path / "out.csv"), options)
    assert (tmp_path / "out.csv").read_bytes().decode() == (
        '\ufeffds;y;yhat;"a;lower";"a;upper";"a;cold"\r\n1;1;2;;;1\r\n'
    )
    play(str(tmp_path / "in.csv"), str(tmp_path / "out.jsonl"), MAGL)
    assert list(json.loads((tmp_path / "out.jsonl").read_text())) == ["ds", "y", "yhat", "lower", "upper", "cold"]


def test_parquet_loses_nothing_in_other_kinds_of_table(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    moment = datetime.datetime(2024, 7, 1, 12)
    columns = {
        "y": pa.array([2**60 + 1, None]),
        "yhat": pa.array([1.0, 1.0]),
        "whole": pa.array([2**60 + 1, None]),
        "price": pa.array([Decimal("12345678901234567.10"), Decimal("1.50")], pa.decimal128(30, 2)),
        "day": pa.array([moment.date(), None]),
        "zone": pa.array([moment, None], pa.timestamp("ns", "+02:00")),
        "fine": pa.array([1, None], pa.timestamp("ns")),
        "clock": pa.array([1, None], pa.time64("ns")),
        "flag": pa.array([True, None]),
        "nested": pa.array([{"d": moment.date(), "l": [1, 2]}, None]),
    }
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    for end in ("csv", "jsonl"):
        play(str(tmp_path / "in.parquet"), str(tmp_path / f"out.{end}"), MAGL)
    first, second = csv.DictReader(lines_of(tmp_path / "out.csv"))
    wanted = {
        "whole": "1152921504606846977",
        "price": "12345678901234567.10",
        "day": "2024-07-01",
        "zone": "2024-07-01T14:00:00+02:00",
        "fine": "1970-01-01 00:00:00.000000001",
        "clock": "00:00:00.000000001",
        "flag": "true",
        "nested": '{"d": "2024-07-01", "l": [1, 2]}',
    }
    assert {k: first[k] for k in wanted} == wanted
    assert {k: v for k, v in second.items() if k in wanted and v} == {"price": "1.50"}
    first, second = map(json.loads, lines_of(tmp_path / "out.jsonl"))
    wanted |= {"whole": 2**60 + 1, "flag": True, "nested": {"d": "2024-07-01", "l": [1, 2]}}
    assert {k: first[k] for k in wanted} == wanted and second["price"] == 1.5
    assert first["y"] == float(2**60 + 1)  # what is computed with is a float


def test_moments_beyond_the_dates_of_python(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, never = str(tmp_path / "in.parquet"), pa.array([10**18], pa.timestamp("us"))
    pq.write_table(pa.table({"y": [1.0], "yhat": [1.0], "until": never}), path)
    for end in ("csv", "jsonl"):
        with pytest.raises(ValueError, match=r"the column 'until' has a moment .*: write Parquet"):
            play(path, str(tmp_path / f"out.{end}"), MAGL)
    play(path, str(tmp_path / "out.parquet"), MAGL)
    assert pq.read_table(tmp_path / "out.parquet").column("until").chunk(0).equals(never)


def test_ids_that_are_decimal_numbers_stay_apart(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ids = pa.array([Decimal("12345678901234567890"), Decimal("12345678901234567891")], pa.decimal128(20, 0))
    pq.write_table(pa.table({"id": ids, "y": [1.0, 2.0], "yhat": [1.0, 1.0]}), tmp_path / "in.parquet")
    assert play(str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"), MAGL).series == 2


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_fields_that_would_be_lost_are_an_error(tmp_path, end):
    if end == "parquet":
        pytest.importorskip("pyarrow")
    path = written(tmp_path / "in.jsonl", '{"y": 1, "yhat": 1}\n{"yhat": 1}\n{"y": 1, "yhat": 1, "more": 5}\n')
    play(path, str(tmp_path / "out.jsonl"), MAGL)
    assert json.loads(lines_of(tmp_path / "out.jsonl")[2])["more"] == 5
    with pytest.raises(ValueError, match=r"line 3: the first object has no field 'more'.*write JSON lines"):
        play(path, str(tmp_path / f"out.{end}"), MAGL)


def test_a_field_that_is_taken_is_an_error(tmp_path):
    path = written(tmp_path / "in.jsonl", '{"y": 1, "yhat": 1}\n{"y": 1, "yhat": 1, "lower": 5}\n')
    with pytest.raises(ValueError, match="line 2: the object has the field 'lower' already: choose a prefix"):
        play(path, str(tmp_path / "out.jsonl"), MAGL)


@pytest.mark.parametrize("full", ["out", "state"])
def test_a_full_disk_leaves_the_output_and_the_state(tmp_path, monkeypatch, full):
    path, out, state = written(tmp_path / "in.csv", ROWS), tmp_path / "out.csv", tmp_path / "state"
    play(path, str(out), MAGL, str(state))
    before = out.read_bytes(), state.read_bytes()

    def fail(*given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    name = "written" if full == "state" else "summed_up"  # a step of the writing, and one amid it
    monkeypatch.setattr(session if full == "state" else running, name, fail)
    with pytest.raises(OSError, match=rf"cannot be written \(No space left on device\): choose another {full}"):
        play(path, str(out), Options(method="magl", again=True), str(state))
    assert (out.read_bytes(), state.read_bytes()) == before and len(list(tmp_path.iterdir())) == 3


def test_a_second_run_is_refused_while_the_first_has_the_state(tmp_path):
    path, state = written(tmp_path / "in.csv", ROWS), str(tmp_path / "state")

    def other(rows, share):  # while the first run is on its way
        with pytest.raises(InUseError, match=r"state is in use by another run: this process .*: wait until it"):
            play(path, str(tmp_path / "other.csv"), MAGL, state)

    assert play(path, str(tmp_path / "out.csv"), MAGL, state, progress=other).rows == 20
    assert wane.load(state).rows == 20 and not (tmp_path / "other.csv").exists()


def test_a_state_that_is_replaced_without_a_lock_is_not_undone(tmp_path):
    path, state = written(tmp_path / "in.csv", ROWS), str(tmp_path / "state")
    play(path, str(tmp_path / "other.csv"), MAGL, str(tmp_path / "other"))

    def other(rows, share):  # while the run is on its way, as a copy from elsewhere
        os.replace(tmp_path / "other", state)

    with pytest.raises(ValueError, match=r"another run has replaced .*state meanwhile"):
        play(path, str(tmp_path / "out.csv"), MAGL, state, progress=other)
    assert wane.load(state).rows == 20 and not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    "text, wanted",
    [
        (
            "ds\ty\tyhat\n1\t1,500\t2\n",
            "line 2: the column 'y' must hold numbers, got '1,500'.*give decimal='point' or",
        ),
        ("ds;y;yhat\n1;1,5;2.5\n", "line 2: some numbers have a decimal point and others a decimal comma"),
        ("ds,y,yhat\n1,many,2\n", "got 'many' .*: correct it, or leave the cell empty"),
        ("2024-01-01,1,2\n2024-01-02,2,3\n", "first line of .* holds no names of columns.*write a header before it"),
        ('{"y": 1, "yhat": 2}\n', "begins like JSON, and is read as CSV: give format='jsonl'"),
        ("ds,y,yhat\n0001-01-01T00:00+05:00,1,2\n", "line 2: the column 'ds' must hold numbers or dates"),
        ("ds,y,yhat\n1,1,2\n".encode("utf-16"), "is not text in UTF-8, near b.*: save it as CSV UTF-8"),
        ('a,y,yhat\nx,1,2\n"x"x,1,2\n', "in.csv, line 3: ',' expected"),
    ],
)
def test_what_spreadsheets_write_is_told_in_words(tmp_path, text, wanted):
    with pytest.raises(ValueError, match=wanted):
        play(written(tmp_path / "in.csv", text), str(tmp_path / "out.csv"), MAGL)


def test_errors_of_json_lines_name_one_line_and_ids_that_are_none(tmp_path):
    row = '{"id": 1, "y": 1, "yhat": 1}\n'
    for text, wanted in [
        (row + '{"y": 1\n', r"line 2: this is not JSON, Expecting ',' delimiter \(character 9\)$"),
        ('{"id": [1], "y": 1, "yhat": 1}\n', r"line 1: the column 'id' must hold ids, got \[1\] \(list\)"),
    ]:
        with pytest.raises(ValueError, match=wanted):
            play(written(tmp_path / "in.jsonl", text), str(tmp_path / "out.jsonl"), Options())


def test_an_error_names_the_row_of_a_scale(tmp_path):
    path = written(tmp_path / "in.csv", "y,m,s\n1,1,1\n1,1,0\n")
    with pytest.raises(ValueError, match=r"in\.csv, line 3: the scale of outputs must be"):
        play(path, str(tmp_path / "o.csv"), Options(method="magl", score="normalised", y_hat=("m", "s")))


def test_what_is_no_file_to_write_is_refused(tmp_path):
    path, out = written(tmp_path / "in.csv", ROWS), str(tmp_path / "out.csv")
    for option in ("state", "report"):
        with pytest.raises(ValueError, match=f"{option} must be a file, not standard output: give a name"):
            play(path, out, MAGL, **{option: "-"})
    if os.path.exists("/dev/full"):
        with pytest.raises(ValueError, match="/dev/full is not a regular file: give another state"):
            play(path, out, MAGL, "/dev/full")


def test_standard_streams_that_are_closed_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(OSError, match="standard input is closed: give a file"):
        play("-", str(tmp_path / "out.csv"), MAGL)
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(OSError, match="standard output is closed: give out"):
        play(written(tmp_path / "in.csv", ROWS), "-", MAGL)


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="pipes have no names here")
def test_a_pipe_is_read_once(tmp_path):
    """As in ``wane run <(zcat in.csv.gz) --format csv``: the series are not counted first."""
    reading, writing = os.pipe()
    os.write(writing, ROWS.encode())
    os.close(writing)
    made = play(f"/dev/fd/{reading}", str(tmp_path / "out.csv"), Options(), kinds=(".csv", None))
    os.close(reading)
    assert made.rows == 20 and made.method == "pool"  # there may be many


def test_what_is_compressed_is_told():
    with pytest.raises(ValueError, match=r"x\.csv\.zip is compressed: unpack it first"):
        kind_of("x.csv.zip")
    with pytest.raises(ValueError, match=r"x\.csv\.zip must end in .*, or give out_format"):
        kind_of("x.csv.zip", setting="out_format")


def test_infinite_intervals_are_counted_beside_the_mean_width(tmp_path):
    path, out = written(tmp_path / "in.csv", ROWS), tmp_path / "out.csv"
    made = play(path, str(out), Options(method="split", settings={"on_unbounded": "allow"}))
    rows = list(csv.DictReader(lines_of(out)))
    widths = [float(row["upper"]) - float(row["lower"]) for row in rows]
    finite = [w for w in widths if w < float("inf")]
    assert made.infinite == (len(widths) - len(finite),) and 0 < len(finite) < len(widths)
    assert made.width == pytest.approx([sum(finite) / len(finite)])
