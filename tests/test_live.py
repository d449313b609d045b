"""The live page in a real browser: it shows what happens while it happens, and asks nothing of any other host."""

import json
import time
from urllib.parse import quote

import browser
import numpy as np
import pytest

pytest.importorskip("starlette", reason='needs pip install ".[serve]"')
pytest.importorskip("uvicorn", reason='needs pip install ".[serve]"')
from service_cases import Served

pytestmark = [
    pytest.mark.skipif(browser.found() is None, reason="needs Chromium: apt-get install chromium, or set CHROMIUM"),
    pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning"),
]
AT_ONCE = 1000  # operations of a batch
NAMES = "Array.from(document.querySelectorAll('#all tbody a'), (a) => a.textContent)"


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    made = browser.Page(browser.found(), tmp_path_factory.mktemp("profile"))
    yield made
    made.close()


@pytest.fixture
def page(tab):
    """A function that opens an address of a service; afterwards no other host was asked, and there was no complaint."""
    hosts = set()

    def open_(served, path, size=(1200, 900), phone=False, dark=False):
        tab.events.clear()
        tab.size(*size, phone)
        tab.scheme(dark)
        hosts.add(f"http://127.0.0.1:{served.port}/")
        tab.open(f"http://127.0.0.1:{served.port}{path}")
        tab.settle()
        return tab

    yield open_
    lost = ("net::ERR_CONNECTION_REFUSED", "net::ERR_INCOMPLETE_CHUNKED_ENCODING", "net::ERR_EMPTY_RESPONSE")
    bad = [c for c in tab.complaints() if not any(word in str(c) for word in lost)]
    assert bad == [] and all(any(url.startswith(host) for host in hosts) for url in tab.requests())
    tab.ask("Page.navigate", url="about:blank")  # closes the connection


def play(served, series, rounds, scale=1.0, start=0, late=0, **fields):
    """Predict and label some rounds; the labels of the last ``late`` ones do not come."""
    rng = np.random.default_rng(start)
    operations = []
    for t in range(start, start + rounds):
        operations.append({"op": "predict", "series": series, "id": t, "output": 50.0, **fields})
        if t < start + rounds - late:
            y = 50.0 + scale * float(rng.normal())
            operations.append({"op": "label", "series": series, "id": t, "y": y})
    answers = []
    for i in range(0, len(operations), AT_ONCE):
        status, found = served.batch(*operations[i : i + AT_ONCE])
        assert status == 200 and all(a["ok"] for a in found["answers"])
        answers += found["answers"]
    return answers


def test_the_overview_is_worst_first_and_follows_without_reloading(tmp_path, page):
    with Served(tmp_path) as served:
        for name, scale in (("good", 1.0), ("bad", 1.0)):
            play(served, name, 300, scale)
        play(served, "bad", 60, 9.0, start=300)
        tab = page(served, "/live")
        assert tab.run(NAMES) == ["bad", "good"]
        row = served.get("/v1/live/overview")[1]["rows"][0]
        cells = tab.run("Array.from(document.querySelector('#all tbody tr').cells, (c) => c.textContent)")
        assert cells[1] == "too few inside" and cells[3].replace("\u00a0", " ") == f"{100 * row['coverage']:.1f} %"
        assert cells[6:8] == ["360", "0"] and cells[8].startswith("\u25bc")
        assert tab.run("document.querySelector('#all .dot').classList.contains('out')") == (
            row["coverage"] < row["low"]
        )
        tab.run("window.before = 1")
        play(served, "new", 30, late=7)
        tab.until(f"{NAMES}.includes('new')")
        tab.until("Array.from(list.rows.get('new').cells).slice(6, 8).map((c) => c.textContent).join() === '23,7'")
        assert tab.run("window.before") == 1


def test_a_series_shows_its_rounds_as_they_come(tmp_path, page):
    with Served(tmp_path) as served:
        play(served, "shop 1", 150)
        tab = page(served, "/live/series/" + quote("shop 1"))
        tab.run("window.before = 1")
        assert tab.run("charts.map((c) => c.spec.id)") == ["series", "coverage", "width"]
        assert tab.run("charts[0].spec.x.length") == 150
        play(served, "shop 1", 120, scale=5.0, start=150, late=10)
        tab.until("charts[0].spec.x.length === 270")  # the predictions that wait are drawn too
        found = served.get("/v1/live/series/" + quote("shop 1"))[1]
        rounds = found["rounds"]
        y = tab.run("Array.from(charts[0].spec.columns.at(-1), (v) => Number.isNaN(v) ? null : v)")
        assert y[:260] == rounds["y"] and y[260:] == [None] * 10
        hit = np.array(rounds["covered"], dtype=float)
        local = tab.run("Array.from(charts[1].spec.columns[0])")
        for t in (99, 150, 259):
            assert local[t] == pytest.approx(hit[t - 99 : t + 1].mean())
        tab.until(f"document.getElementById('headline').textContent.includes('{len(hit)} labels')")
        alarms = [a["round"] for a in found["alarms"]]
        assert alarms and tab.run("document.querySelectorAll('#alarms button').length") == min(6, len(alarms))
        shown = tab.run("charts[0].spec.after.length && series().levels[0].alarms.flat().map((i) => i + 1)")
        assert sorted(shown) == sorted(alarms)
        assert tab.run("window.before") == 1 and tab.run("view.max === view.last")  # it follows the end
        assert "10" in tab.run("document.getElementById('cards').textContent")


