"""The learner and the tracker that CONTRIBUTING.md shows are made as printed there and keep the contract."""

import json
import re
import sys
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest

from wane import OnlineConformal, Panel
from wane.learners import Centered, Learner, load
from wane.trackers import load as load_tracker
from wane.trackers import make
from wane.trackers.registry import METHODS

TEXT = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text()


@pytest.fixture(scope="module")
def module():
    """All Python blocks, in a module of their own."""
    blocks = re.findall(r"^( *)```python\n(.*?)^ *```", TEXT, flags=re.S | re.M)
    made = types.ModuleType("shown_in_contributing")
    sys.modules[made.__name__] = made
    for _, block in blocks:
        exec(compile(textwrap.dedent(block), "CONTRIBUTING.md", "exec"), vars(made))
    yield made
    del METHODS["staircase"]


@pytest.fixture(scope="module")
def shown(module):
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


@pytest.mark.parametrize("published", [False, True])
def test_the_tracker_keeps_the_contract(module, published):
    scores = np.abs(np.random.default_rng(1).normal(size=400)).round(1)
    batch, steps = (make("staircase", 0.1, step=0.5, published=published) for _ in range(2))
    assert batch.tie == ("covered" if published else "miss") and make("staircase", 0.1, tie="miss").tie == "miss"
    want = []
    for x in scores:
        want.append(steps.predict())
        steps.update(x)
    assert batch.run(scores).tolist() == want and abs((np.array(want) <= scores)[100:].mean() - 0.1) < 0.03
    again = load_tracker(json.loads(json.dumps(batch.state_dict())))
    assert type(again) is module.Staircase and again.predict() == batch.predict() and again.rounds == 400
    again.update(0.0, radius=np.inf)  # late, and covered
    assert again.q == batch.q - 0.5 * 0.1
    with pytest.raises(ValueError, match="step must be"):
        make("staircase", 0.1, step=-1.0)
    with pytest.raises(TypeError, match="has no setting 'rate'") as caught:
        make("staircase", 0.1, rate=1.0)
    assert caught.value.argument == "rate" and caught.value.cure


def test_the_tracker_is_a_method(module):
    oc = OnlineConformal("staircase", alpha=0.1)
    table = oc.run([0.0] * 50, [1.0] * 50)
    made = Panel("staircase", alpha=0.1).run([3] * 50, [0.0] * 50, [1.0] * 50)
    assert table.radius.tolist() == made.radius.tolist() == make("staircase", 0.1).run([1.0] * 50).tolist()


def test_what_the_guide_prints():
    """The comments beside its calls are what they print."""
    assert "[0.   0.45 0.9 ]" in TEXT and str(np.array([0.0, 0.45, 0.9])) == "[0.   0.45 0.9 ]"
