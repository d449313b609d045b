"""Frames of any kind give the numbers of a panel, in frames of the same kind, with the rows where they were."""

import datetime
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_cases import same

import wane
from wane.panel import Groups, Panel, run
from wane.panel.sorting import one_sort

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("narwhals")

KINDS = {
    "dict": lambda d: {k: np.array(v) for k, v in d.items()},
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}
each = pytest.mark.parametrize("kind", KINDS)
frames = pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
NAMES = {"id": "shop", "time": "day", "y": "y", "y_hat": "f", "method": "magl"}


def table(rows=30, seed=0, missing=0.2, streams=3):
    """Streams mixed and out of time, a column that is nobody's business among them."""
    rng = np.random.default_rng(seed)
    shop = rng.integers(0, streams, rows)
    day = rng.permutation(rows)
    y = rng.normal(size=rows).round(2)
    y[rng.random(rows) < missing] = math.nan
    return {"day": day, "note": [f"n{i}" for i in range(rows)], "shop": shop, "f": rng.normal(size=rows), "y": y}


def column(frame, name):
    """A column as a list, None where there is nothing."""
    if isinstance(frame, pa.Table):
        values = frame[name].to_pylist()
    else:
        values = frame[name].tolist() if isinstance(frame, (dict, pd.DataFrame)) else frame[name].to_list()
    return [None if v is None or v is pd.NA or v != v else v for v in values]


def numbers(frame, name):
    return np.array([math.nan if v is None else v for v in column(frame, name)], dtype=float)


def by_hand(data, method="magl", delay=0, **given):
    """The same from a panel: rows put into time, played, and put back."""
    order = np.argsort(data["day"], kind="stable")
    panel = Panel(method, **given)
    made = panel.run(np.asarray(data["shop"])[order], np.asarray(data["f"])[order], np.asarray(data["y"])[order], delay)
    back = np.argsort(order)
    found = {k: getattr(made, k)[back] for k in ("lower", "upper", "radius")}
    return {**found, "radius": np.where(np.isnan(found["lower"]), math.nan, found["radius"])}  # or none


def kept_rows(given, made):
    """Rows and columns that were given are where they were."""
    names = list(given) if isinstance(given, dict) else list(getattr(given, "columns", None))
    names = given.column_names if isinstance(given, pa.Table) else names
    assert all(column(given, name) == column(made, name) for name in names)
    if isinstance(given, pd.DataFrame):
        assert made.index.equals(given.index) and (made.dtypes[names] == given.dtypes).all()
    if isinstance(given, pl.DataFrame):
        assert made.select(names).equals(given, null_equal=True)
    return True


@each
@pytest.mark.parametrize("delay", [0, 2])
def test_the_numbers_of_a_panel(kind, delay):
    data = table()
    frame = KINDS[kind](data)
    copied = KINDS[kind]({k: list(v) for k, v in data.items()})
    result = run(frame, **NAMES, delay=delay, warm_up=2)
    assert type(result.frame) is type(frame) is type(result.summary) and kept_rows(copied, frame)
    assert kept_rows(frame, result.frame)
    wanted = by_hand(data, delay=delay, warm_up=2)
    for name, values in wanted.items():
        assert same(numbers(result.frame, name), values)
    judged = ~np.isnan(wanted["radius"]) & ~np.isnan(data["y"])
    inside = np.abs(data["y"] - data["f"]) < wanted["radius"]
    assert column(result.frame, "covered") == [bool(c) if j else None for c, j in zip(inside, judged, strict=True)]
    shops = column(result.summary, "shop")
    for i, shop in enumerate(shops):
        mine = np.array(data["shop"]) == shop
        assert column(result.summary, "rows")[i] == mine.sum()
        assert column(result.summary, "labels")[i] == (judged & mine).sum()
        if (judged & mine).any():
            assert column(result.summary, "coverage")[i] == pytest.approx(inside[judged & mine].mean())
    assert sorted(shops) == sorted(set(data["shop"].tolist()))


