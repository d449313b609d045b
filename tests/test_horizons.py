"""Several steps ahead: each step is an `OnlineConformal` of its own, and no forecast knows what is not known yet."""

import copy
import json
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wane
from wane import Horizons, OnlineConformal
from wane.errors import IdError
from wane.trackers import make

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")

SMALL = {"max_pending": 9, "history": 5, "window": 4}


def plain(thing):
    return json.dumps(thing.state_dict())


def data(rows, steps, stride, seed=0, missing=0.2):
    rng = np.random.default_rng(seed)
    y = np.cumsum(rng.normal(size=rows * stride + steps + 1))
    y[rng.random(len(y)) < missing] = math.nan
    return rng.normal(size=(rows, steps)), y


def play(hz, outputs, y, delay):
    """Forecast at 0, stride, 2 stride, ...; between two forecasts come the labels known to the second."""
    made = []
    for row in outputs:
        now = hz.time
        made.append(hz.predict(row))
        for tau in range(now + 1 - delay, hz.time + 1 - delay):
            if 0 <= tau < len(y) and not np.isnan(y[tau]) and tau in hz.pending():
                hz.update(tau, y[tau])
    return made


def check_tables(tables, made):
    for h, table in enumerate(tables):
        for column in ("id", "lower", "upper", "radius", "width"):
            expected = [getattr(row[h], column) for row in made]
            np.testing.assert_array_equal(getattr(table, column), expected)


@pytest.mark.parametrize("stride", [1, 2, 5])
@pytest.mark.parametrize("delay", [0, 1, 3])
@pytest.mark.parametrize("score", ["absolute", "signed"])
def test_a_replay_is_its_steps(stride, delay, score):
    outputs, y = data(25, 4, stride)
    a, b = (Horizons(4, "magl-d", score, (0.1, 0.3), stride=stride, **SMALL) for _ in range(2))
    made = play(a, outputs, y, delay)
    check_tables(b.run(outputs, y, delay), made)
    assert plain(a) == plain(b) and a.time == 25 * stride
    check_tables(b.run(outputs[:2], []), [a.predict(row) for row in outputs[:2]])


@pytest.mark.parametrize("stride", [1, 2, 5])
@pytest.mark.parametrize("max_pending", [4, 50])
def test_replays_in_pieces(stride, max_pending):
    """Without a delay the labels of a later piece are all that the earlier predictions wait for."""
    outputs, y = data(30, 4, stride, seed=1, missing=0.5)
    a, b = (Horizons(4, "magl", alpha=0.1, stride=stride, max_pending=max_pending) for _ in range(2))
    whole = a.run(outputs, y)
    done, parts = 0, []
    for size in (7, 1, 0, 2, 20):
        parts.append(b.run(outputs[done : done + size], y[done * stride :]))
        done += size
    assert plain(a) == plain(b)
    for h in range(4):
        for column in ("id", "radius", "covered"):
            rows = np.concatenate([getattr(part[h], column) for part in parts])
            np.testing.assert_array_equal(rows, getattr(whole[h], column))


def test_vectors_with_missing_labels_in_pieces():
    rng = np.random.default_rng(2)
    outputs, y = rng.normal(size=(12, 2, 3)), rng.normal(size=(15, 3))
    y[7, 1] = math.nan
    a, b = (Horizons(2, "magl", "ball", 0.1) for _ in range(2))
    a.run(outputs, y)
    b.run(outputs[:6], y)
    b.run(outputs[6:], y[6:])
    assert plain(a) == plain(b) and 7 in a.pending()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), stride=st.sampled_from([1, 2, 5]), delay=st.integers(0, 4), row=st.integers(0, 14))
