"""The archive: every prediction and every label in tables of Postgres, for people who ask questions later."""

from __future__ import annotations

import json
import os
import uuid
from typing import Any

from wane.errors import InputError, MissingExtraError, installing
from wane.serve.http.follow import fields_of
from wane.serve.http.sinks import Sink
from wane.state.journal import Journal

ADDRESSES = ("postgresql://", "postgres://")
TABLES = """
CREATE TABLE IF NOT EXISTS wane_predictions (
    journal uuid NOT NULL, sequence bigint NOT NULL, made timestamptz, series text, horizon integer, id text NOT NULL,
    output jsonb, lower double precision, upper double precision, answer jsonb, PRIMARY KEY (journal, sequence)
);
CREATE TABLE IF NOT EXISTS wane_labels (
    journal uuid NOT NULL, sequence bigint NOT NULL, learned timestamptz, series text, horizon integer,
    id text NOT NULL, y jsonb, score jsonb, covered boolean, alarms jsonb, PRIMARY KEY (journal, sequence)
);
CREATE INDEX IF NOT EXISTS wane_predictions_by_id ON wane_predictions (journal, series, id, sequence);
CREATE OR REPLACE VIEW wane_rounds AS
SELECT l.journal, l.sequence, l.series, l.horizon, l.id, p.made, l.learned, p.output, p.lower, p.upper, l.y, l.score,
    l.covered, l.alarms
FROM wane_labels l LEFT JOIN LATERAL (
    SELECT * FROM wane_predictions p
    WHERE p.journal = l.journal AND p.series IS NOT DISTINCT FROM l.series AND p.id = l.id AND p.sequence < l.sequence
    ORDER BY p.sequence DESC LIMIT 1
) p ON true;
"""
PREDICTION = """
INSERT INTO wane_predictions VALUES (%s, %s, to_timestamp(%s), %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""
LABEL = """
INSERT INTO wane_labels VALUES (%s, %s, to_timestamp(%s), %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""


def identity(folder: str) -> uuid.UUID:
    """The identity of a journal, in the file ``identity`` beside it, made when it is asked for first."""
    path = os.path.join(folder, "identity")
    if not os.path.exists(path):
        with open(path, "w", encoding="ascii") as file:
            file.write(f"{uuid.uuid4()}\n")
    with open(path, encoding="ascii") as file:
        return uuid.UUID(file.read().strip())


class Archive(Sink):
    """Copies every prediction and every label to Postgres.

    Rows have the identity of the journal and the number of the call, so that what is sent twice is there once.

    Args:
        journal: what is copied.
        address: of the database, as postgresql://user@host/name; a password belongs into PGPASSWORD or ~/.pgpass.
        first_wait: seconds after the first failure.
    """

    def __init__(self, journal: Journal, address: str, first_wait: float = 0.5) -> None:
        """Connect later, when there is something to copy."""
        if not address.startswith(ADDRESSES):
            problem = f"must be an address as postgresql://user@host/name, got {address.partition(':')[0]!r}"
            raise InputError(problem, about="archive")
        try:
            import psycopg
        except ModuleNotFoundError as error:
            problem = "the archive needs psycopg, which is not installed"
            raise MissingExtraError(problem, cure=installing("postgres")) from error
        super().__init__(journal, "archive", first_wait)
        self.psycopg, self.address = psycopg, address
        self.identity = identity(os.path.dirname(journal.path))
        self._connection: Any = None

    def take(self, records: list[tuple[int, list[Any]]]) -> None:
        """Write calls in one transaction."""
        if self._connection is None:
            self._connection = self.psycopg.connect(
                self.address, connect_timeout=5, options="-c statement_timeout=30000", autocommit=False
            )
            with self._connection.transaction(), self._connection.cursor() as cursor:
                cursor.execute(TABLES)
        found = [fields_of(number, record) for number, record in records]
        with self._connection.transaction(), self._connection.cursor() as cursor:
            for call, row, insert in (("predict", prediction, PREDICTION), ("update", label, LABEL)):
                rows = [(self.identity, *row(fields)) for fields in found if fields["call"] == call]
                if rows:
                    cursor.executemany(insert, rows)

    def release(self) -> None:
        """Let the connection go."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def common(fields: dict[str, Any]) -> tuple[Any, ...]:
    """The columns that both tables begin with."""
    series, said = fields["series"], fields["said"]
    return (
        fields["sequence"],
        said.get("at"),
        None if series is None else str(series),
        fields.get("horizon"),
        str(fields["id"]),
    )


def prediction(fields: dict[str, Any]) -> tuple[Any, ...]:
    """A row about a prediction."""
    said = {k: v for k, v in fields["said"].items() if k != "at"}
    ends = [first(said.get(k)) for k in ("lower", "upper")]
    return *common(fields), json.dumps(fields["output"]), *ends, json.dumps(said)


def label(fields: dict[str, Any]) -> tuple[Any, ...]:
    """A row about a label."""
    said = fields["said"]
    covered, alarms = first(said.get("covered")), said.get("alarms")
    shown = None if alarms is None else json.dumps(alarms)
    return *common(fields), json.dumps(fields["y"]), json.dumps(said.get("score")), covered, shown


def first(value: Any) -> Any:
    """A value, or that of the first level."""
    return value[0] if isinstance(value, list) and value else value
