"""States of the torch optimisers that come in another order, through hooks, or of another type, or from the base."""

import io

import pytest

pytest.importorskip("torch")
import torch
from torch.nn import Parameter
from torch_cases import OPTIMISERS, adam, every, halves, parameters, plain, play, same

from wane.integrations.torch import Tuned

TYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def played(make, dtype=torch.float32, shapes=((3,), (3,), (3,))):
    params = parameters(dtype, shapes)
    optimizer = make(halves(params))
    play(optimizer, params, range(20))
    return params, optimizer


@every
def test_the_order_of_the_saved_states_does_not_matter(make):
    """Files may sort them; all parameters have one shape here."""
    params, optimizer = played(make)
    others = [Parameter(p.detach().clone()) for p in params]
    other, state = make(halves(others)), optimizer.state_dict()
    other.load_state_dict({**state, "state": dict(reversed(state["state"].items()))})
    play(optimizer, params, range(20, 30))
    play(other, others, range(20, 30))
    assert same(params, others)


@every
def test_hooks_may_change_what_is_loaded(make):
    """As torch's documentation does for parameters in another order."""
    params, optimizer = played(make)
    others = [Parameter(params[i].detach().clone()) for i in (1, 0, 2)]
    other = make(halves(others))

    def hook(_, state):
        return {**state, "state": {new: state["state"][old] for new, old in enumerate((1, 0, 2))}}

    handle = other.register_load_state_dict_pre_hook(hook)
    other.load_state_dict(optimizer.state_dict())
    handle.remove()
    assert not other._optimizer_load_state_dict_pre_hooks  # nor is any of the optimiser's own left
    for t in range(20, 30):
        for p, q in zip(params, [others[i] for i in (1, 0, 2)], strict=True):
            p.grad = torch.randn(3, generator=torch.Generator().manual_seed(t))
            q.grad = p.grad.clone()
        optimizer.step()
        other.step()
    for p, q in zip(params, [others[i] for i in (1, 0, 2)], strict=True):
        torch.testing.assert_close(p, q, rtol=1e-5, atol=1e-6)


@every
@pytest.mark.parametrize("after", TYPES, ids=str)
@pytest.mark.parametrize("before", TYPES, ids=str)
def test_a_state_goes_into_parameters_of_another_type(make, before, after):
    params, optimizer = played(make, before)
    others = [Parameter(p.detach().to(after, copy=True)) for p in params]
    other = make(halves(others))
    other.load_state_dict(optimizer.state_dict())
    wide = torch.float64 if after == torch.float64 else torch.float32
    for p in others:
        assert other.state[p]["reference"].dtype == after and other.state[p]["direction"].dtype == wide
    play(optimizer, params, range(20, 30))
    play(other, others, range(20, 30))
    close = 16 * max(torch.finfo(before).eps, torch.finfo(after).eps)
    for p, q in zip(params, others, strict=True):
        torch.testing.assert_close(p.double(), q.double(), rtol=close, atol=close)


def test_a_state_of_another_base_is_refused():
    params, optimizer = played(OPTIMISERS["trac"])
    other = Tuned(adam(halves(params)))
    before = plain(other.state_dict())
    with pytest.raises(ValueError, match="of a Tuned SGD, got a base of the class Adam"):
        other.load_state_dict(optimizer.state_dict())
    assert plain(other.state_dict()) == before


def assert_goes_on(optimizer, params, make, rounds):
    """A twin that loads the state, on copies of the parameters, plays these rounds alike to the last bit."""
    others = [Parameter(p.detach().clone()) for p in params]
    other = make(others)
    other.load_state_dict(optimizer.state_dict())
    assert plain(other.state_dict()) == plain(optimizer.state_dict())
    play(optimizer, params, rounds)
    play(other, others, rounds)
    assert same(params, others) and optimizer.scale > 0.0


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.Adagrad])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_base_may_have_played_before(kind, dtype):
    """Also one of half types, whose state was of that type; what is saved then goes on to the last bit."""
    params = parameters(dtype)
    base = kind(params, lr=0.01)
    play(base, params, range(5))
    optimizer = Tuned(base)
    play(optimizer, params, range(5, 15))
    assert_goes_on(optimizer, params, lambda others: Tuned(kind(others, lr=0.01)), range(15, 25))


class Rounded(torch.optim.SGD):
    """Momentum in half precision, and a count of the rounds in whole numbers."""

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                momentum = state.get("momentum", torch.zeros_like(p)).to(p.dtype).mul(0.9).add(p.grad)
                state["momentum"] = momentum.to(torch.bfloat16)
                state["rounds"] = state.get("rounds", torch.zeros((), dtype=torch.int64)) + 1
                p.sub_(state["momentum"], alpha=group["lr"])


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("kind", [torch.optim.NAdam, Rounded, torch.optim.ASGD, torch.optim.Adafactor])
def test_the_state_of_the_base_keeps_its_types(kind, dtype):
    """Torch would give all of it the type of the parameters: NAdam goes on with other bits in double precision."""
    params = parameters(dtype, [(4, 3), (4,), (2, 4)])
    optimizer = Tuned(kind(params, lr=0.01))
    play(optimizer, params, range(20))
    assert_goes_on(optimizer, params, lambda others: Tuned(kind(others, lr=0.01)), range(20, 60))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_state_of_a_plain_base_may_be_loaded_into_the_base(dtype):
    params = parameters(dtype)
    plain_base = adam(params)
    play(plain_base, params, range(5))
    file = io.BytesIO()
    torch.save(plain_base.state_dict(), file)
    file.seek(0)
    optimizer = Tuned(adam(params))
    optimizer.base.load_state_dict(torch.load(file, weights_only=True))
    play(optimizer, params, range(5, 6))
    assert optimizer.base.state[params[0]]["step"] == 6 and optimizer.param_groups[0]["discount"] == 1.0
