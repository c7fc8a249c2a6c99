"""The gate between the network and the routes: keys, limits and turns."""

from __future__ import annotations

import asyncio
import re
import time
from contextvars import ContextVar
from hmac import compare_digest
from typing import Any

import psycopg
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.util import await_only
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pgrecall.core.time_limit import TookTooLong, within
from pgrecall.migrate.service_keys import presented
from pgrecall.service.database_metrics import REFUSED, REQUESTS, RUNNING, WAITING
from pgrecall.service.key_cache import OPEN, Key, KeyRing
from pgrecall.service.problems import Problem, to_problem
from pgrecall.service.service_settings import ServiceSettings

OWNERS: ContextVar[tuple[str, ...]] = ContextVar("pgrecall_owners", default=())
"""The owners of the request's key, as stored. A request that names none sees nothing."""

_FIELDS = "set_config('role', {}, {}), set_config('pgrecall.owners', {}::text[]::text, {})"
_SESSION = f"SELECT {_FIELDS.format('%s', 'false', '%s', 'false')}"
_TRANSACTION = text(
    "SELECT set_config('role', :role, true), "
    "set_config('pgrecall.owners', CAST(CAST(:owners AS text[]) AS text), true)"
)


def confine(engine: AsyncEngine, role: str | None, *, pooled: bool) -> None:
    """Lets connections of the engine see the memories of OWNERS only.

    The owners are a setting of the session, made when a connection is borrowed and the last
    request on it had others. Behind a pooler, which may give each transaction another session,
    they are a setting of each transaction.
    """
    assumed = role or "none"
    if pooled:

        def begin(connection: Connection) -> None:
            owners = list(OWNERS.get())
            connection.execute(_TRANSACTION, {"role": assumed, "owners": owners})

        event.listen(engine.sync_engine, "begin", begin)
        return

    def checkout(adapted: Any, record: Any, _: Any) -> None:
        owners = OWNERS.get()
        if record.info.get("owners") == owners:
            return
        record.info["owners"] = None
        driver: psycopg.AsyncConnection[Any] = adapted.driver_connection
        try:
            await_only(driver.set_autocommit(True))
            await_only(driver.execute(_SESSION, (assumed, list(owners)), prepare=False))
            await_only(driver.set_autocommit(False))
        except psycopg.OperationalError as error:
            if driver.closed:  # while it was in the pool
                raise DisconnectionError from error
            raise
        record.info["owners"] = owners

    event.listen(engine.sync_engine, "checkout", checkout)


KEY = "pgrecall.key"
"""The request's Key, in its scope."""
PUBLIC = ("/", "/docs", "/health", "/ready", "/openapi.json")
"""Answered without a key and without waiting for a turn; so are the files of the studio's page."""
STUDIO = "/studio"
METRICS = "/metrics"
"""Needs a key, but no turn."""
MAX_READ_BODY = 4 * 1024 * 1024
"""Bytes of a body with a key that may only read: the longest query, escaped, with filters."""
_LOOPBACK = re.compile(r"(https?://)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")


