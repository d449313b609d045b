"""Parquet, through pyarrow."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from wane.errors import InputError, MissingExtraError, installing
from wane.tables.chunks import MOST, Chunk, plain_numbers
from wane.tables.columns import refuse_repeated
from wane.tables.text import Notation


def needed() -> tuple[Any, Any]:
    """Import pyarrow and its module for Parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(
            "Parquet needs pyarrow", cure=f"{installing('parquet')}, or use CSV or JSON lines"
        ) from None
    return pyarrow, pyarrow.parquet


@contextlib.contextmanager
def named(name: str) -> Iterator[None]:
    """Turn errors of pyarrow into ours, with the name of the file."""
    pa, _ = needed()
    try:
        yield
    except pa.ArrowException as error:
        raise InputError(f"{name} cannot be read as Parquet, or is damaged ({first_line(error)})") from None


def folder(path: str) -> tuple[Any, int, Iterator[Any]]:
    """The types of the columns in a folder of Parquet files, the number of their rows, and the rows in batches."""
    import pyarrow.dataset

    files = sorted(
        os.path.join(at, file)
        for at, _, there in os.walk(path)
        for file in there
        if file.lower().endswith((".parquet", ".pq")) and not file.startswith((".", "_"))
    )
    if not files:
        raise InputError(f"{path} is a folder without Parquet files", argument="path", cure="give a file")
    found = pyarrow.dataset.dataset(files, format="parquet", partitioning="hive", partition_base_dir=path)
    fragments = sorted(found.get_fragments(), key=lambda fragment: files.index(fragment.path))
    batches = (b for fragment in fragments for b in fragment.to_batches(schema=found.schema, batch_size=MOST))
    return found.schema, found.count_rows(), batches


