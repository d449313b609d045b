"""How much a request may ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wane.serve.requests import Refused

NAMED = ("series", "id")  # fields whose length is limited


@dataclass(frozen=True)
class Limits:
    """What one request may hold; what is beyond is refused in words, and nothing is done.

    Attributes:
        body: bytes of the body of a request.
        batch: operations in a batch.
        name: characters of the name of a series, and of an id.
    """

    body: int = 1_000_000
    batch: int = 1_000
    name: int = 200

    def check_body(self, size: int) -> None:
        """Refuse a body that is too long."""
        if size > self.body:
            raise Refused("too-long", f"the body has more than {self.body} bytes (--max-body)")

    def check_batch(self, operations: Any) -> list[Any]:
        """The operations of a batch, unless they are too many."""
        if not isinstance(operations, list):
            raise Refused("request", 'a batch is {"operations": [...]}, a list of requests with "op" and "series"')
        if len(operations) > self.batch:
            problem = f"a batch has at most {self.batch} operations (--max-batch), got {len(operations)}"
            raise Refused("too-long", f"{problem}: send several")
        return operations

    def check_names(self, request: dict[str, Any]) -> None:
        """Refuse names that are too long, or that a log or a page could not show."""
        for field in NAMED:
            text = request.get(field)
            if not isinstance(text, str):
                continue
            if len(text) > self.name:
                problem = f"{field} has at most {self.name} characters (--max-name), got {len(text)}"
                raise Refused("request", f"{problem}: give a shorter one")
            if not text.isprintable():
                raise Refused("request", f"{field} must be printable text, got {text[:50]!r}")
