"""The words that are kept of memories, whatever their text, who may read them, and the language by
which they are compared: chosen with a schema, changed later."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from pgrecall import Hits, MemoryRepository, NewMemory, migrate
from pgrecall.errors import InputError, PgRecallError, SchemaError
from pgrecall.migrate.access import Level
from pgrecall.testing import new_database
from tests.migrations.asking import (
    alembic,
    engine_of,
    insert,
    open_transaction,
    psql,
    repository,
    rows,
    run,
    terminate,
    values,
    wait_until,
    wait_until_blocked,
)
from tests.migrations.schema_dump import dump

DIMENSIONS = 3
QUERY = [1.0, 0.0, 0.0]
SOON = datetime.now(UTC) + timedelta(days=1)
"""A moment to ask about that stays the same from one search to the next."""
OWN = "CREATE TEXT SEARCH CONFIGURATION {} (COPY = pg_catalog.simple)"


def terms(url: str, schema: str = "pgrecall") -> dict[str, set[str]]:
    query = f'SELECT content, tsvector_to_array(terms) FROM "{schema}".agent_memories'
    return {content: set(found) for content, found in rows(url, query)}


def hybrid(repo: MemoryRepository, agent: str, text: str, **asked: Any) -> Hits:
    usual: dict[str, Any] = {"k": 10, "touch": False, "profile": "hybrid", "as_of": SOON}
    asked = usual | {"keywords": text} | asked
    return repo.search(agent, QUERY, **asked)


def with_words(hits: Hits) -> list[str]:
    """What has any of the query's words."""
    return sorted(hit.memory.content for hit in hits if hit.signals["keyword"])


@contextmanager
def new_role(url: str, *tables: str, level: Level | None = None) -> Iterator[str]:
    """A role that may use the schema and read these tables, or is let in at a level."""
    name = f"pgrecall reader {os.getpid()}"
    role = sql.Identifier(name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {}").format(role))
        try:
            connection.execute(sql.SQL("GRANT USAGE ON SCHEMA pgrecall TO {}").format(role))
            if level:
                migrate.grant(url, name, level)
            for table in tables:
                connection.execute(
                    sql.SQL("GRANT SELECT ON pgrecall.{} TO {}").format(sql.Identifier(table), role)
                )
            yield name
        finally:
            connection.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(role))
            connection.execute(sql.SQL("DROP ROLE {}").format(role))


# Texts

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


def noted(content: str, dice: random.Random) -> NewMemory:
    return NewMemory(content, embedding=[dice.gauss() for _ in QUERY])


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
        with psycopg.connect(migrated) as connection:
            connection.execute(f'SET ROLE "{role}"'.encode())
            assert connection.execute(TELLING).fetchall() == [("danc",)]
        hits = hybrid(repo, "a", "dancing", teams=["a"])
        assert with_words(hits) == ["the dance", "the dancing"]
        assert repo.count("a", filter={"content": {"$match": "dances"}}) == 1
        [own] = [hit.memory.id for hit in hits if hit.memory.team_id is None]
        why = repo.explain("a", own, QUERY, profile="hybrid", keywords="dance")
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


# Language

ENGLISH, SIMPLE = {"danc"}, {"the", "dancing"}
HOSTILE_NAMES = ["English", "a'b", "simple'::regconfig; --", "a.b", "x" * 64, "a\n", "ä", "1", ""]


def test_the_language_is_given_with_the_upgrade(empty_url: str) -> None:
    """By plain Alembic too, and as text."""
    status = migrate.upgrade(empty_url, dimensions=DIMENSIONS, language="german")
    insert(empty_url, "a", "Häuser der dancing the")
    online = dump(empty_url)

    assert (status.language, status.pending) == ("german", [])
    assert terms(empty_url) == {"Häuser der dancing the": {"haus", "dancing", "the"}}
    alembic(empty_url, "upgrade", "head")
    assert migrate.upgrade(empty_url, language="german") == status
    with pytest.raises(SchemaError, match="by german, not simple; `pgrecall migrate language simp"):
        migrate.upgrade(empty_url, language="simple")
    with pytest.raises(SchemaError, match="compares words by german, not simple"):
        alembic(empty_url, "-x", "language=simple", "upgrade", "head")
    run(empty_url, "DROP SCHEMA pgrecall CASCADE")
    psql(empty_url, migrate.sql(dimensions=DIMENSIONS, language="german"))
    assert dump(empty_url) == online
    run(empty_url, "DROP SCHEMA pgrecall CASCADE")
    alembic(empty_url, "-x", f"dimensions={DIMENSIONS}", "-x", "language=german", "upgrade", "head")
    assert migrate.status(empty_url) == status


