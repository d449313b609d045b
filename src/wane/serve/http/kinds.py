"""The kinds of errors that only the service over HTTP has, and the status of every kind."""

from __future__ import annotations

KINDS = {
    "token": "the token is missing or wrong",
    "rate": "too many wrong tokens came from this address: wait a minute",
    "shard": "the series belongs to another shard",
    "stopping": "the service is stopping: send the request again",
    "address": "there is nothing at this address",
    "method": "the address has no such method",
    "type": "the body is not application/json",
}
STATUS = {
    "json": 400, "too-long": 413, "request": 400, "value": 422, "unbounded": 409, "unknown": 404, "waiting": 409,
    "labelled": 409, "expired": 410, "series": 404, "full": 429, "journal": 503, "internal": 500, "token": 401,
    "rate": 429, "shard": 421, "stopping": 503, "address": 404, "method": 405, "type": 415,
}  # fmt: skip
