"""Groups of a stream against plain words: copies of the parent's trackers, which then learn from their own rows."""

import copy
import itertools
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from panel_cases import Answers, Joined, Literal, agree, data, full_state, refuses, same, settings_of, takes

import wane
from wane.errors import IdError, UnboundedError
from wane.panel import Groups, Panel

some = pytest.mark.parametrize("name", ["magl", "magl-d", "aci", "kt"])
pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


def plain_words(name, given, ids, groups, x, y, delay):
    """The parent of each stream learns from all its rows; a group's trackers are copies of it, made when it begins."""
    made, parents, children, clocks = [], {}, {}, {}
    for id, group, output, label in zip(ids, groups, x.tolist(), y.tolist(), strict=True):
        parent, now = parents.setdefault(id, Literal(name, **given)), clocks.get(id, 0)
        clocks[id] = now + 1
        parent.catch_up(now, delay)
        if (id, group) not in children:
            child = children[id, group] = Literal(name, **given)
            child.oc, child.warm = copy.deepcopy(parent.oc), parent.warm
        made.append(children[id, group].step(now, output, label, delay))
        parent.step(now, output, label, delay)
    return Answers(made, Literal(name, **given).oc)


@some
@settings(max_examples=20)
@given(
    rows=st.lists(st.tuples(st.integers(0, 1), st.sampled_from("abc")), max_size=40),
    cuts=st.lists(st.integers(0, 40), max_size=3),
    delay=st.sampled_from([0, 1, 5]),
    warm_up=st.sampled_from([0, 1, 3]),
    several=st.booleans(),
    seed=st.integers(0, 99),
)
@example(rows=[(0, "a"), (0, "b"), (0, "b"), (0, "a")] * 5, cuts=[7, 8], delay=5, warm_up=3, several=False, seed=0)
def test_run(name, rows, cuts, delay, warm_up, several, seed):
    ids, groups = [i for i, _ in rows], [g for _, g in rows]
    x, y = data("absolute", len(rows), seed)
    given = settings_of(name, alpha=(0.1, 0.3) if several else 0.1, warm_up=warm_up)
    wanted = plain_words(name, given, ids, groups, x, y, delay)
    assert agree(Groups(name, **given).run(ids, x, y, groups, delay), wanted)

    pieces, at = [], [0, *sorted(min(c, len(rows)) for c in cuts), len(rows)]
    chunked = Groups(name, **given)
    for i, (a, b) in enumerate(itertools.pairwise(at)):
        pieces.append(chunked.run(np.array(ids[a:b], int), x[a:b], y[a:b], np.array(groups[a:b], "U1"), delay))
        how = (copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g)), through_json)[i % 4]
        chunked, before = how(chunked), chunked
        assert full_state(chunked) == full_state(before)
    assert agree(Joined(pieces), wanted)


def through_json(groups):
    return Groups.from_state_dict(json.loads(json.dumps(groups.state_dict())))


@some
@pytest.mark.parametrize("score", ["signed", "cqr"])
def test_run_with_other_scores(name, score):
    if not takes(name, score):
        return
    rng = np.random.default_rng(0)
    ids, groups, (x, y) = rng.integers(0, 2, 40).tolist(), rng.integers(0, 3, 40).tolist(), data(score, 40)
    given = settings_of(name, score, (0.2, 0.1))
    assert agree(Groups(name, **given).run(ids, x, y, groups, 2), plain_words(name, given, ids, groups, x, y, 2))


