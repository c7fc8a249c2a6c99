"""`repository.matched` and `profile.score` in statements of a backend's own."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from sqlalchemy import (
    Column,
    Engine,
    Integer,
    MetaData,
    Select,
    Table,
    Uuid,
    create_engine,
    event,
    func,
    select,
    text,
)
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.orm import Session

from pgrecall import (
    AsyncMemoryRepository,
    MemoryRepository,
    NewMemory,
    migrate,
    profiles,
)
from pgrecall.errors import InputError, InvalidProfile
from tests.conftest import DIMENSIONS
from tests.integration.support import NORTH, at, before

NOW = before(0)
orders = Table("orders", MetaData(), Column("memory_id", Uuid), Column("amount", Integer))


def memories(number: int) -> list[NewMemory]:
    dice = random.Random("subquery")
    words = ("tea", "milk", "Ada", "rain", "harbour")
    return [
        NewMemory(
            f"{' '.join(dice.choices(words, k=4))} {place}",
            embedding=at(dice.uniform(0, 180)) if dice.random() < 0.9 else None,
            entities=dice.sample(["Ada", "Bob"], dice.randint(0, 2)),
            subject=dice.choice([None, "Ada"]),
            importance=dice.random(),
            tags=[dice.choice(["a", "b"])],
            metadata={"note": "10:30 is 100%"},
            created_at=before(dice.uniform(0, 90)),
        )
        for place in range(number)
    ]


@pytest.fixture
def filled(repo: MemoryRepository) -> MemoryRepository:
    ids = repo.add_many("ada", memories(60))
    repo.teams.add_many("red", memories(20))
    repo.touch("ada", ids[:20])
    repo.invalidate("ada", ids[50])
    return repo


def ranked(m: Any, profile: Any, k: int = 10) -> Select[Any]:
    score = profile.score(m).label("score")
    return select(m.c.id, score).order_by(score.desc(), m.c.id).limit(k)


ASKED: dict[str, dict[str, Any]] = {
    "a vector": {"query": NORTH},
    "words and names": {"query": NORTH, "keywords": "tea with Ada at the harbour"},
    "stop words": {"query": NORTH, "keywords": "the"},
    "nothing": {"query": None},
    "a period": {"query": None, "keywords": "tea", "period": (before(30), before(10))},
    "teams": {"query": NORTH, "keywords": "milk", "teams": ["red"]},
    "a filter": {
        "query": NORTH,
        "filter": {
            "tags": "a",
            "metadata.note": {"$like": "10:%"},
            "$or": [{"retrieval_count": {"$gte": 1}}, {"importance": {"$gt": 0.2}}],
        },
    },
    "entities": {"query": NORTH, "entities": ["Ada", "Bob"]},
    "inactive": {"query": NORTH, "include_inactive": True},
    "as of": {"query": NORTH, "as_of": before(20)},
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_a_select_of_ones_own_ranks_as_a_search(
    filled: MemoryRepository, engine: Engine, asked: dict[str, Any]
) -> None:
    asked = {"as_of": before(-1), **asked}
    for profile in profiles.BUILT_IN.values():
        hits = filled.search("ada", **asked, profile=profile, touch=False)
        m = filled.matched("ada", **asked, profile=profile)
        with engine.connect() as connection:
            rows = connection.execute(ranked(m, profile)).all()

        assert [row.id for row in rows] == [hit.memory.id for hit in hits]
        assert [row.score for row in rows] == pytest.approx([hit.score for hit in hits], abs=1e-9)


def test_memories_are_joined_with_tables_of_the_application(
    filled: MemoryRepository, engine: Engine
) -> None:
    """And counted, grouped and filtered, twice in one statement, with both profiles' weights."""
    m = filled.matched("ada", NORTH, profile="five_factor")
    other = filled.matched("ada", at(90), filter=text("content LIKE 'tea%:' OR true"))
    by, best = profiles.five_factor, profiles.half_life
    with Session(engine) as session:
        orders.create(session.connection())
        ids = session.scalars(select(m.c.id).order_by(m.c.id).limit(5)).all()
        session.execute(orders.insert(), [{"memory_id": id_, "amount": 3} for id_ in ids])
        joined = (
            select(orders.c.memory_id, m.c.content, by.score(m).label("score"))
            .join(m, m.c.id == orders.c.memory_id)
            .order_by(by.score(m).desc(), m.c.id)
        )
        rows = session.execute(joined).all()
        assert {row.memory_id for row in rows} == {*ids}
        assert rows == sorted(rows, key=lambda row: (-row.score, row.memory_id))

        first, second = m.alias("first"), other.alias("second")
        both = select(func.count()).select_from(first).join(second, first.c.id == second.c.id)
        assert session.scalar(both) == 59
        total = by.score(m) + best.score(m)
        assert session.scalar(select(func.max(total))) == pytest.approx(
            max(one + two for one, two in session.execute(select(by.score(m), best.score(m))).all())
        )
        session.rollback()


def test_what_nothing_reads_is_not_joined(filled: MemoryRepository, engine: Engine) -> None:
    m = filled.matched("ada", NORTH, keywords="tea", profile="hybrid")
    with engine.connect() as connection:

        @event.listens_for(connection, "before_cursor_execute", retval=True)
        def explained(_: Any, __: Any, statement: str, values: Any, *___: Any) -> Any:
            return f"EXPLAIN {statement}", values

        def plan(statement: Select[Any]) -> str:
            rows = connection.execute(statement)
            return "\n".join(row[0] for row in rows)

        few = plan(select(m.c.id, m.c.importance))
        assert "memory_usage" not in few
        assert "keyword_shares" not in few
        assert "query_facts" not in few
        assert "keyword_shares" in plan(ranked(m, profiles.hybrid))


def test_the_asynchronous_repository_has_it_too(
    filled: MemoryRepository, async_engine: AsyncEngine
) -> None:
    async def asked() -> list[Any]:
        repository = AsyncMemoryRepository(async_engine)
        m = await repository.matched("ada", NORTH, profile="five_factor")
        async with async_engine.connect() as connection:
            found = await connection.execute(ranked(m, profiles.five_factor))
            return [row.id for row in found]

    hits = filled.search("ada", NORTH, profile="five_factor", touch=False)
    assert asyncio.run(asked()) == [hit.memory.id for hit in hits]


def test_profiles_that_mean_something_else_are_refused(filled: MemoryRepository) -> None:
    m = filled.matched("ada", NORTH, profile="five_factor")
    with pytest.raises(InvalidProfile, match="'hybrid' centers similarity"):
        profiles.hybrid.score(m)
    with pytest.raises(InvalidProfile, match="'tiered' compares names"):
        profiles.tiered.score(m)
    with pytest.raises(InputError, match="filter"):
        filled.matched("ada", NORTH, filter={"nope": 1})


def test_a_schema_of_any_name_has_its_own_functions(empty_url: str) -> None:
    schema = "order"
    migrate.upgrade(empty_url, dimensions=DIMENSIONS, schema=schema)
    own = create_engine(empty_url)
    repository = MemoryRepository(own, schema=schema)
    id_ = repository.add("ada", NewMemory("tea", embedding=NORTH))
    m = repository.matched("ada", NORTH, keywords="tea", profile="hybrid")
    with own.connect() as connection:
        assert connection.scalars(ranked(m, profiles.hybrid)).all() == [id_]
    [hit] = repository.search("ada", NORTH, keywords="tea", touch=False)
    assert hit.memory.id == id_
    own.dispose()
