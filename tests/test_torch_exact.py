"""The torch optimisers are the learners: the same numbers as ``wane.learners`` and as the pseudocode written out."""

import mpmath
import numpy as np
import pytest

pytest.importorskip("torch")
import torch
from torch.nn import Parameter

from wane.integrations.torch import Adaptive, Tuned, bases
from wane.learners import AdaptiveLearner, MagnitudeLearner

SHAPES = [(3, 2), (4,), ()]
DISCOUNTS = [(0.9, 0.99, 1.0), (1.0,), (0.5, 0.0, 1.01)]


def parameters(seed=0, shapes=SHAPES, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return [Parameter(torch.randn(shape, generator=generator, dtype=dtype)) for shape in shapes]


def flat(tensors):
    return torch.cat([t.detach().reshape(-1) for t in tensors]).double().numpy().copy()


def gradients(rounds, params, seed=1):
    """Gradients with a direction that turns, of sizes that vary, with a silence in the middle."""
    generator = torch.Generator().manual_seed(seed)
    for t in range(rounds):
        size = 0.0 if rounds // 2 <= t < rounds // 2 + 3 else (1.0 + t % 5) * (100.0 if t > rounds // 4 else 1.0)
        drift = 0.7 if t < 2 * rounds // 3 else -0.7
        yield [
            size * (torch.randn(p.shape, generator=generator, dtype=torch.float64) + drift).to(p.dtype) for p in params
        ]


def show(params, grads):
    for p, g in zip(params, grads, strict=True):
        p.grad = None if g is None else g.clone()


@pytest.mark.parametrize("discount", [0.0, 0.9, 0.999, 1.0, 1.01])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0])
def test_adaptive_is_the_learner(discount, epsilon):
    params = parameters()
    learner = AdaptiveLearner(11, epsilon, discount, center=flat(params))
    optimizer, largest = Adaptive(params, epsilon, discount), 0.0
    for grads in gradients(150, params):
        show(params, grads)
        optimizer.step()
        learner.update(flat(grads))
        np.testing.assert_allclose(flat(params), learner.predict(), rtol=1e-10, atol=1e-12)
        assert optimizer.scale == pytest.approx(learner.magnitude.predict(), rel=1e-10, abs=1e-13)
        largest = max(largest, optimizer.scale)
    assert largest > 0.0 or discount == 0.0


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_large_tensors_are_treated_like_small_ones(decay):
    """20,000 numbers in one tensor, and in 40."""
    whole = Parameter(torch.randn(20_000, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))
    parts = [Parameter(x.clone()) for x in whole.detach().split(500)]
    optimizers = [
        (Adaptive(x), Tuned(torch.optim.SGD(x, lr=0.1, weight_decay=decay)))[decay > 0.0] for x in ([whole], parts)
    ]
    for t in range(20):
        g = torch.randn(20_000, dtype=torch.float64, generator=torch.Generator().manual_seed(t)) + 0.7
        show([whole], [g])
        show(parts, g.split(500))
        for optimizer in optimizers:
            optimizer.step()
        np.testing.assert_allclose(flat([whole]), flat(parts), rtol=1e-10, atol=1e-12)
    assert optimizers[0].scale > 0.0


def test_adaptive_in_one_dimension_with_discounts_that_vary():
    p = Parameter(torch.tensor(2.0, dtype=torch.float64))
    optimizer, learner = Adaptive([p], epsilon=0.1), AdaptiveLearner(1, 0.1, center=[2.0])
    rng = np.random.default_rng(0)
    for g, discount in zip(rng.normal(size=200) - 0.5, rng.uniform(0.8, 1.05, size=200), strict=True):
        p.grad = torch.tensor(g, dtype=torch.float64)
        optimizer.param_groups[0]["discount"] = discount
        optimizer.step()
        learner.update([g], discount)
        assert p.item() == pytest.approx(learner.predict()[0], rel=1e-10)


