"""The sorted container against a sorted list."""

import bisect
import copy
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wane.order_statistics import OrderStatistics
from wane.state.data import restore
from wane.trackers.history import History, finite_sample, higher, inverted_cdf

numbers = st.sampled_from([0.0, 1.0, -1.0, 2.0]) | st.floats(-1e300, 1e300)


def filled(values):
    bag = OrderStatistics()
    for x in values:
        bag.insert(x)
    return bag


def check(bag, values, probes):
    assert bag.size == len(values) and (bag.values == np.array(values)).all()
    for x in probes:
        assert bag.count_below(x) == bisect.bisect_left(values, x)
        assert bag.count_at_most(x) == bisect.bisect_right(values, x)
    for k in {0, len(values) // 3, len(values) - 1} if values else ():
        assert bag.select(k) == values[k]


@settings(max_examples=60)
@given(values=st.lists(numbers, max_size=60), keep=st.randoms(use_true_random=False))
def test_few(values, keep):
    bag = filled(values)
    left = sorted(values)
    check(bag, left, [*values, 0.5, math.inf, -math.inf])
    assert [bag.select(k) for k in range(bag.size)] == left
    keep.shuffle(values)
    for x in values:
        bag.remove(x)
        left.remove(x)
        check(bag, left, [x, 0.5])


@pytest.mark.parametrize("kind", ["random", "up", "down", "equal", "tied", "waves"])
def test_many(kind):
    rng = np.random.default_rng(0)
    n = 20_000
    stream = {
        "random": rng.normal(size=n),
        "up": np.arange(n) + 0.0,
        "down": -np.arange(n) + 0.0,
        "equal": np.ones(n),
        "tied": rng.integers(0, 7, n) + 0.0,
        "waves": np.sin(np.arange(n) / 50.0),
    }[kind].tolist()
    bag = filled(stream)
    left = sorted(stream)
    check(bag, left, [*stream[:50], 0.5, 1e9, -1e9])
    assert [bag.select(k) for k in range(0, n, 7)] == left[::7]
    for x in stream[: n - 100]:
        bag.remove(x)
    left = sorted(stream[n - 100 :])
    check(bag, left, [*stream[-50:], 0.5])


@settings(max_examples=20)
@given(moves=st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=80), scale=st.sampled_from([1, 40, 300]))
def test_coming_and_going(moves, scale):
    """Long stretches of insertions and removals at one end leave blocks nearly empty: they are merged."""
    bag, left = OrderStatistics(), []
    for come, x in moves:
        for i in range(scale):
            if come:
                bag.insert(x + i / scale)
                bisect.insort(left, x + i / scale)
            elif left:
                bag.remove(left[(x * i) % len(left)])
                del left[(x * i) % len(left)]
    check(bag, left, [0.0, 2.5, 5.0])


def test_a_long_window_keeps_its_size():
    rng = np.random.default_rng(1)
    past = History(700)
    drift = np.cumsum(rng.normal(size=30_000)).tolist()
    for t, x in enumerate(drift):
        past.push(x)
        if t % 997 == 0:
            check(past.bag, sorted(drift[max(0, t - 699) : t + 1]), [x])
    assert len(past.ring) == 700 == past.bag.size


@pytest.mark.parametrize("size", [0, 1, 128, 256, 257, 5000])
def test_state(size):
    values = np.random.default_rng(2).normal(size=size).tolist()
    bag = filled(values)
    for other in (copy.copy(bag), copy.deepcopy(bag), pickle.loads(pickle.dumps(bag))):
        check(other, sorted(values), values[:20])
        other.insert(0.5)
        assert bag.size == size
    plain = json.loads(json.dumps({"size": bag.size, "values": bag.values.tolist()}))
    again = filled([1.0, 2.0])
    restore(again, plain)
    check(again, sorted(values), values[:20])
    again.insert(0.25)
    check(again, sorted([*values, 0.25]), values[:20])
    again.reset()
    check(again, [], [0.0])


def test_bad_state():
    for bad in ({"size": 2, "values": [2.0, 1.0]}, {"size": 1, "values": [1.0, 2.0]}, {"size": -1, "values": []}, {}):
        with pytest.raises(ValueError):
            restore(OrderStatistics(), bad)


def test_refusals():
    bag = filled([1.0, 2.0])
    for bad in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="finite"):
            bag.insert(bad)
    for bad in (0.0, 1.5, 3.0, math.nan):
        with pytest.raises(ValueError, match="remove"):
            bag.remove(bad)
    for bad in (-1, 2):
        with pytest.raises(IndexError, match="rank"):
            bag.select(bad)
    with pytest.raises(ValueError, match="remove"):
        OrderStatistics().remove(1.0)
    for bad in (0, -1, 1.5, True, "3"):
        with pytest.raises(ValueError, match="window"):
            History(bad)
    check(bag, [1.0, 2.0], [1.5])


@given(
    values=st.lists(st.floats(-10, 10), min_size=1, max_size=40), q=st.floats(-0.2, 1.2) | st.sampled_from([0.9, 0.5])
)
def test_quantiles(values, q):
    bag = filled(values)
    level = min(max(q, 0.0), 1.0)
    assert inverted_cdf(bag, q) == np.quantile(values, level, method="inverted_cdf")
    assert higher(bag, q) == np.quantile(values, level, method="higher")


def test_finite_sample_rank_is_exact():
    """The rank of (n + 1)(1 - alpha) in whole numbers, where floats would round 0.55 * 100 up to 56."""
    bag = OrderStatistics()
    for n in range(1, 1200):
        bag.insert(float(n))
        for percent in (1, 5, 10, 45, 50, 55, 70, 90, 95, 99):
            rank = -(-(n + 1) * percent // 100)
            assert finite_sample(bag, percent / 100) == (rank if rank <= n else math.inf)
