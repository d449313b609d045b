"""Hostile states: every number, every length and every type in the state of every class, set to what no rounds leave.

python tools/torture/hostile_states.py --seconds 60 --seed 0

Each attack changes one place of one state, loads it in a child process, plays 100 rounds and saves. Allowed are an
error of wane, when it is loaded or when it plays, and an object that plays numbers. Anything else is a failure: a
crash, a hang, memory beyond what the state holds, another exception, one that is lost in compiled code, or NaN. A seed
gives the same attacks in the same order; ``--only`` plays one again. Every state has its turn: the first attacks on
each come first.
"""

import argparse
import base64
import collections
import copy
import importlib.util
import json
import math
import os
import random
import resource
import select
import signal
import struct
import sys
import time
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent.parent
spec = importlib.util.spec_from_file_location("write_fixtures", ROOT / "tools" / "write_fixtures.py")
fixtures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixtures)

import table  # noqa: E402  (write_fixtures has put it in the path)

from wane import learners, metrics, trackers  # noqa: E402
from wane.conformal import ManySeries, Monitor, OnlineConformal, Quantiles  # noqa: E402
from wane.errors import WaneError  # noqa: E402
from wane.order_statistics import OrderStatistics  # noqa: E402
from wane.panel import GroupedPanel, Groups, Panel  # noqa: E402
from wane.state.encoding import dumps, loads  # noqa: E402
from wane.state.files import payload, rebuilt  # noqa: E402
from wane.state.recovery import Snapshot  # noqa: E402
from wane.trackers.history import History  # noqa: E402
from wane.trackers.lagged import Lagged  # noqa: E402

NUMBERS = (-1, 0, 10**9, 2**31, 2**63, -(2**63), 1e308, -1e308, math.nan, math.inf, 0.5)
OTHERS = ("text", None, [], {}, True)
LONG = 12  # of an array that has more entries, as many are attacked, chosen by the seed
ROUNDS = 100
ROOM = 1 << 30  # bytes that an attack may use beyond what the process has
PATIENCE = 30  # seconds
COLUMNS = ["day", Quantiles("size", 3)]  # of groups
ROWS = "rows of a panel"


# What is attacked


def others():
    """Objects of the classes, and with the arguments, that tests/saved has no file of."""
    made = {
        "aci-window": trackers.make("aci", 0.1, window=30),
        "faci-window": trackers.QuantileExperts(0.1, window=30),
        "lagged": Lagged(trackers.make("magl", 0.1)),
        "auto-epsilon": trackers.make("magl-d", 0.1, epsilon="auto"),
        "linear-features": trackers.make("linear-tracker", 0.1, order=3, features=2),
        "real": trackers.make("auto", 0.1, domain="real"),
        "monitor": Monitor(0.1, 7),
        "history": History(7),
        "order-statistics": OrderStatistics(),
        "many-series": ManySeries("magl", alpha=0.1, window=5),
        "panel-window": Panel("trailing-window", alpha=0.1, window=10, on_unbounded="allow"),
        "panel-auto": Panel("auto", alpha=0.1),
        "panel-pool": Panel("pool", [0.1, 0.3]),
        "groups-pool": Groups("pool", alpha=0.1),
        "panel-levels": Panel("simple-ogd", [0.1, 0.2], "cqr"),
        "conformal-auto": OnlineConformal("auto", alpha=0.1, window=5, history=4, max_pending=6),
        "conformal-groups": OnlineConformal("magl", alpha=[0.1, 0.3], window=5, history=4, groups=COLUMNS),
        "grouped": GroupedPanel(COLUMNS, "magl", [0.1, 0.3]),
        "grouped-pool": GroupedPanel(COLUMNS, "pool"),
        "journal": Snapshot(3, OnlineConformal("magl", alpha=0.1, window=5, history=4)),
    }
    for name in metrics.__all__:
        cls = getattr(metrics, name)
        if isinstance(cls, type) and hasattr(cls, "state_dict"):
            known = {"alpha": 0.1, "k": 10}
            made[f"metric-{name}"] = cls(**{k: v for k, v in known.items() if k in cls.parameters})
    return made


def rows_of(panel):
    """The state of a panel as rows of bytes, in plain data."""
    play(panel, 20)
    ids, rows = panel.rows()
    shared = panel.shared()
    made = {"class": ROWS, "ids": ids, "rows": [{"hex": row.hex()} for row in rows]}
    return {**made, "shared": None if shared is None else {"hex": shared.hex()}}