def test_a_language_that_cannot_be_is_refused(empty_url: str) -> None:
    for name in HOSTILE_NAMES:
        for attempt in (
            lambda name=name: migrate.upgrade(empty_url, language=name),
            lambda name=name: migrate.sql(language=name),
            lambda name=name: migrate.change_language(empty_url, name),
        ):
            with pytest.raises(InputError, match="the name of a text language has"):
                attempt()
    with pytest.raises(SchemaError, match="no pgrecall tables"):
        migrate.change_language(empty_url, "simple")
    with pytest.raises(InputError, match=r"unknown text language 'klingon'.*english.*simple"):
        migrate.upgrade(empty_url, dimensions=DIMENSIONS, language="klingon")

    assert migrate.status(empty_url).language is None
    assert migrate.upgrade(empty_url, dimensions=DIMENSIONS).language == "english"
    for name in ("klingon", "pg_catalog"):
        with pytest.raises(InputError, match="unknown text language"):
            migrate.change_language(empty_url, name)


@pytest.fixture(scope="module")
def filled_template(server_url: str, template_of_3: str) -> Iterator[str]:
    """One memory of an agent and one of a team, 60 of another, indexed."""
    with new_database(server_url, template_of_3) as url:
        for owner in ("a", "team:a"):
            insert(url, owner, "the dancing")
        repo = repository(url)
        dice = random.Random(5)
        repo.add_many("indexed", [noted(f"the note {n}", dice) for n in range(60)])
        repo.rank_indexes.build(agent_id="indexed", at_least=1)
        yield str(make_url(url).database)


@pytest.fixture
def filled(server_url: str, filled_template: str) -> Iterator[str]:
    """The same, for a test that changes it."""
    with new_database(server_url, filled_template) as url:
        yield url


BLOCKED = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
    "AND wait_event_type = 'Lock'"
)
NOTES = "SELECT term_memories FROM pgrecall.rank_indexes WHERE common_terms IS NOT NULL"
HOLDS_THE_END = "SELECT FROM pgrecall.rank_indexes FOR UPDATE"
"""A change of the language waits for this after all texts have been taken apart."""


def its_terms(url: str) -> set[str]:
    return terms(url)["the dancing"]


def test_changing_the_language_takes_all_texts_apart_and_drops_what_indexes_noted(
    filled: str,
) -> None:
    assert its_terms(filled) == ENGLISH
    assert values(filled, NOTES) == [60]

    changed = migrate.change_language(filled, "simple")

    assert changed == 62
    assert its_terms(filled) == SIMPLE
    assert migrate.status(filled).language == "simple"
    assert values(filled, NOTES) == []
    repo = repository(filled)
    for strategy in ("exact", "index"):  # which has no words until maintenance
        hits = hybrid(repo, "indexed", "the", strategy="index")
        assert (hits.strategy, len(with_words(hits))) == (strategy, 10)
        repo.maintenance.run(agent_id="indexed")
    assert migrate.change_language(filled, "english") == 62
    assert its_terms(filled) == ENGLISH


TIMES = 14
"""psycopg prepares a statement after five, and the server keeps a plan for all values after five
more."""


