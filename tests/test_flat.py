"""States of fixed size as rows of numbers: complete, exact, and the same whatever stands in a row before."""

import contextlib
import copy
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from table import IDS, MAKERS, NEEDS, shaped

from wane import Panel
from wane.state import data as plain_data
from wane.trackers import Lagged, LossTracker, Pinball, QuantileExperts, Tracker, make, names
from wane.trackers.aci import AdaptiveConformal

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")
BY_NAME = {name: partial(make, name, 0.1, **NEEDS[name]) for name in names()}
TRACKERS = {
    **BY_NAME,
    "aci in a window": lambda: AdaptiveConformal(0.1, window=300),
    "faci in a window": lambda: QuantileExperts(0.1, window=20),
    "a long window": lambda: make("trailing-window", 0.1, window=700),
    "lagged": lambda: Lagged(make("p-control", 0.1)),
    "chosen epsilon": lambda: make("magl", 0.1, epsilon="auto"),
    "p-control, real": lambda: make("p-control", 0.1, domain="real"),
}
FLAT = {name: make for name, make in TRACKERS.items() if make().flat()}
LEARNERS = {name: make for name, make in zip(IDS, MAKERS, strict=True) if make().flat()}
SOURCE = Path(__file__).parent.parent / "src" / "wane" / "learners"
SCORES = np.abs(np.random.default_rng(3).standard_cauchy(size=2000)).round(2)  # with ties


def played(make, rounds):
    """A learner or tracker after some rounds, and a function that plays more."""
    thing = make()
    if isinstance(thing, Tracker):
        if getattr(thing, "waiting", 0.0):
            thing.warm_start(SCORES[:30])
        thing.run(SCORES[:rounds])
        return thing, lambda other: other.run(SCORES[rounds : rounds + 50])
    numbers = np.random.default_rng(4).normal(size=(rounds + 50) * thing.n)
    gradients = shaped(thing, numbers)
    thing.run(gradients[:rounds])
    return thing, lambda other: other.run(gradients[rounds:])


def test_which_trackers_are_flat():
    """What needs all past scores, or holds an object of a user's, cannot be. What is large is kept as objects."""
    small = (
        "magl magl-d magdis simple-ogd sf-ogd p-control pi-control decaying-ogd kt eci trivial faci-s trailing-window"
    )
    assert {*small.split(), "bayes", "linear-tracker", "auto"} | (TRACKERS.keys() - BY_NAME.keys()) <= FLAT.keys()
    assert not {"split", "aci", "agaci", "faci", "dtaci", "pid", "nex", "saocp"} & FLAT.keys()


def file_of(learner):
    return type(learner).__module__.rpartition(".")[2]


def test_which_learners_are_flat():
    """Those that compile; around one in plain Python nothing is."""
    compiled = [name for name, make in zip(IDS, MAKERS, strict=True) if (SOURCE / f"{file_of(make())}.pxd").exists()]
    assert compiled and set(compiled) - {"Centered2"} <= LEARNERS.keys()
    assert "Centered2" not in LEARNERS  # around an FTRL
    assert "Centered0" in LEARNERS


@pytest.mark.parametrize("rounds", [0, 1, 70, 1700])
@pytest.mark.parametrize("name", [*FLAT, *LEARNERS])
def test_a_row_is_the_whole_state(name, rounds):
    """Written to a row and read into another of the same arguments, it goes on with the same bits."""
    make = {**FLAT, **LEARNERS}[name]
    thing, more = played(make, rounds)
    row = thing.as_row()
    other, _ = played(make, 40)  # not fresh: what was there before is gone
    other.set_row(row)
    for same in (other, fresh(make, row)):
        assert json.dumps(same.state_dict()) == json.dumps(thing.state_dict())
        assert same.as_row().tobytes() == row.tobytes() and len(row) == thing.flat()
        assert more(copy.deepcopy(same)).tobytes() == more(copy.deepcopy(thing)).tobytes()


def fresh(make, row):
    thing = make()
    thing.set_row(row)
    return thing


