"""How many candidates a search takes from a rank index: as many as its build found to do."""

from __future__ import annotations

from random import Random

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from pgrecall import MemoryRepository, NewMemory
from pgrecall.rank_index import LEVELS
from tests.conftest import DIMENSIONS
from tests.integration.support import sql

SOME = 400
NOWHERE = """(
    SELECT array_fill(0::real, ARRAY[vector_dims(position)])::halfvec::text
      FROM pgrecall.{relation} LIMIT 1)"""
"""A direction by which all positions are equal, so that the ten of a walk are any ten."""
CALIBRATED = """
    SELECT found.candidates
      FROM pgrecall.rank_indexes r, pgrecall.calibrated_candidates(
        r.relation,
        ARRAY(SELECT position::text FROM pgrecall.{relation} ORDER BY memory_id LIMIT 20) || {more},
        :hits, CAST(:levels AS integer[]), :recall, :worst) found
"""


@pytest.fixture
def indexed(repo: MemoryRepository) -> MemoryRepository:
    random = Random(8)
    repo.add_many(
        "agent",
        [
            NewMemory(f"number {n}", embedding=[random.gauss() for _ in range(DIMENSIONS)])
            for n in range(SOME)
        ],
    )
    repo.build_rank_indexes(agent_id="agent", at_least=1)
    return repo


def calibrated(
    engine: Engine,
    levels: list[int],
    *,
    hits: int = 10,
    recall: float = 0.0,
    worst: float = 0.0,
    more: str = "CAST('{}' AS text[])",
) -> int:
    [[relation]] = sql(engine, "SELECT relation FROM pgrecall.rank_indexes")
    statement = CALIBRATED.format(relation=relation, more=more.replace("{relation}", relation))
    [[level]] = sql(engine, statement, hits=hits, levels=levels, recall=recall, worst=worst)
    return int(level)


def test_a_build_notes_one_of_the_levels_and_searches_start_there(
    indexed: MemoryRepository, engine: Engine
) -> None:
    [status] = indexed.rank_indexes()
    assert status.index is not None
    assert status.index.candidates in LEVELS
    number = 2 * LEVELS[0] + 1
    sql(engine, "UPDATE pgrecall.rank_indexes SET candidates = :number", number=number)

    fresh = MemoryRepository(engine)
    query = [1.0] * DIMENSIONS
    hits = fresh.search("agent", query, profile="five_factor", strategy="index", touch=False)

    assert hits.strategy == "index"
    assert hits.candidates == number


@pytest.mark.parametrize(
    ("levels", "hits", "recall", "expected"),
    [
        ([1, 5, 10, SOME], 10, 0.5, 5),  # five of ten cannot be found among fewer than five
        ([1, 5, SOME, 999], 10, 0.51, SOME),
        ([1, 2, 4], 10, 0.99, 4),  # none does: the last
        ([999, SOME, 10], 10, 0.1, 10),  # the fewest that do, in whatever order they come
    ],
)
def test_the_fewest_candidates_that_find_enough_are_taken(
    indexed: MemoryRepository,
    engine: Engine,
    levels: list[int],
    hits: int,
    recall: float,
    expected: int,
) -> None:
    assert calibrated(engine, levels, hits=hits, recall=recall) == expected


def test_one_question_may_need_more_than_all_together(
    indexed: MemoryRepository, engine: Engine
) -> None:
    levels = [10, SOME]
    assert calibrated(engine, levels, recall=0.7, more=NOWHERE) == 10
    assert calibrated(engine, levels, recall=0.7, worst=0.5) == 10
    assert calibrated(engine, levels, recall=0.7, worst=0.5, more=NOWHERE) == SOME


def test_a_table_without_positions_needs_the_fewest(
    indexed: MemoryRepository, engine: Engine
) -> None:
    [[relation]] = sql(engine, "SELECT relation FROM pgrecall.rank_indexes")
    directions = sql(engine, f"SELECT position::text FROM pgrecall.{relation} LIMIT 2")
    sql(engine, f"DELETE FROM pgrecall.{relation}")
    [[level]] = sql(
        engine,
        "SELECT candidates FROM"
        " pgrecall.calibrated_candidates(:relation, :directions, 10, '{7, 3}', 0.99, 0.5)",
        relation=relation,
        directions=[text for [text] in directions],
    )
    assert level == 3


def test_the_session_keeps_its_settings(indexed: MemoryRepository, engine: Engine) -> None:
    names = ("enable_seqscan", "enable_indexscan", "hnsw.ef_search")
    with engine.connect() as connection:
        connection.execute(text("SET hnsw.ef_search = 77"))
        connection.execute(text("SET enable_indexscan = off"))
        MemoryRepository(connection).build_rank_indexes(agent_id="agent", at_least=1)
        found = [connection.scalar(text(f"SHOW {name}")) for name in names]
        connection.rollback()
    assert found == ["on", "off", "77"]


def test_memories_without_embeddings_need_no_more_than_the_least(repo: MemoryRepository) -> None:
    repo.add_many("agent", [NewMemory(f"number {n}", embedding=None) for n in range(5)])

    [index] = repo.build_rank_indexes(agent_id="agent", at_least=1)

    assert index.candidates == LEVELS[0]


def test_only_tables_of_rank_indexes_are_read(engine: Engine) -> None:
    with pytest.raises(DBAPIError, match="table of a rank index"):
        sql(
            engine,
            "SELECT pgrecall.calibrated_candidates('agent_memories', '{}', 1, '{1}', 1, 1)",
        )
