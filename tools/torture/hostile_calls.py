"""Hostile calls through public doors: does each raise an error of this package, and leave the state alone?

    python tools/torture/hostile_calls.py --seconds 60 --seed 0

Functions, and methods of objects that have played, are called with arguments that nobody should give: text for numbers,
numbers beyond every type, arrays of odd shapes; beside them are good ones. A call may succeed or raise a ``WaneError``.
Raw errors from inside, changes of the state after an error, and calls that hang are counted, each with the line that
repeats it.
"""

import argparse
import inspect
import json
import os
import random
import signal
import tempfile
import time
import warnings

import numpy as np
from doors import GOOD, HOSTILE, fresh, functions, parameters, settings

from wane.errors import WaneError

LONGEST = 10.0  # seconds of one call
SHOWN = 20  # failures that are printed


class Hung(BaseException):
    """A call took too long."""


def raise_hung(number, frame):
    raise Hung


def arguments(rng, function, thing):
    """Values for a call, by place and by name: some good, some hostile, now and then one too many or too few."""
    wanted, optional, more = parameters(function, thing)
    trust = rng.choice([0.0, 0.5, 0.8])
    value = lambda name: GOOD[name] if name in GOOD and rng.random() < trust else rng.choice(HOSTILE)  # noqa: E731
    given = [value(name) for name in wanted]
    if rng.random() < 0.05:
        given = [rng.choice(HOSTILE) for _ in range(rng.randrange(5))]
        return given, {}
    keywords = {name: value(name) for name in optional if rng.random() < 0.3}
    if more and rng.random() < 0.5:
        keywords |= {name: rng.choice(HOSTILE) for name in rng.sample(settings(), rng.randrange(3))}
    return given, keywords


def state(thing):
    return json.dumps(thing.state_dict()) if hasattr(thing, "state_dict") else None


def wrong_call(error, depth):
    """Whether Python itself has refused the arguments, as it does for every function."""
    return isinstance(error, TypeError) and depth <= 1 and "argument" in str(error)


class Attack:
    """Hostile calls, one after another, and counts of what became of them."""

    def __init__(self, seed):
        self.rng, self.seed, self.every, self.shown = random.Random(seed), seed, list(functions().items()), set()
        self.counts = {"calls": 0, "refused": 0, "raw errors": 0, "changed states": 0, "hung": 0}

    def call(self):
        """One call of a function, or of a method of an object that has played."""
        thing, (name, function) = None, self.rng.choice(self.every)
        if self.rng.random() < 0.5:
            thing, name = fresh(self.rng)
            function = getattr(thing, name)
            name = f"{type(thing).__name__}.{name}"
        given, keywords = arguments(self.rng, function, thing)
        line = f"{name}(*{given!r}, **{keywords!r})"
        kept = state(thing)
        self.counts["calls"] += 1
        try:
            signal.setitimer(signal.ITIMER_REAL, LONGEST)
            function(*given, **keywords)
            return
        except WaneError:
            self.counts["refused"] += 1
        except Hung as error:
            self.failed("hung", line, error)
        except Exception as error:
            if not wrong_call(error, len(inspect.getinnerframes(error.__traceback__)) - 1):
                self.failed("raw errors", line, error)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        if state(thing) != kept:
            self.failed("changed states", line, None)

    def failed(self, what, line, error):
        """Count a failure, and print the first of each place."""
        self.counts[what] += 1
        frames = inspect.getinnerframes(error.__traceback__)[-2:] if error else []
        place = " ".join(f"{f.filename.rpartition('wane/')[2]}:{f.lineno}" for f in frames)
        if len(self.shown) < SHOWN and (what, place) not in self.shown:
            self.shown.add((what, place))
            said = f"{type(error).__name__}: {str(error)[:150]} at {place}" if error else "another state"
            print(f"{what}, seed {self.seed}: {line[:300]}: {said}", flush=True)


def main(seconds=60.0, seed=0, calls=200_000):
    """Make hostile calls; returns counts: "raw errors", "changed states" and "hung" should be 0."""
    attack, deadline = Attack(seed), time.monotonic() + seconds
    here, before = os.getcwd(), signal.signal(signal.SIGALRM, raise_hung)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            os.chdir(folder)  # some calls write files
            while attack.counts["calls"] < calls and time.monotonic() < deadline:
                attack.call()
        finally:
            os.chdir(here)
            signal.signal(signal.SIGALRM, before)
    return attack.counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    print(json.dumps(main(options.seconds, options.seed), indent=2))
