"""Intervals around a backtest of StatsForecast: ``cross_validation`` gives forecasts, ``conformalize`` the intervals.

    pip install statsforecast; python examples/libraries/with_statsforecast.py

What to see: each interval uses only what was known at its cutoff, and coverage is near 90 % for every number of steps.
"""

from __future__ import annotations

from sales import monthly
from statsforecast import StatsForecast
from statsforecast.models import SeasonalNaive

from wane.integrations.nixtla import conformalize


def main() -> None:
    """Backtest, add intervals, print the coverage by steps ahead."""
    forecaster = StatsForecast(models=[SeasonalNaive(season_length=12)], freq="MS")
    backtest = forecaster.cross_validation(df=monthly(), h=3, n_windows=40, step_size=1)
    made = conformalize(backtest, level=90).dropna(subset=["SeasonalNaive-lo-90"])
    inside = made["y"].between(made["SeasonalNaive-lo-90"], made["SeasonalNaive-hi-90"])
    steps = (made["ds"].dt.to_period("M") - made["cutoff"].dt.to_period("M")).map(lambda gap: gap.n)
    print("coverage by steps ahead:", inside.groupby(steps).mean().round(2).to_dict())


if __name__ == "__main__":
    main()
