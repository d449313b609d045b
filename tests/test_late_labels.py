"""Late labels: what was known at the prediction is what is learned, in any order, and the coverage theorem holds."""

import json
import random

import numpy as np
import pytest

import wane
from wane import trackers
from wane.conformal import ManySeries
from wane.trackers import Blend, Calibrated, Given

ALPHA = 0.1
ROUNDS = 260


def forecasts(rounds=ROUNDS, seed=0):
    """A random walk, forecast by its last value, whose noise grows; some labels never come."""
    rng = np.random.default_rng(seed)
    y_hat = rng.normal(size=rounds).cumsum()
    y = y_hat + rng.normal(size=rounds) * np.where(np.arange(rounds) < rounds // 2, 1.0, 4.0)
    y[rng.random(rounds) < 0.1] = np.nan
    return y_hat, y


def shaped(y_hat, score):
    """The model's outputs, in the shape that the score wants."""
    if score == "aps":
        p = 1.0 / (1.0 + np.exp(-y_hat))
        return np.column_stack([p, 1.0 - p])
    return np.column_stack([y_hat - 1.0 - np.abs(y_hat), y_hat + 1.0]) if score == "cqr" else y_hat


def again(thing):
    return type(thing).from_state_dict(json.loads(json.dumps(thing.state_dict())))


@pytest.mark.parametrize("delay", [0, 1, 9])
@pytest.mark.parametrize("alpha", [0.1, [0.05, 0.3]])
@pytest.mark.parametrize("score", ["absolute", "cqr", "signed", "aps"])
def test_a_batch_gives_the_bits_of_single_steps(score, alpha, delay):
    """Also with late labels, with labels that never come, from a state in the middle, and after previews."""
    y_hat, y = forecasts()
    outputs, half = shaped(y_hat, score), ROUNDS // 2
    if score == "aps":  # the label is 0 or 1
        y = np.where(np.isnan(y), np.nan, y > y_hat)
    steps, batch = (wane.OnlineConformal("auto", score, alpha) for _ in range(2))
    radii = []
    for t in range(ROUNDS):
        steps.preview(outputs[t - 1])
        radii.append(steps.predict(outputs[t], id=t).radius)
        if t >= delay and y[t - delay] == y[t - delay]:
            steps.update(t - delay, y[t - delay])
        steps = again(steps) if t == half else steps
    first = batch.run(outputs[:half], y[:half], delay=delay)
    late = {t: None if y[t] != y[t] else y[t] for t in range(half - delay, half)}
    second = again(batch).run(outputs[half:], y[half:], delay=delay, late=late)
    assert np.array_equal(np.concatenate([first.radius, second.radius]), np.array(radii))
    batch.run(outputs[half:], y[half:], delay=delay, late=late)
    assert json.dumps(batch.state_dict()) == json.dumps(steps.state_dict())


@pytest.mark.parametrize("delay", [0, 4])
@pytest.mark.parametrize("score", ["absolute", "cqr"])
def test_a_panel_gives_the_bits_of_its_streams(score, delay):
    y_hat, y = forecasts()
    outputs, ids = shaped(y_hat, score), np.arange(ROUNDS) % 3
    panel = wane.Panel("auto", ALPHA, score)
    first = panel.run(ids[:100], outputs[:100], y[:100], delay=delay)
    others = [wane.Panel.from_rows(panel, *panel.rows()), again(panel), panel]
    rest = [one.run(ids[100:], outputs[100:], y[100:], delay=delay).radius for one in others]
    assert np.array_equal(rest[0], rest[1]) and np.array_equal(rest[0], rest[2])
    radii = np.concatenate([first.radius, rest[0]])
    for stream in range(3):
        mine = ids == stream
        alone = wane.OnlineConformal("auto", score, ALPHA).run(outputs[mine], y[mine], delay=delay)
        assert np.array_equal(radii[mine], alone.radius)


def test_ticks_of_a_panel_are_rounds():
    y_hat, y = forecasts()
    panel, radii = wane.Panel("auto", ALPHA), []
    for t in range(ROUNDS):
        radii.append(panel.predict(["a"], y_hat[t : t + 1]).radius[0])
        panel.update(["a"], y[t : t + 1])
        panel = again(panel) if t == 99 else panel
    assert np.array_equal(radii, wane.OnlineConformal("auto", alpha=ALPHA).run(y_hat, y).radius)


def test_horizons_step_by_step_and_at_once():
    rng = np.random.default_rng(3)
    y = rng.normal(size=150).cumsum()
    outputs = np.repeat(y[:-3, None], 3, axis=1)
    one, all_at_once = (wane.Horizons(3, "auto", alpha=ALPHA) for _ in range(2))
    radii = []
    for t in range(len(outputs)):
        if t:
            one.update(t, y[t])
        radii.append([p.radius for p in one.predict(outputs[t])])
    tables = all_at_once.run(outputs, y[: len(outputs)])
    assert np.array_equal(np.array(radii), np.column_stack([table.radius for table in tables]))


def test_a_note_is_what_was_known():
    """In time, a label with its note is a label; late, it is learned with what was known, and not with what is."""
    scores = np.abs(np.random.default_rng(0).normal(size=60))
    plain, noting = (trackers.make("auto", ALPHA) for _ in range(2))
    for score in scores:
        plain.update(score)
        radius, note = noting.predict(), noting.note()
        assert noting.predict() == radius  # and the note has changed nothing
        noting.update(score, radius, note=note)
    assert noting.state_dict() == plain.state_dict()
    radius, note = plain.predict(), plain.note()
    late, blind = (trackers.load(plain.state_dict()) for _ in range(2))
    for tracker in (late, blind):
        tracker.run(50.0 * scores)
    late.update(1.0, radius, note=note)
    blind.update(1.0, radius)
    assert late.latest == 60 and blind.latest == 0
    assert late.coverage_sum() == blind.coverage_sum()
    # The ratio that is learned is 1 over the scale at the prediction, about 1; blindly it would be nearly 0.
    assert np.argmax(np.asarray(late.base.steady.past.bins)) == np.argmax(np.asarray(plain.base.steady.past.bins)) or (
        late.base.steady.past.above(0.5) > blind.base.steady.past.above(0.5)
    )
    with pytest.raises(ValueError, match="note must hold 35 numbers, got 2"):
        late.update(1.0, radius, note=(1.0, 2.0))
    assert trackers.make("magl", ALPHA).note() == ()


def test_the_regression_learns_the_step_ahead_that_is_asked_of_it():
    """Scores that alternate between days: 5 rounds late the season is still found, because rounds are counted."""
    rng = np.random.default_rng(1)
    t = np.arange(1800)
    scores = np.abs(rng.normal(size=len(t))) * np.where(t % 7 == 0, 20.0, 1.0)
    y = np.where(rng.random(len(t)) < 0.2, np.nan, scores)  # labels that never come do not shift it
    table = wane.OnlineConformal("auto", alpha=ALPHA).run(np.zeros(len(t)), y, delay=5)
    late = t > 1200
    assert np.median(table.radius[late & (t % 7 == 0)]) > 5.0 * np.median(table.radius[late & (t % 7 != 0)])


def test_late_labels_do_not_wind_it_up():
    """Where labels are 100 rounds late, the radius stays of the size of the scores, and coverage is still right."""
    scores = np.abs(np.random.default_rng(7).normal(size=2500))
    table = wane.OnlineConformal("auto", alpha=ALPHA).run(np.zeros(2500), scores, delay=100)
    covered = table.radius > scores
    assert table.radius[400:].max() < 3.0 * 1.6449 and abs(covered[400:].mean() - 0.9) < 0.03
    assert np.mean(table.radius[400:]) < 1.1 * 1.6449


# The theorem with delay: an adversary who sees the radius, and who also decides when labels come.


def orders(kind, rng):
    """Which of the waiting rounds get their labels now: a function of how many wait."""
    return {
        "first in, first out": lambda n: [0] if n > 12 else [],
        "last in, first out": lambda n: list(range(n - 1, -1, -1)) if n >= 12 else [],
        "random": lambda n: rng.sample(range(n), n // 2),
        "held, then all": lambda n: list(range(n)) if n >= 30 else [],
        "lost": lambda n: [n - 3] if n > 5 and rng.random() < 0.7 else [],
    }[kind]


def answers(kind, rng):
    """Scores in [0, 4] for a radius."""
    return {
        "missed": lambda t, r, s: min(r + 1e-9, 4.0),
        "covered": lambda t, r, s: max(0.0, min(r - 1e-9, 4.0)),
        "whatever hurts": lambda t, r, s: min(r + 1e-9, 4.0) if s > 0 else max(0.0, min(r - 1e-9, 4.0)),
        "betrayal": lambda t, r, s: 4.0 if (t // 40) % 2 else 0.0,
        "noise": lambda t, r, s: 4.0 * rng.random(),
    }[kind]


@pytest.mark.parametrize("order", ["first in, first out", "last in, first out", "random", "held, then all", "lost"])
@pytest.mark.parametrize("answer", ["missed", "covered", "whatever hurts", "betrayal", "noise"])
@pytest.mark.parametrize("base", ["blend", "wild"])
def test_the_bound_holds_however_late_labels_are(base, answer, order):
    rng = random.Random(f"{base} {answer} {order}")
    inner = Blend(ALPHA) if base == "blend" else Given(ALPHA)
    tracker, score_of, labelled = Calibrated(inner), answers(answer, rng), orders(order, rng)
    waiting, missed, learned = [], 0, 0
    for t in range(400):
        if base == "wild":
            inner.radius = 4.0 * (rng.random() < 0.5)
        radius = tracker.predict()
        waiting.append((radius, score_of(t, radius, tracker.coverage_sum()), tracker.note()))
        for i in sorted(labelled(len(waiting)), reverse=order != "first in, first out"):
            radius, score, note = waiting.pop(i)
            tracker.update(score, radius, note=note)
            missed, learned = missed + (radius <= score), learned + 1
            assert tracker.coverage_sum() == pytest.approx(missed - ALPHA * learned, abs=1e-6)
        if order == "lost":
            waiting = waiting[-8:]
        if t % 20 == 19:
            assert abs(tracker.coverage_sum()) <= tracker.coverage_bound() + 1e-9
    assert learned > 100 and tracker.latest > 0


def test_the_bound_through_predictions_with_late_labels():
    y_hat, y = forecasts(600, 4)
    oc = wane.OnlineConformal("auto", alpha=ALPHA)
    oc.run(y_hat, y, delay=20)
    metrics = oc.metrics()
    assert oc.trackers[0].latest == 20
    assert abs(metrics.coverage_error) <= metrics.coverage_bound < 600.0
    lifted = wane.OnlineConformal("auto", alpha=[0.3, 0.299])
    lifted.run(y_hat, y)
    assert lifted.trackers[1].lifted and not lifted.trackers[0].lifted


# What is known of a round


def test_the_output_and_the_context_are_heard():
    """Where the noise is as large as the output, or as a number beside it, intervals follow it."""
    rng = np.random.default_rng(0)
    size = np.exp(rng.normal(size=1500))
    y = size * rng.normal(size=1500)
    blind = wane.OnlineConformal(alpha=ALPHA).run(np.zeros(1500), y).width[300:]
    told = wane.OnlineConformal(alpha=ALPHA, context=1)
    widths = told.run(np.zeros(1500), y, context=size).width[300:]
    seen = wane.OnlineConformal(alpha=ALPHA).run(size, size + y).width[300:]
    for found in (widths, seen):
        assert found.mean() < 0.95 * blind.mean()  # the ideal is 0.89
        assert np.corrcoef(np.log(found), np.log(size[300:]))[0, 1] > 0.8 > np.corrcoef(blind, size[300:])[0, 1]
    assert told.metrics().coverage == pytest.approx(0.9, abs=0.02)
    steps = ManySeries(alpha=ALPHA, context=1)
    for t in range(50):
        p = steps.predict(0.0, series="a", context=size[t])
        steps.update(p.id, y[t], series="a")
    again_told = wane.OnlineConformal(alpha=ALPHA, context=1)
    again_told.run(np.zeros(50), y[:50], context=size[:50, None])
    assert again_told.preview(0.0, context=[2.0]).radius == steps["a"].preview(0.0, context=2.0).radius
    assert again_told.preview(0.0, context=[20.0]).radius != again_told.preview(0.0, context=[0.2]).radius


def test_a_context_that_nobody_hears_is_refused():
    oc = wane.OnlineConformal(alpha=ALPHA, context=2)
    before = oc.state_dict()
    for given, problem in (([1.0], "must be 2 numbers, got 1"), ([1.0, float("nan")], "finite"), ("ab", "number")):
        with pytest.raises((ValueError, TypeError), match=problem):
            oc.predict(0.0, context=given)
    with pytest.raises(ValueError, match=r"shape \(3, 2\)"):
        oc.run(np.zeros(3), np.ones(3), context=np.ones((3, 1)))
    assert oc.state_dict() == before
    with pytest.raises(ValueError, match="only the method auto hears them"):
        wane.OnlineConformal("magl", alpha=ALPHA).predict(0.0, context=1.0)
    with pytest.raises(ValueError, match="not for panels"):
        wane.Panel("auto", context=1)


def test_quantile_models_are_played_from_their_midpoint():
    """With the score "cqr" the interval is that of the absolute score around the midpoint."""
    y_hat, y = forecasts()
    half = 1.0 + np.abs(y_hat)
    pairs = wane.OnlineConformal("auto", "cqr", ALPHA).run(np.column_stack([y_hat - half, y_hat + half]), y)
    middle = wane.OnlineConformal("auto", "absolute", ALPHA).run(y_hat, y)
    assert np.allclose(pairs.radius, middle.radius - half, atol=1e-9)


@pytest.mark.parametrize("score", ["absolute", "cqr", "aps"])
def test_a_warm_start_learns_what_the_rounds_would_have(score):
    """Outputs, midpoints, ceilings and further numbers are heard; only what counts predictions differs."""
    y_hat, y = forecasts()
    outputs, hard, half = shaped(y_hat, score), np.abs(y), ROUNDS // 2
    if score == "aps":
        y = np.where(np.isnan(y), np.nan, y > y_hat)
    y[np.isnan(y)], hard[np.isnan(hard)] = 0.0, 1.0
    warmed, played = (wane.OnlineConformal("auto", score, ALPHA, context=1) for _ in range(2))
    warmed.warm_start(outputs[:half], y[:half], context=hard[:half])
    played.run(outputs[:half], y[:half], context=hard[:half])
    assert warmed.trackers[0].state_dict() == played.trackers[0].state_dict()
    radii = [oc.run(outputs[half:], y[half:], context=hard[half:]).radius for oc in (warmed, played)]
    assert np.array_equal(*radii)
