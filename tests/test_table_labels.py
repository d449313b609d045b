"""The table of a classifier: sets of labels as ``OnlineConformal`` makes them, states, comparisons, pages."""

import csv
import json

import numpy as np
import pytest

import wane
from wane.report import read
from wane.report.runs import tracks
from wane.runs import Options, play
from wane.tables import chosen

CLASSES = ("cat", "dog", "cow")


def data(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.5, 0.5, 0.5], size=rows).round(4)
    p[:, 2] = (1.0 - p[:, 0] - p[:, 1]).round(4)
    label = np.array([rng.choice(3, p=row / row.sum()) for row in np.maximum(p, 0.0)])
    return np.maximum(p, 0.0), label


def written(path, p, label, names=("proba_cat", "proba_dog", "proba_cow"), unknown=()):
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["ds", *names, "label"])
        for t, (row, k) in enumerate(zip(p.tolist(), label, strict=True)):
            table.writerow([t, *row, "" if t in unknown else CLASSES[k]])
    return str(path)


def cells(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("score", [None, "lac", "aps"])
@pytest.mark.parametrize("delay", [0, 3])
def test_sets_are_those_of_online_conformal(tmp_path, score, delay):
    p, label = data()
    path = written(tmp_path / "in.csv", p, label)
    made = play(path, str(tmp_path / "out.csv"), Options(score=score, delay=delay, alpha=(0.1, 0.3)))
    kind = {None: wane.scores.RAPS, "aps": wane.scores.APS}.get(score)
    scorer = wane.scores.LAC(CLASSES) if kind is None else kind(classes=CLASSES, seed=0)
    oc = wane.OnlineConformal("auto", scorer, (0.1, 0.3))
    table = oc.run(p, [CLASSES[k] for k in label], delay)
    rows = cells(tmp_path / "out.csv")
    cold = delay + 1
    assert [row["cold"] for row in rows] == ["1"] * cold + ["0"] * (len(p) - cold)
    for level, end in enumerate(("_0.1", "_0.3")):
        members = table.members[level] if isinstance(table.members, (list, tuple)) else table.members[:, level]
        for row, inside in list(zip(rows, members, strict=True))[cold:]:
            assert row[f"set{end}"] == "|".join(np.array(CLASSES)[inside]) and int(row[f"size{end}"]) == inside.sum()
        inside = members[np.arange(len(p)), label][cold:]
        assert made.coverage[level] == pytest.approx(inside.mean())
        assert made.width[level] == pytest.approx(members[cold:].sum(axis=1).mean())


@pytest.mark.parametrize("names", [("proba_cat", "proba_dog", "proba_cow"), CLASSES, ("x cat", "x dog", "x cow")])
def test_columns_of_probabilities_are_found(tmp_path, names):
    """By their usual names, as the labels are called, or as the user says."""
    p, label = data()
    path = written(tmp_path / "in.csv", p, label, names)
    made = play(path, str(tmp_path / "out.csv"), Options(proba=("x *",) if names[0] == "x cat" else ()))
    assert made.columns.classes == CLASSES and made.columns.y == "label"
    if names == CLASSES:
        made = play(path, str(tmp_path / "out.csv"), Options(proba=CLASSES))
        assert made.columns.classes == CLASSES


def test_a_table_of_forecasts_is_none_of_a_classifier():
    assert not chosen(["y", "yhat", "p_1", "p_2"]).classes
    assert chosen(["y", "p_1", "p_2"]).classes == ("1", "2")


def test_pieces_are_the_whole(tmp_path):
    p, label = data()
    play(
        written(tmp_path / "in.csv", p, label, unknown=range(0, 300, 7)), str(tmp_path / "whole.csv"), Options(delay=2)
    )
    lines = (tmp_path / "in.csv").read_text().splitlines(keepends=True)
    found = []
    for part in (lines[1:100], lines[100:101], lines[101:]):
        (tmp_path / "part.csv").write_text("".join([lines[0], *part]))
        play(str(tmp_path / "part.csv"), str(tmp_path / "out.csv"), Options(delay=2), str(tmp_path / "state"))
        found += (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert found == (tmp_path / "whole.csv").read_text().splitlines()[1:]
    from wane.runs.check import check

    seen = check(str(tmp_path / "state"))
    assert seen.status == "whole" and seen.holds["method"] == "auto" and "RAPS" in seen.holds["score"]


def test_mistakes_are_told(tmp_path):
    p, label = data(30)
    path = written(tmp_path / "in.csv", p, label)
    text = (tmp_path / "in.csv").read_text()
    for old, new, said in (
        ("cow\n", "fox\n", r"the label 'fox' \(str\) is none of the classes cat, dog, cow: give a column"),
        (str(p[3, 0]), "7", "line 5: .*must hold probabilities"),
    ):
        (tmp_path / "bad.csv").write_text(
            text.replace(old, new, 1) if old == "cow\n" else text.replace(f"3,{old}", f"3,{new}", 1)
        )
        with pytest.raises(ValueError, match=said):
            play(str(tmp_path / "bad.csv"), str(tmp_path / "out.csv"), Options())
    with pytest.raises(ValueError, match="the method pool makes intervals, not sets of labels"):
        play(path, str(tmp_path / "out.csv"), Options(method="pool"))
    with pytest.raises(ValueError, match="a column of probabilities for each label, got proba_cat"):
        play(path, str(tmp_path / "out.csv"), Options(proba=("proba_cat",)))
    with pytest.raises(ValueError, match="warm_up cannot be used where rows are played one by one"):
        play(path, str(tmp_path / "out.csv"), Options(warm_up=5))


@pytest.mark.parametrize("alpha", [(), (0.1, 0.3)])
def test_a_written_table_of_sets_gives_the_tracks_of_the_run(tmp_path, alpha):
    """Whatever the page of a run is made of, `wane report` finds in the table that it wrote."""
    p, label = data()
    path, out = written(tmp_path / "in.csv", p, label, unknown=range(200, 210)), tmp_path / "out.csv"
    (want,) = tracks(play(path, str(out), Options(alpha=alpha), record=True), "in")
    (found,) = read(out)
    assert (found.name, found.levels) == ("out", want.levels)
    for name in ("time", "size", "covered"):
        np.testing.assert_array_equal(getattr(found, name), getattr(want, name))
    assert found.label.tolist() == want.label.tolist() and list(found.classes) == sorted(CLASSES)
    by_name = {str(name): found.sets[:, :, k] for k, name in enumerate(found.classes)}
    for k, name in enumerate(want.classes):
        np.testing.assert_array_equal(by_name[str(name)], want.sets[:, :, k])
    text = out.read_text()
    out.write_text(text.replace("cat|dog", "cat|dog|fox", 1))
    with pytest.raises(ValueError, match=r"line .* has \d labels, and 'size.*' says \d: labels must not contain '\|'"):
        read(out)
    out.write_text(text.replace("label", "truths", 1))
    with pytest.raises(ValueError, match="no column with a usual name for the labels"):
        read(out)
    assert read(out, y="truths")[0].label.tolist() == want.label.tolist()


def test_methods_are_compared_on_sets(tmp_path):
    pytest.importorskip("typer")
    from test_cli_words import called

    p, label = data(600)
    path = written(tmp_path / "in.csv", p, label)
    done = called("compare", path, "--methods", "auto,split,magl", "--json", "--report", tmp_path / "page.html")
    found = json.loads(done.stdout)
    rows = {row["method"]: row for row in found["leaderboard"]}
    for method in ("split", "auto"):
        oc = wane.OnlineConformal(method, wane.scores.RAPS(classes=CLASSES, seed=0), 0.1)
        table = oc.run(p, [CLASSES[k] for k in label])
        assert rows[method]["width"] == pytest.approx(table.width[200:].mean())
        assert rows[method]["coverage"] == pytest.approx(table.members[np.arange(600), label][200:].mean())
    assert found["command"].endswith("in_sets.csv") and found["reason"]["rule"]
    assert called(*found["command"].split()[1:], "--report", tmp_path / "run.html").exit_code == 0
    for page in ("page.html", "run.html"):
        assert "cat" in (tmp_path / page).read_text()
