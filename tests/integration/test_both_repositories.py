"""Every operation once through both repositories, and some through each of the caller's own binds.

That the two do the same is tested here; what an operation does, by its own file with one of them.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory, RetentionPolicy
from pgrecall.errors import InvalidVector, MemoryNotFound, SupersessionConflict
from tests.calls import OF_ALL, operations, shown
from tests.integration.conftest import OWNED, Work, in_transaction
from tests.integration.support import NORTH, at, awaited, contents, read, sql
from tests.methods import NOWHERE, method, public

A = "agent"


def number(n: int) -> UUID:
    return UUID(int=(n << 96) + 0x7000_8000_0000_0000_0000)


ONE, TWO, GONE, WAITING = number(1), number(2), number(5), number(6)


def furnish(repo: MemoryRepository) -> None:
    """Six memories of the agent, the last of them forgotten, what belongs to them, and one that
    waits to be approved."""
    usual: dict[str, Any] = {"tier": "medium", "trust": 0.5}
    new = [NewMemory(f"memory {n}", id=number(n), embedding=at(n), **usual) for n in range(6)]
    new[3] = replace(new[3], memory_type="task", created_at=datetime(2026, 1, 1, tzinfo=UTC))
    new[1] = replace(new[1], expires_at=datetime(8000, 1, 1, tzinfo=UTC))
    repo.add_many(A, new)
    repo.add("another", NewMemory("memory of another", embedding=NORTH))
    repo.add(A, NewMemory("waiting", id=WAITING, embedding=at(80), requires_approval=True))
    repo.links.add(A, ONE, TWO, "next", weight=0.5)
    repo.record_outcome(A, ONE, "success", query="memory 1")
    repo.invalidate(A, GONE)


class Case(NamedTuple):
    name: str
    """Of the operation, after which there may be a word on what is special."""
    work: Work
    expected: Any
    """What `shown` shows of what it returns, or the class and a part of what it raises."""
    events: str = ""


OPERATIONS = operations(ONE, TWO, GONE, WAITING)


def case_of(name: str) -> Case:
    arguments, result, events = OPERATIONS[name]
    owner = {} if name in OF_ALL else {"agent_id": A}
    return Case(name, lambda r: method(r, name)(**owner | arguments), result, events)


def progress(repo: MemoryRepository) -> list[Any]:
    """What a job tells of its progress."""
    told: list[Any] = []
    repo.maintenance.run(
        RetentionPolicy.grace(),
        agent_id=A,
        on_progress=lambda task, done, total: told.append([task.task, done, total]),
    )
    return told


def exported(repo: MemoryRepository) -> list[Any]:
    """How many lines were written in how many batches."""
    batches: list[int] = []
    lines = repo.transfer.export(lambda some: batches.append(len(some)), agent_id=A, batch_size=4)
    return [lines, *batches]


def indexed(repo: MemoryRepository) -> MemoryRepository:
    repo.rank_indexes.build(agent_id=A, at_least=1)
    return repo


def together(texts: list[str]) -> str:
    return f"{len(texts)} texts 0"


NEW = NewMemory("new 9", id=number(9), embedding=at(9))
SHORT = NewMemory("short", embedding=[1.0])
MISSING = (MemoryNotFound, "no memory")
WHOLE: dict[str, Any] = {"min_similarity": 0.5, "more_than": 1}
CASES = (
    *map(case_of, OPERATIONS),
    Case("add, bad", lambda r: r.add(A, SHORT), (InvalidVector, "1 dimensions")),
    Case(
        "add_many, reported",
        lambda r: [*r.add_many(A, [NEW, SHORT], on_error="report").refused],
        [1],
    ),
    Case("get_many, a generator", lambda r: r.get_many(A, (m for m in [TWO])), ["memory 2"]),
    Case("update, missing", lambda r: r.update(A, number(9), importance=0.9), MISSING),
    Case(
        "delete, by a filter",
        lambda r: (r.delete(A, filter={"tier": "medium"}), r.count(A)),
        [5, 0],
    ),
    Case("search, a text", lambda r: r.search(A, "memory 3", k=1), ["memory 3"]),
    Case(
        "search, indexed",
        lambda r: indexed(r).search(A, NORTH, k=2, strategy="index"),
        ["memory 1", "memory 0"],
    ),
    Case("transfer.export, in batches", exported, [7, 4, 3]),
    Case("record_outcome, missing", lambda r: r.record_outcome(A, number(9), "failure"), MISSING),
    Case(
        "supersede, again", lambda r: r.supersede(A, GONE, NEW), (SupersessionConflict, str(GONE))
    ),
    Case(
        "consolidate, summarised",
        lambda r: r.get(A, r.consolidate(A, together, **WHOLE)[0].memory_id),
        "5 texts 0",
    ),
    Case("maintenance.run, reported", progress, [["retention", 0, 1]]),
    Case("rank_indexes.drop, built", lambda r: indexed(r).rank_indexes.drop(A), True),
)


@pytest.fixture(params=["sync", "async"])
def either(
    request: pytest.FixtureRequest, engine: Engine, async_engine: AsyncEngine, loop: asyncio.Runner
) -> MemoryRepository:
    """Both repositories, each with an embedder of its kind."""
    if request.param == "sync":
        return MemoryRepository(engine, embedder=Embeds())
    return awaited(AsyncMemoryRepository(async_engine, embedder=EmbedsLater()), loop.run)


class Embeds:
    """Knows memories by their numbers."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [at(int(text.split()[-1])) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class EmbedsLater:
    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return Embeds().embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return Embeds().embed_query(text)


