"""Long games: silence, saturation, jumps and extreme discounts, where the formulas typed literally break down."""

import math

import numpy as np
import pytest
import reference
from mpmath import mp, mpf
from reference import RTOL, assert_follows, play

import wane
from wane import learners

SILENCE = 1_000_000 if wane.compiled() else 20_000  # rounds
EQUAL = 200_000 if wane.compiled() else 20_000  # equal gradients: 6,000 reach the cap, also at a discount of 0.9999
DISCOUNTS = (0.5, 0.9, 0.999, 1.001)
CAP = 1e150  # in units of epsilon
DECADES = 280  # by how much a silence may age the gradients so that their size remains a floating-point number

# name -> (factory, dimension, literal reference)
LEARNERS = {
    "magnitude": (learners.MagnitudeLearner, None, reference.algorithm_1),
    "odd": (learners.OddMagnitudeLearner, None, reference.odd_magnitude),
    "simplified": (learners.SimplifiedMagnitudeLearner, None, reference.algorithm_5),
    "adaptive, dim 1": (lambda **k: learners.AdaptiveLearner(1, **k), 1, reference.algorithm_3),
    "adaptive, dim 3": (lambda **k: learners.AdaptiveLearner(3, **k), 3, reference.algorithm_3),
}


def push(rng, n, dim):
    """Gradients of size about 1 that move every learner off zero: n noisy ones around -0.8 in each coordinate."""
    return -0.8 + 0.5 * rng.normal(size=n if dim is None else (n, dim))


def zeros(n, dim):
    return np.zeros(n if dim is None else (n, dim))


def aged(discount, n):
    """discount^n without rounding to speak of, as a number of any size."""
    with mp.workdps(2 * reference.DPS):
        return mpf(discount) ** n


# ---------------------------------------------------------------------------------------------------------------------
# Silence
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("name", LEARNERS)
def test_silence_changes_nothing(name, discount):
    make, dim, _ = LEARNERS[name]
    learner = make(discount=discount)
    learner.run(push(np.random.default_rng(1), 60, dim), np.ones(60))
    before = np.array(learner.predict())
    assert np.linalg.norm(before) > 0.1
    during = learner.run(zeros(SILENCE, dim))
    allowed = RTOL * np.linalg.norm(before)
    assert np.abs(during - before).max() <= allowed
    assert np.abs(learner.predict() - before).max() <= allowed


@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("name", LEARNERS)
def test_after_silence_gradients_of_the_aged_size_count_as_before(name, discount):
    make, dim, literal = LEARNERS[name]
    n = min(SILENCE, int(DECADES / abs(math.log10(discount))))
    rng = np.random.default_rng(2)
    before, after = push(rng, 60, dim), push(rng, 60, dim) * float(aged(discount, n))
    after[30:] *= -0.5
    learner = make()
    got = [learner.run(before, np.ones(60))]
    learner.run(zeros(n, dim), np.full(n, discount))
    got.append(play(learner, after, np.full(60, 0.99)))
    path = literal(
        np.concatenate([before, zeros(1, dim), after]), [1.0] * 60 + [aged(discount, n)] + [0.99] * 60, last=True
    )
    del path.predictions[60], path.scales[60]  # the one before the silence, equal to the one after it
    assert path.tie is None
    got = np.concatenate(got)
    assert_follows(got, path)
    assert np.linalg.norm(got[60]) > 0.1
    assert np.linalg.norm(got[70] - got[60]) > 0.1 * np.linalg.norm(got[60]), "the gradients after it do not count"


@pytest.mark.parametrize("discount", DISCOUNTS)
@pytest.mark.parametrize("name", LEARNERS)
def test_after_silence_gradients_of_size_one(name, discount):
    """Infinitely larger than what is remembered (discount below 1) or infinitely smaller (above 1)."""
    make, dim, literal = LEARNERS[name]
    rng = np.random.default_rng(3)
    before, after = push(rng, 60, dim), push(rng, 60, dim)
    learner = make()
    got = [learner.run(before, np.ones(60))]
    learner.run(zeros(SILENCE, dim), np.full(SILENCE, discount))
    got.append(play(learner, after, np.ones(60)))
    path = literal(
        np.concatenate([before, zeros(1, dim), after]), [1.0] * 60 + [aged(discount, SILENCE)] + [1.0] * 60, last=True
    )
    del path.predictions[60], path.scales[60]
    assert path.tie is None
    got = np.concatenate(got)
    assert_follows(got, path)
    assert np.linalg.norm(got[-1]) > 0.1
    if discount > 1:
        np.testing.assert_allclose(got[-1], got[60], rtol=1e-6)


