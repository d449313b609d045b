"""A headless Chromium that is spoken to over two pipes, in the protocol of its developer tools; no other package."""

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--hide-scrollbars", "--force-color-profile=srgb", "--remote-debugging-pipe",
)  # fmt: skip
# The browser reads commands from descriptor 3 and writes answers to 4.
LAUNCHER = (
    "import fcntl, os, sys; a, b = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 50) for fd in sys.argv[1:3]); "
    "os.dup2(a, 3); os.dup2(b, 4); os.execvp(sys.argv[3], sys.argv[3:])"
)
PATIENCE = 60.0  # seconds for an answer


def found():
    """The path of a browser, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """A tab: what it logs and what it asks for is kept."""

    def __init__(self, program, folder, width=1200, height=900, phone=False, dark=False):
        self.reader, theirs_out = os.pipe()
        theirs_in, self.writer = os.pipe()
        command = [sys.executable, "-c", LAUNCHER, str(theirs_in), str(theirs_out), program, *FLAGS]
        command += [f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(
            command, pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.rest, self.ids, self.session, self.events = b"", itertools.count(1), None, []
        try:
            target = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
            self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.ask(f"{domain}.enable")
            self.size(width, height, phone)
            self.scheme(dark)
        except BaseException:
            self.close()
            raise

    def ask(self, method, **params):
        """The answer to a command; events that come before it are kept."""
        number = next(self.ids)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.next()
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer.get('error')}"
                return answer["result"]
            self.events.append(answer)

    def next(self):
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.reader], [], [], max(0.0, deadline - time.monotonic()))
            piece = os.read(self.reader, 1 << 20) if ready else b""
            assert piece, "the browser does not answer"
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\0")
        return json.loads(line)

    def size(self, width, height, phone=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def scheme(self, dark):
        value = "dark" if dark else "light"
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def open(self, path):
        """Go to a file or an address, and wait until its charts or tables are drawn."""
        self.ask("Page.navigate", url=path if isinstance(path, str) else path.resolve().as_uri())
        self.until("document.readyState === 'complete' && document.documentElement.dataset.ready === 'yes'")

    def run(self, code):
        """The value of an expression, or of the promise that it is."""
        answer = self.ask("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, code):
        deadline = time.monotonic() + PATIENCE
        while not self.run(f"!!({code})"):
            assert time.monotonic() < deadline, f"never true: {code}"
            time.sleep(0.02)

    def settle(self):
        """Two frames later everything that was asked for is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def drag(self, start, end, **more):
        """Press, move and let go."""
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, button="left", buttons=1, clickCount=1, **more)
        for part in (0.3, 0.6, 1.0):
            at = [a + part * (b - a) for a, b in zip(start, end, strict=True)]
            self.mouse("mouseMoved", *at, button="left", buttons=1, **more)
        self.mouse("mouseReleased", *end, button="left", clickCount=1, **more)
        self.settle()

    def touch(self, *moves):
        """Fingers: a list of points a moment."""
        for i, points in enumerate(moves):
            kind = "touchStart" if i == 0 else "touchMove"
            self.ask(
                "Input.dispatchTouchEvent",
                type=kind,
                touchPoints=[{"x": x, "y": y, "id": n} for n, (x, y) in enumerate(points)],
            )
        self.ask("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        self.settle()

    def picture(self, whole=False):
        """A PNG of what is seen, or of the whole page."""
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])

    def complaints(self):
        """Errors, warnings and failures so far."""
        self.run("0")
        bad = []
        for event in self.events:
            kind, params = event.get("method"), event.get("params", {})
            if kind == "Runtime.exceptionThrown" or (
                kind == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning")
            ):
                bad.append(params)
            elif kind == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                bad.append(params)
        return bad

    def requests(self):
        """The addresses that were asked for, but for the page itself and what is inside it."""
        self.run("0")
        urls = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith(("data:", "blob:", "about:"))]

    def close(self):
        with contextlib.suppress(Exception):
            session, self.session = self.session, None
            os.write(self.writer, json.dumps({"id": next(self.ids), "method": "Browser.close"}).encode() + b"\0")
            self.session = session
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.reader)
        os.close(self.writer)
