"""Signals at random moments: is every label learned whole or not at all?

    python tools/torture/interrupts.py --seconds 60 --seed 0

A timer interrupts calls at random moments with a handler that raises, as Ctrl-C does. A twin of the object gets the
same calls in peace. After each interrupt the object must be what the twin is either before or after the call that was
interrupted, to the last bit of its state; then both go on, so that a hidden difference has time to show. Callbacks for
alarms that raise are thrown in, and there the label must have been learned.
"""

import argparse
import copy
import json
import random
import signal
import time
import uuid
import warnings
from operator import methodcaller

import numpy as np

import wane
from wane.conformal import ManySeries, Quantiles
from wane.panel import GroupedPanel, Groups

ROUNDS = 8  # calls of predict and update before the next interrupt, at most
TIMED = 3  # sequences that are played in peace first, to learn how long one takes


class Interrupted(BaseException):
    """What the handler raises."""


class Single:
    """An ``OnlineConformal``: predictions with ids of several kinds, labels that come late or in another order."""

    def __init__(self, method, alpha=0.1, score="absolute", **settings):
        self.outputs = (lambda x: (x - 1.0, x + 1.0)) if score == "cqr" else float
        self.thing = wane.OnlineConformal(method, score, alpha, history=5, window=10, max_pending=6, **settings)

    def calls(self, rng):
        kind, waiting, made = rng.choice(["whole", "text", "UUID"]), self.thing.pending(), self.thing.predictions
        for t in range(made, made + rng.randrange(1, ROUNDS)):
            key = {"whole": 10 * t, "text": f"t{t}", "UUID": uuid.UUID(int=rng.getrandbits(128))}[kind]
            yield methodcaller("predict", self.outputs(rng.gauss(0, 1)), id=key)
            waiting = [*waiting, key][-6:]
            while waiting and rng.random() < 0.7:
                known = waiting.pop(rng.randrange(len(waiting)))
                yield methodcaller("update", known, rng.gauss(0, 2))


class Replayed(Single):
    """``OnlineConformal.run``, with labels of earlier predictions."""

    def calls(self, rng):
        for _ in range(rng.randrange(1, 4)):
            y = np.random.default_rng(rng.randrange(2**32)).normal(size=rng.randrange(1, 30))
            yield methodcaller("run", np.zeros(len(y)), y, rng.choice([0, 2]))


COLUMNS = ["day", Quantiles("size", 3)]  # groups that overlap


def of_groups(rng, rows):
    """The groups of some rows; from time to time one is new."""
    days = [rng.choice(["mo", "tu", None, f"day {rng.randrange(1000)}"]) for _ in range(rows)]
    return {"day": days, "size": [rng.gauss(0, 1) for _ in range(rows)]}


class InGroups(Single):
    """An ``OnlineConformal`` with groups, step by step and by whole histories."""

    def calls(self, rng):
        for t in range(self.thing.predictions, self.thing.predictions + rng.randrange(1, ROUNDS)):
            groups = {name: values[0] for name, values in of_groups(rng, 1).items()}
            yield methodcaller("predict", self.outputs(rng.gauss(0, 1)), id=f"t{t}", groups=groups)
            yield methodcaller("update", f"t{t}", rng.gauss(0, 2))
        rows = rng.randrange(0, 4)
        yield methodcaller("run", np.zeros(rows), [rng.gauss(0, 2) for _ in range(rows)], groups=of_groups(rng, rows))


class Ahead:
    """``Horizons``: a label is learned by several steps at once."""

    def __init__(self, method, **settings):
        self.linked = method == "acmcp"
        self.thing = wane.Horizons(4, method, alpha=[0.1, 0.3], history=5, window=10, **settings)

    def calls(self, rng):
        start = self.thing.time
        for t in range(start, start + rng.randrange(1, ROUNDS)):
            x = rng.gauss(0, 1)
            groups = {"groups": of_groups(rng, 4)} if self.thing.steps[0].grouping is not None else {}
            yield methodcaller("predict", [x, x, x if self.linked else None, x], **groups)
            yield methodcaller("update", t + 1, rng.gauss(0, 2))


