"""uvicorn's HTTP, with limits on the head of a request, its request line and headers."""

import asyncio
from typing import Any, Optional

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tagger.service.request_error import RequestError

#: How large a head may be, and how long it may take to arrive.
HEAD_BYTES, HEAD_SECONDS = 32_768, 10.0


class BoundedProtocol(HttpToolsProtocol):
    """Ends connections whose requests have large or slow heads; uvicorn itself would wait for ever."""

    _timer: Optional[asyncio.TimerHandle] = None
    #: Of a head that is not whole yet, and of the headers that have been read.
    _num_bytes = _num_parsed = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._timer is None or self.transport.is_closing():
            return
        self._num_bytes += len(data)
        self._check(self._num_bytes)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Counts what may come in one piece with the rest of the request."""
        super().on_header(name, value)
        self._num_parsed += len(name) + len(value)
        if not self._check(self._num_parsed):
            # Ends the parsing.
            raise ValueError("large headers")

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def on_message_begin(self) -> None:
        """Notes the start of a further request of the connection."""
        super().on_message_begin()
        if self._timer is None:
            self._expect_head()

    def on_headers_complete(self) -> None:
        """Notes the end of the head."""
        self._stop_timer()
        super().on_headers_complete()

    def _check(self, num_bytes: int) -> bool:
        if num_bytes <= HEAD_BYTES:
            return True
        message = f"the headers may have at most {HEAD_BYTES} bytes; send fewer"
        self._refuse(RequestError(431, "headers_too_large", message, HEAD_BYTES, num_bytes))
        return False

    def _expect_head(self) -> None:
        self._num_bytes = self._num_parsed = 0
        self._timer = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self._num_bytes == 0:
            self.transport.close()
            return
        message = f"the headers must arrive within {HEAD_SECONDS:g} seconds; send them faster"
        self._refuse(RequestError(408, "slow_headers", message))

    def _refuse(self, error: RequestError) -> None:
        response = error.response()
        head = [f"HTTP/1.1 {error.status} Refused", "connection: close"]
        head += [f"{name.decode()}: {value.decode()}" for name, value in response.raw_headers]
        self.transport.write("\r\n".join([*head, "", ""]).encode() + bytes(response.body))
        self.transport.close()