class Gate:
    """Lets a request through once it has a key, a whole body, and its turn.

    A body is read before the request takes a turn, so that slow clients hold none. Without a ring
    of keys, every request may do everything: then none may come from a web page, which could reach
    a loopback address by a name of its own.
    """

    def __init__(self, app: ASGIApp, settings: ServiceSettings, ring: KeyRing | None) -> None:
        self._app, self._settings, self._ring = app, settings, ring
        self._turns = asyncio.Semaphore(settings.concurrency)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_public(scope["path"]):
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            await self._let_in(scope, receive, answer)
        except Exception as error:
            if answer.status:  # the app has answered it
                return
            # In a variable of this frame, the problem would keep its traceback, and so the body.
            refusal = to_problem(error).response(scope["path"])
            REFUSED.labels(refusal.status_code).inc()
            await refusal(scope, receive, send)

    async def _let_in(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        headers, began = Headers(scope=scope), time.monotonic()
        scope[KEY] = key = await self._key(headers)
        seconds = self._settings.timeout - (time.monotonic() - began)
        OWNERS.set(key.owners or ())
        most = self._settings.max_body
        if not key.may("write"):
            most = min(most, MAX_READ_BODY)
        replayed = _replayed(await self._body(headers, receive, most), receive)
        if scope["path"] == METRICS:
            await self._app(scope, replayed, answer)
        else:
            await self._answer_within(seconds, scope, replayed, answer)

    async def _key(self, headers: Headers) -> Key:
        if self._ring is None:
            for address in (headers.get("host", ""), headers.get("origin", "http://localhost")):
                if not _LOOPBACK.fullmatch(address):
                    raise Problem(421, "a service without keys is addressed as localhost only")
            if headers.get("sec-fetch-site") == "cross-site":  # a GET of a page has no Origin
                raise Problem(421, "a service without keys answers no web page of another site")
            return self._opened(headers)
        parts = presented(headers.get("authorization", ""))
        key = None if parts is None else await self._ring.key(*parts, self._settings.timeout)
        if key is None:
            raise _no_key()
        return key

    def _opened(self, headers: Headers) -> Key:
        """The key of a service without stored ones, which may have one for this run."""
        own = self._settings.run_key
        if own is None:
            return OPEN
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not compare_digest(token.encode(), own.encode()):
            raise _no_key()
        return OPEN

    async def _body(self, headers: Headers, receive: Receive, most: int) -> bytes:
        body = bytearray()
        length = headers.get("content-length", "0")
        too_large = f"a body may have at most {most:,} bytes"
        if not (length.isascii() and length.isdigit() and int(length[:20]) <= most):
            raise Problem(413, too_large)
        try:
            async with asyncio.timeout(self._settings.timeout):
                message: Message = {"more_body": True}
                while message.get("more_body", False):
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Problem(400, "the client went away")
                    part = message.get("body", b"")
                    if len(body) + len(part) > most:
                        raise Problem(413, too_large)
                    body += part
        except TimeoutError:
            raise Problem(408, "the body took too long to arrive") from None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if body and kind != "application/json":  # others could be sent by any web page
            raise Problem(415, "a body must be application/json")
        return bytes(body)

    async def _answer_within(
        self, seconds: float, scope: Scope, receive: Receive, answer: _Answer
    ) -> None:
        began, status = time.perf_counter(), 0
        try:
            await within(seconds, self._acquire_slot(scope, receive, answer))
        except TookTooLong:
            answer.is_late = True
            if not answer.has_turn:
                raise Problem(503, "the request waited too long", retry_after=1) from None
            status, late = 504, "the request took too long; a change may or may not have been made"
            raise Problem(status, late) from None
        finally:
            if answer.has_turn:
                route = getattr(scope.get("route"), "path", "none")
                labels = (scope["method"], route, answer.status or status)
                REQUESTS.labels(*labels).observe(time.perf_counter() - began)

    async def _acquire_slot(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        """Ends, and gives the turn back, once the request's connection is free or closed."""
        with WAITING.track_inprogress():
            await self._turns.acquire()
        answer.has_turn = True
        try:
            with RUNNING.track_inprogress():
                await self._app(scope, receive, answer)
        finally:
            self._turns.release()


def is_public(path: str) -> bool:
    """True if a request for this path needs neither a key nor a turn."""
    return path in PUBLIC or path == STUDIO or path.startswith(f"{STUDIO}/")


def _no_key() -> Problem:
    return Problem(401, "the request needs a valid key: Authorization: Bearer …")


class _Answer:
    """`send` of the app, which knows the status of what was sent; 0: nothing yet."""

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 0
        self.has_turn = False
        self.is_late = False
        """True if the gate has answered in place of the app."""

    async def __call__(self, message: Message) -> None:
        if not self.is_late:
            self.status = message.get("status", self.status)
            await self._send(message)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """`receive` for a body that has been read."""
    messages: list[Message] = [{"type": "http.request", "body": body}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay
