"""States that no rounds leave are refused before they play, with the name of the field or of the series."""

import base64
import importlib.util
import math
import os
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import table

import wane
from wane import learners, trackers
from wane.errors import InputError, SavedFileError
from wane.panel import Groups, Panel
from wane.state.encoding import decode_value, dumps, encode_value, loads
from wane.state.files import rebuilt, written
from wane.state.limits import limits_of_rows
from wane.state.stateful import Stateful

TOOL = Path(__file__).parent.parent / "tools" / "torture" / "hostile_states.py"
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
SECONDS, SEED = 8, 0
MEGABYTE = 2**20
pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")
posix = pytest.mark.skipif(os.name != "posix", reason="it forks, and limits the memory of its children")


@pytest.fixture(scope="module")
def tool():
    pytest.importorskip("resource")
    spec = importlib.util.spec_from_file_location("hostile_states", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def peak(call):
    """What a call returns or raises, and the most memory that it held."""
    tracemalloc.start()
    try:
        result = call()
    except Exception as error:
        result = error
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return result, most


def played(name, **settings):
    tracker = trackers.make(name, 0.1, **settings)
    tracker.run([1.0, 2.0, 1.5] * 20)
    return tracker


# A sample of all attacks


@posix
def test_a_sample_of_hostile_states():
    """In child processes: an error of wane, or 100 rounds of numbers. The seed and each failure are printed."""
    command = [sys.executable, str(TOOL), "--seconds", str(SECONDS), "--seed", str(SEED)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and f"seed {SEED}" in done.stdout, done.stdout + done.stderr


class Unchecked(trackers.Tracker):
    """A method whose index is not declared."""

    parameters = ("alpha",)
    memory = ("rounds", "place")

    def __init__(self, alpha):
        super().__init__(alpha)
        self.place, self.ring = 0, [0.0] * 5

    def _predict(self):
        return self.ring[self.place]

    def _update(self, score, radius, discount):
        self.ring[self.place] = score
        self.place = (self.place + 1) % 5


def test_the_attacks_find_an_index_that_is_not_declared(tool, monkeypatch):
    monkeypatch.setattr(tool, "targets", lambda: {"unchecked": (Unchecked(0.1).state_dict(), {})})
    states, listed = tool.plan(SEED)
    found = [(path, tool.attack(tool.changed(states[n][0], path, new), {})) for n, path, new in listed]
    assert {path for path, outcome in found if outcome.startswith("IndexError")} == {("memory", "place")}
    assert {outcome for path, outcome in found if path != ("memory", "place")} <= {*tool.ALLOWED}


def test_every_count_has_limits(tool):
    """What compiled loops may use as an index is declared: whole numbers of every class of the package."""

    def parts(thing):
        yield thing
        inner = [getattr(thing, k) for k in (*thing.memory, *thing.parameters)]
        for part in inner:
            if isinstance(part, Stateful):
                yield from parts(part)

    for state, given in tool.targets().values():
        thing = tool.loaded(state, given)
        for part in parts(thing) if isinstance(thing, Stateful) else ():
            counts = {k for k in part.memory if type(getattr(part, k)) is int}
            assert counts <= part.limits().keys(), (type(part), counts - part.limits().keys())


# What was found first


def test_a_prediction_that_waits_was_made():
    oc = wane.OnlineConformal("magl", alpha=0.1)
    oc.predict(0.0)
    state = oc.state_dict()
    state["memory"]["pending"][0][1] = 1
    with pytest.raises(InputError, match=r"must be a whole number, in .0, 1., got 1"):
        wane.OnlineConformal.from_state_dict(state)


@pytest.mark.parametrize(
    ("tracker", "path", "value", "field"),
    [
        (played("trailing-window", window=20), "past/place", 10**9, "place"),
        (played("trailing-window", window=20), "past/place", -1, "place"),
        (played("trailing-window", window=20), "past/bag/size", 10**9, "OrderStatistics"),
        (played("nex"), "rounds", 10**9, "births"),
        (played("nex"), "births/3", 7.0, "births"),
        (played("saocp", max_score=5.0), "alive", 10**9, "alive"),
        (played("saocp", max_score=5.0), "alive", 2**63, "alive"),
        (played("saocp", max_score=5.0), "born/0", 1e300, "born"),
        (played("bayes", max_score=5.0), "counts/0", -1.0, "counts"),
        (played("faci"), "weights/0", -1.0, "weights"),
        (played("agaci"), "levels/0", 1e308, "levels"),
        (played("p-control"), "spread/count", -5, "count"),
        (played("magl"), "rounds", -1, "rounds"),
        (played("magl"), "late", 0.5e9, "late"),
        (played("auto"), "latest", -1, "latest"),
        (played("auto"), "records", 2**63, "records"),
        (played("auto"), "unit/weight", 2.0, "weight"),
        (played("auto", domain="real"), "unit/total", 1e308, "total"),
        (played("auto").base, "model/rounds", -(10**9), "rounds"),
        (played("auto").base, "model/gram/0", -1e9, "gram"),
        (played("auto").base, "model/weights/0", 0.0, "weights"),
        (played("auto").base, "model/seasons/0", -1.0, "seasons"),
        (played("auto").base, "steady/rounds", 2**62, "rounds"),
        (played("auto").base, "steady/levels/0", 1e308, "levels"),
        (played("auto").base, "regression/past/weight", 0.0, "weight"),
        (played("auto").base, "fast/past/bins/0", 1e9, "total"),
        (played("auto").base, "fast/past/sums/0", 1e9, "sums"),
        (played("auto").base, "mixture/squares/0", -1.0, "squares"),
    ],
)
def test_impossible_numbers_are_refused_with_the_name_of_the_field(tracker, path, value, field):
    state = loads(dumps(tracker.state_dict()))
    trackers.load(state)
    *outer, last = path.split("/")
    place = state["memory"]
    for key in outer:
        place = place[key]
    place[int(last) if isinstance(place, list) else last] = value
    with pytest.raises(InputError, match=field):
        trackers.load(state)


def test_files_say_so_too(tmp_path):
    state = played("trailing-window", window=20).state_dict()
    state["memory"]["past"]["place"] = 10**9
    (tmp_path / "x.wane").write_bytes(written(state))
    with pytest.raises(SavedFileError, match=r"place in the memory of History must lie in \[0, 19\], got 1000000000"):
        wane.load(tmp_path / "x.wane")


def test_numbers_beyond_the_type_of_a_compiled_field():
    state = wane.conformal.Monitor(0.1, 5).state_dict()
    for value in (2, 2**31, -(2**31) - 1, 2**53):
        state["memory"]["side"] = value
        with pytest.raises(InputError, match="side in the memory of Monitor"):
            rebuilt(state, {})


@pytest.mark.parametrize("score", ["absolute", "cqr"])
def test_no_note_of_a_waiting_prediction_spoils_what_is_learned(score):
    """Each number of a note, set to what no round leaves: it is refused, or all goes on with numbers."""
    conformal = wane.OnlineConformal("auto", alpha=0.1, score=score)
    output = 2.0 if score == "absolute" else (1.0, 3.0)
    for x in range(30):
        conformal.update(conformal.predict(output).id, x % 5)
    conformal.predict(output)
    text = dumps(conformal.state_dict())
    for place in range(len(loads(text)["memory"]["pending"][0][-1])):
        for value in (math.nan, math.inf, -math.inf, 1e308, -1e308, 1e299, -1e299, -1.0, 2.0**63, -(2.0**63)):
            state = loads(text)
            state["memory"]["pending"][0][-1][place] = value
            if not abs(value) < 1e300:
                with pytest.raises(InputError, match="a note must hold numbers of at most"):
                    rebuilt(state, {})
                continue
            again = rebuilt(state, {})
            again.update(*again.pending(), 1.0)
            for x in range(20):
                again.update(again.predict(output).id, x % 5)
            assert rebuilt(loads(dumps(again.state_dict())), {}).state_dict() == again.state_dict()


# Small files, large costs


@pytest.mark.parametrize(
    "thing",
    [
        learners.AdaptiveLearner(2),
        learners.GradientDescent(0.1, dim=2),
        learners.MultiscaleLearner(2),
        learners.StronglyAdaptive(learners.AdaGrad(dim=2, domain=wane.domains.Ball(2.0)), 1e7),
        played("trailing-window", window=20),
        played("saocp", max_score=5.0),
        played("nex"),
        played("bayes", max_score=5.0),
        played("auto"),
        wane.OnlineConformal("magl", alpha=0.1, window=5),
        Panel("trailing-window", alpha=0.1, window=20),
        wane.metrics.LocalCoverage(5),
        wane.metrics.SmoothedLCE(0.1),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_no_argument_takes_memory_that_the_state_does_not_back(thing):
    """Wherever a length stands in the parameters of a state, a larger one takes no memory before it is refused."""
    text = dumps(thing.state_dict())
    lengths = {"dim", "window", "lifetime", "cells", "k", "context"}
    found = 0
    for name, large in [*((name, 10**8) for name in lengths), ("decay", 0.999999), ("sigma", 1e6)]:
        state = loads(text)
        if replaced(state, name, large):
            found += 1
            error, most = peak(lambda state=state: rebuilt(state, {}))
            assert isinstance(error, InputError) and most < 20 * MEGABYTE, (name, error, most)
    assert found


def replaced(data, name, value):
    """Set every argument of this name in a state; whether there was one."""
    if isinstance(data, list):
        return any([replaced(v, name, value) for v in data])
    if not isinstance(data, dict):
        return False
    own = [d for k, d in data.items() if k in ("parameters", "hyperparameters") and isinstance(d, dict) and name in d]
    for d in own:
        if d[name] is not None:
            d[name] = value
    return any([replaced(v, name, value) for v in data.values()]) or any(d[name] == value for d in own)


@pytest.mark.parametrize(
    "kind", ["<U1000000000", "|V1000000000", "|S1000000000", "(1000000000,)<f8", "O", "<f8,<f8", "<c16", "nonsense"]
)
def test_no_name_of_a_type_takes_memory(kind):
    result, most = peak(lambda: decode_value({"array": ["ab"], "dtype": kind}))
    assert most < MEGABYTE
    assert isinstance(result, InputError) or (kind.startswith("<U") and result.tolist() == ["ab"])


def test_arrays_of_text_keep_their_type():
    wide = np.array(["a", "bc"], dtype="<U100")
    assert decode_value(encode_value(wide)).dtype == wide.dtype


def header(shape, dtype="<f8"):
    made = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(made).to_bytes(2, "little") + made


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        (header((10**12,)), "claims the shape"),
        (header((1,), "<U100000000"), "claims the shape"),
        (header((2**40, 2**40)) + bytes(8), "claims the shape"),
        (header((10**6,)) + bytes(8 * 10**6 - 8), "claims the shape"),
        (header((40 * 2**20,)) + bytes(40 * 8 * 2**20), "unpack to"),
        (b"\x93NUMPY\x07\x00", "not read"),
        (b"", "not read"),
    ],
    ids=["rows", "type", "product", "cut", "bomb", "version", "empty"],
)
def test_npz_files_are_checked_before_memory_is_taken(contents, said, tmp_path):
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("score.npy", contents)
    error, most = peak(lambda: wane.streams.read(tmp_path / "x.npz"))
    assert isinstance(error, InputError) and said in str(error) and most < 2 * MEGABYTE, (error, most)


def test_npz_files_of_all_zeros_are_read(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", score=np.zeros(100_000))
    assert len(wane.streams.read(tmp_path / "x.npz").scores) == 100_000


# Panels name the series


def panels():
    made = {
        "flat": Panel("magl", alpha=0.1),
        "window": Panel("trailing-window", alpha=0.1, window=10, on_unbounded="allow"),
        "objects": Panel("split", alpha=0.1, on_unbounded="allow"),
    }
    for panel in made.values():
        panel.run(["north", "south"] * 20, np.arange(40.0), [1.0] * 40, delay=2)
        Panel.from_state_dict(panel.state_dict())
        Panel.from_rows(panel, *panel.rows())
    return made


def set_packed(state, name, place, value, where=None):
    """Change one number of a packed array."""
    data = (state["memory"] if where is None else state["memory"][where])[name]
    array = np.frombuffer(base64.b64decode(data["base64"]), dtype=data["dtype"]).reshape(data["shape"]).copy()
    array[place] = value
    data["base64"] = base64.b64encode(array.tobytes()).decode()


@pytest.mark.parametrize("kind", ["flat", "window", "objects"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("seen", v) for v in (-1, 2**62)),
        *(("labels", v) for v in (-1, 10**9)),
        *(("misses", v) for v in (-1, 10**9)),
        *(("unbounded", v) for v in (-1, 10**9)),
        ("widths", math.nan),
        ("outputs", math.nan),
        ("outputs", math.inf),
        ("radii", -1.0),
    ],
)
def test_impossible_panels_are_refused_with_the_name_of_the_series(kind, name, value):
    panel = panels()[kind]
    state = panel.state_dict()
    set_packed(state, name, 1, value)
    with pytest.raises(InputError, match=f"{name} of the series 'south' cannot be"):
        Panel.from_state_dict(state)


@pytest.mark.parametrize(("name", "value"), [("pos", -1), ("pos", 10**9), ("below", -1.0), ("below", math.inf)])
def test_impossible_late_labels_are_refused(name, value):
    panel = panels()["flat"]
    state = panel.state_dict()
    place = int(np.flatnonzero(panel.tail.place == 1)[0])
    set_packed(state, name, place, value, "tail")
    with pytest.raises(InputError, match=f"{name} of a late label of the series 'south'"):
        Panel.from_state_dict(state)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0])