def test_a_connection_that_has_searched_before_searches_by_the_new_language(filled: str) -> None:
    """Whatever plans it keeps."""
    with engine_of(filled).connect() as connection:
        repo = MemoryRepository(connection)

        def seen() -> tuple[Any, ...]:
            hits = hybrid(repo, "a", "the")
            alone = hybrid(repo, "a", "the", weights={"keyword": 1.0})
            matches = [{"content": {"$match": word}} for word in ("dancing", "dances")]
            matching = [repo.count("a", filter=one) for one in matches]
            filtered = [len(repo.search("a", QUERY, filter=one, touch=False)) for one in matches]
            names = {*connection.exec_driver_sql(TELLING).scalars()}
            connection.commit()
            return with_words(hits), with_words(alone), matching, filtered, names

        before = [seen() for _ in range(TIMES)]
        migrate.change_language(filled, "simple")
        after = [seen() for _ in range(TIMES)]

    the = ["the dancing"]
    assert before == [([], [], [1, 1], [1, 1], ENGLISH)] * TIMES
    assert after == [(the, the, [1, 0], [1, 0], SIMPLE)] * TIMES


def test_a_change_that_is_cut_off_at_its_end_has_changed_nothing(
    filled: str, background: ThreadPoolExecutor
) -> None:
    before = dump(filled)
    with open_transaction(filled, HOLDS_THE_END):
        running = background.submit(migrate.change_language, filled, "simple")
        pid = wait_until_blocked(filled, 'SELECT "pgrecall".change_text_language')
        assert with_words(hybrid(repository(filled), "a", "the dance")) == ["the dancing"]
        terminate(filled, pid)
        with pytest.raises(PgRecallError):
            running.result()

    assert its_terms(filled) == ENGLISH
    assert migrate.status(filled).language == "english"
    assert values(filled, NOTES) == [60]
    assert dump(filled) == before


def test_writers_wait_for_a_change_and_go_by_the_new_language(
    filled: str, background: ThreadPoolExecutor
) -> None:
    repo = repository(filled)
    with open_transaction(filled, HOLDS_THE_END):
        changing = background.submit(migrate.change_language, filled, "simple")
        wait_until_blocked(filled, 'SELECT "pgrecall".change_text_language')
        adding = background.submit(repo.add, "a", NewMemory("the singing", embedding=QUERY))
        wait_until("both wait", lambda: len(values(filled, BLOCKED)) == 2)
    changing.result()
    adding.result()

    assert terms(filled)["the singing"] == {"the", "singing"}


def test_a_change_takes_apart_what_was_written_while_it_waited(
    filled: str, background: ThreadPoolExecutor
) -> None:
    """Whatever the isolation level that an engine or a database has by default."""
    engine = engine_of(filled, isolation_level="REPEATABLE READ")
    write = (
        "INSERT INTO pgrecall.agent_memories (agent_id, id, content) "
        "VALUES ('a', gen_random_uuid(), 'the singing')"
    )
    with open_transaction(filled, write) as writer:
        changing = background.submit(migrate.change_language, engine, "simple")
        wait_until_blocked(filled, 'SELECT "pgrecall".change_text_language')
        writer.commit()
    changing.result()

    assert terms(filled)["the singing"] == {"the", "singing"}


def test_only_the_owner_may_change_the_language(filled: str) -> None:
    with new_role(filled, level="maintainer") as name:
        run(filled, f'GRANT EXECUTE ON FUNCTION pgrecall.change_text_language TO "{name}"')
        with psycopg.connect(filled, autocommit=True) as connection:
            connection.execute(f'SET ROLE "{name}"'.encode())
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT pgrecall.change_text_language('simple')")

    assert its_terms(filled) == ENGLISH


def test_a_configuration_of_one_s_own_is_a_language_and_stays_while_it_is_used(
    empty_url: str,
) -> None:
    run(empty_url, OWN.format("public.mine"))
    migrate.upgrade(empty_url, dimensions=DIMENSIONS, language="mine")
    insert(empty_url, "a", "the dancing")

    with pytest.raises(psycopg.errors.DependentObjectsStillExist):
        run(empty_url, "DROP TEXT SEARCH CONFIGURATION public.mine")

    assert migrate.upgrade(empty_url, language="mine").language == "mine"
    assert terms(empty_url) == {"the dancing": SIMPLE}
