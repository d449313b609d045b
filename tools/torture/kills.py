"""kill -9 of save, the journal, serve-lines, run --state and bench, again and again on the same files.

python tools/torture/run.py --only kills --seconds 60 --seed 0

Half of the kills come before a drawn operation on a file, so the seed alone repeats them; the others come after a drawn
time. After each, what was acknowledged must be there, whole, and equal to the bit to a twin that nobody killed.
"""

import csv
import importlib
import json
import os
import random
import signal
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from processes import Kill, child, command, whole_lines

import wane
from wane.conformal import ManySeries
from wane.errors import InputError
from wane.runs import Options, play
from wane.serve import Lines
from wane.state.encoding import dumps
from wane.state.files import leftovers

KILLED = -signal.SIGKILL


def score(t):
    """A number for round t."""
    return (7 * t * t + 3 * t) % 37 / 8


class Save:
    """Two trackers are saved in turn: the file is the last that was acknowledged, or the next."""

    steps, seconds, imports = 150, 0.03, ()

    def __init__(self, folder):
        self.path, self.rounds = folder / "x.wane", 0
        self.twins = [wane.trackers.make(name, 0.1) for name in ("magl", "auto")]
        self.played = 0

    def attack(self, kill, number):
        def work(pipe):
            two = [wane.trackers.load(twin.state_dict()) for twin in self.twins]
            for k in range(self.rounds + 1, self.rounds + 12):
                for tracker in two:
                    tracker.update(score(k))
                wane.save(self.path, two[k % 2], sync=number % 2 == 0)
                os.write(pipe, b"%d\n" % k)

        said, code = child(work, kill)
        assert code in (0, KILLED), f"exit code {code}"
        last = int((whole_lines(said) or [self.rounds])[-1])
        if not self.path.exists():
            assert last == 0, "an acknowledged file is gone"
            return
        found = wane.load(self.path)
        assert last <= found.rounds <= last + 1, f"{last} was acknowledged, the file has {found.rounds}"
        for k in range(self.rounds + 1, found.rounds + 1):
            for twin in self.twins:
                twin.update(score(k))
        self.rounds = found.rounds
        assert dumps(found.state_dict()) == dumps(self.twins[self.rounds % 2].state_dict()), "not what was saved"
        assert len(leftovers(self.path)) <= 1, "temporary files accumulate"


class Kept:
    """A journal: every acknowledged call is there, and at most one more."""

    steps, seconds, imports = 60, 0.03, ()

    def __init__(self, folder):
        self.path, self.twin, self.done = folder / "x.wane", self.start(), 0

    def start(self):
        return wane.OnlineConformal("magl-d", alpha=0.1, window=5, history=3)

    def call(self, thing, k):
        """Call number k of an endless sequence."""
        if k % 3 == 0:
            thing.predict(score(k), id=f"{k}")
        elif k % 3 == 1:
            thing.predict(score(k), id=("x", k))
        elif k % 4:
            thing.update(f"{k - 2}", -score(k))
        else:
            thing.expire(f"{k - 2}")

    def attack(self, kill, number):
        def work(pipe):
            every = (3, 50, 1000)[number % 3]
            with wane.Journal(self.path, self.start, sync=number % 2 == 0, compact_every=every) as journal:
                for k in range(self.done, self.done + 20):
                    self.call(journal, k)
                    os.write(pipe, b"%d\n" % (k + 1))

        said, code = child(work, kill)
        assert code in (0, KILLED), f"exit code {code}"
        last = int((whole_lines(said) or [self.done])[-1])
        self.look(last)

    def look(self, last):
        if not self.path.exists():
            assert last == 0, "an acknowledged journal is gone"
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", wane.JournalWarning)
            with wane.Journal(self.path, sync=False) as journal:
                assert last <= journal.sequence <= last + 1, f"{last} acknowledged, {journal.sequence} there"
                while self.done < journal.sequence:
                    self.call(self.twin, self.done)
                    self.done += 1
                assert dumps(journal.object.state_dict()) == dumps(self.twin.state_dict()), "another state"


class KeptAuto(Kept):
    """The same with the method "auto" and two levels."""

    def start(self):
        return wane.OnlineConformal("auto", alpha=[0.1, 0.3], window=5, history=3)


