"""The live page of ``wane serve`` while labels come: draws ``docs/figures/live.png`` and ``live_series.png``.

Run it with ``python docs/live.py``. It needs ``pip install ".[serve]"`` and Chromium.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))
SHOPS, ROUNDS, WAITING, CHANGE = 30, 290, 12, 200  # the noise of some shops triples at the change


def rounds(shop):
    """The requests of a shop: a prediction and its label a round; the last predictions wait for theirs."""
    rng = np.random.default_rng(shop)
    for t in range(ROUNDS + WAITING):
        about = {"series": f"shop {shop}", "id": t}
        level = 100.0 + 20.0 * np.sin(2.0 * np.pi * t / 28)
        yield {"op": "predict", "output": level, **about}
        if t < ROUNDS:
            scale = 12.0 if t >= CHANGE and shop % 10 == 3 else 4.0
            yield {"op": "label", "y": level + scale * float(rng.normal()), **about}


def main():
    """Both pictures."""
    import browser
    from service_cases import Served

    with tempfile.TemporaryDirectory() as name, Served(Path(name) / "journal", method="auto") as served:
        for shop in range(SHOPS):
            operations = list(rounds(shop))
            for i in range(0, len(operations), 500):
                status, _ = served.batch(*operations[i : i + 500])
                assert status == 200
        page = browser.Page(browser.found(), Path(name) / "profile", width=1100, height=620)
        page.open(f"http://127.0.0.1:{served.port}/live")
        page.settle()
        (HERE / "figures" / "live.png").write_bytes(page.picture())
        page.size(1100, 1100)
        page.open(f"http://127.0.0.1:{served.port}/live/series/shop%203")
        page.settle()
        (HERE / "figures" / "live_series.png").write_bytes(page.picture())
        page.close()


if __name__ == "__main__":
    main()
