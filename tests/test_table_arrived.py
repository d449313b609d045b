"""``--arrived``: a true value is learned by rows whose time is after its arrival, and by no others."""

import csv

import numpy as np
import pytest

from wane.runs import Options, play

METHODS = ("magl", "auto", "pool")


def table(series=3, length=60, seed=0):
    rng = np.random.default_rng(seed)
    rows = [[t, f"s{k}", rng.normal() * (k + 1), 0.0] for t in range(length) for k in range(series)]
    return rows


def played(tmp_path, rows, options, state=None, name="out.csv"):
    with open(tmp_path / "in.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "id", "y", "yhat", "came"][: len(rows[0])])
        writer.writerows(rows)
    made = play(str(tmp_path / "in.csv"), str(tmp_path / name), options, state)
    with open(tmp_path / name, newline="") as file:
        return made, [row["upper"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("late", [0, 1, 4])
def test_a_constant_wait_is_a_delay(tmp_path, method, late):
    """A value of time t that comes at t + late is known to the rows after that: the delay is so many rows."""
    rows = table()
    _, wanted = played(tmp_path, rows, Options(method=method, delay=late))
    _, found = played(tmp_path, [[*row, row[0] + late] for row in rows], Options(method=method, arrived="came"))
    if method == "pool":  # the first labels choose the unit, in the order in which they are learned
        assert found == wanted
    else:
        np.testing.assert_allclose([float(u) for u in found if u], [float(u) for u in wanted if u], rtol=1e-12)
        assert [u == "" for u in found] == [u == "" for u in wanted]


@pytest.mark.parametrize("method", METHODS)
def test_no_row_knows_what_arrives_at_its_time_or_later(tmp_path, method):
    rng = np.random.default_rng(1)
    rows = [[*row, row[0] + int(rng.integers(0, 20))] for row in table()]
    options = Options(method=method, arrived="came")
    _, whole = played(tmp_path, rows, options)
    now = 30
    changed = [[t, k, y if came < now else 1e3, f, came] for t, k, y, f, came in rows]
    _, found = played(tmp_path, changed, options)
    upto = [i for i, row in enumerate(rows) if row[0] <= now]
    assert [found[i] for i in upto] == [whole[i] for i in upto] and found != whole


def test_labels_may_come_in_any_order_and_never(tmp_path):
    rows = [[t, "a", 1.0 * t, 0.0, 100 - t] for t in range(40)]  # the last one first
    made, upper = played(tmp_path, rows, Options(method="magl", arrived="came"))
    assert made.cold == 40 and set(upper) == {""}
    rows = [[*row[:4], 2 * row[0]] if row[0] % 2 else [*row[:2], "", 0.0, ""] for row in rows]
    made, upper = played(tmp_path, rows, Options(method="magl", arrived="came"))
    assert made.labels > 0 and upper[1:3] == ["", ""] and upper[3] != ""


def test_pieces_are_the_whole(tmp_path):
    rng = np.random.default_rng(2)
    rows = [[*row, row[0] + int(rng.integers(0, 20))] for row in table()]
    options = Options(method="auto", arrived="came")
    _, whole = played(tmp_path, rows, options)
    found = []
    for part in (rows[:50], rows[50:121], rows[121:]):
        found += played(tmp_path, part, options, str(tmp_path / "state"))[1]
    assert found == whole


def test_what_does_not_fit_is_told(tmp_path):
    rows = [[*row, row[0]] for row in table()]
    for options, said in (
        (Options(arrived="came", delay=2), "give either arrived or delay"),
        (Options(arrived="came", no_time=True), "'came' needs a column of times beside it"),
        (Options(arrived="come"), "there is no column 'come'"),
    ):
        with pytest.raises(ValueError, match=said):
            played(tmp_path, rows, options)
    with pytest.raises(ValueError, match="as a whole: leave out state, or give method='auto'"):
        played(tmp_path, rows, Options(arrived="came"), str(tmp_path / "state"))
    rows[7][4] = ""
    with pytest.raises(ValueError, match="line 9: the row has a true value, and the column 'came' does not say when"):
        played(tmp_path, rows, Options(arrived="came"))
