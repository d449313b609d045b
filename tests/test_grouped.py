"""Groups that overlap: every group is covered as it should be, its bound holds, and the state is data."""

import json
import math

import numpy as np
import pytest

from wane import theory, trackers
from wane.learners import OddMagnitudeLearner
from wane.trackers import Grouped, make

ALPHA = 0.1


def world(rounds, seed=0):
    """Scores whose size depends on the hour and on the place, and the groups of each round."""
    rng = np.random.default_rng(seed)
    hour, place = np.arange(rounds) % 4, rng.integers(3, size=rounds)
    scores = np.abs(rng.normal(size=rounds)) * (1.0 + hour) * (0.5 + place)
    return scores, [(f"hour {h}", f"place {p}") for h, p in zip(hour, place, strict=True)]


def play(tracker, scores, names):
    """One round after the other; the radii."""
    radii = []
    for score, inside in zip(scores, names, strict=True):
        tracker.set_groups(inside)
        radii.append(tracker.predict())
        tracker.update(float(score))
    return np.array(radii)


def test_every_group_comes_to_its_target():
    scores, names = world(4000)
    alone = make("magl", ALPHA, epsilon=3.0).run(scores)
    tracker = Grouped(make("magl", ALPHA, epsilon=3.0))
    radii = play(tracker, scores, names)
    found = tracker.group_coverage()
    off = {}
    for group, seen in found.items():
        rows = np.array([group == "everything" or group in inside for inside in names])
        missed = radii[rows] <= scores[rows]
        assert (seen.labels, seen.misses) == (rows.sum(), missed.sum())
        assert seen.error == pytest.approx(missed.sum() - ALPHA * rows.sum()) and abs(seen.error) <= seen.bound
        off[group] = (abs(seen.coverage - 0.9), abs((alone[rows] > scores[rows]).mean() - 0.9))
    assert max(now for now, _ in off.values()) < 0.02 < 0.1 < max(before for _, before in off.values())
    assert tracker.coverage_sum() == found["everything"].error and tracker.coverage_bound() == found["everything"].bound


def test_a_group_is_an_odd_learner_with_a_constant_hint_and_a_quick_estimate():
    """The rule by its definition: a learner and an estimate for each group, all fed the same misses."""
    scores, names = world(300, 1)
    tracker = Grouped(1.0, alpha=ALPHA, epsilon=0.7)
    players, quick, labels = {}, {}, {}
    rate = 1.4 / (ALPHA * math.log(1.0 / ALPHA))
    for t, (score, inside) in enumerate(zip(scores, names, strict=True)):
        for name in ("everything", *inside):
            if name not in players:
                players[name] = OddMagnitudeLearner(0.7)
                players[name].update(1.0 - ALPHA)
                quick[name] = labels[name] = 0.0
        said = sum(players[name].predict() for name in ("everything", *inside))
        said += min(max(sum(quick[name] for name in inside), -3.0), 3.0)
        tracker.set_groups(inside)
        unit, record = tracker.unit.scale, tracker.unit.record
        want = max(0.0, min(1.0 + unit * said, max(1.0, 2.0 * record))) if record else 1.0
        assert tracker.predict() == pytest.approx(want, rel=1e-12), t
        missed = want <= score
        tracker.update(float(score))
        if not (missed and score >= 2.0 * record):
            for name in ("everything", *inside):
                players[name].update(ALPHA - float(missed))
                labels[name] += 1.0
                step = rate * (float(missed) - ALPHA) / (labels[name] + 3.0 / ALPHA)
                quick[name] = min(max(quick[name] + min(max(step, -0.5), 0.5), -3.0), 3.0)


