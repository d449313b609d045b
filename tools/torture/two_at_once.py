"""Several processes at once on one file: a state of run, a journal, a saved file. Nothing is lost, and nobody lies.

python tools/torture/run.py --only two_at_once --seconds 60 --seed 0

Of two runs on one state, each has learned its rows and says so, or has changed nothing and says that. A journal has one
owner at a time, and every call that was acknowledged to any of them. A file that many save is always whole.
"""

import contextlib
import functools
import importlib
import os
import random
import tempfile
import time
import warnings
from pathlib import Path

from processes import Kill, child, command

import wane
from wane.errors import InUseError, JournalError
from wane.state.locks import Lock


def together(works):
    """Do some works in processes of their own, all at once; their exit codes."""
    gate, opened = os.pipe()
    children = []
    for work in works:
        process = os.fork()
        if process == 0:
            code = 99
            try:
                os.close(opened)
                os.read(gate, 1)  # until all are there
                code = child(lambda pipe, work=work: work(), Kill())[1]
            finally:
                os._exit(code % 256)
        children.append(process)
    os.close(gate)
    os.close(opened)
    return [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in children]


def runs(folder, chance):
    """Two or three runs with one state; each has 30 rows, and the state has those of the ones that say so."""
    tables = []
    for k in range(chance.choice([2, 3])):
        rows = "".join(f"{chance.random()},{chance.random()}\n" for _ in range(30))
        tables.append(folder / f"{k}.csv")
        tables[-1].write_text("y,yhat\n" + rows)
    state = folder / "state"
    before = wane.load(state).rows if state.exists() else 0

    def work(path):
        out = path.with_suffix(".out.csv")
        return command("run", path, "--method", "magl", "--state", state, "--out", out, "--json")

    codes = together([lambda path=path: work(path) for path in tables])
    assert set(codes) <= {0, 1} and 0 in codes, codes
    rows = wane.load(state).rows if state.exists() else 0
    assert rows == before + 30 * codes.count(0), f"{codes}, but {rows - before} rows"
    return codes.count(1)


def journals(folder, chance):
    """Some processes that open one journal, call and close it; the journal has every call that returned."""
    path, log = folder / "x.wane", folder / "acknowledged"

    def work(seed):
        own = random.Random(seed)
        for _ in range(10):
            try:
                with wane.Journal(path, lambda: wane.OnlineConformal("magl", alpha=0.1), sync=False) as journal:
                    for _ in range(own.randint(1, 5)):
                        journal.predict(1.0)
                        with open(log, "ab", buffering=0) as file:
                            file.write(b"x")
            except JournalError as error:
                assert "open already: " in str(error), error
                with open(folder / "refused", "ab", buffering=0) as file:
                    file.write(b"x")

    codes = together([functools.partial(work, chance.random()) for _ in range(3)])
    assert codes == [0, 0, 0], codes
    with wane.Journal(path, sync=False) as journal:
        assert journal.sequence == log.stat().st_size, f"{log.stat().st_size} acknowledged, {journal.sequence} there"
    return (folder / "refused").stat().st_size if (folder / "refused").exists() else 0


def saves(folder, chance):
    """Two processes that save into one file, which a third reads: it is always one of the two, whole."""
    path = folder / "saved.wane"
    wane.save(path, wane.trackers.make("magl", 0.1), sync=False)

    def save(name):
        for _ in range(30):
            wane.save(path, wane.trackers.make(name, 0.1), sync=False)

    def read():
        for _ in range(30):
            wane.load(path)

    assert together([lambda: save("magl"), lambda: save("split"), read]) == [0, 0, 0]
    return 0


def locks(folder, chance):
    """Four processes that take a lock and give it back: a file that only its owner makes and removes."""
    path, inside = folder / "locked", folder / "inside"

    def work():
        for _ in range(100):
            with contextlib.suppress(InUseError), Lock(path):
                os.close(os.open(inside, os.O_CREAT | os.O_EXCL))  # an error if another is in
                os.unlink(inside)

    assert together([work] * 4) == [0] * 4, "two had the lock"
    return 0


def main(seconds, seed):
    """Attack in turn for so long; how often, how many were refused in words, and failures."""
    importlib.import_module("wane.runs")
    importlib.import_module("wane.cli.app")
    kinds = (runs, journals, saves, locks)
    counts = {kind.__name__: 0 for kind in kinds} | {"refused": 0, "failed": 0}
    end, turn = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while time.monotonic() < end or turn < len(kinds):
            kind = kinds[turn % len(kinds)]
            place = Path(folder) / f"{kind.__name__}{turn // 40}"
            place.mkdir(exist_ok=True)
            for name in ("acknowledged", "refused", "x.wane", "x.wane.log"):
                (place / name).unlink(missing_ok=True)
            try:
                counts["refused"] += kind(place, random.Random(f"{seed} {turn}"))
                counts[kind.__name__] += 1
            except Exception as error:
                counts["failed"] += 1
                print(f"{kind.__name__}, turn {turn} of seed {seed}: {type(error).__name__}: {error}", flush=True)
            turn += 1
    return counts
