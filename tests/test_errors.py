"""Every exception of the package says in fields what is wrong, where, and what to do; its message is made of them."""

import ast
import builtins
import copy
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

import wane
from wane import domains, errors, learners, metrics, scores, theory, trackers
from wane.checks import number
from wane.errors import (
    FileError,
    IdError,
    InputError,
    InputTypeError,
    NotFoundError,
    SavedFileError,
    Setting,
    UnboundedError,
    WaneError,
)
from wane.state.data import name_round, sentence

SOURCE = Path(__file__).parent.parent / "src" / "wane"
PROGRAMMERS = {"AssertionError", "AttributeError", "IndexError", "NotImplementedError"}  # not about what a user gave
BUILTIN = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, Exception) and not issubclass(value, Warning)
} - PROGRAMMERS
CLASSES = {
    *(c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, WaneError)),
}
NAN = math.nan


# The fields and the message.


@pytest.mark.parametrize("cls", sorted(CLASSES, key=lambda cls: cls.__name__))
def test_every_class_keeps_its_fields(cls):
    """Each is a WaneError with a message of its own making, whatever exception of Python it also is."""
    cure = ("give ", Setting("warm_up", 10), " or wait")
    error = cls("must be finite, got nan", about="y", row=3, cure=cure)
    assert isinstance(error, WaneError)
    assert str(error) == "y[3] must be finite, got nan: give warm_up=10 or wait"
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(same) is cls and str(same) == str(error) and vars(same) == vars(error)
        assert (same.argument, same.row, same.cure) == ("y", 3, "give warm_up=10 or wait")


@pytest.mark.parametrize("about", [None, "y"])
@pytest.mark.parametrize("row", [None, 0, 7])
@pytest.mark.parametrize("cure", [None, "wait", ("set ", Setting("warm_up"))])
def test_the_message_is_its_parts(about, row, cure):
    error = InputError("must be finite", about=about, row=row, cure=cure)
    place = {None: "" if row is None else f"row {row}: ", "y": "y " if row is None else f"y[{row}] "}[about]
    end = "" if cure is None else f": {error.cure}"
    assert str(error) == error.said() == f"{place}must be finite{end}"
    assert error.argument == about and (error.cure is None) == (cure is None)


def test_the_same_in_other_words():
    """The command line names the place in the file, and settings as its options."""
    error = InputError("must be finite, got nan", about="y", row=3, cure=("give ", Setting("on_unbounded", "clip")))
    option = {"on_unbounded": "--on-unbounded"}
    said = error.said("sales.csv, line 5", lambda setting: f"{option[setting.name]} {setting.value}")
    assert said == "sales.csv, line 5: y must be finite, got nan: give --on-unbounded clip"
    assert InputError("no rows").said("sales.csv") == "sales.csv: no rows"
    assert str(error) == "y[3] must be finite, got nan: give on_unbounded='clip'"  # saying it changes nothing


def test_an_argument_need_not_be_the_subject():
    error = InputError("the window is too short", argument="k")
    assert error.argument == "k" and error.about is None and str(error) == "the window is too short"


def test_the_round_of_an_error():
    """It becomes the row; what was the subject stays in the sentence, and so does a place within the round."""
    error = InputError("must be finite", about="gradient", row=2, cure="clip it")
    assert sentence(error) == "gradient[2] must be finite"
    name_round(error, 9)
    assert (error.argument, error.row, error.cure) == ("gradient", 9, "clip it")
    assert str(error) == "in round 9: gradient[2] must be finite: clip it"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    foreign = ValueError("mine")
    name_round(foreign, 9)
    assert str(foreign) == "in round 9: mine"


# Who raises what.


def violations(text):
    """The lines on which an exception of Python itself is made or raised."""
    for node in ast.walk(ast.parse(text)):
        made = node.func if isinstance(node, ast.Call) else node.exc if isinstance(node, ast.Raise) else None
        if isinstance(made, ast.Name) and made.id in BUILTIN:
            yield f"{node.lineno}: {made.id}"


def test_violations_are_found():
    text = "raise ValueError('x')\nraise KeyError\ndef f(): return OSError(1)\nraise NotImplementedError\nraise error"
    found = sorted({line.partition(":")[0] for line in violations(text)})
    assert found == ["1", "2", "3"]


def test_only_exceptions_of_this_package_are_raised():
    files = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py")}
    assert len(files) > 100 and "checks.py" in files
    own = list(files)
    found = [f"src/wane/{name}:{line}" for name in own for line in violations(files[name].read_text(encoding="utf-8"))]
    assert found == []


