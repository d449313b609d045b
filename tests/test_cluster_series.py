"""One series as bytes: what a stream keeps is enough to make the intervals of ``OnlineConformal``, bit for bit."""

import numpy as np
import pytest

from wane import OnlineConformal
from wane.errors import InputError, InputTypeError
from wane.panel.one_series import OneSeries


@pytest.mark.parametrize(
    "given",
    [{"method": "auto"}, {"method": "magl", "alpha": (0.3, 0.1)}, {"method": "magl-d", "score": "signed"},
     {"method": "magl", "score": "cqr"}, {"method": "p-control", "score": "absolute"}],
    ids=str,
)  # fmt: skip
def test_a_series_that_is_written_and_read_at_every_step_is_that_of_one_machine(given):
    rng, settings = np.random.default_rng(0), {"alpha": 0.1, "score": "absolute", **given}
    parts = 2 if settings["score"] == "cqr" else 1
    player = OneSeries(**settings)
    oc = OnlineConformal(settings["method"], **{k: v for k, v in settings.items() if k != "method"})
    state, waiting, names = None, {}, player.columns
    for t in range(200):
        made, last = player.read(state)
        outputs = sorted(rng.normal(size=parts).tolist())
        shown, waiting[t] = player.predict(outputs, made)
        p = oc.predict(outputs[0] if parts == 1 else tuple(outputs), id=t)
        ends = [shown[i : i + 2] for i in range(0, names - 1, (names - 1) // len(oc.alphas))]
        wanted = list(zip(p.lower, p.upper, strict=True)) if isinstance(p.lower, tuple) else [(p.lower, p.upper)]
        assert shown[-1] or np.array_equal(ends, wanted)
        for late in rng.permutation(list(waiting))[: rng.integers(0, 3)].tolist():
            y = float(rng.normal())
            player.learn(waiting.pop(late), y)
            oc.update(late, y)
        state = player.write(made + 1, last)
    with pytest.raises(InputError, match="made with other settings"):
        OneSeries("magl", alpha=0.2).read(state)


def test_settings_that_no_stream_has_are_refused():
    for given, match in (({"method": "pool"}, "learns from all series"), ({"method": "aci"}, "no fixed size")):
        with pytest.raises((InputError, InputTypeError), match=match):
            OneSeries(**given)
