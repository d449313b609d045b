"""A preview is the prediction that would come next, and leaves no trace."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wane

PROBABILITIES = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.3, 0.4, 0.3]]
KINDS = {
    "absolute": ([0.0, 1.0, -2.0], [0.5, 3.0, -1.0]),
    "signed": ([0.0, 1.0, -2.0], [0.5, 3.0, -1.0]),
    "cqr": ([(0.0, 1.0), (1.0, 0.5), (-2.0, 2.0)], [0.5, 3.0, -1.0]),
    "lac": (PROBABILITIES, [0, 2, 1]),
    "random": (PROBABILITIES, [0, 2, 1]),
}


@settings(max_examples=60)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    alpha=st.sampled_from([0.1, (0.4, 0.1)]),
    labelled=st.lists(st.booleans(), max_size=12),
)
def test_a_preview_is_the_next_prediction_and_changes_nothing(kind, alpha, labelled):
    score = wane.scores.APS(seed=3, allow_empty=False) if kind == "random" else kind
    oc = wane.OnlineConformal("magl", score, alpha)
    outputs, labels = KINDS[kind]
    for t, known in enumerate(labelled):
        before = json.dumps(oc.state_dict())
        shown = oc.preview(outputs[t % 3])
        assert json.dumps(oc.state_dict()) == before and shown.id is None
        p = oc.predict(outputs[t % 3])
        assert (shown.alpha, shown.sets, shown.radius, shown.cold) == (p.alpha, p.sets, p.radius, p.cold)
        if known:
            oc.update(p.id, labels[t % 3])


def test_what_cannot_be_predicted_cannot_be_previewed():
    oc = wane.OnlineConformal("split", alpha=0.1)
    with pytest.raises(wane.errors.UnboundedError):
        oc.preview(0.0)
    with pytest.raises(ValueError, match="finite"):
        oc.preview(np.nan)
    assert oc.predictions == 0
