"""Optimisers for JAX, as optax transformations: Algorithm 3 on the parameters, and a scale for any optimiser.

``adaptive`` plays Algorithm 3 (``wane.learners.AdaptiveLearner``): it needs no learning rate, and starts at, and falls
back to, the initial parameters. ``tuned`` wraps an optimiser: that one walks, and a sum of learners on [0, inf), one a
discount, says how far along its path from the reference the parameters are.

Both keep a NamedTuple of arrays, ask no value of the device when compiled, and so work under ``jit``, ``vmap`` and
``scan``; their updates take the parameters to where the algorithm plays, so they come last in an ``optax.chain``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wane.checks import described, discount_factor, positive
from wane.integrations.arrays import TINY, Arrays, Magnitude, Norm, Trac

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError as error:
    raise ImportError(f'wane.integrations.optax needs jax and optax: pip install "wane[optax]" ({error})') from error

__all__ = ["AdaptiveState", "TunedState", "adaptive", "dawson", "erfi", "tuned"]

EPSILON = 10.0
DISCOUNT = 0.9999
DISCOUNTS = (0.9, 0.99, 0.999, 0.9999, 1.0)
EPSILONS = {"magnitude": EPSILON, "trac": TINY}  # the default of each rule


class AdaptiveState(NamedTuple):
    """The memory of ``adaptive``: the reference x*, the direction w, both learners, the number of rounds skipped."""

    reference: Any
    direction: Any
    magnitude: Magnitude
    norm: Norm
    skipped: Any

    @property
    def scale(self) -> Any:
        """The magnitude y: how far the parameters may be from the reference. One a group if there are groups."""
        return jnp.maximum(self.magnitude.x, 0.0)


class TunedState(NamedTuple):
    """The memory of ``tuned``: the reference, the path delta, the learners, the base's memory, the rounds skipped."""

    reference: Any
    delta: Any
    learners: Magnitude | Trac
    base: Any
    skipped: Any

    @property
    def scale(self) -> Any:
        """The scale S: the parameters are at reference + S * delta. One a group if there are groups."""
        return jnp.sum(jnp.maximum(self.learners.x, 0.0), axis=-1)


