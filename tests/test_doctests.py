"""Every doctest runs, and every public name has a docstring; those that compute have an example."""

import doctest
import importlib
import importlib.util
import inspect
import pkgutil

import pytest

import wane


def installed(name):
    """An adapter has the name of its library, without which it cannot be imported."""
    package, _, library = name.rpartition(".")
    return package != "wane.integrations" or importlib.util.find_spec(library) is not None


FOUND = [m.name for m in pkgutil.walk_packages(wane.__path__, "wane.") if "_cyutility" not in m.name]
MODULES = [name for name in FOUND if installed(name)]
PUBLIC = [
    wane.conformal,
    wane.domains,
    wane.learners,
    wane.metrics,
    wane.scores,
    wane.streams,
    wane.theory,
    wane.trackers,
]
NAMES = [(module, name) for module in PUBLIC for name in module.__all__]


@pytest.mark.parametrize("name", ["wane", *MODULES])
def test_doctests(name):
    module = importlib.import_module(name)
    assert not doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed


def test_doctests_are_found():
    found = {name: doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS) for name in MODULES}
    assert found["wane.special"].attempted == 5
    assert found["wane.learners.base"].attempted == 9
    assert sum(result.attempted for result in found.values()) > 100


@pytest.mark.parametrize(("module", "name"), NAMES, ids=[f"{m.__name__}.{n}" for m, n in NAMES])
def test_public_names_are_documented(module, name):
    thing = getattr(module, name)
    text = inspect.getdoc(thing)
    assert text and len(text) > 20
    if inspect.isclass(thing):
        for attribute, value in vars(thing).items():
            if not attribute.startswith("_") and callable(value):
                assert inspect.getdoc(value), f"{name}.{attribute} has no docstring"
    if module is wane.learners and name != "Learner":
        assert ">>>" in text, f"{name} has no example"


def test_all_is_sorted_and_complete():
    for module in PUBLIC:
        assert sorted(set(module.__all__)) == sorted(module.__all__)
    for name in wane.__all__:
        assert hasattr(wane, name)
    below = {cls for cls in wane.state.data.subclasses(wane.learners.Learner) if cls.__module__.startswith("wane.")}
    internal = {"VectorLearner"}
    assert {cls.__name__ for cls in below} - internal == set(wane.learners.__all__) - {"Learner", "load"}