@settings(max_examples=25)
@given(rows=st.integers(0, 25), streams=st.integers(1, 4), seed=st.integers(0, 999), kind=st.sampled_from(list(KINDS)))
def test_any_rows(rows, streams, seed, kind):
    data = table(rows, seed, streams=streams)
    if not rows and kind != "dict":
        data = {k: np.array(v, dtype=object if k == "note" else None) for k, v in data.items()}
    result = run(KINDS[kind](data), **NAMES)
    for name, values in by_hand(data).items():
        assert same(numbers(result.frame, name), values)
    assert len(column(result.summary, "shop")) == len(set(np.asarray(data["shop"]).tolist()))


@each
def test_without_ids_and_without_times(kind):
    data = table()
    one = run(KINDS[kind](data), y="y", y_hat="f", time="day", method="magl")
    assert same(numbers(one.frame, "radius"), by_hand({**data, "shop": np.zeros(30, int)})["radius"])
    assert list(column(one.summary, "rows")) == [30]
    as_given = run(KINDS[kind](data), y="y", y_hat="f", id="shop", method="magl")
    assert same(numbers(as_given.frame, "radius"), by_hand({**data, "day": np.arange(30)})["radius"])


@pytest.mark.parametrize("index", ["shuffled", "repeated", "text", "two"])
def test_the_index_of_pandas_means_nothing(index):
    data = table()
    frame = pd.DataFrame(data)
    frame.index = {
        "shuffled": pd.Index(np.random.default_rng(0).permutation(30)),
        "repeated": pd.Index(np.arange(30) // 4),
        "text": pd.Index([f"r{i}" for i in range(30)]),
        "two": pd.MultiIndex.from_arrays([np.arange(30) % 2, np.arange(30)]),
    }[index]
    for by in (None, "shop"):
        made = run(frame, **NAMES, apart=by).frame
        assert kept_rows(frame, made)
        assert same(numbers(made, "radius"), by_hand(data)["radius"]) or by is not None


WORDS = ["north", "east", "a longer name"]
ZONE = datetime.timezone.utc
IDS = {
    "int": lambda s: s,
    "huge": lambda s: [2**60 + int(i) for i in s],
    "negative": lambda s: [-int(i) - 1 for i in s],
    "text": lambda s: [WORDS[i] for i in s],
    "bool": lambda s: [bool(i % 2) for i in s],
    "date": lambda s: [datetime.date(2024, 1, 1 + int(i)) for i in s],
    "datetime": lambda s: [datetime.datetime(2024, 1, 1 + int(i), 12) for i in s],
    "zone": lambda s: [datetime.datetime(2024, 1, 1 + int(i), tzinfo=ZONE) for i in s],
    "float": lambda s: [0.5 * int(i) for i in s],
}
TIMES = {
    "int": lambda t: t,
    "nanoseconds": lambda t: [1_700_000_000_000_000_000 + int(i) for i in t],
    "float": lambda t: [0.25 * int(i) for i in t],
    "text": lambda t: [str(np.datetime64("2024-01-01") + int(i)) for i in t],
    "date": lambda t: [datetime.date(2024, 1, 1) + datetime.timedelta(int(i)) for i in t],
    "datetime": lambda t: [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=int(i)) for i in t],
    "zone": lambda t: [datetime.datetime(2024, 1, 1, tzinfo=ZONE) + datetime.timedelta(hours=int(i)) for i in t],
}


@each
@pytest.mark.parametrize("ids", IDS)
def test_kinds_of_ids(kind, ids, tmp_path):
    data = table()
    given = {**data, "shop": list(IDS[ids](data["shop"]))}
    codes = {k: i for i, k in enumerate(sorted(set(given["shop"])))}
    frame = KINDS[kind](given)
    for order in (None, np.argsort([codes[k] for k in given["shop"]], kind="stable")):  # streams together, too
        rows = given if order is None else {k: [v[i] for i in order] for k, v in given.items()}
        frame = KINDS[kind](rows)
        result = run(frame, **NAMES)
        plain = {**rows, "shop": [codes[k] for k in rows["shop"]]}
        assert same(numbers(result.frame, "radius"), by_hand(plain)["radius"])
        assert sorted(column(result.summary, "shop")) == sorted(codes)
        wane.save(tmp_path / "panel", result.panel, sync=False)
        again = run(frame, **NAMES, panel=wane.load(tmp_path / "panel"))
        assert same(numbers(again.frame, "radius"), numbers(run(frame, **NAMES, panel=result.panel).frame, "radius"))


