"""Every operation once through both repositories, and some through each of the caller's own binds.

That the two do the same is tested here; what an operation does, by its own file with one of them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from pgrecall import AsyncMemoryRepository, JudgedQuery, MemoryRepository, NewMemory
from pgrecall.core.label import Label
from pgrecall.errors import (
    EmbedderRequired,
    InputError,
    InvalidVector,
    MemoryNotFound,
    SupersessionConflict,
)
from pgrecall.lifecycle.erased import Erased
from tests.integration.conftest import OWNED, Work, in_transaction
from tests.integration.support import NORTH, at, awaited, contents, sql
from tests.methods import NOWHERE, method, public

A = "agent"


def number(n: int) -> UUID:
    return UUID(int=0x7000_8000_0000_0000_0000 + n)


ONE, TWO, GONE = number(1), number(2), number(5)
QUERIES = [JudgedQuery(at(n), [number(n % 5)], query_text=f"memory {n}") for n in range(12)]


def furnish(repo: MemoryRepository) -> None:
    """Six memories of the agent, the last of them forgotten, and what belongs to them."""
    usual: dict[str, Any] = {"tier": "medium", "trust": 0.5}
    new = [NewMemory(f"memory {n}", id=number(n), embedding=at(n), **usual) for n in range(6)]
    new[3] = replace(new[3], memory_type="task", created_at=datetime(2026, 1, 1, tzinfo=UTC))
    repo.add_many(A, new)
    repo.add("another", NewMemory("memory of another", embedding=NORTH))
    repo.links.add(A, ONE, TWO, "next", weight=0.5)
    repo.labels.add(A, ONE, Label("x", "tag", 0.5))
    repo.record_outcome(A, ONE, "success", query="memory 1")
    repo.invalidate(A, GONE)


class Case(NamedTuple):
    name: str
    """Of the operation, after which there may be a word on what is special."""
    work: Work
    expected: Any
    """What it returns, or the class and a part of what it raises."""


def progress(repo: MemoryRepository, name: str, **arguments: Any) -> list[Any]:
    """What a job tells of its progress."""
    told: list[Any] = []
    method(repo, name)(**arguments, on_progress=lambda *about: told.append(about))
    return told


def exported(repo: MemoryRepository, **arguments: Any) -> int:
    """How many lines were written."""
    lines: list[str] = []
    number = repo.transfer.export(lines.extend, **arguments)
    assert number == len(lines)
    return number


def restored(repo: MemoryRepository) -> list[Any]:
    """The outcomes of one memory twice, and how often it says that it was retrieved."""
    line = {"content": "new", "id": "x1", "embedding": None, "retrieval_count": 7}
    [id_, again] = repo.transfer.restore(A, [line, line])
    return [id_.outcome, again.outcome, counted(repo, id_)]


def indexed(repo: MemoryRepository) -> MemoryRepository:
    repo.rank_indexes.build(agent_id=A, at_least=1)
    return repo


def together(texts: list[str]) -> str:
    return f"{len(texts)} texts 0"


NEW = NewMemory("new", id=number(9), embedding=at(9))
SHORT = NewMemory("short", embedding=[1.0])
KEYED = NewMemory("keyed", key="k", embedding=at(9))
BOTH = ["inserted", "known"]
LATER = datetime(9000, 1, 1, tzinfo=UTC)
MISSING = (MemoryNotFound, "no memory")
WHOLE: dict[str, Any] = {"min_similarity": 0.5, "more_than": 1}

CASES = (
    Case("add", lambda r: r.add(A, NEW).outcome, "inserted"),
    Case("add, bad", lambda r: r.add(A, SHORT), (InvalidVector, "1 dimensions")),
    Case("add_many", lambda r: [one.outcome for one in r.add_many(A, [NEW, NEW])], BOTH),
    Case("add_many, a generator", lambda r: len(r.add_many(A, (m for m in [NEW]))), 1),
    Case("add_many, reported", lambda r: [*refused(r)], [1]),
    Case("upsert_many", lambda r: [one.outcome for one in r.upsert_many(A, [KEYED] * 2)], BOTH),
    Case("upsert", lambda r: [r.upsert(A, KEYED).outcome for _ in range(2)], BOTH),
    Case(
        "get_many", lambda r: [*r.get_many(A, (one for one in [TWO, number(9), ONE]))], [TWO, ONE]
    ),
    Case(
        "list",
        lambda r: [one.id for one in r.list(A, order="-id", limit=2)],
        [number(4), number(3)],
    ),
    Case("owners", lambda r: [one.agent_id for one in r.owners()], [A, "another"]),
    Case("resolve, a key", lambda r: r.upsert(A, KEYED) == r.resolve(A, "k"), True),
    Case("get", lambda r: r.get(A, ONE).content, "memory 1"),  # type: ignore[union-attr]
    Case("update", lambda r: r.update(A, ONE, importance=0.9).importance, 0.9),
    Case("update, missing", lambda r: r.update(A, NEW.id or ONE, importance=0.9), MISSING),
    Case("delete", lambda r: (r.delete(A, [ONE, TWO]), r.count(A)), (2, 3)),
    Case("delete, by a filter", lambda r: (r.delete(A, memory_types=["task"]), r.count(A)), (1, 4)),
    Case("search", lambda r: contents(r.search(A, NORTH, k=2)), ["memory 1", "memory 0"]),
    Case("search, a text", lambda r: contents(r.search(A, "memory 3", k=1)), ["memory 3"]),
    Case(
        "search, indexed",
        lambda r: contents(indexed(r).search(A, NORTH, k=2, strategy="index")),
        ["memory 1", "memory 0"],
    ),
    Case("context", lambda r: len(r.context(A, NORTH, max_tokens=100).packed), 5),
    Case("explain", lambda r: r.explain(A, TWO, at(2), weights={"similarity": 1}).rank, 1),
    Case("plan", lambda r: r.plan(A, NORTH).strategy, "exact"),
    Case("evaluation.evaluate", lambda r: len(r.evaluation.evaluate(A, QUERIES).profiles), 1),
    Case("evaluation.tune", lambda r: len(r.evaluation.tune(A, QUERIES).training.profiles), 2),
    Case(
        "evaluation.recorded_queries",
        lambda r: [one.query for one in r.evaluation.recorded_queries(A)],
        ["memory 1"],
    ),
    Case("touch", lambda r: (r.touch(A, [ONE, TWO]), counted(r, ONE), counted(r, TWO)), (2, 2, 1)),
    Case("count", lambda r: (r.count(A), r.count("another"), r.teams.count(A)), (5, 1, 0)),
    Case("transfer.export", lambda r: exported(r, agent_id=A, batch_size=4), 6),
    Case("transfer.restore", lambda r: restored(r), [*BOTH, 7]),
    Case("resolve", lambda r: r.resolve(A, str(ONE)), ONE),
    Case("record_outcome", lambda r: r.record_outcome(A, TWO, "failure").failure_count, 1),
    Case("record_outcome, missing", lambda r: r.record_outcome(A, number(9), "failure"), MISSING),
    Case(
        "upkeep.adjust_trust",
        lambda r: r.upkeep.adjust_trust(A, TWO, 0.25, "why", "who").trust,
        0.75,
    ),
    Case("feedback", lambda r: r.feedback(A, TWO, "useful").feedback_up, 1),
    Case("history", lambda r: kinds(r, ONE), ["initial", "linked", "labelled", "reinforcement"]),
    Case("supersede", lambda r: (r.supersede(A, ONE, NEW), r.count(A)), (number(9), 5)),
    Case(
        "supersede, again", lambda r: r.supersede(A, GONE, NEW), (SupersessionConflict, str(GONE))
    ),
    Case("invalidate", lambda r: (r.invalidate(A, (one for one in [ONE])), r.count(A)), (1, 4)),
    Case("revive", lambda r: (r.revive(A, GONE), r.count(A)), (1, 6)),
    Case(
        "upkeep.approve",
        lambda r: (awaiting(r), r.upkeep.approve(A, number(9)), r.count(A)),
        (5, 1, 6),
    ),
    Case(
        "upkeep.reject",
        lambda r: (awaiting(r), r.upkeep.reject(A, number(9)), r.count(A)),
        (5, 1, 5),
    ),
    Case("upkeep.promote", lambda r: r.upkeep.promote(A, [ONE, TWO]), 2),
    Case("upkeep.demote", lambda r: r.upkeep.demote(A, [ONE, TWO]), 2),
    Case("erase", lambda r: (r.erase(A, ONE).memories, r.history(A, ONE), r.count(A)), (1, [], 4)),
    Case(
        "upkeep.erase_owner",
        lambda r: (r.upkeep.erase_owner(A).memories, r.count(A), r.count("another")),
        (6, 0, 1),
    ),
    Case("erase, and vacuum", lambda r: r.erase(A, (), vacuum=True), Erased()),
    Case(
        "upkeep.clusters",
        lambda r: [len(one.memories) for one in r.upkeep.clusters(A, **WHOLE)],
        [5],
    ),
    Case("upkeep.complete_stale_tasks", lambda r: r.upkeep.complete_stale_tasks(A), 1),
    Case("upkeep.near_duplicates", lambda r: len(r.upkeep.near_duplicates(A, threshold=0.999)), 7),
    Case(
        "upkeep.prune", lambda r: (r.upkeep.prune(A, older_than=timedelta(0)), r.count(A)), (6, 0)
    ),
    Case(
        "labels.add", lambda r: (r.labels.add(A, ONE, ["x", "y"]), len(r.labels.of(A, ONE))), (2, 3)
    ),
    Case(
        "labels.remove",
        lambda r: (r.labels.remove(A, ONE, Label("x", "tag")), r.labels.of(A, ONE)),
        (1, []),
    ),
    Case("labels.of", lambda r: r.labels.of(A, ONE), [Label("x", "tag", 0.5)]),
    Case("labels.find", lambda r: [found[0].id for found in r.labels.find(A, "x")], [ONE]),
    Case(
        "links.add",
        lambda r: (r.links.add(A, ONE, GONE), len(r.links.of(A, ONE))),
        (None, 2),
    ),
    Case(
        "links.remove",
        lambda r: (r.links.remove(A, ONE, TWO, "next"), r.links.of(A, ONE)),
        (True, []),
    ),
    Case(
        "links.of",
        lambda r: [(one.kind, one.weight) for one in r.links.of(A, ONE)],
        [("next", 0.5)],
    ),
    Case(
        "upkeep.consolidate",
        lambda r: [len(c.source_ids) for c in r.upkeep.consolidate(A, **WHOLE)],
        [5],
    ),
    Case(
        "upkeep.consolidate, summarised",
        lambda r: content(r, r.upkeep.consolidate(A, together, **WHOLE)[0].memory_id),
        "5 texts 0",
    ),
    Case("upkeep.collect_garbage", lambda r: garbage(r, "scanned", "seconds"), (True, True)),
    Case(
        "upkeep.collect_garbage, in batches",
        lambda r: len(progress(r, "upkeep.collect_garbage", agent_id=A, batch_size=2)),
        4,
    ),
    Case("rank_indexes.build", lambda r: len(r.rank_indexes.build(at_least=1)), 2),
    Case("rank_indexes.maintain", lambda r: len(r.rank_indexes.maintain(at_least=1)), 2),
    Case(
        "rank_indexes.status",
        lambda r: [one.agent_id for one in r.rank_indexes.status(at_least=5)],
        [A],
    ),
    Case(
        "upkeep.extend_expiry",
        lambda r: r.upkeep.extend_expiry(A, ONE, expires_at=LATER),
        0,
    ),
    Case("rank_indexes.drop", lambda r: indexed(r).rank_indexes.drop(A), True),
)


def garbage(repo: MemoryRepository, *numbers: str) -> tuple[bool, ...]:
    """Whether these are more than nothing, also where now() stands still."""
    run = repo.upkeep.collect_garbage(agent_id=A)
    return tuple(getattr(run, name) > 0 for name in numbers)


def awaiting(repo: MemoryRepository) -> int:
    """Adds a memory that waits for approval. Returns how many are recalled."""
    repo.add(A, replace(NEW, requires_approval=True))
    return repo.count(A)


def refused(repo: MemoryRepository) -> Mapping[int, InputError]:
    return repo.add_many(A, [NEW, SHORT], on_error="report").refused


def counted(repo: MemoryRepository, memory_id: UUID) -> int:
    memory = repo.get(A, memory_id)
    assert memory is not None
    return memory.retrieval_count


def kinds(repo: MemoryRepository, memory_id: UUID) -> list[str]:
    return [one.event_type for one in repo.history(A, memory_id)]


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
        assert case.work(repo) == case.expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_do_the_same(either: MemoryRepository, engine: Engine, case: Case) -> None:
    furnish(MemoryRepository(engine))
    check(either, case)


def test_every_operation_is_in_the_table() -> None:

    assert {*public(NOWHERE)} == {case.name.partition(",")[0] for case in CASES}


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

    [one] = repo.upkeep.consolidate(A, summarise, **WHOLE, on_progress=on_progress)

    assert content(repo, one.memory_id) == together(["memory"] * 5)
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


def test_without_an_embedder_both_say_so(
    engine: Engine, async_engine: AsyncEngine, loop: asyncio.Runner
) -> None:
    for repo in (
        MemoryRepository(engine),
        awaited(AsyncMemoryRepository(async_engine), loop.run),
    ):
        with pytest.raises(EmbedderRequired):
            repo.search(A, "text")


WRITTEN = (
    *("add", "add_many", "update", "delete", "search", "touch", "record_outcome", "supersede"),
    *("upsert", "upsert_many", "delete, by a filter"),
    *("upkeep.consolidate", "upkeep.collect_garbage", "links.add"),
)
REFUSED = ("add, bad", "update, missing", "record_outcome, missing", "supersede, again")
BY_NAME = {case.name: case for case in CASES}
each_bind = pytest.mark.parametrize(
    "bind", ["Connection", "Session", "AsyncConnection", "AsyncSession"]
)


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


def content(repo: MemoryRepository, memory_id: UUID) -> str:
    memory = repo.get(A, memory_id)
    assert memory is not None
    return memory.content
