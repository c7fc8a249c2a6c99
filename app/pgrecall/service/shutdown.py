"""Stops without a lost request: closes connections that are accepted while the server stops."""

from __future__ import annotations

import asyncio
import signal
import threading
from types import FrameType

from pgrecall.service.connections import LimitedConnection

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
