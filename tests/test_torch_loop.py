"""The torch optimisers in a training loop: closures, exceptions, schedulers, scalers, hooks, reads of the host."""

import warnings

import pytest

pytest.importorskip("torch")
import torch
from torch.nn import Parameter
from torch.utils._python_dispatch import TorchDispatchMode
from torch_cases import adam, every, halves, parameters, plain, play, same, values

from wane.integrations.torch import Adaptive, Tuned


@every
def test_a_closure_is_evaluated_once_and_with_gradients(make):
    params = parameters()
    optimizer, calls = make(params), []

    def closure():
        calls.append(torch.is_grad_enabled())
        optimizer.zero_grad()
        loss = sum((p**2).sum() for p in params)
        loss.backward()
        return loss

    with torch.no_grad():
        loss = optimizer.step(closure)
        assert not torch.is_grad_enabled()
    assert calls == [True] and loss.item() > 0.0
    optimizer.zero_grad()
    assert all(p.grad is None for p in params)
    optimizer.zero_grad(set_to_none=False)


@every
def test_an_exception_in_the_closure_changes_nothing(make):
    params = parameters()
    optimizer = make(params)
    play(optimizer, params, range(3))
    before = values(params)
    with pytest.raises(ZeroDivisionError):
        optimizer.step(lambda: 1 / 0)
    assert torch.is_grad_enabled() and same(params, before)


class Broken(torch.optim.SGD):
    """Fails in the middle of its twentieth step."""

    rounds = 0

    def step(self, closure=None):
        super().step()
        self.rounds += 1
        if self.rounds == 20:
            raise ZeroDivisionError


def test_an_exception_in_the_base_leaves_all_in_order():
    """Autograd is on, the base has its parameters, and they are where reference, scale and direction say."""
    params = parameters(torch.float64)
    optimizer = Tuned(Broken(params, lr=0.1))
    play(optimizer, params, range(19))
    scale = optimizer.scale
    with pytest.raises(ZeroDivisionError):
        play(optimizer, params, range(19, 20))
    assert torch.is_grad_enabled() and optimizer.scale == scale > 0.0
    assert all(p is q for p, q in zip(optimizer.base.param_groups[0]["params"], params, strict=True))
    for p in params:
        state = optimizer.state[p]
        assert state["direction"].grad is None
        torch.testing.assert_close(p.detach(), state["reference"] + scale * state["direction"], rtol=1e-14, atol=1e-14)
    play(optimizer, params, range(20, 22))


def test_an_exception_in_a_learner_leaves_all_in_order():
    """The parameters are where reference, scale and direction say."""
    params = parameters(torch.float64)
    optimizer = Tuned(torch.optim.SGD(params, lr=0.1), epsilon=1.0, rule="trac")
    play(optimizer, params, range(20))
    optimizer.param_groups[0]["discount"] = 1e200  # too much for the published rule
    with pytest.raises(OverflowError):
        play(optimizer, params, range(20, 21))
    assert optimizer.scale > 0.0
    for p in params:
        state = optimizer.state[p]
        wanted = state["reference"] + optimizer.scale * state["direction"]
        torch.testing.assert_close(p.detach(), wanted, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("of_the_base", [True, False])
def test_schedulers(of_the_base):
    """A rate that halves halves the base's steps."""
    p = Parameter(torch.zeros((), dtype=torch.float64))
    base = torch.optim.SGD([p], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(base, 0.5) if of_the_base else None
    optimizer = Tuned(base)
    scheduler = scheduler or torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    for _ in range(3):
        p.grad = torch.ones_like(p)
        optimizer.step()
        scheduler.step()
    assert optimizer.state[p]["direction"].item() == -1.75
    assert optimizer.param_groups is optimizer.base.param_groups and optimizer.param_groups[0]["lr"] == 0.125
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.param_groups is optimizer.base.param_groups and optimizer.param_groups[0]["lr"] == 0.125


@pytest.mark.parametrize(
    "schedule",
    [
        lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5),
        lambda optimizer: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10),
        lambda optimizer: torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, 10, cycle_momentum=False),
        lambda optimizer: torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: 1.0 / (1 + t)),
    ],
)
def test_schedulers_of_adaptive_change_the_steps_of_its_direction(schedule):
    """Without a schedule it is the algorithm; with a rate of 0 the direction stands still."""
    params, others = parameters(torch.float64), parameters(torch.float64)
    optimizer, other = Adaptive(params), Adaptive(others)
    assert optimizer.param_groups[0]["lr"] == optimizer.defaults["lr"] == 1.0
    scheduler = schedule(optimizer)
    for t in range(9):
        play(optimizer, params, range(t, t + 1))
        scheduler.step()
    play(other, others, range(9))
    one, two = (o.state[p[0]]["direction"] for o, p in ((optimizer, params), (other, others)))
    assert 0.0 < optimizer.param_groups[0]["lr"] < 1.0 and not torch.equal(one, two)
    optimizer.param_groups[0]["lr"] = torch.tensor(0.0)  # torch's schedulers may give tensors
    before = [optimizer.state[p]["direction"].clone() for p in params]
    play(optimizer, params, range(9, 12))
    assert all(torch.equal(optimizer.state[p]["direction"], d) for p, d in zip(params, before, strict=True))


