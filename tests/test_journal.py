"""The journal: what was acknowledged is there, at every cut of the log. As a script it kills processes that log."""

import os
import random
import shutil
import sys
import threading
import uuid
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_saving import killed, needs_fork, script

from wane import Horizons, OnlineConformal, trackers
from wane.errors import AlarmError, SavedFileError
from wane.state.encoding import dumps
from wane.state.files import leftovers, load, save
from wane.state.journal import Journal, JournalWarning
from wane.state.log import read_log
from wane.state.recovery import Recovery, Snapshot

OLDER = Path(__file__).parent / "older"  # files that 0.1.0 wrote


def service():
    return OnlineConformal("magl-d", alpha=0.1, window=5, history=3)  # small in a file


def calls(n):
    """The first n of an endless sequence of calls, each a name, arguments and keywords."""
    done = []
    for t in range(n):
        x = (7 * t * t + 3 * t) % 37 / 8
        match t % 7:
            case 0 | 2:
                done.append(("predict", [x], {}))
            case 1:
                done.append(("predict", [np.array(x)], {"id": ("é", t, uuid.UUID(int=t))}))
            case 3:
                done.append(("update", [2 * (t // 7), np.float32(1.5)], {}))  # automatic ids: 2 in 7 calls
            case 4:
                done.append(("update", [("é", t - 3, uuid.UUID(int=t - 3)), 0.1 * x], {"discount": 0.99}))
            case 5:
                done.append(("expire", [], {"older_than": 1}))
            case 6:
                done.append(("predict", [-x], {"id": f"text {t}\n"}))
    return done


def do(thing, call):
    name, arguments, keywords = call
    return getattr(thing, name)(*arguments, **keywords)


def plainly(n):
    """The state after n calls without any journal."""
    thing = service()
    for call in calls(n):
        do(thing, call)
    return dumps(thing.state_dict())


def filled(path, n, **options):
    with Journal(path, service, sync=False, **options) as journal:
        for call in calls(n):
            do(journal, call)
    return Path(f"{path}.log")


def opened(path):
    """The state after recovery, what was recovered, and whether there was a warning."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with Journal(path, sync=False) as journal:
            return dumps(journal.object.state_dict()), journal.recovered, [w.category for w in said]


@settings(max_examples=30)
@given(n=st.integers(0, 60), stops=st.sets(st.integers(0, 60)), every=st.integers(1, 70))
def test_stops_and_snapshots_change_nothing(n, stops, every, tmp_path_factory):
    path = tmp_path_factory.mktemp("journal") / "x.wane"
    journal, plain = Journal(path, service, sync=False, compact_every=every), service()
    for t, call in enumerate(calls(n)):
        assert do(journal, call) == do(plain, call)
        if t in stops:
            journal.close()
            journal = Journal(path, pytest.fail, sync=False, compact_every=every)
            assert journal.recovered.sequence + journal.recovered.replayed == journal.sequence == t + 1
            assert journal.recovered.dropped == 0
        assert len(Path(journal.log).read_bytes().splitlines()) < every
    journal.close()
    assert opened(path)[0] == dumps(plain.state_dict())


def test_every_cut_of_the_log(tmp_path):
    """Cut anywhere, the log gives the state after its last whole record, and goes on from there; no byte is lost."""
    path = tmp_path / "x.wane"
    log = filled(path, 16)
    whole, states = log.read_bytes(), [plainly(n) for n in range(17)]
    ends = [0, *(i + 1 for i, byte in enumerate(whole) if byte == ord("\n"))]
    for cut in range(len(whole) + 1):
        log.write_bytes(whole[:cut])
        n = max(i for i, end in enumerate(ends) if end <= cut)
        state, found, said = opened(path)
        assert state == states[n] and found == Recovery(0, n, cut - ends[n])
        assert said == ([JournalWarning] if cut > ends[n] else [])
        assert log.read_bytes() == whole[: ends[n]]
        aside = tmp_path / "x.wane.log.dropped"
        assert (aside.read_bytes() if cut > ends[n] else b"\n") == whole[ends[n] : cut] + b"\n"
        aside.unlink(missing_ok=True)
        if cut % 25 == 0:
            with Journal(path, sync=False) as journal:
                for call in calls(16)[n:]:
                    do(journal, call)
            assert log.read_bytes() == whole and opened(path)[0] == states[16]


def test_zeros_at_the_end_are_one_record_that_the_disk_did_not_get(tmp_path):
    """As some file systems leave a file when the power fails: long enough, but not written."""
    log = filled(tmp_path / "x.wane", 5)
    whole = log.read_bytes()
    for tail in (b"\0" * 100, b"70 00" + b"\0" * 60, b'70 0011aabb 6 ["predict"' + b"\0" * 50):
        log.write_bytes(whole + tail)
        assert opened(tmp_path / "x.wane") == (plainly(5), Recovery(0, 5, len(tail)), [JournalWarning])
        assert log.read_bytes() == whole and (tmp_path / "x.wane.log.dropped").read_bytes().endswith(tail + b"\n")


def refused(path, log, match="corrupted"):
    """Opening is refused in words that name the log, and changes no file."""
    before = {f.name: f.read_bytes() for f in path.parent.iterdir()}
    with pytest.raises(SavedFileError, match=match) as caught:
        Journal(path, service)
    assert str(log) in str(caught.value)
    assert {f.name: f.read_bytes() for f in path.parent.iterdir()} == before


def test_every_changed_byte_is_damage(tmp_path):
    """In the last record too: a crash cuts a record short, it does not change one."""
    path = tmp_path / "x.wane"
    log = filled(path, 8)
    whole = log.read_bytes()
    for n in {*range(0, len(whole), 5), *range(len(whole) - 60, len(whole))}:
        log.write_bytes(whole[:n] + bytes([whole[n] ^ 1]) + whole[n + 1 :])
        refused(path, log)
    for n in range(8 * len(whole)):
        bad = bytearray(whole)
        bad[n // 8] ^= 1 << n % 8
        with pytest.raises(SavedFileError, match="corrupted"):
            read_log(bytes(bad), "x.wane.log")


def test_a_destroyed_log_is_not_what_a_crash_leaves(tmp_path):
    path = tmp_path / "x.wane"
    log = filled(path, 40)
    whole = log.read_bytes()
    half, last = len(whole) // 2, whole.rindex(b"\n", 0, -1) + 1
    line = whole[last:]
    bad = [
        bytes(len(whole)),
        whole[:half] + bytes(len(whole) - half),
        bytes(half) + whole[half:],
        b"a letter to my aunt\n" * 20,
        whole + b"a letter to my aunt\n",
        whole + b"1,2,3",
        whole + os.urandom(100),
        whole + line,  # a record twice
        whole[:last] + line[:-1] + b" ",  # no line feed at its end
        whole[:last] + line[:-1] + line,
        whole[:last] + line[: len(line) // 2] + b"\n",
        whole + b'99 00000000 7 ["predict"',  # not the call that comes next
        whole + bytes(5000),
        whole.replace(b"\n", b"\r\n"),
    ]
    for destroyed in bad:
        log.write_bytes(destroyed)
        refused(path, log)
    log.write_bytes(whole)
    assert opened(path)[0] == plainly(40)


def numbered(body):
    return b"%d %08x %s\n" % (len(body), zlib.crc32(body), body)


def test_a_record_with_the_right_checksum_and_no_call_is_refused(tmp_path):
    path = tmp_path / "x.wane"
    log = filled(path, 3)
    whole = log.read_bytes()
    for body in (
        b"", b"4", b"x []", b"4 []", b"4 nonsense", b'4 ["predict"]', b'4 ["predict", 1, {}, 0]', b'4 [1, [], {}, 0]',
        b'4 ["predict", [1.0], [], 0]', b"4 " + b"[" * 100_000 + b"]", b'4 ["predict", [{"$float": []}], {}, 0]',
        b"9" * 5000 + b' ["predict", [1.0], {}, 0]', b'4 ["predict", [1.0], {}, 0, 0]', "4 [é]".encode("latin-1"),
    ):  # fmt: skip
        log.write_bytes(whole + numbered(body))
        refused(path, log, "holds no call")
    for body in (
        b'4 ["__init__", [], {}, null]', b'4 ["predict", [], {}, 0]', b'4 ["predict", [{"array": 1}], {}, 0]',
        b'4 ["update", [7, 7], {}, null]', b'4 ["predict", [1.0], {"id": {"date": "x"}}, 0]',
    ):  # fmt: skip
        log.write_bytes(whole + numbered(body))
        refused(path, log, "could not be done again")


def test_a_hostile_log_takes_linear_time(tmp_path):
    """Two megabytes in which a record could begin everywhere: each byte is looked at a bounded number of times."""
    log = filled(tmp_path / "x.wane", 3)
    log.write_bytes(log.read_bytes() + b"9999999 00000000 " * 120_000)
    refused(tmp_path / "x.wane", log)


def test_opening_again_waits_until_the_disk_has_what_was_replayed(tmp_path, monkeypatch):
    """Calls that a killed process wrote, and did not wait for, were seen after the restart: now they must last."""
    log, waited, fsync = filled(tmp_path / "x.wane", 5), [], os.fsync

    def watched(descriptor):
        waited.append(os.fstat(descriptor).st_ino)
        return fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    with Journal(tmp_path / "x.wane"):
        assert {log.stat().st_ino, tmp_path.stat().st_ino} <= set(waited)


def test_journals_of_older_versions_are_read(tmp_path):
    for file in OLDER.glob("journal.wane*"):
        shutil.copy(file, tmp_path)
    state, found, said = opened(tmp_path / "journal.wane")
    state = state.replace('"method": "LossTracker"', '"method": "magl-d"')  # older versions did not keep the name
    assert state == plainly(30) and found == Recovery(20, 10, 0) and not said


def test_lost_and_foreign_records(tmp_path):
    path = tmp_path / "x.wane"
    log = filled(path, 8)
    whole = log.read_bytes()
    lines = whole.splitlines(keepends=True)
    for lost in range(7):
        log.write_bytes(b"".join(lines[:lost] + lines[lost + 1 :]))
        with pytest.raises(SavedFileError, match="follows" if lost else "lost"):
            Journal(path)
    log.unlink()
    with pytest.raises(SavedFileError, match="missing"):
        Journal(path, service)
    log.write_bytes(whole)
    other = service()
    other.predict(1.0)
    save(path, Snapshot(0, other))
    with pytest.raises(SavedFileError, match="another snapshot"):
        Journal(path)
    other.expire(0)
    save(path, Snapshot(3, other))
    with pytest.raises(SavedFileError, match="could not be done again"):
        Journal(path)
    save(path, trackers.make("magl", 0.1))
    with pytest.raises(SavedFileError, match="not a journal"):
        Journal(path)
    path.unlink()
    with pytest.raises(SavedFileError, match="snapshot"):
        Journal(path, service)
    assert log.read_bytes() == whole


def test_a_crash_between_the_snapshot_and_the_new_log(tmp_path):
    path = tmp_path / "x.wane"
    log = filled(path, 20)
    shutil.copy(log, tmp_path / "old.log")
    with Journal(path) as journal:
        journal.compact()
        assert log.read_bytes() == b"" and load(path).sequence == 20
    for cut in (0, 5, 300):  # without sync, the end of the old log may be lost too
        log.write_bytes((tmp_path / "old.log").read_bytes()[: -cut or None])
        state, found, said = opened(path)
        assert state == plainly(20) and found.sequence == 20 and found.replayed == 0
        assert log.read_bytes() == b"" and said == [JournalWarning] * bool(found.dropped)
        with Journal(path) as journal:
            do(journal, ("predict", [1.0], {}))
            assert journal.sequence == 21
        assert opened(path)[1] == Recovery(20, 1, 0)


def test_a_snapshot_can_be_looked_at(tmp_path):
    filled(tmp_path / "x.wane", 20, compact_every=15)
    snapshot = load(tmp_path / "x.wane")
    assert snapshot.sequence == 15 and dumps(snapshot.object.state_dict()) == plainly(15)


def test_errors_of_the_object_log_nothing(tmp_path):
    path = tmp_path / "x.wane"
    with Journal(path, service) as journal:
        journal.predict(1.0, id="a")
        before = Path(journal.log).read_bytes(), dumps(journal.object.state_dict())
        with pytest.raises(KeyError):
            journal.update("b", 1.0)
        with pytest.raises(ValueError, match="waits for its label"):
            journal.predict(1.0, id="a")
        with pytest.raises(ValueError, match="finite"):
            journal.update("a", np.inf)
        with pytest.raises(TypeError, match="can be saved"):
            journal.predict(object())
        with pytest.raises(TypeError, match="can be saved"):
            journal.update("a", 1.0, discount=lambda t: 0.9)
        for bad in (b"x", np.datetime64(5, "ns")):
            with pytest.raises(TypeError, match="an id"):
                journal.predict(1.0, id=bad)
        with pytest.raises(ValueError, match="an id"):
            journal.predict(1.0, id=np.nan)
        assert (Path(journal.log).read_bytes(), dumps(journal.object.state_dict())) == before
        journal.update("a", 1.5)
        state = dumps(journal.object.state_dict())
    assert opened(path)[0] == state


def test_an_alarm_that_fails_leaves_its_label_in_the_log(tmp_path):
    def start(on_alarm):
        return OnlineConformal("magl", alpha=0.1, window=1, on_alarm=on_alarm, band=(0.5, 1.0))

    def fails(alarm):
        raise ZeroDivisionError(alarm.side)

    path = tmp_path / "x.wane"
    with Journal(path, lambda: start(fails), objects={"on_alarm": fails}) as journal:
        p = journal.predict(1.0)
        with pytest.raises(AlarmError, match=r"ZeroDivisionError.*low"):
            journal.update(p.id, 3.0)
        assert journal.sequence == 2 and journal.object.metrics().rounds == 1
        state = dumps(journal.object.state_dict())
    heard = []
    with Journal(path, objects={"on_alarm": heard.append}) as journal:
        assert dumps(journal.object.state_dict()) == state and not heard  # alarms are not given twice
        while not 1.0 < journal.object.trackers[0].predict():
            journal.update(journal.predict(1.0).id, 3.0)
        journal.update(journal.predict(1.0).id, 1.0)  # covered: back in the band
        journal.update(journal.predict(1.0).id, 99.0)
        assert [alarm.side for alarm in heard] == ["low"]


def test_several_steps_ahead(tmp_path):
    path, plain = tmp_path / "x.wane", Horizons(3, "magl", alpha=0.1)
    for t in range(30):
        with Journal(path, lambda: Horizons(3, "magl", alpha=0.1), compact_every=7) as journal:
            if t:
                assert journal.update(t, 0.1 * t) == plain.update(t, 0.1 * t)
            assert journal.predict([1.0 * t, 2.0, None]) == plain.predict([1.0 * t, 2.0, None])
            assert dumps(journal.object.state_dict()) == dumps(plain.state_dict())


def test_one_opener_at_a_time(tmp_path):
    path = tmp_path / "x.wane"
    with Journal(path, service) as journal:
        with pytest.raises(RuntimeError, match="open already"):
            Journal(path)
        journal.predict(1.0)
    for use in (lambda: journal.predict(1.0), lambda: journal.update(0, 1.0), journal.expire, journal.compact):
        with pytest.raises(RuntimeError, match="closed"):
            use()
    journal.close()
    assert opened(path)[1] == Recovery(0, 1, 0)


def test_what_can_be_made(tmp_path):
    with pytest.raises(FileNotFoundError, match="start"):
        Journal(tmp_path / "x.wane")
    for bad in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="compact_every"):
            Journal(tmp_path / "x.wane", service, compact_every=bad)
    with pytest.raises(TypeError):  # the class does not take it: an error now, not after the crash
        Journal(tmp_path / "x.wane", service, objects={"function": abs})
    with Journal(tmp_path / "x.wane", service) as journal:
        assert journal.recovered is None and load(journal.path).sequence == 0


def test_temporary_files_of_killed_processes_are_removed(tmp_path):
    path = tmp_path / "x.wane"
    filled(path, 3)
    for name in (".x.wane.7-00000000.tmp", ".x.wane.log.7-00000000.tmp"):
        (tmp_path / name).touch()
    assert opened(path)[0] == plainly(3)
    assert not leftovers(path) and {f.name for f in tmp_path.iterdir()} == {"x.wane", "x.wane.log"}


def test_threads(tmp_path):
    path = tmp_path / "x.wane"

    def work(k):
        for t in range(50):
            journal.predict(1.0, id=(k, t))
            journal.update((k, t), 0.1 * t)

    with Journal(path, service, sync=False, compact_every=90) as journal:
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        state = dumps(journal.object.state_dict())
        assert journal.sequence == 400 and journal.object.trackers[0].rounds == 200
    assert opened(path)[0] == state


def test_commits_of_one_thread_while_another_calls(tmp_path):
    """A commit takes the calls that are done, never half of one, and does not mistake one under way for an error."""
    path, stop = tmp_path / "x.wane", threading.Event()

    def commit():
        while not stop.is_set():
            journal.commit()

    with Journal(path, service, compact_every=90) as journal:
        thread = threading.Thread(target=commit)
        thread.start()
        try:
            for call in calls(2_000):
                journal.call(*call)
        finally:
            stop.set()
            thread.join()
        journal.commit()
        assert journal.durable == journal.sequence == 2_000
        state = dumps(journal.object.state_dict())
    assert opened(path)[0] == state == plainly(2_000)


def killed_journals(folder, times=40):
    """Each child goes on where the last one was killed, and acknowledges each call over a pipe."""
    path, chance, start = Path(folder) / "x.wane", random.Random(1), 0
    todo, plain, at = calls(20_000), service(), 0
    for n in range(times):

        def work(pipe, start=start, n=n):
            warnings.simplefilter("ignore")
            journal = Journal(path, service, sync=n % 2 == 0, compact_every=(3, 50, 1000)[n % 3])
            os.write(pipe, b"%d\n" % start)
            for k in range(start, len(todo)):
                do(journal, todo[k])
                os.write(pipe, b"%d\n" % (k + 1))

        acknowledged = int(killed(work, chance.uniform(0, 0.02)).split()[-1])
        state, found, _ = opened(path)
        start = found.sequence + found.replayed
        assert acknowledged <= start <= acknowledged + 1, (acknowledged, found)
        while at < start:
            do(plain, todo[at])
            at += 1
        assert state == dumps(plain.state_dict())
    print(start)


@needs_fork
def test_a_kill_at_any_moment_loses_no_acknowledged_call(tmp_path):
    assert int(script("killed", tmp_path, file=__file__)) > 40


def full_disk(folder):
    """A file may not grow beyond 5,000 bytes: the call that does not fit is an error, and so is every later one."""
    import resource

    path = Path(folder) / "x.wane"
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
    journal, todo = Journal(path, service), calls(1000)
    with pytest.raises(OSError, match="done but not logged"):
        for call in todo:
            do(journal, call)
    for use in (lambda: journal.predict(1.0), journal.expire, journal.compact):
        with pytest.raises(RuntimeError, match="open it again"):
            use()
    logged = journal.durable
    journal.close()
    state, found, said = opened(path)
    assert state == plainly(logged) and found.replayed == logged > 10 and found.dropped and said == [JournalWarning]
    with Journal(path) as journal:
        journal.compact()  # the snapshot is small: there is room again
        for call in todo[logged : logged + 10]:
            do(journal, call)
    assert opened(path)[0] == plainly(logged + 10)


@needs_fork
def test_a_full_disk(tmp_path):
    script("full", tmp_path, file=__file__)


def no_room_for_a_snapshot(folder):
    """The snapshot does not fit, the log does: the calls are acknowledged, with a warning."""
    import resource

    path = Path(folder) / "x.wane"
    large = OnlineConformal("magl", alpha=0.1)
    for _ in range(1000):
        large.predict(0.0)
    with Journal(path, lambda: large, compact_every=10) as journal:
        before = path.read_bytes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2,) * 2)
        with pytest.warns(JournalWarning, match="no snapshot") as said:
            for _ in range(15):
                journal.expire(older_than=0)
        assert len(said) == 1 and path.read_bytes() == before and journal.sequence == 15
        state = dumps(journal.object.state_dict())
    assert opened(path)[:2] == (state, Recovery(0, 15, 0)) and not leftovers(path)


@needs_fork
def test_a_snapshot_that_fails_does_no_harm(tmp_path):
    script("snapshot", tmp_path, file=__file__)


def forked(folder):
    """A child that inherits a journal may not use it."""
    with Journal(Path(folder) / "x.wane", service) as journal:
        child = os.fork()
        if child == 0:
            try:
                journal.predict(1.0)
            except RuntimeError as error:
                os._exit(7 if "fork" in str(error) else 1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        journal.predict(1.0)


@needs_fork
def test_a_fork(tmp_path):
    script("forked", tmp_path, file=__file__)


if __name__ == "__main__":
    parts = {"killed": killed_journals, "full": full_disk, "snapshot": no_room_for_a_snapshot, "forked": forked}
    parts[sys.argv[1]](sys.argv[2])
