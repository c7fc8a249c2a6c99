"""The synchronous repository."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import psycopg
from psycopg import IsolationLevel
from psycopg.pq import ExecStatus
from psycopg.rows import namedtuple_row
from sqlalchemy import Connection, Engine, Table
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from pgrecall.core.embedders import Embedder
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
from pgrecall.execution.asking import Tools, answer
from pgrecall.execution.driver import (
    SENDING_VECTORS,
    Settings,
    binary_results,
    copy_rows,
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

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

T = TypeVar("T")


class Repository:
    """A repository without its methods and namespaces."""

    _is_async = False

    def __init__(
        self,
        bind: Engine | Connection | Session,
        *,
        reads_from: Engine | None = None,
        schema: str = DEFAULT_SCHEMA,
        embedder: Embedder | None = None,
        token_counter: TokenCounter = estimated_tokens,
        entities: EntityFinder | None = None,
        reranker: Rerank | Reranker | None = None,
        slow_after: float | None = None,
        durable_touch: bool = True,
        profile: Profile | str | None = None,
        timezone: str | tzinfo | None = None,
    ) -> None:
        if not isinstance(bind, (Engine, Connection, *_session_classes())):
            raise InputError(
                f"a repository works on an Engine, a Connection or a Session, "
                f"got {type(bind).__name__}"
            )
        if reads_from is not None and not (
            isinstance(bind, Engine) and isinstance(reads_from, Engine)
        ):
            raise InputError(NO_REPLICA)
        if embedder is not None and not isinstance(embedder, Embedder):
            raise InputError(
                f"an embedder needs embed_documents and embed_query, "
                f"{type(embedder).__name__} does not have them"
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

    def _work(self, call: Invocation[T]) -> T:
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
                reply = answer(step, self._tools)
            else:
                try:
                    reply = self._run(partial(step.operation, self._tables), call.name)
                except DatabaseError as error:
                    failure = error

    def _run(self, start: partial[Operation[T]], job: str | None = None) -> T:
        bind = self._bind if isinstance(self._bind, Engine | Connection) else self._bind.get_bind()
        ours = isinstance(self._bind, Engine)
        call = Invocation(
            start,
            self._tables,
            bind.engine,
            replica=self._reads_from,
            job=job,
            durable=self._durable,
            ours=ours,
            slow_after=self._slow_after,
        )
        with call:
            while True:
                try:
                    result = self._attempt(call)
                    break
                except (DatabaseConflict, DatabaseUnavailable) as error:
                    seconds = pause(call, error)
                    if seconds is None:
                        raise
                    if not ours and not (is_stale(error.__cause__) and may_repeat(self._theirs())):
                        raise
                    time.sleep(seconds)
        if call.afterwards is not None:
            with suppress(DatabaseError):
                self._run(partial(call.afterwards.operation, self._tables))
        return result

    def _attempt(self, call: Invocation[T]) -> T:
        requests, outer = call.attempt(), sys.exception()
        reply: Any = None
        connection: Connection | None = None
        try:
            with ExitStack() as stack:
                while True:
                    try:
                        request = requests.send(reply)
                    except StopIteration as done:
                        result: T = done.value
                        return result
                    if isinstance(request, Ask):
                        reply = answer(request, self._tools)
                    elif request is RELEASE:
                        stack.close()
                    elif isinstance(request, ConnectionRequest):
                        stack.close()
                        borrowed = self._borrowed(request, call)
                        connection = stack.enter_context(borrowed)
                        call.is_connected = True
                        reply = connection.engine
                    elif isinstance(request, Copy):
                        assert connection is not None
                        assert call.layout is not None
                        _copy(connection, request, call.layout.embedding_oid)
                        reply = None
                    else:
                        assert connection is not None
                        call.in_doubt = call.is_alone and not call.only_reads
                        try:
                            reply = _execute(connection, request)
                        except DATABASE_ERRORS as error:
                            if not (request.counts and call.ours and cannot_count(error)):
                                raise
                            reply = Uncounted
                        call.in_doubt = False
        except DATABASE_ERRORS as error:
            if ended := interruption(error, outer):
                raise ended from None
            raise mapped_error(error, in_doubt=call.in_doubt) from cause_of(error)

    @contextmanager
    def _borrowed(self, needs: ConnectionRequest, call: Invocation[Any]) -> Iterator[Connection]:
        """A connection for the call, on an Engine in a transaction, or none where statements may
        run alone.

        Wherever this is interrupted, the connection is then as it was, or closed. An error of that
        does not hide the one under way.
        """
        bind = self._reads_from if needs.replica else self._bind
        if not isinstance(bind, Engine):
            theirs = self._theirs()
            require_psycopg(theirs.engine)
            driver: Any = theirs.connection.driver_connection
            call.is_alone = getattr(driver, "autocommit", False)
            if needs.mode.savepoint and not call.is_alone:
                with theirs.begin_nested():
                    yield theirs
            else:
                if not (theirs.in_transaction() or call.is_alone):
                    theirs.begin()
                yield theirs
            return
        if bind.dialect.driver != "psycopg":
            require_psycopg(bind)
        with bind.connect() as connection:
            driver = connection.connection.driver_connection
            before = Settings(driver.autocommit, driver.isolation_level)
            alone = needs.mode.alone and not needs.compiles and needs_none(connection, driver)
            level = (
                IsolationLevel.REPEATABLE_READ if needs.mode.snapshot else before.isolation_level
            )
            call.is_alone = alone
            try:
                if Settings(alone, level) != before:
                    _switch(driver, Settings(alone, level))
                if not alone:
                    connection.begin()
                if needs.compiles:
                    connection.exec_driver_sql("SET LOCAL jit = off")
                yield connection
                if not alone:
                    call.in_doubt = not call.only_reads
                    connection.commit()
                    call.in_doubt = False
                _switch(driver, before)
            except BaseException as error:
                try:
                    connection.rollback()
                    if not (connection.invalidated or driver.closed):
                        _switch(driver, before)
                except (SQLAlchemyError, psycopg.Error):
                    pass
                finally:
                    if is_spoiled(connection, before):
                        connection.invalidate(error)
                raise

    def _ask(self, step: Ask) -> Any:
        return answer(step, self._tools)

    def _theirs(self) -> Connection:
        """The caller's connection."""
        assert not isinstance(self._bind, Engine)
        return self._bind if isinstance(self._bind, Connection) else self._bind.connection()