def test_no_forecast_knows_what_is_not_known_yet(seed, stride, delay, row):
    """The forecast at time t may depend on the labels of times up to t - delay, and on its own outputs."""
    outputs, y = data(15, 3, stride, seed)
    rng = np.random.default_rng(seed + 1)
    others, changed = outputs.copy(), y.copy()
    others[row + 1 :] = 9.0 * rng.normal(size=(14 - row, 3))
    future = max(0, row * stride - delay + 1)
    changed[future:] = 9.0 * rng.normal(size=len(y) - future)
    a, b = (Horizons(3, "magl", alpha=(0.1, 0.4), stride=stride) for _ in range(2))
    for one, two in zip(a.run(outputs, y, delay), b.run(others, changed, delay), strict=True):
        for column in ("lower", "upper", "radius"):
            np.testing.assert_array_equal(getattr(one, column)[: row + 1], getattr(two, column)[: row + 1])


@pytest.mark.parametrize("stepping", [False, True])
def test_steps_share_nothing(stepping):
    """Other forecasts of step 3 change the intervals of step 3 alone."""
    outputs, y = data(40, 4, 1, seed=3)
    others = outputs.copy()
    others[:, 2] *= 20.0
    a, b = (Horizons(4, "magl", alpha=0.1, **SMALL) for _ in range(2))
    if stepping:
        one, two = (
            np.array([[p.radius for p in row] for row in play(hz, x, y, 0)]) for hz, x in ((a, outputs), (b, others))
        )
    else:
        one, two = (np.stack([t.radius for t in hz.run(x, y)], axis=1) for hz, x in ((a, outputs), (b, others)))
    assert (one[:, [0, 1, 3]] == two[:, [0, 1, 3]]).all() and (one[:, 2] != two[:, 2]).any()
    for h in (0, 1, 3):
        assert plain(a.steps[h].trackers[0]) == plain(b.steps[h].trackers[0])


def test_one_step_ahead_is_online_conformal():
    outputs, y = data(40, 1, 1, seed=4)
    hz, oc = Horizons(1, "magl", alpha=0.1), OnlineConformal("magl", alpha=0.1)
    one = hz.run(outputs, y)[0]
    two = oc.run(outputs[:, 0], y[1:41])
    np.testing.assert_array_equal(one.radius, two.radius)
    assert plain(hz.steps[0].trackers[0]) == plain(oc.trackers[0]) and repr(hz.metrics()[0]) == repr(oc.metrics())


def test_a_label_serves_every_forecast_of_its_time():
    hz = Horizons(3, "magl", alpha=0.1)
    for t in range(4):
        hz.predict([float(t)] * 3)
    assert sorted(hz.pending()) == [1, 2, 3, 4, 5, 6]
    assert [hz.update(tau, 1.0) for tau in (6, 3, 1, 5)] == [1, 3, 1, 2]
    assert hz.pending() == [2, 4] and [oc.metrics().rounds for oc in hz.steps] == [2, 2, 3]
    assert hz.expire(2) == 2 and hz.pending() == [4]
    for call in (lambda: hz.update(2, 1.0), lambda: hz.expire(2)):
        with pytest.raises(IdError, match="has expired"):
            call()
    with pytest.raises(IdError, match="has had its label"):
        hz.update(3, 1.0)


def test_steps_left_out_and_times_of_ones_own():
    hz = Horizons(2, "magl", alpha=0.1, stride=24)
    first = hz.predict([1.0, None], ["mon", "tue"])
    second = hz.predict([None, 2.0], ["tue", "mon"])
    assert first[1] is None and second[0] is None and first[0].id == second[1].id == "mon"
    assert hz.pending() == ["mon"] and hz.update("mon", 1.5) == 2 and hz.time == 48
    assert [p.id for p in hz.predict([0.0, 0.0])] == [49, 50]


def test_alarms_name_their_step():
    heard = [], []
    outputs, y = data(30, 3, 1, seed=5)
    more = {"alpha": 0.3, "window": 2, "band": (0.4, 0.9)}
    a, b = (Horizons(3, "magl", on_alarm=said.append, **more) for said in heard)
    play(a, outputs, y, 0)
    b.run(outputs, y)
    assert {alarm.step for alarm in heard[0]} == {1, 2, 3}
    assert sorted(heard[0], key=lambda alarm: alarm.step) == heard[1]  # a replay tells them step by step


