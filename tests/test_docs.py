"""The documentation tells the truth: its snippets run, its quotations and the tests it names exist."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import json
import os
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
from table import NEEDS, ROWS

import wane
from wane.learners import Centered, Learner, load
from wane.trackers.registry import METHODS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "wane"
PAGES = sorted(DOCS.glob("*.md")) + [p for p in (ROOT / "README.md", ROOT / "CONTRIBUTING.md") if p.exists()]
BLOCK = re.compile(r"^( *)```(?:python|pycon)\n(.*?)^\1```", flags=re.S | re.M)
SHOWN = re.compile(r"^(?:.*\bprint\(.*\)  )?# (.*)$", flags=re.M)  # what a snippet prints, in a comment beside or below
QUOTING = ("classification", "optax", "panels", "river", "sklearn", "streams", "torch")  # all such comments there do
PAPER = "\n".join((DOCS / f"{page}.md").read_text() for page in ("paper_to_code", "numerics"))


def blocks(path):
    """The line and the text of each Python block of a page."""
    text = path.read_text()
    return [(text.count("\n", 0, m.start(2)), textwrap.dedent(m[2])) for m in BLOCK.finditer(text)]


def run(path):
    """Run the blocks of a page in order, in one namespace; those that begin with ``>>>`` as doctests."""
    space = {"__name__": f"shown_in_{path.stem}"}
    for line, code in blocks(path):
        if code.startswith(">>>"):
            example = doctest.DocTestParser().get_doctest(code, space, path.name, str(path), line)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            said = []
            runner.run(example, out=said.append, clear_globs=False)
            assert not runner.failures, "".join(said)
            space = example.globs
        else:
            exec(compile("\n" * line + code, str(path), "exec"), space)
    return space


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A working directory of its own, no window, and methods that are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    registered = dict(METHODS)
    yield
    for name in METHODS.keys() - registered.keys():  # by the guide, as its example
        del METHODS[name]


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_snippets_run(path, elsewhere, capsys):
    if path.stem in ("streams", "forecasting", "classification"):
        for package in ("sklearn", "river", "statsmodels"):
            pytest.importorskip(package)
    elif path.stem in ("nixtla", "panels"):  # data frames; Nixtla is a format here, not a library
        pytest.importorskip("narwhals")
        pytest.importorskip("pandas")
    elif path.stem == "lifelong":
        pytest.importorskip("torch")
        pytest.importorskip("optax")
    elif path.stem == "cluster":
        pytest.skip("tests/test_cluster_*.py run the part of each engine")
    elif path.stem == "lines":
        pytest.importorskip("typer")  # it starts the command
    elif path.stem in {adapter.stem for adapter in (SOURCE / "integrations").iterdir()}:
        pytest.importorskip(path.stem)  # a page and an adapter have the name of their library
    if any("matplotlib" in code or ".plot(" in code for _, code in blocks(path)):
        pytest.importorskip("matplotlib").use("Agg")
    run(path)
    if path.stem in QUOTING:
        printed = " ".join(capsys.readouterr().out.split())
        shown = [" ".join(m[1].split()) for _, code in blocks(path) for m in SHOWN.finditer(code)]
        assert shown and not [line for line in shown if line not in printed]


def test_snippets_are_found():
    found = {path.stem: len(blocks(path)) for path in PAGES}
    assert found["index"] == 1 and found["adding"] == 2
    assert found["start"] >= 5 and found["learners"] >= 4 and found["theory"] >= 8


def test_the_learner_of_the_guide_is_a_learner(elsewhere):
    mine = run(DOCS / "adding.md")["ScaleFreeFTRL"]
    assert issubclass(mine, Learner) and len(inspect.getdoc(mine)) > 20
    for dim in (None, 1, 3):
        g = np.random.default_rng(0).normal(size=60 if dim is None else (60, dim))
        batch, steps, want = mine(0.5, 0.9, dim=dim), mine(0.5, 0.9, dim=dim), []
        for row in g:
            want.append(steps.predict())
            steps.update(row)
        assert batch.run(g).tobytes() == np.array(want).tobytes()
        again = load(json.loads(json.dumps(batch.state_dict())))
        assert again.run(g).tobytes() == batch.run(g).tobytes()
        center = 2.0 if dim is None else np.full(dim, 2.0)
        assert np.allclose(Centered(mine(0.5, 0.9, dim=dim), center).run(g), np.array(want) + 2.0)
        before = json.dumps(batch.state_dict())
        with pytest.raises(OverflowError, match="rescale"):
            batch.update(1e200 * np.ones(np.shape(center)))
        assert json.dumps(batch.state_dict()) == before
        batch.reset()
        assert not np.any(batch.predict())


def test_api_lists_every_public_name():
    text = "".join(page.read_text() for page in DOCS.glob("api*.md"))
    listed = set(re.findall(r"^\.\. auto(?:class|function):: (\S+)$", text, flags=re.M))
    whole = re.findall(r"^\.\. automodule:: (\S+)\n   :members:\n(?:   :exclude-members: (.*)\n)?", text, flags=re.M)
    for module, excluded in whole:
        listed |= {f"{module}.{n}" for n in set(importlib.import_module(module).__all__) - set(excluded.split(", "))}
    modules = [getattr(wane, n) for n in wane.__all__ if hasattr(getattr(wane, n), "__all__")]
    public = {f"{m.__name__}.{n}" for m in modules for n in m.__all__}
    public |= {f"wane.{n}" for n in wane.__all__ if callable(getattr(wane, n))}
    public -= {f"{m.__name__}.{n}" for m in modules for n in m.__all__ if n in wane.__all__}
    public -= {f"wane.{n}" for n in wane.__all__ if n in wane.errors.__all__}  # listed where they are defined
    public |= {f"wane.{n}.load" for n in ("learners", "trackers")}  # not the load of wane
    public |= {"wane.special.dawson", "wane.special.erfi"}
    assert public <= listed
    for name in listed - public:  # what is given out, and not made by name
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name
    assert {m.partition(".")[2].partition(".")[0] for m in listed} | {"__version__"} == set(wane.__all__) - set(
        wane.errors.__all__
    )


def test_the_tests_that_are_named_exist():
    tests = "\n".join(f.read_text() for f in (ROOT / "tests").glob("test_*.py"))
    for path in sorted(DOCS.glob("*.md")):
        for name in set(re.findall(r"`(test_\w+)`", path.read_text())):
            assert f"def {name}(" in tests, f"{path.name} names {name}"
    differences = PAPER.partition("## Differences from the paper")[2].partition("\n## ")[0]
    items = re.split(r"^\d+\. ", differences, flags=re.M)[1:]
    assert len(items) >= 12
    for item in items:
        assert "`test_" in item, f"no test holds: {item[:60]}"


def test_literal_includes_point_to_what_is_there():
    found = re.findall(r"```\{literalinclude\} (\S+)\n:pyobject: (\S+)", PAPER)
    assert len(found) == PAPER.count("{literalinclude}") >= 8
    for file, name in found:
        body = ast.parse((DOCS / file).read_text()).body
        for part in name.split("."):
            inside = [node for node in body if getattr(node, "name", None) == part]
            assert inside, f"{file} has no {name}"
            body = inside[0].body


def test_quotations_are_in_the_files_they_name():
    """Tables with the columns line, paper, code, file: the code stands in the file as quoted."""
    quoted = 0
    for row in re.findall(r"^\|.*\| `(?:learners|theory)/\w+\.py` \|$", PAPER, flags=re.M):
        *_, code, file, _ = re.split(r" ?(?<!\\)\| ?", row)
        text = (SOURCE / file.strip("`")).read_text()
        for quotation in re.findall(r"`([^`]+)`", code):
            quoted += 1
            assert quotation.replace("\\|", "|") in text, f"{file} does not say {quotation}"
    assert quoted > 50


def script(name):
    """A script of the documentation as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_failures_is_what_the_script_prints():
    for row in script("literal").rows():
        assert f"\n{row}\n" in PAPER


