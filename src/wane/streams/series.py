"""Real streams with shifts, out of files that other packages bundle: nothing is downloaded.

Forecasts are our own and plain: an autoregression on a rolling window, or an exponentially weighted variance. A recipe
is a function of the raw values alone, and what it gives for a round rests on the values before that round.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wane.checks import described
from wane.errors import InputError
from wane.streams.bundled import Raw, array_of, columns, day, instant, month, months, ordinal
from wane.streams.forecasters import carried, ewma_scale, rolling_ar
from wane.streams.types import About, ForecastStream

SETTLED = 20  # errors before the first scale that is used
RISK_METRICS = 11.2  # half-life, in rounds, of the decay 0.94 that is usual for daily variances
SLOW = 50.0  # half-life of the scale of an autoregression

NO_TERMS = "the package states no terms for the data"


class Forecasts(NamedTuple):
    """Outcomes, forecasts and scales, one for each raw value; NaN where there is none."""

    y: np.ndarray
    y_hat: np.ndarray
    scale: np.ndarray


@dataclasses.dataclass(frozen=True)
class Series:
    """How a stream is made: what is read, what is done to it, and the raw values at which annotators saw changes."""

    about: About
    raw: Callable[[], Raw]
    recipe: Callable[[np.ndarray], Forecasts]
    shifts: tuple[int, ...] = ()


def names() -> dict[str, About]:
    """Every bundled stream, with its source, licence and shift.

    >>> names()["sp500-volatility"].rounds
    5010
    """
    return {name: series.about for name, series in SERIES.items()}


def make(name: str) -> ForecastStream:
    """A bundled stream; the packages come with ``pip install ".[data]"``.

    Rounds without a value, and the first ones, that have no forecast or scale yet, are left out.
    """
    if not isinstance(name, str) or name not in SERIES:
        known = f"known are {', '.join(SERIES)}; the digits are wane.streams.digits()"
        raise InputError(f"no bundled stream is called {described(name)}", argument="name", cure=known)
    return _made(name)


@functools.cache
def _made(name: str) -> ForecastStream:
    series = SERIES[name]
    raw = series.raw()
    made = series.recipe(raw.values)
    kept = np.isfinite(np.stack(made)).all(axis=0)
    shifts = tuple(int(kept[:t].sum()) for t in series.shifts if kept[:t].any())
    y, y_hat, scale = (column[kept] for column in made)
    return ForecastStream(name, y, y_hat, scale, raw.time[kept], shifts, about=series.about)


def scales(errors: np.ndarray, half_life: float) -> np.ndarray:
    """The scale of each round, NaN until there were enough errors."""
    seen = np.concatenate([[0], np.cumsum(~np.isnan(errors))[:-1]])
    return np.where(seen < SETTLED, np.nan, ewma_scale(errors, half_life))


def growth(levels: np.ndarray, factor: float = 100.0) -> np.ndarray:
    """The change of the logarithm since the last level that is not missing, times a factor."""
    logarithm = np.log(levels)
    return factor * (logarithm - np.concatenate([[np.nan], carried(logarithm)[:-1]]))


def squares(half_life: float) -> Callable[[np.ndarray], Forecasts]:
    """Squared returns, forecast by their exponentially weighted mean; the scale is the forecast."""

    def recipe(returns: np.ndarray) -> Forecasts:
        variance = scales(returns, half_life) ** 2
        return Forecasts(returns**2, variance, variance)

    return recipe


def volatility(half_life: float = RISK_METRICS) -> Callable[[np.ndarray], Forecasts]:
    """Squared changes, in percent, of a price."""
    recipe = squares(half_life)
    return lambda prices: recipe(growth(prices))


def autoregression(factor: float | None = None, **settings: Any) -> Callable[[np.ndarray], Forecasts]:
    """Values, or their growth times a factor, forecast by `rolling_ar` with these settings."""

    def recipe(values: np.ndarray) -> Forecasts:
        y = values if factor is None else growth(values, factor)
        y_hat = rolling_ar(y, **settings)
        return Forecasts(y, y_hat, scales(y - y_hat, SLOW))

    return recipe


PRICE: dict[str, Any] = {"lags": 1, "window": 500, "start": 50}  # little can be learned about the next price
AMERICAN = day("%m/%d/%Y")
TURING = "marks where at least three of the five annotators of the Turing Change Point Dataset agree within 5 samples"

SERIES: dict[str, Series] = {
    "sp500-volatility": Series(
        About(
            what="squared daily returns of the S&P 500, in percent squared, 1999 to 2018",
            source="arch.data.sp500.load; the package names no origin",
            licence=f"arch: NCSA; {NO_TERMS}",
            rounds=5010,
            shift="calm from 2004 to 2006, the crisis of autumn 2008, a burst in August 2011, the quietest year 2017",
        ),
        lambda: columns("arch/data/sp500/sp500.csv.gz", "Date", AMERICAN, "Close"),
        volatility(),
    ),
    "nasdaq-volatility": Series(
        About(
            what="squared daily returns of the NASDAQ Composite, in percent squared, 1999 to 2018",
            source="arch.data.nasdaq.load; the package names no origin",
            licence=f"arch: NCSA; {NO_TERMS}",
            rounds=5010,
            shift="the end of the internet boom in 2000 and 2001, calm from 2004 to 2006, the crisis of autumn 2008",
        ),
        lambda: columns("arch/data/nasdaq/nasdaq.csv.gz", "Date", AMERICAN, "Close"),
        volatility(),
    ),
    "wti-volatility": Series(
        About(
            what="squared daily returns of West Texas Intermediate crude oil, in percent squared, 1986 to 2018",
            source="arch.data.wti.load; FRED series DCOILWTICO, U.S. Energy Information Administration",
            licence="arch: NCSA; data: public domain (US government)",
            rounds=8300,
            shift="the price war of 1986, the Gulf War of 1990-91, the crisis of 2008-09, the glut of 2014-16",
        ),
        lambda: columns("arch/data/wti/wti.csv.gz", "Date", AMERICAN, "DCOILWTICO"),
        volatility(),
    ),
    "market-monthly": Series(
        About(
            what="squared monthly excess returns of the US stock market, in percent squared, 1926 to 2018",
            source="arch.data.frenchdata.load; data library of Kenneth R. French",
            licence=f"arch: NCSA; {NO_TERMS}",
            rounds=1089,
            shift="the Great Depression; by the 1950s errors are a tenth of that; October 1987, autumn 2008",
        ),
        lambda: columns("arch/data/frenchdata/frenchdata.csv.gz", "Date", day("%Y%m"), "Mkt-RF"),
        squares(half_life=6.0),
    ),
    "credit-spread": Series(
        About(
            what="yield of Baa minus yield of Aaa corporate bonds, in percent, monthly, 1919 to 2018",
            source="arch.data.default.load; Moody's yields, the package names no origin",
            licence=f"arch: NCSA; {NO_TERMS}",
            rounds=1128,
            shift="the Great Depression (1931-33), decades of quiet, the early 1980s, autumn 2008",
        ),
        lambda: columns("arch/data/default/default.csv.gz", "Date", AMERICAN, "BAA", "AAA"),
        autoregression(**PRICE, differences=1),
    ),
    "core-inflation": Series(
        About(
            what="monthly growth of US consumer prices less food and energy, in percent a year, 1957 to 2018",
            source="arch.data.core_cpi.load; FRED series CPILFESL, U.S. Bureau of Labor Statistics",
            licence="arch: NCSA; data: public domain (US government)",
            rounds=676,
            shift="inflation until 1982, wildest from 1980 on; then the errors shrink to a third, and later to a sixth",
        ),
        lambda: columns("arch/data/core_cpi/core-cpi.csv.gz", "Date", AMERICAN, "CPILFESL"),
        autoregression(1200.0, lags=6, window=120, start=40),
    ),
    "vix": Series(
        About(
            what="the VIX index of implied volatility, daily, 2014 to 2018",
            source="arch.data.vix.load; Cboe's index, the package names no origin",
            licence=f"arch: NCSA; {NO_TERMS}",
            rounds=1188,
            shift="jumps in August 2015, February 2018 and December 2018; the quiet year 2017",
        ),
        lambda: columns("arch/data/vix/vix.csv.gz", "Date", AMERICAN, "vix"),
        autoregression(**PRICE),
    ),
    "brent": Series(
        About(
            what="price of Brent crude oil in US dollars, daily, 1987 to 2019",
            source="river.drift.datasets.BrentSpotPrice; U.S. Energy Information Administration",
            licence="river: BSD-3-Clause; data: public domain (US government)",
            rounds=8123,
            shift=f"errors of 2008 are ten times those of the early 1990s; the falls of 2008 and 2014; {TURING}",
        ),
        lambda: columns("river/drift/datasets/brent_crude_oil.csv", "day", AMERICAN, "DPB"),
        autoregression(**PRICE, differences=1),
        # annotators saw every tenth price from 2000 on, which begins at row 3200
        shifts=tuple(3200 + 10 * sample for sample in (219, 229, 287, 380)),
    ),
    "bitcoin": Series(
        About(
            what="price of bitcoin in US dollars, every third day, 2013 to 2019",
            source="river.drift.datasets.Bitcoin; Blockchain.com",
            licence=f"river: BSD-3-Clause; {NO_TERMS}",
            rounds=751,
            shift=f"errors grow a hundredfold into the winter of 2017-18; {TURING}",
        ),
        lambda: columns("river/drift/datasets/bitcoin.csv", "date", day("%Y-%m-%d"), "price"),
        autoregression(**PRICE),
        shifts=(580, 702, 747),
    ),
    "apple": Series(
        About(
            what="closing price of Apple in US dollars, adjusted for splits, daily, December 1996 to May 2004",
            source="river.drift.datasets.Apple; Yahoo Finance",
            licence="river: BSD-3-Clause; the terms of Yahoo Finance apply to the data",
            rounds=1796,
            shift=f"the boom of 1999-2000, half of the price lost on 29 September 2000, quiet from 2001; {TURING}",
        ),
        lambda: columns("river/drift/datasets/apple.csv", "Date", day("%Y-%m-%d"), "Close"),
        autoregression(**PRICE),
        shifts=(1 + 3 * 319,),  # annotators saw every third price, from the second on
    ),
    "microsoft": Series(
        About(
            what="opening price of Microsoft in US dollars, adjusted for splits, daily, 1986 to 2017",
            source="pmdarima.datasets.load_msft; a collection of prices on Kaggle",
            licence=f"pmdarima: MIT; {NO_TERMS}",
            rounds=7912,
            shift="the price grows a thousandfold; October 1987, the boom of 1999, the crisis of 2008",
        ),
        lambda: columns("pmdarima/datasets/data/msft.tar.gz", "Date", day("%Y-%m-%d"), "Open"),
        autoregression(**PRICE),
    ),
    "electricity": Series(
        About(
            what="demand for electricity in England and Wales in megawatts, half-hourly, June to August 2000",
            source="pmdarima.datasets.load_taylor; Taylor, Journal of the Operational Research Society 54 (2003)",
            licence=f"pmdarima: MIT; {NO_TERMS}",
            rounds=3275,
            shift="mornings are harder to forecast than nights, and weekends differ",
        ),
        lambda: array_of("pmdarima/datasets/taylor.py", "2000-06-05", 30),
        autoregression(lags=2, window=1344, seasonal=(48, 336), differences=1, start=400),
    ),
    "jfk-passengers": Series(
        About(
            what="passengers through JFK airport, monthly, 1977 to 2015",
            source="river.drift.datasets.AirlinePassengers; Port Authority of New York and New Jersey",
            licence=f"river: BSD-3-Clause; {NO_TERMS}",
            rounds=395,
            shift="the fall of September 2001; errors grow with the traffic",
        ),
        lambda: columns("river/drift/datasets/airline_passengers.csv", "date", month, "Total Passengers"),
        autoregression(lags=3, window=100, seasonal=(12,), differences=1, start=40),
    ),
    "room-co2": Series(
        About(
            what="carbon dioxide in an office in parts per million, every 16 minutes, six days of February 2015",
            source="river.drift.datasets.Occupancy; Candanedo and Feldheim, Energy and Buildings 112 (2016)",
            licence="river: BSD-3-Clause; data: CC BY 4.0 (UCI repository)",
            rounds=437,
            shift=f"people come in the morning and leave in the evening, nobody comes at the weekend; {TURING}",
        ),
        lambda: columns("river/drift/datasets/occupancy.csv", "time", instant, "V4"),
        autoregression(lags=1, window=100, differences=1, start=50),
        shifts=(53, 142, 236, 416),
    ),
    "approval": Series(
        About(
            what="approval of President Trump in FiveThirtyEight's average of polls, in percent, daily, 2017 to 2019",
            source="river.datasets.TrumpApproval; FiveThirtyEight",
            licence="river: BSD-3-Clause; data: CC BY 4.0 (FiveThirtyEight)",
            rounds=930,
            shift="liveliest in the summer of 2017, calmer year by year",
        ),
        lambda: columns("river/datasets/trump_approval.csv.gz", "ordinal_date", ordinal, "five_thirty_eight"),
        autoregression(**PRICE),
    ),
    "water-flow": Series(
        About(
            what="water through a branch of a pipeline in litres a second, hourly, March to May 2022",
            source="river.datasets.WaterFlow; donated by Tecnojest s.r.l.",
            licence=f"river: BSD-3-Clause; {NO_TERMS}",
            rounds=1123,
            shift="the flow falls to a quarter for half a day, by losses or maintenance, among days that are alike",
        ),
        lambda: columns("river/datasets/water-flow.csv", "Time", instant, "Water flow [l/s]"),
        autoregression(lags=1, window=672, seasonal=(24,), differences=1, start=100),
    ),
    "sunspots": Series(
        About(
            what="monthly mean sunspot numbers, 1749 to 2009",
            source="statsmodels.datasets.sunspots (src/sunspots_monthly.dat); NOAA National Geophysical Data Center",
            licence="statsmodels: BSD-3-Clause; data: public domain, as statsmodels states",
            rounds=3052,
            shift="errors rise and fall with the cycle of eleven years; strong in the 1770s and 1950s, weak about 1805",
        ),
        lambda: months("statsmodels/datasets/sunspots/src/sunspots_monthly.dat"),
        autoregression(lags=3, window=500, differences=1, start=50),
    ),
    "seattle-rain": Series(
        About(
            what="precipitation in Seattle in millimetres, daily, 2012 to 2015",
            source="vega_datasets.data.seattle_weather; NOAA",
            licence="vega-datasets: MIT; data: public domain (US government)",
            rounds=1390,
            shift="dry summers, wet winters",
        ),
        lambda: columns("vega_datasets/_data/seattle-weather.csv", "date", day("%Y/%m/%d"), "precipitation"),
        autoregression(**PRICE),
    ),
}
