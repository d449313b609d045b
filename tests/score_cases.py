"""Scores of every kind, rounds for them, and bits to compare; for the tests of wane.scores."""

import math

import numpy as np
import pytest

from wane.scores import APS, CQR, LAC, RAPS, Absolute, Normalised, NormBall, OneSided, Signed, UserScore


def gap(output, y):
    return abs(y - output)


def gap_set(output, radius):
    return output - radius, output + radius


INTERVALS = {
    "absolute": Absolute(),
    "signed": Signed(),
    "normalised": Normalised(),
    "cqr": CQR(),
    "upper": OneSided("upper"),
    "lower": OneSided("lower"),
}
LABELS = {
    "lac": LAC(),
    "aps": APS(),
    "aps-random": APS(seed=7),
    "aps-full": APS(seed=7, allow_empty=False),
    "raps": RAPS(0.05),
    "raps-random": RAPS(0.05, k_reg=2, seed=3, allow_empty=False),
    "raps-published": RAPS(0.05, k_reg=1, seed=3, published=True),
}
BALLS = {"ball": NormBall(), "ball-1": NormBall(1), "ball-inf": NormBall(math.inf)}
SCORES = {**INTERVALS, **LABELS, **BALLS, "user": UserScore(gap, gap_set)}

every = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES)

intervals = pytest.mark.parametrize("score", INTERVALS.values(), ids=INTERVALS)
labelled = pytest.mark.parametrize("score", LABELS.values(), ids=LABELS)


def data(score, rounds, seed=0, size=4):
    """Outputs, labels, radii and uniforms for a score, some of them on a coarse grid, where ties are exact."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return np.where(rng.random(shape) < 0.3, rng.integers(-8, 9, shape) / 4.0, rng.normal(size=shape) * 3.0)

    if score.finite:
        p = rng.dirichlet(np.full(size, 0.4), rounds)
        p[::3] = np.eye(size)[rng.integers(0, size, len(p[::3]))]  # certain
        p[1::3] = 1.0 / size  # all tied
        return p, rng.integers(0, size, rounds), rng.random(rounds) * 1.2, rng.random(rounds)
    outputs = draw(rounds)
    if isinstance(score, NormBall):
        outputs = draw(rounds, size)
        return outputs, outputs + draw(rounds, size), 3.0 * abs(draw(rounds)), None
    if isinstance(score, Normalised):
        outputs = np.column_stack((outputs, rng.choice([0.5, 1.0, 3.7], rounds)))
    if isinstance(score, CQR):
        outputs = np.column_stack((outputs, outputs + draw(rounds) + 1.0))
    radius = draw(rounds) if score.signed else abs(draw(rounds))
    return outputs, draw(rounds), (draw(rounds), draw(rounds)) if score.sides == 2 else radius, None


def at(value, t):
    """Round t of what ``data`` gave."""
    if isinstance(value, tuple):
        return tuple(float(v[t]) for v in value)
    return value if value is None else float(value[t])


def bits(x):
    return np.asarray(x, dtype=float).tobytes()
