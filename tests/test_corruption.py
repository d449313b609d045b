"""Corruptions of images: what holds for every kind, and what each of them does, against loops over pixels."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wane.streams import corruption
from wane.streams.corruption import KINDS, corrupt, kinds

SIZES = [(8, 8), (28, 28), (9, 13)]
WITHOUT_NOISE = {"brightness", "contrast", "defocus_blur", "pixelate"}
BLURS_AND_BENDS = ["defocus_blur", "motion_blur", "pixelate", "rotation", "elastic"]
shapes = st.tuples(st.integers(1, 4), st.integers(8, 16), st.integers(8, 16))


def blobs(n, h, w, seed=0):
    """Pictures with black, white and grey: a few bright spots on black."""
    rng = np.random.default_rng(seed)
    i, j = np.mgrid[:h, :w]
    images = np.zeros((n, h, w))
    for image, _ in itertools.product(images, range(3)):
        a, b, r = rng.uniform(0, h), rng.uniform(0, w), min(h, w) * rng.uniform(0.1, 0.2)
        image += 1.2 * np.exp(-((i - a) ** 2 + (j - b) ** 2) / (2 * r * r))
    return np.clip(images - 0.1, 0.0, 1.0)


def rngs(n, seed=0):
    return [np.random.default_rng([seed, i]) for i in range(n)]


def test_strengths_increase():
    assert len(set(kinds())) == len(kinds()) == 12
    for kind in kinds():
        assert len(KINDS[kind].strengths) == 5
        assert all(0.0 < a < b for a, b in itertools.pairwise(KINDS[kind].strengths))


@settings(deadline=None)
@given(shape=shapes, kind=st.sampled_from(kinds()), severity=st.integers(0, 5), seed=st.integers(0, 2**64 - 1))
def test_images_in_images_out(shape, kind, severity, seed):
    images = np.random.default_rng(seed).random(shape) > 0.5  # the extremes, where clipping matters
    before = images.copy()
    made = corrupt(images, kind, severity, seed)
    assert made.shape == shape and made.dtype == np.float64
    assert made.min() >= 0.0 and made.max() <= 1.0  # false for NaN
    assert np.array_equal(images, before) and not np.shares_memory(made, images)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", kinds())
def test_severity_0_is_the_image_and_the_others_go_away_from_it(kind, size):
    images = blobs(40, *size)
    clean = corrupt(images, kind, 0, 1)
    assert np.array_equal(clean, images) and not np.shares_memory(clean, images)
    away = [np.mean((corrupt(images, kind, s, 1) - images) ** 2) for s in range(6)]
    assert all(a < b for a, b in itertools.pairwise(away))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", kinds())
def test_an_image_alone_is_as_in_a_batch(kind, size):
    images = blobs(6, *size)
    whole = corrupt(images, kind, 3, 7)
    for i in range(6):
        assert np.array_equal(corrupt(images[i : i + 1], kind, 3, 7, numbers=[i])[0], whole[i])
    order = np.array([4, 0, 5, 2])
    assert np.array_equal(corrupt(images[order], kind, 3, 7, numbers=order), whole[order])
    assert np.array_equal(corrupt(images[:0], kind, 3, 7), images[:0])


@pytest.mark.parametrize("kind", kinds())
def test_noise_depends_on_the_seed_and_on_the_number(kind):
    twice = np.repeat(blobs(1, 9, 13), 2, axis=0)
    a, b, c = corrupt(twice, kind, 4, 0), corrupt(twice, kind, 4, 1), corrupt(twice, kind, 4, 0)
    assert np.array_equal(a, c)
    if kind in WITHOUT_NOISE:
        assert np.array_equal(a, b) and np.array_equal(a[0], a[1])
    elif kind != "rotation":  # which has only two outcomes
        assert not np.array_equal(a, b) and not np.array_equal(a[0], a[1])


def test_rotation_goes_both_ways():
    image = np.repeat(blobs(1, 9, 13), 200, axis=0)
    made, count = np.unique(corrupt(image, "rotation", 5, 0), axis=0, return_counts=True)
    assert len(made) == 2 and count.min() > 60  # 100 expected, standard deviation 7


@pytest.mark.parametrize("kind", BLURS_AND_BENDS)
@pytest.mark.parametrize("size", SIZES)
def test_moving_light_keeps_an_even_image(kind, size):
    even = np.full((3, *size), 0.3)
    for severity in range(1, 6):
        np.testing.assert_allclose(corrupt(even, kind, severity, 2), even, rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "variance"),
    [
        ("gaussian_noise", lambda x, s: s**2),
        ("shot_noise", lambda x, s: s**2 * x),
        ("speckle_noise", lambda x, s: s**2 * x**2),
        ("impulse_noise", lambda x, s: s / 2 - x * s + x**2 * s - (s * (0.5 - x)) ** 2),
    ],
)
@pytest.mark.parametrize("strength", [0.1, 0.5])
@pytest.mark.parametrize("grey", [0.0, 0.3, 1.0])
def test_moments_of_the_noise(kind, variance, strength, grey):
    """Before clipping; replaced pixels are 0 or 1 with equal chances, the other kinds are unbiased."""
    n = 200 * 20 * 20
    made = KINDS[kind].apply(np.full((200, 20, 20), grey), strength, rngs(200))
    mean = grey + strength * (0.5 - grey) * (kind == "impulse_noise")
    want = variance(grey, strength)
    assert abs(made.mean() - mean) <= 5 * math.sqrt(want / n)
    assert abs(made.var() - want) <= 0.05 * want + 1e-15


def test_contrast_and_brightness():
    x = blobs(3, 9, 13)
    for severity in range(1, 6):
        lost, more = (KINDS[kind].strengths[severity - 1] for kind in ("contrast", "brightness"))
        made = corrupt(x, "contrast", severity)
        np.testing.assert_allclose(made.mean(axis=(1, 2)), x.mean(axis=(1, 2)))
        np.testing.assert_allclose(made.std(axis=(1, 2)), (1.0 - lost) * x.std(axis=(1, 2)))
        assert np.array_equal(corrupt(x, "brightness", severity), np.minimum(x + more, 1.0))


def test_fog_is_a_mean_with_a_cloud_from_black_to_white():
    x = blobs(5, 9, 13)
    near, far = (corruption.fog(x, s, rngs(5)) for s in (0.25, 1.0))
    np.testing.assert_allclose(far.min(axis=(1, 2)), 0.0, atol=1e-15)
    np.testing.assert_allclose(far.max(axis=(1, 2)), 1.0)
    np.testing.assert_allclose(near, 0.75 * x + 0.25 * far)


def clamped(image, i, j):
    """A pixel, or the nearest one to a place outside."""
    h, w = image.shape
    return image[min(max(i, 0), h - 1), min(max(j, 0), w - 1)]


def between(image, a, b):
    """The bilinear mean of the four pixels around a place; places outside move to the edge."""
    h, w = image.shape
    a, b = min(max(a, 0.0), h - 1.0), min(max(b, 0.0), w - 1.0)
    i, j = math.floor(a), math.floor(b)
    p, q = a - i, b - j
    above = (1 - q) * clamped(image, i, j) + q * clamped(image, i, j + 1)
    below = (1 - q) * clamped(image, i + 1, j) + q * clamped(image, i + 1, j + 1)
    return (1 - p) * above + p * below


@pytest.mark.parametrize("strength", [0.13, 0.3])
def test_defocus_is_the_mean_over_a_disc(strength):
    (x,) = images = blobs(1, 9, 13)
    radius = strength * 9
    reach = range(-math.ceil(radius), math.ceil(radius) + 1)
    disc = {(a, b): min(1.0, max(0.0, radius + 0.5 - math.hypot(a, b))) for a in reach for b in reach}
    want = [
        [sum(k * clamped(x, i + a, j + b) for (a, b), k in disc.items()) / sum(disc.values()) for j in range(13)]
        for i in range(9)
    ]
    np.testing.assert_allclose(corruption.defocus_blur(images, strength, []), [want], atol=1e-14)


def test_motion_is_the_mean_along_a_path():
    (x,) = images = blobs(1, 9, 13)
    angle = math.pi * rngs(1)[0].random()
    length = 0.5 * 9
    path = [length * (k / 10 - 0.5) for k in range(11)]  # 4.5 pixels, in ten steps
    want = [
        [sum(between(x, i + d * math.sin(angle), j + d * math.cos(angle)) for d in path) / 11 for j in range(13)]
        for i in range(9)
    ]
    np.testing.assert_allclose(corruption.motion_blur(images, 0.5, rngs(1)), [want], atol=1e-14)


@pytest.mark.parametrize("shape", [(8, 8), (12, 20)])
@pytest.mark.parametrize("block", [2, 4])
def test_pixelate_takes_means_of_blocks(shape, block):
    (x,) = images = blobs(1, *shape)
    h, w = shape
    want = np.empty(shape)
    for i, j in itertools.product(range(0, h, block), range(0, w, block)):
        want[i : i + block, j : j + block] = x[i : i + block, j : j + block].mean()
    np.testing.assert_allclose(corruption.pixelate(images, 1.0 - 1.0 / block, []), [want], atol=1e-15)


@settings(deadline=None)
@given(shape=shapes, strength=st.floats(0.0, 0.999))
def test_pixelate_keeps_the_mean(shape, strength):
    images = np.random.default_rng(0).random(shape)
    made = corruption.pixelate(images, strength, [])
    np.testing.assert_allclose(made.mean(axis=(1, 2)), images.mean(axis=(1, 2)))


def test_a_quarter_turn():
    images = blobs(20, 9, 9)
    made = corruption.rotation(images, 90.0, rngs(20))
    left = np.array([rng.random() < 0.5 for rng in rngs(20)])
    assert 0 < left.sum() < 20
    # a negative angle brings the pixel of row i, column j from row j, column 8 - i
    want = np.where(left[:, None, None], np.rot90(images, 1, (1, 2)), np.rot90(images, -1, (1, 2)))
    np.testing.assert_allclose(made, want, atol=1e-12)


def test_rotation_of_a_slope_is_a_slope():
    """Bilinear means are exact on linear images: within the inscribed disc the slope is that of the turned plane."""
    i, j = np.mgrid[:21, :17] - np.array([10.0, 8.0])[:, None, None]
    images = np.repeat((0.5 + 0.02 * i - 0.01 * j)[None], 20, axis=0)
    made = corruption.rotation(images, 25.0, rngs(20))
    inside = np.hypot(i, j) <= 8.0
    for image, rng in zip(made, rngs(20), strict=True):
        angle = math.radians(-25.0 if rng.random() < 0.5 else 25.0)
        a = math.cos(angle) * i - math.sin(angle) * j
        b = math.sin(angle) * i + math.cos(angle) * j
        np.testing.assert_allclose(image[inside], (0.5 + 0.02 * a - 0.01 * b)[inside])


def test_elastic_moves_pixels_as_far_as_it_says(monkeypatch):
    moves = []
    monkeypatch.setattr(corruption, "moved", lambda x, down, right: moves.extend([down, right]) or x)
    corruption.elastic(blobs(5, 9, 13), 0.1, rngs(5))
    for move in moves:
        np.testing.assert_allclose(np.sqrt(np.mean(move**2, axis=(1, 2))), 0.9)
        steps = np.diff(move, axis=2)
        assert np.sqrt(np.mean(steps**2)) < 0.9  # neighbours move together: independent ones differ by 0.9 sqrt 2


def test_moved_images_are_bilinear_and_end_at_their_edge():
    rng = np.random.default_rng(0)
    x, (down, right) = rng.random((2, 8, 9)), rng.normal(0, 4, size=(2, 2, 8, 9))
    want = [
        [[between(x[n], i + down[n, i, j], j + right[n, i, j]) for j in range(9)] for i in range(8)] for n in range(2)
    ]
    np.testing.assert_allclose(corruption.moved(x, down, right), want, atol=1e-14)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": np.zeros((8, 8))}, r"shape \(n, h, w\)"),
        ({"images": np.zeros((1, 8, 7))}, "at least 8"),
        ({"images": np.full((1, 8, 8), 1.1)}, r"\[0, 1\].*divide by the value of white"),
        ({"images": np.full((1, 8, 8), -0.1)}, r"\[0, 1\]"),
        ({"images": np.full((1, 8, 8), np.nan)}, r"\[0, 1\]"),
        ({"kind": "rain"}, "known are gaussian_noise"),
        ({"kind": 3}, "known are gaussian_noise"),
        ({"severity": 6}, "severity must be a whole number"),
        ({"severity": 1.5}, "severity must be a whole number"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"numbers": [0, 1]}, "one an image"),
        ({"numbers": [-1]}, "one an image"),
        ({"numbers": [0.5]}, "one an image"),
    ],
)
@pytest.mark.parametrize("severity", [0, 2])
def test_errors_say_what_is_wanted(change, message, severity):
    given = {"images": np.zeros((1, 8, 8)), "kind": "fog", "severity": severity} | change
    with pytest.raises(ValueError, match=message):
        corrupt(**given)
