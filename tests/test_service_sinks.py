"""What goes out of the service: the archive in a real Postgres, and alarms to a webhook. Neither holds up an answer."""

import contextlib
import hashlib
import hmac
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from serve_cases import posix
from service_cases import Served, refused

from wane.serve.http.shards import place_of

pytestmark = [posix, pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")]
SECRET = "a secret that is long enough"


def eventually(check, seconds=60):
    """Wait for something that happens soon."""
    end = time.monotonic() + seconds
    while True:
        found = check()
        if found or time.monotonic() > end:
            return found
        time.sleep(0.1)


class Hook(http.server.ThreadingHTTPServer):
    """Receives alarms; the first ones are answered with an error."""

    def __init__(self, failures=0, port=0):
        self.alarms, self.failures = [], failures
        super().__init__(("127.0.0.1", port), self.Handler)
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.server.failures:
                self.server.failures -= 1
                self.send_response(500)
            else:
                self.server.alarms.append((body, self.headers["Wane-Signature"], self.headers["Wane-Alarm"]))
                self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    def stop(self):
        self.shutdown()
        self.thread.join()
        self.server_close()


def free_port():
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def rounds(count, series, miss=10.0):
    """Operations that raise alarms: every label is missed."""
    made = []
    for t in range(count):
        made.append({"op": "predict", "output": 1.0, "id": t, "series": series})
        made.append({"op": "label", "id": t, "y": 1.0 + miss * (t + 1), "series": series})
    return made


def test_each_alarm_is_posted_once_signed_and_again_after_failures(tmp_path):
    """The receiver is not there at first, then fails twice, and the service is restarted in between."""
    port = free_port()
    options = ["--set", "window=3", "--webhook", f"http://127.0.0.1:{port}/alarms"]
    environment = {"WANE_WEBHOOK_SECRET": SECRET}
    with Served(tmp_path / "j", *options, environment=environment) as served:
        answers = served.batch(*rounds(12, "a"))[1]["answers"]
        wanted = [alarm for answer in answers for alarm in answer.get("alarms", ())]
        served.stop()
    hook = Hook(failures=2, port=port)
    try:
        with Served(tmp_path / "j", *options, environment=environment) as served:
            assert eventually(lambda: len(hook.alarms) >= len(wanted))
            answers = served.batch(*rounds(12, "b"))[1]["answers"]
            wanted += [alarm for answer in answers for alarm in answer.get("alarms", ())]
            assert eventually(lambda: len(hook.alarms) >= len(wanted))
            time.sleep(0.5)  # a second time would come now
            served.stop()
    finally:
        hook.stop()
    assert len(hook.alarms) == len(wanted) > 1
    assert len({name for *_, name in hook.alarms}) == len(wanted)
    for (body, signed, _), alarm in zip(hook.alarms, wanted, strict=True):
        told = json.loads(body)
        assert {k: told[k] for k in alarm} == alarm and told["series"] in "ab"
        moment, _, digest = signed.partition(",v1=")
        message = moment.removeprefix("t=").encode() + b"." + body
        assert hmac.compare_digest(digest, hmac.new(SECRET.encode(), message, hashlib.sha256).hexdigest())
    assert "WANE_WEBHOOK_SECRET" in refused(tmp_path / "k", "--webhook", "http://127.0.0.1:1/x")


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    """A real Postgres on a port of this machine, as a user that is not root."""
    pytest.importorskip("psycopg")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        pytest.skip("Postgres is not installed (Debian: apt install postgresql)")
    user = []
    folder = tmp_path_factory.mktemp("postgres")
    if os.getuid() == 0:
        if shutil.which("setpriv") is None or "\npostgres:" not in Path("/etc/passwd").read_text():
            pytest.skip("Postgres does not run as root, and there is no user postgres to run it")
        user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
        shutil.chown(folder, "postgres")
        for parent in folder.parents:  # in a worker of pytest-xdist there is one folder more
            if parent.owner() == "root" and parent.name.startswith(("pytest-", "popen-")):
                parent.chmod(parent.stat().st_mode | 0o011)
    port, data = free_port(), folder / "data"
    tools = programs[-1]
    subprocess.run(
        [*user, tools / "initdb", "-D", data, "-U", "wane", "-A", "trust", "-N"],
        check=True,
        capture_output=True,
        cwd=folder,
    )
    server = Database(user, tools, data, port, folder)
    server.start()
    yield server
    server.stop()


class Database:
    """A Postgres that can be stopped and started again."""

    def __init__(self, user, tools, data, port, folder):
        self.user, self.tools, self.data, self.port, self.folder = user, tools, data, port, folder
        self.address = f"postgresql://wane@127.0.0.1:{port}/postgres"
        self.child = None

    def start(self):
        command = [self.tools / "postgres", "-D", self.data, "-p", str(self.port), "-k", self.folder, "-c", "fsync=off"]
        self.child = subprocess.Popen(
            [*self.user, *command, "-h", "127.0.0.1"],
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
        )
        assert eventually(lambda: self.ask("SELECT 1") == [(1,)])

    def stop(self):
        self.child.send_signal(signal.SIGINT)  # at once, whoever is connected
        self.child.wait()

    def ask(self, query):
        import psycopg

        try:
            with psycopg.connect(self.address, connect_timeout=5) as connection:
                return connection.execute(query).fetchall()
        except psycopg.Error:
            return None


def test_the_archive_has_everything_and_its_absence_holds_up_nothing(tmp_path, postgres):
    """The database is stopped under way, and the service too: afterwards every row is there, once."""
    count = "SELECT count(*), count(DISTINCT sequence) FROM"
    with Served(tmp_path / "j", "--archive", postgres.address, "--compact-every", 50) as served:
        assert served.batch(*rounds(20, "a"))[0] == 200
        assert eventually(lambda: postgres.ask(f"{count} wane_labels") == [(20, 20)])
        postgres.stop()
        began = time.monotonic()
        for _ in range(5):
            assert served.batch(*rounds(20, f"b{_}"))[0] == 200
        assert time.monotonic() - began < 30
        assert "wane_archive_lag_calls" in served.send("GET", "/metrics")[2]
        served.stop()  # the logs of the past are kept, although snapshots were taken
    postgres.start()
    with Served(tmp_path / "j", "--archive", postgres.address, "--compact-every", 50) as served:
        assert eventually(lambda: postgres.ask(f"{count} wane_labels") == [(120, 120)])
        assert postgres.ask(f"{count} wane_predictions") == [(120, 120)]
        served.post("/v1/series/a/predictions", {"output": 2.0, "id": "last", "horizon": 3})
        served.post("/v1/series/a/labels", {"id": "last", "y": 2.5})
        query = "SELECT series, horizon, output, lower, y, score, covered FROM wane_rounds WHERE id = 'last'"
        assert eventually(lambda: postgres.ask(query)) == [("a", 3, 2.0, 2.0, 2.5, 0.5, False)]
        wrong = "SELECT count(*) FROM wane_rounds WHERE lower IS NULL OR made IS NULL OR made > learned"
        assert postgres.ask(wrong) == [(0,)]
        served.stop()
    kept = list((tmp_path / "j").glob("journal.wane.log-*"))
    assert len(kept) == 1  # what the archive has, and the live page does not show, is removed


def test_a_wrong_address_of_the_archive_is_refused(tmp_path):
    pytest.importorskip("psycopg")
    assert "postgresql://" in refused(tmp_path / "j", "--archive", "mysql://x")


def test_a_shard_moves_with_its_folder(tmp_path):
    """A copy of the folder of a stopped service goes on elsewhere, with what waited and what was learned."""
    name = next(name for name in map(str, range(99)) if place_of(name, 2) == 0)
    with Served(tmp_path / "j", "--shard", "1/2") as served:
        served.predict(name, output=1.0, id="x")
        served.stop()
    shutil.copytree(tmp_path / "j", tmp_path / "moved")
    with Served(tmp_path / "moved", "--shard", "1/2") as served:
        assert served.label(name, id="x", y=3.0)[1]["score"] == 2.0
