"""Connections whose heads end by time and by size, before anything knows whose they are."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD = 64 * 1024
"""Maximum bytes of a request line with its headers."""
HEAD_SECONDS = 10.0
"""Time limit for receiving a head, or the rest of a body that was answered before its end."""


class LimitedConnection(HttpToolsProtocol):
    """uvicorn's connection, which would wait for a head forever and store all of it."""

    _timer: asyncio.TimerHandle | None = None
    _unparsed = 0
    """Bytes received since the end of a head or the last byte of a body."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._close_later()

    def data_received(self, data: bytes) -> None:
        if getattr(self.cycle, "response_complete", True):
            self._close_later()
        self._unparsed += len(data)
        super().data_received(data)
        if self._unparsed > MAX_HEAD and not self.transport.is_closing():
            self.send_400_response("The headers are too large.")

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > MAX_HEAD:
            raise ValueError("the head is too large")  # answered 400
        self._unparsed = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def _close_later(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.close)
