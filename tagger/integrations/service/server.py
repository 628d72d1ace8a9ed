"""Runs the service in this process until a signal ends it."""

import errno
import functools
import gc
import ipaddress
import logging
import signal
import socket
from typing import Any, List, Optional, Sequence, cast

import uvicorn
from allennlp.common.checks import ConfigurationError

from tagger.integrations.service.app import LOCAL_HOSTS
from tagger.integrations.service.bounded_protocol import BoundedProtocol
from tagger.integrations.service.guard import App
from tagger.integrations.service.limits import Limits

#: How many connections may wait to be accepted, and how many are accepted at once.
BACKLOG, ACCEPTED_AT_ONCE = 2048, 32
#: Open files that are not connections: those of libraries, and connections about to close.
OTHER_FILES = 96 + 4 * ACCEPTED_AT_ONCE


def bind(host: str, port: int) -> socket.socket:
    """Binds a port of this machine, 0 for any free one, before time is spent on anything else."""
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
        # Two sockets can be bound to one port until one of them listens.
        bound.listen(BACKLOG)
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
    """Returns the names by which requests may address the service, besides IP addresses; None for any.

    These are `host` itself and the names that the user allows; `*` allows all.
    """
    if "*" in others:
        return None
    return [*LOCAL_HOSTS, *(name.lower() for name in (host, *others))]


def is_local(host: str) -> bool:
    """Whether an address can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def url_of(bound: socket.socket) -> str:
    """Returns the address of the page."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def allow_open_files(limits: Limits) -> None:
    """Raises the limit on open files to one for each connection; raises an error if it cannot."""
    try:
        import resource
    except ImportError:  # Windows, where the limit is high enough.
        return
    needed = limits.connections + OTHER_FILES
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    infinity = resource.RLIM_INFINITY
    if allowed == infinity or allowed >= needed:
        return
    if most != infinity and most < needed:
        raise ConfigurationError(
            f"{limits.connections} connections need {needed} open files, and this process may open "
            f"{most}; run `ulimit -n {needed}` first, or allow fewer connections, such as "
            f"""--limits '{{"connections": {max(1, most - OTHER_FILES)}}}'"""
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, most))


class _Server(uvicorn.Server):
    async def startup(self, sockets: Optional[List[socket.socket]] = None) -> None:
        await super().startup(sockets)
        # The event loop has set the backlog to the number of connections that it accepts at once.
        for bound in sockets or []:
            bound.listen(BACKLOG)


def run(app: App, bound: socket.socket, limits: Limits = Limits()) -> None:  # noqa: B008
    """Serves until SIGINT or SIGTERM, then answers the requests accepted so far."""
    # The model and its libraries stay loaded, so exclude them from garbage collection.
    gc.freeze()
    # After shutting down, uvicorn raises the signal again for the previous handlers.
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: None)
    # Otherwise each malformed request would log a warning.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        http=cast(Any, functools.partial(BoundedProtocol, limits)),
        backlog=ACCEPTED_AT_ONCE,
    )
    try:
        _Server(config).run(sockets=[bound])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
