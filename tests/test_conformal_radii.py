"""The radii that `OnlineConformal` plays: labels meet them, levels nest, ends never cross, limits hold."""

import numpy as np
import pytest
from conformal_cases import INFINITY, Scripted, data, plain, score_of
from hypothesis import given, settings
from hypothesis import strategies as st
from table import NEEDS

from wane import OnlineConformal
from wane.errors import UnboundedError
from wane.trackers import make, names

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


# Labels meet radii


@pytest.mark.parametrize("name", [name for name in names() if name != "auto"])  # which is told more: test_late_labels
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
        with pytest.raises(ValueError, match=rf"y\[1\] = {bad}.*limits \[-1.0, 0.5\]"):
            oc.run(outputs[:2], [0.0, bad])
    assert plain(oc) == before
