"""Tables as people have them: dates, decimal commas, what Excel writes, compressed files, workbooks and folders."""

import datetime
import gzip
import json

import numpy as np
import pytest

from wane.errors import AmbiguousDatesError
from wane.runs import Options, play
from wane.tables.text import Notation, read_times

ROWS = 30


def values(seed=0):
    rng = np.random.default_rng(seed)
    return np.round(rng.normal(size=ROWS), 2), np.round(rng.normal(size=ROWS), 2)


def cells(text, delimiter=","):
    head, *lines = [line.split(delimiter) for line in text.splitlines()]
    return {name: [line[i] for line in lines] for i, name in enumerate(head)}


def plain(tmp_path, dates=None, **options):
    """The intervals of the same rows in a plain table."""
    y, f = values()
    when = dates or [datetime.date(2024, 1, 1) + datetime.timedelta(t) for t in range(ROWS)]
    lines = [f"{d},{a},{b}" for d, a, b in zip(when, y, f, strict=True)]
    (tmp_path / "plain.csv").write_text("\n".join(["ds,y,yhat", *lines]) + "\n")
    play(str(tmp_path / "plain.csv"), str(tmp_path / "plain_out.csv"), Options(method="magl", **options))
    return cells((tmp_path / "plain_out.csv").read_text())


FORMS = ("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y %H:%M", "%Y/%m/%d", "%m/%d/%Y %I:%M:%S %p")


@pytest.mark.parametrize("form", FORMS)
def test_dates_are_read_in_every_usual_form(form):
    """Whichever of day and month comes first, if one date shows it."""
    moments = [datetime.datetime(2023, 12, 1) + datetime.timedelta(hours=19 * t) for t in range(60)]
    moments = moments if "%M" in form else [datetime.datetime(m.year, m.month, m.day) for m in moments]
    found, bad = read_times([m.strftime(form) for m in moments])
    assert bad is None and found.tolist() == moments


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("2024-01", "2024-01-01"), ("2024/3", "2024-03-01"), ("2024Q1", "2024-01-01"), ("2024-Q4", "2024-10-01"),
        ("Q3 2024", "2024-07-01"), ("03/2024", "2024-03-01"), ("02.2024", "2024-02-01"), ("2024.01.31", "2024-01-31"),
    ],
)  # fmt: skip
def test_months_and_quarters_are_their_first_day(text, wanted):
    found, bad = read_times([text])
    assert bad is None and str(found.astype("M8[D]")[0]) == wanted


@pytest.mark.parametrize("text", ["31.02.2024", "1/2/24", "32/01/2024", "2024Q5", "2024-13", "13:00 pm", "yesterday"])
def test_what_is_no_date_is_refused(text):
    assert read_times([text])[1] == 0


def test_numbers_are_no_months():
    assert read_times(["1.2024", "12.5"])[0].tolist() == [1.2024, 12.5]


def test_dates_that_nothing_decides_are_asked_for(tmp_path):
    """The first of a month in every row: the whole file is looked at, and then the user is asked."""
    firsts = [f"01/{m:02}/{y}" for y in (2022, 2023, 2024) for m in range(1, 13)][:ROWS]
    y, f = values()
    lines = [f"{d},{a},{b}" for d, a, b in zip(firsts, y, f, strict=True)]
    path = tmp_path / "in.csv"
    path.write_text("\n".join(["ds,y,yhat", *lines]) + "\n")
    with pytest.raises(
        AmbiguousDatesError, match=r"dates such as 01/01/2022.*give dates='dmy' or dates='mdy'"
    ) as raised:
        play(str(path), str(tmp_path / "out.csv"), Options(method="magl"))
    assert raised.value.example == "01/01/2022" and not (tmp_path / "out.csv").exists()
    play(str(path), str(tmp_path / "out.csv"), Options(method="magl", dates="dmy"))
    wanted = plain(tmp_path, [f"{d[6:]}-{d[3:5]}-01" for d in firsts])
    assert cells((tmp_path / "out.csv").read_text())["upper"] == wanted["upper"]
    with pytest.raises(ValueError, match="dates must be 'dmy' or 'mdy'"):
        Notation(dates="ymd")


def test_a_later_row_shows_the_order_of_dates(tmp_path):
    """The first 2,000 rows could be read in both ways; the last one cannot."""
    lines = [f"s{k},01/02/2024,1,1" for k in range(2_000)] + [f"s{k},02/13/2024,1,1" for k in range(2_000)]
    (tmp_path / "in.csv").write_text("\n".join(["id,ds,y,yhat", *lines]) + "\n")
    made = play(str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), Options(method="magl"))
    assert made.rows == 4_000
    (tmp_path / "in.csv").write_text("id,ds,y,yhat\na,13/02/2024,1,1\na,02/14/2024,1,1\n")
    with pytest.raises(ValueError, match="line 3: the column 'ds' must hold numbers or dates"):
        play(str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), Options(method="magl"))


