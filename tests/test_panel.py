"""A panel is one OnlineConformal per stream, bit for bit: whatever the order of rows, the chunks, the other streams."""

import copy
import itertools
import json
import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from panel_cases import (
    SCORES,
    Joined,
    Literal,
    Picked,
    agree,
    data,
    full_state,
    interleaved,
    same,
    settings_of,
    some,
    takes,
)

import wane
from wane import OnlineConformal
from wane.panel import Panel

each = pytest.mark.parametrize("name", wane.trackers.names())

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


def exact_state(panel):
    """The state, the waiting labels stream by stream, without the sums of widths: their last bits depend on pieces."""
    panel = copy.copy(panel)
    panel.tail = panel.tail.take(np.argsort(panel.tail.place, kind="stable"))
    panel.tail.radii[np.isnan(panel.tail.radii)] = np.nan  # whatever its sign
    state = panel.state_dict()
    del state["memory"]["widths"], state["parameters"]["threads"]
    return state


# One panel, many OnlineConformal


@each
@pytest.mark.parametrize("score", SCORES)
def test_run_is_one_object_per_stream(name, score):
    if not takes(name, score):
        with pytest.raises(TypeError, match="domain"):
            Panel(name, **settings_of(name, score))
        return
    lengths = (17, 0, 9, 1)
    ids = interleaved(lengths)
    x, y = data(score, len(ids))
    for alpha, delay in ((0.1, 0), ((0.3, 0.1, 0.2), 0), (0.2, 1), ((0.1, 0.4), 5)):
        panel = Panel(name, **settings_of(name, score, alpha))
        made = panel.run(ids, x, y, delay)
        summary = panel.summary()
        for s in np.unique(ids):
            mine = ids == s
            oc = OnlineConformal(name, **settings_of(name, score, alpha))
            table = oc.run(x[mine], y[mine], delay)
            assert agree(Picked(made, mine), table)
            place = summary["id"].index(s)
            judged = np.atleast_2d(
                np.where(np.isnan(Picked(made, mine).lower), math.nan, table.covered).T
            )  # rows with an interval
            labels = int(np.isfinite(judged[0]).sum())
            assert summary["rows"][place] == mine.sum() and summary["labels"][place] == labels
            for a, covered in zip(np.atleast_1d(alpha), judged, strict=True):
                end = f"_{a:g}" if isinstance(alpha, tuple) else ""
                share = 1.0 - np.count_nonzero(covered == 0.0) / labels if labels else math.nan
                assert same(summary[f"coverage{end}"][place], share)


@each
def test_ticks_are_steps(name):
    streams, rounds = 4, 12
    for score in ("absolute", "cqr"):
        if not takes(name, score):
            continue
        panel = Panel(name, **settings_of(name, score, (0.1, 0.3)))
        ocs = [OnlineConformal(name, **settings_of(name, score, (0.1, 0.3))) for _ in range(streams)]
        first = {}  # the id of the prediction that was labelled first
        unbounded_at_first = all(math.isinf(tracker.predict()) for tracker in ocs[0].trackers)
        for t in range(rounds):
            here = np.random.default_rng(t).permutation(streams)[: 1 + t % streams]
            x, y = data(score, len(here), t)
            made = panel.predict(here, x)
            steps = [ocs[s].predict(tuple(x[j].tolist()) if x.ndim == 2 else float(x[j])) for j, s in enumerate(here)]
            assert agree(
                made, SimpleNamespace(**{k: [getattr(p, k) for p in steps] for k in ("lower", "upper", "radius")})
            )
            panel.update(here, y)
            for s, p, label in zip(here, steps, y, strict=True):
                if not math.isnan(label):
                    ocs[s].update(p.id, label)
                    first.setdefault(s, p.id)
        summary = panel.summary()
        for place, s in enumerate(summary["id"]):
            # The metrics of a stream also count its first label, for which no interval was shown unless it is infinite.
            for a in (0.1, 0.3):
                metrics, labels = ocs[s].metrics()[a], summary["labels"][place]
                hidden = metrics.rounds - labels
                assert hidden == (metrics.rounds > 0 and not unbounded_at_first)
                if labels:
                    covered = metrics.rounds * metrics.coverage - hidden * ocs[s].explain(first[s]).covered[a == 0.3]
                    assert summary[f"coverage_{a:g}"][place] * labels == pytest.approx(covered, abs=1e-9)


