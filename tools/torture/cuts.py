"""Every bit and every cut of a small log and a small snapshot, and spans of them destroyed.

python tools/torture/run.py --only cuts --seconds 60 --seed 0

A cut of the log gives the state after its last whole record, and a changed bit of it is always an error. A changed or
cut snapshot is an error too, unless the change is in a word of its header that says nothing about the state. Whatever
span is destroyed, at most one record is taken for what a crash leaves. No error changes a file, and no byte is lost.
"""

import itertools
import random
import tempfile
import time
import warnings
from pathlib import Path

import wane
from wane.errors import SavedFileError
from wane.state.encoding import dumps
from wane.state.recovery import read_journal

CALLS = 12
FOREIGN = (b"\0", b"\xff", b"\n", b"9", b"a letter to my aunt\n", b'{"wane": "saved", ')


def made(path):
    """A journal with a log of some calls, and the state after each."""
    with wane.Journal(
        path, lambda: wane.OnlineConformal("magl", alpha=0.1, window=3, history=2), sync=False
    ) as journal:
        states = [dumps(journal.object.state_dict())]
        for k in range(CALLS):
            if k % 3 == 2:
                journal.update(f"é {k - 1}", 0.1 * k)
            else:
                journal.predict(1.5 * k, id=f"é {k}")
            states.append(dumps(journal.object.state_dict()))
    return states


def read(path):
    """The number of calls and the state as opening would find them, or None if that would be refused."""
    try:
        found = read_journal(str(path), {})
    except SavedFileError:
        return None
    return found.snapshot + found.replayed, dumps(found.object.state_dict())


def opened(path):
    """The number of calls and the state after opening, or None if that was refused and changed nothing."""
    files = {f: f.read_bytes() for f in path.parent.iterdir()}
    try:
        with wane.Journal(path, sync=False) as journal:
            return journal.sequence, dumps(journal.object.state_dict())
    except SavedFileError:
        assert {f: f.read_bytes() for f in path.parent.iterdir()} == files, "an error changed a file"
        return None


def cuts(raw, chance):
    """Every beginning of a file, in a random order."""
    return ((f"cut after {n} bytes", raw[:n]) for n in chance.sample(range(len(raw)), len(raw)))


def bits(raw, chance):
    """Every bit of a file, changed, in a random order."""
    for n in chance.sample(range(8 * len(raw)), 8 * len(raw)):
        bad = bytearray(raw)
        bad[n // 8] ^= 1 << n % 8
        yield f"bit {n}", bytes(bad)


def spans(raw, chance):
    """Spans of a file overwritten, without end."""
    while True:
        a = chance.randrange(len(raw))
        b = chance.choice([len(raw), chance.randint(a + 1, len(raw))])
        with_what = chance.choice([*FOREIGN, chance.randbytes(7)])
        filled = (with_what * (b - a))[: b - a]
        if filled != raw[a:b]:
            yield f"bytes {a} to {b} are {with_what!r}", raw[:a] + filled + raw[b:]


def main(seconds, seed):
    """Try cuts, bits and spans, each until its share of the time is over; how many there were, and failures."""
    chance, counts, begun = random.Random(seed), {"cuts": 0, "bits": 0, "spans": 0, "failed": 0}, time.monotonic()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "x.wane"
        log, aside = Path(f"{path}.log"), Path(f"{path}.log.dropped")
        states = made(path)
        whole = {path: path.read_bytes(), log: log.read_bytes()}
        ends = [0, *(i + 1 for i, byte in enumerate(whole[log]) if byte == ord("\n"))]
        longest = max(b - a for a, b in itertools.pairwise(ends))

        def tried(file, kind, raw):
            file.write_bytes(raw)
            found = opened(path) if kind == "cuts" else read(path)
            counts[kind] += 1
            if found is not None:
                calls, state = found
                assert state == states[calls], "a state that no call left"
                if file == path:
                    assert calls == CALLS, "calls are lost"
                elif kind == "cuts":
                    kept = log.read_bytes() + (aside.read_bytes()[:-1] if aside.exists() else b"")
                    assert kept == raw, "bytes are lost"
                    aside.unlink(missing_ok=True)
                else:
                    assert len(raw) - ends[calls] <= longest, "more than one record is taken for torn"
                assert kind != "bits" or file == path, "a changed bit was not noticed"
            elif kind == "cuts" and file == log:
                raise AssertionError("a cut was refused")

        def attack(file, kind, attacks, until):
            for what, raw in attacks:
                try:
                    tried(file, kind, raw)
                except AssertionError as error:
                    counts["failed"] += 1
                    print(f"{file.name}, {what}, seed {seed}: {error}", flush=True)
                if time.monotonic() > begun + until:
                    break
            file.write_bytes(whole[file])

        for share, file in ((0.2, path), (0.4, log)):
            attack(file, "cuts", cuts(whole[file], chance), share * seconds)
        for share, file in ((0.65, path), (0.8, log)):
            attack(file, "bits", bits(whole[file], chance), share * seconds)
        for share, file in ((0.9, path), (1.0, log)):
            attack(file, "spans", spans(whole[file], chance), share * seconds)
    return counts
