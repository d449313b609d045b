"""The process: it begins or goes on from its journal, listens, and stops cleanly."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from types import FrameType
from typing import Any

import uvicorn

from wane.errors import FileError
from wane.serve.http.app import build
from wane.serve.http.service import Service

PATIENCE = 10  # seconds that requests under way have when the process is told to stop


class Server(uvicorn.Server):
    """A server that closes the live pages, which never end by themselves, when it is told to stop.

    Args:
        config: of uvicorn.
        service: what is served.
    """

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        """Nothing has been told."""
        super().__init__(config)
        self.service = service
        self.interrupted = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop after the requests under way have been answered."""
        self.interrupted = sig == signal.SIGINT
        self.service.events.close()
        super().handle_exit(sig, frame)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; an address that cannot be had is a FileError in words."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
        listener.set_inheritable(True)
    except OSError as error:
        listener.close()
        problem = f"cannot listen on {host} port {port} ({error.strerror})"
        raise FileError(problem, argument="port", cure="choose another --port or --host") from error
    return listener


def new_loop() -> asyncio.AbstractEventLoop:
    """An event loop: uvloop, which takes half the time, on systems that have it."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def run(service: Service, listener: socket.socket, **settings: Any) -> int:
    """Serve until a signal comes; the exit code. What goes wrong inside is written to standard error."""
    logging.basicConfig(level=logging.WARNING)
    config = uvicorn.Config(
        build(service),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=PATIENCE,
        **settings,
    )
    server = Server(config, service)
    for number in (signal.SIGTERM, signal.SIGINT):  # which uvicorn raises again after a clean stop
        signal.signal(number, lambda *_: None)
    loop = new_loop()
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(server.serve([listener]))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    return 130 if server.interrupted else 0
