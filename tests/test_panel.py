"""A panel is one OnlineConformal per stream, bit for bit: whatever the order of rows, the chunks, the other streams."""

import copy
import inspect
import itertools
import json
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import wane
from wane import OnlineConformal
from wane.conformal.predictions import IdError, UnboundedError
from wane.panel import Panel
from wane.panel.index import Index
from wane.trackers.registry import METHODS

NEEDS = {name: {"max_score": 5.0} for name in ("sf-ogd", "saocp", "bayes")}  # the hyperparameters without a default
SCORES = ("absolute", "signed", "normalised", "cqr", "one-sided")
SOME = ("magl", "magl-d", "magdis", "kt", "aci", "split")  # states in rows of floats, objects, infinite radii
each = pytest.mark.parametrize("name", wane.trackers.names())
some = pytest.mark.parametrize("name", SOME)
pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


def takes(name, score):
    """Whether a method can serve a score: signed ones need scores on the whole line."""
    return score in ("absolute", "normalised") or "domain" in inspect.signature(METHODS[name]).parameters


def settings_of(name, score="absolute", alpha=0.1, **more):
    return {"alpha": alpha, "score": score, "on_unbounded": "allow", **NEEDS.get(name, {}), **more}


def data(score, rows, seed=0, missing=0.2):
    """Model outputs as the score takes them, and labels of which some are missing."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=rows).round(1)
    y[rng.random(rows) < missing] = math.nan
    x = rng.normal(size=rows).round(1)
    if score == "normalised":
        return np.column_stack([x, rng.uniform(0.5, 2.0, rows)]), y
    if score == "cqr":
        return np.column_stack([x - rng.normal(size=rows), x + 1.0]), y
    return x, y


def interleaved(lengths, seed=0):
    """The stream of each row, the rows of the streams mixed."""
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(lengths)), lengths))


def same(a, b):
    """Equal bit for bit, where NaN is NaN."""
    return np.shape(a) == np.shape(b) and np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)


def agree(made, wanted):
    return all(same(getattr(made, k), getattr(wanted, k)) for k in ("lower", "upper", "radius"))


class Joined:
    """The answers of several calls, one after the other."""

    def __init__(self, parts):
        self.lower, self.upper, self.radius = (
            np.concatenate([getattr(p, k) for p in parts]) for k in ("lower", "upper", "radius")
        )


class Picked:
    """Some rows of an answer."""

    def __init__(self, made, rows):
        self.lower, self.upper, self.radius = made.lower[rows], made.upper[rows], made.radius[rows]


def full_state(panel):
    return json.dumps(panel.state_dict(), default=str)


def exact_state(panel):
    """The state, the waiting labels stream by stream, without the sums of widths: their last bits depend on pieces."""
    panel = copy.copy(panel)
    panel.tail = panel.tail.chosen(np.argsort(panel.tail.place, kind="stable"))
    state = panel.state_dict()
    del state["memory"]["widths"], state["parameters"]["threads"]
    return state


class Literal:
    """One stream, row by row, in plain words: the labels known by now are learned, then the row is predicted."""

    def __init__(self, name, warm_up=0, **settings):
        self.oc = OnlineConformal(name, **settings)
        self.warm_up = warm_up
        self.rows = {}  # by moment, until it is learned: output, label, whether there was a prediction
        self.first = []  # labels of the warm-up
        self.warm = not warm_up

    def learn(self, t):
        output, y, predicted = self.rows.pop(t)
        if math.isnan(y):
            return
        if predicted:
            self.oc.update(t, y)
        elif self.warm:
            self.oc.warm_start([output], [y])
        else:
            self.first.append((output, y))
            if len(self.first) == self.warm_up:
                self.oc.warm_start([o for o, _ in self.first], [y for _, y in self.first])
                self.warm = True

    def catch_up(self, now, delay):
        """The label of moment t is known to the predictions after moment t + delay."""
        for t in [t for t in self.rows if t + delay < now]:
            self.learn(t)

    def step(self, now, output, y, delay):
        self.catch_up(now, delay)
        made = self.oc.predict(output, id=now) if self.warm else None
        self.rows[now] = (output, y, made is not None)
        return made

    def play(self, outputs, y, delay=0):
        steps = enumerate(zip(outputs.tolist(), y.tolist(), strict=True))
        return Answers([self.step(t, output, label, delay) for t, (output, label) in steps], self.oc)


class Answers:
    """Predictions as arrays; NaN where there is none."""

    def __init__(self, predictions, oc):
        several = (len(oc.alphas),) if isinstance(oc.alpha, tuple) else ()
        shapes = {"lower": several, "upper": several, "radius": several + (2,) * (oc.score.sides == 2)}
        for k, shape in shapes.items():
            rows = [np.full(shape, math.nan) if p is None else getattr(p, k) for p in predictions]
            setattr(self, k, np.array(rows, dtype=float).reshape(len(rows), *shape))


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
            judged = np.atleast_2d(np.asarray(table.covered).T)
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
        for t in range(rounds):
            here = np.random.default_rng(t).permutation(streams)[: 1 + t % streams]
            x, y = data(score, len(here), t)
            made = panel.predict(here, x)
            steps = [ocs[s].predict(tuple(x[j].tolist()) if x.ndim == 2 else float(x[j])) for j, s in enumerate(here)]
            assert same(made.lower, [p.lower for p in steps]) and same(made.upper, [p.upper for p in steps])
            assert same(made.radius, [p.radius for p in steps])
            panel.update(here, y)
            for s, p, label in zip(here, steps, y, strict=True):
                if not math.isnan(label):
                    ocs[s].update(p.id, label)
        summary = panel.summary()
        for place, s in enumerate(summary["id"]):
            for a in (0.1, 0.3):
                metrics = ocs[s].metrics()[a]
                assert summary["labels"][place] == metrics.rounds
                if metrics.rounds:
                    assert summary[f"coverage_{a:g}"][place] == pytest.approx(metrics.coverage, abs=1e-12)


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
                patch.setattr("wane.panel.replay.PIECE", 7)
                patch.setattr("wane.panel.panel.PIECE", 7)
                panel = Panel(name, threads=threads, **given)
                assert agree(panel.run(ids, x, y, delay), wanted)
                everyone = np.array(panel.ids())
                p, q = (a.predict(everyone, np.zeros(len(everyone))) for a in (panel, plain))
                assert agree(p, q)
                for a in (panel, plain):
                    a.update(everyone, np.arange(len(everyone)) + 0.5)
            assert exact_state(panel) == exact_state(plain)
            assert panel.summary()["width_0.1"] == pytest.approx(plain.summary()["width_0.1"], nan_ok=True)


# The warm-up


@pytest.mark.parametrize("name", ["magl", "magl-d", "magdis"])
def test_epsilon_is_chosen_for_each_stream(name):
    """As warm_start of a tracker would; so the radii of a stream are in its own unit."""
    rng = np.random.default_rng(0)
    k, n, units = 6, 30, 10.0 ** np.arange(-6, 7, 3)
    scores = np.abs(rng.normal(size=n))
    ids = interleaved([n] * len(units))
    y = np.empty(len(ids))
    for s, unit in enumerate(units):
        y[ids == s] = scores * unit
    panel, ticks = (Panel(name, 0.1, warm_up=k, epsilon="auto") for _ in range(2))
    made = panel.run(ids, np.zeros(len(ids)), y)
    for t in range(n):
        p = ticks.predict(np.arange(len(units)), np.zeros(len(units)))
        assert same(p.radius, [made.radius[ids == s][t] for s in range(len(units))])
        ticks.update(np.arange(len(units)), scores[t] * units)
    for s, unit in enumerate(units):
        tracker = wane.trackers.make(name, 0.1, epsilon="auto")
        tracker.warm_start(scores[:k] * unit)
        radius = made.radius[ids == s]
        assert np.isnan(radius[:k]).all() and same(radius[k:], tracker.run(scores[k:] * unit))
        assert radius[k:] / unit == pytest.approx(made.radius[ids == 0][k:] / units[0], rel=1e-9)
    assert states_by_id(panel) == states_by_id(ticks)


def states_by_id(panel):
    return {i: panel.states[panel.index.places([i])[0]].tolist() for i in panel.ids()}


def test_too_few_labels_teach_nothing():
    panel = Panel("magl", warm_up=5)
    y = np.array([1.0, math.nan, 2.0, 3.0, math.nan, 4.0, math.nan])
    made = panel.run(np.zeros(7, int), np.zeros(7), y)
    assert np.isnan([made.lower, made.upper, made.radius]).all()
    assert np.array_equal(panel.states[:1], panel.fresh)
    summary = panel.summary()
    assert summary["rows"].tolist() == [7] and summary["labels"].tolist() == [0] and math.isnan(summary["coverage"][0])
    assert np.isnan(panel.predict([0], [0.0]).radius).all()
    panel.update([0], [5.0])  # the fifth
    tracker = wane.trackers.make("magl", 0.1)
    tracker.warm_start([1.0, 2.0, 3.0, 4.0, 5.0])
    assert panel.predict([0], [0.0]).radius[0] == tracker.predict() > 0.0


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("limits", [{}, {"lower_limit": -9.0, "upper_limit": 9.0}])
@pytest.mark.parametrize("alpha", [0.1, (0.1, 0.3)])
def test_no_interval_in_the_warm_up(score, limits, alpha):
    x, y = data(score, 3, missing=0.0)
    panel = Panel("magl", alpha, score, warm_up=4, **limits)
    for made in (panel.run([0, 0, 0], x, y), panel.predict([0, 1], x[:2])):
        assert np.isnan(made.lower).all() and np.isnan(made.upper).all() and np.isnan(made.radius).all()
    panel.update([0, 1], y[:2])
    made = panel.predict([0, 1], x[:2])
    assert not np.isnan(made.lower[0]).any() and np.isnan(made.lower[1]).all()


@settings(max_examples=25)
@given(
    name=st.sampled_from(["magl", "split"]),
    cut=st.integers(0, 30),
    delay=st.integers(0, 6),
    warm_up=st.sampled_from([0, 4]),
)
def test_nothing_is_seen_before_its_time(name, cut, delay, warm_up):
    """Other outputs from row ``cut`` on, and other labels from row ``cut - delay`` on, change nothing before."""
    n = 31
    ids, (x, y) = np.tile([0, 1], n), data("absolute", 2 * n)
    first = Panel(name, **settings_of(name, warm_up=warm_up)).run(ids, x, y, delay)
    row = np.repeat(np.arange(n), 2)  # in its stream
    other_x, other_y = np.where(row >= cut, x + 5.0, x), np.where(row >= cut - delay, 9.0 - y, y)
    then = Panel(name, **settings_of(name, warm_up=warm_up)).run(ids, other_x, other_y, delay)
    assert agree(Picked(then, row < cut), Picked(first, row < cut))
    assert same(then.radius[row == cut], first.radius[row == cut])  # the radius knows no label of its own row


# Errors


def refuses(thing, call, kind, match):
    before = full_state(thing)
    with pytest.raises(kind, match=match):
        call()
    assert full_state(thing) == before
    assert full_state(type(thing).from_state_dict(thing.state_dict())) == before


@some
def test_after_an_error_nothing_has_changed(name):
    given = settings_of(name, lower_limit=-50.0, warm_up=2)
    panel = Panel(name, **given)
    panel.run([3, 1, 3, 3, 3], np.zeros(5), [1.0, 2.0, 3.0, math.nan, 4.0], delay=1)
    panel.predict([3], [0.0])
    nan = math.nan
    for call, kind, match in (
        (lambda: panel.predict([3, 9], [0.0]), ValueError, "one for each of the 2 ids, got 1"),
        (lambda: panel.predict([9], [nan]), ValueError, r"outputs\[0\].*finite"),
        (lambda: panel.predict([9, 3, 9], [0.0] * 3), ValueError, "stream 9 comes more than once.*use run"),
        (lambda: panel.predict(["x"], [0.0]), TypeError, "whole numbers, got 'x'"),
        (lambda: panel.update([3, 3], [1.0, 1.0]), ValueError, "stream 3 comes more than once"),
        (lambda: panel.update([9], [1.0]), IdError, "no stream has the id 9: predict and run add"),
        (lambda: panel.update([3, 1], [1.0, 1.0]), ValueError, "stream 1 has no prediction.*call predict first"),
        (lambda: panel.update([3], [1.0, 1.0]), ValueError, "1 labels"),
        (lambda: panel.update([3], [-51.0]), ValueError, r"y\[0\] = -51.0 is outside the limits.*widen"),
        (lambda: panel.update([3], [math.inf]), ValueError, r"y\[0\]"),
        (lambda: panel.run([3, 9], [0.0], [1.0]), ValueError, "one for each of the 1 rows, got 2"),
        (lambda: panel.run([3, 9], [0.0, 0.0], [1.0]), ValueError, "2 labels"),
        (lambda: panel.run([3, 9], [0.0, nan], [1.0, 1.0]), ValueError, r"outputs\[1\]"),
        (lambda: panel.run([3, 9, 3], [0.0] * 3, [1.0, 1.0, -51.0]), ValueError, r"y\[2\] = -51"),
        (lambda: panel.run([3, 9], [0.0, 0.0], [1.0, 1.0], delay=-1), ValueError, "delay"),
        (lambda: panel.run([3, (1, 2)], [0.0, 0.0], [1.0, 1.0]), TypeError, "whole numbers"),
        (lambda: panel.run([3, 9, 8], [-1.0, 0.0, -1e150], [1.0, 1.0, 1e150]), ValueError, "larger unit"),
    ):
        refuses(panel, call, kind, match)
    keyed = Panel(name, **given)
    keyed.predict(["a", ("b", 1)], [0.0, 0.0])
    refuses(keyed, lambda: keyed.predict([1], [0.0]), TypeError, "got whole numbers")
    refuses(keyed, lambda: keyed.predict(["c", {}], [0.0, 0.0]), TypeError, "an id can be saved")
    refuses(keyed, lambda: keyed.predict(["c", 1], [0.0, 0.0]), TypeError, "whole numbers or something else")
    refuses(keyed, lambda: keyed.predict(["c", None], [0.0, 0.0]), TypeError, "an id can be saved")
    refuses(keyed, lambda: keyed.predict(["c", math.nan], [0.0, 0.0]), ValueError, "equal itself")
    refuses(keyed, lambda: keyed.update(["c"], [0.0]), IdError, "'c'")


@pytest.mark.parametrize("piece", [7, 65_536])
def test_an_infinite_radius_in_the_middle(piece, monkeypatch):
    """The row that is named is the one that was given, whatever the order in which rows are worked on."""
    monkeypatch.setattr("wane.panel.replay.PIECE", piece)
    monkeypatch.setattr("wane.panel.panel.PIECE", piece)
    ids = np.tile([5, 0, 3], 20)
    x, y = data("absolute", 60, missing=0.0)
    new = Panel("split", alpha=0.3)
    refuses(new, lambda: new.run(ids, x, y), UnboundedError, "row 0: .*warm_up")
    # One score is too few for alpha = 0.3: the second row of a stream has no finite radius.
    short = Panel("split", alpha=0.3, warm_up=1)
    refuses(short, lambda: short.run(ids, x, y), UnboundedError, "row 3: ")
    mixed = Panel("split", alpha=0.3, warm_up=1)
    mixed.run(np.arange(20), np.zeros(20), np.ones(20), delay=1)
    mixed.warm[:20] = np.arange(20) == 13
    refuses(mixed, lambda: mixed.predict(np.arange(20), np.zeros(20)), UnboundedError, "row 13: ")


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("warm_up", [0, 1])
def test_a_warning_made_an_error_changes_nothing(several, warm_up):
    panel = Panel("magl-d", alpha=(0.1, 0.2) if several else 0.1, discount=0.9, warm_up=warm_up)
    panel.predict([0, 1, 2], [0.0] * 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (
            lambda: panel.run([0, 5, 2], [0.0] * 3, [0.1, 0.2, 1e6]),
            lambda: panel.update([0, 1, 2], [0.1, 0.2, 1e6]),
        ):
            refuses(panel, call, wane.trackers.CoverageWarning, "reach")
    with pytest.warns(wane.trackers.CoverageWarning) as told:
        panel.update([0, 1, 2], [1e6, 0.2, 1e6])
    assert len(told) == 2 * (1 + several)  # once a tracker
    panel.predict([0, 1, 2], [0.0] * 3)
    panel.update([0, 1, 2], [1e6, 0.2, 1e6])


class Fragile(wane.trackers.Tracker):
    """A method of a user's own that fails half-way."""

    parameters = ("alpha",)
    memory = ("rounds", "radius")

    def __init__(self, alpha):
        super().__init__(alpha)
        self.radius = 0.0

    def _predict(self):
        return self.radius

    def _update(self, score, radius, discount):
        self.radius += score
        if score > 100.0:
            raise ArithmeticError("too much")


