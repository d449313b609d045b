"""`OnlineConformal` against a model of dicts and lists, through random histories: equal bits after every step."""

import copy
import datetime
import json
import math
import os
import pickle
import tempfile

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import wane
from wane.errors import IdError
from wane.scores import APS, as_score, uniforms
from wane.trackers import make

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")

INFINITY = math.inf
MAX_PENDING, HISTORY, WINDOW = 3, 4, 3
LIMITS = (-4.0, 4.0)
KEYS = ["a", "b", ("a", 1), ("a", (2, "b")), datetime.datetime(2024, 2, 29, 12), 3, 8, 5.0, 6.5, True, -2]
ALWAYS = (-INFINITY, INFINITY)

CONFIGURATIONS = {
    "one level": {"tracker": "magl", "alpha": 0.1},
    "three levels": {"tracker": "magl-d", "alpha": (0.2, 0.1, 0.5), "discount": 0.9},
    "two sides": {"tracker": "magl", "score": "signed", "alpha": 0.3},
    "two sides, three levels": {"tracker": "magl-d", "score": "signed", "alpha": (0.4, 0.2, 0.6), "discount": 0.8},
    "two sides, unbounded": {"tracker": "aci", "score": "signed", "alpha": (0.4, 0.8), "on_unbounded": "allow"},
    "quantiles": {"tracker": "magl", "score": "cqr", "alpha": (0.1, 0.3)},
    "quantiles, unbounded": {"tracker": "aci", "score": "cqr", "alpha": 0.3, "gamma": 0.4, "on_unbounded": "allow"},
    "labels": {"tracker": "magl", "score": APS(seed=7), "alpha": (0.3, 0.1, 0.2)},
    "labels, never empty": {"tracker": "aci", "score": APS(seed=3, allow_empty=False), "alpha": 0.4, "gamma": 0.3},
    "clipped": {"tracker": "split", "alpha": (0.2, 0.4), "on_unbounded": "clip", "limits": LIMITS},
}
SETTINGS = ("on_unbounded", "limits", "score", "alpha", "tracker")

numbers = st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, -3.0]) | st.floats(-4.0, 4.0)
discounts = st.sampled_from([None, None, None, 1.0, 0.5, 0.0])
weights = st.tuples(*[st.integers(1, 4)] * 3)


def plain(thing):
    return json.dumps(thing.state_dict())


