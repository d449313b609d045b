"""Other packages beside wane: adapters that cannot look ahead, the same rounds for all, the arithmetic of the table."""

import importlib
import importlib.metadata
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wane

ROOT = Path(__file__).parent.parent
ALPHA = 0.1
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(ROOT / "benchmarks")
    peers = importlib.import_module("peers")
    peer_adapters = importlib.import_module("peer_adapters")
METHODS = peer_adapters.methods()
MODULES = {"online-cp": "online_cp", "adaptive-conformal-inference": "aci"}
foreign = pytest.mark.filterwarnings("ignore")  # what other packages warn of is not ours to mend


def stream(rounds=330, seed=0, name="made"):
    rng = np.random.default_rng(seed)
    y_hat = np.cumsum(rng.normal(size=rounds))
    return wane.streams.ForecastStream(name, y_hat + rng.standard_t(3, size=rounds), y_hat)


class Wide:
    """A fake: an interval of a given half-width around each forecast, and a record of what it was shown."""

    def __init__(self, half):
        self.half, self.seen = half, []

    def warm_up(self, y_hat, y):
        self.seen.append(("warm up", y_hat.tolist(), y.tolist()))

    def run(self, y_hat, y):
        self.seen.append(("run", y_hat.tolist(), y.tolist()))
        return np.stack([y_hat - self.half, y_hat + self.half], axis=1)


def fake(name, make, package="fake", version="1.0"):
    return SimpleNamespace(package=package, name=name, make=make, version=version)


def literal(y, y_hat, intervals, n, alpha):
    """The measures of ``judge``, word by word from the rules."""

    def loss(level, at, label):
        return level * (label - at) if label > at else (1 - level) * (at - label)

    def both(lower, upper, label):
        return (loss(alpha / 2, lower, label) + loss(1 - alpha / 2, upper, label)) / 2

    rounds = range(n, len(y))
    errors = sorted(abs(y[t] - y_hat[t]) for t in rounds)
    fixed = errors[math.ceil((1 - alpha) * len(errors) - 1e-9) - 1]
    hits, widths, losses, plain, infinite = [], [], [], [], 0
    for t, (lower, upper) in zip(rounds, intervals, strict=True):
        hits.append(lower <= y[t] <= upper)
        far = max(abs(y[s] - y_hat[s]) for s in range(t))
        infinite += math.isinf(lower) or math.isinf(upper)
        lower = y_hat[t] - far if math.isinf(lower) else lower
        upper = y_hat[t] + far if math.isinf(upper) else upper
        widths.append(max(upper - lower, 0))
        losses.append(both(lower, upper, y[t]))
        plain.append(both(y_hat[t] - fixed, y_hat[t] + fixed, y[t]))
    windows = [hits[i : i + 100] for i in range(len(hits) - 99)]
    return {
        "rounds": len(hits),
        "coverage": sum(hits) / len(hits),
        "off_target": abs(sum(hits) / len(hits) - (1 - alpha)),
        "lce_100": max(abs(sum(w) / 100 - (1 - alpha)) for w in windows),
        "width": sum(widths) / len(widths) / (2 * fixed),
        "pinball": sum(losses) / sum(plain),
        "infinite": infinite / len(hits),
    }


@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.0, 0.2]), alpha=st.sampled_from([0.1, 0.25]))
def test_measures_are_those_of_the_rules(seed, share, alpha):
    rng = np.random.default_rng(seed)
    y_hat = rng.normal(size=220)
    y = y_hat + rng.standard_t(3, size=220)
    ends = y_hat[60:, None] + np.array([-1.5, 1.5]) + rng.normal(size=(160, 2))  # some cross
    ends[rng.random(160) < share, 0] = -np.inf
    ends[rng.random(160) < share, 1] = np.inf
    found, want = peers.judge(y, y_hat, ends, 60, alpha), literal(y, y_hat, ends, 60, alpha)
    assert found.keys() == want.keys()
    for key in want:
        assert found[key] == pytest.approx(want[key], rel=1e-12, abs=1e-12), key