def test_a_thousand_silences():
    """The aged hint is exact enough after many changes between silence and play."""
    rng = np.random.default_rng(4)
    g, lam, literal_g, literal_lam = [], [], [], []
    for _ in range(40):
        n = int(rng.integers(1, 500))
        g += [0.0] * n + list(push(rng, 5, None))
        lam += [0.99] * n + [1.0] * 5
        literal_g += [0.0, *g[-5:]]
        literal_lam += [aged(0.99, n)] + [1.0] * 5
    for name in ("magnitude", "odd", "simplified"):
        make, _, literal = LEARNERS[name]
        learner = make()
        learner.run(g, lam)
        path = literal(literal_g, literal_lam, last=True)
        assert path.tie is None
        assert learner.predict() == pytest.approx(float(path.predictions[-1]), rel=RTOL)
        assert learner.predict() > 0


# ---------------------------------------------------------------------------------------------------------------------
# Saturation
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("discount", [1.0, 0.9999])
@pytest.mark.parametrize("name", ["magnitude", "odd", "simplified"])
def test_equal_gradients_saturate_at_the_cap_and_come_back(name, discount, epsilon):
    make, _, literal = LEARNERS[name]
    learner = make(epsilon=epsilon, discount=discount)
    up = play(learner, -np.ones(EQUAL))
    assert np.all(np.isfinite(up))
    assert np.all(np.diff(up) >= 0)
    assert up[-1] == epsilon * CAP
    below = int(np.argmax(up == epsilon * CAP))  # the first round at the cap: below it nothing is cut
    assert up[below - 1] > 0.1 * epsilon * CAP
    head = literal(-np.ones(500), [discount] * 500, eps=epsilon)
    np.testing.assert_allclose(up[:500], np.array(head.predictions, dtype=float), rtol=RTOL)

    down = play(learner, np.ones(EQUAL + 10))
    assert np.all(np.isfinite(down))
    landed = int(np.argmax(down == 0.0))
    assert down[landed] == 0.0
    assert landed <= EQUAL + 5
    assert np.all(np.diff(down[: landed + 1]) <= 0)


@pytest.mark.parametrize("discount", [1.0, 0.9999])
@pytest.mark.parametrize("dim", [1, 3])
def test_adaptive_learner_saturates(dim, discount):
    learner = learners.AdaptiveLearner(dim, epsilon=2.0, discount=discount)
    g = zeros(EQUAL, dim)
    g[:, 0] = -1.0
    up = play(learner, g)
    assert np.all(np.isfinite(up))
    assert np.all(np.diff(up[:, 0]) >= -1e-15 * up[1:, 0])  # the direction is a unit vector up to rounding
    assert up[-1, 0] == pytest.approx(2.0 * CAP, rel=1e-12)
    assert not up[:, 1:].any()
    down = play(learner, -g)
    assert np.all(np.isfinite(down))
    assert down[:, 0].min() <= 0.0


@pytest.mark.parametrize(
    ("discount", "reach"), [(0.5, 0.0), (0.9, 0.60), (0.95, 1.59), (0.98, 15.4), (0.99, 1.25e3), (0.995, 1.74e7)]
)
def test_the_reach_of_a_discounted_learner_is_bounded(discount, reach):
    """Gradients of equal size: s/h stays below discount/(1 - discount), which bounds the prediction."""
    x = play(learners.MagnitudeLearner(discount=discount), -np.ones(15_000))
    with mp.workdps(30):  # clipping leaves discount * h of each gradient
        lam = mpf(discount)
        limit, _ = reference.rule(lam**2 / (1 - lam**2), lam / (1 - lam), mpf(1), mpf(1))
    assert x[-1] == pytest.approx(max(0.0, float(limit)), rel=RTOL)
    assert x.max() <= x[-1] * (1 + RTOL)
    assert x[-1] == pytest.approx(reach, rel=0.01)


