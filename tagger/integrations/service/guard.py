"""Refuses requests for other hosts or from other sites, and bodies that are too large or too slow."""

import asyncio
import ipaddress
from typing import Any, Awaitable, Callable, Dict, FrozenSet, MutableMapping, Optional, Tuple

from tagger.integrations.service.limits import Limits, RequestError
from tagger.integrations.service.service_metrics import ServiceMetrics

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

#: Used where the rest of the connection can no longer be parsed.
_CLOSE = {"Connection": "close"}
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """An ASGI application that passes only complete, small requests of this site to another one.

    A page of another site may send requests to a service on this machine, or reach it under the page's
    own host name (DNS rebinding). The `Origin` header reveals the first, and `Host` the second.
    """

    def __init__(
        self, app: App, limits: Limits, hosts: Optional[FrozenSet[str]], metrics: ServiceMetrics
    ) -> None:
        self._app = app
        self._limits = limits
        self._hosts = hosts
        self._metrics = metrics

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
                # The router stores the route if the path exists.
                path = getattr(scope.get("route"), "path", "other")
                self._metrics.requests.labels(path, message["status"]).inc()
            await send(message)

        try:
            headers = {name.lower(): value for name, value in scope["headers"]}
            self._check_site(headers)
            if scope["method"] in ("POST", "PUT", "PATCH", "DELETE"):
                body = await self._whole_body(headers, receive)
                if body is None:
                    return None
                receive = _giving(body, receive)
        except RequestError as error:
            return await error.response()(scope, receive, send_counted)
        return await self._app(scope, receive, send_counted)

    def _check_site(self, headers: Dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = _without_port(host)
        # An attacker's host name can resolve to this machine; an IP address cannot be faked like that.
        if not (self._hosts is None or name in self._hosts or _is_address(name)):
            raise RequestError(
                421,
                "unknown_host",
                f"the service is addressed as {name[:100]!r}, which is none of its names "
                f"({', '.join(sorted(self._hosts))}); start it with --allow-host for this name",
            )
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").lower().partition("://")[2] != host:
            message = (
                "a page of another site sent this request; send requests from the service's own page, "
                "or from a program"
            )
            raise RequestError(403, "other_site", message)

    async def _whole_body(self, headers: Dict[bytes, bytes], receive: Receive) -> Optional[bytes]:
        """Reads a body, or None if the client disconnects; refuses one that is too large or too slow."""
        limit = self._limits.body_bytes
        declared = headers.get(b"content-length", b"0")
        size = int(declared) if declared.isdigit() and len(declared) < 20 else 0
        if size > limit and b"100-continue" in headers.get(b"expect", b"").lower():
            raise self._too_large(size)
        seconds = self._limits.body_seconds
        try:
            body, size = await asyncio.wait_for(_read(receive, limit), timeout=seconds)
        except TimeoutError:
            message = f"a body must arrive within {seconds:g} seconds; send it faster, or send less"
            raise RequestError(408, "slow_body", message, headers=_CLOSE) from None
        if size > limit:
            raise self._too_large(size)
        return body

    def _too_large(self, size: int) -> RequestError:
        limit = self._limits.body_bytes
        message = f"a body may have at most {limit} bytes; got {size}; send several requests"
        return RequestError(413, "body_too_large", message, limit, size, _CLOSE)


async def _read(receive: Receive, limit: int) -> Tuple[Optional[bytes], int]:
    """Returns a body and its size. A body above the limit is not kept; one without an end is None.

    It is always read to the end, because a client that is still sending would not see the response.
    """
    body, size = bytearray(), 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None, 0
        part = message.get("body", b"")
        size += len(part)
        if size <= limit:
            body += part
        else:
            body.clear()
        if not message.get("more_body"):
            return bytes(body), size


def _giving(body: bytes, receive: Receive) -> Receive:
    """Returns a `receive` function that gives the application a body that has already been read."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def give() -> Message:
        return next(messages, None) or await receive()

    return give


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _without_port(host: str) -> str:
    """Returns the name or address in a `Host` header.

    Example:
        >>> _without_port("localhost:8000"), _without_port("[::1]:8000"), _without_port("::1")
        ('localhost', '[::1]', '::1')
    """
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() and ":" not in name else host
