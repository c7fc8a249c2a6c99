"""The words that are kept of memories, whatever their text, and who may read them."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from pgrecall import MemoryRepository, NewMemory, embedded, migrate
from pgrecall.testing import new_database
from tests.migrations.asking import engine_of, insert, psql, repository, run, values
from tests.migrations.wording import DIMENSIONS, OWN, QUERY, hybrid, new_role, terms, with_words

MIB = 2**20

TEXTS: Mapping[str, set[str]] = {
    "Dancing bears, 1,000 of them!": {"danc", "bear", "1000"},
    "The Café in São Paulo": {"cafe", "sao", "paulo"},
    "the and of": set(),
    "?!": set(),
    "\U0001f600": set(),
    "東京 tower": {"東", "京", "tower"},
    "O'Neil's 2026-03-15": {"o", "neil", "2026", "03", "15"},
    "\\ ' \" & | ! ( ) <-> : *": set(),
    "tea " * (MIB // 2): {"tea"},
    "the " * (MIB // 2): set(),
    "x" * (2 * MIB): {"x" * 200, "x" * (100_000 % 201)},
}
"""Texts and their words in English; of the last three, 2 MiB each, words past 100,000 characters do
not count and longer ones are cut at 200."""
WITHIN = "".join(f"w{number:06} " for number in range(262_000))
"""2 MiB of different words, of which the first 12,500 count."""


def test_the_words_of_any_text_are_kept_and_found(empty_url: str) -> None:
    schema = "select"
    migrate.upgrade(empty_url, dimensions=DIMENSIONS, embedding_type="halfvec", schema=schema)
    for text in (*TEXTS, WITHIN):
        insert(empty_url, "a", text, schema=schema)

    found = terms(empty_url, schema)
    many = found.pop(WITHIN)
    assert found == TEXTS
    assert many == {f"w{number:06}" for number in range(12_500)}
    hits = hybrid(repository(empty_url, schema), "a", "dance of São tea w000007", k=len(TEXTS) + 1)
    assert with_words(hits) == sorted([*list(TEXTS)[:2], "tea " * (MIB // 2), WITHIN])


LIGATURES = [chr(0xFDF2 + number) for number in range(7)]
"""One character each, which compatibility forms make four of."""


def swelling() -> str:
    """99,989 characters whose words, with their parts, take more than a tsvector holds."""
    dice = random.Random(1)
    halves = ["".join(dice.choices(LIGATURES, k=100)) for _ in range(2 * 497)]
    return " ".join("-".join(pair) for pair in zip(halves[::2], halves[1::2], strict=True))


def test_a_text_that_swells_when_folded_can_be_stored_and_asked_for(migrated: str) -> None:
    repo = repository(migrated)

    repo.add("a", NewMemory(swelling(), embedding=QUERY))

    assert len(hybrid(repo, "a", swelling())) == 1


TELLING = "SELECT term FROM pgrecall.telling_terms WHERE agent_id = 'a' ORDER BY telling DESC, term"


@contextmanager
def acting_as(url: str, role: str) -> Iterator[MemoryRepository]:
    with engine_of(url).connect() as connection:
        connection.exec_driver_sql(f'SET ROLE "{role}"')
        yield MemoryRepository(connection)
        connection.rollback()


def test_a_reader_can_search_by_words(migrated: str) -> None:
    insert(migrated, "a", "the dancing")
    insert(migrated, "team:a", "the dance")
    with new_role(migrated, level="reader") as role, acting_as(migrated, role) as repo:
        with engine_of(migrated).connect() as connection:
            connection.exec_driver_sql(f'SET ROLE "{role}"')
            assert connection.exec_driver_sql(TELLING).scalars().all() == ["danc"]
        hits = hybrid(repo, "a", "dancing", teams=["a"])
        assert with_words(hits) == ["the dance", "the dancing"]
        assert repo.count("a", text="dances") == 1
        [own] = [hit.memory.id for hit in hits if hit.memory.team_id is None]
        why = repo.explain("a", own, QUERY, profile="hybrid", query_text="dance")
        assert [(term.term, term.matched, term.memories) for term in why.terms] == [
            ("danc", True, 1)
        ]


def test_the_views_of_words_give_nobody_more_than_they_may_read(migrated: str) -> None:
    insert(migrated, "a", "secret")
    with new_role(migrated, "team_memories", "telling_terms") as role:
        for view in ("team_memories", "telling_terms"):
            with psycopg.connect(migrated, autocommit=True) as connection:
                connection.execute(f'SET ROLE "{role}"'.encode())
                with pytest.raises(psycopg.errors.InsufficientPrivilege, match="agent_memories"):
                    connection.execute(f"SELECT * FROM pgrecall.{view}".encode())


def restored(source: str, target: str) -> None:
    """The whole database, through pg_dump and psql."""
    done = subprocess.run(
        [embedded.binaries() / "pg_dump", "--no-owner", source],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"PGCLIENTENCODING": "UTF8"},
    )
    assert done.returncode == 0, done.stderr
    psql(target, done.stdout)


@pytest.mark.parametrize(("server", "language"), [("16", "mine")], indirect=["server"])
def test_searches_find_the_same_in_a_database_restored_from_a_dump(
    each_url: str, server_url: str, language: str
) -> None:
    run(each_url, OWN.format("public.mine"))
    migrate.upgrade(each_url, dimensions=DIMENSIONS, language=language)
    repo = repository(each_url)
    dice = random.Random(9)
    words = ["dancing", "bears", "café", "1,000", "the", "Zoë's", "東京", "2026-03-15"]
    for among in (repo, repo.teams):
        among.add_many(
            "a",
            [
                NewMemory(
                    f"{n} {' '.join(dice.choices(words, k=3))}",
                    embedding=[dice.gauss() for _ in QUERY],
                )
                for n in range(200)
            ],
        )
    repo.rank_indexes.build(agent_id="a", at_least=1)
    with new_database(server_url) as target:
        restored(each_url, target)

        other = repository(target)
        for text in (*words, "the bears of 東京", "nothing of it"):
            for strategy in ("exact", "index"):
                asked: dict[str, Any] = {"strategy": strategy, "teams": ["a"], "k": 10}
                found = hybrid(other, "a", text, **asked)
                assert found == hybrid(repo, "a", text, **asked)
                assert found.strategy == strategy
        assert values(target, TELLING) == values(each_url, TELLING)
        restored_to = migrate.status(target)
        assert restored_to == replace(migrate.status(each_url), postgres=restored_to.postgres)
        other.add("a", NewMemory("dancing again", embedding=QUERY))
        other.rank_indexes.build(agent_id="a", at_least=1)
