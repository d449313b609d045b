"""Structured Streaming: intervals of ``OnlineConformal`` from events in any order, and nothing lost or done twice."""

import datetime
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

if not os.environ.get("WANE_CLUSTER"):
    pytest.skip("make test-cluster runs it", allow_module_level=True)
pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from cluster_stream import MORE

from wane import OnlineConformal
from wane.errors import MissingExtraError
from wane.integrations import spark

try:
    spark.refuse_java()
except MissingExtraError as error:
    pytest.skip(str(error), allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore")  # pyspark 4 uses what pandas 3 and Python deprecate
START = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
FILES, SHOPS = 4, 4


def events(seed=0, minutes=240):
    """Events in the order in which they are sent: a label comes some minutes after its prediction, or never.

    Some labels are sent before their prediction, some events twice, and some are far too late.
    """
    rng = np.random.default_rng(seed)
    made = []
    for shop in range(SHOPS):
        for order, minute in enumerate(range(shop, minutes, 5)):
            name, forecast = f"{order}", float(rng.normal())
            made.append((minute, f"shop {shop}", name, None, forecast))
            if rng.random() < 0.85:
                wait = 0.5 - minute % 2 if rng.random() < 0.1 else float(rng.integers(1, 30))
                made.append((minute + wait, f"shop {shop}", name, float(rng.normal()), None))
    made += [made[0], made[1]]
    made.sort(key=lambda event: event[0])
    made[-9:-9] = [(0.25, "shop 1", "old", None, 1.0), (0.5, "shop 2", "old", 1.0, None)]
    return made


def write(folder, made):
    """One file is one micro-batch."""
    folder.mkdir()
    for k, part in enumerate(np.array_split(np.arange(len(made)), FILES)):
        lines = []
        for minute, shop, order, sold, forecast in (made[i] for i in part):
            sent = (START + datetime.timedelta(minutes=minute)).isoformat()
            lines.append(json.dumps({"shop": shop, "order": order, "sent": sent, "sold": sold, "forecast": forecast}))
        file = folder / f"{k:03}.json"
        file.write_text("\n".join(lines))
        os.utime(file, (1e9 + k, 1e9 + k))  # Spark takes the oldest file first


def program(folder, name):
    """Start the program in a process of its own."""
    code = [sys.executable, str(Path(__file__).with_name("cluster_stream.py")), str(folder / "events")]
    where = [str(folder / f"{name}_{part}") for part in ("result", "checkpoint", "states.json")]
    with open(folder / f"{name}_log", "a") as log:
        return subprocess.Popen([*code, *where], stdout=log, stderr=log)


def family(pid):
    """The process and all that it has started: the Java of the driver, and the Python of the workers."""
    found = [pid]
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue
        if parent == pid:
            found += family(int(status.parent.name))
    return found


def kill_in_mid_batch(process, checkpoint, batch):
    """Wait until a micro-batch is planned and not finished, and kill everything with -9."""
    planned, done = checkpoint / "offsets" / str(batch), checkpoint / "commits" / str(batch)
    while not planned.exists():
        assert process.poll() is None, "the program has ended"
        time.sleep(0.02)
    time.sleep(0.4)  # workers have begun
    finished = done.exists()
    for pid in family(process.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()
    return not finished


def ended(folder, name):
    """What the program has written at its end."""
    return json.loads((folder / f"{name}_states.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("stream")
    write(made / "events", events())
    assert program(made, "whole").wait(timeout=500) == 0, (made / "whole_log").read_text()[-3000:]
    return made


def reference():
    """What each event becomes, in plain words; events far too late are left out."""
    wanted, objects, early = {}, {}, {}
    alphas = MORE["alpha"]
    made = [event for event in events() if event[2] != "old"]
    for part in np.array_split(np.arange(len(events())), FILES):
        batch = [events()[i] for i in part if events()[i][2] != "old"]
        for _, shop, order, sold, forecast in sorted(batch, key=lambda e: (e[1], e[0], e[3] is None, e[2])):
            oc = objects.setdefault(shop, OnlineConformal(MORE["method"], alpha=alphas))
            if forecast is not None:
                if order in oc.pending():
                    wanted[shop, order, "refused"] = None
                    continue
                p = oc.predict(forecast, id=order)
                wanted[shop, order, "predicted"] = [*map(float, (*p.lower, *p.upper))]
                if (shop, order) in early:
                    oc.update(order, early.pop((shop, order)))
                    wanted[shop, order, "learned"] = None
            elif order in oc.pending():
                oc.update(order, sold)
                wanted[shop, order, "learned"] = None
            else:
                early[shop, order] = sold
    assert len(made) + 2 == len(events())
    return wanted


def test_intervals_are_those_of_one_machine(folder):
    rows, wanted = list(map(json.loads, ended(folder, "whole")["rows"])), reference()
    found = {(row["shop"], row["order"], row["event"]): row for row in rows}
    assert {key for key in found if key[2] != "expired"} == set(wanted) and len(found) == len(rows)
    assert {key[2] for key in found} == {"predicted", "learned", "refused", "expired"}
    shown = 0
    for key, ends in wanted.items():
        row = found[key]
        if ends is not None:
            names = [f"{end}_{a:g}" for end in ("lower", "upper") for a in MORE["alpha"]]
            given = [row.get(name, math.nan) for name in names]  # NULL is left out
            assert np.array_equal(given, ends, equal_nan=True) or row["cold"], key
            assert all(name not in row for name in names) == row["cold"]
            shown += not row["cold"]
        assert ("reason" in row) == (key[2] == "refused")
        assert ("covered_0.1" in row) <= (key[2] == "learned")
    assert shown > 150


def test_events_after_the_watermark_are_counted(folder):
    states = ended(folder, "whole")
    assert states["dropped"] == states["counted"] == 2
    assert {name for name, _ in states["series"]} == {f"shop {i}" for i in range(SHOPS)}
    assert max(len(state) // 2 for _, state in states["series"]) <= 300
    assert "came later than its watermark and were dropped" in (folder / "whole_log").read_text()


def test_a_killed_run_that_starts_again_equals_one_that_was_never_killed(folder):
    checkpoint = folder / "killed_checkpoint"
    in_mid_batch = [kill_in_mid_batch(program(folder, "killed"), checkpoint, batch) for batch in (1, 2)]
    assert any(in_mid_batch)
    # On a busy machine Spark may give up waiting for its workers. That is one more crash to recover from.
    ended_well = any(program(folder, "killed").wait(timeout=500) == 0 for _ in range(3))
    assert ended_well, (folder / "killed_log").read_text()[-3000:]
    whole, killed = ended(folder, "whole"), ended(folder, "killed")
    for name in ("rows", "series", "waiting"):
        assert killed[name] == whole[name] and killed[name]