@each
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("together", [False, True])
def test_kinds_of_times(kind, times, together):
    data = table()
    if together:
        order = np.lexsort((data["day"], data["shop"]))
        data = {k: np.asarray(v)[order] for k, v in data.items()}
    frame = KINDS[kind]({**data, "day": list(TIMES[times](data["day"]))})
    assert same(numbers(run(frame, **NAMES).frame, "radius"), by_hand(data)["radius"])


def test_types_of_pandas():
    data = table(missing=0.0)
    wanted = by_hand({**data, "y": np.where(np.arange(30) % 7 == 3, math.nan, data["y"].round())})
    y = [None if i % 7 == 3 else v for i, v in enumerate(data["y"].round())]
    base = pd.DataFrame({**data, "y": np.array([math.nan if v is None else v for v in y])})
    words = np.array(WORDS)[data["shop"]]
    for frame in (
        base.convert_dtypes(),
        base.convert_dtypes(dtype_backend="pyarrow"),
        base.assign(y=pd.array([None if v is None else int(v) for v in y], dtype="Int64")),
        base.assign(y=base["y"].astype("Float64")),
        base.assign(shop=pd.Categorical(words)),
        base.assign(shop=pd.Categorical(words, categories=["never", *WORDS])),
        base.assign(shop=pd.Series(words, dtype="string")),
        base.assign(shop=pd.Series(words.tolist(), dtype=object)),
        base.assign(shop=base["shop"].astype("Int64")),
        base.assign(shop=base["shop"].astype("uint8")),
        base.assign(day=base["day"].astype("Int64")),
        base.assign(day=pd.Timestamp("2024-01-01") + pd.to_timedelta(base["day"], unit="ns")),
        base.assign(day=pd.Timestamp("2024-01-01", tz="Europe/Prague") + pd.to_timedelta(base["day"], unit="h")),
        base.assign(day=pd.PeriodIndex.from_ordinals(base["day"] + 700, freq="D").astype(str)),
    ):
        result = run(frame, **NAMES)
        assert kept_rows(frame, result.frame)
        assert same(numbers(result.frame, "radius"), wanted["radius"])
        more = run(frame, **NAMES, panel=result.panel)
        assert len(more.panel) == 3


def test_types_of_polars():
    data = table()
    wanted = by_hand(data)["radius"]
    base = pl.DataFrame({**data, "y": [None if v != v else v for v in data["y"].tolist()]})
    words = [WORDS[i] for i in data["shop"]]
    for frame in (
        base,
        base.with_columns(shop=pl.Series(words).cast(pl.Categorical)),
        base.with_columns(shop=pl.Series(words).cast(pl.Enum(["never", *WORDS]))),
        base.with_columns(pl.col("shop").cast(pl.UInt8), pl.col("day").cast(pl.Int8)),
        base.with_columns(day=pl.col("day").cast(pl.Duration("ns"))),
        base.with_columns(day=pl.datetime(2024, 1, 1, time_zone="Europe/Prague") + pl.duration(hours="day")),
    ):
        result = run(frame, **NAMES)
        assert kept_rows(frame, result.frame) and same(numbers(result.frame, "radius"), wanted)
        assert result.frame["covered"].dtype == pl.Boolean


def test_types_of_pyarrow():
    data = table()
    base = pa.table({**data, "y": pa.array(data["y"], from_pandas=True)})
    words = pa.array([WORDS[i] for i in data["shop"]])
    half = pa.concat_tables([base.slice(0, 11), base.slice(11)])  # chunks
    for frame in (base, half, base.set_column(2, "shop", words), base.set_column(2, "shop", words.dictionary_encode())):
        result = run(frame, **NAMES)
        assert kept_rows(frame, result.frame) and same(numbers(result.frame, "radius"), by_hand(data)["radius"])