@pytest.mark.parametrize("way", ["json", "pickle", "copy", "deepcopy", "file"])
def test_resuming_equals_never_stopping(way, tmp_path):
    outputs, y = data(20, 3, 2, seed=6)
    hz = Horizons(3, "aci", "cqr", (0.1, 0.4), stride=2, on_unbounded="allow")
    pairs = np.stack([outputs - 1.0, outputs + 1.0], axis=-1)
    hz.run(pairs[:10], y)
    if way == "json":
        again = Horizons.from_state_dict(json.loads(plain(hz)))
    elif way == "pickle":
        again = pickle.loads(pickle.dumps(hz))
    elif way == "file":
        wane.save(tmp_path / "hz.wane", hz, sync=False)
        again = wane.load(tmp_path / "hz.wane")
    else:
        again = getattr(copy, way)(hz)
    before = plain(again)
    assert before == plain(hz)
    one = hz.run(pairs[10:], y[20:])
    assert plain(again) == before  # nothing is shared
    for table, other in zip(one, again.run(pairs[10:], y[20:]), strict=True):
        np.testing.assert_array_equal(table.radius, other.radius)
    assert plain(again) == plain(hz) and repr(again) == repr(hz)


@pytest.mark.parametrize(
    "arguments, error, match",
    [
        ({"steps": 0}, ValueError, "steps.*at least 1, got 0"),
        ({"stride": 0}, ValueError, "stride.*at least 1, got 0"),
        ({"tracker": [make("magl", 0.1)]}, TypeError, "one tracker as a pattern"),
        ({"on_alarm": 3}, TypeError, "on_alarm"),
        ({"alpha": None}, TypeError, "give alpha"),
    ],
)
def test_bad_arguments(arguments, error, match):
    with pytest.raises(error, match=match):
        Horizons(**{"steps": 2, "tracker": "magl", "alpha": 0.1, **arguments})
    tracker = make("magl", 0.1)
    tracker.update(1.0)
    with pytest.raises(ValueError, match="cannot be the pattern"):
        Horizons(2, tracker)


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda hz: hz.predict([1.0]), ValueError, "one for each of the 2 steps, got 1"),
        (lambda hz: hz.predict([1.0, 1.0], ["a"]), ValueError, "targets must be one for each of the 2 steps, got 1"),
        (lambda hz: hz.predict([1.0, "x"]), TypeError, "output.*'x'"),
        (lambda hz: hz.predict([1.0, 1.0], ["a", [1]]), TypeError, "an id"),
        (lambda hz: hz.predict([1.0, 1.0], [9, 2]), IdError, "id 2 waits for its label"),
        (lambda hz: hz.update(2, None), ValueError, "y is missing"),
        (lambda hz: hz.update(77, 1.0), IdError, "no prediction has the id 77"),
        (lambda hz: hz.update(1, 1.0), IdError, "1 has had its label"),
        (lambda hz: hz.update(2, 1.0, discount=-1.0), ValueError, "discount"),
        (lambda hz: hz.update(2, 1.0, discount=lambda n: 0.5 if n else -1.0), ValueError, "discount"),
        (lambda hz: hz.expire("x"), IdError, "no prediction has the id 'x'"),
        (lambda hz: hz.run([[1.0]], []), ValueError, r"shape \(rows, 2, \.\.\.\), got \(1, 1\)"),
        (lambda hz: hz.run([[1.0, 1.0]], [], -1), ValueError, "delay.*-1"),
        (lambda hz: hz.run([[1.0, 1.0], [1.0, math.inf]], []), ValueError, r"outputs\[1\]"),
        (lambda hz: hz.run([[1.0, 1.0]] * 4, [0.0, 0.0, 1.0, 1.0, 1.0, math.inf]), ValueError, "inf"),
    ],
)
def test_nothing_changes_after_an_error(call, error, match):
    """Also where the first step is well and the second fails."""
    hz = Horizons(2, "magl", alpha=0.1)
    for tau in (1, 2):
        hz.predict([1.0, 2.0])
        if tau == 1:
            hz.update(1, 1.5)
    before = plain(hz)
    with pytest.raises(error, match=match):
        call(hz)
    assert plain(hz) == before