@every
def test_maximising_is_minimising_the_negative(make):
    params, others = parameters(), parameters()
    optimizer, other = make(halves(params)), make(halves(others))
    for group in other.param_groups:
        group["maximize"] = True
    play(optimizer, params, range(20))
    for t in range(20):
        generator = torch.Generator().manual_seed(t)
        for p in others:
            p.grad = -(torch.randn(p.shape, generator=generator, dtype=torch.float64) + 0.5).float()
        other.step()
    for p, q in zip(params, others, strict=True):
        torch.testing.assert_close(p, q, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("base", [adam, lambda p: torch.optim.Adam(p, lr=0.01, fused=True), None])
def test_a_scaler_shows_unscaled_gradients_and_skips_infinite_ones(base):
    make = Adaptive if base is None else lambda params: Tuned(base(params))
    params, others = parameters(), parameters()
    optimizer, other = make(params), make(others)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=1000)
    for t in range(30):
        generator = torch.Generator().manual_seed(t)
        targets = [torch.randn(p.shape, generator=generator) for p in params]
        optimizer.zero_grad()
        scaler.scale(sum(((p - x) ** 2).sum() for p, x in zip(params, targets, strict=True))).backward()
        if t == 15:
            params[0].grad.fill_(float("inf"))
        scaler.step(optimizer)
        scaler.update()
        other.zero_grad()
        sum(((p - x) ** 2).sum() for p, x in zip(others, targets, strict=True)).backward()
        if t != 15:
            other.step()
    assert scaler.get_scale() == 2.0**9 and optimizer.skipped == 0
    assert same(params, others) and optimizer.scale == other.scale > 0.0


class Reads(TorchDispatchMode):
    """Counts how often the host asks for a number, and how many calls there are."""

    def __init__(self):
        super().__init__()
        self.reads = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.reads += func._schema.name in ("aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal")
        return func(*args, **(kwargs or {}))


class Lists:
    """Counts conversions of tensors to Python numbers, which do not all pass the dispatcher."""

    def __init__(self, monkeypatch):
        self.calls = 0
        for name in ("tolist", "item", "__float__", "__bool__", "__int__", "numpy", "cpu"):
            monkeypatch.setattr(torch.Tensor, name, self.counted(getattr(torch.Tensor, name)))

    def counted(self, method):
        def call(*args, **kwargs):
            self.calls += 1
            return method(*args, **kwargs)

        return call


