"""The synchronous repository."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from copy import copy
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

import psycopg
from sqlalchemy import Connection, Engine, Table
from sqlalchemy.orm import Session

from pgrecall.context import assembling
from pgrecall.core.embedders import Embedder, model_name
from pgrecall.core.steps import (
    Call,
    Copy,
    CountTokens,
    Embed,
    Embedded,
    Execute,
    Job,
    Operation,
    Transact,
    Verb,
)
from pgrecall.core.tokens import TokenCounter, counted, estimated_tokens, require_counter
from pgrecall.core.validation import require_schema_name, require_seconds
from pgrecall.errors import DatabaseConflict, EmbedderRequired, InputError
from pgrecall.evaluation import evaluating, recording, tuning
from pgrecall.execution.binary_results import binary_results
from pgrecall.execution.copying import copy_statement, copy_types, know_vectors
from pgrecall.execution.raw_statement import RawCursor, RawStatement, has_rows, raw_statement
from pgrecall.execution.retries import MAX_ATTEMPTS, pause_before
from pgrecall.execution.running import Connect, present_as, repeatable, running
from pgrecall.execution.transactions import has_none, needs_none, set_autocommit
from pgrecall.execution.translation import translated
from pgrecall.execution.watching import Invocation, watched
from pgrecall.lifecycle import (
    collecting,
    consolidating,
    correcting,
    curating,
    labelling,
    linking,
    using,
)
from pgrecall.memories import adding, changing, reading, wording
from pgrecall.rank_index import building, maintaining
from pgrecall.schema import DEFAULT_SCHEMA, Tables, tables
from pgrecall.search import checking, explaining, planning, searching

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    operation: Callable[Concatenate[Tables, P], Operation[T]],
) -> Callable[Concatenate[MemoryRepository | Namespace, P], T]:
    def method(self: MemoryRepository | Namespace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(repeatable(operation, self._tables, *args, **kwargs))

    present_as(method, operation)
    return method


def _blocking_job(
    job: Callable[P, Job[T]],
) -> Callable[Concatenate[MemoryRepository | Namespace, P], T]:
    def method(self: MemoryRepository | Namespace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with watched(Invocation(partial(job, *args, **kwargs), self._tables)) as call:
            return self._work(call)

    present_as(method, job, takes_tables=False)
    return method


class MemoryRepository:
    """Stores and ranks the memories of agents.

    On an Engine each call borrows a connection and is a transaction of its own, repeated as a
    whole when it meets a deadlock or serialization failure. On a Connection or Session it takes
    part in the caller's transaction and leaves commit and rollback to the caller.

    `schema` is the one `pgrecall migrate` was run with; `embedder` turns text into vectors where
    text is passed, `token_counter` texts into what they take up in a prompt. Calls are logged by
    the logger `pgrecall` at DEBUG, those that take more than `slow_after` seconds at WARNING. All
    methods raise PgRecallError and its children (`pgrecall.errors`).
    """

    def __init__(
        self,
        bind: Engine | Connection | Session,
        *,
        schema: str = DEFAULT_SCHEMA,
        embedder: Embedder | None = None,
        token_counter: TokenCounter = estimated_tokens,
        slow_after: float | None = None,
    ) -> None:
        if not isinstance(bind, Engine | Connection | Session):
            raise InputError(
                f"a repository works on an Engine, a Connection or a Session, "
                f"got {type(bind).__name__}"
            )
        if embedder is not None and not isinstance(embedder, Embedder):
            raise InputError(
                f"an embedder has embed_documents and embed_query, {type(embedder).__name__} "
                "has not"
            )
        self._bind = bind
        self._tables = tables(require_schema_name(schema))
        self._embedder = embedder
        self._token_counter = require_counter(token_counter)
        self._slow_after = require_seconds("slow_after", slow_after)

    @property
    def memories(self) -> Table:
        """The table, for expressions in `where` filters: `repo.memories.c.importance > 0.5`."""
        return self._tables.memories

    @property
    def teams(self) -> MemoryRepository:
        """The same repository on the memories of teams: its methods take a team's id first."""
        of_teams = copy(self)
        of_teams._tables = self._tables.of_teams()
        return of_teams

    @property
    def labels(self) -> Labels:
        """Labels of memories, and finding memories by them."""
        return Labels(self)

    @property
    def links(self) -> Links:
        """Links between memories of one owner."""
        return Links(self)

    @property
    def rank_indexes(self) -> RankIndexes:
        """Rank indexes, which make searches among many memories fast."""
        return RankIndexes(self)

    @property
    def upkeep(self) -> Upkeep:
        """Looking after the memories of an agent."""
        return Upkeep(self)

    @property
    def evaluation(self) -> Evaluations:
        """How well profiles find what answers judged queries."""
        return Evaluations(self)

    @property
    def ids(self) -> Ids:
        """Ids by their first digits."""
        return Ids(self)

    add = _blocking(adding.add)
    add_many = _blocking(adding.add_many)
    get = _blocking(reading.get)
    update = _blocking(changing.update)
    delete = _blocking(changing.delete)
    search = _blocking(searching.search)
    context = _blocking(assembling.context)
    explain = _blocking(explaining.explain)
    plan = _blocking(planning.plan)
    touch = _blocking(changing.touch)
    count = _blocking(reading.count)
    existing = _blocking(reading.existing)
    record_outcome = _blocking(using.record_outcome)
    feedback = _blocking(using.feedback)
    history = _blocking(using.history)
    supersede = _blocking(correcting.supersede)
    invalidate = _blocking(correcting.invalidate)
    revive = _blocking(correcting.revive)
    clear = _blocking(curating.clear)

    def _work(self, call: Invocation[T]) -> T:
        job = call.start()
        reply: Any = None
        while True:
            try:
                step = job.send(reply)
            except StopIteration as done:
                result: T = done.value
                call.result = result
                return result
            match step:
                case Transact():
                    reply = self._run(partial(step.operation, self._tables), call.name)
                case Call():
                    reply = step.function(*step.arguments)

    def _run(self, start: partial[Operation[T]], job: str | None = None) -> T:
        bind = self._bind.get_bind() if isinstance(self._bind, Session) else self._bind
        attempts = MAX_ATTEMPTS if isinstance(self._bind, Engine) else 1
        with watched(
            Invocation(start, self._tables, bind.engine, job=job), self._slow_after
        ) as call:
            for attempt in range(1, attempts):
                try:
                    return self._attempt(call)
                except DatabaseConflict:
                    time.sleep(pause_before(attempt + 1))
            return self._attempt(call)

    def _attempt(self, call: Invocation[T]) -> T:
        requests = running(call)
        reply: Any = None
        with translated(), ExitStack() as stack:
            connection: Connection | None = None
            while True:
                try:
                    request = requests.send(reply)
                except StopIteration as done:
                    result: T = done.value
                    return result
                match request:
                    case Embed():
                        reply = self._embed(request)
                    case CountTokens():
                        reply = counted(self._token_counter, request.texts)
                    case Connect():
                        if connection is None or not isinstance(self._bind, Engine):
                            connection = stack.enter_context(self._borrowed(request.verb))
                        reply = connection.engine
                    case Execute():
                        assert connection is not None
                        reply = _execute(connection, request)
                    case Copy():
                        assert connection is not None
                        _copy(connection, request)
                        reply = None

    @contextmanager
    def _borrowed(self, verb: Verb | None) -> Iterator[Connection]:
        if isinstance(self._bind, Engine):
            with self._bind.connect() as connection:
                alone = verb is not None and needs_none(connection)
                before = set_autocommit(connection, alone)
                try:
                    with nullcontext() if alone else connection.begin():
                        yield connection
                finally:
                    set_autocommit(connection, before)
            return
        theirs = self._bind.connection() if isinstance(self._bind, Session) else self._bind
        if verb is not None and verb.refuses and not has_none(theirs):
            with theirs.begin_nested():
                yield theirs
        else:
            yield theirs

    def _embed(self, step: Embed) -> Embedded:
        if self._embedder is None:
            raise EmbedderRequired()
        if step.as_query:
            vectors = [self._embedder.embed_query(step.texts[0])]
        else:
            vectors = list(self._embedder.embed_documents(list(step.texts)))
        return Embedded.checked(step, vectors, model_name(self._embedder))


