"""What is shipped beside the package to run the service: its container, its unit, its client, its page."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

import pytest
from serve_cases import ENVIRONMENT, posix
from service_cases import Served

from wane.serve.http.kinds import KINDS
from wane.serve.http.shards import place_of

pytestmark = [posix, pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")]
ROOT = Path(__file__).parent.parent
DEPLOY, PAGE = ROOT / "deploy", ROOT / "docs" / "service.md"


def steps(word):
    """The steps of the Dockerfile that begin with a word."""
    return re.findall(rf"^{word} (.*)$", (DEPLOY / "Dockerfile").read_text(), flags=re.M)


def test_the_dockerfile_installs_what_is_there(tmp_path):
    """Its copies and its installation, run in a folder: what they give can serve."""
    for copy in steps("COPY"):
        *sources, to = copy.split()
        if not sources[0].startswith("--from"):
            target = tmp_path / to.strip("/")
            target.mkdir(parents=True, exist_ok=True)
            for source in sources:
                place = ROOT / source
                assert place.exists()
                shutil.copytree(place, target, dirs_exist_ok=True) if place.is_dir() else shutil.copy(place, target)
    ((install,),) = [re.findall(r'pip install .*"/source\[(.*)\]"', run) for run in steps("RUN") if "/source" in run]
    extras = re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), flags=re.M)
    assert set(install.split(",")) <= set(extras)
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"WANE_PURE": "1"}
    subprocess.run([*command, tmp_path / "site", tmp_path / "source"], env=environment, check=True, capture_output=True)
    assert (tmp_path / "site" / "wane" / "serve" / "assets" / "live.html").is_file()
    assert (tmp_path / "site" / "wane" / "charts" / "assets").is_dir()


def test_the_container_serves_and_is_healthy(tmp_path):
    """Its entry point and its check, with the paths and the port of this machine."""
    (entry,), (check,) = steps("ENTRYPOINT"), steps("HEALTHCHECK CMD")
    program, serve, journal, folder, *options = json.loads(entry)
    assert (program, serve, journal, folder) == ("/opt/wane/bin/wane", "serve", "--journal", "/journal")
    with Served(tmp_path / "j", *options, environment={"WANE_TOKEN": "correct-horse-battery"}) as served:
        python, *rest = [part.replace("8470", str(served.port)) for part in json.loads(check)]
        assert python == "/opt/wane/bin/python"
        subprocess.run([sys.executable, *rest], check=True, timeout=60)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_the_unit_of_systemd(tmp_path):
    text = (DEPLOY / "wane.service").read_text().replace("/opt/wane/bin/wane", sys.executable)
    (tmp_path / "wane.service").write_text(text)
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "wane.service")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not [line for line in done.stderr.splitlines() if "wane.service" in line], done.stderr


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed: apt-get install haproxy")
def test_the_proxy_sends_each_series_to_its_shard(tmp_path):
    """The configuration as it is shipped, with the addresses of this machine and without the certificate."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Served(tmp_path / "a", "--shard", "1/2") as first, Served(tmp_path / "b", "--shard", "2/2") as second:
        text = (DEPLOY / "haproxy.cfg").read_text()
        for there, here in (
            (":8443 ssl crt /etc/haproxy/certificate.pem", f"127.0.0.1:{port}"),
            ("10.0.0.1:8470 check", f"127.0.0.1:{first.port}"),
            ("10.0.0.2:8470 check", f"127.0.0.1:{second.port}"),
        ):
            assert text.count(there) == 1
            text = text.replace(there, here)
        (tmp_path / "haproxy.cfg").write_text(text)
        command = ["haproxy", "-db", "-f", str(tmp_path / "haproxy.cfg")]
        subprocess.run([*command, "-c"], check=True, capture_output=True)
        proxy = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            url = f"http://127.0.0.1:{port}"
            for _ in range(200):
                with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/healthz", timeout=5):
                    break
                time.sleep(0.05)
            names = ["shop 1", "shop 2", "north", "süd", "x+y"]
            for name in names:
                for path, body in (("predictions", {"output": 1.0, "id": 0}), ("labels", {"id": 0, "y": 2.0})):
                    assert posted(f"{url}/v1/series/{quote(name, safe='')}/{path}", body)["ok"], name
            for shard, served in enumerate((first, second), 1):
                here = [name for name in names if place_of(name, 2) == shard - 1]
                assert here and served.get("/v1/series")[1]["series"] == here
                operation = {"op": "predict", "series": here[0], "output": 1.0}
                assert posted(f"{url}/shard/{shard}/v1/batch", {"operations": [operation]})["answers"][0]["ok"]
        finally:
            proxy.terminate()
            proxy.wait()


def posted(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read())


def test_the_client_in_python_is_answered_although_the_service_is_killed(tmp_path):
    """It is killed and started again under way: no label is lost or learned twice."""
    first = Served(tmp_path / "j")
    command = [sys.executable, ROOT / "examples" / "client.py", "--url", f"http://127.0.0.1:{first.port}", "--json"]
    command = [*map(str, command), "--rounds", "60"]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    with first:
        time.sleep(1.0)
    with Served(tmp_path / "j", "--port", first.port) as served:
        out, _ = client.communicate(timeout=120)
        assert client.returncode == 0
        facts = json.loads(out.splitlines()[-1])
        assert facts["labels"] == 120
        for series in ("north", "south"):
            found = served.get(f"/v1/series/{series}")[1]
            assert (found["predictions"], found["labels"], found["pending"]) == (60, 60, 0)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_example_in_curl(tmp_path):
    examples = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), flags=re.S | re.M)
    (example,) = [code for code in examples if "curl" in code]
    with Served(tmp_path / "j", "--method", "auto") as served:
        done = subprocess.run(
            ["sh", "-ec", example.replace("8470", str(served.port))], capture_output=True, text=True, timeout=60
        )
    assert done.returncode == 0
    assert '"id":"monday","cold":true' in done.stdout and '"score":0.5' in done.stdout


def test_the_addresses_are_described(tmp_path):
    with Served(tmp_path / "j") as served:
        paths = served.get("/openapi.json")[1]["paths"]
        for path, methods in paths.items():
            if "{series}" not in path and "get" in methods and "events" not in path:
                with urllib.request.urlopen(f"http://127.0.0.1:{served.port}{path}", timeout=60) as response:
                    assert response.status == 200
    text = PAGE.read_text()
    for path in ("/v1/batch", "/v1/series", "/healthz", "/readyz", "/metrics", "/openapi.json", "/live", "/docs"):
        assert path in text
    assert all(f'| `"{kind}"` | {about} |' in text for kind, about in KINDS.items())


def test_the_page_is_short():
    """Programs and measured tables do not count."""
    text = re.sub(r"^```.*?^```|<!-- begin service.*?<!-- end", "", PAGE.read_text(), flags=re.S | re.M)
    assert len(text.split()) <= 1_600
