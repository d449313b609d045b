"""Who may ask: a token, compared in constant time, and a limit on the rate of wrong ones."""

from __future__ import annotations

import hashlib
import hmac
import os
import time
from collections import OrderedDict
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie

from wane.errors import InputError, MissingFileError, Setting
from wane.serve.requests import Refused

COOKIE = "wane_live"
SHORTEST = 16  # characters of a token
WRONG = 20  # wrong tokens of one address in a minute, each answered; further ones wait
MINUTE = 60.0  # seconds
MOST_ADDRESSES = 10_000  # whose wrong tokens are counted


def token_from(path: str | os.PathLike[str] | None, environment: Mapping[str, str]) -> str | None:
    """The token in a file, or in the variable WANE_TOKEN; None if there is neither."""
    token, where = environment.get("WANE_TOKEN"), "WANE_TOKEN"
    if path is not None:
        where = os.fspath(path)
        if not os.path.isfile(path):
            problem = f"there is no file {where!r} with a token"
            raise MissingFileError(problem, argument="token_file", cure="write a long random text into it")
        with open(path, encoding="utf-8") as file:
            token = file.read().strip()
    if token is None:
        return None
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        problem = f"the token in {where} must be at least {SHORTEST} ASCII characters without spaces"
        raise InputError(problem, argument="token_file", cure="make one with: openssl rand -hex 32")
    return token


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address.

    >>> [is_loopback(h) for h in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "10.0.0.7")]
    [True, True, True, False, False]
    """
    return host in ("localhost", "::1") or host.startswith("127.")


def checked_host(host: str, token: str | None) -> str:
    """The address to listen on; beyond this machine it needs a token."""
    if token is None and not is_loopback(host):
        problem = f"the service would be open to everybody who reaches {host}"
        raise InputError(problem, argument="host", cure=("give ", Setting("token_file"), " or set WANE_TOKEN"))
    return host


class Guard:
    """Lets requests in that know the token.

    Without a token only this machine is served, and only under a name of its own, so that a page of another host that a
    browser shows cannot ask.

    >>> guard = Guard("correct-horse-battery")
    >>> guard.known({"authorization": "Bearer correct-horse-battery"}), guard.known({"authorization": "Bearer x"})
    (True, False)
    """

    def __init__(self, token: str | None) -> None:
        """Nobody has been wrong."""
        self.token = None if token is None else token.encode()
        self._wrong: OrderedDict[str, list[float]] = OrderedDict()  # the times of wrong tokens, by address

    def session(self) -> str:
        """What the cookie of the live page holds: it proves that its browser knew the token, and is not the token."""
        return hmac.new(self.token or b"", b"wane live page", hashlib.sha256).hexdigest()

    def known(self, headers: Mapping[str, str], reading: bool = False) -> bool:
        """Whether the headers of a request hold the token; a request that only reads may have the cookie instead."""
        if self.token is None:
            host = headers.get("host", "").rpartition("@")[2]
            name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
            return is_loopback(name)
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.right(given.strip())
        return reading and self._has_cookie(headers.get("cookie", ""))

    def right(self, token: str) -> bool:
        """Whether this is the token; the time that it takes does not tell how near it is."""
        return self.token is not None and hmac.compare_digest(token.encode("utf-8", "replace"), self.token)

    def _has_cookie(self, text: str) -> bool:
        try:
            found = SimpleCookie(text).get(COOKIE)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self.session().encode())

    def wrong(self, address: str) -> Refused:
        """Count a wrong token, and return the error: from some rate on, one that says to wait."""
        now = time.monotonic()
        times = [t for t in self._wrong.pop(address, []) if now - t < MINUTE][-WRONG:]
        self._wrong[address] = [*times, now]
        if len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)
        if len(times) >= WRONG:
            return Refused(
                "rate", f"more than {WRONG} requests without the right token came in a minute: wait a minute"
            )
        if self.token is None:
            return Refused("token", "this service has no token and answers this machine only: ask 127.0.0.1")
        return Refused("token", "give the token of the service as the header: Authorization: Bearer TOKEN")
