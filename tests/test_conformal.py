"""What `OnlineConformal` promises: replays are steps, labels meet the radii played, levels nest, errors are clean."""

import copy
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wane
from wane import OnlineConformal
from wane.conformal import Alarm, IdError, UnboundedError
from wane.scores import APS, RAPS, OneSided, UserScore
from wane.scores import names as score_names
from wane.trackers import Tracker, make, names

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")

INFINITY = math.inf
NEEDS = {name: {"max_score": 5.0} for name in ("sf-ogd", "saocp", "bayes")}
SMALL = {"max_pending": 9, "history": 5, "window": 4}
SCORES = {
    "aps": lambda: APS(seed=5),
    "raps": lambda: RAPS(0.1, k_reg=1, seed=6, allow_empty=False),
    "one-sided": lambda: OneSided("lower"),
    "user": lambda: UserScore(lambda m, y: abs(y - m), lambda m, r: (m - r, m + r)),
}


def plain(thing):
    return json.dumps(thing.state_dict())


def score_of(name):
    return SCORES.get(name, lambda: name)()


def data(name, rounds, seed=0, missing=0.2):
    """Outputs and labels for a score, some labels missing."""
    rng = np.random.default_rng(seed)
    gone = rng.random(rounds) < missing
    if name in ("aps", "lac", "raps"):
        p = rng.dirichlet(np.ones(3), rounds)
        return p, [None if g else int(rng.choice(3, p=q)) for g, q in zip(gone, p, strict=True)]
    if name == "ball":
        y = rng.normal(size=(rounds, 2))
        y[gone, 0] = math.nan
        return rng.normal(size=(rounds, 2)), y
    y = rng.normal(size=rounds)
    y[gone] = math.nan
    if name == "cqr":
        return rng.normal(size=(rounds, 2)) + np.array([-1.0, 1.0]), y
    if name == "normalised":
        return np.stack([rng.normal(size=rounds), rng.uniform(0.5, 2.0, rounds)], axis=1), y
    return rng.normal(size=rounds), y


def absent(y):
    return y is None or bool(np.isnan(y).any())


def steps(oc, outputs, y, delay=0):
    """Predict, then reveal the label of ``delay`` rounds before."""
    made = []
    for t, output in enumerate(outputs):
        made.append(oc.predict(output))
        if t >= delay and not absent(y[t - delay]):
            oc.update(made[t - delay].id, y[t - delay])
    return made


def check_table(table, made):
    """Every column against the predictions, one by one."""
    assert list(table.id) == [p.id for p in made]
    np.testing.assert_array_equal(table.radius, [p.radius for p in made])
    np.testing.assert_array_equal(table.width, [p.width for p in made])
    if table.lower is not None:
        np.testing.assert_array_equal(table.lower, [p.lower for p in made])
        np.testing.assert_array_equal(table.upper, [p.upper for p in made])


class Scripted(Tracker):
    """A tracker that plays what it was told to, and writes down what it hears."""

    parameters = ("alpha", "script", "domain")

    def __init__(self, alpha, script, domain="nonnegative"):
        super().__init__(alpha, domain)
        self.script = list(script)
        self.heard = []

    def _predict(self):
        return self.script[self.rounds % len(self.script)]

    def _update(self, score, radius, discount):
        self.heard.append((score, radius))
        if score == 13.0:
            raise ValueError("thirteen")


# Replays


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("alpha", [0.1, (0.3, 0.05, 0.1)], ids=["one", "three"])
def test_a_replay_is_its_steps_for_every_tracker(name, alpha):
    outputs, y = data("absolute", 50)
    for delay in (0, 1, 7):
        a, b = (
            OnlineConformal(name, alpha=alpha, on_unbounded="allow", **NEEDS.get(name, {}), **SMALL) for _ in range(2)
        )
        made = steps(a, outputs, y, delay)
        table = b.run(outputs, y, delay)
        check_table(table, made)
        assert plain(a) == plain(b)
        check_table(b.run(outputs[:5], [None] * 5), steps(a, outputs[:5], [None] * 5))
        assert plain(a) == plain(b)


@pytest.mark.parametrize("score", score_names())
@pytest.mark.parametrize("name", ["magl", "aci", "nex"])
def test_a_replay_is_its_steps_for_every_score(score, name):
    outputs, y = data(score, 40, seed=1)
    for delay, alpha in ((0, 0.2), (1, (0.1, 0.4)), (7, (0.4, 0.2, 0.1))):
        a, b = (OnlineConformal(name, score_of(score), alpha, on_unbounded="allow", **SMALL) for _ in range(2))
        check_table(b.run(outputs, y, delay), steps(a, outputs, y, delay))
        assert plain(a) == plain(b)