def adaptive(
    epsilon: Any = EPSILON,
    discount: Any = DISCOUNT,
    *,
    reference: Any = None,
    scope: Any = "global",
    nonfinite: str = "skip",
) -> optax.GradientTransformationExtraArgs:
    """Algorithm 3 on the parameters: no learning rate, any scale of the gradients, the start as inductive bias.

    It plays x* + y w, a magnitude y from Algorithm 1 times a direction w in the unit ball, as
    ``wane.learners.AdaptiveLearner`` does. It keeps two copies of the parameters, x* and w (of 16-bit parameters, w in
    single precision).

    Args:
        epsilon: a guess of the distance from the reference to the answer; a wrong guess costs a logarithm.
        discount: what the past is multiplied by each round; ``update(..., discount=...)`` replaces it for a round.
        reference: the inductive bias x*, shaped like the parameters; None takes those given to ``init``.
        scope: "global" plays one algorithm on all parameters together, "leaf" one on each array; labels, as for
            ``optax.multi_transform`` (a tree of them that may be a prefix, or a function that makes it), one on each
            set of arrays with the same label.
        nonfinite: a round whose gradients or discount are not finite teaches nothing and is counted in
            ``state.skipped``. With "skip" its updates are 0; with "propagate" they are NaN, for ``jax_debug_nans`` or
            ``checkify`` to find.

    >>> import jax.numpy as jnp
    >>> optimiser = adaptive(discount=0.99)
    >>> params = {"w": jnp.ones(2)}
    >>> state, update = optimiser.init(params), jax.jit(optimiser.update)
    >>> for _ in range(100):
    ...     updates, state = update({"w": 2.0 * (params["w"] - 3.0)}, state, params)
    ...     params = optax.apply_updates(params, updates)
    >>> params["w"].round(2).tolist()
    [3.0, 3.0]

    Reference: Algorithm 3 of Zhang, Bombara, Yang (2024).
    """
    own, fill = _discount(discount), _fill(nonfinite)
    epsilon = _epsilon(epsilon)

    def init(params: Any) -> AdaptiveState:
        start, inner = _reference(reference, params), _floats(params, params)
        _, zero = _groups(scope, inner)
        arrays = _arrays(zero.dtype)
        return AdaptiveState(start, _zeros(inner), _own(arrays.magnitude(zero)), _own(arrays.norm(zero)), jnp.int32(0))

    def update(updates: Any, state: AdaptiveState, params: Any = None, *, discount: Any = None, **extra: Any) -> Any:
        inner, g = _inner("adaptive", params, updates, state.direction)
        index, zero = _groups(scope, inner)
        arrays, g = _arrays(zero.dtype), jax.tree.map(lambda p, x: x.astype(_wide_type(p)), inner, g)
        rate = _rate(own if discount is None else discount, zero)
        largest = _largest(index, zero, g)
        g = _map(index, lambda x, c: x / c, g, jnp.where(largest > 0.0, largest, 1.0))  # no square under- or overflows
        norm = jnp.sqrt(_dot(index, zero, g, g))
        dot, square = (_dot(index, zero, x, state.direction) for x in (g, state.direction))
        size = largest * norm
        magnitude = arrays.magnitude_step(state.magnitude, _guess(epsilon, zero), largest * dot, size, rate)
        r = arrays.grow(state.magnitude.mantissa, state.magnitude.exponent, rate, size)[2]  # line 8
        memory, q = arrays.norm_step(state.norm, r * size, rate)
        step = 2.0 * q / jnp.where(norm > 0.0, norm, 1.0)  # AdaGrad of diameter 2

        def learn() -> AdaptiveState:
            w = _map(index, lambda old, c, x: old - c * x, state.direction, step, g)
            length = square + step * (step * norm * norm - 2.0 * dot)  # |w|^2, without a pass over what is not made yet
            w = _map(index, lambda x, c: x / c, w, jnp.sqrt(jnp.maximum(length, 1.0)))
            return state._replace(direction=w, magnitude=magnitude, norm=memory)

        return _settle(params, inner, index, _good(magnitude, memory, rate, size), state, learn, fill)

    return optax.GradientTransformationExtraArgs(init, update)