@pytest.mark.parametrize("delimiter", [";", "\t", ","])
def test_decimal_commas_give_the_same_intervals(tmp_path, delimiter):
    """And the new cells have decimal commas too; where commas separate cells, such cells are quoted."""
    y, f = (1000.0 * column for column in values())
    wanted = {}
    for name, form in (("point", str), ("comma", lambda v: german(v, '"' if delimiter == "," else ""))):
        lines = [delimiter.join([str(t), form(a), form(b)]) for t, (a, b) in enumerate(zip(y, f, strict=True))]
        text = "\n".join([delimiter.join(["time", "y", "yhat"]), *lines]) + "\n"
        (tmp_path / "in.csv").write_text(text)
        play(str(tmp_path / "in.csv"), str(tmp_path / f"{name}.csv"), Options(method="magl"))
        wanted[name] = (tmp_path / f"{name}.csv").read_text().splitlines()
        assert [line.startswith(old) for line, old in zip(wanted[name], text.splitlines(), strict=True)]
    if delimiter != ",":
        upper = [line.split(delimiter)[4].replace(",", ".") for line in wanted["comma"]]
        assert upper == [line.split(delimiter)[4] for line in wanted["point"]]
    else:
        assert wanted["comma"][-1].count('"') == 8


def german(value, quote=""):
    """A number as a German spreadsheet writes it: 1.234,50."""
    text = f"{value:,.2f}".translate(str.maketrans(",.", ".,"))
    return f"{quote}{text}{quote}"


@pytest.mark.parametrize(
    "cell, wanted", [("1,234.5", 1234.5), ("1,234,567", 1234567.0), ("1 234", 1234.0), ("-1'000.25", -1000.25)]
)
def test_thousands_are_read(tmp_path, cell, wanted):
    (tmp_path / "in.csv").write_text(f'y,yhat\n"{cell}",0\n1,0\n')
    play(str(tmp_path / "in.csv"), str(tmp_path / "out.jsonl"), Options(method="magl"))
    assert json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])["y"] == wanted


def test_what_excel_writes_stays_as_it_is(tmp_path):
    """Windows-1252, a line that names the separator, #N/A, and columns without a name."""
    text = "sep=;\r\nFiliale;Datum;y;Prognose;;\r\nKöln;31.01.2024;1,5;1,25;;\r\nKöln;01.02.2024;#NV;1,5;;\r\n"
    (tmp_path / "in.csv").write_bytes(text.encode("cp1252"))
    said = []
    options = Options(id="Filiale", time="Datum", y_hat=("Prognose",), method="magl")
    made = play(str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), options, told=said.append)
    lines = (tmp_path / "out.csv").read_bytes().decode("cp1252").split("\r\n")
    assert lines[:2] == ["sep=;", "Filiale;Datum;y;Prognose;;;lower;upper;cold"]
    assert lines[2] == "Köln;31.01.2024;1,5;1,25;;;;;1" and lines[3].startswith("Köln;01.02.2024;#NV;1,5;;;")
    assert made.panel.ids() == ["Köln"] and made.labels == 0
    assert any("read as Windows-1252" in text for text in said)


def same(path, tmp_path, out="out.csv", **options):
    """Whether a table in another form gives the intervals of the plain one."""
    wanted = plain(tmp_path)
    play(str(path), str(tmp_path / out), Options(method="magl", **options))
    return wanted


def test_compressed_tables(tmp_path):
    plain(tmp_path)
    for suffix in ("csv", "jsonl"):
        play(str(tmp_path / "plain.csv"), str(tmp_path / f"x.{suffix}"), Options(method="magl"))
        made = (tmp_path / f"x.{suffix}").read_bytes()
        play(str(tmp_path / "plain.csv"), str(tmp_path / f"y.{suffix}.gz"), Options(method="magl"))
        assert gzip.decompress((tmp_path / f"y.{suffix}.gz").read_bytes()) == made
        play(str(tmp_path / f"y.{suffix}.gz"), str(tmp_path / f"z.{suffix}"), Options(method="magl", prefix="again_"))
        assert (tmp_path / f"z.{suffix}").read_text().count("\n") == made.count(b"\n")
    (tmp_path / "cut.csv.gz").write_bytes((tmp_path / "y.csv.gz").read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"cut\.csv\.gz cannot be unpacked, or is damaged"):
        play(str(tmp_path / "cut.csv.gz"), str(tmp_path / "z.csv"), Options(method="magl", prefix="again_"))


