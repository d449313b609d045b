"""The torch optimisers as optimisers: groups, closures, saving, schedulers, scalers, bad rounds, reads of the host."""

import copy
import io
import pickle
import subprocess
import sys
import warnings

import pytest

pytest.importorskip("torch")
import torch
from torch.nn import Parameter
from torch.utils._python_dispatch import TorchDispatchMode

from wane.integrations.torch import Adaptive, Tuned

SHAPES = [(4, 3), (4,), (2, 4), ()]


def adam(params):
    return torch.optim.Adam(params, lr=0.01)


def adamw(params):
    return torch.optim.AdamW(params, lr=0.01, weight_decay=0.1)


OPTIMISERS = {
    "adaptive": Adaptive,
    "adaptive by group": lambda params: Adaptive(params, scope="group"),
    "adam": lambda params: Tuned(adam(params)),
    "adamw by group": lambda params: Tuned(adamw(params), scope="group"),
    "trac": lambda params: Tuned(torch.optim.SGD(params, lr=0.1, momentum=0.9), rule="trac", epsilon=1e-3),
}
every = pytest.mark.parametrize("make", OPTIMISERS.values(), ids=OPTIMISERS)


def parameters(dtype=torch.float32, shapes=SHAPES):
    generator = torch.Generator().manual_seed(0)
    return [Parameter(torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)) for shape in shapes]


def halves(params):
    return [{"params": params[:2]}, {"params": params[2:]}]


def play(optimizer, params, rounds):
    """Steps with gradients that depend on the round and on nothing else."""
    for t in rounds:
        generator = torch.Generator().manual_seed(t)
        for p in params:
            p.grad = (torch.randn(p.shape, generator=generator, dtype=torch.float64) + 0.5).to(p.dtype)
        optimizer.step()


def same(one, other):
    return all(torch.equal(p, q) for p, q in zip(one, other, strict=True))


def values(params):
    return [p.detach().clone() for p in params]


def plain(tree):
    """A state_dict as nested data that can be compared."""
    if isinstance(tree, torch.Tensor):
        return str(tree.dtype), tree.tolist()
    if isinstance(tree, dict):
        return {k: plain(v) for k, v in tree.items()}
    return [plain(v) for v in tree] if isinstance(tree, (list, tuple)) else tree


def saved(optimizer):
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@every
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_resuming_equals_never_stopping(make, dtype):
    params = parameters(dtype)
    optimizer = make(halves(params))
    play(optimizer, params, range(20))
    others = [Parameter(p.detach().clone()) for p in params]
    other = make(halves(others))
    other.load_state_dict(saved(optimizer))
    assert plain(other.state_dict()) == plain(optimizer.state_dict())
    play(optimizer, params, range(20, 40))
    play(other, others, range(20, 40))
    assert same(params, others) and other.scale == optimizer.scale
    assert plain(other.state_dict()) == plain(optimizer.state_dict())
    assert max([optimizer.scale] if isinstance(optimizer.scale, float) else optimizer.scale) > 0.0


@every
def test_two_runs_are_one(make):
    runs = []
    for _ in range(2):
        params = parameters()
        play(make(halves(params)), params, range(25))
        runs.append(params)
    assert same(*runs)


@every
def test_what_is_loaded_is_not_shared(make):
    params, others = parameters(), parameters()
    optimizer, other = make(halves(params)), make(halves(others))
    play(optimizer, params, range(5))
    state = optimizer.state_dict()
    other.load_state_dict(state)
    before = plain(optimizer.state_dict())
    play(other, others, range(5, 10))
    assert plain(optimizer.state_dict()) == before


CHILD = """
import sys, torch
sys.path.insert(0, {tests!r})
import test_torch as t
params = [torch.nn.Parameter(p) for p in torch.load({file!r}, weights_only=True)["params"]]
optimizer = t.OPTIMISERS[{name!r}](t.halves(params))
optimizer.load_state_dict(torch.load({file!r}, weights_only=True)["optimizer"])
t.play(optimizer, params, range(20, 30))
torch.save(t.values(params), {file!r})
"""


@pytest.mark.parametrize("name", ["adaptive by group", "adam"])
def test_another_process_goes_on(name, tmp_path):
    params, file = parameters(), str(tmp_path / "state.pt")
    optimizer = OPTIMISERS[name](halves(params))
    play(optimizer, params, range(20))
    torch.save({"params": values(params), "optimizer": optimizer.state_dict()}, file)
    code = CHILD.format(tests=str(__file__).rsplit("/", 1)[0], file=file, name=name)
    subprocess.run([sys.executable, "-c", code], check=True)
    play(optimizer, params, range(20, 30))
    assert same(params, torch.load(file, weights_only=True))