def test_adaptive_by_group_is_a_learner_each():
    params = parameters()
    settings = [(0.5, 0.9), (2.0, 1.0)]
    parts = params[:1], params[1:]
    groups = [{"params": x, "epsilon": e, "discount": d} for x, (e, d) in zip(parts, settings, strict=True)]
    learners = [
        AdaptiveLearner(n, e, d, center=flat(group["params"]))
        for n, (e, d), group in zip((6, 5), settings, groups, strict=True)
    ]
    optimizer = Adaptive(groups, scope="group")
    for grads in gradients(100, params):
        show(params, grads)
        optimizer.step()
        learners[0].update(flat(grads[:1]))
        learners[1].update(flat(grads[1:]))
        np.testing.assert_allclose(flat(params), np.concatenate([x.predict() for x in learners]), rtol=1e-10)
    assert optimizer.scale == pytest.approx([x.magnitude.predict() for x in learners], rel=1e-10)


@pytest.mark.parametrize("k", [-60, 60])
def test_adaptive_is_free_of_scale(k):
    """A power of two changes no bit."""
    one, other = parameters(), parameters()
    first, second = Adaptive(one), Adaptive(other)
    for grads in gradients(60, one):
        show(one, grads)
        show(other, [g * 2.0**k for g in grads])
        first.step()
        second.step()
        assert np.array_equal(flat(one), flat(other))


SIZES = {torch.float32: [1e-40, 1e-30, 1e-22, 1e30, 1e37], torch.float64: [1e-300, 1e-170, 1e-40, 1e170, 1e300]}


@pytest.mark.parametrize(("dtype", "size"), [(dtype, size) for dtype, sizes in SIZES.items() for size in sizes])
def test_adaptive_takes_gradients_of_any_size(dtype, size):
    one, other = parameters(dtype=dtype), parameters(dtype=dtype)
    first, second = Adaptive(one), Adaptive(other)
    generator = torch.Generator().manual_seed(0)
    for _ in range(40):
        grads = [torch.randn(p.shape, generator=generator, dtype=dtype) + 1.0 for p in one]
        show(one, grads)
        show(other, [(g.double() * size).to(dtype) for g in grads])
        first.step()
        second.step()
    assert first.scale > 0.0
    close = 1e-10 if dtype == torch.float64 else 2e-2 if size < 1e-38 else 1e-4  # few digits are left below 1e-38
    np.testing.assert_allclose(flat(one), flat(other), rtol=close, atol=close)


def erfi_literal(x):
    return float(mpmath.sqrt(mpmath.pi) / 2 * mpmath.erfi(x))


class Magnitudes:
    """Sums of Algorithm 1, from the library's learners."""

    def __init__(self, discounts, epsilon):
        self.learners = [MagnitudeLearner(epsilon / len(discounts), d) for d in discounts]

    def scale(self, h, factor):
        for learner in self.learners:
            learner.update(h, learner.discount * factor)
        return sum(learner.predict() for learner in self.learners)


class Tracs:
    """The published rule, each scale clamped; it imports nothing."""

    def __init__(self, discounts, epsilon):
        self.discounts, self.epsilon = discounts, epsilon
        self.s, self.v = [1e-8] * len(discounts), [0.0] * len(discounts)

    def scale(self, h, factor):
        total = 0.0
        for j, beta in enumerate(self.discounts):
            beta *= factor
            self.v[j] = beta**2 * self.v[j] + h**2
            self.s[j] = beta * self.s[j] - h
            z = self.s[j] / (np.sqrt(2.0 * self.v[j]) + 1e-8)
            total += max(0.0, self.epsilon * erfi_literal(z) / erfi_literal(0.5**0.5))
        return total


RULES = {"magnitude": (Magnitudes, 0.5), "trac": (Tracs, 1e-3)}
BASES = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.5),
    "decayed": lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.1),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01, foreach=True),
    "fused": lambda p: torch.optim.Adam(p, lr=0.01, fused=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
}


def literal(base, params, rounds, learners, parts, factors):
    """Tuned as it is defined: the base plays on copies that are put at theta before each of its steps."""
    copies = [Parameter(p.detach().clone()) for p in params]
    base = base(copies)
    reference = [p.detach().clone() for p in params]
    delta = [torch.zeros_like(r) for r in reference]
    theta = [r.clone() for r in reference]
    for grads, factor in zip(rounds, factors, strict=True):
        inner = [float((d * g).sum()) for d, g in zip(delta, grads, strict=True)]
        for copy, x, g in zip(copies, theta, grads, strict=True):
            copy.data.copy_(x)
            copy.grad = g.clone()
        base.step()
        for part, sums in zip(parts, learners, strict=True):
            scale = sums.scale(sum(inner[i] for i in part), factor)
            for i in part:
                delta[i] += copies[i].detach() - theta[i]
                theta[i] = reference[i] + scale * delta[i]
        yield flat(theta)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("scope", ["global", "group"])
