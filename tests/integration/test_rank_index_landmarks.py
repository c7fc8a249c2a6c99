"""Groups of memories that a walk through the graph misses, and the landmarks that show them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, text

from pgrecall import MemoryRepository, NewMemory
from pgrecall.rank_index.space import AXES, SIGNAL_AXES
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import Importance, Similarity
from tests.conftest import DIMENSIONS
from tests.integration.rank_indexes import build
from tests.integration.support import sql

pytestmark = pytest.mark.hnsw

TOPICS = np.eye(DIMENSIONS)
"""That have nothing in common."""
EACH = 250
CANDIDATES = 12
CLEARLY, HARDLY = 1.25, 1 / 8
"""How much more than all that was met a landmark has to be like the query, and the share of the
best score that its likeness has to be."""
ALWAYS, NEVER = 2.0, None
"""Likenesses: when a walk asks the landmarks."""
LEANING = Profile("similarity alone", {Similarity(): 1.0})
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
MISSED = """
    SELECT pgrecall.has_missed(
        :relation, pgrecall.meaning(pgrecall.short_direction(axes, :query)), 0.99,
        CAST(:met AS float8[]), 1) FROM pgrecall.rank_indexes"""
LANDMARK = """
    SELECT pgrecall.nearest_landmark(
        :relation, pgrecall.meaning(pgrecall.short_direction(axes, :query)))
      FROM pgrecall.rank_indexes"""


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

    def landmark(self, query: str) -> float | None:
        """The inner product of the nearest with what the query asks of embeddings."""
        [[nearest]] = self.sql(LANDMARK, relation=self.relation, query=query)
        return None if nearest is None else float(nearest)

    def delete(self, ids: list[UUID]) -> None:
        """From the table alone, and for this transaction: the graph goes on naming them."""
        self.sql(f"DELETE FROM pgrecall.{self.relation} WHERE memory_id = ANY (:ids)", ids=ids)


def query(meaning: NDArray[np.float64], signals: float = 0.0) -> str:
    return str([*map(float, meaning), *[signals] * (SIGNAL_AXES - 1), 0.0])


def texts() -> list[tuple[str, NDArray[np.float64]]]:
    random = np.random.default_rng(3)
    return [
        (f"number n{number}z of topic t{place}q", topic + 0.1 * random.standard_normal(DIMENSIONS))
        for place, topic in enumerate(TOPICS)
        for number in range(EACH)
    ]


def indexed(repo: MemoryRepository, more: str = "", **options: Any) -> None:
    """Memories of every topic, with `more` words in each text, and the rank index of them.

    Their ids are the same each time, and so are the landmarks, which these decide.
    """
    new = [
        NewMemory(text + more, id=UUID(int=number), embedding=vector.tolist())
        for number, (text, vector) in enumerate(texts())
    ]
    repo.add_many("agent", new)
    build(repo, **options)


@contextmanager
def looking(engine: Engine) -> Iterator[Indexed]:
    with engine.connect() as connection:
        yield Indexed(connection)
        connection.rollback()


@pytest.fixture(scope="module")
def sound_engine(module_engine: Engine) -> Engine:
    indexed(MemoryRepository(module_engine))
    return module_engine


@pytest.fixture
def sound(sound_engine: Engine) -> Iterator[Indexed]:
    with looking(sound_engine) as found:
        yield found


def test_a_walk_ends_where_something_like_the_nearest_landmark_was_met(
    repo: MemoryRepository, engine: Engine
) -> None:
    """In a graph with so few links that walks get lost in it."""
    indexed(repo, m=2, ef_construction=4)
    with looking(engine) as lost:
        for topic in TOPICS:
            scores = lost.scores(query(topic))
            nearest = lost.landmark(query(topic))
            assert nearest is not None
            for how in (NEAR, WORDED):
                met = max(scores[id_] for id_ in lost.near(query(topic), how, candidates=1))
                assert met * CLEARLY >= nearest


def test_what_no_walk_gets_to_is_found_by_comparing_all(sound: Indexed) -> None:
    """Walks meet what was deleted, and bring as many fewer."""
    asked = query(TOPICS[0] + 0.2)
    nearest = list(sound.scores(asked))
    sound.delete(nearest[:1_100])

    for how in (NEAR, WORDED):
        for candidates in (1, 12, 300):
            assert sound.near(asked, how, candidates=candidates, likeness=NEVER) == []
            assert sound.near(asked, how, candidates=candidates) == nearest[1_100:][:candidates]


def test_a_walk_that_met_as_much_as_usual_goes_no_further(sound_engine: Engine) -> None:
    """What it met is deleted but for the last, so that a walk that goes no further brings that."""
    asked = query(TOPICS[0] + 0.2)
    for how in (NEAR, WORDED):
        with looking(sound_engine) as sound:
            *gone, last = sound.near(asked, how, likeness=NEVER)
            sound.delete(gone)
            met = sound.scores(asked)[last] / np.linalg.norm(TOPICS[0] + 0.2)
            assert sound.near(asked, how, likeness=0.99 * float(met)) == [last]


@pytest.mark.parametrize(
    ("met", "missed"),
    [
        ([1.0] * 7 + [0.1] * 5, True),
        ([1.0] * 8 + [0.1] * 4, False),
        ([1.0] * 7 + [0.45], False),  # a landmark is more similar, but not clearly
        ([1.0, 0.1], True),
        ([1.0], False),
        ([], True),
    ],
)
def test_a_walk_that_met_fewer_than_eight_of_a_group_may_have_missed_the_others(
    sound: Indexed, met: list[float], missed: bool
) -> None:
    """They are less than half as like the query."""
    asked = query(TOPICS[0])
    assert sound.landmark(asked) == pytest.approx(1.0, abs=0.02)
    [[found]] = sound.sql(MISSED, relation=sound.relation, query=asked, met=met)
    assert found is missed


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


def test_a_walk_to_what_was_used_ends_where_it_met_what_is_known_or_as_good(sound: Indexed) -> None:
    asked = query(TOPICS[0] + 0.2)
    walked = sound.near(asked, USED, known=[])
    rest = list(sound.scores(asked))[CANDIDATES:]
    sound.delete(walked[:3])

    for known in ([walked[-1], walked[0]], [walked[-1], *rest], rest):
        assert sound.near(asked, USED, known=known) == walked[3:]


def test_landmarks_are_one_in_25_and_at_most_two_thousand(
    repo: MemoryRepository, engine: Engine
) -> None:
    """The first pages, by the size of the table and the rows that it is known to have."""
    indexed(repo, more="".join(f" w{word}z" for word in range(40)), m=4, ef_construction=8)
    with looking(engine) as found:
        named = f"pgrecall.{found.relation}"
        found.sql(f"ALTER TABLE {named} SET (autovacuum_enabled = off)")
        [[size]] = found.sql(f"SELECT pg_relation_size('{named}'::regclass) / 8192")
        assert size > 100
        known = "UPDATE pg_class SET relpages = 0, reltuples = :rows WHERE relname = :name"
        for rows, share in ((2_000, 0.04), (-1, 0.04), (0, 0.04), (50_000, 0.04), (100_000, 0.02)):
            found.sql(known, rows=rows, name=found.relation)
            [[expected, all_of_them]] = found.sql(
                f"SELECT max(score) FILTER (WHERE page < {math.ceil(size * share)}), max(score)"
                f"  FROM (SELECT -(position <#> pgrecall.short_direction(axes, :query)) AS score,"
                f"               (CAST(CAST(p.ctid AS text) AS point))[0] AS page"
                f"          FROM {named} p, pgrecall.rank_indexes) e",
                query=query(TOPICS[2]),
            )
            assert expected < all_of_them
            assert found.landmark(query(TOPICS[2], signals=0.7)) == pytest.approx(expected)


def test_a_build_notes_how_alike_is_usual_and_one_without_it_is_searched(sound: Indexed) -> None:
    """Nearly as like as a memory of the same topic, of which some are landmarks."""
    [[likeness]] = sound.sql("SELECT likeness FROM pgrecall.rank_indexes")
    assert 0.9 < likeness * CLEARLY <= 1.0 + 1e-3
    sound.sql("UPDATE pgrecall.rank_indexes SET likeness = NULL")
    repo = MemoryRepository(sound.connection)
    hits = repo.search("agent", TOPICS[0].tolist(), strategy="index", touch=False)
    assert hits.strategy == "index"


def test_the_largest_come_first_and_nothing_of_an_empty_table(sound: Indexed) -> None:
    for candidates in (1, 5, 60):
        scores = sound.scores(query(TOPICS[1]))
        found = [scores[id_] for id_ in sound.near(query(TOPICS[1]), candidates=candidates)]
        assert found == sorted(found, reverse=True)
        assert len(found) == candidates
    meaningless = query(np.zeros(DIMENSIONS), signals=1.0)
    assert sound.landmark(meaningless) is None
    assert len(sound.near(meaningless)) == CANDIDATES
    sound.sql(f"DELETE FROM pgrecall.{sound.relation}")
    assert sound.landmark(query(TOPICS[0])) is None
    assert sound.near(query(TOPICS[0])) == []


def test_where_meaning_hardly_counts_a_walk_goes_no_further(
    repo: MemoryRepository, engine: Engine
) -> None:
    """Half of what it met is deleted, so that a walk that goes no further brings half."""
    repo.add_many(
        "agent",
        [
            NewMemory(text, embedding=vector.tolist(), importance=float(number >= EACH))
            for number, (text, vector) in enumerate(texts())
        ],
    )
    build(repo)

    def asked(weight: float) -> str:
        signals = [1.5 * (axis.what == Importance()) for axis in AXES]
        return str([*(weight * TOPICS[0]).tolist(), *signals, 0.0])

    for how in (NEAR, WORDED):
        for weight, counts in ((0.05, False), (0.3, True)):
            with looking(engine) as found:
                walked = found.near(asked(weight), how, likeness=NEVER)
                found.delete(walked[::2])
                nearest = found.landmark(asked(weight))
                best = max(found.scores(asked(weight)).values())
                assert nearest is not None
                assert (nearest > HARDLY * best) == counts
                assert found.near(asked(weight), how, likeness=NEVER) == walked[1::2]
                again = found.near(asked(weight), how)
                assert len(again) == CANDIDATES if counts else again == walked[1::2]


def test_a_search_finds_every_group(repo: MemoryRepository) -> None:
    indexed(repo, m=6, ef_construction=12)
    through_index = 0
    for place, topic in enumerate(TOPICS):
        hits = repo.search(
            "agent", topic.tolist(), profile=LEANING, k=1, strategy="index", touch=False
        )
        through_index += hits.strategy == "index"
        assert hits[0].memory.content.endswith(f"of topic t{place}q")
    # A graph as poor as this may hand on too little, and then every memory is scored.
    assert through_index > len(TOPICS) / 2


def test_positions_stay_in_their_rows_while_these_fit_a_page(
    repo: MemoryRepository, engine: Engine
) -> None:
    stored_apart = """
        SELECT pg_relation_size(c.reltoastrelid) > 0
          FROM pg_class c JOIN pgrecall.rank_indexes r ON r.relation = c.relname"""
    for words, apart in ((600, False), (3_000, True)):
        long = " ".join(f"w{word}z" for word in range(words))
        repo.add("agent", NewMemory(long, embedding=[1.0] * DIMENSIONS))
        index = build(repo)
        assert sql(engine, stored_apart) == [(apart,)]
    assert index.memories == 2
    with looking(engine) as found:
        assert len(found.near(query(TOPICS[0]))) == 2


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