def test_after_a_restart_the_page_catches_up(tmp_path, page):
    with Served(tmp_path) as served:
        port = served.port
        play(served, "a", 130)
        tab = page(served, "/live/series/a")
        tab.run("window.before = 1")
        assert tab.run("charts[0].spec.x.length") == 130
        served.stop()
    tab.until("document.getElementById('connection').classList.contains('off')")
    with Served(tmp_path, "--port", port) as served:
        play(served, "a", 20, start=130)  # most likely before the page is back
        tab.until("document.getElementById('connection').classList.contains('good')")
        tab.until("charts[0].spec.x.length === 150")
        play(served, "a", 5, start=150)
        tab.until("charts[0].spec.x.length === 155 && document.getElementById('headline').textContent.includes('155')")
        rounds = tab.run("[...one.rounds.values()].map((r) => r.round)")
        assert rounds == list(range(1, 156)) and tab.run("window.before") == 1
        # The same of the overview.
        tab = page(served, "/live")
        assert tab.run("list.rows.get('a').cells[6].textContent") == "155"
        served.stop()
    tab.until("document.getElementById('connection').classList.contains('off')")
    with Served(tmp_path, "--port", port) as served:
        play(served, "a", 3, start=155)
        tab.until("list.rows.get('a').cells[6].textContent === '158'")


def test_ten_thousand_series_stay_usable(tmp_path, page):
    with Served(tmp_path, "--sync", "none") as served:
        for first in range(0, 10_000, AT_ONCE):
            names = [f"s{i:05d}" for i in range(first, first + AT_ONCE)]
            status, found = served.batch(*({"op": "predict", "series": n, "id": 0, "output": 1.0} for n in names))
            assert status == 200 and found["answers"][-1]["ok"]
        play(served, "s07777", 260, start=1)
        play(served, "s07777", 60, 9.0, start=261)
        tab = page(served, "/live")
        assert tab.run(f"{NAMES}.length") == 50 and tab.run(f"{NAMES}[0]") == "s07777"
        assert tab.run("document.getElementById('count').textContent") == "1\u201350 of 10,000 series"
        tab.run("document.getElementById('after').click()")
        tab.until("document.getElementById('count').textContent.startsWith('51')")
        assert tab.run("document.querySelectorAll('*').length") < 1500
        tab.run("at('find').value = '0999'; at('find').oninput()")
        tab.until("document.getElementById('count').textContent.endsWith('of 11 series')")
        assert set(tab.run(NAMES)) == {"s00999", *(f"s0999{i}" for i in range(10))}
        play(served, "s09995", 30, start=1)
        tab.until("list.rows.get('s09995').cells[6].textContent === '30'")
        tab.run("at('find').value = 'none'; at('find').oninput()")
        tab.until("document.getElementById('count').textContent === 'No series has such a name.'")


