"""Public doors of the package, for hostile_calls.py: functions, classes, objects that have played, and arguments."""

import ast
import datetime
import decimal
import fractions
import functools
import inspect
import math
import sys
from pathlib import Path

import numpy as np

import wane
from wane import conformal, domains, learners, metrics, panel, scores, state, streams, theory, trackers
from wane.scores import sets

MODULES = (conformal, domains, learners, metrics, panel, scores, sets, state, streams, theory, trackers)
LEFT_OUT = (
    *("Alarm", "Explanation", "Intervals", "Learned", "Metrics", "Prediction", "Record", "Result", "Table"),  # results
    *("play", "register", "digits", "corrupt", "rolling_ar"),  # they take as long as they are told, or change wane
)
INSIDE = ("on_alarm", "level_changed", "reset", "set_row", "learn", "least_numbers")  # hooks, and what clears a state


class Odd:
    """An object that is nothing in particular."""

    def __repr__(self):
        return "Odd()"


def one(*arguments):
    return 1.0


def nothing(*arguments):
    return None


HOSTILE = (
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, 2**70, -(2**70), 2**2000, 0.0, 0.1, 0.5, 1.0, -0.5, 1e-320,
    1e200, 1e308, math.inf, -math.inf, math.nan, "", "x", "magl", "absolute", "auto", "0.1", b"x", 1j, (), [], {},
    set(), [0.1], [0.1, 0.3], (1.0, 2.0), [1.0, math.nan], [[1.0, 2.0], [3.0, 4.0]], [[1.0], [2.0, 3.0]], ["a", "b"],
    [None], [[]], {"a": 1}, Odd(), [Odd()], slice(2), Ellipsis, int, datetime.date(2024, 2, 29),
    decimal.Decimal("0.1"), decimal.Decimal("NaN"), fractions.Fraction(1, 3), np.float32(0.1), np.int64(3),
    np.bool_(True), np.array(0.5), np.zeros(0), np.ones(3), np.ones((2, 3)), np.zeros((3, 0)), np.array(["a", "b"]),
    np.array([1, 2]), np.array([True, False]), np.array([2**63], dtype=np.uint64),
    np.ma.masked_array([1.0, 2.0], [False, True]), range(3), np.datetime64("2024-01-01"),
    np.array(["2024-01-01", "NaT"], dtype="M8[D]"), np.array([None, 1.0], dtype=object),
    np.zeros(2, dtype=[("a", "f8")]), one, nothing,
)  # fmt: skip

GOOD = {
    "alpha": 0.1, "alphas": [0.1, 0.3], "bound": 1.0, "comparator": 1.0, "comparator_losses": [0.1, 0.2, 0.3],
    "coverage": 0.9, "covered": [True, False, True], "delay": 1, "diameter": 2.0, "dim": 2, "discount": 0.9,
    "discounts": [0.9, 0.9, 0.9], "frame": {"y": [1.0, 2.0], "f": [0.0, 0.0]}, "gradient": 0.5,
    "gradients": [1.0, -1.0, 0.5], "groups": {"groups": ["x", "y"]}, "half_life": 10.0, "horizon": 2, "id": 0,
    "ids": [1, 2], "k": 2, "learner": learners.MagnitudeLearner(), "levels": [0.1, 0.3], "lipschitz": 1.0,
    "losses": [0.1, 0.2, 0.3], "lower": [0.0, 0.0, 0.0], "max_score": 2.0, "method": "magl", "name": "magl",
    "outputs": [0.0, 0.0], "path": "kept.wane", "predictions": [1.0, 1.0, 1.0], "radii": [1.0, 2.0, 1.0], "radius": 1.0,
    "rate": 0.1, "rounds": 5, "score": 1.0, "scores": [1.0, 2.0, 0.5], "seed": 1, "series": "a", "start": 0, "stop": 3,
    "target": 0.5, "tracker": "magl", "upper": [1.0, 1.0, 1.0], "value": 1.0, "variance": 2.0,
    "variances": [2.0, 2.0], "width": 2.0, "window": 5, "y": 1.0, "y_hat": 0.0,
    "components": [learners.MagnitudeLearner(), learners.GradientDescent(0.1)], "base": learners.MagnitudeLearner(),
}  # fmt: skip


def functions():
    """Every public class and function of the package, by name."""
    found = {}
    for module in MODULES:
        for name in module.__all__:
            made = getattr(module, name)
            raises = inspect.isclass(made) and issubclass(made, BaseException)
            if callable(made) and not raises and name not in LEFT_OUT:
                found[f"{module.__name__}.{name}"] = made
    return found


def fresh(rng):
    """An object with some rounds behind it, and the name of one of its methods."""
    thing = rng.choice(MAKERS)(rng)
    if isinstance(thing, scores.Score):  # its other methods take what these have checked
        return thing, rng.choice(["output", "outputs", "label", "labels"])
    names = [
        n
        for n in dir(type(thing))
        if not n.startswith("_") and callable(getattr(type(thing), n, None)) and n not in INSIDE
    ]
    names += [n for n in ("__contains__", "__getitem__") if hasattr(thing, n)]
    return thing, rng.choice(names)


