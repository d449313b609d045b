"""The stream of digits: what it draws, what the classifier has seen, and that corruption really costs accuracy."""

import itertools
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")

from wane import scores, trackers
from wane.experiments import table1
from wane.experiments.protocol import Experiment
from wane.streams.corruption import corrupt, kinds
from wane.streams.images import _trained, calibration, classifier, digits, errors_by_severity
from wane.streams.schedules import schedule_names, severities

SEEDS = [0, 1, 2]


@pytest.fixture(scope="module")
def sudden():
    return digits("sudden")


@pytest.fixture(scope="module")
def gradual():
    return digits("gradual")


def right(stream):
    return stream.probabilities.argmax(axis=1) == stream.labels


@pytest.mark.parametrize("seed", SEEDS)
def test_every_severity_of_every_kind_costs_accuracy(seed):
    errors = errors_by_severity(seed, draws=2)
    assert tuple(errors) == kinds()
    clean = {row[0] for row in errors.values()}
    assert len(clean) == 1 and clean.pop() <= 0.05
    for kind, row in errors.items():
        assert len(row) == 6 and all(a < b for a, b in itertools.pairwise(row)), kind
    assert 0.4 <= np.mean([row[5] for row in errors.values()]) <= 0.8


def test_errors_are_shares_of_wrong_answers():
    model = classifier(0)
    images = corrupt(model.test.images, "fog", 2, 0)
    logits = images.reshape(len(images), 64) @ model.weights.T + model.bias
    wrong = sum(int(np.argmax(z)) != y for z, y in zip(logits, model.test.labels, strict=True))
    assert errors_by_severity(0, draws=1)["fog"][2] == wrong / len(images)
    with pytest.raises(ValueError, match="draws must be a whole number"):
        errors_by_severity(0, draws=0)


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_are_disjoint_and_all(seed):
    import sklearn.datasets

    data, model = sklearn.datasets.load_digits(), classifier(seed)
    parts = (model.train, model.calibration, model.test)
    assert sorted(i for part in parts for i in part.indices) == [*range(1797)]
    assert [len(part.indices) for part in parts] == [900, 300, 597]
    for part in parts:
        assert np.array_equal(part.labels, data.target[part.indices])
        assert np.array_equal(16 * part.images, data.images[part.indices])
        assert not (part.images.flags.writeable or part.labels.flags.writeable or part.indices.flags.writeable)
    assert not np.array_equal(model.test.indices, classifier(seed + 1).test.indices)


@pytest.mark.parametrize("seed", SEEDS)
def test_weights_minimise_the_regularised_log_loss(seed):
    """With p the probabilities at temperature 1, the gradient of sum log-loss + |W|^2 / 2 is (p - Y)'X + W.

    It is 0 at the minimum. Weights that are rounded by up to 2^-13 leave 0.02 of it at most, where it begins at 58.
    """
    model = classifier(seed)
    x = model.train.images.reshape(-1, 64)
    off = np.exp(model.log_probabilities(model.train.images, 1.0)) - np.eye(10)[model.train.labels]
    assert np.abs(off.T @ x + model.weights).max() < 0.02 and np.abs(off.sum(axis=0)).max() < 0.02


def log_loss(model, part, temperature):
    total = 0.0
    for image, y in zip(part.images.reshape(-1, 64), part.labels, strict=True):
        z = (model.weights @ image + model.bias) / temperature
        total += math.log(sum(math.exp(v - z[y]) for v in z))
    return total / len(part.labels)


@pytest.mark.parametrize("seed", SEEDS)
def test_temperature_is_best_where_it_was_set_and_better_where_it_was_not(seed):
    model, found = classifier(seed), calibration(seed)
    t = found.temperature
    assert t == model.temperature
    best = log_loss(model, model.calibration, t)
    assert all(best < log_loss(model, model.calibration, t * c) for c in (0.5, 0.98, 1.02, 2.0))
    assert found.log_loss_before == pytest.approx(log_loss(model, model.test, 1.0))
    assert found.log_loss == pytest.approx(log_loss(model, model.test, t))
    assert found.log_loss < found.log_loss_before and found.error < found.error_before