@pytest.mark.parametrize("score", score_names())
@pytest.mark.parametrize("delay", [0, 1, 3])
def test_chunks_with_late_labels_are_one_replay(score, delay):
    """The labels of the last ``delay`` predictions of a chunk come with the next."""
    outputs, y = data(score, 40, seed=2)
    a, b = (OnlineConformal("magl", score_of(score), (0.1, 0.3), window=4, history=5) for _ in range(2))
    whole = a.run(outputs, y, delay)
    parts, done = [], 0
    for size in (5, 1, 2, 0, 12, 20):
        late = {t: y[t] for t in range(max(0, done - delay), done)}
        parts.append(b.run(outputs[done : done + size], y[done : done + size], delay, late=late))
        done += size
    assert plain(a) == plain(b)
    for column in ("id", "radius", "width", "score", "covered"):
        rows = np.concatenate([getattr(part, column) for part in parts])
        np.testing.assert_array_equal(rows, getattr(whole, column))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), delay=st.integers(0, 3), t=st.integers(0, 29))
def test_no_prediction_knows_what_is_not_known_yet(seed, delay, t):
    """Up to round t only the labels of rounds before t - delay can matter."""
    outputs, y = data("signed", 30, seed)
    rng = np.random.default_rng(seed + 1)
    other_outputs, other_y = outputs.copy(), y.copy()
    other_outputs[t + 1 :] = 9.0 * rng.normal(size=29 - t)
    other_y[max(0, t - delay) :] = 9.0 * rng.normal(size=30 - max(0, t - delay))
    a, b = (OnlineConformal("magl-d", "signed", (0.1, 0.4), **SMALL) for _ in range(2))
    one, two = a.run(outputs, y, delay), b.run(other_outputs, other_y, delay)
    for column in ("radius", "lower", "upper", "width"):
        np.testing.assert_array_equal(getattr(one, column)[: t + 1], getattr(two, column)[: t + 1])


def test_an_empty_replay_changes_nothing():
    for score in score_names():
        oc = OnlineConformal("magl", score_of(score), (0.1, 0.2))
        before = plain(oc)
        table = oc.run(data(score, 1)[0][:0], [])
        assert plain(oc) == before and len(table.id) == 0 and np.isnan(table.coverage).all()


def test_the_columns_of_a_table():
    outputs, y = data("signed", 20)
    table = OnlineConformal("magl", "signed", (0.1, 0.25)).run(outputs, y)
    columns = table.columns()
    assert {"id", "lower_0.1", "upper_0.25", "radius_0.1_below", "radius_0.25_above", "score_below"} <= columns.keys()
    assert all(len(column) == 20 for column in columns.values())
    np.testing.assert_array_equal(table.coverage, np.nanmean(table.covered, axis=0))


# Labels meet radii


@pytest.mark.parametrize("name", names())
def test_a_late_label_is_learned_at_the_radius_played(name):
    """Labels in random order: the tracker is a bare one that was told each score with the radius of its round."""
    rng = np.random.default_rng(3)
    more = NEEDS.get(name, {})
    oc, bare = OnlineConformal(name, alpha=0.2, on_unbounded="allow", **more), make(name, 0.2, **more)
    waiting = {}
    for _ in range(150):
        if rng.random() < 0.5 or not waiting:
            p = oc.predict(1.0)
            assert p.radius == max(0.0, bare.predict())
            waiting[p.id] = p.radius
        else:
            id = int(rng.choice(list(waiting)))
            y = rng.normal()
            oc.update(id, y)
            bare.update(abs(y - 1.0), radius=waiting.pop(id))
    assert plain(oc.trackers[0]) == plain(bare)


radius = st.floats(-5.0, 5.0) | st.sampled_from([0.0, INFINITY, -INFINITY])


