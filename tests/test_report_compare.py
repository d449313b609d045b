"""The page of a comparison argues for its advice: its words, its verdict and its figures are of the same rounds."""

import json
import re

import numpy as np
import pytest
from test_cli_tables import run
from test_report import cells
from test_report_chance import plain


@pytest.mark.parametrize(("series", "seed"), [(1, 0), (1, 1), (3, 2)])
def test_the_page_of_a_comparison_argues_for_its_advice(tmp_path, series, seed):
    rng = np.random.default_rng(seed)
    lines = ["id,time,y,yhat"]
    for t in range(700):
        for name in range(series):
            y = round(100 + (3 if t > 400 else 1) * 8 * rng.normal())  # whole numbers: ends are hit now and then
            lines.append(f"s{name},{t},{y},100")
    path, page = tmp_path / "in.csv", tmp_path / "page.html"
    path.write_text("\n".join(lines))
    methods = "magl,split,aci,faci,trailing-window,trivial"
    out, _ = run("compare", path, "--methods", methods, "--report", page, "--json")
    found = json.loads(out)
    text = page.read_text(encoding="utf-8")
    board = {line["method"]: line for line in found["leaderboard"]}
    # The advice is first, with its reason and its command; the verdict and its numbers are of the same method.
    said = plain(text)
    assert said.index("Recommended method") < said.index(found["method"]) < said.index("Why:") < said.index("inside;")
    rows = cells(text, "methods")
    assert rows[0][0] == found["method"] and len(rows) == len(board)
    for row in rows:
        assert float(row[1]) == board[row[0]]["coverage"]
    inside = re.search(r"([\d.]+) % of ([\d,]+) outcomes", said)
    assert float(inside[1]) == pytest.approx(100 * board[found["method"]]["coverage"], abs=0.11)
    # The figures support it: of the methods near the target none has a smaller loss.
    mine, off = board[found["method"]], {m: line["miss_of_target"] for m, line in board.items() if m != "trivial"}
    near = [m for m, far in off.items() if far <= max(0.01, min(off.values())) and not board[m]["infinite"]]
    if found["method"] in near:
        assert mine["pinball"] <= 1.01 * min(board[m]["pinball"] for m in near)
    assert f"wane run {path}" in said.replace("'", "")