def steep(radius, score):
    """A subgradient of a user's own that fails."""
    if score > 100.0:
        raise ArithmeticError("too much")
    return -1.0 if radius <= score else 1.0


@pytest.mark.parametrize("warm_up", [0, 2])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("name", ["fragile", "magl"])
def test_a_method_that_fails_half_way(name, several, warm_up, monkeypatch):
    monkeypatch.setitem(METHODS, "fragile", lambda alpha: Fragile(alpha))
    more = {"loss": steep} if name == "magl" else {}
    panel = Panel(name, alpha=(0.1, 0.2) if several else 0.1, warm_up=warm_up, **more)
    panel.run([0, 1, 2, 1, 0, 1], np.zeros(6), np.ones(6))
    panel.predict([0, 1, 2], [0.0] * 3)
    for call in (
        lambda: panel.run([0, 1, 2, 0, 1, 2], [0.0] * 6, [1.0, 2.0, 3.0, 1.0, 1.0, 101.0]),
        lambda: panel.update([0, 1, 2], [1.0, 2.0, 101.0]),
    ):
        before = json.dumps(panel.state_dict()["memory"])
        with pytest.raises(ArithmeticError, match="too much"):
            call()
        assert json.dumps(panel.state_dict()["memory"]) == before
    panel.update([0, 1, 2], [1.0, 2.0, 3.0])