def test_no_regular_expression_reads_a_message():
    """Those that there are read cells, names of columns and files, docstrings, records of a journal, Java's version."""
    using = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import) and any(alias.name == "re" for alias in node.names)
    }
    assert using == {
        "cli/about.py",
        "integrations/nixtla.py",
        "integrations/spark.py",
        "report/results.py",
        "runs/forecasts.py",
        "state/files.py",
        "state/log.py",
        "streams/bundled.py",
        "tables/chunks.py",
        "tables/csv.py",
        "tables/text.py",
        "vision/parts.py",
    }


# Bad calls, and what their errors carry.


def predicted(**settings):
    return wane.OnlineConformal("magl", alpha=0.1, **settings)


def frame(**columns):
    """Three rows of one series."""
    return {"id": ["a"] * 3, "y": [1.0, 2.0, 3.0], "y_hat": [1.0, 1.0, 1.0], **columns}


def panel(**columns):
    return wane.panel.run(frame(**columns), id="id", y="y", y_hat="y_hat", method="magl")


class Nonsense:
    """A domain whose projections are no points of it."""

    def project(self, x):
        return x * NAN


class Mine(learners.Learner):
    """A learner of a user's, that refuses the gradient 7."""

    parameters = memory = ()

    def _predict(self):
        return 0.0

    def _update(self, gradient, discount):
        number("my step", NAN if gradient == 7.0 else 1.0)


CALLS = {  # what is called, the class of the error, its argument and row, and whether it has a cure
    # learners
    "gradient": (lambda: learners.MagnitudeLearner().update(NAN), InputError, "gradient", None, True),
    "gradients": (lambda: learners.MagnitudeLearner().run([1.0, NAN]), InputError, "gradients", 1, True),
    "discount": (lambda: learners.MagnitudeLearner(discount=-1.0), InputError, "discount", None, False),
    "discounts": (
        lambda: learners.MagnitudeLearner().run([1.0] * 3, [1.0, 1.0, -1.0]),
        InputError,
        "discounts",
        2,
        True,
    ),
    "epsilon": (lambda: learners.MagnitudeLearner(epsilon=0.0), InputError, "epsilon", None, False),
    "epsilon, text": (lambda: learners.MagnitudeLearner(epsilon="1"), InputTypeError, "epsilon", None, False),
    "dim": (lambda: learners.AdaptiveLearner(dim=0), InputError, "dim", None, False),
    "vector": (lambda: learners.AdaptiveLearner(dim=2).update([1.0, NAN]), InputError, "gradient", None, True),
    "domain": (lambda: learners.AdaptiveLearner(dim=2, domain=Nonsense()), InputError, "domain", None, False),
    "a round of mine": (lambda: Mine(1.0).run([1.0, 1.0, 7.0]), InputError, "my step", 2, True),
    "state": (lambda: learners.load({"class": "Nobody"}), InputError, "state", None, True),
    # domains
    "radius": (lambda: domains.Ball(-1.0), InputError, "radius", None, False),
    "limits": (lambda: domains.Box(1.0, 0.0), InputError, "lower", None, False),
    "normal": (lambda: domains.HalfSpace([0.0, 0.0]), InputError, "normal", None, False),
    "offset": (lambda: domains.HalfSpace([1.0], math.inf), InputError, "offset", None, False),
    "point": (lambda: domains.Ball().project([NAN]), InputError, "point", None, False),
    # theory
    "rounds": (lambda: theory.weights(0.5), InputError, "discounts", None, True),
    "losses": (lambda: theory.discounted_regret([1.0, math.inf], [1.0, 1.0], 1.0), InputError, "losses", 1, True),
    "lengths": (lambda: theory.discounted_regret([1.0], [1.0, 1.0], 1.0), InputError, "losses", None, True),
    "predictions": (lambda: theory.base_bound(1.0, [1.0, 1.0], [0.0, -1.0], 1.0), InputError, "predictions", 1, False),
    "game": (
        lambda: theory.play(learners.MagnitudeLearner(), lambda t, x: 1.0 if t < 4 else NAN, rounds=9),
        InputError,
        "gradient",
        4,
        True,
    ),
    # scores
    "output": (lambda: scores.Absolute().output(NAN), InputError, "output", None, True),
    "outputs": (lambda: scores.Normalised().outputs([[0.0, 1.0], [0.0, -1.0]]), InputError, "outputs", 1, False),
    "label": (lambda: scores.LAC(classes=["a", "b"]).labels(["a", "c"], 2), InputError, "y", 1, False),
    "probabilities": (lambda: scores.APS().outputs([[0.5, 0.5], [0.2, 0.3]]), InputError, "outputs", 1, True),
    "side": (lambda: scores.OneSided("left"), InputError, "side", None, False),
    # metrics
    "covered": (lambda: metrics.coverage([1.0, 0.0, 2.0]), InputError, "covered", 2, False),
    "window": (lambda: metrics.lce([True, False], 0.1, k=3), InputError, "k", None, True),
    "tie": (lambda: metrics.covered([1.0], [1.0], tie="both"), InputError, "tie", None, False),
    "alpha of a metric": (lambda: metrics.lce([True] * 9, 1.5, k=3), InputError, "alpha", None, True),
    # trackers
    "alpha": (lambda: trackers.make("magl", alpha=-1.0), InputError, "alpha", None, True),
    "score": (lambda: trackers.make("magl", alpha=0.1).update(NAN), InputError, "score", None, True),
    "scores": (lambda: trackers.make("magl", alpha=0.1).run([1.0, NAN]), InputError, "scores", 1, True),
    "method": (lambda: trackers.make("mgal", alpha=0.1), InputError, "method", None, True),
    # OnlineConformal
    "prediction": (lambda: predicted().predict(NAN), InputError, "output", None, True),
    "id": (lambda: predicted().update(7, 1.0), IdError, "id", None, True),
    "on_unbounded": (lambda: predicted(on_unbounded="cut"), InputError, "on_unbounded", None, False),
    "labels": (lambda: predicted().run([1.0, 1.0], [1.0, math.inf]), InputError, "y", 1, True),
    "too few labels": (lambda: predicted().run([1.0, 1.0], [1.0]), InputError, "y", None, True),
    "unbounded": (
        lambda: wane.OnlineConformal("split", alpha=0.1, on_unbounded="error").predict(0.0),
        UnboundedError,
        None,
        None,
        True,
    ),
    # Panel and panel.run
    "label of a panel": (lambda: panel(y=[1.0, 2.0, math.inf]), InputError, "y", 2, True),
    "forecast of a panel": (lambda: panel(y_hat=[1.0, math.inf, 1.0]), InputError, "y_hat", 1, True),
    "column of a panel": (
        lambda: wane.panel.run(frame(), y="nothing", y_hat="y_hat"),
        NotFoundError,
        "nothing",
        None,
        True,
    ),
    "method of a panel": (lambda: wane.Panel("nothing"), InputError, "method", None, True),
    # files
    "nothing to load": (lambda: wane.load(__file__), SavedFileError, "path", None, False),
    "nothing to save": (lambda: wane.save("never.wane", 3), InputTypeError, "obj", None, False),
    "no journal": (lambda: wane.Journal("nowhere.wane"), FileError, "start", None, True),
}
EVERY = [pytest.param(*call, id=name) for name, call in CALLS.items()]