def test_arrays_of_json(tmp_path):
    y, f = values()
    rows = [{"ds": f"2024-01-{t + 1:02}", "y": a, "yhat": b} for t, (a, b) in enumerate(zip(y, f, strict=True))]
    path = tmp_path / "in.json"
    for text in (json.dumps(rows), json.dumps(rows, indent=2), "\n".join(map(json.dumps, rows))):
        path.write_text(text)
        wanted = same(path, tmp_path, "out.json")
        made = json.loads((tmp_path / "out.json").read_text())
        assert [str(row["upper"]) for row in made[1:]] == wanted["upper"][1:] and made[0]["upper"] is None
    for text, said in (
        (
            '{"y": {"0": 1}, "yhat": {"0": 1}}',
            "holds one object with a list for each column: write an array of objects",
        ),
        ("[1, 2]", "object 1: this must be a JSON object"),
        ("[", "is not JSON"),
        ("[]", "is empty"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=said):
            play(str(path), str(tmp_path / "out.json"), Options(method="magl"))


def test_workbooks(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    y, f = values()
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append([])
    sheet.append(["ds", "y", "yhat"])
    for t, (a, b) in enumerate(zip(y.tolist(), f.tolist(), strict=True)):
        sheet.append([datetime.datetime(2024, 1, 1) + datetime.timedelta(t), a if t < ROWS - 1 else "#N/A", b])
    book.create_sheet("notes")
    book.save(tmp_path / "in.xlsx")
    said = []
    play(str(tmp_path / "in.xlsx"), str(tmp_path / "out.xlsx"), Options(method="magl"), told=said.append)
    assert any("has 2 sheets; the first, 'Sheet', is read" in text for text in said)
    rows = list(openpyxl.load_workbook(tmp_path / "out.xlsx").worksheets[0].iter_rows(values_only=True))
    assert rows[0] == ("ds", "y", "yhat", "lower", "upper", "cold") and len(rows) == ROWS + 1
    wanted = list(map(float, plain(tmp_path)["upper"][1:]))
    assert [row[4] for row in rows[2:]] == pytest.approx(wanted, rel=1e-14) and rows[-1][1] is None
    (tmp_path / "bad.xlsx").write_text("y,yhat\n")
    with pytest.raises(ValueError, match=r"bad\.xlsx cannot be read as an Excel workbook"):
        play(str(tmp_path / "bad.xlsx"), str(tmp_path / "out.csv"), Options())


def test_a_folder_of_parquet_files(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    y, f = values()
    folder = tmp_path / "table"
    for i, part in enumerate(np.split(np.arange(ROWS), 3)):
        (folder / f"shop={i % 2}").mkdir(parents=True, exist_ok=True)
        parquet.write_table(
            pa.table({"t": part, "y": y[part], "yhat": f[part]}), folder / f"shop={i % 2}" / f"{i}.parquet"
        )
    made = play(str(folder), str(tmp_path / "out.csv"), Options(method="magl", id="shop", no_time=True))
    out = cells((tmp_path / "out.csv").read_text())
    assert made.series == 2 and out["shop"] == ["0"] * 20 + ["1"] * 10 and out["t"][:20:10] == ["0", "20"]
    with pytest.raises(ValueError, match="is a folder without Parquet files"):
        (tmp_path / "empty").mkdir()
        play(str(tmp_path / "empty"), str(tmp_path / "out.csv"), Options())


def test_rows_before_the_first_forecast_are_left_out_and_said(tmp_path):
    """In each series; a gap between forecasts is an error."""
    y, f = values()
    text = ["id,y,yhat", "a,7,", "b,7,", *(f"a,{a},{b}" for a, b in zip(y, f, strict=True)), "b,1,1"]
    (tmp_path / "in.csv").write_text("\n".join(text) + "\n")
    said = []
    made = play(str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), Options(method="magl"), told=said.append)
    out = cells((tmp_path / "out.csv").read_text())
    assert out["upper"][2 : 2 + ROWS] == plain(tmp_path)["upper"] and out["cold"][:3] == ["1", "1", "1"]
    assert (made.rows, made.unforecast) == (ROWS + 3, 2)
    assert "2 rows at the beginning of their series have no forecast, and get no interval." in said
    (tmp_path / "in.csv").write_text("\n".join([*text, "a,1,"]) + "\n")
    with pytest.raises(
        ValueError, match=rf"line {ROWS + 5}: there is no forecast in the column 'yhat', and earlier rows"
    ):
        play(str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), Options(method="magl"))


def test_a_column_of_dates_that_is_not_used_is_named(tmp_path):
    """A column with an unusual name may say when each row was; with --no-time, or a time, nothing is said."""
    path, out = tmp_path / "in.csv", str(tmp_path / "out.csv")
    path.write_text("Datum;y;yhat\n" + "".join(f"{t:02}.01.2024;{t % 3};1\n" for t in range(1, 32)))
    for options, named in ((Options(), True), (Options(no_time=True), False), (Options(time="Datum"), False)):
        said = []
        play(str(path), out, options, told=said.append)
        assert ("no column of times is used, but 'Datum' holds dates: give --time Datum, or --no-time" in said) == named
