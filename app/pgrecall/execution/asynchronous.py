"""The asynchronous repository."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from copy import copy
from datetime import tzinfo
from functools import partial
from typing import Any, Self, TypeVar

import psycopg
from psycopg import IsolationLevel
from psycopg.pq import ExecStatus
from psycopg.rows import namedtuple_row
from sqlalchemy import Connection, Engine, Table
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession

from pgrecall.core.embedders import AsyncEmbedder, Embedder
from pgrecall.core.entity_finding import EntityFinder, require_finder
from pgrecall.core.rerankers import Rerank, Reranker, require_reranker
from pgrecall.core.steps import Ask, Copy, Operation, Run, Uncounted
from pgrecall.core.tokens import TokenCounter, estimated_tokens, require_counter
from pgrecall.core.validation import require_bool, require_schema_name, require_seconds
from pgrecall.errors import (
    DatabaseConflict,
    DatabaseError,
    DatabaseUnavailable,
    InputError,
)
from pgrecall.execution.asking import Tools, aanswer
from pgrecall.execution.driver import (
    SENDING_VECTORS,
    Settings,
    acopy_rows,
    binary_results,
    is_observed,
    is_spoiled,
    needs_none,
    row_maker,
    send_vectors,
)
from pgrecall.execution.error_mapping import (
    DATABASE_ERRORS,
    cannot_count,
    cause_of,
    interruption,
    is_stale,
    mapped_error,
    may_execute_again,
    may_repeat,
)
from pgrecall.execution.inspection import require_psycopg
from pgrecall.execution.invocation import NO_REPLICA, RELEASE, ConnectionRequest, Invocation, pause
from pgrecall.schema import DEFAULT_SCHEMA, tables
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import checked_profile

T = TypeVar("T")


class Repository:
    """A repository without its methods and namespaces."""

    _is_async = True

    def __init__(
        self,
        bind: AsyncEngine | AsyncConnection | AsyncSession,
        *,
        reads_from: AsyncEngine | None = None,
        schema: str = DEFAULT_SCHEMA,
        embedder: Embedder | AsyncEmbedder | None = None,
        token_counter: TokenCounter = estimated_tokens,
        entities: EntityFinder | None = None,
        reranker: Rerank | Reranker | None = None,
        slow_after: float | None = None,
        durable_touch: bool = True,
        profile: Profile | str | None = None,
        timezone: str | tzinfo | None = None,
    ) -> None:
        if not isinstance(bind, AsyncEngine | AsyncConnection | AsyncSession):
            raise InputError(
                f"an async repository works on an AsyncEngine, an AsyncConnection or an "
                f"AsyncSession, got {type(bind).__name__}"
            )
        if reads_from is not None and not (
            isinstance(bind, AsyncEngine) and isinstance(reads_from, AsyncEngine)
        ):
            raise InputError(NO_REPLICA)
        if embedder is not None and not isinstance(embedder, Embedder | AsyncEmbedder):
            raise InputError(
                f"an embedder needs aembed_documents and aembed_query, or embed_documents and "
                f"embed_query; {type(embedder).__name__} has neither"
            )
        self._bind, self._reads_from = bind, reads_from
        self._tables = tables(require_schema_name(schema)).in_zone(timezone)
        self._tools = Tools(
            embedder,
            require_counter(token_counter),
            require_finder(entities),
            require_reranker(reranker),
        )
        self._slow_after = require_seconds("slow_after", slow_after)
        self._durable = require_bool("durable_touch", durable_touch)
        self._profile = None if profile is None else checked_profile(profile)

    @property
    def memories(self) -> Table:
        """The table, for the filter `where`, as in `repo.memories.c.importance > 0.5`."""
        return self._tables.memories

    @property
    def teams(self) -> Self:
        """A repository for the memories of teams. Its methods take a team's id as `agent_id`."""
        of_teams = copy(self)
        of_teams._tables = self._tables.of_teams()
        return of_teams

    @property
    def primary(self) -> Self:
        """A repository that also reads from the primary, and so what was written just now."""
        of_primary = copy(self)
        of_primary._reads_from = None
        return of_primary

    async def _work(self, call: Invocation[T]) -> T:
        job = call.start()
        reply: Any = None
        failure: DatabaseError | None = None
        while True:
            try:
                step = job.send(reply) if failure is None else job.throw(failure)
            except StopIteration as done:
                result: T = done.value
                call.result = result
                return result
            failure = None
            if isinstance(step, Ask):
                reply = await aanswer(step, self._tools)
            else:
                try:
                    reply = await self._run(partial(step.operation, self._tables), call.name)
                except DatabaseError as error:
                    failure = error

    async def _run(self, start: partial[Operation[T]], job: str | None = None) -> T:
        bind = self._bind.get_bind() if isinstance(self._bind, AsyncSession) else self._bind
        engine = bind.engine if isinstance(bind, Connection | Engine) else bind.sync_engine
        ours = isinstance(self._bind, AsyncEngine)
        call = Invocation(
            start,
            self._tables,
            engine,
            replica=None if self._reads_from is None else self._reads_from.sync_engine,
            job=job,
            durable=self._durable,
            ours=ours,
            slow_after=self._slow_after,
        )
        with call:
            while True:
                try:
                    result = await self._attempt(call)
                    break
                except (DatabaseConflict, DatabaseUnavailable) as error:
                    seconds = pause(call, error)
                    if seconds is None:
                        raise
                    if not ours and not (
                        is_stale(error.__cause__) and may_repeat(_inner(await self._theirs()))
                    ):
                        raise
                    await asyncio.sleep(seconds)
        if call.afterwards is not None:
            with suppress(DatabaseError):
                await self._run(partial(call.afterwards.operation, self._tables))
        return result

    async def _attempt(self, call: Invocation[T]) -> T:
        requests, outer = call.attempt(), sys.exception()
        reply: Any = None
        connection: AsyncConnection | None = None
        try:
            async with AsyncExitStack() as stack:
                while True:
                    try:
                        request = requests.send(reply)
                    except StopIteration as done:
                        result: T = done.value
                        return result
                    if isinstance(request, Ask):
                        reply = await aanswer(request, self._tools)
                    elif request is RELEASE:
                        await stack.aclose()
                    elif isinstance(request, ConnectionRequest):
                        await stack.aclose()
                        borrowed = self._borrowed(request, call)
                        connection = await stack.enter_async_context(borrowed)
                        call.is_connected = True
                        reply = connection.engine.sync_engine
                    elif isinstance(request, Copy):
                        assert connection is not None
                        assert call.layout is not None
                        await _copy(connection, request, call.layout.embedding_oid)
                        reply = None
                    else:
                        assert connection is not None
                        call.in_doubt = call.is_alone and not call.only_reads
                        try:
                            reply = await _execute(connection, request)
                        except DATABASE_ERRORS as error:
                            if not (request.counts and call.ours and cannot_count(error)):
                                raise
                            reply = Uncounted
                        call.in_doubt = False
        except DATABASE_ERRORS as error:
            if ended := interruption(error, outer):
                raise ended from None
            raise mapped_error(error, in_doubt=call.in_doubt) from cause_of(error)

    @asynccontextmanager
    async def _borrowed(
        self, needs: ConnectionRequest, call: Invocation[Any]
    ) -> AsyncIterator[AsyncConnection]:
        """As in the synchronous repository.

        Wherever this is cancelled, the connection is then as it was, or closed. An error of that
        does not hide the one under way.
        """
        bind = self._reads_from if needs.replica else self._bind
        if not isinstance(bind, AsyncEngine):
            theirs = await self._theirs()
            require_psycopg(_inner(theirs).engine)
            driver: Any = _inner(theirs).connection.driver_connection
            call.is_alone = getattr(driver, "autocommit", False)
            if needs.mode.savepoint and not call.is_alone:
                async with theirs.begin_nested():
                    yield theirs
            else:
                if not (theirs.in_transaction() or call.is_alone):
                    await theirs.begin()
                yield theirs
            return
        if bind.dialect.driver != "psycopg":
            require_psycopg(bind.sync_engine)
        async with bind.connect() as connection:
            inner = _inner(connection)
            driver = inner.connection.driver_connection
            before = Settings(driver.autocommit, driver.isolation_level)
            alone = needs.mode.alone and not needs.compiles and needs_none(inner, driver)
            level = (
                IsolationLevel.REPEATABLE_READ if needs.mode.snapshot else before.isolation_level
            )
            call.is_alone = alone
            try:
                if Settings(alone, level) != before:
                    await _switch(driver, Settings(alone, level))
                if not alone:
                    await connection.begin()
                if needs.compiles:
                    await connection.exec_driver_sql("SET LOCAL jit = off")
                yield connection
                if not alone:
                    call.in_doubt = not call.only_reads
                    await connection.commit()
                    call.in_doubt = False
                await _switch(driver, before)
            except BaseException as error:
                try:
                    await connection.rollback()
                    if not (connection.invalidated or driver.closed):
                        await _switch(driver, before)
                except (SQLAlchemyError, psycopg.Error):
                    pass
                finally:
                    if is_spoiled(inner, before):
                        await connection.invalidate(error)
                raise

    async def _ask(self, step: Ask) -> Any:
        return await aanswer(step, self._tools)

    async def _theirs(self) -> AsyncConnection:
        """The caller's connection."""
        assert not isinstance(self._bind, AsyncEngine)
        theirs = self._bind
        return await theirs.connection() if isinstance(theirs, AsyncSession) else theirs