def test_tuned_is_its_definition(base, rule, scope):
    params = parameters()
    rounds, factors = list(gradients(60, params)), np.random.default_rng(2).uniform(0.9, 1.0, size=60)
    kind, epsilon = RULES[rule]
    discounts = (0.9, 0.99, 1.0)
    parts = [[0, 1, 2]] if scope == "global" else [[0], [1, 2]]
    expected = literal(BASES[base], params, rounds, [kind(discounts, epsilon) for _ in parts], parts, factors)
    groups = [{"params": [params[i] for i in part]} for part in ([0], [1, 2])]
    optimizer = Tuned(BASES[base](groups), discounts, epsilon, scope, rule)
    for grads, factor, theta in zip(rounds, factors, expected, strict=True):
        show(params, grads)
        for group in optimizer.param_groups:
            group["discount"] = factor
        optimizer.step()
        np.testing.assert_allclose(flat(params), theta, rtol=1e-10, atol=1e-12)


DECAYS = {
    "coupled": {"weight_decay": 0.1},
    "decoupled": {"weight_decay": 0.1, "decoupled_weight_decay": True},
    "maximised": {"weight_decay": 0.1, "maximize": True},
}


DECAYED = [
    *((name, decay) for name in ("SGD", "Adam", "AdamW", "NAdam", "RAdam") for decay in ("coupled", "maximised")),
    *((name, "coupled") for name in ("Adamax", "RMSprop", "Adagrad", "Adadelta", "ASGD")),
    *((name, "decoupled") for name in ("Adam", "NAdam", "RAdam")),
]


@pytest.mark.parametrize(("name", "decay"), DECAYED)
def test_weight_decay_is_that_of_the_base(name, decay):
    """Whoever adds it to the direction, and for a group only."""
    kind, settings = getattr(torch.optim, name), DECAYS[decay]

    def base(params):
        first, *rest = params
        return kind([{"params": [first], **settings}, {"params": rest, **settings, "weight_decay": 0.0}], lr=0.02)

    params = parameters()
    rounds = list(gradients(40, params))
    sign = -1.0 if decay == "maximised" else 1.0

    class Sums(Magnitudes):
        def scale(self, h, factor):
            return super().scale(sign * h, factor)

    expected = literal(base, params, rounds, [Sums((0.9, 1.0), 1.0)], [[0, 1, 2]], [1.0] * 40)
    optimizer, largest = Tuned(base(params), (0.9, 1.0), epsilon=1.0), 0.0
    for grads, theta in zip(rounds, expected, strict=True):
        show(params, grads)
        optimizer.step()
        largest = max(largest, optimizer.scale)
        np.testing.assert_allclose(flat(params), theta, rtol=1e-10, atol=1e-12)
        assert optimizer.param_groups[0]["weight_decay"] == 0.1
    assert largest > 0.0


class Old(torch.optim.SGD):
    """AdamW as torch before 2.7 has it: its decay is decoupled, and no entry of its groups says so."""

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.mul_(1.0 - group["lr"] * group["weight_decay"]).sub_(p.grad.sign(), alpha=group["lr"])


class OldAsAnyOther(Old):
    """It is given the parameters."""


def test_the_decay_of_an_old_adamw_is_decoupled(monkeypatch):
    monkeypatch.setattr(torch.optim, "AdamW", Old)
    monkeypatch.setattr(bases, "BLIND", {Old})
    found = []
    for kind in (Old, OldAsAnyOther):
        params = parameters()
        optimizer = Tuned(kind(params, lr=0.1, weight_decay=0.2))
        for grads in gradients(40, params):
            show(params, grads)
            optimizer.step()
        found.append(flat([optimizer.state[p]["direction"] for p in params]))
    np.testing.assert_allclose(*found, rtol=1e-10)


