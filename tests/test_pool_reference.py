"""The method ``pool`` of panels beside its literal reference, under attack, and how well it covers."""

import math
from itertools import pairwise

import numpy as np
import pytest
from panel_cases import same
from pool_reference import Pool

import wane

LEVELS = (0.3, 0.1, 0.02)


class Data:
    """A panel whose series have different scales, begin at different times, pause and end."""

    def __init__(self, series=12, rows=40, seed=0, kind="normal", missing=0.0):
        rng = np.random.default_rng(seed)
        ids, t = np.repeat(np.arange(series), rows), np.tile(np.arange(rows), series)
        scale = np.exp(rng.normal(0.0, 2.0, series))[ids]
        y_hat = 5.0 * scale * np.exp(rng.normal(0.0, 0.3, len(t)))
        y = y_hat + scale * rng.standard_t(3, len(t))
        if kind == "zeros":
            y = np.where(rng.random(len(t)) < 0.6, y_hat, y)
        if kind == "counts":
            y_hat = np.exp(rng.normal(-1.0, 1.0, series))[ids]
            y = rng.poisson(y_hat).astype(float)
        y[rng.random(len(t)) < missing] = math.nan
        there = (t >= ids % 7) & ~((ids % 5 == 3) & (t > 15) & (t < 25)) & ~((ids % 6 == 5) & (t > 30))
        self.ids, self.t, self.y, self.y_hat = ids[there], t[there], y[there], y_hat[there]

    def table(self, rows=slice(None), factor=1.0):
        return {
            "id": self.ids[rows],
            "t": self.t[rows],
            "y": factor * self.y[rows],
            "y_hat": factor * self.y_hat[rows],
        }

    @property
    def scores(self):
        return np.abs(self.y - self.y_hat)


def play(table, alpha=0.1, delay=0, **more):
    """The result of the method pool."""
    return wane.panel.run(
        table, id="id", time="t", y="y", y_hat="y_hat", method="pool", alpha=alpha, delay=delay, **more
    )


def radii(result, alpha=0.1):
    """The radii of all levels, a column each."""
    names = ["radius"] if np.ndim(alpha) == 0 else [f"radius_{a:g}" for a in alpha]
    return np.column_stack([np.asarray(result.frame[name], dtype=float) for name in names])


def literal(data, alphas, delay, scores=None):
    """The radii of the reference; it needs panels whose moments all have rows of the series that wait."""
    pool, out = Pool(sorted(alphas, reverse=True), delay), np.full((len(data.t), len(alphas)), math.nan)
    scores = data.scores if scores is None else scores
    for now in np.unique(data.t):
        rows = np.flatnonzero(data.t == now)
        out[rows] = pool.tick(data.ids[rows], np.abs(data.y_hat[rows]), scores[rows])
    return out


@pytest.mark.parametrize("kind", ["normal", "zeros", "counts"])
@pytest.mark.parametrize("alphas", [(0.1,), LEVELS, (0.5,)])
def test_the_reference(alphas, kind):
    data = Data(kind=kind, missing=0.1)
    np.testing.assert_allclose(radii(play(data.table(), alphas), alphas), literal(data, alphas, 0), rtol=1e-9)


def test_the_reference_late():
    data = Data(missing=0.1)
    regular = np.isin(
        data.ids, np.flatnonzero([i % 5 != 3 and i % 6 != 5 for i in range(12)])
    )  # no pause, no early end
    data.ids, data.t, data.y, data.y_hat = (a[regular] for a in (data.ids, data.t, data.y, data.y_hat))
    made, wanted = radii(play(data.table(), LEVELS, delay=3), LEVELS), literal(data, LEVELS, 3)
    np.testing.assert_allclose(made, wanted, rtol=1e-9)


def test_the_reference_for_one_series_of_many_rows():
    data = Data(series=1, rows=1500, seed=3)
    np.testing.assert_allclose(radii(play(data.table())), literal(data, (0.1,), 0), rtol=1e-9)


def test_two_sided_scores_are_two_pools():
    data = Data()
    frame = play(data.table(), score="signed").frame
    for name, sign in (("lower", -1.0), ("upper", 1.0)):
        side = np.maximum(sign * (data.y - data.y_hat), 0.0)
        made = sign * (np.asarray(frame[name]) - data.y_hat)
        np.testing.assert_allclose(made, literal(data, (0.05,), 0, side)[:, 0], rtol=1e-9, atol=1e-9 * data.y_hat.max())


def test_the_number_of_threads_changes_nothing():
    data = Data(series=200, rows=30)
    one, two = (play(data.table(), LEVELS, threads=n) for n in (1, 2))
    assert same(radii(one, LEVELS), radii(two, LEVELS))


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("cuts", [(20,), (1, 2, 3, 25), tuple(range(1, 40))])
def test_chunks_are_one_run(cuts, delay):
    data = Data(missing=0.1)
    whole = radii(play(data.table(), LEVELS, delay=delay), LEVELS)
    edges, panel = (0, *cuts, 40), None
    made = np.full_like(whole, math.nan)
    for start, stop in pairwise(edges):
        rows = np.flatnonzero((data.t >= start) & (data.t < stop))
        result = play(data.table(rows), LEVELS, delay=delay, panel=panel)
        panel, made[rows] = result.panel, radii(result, LEVELS)
    assert same(whole, made)


