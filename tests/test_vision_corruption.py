"""The fifteen corruptions: what holds for all, what each does (against loops over pixels), and what they cost."""

import colorsys
import importlib.util
import io
import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wane.vision.corruption import KINDS, camera, corrupt, kinds, weather
from wane.vision.corruption import kinds as names

PUBLISHED = """gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog
brightness contrast elastic_transform pixelate jpeg_compression""".split()
HERE = [k for k in PUBLISHED if k != "jpeg_compression" or importlib.util.find_spec("PIL")]  # what can be tested
WITHOUT_NOISE = {"defocus_blur", "zoom_blur", "brightness", "contrast", "pixelate", "jpeg_compression"}
MOVES = ["defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "elastic_transform", "pixelate"]  # light, elsewhere
AWAY = ["gaussian_noise", "impulse_noise", "snow", "frost", "fog", "brightness", "contrast"]  # each pixel, for good
CHANNELS = [None, 3]
SMALL = [(8, 8), (16, 16), (32, 32), (9, 13), (24, 17)]
LARGE = [(64, 64), (96, 96), (50, 80)]


def pictures(n, h, w, channels=3, seed=0):
    """Slopes of colour with discs and squares before them, a fine wave and some grain; grey without channels."""
    rng, colours = np.random.default_rng([seed, h, w]), channels or 1
    i, j = np.mgrid[:h, :w] / min(h, w)
    made = np.empty((n, h, w, colours))
    for x in made:
        turn, phase = rng.uniform(0.0, 2.0 * np.pi, 2)
        along = np.cos(turn) * i + np.sin(turn) * j
        x[:] = rng.uniform(0.2, 0.7, colours) + rng.uniform(-0.3, 0.3, colours) * along[..., None]
        for shape in (np.hypot, np.maximum, np.hypot):
            a, b, r = rng.uniform(0.0, h / min(h, w)), rng.uniform(0.0, w / min(h, w)), rng.uniform(0.1, 0.35)
            x[shape(abs(i - a), abs(j - b)) < r] = rng.random(colours)
        wave = 0.06 * np.sin(2.0 * np.pi * rng.uniform(2.0, 8.0) * along + phase)
        x += (wave + 0.04 * rng.standard_normal((h, w)))[..., None]
    made = np.rint(255.0 * np.clip(made, 0.0, 1.0)).astype(np.uint8)
    return made if channels else made[..., 0]


def rng_of(seed, number):
    """The generator of an image, as the documentation says."""
    return np.random.Generator(np.random.Philox(key=[seed, number]))


def strength(kind, severity):
    return KINDS[kind].strengths[severity - 1]


def assert_rounded(made, want):
    """Bytes, from light that is known up to rounding errors."""
    want = 255.0 * np.clip(want, 0.0, 1.0)
    assert made.shape == want.shape
    assert np.abs(made - want).max() <= 0.5 + 1e-9


def test_names_and_order_are_the_published_ones():
    assert list(kinds()) == PUBLISHED == list(KINDS)
    for kind in KINDS.values():
        assert len(kind.strengths) == 5 and all(0.0 < a < b for a, b in itertools.pairwise(kind.strengths))


@settings(deadline=None, max_examples=60)
@given(
    size=st.tuples(st.integers(1, 3), st.integers(8, 20), st.integers(8, 20)),
    colour=st.booleans(),
    kind=st.sampled_from(HERE),
    severity=st.integers(0, 5),
    seed=st.integers(0, 2**64 - 1),
)
def test_images_in_images_out(size, colour, kind, severity, seed):
    shape = (*size, 3) if colour else size
    images = 255 * np.random.default_rng(seed).integers(2, size=shape, dtype=np.uint8)  # extremes: would wrap around
    before = images.copy()
    made = corrupt(images, kind, severity, seed)
    assert made.shape == shape and made.dtype == np.uint8
    assert np.array_equal(images, before) and not np.shares_memory(made, images)
    if severity == 0:
        assert np.array_equal(made, images)
    turned = np.moveaxis(np.ascontiguousarray(np.moveaxis(images, 0, -1)), -1, 0)  # other strides, the same images
    assert np.array_equal(corrupt(turned, kind, severity, seed), made)


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("kind", HERE)
def test_the_distance_rises_with_the_severity(kind, channels):
    """In the mean over eight images, whatever their size and the seed."""
    for size, seed in [*itertools.product(SMALL, range(6)), *itertools.product(LARGE, range(1))]:
        images = pictures(8, *size, channels, seed)
        away = [np.mean((corrupt(images, kind, s, seed).astype(float) - images) ** 2) for s in range(6)]
        assert away[0] == 0.0 and all(a < b for a, b in itertools.pairwise(away)), (size, seed, away)


@pytest.mark.parametrize("kind", AWAY)
@pytest.mark.parametrize("channels", CHANNELS)
def test_noise_is_the_same_at_every_severity(kind, channels):
    """So no byte comes back: each goes one way, farther and farther."""
    images = pictures(5, 24, 17, channels).astype(int)
    steps = np.diff([corrupt(images.astype(np.uint8), kind, s, 3).astype(int) for s in range(6)], axis=0)
    assert np.all((steps >= 0).all(axis=0) | (steps <= 0).all(axis=0))


@pytest.mark.parametrize("shape", [(6, 8, 8, 3), (6, 33, 20, 3), (6, 19, 64)])
@pytest.mark.parametrize("kind", HERE)
def test_an_image_alone_is_as_in_a_batch(kind, shape, monkeypatch):
    images = pictures(*shape[:3], shape[3] if len(shape) == 4 else None)
    whole = corrupt(images, kind, 3, 7)
    for i in range(6):
        assert np.array_equal(corrupt(images[i : i + 1], kind, 3, 7, numbers=[i])[0], whole[i])
    order = np.array([4, 0, 5, 2])
    assert np.array_equal(corrupt(images[order], kind, 3, 7, numbers=order), whole[order])
    assert np.array_equal(corrupt(images[:0], kind, 3, 7), images[:0])
    monkeypatch.setattr(sys.modules[names.__module__], "BATCH", 2 * math.prod(shape[1:]))
    assert np.array_equal(corrupt(images, kind, 3, 7), whole)  # in batches of three


@pytest.mark.parametrize("kind", HERE)
def test_noise_depends_on_the_seed_and_on_the_number(kind):
    twice = np.repeat(pictures(1, 24, 17), 2, axis=0)
    a, b, c = corrupt(twice, kind, 5, 0), corrupt(twice, kind, 5, 1), corrupt(twice, kind, 5, 0)
    assert np.array_equal(a, c)
    assert np.array_equal(a, b) == np.array_equal(a[0], a[1]) == (kind in WITHOUT_NOISE)
    far = corrupt(twice, kind, 5, 2**64 - 1, numbers=[2**63 - 1, 0])
    assert np.array_equal(far, a) == (kind in WITHOUT_NOISE)


@pytest.mark.parametrize("kind", [*MOVES, "snow", "fog", "brightness", "contrast"])
def test_channels_are_treated_alike(kind):
    """Of three equal channels, each is what the grey image becomes."""
    grey = pictures(3, 24, 17, None)
    made, want = corrupt(np.stack([grey] * 3, axis=-1), kind, 4, 1), corrupt(grey, kind, 4, 1)
    for channel in range(3):
        assert np.array_equal(made[..., channel], want)


@pytest.mark.parametrize("kind", ["gaussian_noise", "shot_noise", "impulse_noise"])
def test_noise_of_channels_is_independent(kind):
    grey = np.full((1, 100, 100, 3), 128, np.uint8)
    noise = corrupt(grey, kind, 5, 0).reshape(-1, 3) - 128.0
    correlation = np.corrcoef(noise.T)
    assert np.abs(correlation[np.triu_indices(3, 1)]).max() < 0.05  # five standard deviations


@pytest.mark.parametrize("kind", [*MOVES, "contrast"])
@pytest.mark.parametrize("size", [(8, 8), (33, 20)])
def test_an_even_image_stays_as_it_is(kind, size):
    even = np.broadcast_to(np.array([3, 100, 251], np.uint8), (2, *size, 3))
    for severity in range(1, 6):
        assert np.array_equal(corrupt(even, kind, severity, 2), even)


@pytest.mark.parametrize("size", [(8, 8), (33, 20)])
def test_weather_on_even_images(size):
    black, white = np.zeros((2, *size, 3), np.uint8), np.full((2, *size, 3), 255, np.uint8)
    ice = np.rint(255.0 * np.broadcast_to(weather.ICE, black.shape)).astype(np.uint8)
    for severity in range(1, 6):
        assert np.array_equal(corrupt(white, "snow", severity), white)  # white on white
        assert corrupt(black, "snow", severity).min() > 20  # the air is white
        assert np.abs(corrupt(ice, "frost", severity).astype(int) - ice).max() <= 1
        frosted = corrupt(black, "frost", severity)
        assert frosted[..., 2].max() <= math.ceil(255.0 * strength("frost", severity))
        assert (frosted[..., 0] <= frosted[..., 1]).all() and (frosted[..., 1] <= frosted[..., 2]).all()  # bluish
        assert np.array_equal(corrupt(black, "shot_noise", severity), black)  # no light, no photons


@pytest.mark.parametrize("kind", ["snow", "frost"])
def test_weather_has_texture_and_covers_as_much_at_any_size(kind):
    covers = [corrupt(np.zeros((60, size, size), np.uint8), kind, 5) / 255.0 for size in (8, 32, 96)]
    assert min(cover.std(axis=(1, 2)).min() for cover in covers) > 0.03
    assert np.ptp([cover.mean() for cover in covers]) < 0.05


@pytest.mark.parametrize("severity", [1, 5])
def test_snow_is_flakes_along_their_fall_in_white_air(severity):
    images, rng, s = pictures(1, 24, 30), rng_of(6, 0), strength("snow", severity)
    noise, wind = rng.standard_normal((24, 30)), rng.uniform(-math.pi / 4.0, math.pi / 4.0)
    noise = under_a_bell(noise, 24 * weather.FLAKE)
    flakes = np.clip(noise / noise.std() - weather.RARE + weather.DENSE * s, 0.0, 1.0)
    around = np.pad(flakes, 5, mode="wrap")
    length, angle = 24 * weather.FALL, math.pi / 2.0 + wind
    path = np.linspace(-length / 2.0, length / 2.0, 2 * math.ceil(length) + 1)
    spread = pixel_by_pixel(
        flakes,
        lambda i, j: sum(between(around, i + 5 + d * math.sin(angle), j + 5 + d * math.cos(angle)) for d in path),
    )
    covered = np.minimum(1.0, weather.SHINE * spread / len(path))[None, :, :, None]
    dark = (1.0 - images / 255.0) * (1.0 - covered) * (1.0 - weather.HAZE * s)
    assert_rounded(corrupt(images, "snow", severity, 6), 1.0 - dark)


@pytest.mark.parametrize("severity", [1, 5])
def test_frost_is_ice_along_the_zeros_of_noise(severity):
    images, noise = pictures(1, 16, 11), rng_of(6, 0).standard_normal((3, 16, 11))
    fields = [under_a_bell(field, 11 * reach) for field, reach in zip(noise, weather.CRYSTALS, strict=True)]
    near = np.min([np.abs(field / field.std()) for field in fields], axis=0)
    crystals = np.exp(-((near / weather.VEIN) ** 2) / 2.0)
    share = strength("frost", severity) * (weather.FILM + (1.0 - weather.FILM) * crystals)[None, :, :, None]
    assert_rounded(corrupt(images, "frost", severity, 6), (1.0 - share) * images / 255.0 + share * weather.ICE)


def test_contrast_keeps_the_mean_of_each_channel():
    x = pictures(3, 24, 17) / 255.0
    for severity in range(1, 6):
        lost = strength("contrast", severity)
        want = lost * x.mean(axis=(1, 2), keepdims=True) + (1.0 - lost) * x
        assert_rounded(corrupt(pictures(3, 24, 17), "contrast", severity), want)


@pytest.mark.parametrize("severity", [1, 3, 5])
def test_brightness_raises_the_value_and_keeps_hue_and_saturation(severity):
    images = pictures(1, 12, 9)
    images[0, 0, 0], images[0, 0, 1], images[0, 0, 2] = (0, 0, 0), (255, 255, 255), (200, 0, 0)
    want = np.empty(images.shape)
    for at in np.ndindex(*images.shape[:3]):
        hue, saturation, value = colorsys.rgb_to_hsv(*(images[at] / 255.0))
        want[at] = colorsys.hsv_to_rgb(hue, saturation, min(1.0, value + strength("brightness", severity)))
    assert_rounded(corrupt(images, "brightness", severity), want)
    grey = pictures(1, 12, 9, None)
    assert_rounded(corrupt(grey, "brightness", severity), grey / 255.0 + strength("brightness", severity))


@pytest.mark.parametrize("severity", [1, 5])
def test_noise_is_what_its_generator_draws(severity):
    images, shape = pictures(1, 12, 9), (12, 9, 3)
    x = images / 255.0
    normal = x + strength("gaussian_noise", severity) * rng_of(5, 8).standard_normal(shape)
    assert_rounded(corrupt(images, "gaussian_noise", severity, 5, numbers=[8]), normal)
    photons = strength("shot_noise", severity) ** -2.0
    shot = rng_of(5, 8).poisson(photons * x) / photons
    assert_rounded(corrupt(images, "shot_noise", severity, 5, numbers=[8]), shot)
    replaced, white = rng_of(5, 8).random((2, *shape))
    salt = np.where(replaced < strength("impulse_noise", severity), white < 0.5, x)
    assert_rounded(corrupt(images, "impulse_noise", severity, 5, numbers=[8]), salt)


def test_fog_is_one_cloud_before_all_channels():
    images = pictures(2, 24, 17)
    for severity in range(1, 6):
        share = strength("fog", severity)
        cloud = (corrupt(images, "fog", severity, 4) / 255.0 - (1.0 - share) * images / 255.0) / share
        assert np.ptp(cloud, axis=-1).max() <= 1.0 / (255.0 * share) + 1e-9  # two roundings
        np.testing.assert_allclose(cloud.min(axis=(1, 2, 3)), 0.0, atol=0.5 / (255.0 * share) + 1e-9)
        np.testing.assert_allclose(cloud.max(axis=(1, 2, 3)), 1.0, atol=0.5 / (255.0 * share) + 1e-9)


def clamped(image, i, j):
    """A pixel, or the nearest one to a place outside."""
    h, w = image.shape[:2]
    return image[min(max(i, 0), h - 1), min(max(j, 0), w - 1)]


def between(image, a, b):
    """The bilinear mean of the four pixels around a place; places outside move to the edge."""
    h, w = image.shape[:2]
    a, b = min(max(a, 0.0), h - 1.0), min(max(b, 0.0), w - 1.0)
    i, j = math.floor(a), math.floor(b)
    p, q = a - i, b - j
    above = (1 - q) * clamped(image, i, j) + q * clamped(image, i, j + 1)
    below = (1 - q) * clamped(image, i + 1, j) + q * clamped(image, i + 1, j + 1)
    return (1 - p) * above + p * below


def pixel_by_pixel(image, value):
    return np.array([[value(i, j) for j in range(image.shape[1])] for i in range(image.shape[0])])


def under_a_bell(image, sigma):
    far = int(4.0 * sigma + 0.5)  # where the bell is cut off
    reach = range(-far, far + 1)
    bell = {(a, b): math.exp(-(a * a + b * b) / (2.0 * sigma**2)) for a in reach for b in reach}
    return pixel_by_pixel(
        image, lambda i, j: sum(k * clamped(image, i + a, j + b) for (a, b), k in bell.items()) / sum(bell.values())
    )


@pytest.mark.parametrize("severity", [1, 5])
def test_defocus_is_the_mean_over_a_disc(severity):
    (x,) = pictures(1, 24, 30) / 255.0
    radius = 0.5 + 24 * strength("defocus_blur", severity)
    disc = {(a, b): min(1.0, max(0.0, radius + 0.5 - math.hypot(a, b))) for a in range(-4, 5) for b in range(-4, 5)}
    assert 1 < sum(weight > 0.0 for weight in disc.values()) < 81
    want = pixel_by_pixel(
        x, lambda i, j: sum(k * clamped(x, i + a, j + b) for (a, b), k in disc.items()) / sum(disc.values())
    )
    assert_rounded(corrupt(pictures(1, 24, 30), "defocus_blur", severity), want[None])


@pytest.mark.parametrize("severity", [1, 5])
def test_glass_scatters_and_blurs(severity):
    (x,) = pictures(1, 24, 30) / 255.0
    reach = 24 * strength("glass_blur", severity)
    down, right = reach * rng_of(2, 0).uniform(-1.0, 1.0, (2, 24, 30))
    scattered = pixel_by_pixel(x, lambda i, j: between(x, i + down[i, j], j + right[i, j]))
    want = under_a_bell(scattered, 24 * camera.GLASS)
    assert_rounded(corrupt(pictures(1, 24, 30), "glass_blur", severity, 2), want[None])


@pytest.mark.parametrize("severity", [1, 5])
def test_motion_is_the_mean_along_a_path(severity):
    (x,) = pictures(1, 24, 30) / 255.0
    angle, length = math.pi * rng_of(3, 0).random(), 24 * strength("motion_blur", severity)
    path = np.linspace(-length / 2.0, length / 2.0, 2 * math.ceil(length) + 1)
    want = pixel_by_pixel(
        x, lambda i, j: sum(between(x, i + d * math.sin(angle), j + d * math.cos(angle)) for d in path) / len(path)
    )
    # beyond the edge, pixels are the nearest ones, which is not the nearest place: compare inside
    inside = (slice(None), slice(3, -3), slice(3, -3))
    assert_rounded(corrupt(pictures(1, 24, 30), "motion_blur", severity, 3)[inside], want[None][inside])


@pytest.mark.parametrize("severity", [1, 5])
def test_zoom_is_the_mean_of_enlarged_images(severity):
    (x,) = pictures(1, 24, 30) / 255.0
    most = strength("zoom_blur", severity)
    zooms = [1.0 + most * k / math.ceil(30 * most) for k in range(math.ceil(30 * most) + 1)]
    want = pixel_by_pixel(
        x, lambda i, j: sum(between(x, 11.5 + (i - 11.5) / z, 14.5 + (j - 14.5) / z) for z in zooms) / len(zooms)
    )
    assert_rounded(corrupt(pictures(1, 24, 30), "zoom_blur", severity), want[None])


@pytest.mark.parametrize(("severity", "block"), [(3, 2), (5, 4)])
def test_pixelate_takes_means_of_blocks(severity, block):
    images = pictures(1, 24, 32)
    means = images.reshape(1, 24 // block, block, 32 // block, block, 3).mean(axis=(2, 4)) / 255.0
    assert_rounded(corrupt(images, "pixelate", severity), means.repeat(block, axis=1).repeat(block, axis=2))


@pytest.mark.parametrize(("kind", "least"), [("elastic_transform", 0.3), ("glass_blur", 0.08)])
@pytest.mark.parametrize("size", [128, 224])
def test_pixels_are_moved_farther_at_each_severity(kind, least, size):
    """On slopes, how far a pixel was moved can be read; it is as far as it says, and always in the same direction.

    The blur of glass leaves a slope as it is, and enough of the grain that scattered pixels make.
    """
    slope = np.broadcast_to(np.minimum(np.arange(size), 127).astype(np.uint8)[:, None] * 2, (1, size, size))
    inside = (slice(None), slice(30, 98))
    moves = [(corrupt(slope, kind, s, 1).astype(float) - slope)[inside] / 2.0 for s in range(1, 6)]
    for severity, move in enumerate(moves, start=1):
        ratio = strength(kind, severity) / strength(kind, 5)
        assert np.abs(move - ratio * moves[-1]).max() <= 0.25 * (1.0 + ratio) + 1e-9  # roundings to half a pixel
    assert least < np.sqrt(np.mean(moves[-1] ** 2)) / (size * strength(kind, 5)) < 2.0


@pytest.mark.parametrize("channels", CHANNELS)
def test_jpeg_is_what_pillow_writes(channels):
    image = pytest.importorskip("PIL.Image")
    images = pictures(2, 24, 17, channels)
    for severity, quality in enumerate((60, 40, 25, 15, 8), start=1):
        for one, made in zip(images, corrupt(images, "jpeg_compression", severity), strict=True):
            file = io.BytesIO()
            image.fromarray(one).save(file, "JPEG", quality=quality, subsampling=2)
            assert np.array_equal(made, np.asarray(image.open(file)))


@pytest.mark.parametrize("kind", ["defocus_blur", "motion_blur", "zoom_blur"])
def test_sizes_look_alike(kind):
    """An image of twice the size is blurred twice as far: halved, it differs little from the small one."""
    i, j = np.mgrid[:192, :192] / 192.0
    x = 0.5 + 0.2 * np.sin(2.0 * np.pi * (4.0 * i + 3.0 * j)) + 0.2 * np.sin(2.0 * np.pi * (5.0 * j - 2.0 * i))
    large = np.rint(255.0 * x).astype(np.uint8)[None]

    def halved(images):
        return images.reshape(1, 96, 2, 96, 2).mean(axis=(2, 4))

    small = np.rint(halved(large)).astype(np.uint8)
    for severity in (3, 5):
        change = corrupt(small, kind, severity) - 1.0 * small
        twice = halved(corrupt(large, kind, severity)) - halved(large)
        assert np.sqrt(np.mean((twice - change) ** 2)) < 0.35 * np.sqrt(np.mean(change**2))


def gratings(n, seed, size=24):
    """Waves in four directions and three lengths, of any phase and colour, on a slope, with grain; their classes."""
    rng = np.random.default_rng(seed)
    i, j = np.mgrid[:size, :size] / size
    labels = rng.integers(12, size=n)
    turn = (np.pi / 4.0 * (labels % 4) + rng.normal(0.0, 0.08, n))[:, None, None]
    rate = (3.0 * 1.35 ** (labels // 4) * np.exp(rng.normal(0.0, 0.05, n)))[:, None, None]
    wave = np.sin(2.0 * np.pi * (rate * (np.cos(turn) * i + np.sin(turn) * j) + rng.random((n, 1, 1))))
    down, right, height = (
        rng.normal(0.0, 0.1, (n, 1, 1)),
        rng.normal(0.0, 0.1, (n, 1, 1)),
        rng.uniform(0.8, 1.2, (n, 1, 1)),
    )
    light = 0.14 * height * wave + down * (i - 0.5) + right * (j - 0.5)
    colour, tint = rng.uniform(0.5, 0.8, (n, 1, 1, 3)), rng.uniform(0.6, 1.0, (n, 1, 1, 3))
    x = colour + light[..., None] * tint + 0.03 * rng.standard_normal((n, size, size, 3))
    return np.rint(255.0 * np.clip(x, 0.0, 1.0)).astype(np.uint8), labels


def features(images):
    """How much neighbours differ, in four directions at three distances."""
    x = images.astype(np.float32) / 255.0
    found = []
    for d in (1, 2, 3):
        pairs = [
            (x[:, :, d:], x[:, :, :-d]),
            (x[:, d:], x[:, :-d]),
            (x[:, d:, d:], x[:, :-d, :-d]),
            (x[:, d:, :-d], x[:, :-d, d:]),
        ]
        found += [np.log(1e-3 + np.abs(a - b).mean(axis=(1, 2, 3))) for a, b in pairs]
    return np.stack(found, axis=1)


@pytest.fixture(scope="module")
def error():
    """Of the nearest class mean, in a metric fitted to clean images: the share of labels it gets wrong."""
    images, labels = gratings(1200, 1)
    seen = features(images)
    means = np.stack([seen[labels == c].mean(axis=0) for c in range(12)])
    spread = np.cov((seen - means[labels]).T)
    metric = np.linalg.inv(spread + 0.3 * np.diag(np.diag(spread)))

    def of(images, labels):
        gaps = features(images)[:, None] - means
        return np.mean(np.einsum("nci,ij,ncj->nc", gaps, metric, gaps).argmin(axis=1) != labels)

    return of


@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("kind", HERE)
def test_severity_costs_accuracy(kind, seed, error):
    """A classifier of textures errs more often at each severity than at the one before."""
    images, labels = gratings(300, seed)
    clean, *errors = (error(corrupt(images, kind, s, seed), labels) for s in range(6))
    assert clean < 0.1 and errors[4] > clean + 0.1
    assert all(a < b for a, b in itertools.pairwise(errors)), errors


@pytest.mark.parametrize(
    ("change", "mistake", "message"),
    [
        ({"images": np.zeros((1, 8, 8))}, TypeError, "uint8.*float64.*multiply by 255"),
        ({"images": np.zeros((1, 8, 8), int)}, TypeError, "uint8"),
        ({"images": "cat.jpeg"}, TypeError, "uint8"),
        ({"images": np.zeros((8, 8), np.uint8)}, ValueError, r"\(n, h, w, 3\)"),
        ({"images": np.zeros((1, 8, 8, 4), np.uint8)}, ValueError, r"\(n, h, w, 3\).*\(1, 8, 8, 4\)"),
        ({"images": np.zeros((1, 3, 8, 8), np.uint8)}, ValueError, r"\(n, h, w, 3\).*\(1, 3, 8, 8\)"),
        ({"images": np.zeros((1, 8, 7, 3), np.uint8)}, ValueError, "at least 8"),
        ({"images": [np.zeros((8, 8), np.uint8), np.zeros((9, 8), np.uint8)]}, ValueError, "one size"),
        ({"kind": "rain"}, ValueError, "known are gaussian_noise"),
        ({"kind": 3}, ValueError, "known are gaussian_noise"),
        ({"severity": 6}, ValueError, "severity must be a whole number"),
        ({"severity": -1}, ValueError, "severity must be a whole number"),
        ({"severity": 1.5}, ValueError, "severity must be a whole number"),
        ({"seed": -1}, ValueError, "seed must be a whole number"),
        ({"seed": 2**64}, ValueError, "seed must be a whole number"),
        ({"numbers": [0, 1]}, ValueError, "one an image"),
        ({"numbers": [-1]}, ValueError, "one an image"),
        ({"numbers": [0.5]}, ValueError, "one an image"),
    ],
)
@pytest.mark.parametrize("severity", [0, 2])
def test_errors_say_what_is_wanted(change, mistake, message, severity):
    given = {"images": np.zeros((1, 8, 8, 3), np.uint8), "kind": "fog", "severity": severity} | change
    with pytest.raises(mistake, match=message):
        corrupt(**given)


def test_only_jpeg_needs_pillow(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    images = pictures(1, 8, 8)
    for kind in PUBLISHED[:-1]:
        corrupt(images, kind, 1)
    with pytest.raises(ImportError, match=r'run pip install "\.\[vision\]"'):
        corrupt(images, "jpeg_compression", 1)


def test_pillow_is_not_imported_before_it_is_needed():
    code = "import sys, wane.vision.corruption; sys.exit('PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
