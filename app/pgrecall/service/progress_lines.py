"""Answers line by line, for work that may take longer than a request may."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pgrecall.core.time_limit import within
from pgrecall.service.answers import in_json
from pgrecall.service.problems import to_problem

BEAT_SECONDS = 10.0
"""A line is sent at least as often, so that no proxy between takes the connection for dead."""
Progress = Callable[[int, int], None]
Work = Callable[[Progress], Coroutine[Any, Any, Any]]


class Lines(Response):
    """{"done", "of"} as often as the work reports, and at last {"result"} or {"problem"}.

    The status is 200 from the first line on. A client that goes away ends the work.
    """

    media_type = "application/x-ndjson"

    def __init__(self, work: Work) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reports: asyncio.Queue[tuple[int, int] | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def progress(done: int, of: int) -> None:  # perhaps in a thread
            loop.call_soon_threadsafe(reports.put_nowait, (done, of))

        work = asyncio.create_task(within(None, self._work(progress)))
        gone = asyncio.create_task(_disconnected(receive))
        for task in (work, gone):
            task.add_done_callback(lambda _: reports.put_nowait(None))
        try:
            start = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **start})
            at = (0, 1)
            await _write(send, {"done": at[0], "of": at[1]})
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(BEAT_SECONDS):
                        report = await reports.get()
                        if report is None:
                            break
                        at = report
                await _write(send, {"done": at[0], "of": at[1]})
            if work.done():
                await _write(send, _outcome(work), more=False)
        finally:
            work.cancel()
            gone.cancel()


def _outcome(work: asyncio.Task[Any]) -> dict[str, Any]:
    error = work.exception()
    if error is None:
        return {"result": work.result()}
    if not isinstance(error, Exception):
        raise error
    return {"problem": to_problem(error).record()}


async def _disconnected(receive: Receive) -> None:
    """Ends once the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _write(send: Send, line: dict[str, Any], *, more: bool = True) -> None:
    body = in_json(line) + b"\n"
    await send({"type": "http.response.body", "body": body, "more_body": more})
