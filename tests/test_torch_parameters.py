"""Which parameters the torch optimisers move, and from where: references, groups, missing gradients, frozen ones."""

import copy

import pytest

pytest.importorskip("torch")
import torch
import torch_cases
from torch.nn import Parameter
from torch_cases import OPTIMISERS, adam, every, halves, parameters, play, same, values

from wane.integrations.torch import Adaptive, Tuned


@every
def test_the_parameters_are_reference_plus_scale_times_direction(make):
    params = parameters(torch.float64)
    start = values(params)
    optimizer = make(halves(params))
    play(optimizer, params, range(20))
    assert same(optimizer.reference, start)
    scales = [optimizer.scale] * 4 if optimizer.scope == "global" else [s for s in optimizer.scale for _ in range(2)]
    for p, s in zip(params, scales, strict=True):
        state = optimizer.state[p]
        torch.testing.assert_close(p.detach(), state["reference"] + s * state["direction"], rtol=1e-14, atol=1e-14)


@every
def test_a_given_reference_is_where_it_starts(make):
    params = parameters()
    wanted = [torch.full_like(p, 3.0) for p in params]
    kind = type(make(parameters()))
    first = params if kind is Adaptive else adam(params)
    optimizer = kind(first, reference=iter(wanted))
    assert same(params, wanted) and same(optimizer.reference, wanted)
    wanted[0].add_(1.0)
    assert optimizer.reference[0].eq(3.0).all()
    with pytest.raises(ValueError, match="a tensor for each of the 4 parameters"):
        kind(parameters() if kind is Adaptive else adam(parameters()), reference=wanted[:3])


@every
def test_who_writes_to_the_parameters_is_warned_once(make):
    params = parameters()
    optimizer = make(params)
    play(optimizer, params, range(3))
    state, weights = copy.deepcopy(optimizer.state_dict()), values(params)
    play(optimizer, params, range(3, 6))
    end = values(params)

    def load():
        with torch.no_grad():
            for p, w in zip(params, weights, strict=True):
                p.copy_(w)

    load()
    optimizer.load_state_dict(state)
    play(optimizer, params, range(3, 6))  # weights and state: nothing to warn of
    assert same(values(params), end)
    state = copy.deepcopy(optimizer.state_dict())
    optimizer.load_state_dict(state)
    with torch.no_grad():
        for p, w in zip(params, end, strict=True):
            p.copy_(w)
    play(optimizer, params, range(6, 7))  # nor if the weights come last
    optimizer.load_state_dict(state)
    weights = [w + 1.0 for w in end]
    load()
    with pytest.warns(RuntimeWarning, match="this step overwrites them") as found:
        play(optimizer, params, range(6, 7))
    assert found[0].filename == torch_cases.__file__
    load()
    play(optimizer, params, range(7, 8))  # once is enough
    params = parameters()
    fresh = make(params)
    with torch.no_grad():
        params[-1].add_(1.0)
    with pytest.warns(RuntimeWarning, match="before the optimiser is made"):
        play(fresh, params, range(1))


@every
def test_what_was_written_to_a_frozen_parameter_is_warned_of_when_it_thaws(make):
    params = parameters()
    params[1].requires_grad_(False)
    optimizer = make(params)
    with torch.no_grad():
        params[1].fill_(7.0)
    play(optimizer, params[2:], range(3))
    assert params[1].eq(7.0).all()
    params[1].requires_grad_(True)
    with pytest.warns(RuntimeWarning, match="this step overwrites them"):
        play(optimizer, params[2:], range(3, 4))


@pytest.mark.parametrize("kind", ["adaptive by group", "adamw by group"])
def test_what_no_step_overwrites_is_not_warned_of(kind):
    params = parameters()
    optimizer = OPTIMISERS[kind](halves(params))
    play(optimizer, params, range(10))
    optimizer.zero_grad()
    with torch.no_grad():
        params[3].fill_(7.0)
    play(optimizer, params[:2], range(10, 12))
    assert params[3] == 7.0
    with pytest.warns(RuntimeWarning, match="this step overwrites them"):
        play(optimizer, params, range(12, 13))
    assert params[3] != 7.0


@every
def test_groups_come_in_the_middle(make):
    params = parameters()
    optimizer = make([{"params": params[:2]}])
    play(optimizer, params[:2], range(10))
    with torch.no_grad():
        params[2].fill_(7.0)
    optimizer.add_param_group({"params": params[2:]})
    assert optimizer.reference[2].eq(7.0).all() and len(optimizer.param_groups) == 2
    play(optimizer, params, range(10, 40))
    assert not params[2].eq(7.0).any()
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": params[2:]})
    with pytest.raises(TypeError, match="float64, float32, bfloat16 or float16, got"):
        optimizer.add_param_group({"params": [Parameter(torch.zeros(2, dtype=torch.complex64))]})
    assert len(optimizer.param_groups) == 2
    play(optimizer, params, range(40, 42))


