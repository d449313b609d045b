"""Snapshots that a copy of the process writes while calls go on: nothing is lost, and nothing old comes back."""

import os
import subprocess
import sys
import threading
import time

import pytest
from serve_cases import ENVIRONMENT, state

import wane
from wane.conformal import ManySeries
from wane.state import opening
from wane.state.copies import POSSIBLE, Aside, Copy
from wane.state.files import leftovers
from wane.state.journal import Journal, JournalWarning
from wane.state.recovery import Snapshot

pytestmark = [
    pytest.mark.skipif(not POSSIBLE, reason="no fork"),
    pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning", "ignore::DeprecationWarning"),  # fork, threads
    pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning"),  # of jax, if another test has imported it
]


def service():
    return ManySeries("magl", alpha=0.1)


def play(thing, first, last):
    for t in range(first, last):
        thing.predict(1.0, id=t, series=t % 7)
        thing.update(t, t * t * 7 % 37 / 8, series=t % 7)


@pytest.mark.parametrize("sync", ["group", "none"])
def test_calls_go_on_during_a_snapshot(tmp_path, sync):
    """Whatever the moment of a snapshot, the journal is the bare object, and its log begins after the last."""
    plain, taken = service(), []
    with Journal(tmp_path / "x.wane", service, sync=sync, compact_every=20, background=True, keep_logs=True) as journal:
        journal.on_snapshot = lambda: taken.append(journal.sequence)
        for count in (1, 2):
            play(journal, 150 * count - 150, 150 * count)
            for _ in range(3000):  # however busy the machine is
                if len(taken) >= count:
                    break
                time.sleep(0.01)
                journal.compact_if_due()
            assert len(taken) >= count
    play(plain, 0, 300)
    with Journal(tmp_path / "x.wane", sync=sync) as again:
        assert 0 < again.recovered.sequence and again.recovered.replayed < 600
        assert state(again.object) == state(plain)
    kept = [name for name in os.listdir(tmp_path) if name.startswith("x.wane.log-")]
    assert 1 <= len(kept) <= len(taken)  # one for each last call
    assert not leftovers(tmp_path / "x.wane") and not leftovers(tmp_path / "x.wane.log")


KILLED = """
import os, sys, time
import wane.state.journal as journals
from wane.state import opening
from wane.conformal import ManySeries
real = opening.write_snapshot
def late(*arguments):
    time.sleep(1.0)
    real(*arguments)
opening.write_snapshot = late
journal = journals.Journal(sys.argv[1], lambda: ManySeries("magl", alpha=0.1), compact_every=10, background=True)
for t in range(40):
    journal.predict(1.0, id=t)
    journal.update(t, 2.0)
while not [n for n in os.listdir(os.path.dirname(sys.argv[1])) if n.endswith(".tmp")]:
    time.sleep(0.01)
time.sleep(0.3)
os._exit(9)
"""


def test_the_copy_of_a_killed_process_changes_nothing(tmp_path):
    """Its snapshot would be older than what a new owner of the journal has written since."""
    path = tmp_path / "x.wane"
    ended = subprocess.run([sys.executable, "-c", KILLED, path], env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 9, ended.stderr
    with Journal(path) as journal:
        assert journal.recovered.replayed == 80
        journal.compact()
        after = path.read_bytes()
        time.sleep(1.5)  # the copy has ended
        assert path.read_bytes() == after


def test_a_snapshot_that_fails_is_a_warning(tmp_path):
    """The calls are in the log all the same, and closing does not wait for a copy that hangs."""
    said = []
    with pytest.warns(JournalWarning, match="no snapshot") as found:
        with Journal(tmp_path / "x.wane", service, compact_every=10, background=True) as journal:
            held = threading.Thread(target=hold, args=(journal.object, said), daemon=True)
            held.start()
            while not said:
                time.sleep(0.01)
            aside = Aside(journal._compact_aside, journal._untaken)
            aside.start()
            aside.thread.join()  # the object is in use by another thread: its copy cannot be written
            said.append("done")
            held.join()
            play(journal, 0, 3)
    assert any("another thread" in str(one.message) for one in found)  # jax warns too, if it is there
    with Journal(tmp_path / "x.wane") as again:
        assert again.sequence == 6


def hold(thing, said):
    with thing._lock:
        said.append("held")
        while "done" not in said:
            time.sleep(0.01)


def test_a_copy_is_stopped():
    """And it keeps no file of its parent open."""
    ours, theirs = os.pipe()
    copy = Copy(lambda: time.sleep(100))
    os.close(theirs)
    assert os.read(ours, 1) == b""  # nobody else holds the other end
    os.close(ours)
    copy.stop()
    with pytest.raises(OSError, match="stopped"):
        copy.wait()


def test_closing_gives_up_a_snapshot(tmp_path, monkeypatch):
    """The process does not wait for it."""
    monkeypatch.setattr(opening, "write_snapshot", lambda *_: time.sleep(100))
    with Journal(tmp_path / "x.wane", service, compact_every=10, background=True) as journal:
        play(journal, 0, 30)
    assert not leftovers(tmp_path / "x.wane")
    found = wane.load(tmp_path / "x.wane")
    assert isinstance(found, Snapshot) and found.sequence == 0
    with Journal(tmp_path / "x.wane") as again:
        assert again.recovered.replayed == 60