def test_damaged_states_are_refused():
    good = plain(Horizons(2, "magl", alpha=0.1))
    for where, key, bad in (
        ("parameters", "steps", []),
        ("parameters", "steps", 5),
        ("parameters", "stride", 0),
        ("memory", "time", -1),
        ("memory", "time", None),
    ):
        state = json.loads(good)
        state[where][key] = bad
        with pytest.raises(ValueError, match="damaged or incomplete"):
            Horizons.from_state_dict(state)
    for change in ({"format": 99}, {"class": "OnlineConformal"}, {"memory": {}}):
        with pytest.raises(ValueError, match="state"):
            Horizons.from_state_dict({**json.loads(good), **change})


def test_a_label_is_learned_by_all_steps_or_by_none():
    """A tracker of the second step that refuses the score leaves the first as it was, whether it can fail or warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hz = Horizons(2, "magl-d", alpha=0.1, discount=0.9)
        reach = hz.steps[1].trackers[0].reach
        hz.predict([0.0, -3.0 * reach])
        hz.update(1, 0.5 * reach)
        hz.predict([0.5, 0.0])
        before = [plain(oc.trackers[0]) for oc in hz.steps], hz.pending()
        with pytest.raises(UserWarning, match="beyond reach"):
            hz.update(2, 0.6)
        assert ([plain(oc.trackers[0]) for oc in hz.steps], hz.pending()) == before


@pytest.mark.parametrize("delay", [0, 2])
def test_groups_of_each_step(delay):
    """Each step is an ``OnlineConformal`` with the groups of the times that it is about."""
    outputs, y = data(60, 3, 1, seed=3)
    days = [[(t + h) % 7 for h in range(1, 4)] for t in range(60)]
    shops = ["ab"[t % 2] for t in range(60)]
    a, b = (Horizons(3, "magl", alpha=(0.1, 0.3), groups=["day", "shop"]) for _ in range(2))
    tables = a.run(outputs, y[:60], delay, groups={"day": np.array(days), "shop": shops})
    for t in range(60):
        made = b.predict(outputs[t], groups={"day": days[t], "shop": shops[t]})
        assert [p.upper for p in made] == [tuple(table.upper[t]) for table in tables]
        tau = b.time - delay
        if 0 <= tau < 60 and not np.isnan(y[tau]) and tau in b.pending():
            b.update(tau, y[tau])
    assert plain(a) == plain(b)
    assert a.group_metrics() == b.group_metrics()
    for h, (oc, found) in enumerate(zip(a.steps, a.group_metrics(), strict=True), 1):
        alone = OnlineConformal("magl", alpha=(0.1, 0.3), groups=["day", "shop"])
        labels = [y[t + h] if t + h < 60 else math.nan for t in range(60)]
        groups = {"day": [row[h - 1] for row in days], "shop": shops}
        np.testing.assert_array_equal(
            alone.run(outputs[:, h - 1], labels, h - 1 + delay, groups=groups).radius, tables[h - 1].radius
        )
        assert alone.group_metrics() == oc.group_metrics() == found
    again = Horizons.from_state_dict(json.loads(plain(a)))
    assert plain(again) == plain(a)


def test_groups_of_steps_are_checked():
    hz = Horizons(2, "magl", alpha=0.1, groups=["day"])
    before = plain(hz)
    for bad in (None, {"day": [1]}, {"night": 1}, {"day": [1, [2]]}):
        with pytest.raises((ValueError, TypeError), match=r"groups|id"):
            hz.predict([0.0, 0.0], groups=bad)
        with pytest.raises((ValueError, TypeError), match=r"groups|id"):
            hz.run([[0.0, 0.0]], [], groups=bad if bad is None else {k: [v] for k, v in bad.items()})
        assert plain(hz) == before
    with pytest.raises(ValueError, match="without groups"):
        Horizons(2, "magl", alpha=0.1).predict([0.0, 0.0], groups={"day": 1})
