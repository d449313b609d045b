"""Everything that the lines can do works through the service: sets of labels, levels, groups, horizons, late labels."""

import numpy as np
import pytest
from serve_cases import posix
from service_cases import Served, refused

from wane import OnlineConformal
from wane.conformal import Quantiles

pytestmark = [posix, pytest.mark.filterwarnings("ignore::wane.trackers.CoverageWarning")]
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


def outcomes(count):
    return [t * t * 7 % 37 / 8 for t in range(count)]


def test_sets_of_labels(tmp_path):
    """A classifier gives probabilities; its sets and scores are those of the object, and a page shows their size."""
    chance = np.random.default_rng(1)
    bare = OnlineConformal("magl", "lac", alpha=0.2)
    with Served(tmp_path / "j", "--score", "lac", "--alpha", 0.2) as served:
        for t in range(40):
            shares = chance.dirichlet(np.ones(4)).tolist()
            wanted = bare.predict(shares, id=t)
            status, found = served.predict("cats", output=shares, id=t)
            assert status == 200 and found["labels"] == list(wanted.labels)
            status, found = served.label("cats", id=t, y=t % 4)
            bare.update(t, t % 4)
            assert status == 200 and found["score"] == bare.explain(t).score
        assert served.label("cats", id="none", y=1)[0] == 404
        assert served.predict("cats", output=[0.5, -0.5, 1.0], id="bad")[0] == 422
        shown = served.get("/v1/live/series/cats")[1]
        assert shown["rounds"]["size"][-1] == len(wanted.labels)


def test_several_levels(tmp_path):
    """Ends are lists in the order of the levels, and the sets are nested."""
    bare = OnlineConformal("magl", alpha=(0.1, 0.3, 0.5))
    with Served(tmp_path / "j", "--alpha", 0.1, "--alpha", 0.3, "--alpha", 0.5) as served:
        for t, y in enumerate(outcomes(60)):
            wanted = bare.predict(1.0, id=t)
            found = served.predict("s", output=1.0, id=t)[1]
            assert found["lower"] == list(wanted.lower) and found["upper"] == list(wanted.upper)
            assert sorted(found["upper"], reverse=True) == found["upper"]
            bare.update(t, y)
            assert served.label("s", id=t, y=y)[1]["covered"] == list(bare.explain(t).covered)
        levels = served.get("/v1/series/s")[1]["series"][0]["levels"]
        assert [level["alpha"] for level in levels] == [0.1, 0.3, 0.5]
        assert [level["coverage"] for level in levels] == [m.coverage for m in bare.metrics().values()]


def test_groups(tmp_path):
    """`--groups` names the kinds; a price is cut into parts; after a restart every group is as it was."""
    bare = OnlineConformal("magl", alpha=0.2, groups=["shop", Quantiles("price", 2)])
    options = ("--groups", "shop,price:2", "--alpha", 0.2)
    with Served(tmp_path / "j", *options) as served:
        for t, y in enumerate(outcomes(80)):
            groups = {"shop": "north" if t % 3 else "south", "price": float(t % 10)}
            wanted = bare.predict(1.0, id=t, groups=groups)
            status, found = served.predict("s", output=1.0, id=t, groups=groups)
            assert status == 200 and (found["lower"], found["upper"]) == (wanted.lower, wanted.upper)
            bare.update(t, y)
            assert served.label("s", id=t, y=y)[0] == 200
        status, found = served.predict("s", output=1.0, groups={"color": "red"})
        assert status == 422 and "color" in found["error"]["message"]
        served.stop()
    with Served(tmp_path / "j", *options) as served:
        groups = {"shop": "south", "price": 4.0}
        assert served.predict("s", output=1.0, groups=groups)[1]["upper"] == bare.predict(1.0, groups=groups).upper
        shown = {row["group"]: row for row in map(flat, served.get("/v1/live/series/s")[1]["groups"])}
        for metrics in bare.group_metrics():
            assert shown[str(metrics.name)]["coverage"] == pytest.approx(metrics.coverage)
    said = refused(tmp_path / "j", "--groups", "shop", "--alpha", "0.2")
    assert "other settings" in said and "groups" in said.lower()
    assert "--groups" in refused(tmp_path / "k", "--groups", ",", code=2)


def flat(row):
    group = row["group"]
    return row | {"group": str(tuple(group) if isinstance(group, list) else group)}


def test_horizons_share_their_ids_and_learn_on_their_own(tmp_path):
    """A label needs the id only; each number of steps ahead is an object of its own."""
    bare = {h: OnlineConformal("magl", alpha=0.1) for h in (1, 2)}
    with Served(tmp_path / "j") as served:
        for t, y in enumerate(outcomes(40)):
            for h, oc in bare.items():
                wanted = oc.predict(1.0 * h, id=f"{t}/{h}")
                found = served.predict("s", output=1.0 * h, id=f"{t}/{h}", horizon=h)[1]
                assert found["upper"] == wanted.upper
                oc.update(f"{t}/{h}", y)
                assert served.label("s", id=f"{t}/{h}", y=y)[1]["score"] == oc.explain(f"{t}/{h}").score
        rows = served.get("/v1/series/s")[1]["series"]
        assert [row["horizon"] for row in rows] == [1, 2] and [row["labels"] for row in rows] == [40, 40]
        assert served.predict("s", output=1.0, horizon=0)[0] == 400


def test_late_labels(tmp_path):
    """Labels come in any order, long after a restart; what waits is known, what expired is refused."""
    bare = OnlineConformal("auto", alpha=0.1)
    y = outcomes(60)
    with Served(tmp_path / "j", method="auto") as served:
        for t in range(60):
            assert served.predict("s", output=1.0, id=t)[1]["upper"] == bare.predict(1.0, id=t).upper
            if t >= 20:
                bare.update(t - 20, y[t - 20])
                assert served.label("s", id=t - 20, y=y[t - 20])[0] == 200
        served.child.kill()
        served.child.wait()
    with Served(tmp_path / "j", method="auto") as served:
        answers = served.batch({"op": "pending", "series": "s"})[1]["answers"]
        assert answers[0]["ids"] == list(range(40, 60)) == bare.pending()
        for t in (59, 41, 50):
            bare.update(t, y[t])
            assert served.label("s", id=t, y=y[t])[1]["covered"] == bare.explain(t).covered
        assert served.post("/v1/series/s/expirations", {"id": 40})[0] == 200
        assert served.label("s", id=40, y=1.0)[0] == 410
        bare.expire(40)
        assert served.predict("s", output=1.0, id="next")[1]["upper"] == bare.predict(1.0, id="next").upper
