"""Hostile calls through public doors: does each raise an error of this package, and leave the state alone?

    python tools/torture/hostile_calls.py --seconds 60 --seed 0

Objects are made and called with arguments that nobody should give: text for numbers, numbers beyond every type, arrays
of odd shapes. A call may succeed, or raise a ``WaneError`` with words. Raw errors from inside, changes of the state
after an error, and calls that hang are counted, each with the line that repeats it.
"""

import argparse
import datetime
import decimal
import inspect
import json
import math
import random
import signal
import time
import warnings

import numpy as np

import wane
from wane import conformal, domains, learners, metrics, panel, scores, theory, trackers
from wane.errors import WaneError

LONGEST = 10.0  # seconds of one call
MODULES = (conformal, domains, learners, metrics, panel, scores, theory, trackers)
SHOWN = 20  # failures that are printed
SKIPPED = ("play", "register", "Table", "Record")  # they change the package, or take as long as they are told


INSIDE = ("on_alarm", "level_changed", "reset", "set_row")  # no doors, or meant to change the state


class Odd:
    """An object that is nothing in particular."""

    def __repr__(self):
        return "Odd()"


VALUES = (
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, 2**70, -(2**70), 0.0, 0.1, 0.5, 1.0, -0.5, 1e-320, 1e200, 1e308,
    math.inf, -math.inf, math.nan, "", "x", "magl", "absolute", "0.1", b"x", 1j, (), [], {}, set(), [0.1], [0.1, 0.3],
    (1.0, 2.0), [1.0, math.nan], [[1.0, 2.0], [3.0, 4.0]], [[1.0], [2.0, 3.0]], ["a", "b"], [None], {"a": 1}, Odd(),
    datetime.date(2024, 2, 29), decimal.Decimal("0.1"), np.float32(0.1), np.int64(3), np.bool_(True), np.array(0.5),
    np.zeros(0), np.ones(3), np.ones((2, 3)), np.array(["a", "b"]), np.array([1, 2]), np.array([True, False]), range(3),
    np.datetime64("2024-01-01"), np.array([None, 1.0], dtype=object), lambda *a: 1.0, lambda *a: None,
)  # fmt: skip


class Hung(BaseException):
    """A call took too long."""


def raise_hung(number, frame):
    raise Hung


def objects(rng):
    """Objects with a state and their methods, each new, with some rounds behind it."""
    kind = rng.choice(["oc", "horizons", "series", "panel", "groups", "tracker", "learner", "monitor"])
    if kind == "oc":
        thing = wane.OnlineConformal(
            rng.choice(["magl", "aci"]), alpha=rng.choice([0.1, [0.1, 0.3]]), on_unbounded="allow", history=3
        )
        thing.run(np.zeros(5), np.arange(5.0), delay=2)
    elif kind == "horizons":
        thing = wane.Horizons(2, "magl", alpha=0.1, history=3)
        thing.predict([0.0, 1.0])
    elif kind == "series":
        thing = conformal.ManySeries("magl", alpha=0.1, history=3)
        thing.predict(0.0, series="a")
    elif kind == "panel":
        thing = wane.Panel("magl", rng.choice([0.1, [0.1, 0.3]]), warm_up=rng.choice([0, 2]))
        thing.predict([1, 2], [0.0, 0.0])
    elif kind == "groups":
        thing = panel.Groups("magl")
        thing.predict(["a"], [0.0], ["x"])
    elif kind == "tracker":
        thing = trackers.make(rng.choice(["magl", "auto", "aci", "pid"]), 0.1)
        thing.run([1.0, 2.0, 0.5])
    elif kind == "monitor":
        thing = conformal.Monitor(0.1, 5)
        thing.add(True, 1.0)
    else:
        thing = rng.choice([learners.MagnitudeLearner(), learners.AdaptiveLearner(2), learners.GradientDescent(0.1)])
    names = [n for n in dir(thing) if not n.startswith("_") and callable(getattr(thing, n)) and n not in INSIDE]
    names += [n for n in ("__getitem__",) if hasattr(thing, n)]
    return thing, rng.choice(names)


def functions():
    """Every public class and function of the package."""
    found = []
    for module in MODULES:
        for name in module.__all__:
            made = getattr(module, name)
            raises = inspect.isclass(made) and issubclass(made, BaseException)
            if callable(made) and not raises and name not in SKIPPED:
                found.append((f"{module.__name__}.{name}", made))
    return found


def arguments(rng, function):
    """Values for a call: usually as many as it wants, some of them by name."""
    try:
        names = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):
        names = []
    count = len(names) if rng.random() < 0.8 else rng.randrange(4)
    given = [rng.choice(VALUES) for _ in range(min(count, rng.randrange(6)))]
    keywords = {name: rng.choice(VALUES) for name in names[len(given) :] if rng.random() < 0.3}
    return given, keywords


def state(thing):
    return json.dumps(thing.state_dict()) if hasattr(thing, "state_dict") else None


def wrong_call(error, depth):
    """Whether Python itself has refused the arguments, as it does for every function."""
    return isinstance(error, TypeError) and depth <= 1 and "argument" in str(error)


def main(seconds=60.0, seed=0, calls=100_000):
    """Make hostile calls; returns counts: "raw errors", "changed states" and "hung" should be 0."""
    rng, every = random.Random(seed), functions()
    counts = {"calls": 0, "refused": 0, "raw errors": 0, "changed states": 0, "hung": 0}
    deadline, shown = time.monotonic() + seconds, set()
    before = signal.signal(signal.SIGALRM, raise_hung)

    def failed(what, line, error):
        counts[what] += 1
        place = (
            ""
            if error is None
            else " ".join(
                f"{f.filename.rpartition('wane/')[2]}:{f.lineno}"
                for f in inspect.getinnerframes(error.__traceback__)[-1:]
            )
        )
        if len(shown) < SHOWN and (what, place) not in shown:
            shown.add((what, place))
            print(
                f"{what}, seed {seed}: {line[:300]}: {type(error).__name__}: {str(error)[:150]} at {place}", flush=True
            )

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            while counts["calls"] < calls and time.monotonic() < deadline:
                thing, (name, function) = None, rng.choice(every)
                if rng.random() < 0.5:
                    thing, name = objects(rng)
                    function = getattr(thing, name)
                    name = f"{type(thing).__name__}.{name}"
                given, keywords = arguments(rng, function)
                line = f"{name}(*{given!r}, **{keywords!r})"
                kept = state(thing)
                counts["calls"] += 1
                try:
                    signal.setitimer(signal.ITIMER_REAL, LONGEST)
                    function(*given, **keywords)
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
                    continue
                except WaneError:
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
                    counts["refused"] += 1
                except Hung as error:
                    failed("hung", line, error)
                except Exception as error:
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
                    if not wrong_call(error, len(inspect.getinnerframes(error.__traceback__)) - 1):
                        failed("raw errors", line, error)
                if state(thing) != kept:
                    failed("changed states", line, None)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    print(json.dumps(main(options.seconds, options.seed), indent=2))
