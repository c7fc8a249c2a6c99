"""Months told in one go and in order: the same memories, and the same answers each month."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

import numpy as np
import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory, profiles
from pgrecall.ranking.hits import Strategy
from tests.conftest import DIMENSIONS
from tests.integration.support import NORTH, NOW, at, before, sql

MONTHS = 4
MONTH = timedelta(days=30)
START = NOW - MONTHS * MONTH
A_MONTH = 15
WORDS = ["tea", "door", "code", "ship", "dog", "garden", "train", "letter", "doctor", "music"]
QUESTION = "the door code and the tea"
K = 3
STRATEGIES: tuple[Strategy, ...] = ("exact", "index")
IN_ONE_GO, IN_ORDER = "in one go", "in order"

Answer = list[tuple[UUID, float]]


def end(month: int) -> datetime:
    """Of the month of this number, counted from 0."""
    return START + (month + 1) * MONTH


def memories(month: int) -> list[NewMemory]:
    """Those of one month, in which every signal varies."""
    rng = np.random.default_rng([11, month])
    return [
        NewMemory(
            f"{month} {number}: {' '.join(rng.choice(WORDS, 3))}",
            id=uuid5(NAMESPACE_OID, f"{month} {number}"),
            embedding=rng.normal(size=DIMENSIONS).tolist(),
            usefulness=rng.uniform(),
            importance=rng.uniform(),
            confidence=rng.uniform(),
            trust=rng.uniform(0.2, 1),
            trust_curve=("exponential", "linear", "hyperbolic")[number % 3],
            trust_half_life_hours=float(rng.uniform(100, 3_000)),
            tier=("short", "medium", "long")[number % 3],
            entities=rng.choice(WORDS, 2, replace=False).tolist(),
            created_at=end(month) - rng.uniform() * MONTH,
            expires_at=None,
        )
        for number in range(A_MONTH)
    ]


def uses() -> list[tuple[UUID, datetime]]:
    """Every other memory is used once, some time later."""
    rng = np.random.default_rng(12)
    every = [one for month in range(MONTHS) for one in memories(month)]
    found = []
    for one in every[::2]:
        assert one.id is not None
        assert isinstance(one.created_at, datetime)
        found.append((one.id, one.created_at + rng.uniform() * (NOW - one.created_at)))
    return found


class Year:
    """One owner, told some months in one way, and asked at the end of each month."""

    def __init__(self, engine: Engine, agent: str) -> None:
        self.engine, self.agent = engine, agent
        self.repo = MemoryRepository(engine)
        self.answers: dict[tuple[Any, ...], Answer] = {}

    def tell(self, months: Sequence[int]) -> None:
        self.repo.add_many(self.agent, [one for month in months for one in memories(month)])
        told = [(i, t) for i, t in uses() if end(months[0] - 1) < t <= end(months[-1])]
        # Without counts: those are of now, whatever moment is asked about.
        sql(
            self.engine,
            "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, last_accessed_at) "
            "SELECT :agent, * FROM unnest(CAST(:ids AS uuid[]), CAST(:moments AS timestamptz[]))",
            agent=self.agent,
            ids=[i for i, _ in told],
            moments=[t for _, t in told],
        )

    def ask(self, month: int) -> None:
        self.repo.rank_indexes.build(agent_id=self.agent, at_least=1, as_of=end(month))
        for name, strategy in product(profiles.BUILT_IN, STRATEGIES):
            asked: dict[str, Any] = {"profile": name, "as_of": end(month), "strategy": strategy}
            hits = self.repo.search(
                self.agent,
                NORTH,
                k=K,
                query_text=QUESTION,
                query_entities=WORDS,
                touch=False,
                **asked,
            )
            recalled = sql(
                self.engine,
                "SELECT id, score FROM pgrecall.recall(:agent, CAST(:query AS vector), k => :k, "
                "query_text => :text, query_entities => :entities, profile => :profile, "
                "as_of => :as_of, strategy => :strategy)",
                agent=self.agent,
                query=str(NORTH),
                k=K,
                text=QUESTION,
                entities=WORDS,
                **asked,
            )
            answer = [(hit.memory.id, hit.score) for hit in hits]
            assert len(answer) == K
            self.answers[name, strategy, month] = answer
            self.answers[name, strategy, month, "psql"] = [(i, score) for i, score in recalled]
            if month == MONTHS - 1:
                assert hits.strategy == strategy


@pytest.fixture(scope="module")
def years(shared_engine: Engine) -> Iterator[dict[str, Year]]:
    at_once, by_month = Year(shared_engine, IN_ONE_GO), Year(shared_engine, IN_ORDER)
    at_once.tell(range(MONTHS))
    for month in range(MONTHS):
        by_month.tell([month])
        by_month.ask(month)
        at_once.ask(month)
    yield {IN_ONE_GO: at_once, IN_ORDER: by_month}
    for year in (at_once, by_month):
        year.repo.rank_indexes.drop(year.agent)


def test_the_answers_of_every_month_are_the_same_in_one_go_and_in_order(
    years: dict[str, Year],
) -> None:
    at_once, in_order = years[IN_ONE_GO].answers, years[IN_ORDER].answers
    assert at_once.keys() == in_order.keys()
    for asked, answer in at_once.items():
        assert answer == in_order[asked], asked


def test_an_index_answers_at_every_month_as_without_it(years: dict[str, Year]) -> None:
    answers = years[IN_ONE_GO].answers
    for profile, month in product(profiles.BUILT_IN, range(MONTHS)):
        exact, index = (dict(answers[profile, s, month]) for s in STRATEGIES)
        assert index == pytest.approx(exact, abs=1e-12), (profile, month)


# What is said again


def history() -> list[tuple[datetime, NewMemory]]:
    """Months of notes, oldest first, in which a third say what an earlier one said."""
    rng = np.random.default_rng(13)
    moments = sorted(START + rng.uniform() * MONTHS * MONTH for _ in range(60))
    texts: list[str] = []
    for number in range(60):
        texts.append(texts[int(rng.integers(number))] if number % 3 == 2 else f"note {number}")
    several = enumerate(zip(moments, texts, strict=True))
    return [
        (
            moment,
            NewMemory(
                text,
                id=uuid5(NAMESPACE_OID, f"note {number}"),
                embedding=at(float(text.split()[1])),
                trust=0.8,
                created_at=moment,
            ),
        )
        for number, (moment, text) in several
    ]


def told_in_psql(engine: Engine, agent: str) -> None:
    with engine.begin() as connection:
        for _, one in history():
            connection.exec_driver_sql(
                "SELECT * FROM pgrecall.remember(%(agent)s, %(content)s, "
                "%(embedding)s::text::vector, id => %(id)s, trust => 0.8, "
                "created_at => %(created_at)s)",
                {
                    "agent": agent,
                    "content": one.content,
                    "embedding": str(one.embedding),
                    "id": one.id,
                    "created_at": one.created_at,
                },
            )


def state(engine: Engine, agent: str) -> list[tuple[Any, ...]]:
    """All that is known of its memories, but whose they are, when that was told, and tokens, which
    psql leaves to be estimated."""
    return sql(
        engine,
        "SELECT to_jsonb(r) - '{agent_id,inserted_at,updated_at,expires_at,tokens}'::text[] "
        "FROM pgrecall.memory_records r WHERE agent_id = :agent ORDER BY id",
        agent=agent,
    )


def test_a_history_is_the_same_however_it_is_told(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    shared_repo.add_many(agent, [one for _, one in history()])
    for month in range(MONTHS):
        told = [one for moment, one in history() if end(month - 1) < moment <= end(month)]
        shared_repo.add_many(f"{agent} by month", told)
    told_in_psql(shared_engine, f"{agent} in psql")

    at_once = state(shared_engine, agent)
    assert len(at_once) == 40
    assert state(shared_engine, f"{agent} by month") == at_once
    assert state(shared_engine, f"{agent} in psql") == at_once
    # What is said again was accessed when it was last said.
    said: dict[str, list[datetime]] = {}
    for moment, one in history():
        said.setdefault(one.content, []).append(moment)
    hits = shared_repo.search(agent, None, k=100, touch=False)
    for hit in hits:
        memory, (first, *again) = hit.memory, said.pop(hit.memory.content)
        assert (memory.created_at, memory.retrieval_count) == (first, len(again))
        assert memory.last_accessed_at == (again[-1] if again else None)
    assert not said
    # Told late, it does not move the clock back.
    [known, *_] = [hit.memory for hit in hits if hit.memory.last_accessed_at]
    late = NewMemory(known.content, embedding=NORTH, created_at=known.created_at)
    after = shared_repo.get(agent, shared_repo.add(agent, late))
    assert after is not None
    assert after.retrieval_count == known.retrieval_count + 1
    assert after.last_accessed_at == known.last_accessed_at


def test_an_index_sees_what_was_said_again_in_the_past_since_its_build(
    shared_repo: MemoryRepository, agent: str
) -> None:
    now = datetime.now(UTC)
    several = [("old", 0.5, before(999)), ("new", 0.1, now)]
    several += [(f"{number}", 0.6, before(300)) for number in range(200)]
    shared_repo.add_many(
        agent,
        [NewMemory(t, embedding=NORTH, importance=i, created_at=at_) for t, i, at_ in several],
    )
    [built] = shared_repo.rank_indexes.build(agent_id=agent, at_least=1)
    again = NewMemory("old", embedding=NORTH, created_at=now - timedelta(days=2))
    shared_repo.add(agent, again)

    [hit] = found = shared_repo.search(
        agent, NORTH, k=1, profile="last_access", strategy="index", touch=False
    )
    assert (found.strategy, hit.memory.content) == ("index", "old")
    assert hit.memory.last_accessed_at is not None
    assert hit.memory.last_accessed_at < built.as_of
