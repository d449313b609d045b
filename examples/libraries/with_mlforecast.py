"""Intervals around MLForecast: a global model of scikit-learn over all shops, and ``wane.panel.run`` on its backtest.

    pip install mlforecast scikit-learn; python examples/libraries/with_mlforecast.py

What to see: coverage near 90 %, with nothing to tune.
"""

from __future__ import annotations

from mlforecast import MLForecast
from sales import monthly
from sklearn.linear_model import Ridge

import wane


def main() -> None:
    """Backtest one step ahead, add intervals, print the coverage."""
    forecaster = MLForecast(models={"ridge": Ridge()}, freq="MS", lags=[1, 2, 12])
    backtest = forecaster.cross_validation(df=monthly(), h=1, n_windows=36, step_size=1)
    result = wane.panel.run(backtest, id="unique_id", time="ds", y="y", y_hat="ridge", cutoff="cutoff")
    print(f"coverage: {result.frame['covered'].mean():.2f}")


if __name__ == "__main__":
    main()
