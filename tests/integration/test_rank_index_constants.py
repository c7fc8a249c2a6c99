"""What Python and the functions of the rank index both know is the same."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from pgrecall import MemoryRepository, NewMemory, profiles, rank_space
from pgrecall.rank_index import AT_LEAST, EF_CONSTRUCTION, LEVELS, MAX_AGE, MAX_BESIDE, M
from pgrecall.rank_space import AXES, is_hard
from tests.conftest import DIMENSIONS
from tests.integration.support import at
from tests.migrations.asking import rows, value


def defaults(url: str, name: str) -> dict[str, str | None]:
    arguments = value(
        url,
        "SELECT pg_get_function_arguments(oid) FROM pg_proc WHERE proname = %s "
        "AND pronamespace = 'pgrecall'::regnamespace",
        name,
    )
    parts = [one.removeprefix("IN ").split(" ", 1) for one in arguments.split(", ")]
    return {name: rest.partition(" DEFAULT ")[2] or None for name, rest in parts}


@pytest.mark.parametrize("name", ["make_rank_index", "build_rank_index", "maintain_rank_indexes"])
def test_the_defaults_are_those_of_the_repository(database_url: str, name: str) -> None:
    known = defaults(database_url, name)
    assert (known["at_least"], known["m"], known["ef_construction"]) == (
        *(str(AT_LEAST), str(M), str(EF_CONSTRUCTION)),
    )


def test_the_limits_are_those_of_the_repository(database_url: str) -> None:
    known = defaults(database_url, "rank_index_states")
    assert (known["at_least"], known["max_beside"]) == (str(AT_LEAST), str(MAX_BESIDE))
    assert value(database_url, f"SELECT {known['max_age']}") == MAX_AGE == timedelta(days=28)


def test_the_space_is_the_same(database_url: str) -> None:
    assert value(database_url, "SELECT pgrecall.rank_space()") == rank_space.VERSION
    assert (
        value(
            database_url,
            "SELECT atttypmod FROM pg_attribute WHERE attname = 'position' "
            "AND attrelid = 'pgrecall.rank_positions'::regclass",
        )
        == DIMENSIONS + len(AXES) + 1
    )


def test_the_candidates_asked_for_are_those_that_are_measured(database_url: str) -> None:
    body = value(database_url, "SELECT prosrc FROM pg_proc WHERE proname = 'make_rank_index'")
    assert f"'{{{','.join(map(str, LEVELS))}}}'" in body


def test_an_index_is_measured_by_the_built_in_profiles(
    either: MemoryRepository, database_url: str
) -> None:
    either.add_many("a", [NewMemory(f"memory {n}", embedding=at(9 * n)) for n in range(9)])
    either.add("a", NewMemory("without", embedding=None))
    names = ("five_factor", "last_access", "half_life", "tiered")
    measured = [profiles.named(name) for name in names]
    assert not any(map(is_hard, measured))

    [asked] = [one for (one,) in rows(database_url, "SELECT pgrecall.rank_questions('a', 20)")]

    drawn = rows(
        database_url,
        "SELECT embedding::text FROM pgrecall.agent_memories WHERE embedding IS NOT NULL "
        "ORDER BY uuid_hash_extended(id, 43)",
    )
    assert len(asked) == len(drawn) == 9
    for number, (question, (embedding,)) in enumerate(zip(asked, drawn, strict=True)):
        similarity, coordinates = rank_space.direction(measured[number % len(measured)], 0.0)
        meaning = [similarity * x for x in json.loads(embedding)]
        assert json.loads(question) == pytest.approx([*meaning, *coordinates, 0.0], abs=1e-6)


@pytest.mark.parametrize("elapsed", [-1.0, 0.0, 3.0, 7.0, 20.0, 30.0, 45.0])
@pytest.mark.parametrize("name", profiles.BUILT_IN)
def test_a_question_has_the_same_direction(database_url: str, name: str, elapsed: float) -> None:
    facts = f"pgrecall.profile_{name}()"
    direction = value(
        database_url,
        f"SELECT pgrecall.rank_direction({facts}, pgrecall.weights_of({facts}, NULL, NULL), "
        "'[3,0,4,0,0,0,0,0]', %s)",
        elapsed,
    )

    similarity, coordinates = rank_space.direction(profiles.named(name), elapsed)
    meaning = [0.6 * similarity, 0.0, 0.8 * similarity, *[0.0] * 5]
    assert json.loads(direction) == pytest.approx([*meaning, *coordinates, 0.0], abs=1e-6)


def test_without_embeddings_there_is_no_question(
    either: MemoryRepository, database_url: str
) -> None:
    either.add("a", NewMemory("without", embedding=None))
    assert value(database_url, "SELECT pgrecall.rank_questions('a', 20)") is None
