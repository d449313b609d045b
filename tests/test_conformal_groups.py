"""Groups of an ``OnlineConformal``: each is covered as asked, however they overlap, and nothing else changes."""

import json

import numpy as np
import pytest

import wane
from wane.conformal import ManySeries
from wane.conformal.grouping import Cuts, Grouping
from wane.metrics import group_coverage, worst_group
from wane.serve.answers import Lines
from wane.state.journal import Journal
from wane.state.one_step import in_one_step
from wane.trackers import Grouped, make

ALPHA = 0.1
KINDS = ["weekday", "region", wane.Quantiles("size", 3)]


def world(rounds, seed=0):
    """Forecasts, true values, and groups on which the errors depend."""
    rng = np.random.default_rng(seed)
    day, region = np.arange(rounds) % 7, rng.integers(3, size=rounds)
    forecast = rng.normal(size=rounds) * 10.0
    spread = (1.0 + (day == 6) * 3.0) * (0.5 + region) * (1.0 + 2.0 * (forecast > 4.0))
    names = np.array(["north", "south", "west"])[region]
    return forecast, forecast + spread * rng.normal(size=rounds), {"weekday": day, "region": names, "size": forecast}


def row(groups, t):
    """The groups of one round."""
    return {name: values[t] for name, values in groups.items()}


def test_every_group_comes_to_its_target():
    outputs, y, groups = world(6000)
    with_groups = wane.OnlineConformal("magl", alpha=ALPHA, epsilon=3.0, groups=KINDS)
    table = with_groups.run(outputs, y, groups=groups)
    alone = wane.OnlineConformal("magl", alpha=ALPHA, epsilon=3.0).run(outputs, y)
    found = with_groups.group_metrics()
    assert len(found) == 7 + 3 + 3 and sum(g.labels for g in found) == 3 * 6000
    assert all(abs(g.coverage - 0.9) < 0.04 and abs(g.error) <= g.bound for g in found)
    # The metrics of arrays say the same, and that the groups of the method alone are far off.
    known = {name: values.tolist() for name, values in groups.items() if name != "size"}
    counted = {g.name: g.misses for g in group_coverage(table.covered, known, ALPHA)}
    assert counted == {g.name: g.misses for g in found if g.column != "size"}
    assert abs(worst_group(group_coverage(alone.covered, known, ALPHA)).coverage - 0.9) > 0.1


@pytest.mark.parametrize("alpha", [0.1, (0.3, 0.1)])
@pytest.mark.parametrize("score", ["absolute", "signed"])
@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("method", ["magl", "auto"])
def test_a_batch_is_its_steps(method, delay, score, alpha):
    outputs, y, groups = world(150)
    batch, step = (wane.OnlineConformal(method, score, alpha, groups=KINDS) for _ in range(2))
    table = batch.run(outputs, y, delay=delay, groups=groups)
    radii, ids = [], []
    for t in range(len(y)):
        p = step.predict(outputs[t], groups=row(groups, t))
        assert step.preview(outputs[t], groups=row(groups, t)).id is None
        radii.append(p.radius)
        ids.append(p.id)
        if t >= delay:
            step.update(ids[t - delay], y[t - delay])
    assert np.asarray(radii).tobytes() == table.radius.tobytes()
    assert json.dumps(batch.state_dict()) == json.dumps(step.state_dict())
    assert batch.group_metrics() == step.group_metrics()


def test_a_label_teaches_the_groups_of_its_own_round():
    oc = wane.OnlineConformal("magl", alpha=ALPHA, groups=["day"])
    first, second = oc.predict(0.0, groups={"day": "mo"}), oc.predict(0.0, groups={"day": "tu"})
    oc.update(second.id, 5.0)
    assert [(g.value, g.labels) for g in oc.group_metrics()] == [("mo", 0), ("tu", 1)]
    oc.update(first.id, 5.0)
    assert [(g.value, g.labels) for g in oc.group_metrics()] == [("mo", 1), ("tu", 1)]


def test_a_new_group_borrows_from_the_whole():
    outputs, y, groups = world(800)
    oc = wane.OnlineConformal(make("magl", ALPHA, epsilon=3.0), groups=["weekday"])
    oc.run(outputs, y, groups={"weekday": groups["weekday"]})
    nobody, new = (oc.preview(0.0, groups={"weekday": day}).radius for day in (None, "holiday"))
    assert nobody == new > 0.0
    assert {g.value for g in oc.group_metrics()} == set(range(7))  # a preview makes no group


