"""Dawson's function and erfi of tensors, against mpmath."""

import math

import numpy as np
import pytest
import reference
from mpmath import mp, mpf

pytest.importorskip("torch")
import torch

from wane.integrations.torch import dawson, erfi

CLOSE = {torch.float64: 1e-12, torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 1e-2}


def error(found, x, scaled):
    """The largest relative error; ``scaled`` says that the function is Dawson's."""
    largest = 0.0
    with mp.workdps(40):
        for a, c in zip(found.double().tolist(), x.double().tolist(), strict=True):
            wanted = reference.erfi(mpf(c)) * (mp.exp(-(mpf(c) ** 2)) if scaled else 1)
            largest = max(largest, abs(float((mpf(a) - wanted) / wanted)) if wanted else abs(a))
    return largest


@pytest.mark.parametrize("dtype", CLOSE, ids=str)
def test_every_type(dtype):
    generator = torch.Generator().manual_seed(0)
    top = {torch.float64: 26.5, torch.float32: 9.3, torch.bfloat16: 9.3, torch.float16: 3.3}[dtype]
    x = torch.cat([torch.linspace(-top, top, 201), top * torch.rand(300, generator=generator) ** 4]).to(dtype)
    x = torch.cat([x, torch.tensor([0.0, 1e-4, -1e-3, 0.25, 3.0], dtype=dtype)])
    assert erfi(x).dtype == dawson(x).dtype == dtype
    assert error(dawson(x), x, True) < CLOSE[dtype]
    assert error(erfi(x), x, False) < CLOSE[dtype]


def test_near_zero_it_is_exact():
    """There erfi(x) = x + x^3 / 3; a published series is off by 1 %."""
    x = torch.logspace(-300, -3, 500, dtype=torch.float64)
    np.testing.assert_allclose(erfi(x).numpy(), (x + x**3 / 3).numpy(), rtol=1e-12)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 4), (2, 3, 4)])
def test_every_shape(shape):
    x = torch.randn(shape, dtype=torch.float64)
    for function in (dawson, erfi):
        found = function(x)
        assert found.shape == x.shape
        assert found.reshape(-1).tolist() == [function(c).item() for c in x.reshape(-1)]
        assert torch.equal(function(x.mT if x.ndim > 1 else x), found.mT if x.ndim > 1 else found)


def test_the_ends():
    x = torch.tensor([math.inf, -math.inf, 30.0, -30.0, math.nan], dtype=torch.float64)
    assert erfi(x)[:4].tolist() == [math.inf, -math.inf, math.inf, -math.inf] and erfi(x)[4].isnan()
    assert dawson(torch.tensor([math.inf, -math.inf])).tolist() == [0.0, 0.0]
    assert dawson(x)[4].isnan()
    for bad in (1.0, torch.tensor(1), torch.tensor(1j)):
        with pytest.raises(TypeError, match="a tensor of real floating-point numbers"):
            erfi(bad)


def test_no_gradient_is_recorded():
    x = torch.ones(2, requires_grad=True)
    assert not erfi(x).requires_grad and torch.is_grad_enabled()