def tuned(
    base: Any,
    discounts: Sequence[float] = DISCOUNTS,
    epsilon: Any = None,
    *,
    rule: str = "magnitude",
    discount: Any = 1.0,
    reference: Any = None,
    scope: Any = "global",
    nonfinite: str = "skip",
) -> optax.GradientTransformationExtraArgs:
    """An optimiser with its scale learned: the parameters are at reference + S * delta.

    delta is the sum of the base's steps, and S the sum of what learners on [0, inf) play, one a discount, each of which
    sees the derivative of the loss in S, the inner product of delta and the gradient. S = 1 is the base itself. The
    published code divides by S to find delta, and stays for ever where S has become 0; here delta is kept. It keeps
    two copies of the parameters, the reference and delta, beside what the base keeps.

    Args:
        base: an optax transformation with its learning rate. It sees the gradients, the parameters and the extra
            arguments of ``update``, and its memory must keep its types, as for ``jax.lax.scan``.
        discounts: one learner each.
        epsilon: a guess of S; None takes 10 for the rule "magnitude", shared by the learners in equal parts, and 1e-8
            for "trac", the published number, for each.
        rule: "magnitude" is Algorithm 1 (``wane.learners.MagnitudeLearner``), "trac" the published
            ``wane.learners.TracLearner``.
        discount: multiplies all discounts; ``update(..., discount=...)`` replaces it for a round.
        reference: as for ``adaptive``. Where it differs from the parameters given to ``init``, the first round goes
            there.
        scope: as for ``adaptive``: one S for all parameters, or one for each array or label. The base sees all of
            them together.
        nonfinite: as for ``adaptive``. A round that is skipped leaves the base as it was. Steps of the base are not
            checked.

    >>> import jax.numpy as jnp
    >>> optimiser = tuned(optax.adam(1e-3))     # alone it would need a thousand rounds
    >>> params = jnp.zeros(2)
    >>> state, update = optimiser.init(params), jax.jit(optimiser.update)
    >>> for _ in range(200):
    ...     updates, state = update(2.0 * (params - 1.0), state, params)
    ...     params = optax.apply_updates(params, updates)
    >>> params.round(2).tolist(), state.scale.round(1).item() > 10.0
    ([1.0, 1.0], True)

    Reference: Muppidi, Zhang, Yang, *Fast TRAC: A Parameter-Free Optimizer for Lifelong Reinforcement Learning*
    (2024, arXiv 2405.16642).
    """
    if rule not in EPSILONS:
        raise ValueError(f"rule must be 'magnitude' or 'trac', got {described(rule)}")
    grid = [discount_factor(d, f"discounts[{i}]") for i, d in enumerate(discounts)]
    if not grid:
        raise ValueError("discounts must hold at least one number, got none: give (1.0,) to forget nothing")
    own, fill = _discount(discount), _fill(nonfinite)
    epsilon = _epsilon(EPSILONS[rule] if epsilon is None else epsilon)
    base = optax.with_extra_args_support(base)

    def init(params: Any) -> TunedState:
        start, inner = _reference(reference, params), _floats(params, params)
        _, zero = _groups(scope, inner)
        zeros, arrays = jnp.zeros((*zero.shape, len(grid)), zero.dtype), _arrays(zero.dtype)
        learners = arrays.trac(zeros) if rule == "trac" else arrays.magnitude(zeros)
        return TunedState(start, _zeros(inner), _own(learners), base.init(inner), jnp.int32(0))

    def update(updates: Any, state: TunedState, params: Any = None, *, discount: Any = None, **extra: Any) -> Any:
        inner, g = _inner("tuned", params, updates, state.delta)
        index, zero = _groups(scope, inner)
        rate = _rate(own if discount is None else discount, zero)[..., None] * jnp.asarray(grid, zero.dtype)
        h, guess = _dot(index, zero, state.delta, g)[..., None], _guess(epsilon, zero)[..., None]
        if isinstance(state.learners, Trac):
            learners: Any = _arrays(zero.dtype).trac_step(state.learners, guess, h, rate)
        else:
            learners = _arrays(zero.dtype).magnitude_step(state.learners, guess / len(grid), h, jnp.abs(h), rate)

        def learn() -> TunedState:
            steps, memory = base.update(g, state.base, inner, **extra)
            delta = jax.tree.map(lambda d, u: d + u.astype(d.dtype), state.delta, steps)
            return state._replace(delta=delta, learners=learners, base=memory)

        return _settle(params, inner, index, _good(learners, rate, h), state, learn, fill)

    return optax.GradientTransformationExtraArgs(init, update)


def dawson(x: Any) -> Any:
    """Dawson's function of every entry (``wane.special.dawson``), to 1e-12 in double and 1e-6 in single precision.

    >>> round(float(dawson(1.0)), 5)
    0.53808
    """
    return _special(Arrays.dawson, x)


def erfi(x: Any) -> Any:
    """The integral of exp(u^2) from 0 to every entry (``wane.special.erfi``), as exact as ``dawson``.

    >>> erfi([0.0, 1.0]).round(4).tolist()
    [0.0, 1.462...]
    """
    return _special(Arrays.erfi, x)


def _special(function: Callable[[Arrays, Any], Any], x: Any) -> Any:
    """The function at the precision of x, and of 16-bit numbers in single precision."""
    x = jnp.asarray(x)
    kind = x.dtype if jnp.issubdtype(x.dtype, jnp.floating) else jnp.result_type(float)
    wide = jnp.promote_types(kind, jnp.float32)
    return function(_arrays(wide), x.astype(wide)).astype(kind)


def _arrays(kind: Any) -> Arrays:
    return Arrays(jnp, lambda values: jnp.asarray(values, kind), single=kind == jnp.float32)