@given(seed=st.integers(0, 10**6), factor=st.floats(0.2, 5.0))
def test_no_fixed_interval_beats_the_one_of_hindsight(seed, factor):
    s, n = stream(seed=seed), 110
    fixed = np.quantile(np.abs(s.y - s.y_hat)[n:], 1 - ALPHA, method="inverted_cdf")
    best, other = (
        peers.judge(s.y, s.y_hat, Wide(half).run(s.y_hat[n:], s.y[n:]), n, ALPHA) for half in (fixed, factor * fixed)
    )
    assert best["width"] == pytest.approx(1.0) and best["pinball"] == pytest.approx(1.0)
    assert best["coverage"] == pytest.approx(1 - ALPHA, abs=1 / best["rounds"])
    assert other["pinball"] >= 1.0 - 1e-12 and other["width"] == pytest.approx(factor)


@pytest.mark.parametrize("ends", [np.full((220, 2), np.nan), np.zeros((219, 2)), np.zeros((220, 3))])
def test_what_is_no_interval_is_refused(ends):
    s = stream()
    with pytest.raises(ValueError, match="220 intervals"):
        peers.judge(s.y, s.y_hat, ends, 110, ALPHA)


def test_every_method_meets_the_same_rounds_and_the_table_has_their_means():
    made = []

    def make(half):
        return lambda alpha: made.append(Wide(half)) or made[-1]

    found = [stream(330, 1, "short"), stream(1200, 2, "long")]
    methods = [fake("narrow", make(1.0)), fake("wide", make(4.0))]
    rows, whole = peers.compare(methods, found)
    assert whole and [(r["stream"], r["method"]) for r in rows] == [(s.name, m.name) for s in found for m in methods]
    shown = {"short": set(), "long": set()}
    for one in made:
        (_, h0, y0), (_, h1, y1) = one.seen
        name = "short" if len(h0) + len(h1) == 330 else "long"
        shown[name].add((tuple(h0), tuple(y0), tuple(h1), tuple(y1)))
    for s, n in zip(found, (110, 300), strict=True):
        assert shown[s.name] == {(*map(tuple, (s.y_hat[:n], s.y[:n], s.y_hat[n:], s.y[n:])),)}
    lines = peers.means(rows)
    assert [line["pinball"] for line in lines] == sorted(line["pinball"] for line in lines)
    for line in lines:
        mine = [r for r in rows if r["method"] == line["method"]]
        for key in ("coverage", "off_target", "lce_100", "width", "pinball", "infinite"):
            assert line[key] == pytest.approx(sum(r[key] for r in mine) / 2)
        for key in ("lce_100", "width", "pinball"):
            assert line[f"{key}_worst"] == max(r[key] for r in mine)


def test_ratios_are_to_auto():
    rows = [
        {"package": p, "method": m, "stream": "s", "microseconds": us}
        | dict.fromkeys(("coverage", "off_target", "lce_100", "width", "pinball", "infinite"), 0.5)
        for p, m, us in [("wane", "auto", 8.0), ("fake", "slow", 20.0)]
    ]
    assert {line["method"]: line["times_auto"] for line in peers.means(rows)} == {"auto": 1.0, "slow": 2.5}


def test_who_cannot_play_has_dashes_and_the_reason():
    def broken(alpha):
        raise RuntimeError("needs a fitted model")

    methods = [fake("works", lambda alpha: Wide(2.0)), fake("breaks", broken), fake("away", None, "gone", None)]
    rows, _ = peers.compare(methods, [stream()])
    lines = peers.means(rows)
    assert [line["method"] for line in lines] == ["works", "breaks", "away"]
    text = peers.markdown(lines, {"fake": "1.0", "gone": None}, ["coverage", "µs"])
    assert "| fake 1.0 | breaks | - | - |" in text and "| gone | away | - | - |" in text
    assert "- fake, breaks: RuntimeError: needs a fitted model" in text and "- gone, away: not installed" in text
    assert re.search(r"\| fake 1.0 \| works \| 0\.\d{3} \| \d+\.\d \|", text)
    assert "breaks" not in peers.by_stream(rows, lines, "coverage", ".3f")


def test_interrupted_it_keeps_the_streams_that_are_done():
    calls = []

    def make(alpha):
        calls.append(alpha)
        if len(calls) > peers.TRIALS:
            raise KeyboardInterrupt
        return Wide(2.0)

    rows, whole = peers.compare([fake("one", make)], [stream(name="done"), stream(name="not")])
    assert not whole and [row["stream"] for row in rows] == ["done"]


