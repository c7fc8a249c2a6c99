"""What a build measures, with what: directions, the candidates that do, and constants that Python
and SQL both know."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import product
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from pgrecall import MemoryRepository, Profile, profiles
from pgrecall.rank_index import space
from pgrecall.rank_index.index import (
    AT_LEAST,
    EF_CONSTRUCTION,
    LARGE,
    LEVELS,
    MAX_AGE,
    MAX_BESIDE,
    M,
)
from pgrecall.rank_index.space import one_sided
from pgrecall.scoring.signals import Similarity
from tests.conftest import DIMENSIONS
from tests.integration.owner import plain
from tests.integration.rank_indexes import build, fill
from tests.migrations.asking import rows, value

pytestmark = pytest.mark.hnsw

SOME = 300
ROUNDING = 5e-3
"""Axes are stored in half precision."""
NOWHERE = """(
    SELECT array_fill(0::real, ARRAY[vector_dims(position)])::halfvec
      FROM pgrecall.{relation} LIMIT 1)"""
"""A direction by which all positions are equal, so that the ten of a walk are any ten."""
MOST, MEASURED = 50, {"five_factor": 41, "last_access": 42, "half_life": 43, "tiered": 44}
MEASURE = """
    UPDATE pgrecall.rank_indexes SET candidates = :most, candidates_by_profile = :measured"""
SOURCES = """
    SELECT pgrecall.index_sources(
               'index', '{agent}', now(), facts, pgrecall.weights_of(facts, :profile, :weights),
               CAST(:query AS vector), false, 10, '{valid,embedding}')
      FROM pgrecall.profile_info(:profile) facts"""
CALIBRATED = """
    SELECT found
      FROM (SELECT ARRAY(SELECT position FROM pgrecall.{relation} ORDER BY memory_id LIMIT 20)
                   || {more} AS directions) asked
     CROSS JOIN LATERAL (
        SELECT ARRAY(SELECT unnest(w.ids)
                       FROM unnest(asked.directions) WITH ORDINALITY d(one, place),
                            pgrecall.walk('{relation}', one, one, 10, true) w
                      ORDER BY place) AS best) exact
     CROSS JOIN LATERAL pgrecall.calibrated_candidates(
        '{relation}', asked.directions, exact.best,
        ARRAY(SELECT * FROM generate_series(1::bigint, cardinality(asked.directions))), 1,
        CAST(:levels AS integer[]), :recall, :worst) found
