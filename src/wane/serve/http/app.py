"""The addresses."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from wane.checks import described
from wane.serve.http import pages
from wane.serve.http.guard import COOKIE
from wane.serve.http.kinds import STATUS
from wane.serve.http.openapi import description
from wane.serve.http.service import Service
from wane.serve.requests import Refused, parsed
from wane.serve.responses import failure

MOST_ROWS = 1_000  # of a page of series
JSON = "application/json"
Handler = Callable[[Request], Awaitable[Response]]


def build(service: Service) -> Starlette:
    """The application of a service."""
    return Routes(service).application()


class Routes:
    """The handlers, one for each address.

    Args:
        service: which does the requests.
    """

    def __init__(self, service: Service) -> None:
        """Nothing is asked yet."""
        self.service = service

    def application(self) -> Starlette:
        """All addresses; those that show no data of anybody are open."""
        closed = self.closed
        routes = [
            Route("/v1/series/{series}/predictions", closed(self.predict), methods=["POST"]),
            Route("/v1/series/{series}/labels", closed(self.label), methods=["POST"]),
            Route("/v1/series/{series}/expirations", closed(self.expire), methods=["POST"]),
            Route("/v1/batch", closed(self.batch), methods=["POST"]),
            Route("/v1/series/{series}", closed(self.one_series)),
            Route("/v1/series", closed(self.all_series)),
            Route("/v1/live/overview", closed(self.overview)),
            Route("/v1/live/series/{series}", closed(self.live_series)),
            Route("/v1/live/events", closed(self.live_events)),
            Route("/metrics", closed(self.metrics)),
            Route("/healthz", self.healthy),
            Route("/readyz", self.ready),
            Route("/openapi.json", self.openapi),
            Route("/live/login", self.login, methods=["POST"]),
            *pages.routes(),
        ]

        @asynccontextmanager
        async def lifespan(app: Starlette) -> Any:
            yield
            await self.service.close()

        return Starlette(
            routes=routes, lifespan=lifespan, exception_handlers={HTTPException: no_such_address, Exception: unforeseen}
        )

    # The door.

    def closed(self, handler: Handler) -> Handler:
        """A handler for those who know the token."""

        async def guarded(request: Request) -> Response:
            guard = self.service.guard
            try:
                if not guard.known(request.headers, request.method in ("GET", "HEAD")):
                    raise guard.wrong(request.client.host if request.client else "")
                return await handler(request)
            except Refused as error:
                self.service.numbers.refused.labels(error.kind).inc()
                return refusal(error)
            except ClientDisconnect:
                return Response(status_code=400)
            except Exception:
                return await unforeseen(request, None)

        return guarded

    async def body(self, request: Request) -> Any:
        """The JSON in the body of a request; no more than the limit is read."""
        kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
        if kind != JSON:
            raise Refused("type", f"the body must be {JSON}, got {described(kind)}")
        limits = self.service.limits
        length = request.headers.get("content-length", "")
        limits.check_body(int(length) if length.isascii() and length.isdigit() else 0)
        raw = bytearray()
        async for piece in request.stream():
            raw += piece
            limits.check_body(len(raw))
        return parsed(bytes(raw))

    # Operations.

    async def predict(self, request: Request) -> Response:
        """An interval around a model output."""
        return await self.operation(request, "predict")

    async def label(self, request: Request) -> Response:
        """The label of a prediction."""
        return await self.operation(request, "label")

    async def expire(self, request: Request) -> Response:
        """The end of waiting for a label."""
        return await self.operation(request, "expire")

    async def operation(self, request: Request, op: str) -> Response:
        """One operation on the series that the address names."""
        fields = await self.body(request)
        if not isinstance(fields, dict):
            raise Refused("request", f"the body must be an object, got {described(fields)}")
        if given := fields.keys() & {"op", "series"}:
            raise Refused("request", f"the address says what the field {sorted(given)[0]!r} would say: leave it out")
        answer = await self.service.one({"op": op, "series": request.path_params["series"], **fields})
        no_room = op == "predict" and not answer["ok"] and answer["error"]["kind"] == "series"
        return respond(answer, 409) if no_room else answered(answer)

    async def batch(self, request: Request) -> Response:
        """Many operations, answered in order."""
        fields = await self.body(request)
        operations = fields.get("operations") if isinstance(fields, dict) and len(fields) == 1 else None
        answers = await self.service.several(self.service.limits.check_batch(operations))
        return respond({"ok": True, "answers": answers})

    async def one_series(self, request: Request) -> Response:
        """The metrics of a series, and the settings."""
        found = self.service._done({"op": "stats", "series": request.path_params["series"]})[0]
        return answered({**found, "settings": self.service.about()} if found["ok"] else found)

    async def all_series(self, request: Request) -> Response:
        """The names of all series, a page at a time."""
        offset, limit = whole(request, "offset", 0, 10**9), whole(request, "limit", 100, MOST_ROWS)
        names = self.service.lines.parts.names()
        return respond({"ok": True, "total": len(names), "offset": offset, "series": names[offset : offset + limit]})

    # The live page.

    async def overview(self, request: Request) -> Response:
        """How all series are doing, the worst first."""
        offset, limit = whole(request, "offset", 0, 10**9), whole(request, "limit", 100, MOST_ROWS)
        found = self.service.live.overview(offset, limit, request.query_params.get("search", ""))
        return respond({"ok": True, **found, "sequence": self.service.journal.sequence})

    async def live_series(self, request: Request) -> Response:
        """The last rounds of a series."""
        series = request.path_params["series"]
        if not self.service.lines.parts.of(series):
            raise Refused("series", f"no series is named {series!r}")
        horizon = whole(request, "horizon", 0, 10_000) or None
        return respond({"ok": True, **self.service.live.series(series, horizon)})

    async def live_events(self, request: Request) -> Response:
        """What happens, as server-sent events."""
        service, events = self.service, self.service.events
        if len(events.listeners) >= events.most:
            raise Refused("full", f"{events.most} live pages are open: close one")
        seen = request.headers.get("last-event-id", "")
        last = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 19 else None
        series = request.query_params.get("series")
        if series is None:
            stream = events.of_overview(last, lambda: service.journal.durable)
        else:
            stream = events.of_series(series, last)
        return StreamingResponse(stream, media_type="text/event-stream", headers=pages.LIVE_HEADERS)

    async def login(self, request: Request) -> Response:
        """Give the browser a cookie for the live page, if it knows the token."""
        guard = self.service.guard
        try:
            fields = await self.body(request)
            token = fields.get("token") if isinstance(fields, dict) else None
            if guard.token is not None and not (isinstance(token, str) and guard.right(token)):
                raise guard.wrong(request.client.host if request.client else "")
        except Refused as error:
            return refusal(error)
        response = respond({"ok": True})
        if guard.token is not None:
            secure = request.url.scheme == "https"
            response.set_cookie(COOKIE, guard.session(), httponly=True, samesite="strict", secure=secure, path="/")
        return response

    # About the service.

    async def metrics(self, request: Request) -> Response:
        """Numbers for Prometheus."""
        return Response(self.service.numbers.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def healthy(self, request: Request) -> Response:
        """Say that the process lives."""
        return respond({"ok": True})

    async def ready(self, request: Request) -> Response:
        """Say whether requests can be done now."""
        why = self.service.unready()
        return respond({"ok": True}) if why is None else refusal(Refused("journal", why))

    async def openapi(self, request: Request) -> Response:
        """The description of the addresses."""
        return respond(description())


def respond(data: Any, status: int = 200) -> Response:
    """Plain data as a response."""
    return Response(msgspec.json.encode(data), status, media_type=JSON)


def answered(answer: dict[str, Any]) -> Response:
    """An answer as a response."""
    return respond(answer, 200 if answer["ok"] else STATUS[answer["error"]["kind"]])


def refusal(error: Refused) -> Response:
    """The response to a request that was refused."""
    response = respond(failure(error.kind, error), STATUS[error.kind])
    if error.kind == "token":
        response.headers["WWW-Authenticate"] = "Bearer"
    if error.kind in ("rate", "journal", "stopping"):
        response.headers["Retry-After"] = "60" if error.kind == "rate" else "5"
    return response


async def no_such_address(request: Request, error: Any) -> Response:
    """The response where there is no such address, or not for this method."""
    if error.status_code == 405:
        return refusal(Refused("method", f"{request.method} is not for this address: see /openapi.json"))
    return refusal(Refused("address", "there is nothing at this address: see /openapi.json"))


async def unforeseen(request: Request, error: Any) -> Response:
    """The response to a defect: the log has the details, the client learns nothing of the inside."""
    logging.getLogger(__name__).exception("a request led to an error that was not foreseen")
    return refusal(Refused("internal", "a defect of wane: the log of the service has the details"))


def whole(request: Request, name: str, default: int, most: int) -> int:
    """A whole number in the query of a request."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) <= most):
        raise Refused("request", f"{name} must be a whole number from 0 to {most}, got {described(text)}")
    return int(text)