class Named:
    """``ManySeries``."""

    def __init__(self, method):
        self.thing = ManySeries(method, alpha=0.1, history=5, window=10)

    def calls(self, rng):
        t = sum(self.thing[name].predictions for name in self.thing.names())
        for i in range(t, t + rng.randrange(1, ROUNDS)):
            name = rng.choice(["north", "south", None, i // 50])
            yield methodcaller("predict", 0.0, id=i, series=name)
            yield methodcaller("update", i, rng.gauss(0, 2), series=name)


class Many:
    """A ``Panel`` by ticks and by whole histories, with streams that are new, and a warm-up."""

    def __init__(self, method, alpha=0.1, **settings):
        self.thing = wane.Panel(method, alpha, **settings)

    def ids(self, rng):
        return rng.sample(range(len(self.thing) + 3), 3 + rng.randrange(len(self.thing) + 1))

    def calls(self, rng):
        draw = np.random.default_rng(rng.randrange(2**32)).normal
        for _ in range(rng.randrange(1, 4)):
            ids = np.array(self.ids(rng))
            n = len(ids)
            if rng.random() < 0.3:
                yield methodcaller("run", np.repeat(ids, 3), np.zeros(3 * n), draw(size=3 * n))
            else:
                yield methodcaller("predict", ids, np.zeros(n))
                yield methodcaller("update", ids, draw(size=n))


class Grouped(Many):
    """``Groups``: two panels that must agree."""

    def __init__(self, method):
        self.thing = Groups(method, alpha=0.1)

    def calls(self, rng):
        draw = np.random.default_rng(rng.randrange(2**32)).normal
        for _ in range(rng.randrange(1, 4)):
            ids = rng.sample("abcdefgh", rng.randrange(1, 8))
            groups = [rng.choice(["weekday", "weekend"]) for _ in ids]
            yield methodcaller("predict", ids, np.zeros(len(ids)), groups)
            yield methodcaller("update", ids, draw(size=len(ids)))


class ManyInGroups(Many):
    """A ``GroupedPanel`` by ticks and by whole histories."""

    def __init__(self, method, alpha=0.1, **settings):
        self.thing = GroupedPanel(COLUMNS, method, alpha, **settings)

    def calls(self, rng):
        draw = np.random.default_rng(rng.randrange(2**32)).normal
        for _ in range(rng.randrange(1, 4)):
            ids = np.array(self.ids(rng))
            n = len(ids)
            if rng.random() < 0.3:
                rows = np.repeat(ids, 3), np.zeros(3 * n), draw(size=3 * n), of_groups(rng, 3 * n)
                yield methodcaller("run", *rows, rng.choice([0, 2]))
            else:
                yield methodcaller("predict", ids, np.zeros(n), of_groups(rng, n))
                yield methodcaller("update", ids, draw(size=n))


KINDS = {
    "OnlineConformal magl": lambda: Single("magl"),
    "OnlineConformal auto": lambda: Single("auto"),
    "OnlineConformal magl, 3 levels": lambda: Single("magl", [0.05, 0.1, 0.3]),
    "OnlineConformal faci, cqr, 2 levels": lambda: Single("faci", [0.1, 0.3], "cqr", on_unbounded="allow"),
    "OnlineConformal portfolio": lambda: Single("portfolio"),
    "OnlineConformal split": lambda: Single("split", on_unbounded="allow"),
    "OnlineConformal.run magl, 2 levels": lambda: Replayed("magl", [0.1, 0.3]),
    "OnlineConformal magl, 2 levels, groups": lambda: InGroups("magl", [0.1, 0.3], groups=COLUMNS),
    "Horizons magl": lambda: Ahead("magl"),
    "Horizons magl, groups": lambda: Ahead("magl", groups=COLUMNS),
    "Horizons acmcp": lambda: Ahead("acmcp", burn_in=10),
    "ManySeries magl": lambda: Named("magl"),
    "Panel magl": lambda: Many("magl", threads=1),
    "Panel magl, 2 levels, warm-up": lambda: Many("magl", [0.1, 0.3], warm_up=2, epsilon="auto", threads=1),
    "Panel auto": lambda: Many("auto"),
    "Panel pool": lambda: Many("pool"),
    "Panel pool, 2 levels": lambda: Many("pool", [0.1, 0.3]),
    "Panel split": lambda: Many("split", on_unbounded="allow"),
    "Groups magl": lambda: Grouped("magl"),
    "Groups pool": lambda: Grouped("pool"),
    "GroupedPanel magl, 2 levels": lambda: ManyInGroups("magl", [0.1, 0.3]),
    "GroupedPanel pool": lambda: ManyInGroups("pool"),
    "GroupedPanel split": lambda: ManyInGroups("split", on_unbounded="allow"),
}


def plain(thing):
    """The whole state, as text."""
    return json.dumps(thing.state_dict())


def raise_interrupted(number, frame):
    raise Interrupted


def attack(make, interrupts, seed, deadline):
    """Interrupt one kind of object so many times, and count what became of the calls."""
    rng = random.Random(seed)
    case = make()
    twin, counts, length = copy.copy(case.thing), {"interrupts": 0, "whole": 0, "untouched": 0, "torn": 0}, 0.0
    for trial in range(10 * interrupts + TIMED):
        if counts["interrupts"] >= interrupts or time.monotonic() > deadline:
            break
        calls, done, interrupted = list(case.calls(rng)), 0, False
        start = time.perf_counter()
        delay = 0.0 if trial < TIMED else rng.uniform(2e-6, length)
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            for call in calls:
                call(case.thing)
                done += 1
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        except Interrupted:
            interrupted = True
        counts["interrupts"] += interrupted
        if trial < TIMED:
            length = max(length, time.perf_counter() - start)
        for call in calls[:done]:
            call(twin)
        if plain(case.thing) == plain(twin):
            counts["untouched"] += interrupted
            continue
        if done < len(calls):
            calls[done](twin)
        counts["whole"] += 1
        if plain(case.thing) != plain(twin):
            counts["torn"] += 1
            counts["whole"] -= 1
            twin = copy.copy(case.thing)
    return counts


def alarms(rounds, seed):
    """Callbacks that raise: an error of theirs, or a signal in them, comes after the label was learned."""
    rng, raised = random.Random(seed), 0
    torn = 0

    def on_alarm(alarm):
        nonlocal raised
        raised += 1
        raise rng.choice([ValueError, Interrupted])

    for make in (
        lambda f: wane.OnlineConformal("magl", alpha=[0.1, 0.3], window=5, history=5, on_alarm=f),
        lambda f: wane.Horizons(2, "magl", alpha=0.1, window=5, history=5, on_alarm=f),
    ):
        thing, twin = make(on_alarm), make(None)
        for t in range(rounds):
            for each in (thing, twin):
                each.predict(0.0) if isinstance(each, wane.OnlineConformal) else each.predict([0.0, 0.0])
            y = rng.choice([0.0, 5.0]) if t // 10 % 2 else 0.1
            key = t if isinstance(thing, wane.OnlineConformal) else t + 1
            twin.update(key, y)
            try:
                thing.update(key, y)
            except (wane.errors.AlarmError, Interrupted):
                pass
            torn += plain(thing) != plain(twin)
    return {"alarms raised": raised, "torn by alarms": torn}


def main(seconds=60.0, seed=0, interrupts=400):
    """Attack every kind of object; the time is shared among them. Returns counts; "torn" should be 0."""
    before = signal.signal(signal.SIGALRM, raise_interrupted)
    total = {}
    begin = time.monotonic()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = list(KINDS) if wane.compiled() else []  # uncompiled, small windows remain
            for i, name in enumerate(names):
                counts = attack(KINDS[name], interrupts, f"{seed} {name}", begin + seconds * (i + 1) / len(names))
                for key, count in counts.items():
                    total[key] = total.get(key, 0) + count
                if counts["torn"]:
                    total[f"torn: {name}"] = counts["torn"]
            total |= alarms(200, seed)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    print(json.dumps(main(options.seconds, options.seed), indent=2))
