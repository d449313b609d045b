"""Intervals around a backtest of skforecast: one series, several steps ahead, with ``wane.Horizons``.

    pip install skforecast; python examples/libraries/with_skforecast.py

What to see: intervals three steps ahead are wider than one step ahead, and both cover about 90 %.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from skforecast.recursive import ForecasterRecursive
from sklearn.linear_model import Ridge

import wane

STEPS, FIRST = 3, 200


def main() -> None:
    """Forecast three steps ahead at every time, and put intervals around them."""
    rng = np.random.default_rng(0)
    y = pd.Series(rng.normal(size=500).cumsum(), index=pd.date_range("2024-01-01", periods=500, freq="D"))
    model = ForecasterRecursive(estimator=Ridge(), lags=5)
    model.fit(y[:FIRST])
    horizons = wane.Horizons(STEPS, alpha=0.1)
    for t in range(FIRST, len(y)):
        if t > FIRST:
            horizons.update(t - FIRST, y.iloc[t - 1])  # the newest value, before the next forecast is made
        forecast = model.predict(steps=STEPS, last_window=y.iloc[t - 10 : t])
        horizons.predict(forecast.to_numpy())
    for steps, found in enumerate(horizons.metrics(), 1):
        print(f"{steps} steps ahead: coverage {found.coverage:.2f}, mean width {found.width:.1f}")


if __name__ == "__main__":
    main()
