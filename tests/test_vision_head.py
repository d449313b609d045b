"""The head: the optimum of a convex problem, blind to units, with the temperature of least log-loss."""

import math

import numpy as np
import pytest

from wane.streams.temperature import log_loss, temperature
from wane.vision import head


def blobs(n, classes=3, d=5, spread=1.5, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    centers = np.random.default_rng(99).normal(size=(classes, d))
    return (centers[labels] + spread * rng.normal(size=(n, d))).astype(np.float32), labels


@pytest.fixture(scope="module")
def made():
    x, y = blobs(150)
    h, z = blobs(60, seed=1)
    return head.trained(x, y, h, z, 3)


def literal(made, x, y):
    """The mean log-loss with its penalty, its slope in the weights and in the bias; loops over images and classes."""
    loss, by_weights, by_bias = 0.0, np.zeros_like(made.weights), np.zeros_like(made.bias)
    for image, label in zip(x, y, strict=True):
        unit = (image - made.mean) / made.scale
        logits = [float(unit @ made.weights[:, k] + made.bias[k]) for k in range(len(made.bias))]
        total = sum(math.exp(v) for v in logits)
        loss += math.log(total) - logits[label]
        for k, v in enumerate(logits):
            error = math.exp(v) / total - (k == label)
            by_weights[:, k] += error * unit
            by_bias[k] += error
    n = len(y)
    penalty = made.penalty * made.weights
    return loss / n + 0.5 * np.sum(penalty * made.weights), by_weights / n + penalty, by_bias / n


def test_the_slope_at_the_optimum_is_zero(made):
    _, by_weights, by_bias = literal(made, *blobs(150))
    assert np.abs(by_weights).max() < 1e-4 and np.abs(by_bias).max() < 1e-4


def test_no_other_weights_are_better(made):
    x, y = blobs(150)
    least = literal(made, x, y)[0]
    rng = np.random.default_rng(2)
    for size in (0.3, 0.01):
        for _ in range(5):
            other = head.Head(
                made.mean,
                made.scale,
                made.weights + size * rng.normal(size=made.weights.shape),
                made.bias,
                1.0,
                made.penalty,
            )
            assert literal(other, x, y)[0] > least


def test_features_are_standardised(made):
    x, _ = blobs(150)
    np.testing.assert_allclose(made.mean, x.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(made.scale, x.std(axis=0), rtol=1e-5)


def test_units_of_the_features_do_not_matter(made):
    units, shift = np.array([1.0, 4.0, 0.125, 1024.0, 2.0]), np.array([0.0, 1.0, -2.0, 64.0, 0.5])
    (x, y), (h, z) = blobs(150), blobs(60, seed=1)
    other = head.trained(x * units + shift, y, h * units + shift, z, 3)
    assert other.penalty == made.penalty
    np.testing.assert_allclose(other.log_probabilities(h * units + shift), made.log_probabilities(h), atol=2e-3)


def test_a_constant_feature_changes_nothing(made):
    (x, y), (h, z) = blobs(150), blobs(60, seed=1)
    more = [np.concatenate([a, np.full((len(a), 1), 7.0, dtype=np.float32)], axis=1) for a in (x, h)]
    other = head.trained(more[0], y, more[1], z, 3)
    assert not other.weights[-1].any()
    np.testing.assert_allclose(other.log_probabilities(more[1]), made.log_probabilities(h), atol=1e-4)


def test_the_penalty_is_the_first_that_the_next_does_not_beat():
    x, y = blobs(45, d=20, spread=3.0)
    h, z = blobs(300, d=20, spread=3.0, seed=1)
    ticks = []
    made = head.trained(x, y, h, z, 3, lambda: ticks.append(1))
    assert 1 < len(ticks) and made.penalty == head.PENALTIES[max(0, len(ticks) - 2)]
    least = log_loss(made.log_probabilities(h), z)
    guess = np.log(3.0)
    assert least < guess
    assert log_loss(made.log_probabilities(x), y) < least  # it has seen these


def test_the_same_again_is_the_same(made):
    again = head.trained(*blobs(150), *blobs(60, seed=1), 3)
    assert again.weights.tobytes() == made.weights.tobytes() and again.temperature == made.temperature


def test_temperature_is_where_the_log_loss_is_least():
    rng = np.random.default_rng(0)
    logits = 3.0 * rng.normal(size=(400, 4))
    labels = np.array([rng.choice(4, p=np.exp(z / 2.5) / np.exp(z / 2.5).sum()) for z in logits])
    found = temperature(logits, labels)
    assert 2.0 < found < 3.1

    def loss(t):
        return np.mean([np.log(np.exp(z / t).sum()) - z[k] / t for z, k in zip(logits, labels, strict=True)])

    assert loss(found) < min(loss(0.98 * found), loss(1.02 * found))
    assert temperature(8.0 * logits, labels) == pytest.approx(8.0 * found, rel=1e-3)
    assert temperature(logits + 5.0, labels) == pytest.approx(found, rel=1e-3)


def test_a_classifier_that_is_always_right_is_as_sure_as_may_be():
    assert temperature(np.eye(3), np.arange(3)) < 0.05