class ParquetReader:
    """A Parquet file, or a folder of them, batch by batch."""

    def __init__(self, file: BinaryIO | str, name: str, notation: Notation | None = None) -> None:
        """Read what the file says about itself; a pipe, which cannot be searched, is read as a whole.

        A folder is given by its path. Its files are read in the order of their names; folders within it that are called
        ``shop=north`` make a column.
        """
        pa, parquet = needed()
        self.pa, self.name, self.row = pa, name, 0
        self.notation = Notation() if notation is None else notation
        self.remarks: list[str] = []
        self.batch: Any = None
        with named(name):
            if isinstance(file, str):
                self.schema, self.total, self.batches = folder(file)
            else:
                opened = parquet.ParquetFile(file if file.seekable() else io.BytesIO(file.read()))
                self.schema, self.total = opened.schema_arrow, opened.metadata.num_rows
                self.batches = opened.iter_batches(batch_size=MOST)
        self.names = list(self.schema.names)
        refuse_repeated(self.names, name)

    def read(self, rows: int) -> Chunk | None:
        """Read at most so many rows."""
        with named(self.name):
            while self.batch is None or not self.batch.num_rows:
                self.batch = next(self.batches, None)
                if self.batch is None:
                    return None
        part, self.batch = self.batch.slice(0, rows), self.batch.slice(rows)
        first = self.row + 1
        self.row += part.num_rows

        def column(name: str) -> Any:
            return self._cells(part.column(name))

        def values(name: str) -> list[Any]:
            try:
                return self._values(part.column(name))
            except OverflowError:
                raise InputError(
                    f"the column {name!r} has a moment that Python's dates do not reach",
                    argument=name,
                    cure="write Parquet, or drop the column",
                    where=self.name,
                ) from None

        def where(i: int) -> str:
            return f"{self.name}, row {first + i}"

        return Chunk(self.names, part.num_rows, column, values, where, ".parquet", part, self.notation)

    def nothing(self) -> Chunk:
        """Give a chunk without rows, which has the types of the columns."""
        schema = self.schema
        none = self.pa.RecordBatch.from_arrays([self.pa.array([], field.type) for field in schema], schema=schema)
        return Chunk.empty(self.names, ".parquet", none)

    def _cells(self, column: Any) -> Any:
        """An array where pyarrow has numbers or moments, else a list."""
        types, kind = self.pa.types, column.type
        if types.is_dictionary(kind):
            column = column.dictionary_decode()
            kind = column.type
        if types.is_timestamp(kind) or types.is_date(kind):
            return column.cast(self.pa.timestamp("us"), safe=False).to_numpy(zero_copy_only=False)
        if types.is_decimal(kind):
            column = column.cast(self.pa.float64())
            kind = column.type
        if types.is_integer(kind) and not column.null_count:
            return column.to_numpy(zero_copy_only=False)
        if types.is_floating(kind) or types.is_integer(kind):
            return column.cast(self.pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return column.to_pylist()

    def _values(self, column: Any) -> list[Any]:
        """Python's values; a moment that is finer than Python's as text."""
        types, kind = self.pa.types, column.type
        if types.is_floating(kind) or (types.is_integer(kind) and not column.null_count):
            return list(self._cells(column).tolist())
        if (types.is_timestamp(kind) or types.is_time(kind)) and kind.unit == "ns":
            try:
                column = column.cast(
                    self.pa.timestamp("us", kind.tz) if types.is_timestamp(kind) else self.pa.time64("us")
                )
            except self.pa.ArrowInvalid:
                column = column.cast(self.pa.string())
        return list(column.to_pylist())

    def share(self) -> float | None:
        """Say how much has been read, by the rows."""
        return self.row / self.total if self.total else None


class ParquetWriter:
    """A Parquet file, in row groups that are not small.

    The types are those of the first row group: of JSON the widest that is met there, whole numbers becoming numbers
    with a point if need be, and text where there is nothing yet; the cells of CSV are text.
    """

    def __init__(self, file: BinaryIO, source: Any) -> None:
        """Nothing is written before the first rows, whose types are those of the file."""
        self.pa, self.parquet = needed()
        self.file, self.rows = file, 0
        self.own = False  # whether the types are those of a Parquet file
        self.out: Any = None
        self.waiting: list[Any] = []

    def write(self, chunk: Chunk, new: dict[str, np.ndarray], known: dict[str, np.ndarray]) -> None:
        """Keep rows with their new columns until there are enough for a row group."""
        pa = self.pa
        self.own = chunk.kind == ".parquet"
        if self.own:
            table = pa.Table.from_batches([chunk.own])
        else:
            table = pa.table({n: self._column(n, chunk, known) for n in chunk.names})
        for name, values in new.items():
            kind = pa.int64() if values.dtype.kind == "i" else pa.string() if values.dtype.kind == "O" else pa.float64()
            table = table.append_column(name, pa.array(values, kind, from_pandas=True))
        self.waiting.append(table)
        self.rows += table.num_rows
        if self.rows >= MOST:
            self._flush()

    def _column(self, name: str, chunk: Chunk, known: dict[str, np.ndarray]) -> Any:
        """A column of another kind of file."""
        values = chunk.values(name)  # of a known column too: it says if anything would be lost
        if name in known:
            return self.pa.array(plain_numbers(known[name]), self.pa.float64())
        try:
            return self.pa.array([typed(v) for v in values], self.pa.string() if chunk.kind == ".csv" else None)
        except (self.pa.ArrowException, OverflowError) as error:
            raise mixed(f"the column {name!r}", error) from None

    def _flush(self) -> None:
        if not self.waiting:
            return
        pa = self.pa
        try:
            schema = self._types() if self.out is None else self.out.schema
            table = pa.concat_tables([p if p.schema.equals(schema) else p.cast(schema) for p in self.waiting])
        except pa.ArrowException as error:
            raise mixed("a column", error) from None
        if self.out is None:
            self.out = self.parquet.ParquetWriter(self.file, schema)
        self.out.write_table(table)
        self.waiting, self.rows = [], 0

    def _types(self) -> Any:
        """The widest types of what waits; text where there is nothing yet."""
        pa = self.pa
        if self.own:
            return self.waiting[0].schema
        schema = pa.unify_schemas([part.schema for part in self.waiting], promote_options="permissive")
        empty = [i for i, field in enumerate(schema) if pa.types.is_null(field.type)]
        for i in empty:
            schema = schema.set(i, schema.field(i).with_type(pa.string()))
        return schema

    def close(self, whole: bool = True) -> None:
        """Write the last rows, and the end of the file."""
        try:
            if whole:
                self._flush()
        finally:
            if self.out is not None:
                self.out.close()


def typed(value: Any) -> Any:
    """A cell of another kind of file: nothing is nothing."""
    return None if value is None or value == "" else value


def mixed(column: str, error: Exception) -> InputError:
    """The error about a column whose values have no common type."""
    problem = f"{column} has values of several types, and Parquet one for all its rows ({first_line(error)})"
    return InputError(problem, cure="write CSV or JSON lines")


def first_line(error: Exception) -> str:
    """What an error of pyarrow says, without what follows."""
    return (str(error).splitlines() or ["no reason given"])[0]
