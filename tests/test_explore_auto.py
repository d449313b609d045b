"""The exploration behind ``auto``: its parts are those of the tracker, and its page shows all that it plays."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

import wane
from wane.theory import calibration_bound, prediction_rule

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def explore():
    spec = importlib.util.spec_from_file_location("explore_auto", ROOT / "tools" / "explore_auto.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_parts_of_the_exploration_are_auto(explore):
    explore.check()


def test_every_priority_is_played_as_auto_plays_it(explore):
    stage = explore.Stage(np.abs(np.random.default_rng(3).standard_t(3, size=300)))
    for name in explore.PRIORITIES:
        want = wane.trackers.make("auto", explore.ALPHA, priority=name).run(stage.scores)  # the output is always 0
        assert np.array_equal(explore.variants()[f"`auto`, {name}"](stage), want)


def test_every_variant_plays_radii(explore):
    stage = explore.Stage(np.abs(np.random.default_rng(4).normal(size=120)))
    for name, play in explore.variants().items():
        radii = play(stage)
        assert radii.shape == stage.scores.shape and np.isfinite(radii).all() and (radii >= 0.0).all(), name


def test_late_labels_and_steps_ahead_are_played(explore):
    rng = np.random.default_rng(5)
    y = rng.normal(size=500).cumsum()
    rows = explore.on_stream(np.abs(np.diff(y)), (y[:-1], y[1:]))
    for when in (*explore.DELAYS, "6 ahead", "24 ahead"):
        for name in explore.late_variants():
            assert 0.0 < rows[name, when]["pinball"] < np.inf
    assert rows["`auto`", 0] == rows["`auto`, balanced"]
    assert 0.04 < explore.chance(200) < explore.chance(3000) < 0.12


def test_the_table_of_the_page_has_every_variant(explore):
    page = (ROOT / "tools" / "explore_auto.md").read_text()
    table = re.search(r"<!-- begin explored -->\n(.*?)<!-- end explored -->", page, flags=re.S)[1]
    rows = [line.strip("| ").split(" | ")[0] for line in table.strip().splitlines()[2:]]
    assert rows == list(explore.variants())


def test_the_rule_falls_as_the_proof_of_the_page_says():
    """On s >= 4 h the rule falls as v and h grow, and at s = 4 h it plays less than epsilon / 5."""
    h, v = np.linspace(0.05, 1.0, 40), np.concatenate([[0.0], np.geomspace(1e-3, 1e5, 60)])
    for s in np.linspace(4.0, 80.0, 40):  # 4 times the largest h, or more
        played = np.array([[float(prediction_rule(b, s, a)) for b in v] for a in h])
        assert (np.diff(played, axis=0) <= 0.0).all() and (np.diff(played, axis=1) <= 0.0).all()
    assert max(float(prediction_rule(b, 4.0, 1.0)) for b in v) < 0.2
    bounds = [calibration_bound(b, 1.0, largest=1.0, scale=1.0) for b in v]
    assert bounds == sorted(bounds)