def test_its_state_is_data_and_goes_on():
    outputs, y, groups = world(300)
    whole, half = (wane.OnlineConformal(alpha=ALPHA, groups=KINDS) for _ in range(2))
    part = [{k: v[s] for k, v in groups.items()} for s in (slice(0, 150), slice(150, 300))]
    expected = whole.run(outputs, y, delay=2, groups=groups)
    half.run(outputs[:150], y[:150], delay=2, groups=part[0])
    half = wane.OnlineConformal.from_state_dict(json.loads(json.dumps(half.state_dict())))
    late = {i: y[i] for i in half.pending()}
    rest = half.run(outputs[150:], y[150:], delay=2, late=late, groups=part[1])
    assert rest.radius.tobytes() == expected.radius[150:].tobytes()
    assert json.dumps(half.state_dict()) == json.dumps(whole.state_dict())


def test_after_an_error_everything_is_as_before():
    outputs, y, groups = world(60)
    oc = wane.OnlineConformal("magl", alpha=ALPHA, groups=KINDS)
    oc.run(outputs[:40], y[:40], groups={k: v[:40] for k, v in groups.items()})
    before = json.dumps(oc.state_dict())
    others = {"weekday": ["new"] * 60, "region": ["other"] * 60, "size": outputs}
    for wrong in (
        lambda: oc.run(outputs, np.append(y[:-1], np.inf), groups=others),
        lambda: oc.run(outputs, y, groups={**others, "size": ["large"] * 60}),
        lambda: oc.run(outputs, y, groups={**others, "region": ["other"]}),
        lambda: oc.run(outputs, y),
        lambda: oc.predict("text", groups=row(others, 0)),
        lambda: oc.predict(0.0, groups={"weekday": 1}),
        lambda: oc.predict(0.0, groups={"weekday": [1], "region": "a", "size": 1.0}),
    ):
        with pytest.raises((ValueError, TypeError)):
            wrong()
        assert json.dumps(oc.state_dict()) == before
    with pytest.raises(ValueError, match="without groups"):
        wane.OnlineConformal("magl", alpha=ALPHA).predict(0.0, groups={"day": 1})
    with pytest.raises(ValueError, match="without groups"):
        wane.OnlineConformal("magl", alpha=ALPHA).group_metrics()


def test_a_damaged_state_is_refused():
    outputs, y, groups = world(60)
    oc = wane.OnlineConformal("magl", alpha=ALPHA, groups=KINDS)
    oc.run(outputs, y, groups=groups)
    for damage in (
        lambda s: s["parameters"]["groups"]["groups"].pop(),
        lambda s: s["parameters"]["groups"]["groups"].append(s["parameters"]["groups"]["groups"][0]),
        lambda s: s["parameters"]["groups"]["recent"].clear(),
        lambda s: s["parameters"]["tracker"][0]["parameters"]["groups"].pop(),
        lambda s: s["parameters"]["tracker"][0]["memory"]["table"][1].__setitem__(0, -1.0),
    ):
        state = json.loads(json.dumps(oc.state_dict()))
        damage(state)
        with pytest.raises(ValueError):
            wane.OnlineConformal.from_state_dict(state)


def test_many_series_a_journal_and_lines_take_groups(tmp_path):
    with Journal(tmp_path / "j", lambda: ManySeries("magl", alpha=ALPHA, groups=["day"])) as journal:
        lines = Lines(journal)
        asked = {"op": "predict", "output": 1.0, "id": "a", "series": "s", "groups": {"day": "mo"}}
        assert lines.answer(asked)["ok"] and lines.answer({"op": "label", "id": "a", "y": 3.0, "series": "s"})["ok"]
        assert lines.answer({**asked, "id": "b", "groups": None})["error"]["kind"] == "value"
        before = journal.object["s"].state_dict()
    with Journal(tmp_path / "j") as again:
        assert again.object["s"].state_dict() == before
        assert [(g.name, g.labels) for g in again.object["s"].group_metrics()] == [("day mo", 1)]


def test_how_columns_are_named():
    for wrong in (3, [], ["a", "a"], ["a", 3], ["everything"]):
        with pytest.raises((ValueError, TypeError), match="groups"):
            Grouping(wrong)
    with pytest.raises(ValueError, match="parts"):
        wane.Quantiles("size", 1)
    assert Grouping("day").names == ("day",)
    own = wane.OnlineConformal(Grouped(make("magl", ALPHA), epsilon=0.5, kinds=1), groups=["day"])
    assert own.trackers[0].epsilon == 0.5 and own.trackers[0].base.alpha == ALPHA


def test_cuts_hold_as_many_values_each():
    rng, cuts = np.random.default_rng(0), Cuts(4)
    parts = []
    for x in rng.exponential(size=3000):
        parts.append(cuts.part(x))
        in_one_step(*cuts.adding(x))
    _, counts = np.unique(parts[500:], return_counts=True)
    assert len(counts) == 4 and counts.min() > 0.9 * 625