def fields(thing):
    """Every field of the memory of an object and of its parts: the owner and the name."""
    for name in thing.memory:
        value = getattr(thing, name)
        if hasattr(value, "memory"):
            yield from fields(value)
        elif name != "size":  # which the values have
            yield thing, name
    for part in plain_data.parts_of(thing):
        yield from fields(part)


def others(value):
    """A field with another value, in each of the ways in which it can differ."""
    if isinstance(value, list) and len(value) == 2 and type(value[1]) is int:  # a Hint
        return [[value[0] * 0.5 + 1.0, value[1]], [value[0], value[1] + 1]]
    if isinstance(value, list):
        return [[x + 1.0 + i for i, x in enumerate(value)]] if value else []
    return [value + 1]


@pytest.mark.parametrize("name", [*FLAT, *LEARNERS])
def test_every_field_of_the_memory_is_in_the_row(name):
    thing, _ = played({**FLAT, **LEARNERS}[name], 70)
    row = thing.as_row()
    count = 0
    for owner, field in fields(thing):
        before = plain_data.pack(getattr(owner, field))
        for other in others(before):
            plain_data.unpack(owner, field, other)
            assert thing.as_row().tobytes() != row.tobytes(), (
                f"{field} of {type(owner).__name__} is not among its _fields"
            )
            count += 1
        plain_data.unpack(owner, field, before)
        assert thing.as_row().tobytes() == row.tobytes()
    assert count or not thing.memory


def test_counts_go_beyond_32_bits():
    for name in ("magl", "p-control", "decaying-ogd"):
        thing, more = played(FLAT[name], 70)
        thing.rounds = 2**40 + 3
        other = FLAT[name]()
        other.set_row(thing.as_row())
        assert other.rounds == 2**40 + 3
        assert more(other).tobytes() == more(thing).tobytes() and other.rounds == 2**40 + 53


def test_a_row_that_is_nonsense_reaches_no_other_memory():
    tracker = make("trailing-window", 0.1)
    for number in (1e18, -1e18, 1e9, -1.0):
        tracker.set_row(np.full(tracker.flat(), number))
        with contextlib.suppress(ValueError):  # that a score to remove is not there
            tracker.run(SCORES[:300])
        assert 0 <= tracker.past.place < 100 and 0 <= tracker.past.bag.n <= 100
    with pytest.raises(ValueError, match="row must be 203 numbers"):
        tracker.set_row(np.zeros(7))


class Remembers(Pinball.__base__):
    """A loss of a user's that remembers something."""

    parameters = ("alpha",)
    memory = ("last",)

    def __init__(self, alpha):
        self.alpha = alpha
        self.last = 0.0


def test_what_is_not_of_fixed_size():
    from wane.learners import OddMagnitudeLearner

    assert LossTracker(OddMagnitudeLearner(), Pinball(0.1)).flat() == 14
    assert LossTracker(OddMagnitudeLearner(), Remembers(0.1)).flat() == 0

    class Mine(Tracker):
        pass

    assert Mine(0.1).flat() == 0


@pytest.mark.parametrize("name", sorted(FLAT.keys() & BY_NAME.keys()))
def test_a_panel_of_rows_is_a_panel_of_objects(name):
    """Also from a file of an older version, where the streams of most methods were objects."""
    needs = NEEDS[name]
    ids = np.arange(300) % 3
    panel = Panel(name, 0.1, on_unbounded="allow", **needs)
    made = panel.run(ids, np.zeros(300), SCORES[:300])
    assert panel.flat and not panel.objects
    for stream in range(3):
        alone = make(name, 0.1, **needs)
        assert made.radius[ids == stream].tobytes() == alone.run(SCORES[:300][ids == stream]).tobytes()
        assert json.dumps(panel.trackers(stream)[0].state_dict()) == json.dumps(alone.state_dict())
    state = panel.state_dict()
    old = copy.deepcopy(state)
    old["memory"]["trackers"] = [[t.state_dict() for t in panel.trackers(stream)] for stream in range(3)]
    old["memory"]["states"] = {"dtype": "<f8", "shape": [3, 0], "base64": ""}
    again = Panel.from_state_dict(json.loads(json.dumps(old)))
    assert again.states.tobytes() == panel.states[:3].tobytes() and not again.objects
