"""Nixtla's long format: the same intervals as by hand, none of which has seen a label after its cutoff."""

import doctest
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wane
import wane.integrations.nixtla
from wane.integrations.nixtla import conformalize

LEVELS = {"80": 0.2, "95": 0.05}
apart = partial(conformalize, method="magl")  # each series by itself


def windows(cutoffs, horizon, seed=0, kept=1.0):
    """Forecasts of two series from each cutoff, rows in any order; some left out."""
    rng = np.random.default_rng(seed)
    truth = {name: np.cumsum(rng.normal(size=200)) * scale for name, scale in (("a", 1.0), ("b", 50.0))}
    rows = [(name, c + h, c, truth[name][c + h]) for name in truth for c in cutoffs for h in range(1, horizon + 1)]
    rows = [rows[i] for i in rng.permutation(len(rows)) if rng.random() < kept] or rows
    ids, ds, cutoff, y = map(np.array, zip(*rows, strict=True))
    naive = np.array([truth[name][c] for name, _, c, _ in rows])
    return {"unique_id": ids, "ds": ds, "cutoff": cutoff, "y": y, "Naive": naive}


def by_hand(table, delay=0):
    """One OnlineConformal for each series and step; before a forecast it learns the labels up to the cutoff.

    A forecast before its first label has no interval.
    """
    ids, ds, cutoff, y = (table[k] for k in ("unique_id", "ds", "cutoff", "y"))
    lower, upper = np.empty((2, len(y), len(LEVELS)))
    for key in {(i, d - c) for i, d, c in zip(ids, ds, cutoff, strict=True)}:
        mine = np.flatnonzero((ids == key[0]) & (ds - cutoff == key[1]))
        times = np.unique(ds[ids == key[0]])
        oc = wane.OnlineConformal("magl", alpha=tuple(LEVELS.values()))
        waiting, learned = [], 0
        for r in mine[np.argsort(cutoff[mine])].tolist():
            passed = times[times <= cutoff[r]]
            known = set(passed[: max(len(passed) - delay, 0)].tolist())
            while waiting and ds[waiting[0]] in known:
                first = waiting.pop(0)
                if not np.isnan(y[first]):
                    oc.update(first, y[first])
                    learned += 1
            p = oc.predict(table["Naive"][r], id=r)
            lower[r], upper[r] = zip(*[(p[a].lower, p[a].upper) for a in LEVELS.values()], strict=True)
            if not learned:
                lower[r] = upper[r] = np.nan
            waiting.append(r)
    return lower, upper


def ends(result, model="Naive"):
    return tuple(np.column_stack([result[f"{model}-{end}-{k}"] for k in LEVELS]) for end in ("lo", "hi"))


