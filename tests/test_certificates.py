"""No certificate is false: every method, loss, tie rule and score on hostile streams.

Wherever the metrics or a tracker give a bound beside a sum, the sum must be within it, at every moment that is looked
at. Where nothing is proved there must be no bound.
"""

import inspect
import math

import numpy as np
import pytest
from conformal_cases import data, score_of
from table import NEEDS

import wane
from wane.trackers import Calibrated, Pinball, Tracker, UserLoss, make
from wane.trackers.registry import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")

ALPHAS = (0.01, 0.1, 0.5)
SCORES = ("absolute", "signed", "normalised", "cqr", "one-sided", "lac", "aps", "raps", "ball", "user")
ROUNDS = 240


def stream(kind, rounds, rng):
    """Scores that someone chose who wishes us ill."""
    t = np.arange(rounds)
    return {
        "zeros": np.zeros(rounds),
        "ties": np.ones(rounds),
        "few values": rng.integers(0, 3, rounds).astype(float),
        "zeros, then ones": (t >= rounds // 3).astype(float),
        "ones, then zeros": (t < rounds // 3).astype(float),
        "jump up": np.where(t < rounds // 2, 1.0, 1e4) * (1.0 + rng.random(rounds)),
        "jump down": np.where(t < rounds // 2, 1.0, 1e-4) * (1.0 + rng.random(rounds)),
        "jump from zero": np.where(t < rounds // 2, 0.0, 1e4),
        "ever larger": 1e-4 * 1.2 ** np.minimum(t, 100),
        "in turns": np.where(t % 20 == 7, 1e4, 0.0),
        "spikes": np.where(rng.random(rounds) < 0.02, 1e4, np.abs(rng.normal(size=rounds))),
    }[kind]


STREAMS = sorted(
    "zeros|ties|few values|zeros, then ones|ones, then zeros|jump up|jump down|jump from zero|ever larger|in turns|"
    "spikes".split("|")
)


def above(radius, score):
    """A subgradient of a user's: a Huber loss, skewed."""
    return 0.1 * min(radius - score, 1.0) if radius > score else 0.9 * max(radius - score, -1.0)


def variants(name):
    """The settings of a method that decide what it learns from: loss, ties, discount."""
    known = inspect.signature(METHODS[name]).parameters
    yield {}
    if "tie" in known:
        for tie in ("miss", "covered", "neither"):
            yield {"tie": tie}
    if "loss" in known:
        for loss in ("skewed-quadratic", above, lambda a: Pinball(a, "covered"), lambda a: Pinball(a, "neither")):
            yield {"loss": loss}
    if name == "magl-d":
        yield {"discount": 0.9}
        yield {"discount": 0.9, "loss": "skewed-quadratic"}
    if "published" in known:
        yield {"published": True}


def made(name, alpha, variant, **more):
    """A tracker, or None where the method has no such tie."""
    given = dict(variant)
    if callable(given.get("loss")) and given["loss"] is not above:
        given["loss"] = given["loss"](alpha)
    try:
        return make(name, alpha, **NEEDS[name], **given, **more)
    except ValueError as error:
        assert "tie" in str(error)
        return None


def within(total, bound, said):
    """A sum within its bound, up to rounding; nothing to say where there is no bound."""
    if bound is not None:
        assert abs(total) <= bound * (1.0 + 1e-9) + 1e-9, (total, bound, said)


def check_tracker(tracker, said):
    """What a tracker says of itself."""
    for what in ("coverage", "gradient"):
        try:
            bound = getattr(tracker, f"{what}_bound")()
        except (AttributeError, TypeError, ValueError):
            continue
        within(getattr(tracker, f"{what}_sum")(), bound, (what, said))


def check_metrics(oc, said):
    """What the metrics say; a level has a bound, or a reason."""
    found = oc.metrics()
    for m in found.values() if isinstance(found, dict) else [found]:
        assert (m.coverage_bound is None) == (m.no_bound is not None)
        within(m.coverage_error, m.coverage_bound, said)
        within(m.gradient_sum or 0.0, m.gradient_bound, said)


def domain_of(score):
    return {"domain": "real"} if wane.scores.as_score(score).signed else {}


@pytest.mark.parametrize("name", sorted(METHODS))
def test_no_method_exceeds_its_bound_on_hostile_streams(name):
    for kind in STREAMS:
        scores = stream(kind, ROUNDS, np.random.default_rng(1))
        for alpha in ALPHAS:
            for variant in variants(name):
                tracker = made(name, alpha, variant)
                if tracker is None:
                    continue
                oc = wane.OnlineConformal(tracker, on_unbounded="allow")
                for part in np.array_split(scores, 4):
                    oc.run(np.zeros(len(part)), part)
                    check_metrics(oc, (kind, alpha, variant))
                    check_tracker(oc.trackers[0], (kind, alpha, variant))


@pytest.mark.parametrize("name", sorted(METHODS))
@pytest.mark.parametrize("score", SCORES)
def test_no_method_exceeds_its_bound_with_any_score(name, score):
    outputs, y = data(score, 60)
    for variant in variants(name):
        more = domain_of(score_of(score))
        if more and "domain" not in inspect.signature(METHODS[name]).parameters:
            continue  # on [0, inf) only
        tracker = made(name, 0.1, variant, **more)
        if tracker is None:
            continue
        oc = wane.OnlineConformal(tracker, score_of(score), on_unbounded="allow")
        oc.run(outputs, y)
        check_metrics(oc, (score, variant))
        assert oc.metrics().coverage_bound is None or score not in ("signed", "cqr", "one-sided")


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"auto"}))
def test_no_calibrated_method_exceeds_its_bound(name):
    for kind in STREAMS:
        scores = stream(kind, ROUNDS, np.random.default_rng(2))
        for alpha in (0.01, 0.1):
            tracker = Calibrated(made(name, alpha, {}))
            for part in np.array_split(scores, 4):
                tracker.run(part)
                check_tracker(tracker, (kind, alpha))


@pytest.mark.parametrize("name", ["auto", "magl", "magl-d"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_no_bound_is_exceeded_by_scores_that_follow_the_radius(name, alpha):
    """An adversary who sees the radius: on it, just below it, or far above it in turns of growing length."""
    for way in range(3):
        tracker = make(name, alpha)
        for t in range(400):
            r = min(tracker.predict(), 1e4)
            tracker.update((r, max(0.0, r - 1e-9), 1e4 if math.sqrt(t) % 2 < 1 else 0.0)[way])
            if t % 20 == 0:
                check_tracker(tracker, way)


@pytest.mark.parametrize("name", ["auto", "magl", "magl-d"])
def test_the_bound_is_about_what_the_metrics_count(name):
    """A past, late labels, several levels, a changed alpha, discounts of the user's: no bound, or a true one."""
    scores = np.concatenate([np.full(300, 1e4), np.zeros(600), np.full(300, 1.0)])
    for alpha, delay, past, discounts in (
        (0.1, 0, True, None),
        (0.1, 7, False, None),
        ((0.05, 0.1, 0.3), 0, False, None),
        (0.1, 0, False, np.where(np.arange(1200) % 3, 1.0, 1.5)),
        (0.1, 0, False, 0.5),
    ):
        oc = wane.OnlineConformal(name, alpha=alpha)
        if past:
            oc.warm_start(np.zeros(300), scores[:300])
        for part in range(0, 1200, 200):
            rates = discounts if discounts is None or np.ndim(discounts) == 0 else discounts[part : part + 200]
            oc.run(np.zeros(200), scores[part : part + 200], delay=delay, discounts=rates)
            check_metrics(oc, (alpha, delay, past))
    oc = wane.OnlineConformal(name, alpha=0.1)
    oc.run(np.zeros(200), scores[:200])
    oc.trackers[0].alpha = 0.9
    oc.run(np.zeros(200), scores[200:400])
    check_metrics(oc, "another alpha")


def test_the_three_that_were_false():
    rng = np.random.default_rng(0)
    oc = wane.OnlineConformal("magl", alpha=0.1, loss="skewed-quadratic")
    oc.run(np.zeros(5000), rng.standard_cauchy(5000).clip(-1e3, 1e3))
    m = oc.metrics()
    assert m.coverage_bound is None and "count no misses" in m.no_bound
    assert abs(m.coverage_error) > 400.0 and abs(m.gradient_sum) <= m.gradient_bound < math.inf
    for tie in ("covered", "neither"):
        tracker = make("magl", 0.1, loss=Pinball(0.1, tie))
        tracker.run(np.zeros(5000))
        assert tracker.coverage_sum() == pytest.approx(-500.0 if tie == "covered" else 0.0)
        with pytest.raises(ValueError, match=f"tie='{tie}'"):
            tracker.coverage_bound()
    tracker = Calibrated(make("nex", 0.01, decay=0.9))
    tracker.run(np.zeros(3000))
    assert tracker.coverage_sum() == pytest.approx(-30.0) and tracker.coverage_bound() == math.inf
    assert wane.trackers.load(tracker.state_dict()).coverage_bound() == math.inf


def test_sums_of_gradients_have_their_own_name():
    magl, other = make("magl", 0.1), make("magl", 0.1, loss=UserLoss(0.1, above))
    for tracker in (magl, other):
        tracker.run([1.0, 0.5, 2.0] * 30)
    assert magl.gradient_sum() == magl.coverage_sum() and magl.gradient_bound() == magl.coverage_bound()
    assert abs(other.gradient_sum()) <= other.gradient_bound() <= other.gradient_bound(max_score=10.0)
    for ask in (other.coverage_sum, other.coverage_bound):
        with pytest.raises(ValueError, match=r"UserLoss count no misses.*gradient_sum"):
            ask()
    with pytest.raises(ValueError, match="at most 0 where radius = score"):
        make("magl", 0.1, loss=Pinball(0.1, "covered")).gradient_bound()
    with pytest.raises(TypeError, match="magl-d and magl"):
        make("kt", 0.1).gradient_sum()


class Five(Tracker):
    """It plays 5 in every round."""

    def _predict(self):
        return 5.0

    def _update(self, score, radius, discount):
        pass


@pytest.mark.parametrize(("tie", "coverage"), [("miss", 0.5), ("covered", 0.75)])
def test_what_a_tracker_learns_as_covered_is_no_miss(tie, coverage):
    """Step by step and in a batch, one level and several, in a panel as in one stream."""
    y = np.array([5.0, 4.0, 6.0, 3.0])
    for alone in (True, False):
        made = [Five(0.1, tie=tie)] if alone else [Five(0.1, tie=tie), Five(0.2)]
        alpha = (0.1,) if alone else (0.1, 0.2)
        step, batch = (wane.OnlineConformal([*made], alpha=alpha) for _ in range(2))
        for value in y:
            p = step.predict(0.0)
            step.update(p.id, value)
        table = batch.run(np.zeros(4), y)
        for oc in (step, batch):
            found = oc.metrics()
            assert found[0.1].coverage == coverage and (alone or found[0.2].coverage == 0.5)
        assert table.covered[:, 0].mean() == coverage
    panel = wane.Panel("linear-tracker", alpha=0.1, rate=1e-150, start=5.0, tie=tie)  # a rate that moves nothing
    panel.run(["a"] * 5, np.zeros(5), np.concatenate([[3.0], y]))  # the first row may have no interval
    summary = panel.summary()
    assert round(summary["labels"][0] * (1.0 - summary["coverage"][0])) == round(4 * (1.0 - coverage))