def test_labels_that_never_come_teach_nothing():
    data = Data()
    table = data.table()
    silent = data.ids == 4
    table["y"] = np.where(silent, math.nan, table["y"])
    with_silence = radii(play(table))[~silent]
    rows = np.flatnonzero(~silent)
    assert same(with_silence, radii(play(data.table(rows))))


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
def test_short_series_are_covered_from_their_first_rows_on(alpha):
    rng = np.random.default_rng(5)
    ids, t = np.repeat(np.arange(300), 25), np.tile(np.arange(25), 300)
    scale = np.exp(rng.normal(0.0, 1.5, 300))[ids]
    table = {"id": ids, "t": t, "y": scale * (5.0 + rng.standard_t(4, len(t))), "y_hat": 5.0 * scale}
    covered = radii(play(table, alpha), alpha)[:, 0] > np.abs(table["y"] - table["y_hat"])
    assert covered[t == 1].mean() > 1.0 - alpha - 0.15  # one label a series: nothing is calibrated yet
    assert covered[(t > 1) & (t < 6)].mean() == pytest.approx(1.0 - alpha, abs=0.05)
    assert covered[t >= 6].mean() == pytest.approx(1.0 - alpha, abs=0.02)


def test_one_series_in_another_unit_is_covered_too():
    rng = np.random.default_rng(6)
    ids, t = np.repeat(np.arange(100), 60), np.tile(np.arange(60), 100)
    unit = np.where(ids % 10 == 0, 100.0, 1.0) * np.where(ids % 10 == 1, 1e6, 1.0)
    table = {"id": ids, "t": t, "y": unit * (10.0 + rng.normal(size=len(t))), "y_hat": unit * 10.0}
    covered = radii(play(table))[:, 0] > np.abs(table["y"] - table["y_hat"])
    for kind in (0, 1, 2):
        assert covered[(ids % 10 == kind) & (t > 0)].mean() == pytest.approx(0.9, abs=0.02)


def test_a_shock_that_hits_all_series_is_answered_within_a_few_moments():
    rng = np.random.default_rng(7)
    ids, t = np.repeat(np.arange(200), 40), np.tile(np.arange(40), 200)
    noise = rng.normal(size=len(t)) * np.where(t < 20, 1.0, 4.0)
    table = {"id": ids, "t": t, "y": 10.0 + noise, "y_hat": np.full(len(t), 10.0)}
    covered = radii(play(table))[:, 0] > np.abs(noise)
    assert covered[t == 20].mean() < 0.5
    assert covered[(t >= 23) & (t < 27)].mean() > 0.85


@pytest.mark.parametrize("goal", [1.0, -1.0], ids=["misses", "covers"])
@pytest.mark.parametrize("alphas", [(0.1,), (0.3, 0.05)])
def test_an_adversary_who_sees_the_radius_stays_within_the_theorem(alphas, goal):
    # One series is attacked; another one, which is calm, misleads the shared part.
    panel, rng = wane.Panel("pool", alphas), np.random.default_rng(8)
    labels, misses, scores = 0, np.zeros(len(alphas)), []
    for t in range(400):
        radius = panel.predict(["attacked", "calm"], [1.0, 1.0]).radius[0]
        score = min(1.001 * max(radius[0], 0.01), 100.0) if goal > 0.0 else 0.0
        panel.update(["attacked", "calm"], [1.0 + score, 1.0 + 0.01 * rng.normal()])
        if t:
            labels, misses, scores = labels + 1, misses + (radius <= score), [*scores, score]
    bounds, growth = None, max(scores) / min(s for s in scores if s > 0.0) if any(scores) else 1.0
    for alpha, missed in zip(alphas, misses, strict=True):
        bounds = wane.theory.pool_bound(labels, missed, alpha, growth=growth, narrower=bounds)
        assert bounds[0] <= missed - alpha * labels <= bounds[1]


def test_scores_without_scale_make_no_trouble():
    # All forecasts right, then one error; forecasts of 0; tiny and huge numbers.
    for y in (np.zeros(60), np.where(np.arange(60) == 30, 1.0, 0.0), np.full(60, 1e-300), np.full(60, 1e150)):
        table = {"id": np.tile([0, 1], 30), "t": np.arange(60) // 2, "y": y, "y_hat": np.zeros(60)}
        r = radii(play(table, LEVELS), LEVELS)[2:]
        assert np.isfinite(r).all()
        assert (r >= 0.0).all()


@pytest.mark.parametrize("delay", [0, 3])
def test_rows_and_the_shared_part_make_the_panel_again(delay):
    data = Data(missing=0.1)
    early, late = data.t < 20, data.t >= 20
    panel = play(data.table(early), LEVELS, delay=delay).panel
    ids, rows = panel.rows()
    back = wane.Panel.from_rows({"method": "pool", "alpha": LEVELS}, ids[::-1], rows[::-1], panel.shared())
    made, wanted = (play(data.table(late), LEVELS, delay=delay, panel=p) for p in (back, panel))
    assert same(radii(made, LEVELS), radii(wanted, LEVELS))
