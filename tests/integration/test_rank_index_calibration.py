"""What a build measures, with what: directions, the candidates that do, and constants that Python
and SQL both know."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

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
from tests.conftest import DIMENSIONS
from tests.integration.rank_indexes import build, fill

pytestmark = pytest.mark.hnsw

SOME = 300
ROUNDING = 5e-3
"""Axes are stored in half precision."""
MOST, MEASURED = 50, {"five_factor": 41, "last_access": 42, "half_life": 43, "tiered": 44}
MEASURE = """
    UPDATE pgrecall.rank_indexes SET candidates = :most, candidates_by_profile = :measured"""


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


def test_a_question_has_the_same_direction(connection: Connection) -> None:
    for name in profiles.BUILT_IN:
        for elapsed in (-1.0, 0.0, 3.0, 7.0, 20.0, 30.0, 45.0):
            facts = f"pgrecall.profile_facts('{name}')"
            direction = connection.exec_driver_sql(
                f"SELECT pgrecall.rank_direction({facts}, pgrecall.weights_of({facts}, NULL, NULL),"
                f" '[3,0,4,0,0,0,0,0]', {elapsed})"
            ).scalar()

            similarity, coordinates = space.direction(profiles.named(name), elapsed, used=False)
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
