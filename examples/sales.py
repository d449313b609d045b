"""Write sales.csv: daily sales of a shop with a forecast for each day; half-way the noise triples.

The forecast knows the level and the week, so what is left is noise. The last week has forecasts and no sales yet.
Run it as ``python examples/sales.py``; the table lies beside it, ready for ``wane run examples/sales.csv``.
"""

from pathlib import Path

import numpy as np

DAYS, CHANGE, TO_COME = 1200, 800, 7  # rows, the day when the noise triples, days without sales yet
WEEK = np.array([0.98, 0.96, 0.97, 1.0, 1.03, 1.07, 0.99])  # Monday to Sunday


def rows() -> list[str]:
    """The lines of the table."""
    rng = np.random.default_rng(0)
    day = np.arange(DAYS)
    dates = np.datetime64("2022-01-03") + day  # a Monday
    forecast = (400 + 0.1 * day) * WEEK[day % 7]
    noise = np.where(day < CHANGE, 20.0, 60.0)
    sales = forecast + noise * rng.normal(size=DAYS)
    known = [*(f"{y:.0f}" for y in sales[:-TO_COME]), *[""] * TO_COME]
    return ["date,sales,forecast", *(f"{d},{y},{f:.0f}" for d, y, f in zip(dates, known, forecast, strict=True))]


if __name__ == "__main__":
    Path(__file__).with_suffix(".csv").write_text("\n".join(rows()) + "\n")