def test_the_readme_shows_the_best_of_each_package():
    lines = [
        {"package": p, "method": m, "pinball": i}
        for i, (p, m) in enumerate([("a", "x"), ("wane", "auto"), ("a", "y"), ("wane", "split"), ("b", "z")])
    ]
    assert [(line["package"], line["method"]) for line in peers.top(lines)] == [
        ("a", "x"),
        ("wane", "auto"),
        ("b", "z"),
    ]


def test_numbers_that_were_kept_give_the_same_tables_and_parts_are_not_written(tmp_path, monkeypatch, capsys):
    methods = [fake("auto", lambda alpha: Wide(2.0), "wane"), fake("other", lambda alpha: Wide(3.0))]
    monkeypatch.setattr(peers, "methods", lambda: methods)
    monkeypatch.setattr(peers, "chosen_streams", lambda names, rounds: [stream()])
    kept = tmp_path / "kept.json"
    monkeypatch.setattr("sys.argv", ["peers.py", "--json", str(kept)])
    peers.main()
    first = capsys.readouterr().out
    monkeypatch.setattr(peers, "compare", None)  # nothing is played again
    monkeypatch.setattr("sys.argv", ["peers.py", "--read", str(kept), "--write"])
    with pytest.raises(SystemExit, match="not written"):
        peers.main()
    assert capsys.readouterr().out == first and "| fake 1.0 | other |" in first


def installed(method):
    if method.package != "wane":
        pytest.importorskip(MODULES.get(method.package, method.package))
    return method


@foreign
@pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.package}-{m.name}".replace(" ", "-"))
def test_no_method_looks_ahead(method):
    installed(method)
    s, n, cut = stream(190, 5), 120, 40
    later = s.y.copy()
    later[n + cut :] = 100.0 - 3.0 * later[n + cut :]
    played = []
    for y in (s.y, later):
        made = method.make(ALPHA)
        made.warm_up(s.y_hat[:n], y[:n])
        played.append(np.asarray(made.run(s.y_hat[n:], y[n:]), float))
    assert played[0].shape == (70, 2) and not np.isnan(played[0]).any()
    np.testing.assert_array_equal(played[0][: cut + 1], played[1][: cut + 1])  # the label of round `cut` differs
    assert (played[0][cut + 1 :] != played[1][cut + 1 :]).any()  # and is learned after it


@foreign
@pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.package}-{m.name}".replace(" ", "-"))
def test_every_method_covers_most_labels_of_a_calm_stream(method, monkeypatch):
    installed(method)
    monkeypatch.setattr(peers, "TRIALS", 1)  # of the time
    rng = np.random.default_rng(6)
    y_hat = rng.normal(size=900)
    row = peers.play(method, wane.streams.ForecastStream("calm", y_hat + rng.normal(size=900), y_hat))
    assert "failed" not in row and abs(row["coverage"] - 0.9) < 0.06
    assert row["rounds"] == 600


@foreign
def test_online_calibration_is_split_conformal():
    pytest.importorskip("crepes")
    s, n = stream(600, 7), 95
    theirs, ours = peer_adapters.Crepes(ALPHA), peer_adapters.Wane(ALPHA, "split")
    for made in (theirs, ours):
        made.warm_up(s.y_hat[:n], s.y[:n])
    a, b = theirs.run(s.y_hat[n:], s.y[n:]), ours.run(s.y_hat[n:], s.y[n:])
    rank = (np.arange(n, 600) + 1) % 10 != 0  # there (1 - 0.9) * (n + 1) is rounded below a whole number
    np.testing.assert_allclose(a[rank], b[rank], rtol=1e-12)
    assert (a[~rank, 1] >= b[~rank, 1]).all()


def test_extra_and_pages_name_every_package():
    text = (ROOT / "pyproject.toml").read_text()
    extra = re.search(r"^peers = \[(.*?)^\]", text, flags=re.S | re.M)[1]
    page = (ROOT / "docs" / "peers.md").read_text()
    for package in {m.package for m in METHODS} - {"wane"}:
        assert f'"{package}>=' in extra and f"`{package}`" in page


def test_every_block_has_its_marks():
    rows, _ = peers.compare([fake("auto", lambda alpha: Wide(2.0), "wane")], [stream()])
    page = (ROOT / "docs" / "peers.md").read_text()
    for name in peers.blocks(rows, {"wane": "1"}):
        assert f"<!-- begin {name} -->" in page and f"<!-- end {name} -->" in page