@pytest.mark.parametrize(("call", "kind", "argument", "row", "cured"), EVERY)
def test_bad_calls_name_argument_row_and_cure(call, kind, argument, row, cured, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(WaneError) as caught:
        call()
    error = caught.value
    assert isinstance(error, kind) and isinstance(error, WaneError)
    assert (error.argument, error.row, error.cure is not None) == (argument, row, cured)
    assert str(error).endswith(error.cure or error.problem) and error.problem in str(error)


def test_the_error_of_a_saved_state_keeps_the_cure(tmp_path):
    """What a file refuses says what its parts said, and what to do."""
    learner = learners.FTRL(lambda s, v, g: 0.0, 1.0)
    wane.save(tmp_path / "a.wane", learner)
    with pytest.raises(SavedFileError) as caught:
        wane.load(tmp_path / "a.wane")
    error = caught.value
    assert error.argument == "path" and error.cure.startswith("give it again")
    assert "is intact, but its state was refused: prediction was" in str(error)


def test_arguments_of_no_use_are_named(tmp_path):
    mixed = np.array([None, 1.0], dtype=object)
    calls = {
        "panel": lambda: wane.panel.bounds(1e200),
        "discounts": lambda: learners.DiscountHedge(2, discounts=np.array(0.5)),
        "start": lambda: wane.Journal(str(tmp_path / "journal"), int),
        "times": lambda: wane.panel.Groups().run([1, 2], [0.0, 0.0], [1.0, 1.0], ["x", "y"], times=mixed),
    }
    for name, call in calls.items():
        with pytest.raises(InputTypeError) as caught:
            call()
        assert caught.value.argument == name
