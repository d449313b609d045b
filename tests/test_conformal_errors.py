"""Ids, arguments and calls that `OnlineConformal` refuses, in words, and nothing has changed."""

import math

import numpy as np
import pytest
from conformal_cases import INFINITY, Scripted, plain

from wane import OnlineConformal
from wane.errors import IdError
from wane.trackers import make

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


# Ids


def test_numbers_that_are_equal_are_one_id():
    """True, 1 and 1.0 are one key of a dict: a number that was an id is never given out again."""
    for keys in ([1.0], [True], [0.5, 2.0], [2**63 - 2], [2**70], [-5, 1e300], [INFINITY]):
        a, b = (OnlineConformal("magl", alpha=0.1) for _ in range(2))
        for oc in (a, b):
            for key in keys:
                oc.predict(0.0, key)
        ids = [a.predict(0.0).id for _ in range(4)]
        assert list(b.run(np.zeros(4), [None] * 4).id) == ids == b.pending()[len(keys) :]
        assert len({*ids, *keys}) == 4 + len(keys) and plain(a) == plain(b)
        a.run([0.0], [None], ids=[7.0 + 2**80])
        b.predict(0.0, 7.0 + 2**80)
        assert plain(a) == plain(b)


def test_kinds_of_ids():
    oc = OnlineConformal("magl", alpha=0.1)
    oc.predict(0.0, np.int64(7))
    assert oc.pending() == [7] and type(oc.pending()[0]) is int
    oc.update(np.int64(7), 1.0)
    assert oc.explain(7).status == "labelled" and oc.predict(0.0).id == 8
    for bad in ([1], {1: 2}, object(), math.nan, ("a", [1])):
        before = plain(oc)
        with pytest.raises((TypeError, ValueError), match="an id"):
            oc.predict(0.0, bad)
        assert plain(oc) == before


def test_late_labels_of_predictions_that_expire_first_are_refused():
    oc = OnlineConformal("magl", alpha=0.1, max_pending=3)
    for key in "ab":
        oc.predict(0.0, key)
    before = plain(oc)
    with pytest.raises(IdError, match=r"'a' would expire before round 1.*max_pending is 3"):
        oc.run([0.0] * 2, [1.0] * 2, 2, late={"b": None, "a": 1.0})
    assert plain(oc) == before
    oc.predict(0.0, "c")  # as many wait as may, and the label of b is in time
    oc.run([0.0] * 2, [1.0] * 2, 2, late={"b": np.float32("nan"), "c": 1.0})
    assert oc.pending() == [0, 1] and oc.expired == 2 and oc.explain("c").status == "labelled"


# Errors


@pytest.mark.parametrize(
    "arguments, error, match",
    [
        ({"tracker": "magic"}, ValueError, "no method is called 'magic'"),
        ({"tracker": 7}, TypeError, "7"),
        ({"tracker": []}, ValueError, "at least 1 trackers, got 0"),
        ({"tracker": make("magl", 0.2)}, ValueError, "the tracker has alpha 0.2, given is 0.1"),
        ({"tracker": make("magl", 0.1), "epsilon": 2.0}, TypeError, "epsilon: hyperparameters"),
        ({"tracker": [make("magl", 0.1)] * 2, "alpha": (0.1, 0.2)}, ValueError, "the same one twice"),
        ({"tracker": [make("magl", 0.1)], "alpha": (0.1, 0.2)}, ValueError, "need 2 trackers, got 1"),
        ({"tracker": [make("magl", 0.1)], "alpha": None, "score": "signed"}, ValueError, "at least 2 trackers, got 1"),
        ({"tracker": [make("magl", 0.3)], "alpha": (0.1,)}, ValueError, "must have alpha 0.1, got 0.3"),
        ({"tracker": make("magl", 0.1), "score": "one-sided"}, ValueError, "domain='real'"),
        ({"tracker": make("magl", 0.1, domain="real")}, ValueError, "domain='nonnegative'"),
        ({"score": "squared"}, ValueError, "no score is called 'squared'"),
        ({"score": 3}, TypeError, "got 3"),
        ({"alpha": None}, TypeError, "give alpha"),
        ({"alpha": 0.0}, ValueError, "alpha.*got 0.0"),
        ({"alpha": (0.1, 0.1)}, ValueError, r"different ones, got \(0.1, 0.1\)"),
        ({"alpha": ()}, ValueError, "one level or several"),
        ({"alpha": (0.1, "0.2")}, TypeError, "0.2"),
        ({"lower_limit": 1.0, "upper_limit": 1.0}, ValueError, "lower_limit must be below upper_limit"),
        ({"lower_limit": "0"}, TypeError, "lower_limit"),
        ({"lower_limit": 0.0, "score": "aps"}, ValueError, "limits are for intervals"),
        ({"on_unbounded": "ignore"}, ValueError, "one of error, clip, allow, got 'ignore'"),
        ({"on_unbounded": "clip"}, ValueError, "finite lower_limit and upper_limit"),
        ({"on_unbounded": "clip", "score": "ball"}, ValueError, "needs an interval"),
        ({"max_pending": 0}, ValueError, "max_pending.*at least 1, got 0"),
        ({"history": -1}, ValueError, "history.*at least 0, got -1"),
        ({"history": 1.5}, ValueError, "history.*got 1.5"),
        ({"window": 0}, ValueError, "window.*got 0"),
        ({"band": 0.5}, TypeError, "band must be a pair.*got 0.5"),
        ({"band": (0.9, 0.8)}, ValueError, "low <= high"),
        ({"on_alarm": 3}, TypeError, "on_alarm must be a function of an Alarm, got 3"),
        ({"epsilonn": 3}, TypeError, "epsilonn"),
    ],
)
def test_bad_arguments(arguments, error, match):
    with pytest.raises(error, match=match):
        OnlineConformal(**{"tracker": "magl", "alpha": 0.1, **arguments})