# ---------------------------------------------------------------------------------------------------------------------
# Jumps and extreme discounts
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jump", [-1e12, 1e12, -1e-12])
@pytest.mark.parametrize("discount", [1.0, 0.9])
@pytest.mark.parametrize("name", LEARNERS)
def test_one_outlier_then_gradients_of_the_old_size(name, discount, jump):
    make, dim, literal = LEARNERS[name]
    g = push(np.random.default_rng(6), 460, dim)
    g[60] = jump
    lam = np.where(np.arange(460) < 60, 1.0, np.where(np.arange(460) < 360, discount, 1.0))
    path = literal(g, lam, last=True)
    assert path.tie is None or path.tie > 400
    got = play(make(), g, lam)
    assert_follows(got, path)
    assert np.linalg.norm(got[60]) > 0.1
    if discount < 1:  # 300 rounds of 0.9 have brought a hint of 1e12 back below 1
        assert np.linalg.norm(got[-1]) > 0.1, "the outlier has not been forgotten"


EXTREME = (1e-320, 5e-324, 1e-300, 1e-160, 1e160, 1e300, 1.7e308)


@pytest.mark.parametrize("discount", EXTREME)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_silent_round_with_an_extreme_discount_changes_nothing(name, discount):
    make, dim, _ = LEARNERS[name]
    learner = make()
    learner.run(push(np.random.default_rng(7), 60, dim), np.ones(60))
    before = np.array(learner.predict())
    for _ in range(5):
        learner.update(zeros(1, dim)[0], discount)
        np.testing.assert_allclose(learner.predict(), before, rtol=RTOL)


@pytest.mark.parametrize("discount", EXTREME)
@pytest.mark.parametrize("name", LEARNERS)
def test_extreme_discounts_are_followed(name, discount):
    """An extreme discount, play, its inverse (nearly), play: against exact arithmetic."""
    make, dim, literal = LEARNERS[name]
    g = push(np.random.default_rng(8), 160, dim)
    lam = np.ones(160)
    lam[40] = discount
    lam[100] = min(1 / discount, 1e300)
    path = literal(g, lam, last=True)
    got = play(make(), g, lam)
    assert np.all(np.isfinite(got))
    assert_follows(got, path)
    assert path.tie is None
    assert np.linalg.norm(got[40]) > 0.1


def test_extreme_discounts_in_a_row_do_not_produce_nan():
    rng = np.random.default_rng(9)
    lam = rng.choice([*EXTREME, 1.0, 0.0], size=300)
    for make, dim in (
        *((make, dim) for make, dim, _ in LEARNERS.values()),
        (lambda: learners.AdaGrad(1.0), None),
        (lambda: learners.AdaGrad(1.0, dim=3), 3),
    ):
        g = push(rng, 300, dim) * 10.0 ** rng.integers(-300, 300)
        assert np.all(np.isfinite(play(make(), g, lam)))


@pytest.mark.parametrize("dim", [None, 3])
def test_adagrad_remembers_through_silence(dim):
    """V ages in silence; a gradient of the aged size then moves by as much as it should."""
    n = min(SILENCE, int(DECADES / -math.log10(0.999)))
    rng = np.random.default_rng(10)
    before = push(rng, 20, dim)
    after = push(rng, 20, dim) * float(aged(0.999, n))
    learner = learners.AdaGrad(1.0, dim=dim)
    learner.run(before)
    learner.run(zeros(n, dim), np.full(n, 0.999))
    got = play(learner, after, np.ones(20))
    rows = np.concatenate([before, zeros(1, dim), after]).reshape(41, -1)
    path = reference.adagrad(rows, [1.0] * 20 + [aged(0.999, n)] + [1.0] * 20, 1.0, last=True)
    want = np.array(path.predictions[21:], dtype=float)
    np.testing.assert_allclose(got, want if dim else want[:, 0], rtol=RTOL, atol=1e-11)
