"""Ticks of the method ``pool`` leave a state that the calls alone decide, whole or not at all."""

import copy
import dis
import json
import sys

import numpy as np
import pytest

import wane
from wane import Panel


def plain(panel):
    return json.dumps(panel.state_dict())


def ticks(panel, score, seed, between=lambda panel: panel):
    """Predict and learn for some of a growing number of series, out of order, with labels that are missing or late."""
    rng, many = np.random.default_rng(seed), score in ("cqr", "normalised")
    for _ in range(8):
        ids = rng.permutation(len(panel) + 3)[: rng.integers(1, len(panel) + 4)]
        outputs = rng.normal(size=(len(ids), 2)) if many else rng.normal(size=len(ids))
        if many:
            outputs[:, 1] = outputs[:, 0] + 1.0 if score == "cqr" else 0.5
        panel.predict(ids, outputs)
        if rng.random() < 0.7:
            order = rng.permutation(len(ids))
            panel.update(ids[order], np.where(rng.random(len(ids)) < 0.3, np.nan, rng.normal(size=len(ids))))
        panel = between(panel)
        yield plain(panel)


def full_of(value):
    """What replaces ``np.empty``: memory in which somebody has left this value."""
    return lambda shape, dtype=float: np.full(shape, value if dtype is float else 1, dtype)


@pytest.mark.parametrize("alpha", [0.1, [0.1, 0.3]])
@pytest.mark.parametrize("score", ["absolute", "signed", "normalised", "cqr"])
def test_no_memory_that_was_never_written_gets_into_a_state(monkeypatch, score, alpha):
    for seed in range(5):
        made = []
        for left in (0.0, 7.0, 1e300):
            monkeypatch.setattr(np, "empty", full_of(left))
            made.append(list(ticks(Panel("pool", alpha, score, on_unbounded="allow", threads=1), score, seed)))
        assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("between", [copy.copy, lambda panel: Panel.from_state_dict(json.loads(plain(panel)))])
def test_copies_and_saved_panels_go_on_with_the_same_bits(between):
    for seed in range(10):
        alone = ticks(Panel("pool"), "absolute", seed)
        assert list(alone) == list(ticks(Panel("pool"), "absolute", seed, between))


def test_a_panel_is_loaded_that_was_saved_before_its_first_label(monkeypatch):
    monkeypatch.setattr(np, "empty", full_of(np.nan))
    panel = Panel("pool")
    panel.predict([4, 2], [0.0, 1.0])
    assert plain(Panel.from_state_dict(panel.state_dict())) == plain(panel)


@pytest.mark.parametrize("method", ["pool", "magl"])
def test_a_stream_that_is_unknown_changes_no_bit_of_the_index(method):
    panel = Panel(method)
    panel.run([0, 1, 2], [0.0] * 3, [1.0, 2.0, 3.0])
    before = plain(panel)
    for ids in ([3], [1, -1], [0, 2**40]):
        with pytest.raises(wane.errors.IdError, match=str(ids[-1])):
            panel.update(ids, [0.0] * len(ids))
        assert plain(panel) == before


class Interrupted(BaseException):
    """What is raised."""


class Signal:
    """A signal at the n-th moment at which the interpreter handles one: when a function begins, or after a call."""

    def __init__(self, n):
        self.left, self.where = n, None

    def __call__(self, frame, event, arg):
        """Follow the functions of the package that are written in Python."""
        if "wane" not in frame.f_globals.get("__name__", "").split(".")[0]:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines, called = True, False, False
        self.moment(frame)

        def follow(frame, event, arg):
            nonlocal called
            if event == "opcode":
                after, called = called, dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("CALL")
                if after:
                    self.moment(frame)
            return follow

        return follow

    def moment(self, frame):
        """Raise if this is the one."""
        self.left -= 1
        if self.left == -1:
            self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            raise Interrupted


def interrupted_everywhere(panel, call, stride=1):
    """Interrupt a call at every moment, one after the other: the panel must be as before it or as after it."""
    done = copy.copy(panel)
    call(done)
    before, after, moments = plain(panel), plain(done), 0
    while True:
        thing, signal = copy.copy(panel), Signal(moments)
        old = sys.gettrace()
        try:
            sys.settrace(signal)
            call(thing)
        except Interrupted:
            pass
        finally:
            sys.settrace(old)
        if signal.where is None:
            break
        assert plain(thing) in (before, after), signal.where
        if plain(thing) == before:
            call(thing)  # nothing hidden is left either
        assert plain(thing) == after, signal.where
        moments += stride
    assert moments > 100
    return done


@pytest.mark.skipif(not wane.compiled(), reason="only the compiled package promises it at every moment")
@pytest.mark.skipif(sys.gettrace() is not None, reason="something else follows the functions")
@pytest.mark.parametrize(("alpha", "stride"), [(0.1, 1), ([0.1, 0.3], 5)])
def test_a_signal_at_any_moment_leaves_a_call_done_or_not_done(alpha, stride):
    panel, rng = Panel("pool", alpha), np.random.default_rng(0)
    for ids in ([2, 0, 5], [7, 2, 0, 9]):  # the second time there are labels, and series that are new
        ids, y = np.array(ids), rng.normal(size=len(ids))
        panel = interrupted_everywhere(panel, lambda p, ids=ids: p.predict(ids, np.zeros(len(ids))), stride)
        panel = interrupted_everywhere(panel, lambda p, ids=ids, y=y: p.update(ids, y), stride)
        rows = (np.repeat(ids, 3), np.zeros(3 * len(ids)), rng.normal(size=3 * len(ids)))
        panel = interrupted_everywhere(panel, lambda p, rows=rows: p.run(*rows, 1), 5 * stride)