@some
@pytest.mark.parametrize("warm_up", [0, 2])
def test_ticks_and_runs(name, warm_up, tmp_path):
    """Ticks, a run, ticks again, saved and loaded between them."""
    rng = np.random.default_rng(1)
    rounds, streams = 24, ["u", "v"]
    given = settings_of(name, alpha=(0.1, 0.3), warm_up=warm_up)
    groups = Groups(name, **given)
    kinds = rng.choice(["a", "b", "c"], (rounds, 2)).tolist()
    x, y = data("absolute", 2 * rounds)
    made = []
    for t in (*range(8), None, *range(16, rounds)):
        if t is None:
            between = slice(16, 32)
            flat = [kind for pair in kinds[8:16] for kind in pair]
            made.append(groups.run(streams * 8, x[between], y[between], flat))
        else:
            here = slice(2 * t, 2 * t + 2)
            made.append(groups.predict(streams, x[here], kinds[t]))
            wane.save(tmp_path / "groups", groups, sync=False)
            groups = wane.load(tmp_path / "groups")
            groups.update(streams, y[here])
    everything = [kind for pair in kinds for kind in pair]
    assert agree(Joined(made), plain_words(name, given, streams * rounds, everything, x, y, 0))
    summary = groups.summary()
    assert sum(summary["labels"]) == np.count_nonzero(~np.isnan(Joined(made).lower[:, 0]) & ~np.isnan(y))
    assert set(zip(summary["id"], summary["group"], strict=True)) == set(zip(streams * rounds, everything, strict=True))


def test_each_group_keeps_its_coverage():
    """Errors ten times as large on one row in five: one tracker covers the others too often, and those too rarely."""
    rng = np.random.default_rng(2)
    n = 4000
    loud = rng.random(n) < 0.2
    y = rng.normal(size=n) * np.where(loud, 10.0, 1.0)
    zeros, later = np.zeros(n), np.arange(n) >= n // 2
    groups = Groups("magl", alpha=0.1)
    made = groups.run([0] * n, zeros, y, loud)
    apart, shown = np.abs(y) < made.radius, ~np.isnan(made.lower)
    together = np.abs(y) < Panel("magl", alpha=0.1).run([0] * n, zeros, y).radius
    assert apart[later & ~loud].mean() == pytest.approx(0.9, abs=0.03)
    assert apart[later & loud].mean() == pytest.approx(0.9, abs=0.04)
    assert together[later & ~loud].mean() > 0.97 and together[later & loud].mean() < 0.7
    summary = groups.summary()
    for group, coverage in zip(summary["group"], summary["coverage"], strict=True):
        assert coverage == pytest.approx(apart[shown & (loud == group)].mean())


def test_one_group_is_no_group():
    ids, (x, y) = np.tile([4, 7, 5], 20), data("absolute", 60)
    groups, panel = Groups("magl", warm_up=3), Panel("magl", warm_up=3)
    assert agree(groups.run(ids, x, y, ["all"] * 60, 2), panel.run(ids, x, y, 2))
    a, b = groups.summary(), panel.summary()
    assert a["id"] == b["id"] and all(same(a[k], b[k]) for k in ("labels", "coverage", "width"))


def test_copies_are_independent():
    for how in (copy.copy, copy.deepcopy, through_json, lambda g: pickle.loads(pickle.dumps(g))):
        groups = Groups("magl")
        groups.run([0, 0, 1], [0.0] * 3, [1.0, 2.0, 3.0], list("aab"))
        groups.predict([0], [0.0], ["b"])
        before, other = full_state(groups), how(groups)
        other.update([0], [9.0])
        other.run([5, 0], [0.0] * 2, [1.0, 2.0], list("ca"))
        other.predict([0], [0.0], ["a"])
        assert full_state(groups) == before


