"""uvicorn's HTTP protocol with timeouts for all waiting on clients and limits on connections."""

import asyncio
import ipaddress
from collections import Counter
from typing import Any, Optional, Tuple

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tagger.integrations.service.limits import Limits, RequestError

#: The largest head of a request, which is its request line and headers.
HEAD_BYTES = 32_768
#: How many requests of a connection may wait for the response to an earlier one.
PIPELINED_REQUESTS = 16
#: How much of a response a client must read within `Limits.read_seconds`.
READ_BYTES = 16_384
#: The time between two checks of a connection.
LOOK_SECONDS = 0.25


class BoundedProtocol(HttpToolsProtocol):
    """Closes connections that wait too long for their clients; plain uvicorn would wait forever.

    A connection waits for its client until a complete request has arrived, again once the request has
    been answered, and as long as the client does not read the response. Data outside of a request do
    not extend the wait, such as an empty line or the rest of a body that the application did not
    read. If there are too many connections, the address with the most connections loses the one that
    has waited longest.

    The application itself limits how long a body may take to arrive.
    """

    _network = ""
    _next_look: Optional[asyncio.TimerHandle] = None
    #: When the connection began to wait for its client; None while the application has to answer.
    _waits_since: Optional[float] = None
    _is_in_head = False
    _has_made_room = False
    #: The number of bytes of the head that have arrived, the number already parsed, and the number of
    #: bytes that the parser is reading now.
    _num_bytes = _num_parsed = _num_read = 0
    #: A time, and how many bytes the client had not read at that time.
    _unread: Optional[Tuple[float, int]] = None

    def __init__(self, limits: Limits, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._limits = limits

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._network = network_of(self.client[0]) if self.client else ""
        self._waits_since = self.loop.time()
        self._next_look = self.loop.call_later(LOOK_SECONDS, self._look)
        self._find_room()

    def connection_lost(self, exc: Optional[Exception]) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        try:
            while data:
                data = self._parse(data)
        except RequestError as error:
            self._refuse(error)
        except httptools.HttpParserError as error:
            # An exception raised in a callback becomes the context of the parser's own error.
            is_ours = isinstance(error.__context__, RequestError)
            self._refuse(error.__context__ if is_ours else _not_http())  # type: ignore[arg-type]

    def _parse(self, data: bytes) -> bytes:
        """Parses data and returns what is left to parse."""
        self._num_read = len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # The parser assumes that the rest belongs to another protocol.
            return self._head_without_upgrade() + data[upgrade.args[0] :]
        if self._is_in_head:
            self._num_bytes += len(data)
            self._check_head(self._num_bytes)
        return b""

    def _head_without_upgrade(self) -> bytes:
        """Returns the last head without its upgrade request, so that it can be parsed again."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            raise httptools.HttpParserError("this is no proxy")
        version = self.parser.get_http_version().encode()
        head = [method + b" " + self.url + b" HTTP/" + version]
        head += [name + b": " + value for name, value in self.headers if name != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        return b"\r\n".join([*head, b"", b""])

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head = True
        self._num_parsed = 0
        # Data that arrived with the start may belong to the previous request.
        self._num_bytes = -self._num_read
        if not self._is_under_way():
            self._waits_since = self.loop.time()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._num_parsed += len(url)
        self._check_head(self._num_parsed)

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._num_parsed += len(name) + len(value)
        self._check_head(self._num_parsed)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        if self.parser.should_upgrade():
            return
        if len(self.pipeline) >= PIPELINED_REQUESTS:
            raise _busy()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        super().on_message_complete()
        if self._is_under_way():
            self._waits_since = None

    def on_response_complete(self) -> None:
        # The next request may already be waiting.
        super().on_response_complete()
        # Turns off uvicorn's own timer, which any data would reset.
        self._unset_keepalive_if_required()
        if not self._is_under_way() or self.cycle.more_body:
            self._waits_since = self.loop.time()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._waits_since is None:
            self._waits_since = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread = None
        if self._is_under_way() and not self.cycle.more_body:
            self._waits_since = None

    def _is_under_way(self) -> bool:
        """Whether a request's head has arrived and the request has not been answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def _look(self) -> None:
        """Closes the connection if its client takes too long."""
        self._next_look = self.loop.call_later(LOOK_SECONDS, self._look)
        now = self.loop.time()
        if not self._is_read(now):
            self.transport.abort()
        elif self._waits_since is None or self._is_under_way() or self.transport.is_closing():
            return
        elif self._is_in_head and now - self._waits_since > self._limits.head_seconds:
            seconds = self._limits.head_seconds
            message = f"the headers must arrive within {seconds:g} seconds; send them faster"
            self._refuse(RequestError(408, "slow_headers", message))
        elif not self._is_in_head and now - self._waits_since > self._limits.idle_seconds:
            self.transport.close()

    def _is_read(self, now: float) -> bool:
        """Whether the client keeps reading, if there is anything to read."""
        num_unread = self.transport.get_write_buffer_size()
        if num_unread == 0:
            self._unread = None
        elif self._unread is None or num_unread <= self._unread[1] - READ_BYTES:
            self._unread = (now, num_unread)
        return self._unread is None or now - self._unread[0] <= self._limits.read_seconds

    def _find_room(self) -> None:
        """Closes another connection, or this one, if there are too many."""
        others = [
            each
            for each in self.connections
            if isinstance(each, BoundedProtocol) and each is not self and not each._has_made_room
        ]
        numbers = Counter(each._network for each in others)
        is_crowd = numbers[self._network] >= self._limits.address_connections
        if not is_crowd and len(others) < self._limits.connections:
            return
        crowd = self._network if is_crowd else max(numbers, key=lambda each: numbers[each])
        waiting = [
            (each._network != crowd, each._waits_since, id(each), each)
            for each in others
            if each._waits_since is not None and (each._network == crowd or not is_crowd)
        ]
        if waiting:
            min(waiting)[-1]._make_room()
        else:
            self._refuse(_busy())

    def _make_room(self) -> None:
        self._has_made_room = True
        if self._is_in_head or self._is_under_way():
            self._refuse(_busy())
        self.transport.close()
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def _check_head(self, num_bytes: int) -> None:
        if num_bytes > HEAD_BYTES:
            message = f"the headers may have at most {HEAD_BYTES} bytes; send fewer"
            raise RequestError(431, "headers_too_large", message, HEAD_BYTES, num_bytes)

    def _refuse(self, error: RequestError) -> None:
        """Answers in place of the application and closes the connection."""
        if self.transport.is_closing():
            return
        if self._is_under_way() and not self.cycle.more_body:
            # A client waiting for an earlier response would mistake this one for it.
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        response = error.response()
        head = [f"HTTP/1.1 {error.status_code} Refused", "connection: close"]
        head += [f"{name.decode()}: {value.decode()}" for name, value in response.raw_headers]
        self.transport.write("\r\n".join([*head, "", ""]).encode() + bytes(response.body))
        self.transport.close()


def network_of(address: str) -> str:
    """Returns a client's address; for IPv6, only the network part, since clients can vary the rest.

    Example:
        >>> network_of("192.0.2.7"), network_of("2001:db8::7:1"), network_of("::ffff:192.0.2.7")
        ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed), 64), strict=False))


def _not_http() -> RequestError:
    return RequestError(400, "no_http", "the request is no HTTP that the service understands")


def _busy() -> RequestError:
    message = "too many requests wait; try again in a second"
    return RequestError(503, "busy", message, headers={"Retry-After": "1"})
