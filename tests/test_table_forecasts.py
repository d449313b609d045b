"""``--forecast``: forecasts for a table without any are made from what was known before each row, and from no more."""

import json

import numpy as np
import pytest

from wane.runs import Options, play, series
from wane.runs.forecasts import Forecaster
from wane.tables.chunks import Rows

RULES = ("last", "drift", "season:7")


def rows(y, ids=None, **more):
    return Rows(["a"] * len(y) if ids is None else ids, None, np.asarray(y, dtype=float), (), str, **more)


def naive(rule, y, delay=0):
    """By the definition, for one series without missing values."""
    found = np.full(len(y), np.nan)
    for t in range(len(y)):
        known = t - delay  # how many values are known
        if rule == "last" and known > 0:
            found[t] = y[known - 1]
        elif rule == "drift" and known > 1:
            found[t] = y[known - 1] + (y[known - 1] - y[0]) / (known - 1) * (1 + delay)
        elif rule.startswith("season"):
            same = [s for s in range(max(known, 0)) if (t - s) % 7 == 0]
            found[t] = y[same[-1]] if same else np.nan
    return found


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("delay", [0, 3, 9])
def test_forecasts_are_those_of_the_definition(rule, delay):
    y = np.random.default_rng(0).normal(size=60)
    np.testing.assert_allclose(Forecaster(rule, delay)(rows(y)), naive(rule, y, delay), rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("delay", [0, 2])
def test_a_forecast_does_not_know_what_comes_later(rule, delay):
    rng = np.random.default_rng(1)
    y, ids = rng.normal(size=80), rng.choice(["a", "b", "c"], size=80).tolist()
    y[rng.random(80) < 0.2] = np.nan
    whole = Forecaster(rule, delay)(rows(y, ids))
    for t in (10, 40, 79):
        mine = [s for s in range(80) if ids[s] == ids[t]]
        at = mine.index(t)
        changed = y.copy()
        for s in mine[max(at - delay, 0) :]:
            changed[s] = 1e6  # this value and those that are not known yet
        other = [s for s in range(80) if ids[s] != ids[t]]
        changed[other] = -1e6  # other series
        np.testing.assert_equal(Forecaster(rule, delay)(rows(changed, ids))[t], whole[t])


def test_values_with_times_of_arrival_are_known_after_them():
    y = [1.0, 2.0, 3.0, 4.0]
    given = Rows(["a"] * 4, np.arange(4.0), np.array(y), (), str, arrived=np.array([2.0, 0.5, 2.0, 9.0]))
    np.testing.assert_equal(Forecaster("last")(given), [np.nan, np.nan, 2.0, 3.0])  # no row knows its own value


@pytest.mark.parametrize("rule", RULES)
def test_pieces_are_the_whole(tmp_path, rule):
    """Also with a state between them; the forecasts are a column that a report finds."""
    rng = np.random.default_rng(2)
    lines = [f"{t},{k},{rng.normal():.3f}" for t in range(60) for k in "ab"]
    head = "ds,id,y"
    (tmp_path / "all.csv").write_text("\n".join([head, *lines]) + "\n")
    options = Options(method="magl", forecast=rule, delay=1)
    made = play(str(tmp_path / "all.csv"), str(tmp_path / "whole.csv"), options, report=None)
    whole = (tmp_path / "whole.csv").read_text().splitlines()
    assert whole[0] == "ds,id,y,forecast,lower,upper,cold" and made.forecast == rule and made.unforecast > 0
    found = whole[:1]
    for i, part in enumerate((lines[:31], lines[31:90], lines[90:])):
        (tmp_path / "in.csv").write_text("\n".join([head, *part]) + "\n")
        play(str(tmp_path / "in.csv"), str(tmp_path / f"{i}.csv"), options, str(tmp_path / "state"))
        found += (tmp_path / f"{i}.csv").read_text().splitlines()[1:]
    assert found == whole
    with pytest.raises(ValueError, match="was made with forecast"):
        play(str(tmp_path / "all.csv"), str(tmp_path / "o.csv"), Options(forecast="season:5"), str(tmp_path / "state"))


def test_what_cannot_be_forecast_is_told(tmp_path):
    (tmp_path / "in.csv").write_text("ds,y\n1,1\n2,2\n")
    with pytest.raises(ValueError, match="forecast must be last, drift, or season"):
        play(str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), Options(forecast="weekly"))
    with pytest.raises(ValueError, match=r"usual name for the forecasts.*forecast='last' makes simple ones"):
        play(str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), Options())
    with pytest.raises(ValueError, match="forecasts are either read from the table or made here"):
        play(str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), Options(forecast="last", y_hat=("y",)))


def test_compare_sees_the_same_forecasts(tmp_path):
    y = np.cumsum(np.random.default_rng(3).normal(size=50)).round(3)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"ds": t, "y": v}) + "\n" for t, v in enumerate(y)))
    found = series(str(tmp_path / "in.jsonl"), Options(forecast="last"))
    np.testing.assert_allclose(found.series[0].scores, np.abs(np.diff(y)))
