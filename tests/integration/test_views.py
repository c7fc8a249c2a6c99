"""The views: memory_signals, whose values test_profiles_agree compares; team_memories; and
telling_terms, the words that are typical of an owner's memories."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from pgrecall.core.resources import sql_folder
from tests.integration.owner import north
from tests.integration.support import NORTH, sql

FUNCTIONS = {path.stem for path in (sql_folder() / "signals").glob("*.sql")}


@pytest.fixture(scope="module")
def connection(module_url: str) -> Iterator[psycopg.Connection]:
    path = "-csearch_path=pgrecall,public"
    with psycopg.connect(module_url, autocommit=True, options=path) as made:
        yield made


def test_rows_of_an_owner_are_reached_by_keys_and_every_signal_is_written_out(
    connection: psycopg.Connection,
) -> None:
    connection.execute(
        "INSERT INTO agent_memories (agent_id, id, content) "
        "SELECT 'agent ' || n % 100, gen_random_uuid(), 'memory ' || n "
        "FROM generate_series(1, 3000) n"
    )
    connection.execute(
        "INSERT INTO memory_usage (agent_id, memory_id, retrieval_count, last_accessed_at) "
        "SELECT agent_id, id, 3, now() FROM agent_memories"
    )
    connection.execute("ANALYZE")
    query = "SELECT * FROM memory_signals WHERE agent_id = 'agent 7'"
    lines = connection.execute(f"EXPLAIN (VERBOSE, COSTS OFF) {query}".encode()).fetchall()
    plan = "\n".join(line for (line,) in lines)

    assert "pk_agent_memories" in plan or "ix_agent_memories_" in plan
    assert "pk_memory_usage" in plan
    assert "Seq Scan" not in plan
    called = set(re.findall(r"\b(\w+)\(", plan))
    assert "date_part" in called
    assert FUNCTIONS
    assert called & FUNCTIONS == set()


def test_team_memories_shows_those_of_teams_by_their_id(connection: psycopg.Connection) -> None:
    for owner in ("red", "team:red", "team:team"):
        connection.execute(
            "INSERT INTO agent_memories (agent_id, id, content) "
            "VALUES (%(owner)s, gen_random_uuid(), 'of ' || %(owner)s)",
            {"owner": owner},
        )

    shown = connection.execute(
        "SELECT team_id, agent_id, content FROM team_memories ORDER BY team_id"
    ).fetchall()

    assert shown == [("red", "team:red", "of team:red"), ("team", "team:team", "of team:team")]


# telling_terms


EXACT = 1e-12
WORDS = ("tea", "milk", "rain", "fog", "tram", "port", "sardin", "tower")
"""As English leaves them."""
STOP = ("the", "of", "and")
QUERY = (
    "SELECT term, memories, weight, telling FROM pgrecall.telling_terms "
    "WHERE agent_id = :owner ORDER BY telling DESC, term"
)
Told = Sequence[tuple[str, int, float, float]]


@pytest.fixture(scope="module")
def repo(module_engine: Engine) -> MemoryRepository:
    return MemoryRepository(module_engine)


def memories(texts: Sequence[str]) -> list[NewMemory]:
    return [north(text) for text in texts]


def texts_of(seed: str, count: int) -> list[str]:
    dice = random.Random(seed)
    weights = range(1, len(WORDS) + 1)
    return [
        f"{' '.join([*dice.choices(WORDS, weights, k=dice.randint(0, 4)), dice.choice(STOP)])} x{n}"
        for n in range(count)
    ]


def expected(texts: Sequence[str]) -> Told:
    """Term, memories, weight, telling: in Python alone."""
    counts = Counter(word for text in texts for word in set(text.split()) - set(STOP))
    total = len(texts)
    found = []
    for term, n in counts.items():
        weight = math.log(1 + (total - n + 0.5) / (n + 0.5))
        found.append((term, n, weight, n / total * weight))
    return sorted(found, key=lambda one: (-round(one[3], 12), one[0]))


def assert_told(found: Any, wanted: Told) -> None:
    assert [one[:2] for one in found] == [one[:2] for one in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one[2:] == pytest.approx(other[2:], abs=EXACT)


def test_terms_are_counted_weighed_and_ordered(
    repo: MemoryRepository, agent: str, module_engine: Engine
) -> None:
    for size in (1, 2, 3, 80):
        texts = texts_of(f"{agent} {size}", size)
        repo.add_many(f"{agent} {size}", memories(texts))
        assert_told(sql(module_engine, QUERY, owner=f"{agent} {size}"), expected(texts))


def test_memories_of_every_status_count_and_deleted_ones_do_not(
    repo: MemoryRepository, agent: str, module_engine: Engine
) -> None:
    texts = [f"tea w{n}" for n in range(6)]
    ids = repo.add_many(agent, memories(texts))
    repo.invalidate(agent, ids[0])
    repo.supersede(agent, ids[1], north("milk"))
    repo.delete(agent, [ids[2]])
    repo.update(agent, ids[3], content="fog w3", embedding=NORTH)

    left = [texts[0], texts[1], "fog w3", texts[4], texts[5], "milk"]
    assert_told(sql(module_engine, QUERY, owner=agent), expected(left))


def test_an_agent_and_a_team_of_one_name_and_others_are_kept_apart(
    repo: MemoryRepository, agent: str, module_engine: Engine
) -> None:
    """And the plan of the view reaches the tables by the owner."""
    own, theirs = texts_of("own", 20), texts_of("theirs", 35)
    repo.add_many(agent, memories(own))
    repo.teams.add_many(agent, memories(theirs))
    repo.add_many(f"{agent}x", memories(texts_of("other", 15)))

    for owner, texts in ((agent, own), (f"team:{agent}", theirs)):
        assert_told(sql(module_engine, QUERY, owner=owner), expected(texts))
    plan = "\n".join(row[0] for row in sql(module_engine, f"EXPLAIN {QUERY}", owner=agent))
    assert plan.count(f"agent_id = '{agent}'") >= 2