@settings(max_examples=100, deadline=None)
@given(scripts=st.lists(st.lists(radius, min_size=1, max_size=5), min_size=3, max_size=3), y=st.lists(st.floats(-9, 9)))
def test_radii_nest_whatever_the_trackers_ask_for(scripts, y):
    alphas = (0.2, 0.5, 0.1)
    trackers = [Scripted(a, script) for a, script in zip(alphas, scripts, strict=True)]
    oc = OnlineConformal(trackers, alpha=alphas, on_unbounded="allow")
    played = []
    for label in y:
        own = dict(zip(alphas, [t.predict() for t in trackers], strict=True))
        p = oc.predict(0.5)
        at = dict(zip(alphas, p.radius, strict=True))
        assert 0.0 <= at[0.5] <= at[0.2] <= at[0.1]
        for a in alphas:  # the running maximum, from the narrowest
            assert at[a] == max(0.0, *[own[b] for b in alphas if b >= a])
        assert p[0.1].lower <= p[0.2].lower <= p[0.5].lower <= p[0.5].upper <= p[0.2].upper <= p[0.1].upper
        oc.update(p.id, label)
        played.append(p.radius)
    for i, tracker in enumerate(trackers):
        assert tracker.heard == [(abs(label - 0.5), radii[i]) for label, radii in zip(y, played, strict=True)]


@settings(max_examples=100, deadline=None)
@given(
    scripts=st.lists(st.lists(radius, min_size=1, max_size=5), min_size=4, max_size=4),
    rounds=st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), max_size=12),
    limited=st.booleans(),
)
def test_the_ends_of_two_sides_never_cross(scripts, rounds, limited):
    trackers = [Scripted(a / 2, s, "real") for a, s in zip((0.1, 0.3, 0.1, 0.3), scripts, strict=True)]
    limits = {"lower_limit": -9.0, "upper_limit": 9.0, "on_unbounded": "clip"} if limited else {"on_unbounded": "allow"}
    oc = OnlineConformal(trackers, "signed", (0.1, 0.3), **limits)
    told = []
    for output, y in rounds:
        p = oc.predict(output)
        assert p[0.1].lower <= p[0.3].lower <= p[0.3].upper <= p[0.1].upper
        oc.update(p.id, y)
        e = oc.explain(p.id)
        assert e.score == (output - y, y - output)
        assert e.covered == tuple(output - y < r[0] and y - output < r[1] for r in p.radius)
        told.append((e.score, p.radius))
    for i, tracker in enumerate(trackers):
        level, side = i % 2, i // 2
        assert tracker.heard == [(score[side], radii[level][side]) for score, radii in told]


EPSILONS = {0.05: 0.01, 0.1: 1.0, 0.3: 100.0}  # the narrowest level jumps furthest, so that the others are pushed out
STREAMS = {
    "independent": lambda t, rng, r: abs(rng.normal()),
    "drifting": lambda t, rng, r: abs(rng.normal()) * (1.0 + t / 500.0 + (10.0 if t % 2000 > 1000 else 0.0)),
    "adversarial": lambda t, rng, r: min(r * 1.001 + 0.01, 100.0) if rng.random() < 0.5 else 0.5 * r,  # just beyond
}


def coverage_errors(alphas, stream, rounds):
    """The sum of miss - alpha at each level, and how often a level played more than its own radius."""
    rng = np.random.default_rng(4)
    oc = OnlineConformal([make("magl", a, epsilon=EPSILONS[a]) for a in alphas], alpha=alphas)
    pushed = 0
    for t in range(rounds):
        p = oc.predict(0.0)
        pushed += any(r > tracker.predict() for r, tracker in zip(p.radius, oc.trackers, strict=True))
        oc.update(p.id, stream(t, rng, p.radius[t % len(alphas)]))
    return {a: m.coverage_error for a, m in oc.metrics().items()}, pushed


@pytest.mark.parametrize("name", STREAMS)
def test_each_of_several_levels_keeps_its_coverage(name):
    """The sum of miss - alpha at the radii played stays about as small as that of a level by itself.

    A level that is pushed out covers as often as the narrower one, which misses too often for it: that widens its own
    radius until it is not pushed any more.
    """
    rounds = 5000
    alone = {a: abs(coverage_errors((a,), STREAMS[name], rounds)[0][a]) for a in EPSILONS}
    errors, pushed = coverage_errors(tuple(EPSILONS), STREAMS[name], rounds)
    assert pushed > 100
    for a, error in errors.items():
        assert abs(error) <= 1.5 * alone[a] + 20.0 < 0.1 * rounds


def test_the_error_of_each_level_ages_as_its_tracker_does():
    trackers = [make("magl-d", 0.1, discount=0.5), make("magl", 0.2)]
    oc = OnlineConformal(trackers)
    table = oc.run(np.zeros(100), np.arange(100.0) % 7)
    assert oc.metrics()[0.2].coverage_error == pytest.approx((1.0 - table.covered[:, 1]).sum() - 20.0)
    assert abs(oc.metrics()[0.1].coverage_error) <= 2.0  # of the last few rounds only


