"""Streams in files: what is written comes back, what is read follows the rules, what is wrong is named."""

import csv
import datetime
import io
import math
import os
import sys

import numpy as np
import pytest

from wane import tables
from wane.streams import About, ForecastStream, LabelStream, ScoreStream, read, read_all, write

ABOUT = About("a test", "nowhere", "none", 4, "no shift")
TIME = np.array(["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"], dtype="datetime64[D]")
Y, Y_HAT = np.array([1.0, 2.0, math.nan, 4.0]), np.array([1.5, 1.5, 3.0, 3.0])


def fields(stream):
    """The fields of a stream, arrays as type and bytes."""
    found = {}
    for name in stream.__dataclass_fields__:
        value = getattr(stream, name)
        found[name] = (value.dtype, value.tobytes()) if isinstance(value, np.ndarray) else value
    return found


def probabilities(rounds, classes=3, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(classes), size=rounds)


STREAMS = [
    ScoreStream("scores", np.array([1.0, 0.1, 3.0]), shifts=(1, 2), warm_up=1),
    ScoreStream("bare", np.array([1.0])),
    ForecastStream("bare", Y[:2], Y_HAT[:2]),
    ForecastStream("full", Y_HAT, Y_HAT / 3.0, Y_HAT, TIME, (2,), 1, ABOUT),
    ForecastStream("numbered", Y_HAT, Y_HAT / 3.0, time=np.arange(4)),
    ForecastStream("named", Y_HAT, Y_HAT / 3.0, time=np.array(["Monday", "Friday", "July", "noon"])),
    LabelStream("bare", probabilities(5), np.array([0, 1, 2, 0, 1])),
    LabelStream("full", probabilities(4), np.arange(4) % 3, np.arange(4), np.arange(4) - 1, ("fog", "snow", "rain"), 2),
]


@pytest.mark.parametrize("stream", STREAMS, ids=lambda s: f"{type(s).__name__}-{s.name}")
def test_what_is_written_is_read(stream, tmp_path):
    write(tmp_path / "other-name.npz", stream)
    again = read(tmp_path / "other-name.npz")
    assert type(again) is type(stream) and fields(again) == fields(stream)
    assert os.listdir(tmp_path) == ["other-name.npz"]


def test_writing_replaces_and_refuses(tmp_path):
    path = tmp_path / "a.npz"
    write(path, STREAMS[0])
    write(path, STREAMS[1])
    before = path.read_bytes()
    objects = np.array([datetime.date(2024, 1, 1)] * 4, dtype=object)
    with pytest.raises(TypeError, match="timestamp holds Python objects, which are not written: make it numbers, text"):
        write(path, ForecastStream("objects", Y_HAT, Y_HAT, time=objects))
    with pytest.raises(TypeError, match="only a stream can be written, got"):
        write(path, [1.0])
    with pytest.raises(ValueError, match=r"a file that ends in \.npz"):
        write(tmp_path / "a.csv", STREAMS[0])
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.npz"]


# forecasts and scores


def written(path, columns):
    """A file with these columns, in the format of its name."""
    if path.suffix == ".npz":
        np.savez(path, **columns)
    elif path.suffix == ".csv":
        with open(path, "w", newline="") as file:
            out = csv.writer(file)
            out.writerow(columns)
            out.writerows(zip(*(["" if x != x else x for x in c.tolist()] for c in columns.values()), strict=True))
    else:
        pytest.importorskip("pyarrow.parquet").write_table(sys.modules["pyarrow"].table(columns), path)
    return path


@pytest.fixture(params=["npz", "csv", "parquet"])
def suffix(request):
    if request.param == "parquet":
        pytest.importorskip("pyarrow")
    return request.param


@pytest.mark.parametrize("y_hat", ["yhat", "y_hat"])
@pytest.mark.parametrize("time", ["timestamp", "time", "ds"])
def test_forecasts(suffix, y_hat, time, tmp_path):
    path = written(tmp_path / f"f.{suffix}", {"other": Y, "y": Y, time: TIME, y_hat: Y_HAT, "scale": Y_HAT})
    stream = read(path)
    assert isinstance(stream, ForecastStream) and stream.name == "f" and stream.warm_up == 0
    np.testing.assert_array_equal(stream.y, [1.0, 2.0, 4.0])
    np.testing.assert_array_equal(stream.y_hat, [1.5, 1.5, 3.0])
    np.testing.assert_array_equal(stream.scale, [1.5, 1.5, 3.0])
    np.testing.assert_array_equal(stream.time, TIME[[0, 1, 3]])


