"""Where the streams of a panel are kept: ids of every kind have the places that a dict would give them."""

import copy
import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wane import OnlineConformal
from wane.errors import IdError
from wane.panel import Panel
from wane.panel.index import Index

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")

whole_ids = st.integers(-3, 12) | st.integers(-(2**63), 2**63 - 1)
other_ids = (
    st.text(max_size=2)
    | st.tuples(st.integers(0, 2), st.sampled_from("ab"))
    | st.datetimes()
    | st.dates()
    | st.tuples(st.integers(0, 2))
)


def against_a_dict(batches):
    index, model = Index(), {}
    for batch, add, form in batches:
        ids = np.array(batch) if form and all(isinstance(k, int) for k in batch) else batch
        if add or all(k in model for k in batch):
            for k in batch:
                model.setdefault(k, len(model))
            assert index.places(ids, add).tolist() == [model[k] for k in batch]
        else:
            with pytest.raises(IdError, match="no stream has the id"):
                index.places(ids)
        assert len(index) == len(model) and index.ids() == list(model)
        index = copy.deepcopy(index) if form else Index.from_state(json.loads(json.dumps(index.state())))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.lists(whole_ids, max_size=8), st.booleans(), st.booleans()), max_size=6))
@example([([0, 1, 2], True, True), ([4, 3], True, True), ([7], False, True), ([5, 9], True, False), ([9], False, True)])
@example([([5], False, True), ([0], True, True), ([-1], False, True), ([1, 1, 0], True, True)])
@example([([2**63 - 1, -(2**63)], True, False), ([0], True, True)])
def test_whole_ids(batches):
    against_a_dict(batches)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.lists(other_ids, max_size=6), st.booleans(), st.booleans()), max_size=5))
@example([([(0, "a"), (0,)], True, False), ([(0,)], False, False)])
def test_other_ids(batches):
    against_a_dict(batches)


def test_odd_ids():
    panel = Panel("magl")
    with pytest.raises(ValueError, match="64 bits"):
        panel.predict(np.array([2**63], dtype=np.uint64), [0.0])
    panel.predict(np.arange(6)[::2], [0.0] * 3)  # not contiguous in memory
    panel = Panel("magl")
    panel.predict(np.arange(6), [0.0] * 6)
    panel.update(np.arange(6)[::-1], np.arange(6.0))
    strided = np.arange(6)[::2]
    panel.predict(strided, np.arange(6.0)[::2])
    panel.run(np.arange(12)[::2] % 6, np.zeros(12)[::2], np.ones(12)[::2])
    assert panel.summary()["rows"].tolist() == [4, 1, 4, 1, 4, 1]
    days = np.array(["2024-01-02", "2024-01-01"], dtype="M8[ns]")
    panel = Panel("magl")
    panel.predict(days, [0.0, 0.0])
    assert [d.isoformat() for d in panel.ids()] == ["2024-01-02T00:00:00", "2024-01-01T00:00:00"]


def test_streams_added_on_the_fly():
    panel, total = Panel("magl"), 0
    for t in range(1, 8):
        ids = np.arange(2**t) * 3 - 5
        panel.predict(ids, np.zeros(len(ids)))
        panel.update(ids, ids + 0.0)
        total += len(ids)
    summary = panel.summary()
    assert len(panel) == 128 and summary["rows"].sum() == total
    assert summary["labels"].sum() == total - 128  # the first row of each has no interval
    oc = OnlineConformal("magl", alpha=0.1)
    for _ in range(7):
        oc.update(oc.predict(0.0).id, -5.0)
    assert panel.predict([-5], [0.0]).radius[0] == oc.predict(0.0).radius
    assert repr(panel) == "Panel('magl', alpha=0.1, score=Absolute(): 128 streams)"