def single(rng):
    method, alpha = rng.choice(["magl", "aci", "auto", "portfolio"]), rng.choice([0.1, [0.1, 0.3]])
    thing = wane.OnlineConformal(method, alpha=alpha, on_unbounded="allow", history=3)
    thing.run(np.zeros(5), np.arange(5.0), delay=2)
    return thing


def ahead(rng):
    thing = wane.Horizons(2, "magl", alpha=0.1, history=3)
    thing.predict([0.0, 1.0])
    return thing


def named(rng):
    thing = conformal.ManySeries("magl", alpha=0.1, history=3)
    thing.predict(0.0, series="a")
    return thing


def many(rng):
    method, alpha = rng.choice(["magl", "pool", "auto"]), rng.choice([0.1, [0.1, 0.3]])
    thing = wane.Panel(method, alpha, warm_up=2 if method == "magl" else 0)
    thing.predict([1, 2], [0.0, 0.0])
    return thing


def grouped(rng):
    thing = panel.Groups(rng.choice(["magl", "pool"]))
    thing.predict(["a"], [0.0], ["x"])
    return thing


def in_groups(rng):
    thing = wane.OnlineConformal("magl", alpha=rng.choice([0.1, [0.1, 0.3]]), history=3, groups=["groups"])
    thing.predict(0.0, groups={"groups": "x"})
    return thing


def panel_in_groups(rng):
    thing = panel.GroupedPanel(["groups"], rng.choice(["magl", "pool"]))
    thing.predict([1, 2], [0.0, 0.0], {"groups": ["x", "y"]})
    return thing


def tracker(rng):
    name = rng.choice(trackers.names())
    try:
        thing = trackers.make(name, 0.1)
    except TypeError:
        thing = trackers.make(name, 0.1, max_score=10.0)
    thing.run([1.0, 2.0, 0.5])
    return thing


def learner(rng):
    thing = rng.choice(
        [
            learners.MagnitudeLearner(), learners.AdaptiveLearner(2), learners.GradientDescent(0.1),
            learners.MultiscaleLearner(2), learners.CoinBetting(), learners.TracLearner(2),
        ]
    )  # fmt: skip
    return thing


def watcher(rng):
    thing = conformal.Monitor(0.1, 5)
    thing.add(True, 1.0)
    return thing


def metric(rng):
    known = {"alpha": 0.1, "k": 10}
    cls = rng.choice([c for n in metrics.__all__ if hasattr(c := getattr(metrics, n), "state_dict")])
    return cls(**{k: v for k, v in known.items() if k in cls.parameters})


def score(rng):
    return scores.make(rng.choice([name for name in scores.names() if name != "user"]))


def domain(rng):
    return rng.choice([domains.Ball(1.0), domains.Box(0.0, 1.0), domains.Nonnegative(), domains.Simplex()])


def prediction(rng):
    return wane.OnlineConformal("magl", alpha=rng.choice([0.1, [0.1, 0.3]])).predict(1.0)


MAKERS = (single, single, in_groups, ahead, named, many, many, grouped, panel_in_groups, tracker, tracker, learner,
          watcher, metric, score, domain, prediction)  # fmt: skip


def parameters(function, thing=None):
    """Names of parameters without a default, names of those with one, and whether there may be others by name."""
    try:
        every = list(inspect.signature(function).parameters.values())
        found = [(p.name, p.default is not p.empty) for p in every if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        more = any(p.kind is p.VAR_KEYWORD for p in every)
    except (TypeError, ValueError):  # compiled
        cls, name = (function, "__init__") if inspect.isclass(function) else (type(thing), function.__name__)
        found, more = from_source(cls, name)
    return [n for n, default in found if not default], [n for n, default in found if default], more


@functools.cache
def from_source(cls, name):
    """The parameters of a method, read from the file of the class or of a base that defines it."""
    for base in cls.__mro__:
        module = sys.modules[base.__module__]
        path = Path(getattr(module, "__file__", None) or "").parent / f"{base.__module__.rpartition('.')[2]}.py"
        if not base.__module__.startswith("wane") or not path.exists():
            continue
        for outer in ast.parse(path.read_text()).body:
            if isinstance(outer, ast.ClassDef) and outer.name == base.__name__:
                for inner in outer.body:
                    if isinstance(inner, ast.FunctionDef) and inner.name == name:
                        return described(inner.args)
    return [], False


def described(arguments):
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)][1:]  # without self
    without = len(names) - len(arguments.defaults)
    found = [(n, i >= without) for i, n in enumerate(names)]
    found += [(a.arg, d is not None) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return found, arguments.kwarg is not None


@functools.cache
def settings():
    """Names that functions take without listing them: all arguments of methods."""
    return sorted({n for c in trackers.Tracker.__subclasses__() for part in parameters(c)[:2] for n in part})