class Namespace:
    """A namespace of the repository."""

    def __init__(self, repository: MemoryRepository) -> None:
        self._tables = repository._tables
        self._run, self._work = repository._run, repository._work


class Labels(Namespace):
    """`repository.labels`. Labels of memories, and finding memories by them."""

    add = _blocking(labelling.label)
    remove = _blocking(labelling.unlabel)
    of = _blocking(labelling.labels)
    find = _blocking(labelling.labelled)


class Links(Namespace):
    """`repository.links`. Links between memories of one owner."""

    add = _blocking(linking.link)
    remove = _blocking(linking.unlink)
    of = _blocking(linking.links)


class RankIndexes(Namespace):
    """`repository.rank_indexes`. Rank indexes, which make searches among many memories fast."""

    build = _blocking_job(maintaining.build_rank_indexes)
    maintain = _blocking_job(maintaining.maintain_rank_indexes)
    check = _blocking_job(checking.check_rank_index)
    status = _blocking(building.rank_indexes)
    progress = _blocking(building.rank_index_progress)
    drop = _blocking(building.drop_rank_index)


class Upkeep(Namespace):
    """`repository.upkeep`. Looking after the memories of an agent."""

    adjust_trust = _blocking(using.adjust_trust)
    set_importance = _blocking(correcting.set_importance)
    promote = _blocking(correcting.promote)
    demote = _blocking(correcting.demote)
    clusters = _blocking(curating.clusters)
    consolidate = _blocking_job(consolidating.consolidate)
    near_duplicates = _blocking(curating.near_duplicates)
    prune = _blocking(curating.prune)
    complete_stale_tasks = _blocking(curating.complete_stale_tasks)
    collect_garbage = _blocking_job(collecting.collect_garbage)
    telling_terms = _blocking(wording.telling_terms)