class Model:
    """What the object should do, one step at a time and as slowly as it likes."""

    def __init__(self, configuration):
        self.score = as_score(configuration.get("score", "absolute"))
        alpha = configuration["alpha"]
        self.several = isinstance(alpha, tuple)
        self.alphas = alpha if self.several else (alpha,)
        self.limits = configuration.get("limits", ALWAYS)
        more = {k: v for k, v in configuration.items() if k not in SETTINGS}
        more |= {"domain": "real"} if self.score.signed else {}
        sides = range(self.score.sides)
        name = configuration["tracker"]
        self.trackers = {(s, a): make(name, a / self.score.sides, **more) for s in sides for a in self.alphas}
        self.discount = more.get("discount", 1.0)
        self.waiting = {}  # id -> number, output, u, radii, widths
        self.over = {}  # id -> what explain says
        self.record = []  # of the labels: covered and width at each level, discount
        self.predictions = self.expired = self.next_id = 0

    def by_level(self, what):
        """A dict by side and level as the object shows it."""
        pairs = [tuple(what[s, a] for s in range(self.score.sides)) for a in self.alphas]
        pairs = pairs if self.score.sides == 2 else [p[0] for p in pairs]
        return tuple(pairs) if self.several else pairs[0]

    def own(self):
        return {place: tracker.predict() for place, tracker in self.trackers.items()}

    def played(self, output, u):
        """From the largest alpha to the smallest, the running maximum; it begins with the smallest set there can be."""
        own = self.own()
        narrow_to_wide = sorted(self.alphas, reverse=True)
        if self.score.sides == 2:
            below, above = own[0, narrow_to_wide[0]], own[1, narrow_to_wide[0]]
            least = [-INFINITY, -INFINITY]
            if below + above < 0.0:
                middle = 0.0 if below == above else (below - above) / 2
                least = [middle, -middle]
        elif isinstance(self.score, APS):
            every = [self.score.score(self.score.output(output), y, u) for y in range(3)]
            least = [-INFINITY if self.score.allow_empty else min(every)]
        elif self.score.signed:
            least = [(output[0] - output[1]) / 2]
        else:
            least = [0.0]
        radii = {}
        for s in range(self.score.sides):
            last = least[s]
            for a in narrow_to_wide:
                last = radii[s, a] = max(own[s, a], last)
        return radii

    def ends(self, output, radii, a):
        """The two ends of an interval, within the limits."""
        r = radii[0, a]
        if self.score.sides == 2:
            ends = output - r, output + radii[1, a]
        elif self.score.signed:
            middle = (output[0] + output[1]) / 2
            ends = min(output[0] - r, middle), max(output[1] + r, middle)
        else:
            ends = output - r, output + r
        return tuple(min(max(end, self.limits[0]), self.limits[1]) for end in ends)

    def scores(self, output, y, u):
        if self.score.sides == 2:
            return output - y, y - output
        if isinstance(self.score, APS):
            return (self.score.score(self.score.output(output), y, u),)
        return (max(output[0] - y, y - output[1]) if self.score.signed else abs(y - output),)

    def predict(self, output, key=None):
        """Returns the id, the radii, the ends or labels, the widths."""
        key = self.next_id if key is None else key
        u = float(uniforms(self.score.seed, self.predictions, 1)[0]) if self.score.randomised else None
        radii = self.played(output, u)
        if isinstance(self.score, APS):
            p = self.score.output(output)
            sets = [[y for y in range(3) if self.score.score(p, y, u) <= radii[0, a]] for a in self.alphas]
            widths = [float(len(s)) for s in sets]
        else:
            sets = [self.ends(output, radii, a) for a in self.alphas]
            widths = [high - low if high > low else 0.0 for low, high in sets]
        if len(self.waiting) >= MAX_PENDING:
            self.expire(next(iter(self.waiting)))
        self.waiting[key] = (self.predictions, output, u, radii, widths)
        self.predictions += 1
        if isinstance(key, (int, float)) and key >= self.next_id:
            self.next_id = math.floor(key) + 1
        return key, radii, sets, widths

    def close(self, key, what):
        self.over.pop(key, None)
        self.over[key] = what
        while len(self.over) > HISTORY:
            del self.over[next(iter(self.over))]

    def expire(self, key):
        radii = self.waiting.pop(key)[3]
        self.expired += 1
        self.close(key, ("expired", self.by_level(radii), None, None, None, None, None))

    def covered(self, said, radii):
        return tuple(all(said[s] < radii[s, a] for s in range(self.score.sides)) for a in self.alphas)

    def update(self, key, y, discount=None):
        number, output, u, radii, widths = self.waiting.pop(key)
        said = self.scores(output, y, u)
        before = self.own()
        for (s, a), tracker in self.trackers.items():
            tracker.update(said[s], radius=radii[s, a], discount=discount)
        covered = self.covered(said, radii)
        self.record.append((covered, widths, self.discount if discount is None else discount))
        now = (self.by_level(before), self.by_level(self.own()), self.predictions - number - 1)
        told = said if self.score.sides == 2 else said[0]
        self.close(key, ("labelled", self.by_level(radii), told, covered if self.several else covered[0], *now))

    def run(self, outputs, labels, delay, ids, late, discount):
        """Step by step; a late label whose prediction has expired by then is a KeyError."""
        rows, late = [], list(late.items())
        for t, output in enumerate(outputs):
            rows.append(self.predict(output, ids[t] if ids else None))
            if t < len(late):
                if late[t][1] is not None:
                    self.update(*late[t], discount)
            elif t >= delay and labels[t - delay] is not None:
                self.update(rows[t - delay][0], labels[t - delay], discount)
        return rows


