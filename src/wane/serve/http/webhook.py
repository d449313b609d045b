"""Alarms that go out: each is posted to an address of yours, signed, until it is accepted."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import time
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from wane.errors import InputError
from wane.serve.http.archive import identity
from wane.serve.http.follow import fields_of
from wane.serve.http.guard import SHORTEST
from wane.serve.http.sinks import Sink
from wane.state.journal import Journal

PATIENCE = 10.0  # seconds for an answer


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: an alarm goes to the address that was given, or nowhere."""

    def redirect_request(self, *arguments: Any) -> None:
        """Refuse."""


OPENER = urllib.request.build_opener(NoRedirect)


def secret_from(environment: Mapping[str, str]) -> bytes:
    """The secret in the variable WANE_WEBHOOK_SECRET."""
    secret = environment.get("WANE_WEBHOOK_SECRET", "")
    if len(secret) < SHORTEST:
        problem = f"alarms are signed: WANE_WEBHOOK_SECRET must have at least {SHORTEST} characters"
        raise InputError(problem, argument="webhook", cure="make one with: openssl rand -hex 32")
    return secret.encode()


def signature(secret: bytes, moment: int, body: bytes) -> str:
    """What proves that an alarm comes from here: of its time and its body.

    >>> signature(b"secret of sixteen", 1700000000, b"{}")[:30]
    't=1700000000,v1=5fedad4bc46466'
    """
    digest = hmac.new(secret, b"%d." % moment + body, hashlib.sha256).hexdigest()
    return f"t={moment},v1={digest}"


class Webhook(Sink):
    """Posts each alarm once; one that is not accepted (a status from 200 to 299) is posted again later.

    Args:
        journal: whose alarms are posted.
        address: where to; http or https.
        secret: with which each is signed.
        first_wait: seconds after the first failure.
    """

    def __init__(self, journal: Journal, address: str, secret: bytes, first_wait: float = 0.5) -> None:
        """Begin with the alarms of calls from now on, unless some were posted before."""
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"must be an address as https://host/path, got {parts.scheme!r}", about="webhook")
        super().__init__(journal, "webhook", first_wait)
        if not os.path.exists(self.place):
            self.note(journal.durable)
        self.address, self.secret = address, secret
        self.identity = identity(os.path.dirname(journal.path))

    def take(self, records: list[tuple[int, list[Any]]]) -> None:
        """Post the alarms of these calls, one after the other."""
        for number, record in records:
            if record[0] != "update" or len(record) < 5 or not record[4].get("alarms"):
                continue
            fields = fields_of(number, record)
            where: dict[str, Any] = {k: fields[k] for k in ("series", "horizon", "id") if k in fields}
            for n, alarm in enumerate(fields["said"]["alarms"]):
                name = f"{self.identity}-{number}-{n}"
                self.post({"alarm": name, "sequence": number, "at": fields["said"].get("at"), **where, **alarm})
            self.note(number)

    def post(self, alarm: dict[str, Any]) -> None:
        """Post one alarm, or raise."""
        body = json.dumps(alarm).encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "wane",
            "Wane-Alarm": alarm["alarm"],
            "Wane-Signature": signature(self.secret, int(time.time()), body),
        }
        with OPENER.open(urllib.request.Request(self.address, body, headers), timeout=PATIENCE):
            pass