rows_of_streams = st.lists(st.integers(0, 3), max_size=40)
cuts = st.lists(st.integers(0, 40), max_size=4)


@some
@settings(max_examples=30)
@given(
    rows=rows_of_streams,
    cuts=cuts,
    delay=st.sampled_from([0, 1, 5]),
    warm_up=st.sampled_from([0, 1, 4]),
    seed=st.integers(0, 99),
    several=st.booleans(),
)
@example(rows=[0, 0, 0, 0, 0, 1, 0], cuts=[2, 4], delay=0, warm_up=4, seed=1, several=False)
def test_rows_in_any_order_and_chunks(name, rows, cuts, delay, warm_up, seed, several):
    """Against the plain words, with late and missing labels and a warm-up; chunks, and copies between them, too."""
    ids, (x, y) = np.array(rows, dtype=int), data("absolute", len(rows), seed)
    given = settings_of(name, alpha=(0.1, 0.3) if several else 0.1, warm_up=warm_up)
    whole = Panel(name, **given)
    made = whole.run(ids, x, y, delay)
    for s in np.unique(ids):
        assert agree(Picked(made, ids == s), Literal(name, **given).play(x[ids == s], y[ids == s], delay))

    pieces, at = [], [0, *sorted(min(c, len(rows)) for c in cuts), len(rows)]
    chunked = Panel(name, **given)
    for i, (a, b) in enumerate(itertools.pairwise(at)):
        pieces.append(chunked.run(ids[a:b], x[a:b], y[a:b], delay))
        how = (copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p)), through_json)[i % 4]
        chunked, before = how(chunked), chunked
        assert full_state(chunked) == full_state(before)
    assert agree(Joined(pieces), made)
    assert exact_state(chunked) == exact_state(whole)


def through_json(panel):
    return type(panel).from_state_dict(json.loads(json.dumps(panel.state_dict())))


@some
@pytest.mark.parametrize("warm_up", [0, 3])
@pytest.mark.parametrize("score", ["absolute", "signed"])
def test_runs_and_ticks(name, score, warm_up, tmp_path):
    """Run, ticks, run again: as the plain words have it; saved and loaded at every step."""
    if not takes(name, score):
        return
    given = settings_of(name, score, (0.2, 0.1), warm_up=warm_up)
    for first in (0, 2, 3, 6):  # rows of the first run: in the warm-up, at its end, after it
        n = first + 13
        x, y = data(score, n, first)
        parts, panel = [], Panel(name, **given)
        parts.append(panel.run(["a"] * first, x[:first], y[:first]))
        for t in range(first, first + 6):
            panel = saved_and_loaded(panel, tmp_path)
            parts.append(panel.predict(["a"], x[t : t + 1]))
            panel = saved_and_loaded(panel, tmp_path)
            panel.update(["a"], y[t : t + 1])
        panel = saved_and_loaded(panel, tmp_path)
        parts.append(panel.run(["a"] * 7, x[first + 6 :], y[first + 6 :]))
        assert agree(Joined(parts), Literal(name, **given).play(x, y)), first


def saved_and_loaded(panel, folder):
    wane.save(folder / "panel", panel, sync=False)
    return wane.load(folder / "panel")


def test_labels_that_run_left_late_are_learned_by_the_clock():
    """Predictions of ticks count: a label with delay 2 is known three predictions later, whoever made them."""
    x, y = np.zeros(12), np.arange(12.0)
    panel, oc = Panel("magl"), OnlineConformal("magl", alpha=0.1)
    assert agree(panel.run(np.zeros(5, int), x[:5], y[:5], delay=2), oc.run(x[:5], y[:5], delay=2))
    late = oc.pending()
    made = panel.predict([0], [0.0])
    p = oc.predict(0.0)
    assert made.radius[0] == p.radius
    panel.update([0], [7.0])
    oc.update(p.id, 7.0)
    oc.update(late[0], y[3])  # known from moment 6 on, which is the first row of the next run
    again = panel.run(np.zeros(7, int), x[5:], y[5:], delay=2)
    assert agree(again, rest(oc, late[1], x, y))


