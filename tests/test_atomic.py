"""What ``atomic`` promises, and that whoever calls a class without the promise takes a failed update back.

An update is atomic if it cannot fail: once its input was checked and ``_ready`` has passed it, no step of it raises.
That is proved step by step, on the uncompiled source, which is what is compiled: every line that an update of an
atomic class runs through, in games at the ends of what is allowed, is looked at, and none may hold a step that can
fail. Everything else may fail at any line: there each line fails in turn, and the caller must put the state back.
"""

import ast
import functools
import gc
import inspect
import itertools
import json
import math
import sys
import textwrap

import numpy as np
import pytest
from table import IDS, MAKERS, NEEDS

import wane.trackers.batch
from wane import Horizons, OnlineConformal, Panel, learners
from wane.trackers import Calibrated, Lagged, LossTracker, Pinball, Tracker, UserLoss, make, names
from wane.trackers.registry import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")
COMPILED = wane.trackers.batch.COMPILED
source = pytest.mark.skipif(COMPILED, reason="compiled code has no lines to look at: the same source is, uncompiled")
MAKE = {name: functools.partial(make, name, 0.1, **NEEDS[name]) for name in names()}
MAKE |= {name: make for name, make in zip(IDS, MAKERS, strict=True)}
MAKE |= {
    "published aci": functools.partial(make, "aci", 0.1, published="adaptiveconformal"),
    "published dtaci": functools.partial(make, "dtaci", 0.1, published="adaptiveconformal"),
    "published faci-s": functools.partial(make, "faci-s", 0.1, published=True),
    "a corrected constant": lambda: Calibrated(1.0, alpha=0.1),
    "a corrected magl": lambda: Calibrated(make("magl", 0.1)),
}
ATOMIC = sorted(name for name, make in MAKE.items() if make().atomic)
FALLIBLE = sorted(name for name, make in MAKE.items() if not make().atomic and isinstance(make(), Tracker))
SCORES = [1.0, 2.0, 0.5, 2.0, 0.0, 3.0, 2.0] * 12


# ---- an atomic update has no step that can fail

SAFE = {"abs", "min", "max", "range", "int", "float", "len", "bool"}  # of numbers


def can_fail(step, names):
    """Why a statement might raise; None if it holds arithmetic and calls of this package only, which are looked at."""
    for node in ast.walk(step):
        if isinstance(node, (ast.Raise, ast.Assert, ast.With, ast.Try, ast.Import, ast.ImportFrom)):
            return ast.unparse(node)
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id not in SAFE and not of_this_package(names.get(called.id)):
                return ast.unparse(node)
            if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "np":
                return ast.unparse(node)
    return None


def of_this_package(thing):
    """Whether it is a function whose lines are looked at when it is called."""
    return inspect.isfunction(thing) and thing.__module__.startswith("wane.")


@functools.cache
def statements(code):
    """The innermost statement at each line of a function, without what is nested in it."""
    lines, start = inspect.getsourcelines(code)
    found = {}
    for node in ast.walk(ast.parse(textwrap.dedent("".join(lines)))):
        if isinstance(node, (ast.If, ast.For, ast.While)):
            head = node.test if hasattr(node, "test") else node.iter
            found.update(dict.fromkeys(range(head.lineno, head.end_lineno + 1), head))
        elif isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
            found.update(dict.fromkeys(range(node.lineno, node.end_lineno + 1), node))
    return {start + line - 1: node for line, node in found.items()}


class Watch:
    """The lines of this package that run, and the functions of others that are called."""

    def __init__(self):
        self.lines, self.foreign, self.names = set(), set(), {}

    def __call__(self, frame, event, argument):
        code = frame.f_code
        if "/wane/" not in code.co_filename:
            self.foreign.add(f"{code.co_filename}: {code.co_name}")
            return None
        if event == "line":
            self.lines.add((code, frame.f_lineno))
            self.names[code] = frame.f_globals
        return self

    def of(self, call, *arguments):
        before = sys.gettrace()
        gc.disable()  # other packages have callbacks there, which are no steps of ours
        sys.settrace(self)
        try:
            call(*arguments)
        finally:
            sys.settrace(before)
            gc.enable()

    def doubts(self):
        steps = ((statements(code).get(line), self.names[code]) for code, line in self.lines)
        reasons = (can_fail(step, names) for step, names in steps if step is not None)
        return sorted({reason for reason in reasons if reason} | self.foreign)