def test_the_table_of_delays_is_what_the_script_prints():
    delay = script("delay")
    text = (DOCS / "delay.md").read_text()
    printed = list(delay.rows(delay.measured()))
    assert len(printed) == len(delay.DELAYS)
    for row in printed:
        assert f"\n{row}\n" in text


def test_what_is_said_of_learners_that_choose_the_discount_is_what_the_script_prints():
    text = " ".join((DOCS / "discounts.md").read_text().split())
    rows = [row.strip("| ").split(" | ")[2:] for row in script("discounts").rows()]
    table = np.array(rows, dtype=float)
    grid, hedge, full, adaptive, worst = table.T
    assert len(table) == 7
    for said in (
        f"stays within {100 * (grid.max() - 1):.0f} % of it",
        f"full loss stays within {100 * (full.max() - 1):.0f} %",
        f"between {100 * (1 - hedge.min()):.0f} % below and {100 * (hedge.max() - 1):.0f} % above",
        f"up to {adaptive.max():.1f} times",
        f"has {worst.min():.0f} to {worst.max():.0f} times",
    ):
        assert said in text, said


def test_methods_that_ignore_the_played_radius_are_those_of_the_table():
    text = (DOCS / "delay.md").read_text().partition("## Who looks at the radius that was played")[2]
    rows = [re.findall(r"`([\w-]+)`", row.split("|")[1]) for row in re.findall(r"^\| `.*", text, flags=re.M)]
    listed = [name for row in rows for name in row]
    assert len(listed) == len(set(listed)) > 0 and set(listed) <= set(wane.trackers.names())
    scores = np.abs(np.random.default_rng(0).normal(size=120))
    for name in listed:
        given = {k: 20.0 for k in NEEDS[name]}
        after = []
        for radius in (0.0, 100.0):
            tracker = wane.trackers.make(name, 0.1, **given)
            tracker.warm_start(scores[:100])
            for score in scores[100:]:
                tracker.update(score, radius=radius)
            after.append(json.dumps(tracker.state_dict()))
        assert (after[0] != after[1]) == (name in rows[0]), name


