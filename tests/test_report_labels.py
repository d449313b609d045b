"""The report on label sets: coverage and size over time, by class, and what is taken instead of what is missed."""

import csv
import io
import re

import browser
import numpy as np
import pytest
from test_report import cells, embedded

from wane.report import LabelTrack, Track, numbers, page, write
from wane.report.categories import by_factor
from wane.report.confusion import EMPTY, instead
from wane.report.packing import unpacked

NAMES = ["cat", "dog", "fox", "owl"]


def animals(rounds=1200, levels=(0.1, 0.3), seed=0, **more):
    """A classifier that takes cats for dogs, with two thresholds on its probabilities."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 4, rounds)
    score = rng.normal(size=(rounds, 4))
    score[np.arange(rounds), label] += 2.0
    score[label == 0, 1] += 2.5
    probability = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    sets = np.stack([probability > least for least in (0.1, 0.25)], axis=1)
    names = np.array(NAMES, dtype=object)[label]
    names[100:120] = None
    time = np.datetime64("2024-03-01T00:00", "ms") + np.arange(rounds) * np.timedelta64(1, "h")
    return LabelTrack("animals", "aps", time, names, levels, sets[:, : len(levels)], NAMES, **more)


def test_sizes_coverage_and_classes_are_counted():
    made = animals()
    known = [t for t in range(1200) if made.label[t] is not None]
    inside = [made.sets[t, 0, NAMES.index(made.label[t])] for t in known]
    found = numbers.judged(made, 0, 100)
    assert found.coverage == pytest.approx(np.mean(inside)) and found.labels == len(known) == 1180
    assert found.width == pytest.approx(made.sets[:, 0].sum(axis=1).mean()) and np.isnan(found.winkler)
    rows = {c.name: c for c in by_factor([made], 0)["true label"]}
    cats = [t for t in known if made.label[t] == "cat"]
    assert rows["cat"].labels == len(cats)
    assert rows["cat"].coverage == pytest.approx(np.mean([made.sets[t, 0, 0] for t in cats]))
    assert rows["cat"].width == pytest.approx(np.mean([made.size[t, 0] for t in cats]))


def test_what_is_taken_instead_of_what_is_missed():
    made = animals()
    missed, there, counts = instead([made], 1)
    want = {}
    for t in np.flatnonzero(made.covered[:, 1] == 0.0):
        taken = [NAMES[c] for c in np.flatnonzero(made.sets[t, 1])] or [EMPTY]
        for other in taken:
            want[made.label[t], other] = want.get((made.label[t], other), 0) + 1
    assert {
        (a, b): n for a, row in zip(missed, counts, strict=True) for b, n in zip(there, row, strict=True) if n
    } == want
    assert (missed[0], there[0]) == ("cat", "dog")
    text = page.page([made])
    lines = cells(text, "confusion")
    assert lines[0][0] in NAMES and "What was taken instead" in text
    no_sets = LabelTrack("s", "m", None, made.label, [0.1], size=made.size[:, 0], covered=made.covered[:, 0])
    assert "What was taken instead" not in page.page([no_sets]) and "Coverage by true label" in page.page([no_sets])


def test_the_page_speaks_of_labels_and_sets():
    text = page.page([animals()], title="Animals")
    said = text.replace("\u00a0", " ")
    assert "of 1,180 labels were in the set; the target was 90 %" in said
    assert "Winkler" not in said.partition("<main>")[2].partition("<script")[0] and "Mean size" in said
    (charts,) = embedded(text)["tracks"]
    assert np.array_equal(unpacked(charts["levels"][0]["size"]), animals().size[:, 0]) and "y" not in charts


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"label": []}, "one round or more"),
        ({"label": ["cat", "cow"]}, "'cow' is none of the classes"),
        ({"sets": [[1, 0]]}, "sets must have shape"),
        ({"classes": ["cat"]}, "the names of 2 classes"),
        ({"sets": None}, "size and covered are wanted"),
        ({"sets": None, "size": [1, 2], "covered": [1, 7]}, "1 or 0"),
        ({"time": [2, 1]}, "sort the rounds"),
        ({"levels": [2.0]}, "share of misses"),
    ],
)
def test_a_track_of_labels_refuses(change, wanted):
    fields = {
        "time": None,
        "label": ["cat", "dog"],
        "levels": [0.1],
        "sets": [[1, 0], [1, 1]],
        "classes": ["cat", "dog"],
    }
    with pytest.raises((ValueError, TypeError), match=wanted):
        LabelTrack("s", "m", **{**fields, **change})


def test_labels_and_numbers_are_not_mixed():
    with pytest.raises(TypeError, match="all Track or all LabelTrack"):
        page.page([animals(levels=(0.1,)), Track("s", "m", None, [1.0], None, [0.1], [0.0], [2.0])])


@pytest.mark.skipif(browser.found() is None, reason="needs Chromium: apt-get install chromium, or set CHROMIUM")
def test_the_charts_of_label_sets(tmp_path):
    made = animals()
    write(tmp_path / "r.html", [made])
    tab = browser.Page(browser.found(), tmp_path / "profile", width=390, height=800, phone=True)
    try:
        tab.open(tmp_path / "r.html")
        tab.settle()
        assert tab.run("charts.map((c) => c.spec.id)") == ["series", "coverage", "width", "sum"]
        rows = list(csv.DictReader(io.StringIO(tab.run("csvOf('series')"))))
        assert [int(row["size 90\u00a0%"]) for row in rows] == made.size[:, 0].tolist()
        assert [row["inside 90\u00a0%"] for row in rows[99:101]] == [str(int(made.covered[99, 0])), ""]
        assert "Local size" in tab.run("charts[2].spec.title")
        assert tab.run("document.documentElement.scrollWidth") == 390
        dots = tab.run("Array.from(document.querySelectorAll('#by-0 .dot'), (d) => d.classList.contains('out'))")
        assert dots == [c.outside for c in by_factor([made], 0)["true label"]]
        assert tab.complaints() == []
    finally:
        tab.close()


def test_every_word_that_is_marked_is_explained():
    for tracks in ([animals()], [Track("s", m, None, [1.0], None, [0.1], [0.0], [2.0]) for m in "ab"]):
        text = page.page(tracks)
        marked = set(re.findall(r'aria-describedby="(term-\w+)"', text))
        assert marked and marked <= set(re.findall(r'<dd id="(term-\w+)"', text))
