"""A panel as rows of bytes: split, merged, moved and continued, streams are those of a panel that never stopped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wane import Panel
from wane.errors import InputError

METHODS = ["magl", "magl-d", "magdis", "p-control", "split", "faci"]
SETTINGS = {"alpha": (0.1, 0.3), "on_unbounded": "allow"}


def history(seed, streams=7, rows=200):
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, streams, rows)
    y = np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows))
    return ids, rng.normal(size=rows), y


def arrays(panel):
    """Everything that a panel knows of each stream, by id."""
    n = len(panel)
    found = {name: getattr(panel, name)[:n] for name in panel.ARRAYS}
    made = {}
    for place, id in enumerate(panel.ids()):
        mine = np.flatnonzero(panel.tail.place == place)
        late = [getattr(panel.tail, name)[mine].tobytes() for name in ("pos", "below", "above", "radii")]
        trackers = [t.state_dict() for t in panel.trackers(id)]
        made[id] = ({name: values[place].tobytes() for name, values in found.items()}, late, trackers)
    return made


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("delay", [0, 3])
def test_chunks_in_other_buckets_equal_one_run(method, delay):
    ids, outputs, y = history(1)
    whole = Panel(method, **SETTINGS)
    wanted = whole.run(ids, outputs, y, delay)
    states, lower = {}, np.empty_like(wanted.lower)
    for begin, end, buckets in ((0, 60, 3), (60, 61, 1), (61, 200, 2)):
        chunk = slice(begin, end)
        for bucket in range(buckets):
            mine = np.flatnonzero(ids[chunk] % buckets == bucket) + begin
            there = [id for id in states if id % buckets == bucket]
            panel = Panel.from_rows({"method": method, **SETTINGS}, there, [states[id] for id in there])
            lower[mine] = panel.run(ids[mine], outputs[mine], y[mine], delay).lower
            states.update(zip(*panel.rows(), strict=True))
    assert lower.tobytes() == wanted.lower.tobytes()
    merged = Panel.from_rows(whole, list(states), list(states.values()))
    assert arrays(merged) == arrays(whole)


def test_chunks_equal_one_run_in_every_array():
    ids, outputs, y = history(2, streams=3, rows=3000)
    one, two = Panel("magl"), Panel("magl")
    one.run(ids, outputs, y)
    for part in np.array_split(np.arange(3000), 7):
        two.run(ids[part], outputs[part], y[part])
    assert arrays(one) == arrays(two)


@given(st.lists(st.sampled_from(["ids", "text", "pairs"]), min_size=1, max_size=1), st.integers(0, 5))
def test_any_ids_come_back(kinds, count):
    ids = {
        "ids": list(range(9, 9 + count)),
        "text": [f"s{i}" for i in range(count)],
        "pairs": [(i, "x") for i in range(count)],
    }
    panel = Panel("magl")
    panel.run(ids[kinds[0]], np.zeros(count), np.ones(count))
    again = Panel.from_rows(panel, *panel.rows())
    assert again.ids() == panel.ids() and arrays(again) == arrays(panel)


def test_a_prediction_that_waits_and_a_warm_up_come_along():
    panel = Panel("magl", warm_up=3, epsilon="auto")
    panel.run([1, 1, 2, 2, 2, 2], np.zeros(6), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    panel.predict([1, 2], [0.0, 0.0])
    again = Panel.from_rows(panel, *panel.rows())
    for p in (panel, again):
        p.update([1, 2], [3.0, 7.0])
        p.predict([1, 2], [0.0, 0.0])
    assert arrays(again) == arrays(panel)


def test_a_stream_of_one_level_of_magl_takes_at_most_300_bytes():
    panel = Panel("magl")
    panel.run(np.arange(5), np.zeros(5), np.ones(5))
    assert max(map(len, panel.rows()[1])) <= 300


def test_foreign_rows_are_refused():
    panel = Panel("magl", alpha=0.1)
    panel.run([1], [0.0], [1.0])
    ids, (row,) = panel.rows()
    for bad, what in (
        (b"", "not a row"),
        (b"hello, world", "not a row"),
        (b"W\x63" + row[2:], "has version 99"),
        (row[:-1], "cut short"),
        (row + b"x", "do not add up"),
    ):
        with pytest.raises(InputError, match=what) as caught:
            Panel.from_rows(panel, ids, [bad])
        assert caught.value.argument == "rows" and caught.value.row == 0 and caught.value.cure
    for other in ({"alpha": 0.2}, {"alpha": 0.1, "warm_up": 1}, {"alpha": 0.1, "lower_limit": 0.0}):
        with pytest.raises(InputError, match="other settings"):
            Panel.from_rows({"method": "magl", **other}, ids, [row])
    for bad_ids in ([1, 1], [1, 2, 3]):
        with pytest.raises(InputError, match="ids"):
            Panel.from_rows(panel, bad_ids, [row, row])


def test_counts_go_beyond_32_bits():
    panel = Panel("magl")
    panel.run([1], [0.0], [1.0])
    panel.labels[:1], panel.misses[:1] = 2**31 + 7, 2**30
    panel.run([1, 1], [0.0, 0.0], [5.0, 5.0])
    assert panel.summary()["labels"][0] == 2**31 + 9
    assert 0.4 < panel.summary()["coverage"][0] < 0.6


def test_the_fingerprint_is_of_what_settings_mean():
    ways = [{"epsilon": 1.0, "discount": 0.999}, {"discount": 0.999, "epsilon": 1}, {}, {"lower_limit": -np.inf}]
    panels = [Panel("magl-d", alpha=0.1, **way) for way in ways]
    panels[0].run([1], [0.0], [1.0])
    for panel in panels:
        assert Panel.from_rows(panel, *panels[0].rows()).ids() == [1]
    for bad in ("abc", 5, None):
        with pytest.raises(TypeError, match="must be bytes"):
            Panel.from_rows(panels[0], [1], [bad])