async def _switch(driver: psycopg.AsyncConnection[Any], to: Settings) -> None:
    if driver.autocommit != to.autocommit:
        await driver.set_autocommit(to.autocommit)
    if driver.isolation_level != to.isolation_level:
        await driver.set_isolation_level(to.isolation_level)


def _inner(connection: AsyncConnection) -> Connection:
    """The synchronous connection inside, for calls that do no I/O."""
    assert connection.sync_connection is not None
    return connection.sync_connection


async def _execute(connection: AsyncConnection, step: Run) -> Any:
    """All rows, or None for a statement that returns no rows."""
    inner = _inner(connection)
    driver: Any = inner.connection.driver_connection
    statement = step.statement
    if driver not in SENDING_VECTORS:
        send_vectors(driver)
    if is_observed(inner, driver):
        with binary_results(driver):
            named = statement.named_values(step.parameters)
            result = await connection.exec_driver_sql(statement.formatted, named)
        return [*map(row_maker(*result.keys()), result)] if result.returns_rows else None
    values = statement.values(step.parameters)
    prepare = statement.prepare if step.may_prepare else False
    statement.prepare = True
    cursor = psycopg.AsyncRawCursor(driver, row_factory=namedtuple_row)
    try:
        try:
            await cursor.execute(statement.numbered, values, prepare=prepare, binary=True)
        except psycopg.Error as error:
            if not may_execute_again(inner, driver, error):
                raise
            await cursor.execute(statement.numbered, values, prepare=False, binary=True)
        # A description of the columns would take as long to make as the rows.
        done = cursor.pgresult
        has_rows = done is not None and done.status == ExecStatus.TUPLES_OK
        rows = await cursor.fetchall() if has_rows else None
    except psycopg.Error:
        if driver.closed:  # SQLAlchemy did not look
            await _report_loss(connection)
        raise
    return rows


async def _copy(connection: AsyncConnection, step: Copy, oid: int) -> None:
    driver: Any = _inner(connection).connection.driver_connection
    try:
        await acopy_rows(driver, step, oid)
    except psycopg.Error:
        if driver.closed:
            await _report_loss(connection)
        raise


async def _report_loss(connection: AsyncConnection) -> None:
    """Lets SQLAlchemy find out, as in the synchronous repository."""
    with suppress(DBAPIError):
        await connection.exec_driver_sql("")