class Evaluations(Namespace):
    """`repository.evaluation`. How well profiles find what answers judged queries."""

    evaluate = _blocking(evaluating.evaluate)
    tune = _blocking(tuning.tune)
    recorded_queries = _blocking(recording.recorded_queries)


class Ids(Namespace):
    """`repository.ids`. Ids by their first digits."""

    find = _blocking(reading.find_ids)
    shorten = _blocking(reading.short_ids)


def _execute(connection: Connection, step: Execute) -> Any:
    raw = raw_statement(connection, step.statement)
    if raw is not None:
        return _fetch(connection, raw, step)
    with binary_results(connection.connection.driver_connection):
        result = connection.execute(step.statement, dict(step.parameters))
    return result.all() if result.returns_rows else None


def _fetch(connection: Connection, raw: RawStatement, step: Execute) -> Any:
    driver: Any = connection.connection.driver_connection
    cursor = RawCursor(driver, row_factory=raw.row_factory)
    try:
        cursor.execute(raw.text, raw.values(step.parameters), prepare=True, binary=True)
        return cursor.fetchall() if has_rows(cursor) else None
    except psycopg.Error as error:
        if driver.closed:
            connection.invalidate(error)  # SQLAlchemy did not see it break
        raise


def _copy(connection: Connection, step: Copy) -> None:
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    try:
        with driver.cursor() as cursor:
            know_vectors(cursor, step.embedding_oid)
            with cursor.copy(copy_statement(step)) as stream:
                stream.set_types(copy_types(step))
                for row in step.rows:
                    stream.write_row(row)
    except psycopg.Error as error:
        if driver.closed:
            connection.invalidate(error)  # SQLAlchemy did not see it break
        raise