@pytest.mark.parametrize("kind", ["flat", "window"])
def test_impossible_states_of_a_panel(kind, value):
    """NaN is refused everywhere; a negative number where it is a count."""
    panel = panels()[kind]
    refused = 0
    for column in range(panel.flat):
        state = panel.state_dict()
        set_packed(state, "states", (1, column), value)
        try:
            again = Panel.from_state_dict(state)
        except InputError as error:
            assert "states of the series 'south' cannot be" in str(error)
            refused += 1
        else:
            again.run(["south"] * 30, [1.0] * 30, [2.0] * 30)
    assert refused >= {"nan": panel.flat, "inf": panel.flat - 1, "-inf": panel.flat, "-1.0": 2}[str(value)]  # the reach


def test_rows_of_windows_must_be_sorted_and_within_their_arrays():
    panel = panels()["window"]
    size = 1 + list(panel.states[1]).index(10.0)  # rounds, how many scores, the scores, ...
    for place, value in ((size - 1, 11.0), (size - 1, 5.0), (size, 1e6), (size + 10, 10.0)):
        state = panel.state_dict()
        set_packed(state, "states", (1, place), value)
        with pytest.raises(InputError, match="states of the series 'south' cannot be"):
            Panel.from_state_dict(state)


@pytest.mark.parametrize("kind", ["flat", "window"])
def test_rows_of_bytes_are_checked(kind):
    panel = panels()[kind]
    ids, rows = panel.rows()
    bad = panel.states[1].tobytes()
    at = rows[1].index(bad)
    hostile = np.full(panel.flat, math.nan).tobytes()
    with pytest.raises(InputError, match="states of the series 'south' cannot be nan"):
        Panel.from_rows(panel, ids, [rows[0], rows[1][:at] + hostile + rows[1][at + len(hostile) :]])


