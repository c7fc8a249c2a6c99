"""A reranker as the last step of a search: its order, its budget, and what happens if it fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import suppress
from threading import BoundedSemaphore, Event
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.ext.asyncio import AsyncEngine

from pgrecall import (
    AsyncMemoryRepository,
    Context,
    Hits,
    MemoryRepository,
    NewMemory,
    Rerank,
    ScoredMemory,
)
from pgrecall.errors import InputError
from pgrecall.execution import asking
from tests.integration.conftest import Transaction
from tests.integration.support import NORTH, at, awaited, contents, sql
from tests.integration.test_plans import sent

ASKED: dict[str, Any] = {"query": NORTH, "keywords": "which tea?"}
SECRET = "a text that no log may quote"
NUMBER = 30
"""Memories, by score from 0 on: each is at the angle in its text."""


class Fake:
    """Judges the greatest angle best, and keeps what it was asked."""

    model = "fake-1"

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[str]]] = []

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        self.calls.append((query, texts))
        return [float(text.split()[-1]) for text in texts]


class AsyncFake(Fake):
    """The same as a coroutine function."""

    async def __call__(self, query: str, texts: list[str]) -> list[float]:  # type: ignore[override]
        return super().__call__(query, texts)


@pytest.fixture(autouse=True)
def memories(engine: Engine) -> list[UUID]:
    new = [
        NewMemory(f"tea {n}", embedding=at(n), session="s", turn=2 * n, importance=0.5)
        for n in range(NUMBER)
    ]
    return [*MemoryRepository(engine).add_many("ada", new)]


@pytest.fixture
def fake(request: pytest.FixtureRequest) -> Fake:
    """A reranker for each repository of `either`."""
    return Fake() if request.node.callspec.params["either"] == "sync" else AsyncFake()


def named(*numbers: int) -> list[str]:
    return [f"tea {number}" for number in numbers]


def judged(hits: Hits) -> list[tuple[str, float | None, int | None]]:
    return [(hit.memory.content, hit.rerank_score, hit.moved) for hit in hits]


def by_score(hits: list[ScoredMemory]) -> dict[UUID, Any]:
    """All that stands of a hit without a reranker."""
    return {
        hit.memory.id: (hit.memory, hit.score, hit.signals, hit.contributions, hit.relevance)
        for hit in hits
    }


def at_one_moment(repo: MemoryRepository) -> dict[str, Any]:
    return {"as_of": repo.list("ada")[0].updated_at, "touch": False}


def test_the_best_by_score_are_ordered_anew_and_their_scores_stay(
    either: MemoryRepository, fake: Fake
) -> None:
    moment = at_one_moment(either)
    plain = either.search("ada", **ASKED, k=5, **moment)

    hits = either.search("ada", **ASKED, k=3, rerank=Rerank(fake, top=5), **moment)

    assert judged(hits) == [("tea 4", 4, 4), ("tea 3", 3, 2), ("tea 2", 2, 0)]
    assert (hits.reranked, hits.rerank_note) == (True, None)
    assert fake.calls == [("which tea?", named(0, 1, 2, 3, 4))]
    assert by_score(hits).items() <= by_score(plain).items()
    assert (plain.reranked, plain.rerank_note, judged(plain)[0]) == (
        *(None, None),
        ("tea 0", None, None),
    )


def test_what_is_not_among_the_best_follows_in_its_order(
    either: MemoryRepository, fake: Fake
) -> None:
    hits = either.search("ada", **ASKED, k=4, rerank=Rerank(fake, top=2))

    assert judged(hits) == [
        *(("tea 1", 1, 1), ("tea 0", 0, -1)),
        *(("tea 2", None, None), ("tea 3", None, None)),
    ]


def test_equals_keep_their_order_and_any_numbers_will_do(engine: Engine) -> None:
    def parity(query: str, texts: list[str]) -> Iterator[bool]:
        return (int(text.split()[1]) % 2 == 1 for text in texts)

    hits = MemoryRepository(engine).search("ada", **ASKED, k=4, rerank=Rerank(parity, top=4))

    assert contents(hits) == named(1, 3, 0, 2)
    assert [hit.moved for hit in hits] == [1, 2, -2, -1]


def test_a_query_that_is_text_is_what_it_judges_by(engine: Engine) -> None:
    class North:
        def embed_query(self, text: str) -> list[float]:
            return NORTH

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [NORTH for _ in texts]

    fake = Fake()
    repo = MemoryRepository(engine, embedder=North(), reranker=Rerank(fake, top=2))

    hits = repo.search("ada", "green?", k=1, keywords="words", profile="five_factor", rerank=True)

    assert contents(hits) == ["tea 1"]
    assert [query for query, _ in fake.calls] == ["green?"]
    assert repo.search("ada", "green?").reranked is None, "a repository's is used when asked for"
    assert len(fake.calls) == 1


def test_what_is_returned_counts_as_retrieved_and_nothing_else(
    either: MemoryRepository, engine: Engine, fake: Fake
) -> None:
    hits = either.search("ada", **ASKED, k=2, rerank=Rerank(fake, top=9))

    assert hits.touched
    counted = "SELECT memory_id FROM pgrecall.memory_usage WHERE retrieval_count > 0"
    assert {id_ for (id_,) in sql(engine, counted)} == {hit.memory.id for hit in hits}
    assert contents(hits) == named(8, 7)


def test_nothing_found_is_nothing_to_judge(either: MemoryRepository, fake: Fake) -> None:
    hits = either.search("nobody", **ASKED, rerank=fake)

    assert (hits, hits.reranked, fake.calls) == ([], True, [])


def test_after_the_budget_the_order_by_score_stands(
    engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    ends = Event()
    ended: list[str] = []

    def slow(query: str, texts: list[str]) -> list[float]:
        ends.wait(60)
        ended.append(query)
        return [0.0] * len(texts)

    repo = MemoryRepository(engine)
    moment = at_one_moment(repo)
    hits = repo.search("ada", **ASKED, k=3, rerank=Rerank(slow, timeout=0.01), **moment)

    assert ended == [], "nobody waited"
    assert (hits.reranked, hits.rerank_note) == (False, "the reranker took longer than 0.01 s")
    assert judged(hits) == [(text, None, None) for text in named(0, 1, 2)]
    assert by_score(hits) == by_score(repo.search("ada", **ASKED, k=3, **moment))
    [warning] = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert warning.getMessage() == (
        "the order by score stands: the reranker took longer than 0.01 s"
    )
    ends.set()


def test_a_coroutine_is_cancelled_at_the_end_of_the_budget(
    async_engine: AsyncEngine, loop: asyncio.Runner
) -> None:
    cancelled: list[str] = []

    async def slow(query: str, texts: list[str]) -> list[float]:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(query)
            raise
        return []

    repo = awaited(AsyncMemoryRepository(async_engine), loop.run)
    hits = repo.search("ada", **ASKED, k=2, rerank=Rerank(slow, timeout=0.01))

    assert cancelled == ["which tea?"]
    assert (hits.reranked, contents(hits)) == (False, named(0, 1))
    assert hits.rerank_note == "the reranker took longer than 0.01 s"


def test_a_function_does_not_hold_up_the_loop(
    async_engine: AsyncEngine, loop: asyncio.Runner
) -> None:
    """It waits for what only the loop does meanwhile; and the search may be cancelled."""
    begun, freed, over = Event(), Event(), Event()

    def waits(query: str, texts: list[str]) -> list[float]:
        begun.set()
        freed.wait(60)
        over.set()
        return [float(len(texts) - n) for n in range(len(texts))]

    async def work() -> Hits:
        repo = AsyncMemoryRepository(async_engine)
        rerank = Rerank(waits, timeout=60)
        first = asyncio.ensure_future(repo.search("ada", **ASKED, rerank=rerank))
        await asyncio.to_thread(begun.wait, 60)
        first.cancel()
        with suppress(asyncio.CancelledError):
            await first
        assert first.cancelled()
        assert not over.is_set()
        freed.set()
        return await repo.search("ada", **ASKED, rerank=rerank)

    assert loop.run(work()).reranked is True


def raises(query: str, texts: list[str]) -> list[float]:
    raise ValueError(SECRET)


def exits(query: str, texts: list[str]) -> list[float]:
    raise SystemExit(SECRET)


FAILURES: dict[str, Any] = {
    "the reranker failed: ValueError: " + SECRET: raises,
    "the reranker failed: SystemExit: " + SECRET: exits,
    "the reranker returned 1 values for 20 texts": lambda query, texts: [0.5],
    "the reranker returned more values for 20 texts": lambda query, texts: [0.5] * 99,
    "the reranker returned a value that is not a finite number": (
        lambda query, texts: [float("nan"), *[1.0] * 19]
    ),
    "the reranker failed: TypeError: it returned a coroutine, but is no coroutine function": (
        lambda query, texts: AsyncFake()(query, texts)
    ),
}


@pytest.mark.parametrize("note", FAILURES)
def test_a_reranker_that_fails_does_not_lose_the_search(
    either: MemoryRepository, note: str, caplog: pytest.LogCaptureFixture
) -> None:
    hits = either.search("ada", **ASKED, k=3, rerank=FAILURES[note])

    assert judged(hits) == [(text, None, None) for text in named(0, 1, 2)]
    assert (hits.reranked, hits.rerank_note) == (False, note)
    [warning] = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert warning.getMessage().startswith("the order by score stands: the reranker ")
    assert SECRET not in caplog.text
    assert "tea 0" not in caplog.text


def test_calls_that_never_end_do_not_pile_up(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "_free", BoundedSemaphore(1))
    ends, begun = Event(), Event()

    def hangs(query: str, texts: list[str]) -> list[float]:
        begun.set()
        ends.wait(60)
        return []

    repo, fake = MemoryRepository(engine), Fake()
    repo.search("ada", **ASKED, rerank=Rerank(hangs, timeout=0.01))
    hits = repo.search("ada", **ASKED, k=1, rerank=fake)

    assert begun.is_set()
    assert fake.calls == []
    assert hits.rerank_note == "64 calls of rerankers have not ended"
    ends.set()


def test_no_connection_is_held_meanwhile(database_url: str) -> None:
    """It uses the only one."""
    engine = create_engine(database_url, pool_size=1, max_overflow=0, pool_timeout=1)
    repo, fake = MemoryRepository(engine), Fake()

    def asks(query: str, texts: list[str]) -> list[float]:
        assert repo.count("ada") == NUMBER
        return fake(query, texts)

    rerank = Rerank(asks, top=4, timeout=60)
    hits = repo.search("ada", **ASKED, k=2, rerank=rerank)
    context = repo.context("ada", **ASKED, k=2, rerank=rerank)
    engine.dispose()

    assert (hits.reranked, hits.touched, contents(hits)) == (True, True, named(3, 2))
    assert (context.reranked, contents(one.hit for one in context.packed)) == (True, named(3, 2))


def test_a_lost_connection_does_not_ask_it_again(database_url: str) -> None:
    engine = create_engine(database_url, pool_size=1)
    fake = Fake()

    def cuts(query: str, texts: list[str]) -> list[float]:
        with psycopg.connect(database_url, autocommit=True) as own:
            own.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() "
                "AND application_name = 'cut'"
            )
        return fake(query, texts)

    with engine.connect() as connection:
        connection.exec_driver_sql("SET application_name = 'cut'")
        connection.commit()
    context = MemoryRepository(engine).context(
        "ada", **ASKED, k=2, rerank=Rerank(cuts, top=3, timeout=60), touch=False
    )
    engine.dispose()

    assert contents(one.hit for one in context.packed) == named(2, 1)
    assert len(fake.calls) == 1


def test_it_costs_no_statement_but_that_of_the_touch(engine: Engine) -> None:
    def number(**how: Any) -> int:
        return len(sent(engine, lambda repo: repo.search("ada", **ASKED, **how)))

    assert number(touch=False, rerank=Fake()) == number(touch=False)
    assert number(rerank=Fake()) == number() + 1


def test_it_takes_part_in_a_transaction_of_the_caller(
    transaction: Transaction, engine: Engine
) -> None:
    fake = Fake()

    def work(repo: MemoryRepository) -> Hits:
        repo.add("ada", NewMemory("tea 99", embedding=at(0.5)))
        return repo.search("ada", **ASKED, k=1, rerank=fake)

    assert contents(transaction(work, commit=False)) == ["tea 99"]
    assert sql(engine, "SELECT count(*) FROM pgrecall.memory_usage") == [(0,)]


def test_each_of_several_queries_is_judged_by_its_own_text(
    either: MemoryRepository, fake: Fake, engine: Engine
) -> None:
    queries = [at(0), at(29)]
    rerank = Rerank(fake, top=3)

    several = either.search_many("ada", queries, keywords="tea", k=2, rerank=rerank)

    assert [contents(hits) for hits in several] == [named(2, 1), named(29, 28)]
    assert [hits.reranked for hits in several] == [True, True]
    assert [texts for _, texts in fake.calls] == [named(0, 1, 2), named(29, 28, 27)]
    counted = "SELECT count(*) FROM pgrecall.memory_usage WHERE retrieval_count = 1"
    assert sql(engine, counted) == [(4,)]
    with pytest.raises(InputError, match="query 0: rerank needs a text"):
        either.search_many("ada", queries, rerank=rerank)


def test_linked_memories_stand_behind_the_hits(engine: Engine, memories: list[UUID]) -> None:
    repo = MemoryRepository(engine)
    for hit, far in ((3, 20), (2, 21), (0, 22)):
        repo.links.add("ada", memories[hit], memories[far])

    hits = repo.search("ada", **ASKED, k=2, linked=1, rerank=Rerank(Fake(), top=4))

    assert judged(hits) == [
        *(("tea 3", 3, 3), ("tea 2", 2, 1)),
        *(("tea 20", None, None), ("tea 21", None, None)),
    ]
    stood = repo.search("ada", **ASKED, k=2, linked=1, rerank=Rerank(raises, top=4))
    assert contents(stood) == contents(repo.search("ada", **ASKED, k=2, linked=1, touch=False))


REFUSED: dict[str, dict[str, Any]] = {
    "rerank=True needs a reranker: pass reranker=": {"rerank": True},
    "rerank must be a function .* or True for the repository's reranker, got 7": {"rerank": 7},
    "rerank needs a text: a query that is text, or keywords": {
        "rerank": Fake(),
        "keywords": None,
    },
    "the query is empty": {"rerank": Fake(), "keywords": " "},
    "leave out surrounding_turns, or write a context": {"rerank": Fake(), "surrounding_turns": 1},
    "k must lie within 1": {"rerank": Fake(), "k": 0},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_reranked_is_refused(either: MemoryRepository, message: str) -> None:
    with pytest.raises(InputError, match=message):
        either.search("ada", **ASKED | REFUSED[message])


def test_what_is_no_reranker_is_refused(engine: Engine) -> None:
    for bad, message in (
        ({"top": 0}, "top must lie within 1 and 1000, got 0"),
        ({"timeout": 0}, "timeout must be more than 0 seconds, got 0"),
        ({"timeout": "1"}, "timeout must be a number"),
        ({"reranker": None}, "Rerank needs a reranker, got None"),
        ({"reranker": 3}, "reranker must be a function, got 3"),
    ):
        with pytest.raises(InputError, match=message):
            Rerank(**{"reranker": Fake(), **bad})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="reranker must be a function or a Rerank, got True"):
        MemoryRepository(engine, reranker=True)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="coroutine function needs AsyncMemoryRepository"):
        MemoryRepository(engine).search("ada", **ASKED, rerank=AsyncFake())


def packed(context: Context) -> list[tuple[str, float | None, int | None]]:
    return judged(Hits([one.hit for one in context.packed]))


def test_a_context_is_packed_in_its_order(either: MemoryRepository, fake: Fake) -> None:
    context = either.context("ada", **ASKED, k=3, fetch_k=6, rerank=Rerank(fake, top=5))

    assert packed(context) == [("tea 4", 4, 4), ("tea 3", 3, 2), ("tea 2", 2, 0)]
    left_out = [(one.hit.memory.content, one.reason) for one in context.left_out]
    assert left_out == [(text, "limit") for text in named(1, 0, 5)]
    assert (context.reranked, context.rerank_note) == (True, None)
    assert "reranked" in context.notes[-1]
    assert context.record()["packed"][0]["rerank_score"] == 4
    assert contents(hit for hit in either.search("ada", **ASKED, k=1)) == named(0)


def test_what_is_below_a_floor_of_a_context_is_not_judged(engine: Engine) -> None:
    repo, fake = MemoryRepository(engine), Fake()
    hits = repo.search("ada", **ASKED, min_relevance=0, k=30, touch=False)
    of_score = (hits[5].score + hits[6].score) / 2  # recency falls meanwhile

    for floor in ({"min_score": of_score}, {"min_relevance": hits[5].relevance}):
        context = repo.context("ada", **ASKED, touch=False, k=20, rerank=fake, **floor)
        assert [text for text, *_ in packed(context)] == named(5, 4, 3, 2, 1, 0)
        assert fake.calls.pop()[1] == named(0, 1, 2, 3, 4, 5)
        assert {one.reason for one in context.left_out} == {*floor}


def test_turns_of_a_context_follow_their_hit(engine: Engine) -> None:
    fake = Fake()
    repo = MemoryRepository(engine)
    repo.add_many(
        "ada",
        [NewMemory(f"turn {n}", session="s", turn=2 * n + 1, embedding=None) for n in range(4)],
    )

    context = repo.context(
        *("ada", NORTH), keywords="tea", k=1, surrounding_turns=1, rerank=Rerank(fake, top=3)
    )

    assert [(one.hit.memory.content, one.hit.moved) for one in context.packed] == [
        *(("tea 2", 2), ("turn 1", None), ("turn 2", None)),
    ]


def test_a_context_without_its_reranker_is_as_it_would_be(either: MemoryRepository) -> None:
    moment = at_one_moment(either)
    context = either.context("ada", **ASKED, k=3, rerank=raises, **moment)

    assert (context.text, context.reranked) == (
        either.context("ada", **ASKED, k=3, **moment).text,
        False,
    )
    assert context.rerank_note is not None
    assert "not reranked" in context.notes[-1]
    with pytest.raises(InputError, match="rerank does not go with diversity"):
        either.context("ada", **ASKED, diversity=0.5, rerank=raises)


def test_its_number_and_the_change_of_place_are_shown(engine: Engine) -> None:
    repo = MemoryRepository(engine)
    hits = repo.search("ada", **ASKED, k=2, rerank=Rerank(Fake(), top=3))
    plain = repo.search("ada", **ASKED, k=2)
    stood = repo.search("ada", **ASKED, k=2, rerank=raises)

    assert str(hits[0]) == f"{hits[0].score:.3f} [2 +2] tea 2"
    assert ", reranked: 2" in repr(hits)
    assert ", not reranked: the reranker failed: ValueError" in repr(stood)
    assert "reranked" in str(hits._repr_html_())
    assert "2 +2" in str(hits._repr_html_())
    assert "not reranked" in str(stood._repr_html_())
    assert "rerank" not in repr(plain) + str(plain._repr_html_()) + str(plain) + str(
        plain[0].record()
    )
    assert hits[0].record()["rerank_score"] == 2
    assert hits[0].record()["moved"] == 2
    assert "reranked" in str(repo.context("ada", **ASKED, rerank=Fake())._repr_html_())


def test_the_log_and_its_time(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "pgrecall")
    MemoryRepository(engine).search("ada", **ASKED, rerank=Fake())

    facts = caplog.records[-1].pgrecall  # type: ignore[attr-defined]
    assert 0 < facts["reranking_ms"] < facts["duration_ms"]