# Ids


def test_numbers_that_are_equal_are_one_id():
    """True, 1 and 1.0 are one key of a dict: a number that was an id is never given out again."""
    for keys in ([1.0], [True], [0.5, 2.0], [2**63 - 2], [2**70], [-5, 1e300], [INFINITY]):
        a, b = (OnlineConformal("magl", alpha=0.1) for _ in range(2))
        for oc in (a, b):
            for key in keys:
                oc.predict(0.0, key)
        ids = [a.predict(0.0).id for _ in range(4)]
        assert list(b.run(np.zeros(4), [None] * 4).id) == ids == b.pending()[len(keys) :]
        assert len({*ids, *keys}) == 4 + len(keys) and plain(a) == plain(b)
        a.run([0.0], [None], ids=[7.0 + 2**80])
        b.predict(0.0, 7.0 + 2**80)
        assert plain(a) == plain(b)


def test_kinds_of_ids():
    oc = OnlineConformal("magl", alpha=0.1)
    oc.predict(0.0, np.int64(7))
    assert oc.pending() == [7] and type(oc.pending()[0]) is int
    oc.update(np.int64(7), 1.0)
    assert oc.explain(7).status == "labelled" and oc.predict(0.0).id == 8
    for bad in ([1], {1: 2}, object(), math.nan, ("a", [1])):
        before = plain(oc)
        with pytest.raises((TypeError, ValueError), match="an id"):
            oc.predict(0.0, bad)
        assert plain(oc) == before


def test_late_labels_of_predictions_that_expire_first_are_refused():
    oc = OnlineConformal("magl", alpha=0.1, max_pending=3)
    for key in "ab":
        oc.predict(0.0, key)
    before = plain(oc)
    with pytest.raises(IdError, match=r"'a' would expire before round 1.*max_pending is 3"):
        oc.run([0.0] * 2, [1.0] * 2, 2, late={"b": None, "a": 1.0})
    assert plain(oc) == before
    oc.predict(0.0, "c")  # as many wait as may, and the label of b is in time
    oc.run([0.0] * 2, [1.0] * 2, 2, late={"b": np.float32("nan"), "c": 1.0})
    assert oc.pending() == [0, 1] and oc.expired == 2 and oc.explain("c").status == "labelled"


# Infinite radii, limits


def test_unbounded_sets_are_an_error_that_names_the_cure():
    oc = OnlineConformal("split", alpha=0.1)
    before = plain(oc)
    with pytest.raises(UnboundedError, match=r"radius is inf.*warm_start.*'clip'.*'allow'"):
        oc.predict(0.0)
    with pytest.raises(UnboundedError, match=r"in round 0: the radius is inf.*warm_start"):
        oc.run([0.0] * 3, [1.0] * 3)
    assert plain(oc) == before
    oc.warm_start(np.zeros(50), np.arange(50.0))
    assert oc.predict(0.0).upper < INFINITY and oc.metrics().rounds == 0 and oc.predictions == 1
    assert not oc.predict(0.0).cold


@pytest.mark.parametrize("name", ["split", "aci"])
def test_unbounded_sets_are_clipped_or_allowed(name):
    rng = np.random.default_rng(5)
    outputs, y = rng.normal(size=60), rng.uniform(-2.0, 3.0, 60)
    limits = {"lower_limit": -2.0, "upper_limit": 3.0}
    clipped = OnlineConformal(name, alpha=(0.1, 0.3), on_unbounded="clip", **limits)
    table = clipped.run(outputs, y)
    assert (table.lower >= -2.0).all() and (table.upper <= 3.0).all() and (table.lower <= table.upper).all()
    assert table.radius[0, 0] == INFINITY and (table.lower[0, 0], table.upper[0, 0]) == (-2.0, 3.0)
    assert clipped.metrics()[0.1].unbounded == 0
    allowed = OnlineConformal(name, alpha=(0.1, 0.3), on_unbounded="allow")
    free = allowed.run(outputs, y)
    assert (free.lower[0, 0], free.upper[0, 0]) == (-INFINITY, INFINITY)
    np.testing.assert_array_equal(free.radius, table.radius)
    np.testing.assert_array_equal(np.clip(free.lower, -2.0, 3.0), table.lower)
    assert allowed.metrics()[0.1].unbounded == np.isinf(free.width[:, 0]).sum() > 0


def test_sets_of_labels_are_never_unbounded():
    oc = OnlineConformal("split", "lac", 0.1)
    assert oc.predict([0.5, 0.25, 0.25]).width == 3.0