def test_the_tables_of_methods_and_learners_are_those_of_the_package():
    """`python tools/tables.py` writes them; each has its marks on one page."""
    pytest.importorskip("typer")
    spec = importlib.util.spec_from_file_location("tables", ROOT / "tools" / "tables.py")
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    pages, made = [page.read_text() for page in DOCS.glob("*.md")], tables.blocks()
    for name in made:
        assert sum(page.count(f"<!-- begin {name} -->") for page in pages) == 1
    for page in pages:
        assert tables.written(page, made) == page, "run python tools/tables.py"


def test_the_table_of_layers_is_the_one_that_is_enforced():
    enforced = re.search(r"^layers = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), flags=re.S | re.M)[1]
    layers = [set(re.findall(r"[a-z]\w*|_\w+", line)) - {"_cython"} for line in enforced.splitlines()]
    shown = [set() for _ in layers]
    for number, modules in re.findall(r"^\| (\d+) \| (.*?) \|", (DOCS / "design.md").read_text(), flags=re.M):
        shown[-1 - int(number)] |= set(re.findall(r"`wane\.(\w+)`", modules))
    assert shown == layers


def test_the_table_of_scores_is_complete():
    text = (DOCS / "predictions.md").read_text()
    assert sorted(re.findall(r'^\| `"([\w-]+)"` \|', text, flags=re.M)) == wane.scores.names()


def test_the_tables_that_compare_learners_name_learners_and_bounds():
    text = (DOCS / "choosing.md").read_text()
    named = re.findall(r"^\| `(\w+)` \|(?:[^|]*\|){2} ([^|]*) \|", text, flags=re.M)
    wrappers = re.findall(r"^\| `(\w+)\(learner, ", text, flags=re.M)
    assert len(named) > 10 and len(wrappers) == 3
    assert {name for name, _ in named} | set(wrappers) <= set(ROWS)  # a new one may not be compared yet
    for _, guarantees in named:
        assert all(hasattr(wane.theory, bound) for bound in re.findall(r"`(\w+)`", guarantees))


def test_pages_link_to_pages():
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text()
        for name in re.findall(r"\{doc\}`(\w+)`", text):
            assert (DOCS / f"{name}.md").exists(), f"{path.name} links to {name}"
        assert "/work" not in text and str(Path.home()) + os.sep not in text
    toctree = "".join((DOCS / name).read_text().partition("{toctree}")[2] for name in ("index.md", "api.md"))
    for path in DOCS.glob("*.md"):
        assert path.stem == "index" or f"\n{path.stem}\n" in toctree, f"{path.name} is not in the table of contents"


def rows_of(page, name):
    """The cells of a table between the marks of that name, without its head."""
    text = re.search(rf"<!-- begin {name} -->\n(.*?)<!-- end {name} -->", page.read_text(), flags=re.S)[1]
    return [line.strip("| ").split(" | ") for line in text.strip().splitlines()[2:]]


def test_the_leaderboard_has_methods_that_there_are():
    """All that there were when it was measured; a method that is new joins with the next `tools/evidence.py`."""
    shown = [row[0] for row in rows_of(DOCS / "leaderboard.md", "leaderboard")]
    assert len(shown) == len(set(shown)) > 0 and set(shown) <= set(wane.trackers.names())


def test_the_leaderboard_is_what_the_command_prints():
    """A cheap method on all streams; of the others the ratios need everything."""
    pytest.importorskip("sklearn")
    pytest.importorskip("arch")
    pytest.importorskip("river")
    from wane.experiments import bench, leaderboard

    shown = {row[0]: row[1:4] for row in rows_of(DOCS / "leaderboard.md", "leaderboard")}
    found = [leaderboard.play("p-control", entry.scores, 0.1) for entry in bench.bundled()]
    off, error = (np.mean([row[key] for row in found]) for key in ("miss_of_target", "lce_100"))
    assert shown["p-control"][:2] == [f"{off:.4f}", f"{error:.3f}"]


def test_table_1_is_what_the_command_prints():
    pytest.importorskip("sklearn")
    from wane.experiments import protocol
    from wane.streams import digits

    shown = rows_of(DOCS / "reproducing.md", "table1-digits")
    assert len(shown) == len(protocol.TITLES)
    experiment = protocol.Experiment(digits("sudden"))
    for name in ("simple-ogd", "magl-d", "magl", "magdis"):
        row = next(r for r in shown if r[0] == protocol.TITLES[name])
        judged = experiment.play(name).judged()
        wanted = [f"{judged['coverage']:.3f}", f"{judged['width']:.1f}", f"{judged['lce_100']:.2f}"]
        assert [re.sub(r"\*\*|</?u>", "", cell) for cell in row[1:4]] == wanted
