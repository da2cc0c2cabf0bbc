"""Running an application until it is stopped: the socket, the log, the end."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Callable

from starlette.types import ASGIApp

from unirex.errors import UserError
from unirex.serve.settings import Settings

DRAIN = 120  # seconds that a stop waits for what was accepted


def run_app(app: ASGIApp, settings: Settings, port: int, *, announce: Callable[[str], object]) -> int:
    """Listen, answer, and on Ctrl-C or SIGTERM finish what was accepted; returns the exit code.

    Args:
        app: to run.
        settings: its host.
        port: to listen at; 0: any that is free.
        announce: called with the address of the server once it is known.
    """
    import uvicorn

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,  # it would hold queries; ours has only routes
        server_header=False,
        timeout_graceful_shutdown=DRAIN,
    )
    server = uvicorn.Server(config)
    with listener(settings.host, port) as listening:
        host, bound = settings.host, listening.getsockname()[1]
        announce(f"http://[{host}]:{bound}" if ":" in host else f"http://{host}:{bound}")
        server.run(sockets=[listening])
    return 0 if server.started else 2


def reachable(address: str) -> str:
    """The address with this machine's name, where the server listens at all of its addresses.

    >>> reachable("http://127.0.0.1:8000")
    'http://127.0.0.1:8000'
    """
    return re.sub(r"//(0\.0\.0\.0|\[::\]):", f"//{socket.gethostname()}:", address)


def listener(host: str, port: int) -> socket.socket:
    """A socket that listens; a port that is taken or an address that is not ours is an error in a line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise UserError(f"cannot listen at {host}, port {port}: {error.strerror or error}") from None


def check_port(port: int) -> None:
    """Refuse what is no port, before anything slow is done."""
    if not 0 <= port < 1 << 16:
        raise UserError(f"--port {port}: give a number from 0 to 65535.")
