"""The service does what it is asked by those who may ask, and no more: tokens, limits, shards, and what leaves it."""

import contextlib
import json
import socket

import pytest
from serve_cases import posix
from service_cases import Served, refused

from wane.serve.http.guard import WRONG, Guard
from wane.serve.http.kinds import KINDS, STATUS
from wane.serve.http.shards import Shard, place_of
from wane.serve.requests import KINDS as LINES

pytestmark = [posix, pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")]
TOKEN = "correct-horse-battery-staple"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service with a token and small limits."""
    folder = tmp_path_factory.mktemp("service")
    (folder / "token").write_text(TOKEN + "\n")
    limits = ["--max-body", 2000, "--max-batch", 5, "--max-name", 20, "--max-series", 4, "--max-waiting", 6]
    with Served(folder / "j", "--token-file", folder / "token", *limits) as process:
        yield process


def kind(answer):
    return answer[0], answer[1]["error"]["kind"]


def test_every_kind_has_a_status():
    assert STATUS.keys() == LINES.keys() - {"file"} | KINDS.keys()


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": f"Basic {TOKEN}"},
     {"Authorization": f"Bearer {TOKEN}x"}, {"Cookie": f"wane_live={TOKEN}"}, {"Authorization": "Bearer \xe9"}],
)  # fmt: skip
def test_without_the_token_nothing_is_told(served, headers):
    for method, path in (
        ("POST", "/v1/series/a/predictions"), ("POST", "/v1/series/a/labels"), ("POST", "/v1/batch"),
        ("GET", "/v1/series"), ("GET", "/v1/series/a"), ("GET", "/metrics"), ("GET", "/v1/live/overview"),
        ("GET", "/v1/live/series/a"), ("GET", "/v1/live/events"),
    ):  # fmt: skip
        status, sent, text = served.send(method, path, {"output": 1.0} if method == "POST" else None, headers)
        assert status in (401, 429) and json.loads(text)["error"]["kind"] in ("token", "rate")
        assert TOKEN not in text and "Bearer" in (sent.get("WWW-Authenticate", "Bearer"))


def test_the_rate_of_wrong_tokens_is_limited_and_the_right_one_passes(served):
    for _ in range(WRONG + 2):
        status, answer = served.get("/v1/series", Authorization="Bearer guess")
    assert (status, answer["error"]["kind"]) == (429, "rate")
    assert served.get("/v1/series", **BEARER)[0] == 200
    guard = Guard(TOKEN)
    assert [guard.wrong("here").kind for _ in range(WRONG + 1)] == ["token"] * WRONG + ["rate"]
    assert guard.wrong("elsewhere").kind == "token"


def test_the_token_is_in_no_address_and_no_log(served, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    with Served(tmp_path / "j", "--token-file", tmp_path / "token") as other:
        assert other.get(f"/v1/series?token={TOKEN}")[0] == 401
        assert other.get("/v1/series", **BEARER)[0] == 200
        said = "".join(other.said) + other.stop()
    assert TOKEN not in said
    assert not any(TOKEN.encode() in file.read_bytes() for file in (tmp_path / "j").iterdir())


def test_the_cookie_of_the_live_page_only_reads(served):
    status, headers, _ = served.send("POST", "/live/login", {"token": TOKEN})
    cookie = headers["Set-Cookie"]
    assert status == 200 and TOKEN not in cookie
    assert {"HttpOnly", "SameSite=strict"} <= {part.strip() for part in cookie.split(";")}
    cookie = {"Cookie": cookie.partition(";")[0]}
    assert served.get("/v1/live/overview", **cookie)[0] == 200
    assert served.post("/v1/series/a/predictions", {"output": 1.0}, **cookie)[0] in (401, 429)
    assert served.post("/live/login", {"token": "wrong"})[0] in (401, 429)


def test_beyond_this_machine_it_needs_a_token(tmp_path):
    said = refused(tmp_path / "j", "--host", "0.0.0.0")
    assert "open to everybody" in said and "--token-file" in said and not (tmp_path / "j").exists()
    said = refused(tmp_path / "j", environment={"WANE_TOKEN": "short"})
    assert "at least 16" in said and "short" not in said.replace("shorter", "")
    assert "no file" in refused(tmp_path / "j", "--token-file", tmp_path / "nothing")
    with Served(tmp_path / "j", "--host", "0.0.0.0", environment={"WANE_TOKEN": TOKEN}) as served:
        assert served.get("/v1/series")[0] == 401 and served.get("/v1/series", **BEARER)[0] == 200


def test_without_a_token_other_hosts_names_are_refused(tmp_path):
    """A page of another host, whose name leads to this machine, cannot ask through a browser."""
    with Served(tmp_path / "j") as served:
        assert served.get("/v1/series", Host="evil.example")[0] == 401
        assert served.get("/v1/series", Host=f"localhost:{served.port}")[0] == 200
        body, form = b'{"output": 1.0}', {"Content-Type": "text/plain"}
        assert served.send("POST", "/v1/series/a/predictions", body, form)[0] == 415


def test_limits_are_refused_in_words_and_change_nothing(served):
    post = lambda path, body: served.post(path, body, **BEARER)  # noqa: E731
    before = served.get("/v1/live/overview", **BEARER)[1]["sequence"]
    assert kind(post("/v1/series/a/predictions", {"output": 1.0, "id": "x" * 3000})) == (413, "too-long")
    assert kind(post("/v1/batch", {"operations": [{"op": "stats"}] * 6})) == (413, "too-long")
    assert kind(post(f"/v1/series/{'x' * 21}/predictions", {"output": 1.0})) == (400, "request")
    assert kind(post("/v1/series/a%0Ab/predictions", {"output": 1.0})) == (400, "request")
    assert kind(post("/v1/series/a/predictions", {"output": 1.0, "series": "b"})) == (400, "request")
    assert kind(post("/v1/series/a/predictions", [1.0])) == (400, "request")
    assert kind(post("/v1/series/a/predictions", b'{"output": NaN}')) == (400, "json")
    assert kind(post("/v1/series/a/predictions", {"output": "high"})) == (422, "value")
    assert kind(post("/v1/series/a/labels", {"id": 0, "y": 1.0})) == (404, "series")
    assert kind(post("/v1/batch", {})) == (400, "request")
    answers = post("/v1/batch", {"operations": [{"op": "save", "path": "x"}, {"op": "stop"}, 5]})[1]["answers"]
    assert [answer["error"]["kind"] for answer in answers] == ["request"] * 3
    assert kind(served.get("/v1/series?limit=ten", **BEARER)) == (400, "request")
    assert kind(served.get("/nothing", **BEARER)) == (404, "address")
    assert kind(served.get("/v1/batch", **BEARER)) == (405, "method")
    assert served.get("/v1/live/overview", **BEARER)[1]["sequence"] == before
    made = [post(f"/v1/series/s{k}/predictions", {"output": 1.0, "id": "x"}) for k in range(5)]
    assert [status for status, _ in made] == [200] * 4 + [409] and "max_series" in str(made[4])
    for k in range(2):
        assert post("/v1/series/s0/predictions", {"output": 1.0, "id": k})[0] == 200
    assert kind(post("/v1/series/s0/predictions", {"output": 1.0})) == (429, "full")
    assert post("/v1/series/s0/predictions", {"output": 1.0, "id": "x"})[1]["repeated"]
    assert post("/v1/series/s0/labels", {"id": "x", "y": 1.0})[0] == 200
    assert post("/v1/series/s0/predictions", {"output": 1.0})[0] == 200


def test_a_body_without_a_length_is_read_up_to_the_limit(served):
    with contextlib.closing(socket.create_connection(("127.0.0.1", served.port), 60)) as wire:
        head = f"POST /v1/batch HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        wire.sendall(f"{head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        with contextlib.suppress(OSError):
            for _ in range(100):
                wire.sendall(b"400\r\n" + b" " * 1024 + b"\r\n")
        assert b" 413 " in wire.recv(100)


def test_pages_have_a_strict_policy_and_name_no_other_host(served):
    for path in ("/live", "/docs", "/live/series/a"):
        status, headers, text = served.send("GET", path)
        policy = headers["Content-Security-Policy"]
        assert status == 200 and "default-src 'none'" in policy and "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff" and "http://" not in text and "https://" not in text
        assert "<script>" not in text and " style=" not in text and " onclick=" not in text
    for path in ("/assets/../guard.py", "/assets/%2e%2e%2fguard.py", "/assets/nothing.js", "/assets/guard.py"):
        assert served.send("GET", path)[0] == 404
    assert served.send("GET", "/assets/live.js")[1]["Content-Type"].startswith("text/javascript")


def test_a_defect_tells_nothing_of_the_inside(tmp_path):
    """A part of the service is broken on purpose: the client learns that, and the log has the details."""
    broken = "import sys, runpy; import wane.serve.http.live as live; "
    broken += "live.Live.overview = lambda *a: 1 / 0; sys.argv = ['wane'] + sys.argv[1:]; "
    broken += "runpy.run_module('wane', run_name='__main__')"
    with Served(tmp_path / "j", code=broken) as served:
        status, answer = served.get("/v1/live/overview")
        assert (status, answer["error"]["kind"]) == (500, "internal")
        assert "Zero" not in str(answer) and "Traceback" not in str(answer)
        assert served.get("/v1/series")[0] == 200
        assert "ZeroDivisionError" in served.stop()


def test_shards_share_all_series_and_refuse_those_of_others(tmp_path):
    names = [f"shop {k}" for k in range(200)]
    shards = [Shard.of(f"{i}/3") for i in (1, 2, 3)]
    assert all(sum(shard.has(name) for shard in shards) == 1 for name in names)
    assert all(sum(shard.has(name) for name in names) > 40 for shard in shards)
    assert [place_of(name, 4) for name in ("shop 1", "shop 2", "north", "Zürich")] == [1, 3, 2, 2]  # for ever
    with Served(tmp_path / "j", "--shard", "2/3") as served:
        for name in names[:10]:
            status, answer = served.predict(name, output=1.0)
            assert status == 200 if shards[1].has(name) else (status, answer["error"]["kind"]) == (421, "shard")
            assert status == 200 or f"shard {place_of(name, 3) + 1}/3" in answer["error"]["message"]
    for bad in ("0/3", "4/3", "1", "a/b", "1/0"):
        assert "i/n" in refused(tmp_path / "j", "--shard", bad)