def _epsilon(value: Any) -> Any:
    """A number that is checked now, or an array, which may be unknown until the program runs."""
    return value if isinstance(value, jax.Array) else positive("epsilon", value)


def _discount(value: Any) -> Any:
    return value if isinstance(value, jax.Array) else discount_factor(value)


def _fill(nonfinite: str) -> float:
    """The updates of a round that is not learned."""
    fills = {"skip": 0.0, "propagate": jnp.nan}
    if nonfinite not in fills:
        raise ValueError(f"nonfinite must be 'skip' or 'propagate', got {described(nonfinite)}")
    return fills[nonfinite]


def _like(value: Any, zero: Any) -> Any:
    return jnp.broadcast_to(jnp.asarray(value, zero.dtype), zero.shape)


def _guess(epsilon: Any, zero: Any) -> Any:
    """Epsilon; one that is not positive, which only an array can be here, becomes NaN and spoils the round."""
    value = _like(epsilon, zero)
    return jnp.where(value > 0.0, value, jnp.nan)


def _rate(discount: Any, zero: Any) -> Any:
    """The discount of a round; a negative one, which only an array can be here, becomes NaN and spoils the round."""
    rate = _like(_discount(discount), zero)
    return jnp.where(rate >= 0.0, rate, jnp.nan)


def _own(tree: Any) -> Any:
    """A buffer for each leaf, as donated arguments must have."""
    return jax.tree.map(lambda x: jnp.array(x, copy=True), tree)


def _masked(x: Any) -> bool:
    return isinstance(x, optax.MaskedNode)


def _visible(p: Any) -> bool:
    """Whether a leaf of the parameters is learned; whole numbers are not, nor is what a mask hides."""
    if not _masked(p) and jnp.issubdtype(jnp.result_type(p), jnp.complexfloating):
        raise TypeError("parameters must be real, got complex ones: give real and imaginary parts as two arrays")
    return not _masked(p) and jnp.issubdtype(jnp.result_type(p), jnp.floating)


def _floats(params: Any, tree: Any, take: Callable[[Any, Any], Any] = lambda p, x: jnp.asarray(x)) -> Any:
    """The tree where the parameters are learned, and masks elsewhere."""
    return jax.tree.map(lambda p, x: take(p, x) if _visible(p) else optax.MaskedNode(), params, tree, is_leaf=_masked)


def _inner(name: str, params: Any, updates: Any, path: Any) -> tuple[Any, Any]:
    """The parameters and the gradients, without what is not learned."""
    if params is None:
        raise ValueError(f"{name} needs the parameters: call update(gradients, state, params)")
    inner, g = _floats(params, params), _floats(params, updates)
    for what, tree in (("gradients", g), ("a state from init", path)):
        (keys, wanted), (others, got) = _shapes(inner), _shapes(tree)
        if keys != others or wanted != got:
            raise ValueError(f"{name} needs {what} of parameters of shapes {described(wanted)}, got {described(got)}")
    return inner, g


def _shapes(tree: Any) -> tuple[Any, list[Any]]:
    return jax.tree.structure(tree), [jnp.shape(x) for x in jax.tree.leaves(tree)]


def _wide_type(p: Any) -> Any:
    """Single precision for 16-bit numbers, otherwise that of the parameters."""
    return jnp.promote_types(jnp.result_type(p), jnp.float32)


def _zeros(params: Any) -> Any:
    return jax.tree.map(lambda p: jnp.zeros(p.shape, _wide_type(p)), params)


def _reference(reference: Any, params: Any) -> Any:
    """A copy: of the parameters as they are, or of what was given, with the precision of delta."""
    if reference is None or not jax.tree.leaves(params):
        return _floats(params, params, lambda p, x: jnp.array(x, copy=True))

    def copied(p: Any, x: Any) -> Any:
        if jnp.shape(p) != jnp.shape(x):
            raise ValueError(f"reference must have the shapes of the parameters: {jnp.shape(p)}, got {jnp.shape(x)}")
        return jnp.array(x, _wide_type(p), copy=True)

    return _floats(params, reference, copied)