@pytest.mark.parametrize("score", ["absolute", "signed", "cqr", "normalised", "one-sided"])
def test_limits(score):
    outputs, y = data(score, 60)
    y = np.clip(y, -1.0, 0.5)
    oc = OnlineConformal("magl", score_of(score), (0.1, 0.4), lower_limit=-1.0, upper_limit=0.5)
    table = oc.run(outputs, y)
    for end in (table.lower, table.upper):
        assert ((end >= -1.0) & (end <= 0.5)).all()
    assert (table.lower <= table.upper).all()
    p = oc.predict(outputs[0])
    before = plain(oc)
    for bad in (0.6, -1.1):
        with pytest.raises(ValueError, match=rf"{bad}.*limits \[-1.0, 0.5\]"):
            oc.update(p.id, bad)
        with pytest.raises(ValueError, match=rf"y\[1\].*limits \[-1.0, 0.5\].*{bad}"):
            oc.run(outputs[:2], [0.0, bad])
    assert plain(oc) == before


# Monitoring


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), delay=st.integers(0, 3))
def test_metrics_of_the_played_record(seed, delay):
    outputs, y = data("absolute", 60, seed)
    oc = OnlineConformal("magl", alpha=(0.1, 0.4), **SMALL)
    table = oc.run(outputs, y, delay)
    learned = np.flatnonzero(~np.isnan(y[: 60 - delay]))
    for i, a in enumerate(oc.alpha):
        m = oc.metrics()[a]
        hits, widths = table.covered[learned, i], table.width[learned, i]
        local = np.convolve(hits, np.ones(4), "valid") / 4
        assert (m.rounds, m.coverage, m.local_coverage) == (len(hits), hits.mean(), hits[-4:].mean())
        assert (m.worst_local_coverage, m.worst_round) == (local.min(), 3 + local.argmin())
        assert m.width == pytest.approx(widths.mean()) and m.local_width == pytest.approx(widths[-4:].mean())
        assert m.coverage_error == pytest.approx((1.0 - hits).sum() - a * len(hits))
        assert m.pending == len(oc.pending()) and m.expired == oc.expired
        assert 60 == m.rounds + m.pending + m.expired


def test_the_coverage_bound_or_the_reason_why_there_is_none():
    def metrics(*arguments, **more):
        oc = OnlineConformal(*arguments, **more)
        oc.run(np.zeros(50), np.arange(50.0) % 5)
        return oc, oc.metrics()

    oc, m = metrics("magl", alpha=0.1)
    assert m.no_bound is None and abs(m.coverage_error) <= m.coverage_bound == oc.trackers[0].coverage_bound()
    for arguments in (("aci", "absolute", 0.1), ("magl", "signed", 0.1), ("magl", "one-sided", 0.1)):
        _, m = metrics(*arguments, on_unbounded="allow")
        assert m.coverage_bound is None and ("there is a bound for auto" in m.no_bound or "lemmas" in m.no_bound)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), delay=st.integers(0, 3))
def test_alarms_of_a_replay_are_those_of_its_steps(seed, delay):
    outputs, y = data("absolute", 80, seed)
    heard = [], []
    more = {"alpha": (0.3, 0.1), "band": (0.5, 0.9), **SMALL}
    a, b = (OnlineConformal("magl", on_alarm=said.append, **more) for said in heard)
    steps(a, outputs, y, delay)
    b.run(outputs, y, delay)
    assert heard[0] == heard[1] and plain(a) == plain(b)


def test_an_alarm_once_when_coverage_leaves_its_band():
    """Radii of 1, so scores of 2 are misses: an alarm where 4 labels hold the third, and none while it stays so."""
    heard = []
    script = Scripted(0.5, [1.0])
    oc = OnlineConformal(script, window=4, band=(0.5, 0.75), on_alarm=heard.append)
    for y in [0.0, 2.0, 0.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]:
        oc.update(oc.predict(0.0).id, y)
    assert heard == [Alarm(4, 4, 0.5, "low", 0.25, (0.5, 0.75)), Alarm(11, 11, 0.5, "high", 1.0, (0.5, 0.75))]


def test_an_alarm_may_raise_and_its_label_is_learned():
    def shout(alarm):
        raise RuntimeError(alarm.side)

    quiet = OnlineConformal("magl", alpha=0.1, window=1, band=(0.5, 2.0))
    a, b = (OnlineConformal("magl", alpha=0.1, window=1, band=(0.5, 2.0), on_alarm=shout) for _ in range(2))
    with pytest.raises(RuntimeError, match="low"):
        a.update(a.predict(0.0).id, 5.0)
    with pytest.raises(RuntimeError, match="low"):
        b.run([0.0], [5.0])
    quiet.run([0.0], [5.0])
    assert plain(a) == plain(b) == plain(quiet) and a.metrics().rounds == 1