@each
def test_levels_scores_and_prefixes(kind):
    data = {**table(), "g": np.random.default_rng(1).uniform(0.5, 2.0, 30)}
    order = np.argsort(data["day"])
    for score, alpha in (("cqr", 0.1), ("normalised", (0.1, 0.3)), ("signed", (0.1, 0.3)), ("signed", 0.2)):
        y_hat = "f" if score == "signed" else ("f", "g")
        result = run(KINDS[kind](data), **{**NAMES, "y_hat": y_hat}, score=score, alpha=alpha, prefix="my ")
        outputs = data["f"] if score == "signed" else np.column_stack([data["f"], data["g"]])
        made = Panel("magl", alpha, score).run(data["shop"][order], outputs[order], data["y"][order])
        back = np.argsort(order)
        for i, a in enumerate(np.atleast_1d(alpha)):
            end = f"_{a:g}" if isinstance(alpha, tuple) else ""
            lower, upper, wide = (
                v[back][:, i] if isinstance(alpha, tuple) else v[back] for v in (made.lower, made.upper, made.radius)
            )
            assert same(numbers(result.frame, f"my lower{end}"), lower)
            assert same(numbers(result.frame, f"my upper{end}"), upper)
            wide = np.where(np.isnan(lower if wide.ndim == 1 else lower[:, None]), math.nan, wide)
            radius = [f"my radius{end}_below", f"my radius{end}_above"] if score == "signed" else [f"my radius{end}"]
            assert same(np.column_stack([numbers(result.frame, r) for r in radius]).squeeze(), wide)
            assert len(column(result.summary, f"coverage{end}")) == 3


def test_levels_that_look_the_same():
    """Names keep apart what alphas keep apart."""
    result = run(table(), **NAMES, alpha=(0.1, 0.1000000001))
    assert {"lower_0.1", "lower_0.1000000001"} <= result.frame.keys()
    assert {"coverage_0.1", "coverage_0.1000000001"} <= result.summary.keys()


@each
@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("by", [None, "g"])
def test_going_on(kind, delay, by):
    data = {**table(60), "g": np.array(["x", "y"])[np.random.default_rng(2).integers(0, 2, 60)]}
    whole = run(KINDS[kind](data), **NAMES, apart=by, delay=delay, warm_up=2)
    early = data["day"] < 25
    first, second = ({k: np.asarray(v)[rows] for k, v in data.items()} for rows in (early, ~early))
    a = run(KINDS[kind](first), **NAMES, apart=by, delay=delay, warm_up=2)
    b = run(KINDS[kind](second), **NAMES, apart=by, delay=delay, panel=a.panel)
    radius = numbers(whole.frame, "radius")
    assert same(numbers(a.frame, "radius"), radius[early]) and same(numbers(b.frame, "radius"), radius[~early])
    assert isinstance(b.panel, Panel if by is None else Groups)


@each
def test_groups(kind):
    data = {**table(60), "g": np.array(["x", "y"])[np.random.default_rng(2).integers(0, 2, 60)]}
    order = np.argsort(data["day"])
    groups = Groups("magl")
    wanted = groups.run(*(data[k][order] for k in ("shop", "f", "y", "g")), 2)
    result = run(KINDS[kind](data), **NAMES, apart="g", delay=2)
    assert same(numbers(result.frame, "lower")[order], wanted.lower)
    pairs = list(zip(column(result.summary, "shop"), column(result.summary, "g"), strict=True))
    assert sorted(pairs) == sorted(set(zip(data["shop"].tolist(), data["g"].tolist(), strict=True)))


# Errors


def refuses(call, kind, match):
    with pytest.raises(kind, match=match):
        call()


