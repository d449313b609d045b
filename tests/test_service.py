"""The service over HTTP: its answers are those of the lines, and the journal has them."""

import json

import pytest
from serve_cases import posix, service
from service_cases import Served

from wane.serve import Lines

pytestmark = [posix, pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")]
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with Served(tmp_path_factory.mktemp("service") / "journal", "--set", "window=5") as process:
        yield process


def test_one_protocol_and_two_doors(served):
    """Without op and series, which the address says, requests and answers are those of `serve-lines`."""
    lines = Lines(service())
    for t in range(30):
        for op, path, fields in (
            ("predict", "predictions", {"output": 0.5 * t, "id": f"day {t}"}),
            ("predict", "predictions", {"output": 0.5 * t, "id": f"day {t}"}),  # again
            ("predict", "predictions", {"output": 0.7 * t, "id": f"day {t}"}),  # another one
            ("label", "labels", {"id": f"day {t}", "y": 0.5 * t + (t * t * 7 % 37) / 8}),
            ("label", "labels", {"id": f"day {t}", "y": 0.0}),
            ("label", "labels", {"id": "nobody", "y": 0.0}),
            ("expire", "expirations", {"id": f"day {t}"}),
        ):
            wanted = lines.answer({"op": op, "series": "shop 1", **fields})
            status, found = served.post(f"/v1/series/shop%201/{path}", fields)
            assert found == json.loads(json.dumps(wanted)) and (status == 200) == found["ok"]
    wanted = lines.answer({"op": "stats", "series": "shop 1"})
    found = served.get("/v1/series/shop%201")[1]
    assert found.pop("settings")["alpha"] == [0.1] and found == wanted
