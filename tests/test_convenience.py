"""What people type: arrays of one, frames with names, predictions instead of ids, levels by subtraction."""

import datetime
import decimal
import json
import warnings

import numpy as np
import pytest

import wane
from wane.scores import APS, LAC, UserScore


def test_a_model_gives_an_array_of_one():
    a, b = (wane.OnlineConformal("magl", alpha=0.1) for _ in range(2))
    for y in np.random.default_rng(0).normal(size=60):
        a.update(a.predict(np.array([0.5])), np.array([[y]]))
        b.update(b.predict(0.5).id, y)
    assert json.dumps(a.state_dict()) == json.dumps(b.state_dict())
    table = wane.OnlineConformal("magl", alpha=0.1).run(np.full((60, 1), 0.5), np.zeros((60, 1)))
    assert len(table) == 60 and "60 rounds" in repr(table)
    classifier = wane.OnlineConformal("magl", LAC(), alpha=0.1)
    classifier.update(classifier.predict(np.array([[0.2, 0.8]])), np.array([1]))
    with pytest.raises(TypeError, match="one real number"):
        a.predict(np.array([1.0, 2.0]))


def test_indexes_of_pandas_must_agree():
    pd = pytest.importorskip("pandas")
    x, y = pd.Series([1.0, 2.0, 3.0]), pd.Series([3.0, 1.0, 2.0], index=[2, 0, 1])
    oc = wane.OnlineConformal("magl", alpha=0.1)
    before = json.dumps(oc.state_dict())
    for call in (oc.run, oc.warm_start):
        with pytest.raises(ValueError, match="align"):
            call(x, y)
    assert json.dumps(oc.state_dict()) == before
    assert not oc.run(x, y.sort_index()).score.any()


def test_columns_are_taken_by_the_names_of_the_classes():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"b": [0.9, 0.2], "a": [0.1, 0.8]})
    score = LAC(classes=["a", "b"])
    np.testing.assert_array_equal(score.outputs(frame), [[0.1, 0.9], [0.8, 0.2]])
    np.testing.assert_array_equal(score.output(frame.iloc[0]), [0.1, 0.9])
    np.testing.assert_array_equal(score.outputs(pd.DataFrame([[0.1, 0.9]])), [[0.1, 0.9]])  # columns 0, 1
    with pytest.raises(ValueError, match="rename"):
        score.outputs(frame.rename(columns={"a": "c"}))
    oc = wane.OnlineConformal("magl", alpha=0.1)
    oc.update(oc.predict(1.0), 2.0)
    p = oc.predict(1.0)
    with pytest.raises(ValueError, match="y is missing"):
        oc.update(p, pd.NA)


def test_functions_that_do_not_belong_together_are_reported_once():
    for replay in (False, True):
        oc = wane.OnlineConformal(
            "magl", UserScore(lambda m, y: abs(y - m), lambda m, r: (m - r / 10, m + r / 10)), 0.1
        )
        with pytest.warns(UserWarning, match="disagree") as said:
            if replay:
                oc.run(np.zeros(300), np.random.default_rng(0).normal(size=300))
            else:
                for y in np.random.default_rng(0).normal(size=300):
                    oc.update(oc.predict(0.0), y)
        assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        good = wane.OnlineConformal("magl", UserScore(lambda m, y: abs(y - m), lambda m, r: (m - r, m + r)), 0.1)
        table = good.run(np.zeros(300), np.random.default_rng(0).normal(size=300))
    np.testing.assert_array_equal(table.upper, table.radius)


def test_a_replay_tells_the_labels_in_each_set():
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(4), size=50), rng.integers(0, 4, size=50)
    for alpha in (0.2, [0.1, 0.4]):
        table = wane.OnlineConformal("magl", APS(seed=1), alpha).run(p, y)
        steps = wane.OnlineConformal("magl", APS(seed=1), alpha)
        for t in range(50):
            made = steps.predict(p[t])
            sets = made.sets if alpha != 0.2 else [made.set]
            rows = table.members[t] if alpha != 0.2 else table.members[t][None]
            assert [set(s.labels) for s in sets] == [set(np.flatnonzero(row)) for row in rows]
            steps.update(made, y[t])
        np.testing.assert_array_equal(table.members.sum(axis=-1), table.width)
    assert wane.OnlineConformal("magl", alpha=0.1).run([0.0], [1.0]).members is None


