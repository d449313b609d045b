"""The paper's experiment: the protocol against a literal one, the table, the figures, the folder."""

import csv
import gc
import json
import math

import numpy as np
import pytest

import wane
from wane.experiments import fig1, fig2, fig3, protocol, table1, timing
from wane.experiments.data import Digits, Files
from wane.experiments.protocol import ALPHA, MAGNITUDE, TITLES, Experiment
from wane.experiments.results import plain, read_json, write_csv, write_json
from wane.streams import LabelStream, severities, write

KEYS = ["method", "coverage", "width", "lce_100", "lce_100_smoothed", "runtime_batch", "runtime_step"]
KEYS += ["runtime_step_std", "trials", "seed", "settings", "versions"]


def stream(rounds=500, warm_up=100, classes=20, seed=0, name="made"):
    """Probabilities that get worse half-way, rounded so that some are equal."""
    rng = np.random.default_rng(seed)
    total = rounds + warm_up
    sharp = np.where(np.arange(total) < warm_up + rounds // 2, 6.0, 1.0)
    labels = rng.integers(classes, size=total)
    logits = rng.normal(size=(total, classes))
    logits[np.arange(total), labels] += sharp * rng.random(total)
    p = np.exp(logits)
    p = np.round(p / p.sum(axis=1, keepdims=True), 3) + 1e-6
    return LabelStream(
        name, p / p.sum(axis=1, keepdims=True), labels, severity=np.where(sharp > 1.0, 0, 5), warm_up=warm_up
    )


@pytest.fixture(scope="module")
def played():
    return {published: Experiment(stream(), 3, published) for published in (False, True)}


def literal_scores(p, u, k_reg):
    """Randomised APS plus the published penalty: the sum down to a label, minus u times its own probability."""
    ranked = sorted(range(len(p)), key=lambda k: (-p[k], -k))  # of equals the last first
    scores, total = [0.0] * len(p), 0.0
    for i, k in enumerate(ranked):
        total += p[k]
        scores[k] = min(1.0, total - u * p[k]) + 0.01 * math.sqrt(max(0, i - k_reg))
    return scores


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("name", ["magl-d", "sf-ogd", "split"])
def test_the_protocol_literally(played, published, name):
    experiment = played[published]
    s, u = experiment.stream, np.random.RandomState(3).rand(600)  # one a round, from the first warm-up round on
    every = [literal_scores(p.tolist(), u[t], 2) for t, p in enumerate(s.probabilities)]
    scores = [every[t][y] for t, y in enumerate(s.labels)]
    assert np.allclose(experiment.scores, scores, rtol=0, atol=1e-12)
    assert experiment.largest == pytest.approx(1 + 0.01 * math.sqrt(20 - 2))
    radii = experiment.tracker(name).run(np.array(scores))
    play = experiment.play(name)
    misses, sizes = [], []
    for t in range(100, 600):
        hit = scores[t] <= radii[t] if published else scores[t] < radii[t]
        misses.append(not hit)
        sizes.append(sum(v <= radii[t] for v in every[t]))
    assert abs(play.sizes - np.array(sizes)).sum() <= 2  # a score may be within rounding of the radius
    assert play.covered.tolist() == [not m for m in misses]
    judged = play.judged()
    assert judged["coverage"] == pytest.approx(1 - sum(misses) / 500)
    windows = [abs(ALPHA - sum(misses[a : a + 100]) / 100) for a in range(401)]
    assert judged["lce_100"] == pytest.approx(max(windows))


@pytest.mark.parametrize("name", MAGNITUDE)
def test_the_published_magnitude_learners_are_a_round_late(played, name):
    experiment = played[True]
    tie = wane.trackers.Pinball(ALPHA, "neither")
    fresh = wane.trackers.make(name, ALPHA, loss=tie).run(experiment.scores)
    assert (experiment.tracker(name).run(experiment.scores)[1:] == fresh[:-1]).all()


def test_the_published_rules(played):
    here, there = played[False], played[True]
    assert there.tracker("faci").published is True and here.tracker("faci").published is False
    assert there.tracker("faci-s").max_score == 1.0 and here.tracker("faci-s").max_score == here.largest
    for e in (here, there):
        assert not e.tracker("split").finite_sample and not e.tracker("nex").finite_sample
        assert e.tracker("saocp").lifetime == 32


def test_a_stream_must_have_a_window():
    with pytest.raises(ValueError, match="fewer than one window of 100"):
        Experiment(stream(rounds=99))


def test_best_width_is_the_set_that_just_holds_the_label(played):
    experiment = played[False]
    for t in (0, 17, 300):
        scores = experiment.every[t]
        y = experiment.stream.labels[100 + t]
        assert experiment.optimal_sizes[t] == sum(scores <= scores[y])


# Table 1


@pytest.fixture(scope="module")
def rows(played):
    ticks = []
    made = table1.run(played[False], trials=2, tick=lambda: ticks.append(1))
    assert len(ticks) == len(TITLES) * 3
    return made


def test_rows(rows, played):
    assert [row["method"] for row in rows] == list(TITLES) == list(table1.PAPER) and len(rows) == 10
    assert {row["method"] for row in rows} <= {*wane.trackers.names()}
    for row in rows:
        assert {*KEYS} <= {*row} and row["trials"] == 2 and row["seed"] == 3
        assert row["settings"]["alpha"] == 0.1 and row["versions"]["wane"] == wane.__version__
        assert {k: row[k] for k in table1.QUALITIES} == played[False].play(row["method"]).judged()
    assert rows[0]["runtime_batch"] == rows[0]["runtime_step"] == 1.0
    json.dumps(plain(rows), allow_nan=False)


def test_means_over_seeds(rows):
    other = [{**row, "seed": 4, "coverage": row["coverage"] + 0.02} for row in rows]
    means = table1.summary([*rows, *other])
    assert means[3]["coverage"] == pytest.approx(rows[3]["coverage"] + 0.01)
    assert means[3]["coverage_spread"] == pytest.approx(0.02 / math.sqrt(2))
    assert table1.summary(rows)[3]["coverage_spread"] is None


def test_best_is_bold_and_second_underlined():
    keys = [column.key for column in table1.COLUMNS]
    values = [(0.91, 3.0, 0.11), (0.904, 2.0, 0.1101), (0.9, 1.0, 0.3), (0.896, 5.0, 0.2)]
    paper = (0.9, 1.0, 0.1, 1.0)
    means = [
        {"title": "m", "paper": paper, **dict.fromkeys(keys, 1.0), **dict(zip(keys, v, strict=False))} for v in values
    ]
    places = [[place for _, place in line[1:4]] for line in table1.cells(means)]
    assert places == [
        [0, 0, 1],
        [2, 2, 1],
        [1, 1, 0],
        [2, 0, 2],
    ]  # the distance to 0.9 counts; equal as printed is equal
    text = table1.markdown(means).splitlines()
    assert text[4].split(" | ")[1] == "**0.900**" and text[3].split(" | ")[1] == "<u>0.904</u>"


def test_timing_leaves_the_collector_as_it_was():
    makers = {"a": lambda: wane.trackers.make("magl-d", 0.1), "b": lambda: wane.trackers.make("split", 0.1)}
    found = timing.measured(makers, np.arange(50.0), trials=3)
    assert gc.isenabled() and {k: {i: v.shape for i, v in f.items()} for k, f in found.items()} == {
        k: {"batch": (3,), "step": (3,)} for k in "ab"
    }
    assert all((v > 0).all() for f in found.values() for v in f.values())
    with pytest.raises(ZeroDivisionError), timing.undisturbed():
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled()


# the figures


@pytest.mark.parametrize("published", [False, True])
def test_fig1_data(played, published):
    experiment = played[published]
    finding = fig1.run([experiment])
    data = {k: np.asarray(v) for k, v in finding.data.items()}
    mine = data["method"] == "magl"
    play = experiment.play("magl")
    widths = play.radii if published else play.sizes
    assert mine.sum() == 401 and (data["round"][mine] == np.arange(401)).all()
    for t in (0, 250, 400):
        assert data["local_coverage"][mine][t] == pytest.approx(np.mean(play.covered[t : t + 100]))
        assert data["local_width"][mine][t] == pytest.approx(np.mean(widths[t : t + 100]))
        best = sorted((experiment.scores[100:] if published else experiment.optimal_sizes)[t : t + 100])[89]
        assert data["best_fixed_local_width"][mine][t] == pytest.approx(best)
    assert data["severity"][mine].tolist() == experiment.stream.severity[100:501].tolist()


def test_fig2_guesses_at_seven_points(played):
    finding = fig2.run(played[False])
    assert len({*finding.data["guess"]}) == 7 and max(finding.data["guess"]) == 1000.0
    at = (finding.data["method"] == "sf-ogd") & (finding.data["guess"] == 1.0)
    assert finding.data["coverage"][at][0] == played[False].play("sf-ogd").judged()["coverage"]
    for name in (*MAGNITUDE, "simple-ogd"):  # they are not asked
        low, high = finding.numbers["coverage"][name]
        assert low == high
    low, high = finding.numbers["coverage"]["sf-ogd"]
    assert high - low > 0.2


def test_fig3_is_of_the_table(rows):
    finding = fig3.run(rows)
    assert len(finding.data["method"]) == 20 and finding.numbers["saocp"]["runtime_batch"] == rows[2]["runtime_batch"]


# files


def test_results_are_plain(tmp_path):
    write_json(tmp_path / "a.json", {"x": np.float64(0.5), "y": (np.int64(1), np.arange(2))})
    assert read_json(tmp_path / "a.json") == {"x": 0.5, "y": [1, [0, 1]]}
    with pytest.raises(ValueError):
        write_json(tmp_path / "a.json", math.nan)
    assert read_json(tmp_path / "a.json")["x"] == 0.5 and read_json(tmp_path / "b.json") == {}
    (tmp_path / "c.json").write_text("{")
    with pytest.raises(ValueError, match="move it away"):
        read_json(tmp_path / "c.json")
    with pytest.raises(ValueError, match="lengths"):
        write_csv(tmp_path / "a.csv", {"a": [1], "b": [1, 2]})
    write_csv(tmp_path / "a.csv", {"a": [1, 2], "b": ["x, y", "z"]})
    assert list(csv.reader((tmp_path / "a.csv").read_text().splitlines())) == [["a", "b"], ["1", "x, y"], ["2", "z"]]


def test_a_folder_of_results(tmp_path):
    pytest.importorskip("matplotlib")
    from wane.experiments.reproduce import Reproduction

    for schedule in ("sudden", "gradual"):
        write(tmp_path / f"mine_{schedule}.npz", stream(name=schedule))
    source = Files([tmp_path / "mine_sudden.npz"])
    out = tmp_path / "out"
    Reproduction(source, out, trials=1).run(["table1", "fig1"])
    before = json.loads((out / "results.json").read_text())
    work = Reproduction(source, out, published=True, trials=1)
    work.run(["fig2", "fig3"])
    results = json.loads((out / "results.json").read_text())
    assert results["table1"] == before["table1"] and {*KEYS} <= {*results["table1"][0]}
    assert {*results["fig1"]["numbers"]} == {"sudden", "gradual"}  # the other file stands beside the one that was given
    assert {k: v["published"] for k, v in results["runs"].items()} == {
        "table1": False, "fig1": False, "fig2": True, "fig3": True,
    }  # fmt: skip
    for name in ("fig1", "fig2", "fig3"):
        for kind, magic in {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}.items():
            assert (out / f"{name}.{kind}").read_bytes().startswith(magic)
        assert set(results[name]["files"]) <= {p.name for p in out.iterdir()}
    with open(out / "table1.csv") as file:
        table = list(csv.DictReader(file))
    assert [float(row["coverage"]) for row in table] == [row["coverage"] for row in results["table1"]]
    assert not [p for p in out.iterdir() if p.suffix == ".tmp"]
    again = tmp_path / "again"
    Reproduction(source, again, trials=1).run(["fig1"])
    assert (again / "fig1.svg").read_bytes() == (out / "fig1.svg").read_bytes()


def test_files_by_schedule(tmp_path):
    write(tmp_path / "gradual.npz", stream(name="g"))
    source = Files([tmp_path / "gradual.npz"])
    assert source.main == "gradual" and source.stream("sudden", 0) is None and source.stream("gradual", 0).name == "g"
    with pytest.raises(ValueError, match="two files for one schedule"):
        Files([tmp_path / "a.npz", tmp_path / "b.npz"])
    write(tmp_path / "scores.npz", wane.streams.ScoreStream("s", np.arange(9.0)))
    with pytest.raises(ValueError, match="probs and label are wanted"):
        Files([tmp_path / "scores.npz"]).stream("sudden", 0)


def test_digits_by_seed():
    pytest.importorskip("sklearn")
    source = Digits(rounds=300)
    a, b = source.stream("sudden", 0), source.stream("gradual", 1)
    assert len(a) == 1300 and a is source.stream("sudden", 0) and a.warm_up == protocol.WINDOW * 10
    assert (b.severity == severities("gradual", 300)).all()
