"""Closed convex sets, their members, the conditions that define them, and their projections another way."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from wane.domains import Ball, Box, HalfSpace, Nonnegative, Simplex

INF = math.inf
DIMS = (1, 2, 3, 4, 5, 6, 50)


def wave(dim, low, high, shift=0.0):
    """Different numbers between low and high, one a coordinate."""
    return low + (high - low) * (0.5 + 0.5 * np.sin(1.7 * np.arange(dim) + shift))


def infinite_box(dim):
    low, high = wave(dim, -2.0, -0.5), wave(dim, 0.0, 1.5)
    low[::2], high[::3] = -INF, INF
    return Box(low, high)


CASES = {
    "ball": lambda d: Ball(),
    "small ball": lambda d: Ball(0.3),
    "centered ball": lambda d: Ball(2.5, wave(d, -2.0, 3.0)),
    "far ball": lambda d: Ball(0.5, wave(d, 10.0, 20.0)),
    "scalar box": lambda d: Box(-1.0, 0.5),
    "box": lambda d: Box(wave(d, -2.0, -0.5), wave(d, -0.5, 1.5, 1.0)),
    "half infinite box": infinite_box,
    "flat box": lambda d: Box(wave(d, 0.0, 1.0), wave(d, 0.0, 1.0)),
    "mixed box": lambda d: Box(0.0, wave(d, 0.1, 2.0)),
    "simplex": lambda d: Simplex(),
    "large simplex": lambda d: Simplex(7.5),
    "half space": lambda d: HalfSpace(wave(d, -1.0, 2.0, 0.5), 0.7),
    "half space off 0": lambda d: HalfSpace(wave(d, -3.0, 1.0, 0.5), -2.0),
    "nonnegative": lambda d: Nonnegative(),
}

each = pytest.mark.parametrize("name", CASES)
dims = st.sampled_from(DIMS)
seeds = st.integers(0, 2**32 - 1)


def limits(box, dim):
    return (np.broadcast_to(np.asarray(limit, dtype=float), (dim,)) for limit in (box.lower, box.upper))


def members(domain, dim, rng, count):
    """Points of the set, a third of them on its boundary, by formulas of the sets themselves."""
    x = 2.0 * rng.normal(size=(count, dim))
    edge = rng.random(count) < 1 / 3
    if isinstance(domain, Ball):
        length = domain.radius * np.where(edge, 1.0, rng.random(count))
        x *= (length / np.linalg.norm(x, axis=1))[:, None]
        return x if domain.center is None else x + domain.center
    if isinstance(domain, Box):
        low, high = (np.clip(limit, -9.0, 9.0) for limit in limits(domain, dim))
        share = rng.random((count, dim))
        share[edge] = np.rint(share[edge])
        return low + share * (high - low)
    if isinstance(domain, Simplex):
        x = rng.exponential(size=(count, dim))
        x[edge] *= np.arange(dim) == rng.integers(dim, size=(edge.sum(), 1))  # the corners
        return domain.total * x / x.sum(axis=1, keepdims=True)
    if isinstance(domain, HalfSpace):
        a = domain.normal / np.linalg.norm(domain.normal)
        wanted = domain.offset / np.linalg.norm(domain.normal) - np.where(edge, 0.0, rng.exponential(size=count))
        return x + np.outer(wanted - x @ a, a)
    x = np.abs(x)
    x[edge] *= rng.random((edge.sum(), dim)) < 0.5
    return x


def excess(domain, p):
    """How far p is from satisfying the conditions that define the set; at most 0 inside."""
    if isinstance(domain, Ball):
        center = np.zeros(len(p)) if domain.center is None else domain.center
        return math.hypot(*(p - center)) - domain.radius
    if isinstance(domain, Box):
        low, high = limits(domain, len(p))
        return float(max((low - p).max(), (p - high).max()))
    if isinstance(domain, Simplex):
        return max(abs(math.fsum(p) - domain.total), -p.min())
    if isinstance(domain, HalfSpace):
        return math.fsum(domain.normal * p) - domain.offset
    return -p.min()


def another_method(domain, x):
    """The projection, computed in a way of its own."""
    if isinstance(domain, Ball):  # the multiplier of the constraint, by bisection
        center = np.zeros(len(x)) if domain.center is None else domain.center
        low, high = 0.0, 1.0
        for _ in range(80):
            share = 0.5 * (low + high)
            low, high = (share, high) if np.linalg.norm(share * (x - center)) <= domain.radius else (low, share)
        return center + low * (x - center)
    if isinstance(domain, Box):
        low, high = limits(domain, len(x))
        return np.median([low, x, high], axis=0)
    if isinstance(domain, Simplex):  # by sorting: Held, Wolfe, Crowder 1974
        down = np.sort(x)[::-1]
        threshold = (np.cumsum(down) - domain.total) / np.arange(1, len(x) + 1)
        return np.maximum(x - threshold[np.flatnonzero(down > threshold)[-1]], 0.0)
    if isinstance(domain, HalfSpace):  # the nearest point of the hyperplane, by least squares
        if domain.normal @ x <= domain.offset:
            return x
        step, *_ = np.linalg.lstsq(domain.normal[None, :], [domain.offset - domain.normal @ x], rcond=None)
        return x + step
    return 0.5 * (x + np.abs(x))


def size(*points):
    return 1.0 + sum(float(np.linalg.norm(p)) for p in points)