class Machine(RuleBasedStateMachine):
    def __init__(self, configuration):
        super().__init__()
        low, high = configuration.get("limits", ALWAYS)
        arguments = {k: v for k, v in configuration.items() if k != "limits"}
        sizes = {"max_pending": MAX_PENDING, "history": HISTORY, "window": WINDOW}
        self.oc = wane.OnlineConformal(**arguments, lower_limit=low, upper_limit=high, **sizes)
        self.model = Model(configuration)
        self.classes = isinstance(self.model.score, APS)
        if self.classes:
            self.outputs, self.labels = weights.map(lambda w: tuple(x / sum(w) for x in w)), st.integers(0, 2)
        else:
            pairs = self.model.score.signed and self.model.score.sides == 1
            self.outputs, self.labels = st.tuples(numbers, numbers) if pairs else numbers, numbers

    def refused(self, error, match, call, *arguments, **more):
        """The call fails, says so, and changes nothing."""
        before = plain(self.oc)
        with pytest.raises(error, match=match):
            call(*arguments, **more)
        assert plain(self.oc) == before

    @rule(data=st.data(), key=st.none() | st.sampled_from(KEYS))
    def predict(self, data, key):
        output = data.draw(self.outputs)
        if key is not None and key in self.model.waiting:
            self.refused(IdError, "waits for its label", self.oc.predict, output, key)
            return
        cold = any(t.cold for t in self.model.trackers.values())
        p = self.oc.predict(output, key)
        id, radii, sets, widths = self.model.predict(output, key)
        assert p.id == id and type(p.id) is type(id)
        assert p.radius == self.model.by_level(radii) and p.cold == cold
        for i, (s, expected) in enumerate(zip(p.sets, sets, strict=True)):
            assert (sorted(s.labels) if self.classes else (s.lower, s.upper)) == expected
            assert p[self.model.alphas[i]] is s and s.width == widths[i]

    @precondition(lambda self: self.model.waiting)
    @rule(data=st.data(), discount=discounts)
    def update(self, data, discount):
        key = data.draw(st.sampled_from(list(self.model.waiting)))
        y = data.draw(self.labels)
        self.oc.update(key, y, discount)
        self.model.update(key, y, discount)

    @precondition(lambda self: self.model.waiting)
    @rule(data=st.data(), bad=st.sampled_from([None, math.nan, "x", INFINITY, 99, 1j]))
    def update_with_no_label(self, data, bad):
        if bad == 99 and self.model.limits == ALWAYS and not self.classes:
            return  # a label as any other
        key = data.draw(st.sampled_from(list(self.model.waiting)))
        self.refused((ValueError, TypeError), "y", self.oc.update, key, bad)

    @precondition(lambda self: self.model.waiting)
    @rule(data=st.data(), bad=st.sampled_from([-1.0, math.nan, INFINITY, "x"]))
    def update_with_a_bad_discount(self, data, bad):
        key = data.draw(st.sampled_from(list(self.model.waiting)))
        self.refused((ValueError, TypeError), "discount", self.oc.update, key, data.draw(self.labels), bad)

    @rule(key=st.sampled_from([*KEYS, "never", 0, 1, 2]), data=st.data())
    def update_what_does_not_wait(self, key, data):
        if key not in self.model.waiting:
            status = self.model.over[key][0] if key in self.model.over else "none"
            said = {"labelled": "has had its label", "expired": "has expired", "none": "no prediction has the id"}
            self.refused(IdError, said[status], self.oc.update, key, data.draw(self.labels))
            self.refused(IdError, said[status], self.oc.expire, key)

    @precondition(lambda self: self.model.over)
    @rule(data=st.data())
    def update_twice(self, data):
        key = data.draw(st.sampled_from(list(self.model.over)))
        if key not in self.model.waiting:
            match = "has had its label" if self.model.over[key][0] == "labelled" else "has expired"
            self.refused(IdError, match, self.oc.update, key, data.draw(self.labels))

    @precondition(lambda self: self.model.waiting)
    @rule(data=st.data())
    def expire(self, data):
        key = data.draw(st.sampled_from(list(self.model.waiting)))
        assert self.oc.expire(key) == [key]
        self.model.expire(key)

    @rule(age=st.integers(0, 4))
    def expire_older(self, age):
        newest = self.model.predictions - 1
        old = [key for key, (number, *_) in self.model.waiting.items() if newest - number > age]
        assert self.oc.expire(older_than=age) == old
        for key in old:
            self.model.expire(key)

    @rule(way=st.sampled_from(["json", "pickle", "copy", "deepcopy", "file"]))
    def resume(self, way):
        before, old = plain(self.oc), self.oc
        if way == "json":
            self.oc = wane.OnlineConformal.from_state_dict(json.loads(before))
        elif way == "pickle":
            self.oc = pickle.loads(pickle.dumps(old))
        elif way == "file":
            with tempfile.TemporaryDirectory() as folder:
                wane.save(os.path.join(folder, "oc.wane"), old, sync=False)
                self.oc = wane.load(os.path.join(folder, "oc.wane"))
        else:
            self.oc = getattr(copy, way)(old)
        assert plain(self.oc) == before
        output = [0.25, 0.5, 0.25] if self.classes else (0.0, 1.0) if self.model.score.signed else 0.0
        output = 0.0 if self.model.score.sides == 2 else output
        old.update(old.predict(output, "other").id if "other" not in self.model.waiting else "other", 1)
        assert plain(self.oc) == before  # nothing is shared

    @rule(data=st.data(), rounds=st.integers(0, 6), delay=st.integers(0, 2), discount=discounts, own=st.booleans())
    def run(self, data, rounds, delay, discount, own):
        outputs = data.draw(st.lists(self.outputs, min_size=rounds, max_size=rounds))
        labels = data.draw(st.lists(st.none() | self.labels, min_size=rounds, max_size=rounds))
        free = [key for key in KEYS if key not in self.model.waiting]
        ids = data.draw(st.permutations(free))[:rounds] if own and len(free) >= rounds else None
        waiting = data.draw(st.permutations(list(self.model.waiting)))[: data.draw(st.integers(0, delay))]
        late = {key: data.draw(st.none() | self.labels) for key in waiting}
        given = np.array(outputs, dtype=float) if rounds else np.empty((0, 3 if self.classes else 2))
        if rounds == 0 and not self.classes and not (self.model.score.signed and self.model.score.sides == 1):
            given = np.empty(0)
        more = {"delay": delay, "ids": ids, "late": late, "discounts": discount}
        model = copy.deepcopy(self.model)
        try:
            rows = model.run(outputs, labels, delay, ids, late, discount)
        except KeyError:
            self.refused(IdError, "would expire", self.oc.run, given, labels, **more)
            return
        first = self.model.predictions
        table = self.oc.run(given, labels, **more)
        self.model = model
        self.compare(table, rows, outputs, labels, first)

    def compare(self, table, rows, outputs, labels, first):
        """Each column of the table against what the steps gave."""
        model = self.model
        assert list(table.id) == [row[0] for row in rows]
        levels = range(len(model.alphas))
        for t, (_, radii, sets, widths) in enumerate(rows):
            radius = np.array(model.by_level(radii))
            assert (table.radius[t] == radius).all()
            assert np.ravel(table.width[t]).tolist() == widths
            if not self.classes:
                assert np.ravel(table.lower[t]).tolist() == [s[0] for s in sets]
                assert np.ravel(table.upper[t]).tolist() == [s[1] for s in sets]
            if labels[t] is None:
                assert np.isnan(table.score[t]).all() and np.isnan(table.covered[t]).all()
            else:
                u = float(uniforms(model.score.seed, first + t, 1)[0]) if model.score.randomised else None
                said = model.scores(outputs[t], labels[t], u)
                assert np.ravel(table.score[t]).tolist() == list(said)
                assert np.ravel(table.covered[t]).tolist() == list(model.covered(said, radii))
        assert table.radius.shape[:1] == (len(rows),) and np.ravel(table.width).size == len(rows) * len(levels)

    @invariant()
    def same_places(self):
        oc, model = self.oc, self.model
        assert oc.pending() == list(model.waiting)
        assert (oc.predictions, oc.expired, oc.next_id) == (model.predictions, model.expired, model.next_id)
        assert model.predictions == len(model.record) + model.expired + len(model.waiting)
        assert [plain(t) for t in oc.trackers] == [plain(t) for t in model.trackers.values()]

    @invariant()
    def same_explanations(self):
        for key, (_, _, _, radii, _) in self.model.waiting.items():
            e = self.oc.explain(key)
            assert (e.id, e.status, e.radius, e.score) == (key, "waiting", self.model.by_level(radii), None)
        for key, what in self.model.over.items():
            if key not in self.model.waiting:
                e = self.oc.explain(key)
                assert (e.status, e.radius, e.score, e.covered, e.before, e.after, e.waited) == what
        for key in [*KEYS, 0, 1]:
            if key not in self.model.waiting and key not in self.model.over:
                with pytest.raises(IdError):
                    self.oc.explain(key)

    @invariant()
    def same_metrics(self):
        found = self.oc.metrics()
        for i, a in enumerate(self.model.alphas):
            m = found[a] if self.model.several else found
            hits = [covered[i] for covered, _, _ in self.model.record]
            widths = [w[i] for _, w, _ in self.model.record]
            finite = [w for w in widths if w < INFINITY]
            assert (m.alpha, m.rounds, m.pending) == (a, len(hits), len(self.model.waiting))
            assert m.unbounded == len(widths) - len(finite) and m.expired == self.model.expired
            np.testing.assert_equal(m.coverage, sum(hits) / len(hits) if hits else math.nan)
            last = hits[-WINDOW:]
            np.testing.assert_equal(m.local_coverage, sum(last) / len(last) if last else math.nan)
            full = [sum(hits[t - WINDOW : t]) / WINDOW for t in range(WINDOW, len(hits) + 1)]
            np.testing.assert_equal(m.worst_local_coverage, min(full, default=math.nan))
            assert m.worst_round == (full.index(min(full)) + WINDOW - 1 if full else -1)
            assert m.longest_misses == max(map(len, "".join(" x"[not hit] for hit in hits).split()), default=0)
            np.testing.assert_allclose(m.width, np.mean(finite) if finite else math.nan, rtol=1e-12, atol=1e-300)
            error = 0.0
            for covered, _, discount in self.model.record:
                error = discount * error + ((not covered[i]) - a)
            assert m.coverage_error == error


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_histories(name):
    run_state_machine_as_test(
        lambda: Machine(CONFIGURATIONS[name]),
        settings=settings(max_examples=20, stateful_step_count=30, deadline=None),
    )