@pytest.mark.parametrize("kind", ["adaptive", "tuned", "decayed"])
def test_the_host_reads_once_a_round(kind, monkeypatch):
    """Whatever the number of parameters; the base here, SGD, reads nothing."""
    for count in (1, 7, 50):
        params = parameters(shapes=[(3,)] * count)
        decay = 0.1 if kind == "decayed" else 0.0
        base = torch.optim.SGD(params, lr=0.1, foreach=True, weight_decay=decay)
        optimizer = Adaptive(params) if kind == "adaptive" else Tuned(base)
        play(optimizer, params, range(3))
        with monkeypatch.context() as patch, Reads() as mode:
            lists = Lists(patch)
            optimizer.step()
        assert lists.calls == 1
        assert mode.reads == 0


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.filterwarnings("ignore")
def test_compiled_steps_are_the_same(backend):
    params, others = parameters(), parameters()
    optimizer, other = Tuned(adam(params)), Tuned(adam(others))
    compiled = torch.compile(optimizer.step, backend=backend)
    for t in range(10):
        generator = torch.Generator().manual_seed(t)
        for p, q in zip(params, others, strict=True):
            p.grad = torch.randn(p.shape, generator=generator) + 0.5
            q.grad = p.grad.clone()
        compiled()
        other.step()
    assert same(params, others) and optimizer.scale == other.scale


@every
def test_hooks(make):
    params = parameters()
    optimizer, calls = make(params), []
    optimizer.register_step_pre_hook(lambda *_: calls.append("before"))
    optimizer.register_step_post_hook(lambda *_: calls.append("after"))
    optimizer.register_state_dict_post_hook(lambda _, state: calls.append("saved"))
    optimizer.register_load_state_dict_post_hook(lambda _: calls.append("loaded"))
    play(optimizer, params, range(1))
    optimizer.load_state_dict(optimizer.state_dict())
    assert calls == ["before", "after", "saved", "loaded"]


@every
def test_hooks_see_the_whole_state(make):
    params, others = parameters(), parameters()
    optimizer, other = make(halves(params)), make(halves(others))
    play(optimizer, params, range(20))
    seen, found = [], []
    optimizer.register_state_dict_post_hook(lambda _, state: seen.append(set(state)))
    other.register_load_state_dict_post_hook(lambda loaded: found.append(plain(loaded.state_dict())))
    state = optimizer.state_dict()
    other.load_state_dict(state)
    assert seen == [{"state", "param_groups"}] and "wane" in state["param_groups"][0]
    assert ("base_exp_avg" in state["state"][0]) == (isinstance(optimizer, Tuned) and "betas" in optimizer.defaults)
    assert found == [plain(state)]


@pytest.mark.parametrize("scheduled", [True, False])
def test_a_warning_names_the_line_that_stepped(scheduled):
    params = parameters()
    optimizer = Tuned(adam(params), nonfinite="skip")
    scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer) if scheduled else None  # it wraps the step
    params[0].grad = torch.full_like(params[0], float("nan"))
    with pytest.warns(RuntimeWarning, match="skipped") as found:
        optimizer.step()
    assert found[0].filename == __file__ and (scheduler is None) != scheduled


def test_hooks_of_the_base_see_the_parameters():
    params = parameters()
    optimizer, seen = Tuned(adam(params)), []
    play(optimizer, params, range(10))
    here = values(params)
    optimizer.base.register_step_pre_hook(lambda base, *_: seen.append(values(base.param_groups[0]["params"])))
    play(optimizer, params, range(10, 11))
    assert same(seen[0], here) and optimizer.scale > 0.0


@every
def test_it_says_what_it_is(make):
    text = repr(make(parameters()))
    assert text.startswith(("Adaptive (", "Tuned(rule=")) and "discount" in text


def test_modules_train_and_nothing_warns():
    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = x @ torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0]) + 0.5
    for make in (Adaptive, lambda p: Tuned(torch.optim.SGD(p, lr=1e-4)), lambda p: Tuned(adam(p), rule="trac")):
        model = torch.nn.Linear(5, 1)
        optimizer = make(model.parameters())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            losses = []
            for _ in range(300):
                optimizer.zero_grad()
                loss = (model(x).squeeze() - y).abs().mean()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        assert losses[-1] < 0.5 * losses[0]
