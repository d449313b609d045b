"""Intervals around a pipeline of scikit-learn, fitted once on the past and never told about the drift.

    pip install scikit-learn; python examples/libraries/with_sklearn.py

What to see: coverage stays near 90 % although the noise doubles half-way.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from wane.integrations.sklearn import ConformalRegressor


def main() -> None:
    """Fit on the first third, then learn from the rows as they come."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = X[:, 0] + X[:, 1] ** 2 + np.where(np.arange(3000) < 2000, 0.3, 0.6) * rng.normal(size=3000)
    model = ConformalRegressor(make_pipeline(StandardScaler(), HistGradientBoostingRegressor(random_state=0)))
    model.fit(X[:1000], y[:1000]).partial_fit(X[1000:], y[1000:])
    lower, upper = model.predict_interval([[0.0, 0.0, 0.0]])[0]
    print(f"coverage: {model.coverage_:.2f}; the next interval: from {lower:.1f} to {upper:.1f}")


if __name__ == "__main__":
    main()