def from_hex(row):
    return bytes.fromhex(row["hex"]) if isinstance(row, dict) and "hex" in row else row


def loaded(state, given):
    """The object whose state this is."""
    if not isinstance(state, dict) or state.get("class") != ROWS:
        return rebuilt(state, dict(given))
    rows, shared = state["rows"], state["shared"]
    rows = [from_hex(row) for row in rows] if isinstance(rows, list) else rows
    return Panel.from_rows(given, state["ids"], rows, from_hex(shared))


def targets():
    """The state of each kind of object, and the arguments that plain data cannot hold, by name."""
    found = {}
    for name, make in fixtures.makers().items():
        thing = make()
        given = table.objects(thing) if isinstance(thing, learners.Learner) else {}
        path = fixtures.SAVED / f"{name}.wane"
        found[name] = payload(path.read_bytes(), str(path)), given
    for name, thing in others().items():
        if name == "auto-epsilon":
            thing.warm_start([1.0, 2.0, 3.0])
        play(thing, 20)
        found[name] = loads(dumps(thing.state_dict())), {}
    for method in ("magl", "auto", "pool", "split"):
        settings = {"method": method, "alpha": 0.1, "on_unbounded": "allow"}
        found[f"rows-{method}"] = rows_of(Panel(**settings)), settings
    for state, given in found.values():
        loaded(state, given)  # what is not attacked is loaded, or the attacks would say nothing
    return found


