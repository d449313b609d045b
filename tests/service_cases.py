"""`wane serve` as its clients see it: a process of its own, on a port of this machine."""

import contextlib
import http.client
import json
import signal
import subprocess
import sys
from urllib.parse import quote

from serve_cases import ENVIRONMENT


class Served:
    """The command, and a connection to it."""

    def __init__(self, folder, *options, method="magl", code=None, environment=None):
        program = ["-m", "wane"] if code is None else ["-c", code]
        command = [sys.executable, *program, "serve", "--journal", str(folder), "--port", "0"]
        command += ["--method", method, *map(str, options)]
        self.child = subprocess.Popen(
            command, env=ENVIRONMENT | (environment or {}), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        self.said = []
        for line in self.child.stderr:
            self.said.append(line)
            if "serving on http://" in line:
                self.port = int(line.partition(", ")[0].rpartition(":")[2])
                return
        self.child.wait()
        self.child.stderr.close()
        raise AssertionError("".join(self.said))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self.child.stderr.close()

    def connection(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def send(self, method, path, body=None, headers=None):
        """The status, the headers and the text of an answer."""
        raw = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        with contextlib.closing(self.connection()) as connection:
            connection.request(method, path, raw, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()

    def get(self, path, **headers):
        status, _, text = self.send("GET", path, headers=headers)
        return status, json.loads(text)

    def post(self, path, body, **headers):
        status, _, text = self.send("POST", path, body, headers)
        return status, json.loads(text)

    def predict(self, series, **fields):
        return self.post(f"/v1/series/{quote(series, safe='')}/predictions", fields)

    def label(self, series, **fields):
        return self.post(f"/v1/series/{quote(series, safe='')}/labels", fields)

    def batch(self, *operations):
        return self.post("/v1/batch", {"operations": operations})

    def stop(self, number=signal.SIGTERM, code=0):
        """Tell it to stop; what it said since on standard error."""
        self.child.send_signal(number)
        said = self.child.stderr.read()
        assert self.child.wait(60) == code, said
        return said


def refused(folder, *options, code=1, environment=None):
    """What the command says that does not begin to serve."""
    try:
        with Served(folder, *options, environment=environment):
            raise AssertionError("it serves")
    except AssertionError as error:
        assert "it serves" not in str(error)
        return str(error)
