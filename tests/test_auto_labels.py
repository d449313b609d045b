"""``auto`` around classifiers: scores that crowd below a ceiling are bent, so that sets of labels stay small."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wane
from wane import trackers
from wane.scores import APS, LAC, RAPS, uniforms
from wane.trackers.bend import bent, straight

ALPHA = 0.1
SCORES = {"lac": LAC(), "aps": APS(), "aps, seed": APS(seed=0), "raps": RAPS(), "raps, seed": RAPS(seed=0)}


@given(st.floats(0.0, 3.0), st.floats(0.0, 3.0), st.sampled_from([0.0, 1e-3, 1.0, 2.5]))
def test_bending_is_increasing_and_can_be_undone(a, b, ceiling):
    assert straight(bent(a, ceiling), ceiling) == pytest.approx(a, rel=1e-12, abs=1e-15)
    if b > a + 1e-12:
        assert bent(b, ceiling) > bent(a, ceiling)


def test_bending_is_continuous():
    for s in (1.0 - 2.0**-30, 1.0):
        assert bent(np.nextafter(s, 2.0), 1.0) - bent(np.nextafter(s, 0.0), 1.0) < 1e-5


@pytest.fixture(scope="module")
def digits():
    pytest.importorskip("sklearn")
    return wane.streams.digits("sudden", rounds=1050, warm_up=100)


@pytest.mark.parametrize("name", SCORES)
def test_what_is_played_is_auto_on_bent_scores(digits, name):
    """The ceiling is 1 and the largest penalty."""
    score, p, y = SCORES[name], np.asarray(digits.probabilities), np.asarray(digits.labels)
    u = uniforms(0, 0, len(y)) if score.randomised else None
    scores, ceiling = score.score(p, y, u), score.ceiling(p)
    assert ceiling == pytest.approx(1.09 if name.startswith("raps") else 1.0)
    tracker = trackers.make("auto", ALPHA)
    inside = tracker.run([bent(s, ceiling) for s in scores])
    radii = wane.OnlineConformal("auto", score, ALPHA).run(p, y).radius
    # The last bit of a radius may differ, and with it a tie.
    assert np.allclose(radii, [straight(r, ceiling) for r in inside], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", SCORES)
def test_sets_on_clean_images_are_as_small_as_those_of_exact_quantiles(digits, name):
    """``faci`` keeps every score of the past. ``auto`` keeps a histogram, which must not blur the last hundredths."""
    p, y, clean = digits.probabilities, digits.labels, np.asarray(digits.severity) == 0
    clean[:100] = False  # both begin
    found = {}
    for method in ("auto", "faci"):
        table = wane.OnlineConformal(method, SCORES[name], ALPHA, on_unbounded="allow").run(p, y)
        found[method] = table.covered[clean].mean(), table.width[clean].mean()
    assert abs(found["auto"][0] - found["faci"][0]) < 0.015
    assert found["auto"][1] < 1.05 * found["faci"][1]


def test_the_bound_holds_for_labels_too(digits):
    """The theorem is about bent scores, and an increasing map changes no miss."""
    for name in ("lac", "aps", "raps, seed"):
        oc = wane.OnlineConformal("auto", SCORES[name], ALPHA)
        oc.run(digits.probabilities, digits.labels, delay=7)
        tracker = oc.trackers[0]
        assert abs(tracker.coverage_sum()) <= tracker.coverage_bound() < len(digits.labels)


def test_labels_of_probability_zero_are_learned():
    """Their score is the ceiling itself, and no radius below it covers them."""
    p = np.tile([1.0, 0.0, 0.0], (400, 1))
    table = wane.OnlineConformal("auto", "lac", 0.1).run(p, np.tile([0, 1], 200))
    assert np.isfinite(table.radius).all()
    assert abs(table.covered[100:].mean() - 0.9) < 0.02 and table.radius.max() > 1.0
