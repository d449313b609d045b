"""Dawson's function and erfi in JAX, held to mpmath."""

from functools import cache

import numpy as np
import pytest
from mpmath import mp

jax = pytest.importorskip("jax")
pytest.importorskip("optax")
jnp = jax.numpy
from optax_games import double  # noqa: E402

from wane.integrations import optax as ours  # noqa: E402


@cache
def exact(name):
    x = np.concatenate(
        [[0.0, -0.0, 1e-30, 1e-8], np.linspace(-9, 9, 91), np.linspace(5.9, 6.1, 11), [1.0, 20.0, 26.0, 1e10]]
    )
    x = x.astype(np.float32).astype(float)
    with mp.workdps(40):
        grown = [mp.sqrt(mp.pi) / 2 * mp.erfi(mp.mpf(t)) if abs(t) < 30 else mp.inf for t in x]
        flat = [
            mp.exp(-(mp.mpf(t) ** 2)) * y if y != mp.inf else 1 / (2 * mp.mpf(t)) for t, y in zip(x, grown, strict=True)
        ]
        return x, np.array([float(y) for y in (grown if name == "erfi" else flat)])


@pytest.mark.parametrize(("name", "compiled"), [("dawson", True), ("erfi", True), ("erfi", False)])
def test_special_functions(name, compiled):
    x, want = exact(name)
    function = jax.jit(getattr(ours, name)) if compiled else getattr(ours, name)
    with double(True):
        got = function(jnp.asarray(x))
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, want, rtol=1e-12)
        assert float(function(jnp.asarray(1))) == pytest.approx(float(want[x == 1.0][0]), rel=1e-12)
    with np.errstate(over="ignore"):
        single = want.astype(np.float32)
    got = function(jnp.asarray(x, jnp.float32).reshape(-1, 1))[:, 0]
    keep = np.isfinite(single) & (np.abs(x) < 9.3) if name == "erfi" else single == single
    np.testing.assert_allclose(got[keep], single[keep], rtol=1e-6)
    assert not np.isnan(got).any() and np.isnan(function(jnp.nan))
    assert function(jnp.bfloat16(0.5)).dtype == jnp.bfloat16
