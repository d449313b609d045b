"""The learner that CONTRIBUTING.md shows is a learner: it is made as printed there and keeps the contract."""

import json
import re
import sys
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest

from wane.learners import Centered, Learner, load

TEXT = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text()


@pytest.fixture(scope="module")
def shown():
    """The class of the first Python block, in a module of its own."""
    block = textwrap.dedent(re.findall(r"^ *```python\n(.*?)^ *```", TEXT, flags=re.S | re.M)[0])
    module = types.ModuleType("shown_in_contributing")
    sys.modules[module.__name__] = module
    exec(compile(block, "CONTRIBUTING.md", "exec"), vars(module))
    return module.NormalizedDescent


def test_it_learns(shown):
    learner = shown(rate=0.5)
    assert isinstance(learner, Learner) and learner.run([-3.0, -1.0, 2.0]).tolist() == [0.0, 0.5, 1.0]
    assert repr(learner) == "NormalizedDescent(rate=0.5, discount=1.0)"


def test_it_keeps_the_contract(shown):
    g = np.random.default_rng(0).normal(size=50)
    batch, steps = shown(discount=0.9), shown(discount=0.9)
    want = []
    for x in g:
        want.append(steps.predict())
        steps.update(x)
    assert batch.run(g).tolist() == want
    again = load(json.loads(json.dumps(batch.state_dict())))
    assert type(again) is shown and again.predict() == batch.predict()
    batch.reset()
    assert batch.predict() == 0.0
    with pytest.raises(ValueError, match="gradient must be finite"):
        again.update(np.nan)
    assert Centered(shown(), 2.0).run([-1.0, 1.0]).tolist() == [2.0, 2.1]
