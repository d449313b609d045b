"""A replay by `OnlineConformal` is its steps, bit for bit, in one piece or in chunks, and knows no future."""

import numpy as np
import pytest
from conformal_cases import SMALL, check_table, data, plain, score_of, steps
from hypothesis import given, settings
from hypothesis import strategies as st
from table import NEEDS

from wane import OnlineConformal
from wane.scores import names as score_names
from wane.trackers import names

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("alpha", [0.1, (0.3, 0.05, 0.1)], ids=["one", "three"])
def test_a_replay_is_its_steps_for_every_tracker(name, alpha):
    outputs, y = data("absolute", 50)
    for delay in (0, 1, 7):
        a, b = (
            OnlineConformal(name, alpha=alpha, on_unbounded="allow", **NEEDS.get(name, {}), **SMALL) for _ in range(2)
        )
        made = steps(a, outputs, y, delay)
        table = b.run(outputs, y, delay)
        check_table(table, made)
        assert plain(a) == plain(b)
        check_table(b.run(outputs[:5], [None] * 5), steps(a, outputs[:5], [None] * 5))
        assert plain(a) == plain(b)


@pytest.mark.parametrize("score", score_names())
@pytest.mark.parametrize("name", ["magl", "aci", "nex"])
def test_a_replay_is_its_steps_for_every_score(score, name):
    outputs, y = data(score, 40, seed=1)
    for delay, alpha in ((0, 0.2), (1, (0.1, 0.4)), (7, (0.4, 0.2, 0.1))):
        a, b = (OnlineConformal(name, score_of(score), alpha, on_unbounded="allow", **SMALL) for _ in range(2))
        check_table(b.run(outputs, y, delay), steps(a, outputs, y, delay))
        assert plain(a) == plain(b)


@pytest.mark.parametrize("score", score_names())
@pytest.mark.parametrize("delay", [0, 1, 3])
def test_chunks_with_late_labels_are_one_replay(score, delay):
    """The labels of the last ``delay`` predictions of a chunk come with the next."""
    outputs, y = data(score, 40, seed=2)
    a, b = (OnlineConformal("magl", score_of(score), (0.1, 0.3), window=4, history=5) for _ in range(2))
    whole = a.run(outputs, y, delay)
    parts, done = [], 0
    for size in (5, 1, 2, 0, 12, 20):
        late = {t: y[t] for t in range(max(0, done - delay), done)}
        parts.append(b.run(outputs[done : done + size], y[done : done + size], delay, late=late))
        done += size
    assert plain(a) == plain(b)
    for column in ("id", "radius", "width", "score", "covered"):
        rows = np.concatenate([getattr(part, column) for part in parts])
        np.testing.assert_array_equal(rows, getattr(whole, column))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), delay=st.integers(0, 3), t=st.integers(0, 29))
def test_no_prediction_knows_what_is_not_known_yet(seed, delay, t):
    """Up to round t only the labels of rounds before t - delay can matter."""
    outputs, y = data("signed", 30, seed)
    rng = np.random.default_rng(seed + 1)
    other_outputs, other_y = outputs.copy(), y.copy()
    other_outputs[t + 1 :] = 9.0 * rng.normal(size=29 - t)
    other_y[max(0, t - delay) :] = 9.0 * rng.normal(size=30 - max(0, t - delay))
    a, b = (OnlineConformal("magl-d", "signed", (0.1, 0.4), **SMALL) for _ in range(2))
    one, two = a.run(outputs, y, delay), b.run(other_outputs, other_y, delay)
    for column in ("radius", "lower", "upper", "width"):
        np.testing.assert_array_equal(getattr(one, column)[: t + 1], getattr(two, column)[: t + 1])


def test_an_empty_replay_changes_nothing():
    for score in score_names():
        oc = OnlineConformal("magl", score_of(score), (0.1, 0.2))
        before = plain(oc)
        table = oc.run(data(score, 1)[0][:0], [])
        assert plain(oc) == before and len(table.id) == 0 and np.isnan(table.coverage).all()


def test_the_columns_of_a_table():
    outputs, y = data("signed", 20)
    table = OnlineConformal("magl", "signed", (0.1, 0.25)).run(outputs, y)
    columns = table.columns()
    assert {"id", "lower_0.1", "upper_0.25", "radius_0.1_below", "radius_0.25_above", "score_below"} <= columns.keys()
    assert all(len(column) == 20 for column in columns.values())
    np.testing.assert_array_equal(table.coverage, np.nanmean(table.covered, axis=0))
