"""Arguments that nobody should give: every one is refused at once, in words, and changes nothing."""

import importlib.util
import json
import signal
from pathlib import Path

import numpy as np
import pytest

import wane
from wane import conformal, streams, trackers
from wane.errors import WaneError

TOOL = Path(__file__).parent.parent / "tools" / "torture" / "hostile_calls.py"
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


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers that interrupt")
def test_hostile_calls_change_nothing_and_do_not_hang(capsys):
    spec = importlib.util.spec_from_file_location("hostile_calls", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    counts = module.main(seconds=5.0, seed=1)
    assert counts["calls"] > 50 and counts["changed states"] == counts["hung"] == 0, capsys.readouterr().out
