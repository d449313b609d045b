"""Locks on files: one process at a time, the next is told who; death gives them back. As a script it holds one."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from test_saving import needs_fork, script

from wane.errors import InUseError, JournalError
from wane.state.files import leftovers, leftovers_in, save
from wane.state.journal import Journal
from wane.state.locks import Lock, holder, who


def held(path):
    """Hold a lock, say so, and wait for a line."""
    with Lock(path):
        print("held", flush=True)
        sys.stdin.readline()


class Holder:
    """Another process that holds the lock of a path."""

    def __init__(self, path):
        pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        self.child = subprocess.Popen([sys.executable, __file__, "held", path], env=environment, text=True, **pipes)
        assert self.child.stdout.readline() == "held\n"

    def __enter__(self):
        return self.child

    def __exit__(self, *exception):
        self.child.kill()
        self.child.communicate()


def test_the_second_is_told_who_holds_it(tmp_path):
    path = tmp_path / "x.wane"
    with Holder(path) as child:
        said = rf"x\.wane' is in use: process {child.pid} has held it since 20[\d :-]+ UTC: wait until"
        with pytest.raises(InUseError, match=said):
            Lock(path)
        assert f"process {child.pid} has held it" in holder(path)
        with pytest.raises(JournalError, match=rf"x\.wane' is open already: process {child.pid} has held"):
            Journal(path)
        child.communicate("\n")
    assert not list(tmp_path.iterdir()) and holder(path) is None
    with Lock(path), pytest.raises(InUseError, match=rf"this process \({os.getpid()}\) has held it since"):
        Lock(path)


def test_death_gives_it_back(tmp_path):
    path = tmp_path / "x.wane"
    with Holder(path) as child:
        child.kill()
        child.wait()
        assert (tmp_path / "x.wane.lock").exists() and holder(path) is None
        with Lock(path):
            assert str(os.getpid()) in holder(path)
    assert not list(tmp_path.iterdir())


def test_the_next_owner_removes_the_temporary_files_of_killed_ones(tmp_path):
    path, other = tmp_path / "x.wane", tmp_path / ".y.wane.7-00000000.tmp"
    for name in (".x.wane.7-00000000.tmp", ".x.wane.8-0123abcd.tmp", other.name):
        (tmp_path / name).touch()
    with Lock(path):
        assert not leftovers(path) and other.exists()


def test_a_lock_follows_links_and_is_given_back_once(tmp_path):
    (tmp_path / "link").symlink_to("x")
    lock = Lock(tmp_path / "x")
    with pytest.raises(InUseError):
        Lock(tmp_path / "link")
    lock.release()
    other = Lock(tmp_path / "link")
    lock.release()  # not the other's
    with pytest.raises(InUseError):
        Lock(tmp_path / "x")
    other.release()


def test_a_note_that_cannot_be_read_is_no_obstacle(tmp_path):
    for text in (b"", b"{", b"[]", b'{"process": "x"}', b"\xff" * 2000):
        (tmp_path / "x.lock").write_bytes(text)
        assert holder(tmp_path / "x") is None
        with Lock(tmp_path / "x"):
            (tmp_path / "x.lock").write_bytes(text)
            with pytest.raises(InUseError, match="another process holds it"):
                Lock(tmp_path / "x")
    assert who({"process": 1, "host": "elsewhere", "since": "now"}) == "process 1 on elsewhere has held it since now"


def test_many_threads_take_turns(tmp_path):
    """At no moment do two of them have it, though each removes the file."""
    inside, most, got = [], [], []

    def work():
        for _ in range(200):
            try:
                with Lock(tmp_path / "x"):
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()
                    got.append(1)
            except InUseError:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1 and got and not list(tmp_path.iterdir())


def forked(folder):
    """A child neither has the lock nor keeps it alive after its parent has let it go, and cannot give it back."""
    path = Path(folder) / "x"
    lock, (reader, writer) = Lock(path), os.pipe()
    child = os.fork()
    if child == 0:
        lock.release()
        os.close(writer)
        os.read(reader, 1)  # until the parent closes it
        os._exit(0)
    assert json.loads(Path(f"{path}.lock").read_text())["process"] == os.getpid()
    with pytest.raises(InUseError):
        Lock(path)
    lock.release()
    Lock(path).release()  # while the child lives
    os.close(writer)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@needs_fork
def test_a_forked_process_has_no_lock(tmp_path):
    script("forked", tmp_path, file=__file__)


def test_a_folder_of_results_has_one_run_at_a_time(tmp_path):
    pytest.importorskip("typer")
    pytest.importorskip("matplotlib")
    (tmp_path / "s.csv").write_text("y,yhat\n" + "".join(f"{t % 7},{t % 5}\n" for t in range(300)))
    out = tmp_path / "out"
    out.mkdir()
    (out / ".leaderboard.csv.7-00000000.tmp").touch()
    command = [sys.executable, "-m", "wane", "bench", "streams", "--streams", tmp_path, "--out", out]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    def bench():
        more = ["--methods", "magl", "--workers", "1"]
        return subprocess.run([*command, *more], env=environment, capture_output=True, text=True)

    with Lock(out / "wane"):
        done = bench()
        assert done.returncode == 1 and not done.stdout
        assert f"{out} is in use by another run: process {os.getpid()} has held it since" in done.stderr
    assert bench().returncode == 0
    assert (out / "leaderboard.json").exists() and not list(out.glob("*.lock")) and not leftovers_in(out)


def test_the_lock_of_a_folder_removes_nothing_in_it(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / ".x.wane.7-00000000.tmp").touch()
    with Lock(tmp_path / "folder"):
        assert leftovers_in(tmp_path / "folder")


def test_saving_needs_no_lock(tmp_path):
    from wane import trackers

    with Lock(tmp_path / "x.wane"):
        save(tmp_path / "x.wane", trackers.make("magl", 0.1))


if __name__ == "__main__":
    {"held": held, "forked": forked}[sys.argv[1]](sys.argv[2])
