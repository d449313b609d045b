"""A process forks while other threads are at work: the child does not hang, and nothing in it is half changed."""

import contextlib
import gc
import json
import os
import signal
import threading

import numpy as np
import pytest

import wane
from wane.conformal import ManySeries
from wane.errors import ForkError
from wane.panel import Groups
from wane.state import forks

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of Python 3.12: threads and forks
    pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning"),  # of jax, if another test has imported it
    pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning"),
]
SECONDS = 60  # after which a child that hangs is killed


def in_child(work):
    """The result of a function in a forked child, as plain data; a child that hangs is an error."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        try:
            os.write(writing, json.dumps(work()).encode())
        except BaseException as error:
            os.write(writing, json.dumps({type(error).__name__: str(error)}).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said = file.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with {status}: it hung"
    return json.loads(said)


def many_series():
    return ManySeries("magl", alpha=0.1, history=3)


def conformal():
    return wane.OnlineConformal("magl", alpha=[0.1, 0.3], history=3)


STEPS = {
    "OnlineConformal": (conformal, lambda oc, t: oc.update(oc.predict(0.0), 1.0 + t % 3)),
    "OnlineConformal.run": (conformal, lambda oc, t: oc.run(np.zeros(50), np.arange(50.0))),
    "Horizons": (
        lambda: wane.Horizons(2, "magl", alpha=0.1, history=3),
        lambda hz, t: (hz.predict([0.0, 1.0]), hz.update(hz.time, 1.0)),
    ),
    "ManySeries": (many_series, lambda many, t: many.update(many.predict(0.0, series=t % 3), 1.0, series=t % 3)),
    "Panel": (
        lambda: wane.Panel("magl", alpha=0.1),
        lambda panel, t: (
            (panel.predict([1, 2, t % 5], [0.0] * 3), panel.update([1, 2], [1.0, 2.0])) if t % 5 > 2 else None
        ),
    ),
    "Panel, pooled": (
        lambda: wane.Panel("pool", alpha=[0.1, 0.3]),
        lambda panel, t: (panel.predict([1, 2], [0.0] * 2), panel.update([1, 2], [1.0, t % 3])),
    ),
    "Groups": (
        lambda: Groups("magl", alpha=0.1),
        lambda groups, t: (groups.predict(["a"], [0.0], [t % 3]), groups.update(["a"], [1.0])),
    ),
}


@contextlib.contextmanager
def at_work(step, thing):
    """A thread that makes calls until the block is over."""
    over, begun = threading.Event(), threading.Event()

    def work():
        t = 0
        while not over.is_set():
            step(thing, t)
            t += 1
            begun.set()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("kind", STEPS)
def test_a_child_goes_on_from_between_two_calls(kind):
    make, step = STEPS[kind]
    thing = make()

    def child():
        again = type(thing).from_state_dict(json.loads(json.dumps(thing.state_dict())))  # which is checked
        step(thing, 3)
        step(again, 3)
        return json.dumps(thing.state_dict()) == json.dumps(again.state_dict())

    with at_work(step, thing):
        for _ in range(10):
            assert in_child(child) is True


def test_an_object_that_is_in_use_for_long_refuses_in_the_child(monkeypatch):
    monkeypatch.setattr(forks, "PATIENCE", 0.05)
    oc, other = conformal(), conformal()
    inside, over = threading.Event(), threading.Event()

    def long_call():
        with oc._lock:
            inside.set()
            over.wait()

    thread = threading.Thread(target=long_call)
    thread.start()
    inside.wait()
    try:
        said = in_child(lambda: oc.predict(0.0).id)
        assert "fork while no thread uses it" in said["ForkError"]
        assert in_child(lambda: other.predict(0.0).id) == 0
    finally:
        over.set()
        thread.join()
    assert oc.predict(0.0).id == 0  # in the parent everything goes on
    assert issubclass(ForkError, wane.errors.WaneError)


def test_a_thread_may_fork_inside_a_call():
    told = []
    oc = wane.OnlineConformal("magl", alpha=0.1, window=2, band=(0.9, 1.0), on_alarm=lambda a: told.append(child()))

    def child():
        return in_child(lambda: oc.predict(0.0).id)

    for t in range(4):
        oc.update(oc.predict(0.0).id, 10.0**t)
    assert told and all(isinstance(id, int) for id in told)


def test_the_journal_of_the_parent_is_refused_in_words(tmp_path):
    path = tmp_path / "journal.wane"
    with wane.Journal(path, start=conformal, sync=False) as journal:
        with at_work(lambda j, t: j.update(j.predict(0.0).id, 1.0), journal):
            for _ in range(5):
                said = in_child(lambda: journal.predict(0.0).id)
                assert "was opened before a fork: open it in the process that uses it" in said["JournalError"]
        calls, state = journal.sequence, journal.object.state_dict()
    with wane.Journal(path) as again:
        assert again.sequence == calls and again.object.state_dict() == state


def test_objects_that_are_gone_are_forgotten():
    gc.collect()  # what other tests have left
    before = len(forks.OWNERS)
    objects = [conformal() for _ in range(10)]
    assert len(forks.OWNERS) == before + 10
    del objects
    assert len(forks.OWNERS) <= before
