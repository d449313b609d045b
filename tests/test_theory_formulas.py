"""Recursions, special functions and bounds against the paper's definitions, typed literally."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wane import theory

SETTINGS = settings(max_examples=80, deadline=None)

discount = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.floats(0.0, 1.5))
number = st.floats(-10, 10)
game = st.lists(st.tuples(number, number, discount), min_size=1, max_size=12)


def product(values):
    return math.prod(values)


def close(a, b):
    return a == pytest.approx(b, rel=1e-11, abs=1e-11)


@SETTINGS
@given(game)
def test_discounted_regret_is_the_double_loop(rows):
    a, b, d = (list(c) for c in zip(*rows, strict=True))
    path = theory.discounted_regret_path(a, b, d)
    for T in range(1, len(a) + 1):
        literal = sum(product(d[i] for i in range(t + 1, T)) * (a[t] - b[t]) for t in range(T))
        assert close(path[T - 1], literal)
        assert theory.discounted_regret(a[:T], b[:T], d[:T]) == path[T - 1]
    assert close(theory.weights(d).tolist(), [product(d[t + 1 :]) for t in range(len(d))])
    assert theory.discounted_regret(a, b, [99.0, *d[1:]]) == path[-1]  # the first discount has no effect
    assert close(theory.discounted_regret(a, b, 1.0), theory.dynamic_regret(a, b))


@SETTINGS
@given(game, st.integers(1, 3))
def test_statistics_are_the_paper_s_sums_and_maxima(rows, dim):
    a, b, d = (list(c) for c in zip(*rows, strict=True))
    g = np.array([a, b, a]).T[:, :dim]
    H, V, G = theory.statistics(g if dim > 1 else g[:, 0], d)
    norm = [math.sqrt(sum(x * x for x in row)) for row in g.tolist()]
    for t in range(len(d)):
        w = [product(d[j] for j in range(i + 1, t + 1)) for i in range(t + 1)]
        assert close(H[t], sum(x * x for x in w))
        assert close(V[t], sum(x * x * n * n for x, n in zip(w, norm, strict=False)))
        assert close(G[t], max(x * n for x, n in zip(w, norm, strict=False)))


def test_statistics_survive_overflow_and_a_restart():
    H, V, G = theory.statistics([1e200, 1.0, 1.0, 1.0], [1.0, 1e200, 1e200, 0.0])
    assert [H[-1], V[-1], G[-1]] == [1.0, 1.0, 1.0]
    assert theory.statistics([[3e200, 4e200]], 1.0).G[0] == pytest.approx(5e200)
    assert theory.weights([1.0, 0.0, 1e300, 1e300])[0] == 0.0
    assert theory.discounted_regret([1.0, 1.0, 3.0], [0.0, 0.0, 0.0], [1.0, 1e300, 0.0]) == 3.0


@SETTINGS
@given(game)
def test_the_weighted_average_loss_inequality(rows):
    a, b, d = (list(c) for c in zip(*rows, strict=True))
    w = theory.weights(d)
    assert close(theory.weighted_average_loss(a, d), float(w @ a / w.sum()))
    regret = theory.discounted_regret(a, b, d)
    assert close(theory.weighted_average_loss_bound(b, d, regret), theory.weighted_average_loss(a, d))  # tight
    assert theory.weighted_average_loss(a, d) <= theory.weighted_average_loss_bound(b, d, regret + 1.0) + 1e-9


def test_the_weighted_average_stays_finite_where_the_weights_overflow():
    losses = np.linspace(0.0, 1.0, 3000)
    assert theory.weighted_average_loss(losses, 2.0) == pytest.approx(1 / 2999)  # sum of t 2^-(t+1) is 1
    assert theory.weighted_average_loss(losses, 1.0) == pytest.approx(0.5)
    assert theory.weighted_average_loss([5.0, 7.0, 7.0, 1.0], [1.0, 1e308, 1e308, 0.0]) == 1.0


@SETTINGS
@given(st.integers(1, 4), st.lists(st.tuples(*[st.integers(-9, 9)] * 5), min_size=1, max_size=12))
def test_strongly_adaptive_regret_is_the_maximum_over_intervals_and_candidates(K, rows):
    x = np.array(rows, dtype=float)
    losses, others, T = x[:, 0], x[:, 1 : 1 + K], len(x)
    intervals = [(i, j) for i in range(T) for j in range(i + 1, T + 1)]
    for length in [None, *range(1, T + 1)]:
        found = theory.strongly_adaptive_regret(losses, others if K > 1 else others[:, 0], length)
        sums = [
            (losses[i:j] - others[i:j, k]).sum()
            for i, j in intervals
            for k in range(K)
            if length is None or j - i == length
        ]
        assert found.value == max(sums)
        i, j, k = found.start, found.stop, found.candidate
        assert found.value == (losses[i:j] - others[i:j, k]).sum()
        assert length is None or j - i == length


def literal_erfi(z):
    return mpmath.quad(lambda u: mpmath.exp(u * u), [0, z])


@pytest.mark.parametrize("v", [0.0, 1.0, 250.0])
@pytest.mark.parametrize("s", [-3.0, 0.0, 0.5, 8.0, 60.0])
@pytest.mark.parametrize("h", [0.5, 1.0])
def test_potential_and_rule_are_the_paper_s_integrals(v, s, h):
    e = mpmath.mpf(v) + 2 * h * s + 16 * h * h
    z = s / (2 * mpmath.sqrt(e))
    phi = 3 * mpmath.sqrt(e) * (2 * mpmath.quad(literal_erfi, [0, z]) - 1)
    rule = 3 * literal_erfi(z) - 3 * h / mpmath.sqrt(e) * mpmath.exp(s * s / (4 * e))
    assert float(theory.potential(v, s, h, epsilon=3.0)) == pytest.approx(float(phi), rel=1e-12, abs=1e-12)
    assert float(theory.prediction_rule(v, s, h, epsilon=3.0)) == pytest.approx(float(rule), rel=1e-12, abs=1e-12)


@SETTINGS
@given(st.floats(0, 100), st.floats(0, 50), st.floats(0.1, 5), st.floats(0.1, 10))
def test_the_rule_is_the_derivative_of_the_potential(v, s, h, eps):
    step = 1e-5 * max(1.0, s)
    up, down = theory.potential(v, [s + step, s - step], h, eps)
    rule = float(theory.prediction_rule(v, s, h, eps))
    assert (up - down) / (2 * step) == pytest.approx(rule, rel=1e-5, abs=1e-5 * (abs(up) + eps))


@SETTINGS
@given(st.floats(0, 100), st.floats(0, 50), st.floats(0.1, 5), st.sampled_from([2.0**-600, 2.0**-40, 2.0**400]))
def test_the_potential_is_homogeneous_and_the_rule_scale_free(v, s, h, c):
    if v * c * c == 0 < v or math.isinf(v * c * c):
        v = 0.0
    big = (v * c * c, s * c, h * c)
    assert float(theory.prediction_rule(*big)) == pytest.approx(
        float(theory.prediction_rule(v, s, h)), rel=1e-9, abs=1e-12
    )
    assert float(theory.potential(*big)) == pytest.approx(c * float(theory.potential(v, s, h)), rel=1e-9, abs=1e-12 * c)


def test_corners_of_the_potential():
    assert theory.prediction_rule([0.0, 4.0, 0.0], [0.0, 9.0, 9.0], 0.0).tolist() == [0.0, 0.0, 0.0]
    assert float(theory.potential(0.0, 0.0, 0.0)) == 0.0
    assert float(theory.potential(4.0, 0.0, 0.0)) == -2.0
    for s in (1e5, 1e9, 1e200, 1e308):
        for h in (1.0, 1e-300, 5e-324):
            assert float(theory.potential(0.0, s, h)) == math.inf
            assert float(theory.prediction_rule(0.0, s, h)) == math.inf
    assert float(theory.prediction_rule(1e6, -4e5, 1e-9)) == -math.inf
    assert theory.potential(np.ones((2, 1)), np.ones(3), 1.0).shape == (2, 3)
    for function in (theory.potential, theory.prediction_rule):
        with pytest.raises(ValueError, match="line 7"):
            function(0.0, -8.0, 1.0)
        with pytest.raises(ValueError, match="smallest v"):
            function(-1.0, 0.0, 1.0)
        with pytest.raises(ValueError, match="epsilon"):
            function(1.0, 0.0, 1.0, epsilon=0.0)
    with pytest.raises(ValueError, match="wanted > 0"):
        theory.potential(0.0, 1.0, 0.0)


def literal_S(u, eps, V, G):
    root = mpmath.sqrt(mpmath.log(2 * u / mpmath.mpf(eps) + 1))
    return 8 * G * (1 + root) ** 2 + 2 * mpmath.sqrt(V + 16 * G**2) * (1 + root)


bound_game = st.lists(st.tuples(number, st.floats(0, 10), st.floats(0, 1.5)), min_size=1, max_size=10)


@SETTINGS
@given(bound_game, st.sampled_from([0.0, 0.3, 50.0]), st.sampled_from([0.1, 1.0]), st.data())
def test_base_and_main_bounds_are_the_theorems_formulas(rows, u, eps, data):
    g, x, d = (list(c) for c in zip(*rows, strict=True))
    T = len(g)
    tau = data.draw(st.integers(1, T))
    w = [[product(d[j] for j in range(i + 1, t)) for i in range(t)] for t in range(T + 1)]  # w[t][i], after t rounds
    V = mpmath.fsum(mpmath.mpf(w[T][i] * g[i]) ** 2 for i in range(T))
    G = max(mpmath.mpf(w[T][i]) * abs(g[i]) for i in range(T))
    S = literal_S(u, eps, V, G)
    last = max(x[T - tau :]) * G
    if tau < T:
        before = max(w[T - tau][i] * abs(g[i]) for i in range(T - tau))
        last += product(d[T - tau :]) * max(x[: T - tau]) * before
    base = eps * mpmath.sqrt(V + 2 * G * S + 16 * G**2) + u * (S + G) + last
    main = base + 3 * u * mpmath.sqrt(V)
    assert theory.base_bound(u, g, x, d, eps, tau) == pytest.approx(float(base), rel=1e-10, abs=1e-100)
    assert theory.main_bound(u, g, x, d, eps, tau) == pytest.approx(float(main), rel=1e-10, abs=1e-100)
    assert theory.main_bound([0.0, -u], np.array([g]).T, x, d, eps, tau) == pytest.approx(float(main), rel=1e-10)


@SETTINGS
@given(bound_game, st.sampled_from([0.0, 0.3, 50.0]), st.sampled_from([0.1, 1.0]))
def test_base_undiscounted_bound_is_the_theorem_s_formula(rows, u, eps):
    g, x, _ = (list(c) for c in zip(*rows, strict=True))
    V, G = mpmath.fsum(mpmath.mpf(y) ** 2 for y in g), mpmath.mpf(max(abs(y) for y in g))
    S = literal_S(u, eps, V, G)
    hints = [max([0.0, *(abs(y) for y in g[:t])]) for t in range(len(g))]
    clipped = [min(max(y, -h), h) for y, h in zip(g, hints, strict=True)]
    error = sum(abs(y - c) * abs(p - u) for y, c, p in zip(g, clipped, x, strict=True))
    literal = eps * mpmath.sqrt(V + 2 * G * S + 16 * G**2) + u * S + error
    bound = theory.base_undiscounted_bound(u, g, x, eps)
    assert bound == pytest.approx(float(literal), rel=1e-10, abs=1e-100)
    assert bound <= theory.base_bound(u, g, x, 1.0, eps, window=len(g)) * (1 + 1e-12)  # Remark "stability"


def test_short_bounds_are_the_theorems_formulas():
    m = mpmath.mpf
    assert theory.ogd_bound(2.0, 3.0, 7.0) == pytest.approx(float(m(3) / 2 * 6 * mpmath.sqrt(7)))
    assert theory.constant_ogd_bound(2.0, 3.0, 0.99) == pytest.approx(float(9 / mpmath.sqrt(1 - m("0.99") ** 2)))
    horizon = mpmath.fsum(m("0.99") ** (2 * i) for i in range(50))
    second = 9 / mpmath.sqrt(1 - mpmath.exp(-1)) * mpmath.sqrt(horizon)
    assert theory.constant_ogd_bound(2.0, 3.0, 0.99, rounds=51) > float(second)
    assert theory.constant_ogd_bound(2.0, 3.0, 0.99, rounds=50) == pytest.approx(float(second))
    assert theory.adagrad_bound(2.0, 5.0) == pytest.approx(3 * math.sqrt(5))
    assert theory.lower_bound(-3.0, 5.0) == pytest.approx(3 * math.sqrt(2.5))


@pytest.mark.parametrize("c", [1e-250, 1e-160, 1e160, 1e250])
def test_bounds_are_homogeneous_at_any_scale(c):
    g, x = np.array([0.5, -1.0, 0.25]), [1.0, 2.0, 3.0]
    for bound in (theory.base_bound, theory.main_bound):
        assert bound(1.0, c * g, x, 0.9) == pytest.approx(c * bound(1.0, g, x, 0.9), rel=1e-12)


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: theory.weights(0.5), ValueError, "pass rounds"),
        (lambda: theory.weights([0.5, -1.0]), ValueError, r"discounts\[1\]"),
        (lambda: theory.weights([0.5, NAN]), ValueError, "nan"),
        (lambda: theory.weights(0.5, 2.5), TypeError, "pass an int"),
        (lambda: theory.weights(["a"]), TypeError, "real numbers"),
        (lambda: theory.discounted_regret([1.0], [1.0, 2.0], 1.0), ValueError, "lengths differ"),
        (lambda: theory.discounted_regret([1.0], [1.0], [1.0, 1.0]), ValueError, "shape"),
        (lambda: theory.discounted_regret([[1.0]], [1.0], 1.0), ValueError, "reshape"),
        (lambda: theory.statistics([1.0, INF], 1.0), ValueError, r"gradients\[1\] holds inf"),
        (lambda: theory.strongly_adaptive_regret([1.0], [1.0], length=2), ValueError, "length <= 1"),
        (lambda: theory.strongly_adaptive_regret([], []), ValueError, "at least one round"),
        (lambda: theory.weighted_average_loss([], 1.0), ValueError, "empty"),
        (lambda: theory.constant_ogd_bound(1.0, 1.0, 1.0), ValueError, "use ogd_bound"),
        (lambda: theory.ogd_bound(-1.0, 1.0, 1.0), ValueError, "diameter is -1"),
        (lambda: theory.base_bound(-1.0, [1.0], [0.0], 1.0), ValueError, "comparator is -1"),
        (lambda: theory.base_bound(1.0, [1.0], [-1.0], 1.0), ValueError, r"predictions\[0\] is -1.0"),
        (lambda: theory.base_bound(1.0, [1.0], [1.0], 1.0, window=2), ValueError, "window <= 1"),
        (lambda: theory.base_bound(1.0, [], [], 1.0), ValueError, "play first"),
        (lambda: theory.base_bound(1.0, [1.0] * 9, [1.0] * 9, 1e200), ValueError, "shorter game"),
        (lambda: theory.base_bound(1.0, [[1.0]], [1.0], 1.0), ValueError, "gradients has shape"),
    ],
)
def test_errors_say_what_to_do(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_games_without_rounds():
    assert theory.discounted_regret([], [], 0.5) == 0.0
    assert theory.dynamic_regret([], []) == 0.0
    assert all(a.shape == (0,) for a in theory.statistics([], 1.0))