def test_settings_are_checked():
    for call, kind, match in (
        (lambda: Panel("magl", epsilon="auto"), ValueError, "give warm_up"),
        (lambda: Panel("magl", score="aps"), TypeError, "intervals"),
        (lambda: Panel("nothing"), ValueError, "no method is called"),
        (lambda: Panel("magl", warm_up=-1), ValueError, "warm_up"),
        (lambda: Panel("magl", threads=0), ValueError, "threads"),
        (lambda: Panel("magl", threads="2"), (TypeError, ValueError), "threads"),
    ):
        with pytest.raises(kind, match=match):
            call()


@pytest.mark.parametrize("name", ["magl", "aci"])
def test_a_damaged_state_is_refused(name):
    panel = Panel(name, on_unbounded="allow", warm_up=3)
    panel.run([0, 1, 0, 1, 1, 1], np.zeros(6), np.ones(6), delay=1)
    good = panel.state_dict()
    assert full_state(Panel.from_state_dict(good)) == json.dumps(good)

    def without(*path):
        bad = json.loads(json.dumps(good))
        inside = bad
        for key in path[:-1]:
            inside = inside[key]
        del inside[path[-1]]
        return bad

    def other(value, *path):
        bad = json.loads(json.dumps(good))
        inside = bad
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value
        return bad

    tail = good["memory"]["tail"]
    short = Panel(name, on_unbounded="allow", warm_up=3).state_dict()["memory"]["tail"]
    for bad in (
        None,
        {},
        other("Groups", "class"),
        other(99, "format"),
        other({"count": 3, "ids": None}, "memory", "index"),
        other(short["pos"], "memory", "tail", "pos"),
        other(tail["pos"], "memory", "tail", "below"),
        other(tail["below"], "memory", "tail", "radii"),
        other("#", "memory", "seen", "base64"),
        other([4], "memory", "seen", "shape"),
        *(without("memory", key) for key in good["memory"] if key != "trackers" or name == "aci"),
        *(without("parameters", key) for key in good["parameters"]),
        *(without("memory", "tail", key) for key in tail),
    ):
        with pytest.raises(ValueError, match="state"):
            Panel.from_state_dict(bad)