@pytest.mark.parametrize("name", ["score", "scores"])
def test_scores(suffix, name, tmp_path):
    stream = read(
        written(tmp_path / f"s.{suffix}", {name: Y, "warm_up": np.arange(4)} if suffix != "npz" else {name: Y})
    )
    assert isinstance(stream, ScoreStream)
    np.testing.assert_array_equal(stream.scores, [1.0, 2.0, 4.0])


@pytest.mark.parametrize("key", ["series", "unique_id", "id", "state"])
@pytest.mark.parametrize("ids", [["b", "a", "b", "a", "b"], [7, 3, 7, 3, 7]])
def test_series_are_split_and_in_the_order_of_time(suffix, key, ids, tmp_path):
    days = np.array(["2024-01-05", "2024-01-01", "2024-01-03", "2024-01-02", "2024-01-04"], dtype="datetime64[D]")
    columns = {key: np.array(ids), "y": np.arange(5), "yhat": np.array([0.0, 0.5, 1.0, math.nan, 2.0]), "ds": days}
    first, second = read_all(written(tmp_path / f"p.{suffix}", columns))
    assert (first.name, second.name) == (f"p-{ids[0]}", f"p-{ids[1]}")
    assert (first.y.tolist(), second.y.tolist()) == ([2.0, 4.0, 0.0], [1.0])
    assert (first.y_hat.tolist(), second.y_hat.tolist()) == ([1.0, 2.0, 0.0], [0.5])
    with pytest.raises(ValueError, match=r"holds 2 series \(p-.*\): give a file with one"):
        read(tmp_path / f"p.{suffix}")


def test_times_of_a_csv_file(tmp_path):
    def order(*cells):
        path = tmp_path / "t.csv"
        path.write_text("ds,y,yhat\n" + "".join(f"{cell},{k},0\n" for k, cell in enumerate(cells)))
        return read(path).y.tolist()

    assert order("10", "9", "8.5") == [2.0, 1.0, 0.0]
    assert order("2024-02-01 12:00", "2024-02-01 11:59:30", "2023-03-01") == [2.0, 1.0, 0.0]
    assert order("2024-02-01T12:00:00+02:00", "2024-02-01T10:30:00Z") == [0.0, 1.0]
    with pytest.raises(
        ValueError, match=r"line 2: the column 'ds' must hold numbers or dates .* got 'week 10'.*other name"
    ):
        order("week 10", "week 9")
    with pytest.raises(ValueError, match="line 3: there is no time in the column 'ds': fill it"):
        order("2024-02-01", "", "2024-02-03")


def test_marks_count_the_rounds_that_are_left(tmp_path):
    y = np.array([1.0, math.nan, 3.0, math.nan, 5.0, 6.0, math.nan])
    np.savez(tmp_path / "m.npz", y=y, yhat=np.ones(7), warm_up=3, shifts=[2, 4, 6], name="mine")
    stream = read(tmp_path / "m.npz")
    assert (stream.name, stream.warm_up, stream.shifts) == ("mine", 2, (1, 2))
    assert [stream.y[t] for t in stream.shifts] == [3.0, 5.0]


def test_columns_of_a_csv_file_are_not_marks(tmp_path):
    columns = {"name": np.array(["x", "y"]), "y": np.ones(2), "yhat": np.ones(2), "shifts": np.array(["a", "b"])}
    stream = read(written(tmp_path / "c.csv", columns))
    assert stream.name == "c" and stream.shifts == ()


# labels