def test_explanations():
    oc = OnlineConformal("magl", alpha=(0.1, 0.4), history=2)
    oc.run(np.zeros(30), np.arange(30.0) % 4)
    p, q = oc.predict(1.0), oc.predict(2.0)
    assert oc.explain(p.id).status == "waiting" and "waiting" in str(oc.explain(p.id))
    before = tuple(t.predict() for t in oc.trackers)
    oc.update(p.id, 1.5)
    e = oc.explain(p.id)
    assert (e.status, e.radius, e.score, e.waited) == ("labelled", p.radius, 0.5, 1)
    assert e.before == before and e.after == tuple(t.predict() for t in oc.trackers) != before
    assert e.covered == tuple(r > 0.5 for r in p.radius) and "1 predictions later" in str(e)
    oc.expire(q.id)
    assert oc.explain(q.id).status == "expired" and oc.explain(q.id).radius == q.radius
    with pytest.raises(IdError, match="history keeps 2"):
        oc.explain(0)
    with pytest.raises(IdError, match="no prediction has the id 'x'"):
        oc.explain("x")
    assert isinstance(IdError("x"), KeyError) and isinstance(IdError("x"), ValueError) and str(IdError("x")) == "x"


# Errors


@pytest.mark.parametrize(
    "arguments, error, match",
    [
        ({"tracker": "magic"}, ValueError, "no method is called 'magic'"),
        ({"tracker": 7}, TypeError, "7"),
        ({"tracker": []}, ValueError, "at least 1 trackers, got 0"),
        ({"tracker": make("magl", 0.2)}, ValueError, "the tracker has alpha 0.2, given is 0.1"),
        ({"tracker": make("magl", 0.1), "epsilon": 2.0}, TypeError, "epsilon: hyperparameters"),
        ({"tracker": [make("magl", 0.1)] * 2, "alpha": (0.1, 0.2)}, ValueError, "the same one twice"),
        ({"tracker": [make("magl", 0.1)], "alpha": (0.1, 0.2)}, ValueError, "need 2 trackers, got 1"),
        ({"tracker": [make("magl", 0.1)], "alpha": None, "score": "signed"}, ValueError, "at least 2 trackers, got 1"),
        ({"tracker": [make("magl", 0.3)], "alpha": (0.1,)}, ValueError, "must have alpha 0.1, got 0.3"),
        ({"tracker": make("magl", 0.1), "score": "one-sided"}, ValueError, "domain='real'"),
        ({"tracker": make("magl", 0.1, domain="real")}, ValueError, "domain='nonnegative'"),
        ({"score": "squared"}, ValueError, "no score is called 'squared'"),
        ({"score": 3}, TypeError, "got 3"),
        ({"alpha": None}, TypeError, "give alpha"),
        ({"alpha": 0.0}, ValueError, "alpha.*got 0.0"),
        ({"alpha": (0.1, 0.1)}, ValueError, r"different ones, got \(0.1, 0.1\)"),
        ({"alpha": ()}, ValueError, "one level or several"),
        ({"alpha": (0.1, "0.2")}, TypeError, "0.2"),
        ({"lower_limit": 1.0, "upper_limit": 1.0}, ValueError, "lower_limit must be below upper_limit"),
        ({"lower_limit": "0"}, TypeError, "lower_limit"),
        ({"lower_limit": 0.0, "score": "aps"}, ValueError, "limits are for intervals"),
        ({"on_unbounded": "ignore"}, ValueError, "one of error, clip, allow, got 'ignore'"),
        ({"on_unbounded": "clip"}, ValueError, "finite lower_limit and upper_limit"),
        ({"on_unbounded": "clip", "score": "ball"}, ValueError, "needs an interval"),
        ({"max_pending": 0}, ValueError, "max_pending.*at least 1, got 0"),
        ({"history": -1}, ValueError, "history.*at least 0, got -1"),
        ({"history": 1.5}, ValueError, "history.*got 1.5"),
        ({"window": 0}, ValueError, "window.*got 0"),
        ({"band": 0.5}, TypeError, "band must be a pair.*got 0.5"),
        ({"band": (0.9, 0.8)}, ValueError, "low <= high"),
        ({"on_alarm": 3}, TypeError, "on_alarm must be a function of an Alarm, got 3"),
        ({"epsilonn": 3}, TypeError, "epsilonn"),
    ],
)
def test_bad_arguments(arguments, error, match):
    with pytest.raises(error, match=match):
        OnlineConformal(**{"tracker": "magl", "alpha": 0.1, **arguments})