def ends_of_what_is_allowed(thing):
    """Calls of ``_update`` with checked input: ordinary, late, and at the ends."""
    if isinstance(thing, Tracker):
        sizes = [0.0, 5e-324, 1e-300, 1.0, 2.0, 1e20, 1e150]
        signed = sizes if thing.domain == "nonnegative" else [*sizes, *(-s for s in sizes)]
        radii, factors = [math.nan, 0.0, 1.0, math.inf, -math.inf], [math.nan, 0.0, 0.5, 1.0, 1.1, 1e300]
        for score, radius, factor in itertools.product(signed, radii, factors):
            yield score, radius, factor
        yield from ((s, math.nan, math.nan) for s in SCORES)
    else:
        for size, factor in itertools.product([0.0, 5e-324, 1.0, -1.0, -1e300, 1e300], [0.0, 0.5, 1.0, 1.1, 1e300]):
            yield np.full(thing.n, size).data, factor


@source
@pytest.mark.parametrize("name", ATOMIC)
def test_no_step_of_an_atomic_update_can_fail(name):
    thing, watch = MAKE[name](), Watch()
    for given in ends_of_what_is_allowed(thing):
        if isinstance(thing, Tracker):
            watch.of(thing._update, *given)
            thing.rounds += 1
        else:
            watch.of(thing._learn, *given)
    assert watch.lines and not watch.doubts()


class Lies(Tracker):
    """It calls a user's function, and says that it cannot fail."""

    parameters = ("alpha",)
    memory = ("rounds", "radius")
    atomic = True

    def __init__(self, alpha):
        super().__init__(alpha)
        self.radius = 0.0

    def _predict(self):
        return self.radius

    def _update(self, score, radius, discount):
        self.radius = json.loads(str(score))


@source
def test_a_lie_is_found():
    watch = Watch()
    watch.of(Lies(0.1)._update, 1.0, math.nan, math.nan)
    assert any("json" in reason for reason in watch.doubts())
    mine = LossTracker(learners.LinearFTRL(), Pinball(0.1))
    watch = Watch()
    with pytest.raises(OverflowError):
        for _ in range(3):
            watch.of(mine.learner._update, -1.7e308, 1.0)
    assert any("raise" in reason for reason in watch.doubts())
    assert can_fail(ast.parse("raise ValueError").body[0], {}) and can_fail(ast.parse("f(x)").body[0], {})


def test_who_is_atomic():
    """A part of a user's may fail, wherever the class around it is defined."""
    assert {"magl", "p-control", "split", "auto", "simple-ogd", "faci-s", "trivial"} <= set(ATOMIC)
    assert not make("pid", 0.1).atomic  # a scorecaster
    assert not make("magl", 0.1, loss=lambda r, s: 0.1 if r > s else -0.9).atomic
    assert not LossTracker(learners.OddMagnitudeLearner(), UserLoss(0.1, lambda r, s: -1.0)).atomic
    assert not LossTracker(Mine(), Pinball(0.1)).atomic and not Calibrated(Broken(0.1)).atomic
    assert not Tracker(0.1).atomic and not learners.Learner().atomic and not Lagged(make("magl", 0.1)).atomic


# ---- whoever calls another one puts it back


class Mine(learners.Learner):
    """A learner of a user's."""

    parameters = ("discount",)
    memory = ("x",)

    def __init__(self, discount=1.0):
        super().__init__(discount)
        self.x = 0.0

    def _predict(self):
        return self.x

    def _update(self, gradient, discount):
        self.x = self.x - gradient


class Stop(Exception):
    """A step that fails."""