class Copying(torch.optim.SGD):
    """Keeps groups of its own."""

    def add_param_group(self, param_group):
        super().add_param_group(dict(param_group))


def test_a_base_may_copy_the_groups_that_it_is_given():
    params = parameters()
    optimizer = Tuned(Copying(params[:2], lr=0.1), scope="group")
    optimizer.add_param_group({"params": iter(params[2:])})
    start = values(params)
    play(optimizer, params, range(20))
    assert not any(torch.equal(p, q) for p, q in zip(params, start, strict=True)) and min(optimizer.scale) > 0.0


def test_groups_of_a_tuned_optimiser_have_settings_of_the_base():
    """A group with the rate 0 stays, at any scale."""
    params = parameters()
    start = values(params)
    groups = halves(params)
    groups[1]["lr"] = 0.0
    optimizer = Tuned(torch.optim.SGD(groups, lr=0.1))
    play(optimizer, params, range(30))
    assert same(params[2:], start[2:]) and not any(
        torch.equal(p, q) for p, q in zip(params[:2], start[:2], strict=True)
    )


@pytest.mark.parametrize("make", [Adaptive, lambda p: Tuned(torch.optim.SGD(p, lr=0.1))], ids=["adaptive", "tuned"])
def test_a_missing_gradient_counts_as_zero(make):
    """It moves with the scale, as in the theorem; bases with momentum or decay may tell the two apart."""
    params, others = parameters(torch.float64), parameters(torch.float64)
    one, other = make(params), make(others)
    play(one, params, range(10))
    play(other, others, range(10))
    before = values(params)
    for t in range(10, 30):
        generator = torch.Generator().manual_seed(t)
        for p, q in zip(params, others, strict=True):
            p.grad = torch.randn(p.shape, generator=generator, dtype=torch.float64) + 0.5
            q.grad = p.grad.clone()
        params[1].grad, others[1].grad = None, torch.zeros_like(others[1])
        one.step()
        other.step()
    assert same(params, others)
    assert not torch.equal(params[1], before[1])


@every
def test_without_any_gradient_nothing_happens(make):
    params = parameters()
    optimizer = make(params)
    play(optimizer, params, range(10))
    optimizer.zero_grad()
    before, scale = values(params), optimizer.scale
    optimizer.step()
    assert same(params, before) and optimizer.scale == scale


@every
def test_a_frozen_parameter_stays(make):
    params = parameters()
    optimizer = make(halves(params))
    play(optimizer, params, range(10))
    params[1].requires_grad_(False)
    params[1].grad = None
    before = values(params)
    play(optimizer, [params[0], params[2], params[3]], range(10, 20))
    assert torch.equal(params[1], before[1]) and not torch.equal(params[0], before[0])


@every
def test_a_frozen_parameter_stays_whatever_gradient_it_still_has(make):
    params = parameters()
    optimizer = make(halves(params))
    play(optimizer, params, range(10))
    params[1].requires_grad_(False)
    before = values(params)
    play(optimizer, params, range(10, 20))
    assert torch.equal(params[1], before[1]) and not torch.equal(params[0], before[0])


def test_a_frozen_parameter_stays_with_a_base_that_moves_the_parameters():
    params = parameters()
    optimizer = Tuned(torch.optim.ASGD(params, lr=0.1))
    play(optimizer, params, range(10))
    params[1].requires_grad_(False)
    before = values(params)
    play(optimizer, params, range(10, 12))
    assert torch.equal(params[1], before[1]) and not torch.equal(params[0], before[0])


@pytest.mark.parametrize("scope", ["global", "group"])
def test_a_group_that_only_the_base_has_is_refused(scope):
    params = parameters()
    optimizer = Tuned(adam(params[:2]), scope=scope)
    optimizer.base.add_param_group({"params": params[2:]})
    with pytest.raises(RuntimeError, match="use add_param_group of Tuned"):
        play(optimizer, params, range(1))


@pytest.mark.parametrize("entry", ["epsilon", "discount"])
def test_one_learner_has_one_discount(entry):
    params = parameters()
    optimizer = Adaptive(halves(params))
    optimizer.param_groups[1][entry] = 0.5
    before = values(params)
    with pytest.raises(ValueError, match=f'with scope "global" {entry} must be the same in all groups'):
        play(optimizer, params, range(1))
    assert same(params, before)


@every
def test_memory_is_two_copies(make):
    params = parameters()
    optimizer = make(params)
    play(optimizer, params, range(2))
    assert all(t.grad is None for state in optimizer.state.values() for t in state.values())  # gradients can be freed
    assert sum(t.numel() for state in optimizer.state.values() for t in state.values()) == 2 * sum(
        p.numel() for p in params
    )
