"""Files: what is saved comes back to the last bit, whole or not at all. As a script it kills processes that save."""

import datetime
import importlib.util
import json
import math
import os
import random
import signal
import stat
import subprocess
import sys
import time
import zoneinfo
from pathlib import Path

import numpy as np
import pytest
import table
from hypothesis import given, settings
from hypothesis import strategies as st

from wane import learners, scores, trackers
from wane.errors import SavedFileError
from wane.state.encoding import decode_key, decode_value, dumps, encode_key, encode_value, loads
from wane.state.files import LEFT, known, leftovers, load, replacing, save

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("write_fixtures", HERE.parent / "tools" / "write_fixtures.py")
fixtures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixtures)
MAKERS = fixtures.makers()
EXPECTED = loads(fixtures.EXPECTED.read_text())
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the script forks")
pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


def objects(thing):
    """What load must be given again."""
    return table.objects(thing) if isinstance(thing, learners.Learner) else {}


def tracker(rounds=30):
    made = trackers.make("magl", 0.1)
    made.run([1.0, 2.0, 1.5] * (rounds // 3))
    return made


@known
class Loose:
    """Not Stateful: it keeps any plain data."""

    def __init__(self, data, function=None):
        self.data, self.function = data, function

    def state_dict(self):
        return {"format": 1, "class": f"{__name__}.Loose", "data": self.data}

    @classmethod
    def from_state_dict(cls, state, **objects):
        return cls(state["data"], **objects)


# What comes back


@pytest.mark.parametrize("rounds", [0, 1, 50])
@pytest.mark.parametrize("name", MAKERS)
def test_resume_equals_never_stopped(name, rounds, tmp_path):
    thing = MAKERS[name]()
    fixtures.go_on(thing, fixtures.inputs(thing, 0, rounds))
    save(tmp_path / "x.wane", thing, sync=False)
    again = load(tmp_path / "x.wane", **objects(thing))
    assert type(again) is type(thing) and again.state_dict() == thing.state_dict()
    then = fixtures.inputs(thing, rounds, rounds + 20)
    assert dumps(fixtures.go_on(again, then)) == dumps(fixtures.go_on(thing, then))
    assert again.state_dict() == thing.state_dict()


@pytest.mark.parametrize("name", EXPECTED)
def test_files_of_older_versions_go_on_as_they_did(name):
    thing = load(fixtures.SAVED / f"{name}.wane", **objects(MAKERS[name]()))
    assert fixtures.go_on(thing, EXPECTED[name]["inputs"]) == EXPECTED[name]["predictions"]


def test_an_auto_of_the_first_version_goes_on_from_its_scores():
    """Its experts were others: the new ones learn its last scores again, and what counts misses is taken over."""
    old = load(fixtures.SAVED / "0.1.0" / "auto.wane")
    past = fixtures.inputs(old, 0, fixtures.ROUNDS)
    new = trackers.make("auto", 0.1)
    new.base.run(past)
    assert old.rounds == old.base.rounds == fixtures.ROUNDS
    assert old.base.state_dict() == new.base.state_dict()
    assert abs(old.coverage_sum()) <= old.coverage_bound() < 100.0
    assert old.unit.scale == new.base.unit.scale and old.records == 2
    old.run(past)
    assert trackers.load(old.state_dict()).state_dict() == old.state_dict()
    damaged = loads((fixtures.SAVED / "0.1.0" / "auto.wane").read_text().split("\n")[1])
    del damaged["memory"]["unit"]
    with pytest.raises(ValueError, match="the memory of Calibrated must hold"):
        trackers.load(damaged)


def test_every_kind_of_object_has_such_a_file():
    files = {f.stem for f in fixtures.SAVED.glob("*.wane")}
    assert files == EXPECTED.keys()
    assert files >= {f"tracker-{name}" for name in trackers.names()}
    assert files >= {f"conformal-{name}" for name in scores.names()} - {"conformal-user"} | {"horizons", "panel-flat"}
    assert files >= {f"learner-{name}0" for name in set(learners.__all__) - {"Learner", "load"}}
    assert sum(f.stat().st_size for f in fixtures.SAVED.iterdir()) < 300_000


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


def same(a, b):
    """Equal in value and type, with NaN equal to itself and 0.0 different from -0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a.hex() == b.hex()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return a == b


@settings(max_examples=200)
@given(data=plain)
def test_json_keeps_everything(data):
    text = dumps(data)
    assert text.isascii() and "\n" not in text and same(loads(text), data)
    json.loads(text, parse_constant=pytest.fail)  # it is JSON as the standard has it


@settings(max_examples=50)
@given(data=plain)
def test_files_keep_everything(data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "loose.wane"
    save(path, Loose(data), sync=False)
    assert same(load(path).data, data)
    assert load(path, function=abs).function is abs


def test_the_mark_of_infinities_is_reserved(tmp_path):
    assert loads(dumps(["$float"])) == ["$float"]
    for data in ({"$float": "inf"}, [{"a": {"$float": 1}}]):
        with pytest.raises(ValueError, match="itself"):
            save(tmp_path / "x.wane", Loose(data))
    assert not list(tmp_path.iterdir())


# Identifiers and arguments

zones = (
    st.none()
    | st.timezones()
    | st.builds(datetime.timezone, st.timedeltas(-datetime.timedelta(0, 8e4), datetime.timedelta(0, 8e4)))
)
atoms = st.text() | st.integers() | st.floats(allow_nan=False) | st.booleans() | st.uuids() | st.dates()
atoms |= st.datetimes(timezones=zones, allow_imaginary=True)
keys = st.recursive(atoms, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)


@settings(max_examples=200)
@given(key=keys)
def test_keys_come_back(key):
    again = decode_key(loads(dumps(encode_key(key))))
    assert again == key and hash(again) == hash(key) and {key: 1}[again] == 1
    if isinstance(key, datetime.datetime) and key.tzinfo is not None:
        assert again.utcoffset() == key.utcoffset()


def test_the_hour_that_clocks_repeat():
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    first, second = (datetime.datetime(2024, 10, 27, 2, 30, tzinfo=berlin, fold=f) for f in (0, 1))
    for t in (first, second):
        again = decode_key(encode_key(t))
        assert again == t and again.utcoffset() == t.utcoffset() and again.fold == t.fold


@pytest.mark.parametrize(
    ("given", "kept"),
    [(np.int64(3), 3), (np.uint8(3), 3), (np.str_("a"), "a"), (np.float32(0.5), 0.5), (np.bool_(True), True)],
)
def test_scalars_of_numpy_become_plain(given, kept):
    for again in (decode_key(encode_key(given)), decode_value(encode_value(given))):
        assert again == kept == given and type(again) is type(kept)


class Stamp(datetime.datetime):
    """What pandas adds to a datetime."""

    nanosecond = 0

    def to_pydatetime(self):
        return datetime.datetime(self.year, self.month, self.day, self.hour, tzinfo=self.tzinfo)


def test_times_of_pandas():
    stamp = Stamp(2024, 5, 6, 7, tzinfo=datetime.timezone.utc)
    assert encode_key(stamp) == {"datetime": "2024-05-06T07:00:00+00:00"} and decode_key(encode_key(stamp)) == stamp
    stamp.nanosecond = 5
    with pytest.raises(ValueError, match="microsecond"):
        encode_key(stamp)


@pytest.mark.parametrize(
    "bad", [None, b"x", 1j, [1], {1: 2}, np.datetime64(5, "ns"), np.timedelta64(1, "s"), (1, None), object()]
)
def test_other_ids_are_refused(bad):
    with pytest.raises(TypeError, match="str, int, float"):
        encode_key(bad)


def test_what_does_not_equal_itself_is_no_id():
    for bad in (math.nan, np.float64("nan"), ("a", math.nan)):
        with pytest.raises(ValueError, match="equal itself"):
            encode_key(bad)
    for bad in (None, [], {"tuple": 1}, {"day": "x"}, {"date": "x"}):
        with pytest.raises(ValueError):
            decode_key(bad)


values = st.recursive(
    keys | st.none() | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=100)
@given(value=values)
def test_arguments_come_back(value):
    again = decode_value(loads(dumps(encode_value(value))))
    assert same(again, value) or repr(again) == repr(value)


@pytest.mark.parametrize("kind", ["f8", "f4", "f2", ">f8", "i8", "u1", "?", "U3"])
def test_arrays_come_back(kind):
    for array in (np.array([1, 0, 1]).astype(kind), np.ones((2, 3)).astype(kind), np.array(1).astype(kind)):
        assert same(decode_value(loads(dumps(encode_value(array)))), array)
    infinite = np.array([np.inf, -np.inf, np.nan, -0.0])
    assert same(decode_value(loads(dumps(encode_value(infinite)))), infinite)


@pytest.mark.parametrize(
    "bad",
    [object(), np.array([object()]), np.ma.array([1.0], mask=[True]), np.array([1j]), {1, 2}, [abs], np.longdouble(1)],
)
def test_other_arguments_are_refused(bad):
    with pytest.raises(TypeError, match="can be saved"):
        encode_value(bad)


# What is refused


def test_every_prefix_of_a_file_is_refused(tmp_path):
    path = tmp_path / "x.wane"
    save(path, tracker(), sync=False)
    whole = path.read_bytes()
    for n in range(len(whole)):
        path.write_bytes(whole[:n])
        with pytest.raises(SavedFileError, match="truncated") as caught:
            load(path)
        assert str(path) in str(caught.value)


def test_every_changed_byte_is_noticed(tmp_path):
    """Except in the version of the writer, which nothing depends on, and in spaces of the header."""
    path = tmp_path / "x.wane"
    made = tracker()
    save(path, made, sync=False)
    whole = path.read_bytes()
    version = range(whole.index(b"version") - 1, whole.index(b'"class"'))
    for n in range(len(whole)):
        path.write_bytes(whole[:n] + bytes([whole[n] ^ 1]) + whole[n + 1 :])
        if n in version:
            try:
                assert load(path).state_dict() == made.state_dict()
            except SavedFileError:
                pass
        else:
            with pytest.raises(SavedFileError):
                load(path)


@pytest.mark.parametrize("more", [b"\n", b" ", b"x", b"{}\n"])
def test_more_than_was_written_is_corruption(tmp_path, more):
    path = tmp_path / "x.wane"
    save(path, tracker())
    path.write_bytes(path.read_bytes() + more)
    with pytest.raises(SavedFileError, match="corrupted"):
        load(path)


@pytest.mark.parametrize(
    "raw",
    [b"a,b\n1,2\n", b"{}", b'{"wane": "other"}\n', b"\x80\x04pickle", b"[" * 9000, b"\0" * 100, "é".encode("latin1")],
)
def test_foreign_files(tmp_path, raw):
    (tmp_path / "x").write_bytes(raw)
    with pytest.raises(SavedFileError, match="not written by wane"):
        load(tmp_path / "x")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no file without an end")
def test_a_foreign_file_without_an_end():
    with pytest.raises(SavedFileError, match="not written by wane"):
        load("/dev/full")


@settings(max_examples=100)
@given(raw=st.binary(max_size=200), magic=st.booleans())
def test_no_bytes_give_another_error(raw, magic, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "any.wane"
    path.write_bytes((b'{"wane": "saved", ' if magic else b"") + raw)
    with pytest.raises(SavedFileError):
        load(path)


def rewritten(path, **header):
    """The file with other entries in its header."""
    line, body = path.read_bytes().split(b"\n", 1)
    path.write_bytes(json.dumps(json.loads(line) | header).encode() + b"\n" + body)


def test_newer_formats_and_refused_states(tmp_path):
    path = tmp_path / "x.wane"
    save(path, tracker())
    rewritten(path, format=2)
    with pytest.raises(SavedFileError, match="upgrade wane"):
        load(path)
    rewritten(path, format=0)
    with pytest.raises(SavedFileError, match="corrupted"):
        load(path)
    rewritten(path, format=1)
    load(path)
    with pytest.raises(SavedFileError, match="no parameter speed") as caught:
        load(path, speed=3)
    assert isinstance(caught.value.__cause__, TypeError)
    save(path, learners.FTRL(table.linear, 0.9))
    with pytest.raises(SavedFileError, match=r"prediction was 'linear'.*give it again"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.wane")
    assert issubclass(SavedFileError, ValueError)


# How it is written


def test_a_failing_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.wane"
    save(path, tracker())
    before = path.read_bytes()
    for bad, error in ((3, TypeError), (Loose(object()), TypeError), (Loose({"$float": 1}), ValueError)):
        with pytest.raises(error):
            save(path, bad)
    assert path.read_bytes() == before and [f.name for f in tmp_path.iterdir()] == ["x.wane"]
    for bad in (tmp_path, os.devnull):
        with pytest.raises(ValueError, match="regular file"):
            save(bad, tracker())
    with pytest.raises(FileNotFoundError):
        save(tmp_path / "no" / "x.wane", tracker())


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_permissions_and_links(tmp_path):
    path = tmp_path / "x.wane"
    path.touch()
    usual = stat.S_IMODE(path.stat().st_mode)
    path.unlink()
    save(path, tracker())
    assert stat.S_IMODE(path.stat().st_mode) == usual
    for mode in (0o600, 0o664, 0o666):
        path.chmod(mode)
        save(path, tracker(), sync=False)
        assert stat.S_IMODE(path.stat().st_mode) == mode
    link = tmp_path / "link.wane"
    link.symlink_to("x.wane")
    save(link, Loose([7]))
    assert link.is_symlink() and load(path).data == [7]


def test_leftovers_are_those_of_the_file(tmp_path):
    for name in ("[a].wane", "b.wane"):
        save(tmp_path / name, tracker())
        (tmp_path / f".{name}.123-0123abcd.tmp").touch()
    assert leftovers(tmp_path / "[a].wane") == [str((tmp_path / ".[a].wane.123-0123abcd.tmp").resolve())]


def living(folder):
    """A process that saves removes what killed ones left, once, and nothing that a living one is writing."""
    path, folder = Path(folder) / "x.wane", Path(folder)
    dead, other = folder / ".x.wane.7-00000000.tmp", folder / ".y.wane.7-00000000.tmp"
    dead.touch()
    other.touch()
    with replacing(folder / "x.wane", sync=False) as file:  # removes the dead one
        assert not dead.exists() and other.exists() and len(leftovers(path)) == 1
        child = os.fork()
        if child == 0:
            LEFT.clear()  # as in a process that has just begun
            save(path, tracker(3), sync=False)
            os._exit(0 if len(leftovers(path)) == 1 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        file.write(b"whole")
    assert path.read_bytes() == b"whole" and not leftovers(path)


@needs_fork
def test_what_killed_processes_left_is_removed_and_what_lives_is_not(tmp_path):
    script("living", tmp_path)


def many(folder):
    """Many processes that all look for leftovers at every save: no save fails, and nothing stays."""
    path, children = Path(folder) / "x.wane", []
    for k in range(4):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for _ in range(100):
                    LEFT.clear()
                    save(path, Loose([k]), sync=False)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    assert load(path).data[0] in range(4) and not leftovers(path)


@needs_fork
def test_many_that_save_and_remove_at_once(tmp_path):
    script("many", tmp_path)


# Killed processes


def script(*arguments, file=__file__):
    """Run this file as a script in a process with one thread, which may fork; its error is the test's."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, file, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def killed(work, seconds):
    """Fork a process that does this work with a pipe; kill it that long after its first word; what it said."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            work(writer)
        finally:
            os._exit(1)
    os.close(writer)
    said = os.read(reader, 1 << 16)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(reader, 1 << 16):
        said += more
    os.close(reader)
    return said


def killed_savers(folder, times=40):
    """Two trackers are saved in turn, each further on, until the kill: the file is the last one saved, or the next."""
    path = Path(folder) / "x.wane"
    scores = [(7 * t * t + 3 * t) % 37 / 8 for t in range(5000)]
    radii = {name: trackers.make(name, 0.1).run(scores) for name in ("magl", "split")}
    chance = random.Random(0)
    first = 1
    for n in range(times):

        def work(pipe, first=first, sync=n % 2 == 0):
            two = [trackers.make(name, 0.1) for name in radii]
            for t in range(first - 1):
                for tracker in two:
                    tracker.update(scores[t])
            for k in range(first, len(scores)):
                for tracker in two:
                    tracker.update(scores[k - 1])
                save(path, two[k % 2], sync=sync)
                os.write(pipe, b"%d\n" % k)

        last = int(killed(work, chance.uniform(0, 0.02)).split()[-1])
        again = load(path)
        assert again.rounds in (last, last + 1), (again.rounds, last)
        name = list(radii)[again.rounds % 2]
        assert type(again) is type(trackers.make(name, 0.1))
        then = slice(again.rounds, again.rounds + 20)
        assert again.run(scores[then]).tobytes() == radii[name][then].tobytes()
        first = then.start + 1
    print(first, len(leftovers(path)))


@needs_fork
def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path):
    saves, left = map(int, script("killed", tmp_path).split())
    assert saves > 40 and left <= 1  # of the last


def full_disk(folder):
    """A file may not grow beyond 2,000 bytes here: the old one stays."""
    import resource

    path = Path(folder) / "x.wane"
    save(path, Loose([1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    with pytest.raises(OSError, match="File too large"):
        save(path, Loose([0.1] * 2000))
    assert load(path).data == [1] and not leftovers(path)


@needs_fork
def test_a_full_disk_leaves_the_old_file(tmp_path):
    script("full", tmp_path)


if __name__ == "__main__":
    {"killed": killed_savers, "full": full_disk, "living": living, "many": many}[sys.argv[1]](sys.argv[2])
