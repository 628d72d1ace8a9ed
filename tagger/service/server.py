"""Runs the service in this process until a signal ends it."""

import errno
import ipaddress
import logging
import signal
import socket
from typing import List, Optional, Sequence

import uvicorn

from tagger.service.app import LOCAL_HOSTS
from tagger.service.guard import App
from tagger.service.limits import Limits


def bind(host: str, port: int) -> socket.socket:
    """Takes a port of this machine, 0 for any that is free, before time is spent on anything else.

    Raises:
        OSError: If the port is taken or is none, or the host is not this machine's.
    """
    if not 0 <= port <= 65_535:
        raise OSError(
            f"`--port` {port} is no port; give one from 1 to 65535, or 0 for any free one"
        )
    try:
        ((family, _, _, _, address), *_) = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        bound = socket.socket(family)
    except (socket.gaierror, UnicodeError) as error:
        raise OSError(
            f"`--host` {host} is no address or name of this machine ({error}); give 127.0.0.1, or "
            f"0.0.0.0 for all its addresses"
        ) from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        # Two services may bind one port as long as none listens.
        bound.listen()
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            problem = (
                f"`--port` {port} of {host} is in use; give another, or 0 for any that is free"
            )
        elif error.errno == errno.EACCES:
            problem = f"`--port` {port} needs rights that you lack; give one above 1023"
        else:
            problem = f"`--host` {host} is no address of this machine ({error.strerror})"
        raise OSError(problem) from error
    return bound


def names_of(host: str, others: Sequence[str]) -> Optional[List[str]]:
    """Returns the names by which the service may be addressed, besides addresses; None for any.

    These are that of its host, and others that the user allows; `*` allows all.
    """
    if "*" in others:
        return None
    return [*LOCAL_HOSTS, *(name.lower() for name in (host, *others))]


def is_local(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def url_of(bound: socket.socket) -> str:
    """Returns the address of the page."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(app: App, bound: socket.socket, limits: Limits = Limits()) -> None:  # noqa: B008
    """Serves until SIGINT or SIGTERM; requests that were accepted by then are answered."""
    # When it has shut down, uvicorn sends itself the signal again, for those who want to die of it.
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: None)
    # Each malformed request would be a warning.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        # It bounds the headers, which `httptools` does not.
        http="h11",
        limit_concurrency=limits.connections,
    )
    try:
        uvicorn.Server(config).run(sockets=[bound])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