@settings(max_examples=30, deadline=None)
@given(
    cutoffs=st.sets(st.integers(0, 60), min_size=1, max_size=25).map(sorted),
    horizon=st.integers(1, 6),
    delay=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_intervals_are_those_by_hand_for_any_cutoffs(cutoffs, horizon, delay, seed):
    table = windows(cutoffs, horizon, seed)
    table["y"][np.random.default_rng(seed).random(len(table["y"])) < 0.1] = np.nan
    made = ends(apart(table, level=[95, 80], delay=delay))
    for mine, theirs in zip(made, by_hand(table, delay), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@settings(max_examples=30, deadline=None)
@given(
    cutoffs=st.sets(st.integers(0, 60), min_size=2, max_size=25).map(sorted),
    horizon=st.integers(1, 6),
    kept=st.sampled_from([1.0, 0.6]),
    now=st.integers(0, 65),
    seed=st.integers(0, 99),
)
def test_no_forecast_rests_on_a_label_after_its_cutoff(cutoffs, horizon, kept, now, seed):
    """Other labels after ``now``, or none, leave every interval of a forecast made by then as it is."""
    table = windows(cutoffs, horizon, seed, kept)
    before = table["cutoff"] <= now
    for other in (np.nan, 1e6):
        changed = {**table, "y": np.where(table["ds"] > now, other, table["y"])}
        for one, two in zip(ends(apart(table, level=[80, 95])), ends(apart(changed, level=[80, 95])), strict=True):
            np.testing.assert_array_equal(one[before], two[before])


def test_every_label_up_to_the_cutoff_is_used():
    """The last label that a forecast may know changes its interval, at every step ahead."""
    table = windows(range(0, 60, 2), 5)
    for step in range(1, 6):
        last = table["cutoff"] == 58
        row = last & (table["ds"] == 58 + step) & (table["unique_id"] == "a")
        made = max(c for c in range(0, 60, 2) if c + step <= 58)
        label = (table["cutoff"] == made) & (table["ds"] == made + step) & (table["unique_id"] == "a")
        near, far = ({**table, "y": np.where(label, table["Naive"] + error, table["y"])} for error in (0.0, 1e4))
        assert apart(near, level=80)["Naive-hi-80"][row] < apart(far, level=80)["Naive-hi-80"][row]


def test_the_future_after_backtests_knows_all_labels():
    """Backtests end a horizon before the last label; forecasts made at the last label learn from all of them."""
    table = windows([*range(40, 58), 60], 3)
    table["y"][table["cutoff"] == 60] = np.nan
    lower, upper = ends(apart(table, level=[80, 95]))
    for mine, theirs in zip((lower, upper), by_hand(table), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    future = table["cutoff"] == 60
    assert (lower[future] < upper[future]).all()


def test_without_cutoffs_it_is_a_panel():
    table = windows(range(60), 1)
    del table["cutoff"]
    table["y"][table["ds"] > 55] = np.nan
    for delay in (0, 4):
        made = conformalize(table, level=[80, 95], delay=delay, method="magl-d", warm_up=5, epsilon="auto")
        result = wane.panel.run(
            table, id="unique_id", time="ds", y="y", y_hat="Naive", alpha=tuple(LEVELS.values()), method="magl-d",
            delay=delay, warm_up=5, epsilon="auto",
        )  # fmt: skip
        for k, a in LEVELS.items():
            np.testing.assert_array_equal(made[f"Naive-lo-{k}"], result.frame[f"lower_{a:g}"])
            np.testing.assert_array_equal(made[f"Naive-hi-{k}"], result.frame[f"upper_{a:g}"])


def test_rows_without_a_label_may_be_dropped():
    """Forecasts are made at every time, so a time that no row is about any more is still a step."""
    table = windows(range(40), 4)
    there = table["ds"] != 20
    missing = ends(apart({**table, "y": np.where(there, table["y"], np.nan)}, level=[80, 95]))
    dropped = ends(apart({k: v[there] for k, v in table.items()}, level=[80, 95]))
    for one, two in zip(missing, dropped, strict=True):
        np.testing.assert_array_equal(one[there], two)


def test_cutoffs_between_the_times_are_no_steps():
    table = windows(range(30), 4)
    later = {**table, "cutoff": table["cutoff"] + 0.5}
    np.testing.assert_array_equal(apart(later)["Naive-hi-90"], apart(table)["Naive-hi-90"])


def test_a_series_and_a_step_stand_alone():
    table = windows(range(0, 60, 2), 4)
    whole = ends(apart(table, level=[80, 95]))
    steps = table["ds"] - table["cutoff"]
    for rows in (table["unique_id"] == "b", (table["unique_id"] == "a") & (steps <= 2)):
        part = ends(apart({k: v[rows] for k, v in table.items()}, level=[80, 95]))
        for one, two in zip(whole, part, strict=True):
            np.testing.assert_array_equal(one[rows], two)


def test_warm_up_counts_labels_at_every_step():
    """With forecasts made every fourth time, all labels of the window before are known: no label is waited for."""
    table = windows(range(0, 80, 4), 4)
    made = apart(table, level=90, warm_up=6, epsilon="auto")
    np.testing.assert_array_equal(np.isnan(made["Naive-lo-90"]), table["cutoff"] < 24)


def test_names_are_those_of_nixtla():
    table = windows(range(10), 2)
    table |= {"Other": table["Naive"] + 1.0, "Naive-lo-70": table["y"]}
    made = conformalize(table, level=[90, 50.0, 99.5])
    new = ["lo-99.5", "lo-90", "lo-50", "hi-50", "hi-90", "hi-99.5"]
    assert list(made) == [*table, *[f"{m}-{end}" for m in ("Naive", "Other") for end in new]]
    assert [c for c in conformalize(table, "Other", 10) if c not in table] == ["Other-lo-10", "Other-hi-10"]
    for m in ("Naive", "Other"):
        chain = np.column_stack([made[f"{m}-{end}"] for end in new])
        shown = ~np.isnan(chain[:, 0])
        assert shown.any() and (np.diff(chain[shown], axis=1) >= 0.0).all()


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("times", ["whole", "dates", "zone", "text"])
def test_the_kind_of_frame_and_the_order_of_rows_stay(kind, times):
    pytest.importorskip("narwhals")
    pytest.importorskip(kind)
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    table = windows(range(0, 40, 3), 4)
    table["y"][:5] = np.nan
    frame = pd.DataFrame(table, index=np.arange(len(table["y"])) * 7 % 1000)
    if times != "whole":
        for c in ("ds", "cutoff"):
            frame[c] = pd.Timestamp("2024-03-01") + pd.to_timedelta(frame[c], unit="D")
            if times == "zone":
                frame[c] = frame[c].dt.tz_localize("Europe/Berlin")
            elif times == "text":
                frame[c] = frame[c].dt.strftime("%Y-%m-%d")
    if kind != "pandas":
        frame = pa.Table.from_pandas(frame, preserve_index=False)
    if kind == "polars":
        frame = pytest.importorskip("polars").from_arrow(frame)
    made, expected = conformalize(frame), conformalize(table)
    assert type(made) is type(frame)
    if kind == "pandas":
        assert made.index.equals(frame.index) and made[list(frame.columns)].equals(frame)
    for name in ("Naive-lo-90", "Naive-lo-80", "Naive-hi-80", "Naive-hi-90"):
        np.testing.assert_array_equal(np.asarray(made[name]), expected[name])


def test_other_names_of_columns():
    table = windows(range(20), 3)
    other = {
        "shop": table["unique_id"],
        "day": table["ds"],
        "made": table["cutoff"],
        "sold": table["y"],
        "m": table["Naive"],
    }
    made = conformalize(other, id_col="shop", time_col="day", target_col="sold", cutoff_col="made")
    np.testing.assert_array_equal(made["m-lo-90"], conformalize(table)["Naive-lo-90"])


def test_no_rows_give_no_rows():
    table = {k: v[:0] for k, v in windows(range(3), 2).items()}
    assert conformalize(table)["Naive-hi-90"].shape == (0,)


@pytest.mark.parametrize(
    ("change", "how", "error", "says"),
    [
        ({"ds": None}, {}, KeyError, "no column 'ds'"),
        ({"Naive": None}, {}, ValueError, "no column of forecasts"),
        ({}, {"models": "ARIMA"}, KeyError, "no column 'ARIMA'"),
        ({}, {"level": 100}, ValueError, "between 0 and 100"),
        ({}, {"level": []}, ValueError, "between 0 and 100"),
        ({}, {"level": "90"}, TypeError, "level must be one real number"),
        ({}, {"delay": -1}, ValueError, "delay must be a whole number"),
        ({}, {"method": "arima"}, ValueError, "no method is called"),
        ({"Naive-lo-90": np.zeros(6)}, {}, ValueError, "Naive-lo-90 already"),
        ({"Naive": np.array([0, 0, 0, np.nan, 0, 0])}, {}, ValueError, "row 3: the column 'Naive' .*, got nan"),
        ({"Naive": np.array(list("abcdef"))}, {}, TypeError, "'Naive' must hold numbers"),
        ({"cutoff": np.array([0, 0, 1, 1, 2, 5])}, {}, ValueError, "row 5: .* got 4 and 5"),
        ({"cutoff": np.array(list("001122"))}, {}, TypeError, "must be of one kind"),
        ({"ds": np.array([1, 2, 2, 2, 3, 4])}, {}, ValueError, "row 3: .* those of row 2: drop one"),
        ({"unique_id": np.array(["a", "a", "a", "a", "a", None])}, {}, ValueError, "row 5.*'unique_id' has no value"),
        ({"ds": np.array(["NaT"] * 6, "M8[D]")}, {}, ValueError, "row 0.*'ds' has no value"),
    ],
)  # fmt: skip
def test_errors_say_what_is_wrong(change, how, error, says):
    table = {"unique_id": np.repeat("a", 6), "ds": np.array([1, 2, 2, 3, 3, 4]), "cutoff": np.array([0, 0, 1, 1, 2, 2])}
    table |= {"y": np.zeros(6), "Naive": np.zeros(6)} | change
    with pytest.raises(error, match=says):
        conformalize({k: v for k, v in table.items() if v is not None}, **how)


def test_the_real_thing():
    """What StatsForecast gives goes in as it is, backtests and forecasts of the future together."""
    library = pytest.importorskip("statsforecast")
    models = pytest.importorskip("statsforecast.models")
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=120, freq="D")
    walks = [("a", np.cumsum(rng.normal(size=120))), ("b", np.cumsum(rng.normal(size=120)) * 9.0)]
    series = pd.concat([pd.DataFrame({"unique_id": k, "ds": days, "y": y}) for k, y in walks], ignore_index=True)
    sf = library.StatsForecast([models.Naive(), models.WindowAverage(5)], freq="D")
    backtests = sf.cross_validation(df=series, h=7, step_size=2, n_windows=40)
    future = sf.forecast(df=series, h=7)
    made = apart(pd.concat([backtests, future.assign(cutoff=days[-1])]), level=[95, 80])
    ends_of = ["lo-95", "lo-80", "hi-80", "hi-95"]
    assert list(made.columns) == [
        *backtests.columns,
        *[f"{m}-{e}" for m in ("Naive", "WindowAverage") for e in ends_of],
    ]
    table = {k: made[k].to_numpy() for k in ("unique_id", "y", "Naive")}
    table |= {k: (made[k] - days[0]).dt.days.to_numpy() for k in ("ds", "cutoff")}
    for mine, theirs in zip(ends(made), by_hand(table), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    last = made[made["cutoff"] == days[-1]]
    assert len(last) == 14 and (last["Naive-lo-95"] < last["Naive-hi-95"]).all()
    theirs = library.StatsForecast([models.Naive()], freq="D").forecast(df=series, h=7, level=[90, 80.5])
    one = conformalize(future.assign(y=np.nan), models="Naive", level=[90, 80.5])
    assert set(theirs.columns) - set(future.columns) == set(one.columns) - {*future.columns, "y"}


def test_its_examples():
    found = doctest.testmod(wane.integrations.nixtla)
    assert found.attempted > 4 and not found.failed