class Served(Kept):
    """serve-lines: every request that was answered is in the journal, and at most one more."""

    steps, seconds, imports = 150, 0.3, ("wane.cli.app", "rich.console")

    def start(self):
        return ManySeries("magl", alpha=0.1, window=100)

    def call(self, thing, k):
        assert Lines(thing).answer(self.request(k))["ok"]

    def request(self, k):
        series = ("north", "south")[k // 4 % 2]
        if k % 4 < 2:
            return {"op": "predict", "output": score(k), "id": f"{k}", "series": series}
        if k % 4 == 2 or k % 3:
            return {"op": "label", "id": f"{k - 2}", "y": -score(k), "series": series}
        return {"op": "expire", "id": f"{k - 2}", "series": series}

    def attack(self, kill, number):
        def work(pipe):
            os.dup2(pipe, 1)
            os.close(pipe)
            arguments = ("--journal", self.path, "--method", "magl", "--compact-every", (7, 100)[number % 2])
            return command("serve-lines", *arguments, *(["--sync"] if number % 3 == 0 else []))

        asked = "".join(json.dumps(self.request(k)) + "\n" for k in range(self.done, self.done + 30))
        said, code = child(work, kill, asked.encode())
        assert code in (0, KILLED), f"exit code {code}"
        answers = [json.loads(line) for line in whole_lines(said)]
        assert all(answer["ok"] for answer in answers), answers
        self.look(self.done + len(answers))


class Run:
    """run --state, a table a day: a day is learned once or not at all, and the output is old or new, never half."""

    steps, seconds, imports = 120, 0.3, ("wane.cli.app", "rich.progress")
    rows, method = 40, "magl"

    def __init__(self, folder):
        self.folder, self.day = folder, 0
        self.state, self.twin = folder / "state", folder / "twin"

    def table(self, day):
        path = self.folder / "in.csv"
        numbers = [score(self.rows * day + t) for t in range(self.rows)]
        path.write_text("id,y,yhat\n" + "".join(f"{'ab'[t % 2]},{y},{t % 3}\n" for t, y in enumerate(numbers)))
        return path

    def play(self, state, out):
        """Play the table in this process, without a kill."""
        return play(str(self.table(self.day)), str(out), Options(method=self.method), str(state)).rows

    def command(self, out):
        """The same as a command."""
        path = self.table(self.day)
        return command("run", path, "--method", self.method, "--state", self.state, "--out", out, "--json")

    def learned(self, state):
        return wane.load(state).rows if state.exists() else 0

    def attack(self, kill, number):
        out, right = self.folder / "out.csv", self.folder / "right.csv"
        before, had = self.learned(self.state), out.read_bytes() if out.exists() else None
        self.play(self.twin, right)
        code = child(lambda pipe: self.command(out), kill)[1]
        assert code in (0, KILLED), f"exit code {code}"
        rows = self.learned(self.state)
        now = out.read_bytes() if out.exists() else None
        assert now in (had, right.read_bytes()), "half an output"
        if rows == before:  # run it again, as somebody would
            self.play(self.state, out)
        else:
            assert rows == before + self.rows and now == right.read_bytes(), f"{rows} rows after {before}"
        try:
            self.play(self.state, out)
        except InputError as error:
            assert "has learned all" in str(error), error
        assert self.learned(self.state) == before + self.rows, "rows were learned twice"
        one, two = (dumps(wane.load(path).state_dict()) for path in (self.state, self.twin))
        assert one == two, "another state"
        assert not [*leftovers(self.state), *leftovers(out), *self.folder.glob("*.lock")], "temporary files stay"
        self.day += 1


class RunPool(Run):
    """The same with series that learn from each other."""

    method = "pool"


class Bench:
    """bench streams: what was computed is found again, every file is whole, and the end is that without kills."""

    steps, seconds, imports = (
        250,
        2.0,
        ("wane.experiments.bench", "matplotlib.figure", "matplotlib.backends.backend_svg"),
    )

    def __init__(self, folder):
        self.folder, self.out, self.right = folder, folder / "out", None
        rng = np.random.default_rng(0)
        for k in range(3):
            numbers = rng.normal(size=300).cumsum()
            lines = [f"{y:.3f},{f:.3f}\n" for y, f in zip(numbers[1:], numbers, strict=False)]
            (folder / f"s{k}.csv").write_text("y,yhat\n" + "".join(lines))

    def play(self, out):
        arguments = ("--streams", self.folder, "--methods", "magl,split", "--workers", 1, "--json")
        return command("bench", "streams", "--out", out, *arguments)

    def board(self, out):
        """The table without the times."""
        with open(out / "leaderboard.csv", newline="") as file:
            return [{k: v for k, v in row.items() if k != "nanoseconds"} for row in csv.DictReader(file)]

    def attack(self, kill, number):
        if self.right is None:
            assert child(lambda pipe: self.play(self.folder / "right"), Kill())[1] == 0
            self.right = self.board(self.folder / "right")
        if number % 3 == 0:
            self.out = self.folder / f"out{number}"
        code = child(lambda pipe: self.play(self.out), kill)[1]
        assert code in (0, KILLED), f"exit code {code}"
        for path in self.out.rglob("*.json"):
            json.loads(path.read_text())
        if number % 3 == 2:
            assert child(lambda pipe: self.play(self.out), Kill())[1] == 0
            assert self.board(self.out) == self.right, "another leaderboard"
            assert not list(self.out.rglob("*.tmp")) and not list(self.out.rglob("*.lock")), "temporary files stay"


DOORS = {
    "save": Save, "journal": Kept, "journal of auto": KeptAuto, "serve-lines": Served, "run --state": Run,
    "run --state of pool": RunPool, "bench": Bench,
}  # fmt: skip


def main(seconds, seed):
    """Kill for so long, the time shared among the doors; counts of kills by door, and of failures."""
    counts = {f"kills of {door}": 0 for door in DOORS} | {"failed": 0}
    for door, kind in DOORS.items():
        for name in kind.imports:  # once for all children, which then begin at once
            importlib.import_module(name)
        chance, end = random.Random(f"{seed} {door}"), time.monotonic() + seconds / len(DOORS)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            target, number = kind(Path(folder)), 0
            while time.monotonic() < end or number < 3:
                kill = Kill(chance, kind.steps, kind.seconds)
                try:
                    target.attack(kill, number)
                except Exception as error:
                    counts["failed"] += 1
                    print(f"{door}, kill {number} of seed {seed}, {kill}: {type(error).__name__}: {error}", flush=True)
                    break
                number += 1
                counts[f"kills of {door}"] += kill.done  # some are over before
    return counts