@each
def test_missing_values(kind):
    """Of a label: it never comes. Of a forecast, an id, a time or a group: an error that names column and row."""
    data = {**table(), "g": ["x"] * 30}
    hole = [None if i == 11 else 1.0 + i for i in range(30)]
    text = [None if i == 11 else f"x{i % 3}" for i in range(30)]
    nothing = run(KINDS[kind]({**data, "y": [None] * 30}), **NAMES)
    assert np.isnan(numbers(nothing.frame, "radius")).all() and column(nothing.frame, "cold") == [True] * 30
    assert column(nothing.frame, "covered") == [None] * 30
    for name, holes in (("shop", hole), ("shop", text), ("day", hole), ("day", text), ("f", hole), ("g", text)):
        by = "g" if name == "g" else None
        refuses(
            lambda n=name, g=holes, b=by: run(KINDS[kind]({**data, n: g}), **NAMES, apart=b),
            ValueError,
            f"row 11.*{name}",
        )
    stamps = [datetime.datetime(2024, 1, 1, i % 24, i) for i in range(30)]
    for name in ("shop", "day"):
        holes = [None if i == 11 else t for i, t in enumerate(stamps)]
        if kind == "dict":
            holes = np.array(["NaT" if t is None else t.isoformat() for t in holes], dtype="M8[us]")
        refuses(lambda n=name, g=holes: run(KINDS[kind]({**data, n: g}), **NAMES), ValueError, f"row 11.*{name}")
    part = [None if i % 4 else float(i) for i in range(30)]
    made = run(KINDS[kind]({**data, "y": part}), **NAMES).frame
    assert same(numbers(made, "radius"), by_hand({**data, "y": np.array(part, dtype=float)})["radius"])


@each
def test_duplicate_times(kind):
    data = {"shop": [1, 2, 1, 2, 1], "day": [3, 1, 1, 3, 3], "y": [1.0, 2.0, 3.0, 4.0, 5.0], "f": [0.0] * 5}
    refuses(lambda: run(KINDS[kind](data), **NAMES), ValueError, "rows 0 and 4 .*same 'day'.*duplicates='keep'")
    made = run(KINDS[kind](data), **NAMES, duplicates="keep").frame
    assert same(numbers(made, "radius"), by_hand({k: np.array(v) for k, v in data.items()})["radius"])
    refuses(lambda: run(KINDS[kind](data), **NAMES, duplicates="drop"), ValueError, "'error' or 'keep'")
    apart = {**data, "day": [3, 1, 1, 3, 4]}
    assert numbers(run(KINDS[kind](apart), **NAMES).frame, "radius").shape == (5,)


@each
def test_names(kind):
    data = table()
    for name in ("lower", "radius", "covered"):
        taken = KINDS[kind]({**data, name: data["f"]})
        refuses(lambda t=taken: run(t, **NAMES), ValueError, f"{name} already: choose another prefix")
        run(taken, **NAMES, prefix="p_")
    two = KINDS[kind]({**data, "radius_above": data["f"]})
    refuses(lambda: run(two, **NAMES, score="signed"), ValueError, "radius_above already")
    run(KINDS[kind]({**data, "radius": data["f"]}), **NAMES, score="signed")
    refuses(lambda: run(KINDS[kind](data), **{**NAMES, "y": "z"}), KeyError, "no column 'z'.*there are day, note")
    for name in ("labels", "coverage"):
        other = KINDS[kind]({**data, name: data["shop"]})
        refuses(lambda o=other, n=name: run(o, **{**NAMES, "id": n}), ValueError, f"column {name} of its own: rename")
    for name in ("id", "group"):
        result = run(KINDS[kind]({**data, name: data["shop"]}), **{**NAMES, "id": name})
        assert len(column(result.summary, name)) == 3


@each
def test_wrong_values(kind):
    data = table()
    refuses(lambda: run(KINDS[kind](data), **{**NAMES, "y": "note"}), TypeError, "'note' must hold numbers")
    refuses(lambda: run(KINDS[kind](data), **{**NAMES, "y_hat": "note"}), TypeError, "'note' must hold numbers")
    infinite = {**data, "f": np.where(np.arange(30) == 5, math.inf, data["f"])}
    refuses(lambda: run(KINDS[kind](infinite), **NAMES), ValueError, "row 5.*'f' must hold")
    beyond = {**data, "y": np.where(np.arange(30) == 5, 9.0, 0.0)}
    refuses(lambda: run(KINDS[kind](beyond), **NAMES, upper_limit=5.0), ValueError, r"y\[5\] = 9.0 is outside")
    refuses(
        lambda: run(KINDS[kind](data), **{**NAMES, "y_hat": ("f", "f", "f")}, score="cqr"), ValueError, "two columns"
    )
    refuses(lambda: run(KINDS[kind](data), **NAMES, score="cqr"), (TypeError, ValueError), "outputs")


