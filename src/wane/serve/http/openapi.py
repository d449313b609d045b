"""The description of the addresses, in the form that OpenAPI gives such descriptions."""

from __future__ import annotations

from typing import Any

from wane.serve.requests import KINDS
from wane.version import __version__

NAME = {"oneOf": [{"type": "string"}, {"type": "integer"}]}
NUMBERS = {"description": "What the score needs: a number, a pair, probabilities by class, or a vector."}
PREDICT = {
    "output": {**NUMBERS, "example": 20.5},
    "id": {**NAME, "description": "Your own name for the prediction; by default the next whole number."},
    "groups": {"type": "object", "description": "The group of each kind, if the service was told the kinds."},
    "horizon": {
        "type": "integer",
        "minimum": 1,
        "description": "How many steps ahead, each of which learns on its own.",
    },
    "context": {"description": "Numbers that say how hard this round is, if the method was told to expect them."},
}
LABEL = {"id": {**NAME, "example": "monday"}, "y": {"description": "What happened.", "example": 21.0}}
EXPIRE = {"id": {**NAME, "example": "monday"}}
OPERATION = {
    "op": {"enum": ["predict", "label", "expire", "pending", "stats"]},
    "series": {**NAME, "example": "shop 1"},
}
BATCH = {"operations": {"type": "array", "items": {"type": "object", "properties": {**OPERATION, **PREDICT, **LABEL}}}}
SERIES = {"name": "series", "in": "path", "required": True, "schema": {"type": "string"}}


def body(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """A body of JSON."""
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def query(name: str, kind: str, about: str) -> dict[str, Any]:
    """A field of the query."""
    return {"name": name, "in": "query", "schema": {"type": kind}, "description": about}


def entry(summary: str, parameters: list[Any] | None = None, request: dict[str, Any] | None = None) -> dict[str, Any]:
    """An address with one method."""
    found: dict[str, Any] = {"summary": summary, "parameters": parameters or []}
    if request is not None:
        found["requestBody"] = request
    found["responses"] = {"200": {"description": "Done."}, "default": {"$ref": "#/components/responses/Refused"}}
    return found


def description() -> dict[str, Any]:
    """The whole description."""
    paged = [query("offset", "integer", "Rows to skip."), query("limit", "integer", "Rows to show.")]
    kinds = {"type": "string", "enum": sorted(KINDS), "description": "; ".join(f"{k}: {v}" for k, v in KINDS.items())}
    error = {"type": "object", "properties": {"kind": kinds, "message": {"type": "string"}}}
    refused = {"type": "object", "properties": {"ok": {"const": False}, "error": error}}
    one = "/v1/series/{series}"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "wane",
            "version": __version__,
            "description": "Prediction intervals that keep their coverage.",
        },
        "security": [{"token": []}],
        "paths": {
            f"{one}/predictions": {
                "post": entry("The interval around a model output.", [SERIES], body(PREDICT, ["output"]))
            },
            f"{one}/labels": {"post": entry("Learn what happened.", [SERIES], body(LABEL, ["id", "y"]))},
            f"{one}/expirations": {"post": entry("Give up waiting for a label.", [SERIES], body(EXPIRE, ["id"]))},
            "/v1/batch": {"post": entry("Many operations, answered in order.", None, body(BATCH, ["operations"]))},
            one: {"get": entry("The metrics of a series, and the settings.", [SERIES])},
            "/v1/series": {"get": entry("The names of all series.", paged)},
            "/v1/live/overview": {
                "get": entry("All series, the worst first.", [*paged, query("search", "string", "Part of a name.")])
            },
            "/v1/live/series/{series}": {
                "get": entry(
                    "The last rounds of a series.",
                    [SERIES, query("horizon", "integer", "Steps ahead.")],
                )
            },
            "/v1/live/events": {
                "get": entry("Server-sent events.", [query("series", "string", "One series; else the overview.")])
            },
            "/metrics": {"get": entry("Numbers for Prometheus.")},
            "/healthz": {"get": {**entry("Whether the process lives."), "security": []}},
            "/readyz": {"get": {**entry("Whether requests can be done now."), "security": []}},
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {
                "Refused": {
                    "description": "Refused; nothing was done.",
                    "content": {"application/json": {"schema": refused}},
                }
            },
        },
    }
