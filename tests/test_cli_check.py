"""``wane check``: whole, torn or damaged, what is inside, and the exit code that says so; no file is changed."""

import json
import os
import shutil
from pathlib import Path

import pytest
from test_cli_tables import run
from test_saving import EXPECTED, fixtures

import wane
from wane.errors import MissingFileError
from wane.panel import GroupedPanel, Groups
from wane.runs.check import check
from wane.state.files import SAVED, load

pytestmark = pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")
OLDER = Path(__file__).parent / "older"


@pytest.fixture
def journal(tmp_path):
    for file in OLDER.glob("journal.wane*"):
        shutil.copy(file, tmp_path)
    return tmp_path / "journal.wane"


@pytest.mark.parametrize("name", EXPECTED)
def test_every_kind_of_file_is_whole(name):
    found = check(str(fixtures.SAVED / f"{name}.wane"))
    assert found.status == "whole" and found.problem is None and found.in_use is None
    json.dumps(found.plain(), allow_nan=False)
    if "unknown" not in found.holds:
        assert found.holds["class"] == type(load(fixtures.SAVED / f"{name}.wane")).__name__


def test_what_is_inside(journal, tmp_path):
    found = check(str(journal))
    assert found.calls == {"snapshot": 20, "log": 10, "all": 30} and found.lost == "opening it would lose nothing"
    with wane.Journal(journal) as live:
        metrics = live.object.metrics()
        want = {"labels": metrics.rounds, "predictions": live.object.predictions, "pending": metrics.pending}
        assert {key: found.holds[key] for key in want} == want and found.holds["alpha"] == [0.1]
    run_state = check(str(OLDER / "run.wane")).holds
    assert (run_state["method"], run_state["series"], run_state["rows"], run_state["labels"]) == ("magl", 2, 30, 30)
    many = wane.conformal.ManySeries("magl", alpha=(0.1, 0.2))
    for name in "ab":
        many.update(many.predict(1.0, series=name).id, 2.0, series=name)
    many.predict(1.0, series="a")
    wane.save(tmp_path / "many.wane", many)
    holds = check(str(tmp_path / "many.wane")).holds
    assert holds.items() >= {"series": 2, "labels": 2, "predictions": 3, "pending": 1, "alpha": [0.1, 0.2]}.items()


def test_every_class_with_a_file_of_its_own_says_what_it_holds(tmp_path):
    grouped = GroupedPanel(["day"], "magl", 0.1)
    grouped.run([1, 2, 1, 2], [0.0] * 4, [1.0] * 4, {"day": ["mo", "mo", "tu", "tu"]})
    groups = Groups("pool")
    groups.predict(["a"], [0.0], ["x"])
    single = wane.OnlineConformal("magl", alpha=0.1, groups=["day"])
    single.predict(0.0, groups={"day": "mo"})
    made = [(grouped, 2), (groups, 1), (single, 1), (wane.Panel("pool"), None), (wane.Horizons(2, alpha=0.1), None)]
    made += [(wane.conformal.ManySeries("magl", alpha=0.1), None)]
    others = {name for name in SAVED if name.endswith(("Session", "Snapshot")) or "." in name}
    assert {type(thing).__name__ for thing, _ in made} | others == set(SAVED)
    for thing, count in made:
        wane.save(tmp_path / "x.wane", thing)
        holds = check(str(tmp_path / "x.wane")).holds
        assert holds["class"] == type(thing).__name__ and holds.get("groups") == count and holds["alpha"] == [0.1]


def test_every_cut_and_change_of_a_log_agrees_with_opening_it(journal):
    """What is said to be lost is what opening it loses."""
    log = Path(f"{journal}.log")
    whole = log.read_bytes()
    for n in range(0, len(whole), 37):
        for damaged in (whole[:n], whole[:n] + bytes([whole[n] ^ 4]) + whole[n + 1 :]):
            log.write_bytes(damaged)
            before = {f.name: f.read_bytes() for f in journal.parent.iterdir()}
            found = check(str(log))
            assert {f.name: f.read_bytes() for f in journal.parent.iterdir()} == before
            try:
                with pytest.warns(wane.JournalWarning) if found.status == "torn" else check_nothing():
                    with wane.Journal(journal, sync=False) as opened:
                        assert found.calls["all"] == opened.sequence and found.status in ("whole", "torn")
            except wane.SavedFileError as error:
                assert found.status == "damaged" and log.name in found.problem and "corrupted" in str(error)


class check_nothing:
    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False


def test_a_journal_in_use_is_not_disturbed(journal):
    with wane.Journal(journal) as live:
        for n in range(20):
            live.predict(float(n), id=f"x{n}")
            if n % 5 == 0:
                live.compact()
            found = check(str(journal))
            assert found.status == "whole" and found.calls["all"] == 31 + n == live.sequence
            assert f"this process ({os.getpid()})" in found.in_use
        with open(live.log, "ab") as file:
            file.write(b"12 0")  # as another process sees a record that is being written
        assert check(str(journal)).status == "whole"


def test_missing_parts(journal, tmp_path):
    with pytest.raises(MissingFileError):
        check(str(tmp_path / "nothing"))
    os.rename(journal, tmp_path / "elsewhere")
    assert check(str(journal)).status == "damaged" and "snapshot" in check(f"{journal}.log").problem
    os.rename(tmp_path / "elsewhere", journal)
    os.unlink(f"{journal}.log")
    assert check(str(journal)).status == "damaged" and "missing" in check(str(journal)).problem


def test_exit_codes(journal, tmp_path):
    out, _ = run("check", journal)
    assert out.startswith(f"{journal}: whole\njournal of OnlineConformal, alpha 0.1") and "30 calls: 20 in" in out
    Path(f"{journal}.log").write_bytes(Path(f"{journal}.log").read_bytes() + b"77 0")
    out, _ = run("check", journal, "--json", code=3)
    assert json.loads(out)["status"] == "torn" and not Path(f"{journal}.log.dropped").exists()
    Path(f"{journal}.log").write_bytes(b"\0" * 900)
    out, said = run("check", journal, code=4)
    assert "damaged: " in out and "it cannot be opened; no file was changed" in out and not said
    _, said = run("check", tmp_path / "nothing", code=1)
    assert said.startswith("wane: there is no file")
    _, said = run("check", tmp_path, code=1)
    assert "cannot be read (Is a directory)" in said