def _groups(scope: Any, params: Any) -> tuple[list[Any], Any]:
    """The group of each leaf, as an index of arrays with one entry a group, and zeros of that shape."""
    count, kind = len(jax.tree.leaves(params)), jnp.result_type(float)
    if isinstance(scope, str):
        if scope not in ("global", "leaf"):
            raise ValueError(f"scope must be 'global', 'leaf' or a tree of labels, got {scope!r}")
        one = scope == "global"
        return [...] * count if one else list(range(count)), jnp.zeros(() if one else count, kind)
    labels = scope(params) if callable(scope) else scope
    names = {label: i for i, label in enumerate(dict.fromkeys(jax.tree.leaves(labels)))}
    spread = jax.tree.map(lambda x, part: [names[x]] * len(jax.tree.leaves(part)), labels, params) if count else []
    return jax.tree.leaves(spread), jnp.zeros(len(names), kind)


def _over(combine: Callable[[Any], Any], index: list[Any], zero: Any, parts: list[Any]) -> Any:
    """The parts of each group, and 0, combined at once: XLA would repeat a chain of pairs in the work on every leaf."""
    rows: list[list[Any]] = [[jnp.zeros((), zero.dtype)] for _ in range(zero.size)]
    for i, part in zip(index, parts, strict=True):
        rows[0 if i is ... else i].append(part.astype(zero.dtype))
    return jnp.stack([combine(jnp.stack(row)) for row in rows]).reshape(zero.shape) if rows else zero


def _dot(index: list[Any], zero: Any, a: Any, b: Any) -> Any:
    """The inner product of two trees, in each group."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return _over(jnp.sum, index, zero, [jnp.sum(x.astype(zero.dtype) * y.astype(zero.dtype)) for x, y in pairs])


def _largest(index: list[Any], zero: Any, tree: Any) -> Any:
    """The largest absolute value in each group; 0 for one that floats hardly hold, infinity for one with no inverse."""
    found = _over(jnp.max, index, zero, [jnp.max(jnp.abs(x), initial=0.0) for x in jax.tree.leaves(tree)])
    tiny = jnp.finfo(zero.dtype).tiny
    return jnp.where(found >= tiny, jnp.where(found <= 1.0 / tiny, found, jnp.inf), 0.0)


def _map(index: list[Any], function: Callable[..., Any], tree: Any, numbers: Any, *rest: Any) -> Any:
    """The function of every leaf, of the number of its group and of the leaves of the rest."""
    leaves, shape = jax.tree.flatten(tree)
    others = [shape.flatten_up_to(r) for r in rest]
    rows = zip(index, leaves, *others, strict=True)
    return shape.unflatten([function(x, numbers[i].astype(x.dtype), *more) for i, x, *more in rows])


def _good(*watched: Any) -> Any:
    """Whether all is finite. It is known before anything of the parameters' size is made: no pass over them waits."""
    return jnp.all(jnp.isfinite(jnp.concatenate([x.ravel() for x in jax.tree.leaves(watched)])))


def _settle(params: Any, inner: Any, index: list[Any], good: Any, old: Any, learn: Any, fill: float) -> tuple[Any, Any]:
    """The updates to reference + scale * path and what is learned; the old state, if the round is not good."""
    kept = old._replace(reference=None, skipped=old.skipped + 1)
    if isinstance(good, jax.core.Tracer):  # with a choice of each number XLA would make steps twice and copy memory
        new = jax.lax.cond(good, lambda: learn()._replace(reference=None), lambda: kept)
    else:  # cond would compile its branches in each round
        new = learn() if good else kept
    new = new._replace(reference=old.reference)
    path = new.direction if isinstance(new, AdaptiveState) else new.delta
    theta = _map(index, lambda d, s, x, p: (x + s * d).astype(p.dtype), path, new.scale, new.reference, inner)
    updates = jax.tree.map(lambda t, p: jnp.where(good, t - p, fill).astype(p.dtype), theta, inner)
    return jax.tree.map(lambda p, u: jnp.zeros_like(p) if _masked(u) else u, params, updates), new