def check(repo: MemoryRepository, case: Case) -> None:
    refused = isinstance(case.expected, tuple) and isinstance(case.expected[0], type)
    if refused:
        error, message = case.expected
        with pytest.raises(error, match=message):
            case.work(repo)
    else:
        assert shown(case.work(repo)) == case.expected


def event_types(engine: Engine) -> Counter[str]:
    return Counter(kind for (kind,) in sql(engine, "SELECT event_type FROM pgrecall.memory_events"))


LATER = {
    *("add", "add_many", "context", "evaluation.tune", "get", "links.add", "list", "plan"),
    *("rank_indexes.build", "search", "supersede", "transfer.export", "transfer.restore"),
    *("maintenance.run", "consolidate", "erase_owner", "upsert_many"),
}
"""Of each way that an operation is carried out some, in the asynchronous repository: what differs
is how statements are sent, not the operation. That it has every operation is a test of surfaces."""
EACH = [("sync", case) for case in CASES] + [
    ("async", case) for case in CASES if case.name in LATER or case.name not in OPERATIONS
]


@pytest.mark.parametrize(
    ("either", "case"),
    EACH,
    indirect=["either"],
    ids=[f"{kind}-{case.name}" for kind, case in EACH],
)
def test_both_do_the_same(either: MemoryRepository, engine: Engine, case: Case) -> None:
    furnish(MemoryRepository(engine))
    before = event_types(engine)

    check(either, case)

    if case.name in OPERATIONS:
        assert {*(event_types(engine) - before)} == {*case.events.split()}


def test_every_operation_is_in_the_table() -> None:
    assert OPERATIONS.keys() == {*public(NOWHERE)}


def test_callbacks_may_be_coroutines_where_the_repository_is_asynchronous(
    engine: Engine, async_engine: AsyncEngine, loop: asyncio.Runner
) -> None:
    furnish(MemoryRepository(engine))
    told: list[Any] = []

    async def summarise(texts: list[str]) -> str:
        return together(texts)

    async def on_progress(*about: int) -> None:
        told.append(about)

    repo = awaited(AsyncMemoryRepository(async_engine, embedder=EmbedsLater()), loop.run)

    [one] = repo.consolidate(A, summarise, **WHOLE, on_progress=on_progress)

    assert one.memory_id is not None
    assert read(repo, A, one.memory_id).content == together(["memory"] * 5)
    assert told == [(1, 1)]


def test_an_asynchronous_repository_runs_other_embedders_in_a_thread(
    async_engine: AsyncEngine, loop: asyncio.Runner
) -> None:
    threads = []

    class Noting(Embeds):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            threads.append(threading.current_thread())
            return super().embed_documents(texts)

    repo = awaited(AsyncMemoryRepository(async_engine, embedder=Noting()), loop.run)
    repo.add_many(A, ["one 1", "two 2"])

    assert contents(repo.search(A, "text 2", k=1)) == ["two 2"]
    assert len(threads) == 2
    assert threading.main_thread() not in threads


WRITTEN = ("add", "add_many", "search", "consolidate", "maintenance.run")
"""Of each way that an operation is carried out, one."""
REFUSED = ("add, bad", "update, missing", "record_outcome, missing", "supersede, again")
BY_NAME = {case.name: case for case in CASES}
each_bind = pytest.mark.parametrize("bind", ["Connection", "Session", "AsyncSession"])


def everything(engine: Engine) -> list[Any]:
    """All rows there are, as anybody else sees them."""
    each = " UNION ALL ".join(f"SELECT to_jsonb(t)::text FROM pgrecall.{t} t" for t in OWNED)
    return sorted(sql(engine, each))


@pytest.mark.parametrize("name", WRITTEN)
@each_bind
def test_a_transaction_of_the_callers_own_is_theirs_to_end(
    engine: Engine, async_engine: AsyncEngine, loop: asyncio.Runner, bind: str, name: str
) -> None:
    furnish(MemoryRepository(engine))
    before = everything(engine)

    def work(repo: MemoryRepository) -> None:
        check(repo, BY_NAME[name])
        assert everything(engine) == before, "nobody else sees it yet"

    in_transaction(bind, engine, async_engine, loop, work, commit=False)
    assert everything(engine) == before

    in_transaction(bind, engine, async_engine, loop, work, commit=True)
    assert everything(engine) != before


@each_bind
def test_a_refusal_leaves_the_callers_transaction_usable(
    engine: Engine, async_engine: AsyncEngine, loop: asyncio.Runner, bind: str
) -> None:
    furnish(MemoryRepository(engine))

    def work(repo: MemoryRepository) -> None:
        for name in REFUSED:
            check(repo, BY_NAME[name])
        assert repo.add(A, NEW).inserted

    in_transaction(bind, engine, async_engine, loop, work, commit=True)
    assert MemoryRepository(engine).count(A) == 6