def test_coverage_and_levels_by_subtraction():
    assert wane.OnlineConformal("magl", coverage=0.9).alpha == 0.1
    p = wane.OnlineConformal("magl", coverage=[0.95, 0.8]).predict(0.0)
    assert p.alpha == (0.05, 0.2) and p[1 - 0.95] is p[0.05] is p.sets[0]
    with pytest.raises(KeyError, match="there are"):
        p[0.3]
    with pytest.raises(TypeError, match="iterable"):
        list(p)
    with pytest.raises(TypeError, match="alpha="):
        wane.OnlineConformal("magl", 0.1)


def test_numpys_times_are_ids():
    oc = wane.OnlineConformal("magl", alpha=0.1)
    moment = np.datetime64("2026-03-01T12:00", "ns")
    assert oc.predict(0.0, id=moment).id == datetime.datetime(2026, 3, 1, 12)
    oc.update(datetime.datetime(2026, 3, 1, 12), 1.0)
    with pytest.raises(TypeError, match="can be saved"):
        oc.predict(0.0, id=moment + np.timedelta64(1, "ns"))


def test_late_must_be_a_dict_of_the_last_predictions():
    oc = wane.OnlineConformal("magl", alpha=0.1)
    y = np.zeros(50)
    y[5] = np.nan
    oc.run(np.zeros(50), y, delay=20)
    assert len(oc.pending()) == 21
    with pytest.raises(ValueError, match=r"pending\(\)\[-delay:\]"):
        oc.run(np.zeros(5), np.zeros(5), delay=20, late=dict.fromkeys(oc.pending(), 1.0))
    with pytest.raises(TypeError, match="dict"):
        oc.run(np.zeros(5), np.zeros(5), delay=20, late=[1.0])


def test_alarms_name_their_prediction_and_pause():
    """Coverage that hovers at the edge of its band gives one alarm in each window of labels."""
    heard = []
    oc, again = (wane.OnlineConformal("magl", alpha=0.5, window=4, band=(0.5, 1.0)) for _ in range(2))
    oc.on_alarm = heard.append
    replayed = []
    again.on_alarm = replayed.append
    scores = np.abs(np.random.default_rng(0).normal(size=400))
    for t, y in enumerate(scores):
        oc.update(oc.predict(0.0, id=f"order {t}"), y)
    again.run(np.zeros(400), scores, ids=[f"order {t}" for t in range(400)])
    assert replayed == heard and len(heard) > 5
    rounds = [alarm.round for alarm in heard]
    assert min(np.diff(rounds)) >= 4 and [alarm.id for alarm in heard] == [f"order {t}" for t in rounds]
    assert oc.metrics().band == (0.5, 1.0) and json.dumps(oc.state_dict()) == json.dumps(again.state_dict())


def test_horizons_with_times_of_your_own():
    start = datetime.datetime(2026, 1, 1)
    times = [start + datetime.timedelta(hours=h) for h in range(33)]
    rng = np.random.default_rng(0)
    forecasts, y = rng.normal(size=(30, 3)), rng.normal(size=33)
    named, counted = (wane.Horizons(3, "magl", alpha=0.1) for _ in range(2))
    for a, b in zip(named.run(forecasts, y, times=times), counted.run(forecasts, y), strict=True):
        np.testing.assert_array_equal(a.radius, b.radius)
    assert set(named.pending()) == {times[tau] for tau in counted.pending()}
    assert named.update(times[31], 0.5) == counted.update(31, 0.5) == 2
    assert {h: e.status for h, e in named.explain(times[31]).items()} == {2: "labelled", 3: "labelled"}
    with pytest.raises(wane.IdError, match="no prediction"):
        named.explain("never")
    with pytest.raises(ValueError, match="33 of them"):
        wane.Horizons(3, "magl", alpha=0.1).run(forecasts, y, times=times[:-1])