def play(thing, rounds):
    """Let the object predict and learn for so many rounds, in a batch and one at a time; NaN is an error."""
    given = fixtures.inputs(thing, 0, rounds)
    if isinstance(thing, Snapshot):
        play(thing.object, rounds)
    elif isinstance(thing, (OnlineConformal, GroupedPanel)) and getattr(thing, "grouping", True):
        play_groups(thing, given)
    elif isinstance(thing, ManySeries):
        for i, x in enumerate(given):
            series = "ab"[i % 2]
            refuse_nan(thing.update(thing.predict(x, series=series).id, 1.0, series=series).explanation.radius)
    elif isinstance(thing, Monitor):
        thing.run([x > 1.0 for x in given], given)
    elif isinstance(thing, History):
        for x in given:
            thing.push(x)
            refuse_nan(thing.bag.select(thing.bag.size // 2), thing.bag.count_below(x))
    elif isinstance(thing, OrderStatistics):
        for x in given:
            thing.insert(x)
            refuse_nan(thing.select(thing.size // 2), thing.count_at_most(x))
        for x in given:
            thing.remove(x)
    elif type(thing).__module__.startswith("wane.metrics"):
        feed(thing, given)
    elif isinstance(thing, Panel) and hasattr(thing.settings.score, "pair"):
        thing.run([t % 3 for t in range(rounds)], [(x, x + 1.0) for x in given], [1.0] * rounds)
    else:
        refuse_nan(*flat(fixtures.go_on(thing, given)))
        if isinstance(thing, (learners.Learner, trackers.Tracker)):
            for x in given[:20]:
                refuse_nan(*np.ravel(thing.predict()).tolist())
                thing.update(x)
        elif isinstance(thing, Panel):
            for x in given[:20]:
                thing.predict([0, 1], [x, x])
                thing.update([0, 1], [1.0, x])


def play_groups(thing, given):
    """Let an object with groups play a batch, and then rounds one at a time."""
    rows = len(given)
    groups = {"day": [("mo", "tu", None)[t % 3] for t in range(rows)], "size": given}
    if isinstance(thing, GroupedPanel):
        thing.run([t % 3 for t in range(rows)], given, [1.5] * rows, groups, delay=2)
        for t, x in enumerate(given[:20], 1):
            made = thing.predict([0, t], [x, x], {"day": ["mo", t], "size": [x, 1.0]})
            refuse_nan(*made.radius[0].ravel().tolist())
            thing.update([0, t], [1.0, x])
    else:
        refuse_nan(*thing.run(given, [1.5] * rows, 2, groups=groups).radius.ravel().tolist())
        for t, x in enumerate(given[:20]):
            thing.update(thing.predict(x, groups={"day": t, "size": x}).id, 1.0)
    thing.group_metrics()


def feed(metric, given):
    """Let a metric see rounds, whatever it wants of them."""
    if isinstance(metric, metrics.Recovery):
        metric.shift()
    for x in given:
        hit = x > 1.0
        for arguments in ((hit,), (math.floor(x),), (2.0, x), (0.0, 2.0, x), (x, hit)):
            try:
                metric.add(*arguments)
            except (TypeError, ValueError):
                continue
            break
        else:
            raise AssertionError(f"{metric!r} takes none of the rounds that are known here")
    assert metric.value is not None


def flat(numbers):
    for x in numbers:
        if isinstance(x, list):
            yield from flat(x)
        else:
            yield x


class Played(Exception):
    """An object that played NaN."""


def refuse_nan(*numbers):
    for x in numbers:
        if isinstance(x, float) and x != x:
            raise Played("NaN")


# The attacks


def places(data, rng, path=()):
    """The path to every number, every array and every packed array in plain data."""
    if isinstance(data, dict):
        if "base64" in data:
            yield (*path, "$packed"), data
        if "hex" in data:
            yield (*path, "hex"), data
            return
        for key, value in data.items():
            if key != "class":
                yield from places(value, rng, (*path, key))
    elif isinstance(data, list):
        yield path, data
        entries = range(len(data))
        chosen = entries if len(data) <= LONG else sorted(rng.sample(entries, LONG))
        for i in chosen:
            yield from places(data[i], rng, (*path, i))
    elif isinstance(data, (int, float)) and not isinstance(data, bool):
        yield path, data


def attacks(data, rng):
    """Every attack on a state: a path, and what is put there."""
    for path, value in places(data, rng):
        if path and path[-1] == "$packed":
            yield from ((path, new) for new in packed(value, rng))
        elif path and path[-1] == "hex":
            yield from ((path, new.hex()) for new in changed_bytes(bytes.fromhex(value["hex"]), rng))
        elif isinstance(value, list):
            for new in ([], value[:-1], [*value, *value[-1:]], value * 3, [value], ["text"] * len(value), None, 1.0):
                yield path, new
        else:
            yield from ((path, new) for new in (*NUMBERS, *OTHERS))


def packed(data, rng):
    """A packed array with one entry changed, cut, longer, or of another type."""
    raw, kind = base64.b64decode(data["base64"]), np.dtype(data["dtype"])
    array = np.frombuffer(raw, dtype=kind)
    for i in rng.sample(range(array.size), min(array.size, LONG)):
        for value in NUMBERS:
            new = array.copy()
            with np.errstate(all="ignore"):
                try:
                    new[i] = value
                except (OverflowError, ValueError):
                    continue
            yield data | {"base64": base64.b64encode(new.tobytes()).decode()}
    for bytes_ in (b"", raw[:-1], raw + raw):
        yield data | {"base64": base64.b64encode(bytes_).decode()}
    for dtype in ("<f4", "<U1000000000", "V1000000000", "O", "(1000000000,)f8", ">f8", "<i8", "<c16", "M8[s]", "x"):
        yield data | {"dtype": dtype}
    for shape in ([], [10**12], [-1], [0], [2**40, 2**40], [0.5]):
        yield data | {"shape": shape}


def changed_bytes(row, rng):
    """Bytes in which a number is written over others, anywhere, and bytes that are cut or longer."""
    for at in rng.sample(range(len(row) - 7), min(len(row) - 7, 5 * LONG)):
        for value in NUMBERS:
            new = struct.pack("<d", value) if isinstance(value, float) else (value % 2**64).to_bytes(8, "little")
            yield row[:at] + new + row[at + 8 :]
    for end in rng.sample(range(len(row)), min(len(row), LONG)):
        yield row[:end]
    yield row + row
    yield row + b"\0"


def changed(data, path, new):
    """A copy of plain data with one place changed."""
    data = copy.deepcopy(data)
    if path and path[-1] == "$packed":
        path = path[:-1]
    if not path:
        return new
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return data


def attack(state, given):
    """What became of a state: a word. Words in ``ALLOWED`` are good."""
    try:
        thing = loaded(state, given)
    except WaneError as error:
        return "memory" if short_of_memory(error) else "refused"
    except BaseException as error:
        return f"{type(error).__name__} when it was loaded: {error}"
    try:
        play(thing, ROUNDS)
        loads(dumps(thing.state_dict()))
    except WaneError:
        return "declined"
    except BaseException as error:
        return f"{type(error).__name__} when it played: {error}"
    return "played"


def short_of_memory(error):
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


ALLOWED = ("refused", "declined", "played")


# Children


def work(listed, states, first, out):
    """In a child: do the attacks from the first on, and write a line before and after each."""
    lost = []
    sys.unraisablehook = lambda what: lost.append(repr(what.exc_value))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if Path("/proc/self/statm").exists() else 0
    if pages:
        limit = pages * resource.getpagesize() + ROOM
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for i in range(first, len(listed)):
        name, path, new = listed[i]
        state, given = states[name]
        os.write(out, b"%d\n" % i)
        lost.clear()
        outcome = attack(changed(state, path, new), given)
        outcome = f"lost in compiled code: {lost[0]}" if lost else outcome
        os.write(out, json.dumps([i, outcome]).encode() + b"\n")


def lines(descriptor, deadline):
    """The lines that a child writes, until it ends; None when it says nothing for too long."""
    rest = b""
    while True:
        if not select.select([descriptor], [], [], PATIENCE)[0]:
            yield None
            return
        read = os.read(descriptor, 1 << 16)
        if not read:
            return
        *whole, rest = (rest + read).split(b"\n")
        yield from whole
        if time.monotonic() > deadline:
            return


def outcomes(listed, states, deadline):
    """What became of each attack, in order, until the time is over."""
    next_one = 0
    while next_one < len(listed) and time.monotonic() < deadline:
        readable, writable = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.close(readable)
                work(listed, states, next_one, writable)
            finally:
                os._exit(0)
        os.close(writable)
        at, silent = next_one, False
        for line in lines(readable, deadline):
            if line is None:
                silent = True
            elif line.startswith(b"["):
                at, outcome = json.loads(line)
                yield at, outcome
                at += 1
            else:
                at = int(line)
        os.close(readable)
        over = time.monotonic() > deadline
        if silent or over:
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if silent:
            yield at, f"no end in {PATIENCE} seconds"
        elif os.WIFSIGNALED(status) and not over:
            yield at, f"killed by signal {os.WTERMSIG(status)}"
        elif over:
            return
        next_one = at + 1 if silent or os.WIFSIGNALED(status) else len(listed)


def described(listed, states, i):
    name, path, new = listed[i]
    was = states[name][0]
    for key in path:
        was = was if key == "$packed" else was[key]
    shown = [text if len(text) < 60 else text[:57] + "..." for text in (repr(was), repr(new))]
    return f"attack {i}: {name} {'/'.join(map(str, path))}: {shown[0]} -> {shown[1]}"


def plan(seed, name=None):
    """The states, and all attacks on them in the order in which they are made."""
    rng = random.Random(seed)
    states = targets()
    turns = []
    for n, (state, _) in states.items():
        if name in (None, n):
            own = list(attacks(state, rng))
            rng.shuffle(own)
            turns += [(turn, rng.random(), n, path, new) for turn, (path, new) in enumerate(own)]
    turns.sort(key=lambda t: t[:2])
    return states, [t[2:] for t in turns]


def main(seconds, seed, name=None):
    """Attack for so many seconds; returns how many there were of each outcome, and prints every failure."""
    states, listed = plan(seed, name)
    counts = collections.Counter({word: 0 for word in (*ALLOWED, "failed")})
    for i, outcome in outcomes(listed, states, time.monotonic() + seconds):
        counts[outcome if outcome in ALLOWED else "failed"] += 1
        if outcome not in ALLOWED:
            print(f"{described(listed, states, i)}: {outcome}", flush=True)
    made = f"{counts.total()} of {len(listed)} attacks on {len(states)} states"
    print(f"hostile states, seed {seed}: {made}: {dict(counts)}")
    return dict(counts)


def again(seed, i, name=None):
    """Make one attack in this process, where a debugger sees it."""
    states, listed = plan(seed, name)
    state, given = states[listed[i][0]]
    print(f"{described(listed, states, i)}: {attack(changed(state, *listed[i][1:]), given)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after so long; without it, play all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="play the attack with this number, in this process")
    parser.add_argument("--name", help="attack this state only; numbers of attacks differ then")
    options = parser.parse_args()
    warnings.simplefilter("ignore", trackers.CoverageWarning)
    if options.only is not None:
        again(options.seed, options.only, options.name)
    elif main(options.seconds, options.seed, options.name)["failed"]:
        sys.exit(1)
