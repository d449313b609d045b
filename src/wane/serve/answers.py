"""A response for each request."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
from collections.abc import Callable
from typing import Any

from wane.checks import described
from wane.conformal import ManySeries
from wane.errors import IdError, InputError, InputTypeError, SeriesError, UnboundedError
from wane.serve.requests import Refused, checked, name, parsed
from wane.serve.responses import failure, given, learned, plain
from wane.state.files import save
from wane.state.journal import Journal
from wane.version import __version__

PROTOCOL = 1  # raised when a program that speaks the older one would go wrong
OWNED = ("", ".log", ".log.dropped", ".lock")  # ends of the names of files that belong to a journal
LARGEST_ID = 2**52  # JSON readers of many languages keep whole numbers up to 2**53; the next ids are larger than this


class Lines:
    """A response for each request, both plain data; after a bad one everything is as before.

    Args:
        service: a ``ManySeries``, or the ``Journal`` of one.

    Attributes:
        stopped: whether there was a request to stop.

    >>> from wane.conformal import ManySeries
    >>> lines = Lines(ManySeries("magl", alpha=0.1))
    >>> lines.answer({"op": "predict", "output": 2.0, "request": "r1"})
    {'ok': True, 'request': 'r1', 'id': 0, 'cold': True, 'radius': 0.0, 'lower': 2.0, 'upper': 2.0}
    >>> lines.answer({"op": "label", "id": 0, "y": 2.5})
    {'ok': True, 'id': 0, 'score': 0.5, 'covered': False}
    >>> lines.answer({"op": "label", "id": 0, "y": 2.5})["error"]["kind"]
    'labelled'
    """

    def __init__(self, service: ManySeries | Journal) -> None:
        """Nothing has been asked."""
        self.journal = service if isinstance(service, Journal) else None
        self.calls: Any = service  # predict, update and expire
        self.many: ManySeries = service.object if isinstance(service, Journal) else service
        if not isinstance(self.many, ManySeries):
            problem = f"lines need a ManySeries or the journal of one, got {described(self.many)}"
            raise InputTypeError(problem, argument="service")
        self.stopped = False

    def line(self, raw: bytes | None) -> bytes:
        """A response as one line, for a request as one line; None is a line that was too long to be read."""
        try:
            response = self.answer(parsed(raw))
        except Refused as error:
            response = failure(error.kind, error)
        return json.dumps(response, allow_nan=False).encode() + b"\n"

    def answer(self, request: Any) -> dict[str, Any]:
        """The response to a request."""
        echo: dict[str, Any] = {}
        try:
            if not isinstance(request, dict):
                raise Refused("request", f"a request must be an object, got {described(request)}")
            if request.get("request") is not None:
                echo["request"] = name("request", request["request"])
            op, fields = checked(request)
            return {"ok": True, **echo, **getattr(self, f"_{op}")(**fields)}
        except Refused as error:
            return failure(error.kind, error, echo)
        except Exception as error:  # whatever it is, the process lives on
            logging.getLogger(__name__).exception("a request led to an error that was not foreseen")
            return failure("internal", repr(error), echo)

    def _predict(self, output: Any, id: Any = None, series: Any = None, groups: Any = None) -> dict[str, Any]:
        if isinstance(id, int) and abs(id) > LARGEST_ID:
            raise Refused("request", f"id must be text or a whole number of at most {LARGEST_ID}, got {id}")
        return given(self._done(self.calls.predict, output, id=id, series=series, groups=groups))

    def _label(self, id: Any, y: Any, series: Any = None) -> dict[str, Any]:
        return {"id": id, **learned(self._done(self.calls.update, id, y, series=series))}

    def _expire(self, id: Any, series: Any = None) -> dict[str, Any]:
        self._done(self.calls.expire, id=id, series=series)
        return {"id": id}

    def _pending(self, series: Any = None) -> dict[str, Any]:
        return {"ids": self._done(self.many.pending, series=series)}

    def _stats(self, series: Any = None) -> dict[str, Any]:
        if series is not None:
            self._done(self.many.__getitem__, series)
        rows = [self._row(key) for key in ([series] if series is not None else self.many.names())]
        totals = {k: sum(row[k] for row in rows) for k in ("predictions", "labels", "pending", "expired")}
        return {**totals, "series": rows}

    def _row(self, series: Any) -> dict[str, Any]:
        """The metrics of a series."""
        oc = self.many[series]
        found = oc.metrics()
        levels = [plain(dataclasses.asdict(m)) for m in (found.values() if isinstance(found, dict) else [found])]
        counts = {"predictions": oc.predictions, "labels": levels[0]["rounds"]}
        counts |= {k: levels[0][k] for k in ("pending", "expired")}
        return {"series": series, **counts, "levels": [{k: v for k, v in x.items() if k not in counts} for x in levels]}

    def _save(self, path: Any) -> dict[str, Any]:
        if not isinstance(path, str):
            raise Refused("request", f"path must be text, got {described(path)}")
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

    def _done(self, call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """The result of a call, or a Refused that says which kind of error it was."""
        keywords = {k: v for k, v in keywords.items() if v is not None}
        try:
            return call(*arguments, **keywords)
        except SeriesError as error:
            raise Refused("series", str(error)) from error
        except IdError as error:
            id = keywords.get("id", *arguments[:1])
            raise Refused(self._status(id, keywords.get("series")), str(error)) from error
        except UnboundedError as error:
            raise Refused("unbounded", str(error)) from error
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise Refused("value", str(error)) from error
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
