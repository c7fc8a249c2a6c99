"""Stops without a lost request: closes connections that are accepted while the server stops."""

from __future__ import annotations

import asyncio
import signal
import threading
from types import FrameType

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


_stopping = threading.Event()


def watch_signals() -> None:
    """Notes SIGTERM and SIGINT before the server handles them. Called once the server has set its
    handlers; it sets them in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        handle = signal.getsignal(number)

        def note(number: int, frame: FrameType | None, handle: object = handle) -> None:
            _stopping.set()
            if callable(handle):
                handle(number, frame)

        signal.signal(number, note)


class Connection(LimitedConnection):
    """A connection that ends with the server. Once, as it stops, uvicorn asks those it has to end
    after their request. One that is being accepted at that moment would be missed, served for the
    whole time of grace, and cut off in a request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if _stopping.is_set():
            self.shutdown()
