"""After an error a panel is as it was: bad rows, infinite radii, warnings, methods that fail, damaged states."""

import json
import math
import warnings

import numpy as np
import pytest
from panel_cases import data, full_state, refuses, settings_of, some

import wane
from wane.errors import IdError, InputError, UnboundedError
from wane.panel import Groups, Panel
from wane.trackers.registry import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


@some
def test_after_an_error_nothing_has_changed(name):
    given = settings_of(name, lower_limit=-50.0, warm_up=2)
    panel = Panel(name, **given)
    panel.run([3, 1, 3, 3, 3], np.zeros(5), [1.0, 2.0, 3.0, math.nan, 4.0], delay=1)
    panel.predict([3], [0.0])
    nan = math.nan
    for call, kind, match in (
        (lambda: panel.predict([3, 9], [0.0]), ValueError, "one for each of the 2 ids, got 1"),
        (lambda: panel.predict([9], [nan]), ValueError, r"outputs\[0\].*finite"),
        (lambda: panel.predict([9, 3, 9], [0.0] * 3), ValueError, "stream 9 comes more than once.*use run"),
        (lambda: panel.predict(["x"], [0.0]), TypeError, "whole numbers, got 'x'"),
        (lambda: panel.update([3, 3], [1.0, 1.0]), ValueError, "stream 3 comes more than once"),
        (lambda: panel.update([9], [1.0]), IdError, "no stream has the id 9: predict and run add"),
        (lambda: panel.update([3, 1], [1.0, 1.0]), ValueError, "stream 1 has no prediction.*call predict first"),
        (lambda: panel.update([3], [1.0, 1.0]), ValueError, "1 labels"),
        (lambda: panel.update([3], [-51.0]), ValueError, r"y\[0\] = -51.0 is outside the limits.*widen"),
        (lambda: panel.update([3], [math.inf]), ValueError, r"y\[0\]"),
        (lambda: panel.run([3, 9], [0.0], [1.0]), ValueError, "one for each of the 1 rows, got 2"),
        (lambda: panel.run([3, 9], [0.0, 0.0], [1.0]), ValueError, "2 labels"),
        (lambda: panel.run([3, 9], [0.0, nan], [1.0, 1.0]), ValueError, r"outputs\[1\]"),
        (lambda: panel.run([3, 9, 3], [0.0] * 3, [1.0, 1.0, -51.0]), ValueError, r"y\[2\] = -51"),
        (lambda: panel.run([3, 9], [0.0, 0.0], [1.0, 1.0], delay=-1), ValueError, "delay"),
        (lambda: panel.run([3, (1, 2)], [0.0, 0.0], [1.0, 1.0]), TypeError, "whole numbers"),
        (lambda: panel.run([3, 9, 8], [-1.0, 0.0, -1e150], [1.0, 1.0, 1e150]), ValueError, "larger unit"),
    ):
        refuses(panel, call, kind, match)
    keyed = Panel(name, **given)
    keyed.predict(["a", ("b", 1)], [0.0, 0.0])
    refuses(keyed, lambda: keyed.predict([1], [0.0]), TypeError, "got whole numbers")
    refuses(keyed, lambda: keyed.predict(["c", {}], [0.0, 0.0]), TypeError, "an id can be saved")
    refuses(keyed, lambda: keyed.predict(["c", 1], [0.0, 0.0]), TypeError, "whole numbers or something else")
    refuses(keyed, lambda: keyed.predict(["c", None], [0.0, 0.0]), TypeError, "an id can be saved")
    refuses(keyed, lambda: keyed.predict(["c", math.nan], [0.0, 0.0]), ValueError, "equal itself")
    refuses(keyed, lambda: keyed.update(["c"], [0.0]), IdError, "'c'")