@each
@pytest.mark.parametrize("by", [None, "shop"])
def test_after_an_error_the_panel_is_as_before(kind, by):
    data = table()
    panel = run(KINDS[kind](data), **NAMES, apart=by, upper_limit=5.0).panel
    before = panel.state_dict()
    new = {**data, "shop": data["shop"] + 7, "y": np.where(np.arange(30) == 5, 9.0, 0.0)}
    for bad in (
        lambda: run(KINDS[kind](new), **NAMES, apart=by, panel=panel),
        lambda: run(KINDS[kind](data), **NAMES, apart=by, panel=panel, delay=-1),
        lambda: run(KINDS[kind](data), **{**NAMES, "id": "note"}, apart=by, panel=panel),
        lambda: run(KINDS[kind](data), **NAMES, apart=by, panel=panel, threads=2),
        lambda: run(KINDS[kind](data), **NAMES, apart="shop" if by is None else None, panel=panel),
    ):
        refuses(bad, (ValueError, TypeError), ".")
        assert panel.state_dict() == before


def test_frames_that_are_none():
    for bad, match in (([1, 2], "pandas, Polars or PyArrow"), (np.zeros(3), "dict"), (3, "got 3")):
        refuses(lambda b=bad: run(b, **NAMES), TypeError, match)
    refuses(lambda: run({"y": [1.0], "f": [0.0, 1.0]}, y="y", y_hat="f"), ValueError, "of one length")


@frames
def test_one_row_and_no_row(kind):
    data = {"shop": ["a"], "day": [1], "y": [1.0], "f": [2.0]}
    one = run(KINDS[kind](data), **NAMES)
    assert column(one.frame, "lower") == [None] == column(one.frame, "covered")  # before any label
    none = KINDS[kind](data)[:0] if kind != "pyarrow" else KINDS[kind](data).slice(0, 0)
    empty = run(none, **NAMES)
    assert column(empty.frame, "lower") == [] == column(empty.summary, "rows") and len(empty.panel) == 0
    assert column(run(none, **NAMES, panel=one.panel).summary, "rows") == [1]


wholes = st.integers(-(2**61), 2**61) | st.integers(-3, 3)
days = st.integers(0, 40).map(lambda d: np.datetime64("2024-01-01", "ns") + np.timedelta64(d, "D"))


@given(rows=st.lists(st.tuples(wholes, st.integers(-3, 3), days), min_size=1, max_size=30))
def test_one_sort_is_the_sort_by_all_keys(rows):
    first, second, third = (np.array(column) for column in zip(*rows, strict=True))
    for keys in ([second, third], [third, second], [first, second], [first, third], [third]):
        order = one_sort(keys)
        wanted = np.lexsort((np.arange(len(rows)), *reversed(keys)))
        assert order is None or order.tolist() == wanted.tolist()
    assert one_sort([second, third]) is not None  # small keys always fit


def test_columns_are_named_by_text_and_apart():
    data = table()
    with pytest.raises(TypeError, match="named by text"):
        run(data, y="y", y_hat=0)
    with pytest.raises(ValueError, match="columns of their own"):
        run(data, y="y", y_hat="y", id="y", time="y")
    assert run({"y": np.zeros(5), "f": np.zeros(5)}, y="y", y_hat="f", coverage=0.8).panel.settings.alpha == 0.2


@each
@pytest.mark.parametrize("times", [["31 January", "29 February", "1 March"], ["Jan", "Feb", "Mar"], ["2", "x", "3"]])
def test_text_that_is_no_time_is_refused(kind, times):
    frame = KINDS[kind]({"day": times, "y": [1.0, 2.0, 3.0], "f": [0.0, 0.0, 0.0]})
    with pytest.raises(ValueError, match=r"'day' must hold numbers or dates \(such as 2024.*convert") as caught:
        run(frame, time="day", y="y", y_hat="f")
    assert caught.value.argument == "time" and caught.value.row == 0