def test_a_tracker_that_has_learned_serves_one_level_only():
    tracker = make("magl", 0.1)
    tracker.run([1.0, 2.0])
    with pytest.raises(ValueError, match="cannot be the pattern"):
        OnlineConformal(tracker, alpha=(0.1, 0.2))
    assert OnlineConformal(tracker).trackers[0] is tracker


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda oc: oc.predict("x"), TypeError, "output.*'x'"),
        (lambda oc: oc.predict(math.nan), ValueError, "output.*nan"),
        (lambda oc: oc.predict([1.0]), TypeError, "output"),
        (lambda oc: oc.predict(1.0, 0), IdError, "id 0 waits for its label: update or expire it"),
        (lambda oc: oc.update(0, None), ValueError, "y is missing"),
        (lambda oc: oc.update(0, math.nan), ValueError, "y is missing"),
        (lambda oc: oc.update(0, 1e200), ValueError, "y.*1e\\+200"),
        (lambda oc: oc.update(0, 1.0, discount=-1.0), ValueError, "discount.*-1.0"),
        (lambda oc: oc.update(0, 1.0, discount=lambda n: "x"), TypeError, "discount"),
        (lambda oc: oc.update(99, 1.0), IdError, r"no prediction has the id 99: take it from predict"),
        (lambda oc: oc.update(2, 1.0), IdError, "prediction 2 has had its label"),
        (lambda oc: oc.expire(), TypeError, "give the id of a prediction, or older_than"),
        (lambda oc: oc.expire(0, 0), TypeError, "give the id of a prediction, or older_than"),
        (lambda oc: oc.expire(older_than=-1), ValueError, "older_than.*-1"),
        (lambda oc: oc.expire("x"), IdError, "no prediction has the id 'x'"),
        (lambda oc: oc.run([1.0, 2.0], [1.0]), ValueError, "y must hold 2 labels.*got 1"),
        (lambda oc: oc.run([1.0, math.inf], [1.0, 1.0]), ValueError, r"outputs\[1\].*inf"),
        (lambda oc: oc.run([1.0, 2.0], [1.0, math.inf]), ValueError, r"y\[1\].*inf"),
        (lambda oc: oc.run([1.0, 2.0], [1.0, "x"]), TypeError, r"y\[1\].*'x'"),
        (lambda oc: oc.run([1.0], [1.0], -1), ValueError, "delay.*-1"),
        (lambda oc: oc.run([1.0], [1.0], 5), ValueError, "delay = 5 needs max_pending > 5, got 5"),
        (lambda oc: oc.run([1.0], [1.0], ids=["a", "b"]), ValueError, "ids must be one a round, 1, got 2"),
        (lambda oc: oc.run([1.0, 1.0], [1.0] * 2, ids=["a", "a"]), ValueError, "ids must differ"),
        (lambda oc: oc.run([1.0], [1.0], ids=[0]), ValueError, "from those that wait"),
        (lambda oc: oc.run([1.0], [1.0], ids=[[0]]), TypeError, "an id"),
        (lambda oc: oc.run([1.0], [1.0], discounts=[1.0, 1.0]), ValueError, "discounts"),
        (lambda oc: oc.run([1.0], [1.0], discounts=-1.0), ValueError, "discounts"),
        (lambda oc: oc.run([1.0], [1.0], discounts=lambda n: -1.0), ValueError, "discounts"),
        (lambda oc: oc.run([1.0], [1.0], late={0: 1.0}), ValueError, "late may hold one label .*delay = 0"),
        (lambda oc: oc.run([1.0], [1.0], 1, late={"x": 1.0}), IdError, "no prediction has the id 'x'"),
        (lambda oc: oc.run([1.0], [1.0], 1, late={2: 1.0}), IdError, "2 has had its label"),
        (lambda oc: oc.run([1.0], [1.0], 1, late={0: "x"}), TypeError, "'x'"),
        (lambda oc: oc.warm_start([1.0], [1.0, 2.0]), ValueError, "y must hold 1 labels"),
        (lambda oc: oc.warm_start([1.0], ["x"]), TypeError, "'x'"),
        (lambda oc: oc.explain("x"), IdError, "no prediction has the id 'x'"),
    ],
)
def test_nothing_changes_after_an_error(call, error, match):
    oc = OnlineConformal("magl", alpha=(0.1, 0.2), max_pending=5)
    for _ in range(4):
        oc.predict(1.0)
    oc.update(2, 1.5)
    before = plain(oc)
    with pytest.raises(error, match=match):
        call(oc)
    assert plain(oc) == before


def test_a_tracker_that_fails_takes_all_levels_back():
    """The second level refuses a score of 13; the first has learned it by then."""
    oc = OnlineConformal([make("magl", 0.2), Scripted(0.1, [1.0])], alpha=(0.2, 0.1))
    oc.run(np.zeros(20), np.arange(20.0) % 5)
    p = oc.predict(0.0)
    before = plain(oc)
    for call in (
        lambda: oc.update(p.id, 13.0),
        lambda: oc.run(np.zeros(3), [1.0, 2.0, 13.0]),
        lambda: oc.warm_start(np.zeros(3), [1.0, 2.0, 13.0]),
    ):
        with pytest.raises(ValueError, match="thirteen"):
            call()
        assert plain(oc) == before
    with pytest.raises(ValueError, match="in round 2: thirteen"):
        oc.run(np.zeros(3), [1.0, 2.0, 13.0])
