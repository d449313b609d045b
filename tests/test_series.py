"""Many series by name: each is an `OnlineConformal` of its own, and an error leaves nothing behind."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wane
from wane.conformal import ManySeries, OnlineConformal
from wane.errors import IdError, SeriesError
from wane.state.encoding import dumps

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")
SETTINGS = {"alpha": (0.1, 0.3), "window": 4, "history": 5, "max_pending": 6}


def made(**more):
    return ManySeries("magl-d", **SETTINGS, **more)


def state(thing):
    return dumps(thing.state_dict())


@given(calls=st.lists(st.tuples(st.sampled_from(["a", "b", 3, None]), st.booleans(), st.floats(-9, 9)), max_size=40))
def test_each_series_is_one_of_its_own(calls):
    many, alone = made(), {}
    for name, asks, x in calls:
        oc = alone.get(name) or OnlineConformal("magl-d", **SETTINGS)
        if asks or not oc.pending():
            alone[name] = oc
            assert many.predict(x, series=name) == oc.predict(x)
        else:
            id = oc.pending()[-1]
            oc.update(id, x)
            assert many.update(id, x, series=name).explanation == oc.explain(id)
    assert many.names() == list(alone) and len(many) == len(alone)
    for name, oc in alone.items():
        assert state(many[name]) == state(oc) and many.pending(name) == oc.pending()


def test_alarms_come_with_the_label():
    heard, many = [], ManySeries("magl", alpha=0.1, window=3, band=(0.5, 1.0))
    oc = OnlineConformal("magl", alpha=0.1, window=3, band=(0.5, 1.0), on_alarm=heard.append)
    told = []
    for y in np.random.default_rng(0).normal(size=30):
        told += many.update(many.predict(0.0, series="s").id, y, series="s").alarms
        oc.update(oc.predict(0.0).id, y)
    assert told == heard and heard
    with pytest.raises(TypeError, match=r"update\(...\).alarms"):
        ManySeries("magl", alpha=0.1, on_alarm=print)


def test_an_error_leaves_nothing_behind():
    many = made(max_series=2)
    many.predict(1.0, series="a")
    before = state(many)
    for call, kind in [
        (lambda: many.predict("x", series="b"), TypeError),
        (lambda: many.predict(np.nan, series="a"), ValueError),
        (lambda: many.predict(1.0, series=b"x"), TypeError),
        (lambda: many.update(0, 1.0), SeriesError),
        (lambda: many.update(0, np.inf, series="a"), ValueError),
        (lambda: many.update(7, 1.0, series="a"), IdError),
        (lambda: many.expire(0, series="b"), SeriesError),
        (lambda: many.pending("b"), SeriesError),
    ]:
        with pytest.raises(kind):
            call()
        assert state(many) == before
    many.predict(1.0)
    with pytest.raises(SeriesError, match="max_series"):
        many.predict(1.0, series="c")
    assert many.names() == ["a", None]


def test_without_history_there_is_no_explanation():
    many = ManySeries("magl", alpha=0.1, history=0)
    assert many.update(many.predict(1.0).id, 2.0).explanation is None


def test_a_tracker_is_a_pattern():
    many = ManySeries(wane.trackers.make("magl", 0.1))
    for name in "ab":
        many.update(many.predict(0.0, series=name).id, 5.0, series=name)
    assert [many[name].metrics().rounds for name in "ab"] == [1, 1]
    learned = wane.trackers.make("magl", 0.1)
    learned.update(1.0)
    with pytest.raises(ValueError, match="has learned"):
        ManySeries(learned)


def filled():
    many = made()
    for t in range(20):
        name = ("a", 7, None)[t % 3]
        many.predict(0.1 * t, id=f"{t}", series=name)
        if t > 9:
            many.update(f"{t - 9}", 0.3 * t, series=("a", 7, None)[(t - 9) % 3])
    return many


def test_saved_copied_and_pickled_it_goes_on(tmp_path):
    many = filled()
    wane.save(tmp_path / "x.wane", many)
    copies = [wane.load(tmp_path / "x.wane"), copy.copy(many), copy.deepcopy(many), pickle.loads(pickle.dumps(many))]
    before = state(many)
    for other in copies:
        assert state(other) == before
        other.predict(9.0, series="new")
        other.update("19", 1.0, series=7)
    assert state(many) == before and len({state(other) for other in copies}) == 1


def test_a_damaged_state_is_refused():
    good = filled().state_dict()
    for spoil in (
        lambda s: s["parameters"].pop("pattern"),
        lambda s: s["parameters"].update(max_series=2),
        lambda s: s["parameters"].update(max_series=0),
        lambda s: s["memory"].pop("series"),
        lambda s: s["memory"]["series"].append(s["memory"]["series"][0]),
        lambda s: s["memory"].update(series=[["a"]]),
        lambda s: s["memory"].update(series=[["a", {}]]),
        lambda s: s.update(format=2),
    ):
        bad = copy.deepcopy(good)
        spoil(bad)
        with pytest.raises(ValueError):
            ManySeries.from_state_dict(bad)
    assert "3 series" in repr(ManySeries.from_state_dict(good))


def test_a_journal_keeps_it(tmp_path):
    plain = made()
    for t in range(30):
        with wane.Journal(tmp_path / "x.wane", made, compact_every=7) as journal:
            for thing in (journal, plain):
                thing.predict(1.0 * t, series="ab"[t % 2])
                if t % 5 == 4:
                    thing.expire(t // 2, series="ab"[t % 2])
                elif t % 3:
                    assert thing.update(t // 2, 2.0, series="ab"[t % 2]).explanation.status == "labelled"
            assert state(journal.object) == state(plain)


@pytest.mark.parametrize("method", ["auto", "magl", "aci", "pid", "nex"])
def test_a_new_series_is_a_copy_of_the_pattern(method):
    """And shares nothing with it that learns, also with groups and several levels."""
    many = ManySeries(method, alpha=(0.1, 0.3), on_unbounded="allow", groups=["weekday"])
    before, copied = many.pattern.state_dict(), copy.copy(many.pattern)
    for t in range(50):
        for thing in (copied, many):
            p = thing.predict(1.0, groups={"weekday": t % 7})
            thing.update(p.id, t * t * 7 % 37 / 8)
    assert many[None].state_dict() == copied.state_dict()
    assert many.pattern.state_dict() == before