def test_the_trackers_of_a_series_are_checked():
    state = loads(dumps(panels()["objects"].state_dict()))
    state["memory"]["trackers"][1][0]["memory"]["rounds"] = -1
    with pytest.raises(InputError, match="the trackers of the series 'south': rounds in the memory"):
        Panel.from_state_dict(state)
    state["memory"]["trackers"][1] = []
    with pytest.raises(InputError, match="the trackers of the series 'south'"):
        Panel.from_state_dict(state)


def test_groups_are_checked():
    groups = Groups("magl", alpha=0.1)
    groups.predict(["shop"], [0.0], ["weekday"])
    state = groups.state_dict()
    Groups.from_state_dict(state)
    for last in ([], [["shop", "weekend"]], [["other", "weekday"]], [[1]], 3, None):
        with pytest.raises(InputError):
            Groups.from_state_dict({**state, "last": last})


def test_groups_that_share_knowledge_come_back():
    groups = Groups("pool", alpha=0.1)
    groups.run(["shop"] * 9, [0.0] * 9, [1.0] * 9, ["weekday", "weekend", "weekday"] * 3)
    assert dumps(Groups.from_state_dict(groups.state_dict()).state_dict()) == dumps(groups.state_dict())


def test_a_panel_with_a_giant_index_takes_no_memory():
    state = loads(dumps(Panel("magl", alpha=0.1).state_dict()))
    state["memory"]["index"]["count"] = 10**10
    error, most = peak(lambda: Panel.from_state_dict(state))
    assert isinstance(error, InputError) and most < MEGABYTE


@pytest.mark.parametrize("name", trackers.names())
def test_rows_that_were_played_lie_within_their_limits(name):
    tracker = trackers.make(name, 0.1, **table.NEEDS[name])
    if not tracker.flat():
        pytest.skip("no fixed number of floats holds it")
    low, high = limits_of_rows(tracker)
    for score in np.random.default_rng(0).standard_t(2, size=300):
        tracker.update(abs(score))
        row = tracker.as_row()
        assert (low <= row).all() and (row <= high).all()
