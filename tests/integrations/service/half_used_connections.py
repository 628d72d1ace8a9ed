"""Connections that are opened but only half used, to try to make a service unresponsive."""

import asyncio
import time
from contextlib import suppress
from typing import NamedTuple

from tests.integrations.service.malformed_requests import connected, request

HEALTH = request(method="GET", path="/health")
#: So many requests that their answers exceed the socket buffers of a client that does not read.
PAGES = request(method="GET", path="/") * 17
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")


class HalfUse(NamedTuple):
    """The first data sent, whether to await the answer, and the data sent for ever afterwards."""

    name: str
    start: bytes
    is_answered: bool
    rest: bytes
    is_read: bool = True


def half_uses():
    """Yields all kinds of half use."""
    chunked = request(method="GET", path="/health", Transfer_Encoding="chunked")
    chunked = chunked.replace(b"Content-Length: 0\r\n", b"")
    yield HalfUse("nothing", b"", False, b"")
    yield HalfUse("empty lines", b"", False, b"\r\n")
    yield HalfUse("a request line bit by bit", b"G", False, b"ET /a" * 9_999)
    yield HalfUse("a header bit by bit", HEALTH[:-2] + b"X: ", False, b"x" * 9_999)
    yield HalfUse("headers bit by bit", HEALTH[:-2], False, b"a:b\r\n")
    yield HalfUse("an answer, then nothing", HEALTH, True, b"")
    yield HalfUse("an answer, then empty lines", HEALTH, True, b"\r\n")
    yield HalfUse("an answer, then half a request", HEALTH, True, HEALTH[:-2])
    yield HalfUse("an answer, then chunks", chunked, True, b"1\r\nx\r\n")
    yield HalfUse("two requests, the second without an end", HEALTH + HEALTH[:-2], True, b"a:b\r\n")
    yield HalfUse("another protocol", request(Upgrade="h2c", Connection="Upgrade"), True, b"x")
    yield HalfUse("answers that nobody reads", PAGES, False, b"\r\n", is_read=False)
    for method in METHODS:
        announced = request(method=method, Content_Length="9999")
        is_wanted = method in ("POST", "PUT", "PATCH", "DELETE")
        yield HalfUse(f"{method} without its body", announced, not is_wanted, b"")
        yield HalfUse(f"{method} with its body bit by bit", announced, not is_wanted, b" ")
    yield HalfUse(
        "a body on demand", request(Content_Length="999", Expect="100-continue"), False, b""
    )
    yield HalfUse(
        "chunks bit by bit", chunked.replace(b"GET /health", b"POST /tag"), False, b"1\r\n \r\n"
    )


class Held(NamedTuple):
    """How a connection was used and how long it stayed open."""

    name: str
    seconds: float


async def hold(use, port, pause, source="127.0.0.1"):
    """Half uses a connection, pausing between pieces, until the service closes it."""
    started = time.monotonic()
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        async with connected(port, source, use.is_read) as (reader, writer):
            writer.write(use.start)
            if use.is_answered:
                await reader.readuntil(b"\r\n\r\n")
            if use.is_read:
                ending = asyncio.create_task(reader.read())
            else:
                writer.transport.pause_reading()
                ending = asyncio.create_task(asyncio.Event().wait())
            try:
                sent = 0
                while not ending.done() and not writer.is_closing():
                    if use.rest:
                        writer.write(use.rest[sent : sent + 1])
                        sent = (sent + 1) % len(use.rest)
                    await asyncio.wait([ending], timeout=pause)
            finally:
                ending.cancel()
                await asyncio.gather(ending, return_exceptions=True)
    return Held(use.name, time.monotonic() - started)
