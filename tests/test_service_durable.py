"""What the service has acknowledged is there: after kills, after a clean stop, on a full disk."""

import contextlib
import http.client
import json
import random
import signal
import threading
import time
import warnings

import pytest
from serve_cases import posix, state
from service_cases import Served, refused

import wane
from wane.conformal import ManySeries
from wane.serve.http.service import NAME
from wane.state.journal import Journal
from wane.state.log import read_log

pytestmark = [posix, pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")]


class Client(threading.Thread):
    """Predicts and labels one series in turn, and remembers what was acknowledged; it ends with the service."""

    def __init__(self, served, series, start):
        super().__init__(daemon=True)
        self.served, self.series = served, series
        self.start_at, self.acknowledged = start, []
        self.start()

    def run(self):
        connection = self.served.connection()
        with contextlib.closing(connection), contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            for t in range(self.start_at, self.start_at + 100_000):
                for path, body in (
                    ("predictions", {"output": 1.0 * t, "id": t}),
                    ("labels", {"id": t, "y": 1.0 * t + t * t * 7 % 37}),
                ):
                    raw = json.dumps(body).encode()
                    connection.request(
                        "POST", f"/v1/series/{self.series}/{path}", raw, {"Content-Type": "application/json"}
                    )
                    response = connection.getresponse()
                    answer = json.loads(response.read())
                    assert response.status == 200, answer
                    self.acknowledged.append((path, t, answer))


def test_kill_9_under_load_loses_nothing_that_was_acknowledged(tmp_path):
    """Eight clients at once; after each kill the journal has all that they were told, and goes on bit for bit."""
    chance, done = random.Random(3), {f"s{k}": 0 for k in range(8)}
    total = 0
    for _ in range(3):
        with Served(tmp_path / "j", "--set", "history=100000", "--compact-every", 150) as served:
            clients = [Client(served, series, start) for series, start in done.items()]
            time.sleep(chance.uniform(0.5, 1.5))
            served.child.kill()
            for client in clients:
                client.join()
        with quiet(), Journal(tmp_path / "j" / NAME) as journal:
            many = journal.object
            for client in clients:
                oc = many.series.get(client.series)
                for path, t, answer in client.acknowledged:
                    known = oc.explain(t)
                    if path == "predictions":
                        assert known.radius == answer["radius"]
                    else:
                        assert known.status == "labelled" and known.score == answer["score"]
                total += len(client.acknowledged)
                made = oc.predictions if oc is not None else 0
                told = sum(path == "predictions" for path, *_ in client.acknowledged)
                assert done[client.series] + told <= made <= done[client.series] + told + 1
                if oc is not None:
                    for id in oc.pending():  # not labelled before the kill
                        journal.update(id, 1.0 * id + id * id * 7 % 37, series=client.series)
                done[client.series] = made
            wanted = ManySeries("magl", alpha=0.1, history=100_000)
            for series, count in done.items():
                for t in range(count):
                    wanted.predict(1.0 * t, id=t, series=series)
                    wanted.update(t, 1.0 * t + t * t * 7 % 37, series=series)
            for series, count in done.items():
                assert not count or state(many[series]) == state(wanted[series])
    assert total > 100


@contextlib.contextmanager
def quiet():
    """Let a journal say that a crash cut a record short."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wane.JournalWarning)
        yield


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_lets_requests_finish_and_a_snapshot_is_written(tmp_path, number, code):
    with Served(tmp_path / "j") as served:
        clients = [Client(served, f"s{k}", 0) for k in range(4)]
        with contextlib.closing(served.connection()) as live:  # an open live page does not keep it from stopping
            live.request("GET", "/v1/live/events")
            with live.getresponse() as events:
                assert events.readline().startswith(b"id: ")
                time.sleep(0.5)
                served.stop(number, code)
        for client in clients:
            client.join()
    told = sum(len(client.acknowledged) for client in clients)
    snapshot = wane.load(tmp_path / "j" / NAME)
    assert (tmp_path / "j" / f"{NAME}.log").read_bytes() == b""
    assert told <= snapshot.sequence <= told + 4 and told > 0
    with Served(tmp_path / "j") as served:
        assert any(f"{len(clients)} series" in line for line in served.said)
        assert served.get("/v1/series")[1]["total"] == 4


def test_a_second_process_is_refused_in_words(tmp_path):
    with Served(tmp_path / "j") as served:
        said = refused(tmp_path / "j")
        assert f"process {served.child.pid} has held it since" in said and "Traceback" not in said
        assert served.predict("a", output=1.0)[0] == 200


def test_a_journal_that_cannot_be_written_is_503_and_nothing_is_lost(tmp_path):
    """The log may not grow beyond some bytes, as on a full disk: prlimit is not needed, the child limits itself."""
    limit = "import resource, sys, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)); "
    limit += "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); sys.argv = ['wane'] + sys.argv[1:]; "
    limit += "runpy.run_module('wane', run_name='__main__')"
    with Served(tmp_path / "j", "--set", "history=0", code=limit) as served:
        assert served.get("/readyz")[0] == 200
        told, status = [], 200
        while status == 200:
            status, answer = served.predict("a", output=1.0)
            told += [answer["id"]] if status == 200 else []
        assert status == 503 and answer["error"]["kind"] == "journal" and "not logged" in answer["error"]["message"]
        assert served.get("/readyz")[0] == 503 and served.get("/healthz")[0] == 200
        assert served.predict("a", output=1.0)[0] == 503
        assert served.get("/v1/series")[0] == 200  # reading goes on
        served.stop(code=0)
    with quiet(), Journal(tmp_path / "j" / NAME) as journal:
        assert set(told) <= set(journal.object.pending("a"))


def test_requests_that_wait_together_share_a_commit(tmp_path):
    """With group commit the log has groups: several records between two waits for the disk."""
    with Served(tmp_path / "j") as served:
        served.batch(*({"op": "predict", "output": 1.0, "series": "a"} for _ in range(50)))
        clients = [Client(served, f"s{k}", 0) for k in range(8)]
        time.sleep(1.0)
        served.child.kill()
        for client in clients:
            client.join()
    raw = (tmp_path / "j" / f"{NAME}.log").read_bytes()
    assert raw.count(b'"group"') >= 1
    assert [number for number, _ in read_log(raw, "log").records[:50]] == list(range(1, 51))


@pytest.mark.parametrize("sync", ["each", "none"])
def test_other_ways_to_sync(tmp_path, sync):
    with Served(tmp_path / "j", "--sync", sync) as served:
        status, found = served.batch(*({"op": "predict", "output": 1.0, "series": "a", "id": t} for t in range(20)))
        assert status == 200 and all(answer["ok"] for answer in found["answers"])
        served.child.kill()
    with Journal(tmp_path / "j" / NAME) as journal:
        assert journal.object.pending("a") == list(range(20))


def test_a_log_with_groups_survives_every_cut_and_a_power_failure(tmp_path):
    """Cut anywhere, the whole records before the cut are there; zeros in the last group are what a disk did not get."""
    path = tmp_path / "x.wane"
    with Journal(path, lambda: ManySeries("magl", alpha=0.1, history=0)) as journal:
        for size in (1, 3, 5):
            for _ in range(size):
                journal.call("predict", [1.0], {"series": "a"})
            journal.commit()
    log = tmp_path / "x.wane.log"
    whole = log.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    lines = whole.splitlines(keepends=True)
    for cut in range(len(whole) + 1):
        records = sum(b'"predict"' in line for line, end in zip(lines, ends, strict=True) if end <= cut)
        assert len(read_log(whole[:cut], "log").records) == records
    last = whole.rindex(b'0 ["group"')
    begin = whole.index(b"\n", last) + 1
    for hole in range(begin, len(whole) - 1, 7):  # a block of the group that never reached the disk
        holed = whole[:hole] + bytes(min(20, len(whole) - hole)) + whole[hole + 20 :]
        assert len(read_log(holed, "log").records) >= 4
    holed = whole[: begin - 200] + bytes(30) + whole[begin - 170 :]
    with pytest.raises(wane.errors.SavedFileError):  # before the last group, it is damage
        read_log(holed, "log")
    assert len(read_log(whole[:begin] + bytes(len(whole) - begin), "log").records) == 4