@pytest.mark.parametrize(
    ("rounds", "severity", "marks", "want"),
    [
        (2000, np.arange(2000) >= 1000, {}, 1000),
        (2000, np.arange(2000) >= 999, {}, 0),
        (1999, np.zeros(1999), {}, 0),
        (2000, None, {}, 0),
        (2000, np.zeros(2000), {"warm_up": 7}, 7),
        (30, np.zeros(30), {"warm_up": 30}, 30),
    ],
)
def test_labels(rounds, severity, marks, want, tmp_path):
    given = {"probs": probabilities(rounds).astype(np.float16), "label": np.arange(rounds, dtype=np.int16) % 3} | marks
    if severity is not None:
        given |= {"severity": severity.astype(np.int8), "corruption": severity.astype(np.int8) - 1}
    np.savez(tmp_path / "l.npz", **given)
    stream = read(tmp_path / "l.npz")
    assert isinstance(stream, LabelStream) and len(stream) == rounds and stream.warm_up == want
    np.testing.assert_allclose(stream.probabilities.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(stream.probabilities, probabilities(rounds), atol=2e-3)
    assert severity is None or (stream.severity == severity).all()


# folders


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    write(tmp_path / "b.npz", ScoreStream("second", np.ones(2)))
    (tmp_path / "a.csv").write_text("id,score\nx,1\ny,2\n")
    (tmp_path / "README.md").write_text("not a stream")
    (tmp_path / ".b.npz.tmp.npz").write_text("not a stream")
    assert [stream.name for stream in read_all(tmp_path)] == ["a-x", "a-y", "second"]
    with pytest.raises(ValueError, match="is a folder: give one file"):
        read(tmp_path)


def test_a_folder_without_streams(tmp_path):
    with pytest.raises(ValueError, match=r"no file in .* ends in \.npz, \.csv, \.tsv, \.jsonl"):
        read_all(tmp_path)


# errors


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty: write a header, such as ds,y,yhat"),
        ("y,model\n1,2\n", "wanted columns y and yhat, or score; there are y, model: rename them"),
        ("y,yhat\n1,2\n\n3\n", "line 4: the row has 1 cells, but the header has 2"),
        ("y,y\n1,2\n", "two columns of one name, 'y'"),
        ("y,yhat\n1,2\n3,much\n", r"line 3: the column 'yhat' must hold numbers, got 'much' \(str\)"),
        ("y,yhat\n,2\n3,NA\n", "no round has numbers in all of y, y_hat"),
        ("y,yhat\n", "no round has numbers in all of y, y_hat"),
        ("y,yhat\n1,inf\n", "line 2: the column 'yhat' must hold numbers up to"),
        ("y,yhat,scale\n1,1,0\n", "every scale must be > 0"),
        ("y,yhat,id\n1,1,\n", "line 2: there is no id in the column 'id'"),
    ],
)
def test_csv_files_that_are_no_streams(text, said, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ValueError, match=said) as raised:
        read_all(tmp_path / "x.csv")
    assert "x.csv" in str(raised.value)


def test_csv_files_that_are_no_text(tmp_path):
    (tmp_path / "x.csv").write_bytes("y,yhat\n1,1\n".encode("utf-16"))
    with pytest.raises(ValueError, match=r"x\.csv is not text in UTF-8"):
        read(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"y": np.ones(3)}, "wanted columns .*; there are y"),
        ({"y": np.ones(3), "yhat": np.ones(4)}, "columns must have one entry a round, got"),
        ({"y": np.ones((3, 1)), "yhat": np.ones((3, 1))}, "columns must have one entry a round, got"),
        ({"y": np.ones(3), "yhat": np.ones(3), "timestamp": np.arange(4)}, "columns must have one entry a round"),
        ({"y": np.ones(2), "yhat": np.ones(2), "timestamp": np.array([0.0, np.nan])}, "timestamp of row 1 is missing"),
        ({"y": np.ones(2), "yhat": np.ones(2), "id": [1, 2], "shifts": [1]}, "shifts belong to one series"),
        ({"scores": np.ones(3), "warm_up": 4}, r"warm_up must be a whole number, in \[0, 4\)"),
        ({"scores": np.ones(3), "shifts": [3]}, r"shift must be a whole number, in \[0, 3\)"),
        ({"scores": np.ones(3), "shifts": [0.5]}, "shift must be a whole number"),
        ({"y": np.ones(2), "yhat": np.ones(2), "about": "{"}, "x.npz"),
        ({"probs": np.ones((2, 3)), "label": [0, 1]}, "probabilities of round 0 add up to 3"),
        ({"probs": np.full((2, 2), 0.5), "label": [0, 2]}, r"labels must lie in \[0, 2\)"),
    ],
)
def test_npz_files_that_are_no_streams(arrays, said, tmp_path):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(ValueError, match=said) as raised:
        read_all(tmp_path / "x.npz")
    assert "x.npz" in str(raised.value)


def test_complex_numbers_are_no_scores(tmp_path):
    np.savez(tmp_path / "x.npz", scores=np.ones(3) * 1j)
    with pytest.raises(TypeError, match=r"x\.npz': scores must hold real numbers"):
        read(tmp_path / "x.npz")