@each
def test_text_that_is_a_time_is_read_as_one(kind):
    data = {"y": [1.0, 2.0, 3.0, 4.0], "f": [0.0] * 4}
    for text, real in (
        (["10", "9", "1e1", "8.5"], [10.0, 9.0, 10.0, 8.5]),
        (["2024-02-29", "2024-01-31", "2024-03-01T00:00+02:00", "2023-12-31"], [3.0, 2.0, 3.5, 1.0]),
        (["29.02.2024", "31.01.2024", "01.03.2024", "31.12.2023"], [3.0, 2.0, 3.5, 1.0]),
        (["02/29/2024", "01/31/2024", "03/01/2024", "12/31/2023"], [3.0, 2.0, 3.5, 1.0]),
        (["2024Q1", "2023Q4", "2024Q2", "2023Q1"], [3.0, 2.0, 3.5, 1.0]),
    ):
        texts, numbers_ = KINDS[kind]({"day": text, **data}), KINDS[kind]({"day": real, **data})
        of_text, of_numbers = (run(f, time="day", y="y", y_hat="f", duplicates="keep").frame for f in (texts, numbers_))
        assert column(of_text, "upper") == column(of_numbers, "upper")
        assert column(of_text, "day") == text  # the column stays as it was


@pytest.mark.parametrize("dtype", ["category", "object"])
def test_text_of_other_kinds_is_text(dtype):
    frame = pd.DataFrame({"day": ["31 January", "29 February"], "y": [1.0, 2.0], "f": [0.0, 0.0]})
    with pytest.raises(ValueError, match="must hold numbers or dates"):
        run(frame.astype({"day": dtype}), time="day", y="y", y_hat="f")


def test_dates_that_nothing_decides_are_to_be_converted():
    frame = pd.DataFrame({"day": ["01/02/2024", "02/03/2024"], "y": [1.0, 2.0], "f": [0.0, 0.0]})
    with pytest.raises(ValueError, match=r"such as 01/02/2024.*the day or the month comes first: convert the column"):
        run(frame, time="day", y="y", y_hat="f")


@pytest.mark.parametrize("names", [("shop", "day"), (None, None)])
def test_the_levels_of_an_index_are_columns(names):
    """In any order of the rows; the result has the index of the frame and the intervals of a frame with columns."""
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=20)
    index = pd.MultiIndex.from_product([["b", "a"], days[::-1]], names=names)
    frame = pd.DataFrame({"y": rng.normal(size=40), "f": 0.0}, index=index)
    id, time = names if names[0] else ("level_0", "level_1")
    made = run(frame, id=id, time=time, y="y", y_hat="f")
    wanted = run(frame.reset_index(), id=id, time=time, y="y", y_hat="f")
    assert made.frame.index.equals(index) and list(made.frame.columns[:2]) == ["y", "f"]
    assert column(made.frame, "upper") == column(wanted.frame, "upper")
    assert column(made.summary, id) == column(wanted.summary, id)
    alone = run(frame.loc["a"].rename_axis(names[1]), time=names[1] or "index", y="y", y_hat="f")
    assert alone.frame.index.equals(frame.loc["a"].index) and "cold" in alone.frame
    with pytest.raises(KeyError, match="there is no column 'week'"):
        run(frame, id=id, time="week", y="y", y_hat="f")


def test_lazy_frames_and_streams_of_arrow_are_frames():
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    rows = {"id": np.repeat([1, 2], 30), "y": rng.normal(size=60), "f": np.zeros(60)}
    table = pa.table(rows)
    batches = table.to_batches()
    given = [table, batches[0], pa.RecordBatchReader.from_batches(table.schema, batches), pl.DataFrame(rows).lazy()]
    try:
        import duckdb
    except ImportError:
        duckdb = None
    if duckdb is not None:
        given += [duckdb.connect().from_arrow(table), duckdb.connect().from_arrow(table).arrow()]
    wanted = wane.panel.run(rows, id="id", y="y", y_hat="f").frame["upper"]
    for frame in given:
        result = wane.panel.run(frame, id="id", y="y", y_hat="f")
        assert np.array_equal(np.asarray(result.frame["upper"]), wanted, equal_nan=True), type(frame)
