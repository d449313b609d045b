"""Monthly sales of some shops, in Nixtla's long format: unique_id, ds, y. The examples beside it forecast them."""

from __future__ import annotations

import numpy as np
import pandas as pd


def monthly(shops: int = 20, months: int = 72, seed: int = 0) -> pd.DataFrame:
    """A level, a trend and a yearly season for each shop, with noise in proportion to its size."""
    rng = np.random.default_rng(seed)
    t = np.arange(months)
    frames = []
    for shop in range(shops):
        size = np.exp(rng.normal(3.0, 1.0))
        season = 1.0 + 0.2 * np.sin(2 * np.pi * (t + rng.integers(12)) / 12)
        y = size * (season * (1.0 + 0.004 * t) + 0.1 * rng.normal(size=months))
        dates = pd.date_range("2019-01-01", periods=months, freq="MS")
        frames.append(pd.DataFrame({"unique_id": f"shop {shop}", "ds": dates, "y": y}))
    return pd.concat(frames, ignore_index=True)
