"""Scores of labels against the words of their definition, and the uniforms of the randomised ones."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from score_cases import labelled

from wane.scores import APS, LAC, RAPS, uniforms

# Labels.


def literal(p, u, penalty=0.0, k_reg=0, published=False):
    """The scores of all labels, by the words of the definition."""
    ranked = sorted(range(len(p)), key=lambda k: (-p[k], -k if published else k))
    scores, total = {}, 0.0
    for i, k in enumerate(ranked):
        total += p[k]
        beyond = max(0, (i if published else i + 1) - k_reg)
        scores[k] = min(1.0, total - u * p[k]) + penalty * (math.sqrt(beyond) if published else beyond)
    return [scores[k] for k in range(len(p))]


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("seed", [None, 1])
@given(
    weights=st.lists(st.integers(0, 5), min_size=2, max_size=30).filter(any),
    u=st.floats(0, 1, exclude_max=True),
    penalty=st.sampled_from([0.0, 0.01, 1.0]),
    k_reg=st.sampled_from([None, 0, 1, 3, 50]),
)
@settings(max_examples=40)
def test_adaptive_scores_literally(seed, published, weights, u, penalty, k_reg):
    p = np.array(weights) / sum(weights)
    free = max(1, len(p) // 10) if k_reg is None else k_reg
    score = RAPS(penalty, k_reg, seed=seed, published=published)
    wanted = literal(p, 0.0 if seed is None else u, penalty, free, published)
    assert [score.score(p, y, u) for y in range(len(p))] == wanted
    assert max(wanted) <= score.largest(len(p))
    assert len(score.set(p, score.largest(len(p)), u)) == len(p)
    radius = sorted(wanted)[len(p) // 2]
    chosen = score.set(p, radius, u).labels
    assert {*chosen} == {k for k in range(len(p)) if wanted[k] <= radius}
    assert list(chosen) == sorted(chosen, key=lambda k: (-p[k], k))
    if penalty == 0.0 and not published:
        assert [APS(seed=seed).score(p, y, u) for y in range(len(p))] == wanted


def test_largest_is_reached():
    p = np.eye(30)[0]
    score = RAPS(0.01, k_reg=5)
    assert max(score.score(p, y) for y in range(30)) == score.largest(30) == 1.0 + 0.01 * 25
    assert APS().largest(30) == LAC().largest(30) == 1.0


def test_published_penalty():
    """Rank k_reg, counted from 0, is still free; and the bound is the one of the published experiment."""
    score = RAPS(0.01, k_reg=20, published=True)
    p = np.linspace(2.0, 1.0, 200)
    p /= p.sum()
    extra = [score.score(p, y) - APS().score(p, y) for y in (19, 20, 21, 24)]
    assert extra == pytest.approx([0.0, 0.0, 0.01, 0.02], abs=1e-14)
    assert score.largest(200) == pytest.approx(1.1342, abs=1e-4)


def test_randomised_score_is_uniform():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(6, 0.5), 20_000)
    y = (rng.random((20_000, 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    score = APS(seed=5)
    assert stats.kstest(score.score(p, y, uniforms(5, 0, 20_000)), "uniform").pvalue > 0.01
    assert stats.kstest(APS().score(p, y), "uniform").pvalue < 1e-6


def test_lac_is_one_minus_the_probability():
    p = np.array([0.5, 0.125, 0.375])
    assert [LAC().score(p, y) for y in range(3)] == [0.5, 0.875, 0.625]
    assert LAC().set(p, 0.625).labels == (0, 2) and LAC().set(p, 0.4).labels == ()


@labelled
def test_rounded_probabilities(score):
    """Half precision does not add up to 1; scores stay within [0, largest] all the same."""
    logits = np.random.default_rng(0).normal(size=(50, 200)) * 3
    p = np.exp(logits)
    p = score.outputs((p / p.sum(axis=1, keepdims=True)).astype(np.float16))
    assert (p.sum(axis=1) != 1.0).any()
    p = np.vstack((p, [1.0005, *[0.0] * 199], [1.0, 5e-4, *[0.0] * 198]))
    for y in (0, 1, 199):
        s = score.score(score.outputs(p), np.full(len(p), y), np.full(len(p), 0.9999999))
        assert s.min() >= 0.0 and s.max() <= score.largest(200)


@pytest.mark.parametrize("classes", [["cat", "dog", "cow"], np.array(["cat", "dog", "cow"]), (7, 3, 5), [0.5, 1.5, -1]])
@pytest.mark.parametrize("kind", [LAC, APS, RAPS])
def test_names(kind, classes):
    named, plain = kind(classes=classes), kind()
    p = np.array([0.2, 0.5, 0.3])
    for k, name in enumerate(classes):
        assert named.label(name) == k and type(named.label(name)) is int
    assert named.set(p, 1.0).labels == tuple(classes[k] for k in plain.set(p, 1.0))
    assert all(type(name) in (str, int, float) for name in named.set(p, 1.0))
    ys, known = named.labels([classes[2], None, classes[0], math.nan], 4)
    assert ys.tolist() == [2, 0, 0, 0] and known.tolist() == [True, False, True, False]


# Uniforms.


def split_mix(seed, count):
    """The reference algorithm, in whole numbers."""
    out = []
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) % 2**64
        z = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        out.append(z ^ (z >> 31))
    return out


def test_uniforms_are_split_mix():
    assert split_mix(0, 3) == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]  # the published outputs
    for seed in (0, 1, 12345, 2**64 - 1):
        assert uniforms(seed, 0, 50).tolist() == [(z >> 11) / 2**53 for z in split_mix(seed, 50)]


@given(seed=st.integers(0, 2**64 - 1), start=st.integers(0, 10**6), count=st.integers(0, 20))
def test_uniforms_have_no_memory(seed, start, count):
    ahead = uniforms(seed, start, count + 5)
    assert (uniforms(seed, start + 5, count) == ahead[5:]).all() and ((ahead >= 0.0) & (ahead < 1.0)).all()
    assert start > 2000 or (uniforms(seed, 0, start + count)[start:] == ahead[:count]).all()
    assert uniforms(seed, 2**63 - 1, 1).shape == (1,)


def test_uniforms_are_uniform():
    u = uniforms(3, 0, 100_000)
    assert stats.kstest(u, "uniform").pvalue > 0.01
    for other in (u[1:], uniforms(4, 0, 99_999)):  # the round before, the next seed
        assert abs(np.corrcoef(u[:-1], other)[0, 1]) < 4 / math.sqrt(len(other))
