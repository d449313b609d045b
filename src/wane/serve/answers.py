"""A response for each request."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from wane.checks import described as wrong
from wane.conformal import Learned, ManySeries, OnlineConformal
from wane.errors import IdError, InputError, InputTypeError, SeriesError, UnboundedError
from wane.serve.parts import Parts, described, key_of
from wane.serve.requests import Refused, checked, name, parsed
from wane.serve.responses import failure, given, learned, plain
from wane.state.files import save
from wane.state.journal import Journal
from wane.version import __version__

PROTOCOL = 1  # raised when a program that speaks the older one would go wrong
OWNED = ("", ".log", ".log.dropped", ".lock")  # ends of the names of files that belong to a journal
KIND_OF: dict[type, str] = {SeriesError: "series", UnboundedError: "unbounded"}  # other errors are about a value
LARGEST_ID = 2**52  # JSON readers of many languages keep whole numbers up to 2**53; the next ids are larger than this


class Lines:
    """A response for each request, both plain data; after a bad one everything is as before.

    A request that was done before, and is sent again because its answer was lost, is answered again and changes
    nothing: its answer has ``"repeated": True``.

    Args:
        service: a ``ManySeries``, or the ``Journal`` of one.
        remarks: whether the journal keeps the time and the answer of each request beside it.
        max_waiting: how many predictions of all series together may wait for their label; None is any number.

    Attributes:
        stopped: whether there was a request to stop.
        waiting: how many predictions wait for their label.

    >>> from wane.conformal import ManySeries
    >>> lines = Lines(ManySeries("magl", alpha=0.1))
    >>> lines.answer({"op": "predict", "output": 2.0, "request": "r1"})
    {'ok': True, 'request': 'r1', 'id': 0, 'cold': True, 'radius': 0.0, 'lower': 2.0, 'upper': 2.0}
    >>> lines.answer({"op": "label", "id": 0, "y": 2.5})
    {'ok': True, 'id': 0, 'score': 0.5, 'covered': False}
    >>> lines.answer({"op": "label", "id": 0, "y": 2.5})
    {'ok': True, 'id': 0, 'score': 0.5, 'covered': False, 'repeated': True}
    """

    def __init__(self, service: ManySeries | Journal, remarks: bool = False, max_waiting: int | None = None) -> None:
        """Nothing has been asked."""
        self.journal = service if isinstance(service, Journal) else None
        self.many: ManySeries = service.object if isinstance(service, Journal) else service
        if not isinstance(self.many, ManySeries):
            problem = f"lines need a ManySeries or the journal of one, got {wrong(self.many)}"
            raise InputTypeError(problem, argument="service")
        self.parts = Parts(self.many)
        self.remarks = remarks
        self.max_waiting = max_waiting
        self.waiting = sum(len(oc.pending()) for oc in self.many.series.values())
        self.stopped = False

    def line(self, raw: bytes | None) -> bytes:
        """A response as one line, for a request as one line; None is a line that was too long to be read."""
        try:
            response = self.answer(parsed(raw))
        except Refused as error:
            response = failure(error.kind, error)
        return json.dumps(response, allow_nan=False).encode() + b"\n"

    def answer(self, request: Any) -> dict[str, Any]:
        """The response to a request, given after the journal has it."""
        response = self.operate(request)
        if self.journal is not None and self.journal.durable < self.journal.sequence:
            try:
                self.journal.commit()
                self.journal.compact_if_due()
            except (OSError, RuntimeError) as error:
                echo = {k: response[k] for k in ("request",) if k in response}
                return failure("journal", error, echo)
        return response

    def operate(self, request: Any) -> dict[str, Any]:
        """Do a request. Its response must not be given before ``journal.commit()``."""
        echo: dict[str, Any] = {}
        try:
            if not isinstance(request, dict):
                raise Refused("request", f"a request must be an object, got {wrong(request)}")
            if request.get("request") is not None:
                echo["request"] = name("request", request["request"])
            op, fields = checked(request)
            return {"ok": True, **echo, **getattr(self, f"_{op}")(**fields)}
        except Refused as error:
            return failure(error.kind, error, echo)
        except Exception as error:  # whatever it is, the process lives on
            logging.getLogger(__name__).exception("a request led to an error that was not foreseen")
            return failure("internal", repr(error), echo)

    def _predict(
        self,
        output: Any,
        id: Any = None,
        series: Any = None,
        groups: Any = None,
        horizon: Any = None,
        context: Any = None,
    ) -> dict[str, Any]:
        if isinstance(id, int) and abs(id) > LARGEST_ID:
            raise Refused("request", f"id must be text or a whole number of at most {LARGEST_ID}, got {id}")
        if id is None:
            id = self.parts.next_id(series)
        elif (there := self.parts.waiting(series, id)) is not None:
            return self._predicted_again(there, id, output)
        if series is None and horizon is not None:
            raise Refused("request", "a horizon needs a series: give its name")
        if self.max_waiting is not None and self.waiting >= self.max_waiting:
            problem = f"{self.waiting} predictions wait for their labels, as many as there may be (--max-waiting)"
            raise Refused("full", f"{problem}: send labels, or expire predictions that will have none")
        key = key_of(series, horizon)
        expired = self.many.series[key].expired if key in self.many.series else 0
        said = self._done("predict", [output], given, id=id, series=key, context=context, groups=groups)
        self.waiting += 1 - (self.many.series[key].expired - expired)  # the oldest may have given way
        self.parts.add(key)
        return said

    def _predicted_again(self, there: OnlineConformal, id: Any, output: Any) -> dict[str, Any]:
        """The answer to a prediction that waits, if this is the same request again."""
        waits = there.recall(id)
        try:
            same = np.array_equal(there._waiting.pending[id].output, there.score.output(output))
        except (TypeError, ValueError, OverflowError) as error:
            raise Refused("value", str(error)) from error
        if not same:
            problem = f"a prediction with id {id!r} and another output waits for its label"
            raise Refused("waiting", f"{problem}: update or expire it first, or give another id")
        with contextlib.suppress(UnboundedError):  # then no cold prediction was ever made
            waits.cold = waits.cold or waits.radius == self.many.pattern.preview(output).radius
        return {**given(waits), "repeated": True}

    def _label(self, id: Any, y: Any, series: Any = None) -> dict[str, Any]:
        key = self.parts.holding(series, id)
        try:
            said = self._done("update", [id, y], lambda found: {"id": id, **learned(found)}, series=key)
            self.waiting -= 1
            return said
        except Refused as error:
            if error.kind != "labelled":
                raise
            again = Learned(self.many[key].explain(id), [])
            return {"id": id, **learned(again), "repeated": True}

    def _expire(self, id: Any, series: Any = None) -> dict[str, Any]:
        said = self._done("expire", [], lambda gone: {"id": id}, id=id, series=self.parts.holding(series, id))
        self.waiting -= 1
        return said

    def _pending(self, series: Any = None) -> dict[str, Any]:
        return {"ids": [id for key in self._keys(series) for id in self.many.pending(series=key)]}

    def _stats(self, series: Any = None) -> dict[str, Any]:
        rows = [self._row(key) for key in (self._keys(series) if series is not None else self.many.names())]
        totals = {k: sum(row[k] for row in rows) for k in ("predictions", "labels", "pending", "expired")}
        return {**totals, "series": rows}

    def _keys(self, series: Any) -> list[Any]:
        """The parts of a series that exists."""
        keys = self.parts.of(series)
        if not keys:
            try:
                self.many[series]
            except SeriesError as error:
                raise Refused("series", str(error)) from error
        return keys

    def _row(self, series: Any) -> dict[str, Any]:
        """The metrics of a series."""
        oc = self.many[series]
        found = oc.metrics()
        levels = [plain(dataclasses.asdict(m)) for m in (found.values() if isinstance(found, dict) else [found])]
        counts = {"predictions": oc.predictions, "labels": levels[0]["rounds"]}
        counts |= {k: levels[0][k] for k in ("pending", "expired")}
        return {
            **described(series),
            **counts,
            "levels": [{k: v for k, v in x.items() if k not in counts} for x in levels],
        }

    def _save(self, path: Any) -> dict[str, Any]:
        if not isinstance(path, str):
            raise Refused("request", f"path must be text, got {wrong(path)}")
        try:
            if self.journal is not None and any(same_file(path, self.journal.path + s) for s in OWNED):
                raise InputError("it belongs to the journal, give another path", argument="path")
            save(path, self.many)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise Refused("file", f"{path!r} was not written: {reason}") from error
        return {"path": os.path.abspath(path)}

    def _version(self) -> dict[str, Any]:
        pattern = self.many.pattern
        return {
            "version": __version__,
            "protocol": PROTOCOL,
            "score": repr(pattern.score),
            "alpha": list(pattern.alphas),
            "journal": None if self.journal is None else self.journal.path,
        }

    def _stop(self) -> dict[str, Any]:
        self.stopped = True
        return {}

    def _done(
        self, call: str, arguments: list[Any], told: Callable[[Any], dict[str, Any]], **keywords: Any
    ) -> dict[str, Any]:
        """Do a call of ``ManySeries``, through the journal if there is one, and return what is told of its result."""
        keywords = {k: v for k, v in keywords.items() if v is not None}
        said: dict[str, Any] = {}

        def remark(result: Any) -> dict[str, Any]:
            said.update(told(result))
            return {"at": round(time.time(), 3), **said}

        try:
            if self.journal is None:
                return told(getattr(self.many, call)(*arguments, **keywords))
            result = self.journal.call(call, arguments, keywords, remark if self.remarks else None)
            return said or told(result)
        except IdError as error:
            id = keywords.get("id", *arguments[:1])
            raise Refused(self._status(id, keywords.get("series")), str(error)) from error
        except (SeriesError, UnboundedError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise Refused(KIND_OF.get(type(error), "value"), str(error)) from error
        except (OSError, RuntimeError) as error:
            if self.journal is None:
                raise
            raise Refused("journal", str(error)) from error

    def _status(self, id: Any, series: Any) -> str:
        """What is known of a prediction whose id was refused."""
        try:
            return self.many[series].explain(id).status
        except IdError:
            return "unknown"


def same_file(a: str, b: str) -> bool:
    """Whether two paths lead to the same file, which exists."""
    return os.path.exists(a) and os.path.exists(b) and os.path.samefile(a, b)