class Broken(Tracker):
    """A tracker of a user's whose update has several steps; ``failing`` of them is the one that fails."""

    parameters = ("alpha",)
    memory = ("rounds", "a", "b", "c")
    failing = None

    def __init__(self, alpha):
        super().__init__(alpha)
        self.a = self.b = self.c = 1.0

    def _predict(self):
        return self.a + self.b + self.c

    def _update(self, score, radius, discount):
        for step, name in enumerate("abc"):
            setattr(self, name, getattr(self, name) + score)
            if step == type(self).failing:
                raise Stop


class OfTheHouse(Broken):
    """The same, as if it were defined in this package."""


OfTheHouse.__module__ = "wane.trackers.of_the_house"


def callers(method):
    """Objects with trackers of a method, after some rounds, and a call that learns one label more."""
    oc = OnlineConformal(method(), on_unbounded="allow")
    oc.run([0.0] * 9, SCORES[:9])
    p = oc.predict(0.0)
    yield oc, lambda: oc.update(p.id, 1.5)
    several = OnlineConformal([method(), method(0.3)], on_unbounded="allow")
    several.run([0.0] * 9, SCORES[:9])
    q = several.predict(0.0)
    yield several, lambda: several.update(q.id, 1.5)
    alone = method()
    alone.run(SCORES[:9])
    yield alone, lambda: alone.run([1.0, 1.5])


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("cls", [Broken, OfTheHouse])
def test_a_failed_update_is_put_back(cls, failing, monkeypatch):
    """By one level and several, by a batch, by horizons and by a panel; it does not matter where a class is defined."""
    for thing, learn in callers(lambda alpha=0.1: cls(alpha)):
        before = json.dumps(thing.state_dict())
        monkeypatch.setattr(cls, "failing", failing)
        with pytest.raises(Stop):
            learn()
        monkeypatch.setattr(cls, "failing", None)
        assert json.dumps(thing.state_dict()) == before
        learn()
        assert json.dumps(thing.state_dict()) != before
    monkeypatch.setitem(METHODS, "broken", lambda alpha: cls(alpha))
    panel, steps = Panel("broken", 0.1), Horizons(2, "broken", alpha=0.1)
    panel.predict([0, 1], [0.0, 0.0])
    steps.predict([0.0, 0.0])
    steps.predict([0.0, 0.0])
    for thing, learn in ((panel, lambda: panel.update([0, 1], [1.0, 1.5])), (steps, lambda: steps.update(2, 1.5))):
        before = json.dumps(thing.state_dict())
        monkeypatch.setattr(cls, "failing", failing)
        with pytest.raises(Stop):
            learn()
        monkeypatch.setattr(cls, "failing", None)
        assert json.dumps(thing.state_dict()) == before
        learn()


@source
@pytest.mark.parametrize("name", FALLIBLE)
def test_each_line_of_an_update_fails_in_turn(name):
    """Of a method that makes no promise: after a failure at any line the object is as before, or it was the last."""
    oc = OnlineConformal(MAKE[name](), on_unbounded="allow")
    oc.run([0.0] * 30, SCORES[:30])
    tracker, failed = oc.trackers[0], 0
    for k in range(10_000):
        p = oc.predict(0.0)
        before = json.dumps(oc.state_dict())
        lines = itertools.count()

        def fail(frame, event, argument, k=k, lines=lines):
            if "/wane/trackers/" not in frame.f_code.co_filename and "/wane/learners/" not in frame.f_code.co_filename:
                return None
            if event == "line" and inside(frame, tracker) and next(lines) == k:
                raise Stop
            return fail

        kept = sys.gettrace()
        sys.settrace(fail)
        try:
            oc.update(p.id, 1.5)
        except Stop:
            failed += 1
        else:
            break
        finally:
            sys.settrace(kept)
        assert json.dumps(oc.state_dict()) == before
        oc.update(p.id, 1.5)
    assert failed > 5


def inside(frame, tracker):
    """Whether a line belongs to an update, and not to a prediction or to a copy."""
    while frame is not None:
        if frame.f_code.co_name == "_ingest" and frame.f_locals.get("self") is tracker:
            return True
        frame = frame.f_back
    return False
