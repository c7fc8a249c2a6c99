"""The language by which words are compared: chosen with a schema, changed later."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.errors import InputError, PgRecallError, SchemaError
from pgrecall.testing import new_database
from tests.migrations.asking import (
    alembic,
    engine_of,
    insert,
    open_transaction,
    psql,
    repository,
    run,
    terminate,
    values,
    wait_until,
    wait_until_blocked,
)
from tests.migrations.schema_dump import dump
from tests.migrations.wording import DIMENSIONS, OWN, QUERY, hybrid, new_role, terms, with_words

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
        notes = [
            NewMemory(f"the note {n}", embedding=[dice.gauss() for _ in QUERY]) for n in range(60)
        ]
        repo.add_many("indexed", notes)
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
        repo.rank_indexes.maintain(agent_id="indexed")
    assert migrate.change_language(filled, "english") == 62
    assert its_terms(filled) == ENGLISH


TELLING = "SELECT term FROM pgrecall.telling_terms WHERE agent_id = 'a'"
TIMES = 14
"""psycopg prepares a statement after five, and the server keeps a plan for all values after five
more."""


def test_a_connection_that_has_searched_before_searches_by_the_new_language(filled: str) -> None:
    """Whatever plans it keeps."""
    with engine_of(filled).connect() as connection:
        repo = MemoryRepository(connection)

        def seen() -> tuple[Any, ...]:
            hits = hybrid(repo, "a", "the")
            alone = hybrid(repo, "a", "the", weights={"keyword": 1.0}, normalise_weights=True)
            matching = [repo.count("a", text=text) for text in ("dancing", "dances")]
            filtered = [
                len(repo.search("a", QUERY, text=text, touch=False))
                for text in ("dancing", "dances")
            ]
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


def test_one_schema_changes_its_language_and_another_does_not(empty_url: str) -> None:
    for schema in ("one", "two"):
        migrate.upgrade(empty_url, dimensions=DIMENSIONS, schema=schema)
        insert(empty_url, "a", "the dancing", schema=schema)

    migrate.change_language(empty_url, "simple", schema="two")

    assert terms(empty_url, schema="one") == {"the dancing": ENGLISH}
    assert terms(empty_url, schema="two") == {"the dancing": SIMPLE}


def test_only_the_owner_may_change_the_language(filled: str) -> None:
    with new_role(filled, level="maintainer") as name:
        run(filled, f'GRANT EXECUTE ON FUNCTION pgrecall.change_text_language TO "{name}"')
        with psycopg.connect(filled, autocommit=True) as connection:
            connection.execute(f'SET ROLE "{name}"'.encode())
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT pgrecall.change_text_language('simple')")

    assert its_terms(filled) == ENGLISH


def test_changing_to_no_language_is_refused_in_an_empty_schema_too(migrated: str) -> None:
    for given in ("NULL", "1::oid::regconfig"):
        with pytest.raises(psycopg.Error):
            run(migrated, f"SELECT pgrecall.change_text_language({given})")


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


def test_a_language_set_in_psql_does_not_stop_later_migrations(migrated: str) -> None:
    run(migrated, "CREATE SCHEMA elsewhere")
    for name in ("elsewhere.mine", 'public."My English"'):
        run(migrated, OWN.format(name), f"SELECT pgrecall.change_text_language('{name}')")

        assert migrate.embedding_index(migrated).pending == []
    assert migrate.downgrade(migrated).revision is None