def test_an_answer_does_not_depend_on_the_place_in_the_batch():
    """To the last bit: the same image is the same round for every tracker, on every processor."""
    model = classifier(0)
    images = corrupt(model.test.images, "gaussian_noise", 3, 0)
    whole, order = model.logits(images), np.random.default_rng(0).permutation(len(images))
    assert np.array_equal(model.logits(images[order]), whole[order])
    assert all(np.array_equal(model.logits(image[None])[0], row) for image, row in zip(images, whole, strict=True))
    exact = images.reshape(-1, 64) @ model.weights.T + model.bias
    np.testing.assert_allclose(whole, exact, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_learned_is_rounded_to_what_every_processor_finds(seed):
    """Solvers stop within 1e-8 of the same numbers; what is kept of these is far coarser, and exact in floats."""
    model = classifier(seed)
    for kept in (model.weights, model.bias):
        assert np.array_equal(kept, np.rint(kept * 2**12) / 2**12)
    assert model.temperature * 2**16 == round(model.temperature * 2**16)


def test_the_table_of_the_page_is_what_this_machine_computes():
    """All but the times, to the digits shown: the digits depend on no processor."""
    text = (Path(__file__).parent.parent / "docs" / "reproducing.md").read_text()
    shown = re.search(r"<!-- begin table1-digits -->\s*(.*?)\s*<!-- end", text, flags=re.S)[1]
    found = table1.markdown(table1.summary(table1.run(Experiment(digits("sudden")), trials=1)))
    assert columns(found) == columns(shown) and len(columns(shown)) == 12


def columns(table):
    """Method, coverage, width, LCE_100, smoothed."""
    return [line.split("|")[1:6] for line in table.strip().splitlines()]


def test_expected_calibration_error_by_its_definition():
    model = classifier(0)
    for temperature, got in ((1.0, calibration(0).error_before), (model.temperature, calibration(0).error)):
        p = np.exp(model.log_probabilities(model.test.images, temperature))
        bins = [[] for _ in range(10)]
        for row, y in zip(p, model.test.labels, strict=True):
            bins[min(9, int(10 * max(row)))].append((max(row), int(np.argmax(row)) == y))
        want = sum(len(b) * abs(np.mean([c for c, _ in b]) - np.mean([r for _, r in b])) for b in bins if b)
        assert got == pytest.approx(want / len(p))


@pytest.mark.parametrize("schedule", schedule_names())
def test_the_schedule_is_honoured(schedule):
    stream = digits(schedule, rounds=700, warm_up=30)
    assert (stream.name, len(stream), stream.warm_up, stream.kinds) == (f"digits-{schedule}", 730, 30, kinds())
    assert np.array_equal(stream.severity, severities(schedule, 700, 30))
    assert np.array_equal(stream.corruption == -1, stream.severity == 0)
    assert stream.probabilities.shape == (730, 10) and stream.probabilities.dtype == np.float64
    np.testing.assert_allclose(stream.probabilities.sum(axis=1), 1.0, rtol=1e-12)


def test_own_schedules_and_short_streams():
    assert digits(lambda t: t % 6, 12, 2).severity.tolist() == [0, 0, 0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]
    assert digits([5, 0], 2, 0).name == "digits-own" and len(digits("none", 0, 0)) == 0
    with pytest.raises(ValueError, match="known are gradual, none, sudden"):
        digits("slow")
    with pytest.raises(ValueError, match="seed must be a whole number"):
        digits("none", 5, 0, seed=-1)


def test_each_round_is_the_corrupted_image_of_its_number(sudden):
    """Rounds of one kind, one at a time: the classifier's answer to one test image with that label."""
    model = classifier(0)
    for t in np.flatnonzero(sudden.severity)[:40]:
        kind, severity = kinds()[sudden.corruption[t]], sudden.severity[t]
        images = model.test.images[model.test.labels == sudden.labels[t]]
        made = corrupt(images, kind, int(severity), 0, numbers=np.full(len(images), t))
        away = np.abs(np.exp(model.log_probabilities(made)) - sudden.probabilities[t]).max(axis=1)
        assert away.min() < 1e-9


def test_passes_over_the_test_part():
    """Each pass shows every test image once, in another order."""
    model, stream = classifier(0), digits("none", 3 * 597, 0)
    everyone = np.exp(model.log_probabilities(model.test.images))
    passes = stream.probabilities.reshape(3, 597, 10)
    for one in passes:
        np.testing.assert_allclose(one[np.lexsort(one.T)], everyone[np.lexsort(everyone.T)], rtol=1e-9)
    assert not np.allclose(passes[0], passes[1])


def test_same_seed_same_stream(sudden):
    before = classifier(0)
    _trained.cache_clear()
    again = digits("sudden")
    assert classifier(0) is not before
    for name in ("probabilities", "labels", "severity", "corruption"):
        assert getattr(again, name).tobytes() == getattr(sudden, name).tobytes()
    other = digits("sudden", seed=1)
    assert not np.array_equal(other.labels, sudden.labels) and not np.array_equal(other.corruption, sudden.corruption)


def test_schedules_differ_only_where_severities_do(sudden, gradual):
    assert classifier(0) is classifier(0)
    assert np.array_equal(sudden.labels, gradual.labels)
    same = sudden.severity == gradual.severity
    assert 0 < same.sum() < len(same) and (sudden.severity[same] == 5).any()
    np.testing.assert_allclose(sudden.probabilities[same], gradual.probabilities[same], rtol=1e-9)
    assert np.array_equal(sudden.corruption[same], gradual.corruption[same])
    both = (sudden.severity > 0) & (gradual.severity > 0)
    assert np.array_equal(sudden.corruption[both], gradual.corruption[both])
    short = digits("sudden", rounds=900)
    np.testing.assert_allclose(short.probabilities, sudden.probabilities[:1900], rtol=1e-9)


def test_kinds_are_uniform_and_corruption_is_fresh(sudden):
    drawn = np.bincount(sudden.corruption[sudden.corruption >= 0], minlength=len(kinds()))
    n, share = drawn.sum(), 1.0 / len(kinds())
    assert np.abs(drawn - n * share).max() < 5 * math.sqrt(n * share * (1 - share))
    noisy = np.isin(sudden.corruption, [kinds().index(k) for k in ("gaussian_noise", "fog", "elastic")])
    assert len(np.unique(sudden.probabilities[noisy], axis=0)) == noisy.sum()
    assert len(np.unique(sudden.probabilities[sudden.severity == 0], axis=0)) <= 597


def test_accuracy_falls_with_severity(sudden, gradual):
    accuracy = [right(gradual)[gradual.severity == s].mean() for s in range(6)]
    assert all(a > b for a, b in itertools.pairwise(accuracy))
    for stream in (sudden, gradual):
        assert right(stream)[stream.severity == 0].mean() >= 0.95
        assert 0.2 <= right(stream)[stream.severity == 5].mean() <= 0.6


def test_sets_grow_when_images_get_worse(sudden):
    """The published score, and a tracker that knows nothing of the shift: coverage stays, sets grow."""
    score = scores.RAPS(published=True, seed=0)
    every = score.every(sudden.probabilities, scores.uniforms(0, 0, len(sudden)))
    radii = trackers.make("magl", 0.1).run(every[np.arange(len(sudden)), sudden.labels])
    inside = every <= radii[:, None]
    covered, size = inside[np.arange(len(sudden)), sudden.labels], inside.sum(axis=1)
    judged = np.arange(len(sudden)) >= sudden.warm_up
    for severity in (0, 5):
        assert abs(covered[judged & (sudden.severity == severity)].mean() - 0.9) < 0.03
    clean, worst = (size[judged & (sudden.severity == s)].mean() for s in (0, 5))
    assert clean < 1.5 and 3.0 * clean < worst < 9.0


@pytest.mark.parametrize("missing", ["sklearn.datasets", "sklearn.linear_model"])
def test_without_scikit_learn(missing, monkeypatch):
    _trained.cache_clear()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=r'run pip install "\.\[data\]"'):
        digits("none", 5, 0)
