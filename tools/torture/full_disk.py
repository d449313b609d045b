"""A disk that is full: save, the journal and run say so, what was there stays, and all goes on once there is room.

python tools/torture/run.py --only full_disk --seconds 60 --seed 0

It needs a small file system in memory, which a system may not permit; then it is skipped, and says so.
"""

import contextlib
import importlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from processes import Kill, child, command

import wane
from wane.state.encoding import dumps

SIZE = 256  # kilobytes of the disk
INSIDE = "TORTURE_INSIDE"  # set in the process that may mount


@contextlib.contextmanager
def disk():
    """A folder on a disk of its own, or None where that is not permitted."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}k", "none", folder]
        if shutil.which("mount") is None or subprocess.run(arguments, capture_output=True).returncode:
            yield None
            return
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def fill(folder, left):
    """Leave about so many bytes, which are pages."""
    space = os.statvfs(folder)
    free = space.f_bavail * space.f_frsize
    with open(folder / "ballast", "wb") as file:
        file.write(bytes(max(free - left, 0)))


def rows(chance):
    return "".join(f"{chance.random():.3f},1\n" for _ in range(400))


def save(folder, chance):
    """The old file stays, or the new one is whole."""
    path = folder / "x.wane"
    old, new = wane.trackers.make("split", 0.1), wane.trackers.make("split", 0.1)
    old.run([1.0] * chance.randint(1, 50))
    new.run([1.0] * chance.randint(200, 2000))
    wane.save(path, old)
    fill(folder, chance.randrange(0, 60_000))
    try:
        wane.save(path, new)
        right, full = new, 0
    except OSError:
        right, full = old, 1
    assert dumps(wane.load(path).state_dict()) == dumps(right.state_dict()), "another object"
    assert [f.name for f in folder.iterdir() if f.name.endswith(".tmp")] == [], "temporary files stay"
    return full


def journal(folder, chance):
    """Every call that returned is there after there is room again, and no other."""
    path, done = folder / "j.wane", 0

    def start():
        return wane.OnlineConformal("magl", alpha=0.1, window=5)

    live = wane.Journal(path, start, sync=chance.random() < 0.5, compact_every=chance.choice([7, 1000]))
    fill(folder, chance.randrange(0, 30_000))
    full = 0
    try:
        for k in range(1000):
            live.predict(0.5 * k, id="long " * chance.randint(1, 60) + str(k))
            done += 1
    except OSError as error:
        full = 1
        assert "done but not logged" in str(error), error
    live.close()
    try:  # while it is still full: it opens, or says that it needs room
        wane.Journal(path).close()
    except OSError as error:
        assert "make room" in str(error), error
    (folder / "ballast").unlink()
    with wane.Journal(path) as again:
        assert again.sequence == done, f"{done} acknowledged, {again.sequence} there"
        again.predict(1.0)
    return full


def run(folder, chance):
    """The output and the state are old or new together; run it again when there is room."""
    table, state, out = folder / "in.csv", folder / "state", folder / "out.csv"
    arguments = ("run", table, "--method", "magl", "--state", state, "--out", out)
    table.write_text("y,yhat\n" + rows(chance))
    assert child(lambda pipe: command(*arguments), Kill())[1] == 0
    before = state.read_bytes(), out.read_bytes()
    table.write_text("y,yhat\n" + rows(chance))
    fill(folder, chance.randrange(0, 60_000))
    code = child(lambda pipe: command(*arguments), Kill())[1]
    assert code in (0, 1), f"exit code {code}"
    if code == 1:
        assert (state.read_bytes(), out.read_bytes()) == before, "an error changed a file"
        (folder / "ballast").unlink()
        assert child(lambda pipe: command(*arguments), Kill())[1] == 0
    assert wane.load(state).rows == 800
    return code


def inside(seconds, seed):
    """The attacks, in a process that may mount; None if that is not permitted."""
    kinds = (save, journal, run)
    counts = {kind.__name__: 0 for kind in kinds} | {"disks that were full": 0, "failed": 0}
    end, turn = time.monotonic() + seconds, 0
    importlib.import_module("wane.runs")
    importlib.import_module("wane.cli.app")
    with disk() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if folder is None:
            return None
        while time.monotonic() < end or turn < len(kinds):
            kind = kinds[turn % len(kinds)]
            try:
                counts["disks that were full"] += kind(folder, random.Random(f"{seed} {turn}"))
                counts[kind.__name__] += 1
            except Exception as error:
                counts["failed"] += 1
                print(f"{kind.__name__}, turn {turn} of seed {seed}: {type(error).__name__}: {error}", flush=True)
            turn += 1
            for file in folder.iterdir():
                file.unlink()
    return counts


def main(seconds, seed):
    """Attack for so long, if need be as a user of its own who may mount; how often, and failures."""
    counts = inside(seconds, seed)
    if counts is not None:
        return counts
    if INSIDE not in os.environ and shutil.which("unshare"):
        here = [sys.executable, str(Path(__file__).with_name("run.py")), "--inside", "full_disk"]
        arguments = ["unshare", "-rm", *here, "--seconds", str(seconds), "--seed", str(seed)]
        done = subprocess.run(arguments, capture_output=True, text=True, env=os.environ | {INSIDE: "1"})
        *said, last = done.stdout.splitlines() or [""]
        print("".join(f"{line}\n" for line in said), end="", flush=True)
        if done.returncode == 0 and last.startswith("counts: "):
            return json.loads(last.removeprefix("counts: "))
    print("skipped: this system does not permit a file system in memory", flush=True)
    return {"skipped": 1}