class Own(torch.optim.SGD):
    """SGD as the optimiser of somebody else, of which nothing is known: it is given the parameters."""


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_while_a_base_pauses_the_direction_does_not_drift(dtype):
    """It is far smaller than the parameters, whose rounding must not get into it."""
    params = parameters(dtype=dtype)
    optimizer = Tuned(Own(params, lr=1e-3))
    for grads in gradients(50, params):
        show(params, grads)
        optimizer.step()
    directions = [optimizer.state[p]["direction"].clone() for p in params]
    optimizer.param_groups[0]["lr"] = 0.0
    before = flat(params)
    for grads in gradients(50, params, seed=2):
        show(params, grads)
        optimizer.step()
    assert not np.array_equal(flat(params), before)  # the scale moves them
    assert all(torch.equal(optimizer.state[p]["direction"], d) for p, d in zip(params, directions, strict=True))


@pytest.mark.parametrize("discounts", DISCOUNTS)
@pytest.mark.parametrize("rule", RULES)
def test_tuned_with_other_discounts(rule, discounts):
    params = parameters()
    rounds = list(gradients(60, params))
    kind, epsilon = RULES[rule]
    expected = literal(BASES["sgd"], params, rounds, [kind(discounts, epsilon)], [[0, 1, 2]], [1.0] * 60)
    optimizer = Tuned(BASES["sgd"](params), discounts, epsilon, rule=rule)
    for grads, theta in zip(rounds, expected, strict=True):
        show(params, grads)
        optimizer.step()
        np.testing.assert_allclose(flat(params), theta, rtol=1e-10, atol=1e-12)


class Once(torch.optim.Optimizer):
    """Adds 1 in its first step, and nothing in the others."""

    def __init__(self, params):
        super().__init__(params, {})
        self.fresh = True

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(float(self.fresh))
        self.fresh = False


@pytest.mark.parametrize("discounts", DISCOUNTS)
def test_the_scale_of_a_fixed_direction_is_the_learner_on_the_line(discounts):
    """With delta = 1 the gradient of the scale is that of the parameter: theta = S."""
    p = Parameter(torch.zeros((), dtype=torch.float64))
    optimizer = Tuned(Once([p]), discounts, epsilon=2.0)
    learners = [MagnitudeLearner(2.0 / len(discounts), d) for d in discounts]
    p.grad = torch.zeros_like(p)
    optimizer.step()
    for g in np.random.default_rng(0).normal(size=200) - 0.3:
        assert p.item() == optimizer.scale == sum(learner.predict() for learner in learners)
        p.grad = torch.tensor(g, dtype=torch.float64)
        optimizer.step()
        for learner in learners:
            learner.update(g)
    assert optimizer.scale > 0.0 or discounts == DISCOUNTS[2]


def published(rounds, lr, betas):
    """TRAC as published, on one parameter with plain gradient descent: the direction is divided out."""
    theta, scale = 0.0, 0.0
    s, v = [1e-8] * len(betas), [0.0] * len(betas)
    for g in rounds:
        delta = theta / (scale + 1e-8)
        h = delta * g
        scale = 0.0
        for j, beta in enumerate(betas):
            v[j] = beta**2 * v[j] + h**2
            s[j] = beta * s[j] - h
            scale += 1e-8 / erfi_literal(0.5**0.5) * erfi_literal(s[j] / (np.sqrt(2.0 * v[j]) + 1e-8))
        theta = (delta - lr * g) * max(scale, 0.0)
        yield theta, scale


@pytest.mark.parametrize("rule", RULES)
def test_a_scale_of_zero_is_left_again(rule):
    """Gradients that turn send the scale to 0; the published algorithm then never moves again, this one does."""
    rounds = [-1.0] * 10 + [5.0, -5.0] * 10 + [1.0] * 60
    thetas = list(published(rounds, 0.01, (0.9, 0.99)))
    assert all(theta == 0.0 for theta, _ in thetas[-80:])
    p = Parameter(torch.zeros((), dtype=torch.float64))
    optimizer = Tuned(torch.optim.SGD([p], lr=0.01), (0.9, 0.99), rule=rule)
    scales = []
    for g in rounds:
        p.grad = torch.tensor(g, dtype=torch.float64)
        optimizer.step()
        scales.append(optimizer.scale)
    first = next(t for t in range(10, 30) if scales[t] == 0.0)
    assert max(scales[:first]) > 0.0
    assert scales[-1] > 0.0 and p.item() < 0.0