@pytest.mark.parametrize("piece", [7, 65_536])
def test_an_infinite_radius_in_the_middle(piece, monkeypatch):
    """The row that is named is the one that was given, whatever the order in which rows are worked on."""
    monkeypatch.setattr("wane.panel.batch.PIECE", piece)
    monkeypatch.setattr("wane.panel.ticks.PIECE", piece)
    ids = np.tile([5, 0, 3], 20)
    x, y = data("absolute", 60, missing=0.0)
    new = Panel("split", alpha=0.3)
    refuses(new, lambda: new.run(ids, x, y), UnboundedError, "row 0: .*warm_up")
    # One score is too few for alpha = 0.3: the second row of a stream has no finite radius.
    short = Panel("split", alpha=0.3, warm_up=1)
    refuses(short, lambda: short.run(ids, x, y), UnboundedError, "row 3: ")
    mixed = Panel("split", alpha=0.3, warm_up=1)
    mixed.run(np.arange(20), np.zeros(20), np.ones(20), delay=1)
    mixed.warm[:20] = np.arange(20) == 13
    refuses(mixed, lambda: mixed.predict(np.arange(20), np.zeros(20)), UnboundedError, "row 13: ")


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("warm_up", [0, 1])
def test_a_warning_made_an_error_changes_nothing(several, warm_up):
    panel = Panel("magl-d", alpha=(0.1, 0.2) if several else 0.1, discount=0.9, warm_up=warm_up)
    panel.predict([0, 1, 2], [0.0] * 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (
            lambda: panel.run([0, 5, 2], [0.0] * 3, [0.1, 0.2, 1e6]),
            lambda: panel.update([0, 1, 2], [0.1, 0.2, 1e6]),
        ):
            refuses(panel, call, wane.trackers.CoverageWarning, "reach")
    with pytest.warns(wane.trackers.CoverageWarning) as told:
        panel.update([0, 1, 2], [1e6, 0.2, 1e6])
    assert len(told) == 2 * (1 + several)  # once a tracker
    panel.predict([0, 1, 2], [0.0] * 3)
    panel.update([0, 1, 2], [1e6, 0.2, 1e6])


class Fragile(wane.trackers.Tracker):
    """A method of a user's own that fails half-way."""

    parameters = ("alpha",)
    memory = ("rounds", "radius")

    def __init__(self, alpha):
        super().__init__(alpha)
        self.radius = 0.0

    def _predict(self):
        return self.radius

    def _update(self, score, radius, discount):
        self.radius += score
        if score > 100.0:
            raise ArithmeticError("too much")


def steep(radius, score):
    """A subgradient of a user's own that fails."""
    if score > 100.0:
        raise ArithmeticError("too much")
    return -1.0 if radius <= score else 1.0


@pytest.mark.parametrize("warm_up", [0, 2])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("name", ["fragile", "magl"])
def test_a_method_that_fails_half_way(name, several, warm_up, monkeypatch):
    monkeypatch.setitem(METHODS, "fragile", lambda alpha: Fragile(alpha))
    more = {"loss": steep} if name == "magl" else {}
    panel = Panel(name, alpha=(0.1, 0.2) if several else 0.1, warm_up=warm_up, **more)
    panel.run([0, 1, 2, 1, 0, 1], np.zeros(6), np.ones(6))
    panel.predict([0, 1, 2], [0.0] * 3)
    for call in (
        lambda: panel.run([0, 1, 2, 0, 1, 2], [0.0] * 6, [1.0, 2.0, 3.0, 1.0, 1.0, 101.0]),
        lambda: panel.update([0, 1, 2], [1.0, 2.0, 101.0]),
    ):
        before = json.dumps(panel.state_dict()["memory"])
        with pytest.raises(ArithmeticError, match="too much"):
            call()
        assert json.dumps(panel.state_dict()["memory"]) == before
    panel.update([0, 1, 2], [1.0, 2.0, 3.0])


def test_settings_are_checked():
    for call, kind, match in (
        (lambda: Panel("magl", epsilon="auto"), ValueError, "give warm_up"),
        (lambda: Panel("magl", score="aps"), TypeError, "intervals"),
        (lambda: Panel("nothing"), ValueError, "no method is called"),
        (lambda: Panel("magl", warm_up=-1), ValueError, "warm_up"),
        (lambda: Panel("magl", threads=0), ValueError, "threads"),
        (lambda: Panel("magl", threads="2"), (TypeError, ValueError), "threads"),
    ):
        with pytest.raises(kind, match=match):
            call()


@pytest.mark.parametrize("name", ["magl", "aci"])
def test_a_damaged_state_is_refused(name):
    panel = Panel(name, on_unbounded="allow", warm_up=3)
    panel.run([0, 1, 0, 1, 1, 1], np.zeros(6), np.ones(6), delay=1)
    good = panel.state_dict()
    assert full_state(Panel.from_state_dict(good)) == json.dumps(good)

    def without(*path):
        bad = json.loads(json.dumps(good))
        inside = bad
        for key in path[:-1]:
            inside = inside[key]
        del inside[path[-1]]
        return bad

    def other(value, *path):
        bad = json.loads(json.dumps(good))
        inside = bad
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value
        return bad

    tail = good["memory"]["tail"]
    short = Panel(name, on_unbounded="allow", warm_up=3).state_dict()["memory"]["tail"]
    for bad in (
        None,
        {},
        other("Groups", "class"),
        other(99, "format"),
        other({"count": 3, "ids": None}, "memory", "index"),
        other(short["pos"], "memory", "tail", "pos"),
        other(tail["pos"], "memory", "tail", "below"),
        other(tail["below"], "memory", "tail", "radii"),
        other("#", "memory", "seen", "base64"),
        other([4], "memory", "seen", "shape"),
        *(without("memory", key) for key in good["memory"] if key != "trackers" or name == "aci"),
        *(without("parameters", key) for key in good["parameters"]),
        *(without("memory", "tail", key) for key in tail if key != "notes"),  # older files have none
    ):
        with pytest.raises(ValueError, match="state"):
            Panel.from_state_dict(bad)


@pytest.mark.parametrize("piece", [2, 65_536])
def test_an_error_names_the_row_of_the_user(monkeypatch, piece):
    """Whatever the order of the streams and wherever a piece begins."""
    monkeypatch.setattr("wane.panel.batch.PIECE", piece)
    monkeypatch.setattr("wane.panel.ticks.PIECE", piece)
    far = 0.9e150  # as an output and as a label it is allowed; their distance is not
    ids = [1, 2, 1, 3, 2, 1]
    outputs, y = np.zeros(6), np.zeros(6)
    outputs[4], y[4] = -far, far
    for run in (
        lambda: Panel("magl", 0.1).run(ids, outputs, y),
        lambda: Groups("magl", 0.1).run(ids, outputs, y, ["a", "b", "a", "a", "b", "b"]),
        lambda: wane.panel.run({"id": ids, "y": y, "f": outputs}, id="id", y="y", y_hat="f", method="magl"),
    ):
        with pytest.raises(ValueError, match=r"score\[4\]") as caught:
            run()
        assert caught.value.row == 4
    panel = Panel("magl", 0.1)
    panel.predict(range(6), outputs)
    with pytest.raises(ValueError, match=r"score\[4\]"):
        panel.update(range(6), y)


@pytest.mark.parametrize("damage", [{"shape": [1, 1]}, {"shape": [0], "base64": ""}])
def test_the_last_time_in_a_state_is_one_time(damage):
    frame = {"id": [0, 1] * 5, "t": np.repeat(np.arange(5), 2), "y": np.arange(10.0), "m": np.zeros(10)}
    made = wane.panel.run(frame, id="id", time="t", y="y", y_hat="m", method="pool", alpha=0.1)
    state = made.panel.state_dict()
    state["memory"]["shared"]["clock"] |= damage
    with pytest.raises(InputError, match="the last time must be one number or date"):
        wane.Panel.from_state_dict(state)
