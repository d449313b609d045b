"""One partition of a table that is too large for one machine: rows and states go in, rows and states come out.

Spark, Dask and Ray deal the series of a table out to partitions and call ``Plan.play`` once for each. A partition is
one Arrow table that holds two kinds of rows. A row of data has no value in the column ``state``. A row of state has the
bytes of one series in that column, and nothing in the columns of the user but the id. With the method "pool" a column
``pool`` says which series learn from each other, and each pool has one more row of state, without an id, for what its
series share. The result has the same form, so that it can be written once and be given to the next call.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wane.checks import described, whole
from wane.errors import InputError, InputTypeError, MissingExtraError, NotFoundError, installing
from wane.panel.backtests import CUTOFF
from wane.panel.batch import stretches
from wane.panel.frames import COLD, new_columns, run
from wane.panel.panel import Panel
from wane.panel.rows import MARK, OTHER, wrong
from wane.panel.settings import POOL

HASH_POOLS = 16  # how many pools there are unless the user says otherwise; docs/cluster.md has what they cost
HASH = "hash "  # what the names of such pools begin with
STATE = "state"


def arrow() -> Any:
    """Return the module ``pyarrow``; an error in words if it is not installed."""
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError:
        problem = "tables of a cluster need pyarrow, on every worker"
        raise MissingExtraError(problem, cure=installing("frames,parquet")) from None
    return pyarrow


def hash_pools(ids: Any, count: int) -> Any:
    """Return the name of the pool of each id, from a hash that is the same on every machine and in every engine.

    It is the CRC-32 of the id as text in UTF-8, which SQL knows as ``crc32``.

    >>> hash_pools(["north", "south", 17], 16)
    ['hash 2/16', 'hash 4/16', 'hash 2/16']
    """
    return [f"{HASH}{zlib.crc32(str(id).encode()) % count}/{count}" for id in ids]


@dataclass(frozen=True)
class Plan:
    """The columns and settings of a run on a cluster, checked; plain data that travels to the workers."""

    schema: Any  # the Arrow schema of the user's table
    id: str
    time: str
    y: str
    y_hat: tuple[str, ...]
    by: str | int | None  # with the method "pool": the column of pools, or how many hash pools
    delay: int
    prefix: str
    settings: dict[str, Any]  # the arguments of ``Panel``

    @classmethod
    def of(
        cls,
        schema: Any,
        *,
        id: str,
        time: str,
        y: str,
        y_hat: Any,
        pool: str | int | None = None,
        method: str | None = None,
        alpha: Any = 0.1,
        delay: int = 0,
        prefix: str = "",
        **settings: Any,
    ) -> Plan:
        """Check the arguments of ``run`` of an engine against the schema of its table, before anything is computed.

        Args:
            schema: an Arrow schema.
            id, time, y, y_hat, method, alpha, delay, prefix, settings: as for ``wane.panel.run``; here the method is
                "pool" unless another one is named, and series must have an id and a time.
            pool: for the method "pool", the column of those that learn from each other, or a number of hash pools.
        """
        # Check the settings; the panel is made only for that.
        settings = {"method": POOL if method is None else method, "alpha": alpha, "threads": 1, **settings}
        if "coverage" in settings:
            settings["alpha"] = None
        panel = Panel(**settings)
        panel.settings.fingerprint()  # an error if the method was not given by name
        if not panel.settings.pooled and pool is not None:
            problem = f"the series of {settings['method']!r} share nothing, so that they have no pools"
            raise InputTypeError(problem, argument="pool", cure="leave it out, or take method='pool'")
        by = HASH_POOLS if panel.settings.pooled and pool is None else pool
        if by is not None and not isinstance(by, str):
            by = whole("pool", by, 1)
        forecasts = tuple(y_hat) if isinstance(y_hat, (tuple, list)) else (y_hat,)
        plan = cls(schema, id, time, y, forecasts, by, whole("delay", delay, 0), prefix, settings)

        # Check the columns.
        refuse_columns(plan)
        if taken := sorted({*plan.made(), *plan.more()} & set(schema.names)):
            problem = f"the table has the columns {', '.join(taken)} already"
            raise InputError(problem, argument="prefix", cure="choose another prefix")
        return plan

    @property
    def state(self) -> str:
        """The column of states."""
        return self.prefix + STATE

    @property
    def key(self) -> str:
        """The column by which rows are dealt out to partitions: all rows of one value must be in one partition."""
        return self.id if self.by is None else self.prefix + POOL

    def panel(self) -> Panel:
        """Make a panel without series."""
        return Panel(**self.settings)

    def made(self) -> list[str]:
        """Return the names of the columns of results."""
        return [self.prefix + name for name in new_columns(self.panel().settings)]

    def more(self) -> list[str]:
        """Return the names of the columns that rows of state have beside the id: perhaps that of pools, and states."""
        return [self.state] if self.by is None else [self.key, self.state]

    def types(self, names: list[str]) -> list[Any]:
        """Return Arrow fields for columns of ours."""
        pa = arrow()
        kinds = {self.prefix + POOL: pa.string(), self.state: pa.binary(), self.prefix + COLD: pa.bool_()}
        covered = self.prefix + "covered"
        return [pa.field(n, kinds.get(n, pa.bool_() if n.startswith(covered) else pa.float64())) for n in names]

    def wide(self) -> Any:
        """Return the schema in which rows of data and of state go in: the columns of the user, and ours for states."""
        pa = arrow()
        return pa.schema([*(field.with_nullable(True) for field in self.schema), *self.types(self.more())])

    def result(self) -> Any:
        """Return the schema of the result: the columns of the user, those of results, and ours for states."""
        pa = arrow()
        return pa.schema(
            [*(field.with_nullable(True) for field in self.schema), *self.types([*self.made(), *self.more()])]
        )

    def widened(self, table: Any) -> Any:
        """Give a table of data, or of states, the columns of ``wide``; those that it lacks have no values."""
        pa, rows = arrow(), len(table)
        wanted = self.wide()
        if self.state not in table.column_names and self.by is not None:
            if isinstance(self.by, str):
                pools = table[self.by].cast(pa.string())
            else:
                codes = table[self.id].combine_chunks().dictionary_encode()
                names = hash_pools(codes.dictionary.to_pylist(), self.by)
                pools = pa.array(names, pa.string()).take(codes.indices)
            table = table.append_column(self.key, pools)
        columns = [
            table[f.name].cast(f.type) if f.name in table.column_names else pa.nulls(rows, f.type) for f in wanted
        ]
        return pa.table(columns, schema=wanted)

    def refuse_states(self, names: list[str]) -> None:
        """Raise an error if a table of states lacks a column."""
        for name in [self.id, *self.more()]:
            if name not in names:
                problem = f"the states have no column {name!r}"
                cure = "give what `split` returned for a run with the same id, method and prefix"
                raise NotFoundError(problem, argument="states", cure=cure)

    def refuse_state(self, row: Any, pool: str | None) -> None:
        """Raise an error about a row of state that was made with other settings, or with other pools."""
        head = MARK + self.panel().settings.fingerprint()
        if bytes(row)[: len(head)] != head:
            raise InputError(wrong(bytes(row), head), about="states", cure=OTHER)
        if self.by is None:
            return
        hashed = isinstance(pool, str) and pool.startswith(HASH)
        if hashed == isinstance(self.by, str) or (hashed and not str(pool).endswith(f"/{self.by}")):
            wanted = f"those of the column {self.by!r}" if isinstance(self.by, str) else f"{self.by} hash pools"
            problem = f"come from other pools: this run has {wanted}, they have {pool!r}"
            raise InputError(problem, about="states", cure="name the pools with which the states were made")

    def play(self, table: Any) -> Any:
        """Play one partition: take an Arrow table in the form ``wide``, and return one in the form ``result``."""
        if not len(table):
            return self.result().empty_table()
        return arrow().concat_tables(part for piece in self.pools(table) for part in self.play_pool(piece))

    def pools(self, table: Any) -> Iterator[Any]:
        """Cut a partition into pools; without pools it is one piece."""
        if self.by is None:
            yield table
            return
        if table[self.key].null_count:
            raise InputError(
                f"the column {self.by!r} has no value", argument="pool", cure="fill missing values, or drop those rows"
            )
        codes = table[self.key].combine_chunks().dictionary_encode().indices.to_numpy()
        order = np.argsort(codes, kind="stable")
        _, starts = stretches(codes[order])
        if len(starts) > 2:
            table = table.take(order)
        for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            yield table.slice(begin, end - begin)

    def play_pool(self, table: Any) -> Iterator[Any]:
        """Play the rows of one pool, or of a partition without pools: the results, and the states after them."""
        pa, pool = arrow(), None if self.by is None else table[self.key][0].as_py()
        of_state = pa.compute.is_valid(table[self.state])
        rows, states = table.filter(pa.compute.invert(of_state)), table.filter(of_state)
        if len(states):
            self.refuse_state(states[self.state][0].as_py(), pool)
        if not len(rows):  # states of series that have no rows this time stay as they are
            yield self.completed(states)
            return

        # Series that share nothing and have no rows this time need not be read. With "pool" their late labels count.
        if self.by is None and len(states):
            present = pa.compute.is_in(states[self.id], value_set=rows[self.id].unique())
            yield self.completed(states.filter(pa.compute.invert(present)))
            states = states.filter(present)
        panel = self.restored(states)
        played = run(
            rows.select(list(dict.fromkeys([self.id, self.time, self.y, *self.y_hat]))),
            id=self.id,
            time=self.time,
            y=self.y,
            y_hat=list(self.y_hat),
            delay=self.delay,
            prefix=self.prefix,
            panel=panel,
        ).frame
        for name in self.made():
            rows = rows.append_column(name, without_nan(played[name]))
        yield self.completed(rows)

        # The states after these rows, and what the series of a pool share.
        ids, kept = panel.rows()
        columns = {self.id: pa.array(ids, self.schema.field(self.id).type), self.state: pa.array(kept, pa.binary())}
        if self.by is not None:
            columns[self.id] = pa.concat_arrays([columns[self.id], pa.nulls(1, columns[self.id].type)])
            columns[self.state] = pa.array([*kept, panel.shared()], pa.binary())
            columns[self.key] = pa.array([pool] * (len(kept) + 1), pa.string())
        yield self.completed(pa.table(columns))

    def restored(self, states: Any) -> Panel:
        """Make the panel whose rows these are, or one without series."""
        pa = arrow()
        if not len(states):
            return self.panel()
        shared = None
        if self.by is not None:
            common = states.filter(pa.compute.is_null(states[self.id]))[self.state].to_pylist()
            if len(common) != 1:
                problem = f"must hold one row without an id for the pool {states[self.key][0]}, got {len(common)}"
                raise InputError(problem, about="states", cure="give all rows of state of one run, each once")
            shared, states = common[0], states.filter(pa.compute.is_valid(states[self.id]))
        return Panel.from_rows(self.settings, states[self.id].to_pylist(), states[self.state].to_pylist(), shared)

    def completed(self, table: Any) -> Any:
        """Bring a table into the form of the result; columns that it lacks have no values."""
        pa, wanted = arrow(), self.result()
        names = set(table.column_names)
        columns = [table[f.name] if f.name in names else pa.nulls(len(table), f.type) for f in wanted]
        return pa.table(columns, schema=wanted)


def refuse_columns(plan: Plan) -> None:
    """Raise an error about the first column that is not there, or that holds values of the wrong kind."""
    kinds, schema = arrow().types, plan.schema
    text = (kinds.is_string, kinds.is_large_string, kinds.is_string_view)
    numbers = (kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_boolean, kinds.is_null)
    times = (kinds.is_integer, kinds.is_floating, kinds.is_date, kinds.is_timestamp)
    wanted = [
        ("id", [plan.id], (kinds.is_integer, *text), "whole numbers or text"),
        ("time", [plan.time], times, "numbers, dates or timestamps"),
        ("y", [plan.y], numbers, "numbers"),
        ("y_hat", list(plan.y_hat), numbers, "numbers"),
        ("pool", [plan.by] if isinstance(plan.by, str) else [], (kinds.is_integer, *text), "whole numbers or text"),
    ]
    for argument, names, allowed, words in wanted:
        for name in names:
            if not isinstance(name, str):
                raise InputTypeError(f"columns are named by text, got {described(name)}", argument=argument)
            if name not in schema.names:
                cure = f"there are {', '.join(schema.names) or 'none'}"
                raise NotFoundError(f"there is no column {name!r}", argument=argument, cure=cure)
            kind = schema.field(name).type
            if not any(test(kind) for test in allowed):
                problem = f"the column {name!r} must hold {words}, got {kind}"
                raise InputTypeError(problem, argument=argument, cure="convert it first")
    if plan.id == plan.time:
        raise InputError(f"id and time must be columns of their own, got {plan.id!r} twice", argument="id")
    if CUTOFF in schema.names:
        problem = f"a column {CUTOFF!r} means a backtest of several steps ahead, which no cluster plays"
        raise InputError(problem, argument="table", cure="play it with wane.panel.run, or rename or drop the column")


def without_nan(column: Any) -> Any:
    """Return a column of results with NULL where there is NaN, because SQL takes NaN for a number."""
    pa = arrow()
    if not pa.types.is_floating(column.type):
        return column
    values = column.to_numpy()
    return pa.array(values, mask=np.isnan(values))