# Where streams are kept

whole_ids = st.integers(-3, 12) | st.integers(-(2**63), 2**63 - 1)
other_ids = (
    st.text(max_size=2)
    | st.tuples(st.integers(0, 2), st.sampled_from("ab"))
    | st.datetimes()
    | st.dates()
    | st.tuples(st.integers(0, 2))
)


def against_a_dict(batches):
    index, model = Index(), {}
    for batch, add, form in batches:
        ids = np.array(batch) if form and all(isinstance(k, int) for k in batch) else batch
        if add or all(k in model for k in batch):
            for k in batch:
                model.setdefault(k, len(model))
            assert index.places(ids, add).tolist() == [model[k] for k in batch]
        else:
            with pytest.raises(IdError, match="no stream has the id"):
                index.places(ids)
        assert len(index) == len(model) and index.ids() == list(model)
        index = copy.deepcopy(index) if form else Index.from_state(json.loads(json.dumps(index.state())))


@settings(max_examples=60)
@given(st.lists(st.tuples(st.lists(whole_ids, max_size=8), st.booleans(), st.booleans()), max_size=6))
@example([([0, 1, 2], True, True), ([4, 3], True, True), ([7], False, True), ([5, 9], True, False), ([9], False, True)])
@example([([5], False, True), ([0], True, True), ([-1], False, True), ([1, 1, 0], True, True)])
@example([([2**63 - 1, -(2**63)], True, False), ([0], True, True)])
def test_whole_ids(batches):
    against_a_dict(batches)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.lists(other_ids, max_size=6), st.booleans(), st.booleans()), max_size=5))