"""


@pytest.fixture(scope="module")
def indexed_engine(module_engine: Engine) -> Engine:
    """A database with one rank index; nothing changes it."""
    repo = MemoryRepository(module_engine)
    fill(repo, number=SOME)
    build(repo)
    return module_engine


@pytest.fixture
def connection(indexed_engine: Engine) -> Iterator[Connection]:
    """In a transaction that is rolled back."""
    with indexed_engine.connect() as made:
        yield made
        made.rollback()


@pytest.fixture
def relation(connection: Connection) -> str:
    return str(connection.scalar(text("SELECT relation FROM pgrecall.rank_indexes")))


def test_a_build_notes_one_of_the_levels_and_searches_start_there(connection: Connection) -> None:
    repo = MemoryRepository(connection)
    [status] = repo.rank_indexes.status()
    assert status.index is not None
    assert status.index.candidates in LEVELS
    assert status.index.candidates_alone in LEVELS
    measured = status.index.candidates_by_profile
    assert measured.keys() == profiles.BUILT_IN.keys() - {"hybrid", "trust_stored"}
    assert status.index.candidates == max(measured.values())
    assert len({status.index, status.index}) == 1  # it can be hashed, whatever it has

    query = [1.0] * DIMENSIONS
    hits = repo.search("agent", query, profile="five_factor", strategy="index", touch=False)

    assert (hits.strategy, hits.candidates) == ("index", measured["five_factor"])


@pytest.mark.parametrize(
    ("profile", "weights", "expected"),
    [
        *((name, None, number) for name, number in MEASURED.items()),
        ("trust", None, 2 * MOST),  # not measured by this build, and trust is only approximated
        ("five_factor", {"similarity": 0.5, "recency": 0.5}, MOST),
        (profiles.half_life.with_weights(similarity=0.5, recency=0.2, importance=0.3), None, MOST),
    ],
)
def test_a_built_in_profile_takes_as_many_candidates_as_its_questions_needed(
    connection: Connection,
    profile: Profile | str,
    weights: dict[str, float] | None,
    expected: int,
) -> None:
    connection.execute(text(MEASURE), {"most": MOST, "measured": json.dumps(MEASURED)})
    repo, query = MemoryRepository(connection), [1.0] * DIMENSIONS

    hits = repo.search(
        "agent", query, profile=profile, weights=weights, strategy="index", touch=False
    )

    assert hits.candidates == expected
    if isinstance(profile, str):
        given = json.dumps(weights) if weights else None
        asked = {"profile": profile, "weights": given, "query": str(query)}
        sources = connection.scalar(text(SOURCES), asked)
        assert sources is not None
        assert sources["candidates"] == expected


def test_the_fewest_candidates_that_find_enough_are_taken(
    connection: Connection, relation: str
) -> None:
    def calibrated(levels: list[int], recall: float, worst: float = 0.0, more: str = "") -> int:
        statement = CALIBRATED.format(relation=relation, more=more or "CAST('{}' AS halfvec[])")
        asked = {"levels": levels, "recall": recall, "worst": worst}
        return int(connection.scalar(text(statement), asked))

    # No five of ten are found among fewer than five, and the level after it is taken.
    assert calibrated([1, 5, 10, SOME], 0.5) == 10
    assert calibrated([1, 5, SOME, 999], 0.51) == 999
    assert calibrated([1, 5], 0.5) == 5  # there is none after it
    assert calibrated([1, 2, 4], 0.99) == 4  # none does: the last
    assert calibrated([999, SOME, 10], 0.1) == SOME  # in whatever order they come
    # One question may need more than all together.
    nowhere = NOWHERE.format(relation=relation)
    assert calibrated([10, 20, SOME, 999], 0.7, more=nowhere) == 20
    assert calibrated([10, 20, SOME, 999], 0.7, worst=0.5) == 20
    assert calibrated([10, 20, SOME, 999], 0.7, worst=0.5, more=nowhere) == 999
    nothing = text(
        "SELECT pgrecall.calibrated_candidates("
        "  :relation, '{}', NULL, '{}', NULL, '{3, 7}', 0.99, 0.5)"
    )
    assert connection.scalar(nothing, {"relation": relation}) == 3
    with pytest.raises(DBAPIError, match="table of a rank index"):
        connection.execute(nothing, {"relation": "agent_memories"})


def test_an_index_is_measured_by_the_built_in_profiles(
    repo: MemoryRepository, database_url: str
) -> None:
    repo.add_many("agent", [plain(f"number {n}") for n in range(5)])
    assert build(repo).candidates == LEVELS[0]  # nothing is measured without embeddings
    assert value(database_url, "SELECT likeness FROM pgrecall.rank_indexes") is None
    assert value(database_url, "SELECT count(*) FROM pgrecall.rank_questions('agent', 20)") == 0
    fill(repo, "a", 9)
    repo.add("a", plain("without"))
    names = ("five_factor", "last_access", "half_life", "tiered", "trust")
    measured = [profiles.named(name) for name in names]
    assert not any(map(one_sided, measured))
    alone = Profile("alone", {Similarity(missing=0.0): 1.0})

    build(repo, "a")

    stored = rows(
        database_url,
        "SELECT id, embedding::text FROM pgrecall.agent_memories WHERE agent_id = 'a' "
        "AND embedding IS NOT NULL ORDER BY uuid_hash_extended(id, 43)",
    )
    drawn = [np.array(json.loads(embedding)) for _, embedding in stored]
    asked = rows(database_url, "SELECT * FROM pgrecall.rank_questions('a', 20)")
    assert len(asked) == 9
    by_turn = [*measured, alone, alone, *measured[:2]]
    for number, (place, name, memory_id, question) in enumerate(asked):
        stored_id, vector = stored[number][0], drawn[number]
        assert (place, name, memory_id) == (number + 1, by_turn[number].name, stored_id)
        similarity, coordinates = space.direction(by_turn[number], 0.0)
        meaning = similarity * vector / np.linalg.norm(vector)
        expected = pytest.approx([*meaning, *coordinates, 0.0], abs=1e-5)
        assert json.loads(question) == expected


@pytest.mark.parametrize(
    ("large", "given", "expected"),
    [(SOME, (16, 128), (16, 128)), (SOME - 1, (16, 40), (24, 48)), (1, (30, 128), (30, 128))],
)
def test_the_graph_of_a_large_owner_has_more_links(
    connection: Connection, large: int, given: tuple[int, int], expected: tuple[int, int]
) -> None:
    build = "pgrecall.make_rank_index_here"
    source = connection.scalar(text(f"SELECT pg_get_functiondef('{build}'::regproc)"))
    assert source is not None
    fewer = source.replace(f"there.memories > {LARGE}", f"there.memories > {large}")
    assert fewer != source
    connection.exec_driver_sql(fewer.replace("%", "%%"))

    made = connection.scalar(
        text(f"SELECT {build}('agent', now(), 1, :m, :ef_construction, NULL, NULL)"),
        dict(zip(("m", "ef_construction"), given, strict=True)),
    )

    noted = "SELECT m, ef_construction FROM pgrecall.rank_indexes WHERE relation = :made"
    assert tuple(connection.execute(text(noted), {"made": made}).one()) == expected


def test_an_index_is_measured_by_whole_embeddings(connection: Connection, relation: str) -> None:
    questions = text("SELECT * FROM pgrecall.rank_questions('agent', 28) WHERE profile = 'alone'")
    drawn = connection.execute(questions).all()
    ids, asked = [row.memory_id for row in drawn], [row.direction for row in drawn]
    assert len(asked) == 8
    found = connection.scalar(
        text("SELECT pgrecall.best_by_embedding('agent', :relation, :ids, :asked, 3)"),
        {"relation": relation, "ids": ids, "asked": asked},
    )
    assert found is not None
    repo, alone = MemoryRepository(connection), Profile("alone", {Similarity(): 1.0})
    agree = 0
    for number, direction in enumerate(asked):
        query = json.loads(direction)[:DIMENSIONS]
        hits = repo.search("agent", query, k=4, profile=alone, strategy="exact", touch=False)
        assert hits[0].memory.id == ids[number]
        agree += len({hit.memory.id for hit in hits[1:]} & {*found[3 * number : 3 * number + 3]})
    assert agree >= 3 * len(asked) - 1  # half precision may leave one out


def test_a_question_has_the_same_direction(connection: Connection) -> None:
    for name in profiles.BUILT_IN:
        for elapsed, used in product((-1.0, 0.0, 3.0, 7.0, 20.0, 30.0, 45.0), (False, True)):
            facts = f"pgrecall.profile_{name}()"
            direction = connection.exec_driver_sql(
                f"SELECT pgrecall.rank_direction({facts}, pgrecall.weights_of({facts}, NULL, NULL),"
                f" '[3,0,4,0,0,0,0,0]', {elapsed}, {used})"
            ).scalar()

            similarity, coordinates = space.direction(profiles.named(name), elapsed, used=used)
            meaning = [0.6 * similarity, 0.0, 0.8 * similarity, *[0.0] * 5]
            expected = pytest.approx([*meaning, *coordinates, 0.0], abs=1e-6)
            assert json.loads(str(direction)) == expected


def test_constants_are_those_of_python(connection: Connection) -> None:
    def asked(query: str, *arguments: Any) -> Any:
        return connection.exec_driver_sql(query, arguments).scalar()

    def defaults(name: str) -> dict[str, str | None]:
        arguments = asked(
            "SELECT pg_get_function_arguments(oid) FROM pg_proc WHERE proname = %s "
            "AND pronamespace = 'pgrecall'::regnamespace",
            name,
        )
        parts = [one.removeprefix("IN ").split(" ", 1) for one in arguments.split(", ")]
        return {name: rest.partition(" DEFAULT ")[2] or None for name, rest in parts}

    for name in ("make_rank_index", "build_rank_index"):
        known = defaults(name)
        expected = (str(AT_LEAST), str(M), str(EF_CONSTRUCTION))
        assert (known["at_least"], known["m"], known["ef_construction"]) == expected
    known = defaults("rank_index_states")
    assert (known["at_least"], known["max_beside"]) == (str(AT_LEAST), str(MAX_BESIDE))
    assert asked(f"SELECT {known['max_age']}") == MAX_AGE == timedelta(days=28)
    assert asked("SELECT pgrecall.rank_space()") == space.VERSION
    body = asked("SELECT prosrc FROM pg_proc WHERE proname = 'make_rank_index_here'")
    assert f"'{{{','.join(map(str, LEVELS))}}}'" in body
