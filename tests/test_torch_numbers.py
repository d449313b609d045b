"""What the torch optimisers refuse, and what they do with numbers at the ends of a type and with half types."""

import pytest

pytest.importorskip("torch")
import torch
from torch.nn import Parameter
from torch_cases import adam, adamw, every, halves, parameters, plain, play, same, values

from wane.integrations.torch import Adaptive, Tuned


@pytest.mark.parametrize("nonfinite", ["raise", "skip"])
def test_an_infinite_step_of_the_base_is_named(nonfinite):
    """To skip the rounds after it would be to stand still for ever, without a word if a round was skipped before."""
    p = Parameter(torch.ones(3))
    optimizer = Tuned(torch.optim.SGD([p], lr=1e38), nonfinite=nonfinite)
    optimizer.skipped = 1
    p.grad = torch.full((3,), 10.0)
    optimizer.step()
    with pytest.raises(FloatingPointError, match=r"parameter of shape \(3,\) is no longer finite, since a step of the"):
        optimizer.step()
    assert optimizer.skipped == 1


def test_a_parameter_that_left_its_type_is_named():
    """Directions and scale are finite, the float16 that they make is not."""
    p = Parameter(torch.full((3,), 100.0, dtype=torch.float16))
    optimizer = Tuned(torch.optim.SGD([p], lr=1e3), nonfinite="skip")
    while p.isfinite().all():
        p.grad = -torch.ones_like(p)
        optimizer.step()
    p.grad = torch.full_like(p, float("nan"))
    with pytest.raises(FloatingPointError, match="no longer finite"):
        optimizer.step()
    assert optimizer.state[p]["direction"].isfinite().all()


@every
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_gradients_that_are_not_finite(make, bad):
    params = parameters()
    optimizer = make(halves(params))
    for rounds in (range(0), range(10)):  # in the first round, too, when all directions are 0
        play(optimizer, params, rounds)
        for p in params:
            p.grad = torch.ones_like(p)
        params[2].grad[0, 1] = bad
        before, state = values(params), plain(optimizer.state_dict())
        with pytest.raises(FloatingPointError, match=r"shape \(2, 4\) is not finite.*nothing was changed"):
            optimizer.step()
        assert same(params, before) and plain(optimizer.state_dict()) == state and optimizer.skipped == 0
        optimizer.nonfinite = "skip"
        with pytest.warns(RuntimeWarning, match="skipped") as found:
            optimizer.step()
        assert found[0].filename == __file__
        optimizer.step()  # and no second warning
        assert same(params, before) and optimizer.skipped == 2
        optimizer.nonfinite, optimizer.skipped = "raise", 0
        assert plain(optimizer.state_dict()) == state
    play(optimizer, params, range(10, 12))


def test_finite_gradients_with_an_infinite_product_are_refused():
    """Their product with the direction leaves the type, or its square leaves double precision."""
    p = Parameter(torch.zeros(100))
    adaptive = Adaptive([p])
    play(adaptive, [p], range(20))
    q = Parameter(torch.zeros(2, dtype=torch.float64))
    tuned = Tuned(torch.optim.SGD([q], lr=1.0), rule="trac")
    q.grad = torch.full_like(q, 1e100)
    tuned.step()
    p.grad = -3e38 * adaptive.state[p]["direction"].sign()
    for optimizer, x in ((adaptive, p), (tuned, q)):
        before, state = values([x]), plain(optimizer.state_dict())
        with pytest.raises(FloatingPointError, match="too large for its type: nothing was changed"):
            optimizer.step()
        assert same([x], before) and plain(optimizer.state_dict()) == state


@pytest.mark.parametrize("size", [1e-40, 1e-100, 1e-300])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_tiny_gradients_beside_a_smaller_type(dtype, size):
    """A double's gradient, and one of another type that is 0, which has no number for the rate that the first needs."""
    params = [Parameter(torch.zeros(3, dtype=kind)) for kind in (torch.float64, dtype)]
    alone = Parameter(torch.zeros(3, dtype=torch.float64))
    optimizers = Adaptive(params), Adaptive([alone])
    for _ in range(20):
        params[0].grad, params[1].grad = torch.full_like(params[0], size), torch.zeros_like(params[1])
        alone.grad = torch.ones_like(alone)
        for optimizer in optimizers:
            optimizer.step()
    assert params[1].eq(0.0).all() and alone.lt(0.0).all()
    torch.testing.assert_close(params[0], alone, rtol=1e-12, atol=0.0)


@every
def test_other_gradients_are_refused(make):
    params = [Parameter(torch.ones(3, 2))]
    optimizer = make(params)
    params[0].grad = torch.ones(3, 2).to_sparse()
    with pytest.raises(RuntimeError, match=r"must be dense, got torch.sparse_coo .*use sparse=False"):
        optimizer.step()
    for dtype in (torch.complex64, torch.complex128):
        with pytest.raises(TypeError, match="parameters must be float64"):
            make([Parameter(torch.ones(2, dtype=dtype))])