@example([([(0, "a"), (0,)], True, False), ([(0,)], False, False)])
def test_other_ids(batches):
    against_a_dict(batches)


def test_odd_ids():
    panel = Panel("magl")
    with pytest.raises(ValueError, match="64 bits"):
        panel.predict(np.array([2**63], dtype=np.uint64), [0.0])
    panel.predict(np.arange(6)[::2], [0.0] * 3)  # not contiguous in memory
    panel = Panel("magl")
    panel.predict(np.arange(6), [0.0] * 6)
    panel.update(np.arange(6)[::-1], np.arange(6.0))
    strided = np.arange(6)[::2]
    panel.predict(strided, np.arange(6.0)[::2])
    panel.run(np.arange(12)[::2] % 6, np.zeros(12)[::2], np.ones(12)[::2])
    assert panel.summary()["rows"].tolist() == [4, 1, 4, 1, 4, 1]
    days = np.array(["2024-01-02", "2024-01-01"], dtype="M8[ns]")
    panel = Panel("magl")
    panel.predict(days, [0.0, 0.0])
    assert [d.isoformat() for d in panel.ids()] == ["2024-01-02T00:00:00", "2024-01-01T00:00:00"]


def test_streams_added_on_the_fly():
    panel, total = Panel("magl"), 0
    for t in range(1, 8):
        ids = np.arange(2**t) * 3 - 5
        panel.predict(ids, np.zeros(len(ids)))
        panel.update(ids, ids + 0.0)
        total += len(ids)
    summary = panel.summary()
    assert len(panel) == 128 and summary["rows"].sum() == summary["labels"].sum() == total
    oc = OnlineConformal("magl", alpha=0.1)
    for _ in range(7):
        oc.update(oc.predict(0.0).id, -5.0)
    assert panel.predict([-5], [0.0]).radius[0] == oc.predict(0.0).radius
    assert repr(panel) == "Panel('magl', alpha=0.1, score=Absolute(): 128 streams)"


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
