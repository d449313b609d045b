"""Signals at random moments and callbacks that raise: a label is learned whole or not at all."""

import importlib.util
import json
import os
import signal
import time
from pathlib import Path

import pytest

import wane

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers that interrupt")


@pytest.fixture(scope="module")
def torture():
    spec = importlib.util.spec_from_file_location("interrupts", ROOT / "tools" / "torture" / "interrupts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def interrupting(torture):
    before = signal.signal(signal.SIGALRM, torture.raise_interrupted)
    yield torture
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


KINDS = (
    *("OnlineConformal magl", "OnlineConformal auto", "OnlineConformal magl, 3 levels", "Horizons magl"),
    *("OnlineConformal faci, cqr, 2 levels", "OnlineConformal.run magl, 2 levels", "ManySeries magl"),
    *("OnlineConformal split", "Panel magl", "Panel magl, 2 levels, warm-up", "Panel split", "Groups magl"),
    *("OnlineConformal portfolio", "Panel auto", "Panel pool", "Panel pool, 2 levels", "Groups pool"),
    *("OnlineConformal magl, 2 levels, groups", "GroupedPanel magl, 2 levels", "GroupedPanel pool"),
    *("GroupedPanel split", "Horizons magl, groups", "Horizons acmcp"),
)


@pytest.mark.skipif(not wane.compiled(), reason="only the compiled package promises it at every moment")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupt_leaves_a_call_done_or_not_done(interrupting, kind):
    counts = interrupting.attack(interrupting.KINDS[kind], 150, f"test {kind}", time.monotonic() + 3.0)
    assert counts["interrupts"] and counts["torn"] == 0, counts


def test_all_kinds_are_tested(torture):
    assert set(KINDS) == set(torture.KINDS)


@pytest.mark.filterwarnings("ignore")
def test_an_alarm_that_raises_comes_after_the_label_was_learned(torture):
    counts = torture.alarms(100, seed=1)
    assert counts["alarms raised"] > 5 and counts["torn by alarms"] == 0


class Slow(wane.trackers.Tracker):
    """A tracker in Python that is interrupted in the middle of an update."""

    parameters = ("alpha",)
    memory = ("rounds", "radius")
    atomic = True  # nothing in it can fail by itself

    def __init__(self, alpha):
        super().__init__(alpha)
        self.radius = 1.0

    def _predict(self):
        return self.radius

    def _update(self, score, radius, discount):
        self.radius = 0.5 * self.radius + score
        if self.radius > 100.0:
            os.kill(os.getpid(), signal.SIGALRM)  # the handler runs before the next line
        self.rounds = self.rounds + 0


def test_a_tracker_in_python_is_put_back(interrupting):
    levels = [wane.trackers.make("magl", 0.3), Slow(0.1)]
    oc = wane.OnlineConformal(levels, alpha=[0.3, 0.1])
    for y in (1.0, 2.0):
        oc.update(oc.predict(0.0).id, y)
    p = oc.predict(0.0)
    before = json.dumps(oc.state_dict())
    with pytest.raises(interrupting.Interrupted):
        oc.update(p.id, 1000.0)
    assert json.dumps(oc.state_dict()) == before
    oc.update(p.id, 1.0)
