"""Connections whose requests end by time and by size, before anything knows whose they are."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD = 64 * 1024
"""Bytes of a request line with its headers, and of anything else that is no body."""
HEAD_SECONDS = 10.0
"""Within this time a head has to be there, and the rest of a body whose request is answered."""


class LimitedConnection(HttpToolsProtocol):
    """uvicorn's connection, which would wait for a head for ever and store all of it.

    A head is awaited from the connection's first moment, and then from the first byte after a
    request.
    """

    _timer: asyncio.TimerHandle | None = None
    _in_body = False
    _head = 0
    """Bytes of the request line and the headers that are parsed."""
    _unparsed = 0
    """Bytes since the last ones that ended a head or belonged to a body."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._close_later()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stay()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._in_body:
            self._close_later()
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > MAX_HEAD and not self.transport.is_closing():
            self.send_400_response("The headers are too large.")

    def on_message_begin(self) -> None:
        self._close_later()
        self._head = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._stay()
        self._in_body, self._unparsed = True, 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._stay()
        self._in_body, self._unparsed = False, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._in_body:  # answered before it was sent: what comes is thrown away
            self._close_later()

    def _count(self, size: int) -> None:
        self._head += size
        if self._head > MAX_HEAD:
            raise ValueError("the head is too large")  # answered 400

    def _close_later(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _stay(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
