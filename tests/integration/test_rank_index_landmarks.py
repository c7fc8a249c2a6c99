"""Groups of memories that a walk through the graph misses, and the landmarks that show them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, text

from pgrecall import MemoryRepository, NewMemory
from pgrecall.rank_index.space import SIGNAL_AXES
from tests.conftest import DIMENSIONS
from tests.integration.rank_indexes import build

pytestmark = pytest.mark.hnsw

TOPICS = np.eye(DIMENSIONS)
"""That have nothing in common."""
EACH = 250
CANDIDATES = 12
ALWAYS, NEVER = 2.0, None
"""Likenesses: when a walk asks the landmarks."""
NEAR = """
    SELECT memory_id
      FROM pgrecall.rank_indexes, pgrecall.near_positions(
        :relation, pgrecall.short_direction(axes, :query), :candidates, :likeness)"""
WORDED = """
    SELECT memory_id FROM pgrecall.rank_indexes, pgrecall.worded_candidates(
        'agent', :relation, pgrecall.short_direction(axes, :query), :candidates, :candidates, 0.2,
        '{}', '{}', '{}', 0, 1, 2000,
        :likeness)"""
USED = """
    SELECT memory_id
      FROM pgrecall.rank_indexes, pgrecall.near_used(
        :relation, pgrecall.short_direction(axes, :query), :candidates, CAST(:known AS uuid[]))"""
SCORED = """
    SELECT memory_id, -(position <#> pgrecall.short_direction(axes, :query)) AS score
      FROM pgrecall.rank_indexes, pgrecall.{} ORDER BY memory_id"""


@dataclass(frozen=True)
class Indexed:
    """One rank index, seen within a transaction that is rolled back."""

    connection: Connection

    @property
    def relation(self) -> str:
        [[relation]] = self.sql("SELECT relation FROM pgrecall.rank_indexes")
        return str(relation)

    def sql(self, statement: str, **parameters: Any) -> list[Any]:
        result = self.connection.execute(text(statement), parameters)
        return list(result) if result.returns_rows else []

    def near(self, query: str, how: str = NEAR, **asked: Any) -> list[UUID]:
        """CANDIDATES of them, after asking the landmarks, unless `asked` says otherwise."""
        usual = {"candidates": CANDIDATES, "likeness": ALWAYS}
        found = self.sql(how, relation=self.relation, query=query, **usual | asked)
        return [memory_id for [memory_id] in found]

    def scores(self, query: str) -> dict[UUID, float]:
        """Of every position, the largest first."""
        found = dict(self.sql(SCORED.format(self.relation), query=query))
        return {id_: found[id_] for id_ in sorted(found, key=lambda id_: -found[id_])}

    def delete(self, ids: list[UUID]) -> None:
        """From the table alone, and for this transaction: the graph goes on naming them."""
        self.sql(f"DELETE FROM pgrecall.{self.relation} WHERE memory_id = ANY (:ids)", ids=ids)


def query(meaning: NDArray[np.float64]) -> str:
    return str([*map(float, meaning), *[0.0] * SIGNAL_AXES])


def texts() -> list[tuple[str, NDArray[np.float64]]]:
    random = np.random.default_rng(3)
    return [
        (f"number n{number}z of topic t{place}q", topic + 0.1 * random.standard_normal(DIMENSIONS))
        for place, topic in enumerate(TOPICS)
        for number in range(EACH)
    ]


@pytest.fixture(scope="module")
def sound_engine(module_engine: Engine) -> Engine:
    """Memories of every topic and their rank index. Their ids are the same each time, and so are
    the landmarks, which these decide."""
    repo = MemoryRepository(module_engine)
    new = [
        NewMemory(text, id=UUID(int=number), embedding=vector.tolist())
        for number, (text, vector) in enumerate(texts())
    ]
    repo.add_many("agent", new)
    build(repo)
    return module_engine


@pytest.fixture
def sound(sound_engine: Engine) -> Iterator[Indexed]:
    with sound_engine.connect() as connection:
        yield Indexed(connection)
        connection.rollback()


def test_what_no_walk_gets_to_is_found_by_comparing_all(sound: Indexed) -> None:
    """Walks meet what was deleted, and bring as many fewer."""
    asked = query(TOPICS[0] + 0.2)
    nearest = list(sound.scores(asked))
    sound.delete(nearest[:1_100])

    for how in (NEAR, WORDED):
        for candidates in (1, 12, 300):
            assert sound.near(asked, how, candidates=candidates, likeness=NEVER) == []
            assert sound.near(asked, how, candidates=candidates) == nearest[1_100:][:candidates]


def test_a_walk_to_what_was_used_goes_on_if_it_missed_what_is_known(sound: Indexed) -> None:
    """Here, too, it meets what was deleted."""
    asked = query(TOPICS[0] + 0.2)
    nearest = list(sound.scores(asked))
    sound.delete(nearest[:1_100])

    for candidates in (1, 12, 300):
        left = nearest[1_100:]
        for known, expected in (([], []), (nearest[:1], []), (left[-1:], left[:candidates])):
            found = sound.near(asked, USED, candidates=candidates, known=known)
            assert found == expected


def test_the_session_keeps_its_settings(sound: Indexed) -> None:
    """Also after all positions were compared."""
    asked = query(TOPICS[0] + 0.2)
    sound.delete(list(sound.scores(asked))[:1_100])
    before = {"hnsw.ef_search": "77", "enable_indexscan": "off", "enable_seqscan": "on"}
    for name, value in before.items():
        sound.sql(f"SET {name} = {value}")
    known = [*sound.scores(asked)][:1]
    for statement in (NEAR, WORDED, USED):
        assert len(sound.near(asked, statement, candidates=4, known=known)) == 4
    assert {name: sound.sql(f"SHOW {name}")[0][0] for name in before} == before
