"""What stands between the network and the routes: keys, limits and turns."""

from __future__ import annotations

import asyncio
import re
import time

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pgrecall.migrate.service_keys import presented
from pgrecall.service.bearer import OPEN, Key
from pgrecall.service.buckets import Buckets
from pgrecall.service.key_ring import KeyRing
from pgrecall.service.owners_seen import OWNERS
from pgrecall.service.problems import Problem, problem_of
from pgrecall.service.request_metrics import REFUSED, REQUESTS, RUNNING, WAITING
from pgrecall.service.service_settings import ServiceSettings

KEY = "pgrecall.key"
"""The request's Key, in its scope."""
PUBLIC = ("/health", "/ready", "/openapi.json")
"""Answered without a key and without waiting for a turn."""
METRICS = "/metrics"
"""Needs a key, but no turn."""
_LOOPBACK = re.compile(r"(https?://)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
WRONG_KEYS_PER_SECOND = 10.0
"""From one address; each costs a query."""


class Gate:
    """Lets a request through once it has a key, a whole body, and its turn.

    A body is read before the request takes a turn, so that slow clients hold none. Without a ring
    of keys, every request may do everything: then none may come from a web page, which could reach
    a loopback address by a name of its own.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings, ring: KeyRing | None) -> None:
        self._app, self._settings, self._ring = app, settings, ring
        self._turns = asyncio.Semaphore(settings.concurrency)
        self._present = 0
        self._rates = Buckets(settings.rate) if settings.rate else None
        self._wrong_keys = Buckets(WRONG_KEYS_PER_SECOND)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PUBLIC:
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            if scope["path"] != METRICS:
                self._require_room()  # before anything that costs more than this answer
            headers = Headers(scope=scope)
            scope[KEY] = key = await self._key(scope, headers)
            OWNERS.set(key.owners or ())
            replayed = _replayed(await self._body(headers, receive), receive)
            answered = self._app if scope["path"] == METRICS else self._take_turn
            await answered(scope, replayed, answer)
        except Exception as error:
            if answer.status:  # the app has answered it
                return
            problem = problem_of(error)
            REFUSED.labels(problem.status).inc()
            await problem.response(scope["path"])(scope, receive, answer)

    async def _key(self, scope: Scope, headers: Headers) -> Key:
        if self._ring is None:
            for said in (headers.get("host", ""), headers.get("origin", "http://localhost")):
                if not _LOOPBACK.fullmatch(said):
                    raise Problem(421, "a service without keys is addressed as localhost only")
            return OPEN
        found = presented(headers.get("authorization", ""))
        key = None if found is None else await self._ring.key(*found)
        if key is None:
            if wait := self._wrong_keys.wait((scope.get("client") or ("",))[0]):
                raise Problem(429, "too many requests without a valid key", retry_after=wait)
            raise Problem(401, "the request needs a valid key: Authorization: Bearer …")
        if self._rates and (wait := self._rates.wait(key.id)):
            raise Problem(429, "too many requests with this key", retry_after=wait)
        return key

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        body, most = bytearray(), self._settings.max_body
        length = headers.get("content-length", "0")
        too_large = Problem(413, f"a body may have at most {most:,} bytes")
        if not (length.isascii() and length.isdigit() and int(length[:20]) <= most):
            raise too_large
        try:
            async with asyncio.timeout(self._settings.timeout):
                message: Message = {"more_body": True}
                while message.get("more_body", False):
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Problem(400, "the client went away")
                    body += message.get("body", b"")
                    if len(body) > most:
                        raise too_large
        except TimeoutError:
            raise Problem(408, "the body took too long to arrive") from None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if body and kind != "application/json":  # others could be sent by any web page
            raise Problem(415, "a body must be application/json")
        return bytes(body)

    async def _take_turn(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        began, has_turn = time.perf_counter(), False
        self._require_room()
        self._present += 1
        try:
            async with asyncio.timeout(self._settings.timeout) as limit:
                with WAITING.track_inprogress():
                    has_turn = await self._turns.acquire()
                with RUNNING.track_inprogress():
                    await self._app(scope, receive, answer)
        except TimeoutError:
            if not limit.expired():
                raise
            if not has_turn:
                raise Problem(503, "the request waited too long", retry_after=1) from None
            late = "the request took too long; a change may or may not have been made"
            raise Problem(504, late) from None
        finally:
            self._present -= 1
            if has_turn:
                self._turns.release()
                route = getattr(scope.get("route"), "path", "none")
                labels = (scope["method"], route, answer.status)
                REQUESTS.labels(*labels).observe(time.perf_counter() - began)

    def _require_room(self) -> None:
        if self._present >= self._settings.concurrency + self._settings.waiting:
            raise Problem(503, "too many requests are waiting", retry_after=1)


class _Answer:
    """`send`, which knows the status of what was sent; 0: nothing yet."""

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 0

    async def __call__(self, message: Message) -> None:
        self.status = message.get("status", self.status)
        await self._send(message)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """`receive` for a body that has been read."""
    messages: list[Message] = [{"type": "http.request", "body": body}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