def test_horizons_warm_up_step_by_step():
    rng = np.random.default_rng(0)
    forecasts, y = rng.normal(size=(40, 2)), rng.normal(size=50)
    hz = wane.Horizons(2, "magl", alpha=0.1, epsilon="auto", stride=1)
    hz.warm_start(forecasts, y)
    for h, oc in enumerate(hz.steps, 1):
        tracker = wane.trackers.make("magl", 0.1, epsilon="auto")
        tracker.warm_start(np.abs(y[h : h + 40] - forecasts[:, h - 1]))
        assert oc.trackers[0].predict() == tracker.predict()
    assert hz.pending() == [] and hz.time == 0


def test_unknown_ids_are_told_at_once_and_kept_out_of_the_state():
    oc = wane.OnlineConformal("magl", alpha=0.1)
    oc.predict(0.0, id=10**18)
    for unknown in ("typo", 0.5, 3, 10**18 + 7):
        with pytest.raises(wane.IdError, match="no prediction has the id"):
            oc.update(unknown, 1.0)
    for bad in (decimal.Decimal(10**18), [1], {}):
        with pytest.raises(TypeError, match="an id can be saved"):
            oc.update(bad, 1.0)
    assert oc.pending() == [10**18]


def test_one_discount_is_that_of_late_labels_too():
    y = np.abs(np.random.default_rng(0).normal(size=200))
    whole, halves = (wane.OnlineConformal("magl-d", alpha=0.1, discount=0.9999) for _ in range(2))
    radii = whole.run(np.zeros(200), y, delay=5, discounts=0.99).radius
    first = halves.run(np.zeros(100), y[:100], delay=5, discounts=0.99).radius
    late = {i: y[i] for i in halves.pending()}
    second = halves.run(np.zeros(100), y[100:], delay=5, discounts=0.99, late=late).radius
    np.testing.assert_array_equal(np.concatenate([first, second]), radii)


def test_pieces_of_horizons_with_their_own_labels():
    rng = np.random.default_rng(0)
    forecasts, y = rng.normal(size=(60, 3)), rng.normal(size=63)
    whole, pieces = (wane.Horizons(3, "magl", alpha=0.1) for _ in range(2))
    whole.run(forecasts, y)
    pieces.run(forecasts[:20], y[:20])
    pieces.run(forecasts[20:50], y[20:50])
    pieces.run(forecasts[50:], y[50:])
    assert json.dumps(whole.state_dict()) == json.dumps(pieces.state_dict())


def test_horizons_warm_up_all_steps_or_none():
    forecasts = np.zeros((10, 3))
    forecasts[4, 2] = np.nan
    hz = wane.Horizons(3, "magl", alpha=0.1)
    with pytest.raises(ValueError, match="outputs"):
        hz.warm_start(forecasts, np.ones(12))
    assert [oc.trackers[0].rounds for oc in hz.steps] == [0, 0, 0]


class Moody(wane.trackers.Tracker):
    """Fails in the middle of learning a 7, and after having learned an 8."""

    parameters = ("alpha",)
    memory = ("rounds", "total")

    def __init__(self, alpha):
        super().__init__(alpha)
        self.total = 0.0

    def _predict(self):
        if self.total >= 8.0:
            raise RuntimeError("no radius")
        return self.total

    def _update(self, score, radius, discount):
        self.total = self.total + score
        if score == 7.0:
            raise RuntimeError("half-way")


@pytest.mark.parametrize("y", [7.0, 8.0])
@pytest.mark.parametrize("levels", [0.1, [0.1, 0.2]])
def test_a_tracker_that_fails_has_learned_nothing(y, levels):
    oc = wane.OnlineConformal(Moody(0.1) if levels == 0.1 else [Moody(a) for a in levels], alpha=levels)
    oc.update(oc.predict(0.0), 0.5)
    p = oc.predict(0.0)
    before = json.dumps(oc.state_dict())
    with pytest.raises(RuntimeError):
        oc.update(p, y)
    assert json.dumps(oc.state_dict()) == before and oc.pending() == [p.id]


def test_a_users_output_is_his_own_to_change():
    oc = wane.OnlineConformal(
        "magl", UserScore(lambda m, y: abs(y - m["at"]), lambda m, r: (m["at"] - r, m["at"] + r)), 0.1
    )
    output = {"at": 0.0}
    p = oc.predict(output)
    output["at"] = 5.0
    oc.update(p, 5.0)
    assert oc.explain(p.id).score == 5.0


def test_dir_shows_the_public_names_alone():
    assert dir(wane) == sorted(wane.__all__)
