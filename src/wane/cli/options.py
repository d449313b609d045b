"""Options that several commands have, and how settings of the library are written as options."""

from __future__ import annotations

import enum
import functools
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from wane.errors import AmbiguousDatesError, Setting, WaneError


class Score(str, enum.Enum):
    """How wrong a forecast was."""

    absolute = "absolute"
    signed = "signed"
    normalised = "normalised"
    cqr = "cqr"
    lac = "lac"
    aps = "aps"
    raps = "raps"


class Format(str, enum.Enum):
    """The kinds of table."""

    csv = "csv"
    jsonl = "jsonl"
    json = "json"
    parquet = "parquet"
    xlsx = "xlsx"


class Dates(str, enum.Enum):
    """Which comes first in dates such as 01/02/2024."""

    dmy = "dmy"
    mdy = "mdy"


class Decimal(str, enum.Enum):
    """What separates decimals."""

    point = "point"
    comma = "comma"


def method_of(incomplete: str) -> list[str]:
    """What the shell offers for the name of a method.

    >>> method_of("mag")
    ['magdis', 'magl', 'magl-d']
    """
    from wane import trackers
    from wane.panel.settings import POOL

    return [name for name in sorted([POOL, *trackers.names()]) if name.startswith(incomplete)]


def method_names(incomplete: str) -> list[str]:
    """What the shell offers for several names with commas between them, or all.

    >>> method_names("auto,mag"), method_names("al")
    (['auto,magdis', 'auto,magl', 'auto,magl-d'], ['all'])
    """
    before, comma, last = incomplete.rpartition(",")
    found = [f"{before}{comma}{name}" for name in method_of(last)]
    return found if comma or not "all".startswith(incomplete) else ["all", *found]


