"""`OnlineConformal` as plain data: copies share nothing, files go on, damaged states are refused."""

import copy
import json

import numpy as np
import pytest
from conformal_cases import check_table, data, plain, steps

import wane
from wane import OnlineConformal
from wane.scores import UserScore

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


def test_copies_share_nothing():
    oc = OnlineConformal("magl", alpha=(0.1, 0.2))
    oc.run(np.zeros(30), np.arange(30.0) % 4, 2)
    for other in (copy.copy(oc), copy.deepcopy(oc)):
        before = plain(other)
        oc.update(oc.predict(1.0).id, 5.0)
        assert plain(other) == before != plain(oc)


@pytest.mark.parametrize("band", [None, (0.5, 0.9), (None, 0.95), (0.5, None)])
def test_the_band_is_part_of_the_state(band):
    oc = OnlineConformal("magl", alpha=0.1, band=band)
    again = OnlineConformal.from_state_dict(json.loads(plain(oc)))
    assert again.monitors[0].band == oc.monitors[0].band and plain(again) == plain(oc)


def test_what_plain_data_cannot_hold_is_given_again():
    heard = []
    functions = {"score_function": lambda m, y: abs(y - m), "set_function": lambda m, r: (m - r, m + r)}
    oc = OnlineConformal("magl", UserScore(**functions), 0.1, window=1, band=(0.5, 2.0), on_alarm=heard.append)
    oc.predict(1.0)
    state = json.loads(plain(oc))
    again = OnlineConformal.from_state_dict(state, on_alarm=heard.append, **functions)
    again.update(0, 5.0)
    assert len(heard) == 1 and again.pending() == []
    with pytest.raises(TypeError, match="score_function"):
        OnlineConformal.from_state_dict(state)
    with pytest.raises(TypeError, match="asks for other"):
        OnlineConformal.from_state_dict(state, other=3, **functions)


def test_damaged_states_are_refused():
    oc = OnlineConformal("magl", alpha=0.1, max_pending=2)
    oc.run(np.zeros(10), np.arange(10.0), 1)
    good = plain(oc)
    for where, key, bad in (
        ("memory", "pending", 5),
        ("memory", "pending", [[1, 2]]),
        ("memory", "predictions", -1),
        ("memory", "monitors", []),
        ("memory", "closed", [[0, "labelled", [1.0, 2.0]]]),
        ("parameters", "alpha", 2.0),
        ("parameters", "tracker", []),
        ("parameters", "max_pending", 0),
    ):
        state = json.loads(good)
        state[where][key] = bad
        with pytest.raises(ValueError):
            OnlineConformal.from_state_dict(state)
    for change in ({"format": 99}, {"class": "Horizons"}, {"memory": {}}, {"parameters": {}}):
        with pytest.raises(ValueError, match="state"):
            OnlineConformal.from_state_dict({**json.loads(good), **change})
    with pytest.raises(ValueError, match="state must be"):
        OnlineConformal.from_state_dict([])
    assert plain(OnlineConformal.from_state_dict(json.loads(good))) == good


def test_files(tmp_path):
    oc = OnlineConformal("aci", "cqr", (0.1, 0.3), on_unbounded="allow")
    outputs, y = data("cqr", 30)
    oc.run(outputs, y, 2)
    wane.save(tmp_path / "oc.wane", oc, sync=False)
    again = wane.load(tmp_path / "oc.wane")
    assert plain(again) == plain(oc)
    check_table(again.run(outputs, y), steps(oc, outputs, y))