def _session_classes() -> tuple[type, ...]:
    """Session if the ORM is loaded; if not, nothing can be one. Loading it takes 35 ms."""
    orm = sys.modules.get("sqlalchemy.orm")
    return () if orm is None else (orm.Session,)


def _switch(driver: psycopg.Connection[Any], to: Settings) -> None:
    if driver.autocommit != to.autocommit:
        driver.set_autocommit(to.autocommit)
    if driver.isolation_level != to.isolation_level:
        driver.set_isolation_level(to.isolation_level)


def _execute(connection: Connection, step: Run) -> Any:
    """All rows, or None for a statement that returns no rows."""
    driver: Any = connection.connection.driver_connection
    statement = step.statement
    if driver not in SENDING_VECTORS:
        send_vectors(driver)
    if is_observed(connection, driver):
        with binary_results(driver):
            named = statement.named_values(step.parameters)
            result = connection.exec_driver_sql(statement.formatted, named)
        return [*map(row_maker(*result.keys()), result)] if result.returns_rows else None
    values = statement.values(step.parameters)
    prepare = statement.prepare if step.may_prepare else False
    statement.prepare = True
    cursor = psycopg.RawCursor(driver, row_factory=namedtuple_row)
    try:
        try:
            cursor.execute(statement.numbered, values, prepare=prepare, binary=True)
        except psycopg.Error as error:
            if not may_execute_again(connection, driver, error):
                raise
            cursor.execute(statement.numbered, values, prepare=False, binary=True)
        # A description of the columns would take as long to make as the rows.
        done = cursor.pgresult
        has_rows = done is not None and done.status == ExecStatus.TUPLES_OK
        rows = cursor.fetchall() if has_rows else None
    except psycopg.Error:
        if driver.closed:  # SQLAlchemy did not look
            _report_loss(connection)
        raise
    return rows


def _copy(connection: Connection, step: Copy, oid: int) -> None:
    driver: Any = connection.connection.driver_connection
    try:
        copy_rows(driver, step, oid)
    except psycopg.Error:
        if driver.closed:
            _report_loss(connection)
        raise


def _report_loss(connection: Connection) -> None:
    """Lets SQLAlchemy find out that the connection is lost: it then discards all others of the pool
    that are as old, so that one call fails and not one for each of them."""
    with suppress(DBAPIError):
        connection.exec_driver_sql("")