def test_the_keyboard_is_enough(tmp_path, page):
    with Served(tmp_path) as served:
        for name in ("a", "b", "c"):
            play(served, name, 30)
        tab = page(served, "/live")

        def press(key):
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
            code = {"Enter": 13, "ArrowDown": 40, "ArrowUp": 38}.get(key, 0)
            tab.ask("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code)
            tab.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

        press("/")
        assert tab.run("document.activeElement.id") == "find" and tab.run("at('find').value") == ""
        for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowDown"):
            press(key)
        second = tab.run(f"{NAMES}[1]")
        assert tab.run("document.activeElement.textContent") == second
        play(served, "z", 30)
        tab.until(f"{NAMES}.includes('z')")
        assert tab.run("document.activeElement.textContent") == second  # the focus survives a new order
        press("Enter")
        tab.until(f"location.pathname === '/live/series/{second}' && document.documentElement?.dataset.ready === 'yes'")
        tab.run("document.querySelector('.brush').focus()")
        press("+")
        tab.settle()
        assert tab.run("view.max - view.min < view.last - view.first")


@pytest.mark.parametrize("dark", [False, True])
def test_narrow_and_dark(tmp_path, page, dark):
    with Served(tmp_path) as served:
        play(served, "a series with a rather long name, as people give them", 130)
        for path in ("/live", "/live/series/" + quote("a series with a rather long name, as people give them")):
            tab = page(served, path, size=(390, 800), phone=True, dark=dark)
            assert tab.run("document.documentElement.scrollWidth") == 390
            assert (tab.run("parseInt(css('--page').slice(1, 3), 16)") < 100) == dark


def test_groups_steps_ahead_and_label_sets(tmp_path, page):
    with Served(tmp_path / "h") as served:
        for horizon in (1, 2):
            play(served, "ahead", 120 + horizon, start=1000 * horizon, horizon=horizon)
        tab = page(served, "/live/series/ahead")
        assert tab.run("document.querySelectorAll('#parts tbody tr').length") == 2
        assert tab.run("charts[0].spec.x.length") == 121
        tab.run("var part = at('choose-part'); part.value = 1; part.onchange()")
        tab.until("charts.length && charts[0].spec.x.length === 122")
    with Served(tmp_path / "s", "--score", "lac") as served:
        rng = np.random.default_rng(0)
        for t in range(130):
            chance = rng.dirichlet([1.0, 1.0, 1.0]).tolist()
            assert served.predict("sets", id=t, output=chance)[0] == 200
            assert served.label("sets", id=t, y=int(rng.integers(0, 3)))[0] == 200
        tab = page(served, "/live/series/sets")
        sizes = served.get("/v1/live/series/sets")[1]["rounds"]["size"]
        assert tab.run("Array.from(charts[0].spec.columns[0])") == sizes and set(sizes) <= {0, 1, 2, 3}
        served.stop()
    with Served(tmp_path / "s", "--score", "lac") as served:  # a new page shows them after a restart, too
        assert served.get("/v1/live/series/sets")[1]["rounds"]["size"] == sizes
        tab = page(served, "/live/series/sets")
        assert tab.run("Array.from(charts[0].spec.columns[0])") == sizes


def test_groups_are_drawn_with_what_chance_allows(tmp_path, page):
    groups = [
        {"group": "north", "labels": 100, "coverage": 0.7, "chance": 0.09},
        {"group": "south", "labels": 400, "coverage": 0.9, "chance": 0.045},
        {"group": "new", "labels": 0, "coverage": None, "chance": None},
    ]
    with Served(tmp_path) as served:
        play(served, "a", 120)
        tab = page(served, "/live/series/a")
        assert tab.run("at('groups').hidden")
        tab.run(f"ask('/v1/live/series/a').then((found) => describe({{ ...found, groups: {json.dumps(groups)} }}))")
        assert not tab.run("at('groups').hidden")
        rows = tab.run("Array.from(document.querySelectorAll('#groups tbody tr'), (r) => r.textContent)")
        assert [row.replace("\u00a0", " ") for row in rows] == ["north70 %100", "south90 %400"]
        dots = tab.run("Array.from(document.querySelectorAll('#groups .dot'), (d) => d.classList.contains('out'))")
        assert dots == [True, False]


def test_a_token_is_asked_for_once(tmp_path, tab):
    secret = tmp_path / "token"
    secret.write_text("correct-horse-battery-staple\n")
    with Served(tmp_path / "j", "--token-file", secret) as served:
        status, _ = served.post("/v1/batch", {"operations": []}, Authorization="Bearer wrong")
        assert status == 401
        tab.ask("Page.navigate", url=f"http://127.0.0.1:{served.port}/live")
        tab.until("document.readyState === 'complete' && !document.getElementById('login').hidden")
        log_in = "at('token').value = '{}'; at('login').requestSubmit()"
        tab.run(log_in.format("no-such-token-at-all"))
        tab.until("at('state').textContent.includes('token')")
        tab.run(log_in.format("correct-horse-battery-staple"))
        tab.until("at('login').hidden && document.documentElement?.dataset.ready === 'yes'")
        assert tab.run("document.cookie") == "" and "token" not in tab.run("location.href")
        tab.open(f"http://127.0.0.1:{served.port}/live")  # the cookie is enough
        assert tab.run("at('login').hidden") and not any("horse" in url for url in tab.requests())
        tab.ask("Page.navigate", url="about:blank")


def test_the_policy_is_strict_and_kept(tmp_path, page):
    with Served(tmp_path) as served:
        play(served, "a", 120)
        for path in ("/live", "/live/series/a", "/assets/live.js", "/assets/charts.js"):
            status, headers, text = served.send("GET", path)
            policy = headers["Content-Security-Policy"]
            assert status == 200 and "default-src 'none'" in policy and "unsafe" not in policy
            assert "style=" not in text or path.startswith("/assets")
        tab = page(served, "/live/series/a")
        time.sleep(0.3)
        assert tab.run("charts.length") == 3
