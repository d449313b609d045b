"""Write tests/saved: one file for each kind of object, and how each goes on. python tools/write_fixtures.py

Only what is missing is written. A file that is there proves that this version still reads what an older one wrote, so
it is never replaced; a change that cannot read it needs a new format and a reader of the old one.
"""

import copy
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np

TESTS = Path(__file__).parent.parent / "tests"
SAVED = TESTS / "saved"
EXPECTED = SAVED / "expected.json"
sys.path.insert(0, str(TESTS))

import table  # noqa: E402

from wane import Horizons, OnlineConformal, Panel, learners, scores, trackers  # noqa: E402
from wane.panel import Groups  # noqa: E402
from wane.state.encoding import dumps, loads  # noqa: E402
from wane.state.files import save  # noqa: E402

ROUNDS, MORE = 20, 5


def makers():
    """What makes an object, by the name of its file."""
    made = {f"learner-{name}": make for name, make in zip(table.IDS, table.MAKERS, strict=True)}
    for name in trackers.names():
        made[f"tracker-{name}"] = partial(trackers.make, name, 0.1, **table.NEEDS[name])
    small = {"window": 5, "history": 4, "max_pending": 6}
    for name in scores.names():
        if name != "user":  # functions of the user's are in no file
            made[f"conformal-{name}"] = partial(OnlineConformal, "magl", name, 0.1, **small)
    made["conformal-levels"] = partial(OnlineConformal, "aci", "signed", [0.1, 0.3], on_unbounded="allow", **small)
    made["conformal-random"] = partial(
        OnlineConformal, "magl-d", scores.RAPS(seed=1, classes=list("abc")), 0.2, **small
    )
    made["conformal-auto"] = partial(OnlineConformal, "auto", "cqr", 0.1, **small)  # with notes of late labels
    made["panel-auto"] = partial(Panel, "auto", alpha=0.1)
    made["panel-flat"] = partial(Panel, "magl", [0.1, 0.3], warm_up=4, epsilon="auto")
    made["panel-objects"] = partial(Panel, "aci", score="signed", on_unbounded="allow")
    made["panel-groups"] = partial(Groups, "magl-d", alpha=0.2)
    made["horizons"] = partial(Horizons, 3, "magl", alpha=0.1, stride=2, **small)
    return made


def inputs(thing, first, last):
    """Gradients or scores of these rounds: sums of a few powers of two, the same on every machine."""
    width = getattr(thing, "dim", None) or 1
    numbers = [(7 * t * t + 3 * t) % 37 / 8 for t in range(first * width, last * width)]
    if not isinstance(thing, learners.Learner):
        return numbers
    return table.shaped(thing, [x - 2.25 for x in numbers]).tolist()


def go_on(thing, given):
    """What the object predicts when it plays these numbers."""
    if not given:
        return []
    if isinstance(thing, Horizons):
        return [table.radius.tolist() for table in thing.run([[x, 0.0, -x] for x in given], [*given, *given], delay=1)]
    if isinstance(thing, (Panel, Groups)):
        ids = [t * t % 3 for t in range(len(given))]
        more = [["a", "b"][t % 2] for t in ids] if isinstance(thing, Groups) else None
        made = thing.run(ids, given, [1.0] * len(given), *([] if more is None else [more]), delay=1)
        return np.where(np.isfinite(made.radius), made.radius, -1.0).tolist()
    if not isinstance(thing, OnlineConformal):
        return thing.run(given).tolist()
    forms = {  # what a model gives, and a label
        "pair": lambda x: ((x, x + 1.0), 2.0),
        "vector": lambda x: ([x, -x], [1.0, 0.5]),
        "labels": lambda x: ([0.5, 0.25, 0.25], int(x) % 3),
        "number": lambda x: (x, 1.5),
    }
    kinds = {
        "CQR": "pair",
        "Normalised": "pair",
        "NormBall": "vector",
        "LAC": "labels",
        "APS": "labels",
        "RAPS": "labels",
    }
    form = forms[kinds.get(type(thing.score).__name__, "number")]
    outputs, y = zip(*map(form, given), strict=True)
    names = getattr(thing.score, "classes", None)
    labels = [None if t % 5 == 3 else y[t] if names is None else names[y[t]] for t in range(len(y))]
    return thing.run(list(outputs), labels, delay=2).radius.tolist()


def main():
    SAVED.mkdir(exist_ok=True)
    expected = loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    for name, make in makers().items():
        path = SAVED / f"{name}.wane"
        if path.exists():
            continue
        thing = make()
        go_on(thing, inputs(thing, 0, ROUNDS))
        then = inputs(thing, ROUNDS, ROUNDS + MORE)
        expected[name] = {"inputs": then, "predictions": go_on(copy.deepcopy(thing), then)}
        lines = (f"{dumps(k)}: {dumps(entry)}" for k, entry in sorted(expected.items()))
        EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        save(path, thing)  # last: without it the next run writes both
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    warnings.simplefilter("ignore", trackers.CoverageWarning)
    main()