def rest(oc, late, x, y):
    """Seven more rows with delay 2, the last late label after the first of them."""
    made = []
    for t in range(5, 12):
        if t == 6:
            oc.update(late, y[4])
        if t >= 8:
            oc.update(made[t - 8].id, y[t - 3])
        made.append(oc.predict(0.0))
    return Joined([Row(p) for p in made])


class Row:
    """One prediction as an array of one."""

    def __init__(self, p):
        self.lower, self.upper, self.radius = np.array([p.lower]), np.array([p.upper]), np.array([p.radius])


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p)), through_json])
@some
def test_copies_are_independent(name, how):
    ids, (x, y) = interleaved((6, 5, 7)), data("absolute", 18)
    panel = Panel(name, **settings_of(name, warm_up=3))
    panel.run(ids, x, y, delay=1)
    panel.predict([0], [0.0])
    before, other = full_state(panel), how(panel)
    other.update([0], [3.0])
    other.run([9, *ids], [0.0, *x], [1.0, *y])
    assert full_state(panel) == before
    again = how(panel)
    other = how(panel)
    again.run(ids, x, y)
    assert full_state(other) == before
    assert agree(panel.run(ids, x, y), how(other).run(ids, x, y))


def test_the_width_of_a_summary_is_the_mean_of_the_finite_ones():
    y = np.random.default_rng(1).normal(size=50)
    one = wane.OnlineConformal("nex", alpha=0.1, on_unbounded="allow")
    one.run(np.zeros(50), y)
    replayed, ticks = (wane.Panel("nex", alpha=0.1, on_unbounded="allow") for _ in range(2))
    replayed.run(np.zeros(50, dtype=int), np.zeros(50), y)
    for label in y:
        ticks.predict([0], [0.0])
        ticks.update([0], [label])
    assert one.metrics().unbounded > 5
    for panel in (replayed, ticks):
        assert panel.summary()["width"][0] == pytest.approx(one.metrics().width, rel=1e-12)


# Streams do not know of one another


@some
@settings(max_examples=30)
@given(
    mine=st.integers(0, 20),
    others=st.lists(st.integers(1, 3), max_size=25),
    where=st.randoms(use_true_random=False),
    delay=st.sampled_from([0, 3]),
    warm_up=st.sampled_from([0, 2]),
)
def test_a_stream_alone_or_among_others(name, mine, others, where, delay, warm_up):
    x, y = data("absolute", mine)
    given = settings_of(name, warm_up=warm_up)
    alone = Panel(name, **given).run(np.full(mine, 7), x, y, delay)
    ids = [7] * mine + others
    where.shuffle(ids)
    ids = np.array(ids, dtype=int)
    all_x, all_y = np.random.default_rng(1).normal(size=(2, len(ids))) * 1e3
    all_x[ids == 7], all_y[ids == 7] = x, y
    panel = Panel(name, **given)
    assert agree(Picked(panel.run(ids, all_x, all_y, delay), ids == 7), alone)


@pytest.mark.parametrize("name", ["magl-d", "aci"])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_and_pieces(name, threads, monkeypatch):
    ids, (x, y) = interleaved((90, 3, 0, 6, 7, 1, 8, 14, 15, 1)), data("absolute", 145)
    for delay in (0, 2, 9):
        for warm_up in (0, 5):
            given = settings_of(name, alpha=(0.1, 0.3), warm_up=warm_up)
            with monkeypatch.context() as patch:
                plain = Panel(name, threads=1, **given)
                wanted = plain.run(ids, x, y, delay)
                patch.setattr("wane.panel.batch.PIECE", 7)
                patch.setattr("wane.panel.ticks.PIECE", 7)
                panel = Panel(name, threads=threads, **given)
                assert agree(panel.run(ids, x, y, delay), wanted)
                everyone = np.array(panel.ids())
                p, q = (a.predict(everyone, np.zeros(len(everyone))) for a in (panel, plain))
                assert agree(p, q)
                for a in (panel, plain):
                    a.update(everyone, np.arange(len(everyone)) + 0.5)
            assert exact_state(panel) == exact_state(plain)
            assert panel.summary()["width_0.1"] == pytest.approx(plain.summary()["width_0.1"], nan_ok=True)
