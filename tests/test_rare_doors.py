"""Arguments that nobody should give: every one is refused at once, in words, and changes nothing."""

import json

import numpy as np
import pytest

import wane
from wane import conformal, domains, learners, scores, streams, theory, trackers
from wane.errors import WaneError

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


def conformal_object(**settings):
    return wane.OnlineConformal("magl", alpha=0.1, **settings)


DOORS = {
    "one step": lambda: trackers.make("faci", 0.1, gammas=0.5),
    "text in an interval": lambda: "x" in conformal_object().predict(1.0),
    "no panel": lambda: wane.panel.run({"y": [1.0], "f": [1.0]}, y="y", y_hat="f", panel=False),
    "labels without rounds": lambda: streams.LabelStream("s", np.float64(3.0), np.float64(1.0)),
    "no largest score": lambda: trackers.make("sf-ogd", 0.1, max_score=[]),
    "a huge largest score": lambda: trackers.make("sf-ogd", 0.1, max_score=2**2000),
    "an id that is a list": lambda: conformal_object().explain([1]),
    "a name that is a list": lambda: conformal.ManySeries("magl", alpha=0.1).predict(0.0, series=[1]),
    "a time that is a list": lambda: wane.Horizons(2, "magl", alpha=0.1).update([1], 0.0),
    "one forecast": lambda: wane.Horizons(2, "magl", alpha=0.1).predict(1.0),
    "one id": lambda: wane.Panel("magl").predict(1, [1.0]),
    "a large window": lambda: conformal_object(window=2**31),
    "a window beyond C": lambda: conformal_object(window=2**70),
    "a delay beyond C": lambda: wane.Panel("magl").run([1], [1.0], [1.0], delay=2**70),
    "a delay": lambda: conformal_object().run([1.0], [1.0], delay=2**70),
    "too many that wait": lambda: conformal_object(max_pending=2**70),
    "too long a history": lambda: conformal_object(history=2**70),
    "a monitor's window": lambda: conformal.Monitor(0.1, 2**40),
    "scores to keep": lambda: trackers.make("trailing-window", 0.1, window=2**40),
    "scores of a range": lambda: trackers.make("pid", 0.1, window=2**70),
    "too many steps": lambda: wane.Horizons(2**40, "magl", alpha=0.1),
    "too many rounds": lambda: streams.severities(rounds=2**64),
    "an array for a number": lambda: conformal_object(window=np.ones(3, dtype=int)),
    "a class for a number": lambda: conformal_object(window=int),
    "a file that is open": lambda: wane.load(1),
    "a journal that is open": lambda: wane.Journal(1, conformal_object),
    "a stream that is open": lambda: streams.read(1),
    "no folder": lambda: wane.load("."),
    "several names": lambda: trackers.make(["magl"], 0.1),
    "an array for a name": lambda: wane.Panel(np.ones(3)),
    "an array for a rule": lambda: trackers.make("magl", 0.1, on_missing=np.array(["error", "skip"])),
    "text for a flag": lambda: trackers.make("aci", 0.1, clip="no"),
    "an array for a flag": lambda: scores.APS(allow_empty=np.zeros(2)),
    "an array for a norm": lambda: scores.NormBall(np.ones(2)),
    "an array for a side": lambda: scores.OneSided(np.array(["upper", "lower"])),
    "an array for a level": lambda: conformal_object().predict(1.0)[np.ones(2)],
    "rows that differ": lambda: wane.Horizons(2, "magl", alpha=0.1).run([[1.0], [2.0, 3.0]], [1.0, 2.0]),
    "too large a space": lambda: learners.MultiscaleLearner(2**31),
    "a space beyond C": lambda: learners.AdaptiveLearner(2**70),
    "text for a start": lambda: learners.GradientDescent(0.1, dim=2, start=["a", "b"]),
    "a space that is a list": lambda: domains.Box(0.0, 1.0).diameter_in([2]),
    "too long a drift": lambda: theory.DriftingTarget(2**31),
    "too many stages": lambda: theory.FibonacciAdversary(2**31),
    "text for a round": lambda: theory.covering("x", 3),
    "no function": lambda: theory.strongly_adaptive_bound(0, 3, 1.0, 1.0, 0.5),
    "one level": lambda: theory.nested_coverage_bounds(0.1, [1.0], 1.0),
    "a bet on text": lambda: theory.portfolio_bet("x", 1, 0.1),
    "too small a tolerance": lambda: theory.target_rate_rounds(0.1, 1e-300, 1.0),
    "shapes that differ": lambda: theory.potential(np.ones(2), np.ones(3), 1.0),
    "too many weights": lambda: theory.weights(0.9, 2**62),
    "too many uniforms": lambda: scores.uniforms(0, 0, 2**62),
    "a group that is a list": lambda: wane.panel.Groups("magl").predict(["a"], [0.0], [[1]]),
    "one group": lambda: trackers.Grouped(0.1, groups=np.int64(3)),
    "groups that are lists": lambda: trackers.Grouped(0.1, groups=[["a"]]),
    "one id for all rounds": lambda: conformal_object().run([1.0], [1.0], ids=0.5),
    "bounds that are an array": lambda: wane.Panel("magl").summary(bounds=np.array([1, 2])),
    "no axes": lambda: conformal_object().predict(0.0).plot(ax={}),
    "groups of a list": lambda: wane.panel.Groups("pool").update([[1]], [0.0]),
}


@pytest.mark.parametrize("door", DOORS)
def test_refused_in_words(door):
    with pytest.raises(WaneError) as caught:
        DOORS[door]()
    assert caught.value.argument


def test_an_id_may_be_larger_than_any_count():
    oc = conformal_object()
    oc.predict(0.0, id=2**80)
    again = wane.OnlineConformal.from_state_dict(json.loads(json.dumps(oc.state_dict())))
    assert again.next_id == 2**80 + 1