def test_wrong_arguments_are_refused():
    p = Parameter(torch.ones(2))
    for make, error, said in [
        (lambda: Tuned([p]), TypeError, "base must be an optimiser"),
        (lambda: Tuned(torch.optim.LBFGS([p])), TypeError, "without a closure; LBFGS"),
        (lambda: Tuned(torch.optim.SparseAdam([p])), TypeError, "SparseAdam takes no others than sparse ones"),
        (lambda: Tuned(adam([p]), horizon=0.5), ValueError, "horizon must be a number of rounds >= 1"),
        (lambda: Adaptive([p], lr=-1.0), ValueError, "lr must be a finite number >= 0"),
        (lambda: Tuned(Tuned(adam([p]))), TypeError, "got Tuned, which learns it"),
        (lambda: Tuned(torch.optim.SGD([p], differentiable=True)), ValueError, "must not be differentiable"),
        (lambda: Tuned(adam([p]), discounts=()), ValueError, "at least one discount"),
        (lambda: Tuned(adam([p]), discounts=0.9), TypeError, r"such as \(0.9, 1.0\), got 0.9"),
        (lambda: Tuned(adam([p]), discounts=(0.9, -1.0)), ValueError, r"discounts\[1\] must be a finite number >= 0"),
        (lambda: Tuned(adam([p]), rule="other"), ValueError, "rule must be 'magnitude' or 'trac'"),
        (lambda: Tuned(adam([p]), epsilon=0.0), ValueError, "epsilon must be"),
        (lambda: Tuned(adam([p]), scope="layer"), ValueError, "scope must be 'global' or 'group'"),
        (lambda: Tuned(adam([p]), nonfinite="ignore"), ValueError, "nonfinite must be 'raise' or 'skip'"),
        (lambda: Adaptive([p], epsilon=-1.0), ValueError, "epsilon must be"),
        (lambda: Adaptive([p], discount=float("nan")), ValueError, "discount must be a finite number"),
        (lambda: Adaptive([]), ValueError, "empty"),
    ]:
        with pytest.raises(error, match=said):
            make()


@pytest.mark.parametrize("base", [adam, adamw])
def test_steps_that_are_too_small_for_a_half_type_are_kept(base):
    """Adam's steps of 1e-3 at weights of 100, where neighbours in bfloat16 are 0.5 apart."""
    p = Parameter(torch.full((3,), 100.0, dtype=torch.bfloat16))
    optimizer = Tuned(torch.optim.Adam([p], lr=1e-3) if base is adam else torch.optim.AdamW([p], lr=1e-3))
    for _ in range(10):
        p.grad = torch.ones_like(p)
        optimizer.step()
    wanted = -1e-2 if base is adam else -1e-2 - 10 * 1e-3 * 0.01 * 100.0
    torch.testing.assert_close(optimizer.state[p]["direction"], torch.full((3,), wanted), rtol=1e-3, atol=0.0)
    assert optimizer.base.state[p]["exp_avg"].dtype == torch.float32
    assert p.grad.dtype == p.dtype == torch.bfloat16 and optimizer.base.param_groups[0]["params"][0] is p


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD"])
def test_steps_that_are_small_beside_the_parameters_are_kept(name, dtype):
    """Rates of 1e-9 at weights of 1, where neighbours in float32 are 1e-7 apart; the scale makes up for it."""
    found = []
    for kind in (torch.float64, dtype):
        p = Parameter(torch.ones(3, dtype=kind))
        optimizer = Tuned(getattr(torch.optim, name)([p], lr=1e-9, weight_decay=0.5))
        for t in range(300):
            p.grad = (1.0 + 0.5 * torch.cos(torch.arange(3) + t)).to(kind)
            optimizer.step()
        found.append(optimizer.state[p]["direction"].double())
        assert optimizer.scale > 10.0
    torch.testing.assert_close(*found, rtol=1e-4 if dtype == torch.float32 else 2e-2, atol=0.0)


@every
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_types_lose_nothing_in_the_state(make, dtype):
    """Parameters are rounded when they are written, the directions are not."""
    params = parameters(dtype)
    optimizer = make(params)
    play(optimizer, params, range(20))
    for p in params:
        state = optimizer.state[p]
        assert state["direction"].dtype == torch.float32 and state["reference"].dtype == p.dtype == dtype
        scale = optimizer.scale if optimizer.scope == "global" else optimizer.scale[0]
        assert torch.equal(p, (state["reference"] + scale * state["direction"]).to(dtype))


@every
def test_mixed_types_and_layouts(make):
    params = [
        Parameter(torch.randn(3, 2, dtype=torch.float64)),
        Parameter(torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)),
        Parameter(torch.randn(5, dtype=torch.bfloat16)),
        Parameter(torch.randn(4, 3).t()),
        Parameter(torch.zeros(0)),
    ]
    optimizer = make(params)
    before = values(params)
    play(optimizer, params, range(30))
    assert all(torch.isfinite(p).all() for p in params)
    assert not any(torch.equal(p, q) for p, q in zip(params[:4], before[:4], strict=True))


@pytest.mark.parametrize("count", [3, 20_000])
def test_a_scale_beyond_the_type_stays_finite(count):
    """Gradients that always agree make the scale grow exponentially; it is capped where float32 would end."""
    p = Parameter(torch.zeros(count))
    optimizer = Tuned(torch.optim.SGD([p], lr=1.0), epsilon=1e100)
    for _ in range(50):
        p.grad = torch.zeros(count)
        p.grad[0] = -1.0
        optimizer.step()
    assert optimizer.scale > 1e30 and torch.isfinite(p).all() and p[1] == 0.0
