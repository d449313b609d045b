"""Leaderboards: the rules, the ranks, and work that is found again."""

import json

import numpy as np
import pytest

import wane
from wane.experiments import bench, leaderboard, parallel
from wane.experiments.leaderboard import Entry

METHODS = ["magl", "split", "sf-ogd", "aci", "trivial"]


@pytest.fixture(scope="module")
def entries():
    rng = np.random.default_rng(0)
    panel = tuple(np.abs(rng.normal(size=n)) * scale for n, scale in ((700, 1.0), (450, 8.0)))
    steps = np.abs(rng.standard_t(3, size=900)) * np.where(np.arange(900) < 450, 1.0, 4.0)
    return [Entry("panel", panel), Entry("steps", (steps,))]


@pytest.fixture(scope="module")
def rows(entries, tmp_path_factory):
    return parallel.run(entries, METHODS, 0.1, tmp_path_factory.mktemp("cache"), workers=1)


def test_a_row_literally(entries, rows):
    """Scores in units of their early median, 300 rounds not judged, an infinite radius as the largest score so far."""
    scores = entries[1].scores[0].tolist()
    unit = sorted(scores[:200])
    unit = (unit[99] + unit[100]) / 2
    scaled = [s / unit for s in scores]
    for method in ("magl", "aci", "sf-ogd"):
        given = {"max_score": max(scaled[:300])} if method == "sf-ogd" else {}
        radii = wane.trackers.make(method, 0.1, **given).run(scaled).tolist()
        pinball = winkler = misses = infinite = 0.0
        for t in range(300, 900):
            s, r = scaled[t], radii[t]
            misses += s >= r
            if r == float("inf"):
                infinite += 1
                r = max(scaled[:t])
            r = max(r, 0.0)
            pinball += (0.1 * (r - s) if r > s else 0.9 * (s - r)) * unit
            winkler += (2 * r + (20 * (s - r) if s > r else 0.0)) * unit
        row = next(r for r in rows if r["method"] == method and r["stream"] == "steps")
        assert row["coverage"] == pytest.approx(1 - misses / 600) and row["infinite"] == pytest.approx(infinite / 600)
        assert row["pinball"] == pytest.approx(pinball / 600) and row["winkler"] == pytest.approx(winkler / 600)
        assert row["miss_of_target"] == pytest.approx(abs(0.1 - misses / 600)) and row["rounds"] == 600


def test_the_unit_does_not_matter(entries):
    """A stream times 1024 has the same coverage and a loss times 1024."""
    scores = entries[1].scores[0]
    for method in METHODS:
        a, b = leaderboard.judge(method, scores, 0.1), leaderboard.judge(method, scores * 1024.0, 0.1)
        assert a["coverage"] == b["coverage"] and b["pinball"] == 1024.0 * a["pinball"]


def test_series_count_as_one(entries, rows):
    row = next(r for r in rows if r["stream"] == "panel" and r["method"] == "magl")
    parts = [leaderboard.judge("magl", s, 0.1) for s in entries[0].scores]
    assert row["coverage"] == pytest.approx(np.mean([p["coverage"] for p in parts]))
    assert row["miss_of_target"] == pytest.approx(np.mean([abs(p["coverage"] - 0.9) for p in parts]))


def test_what_cannot_be_judged_is_said():
    with pytest.raises(ValueError, match="signed: scores must be >= 0"):
        leaderboard.entry("signed", [wane.streams.ScoreStream("s", np.linspace(-3.0, 1.0, 300))])
    short = wane.streams.LabelStream("s", np.full((90, 2), 0.5), np.zeros(90, dtype=int))
    assert leaderboard.entry("short", [short]).scores == ()


def test_files_of_one_stem_are_told_apart(tmp_path):
    wane.streams.write(tmp_path / "a.npz", wane.streams.ScoreStream("a", np.arange(250.0)))
    (tmp_path / "a.csv").write_text("score\n" + "1\n" * 250)
    (tmp_path / "leaderboard.csv").write_text("of an earlier run\n")
    assert [e.name for e in bench.folder(tmp_path)] == ["a.csv", "a.npz"]
    assert [e.name for e in bench.folder(tmp_path / "a.npz")] == ["a"]


def test_a_best_loss_of_0_is_a_loss_of_0():
    rows = [
        {"stream": "s", "method": m, "pinball": v, "winkler": v, "width": v, "lce_100": v}
        for m, v in (("a", 0.0), ("b", 1.0))
    ]
    assert [r["pinball_ratio"] for r in leaderboard.ranked(rows)] == [1.0, leaderboard.LOST]


def test_silent_streams_are_judged():
    scores = np.concatenate([np.zeros(400), np.ones(300)])
    for method in METHODS:
        assert np.isfinite(list(leaderboard.judge(method, scores, 0.1).values())).all()