def test_a_tracker_that_has_learned_serves_one_level_only():
    tracker = make("magl", 0.1)
    tracker.run([1.0, 2.0])
    with pytest.raises(ValueError, match="cannot be the pattern"):
        OnlineConformal(tracker, alpha=(0.1, 0.2))
    assert OnlineConformal(tracker).trackers[0] is tracker


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda oc: oc.predict("x"), TypeError, "output.*'x'"),
        (lambda oc: oc.predict(math.nan), ValueError, "output.*nan"),
        (lambda oc: oc.predict([1.0]), TypeError, "output"),
        (lambda oc: oc.predict(1.0, 0), IdError, "id 0 waits for its label: update or expire it"),
        (lambda oc: oc.update(0, None), ValueError, "y is missing"),
        (lambda oc: oc.update(0, math.nan), ValueError, "y is missing"),
        (lambda oc: oc.update(0, 1e200), ValueError, "y.*1e\\+200"),
        (lambda oc: oc.update(0, 1.0, discount=-1.0), ValueError, "discount.*-1.0"),
        (lambda oc: oc.update(0, 1.0, discount=lambda n: "x"), TypeError, "discount"),
        (lambda oc: oc.update(99, 1.0), IdError, r"no prediction has the id 99: take it from predict"),
        (lambda oc: oc.update(2, 1.0), IdError, "prediction 2 has had its label"),
        (lambda oc: oc.expire(), TypeError, "give the id of a prediction, or older_than"),
        (lambda oc: oc.expire(0, 0), TypeError, "give the id of a prediction, or older_than"),
        (lambda oc: oc.expire(older_than=-1), ValueError, "older_than.*-1"),
        (lambda oc: oc.expire("x"), IdError, "no prediction has the id 'x'"),
        (lambda oc: oc.run([1.0, 2.0], [1.0]), ValueError, "y must hold 2 labels.*got 1"),
        (lambda oc: oc.run([1.0, math.inf], [1.0, 1.0]), ValueError, r"outputs\[1\].*inf"),
        (lambda oc: oc.run([1.0, 2.0], [1.0, math.inf]), ValueError, r"y\[1\].*inf"),
        (lambda oc: oc.run([1.0, 2.0], [1.0, "x"]), TypeError, r"y\[1\].*'x'"),
        (lambda oc: oc.run([1.0], [1.0], -1), ValueError, "delay.*-1"),
        (lambda oc: oc.run([1.0], [1.0], 5), ValueError, "delay = 5 needs max_pending > 5, got 5"),
        (lambda oc: oc.run([1.0], [1.0], ids=["a", "b"]), ValueError, "ids must be one a round, 1, got 2"),
        (lambda oc: oc.run([1.0, 1.0], [1.0] * 2, ids=["a", "a"]), ValueError, "ids must differ"),
        (lambda oc: oc.run([1.0], [1.0], ids=[0]), ValueError, "from those that wait"),
        (lambda oc: oc.run([1.0], [1.0], ids=[[0]]), TypeError, "an id"),
        (lambda oc: oc.run([1.0], [1.0], discounts=[1.0, 1.0]), ValueError, "discounts"),
        (lambda oc: oc.run([1.0], [1.0], discounts=-1.0), ValueError, "discounts"),
        (lambda oc: oc.run([1.0], [1.0], discounts=lambda n: -1.0), ValueError, "discounts"),
        (lambda oc: oc.run([1.0], [1.0], late={0: 1.0}), ValueError, "late may hold one label .*delay = 0"),
        (lambda oc: oc.run([1.0], [1.0], 1, late={"x": 1.0}), IdError, "no prediction has the id 'x'"),
        (lambda oc: oc.run([1.0], [1.0], 1, late={2: 1.0}), IdError, "2 has had its label"),
        (lambda oc: oc.run([1.0], [1.0], 1, late={0: "x"}), TypeError, "'x'"),
        (lambda oc: oc.warm_start([1.0], [1.0, 2.0]), ValueError, "y must hold 1 labels"),
        (lambda oc: oc.warm_start([1.0], ["x"]), TypeError, "'x'"),
        (lambda oc: oc.explain("x"), IdError, "no prediction has the id 'x'"),
    ],
)
def test_nothing_changes_after_an_error(call, error, match):
    oc = OnlineConformal("magl", alpha=(0.1, 0.2), max_pending=5)
    for _ in range(4):
        oc.predict(1.0)
    oc.update(2, 1.5)
    before = plain(oc)
    with pytest.raises(error, match=match):
        call(oc)
    assert plain(oc) == before


