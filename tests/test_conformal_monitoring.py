"""What `OnlineConformal` says of itself: metrics of the played record, alarms, explanations."""

import numpy as np
import pytest
from conformal_cases import SMALL, Scripted, data, plain, steps
from hypothesis import given, settings
from hypothesis import strategies as st

from wane import OnlineConformal
from wane.conformal import Alarm
from wane.errors import IdError

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), delay=st.integers(0, 3))
def test_metrics_of_the_played_record(seed, delay):
    outputs, y = data("absolute", 60, seed)
    oc = OnlineConformal("magl", alpha=(0.1, 0.4), **SMALL)
    table = oc.run(outputs, y, delay)
    learned = np.flatnonzero(~np.isnan(y[: 60 - delay]))
    for i, a in enumerate(oc.alpha):
        m = oc.metrics()[a]
        hits, widths = table.covered[learned, i], 2.0 * table.radius[learned, i]  # the width is not shown at first
        local = np.convolve(hits, np.ones(4), "valid") / 4
        assert (m.rounds, m.coverage, m.local_coverage) == (len(hits), hits.mean(), hits[-4:].mean())
        assert (m.worst_local_coverage, m.worst_round) == (local.min(), 3 + local.argmin())
        assert m.width == pytest.approx(widths.mean()) and m.local_width == pytest.approx(widths[-4:].mean())
        assert m.coverage_error == pytest.approx((1.0 - hits).sum() - a * len(hits))
        assert m.pending == len(oc.pending()) and m.expired == oc.expired
        assert 60 == m.rounds + m.pending + m.expired


def test_the_coverage_bound_or_the_reason_why_there_is_none():
    def metrics(*arguments, **more):
        oc = OnlineConformal(*arguments, **more)
        oc.run(np.zeros(50), np.arange(50.0) % 5)
        return oc, oc.metrics()

    oc, m = metrics("magl", alpha=0.1)
    assert m.no_bound is None and abs(m.coverage_error) <= m.coverage_bound == oc.trackers[0].coverage_bound()
    for arguments in (("aci", "absolute", 0.1), ("magl", "signed", 0.1), ("magl", "one-sided", 0.1)):
        _, m = metrics(*arguments, on_unbounded="allow")
        assert m.coverage_bound is None and ("there is a bound for auto" in m.no_bound or "lemmas" in m.no_bound)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), delay=st.integers(0, 3))
def test_alarms_of_a_replay_are_those_of_its_steps(seed, delay):
    outputs, y = data("absolute", 80, seed)
    heard = [], []
    more = {"alpha": (0.3, 0.1), "band": (0.5, 0.9), **SMALL}
    a, b = (OnlineConformal("magl", on_alarm=said.append, **more) for said in heard)
    steps(a, outputs, y, delay)
    b.run(outputs, y, delay)
    assert heard[0] == heard[1] and plain(a) == plain(b)


def test_an_alarm_once_when_coverage_leaves_its_band():
    """Radii of 1, so scores of 2 are misses: an alarm where 4 labels hold the third, and none while it stays so."""
    heard = []
    script = Scripted(0.5, [1.0])
    oc = OnlineConformal(script, window=4, band=(0.5, 0.75), on_alarm=heard.append)
    for y in [0.0, 2.0, 0.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]:
        oc.update(oc.predict(0.0).id, y)
    assert heard == [Alarm(4, 4, 0.5, "low", 0.25, (0.5, 0.75)), Alarm(11, 11, 0.5, "high", 1.0, (0.5, 0.75))]


def test_an_alarm_may_raise_and_its_label_is_learned():
    def shout(alarm):
        raise RuntimeError(alarm.side)

    quiet = OnlineConformal("magl", alpha=0.1, window=1, band=(0.5, 2.0))
    a, b = (OnlineConformal("magl", alpha=0.1, window=1, band=(0.5, 2.0), on_alarm=shout) for _ in range(2))
    with pytest.raises(RuntimeError, match="low"):
        a.update(a.predict(0.0).id, 5.0)
    with pytest.raises(RuntimeError, match="low"):
        b.run([0.0], [5.0])
    quiet.run([0.0], [5.0])
    assert plain(a) == plain(b) == plain(quiet) and a.metrics().rounds == 1


def test_explanations():
    oc = OnlineConformal("magl", alpha=(0.1, 0.4), history=2)
    oc.run(np.zeros(30), np.arange(30.0) % 4)
    p, q = oc.predict(1.0), oc.predict(2.0)
    assert oc.explain(p.id).status == "waiting" and "waiting" in str(oc.explain(p.id))
    before = tuple(t.predict() for t in oc.trackers)
    oc.update(p.id, 1.5)
    e = oc.explain(p.id)
    assert (e.status, e.radius, e.score, e.waited) == ("labelled", p.radius, 0.5, 1)
    assert e.before == before and e.after == tuple(t.predict() for t in oc.trackers) != before
    assert e.covered == tuple(r > 0.5 for r in p.radius) and "1 predictions later" in str(e)
    oc.expire(q.id)
    assert oc.explain(q.id).status == "expired" and oc.explain(q.id).radius == q.radius
    with pytest.raises(IdError, match="history keeps 2"):
        oc.explain(0)
    with pytest.raises(IdError, match="no prediction has the id 'x'"):
        oc.explain("x")
    assert isinstance(IdError("x"), KeyError) and isinstance(IdError("x"), ValueError) and str(IdError("x")) == "x"