def test_nothing_is_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    np.savez(tmp_path / "x.npz", y=np.array([Trap()], dtype=object), yhat=np.ones(1))
    with pytest.raises(ValueError, match=r"'y' is not read .*: nothing that is pickled is; save numbers, text"):
        read(tmp_path / "x.npz")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("damage", ["text", "npy", "cut", "flipped"])
def test_npz_files_that_are_damaged(damage, tmp_path):
    path = tmp_path / "x.npz"
    write(path, ScoreStream("x", np.random.default_rng(0).random(1000)))
    raw, npy = path.read_bytes(), io.BytesIO()
    np.save(npy, np.ones(3))
    middle = len(raw) // 2
    broken = {
        "text": b"hello",
        "npy": npy.getvalue(),
        "cut": raw[:middle],
        "flipped": raw[:middle] + bytes([raw[middle] ^ 255]) + raw[middle + 1 :],
    }
    path.write_bytes(broken[damage])
    with pytest.raises(ValueError, match=r"x\.npz': this is not an npz file, or is damaged"):
        read(path)


def test_files_that_are_not_there_or_not_known(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.csv"):
        read(tmp_path / "none.csv")
    (tmp_path / "x.xls").write_text("")
    with pytest.raises(ValueError, match=r"must end in one of \.npz, \.csv, \.tsv, \.txt, \.jsonl"):
        read(tmp_path / "x.xls")


# one reader for all


def test_every_kind_of_table_is_read(tmp_path):
    """Semicolons, tabs and JSON lines, as `wane run` reads them."""
    for name, text in [
        ("a.csv", "\ufeffdatetime;actual;forecast\n2024-01-02;1;2\n2024-01-01;3;4\n"),
        ("b.tsv", "Date\ty\tYHat\n2024-01-02\t1\t2\n2024-01-01\t3\t4\n"),
        ("c.jsonl", '{"ds": "2024-01-02", "y": 1, "yhat": 2}\n{"ds": "2024-01-01", "y": "3", "yhat": 4}\n'),
    ]:
        (tmp_path / name).write_text(text, encoding="utf-8")
        stream = read(tmp_path / name)
        assert stream.y.tolist() == [3.0, 1.0] and stream.y_hat.tolist() == [4.0, 2.0]


@pytest.mark.parametrize(
    "names",
    [
        ["ds", "series", "unique_id", "y", "yhat"],
        ["datetime", "state", "value", "prediction"],
        ["timestamp", "time", "ID", "Target", "pred"],
        ["other", "y", "forecast"],
    ],
)
def test_streams_and_runs_choose_the_same_columns(names, tmp_path):
    """Each column has its own values, so that a stream shows which ones it was made of."""
    rng = np.random.default_rng(0)
    cells = {name: rng.permutation(6) + 10 * k for k, name in enumerate(names)}
    with open(tmp_path / "t.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(names)
        out.writerows(zip(*(column.tolist() for column in cells.values()), strict=True))
    used = tables.chosen(names)
    found = read_all(tmp_path / "t.csv")
    ids = [f"t-{key}" for key in cells[used.id].tolist()] if used.id else ["t"]
    assert [stream.name for stream in found] == ids
    order = np.argsort(cells[used.time]) if used.time and not used.id else np.arange(6)
    assert [y for stream in found for y in stream.y] == cells[used.y][order].tolist()
    assert [y for stream in found for y in stream.y_hat] == cells[used.y_hat[0]][order].tolist()
    if used.time:
        assert [t for stream in found for t in stream.time] == cells[used.time][order].tolist()


def test_parquet(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    ids, days = np.array(["b", "a", "b"]), [datetime.date(2024, 1, d) for d in (3, 1, 2)]
    path = written(tmp_path / "x.parquet", {"id": ids, "ds": days, "y": [1, None, 3], "yhat": [1.0, 2.0, None]})
    with pytest.raises(ValueError, match="x-a: no round has numbers in all of y, y_hat"):
        read_all(path)
    written(path, {"id": ids, "ds": days, "y": [1, 2, 3], "yhat": [1.0, 2.0, 4.0]})
    first, second = read_all(path)
    assert (first.name, second.name) == ("x-b", "x-a")
    assert (first.y.tolist(), first.y_hat.tolist(), second.y.tolist()) == ([3.0, 1.0], [4.0, 1.0], [2.0])
    assert first.time.astype("datetime64[D]").astype(str).tolist() == ["2024-01-02", "2024-01-03"]
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match=r"x\.parquet cannot be read as Parquet"):
        read(path)
    for library in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=r'pip install "\.\[parquet\]"'):
        read(path)
