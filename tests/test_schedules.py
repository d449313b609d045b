"""The schedules of shift against the published ones, written out round by round."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wane.streams.schedules import schedule_names, severities, shifts

CLEAN = [0] * 1550  # 1000 rounds of warm-up, 550 before the first shift
PUBLISHED = {
    "none": [0] * 7050,
    "sudden": CLEAN + [s for s in (5, 0, 5, 0, 5, 0, 5, 0, 5, 0, 5) for _ in range(500)],
    "gradual": CLEAN + [s for s in (1, 2, 3, 4, 5, 4, 3, 2, 1, 0, 1) for _ in range(500)],
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_the_published_schedules(name):
    made = severities(name)
    assert made.dtype == np.int64 and made.tolist() == PUBLISHED[name]


def test_every_schedule_is_pinned():
    assert schedule_names() == sorted(PUBLISHED)


@given(t=st.integers(100, 30_000))
def test_formulas_far_out(t):
    k = ((t - 50) // 500) % 10
    assert severities("gradual", t + 1, 0)[t] == (k if k <= 5 else 10 - k)
    assert severities("sudden", t + 1, 0)[t] == 5 * (((t - 50) // 500) % 2)


@given(name=st.sampled_from(sorted(PUBLISHED)), rounds=st.integers(0, 6050), warm_up=st.integers(0, 300))
def test_warm_up_comes_first_and_is_clean(name, rounds, warm_up):
    want = [0] * warm_up + PUBLISHED[name][1000 : 1000 + rounds]
    assert severities(name, rounds, warm_up).tolist() == want


@given(own=st.lists(st.integers(0, 5), max_size=30), warm_up=st.integers(0, 5))
def test_own_schedules(own, warm_up):
    want = [0] * warm_up + own
    assert severities(own, len(own), warm_up).tolist() == want
    assert severities(np.array(own, dtype=float), len(own), warm_up).tolist() == want
    asked = []
    assert severities(lambda t: asked.append(t) or own[t], len(own), warm_up).tolist() == want
    assert asked == [*range(len(own))]


@pytest.mark.parametrize("bad", [-1, 6, 1.5, np.nan, np.inf])
def test_severities_are_whole_numbers_up_to_five(bad):
    with pytest.raises(ValueError, match="round 2 must be a whole number from 0 to 5"):
        severities(lambda t: bad if t == 2 else 0, 4, 1)
    with pytest.raises(ValueError, match="round 2 must be a whole number from 0 to 5"):
        severities([0, 5, bad, bad], 4, 1)


def test_errors_say_what_is_wanted():
    with pytest.raises(ValueError, match="known are gradual, none, sudden"):
        severities("slow")
    with pytest.raises(ValueError, match=r"one severity a round, \(4,\), got \(3,\)"):
        severities([0, 1, 2], 4)
    with pytest.raises(TypeError, match="must hold real numbers"):
        severities(lambda t: None, 4)
    with pytest.raises(ValueError, match="one severity a round"):
        severities(3, 4)
    with pytest.raises(ValueError, match="rounds must be a whole number"):
        severities("none", -1)
    with pytest.raises(ValueError, match="warm_up must be a whole number"):
        severities("none", 5, 0.5)
    with pytest.raises(ValueError, match=r"shape \(rounds,\)"):
        shifts([[0, 1]])


@given(own=st.lists(st.integers(0, 5), max_size=40))
def test_shifts_are_where_it_changes(own):
    assert shifts(own) == tuple(t for t in range(1, len(own)) if own[t] != own[t - 1])


def test_shifts_of_the_published_schedules():
    assert shifts(severities("none")) == ()
    assert shifts(severities("sudden")) == shifts(severities("gradual")) == tuple(range(1550, 7050, 500))