TABLE = (
    "The table to read: a .csv, .tsv, .xlsx, .json, .jsonl or .parquet file (also .gz), a folder of Parquet files, or "
    "- for standard input."
)
Y_HELP = "Column with the true values. Leave a cell empty if the value is not known yet."
ID_HELP = "Column that says which series a row belongs to."
File = Annotated[str, typer.Argument(help=TABLE, metavar="FILE")]
Y = Annotated[str | None, typer.Option("--y", help=Y_HELP)]
YHat = Annotated[
    list[str] | None,
    typer.Option(
        "--yhat", help="Column with the forecasts. Give it twice for normalised (forecast, scale) and cqr (quantiles)."
    ),
]
Id = Annotated[str | None, typer.Option("--id", help=ID_HELP)]
Time = Annotated[str | None, typer.Option("--time", help="Column with the times, which order the rows of a series.")]
NoId = Annotated[bool, typer.Option("--no-id", help="All rows are one series; do not look for a column of ids.")]
NoTime = Annotated[bool, typer.Option("--no-time", help="The rows are in order; do not look for a column of times.")]
Cutoff = Annotated[
    str | None,
    typer.Option("--cutoff", help="Column with the last time that each forecast has seen, in a backtest."),
]
Proba = Annotated[
    list[str] | None,
    typer.Option(
        "--proba", help="Columns with the probabilities of a classifier, one for each label: --proba 'proba_*'."
    ),
]
Delay = Annotated[
    int | None,
    typer.Option("--delay", min=0, help="A true value is known only after so many more rows of its series."),
]
Arrived = Annotated[
    str | None,
    typer.Option(
        "--arrived", help="Column with the time at which each true value became known. Later rows learn from it."
    ),
]
Forecast = Annotated[
    str | None,
    typer.Option(
        "--forecast",
        metavar="RULE",
        help="Make simple forecasts, if the table has none: last, drift, or season:7 (7 rows back).",
    ),
]
DateOrder = Annotated[
    Dates | None, typer.Option("--dates", help="Whether 01/02/2024 is a day in February (dmy) or January (mdy).")
]
DecimalMark = Annotated[
    Decimal | None, typer.Option("--decimal", help="What separates decimals, if the table does not show it.")
]
InFormat = Annotated[
    Format | None, typer.Option("--format", help="Format of FILE, if the end of its name does not say it.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Methods = Annotated[
    str,
    typer.Option(
        help="Which methods to try: all, or names separated by commas, such as auto,magl,dtaci.",
        autocompletion=method_names,
    ),
]
Share = Annotated[float, typer.Option(min=0.0, max=0.5, help="The share of rounds that may be missed.")]
ALPHA_HELP = "The share of true values that may lie outside, such as 0.1."
COVERAGE_HELP = "The share of true values that should lie inside, such as 0.9, instead of --alpha."
Alpha = Annotated[list[float] | None, typer.Option(help=f"{ALPHA_HELP} Repeat it for several levels. Default: 0.1.")]
Coverage = Annotated[list[float] | None, typer.Option(help=f"{COVERAGE_HELP} Repeat it for several levels.")]
OneAlpha = Annotated[float | None, typer.Option(help=f"{ALPHA_HELP} Default: 0.1.")]
OneCoverage = Annotated[float | None, typer.Option(help=COVERAGE_HELP)]
Workers = Annotated[int | None, typer.Option(min=1, help="How many processes to use. Default: one for each core.")]

MOST_MISSED = 0.5  # the largest alpha that is no mistake
NAMED = {"path": "FILE", "results": "RESULTS", "y_hat": "--yhat"}  # settings whose options are called otherwise
WANTED = {
    "cutoff": "NAME",
    "proba": "NAME",
    "arrived": "NAME",
    "delay": "N",
    "warm_up": "N",
    "lower_limit": "NUMBER",
    "upper_limit": "NUMBER",
}  # what to give, where a value is not known


def as_option(setting: Setting, own: Iterable[str], several: str | None = "--set") -> str:
    """A setting of the library as the user of a command gives it.

    Args:
        setting: what an error tells the user to give.
        own: the settings for which the command has an option.
        several: the option that takes other settings as NAME=VALUE; None if the command has none.

    >>> own = ("warm_up", "no_time")
    >>> [as_option(s, own) for s in (Setting("warm_up"), Setting("no_time", True), Setting("clip", True))]
    ['--warm-up N', '--no-time', '--set clip=true']
    """
    name, value = setting.name, setting.value
    text = value if isinstance(value, str) else WANTED.get(name, "") if value is None else json.dumps(value)
    if name in NAMED or name in own:
        flag = (value is None and not text) or value is True
        return NAMED.get(name, f"--{name.replace('_', '-')}") + ("" if flag else f" {text}")
    return str(setting) if several is None else f"{several} {name}={text or 'VALUE'}"


def column_words(options: Any) -> list[str]:
    """The columns and the score that were given, as words of another command.

    >>> from wane.runs import Options
    >>> column_words(Options(y_hat=("mean",), no_id=True))
    ['--yhat', 'mean', '--no-id']
    """
    words: list[str] = []
    for option, value in (("--y", options.y), *(("--yhat", name) for name in options.y_hat)):
        words += [option, value] if value is not None else []
    for option, value, none in (("--id", options.id, options.no_id), ("--time", options.time, options.no_time)):
        words += [f"--no-{option[2:]}"] if none else [option, value] if value is not None else []
    words += [word for name in options.proba for word in ("--proba", name)]
    for option in ("cutoff", "delay", "arrived", "forecast", "dates", "decimal", "score"):
        value = getattr(options, option)
        words += [f"--{option}", str(value)] if value is not None else []
    return words


def levels(alpha: Any, coverage: Any) -> tuple[float, ...]:
    """The shares of misses that a command was given, as --alpha or as --coverage; none is the default.

    >>> levels([0.1], None), levels(None, [0.9, 0.8])
    ((0.1,), (0.1, 0.2))
    """
    missed, inside = ([given] if isinstance(given, float) else given or [] for given in (alpha, coverage))
    if missed and inside:
        raise typer.BadParameter("Give either --alpha or --coverage, not both.", param_hint="--coverage")
    for value in missed:
        problem = f"It must be a share between 0 and {MOST_MISSED:g}, got {value:g}."
        if value > 1.0:
            problem += " Did you mean "
            problem += (
                f"--coverage {value / 100.0:g}?" if value > 100.0 * MOST_MISSED else f"--alpha {value / 100.0:g}?"
            )
        elif value > MOST_MISSED:
            problem = f"{value:g} would leave {100.0 * value:g} % of the true values outside. "
            problem += f"Did you mean --coverage {value:g}?"
        if not 0.0 <= value <= MOST_MISSED:
            raise typer.BadParameter(problem, param_hint="--alpha")
    for value in inside:
        if not 0.0 <= value <= 1.0:
            meant = f" Did you mean --coverage {value / 100.0:g}?" if 1.0 < value <= 100.0 else ""
            problem = f"It must be a share between 0 and 1, got {value:g}.{meant}"
            raise typer.BadParameter(problem, param_hint="--coverage")
    return tuple(missed) or tuple(float(f"{1.0 - value:.12g}") for value in inside)


def speaking(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose errors name its options instead of the settings of the library: a decorator."""
    own = inspect.signature(command).parameters
    several = "--set" if "set" in own else None

    def spoken(given: dict[str, Any]) -> None:
        try:
            command(**given)
        except WaneError as error:
            if error.option is str:  # else it is spoken already
                error.option = lambda setting: as_option(setting, own, several)
            raise

    @functools.wraps(command)
    def called(**given: Any) -> None:
        try:
            spoken(given)
        except AmbiguousDatesError as error:
            order = asked(error.example) if "dates" in own and os.path.isfile(str(given.get("file", ""))) else None
            if order is None:
                raise
            spoken({**given, "dates": order})  # nothing has been written

    return called


def asked(example: str) -> Dates | None:
    """Ask which comes first in a date, the day or the month; None if nobody is there to answer."""
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    typer.echo(f"The table has dates such as {example}. Which comes first, the day (dmy) or the month (mdy)?", err=True)
    while True:
        answer = typer.prompt("dmy or mdy", err=True).strip().lower()
        if answer in Dates.__members__:
            return Dates(answer)


def assigned(option: str, words: Iterable[str], command: Callable[..., Any] | None = None) -> dict[str, Any]:
    """Words of the form NAME=VALUE as a dict; a value that is not JSON is text.

    Args:
        option: which gave the words.
        words: each NAME=VALUE.
        command: whose own options are not set in this way.

    >>> assigned("--set", ["epsilon=auto", "discount=0.99", "warm-up=3"])
    {'epsilon': 'auto', 'discount': 0.99, 'warm_up': 3}
    """
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise typer.BadParameter(
                f"{word!r} must be NAME=VALUE, such as epsilon=0.5 or 'gammas=[0.1,0.2]'", param_hint=option
            )
        if command is not None and name in inspect.signature(command).parameters:
            instead = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"{name!r} is not set here, but by {instead}", param_hint=option)
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
            if value.strip().startswith("["):
                how = "write the numbers in brackets with commas between them, and quote the whole: 'gammas=[0.1,0.2]'"
                raise typer.BadParameter(f"{value!r} is not a list: {how}", param_hint=option) from None
        if name == "discount" and isinstance(found[name], (int, float)) and not 0.0 <= found[name] <= 1.0:
            problem = f"a discount lies between 0 and 1, where 1 forgets nothing, got {value}"
            raise typer.BadParameter(problem, param_hint=option)
    return found
