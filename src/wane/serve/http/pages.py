"""The pages for people: static files of this package, which ask nothing of any other host."""

from __future__ import annotations

from importlib import resources
from pathlib import PurePosixPath

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
LIVE_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # the latter tells nginx to pass events on
FOLDERS = ("wane.serve", "wane.charts")  # whose assets may be asked for: the live page shares charts with the report
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def asset(name: str) -> bytes | None:
    """A static file by its name; None if there is none."""
    if PurePosixPath(name).name != name or PurePosixPath(name).suffix not in KINDS:
        return None
    for package in FOLDERS:
        file = resources.files(package).joinpath("assets", name)
        if file.is_file():
            return file.read_bytes()
    return None


def static(name: str) -> Response:
    """A static file as a response."""
    found = asset(name)
    if found is None:
        return Response("there is no such file\n", 404, HEADERS, "text/plain")
    return Response(found, 200, HEADERS, f"{KINDS[PurePosixPath(name).suffix]}; charset=utf-8")


def routes() -> list[Route]:
    """The addresses of the pages."""

    async def live(request: Request) -> Response:
        return static("live.html")

    async def trying(request: Request) -> Response:
        return static("try.html")

    async def file(request: Request) -> Response:
        return static(request.path_params["name"])

    async def home(request: Request) -> Response:
        return RedirectResponse("/live")

    async def icon(request: Request) -> Response:
        return Response(status_code=204)

    return [
        Route("/", home),
        Route("/live", live),
        Route("/live/series/{series}", live),
        Route("/docs", trying),
        Route("/assets/{name}", file),
        Route("/favicon.ico", icon),
    ]