@pytest.mark.parametrize("delay", [0, 20])
@pytest.mark.parametrize("kind", ["zeros", "jump", "follows the radius", "pushes on"])
def test_no_group_exceeds_its_bound(kind, delay):
    """Late labels too: the certificate is made of what was really won."""
    rng = np.random.default_rng(2)
    tracker, waiting = Grouped(make("split", ALPHA), epsilon=1.0), []
    for t in range(300):
        inside = [f"g{k}" for k in range(5) if rng.random() < 0.4]
        tracker.set_groups(inside)
        waiting.append((inside, tracker.predict()))
        if len(waiting) > delay:
            inside, r = waiting.pop(0)
            tracker.set_groups(inside)
            score = {
                "zeros": 0.0,
                "jump": 1.0 if t < 150 else 1e4,
                "follows the radius": min(r, 1e3),
                "pushes on": 5.0 if tracker.coverage_sum() > 0.0 else 0.0,
            }[kind]
            tracker.update(score, radius=r)
            if t % 100 == 99:
                assert all(abs(g.error) <= g.bound + 1e-9 for g in tracker.group_coverage().values())


def test_a_new_group_begins_with_what_the_others_say():
    scores, names = world(1500)
    tracker = Grouped(0.0, alpha=ALPHA)
    play(tracker, scores, names)
    tracker.set_groups(["hour 0"])
    old = tracker.predict()
    tracker.set_groups(["hour 0", "new"])
    assert tracker.predict() == old > 0.0 and tracker.group_coverage()["new"].labels == 0
    assert math.isnan(tracker.group_coverage()["new"].coverage)


def test_its_state_is_data():
    scores, names = world(400)
    a = Grouped(make("magl", ALPHA))
    play(a, scores[:200], names[:200])
    b = trackers.load(json.loads(json.dumps(a.state_dict())))
    assert b.groups == a.groups and b.group_coverage() == a.group_coverage()
    assert play(a, scores[200:], names[200:]).tobytes() == play(b, scores[200:], names[200:]).tobytes()
    assert a.group_coverage() == b.group_coverage()


def test_a_state_that_no_rounds_could_have_left_is_refused():
    scores, names = world(50)
    tracker = Grouped(1.0, alpha=ALPHA)
    play(tracker, scores, names)
    for field, wrong in (("table", lambda t: [[-1.0, *t[0][1:]], *t[1:]]), ("changed", lambda x: 2.0)):
        state = json.loads(json.dumps(tracker.state_dict()))
        state["memory"][field] = wrong(state["memory"][field])
        with pytest.raises(ValueError, match=f"{field} in the memory of Grouped"):
            trackers.load(state)


def test_the_limit_and_what_it_skips():
    tracker = Grouped(0.0, alpha=ALPHA, epsilon=50.0)
    top = 0.0
    for score in [1.0] * 60 + [5.0] * 60 + [100.0] * 20:
        assert top == 0.0 or tracker.predict() <= 2.0 * top
        tracker.update(score)
        top = max(top, score)
    assert tracker.table[0, 4] == 3  # the first, 5 after 1, and 100 after 5
    seen = tracker.group_coverage()["everything"]
    assert seen.error == pytest.approx(tracker.table[0, 2] + 0.9 * 3) and abs(seen.error) <= seen.bound


def test_a_changed_alpha_has_no_bound():
    tracker = Grouped(1.0, alpha=ALPHA)
    tracker.update(2.0)
    tracker.alpha = 0.2
    assert tracker.base.alpha == 0.2 and tracker.group_coverage()["everything"].bound == math.inf
    with pytest.raises(ValueError, match="one alpha"):
        tracker.coverage_bound()


def test_what_is_refused():
    tracker = Grouped(1.0, alpha=ALPHA)
    for wrong in ("sunday", ["everything"], [3]):
        with pytest.raises((ValueError, TypeError), match="groups must be") as caught:
            tracker.set_groups(wrong)
        assert caught.value.argument == "groups" and caught.value.cure
    with pytest.raises(TypeError, match="beside alpha"):
        Grouped(2.0)
    assert theory.group_certificate(ALPHA, [0.0], 0.0)[0] >= 2.5 * 0.9
