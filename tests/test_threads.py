"""Several threads on one object: each call is one step, and the steps are those of some order."""

import copy
import json
import pickle
import random
import sys
import threading
import time

import numpy as np
import pytest

from wane import Horizons, OnlineConformal
from wane.errors import IdError
from wane.trackers import Tracker

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")


def plain(thing):
    return json.dumps(thing.state_dict())


@pytest.fixture(autouse=True)
def frequent_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(*jobs):
    """Run the functions at once; the first error of any is raised."""
    start, errors = threading.Barrier(len(jobs)), []

    def guarded(job):
        start.wait()
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Recorder(Tracker):
    """The mean of the scores, and a diary of what was learned, which is written while the lock is held."""

    parameters = ("alpha",)
    memory = ("rounds", "radius")

    def __init__(self, alpha):
        super().__init__(alpha)
        self.radius = 1.0
        self.diary = []

    def _predict(self):
        return self.radius

    def _update(self, score, radius, discount):
        self.diary.append((score, radius))
        before = self.radius
        time.sleep(0)  # another thread may run now; it must not get in
        self.radius = before + (score - before) / (self.rounds + 2)


@pytest.mark.parametrize("seed", range(3))
def test_counts_add_up_and_the_steps_can_be_replayed(seed):
    """Labels are all different, so that the diary of the tracker tells which label was learned when."""
    tracker = Recorder(0.1)
    oc = OnlineConformal(tracker, max_pending=12, history=10_000, window=20)
    made, labels, gone = {}, {}, set()
    guard = threading.Lock()

    def work(k):
        rng = random.Random(100 * seed + k)
        mine = []
        for i in range(60):
            p = oc.predict(0.0)
            with guard:
                made[p.id] = p.radius
            mine.append(p.id)
            if rng.random() < 0.8:
                id = mine.pop(rng.randrange(len(mine)))
                y = k + i / 128.0
                try:
                    oc.update(id, y)
                    with guard:
                        labels[y] = id
                except IdError as error:
                    assert "expired" in str(error)
            if rng.random() < 0.1 and mine:
                try:
                    gone.update(oc.expire(mine.pop()))
                except IdError as error:
                    assert "expired" in str(error)
            time.sleep(0)
            m = oc.metrics()
            assert m.pending <= 12 and m.rounds <= 300

    together(*[lambda k=k: work(k) for k in range(5)])
    m = oc.metrics()
    assert oc.predictions == 300 == len(made) == m.rounds + m.expired + m.pending
    assert sorted(made) == list(range(300)) and len(oc.pending()) == m.pending
    assert m.rounds == len(labels) == len(tracker.diary) == tracker.rounds
    assert all(oc.explain(id).status == "expired" for id in gone)
    again = Recorder(0.1)
    for score, radius in tracker.diary:
        assert radius == made[labels[score]]
        again.update(score, radius=radius)
    assert again.predict() == tracker.predict() and plain(again) == plain(tracker)
    assert m.coverage == np.mean([score < radius for score, radius in tracker.diary])


def test_one_id_is_learned_once():
    """Eight threads have the label of each prediction: one of them is heard."""
    oc = OnlineConformal("magl", alpha=0.1)
    ids = [oc.predict(0.0).id for _ in range(60)]
    refused = []

    def work():
        for id in ids:
            try:
                oc.update(id, float(id))
            except IdError:
                refused.append(id)

    together(*[work] * 8)
    assert oc.metrics().rounds == 60 and len(refused) == 7 * 60 and oc.pending() == []


def test_replays_while_others_predict():
    """A replay is one step: its ids and its labels follow one another, whatever else happens."""
    tracker = Recorder(0.1)
    oc = OnlineConformal(tracker, window=10)
    tables, ids = [], []

    def replays():
        for j in range(10):
            tables.append(oc.run(np.zeros(20), 100.0 * j + np.arange(20.0)))

    def steps():
        for _ in range(100):
            p = oc.predict(0.0)
            ids.append(p.id)
            oc.update(p.id, 0.5)

    together(replays, steps, steps)
    learned = [score for score, _ in tracker.diary]
    for j, table in enumerate(tables):
        assert (np.diff(table.id) == 1).all()
        first = learned.index(100.0 * j)
        assert tracker.diary[first : first + 20] == list(zip(table.score, table.radius, strict=True))
    taken = [*ids, *np.concatenate([table.id for table in tables]).tolist()]
    assert sorted(taken) == list(range(400)) and oc.pending() == []
    assert oc.metrics().rounds == 400 == tracker.rounds


@pytest.mark.parametrize("way", ["state_dict", "deepcopy", "pickle"])
def test_a_copy_is_of_one_moment(way):
    """Everything in it belongs together: as many labels in the trackers as in the record, all predictions counted."""
    oc = OnlineConformal("magl", alpha=(0.1, 0.3), max_pending=7)
    done = threading.Event()

    def steps():
        for i in range(200):
            p = oc.predict(0.0)
            if i % 3:
                oc.update(p.id, float(i % 5))
        done.set()

    def copies():
        while not done.is_set():
            if way == "state_dict":
                other = OnlineConformal.from_state_dict(oc.state_dict())
            else:
                other = copy.deepcopy(oc) if way == "deepcopy" else pickle.loads(pickle.dumps(oc))
            rounds = [*[t.rounds for t in other.trackers], *[m.rounds for m in other.monitors]]
            assert len(set(rounds)) == 1
            assert other.predictions == rounds[0] + other.expired + len(other.pending())

    together(steps, copies)


def test_an_alarm_may_ask_the_object():
    """It is called without the lock: another thread may work meanwhile, and wait for it."""
    seen = []

    def ask(alarm):
        thread = threading.Thread(target=lambda: seen.append(oc.metrics().rounds))
        thread.start()
        thread.join(10.0)

    oc = OnlineConformal("magl", alpha=0.1, window=1, band=(0.5, 2.0), on_alarm=ask)
    oc.update(oc.predict(0.0).id, 5.0)
    assert seen == [1]


def test_horizons():
    hz = Horizons(3, "magl", alpha=0.1)
    served = []

    def forecasts():
        for _ in range(60):
            hz.predict([0.0, 1.0, 2.0])
            time.sleep(0)

    def labels():
        for _ in range(150):
            waiting = hz.pending()
            if waiting:
                try:
                    served.append(hz.update(waiting[0], 1.5))
                except IdError as error:
                    assert "had its label" in str(error)
            time.sleep(0)
            assert len(hz.metrics()) == 3

    together(forecasts, forecasts, labels, labels)
    assert hz.time == 120 and sum(served) == sum(m.rounds for m in hz.metrics())
    for oc, m in zip(hz.steps, hz.metrics(), strict=True):
        assert oc.predictions == 120 == m.rounds + m.pending + m.expired