@pytest.mark.parametrize("name", ["magl", "aci", "split"])
def test_after_an_error_nothing_has_changed(name):
    groups = Groups(name, alpha=0.3, on_unbounded="error" if name == "split" else "allow", warm_up=3, upper_limit=50.0)
    groups.run(["u", "u", "u", "u", "v"], [0.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0], list("abaaa"))
    groups.predict(["u"], [0.0], ["a"])
    for call, kind, match in (
        (lambda: groups.predict(["u", "w"], [0.0], ["a", "b"]), ValueError, "one for each of the 2 ids, got 1"),
        (lambda: groups.predict(["u", "w"], [0.0] * 2, ["a"]), ValueError, "groups must be one for each of the 2"),
        (lambda: groups.predict(["w"], [math.nan], ["a"]), ValueError, "finite"),
        (lambda: groups.predict(["w"], [0.0], [None]), TypeError, "an id can be saved"),
        (lambda: groups.predict(["w"], [0.0], [{}]), TypeError, "an id can be saved"),
        (lambda: groups.predict(["w"], [0.0], [math.nan]), ValueError, "equal itself"),
        (lambda: groups.predict(["w", "w"], [0.0] * 2, ["a", "b"]), ValueError, "'w' comes more than once"),
        (lambda: groups.predict([1], [0.0], ["a"]), TypeError, "whole numbers"),
        (lambda: groups.update(["w"], [0.0]), IdError, "no stream has the id 'w'"),
        (lambda: groups.update(["v"], [0.0]), ValueError, "'v' has no prediction that waits"),
        (lambda: groups.update(["u"], [51.0]), ValueError, "outside the limits"),
        (lambda: groups.run(["w", "u"], [0.0], [1.0, 1.0], ["a", "b"]), ValueError, "2"),
        (lambda: groups.run(["w", "u"], [0.0] * 2, [1.0], ["a", "b"]), ValueError, "2 labels"),
        (lambda: groups.run(["w", "u"], [0.0] * 2, [1.0, 1.0], ["a"]), ValueError, "groups must be one"),
        (lambda: groups.run(["w", "u"], [0.0, math.inf], [1.0, 1.0], ["a", "b"]), ValueError, r"outputs\[1\]"),
        (lambda: groups.run(["w", "u"], [0.0] * 2, [1.0, 1.0], ["a", None]), TypeError, "an id can be saved"),
        (lambda: groups.run(["w", "u"], [0.0] * 2, [1.0, 51.0], ["a", "b"]), ValueError, r"y\[1\] = 51"),
    ):
        refuses(groups, call, kind, match)


def test_an_infinite_radius():
    """It names its row."""
    groups = Groups("split", alpha=0.3, warm_up=1)
    run = [1] * 6, [0.0] * 6, [1.0, math.nan, math.nan, math.nan, 1.0, 1.0], list("abbbaa")
    refuses(groups, lambda: groups.run(*run), UnboundedError, "row 1: ")
    groups.run([1], [0.0], [1.0], ["a"])
    refuses(groups, lambda: groups.predict([1], [0.0], ["a"]), UnboundedError, "row 0: ")


def test_an_infinite_radius_of_the_parent_is_nobodys_interval():
    """A level change that is none for the groups: only the parent asks for more than all its scores."""
    rng = np.random.default_rng(3)
    groups = ["a", "b"] * 25 + ["a"] * 60 + ["b"] * 12
    mixed = np.tile([1.0, 10.0], 25) + rng.random(50)
    y = np.concatenate([mixed, 1.0 + rng.random(60), 9.0 + 0.1 * np.arange(12)])
    given = {"alpha": 0.2, "warm_up": 20, "gamma": 0.08, "window": 20}
    ids, zeros = [0] * len(y), np.zeros(len(y))
    assert np.isinf(Panel("aci", **given, on_unbounded="allow").run(ids, zeros, y).radius).any()
    assert np.isfinite(Groups("aci", **given).run(ids, zeros, y, groups).radius[40:]).all()


def test_a_damaged_state_is_refused():
    good = Groups("magl").state_dict()
    for bad in (None, {}, {**good, "class": "Panel"}, *({k: v for k, v in good.items() if k != key} for key in good)):
        with pytest.raises(ValueError, match="state"):
            Groups.from_state_dict(bad)


def test_times_of_any_unit_are_the_same_ids_and_groups():
    days = ["2024-01-01", "2024-01-02"]
    groups = Groups("magl", alpha=0.1)
    for unit in ("M8[ns]", "M8[us]", "M8[D]"):
        times = np.array(days, unit).astype("M8[s]").astype(unit)
        made = np.array(["2024-06-01"] * 2, unit)
        groups.predict(times, np.zeros(2), made)
        groups.update(times, np.ones(2))
    assert len(groups) == 2 and groups.summary()["labels"].tolist() == [2, 2]  # not the first
    assert "rows" not in groups.summary()