def test_a_tracker_that_fails_takes_all_levels_back():
    """The second level refuses a score of 13; the first has learned it by then."""
    oc = OnlineConformal([make("magl", 0.2), Scripted(0.1, [1.0])], alpha=(0.2, 0.1))
    oc.run(np.zeros(20), np.arange(20.0) % 5)
    p = oc.predict(0.0)
    before = plain(oc)
    for call in (
        lambda: oc.update(p.id, 13.0),
        lambda: oc.run(np.zeros(3), [1.0, 2.0, 13.0]),
        lambda: oc.warm_start(np.zeros(3), [1.0, 2.0, 13.0]),
    ):
        with pytest.raises(ValueError, match="thirteen"):
            call()
        assert plain(oc) == before
    with pytest.raises(ValueError, match="in round 2: thirteen"):
        oc.run(np.zeros(3), [1.0, 2.0, 13.0])


# State


def test_copies_share_nothing():
    oc = OnlineConformal("magl", alpha=(0.1, 0.2))
    oc.run(np.zeros(30), np.arange(30.0) % 4, 2)
    for other in (copy.copy(oc), copy.deepcopy(oc)):
        before = plain(other)
        oc.update(oc.predict(1.0).id, 5.0)
        assert plain(other) == before != plain(oc)


@pytest.mark.parametrize("band", [None, (0.5, 0.9), (None, 0.95), (0.5, None)])
def test_the_band_is_part_of_the_state(band):
    oc = OnlineConformal("magl", alpha=0.1, band=band)
    again = OnlineConformal.from_state_dict(json.loads(plain(oc)))
    assert again.monitors[0].band == oc.monitors[0].band and plain(again) == plain(oc)


def test_what_plain_data_cannot_hold_is_given_again():
    heard = []
    functions = {"score_function": lambda m, y: abs(y - m), "set_function": lambda m, r: (m - r, m + r)}
    oc = OnlineConformal("magl", UserScore(**functions), 0.1, window=1, band=(0.5, 2.0), on_alarm=heard.append)
    oc.predict(1.0)
    state = json.loads(plain(oc))
    again = OnlineConformal.from_state_dict(state, on_alarm=heard.append, **functions)
    again.update(0, 5.0)
    assert len(heard) == 1 and again.pending() == []
    with pytest.raises(TypeError, match="score_function"):
        OnlineConformal.from_state_dict(state)
    with pytest.raises(TypeError, match="asks for other"):
        OnlineConformal.from_state_dict(state, other=3, **functions)


def test_damaged_states_are_refused():
    oc = OnlineConformal("magl", alpha=0.1, max_pending=2)
    oc.run(np.zeros(10), np.arange(10.0), 1)
    good = plain(oc)
    for where, key, bad in (
        ("memory", "pending", 5),
        ("memory", "pending", [[1, 2]]),
        ("memory", "predictions", -1),
        ("memory", "monitors", []),
        ("memory", "closed", [[0, "labelled", [1.0, 2.0]]]),
        ("parameters", "alpha", 2.0),
        ("parameters", "tracker", []),
        ("parameters", "max_pending", 0),
    ):
        state = json.loads(good)
        state[where][key] = bad
        with pytest.raises(ValueError):
            OnlineConformal.from_state_dict(state)
    for change in ({"format": 99}, {"class": "Horizons"}, {"memory": {}}, {"parameters": {}}):
        with pytest.raises(ValueError, match="state"):
            OnlineConformal.from_state_dict({**json.loads(good), **change})
    with pytest.raises(ValueError, match="state must be"):
        OnlineConformal.from_state_dict([])
    assert plain(OnlineConformal.from_state_dict(json.loads(good))) == good


def test_files(tmp_path):
    oc = OnlineConformal("aci", "cqr", (0.1, 0.3), on_unbounded="allow")
    outputs, y = data("cqr", 30)
    oc.run(outputs, y, 2)
    wane.save(tmp_path / "oc.wane", oc, sync=False)
    again = wane.load(tmp_path / "oc.wane")
    assert plain(again) == plain(oc)
    check_table(again.run(outputs, y), steps(oc, outputs, y))