def test_ratios_and_ranks(rows):
    ranked = leaderboard.ranked(rows)
    for stream in ("panel", "steps"):
        rivals = [r for r in ranked if r["stream"] == stream and r["method"] != "trivial"]
        assert min(r["pinball_ratio"] for r in rivals) == 1.0
        best = min(rivals, key=lambda r: r["pinball"])
        assert best["rank_pinball"] == 1 and sorted(r["rank_pinball"] for r in rivals) == [1, 2, 3, 4]
    lines = leaderboard.board(ranked)
    assert lines[-1]["method"] == "trivial"  # it wins nothing that counts
    assert [x["pinball_ratio"] for x in lines[:-1]] == sorted(x["pinball_ratio"] for x in lines[:-1])


def test_what_was_computed_is_found_again(entries, tmp_path, monkeypatch):
    first = parallel.run(entries, METHODS[:2], 0.1, tmp_path, workers=1)
    monkeypatch.setattr(leaderboard, "play", None)  # whoever computes now fails
    ticks = []
    assert parallel.run(entries, METHODS[:2], 0.1, tmp_path, 1, lambda: ticks.append(1)) == first and len(ticks) == 4
    for changed in (
        (entries, METHODS[:2], 0.2),
        (entries, ["nex"], 0.1),
        ([Entry("steps", (np.ones(900),))], METHODS[:1], 0.1),
    ):
        with pytest.raises(TypeError):
            parallel.run(*changed, tmp_path, 1)


def test_an_interrupted_run_continues(entries, tmp_path, monkeypatch):
    play, done = leaderboard.play, []

    def stop(method, scores, alpha, early):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(method)
        return play(method, scores, alpha, early)

    monkeypatch.setattr(leaderboard, "play", stop)
    with pytest.raises(KeyboardInterrupt):
        parallel.run(entries, METHODS, 0.1, tmp_path, workers=1)
    assert len(list(tmp_path.iterdir())) == 3
    again = []
    monkeypatch.setattr(leaderboard, "play", lambda *a: again.append(1) or play(*a))
    parallel.run(entries, METHODS, 0.1, tmp_path, workers=1)
    assert len(again) == 7
    next(tmp_path.iterdir()).write_text('{"cov')  # a file that was damaged is computed again
    parallel.run(entries, METHODS, 0.1, tmp_path, workers=1)
    assert len(again) == 8


def test_processes_give_the_same(entries, tmp_path, rows):
    made = parallel.run(entries, METHODS[:2], 0.1, tmp_path, workers=2)
    for row in made:
        same = next(r for r in rows if (r["stream"], r["method"]) == (row["stream"], row["method"]))
        assert {k: v for k, v in row.items() if k != "nanoseconds"} == {
            k: v for k, v in same.items() if k != "nanoseconds"
        }


def test_pareto():
    lines = [
        {"method": name, "miss_of_target": x, "width_ratio": y}
        for name, x, y in (
            ("a", 1.0, 3.0),
            ("b", 2.0, 2.0),
            ("c", 2.0, 3.0),
            ("d", 3.0, 1.0),
            ("e", 3.0, 1.5),
            ("trivial", 0.0, 0.0),
        )
    ]
    assert bench.pareto(lines).numbers["front"] == ["a", "b", "d"]


def test_a_folder_of_a_leaderboard(entries, tmp_path):
    pytest.importorskip("matplotlib")
    short = Entry("short", ())
    results = bench.run([*entries, short], METHODS, 0.1, tmp_path, count=1)
    assert results["too_short"] == ["short"] and {*results["streams"]} == {"panel", "steps"}
    assert json.loads((tmp_path / "leaderboard.json").read_text())["leaderboard"] == results["leaderboard"]
    assert all((tmp_path / name).is_file() for name in results["files"])
    assert (
        results["defaults"]["sf-ogd"]["max_score"] == leaderboard.TOLD
        and results["defaults"]["magl"]["learner.epsilon"] == 1.0
    )
    with pytest.raises(ValueError, match="no stream has 200 rounds"):
        bench.run([short], METHODS, 0.1, tmp_path)
    with pytest.raises(ValueError, match="no method is called 'nix'"):
        bench.run(entries, ["nix"], 0.1, tmp_path)


def test_folders_of_streams(tmp_path):
    with pytest.raises(ValueError, match="holds no stream"):
        bench.folder(tmp_path)
    with pytest.raises(ValueError, match="is not there"):
        bench.folder(tmp_path / "none")
    wane.streams.write(tmp_path / "a.npz", wane.streams.ScoreStream("a", np.arange(1.0, 250.0)))
    (tmp_path / "b.csv").write_text("id,y,yhat\n" + "".join(f"{i % 2},{i},{i + 1}\n" for i in range(500)))
    found = bench.folder(tmp_path)
    assert [(e.name, [len(s) for s in e.scores]) for e in found] == [("a", [249]), ("b", [250, 250])]