@every
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_copies_go_on_alike(make, copied):
    params = parameters()
    optimizer = make(halves(params))
    torch.optim.lr_scheduler.ConstantLR(getattr(optimizer, "base", optimizer)) if "lr" in optimizer.defaults else None
    play(optimizer, params, range(20))
    others, other = copied((params, optimizer))
    assert repr(other) == repr(optimizer)
    play(optimizer, params, range(20, 30))
    play(other, others, range(20, 30))
    assert same(params, others)
    assert plain(other.state_dict()) == plain(optimizer.state_dict())


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
    load()
    with pytest.warns(RuntimeWarning, match="this step overwrites them"):
        play(optimizer, params, range(6, 7))
    load()
    play(optimizer, params, range(7, 8))  # once is enough
    params = parameters()
    fresh = make(params)
    with torch.no_grad():
        params[-1].add_(1.0)
    with pytest.warns(RuntimeWarning, match="before the optimiser is made"):
        play(fresh, params, range(1))


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


def test_an_infinite_step_of_the_base_is_named():
    p = Parameter(torch.ones(3))
    optimizer = Tuned(torch.optim.SGD([p], lr=1e38))
    p.grad = torch.full((3,), 10.0)
    optimizer.step()
    with pytest.raises(FloatingPointError, match=r"the direction \(since a step of the base was not finite\)"):
        optimizer.step()


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
        (lambda: Tuned(Tuned(adam([p]))), TypeError, "got Tuned, which learns it"),
        (lambda: Tuned(torch.optim.SGD([p], differentiable=True)), ValueError, "must not be differentiable"),
        (lambda: Tuned(adam([p]), discounts=()), ValueError, "at least one discount"),
        (lambda: Tuned(adam([p]), discounts=(0.9, -1.0)), ValueError, r"discounts\[1\] must be a finite number >= 0"),
        (lambda: Tuned(adam([p]), rule="other"), ValueError, "rule must be one of 'magnitude', 'trac'"),
        (lambda: Tuned(adam([p]), epsilon=0.0), ValueError, "epsilon must be"),
        (lambda: Tuned(adam([p]), scope="layer"), ValueError, "scope must be one of 'global', 'group'"),
        (lambda: Tuned(adam([p]), nonfinite="ignore"), ValueError, "nonfinite must be one of 'raise', 'skip'"),
        (lambda: Adaptive([p], epsilon=-1.0), ValueError, "epsilon must be"),
        (lambda: Adaptive([p], discount=float("nan")), ValueError, "discount must be a finite number"),
        (lambda: Adaptive([]), ValueError, "empty"),
    ]:
        with pytest.raises(error, match=said):
            make()


@pytest.mark.parametrize("entry", ["epsilon", "discount"])
def test_one_learner_has_one_discount(entry):
    params = parameters()
    optimizer = Adaptive(halves(params))
    optimizer.param_groups[1][entry] = 0.5
    before = values(params)
    with pytest.raises(ValueError, match=f'with scope "global" {entry} must be the same in all groups'):
        play(optimizer, params, range(1))
    assert same(params, before)


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


@every
def test_memory_is_two_copies(make):
    params = parameters()
    optimizer = make(params)
    play(optimizer, params, range(2))
    assert all(t.grad is None for state in optimizer.state.values() for t in state.values())  # gradients can be freed
    assert sum(t.numel() for state in optimizer.state.values() for t in state.values()) == 2 * sum(
        p.numel() for p in params
    )


@pytest.mark.parametrize("kind", ["adam", "adaptive"])
def test_a_foreign_state_is_refused(kind):
    params = parameters()
    optimizer = OPTIMISERS[kind](params)
    play(optimizer, params, range(3))
    before = plain(optimizer.state_dict())
    for state in (
        adam(parameters()).state_dict(),
        OPTIMISERS["adam" if kind == "adaptive" else "adaptive"](params).state_dict(),
    ):
        with pytest.raises(ValueError, match="state_dict must be what state_dict"):
            optimizer.load_state_dict(state)
    with pytest.raises(ValueError, match=r"shapes \[\(3,\)\], got parameters of \[\(4, 3\)"):
        optimizer.load_state_dict(OPTIMISERS[kind]([Parameter(torch.ones(3))]).state_dict())
    assert plain(optimizer.state_dict()) == before


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
