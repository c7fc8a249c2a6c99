"""The revisions that keep the words of memories, on a database that holds memories already."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql as psql
from sqlalchemy import Engine, NullPool, create_engine, make_url

from pgrecall import Hits, MemoryRepository, NewMemory, embedded, migrate
from pgrecall.embedding import EmbeddingType
from pgrecall.errors import DatabaseUnavailable, InputError, PgRecallError, SchemaError
from tests.conftest import new_database
from tests.migrations.asking import rows, run, value, values, wait_until, wait_until_blocked
from tests.migrations.schema_dump import dump

ROOT = Path(__file__).parents[2]
DIMENSIONS = 3
QUERY = [1.0, 0.0, 0.0]
BEFORE, DROPPED, KEPT, INDEXED = "0009", "0010", "0011", "0012"
"""Revisions: without words, without graphs of embeddings, with words that no index has."""
OWNERS = {"agent_memories": "agent_id", "team_memories": "team_id"}
INDEXES = [f"ix_{table}_{what}" for table in OWNERS for what in ("embedding", "words")]
MIB = 2**20
SOON = datetime.now(UTC) + timedelta(days=1)
"""A moment to ask about that stays the same from one search to the next."""

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


def at_revision(url: str, revision: str = BEFORE, **options: Any) -> None:
    migrate.upgrade(url, dimensions=DIMENSIONS, revision=revision, **options)


def insert(
    url: str, table: str, content: str, *, owner: str = "a", schema: str = "pgrecall"
) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            psql.SQL(
                "INSERT INTO {}.{} ({}, id, content, embedding) "
                "VALUES (%s, gen_random_uuid(), %s, '[1,2,3]')"
            ).format(*map(psql.Identifier, (schema, table, OWNERS[table]))),
            (owner, content),
        )


def terms(url: str, table: str = "agent_memories", schema: str = "pgrecall") -> dict[str, set[str]]:
    query = f'SELECT content, tsvector_to_array(terms) FROM "{schema}".{table}'
    return {content: set(found) for content, found in rows(url, query)}


def indexes(url: str, schema: str = "pgrecall") -> dict[str, bool]:
    """Which of those we look at there are, and whether they are valid."""
    query = (
        "SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        "WHERE c.relnamespace = quote_ident(%s)::regnamespace AND c.relname = ANY (%s)"
    )
    return dict(rows(url, query, schema, INDEXES))


def engine_of(url: str, **options: Any) -> Engine:
    return create_engine(
        make_url(url).set(drivername="postgresql+psycopg"), poolclass=NullPool, **options
    )


def repository(url: str, schema: str = "pgrecall") -> MemoryRepository:
    return MemoryRepository(engine_of(url), schema=schema)


def hybrid(repo: MemoryRepository, agent: str, text: str, **asked: Any) -> Hits:
    usual: dict[str, Any] = {
        "k": 10,
        "touch": False,
        "profile": "hybrid",
        "as_of": SOON,
        "query_text": text,
    }
    asked = usual | asked
    return repo.search(agent, QUERY, **asked)


def with_words(hits: Hits) -> list[str]:
    """What has any of the query's words."""
    return sorted(hit.memory.content for hit in hits if hit.signals["keyword"])


@pytest.fixture
def background() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


@contextmanager
def open_transaction(url: str, *statements: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(statement.encode())
        yield connection
        connection.rollback()


@contextmanager
def new_role(url: str, *tables: str) -> Iterator[str]:
    """A role that may use the schema and read these tables."""
    name = f"k2 reader {os.getpid()}"
    role = psql.Identifier(name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(psql.SQL("CREATE ROLE {}").format(role))
        try:
            connection.execute(psql.SQL("GRANT USAGE ON SCHEMA pgrecall TO {}").format(role))
            for table in tables:
                connection.execute(
                    psql.SQL("GRANT SELECT ON pgrecall.{} TO {}").format(
                        psql.Identifier(table), role
                    )
                )
            yield name
        finally:
            connection.execute(psql.SQL("DROP OWNED BY {} CASCADE").format(role))
            connection.execute(psql.SQL("DROP ROLE {}").format(role))


@contextmanager
def acting_as(url: str, role: str) -> Iterator[MemoryRepository]:
    with engine_of(url).connect() as connection:
        connection.exec_driver_sql(f'SET ROLE "{role}"')
        yield MemoryRepository(connection)
        connection.rollback()


# Up and down


@pytest.mark.parametrize(
    ("embedding_type", "schema"),
    [(EmbeddingType.VECTOR, "pgrecall"), (EmbeddingType.HALFVEC, "select")],
    ids=["vector", "halfvec_in_a_schema_named_select"],
)
def test_the_words_of_what_was_there_are_kept_and_gone_after_the_way_down(
    each_url: str, embedding_type: EmbeddingType, schema: str
) -> None:
    at_revision(each_url, embedding_type=embedding_type, schema=schema)
    for table in OWNERS:
        for text in (*TEXTS, WITHIN):
            insert(each_url, table, text, schema=schema)
    before = dump(each_url, schema)

    status = migrate.upgrade(each_url, schema=schema)

    assert (status.pending, status.invalid_indexes, status.language) == ([], [], "english")
    assert indexes(each_url, schema) == dict.fromkeys(INDEXES, True)
    for table in OWNERS:
        found = terms(each_url, table, schema)
        many = found.pop(WITHIN)
        assert found == TEXTS
        assert many == {f"w{number:06}" for number in range(12_500)}
    repo = repository(each_url, schema)
    for among in (repo, repo.teams):
        hits = hybrid(among, "a", "dance of São tea w000007", k=len(TEXTS) + 1)
        assert with_words(hits) == sorted([*list(TEXTS)[:2], "tea " * (MIB // 2), WITHIN])
    up = dump(each_url, schema)

    migrate.downgrade(each_url, schema=schema, revision=BEFORE)

    assert dump(each_url, schema) == before
    assert value(each_url, f'SELECT count(*) FROM "{schema}".agent_memories') == len(TEXTS) + 1
    migrate.upgrade(each_url, schema=schema)
    assert dump(each_url, schema) == up
    assert terms(each_url, "team_memories", schema).items() >= TEXTS.items()


LIGATURES = [chr(0xFDF2 + number) for number in range(7)]
"""One character each, which compatibility forms make four of."""


def swelling() -> str:
    """99,989 characters whose words, with their parts, take more than a tsvector holds."""
    dice = random.Random(1)
    halves = ["".join(dice.choices(LIGATURES, k=100)) for _ in range(2 * 497)]
    return " ".join("-".join(pair) for pair in zip(halves[::2], halves[1::2], strict=True))


@pytest.mark.parametrize("server", ["18"], indirect=True)
def test_a_text_that_swells_when_folded_does_not_stop_the_upgrade(each_url: str) -> None:
    at_revision(each_url)
    insert(each_url, "agent_memories", swelling())

    assert migrate.upgrade(each_url).pending == []


@pytest.mark.parametrize("server", ["18"], indirect=True)
def test_a_text_that_swells_when_folded_can_be_stored_and_asked_for(each_url: str) -> None:
    at_revision(each_url, "head")
    repo = repository(each_url)

    repo.add("a", NewMemory(swelling(), embedding=QUERY))

    assert len(hybrid(repo, "a", swelling())) == 1


@pytest.mark.parametrize("server", ["18"], indirect=True)
def test_every_row_keeps_all_its_other_columns(each_url: str) -> None:
    at_revision(each_url)
    for table in OWNERS:
        insert(each_url, table, "dancing")
    read = "SELECT to_jsonb(m) - '{{terms,tokens}}'::text[] FROM pgrecall.{} m"
    before = [values(each_url, read.format(table)) for table in OWNERS]

    migrate.upgrade(each_url)
    above = [values(each_url, read.format(table)) for table in OWNERS]
    migrate.downgrade(each_url, revision=BEFORE)

    assert above == before
    assert [values(each_url, read.format(table)) for table in OWNERS] == before


def test_a_rank_index_from_before_answers_by_words_it_counts(each_url: str) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS)
    repo = repository(each_url)
    dice = random.Random(3)
    repo.add_many(
        "a",
        [
            NewMemory(f"note {number}", embedding=[dice.gauss() for _ in QUERY])
            for number in range(300)
        ],
    )
    repo.build_rank_indexes(agent_id="a", at_least=1)
    migrate.downgrade(each_url, revision=BEFORE)
    migrate.upgrade(each_url)
    assert values(each_url, "SELECT common_terms FROM pgrecall.rank_indexes") == [None]

    found, exact = (
        hybrid(repository(each_url), "a", "note 123", k=5, strategy=strategy)
        for strategy in ("index", "exact")
    )

    assert found.strategy == "index"
    assert [hit.memory.id for hit in found] == [hit.memory.id for hit in exact]
    scores = [hit.score for hit in exact]
    assert [hit.score for hit in found] == pytest.approx(scores, abs=1e-12)
    assert found[0].memory.content == "note 123"


@pytest.mark.parametrize("server", ["18"], indirect=True)
def test_down_by_one_and_up_again_leaves_the_words(each_url: str) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS, language="simple")
    insert(each_url, "agent_memories", "the dancing")

    migrate.downgrade(each_url, revision=KEPT)
    status = migrate.upgrade(each_url)

    assert (status.language, status.invalid_indexes) == ("simple", [])
    assert terms(each_url) == {"the dancing": {"the", "dancing"}}
    assert indexes(each_url) == dict.fromkeys(INDEXES, True)


@pytest.mark.parametrize("server", ["18"], indirect=True)
@pytest.mark.parametrize("revision", ["0001", BEFORE, DROPPED, KEPT])
def test_the_way_up_may_rest_anywhere_and_go_down_from_there(each_url: str, revision: str) -> None:
    at_revision(each_url, revision)
    there = dump(each_url)
    migrate.upgrade(each_url)

    migrate.downgrade(each_url, revision=revision)

    assert dump(each_url) == there


# Interrupted


BY_HAND = {
    "ix_agent_memories_words": "pgrecall.agent_memories USING gin "
    "(pgrecall.term_keys(agent_id, false, terms))",
    "ix_team_memories_words": "pgrecall.team_memories USING gin "
    "(pgrecall.term_keys(team_id, true, terms))",
}


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("agent_memories", "ix_agent_memories_words"),
        ("agent_memories", "ix_agent_memories_embedding"),
        ("team_memories", "ix_team_memories_words"),
        ("team_memories", "ix_team_memories_embedding"),
    ],
)
def test_an_interrupted_build_of_the_indexes_is_repeated(
    each_url: str, background: ThreadPoolExecutor, table: str, name: str
) -> None:
    at_revision(each_url, KEPT)
    insert(each_url, table, "dancing")
    if name.endswith("embedding"):  # then the other one of the table is finished
        words = f"ix_{table}_words"
        run(each_url, f"CREATE INDEX {words} ON {BY_HAND[words]} WITH (fastupdate = off)")
    with open_transaction(each_url, f"LOCK TABLE pgrecall.{table} IN ROW EXCLUSIVE MODE"):
        running = background.submit(migrate.upgrade, each_url)
        pid = wait_until_blocked(each_url, f"CREATE INDEX CONCURRENTLY {name}")
        assert value(each_url, "SELECT pg_terminate_backend(%s, 10000)", pid)
        with pytest.raises(DatabaseUnavailable):
            running.result()
    cut_off = migrate.status(each_url)
    assert (cut_off.revision, cut_off.invalid_indexes) == (KEPT, [name])

    repeated = migrate.upgrade(each_url)

    assert (repeated.pending, repeated.invalid_indexes) == ([], [])
    assert indexes(each_url) == dict.fromkeys(INDEXES, True)
    assert terms(each_url, table) == {"dancing": {"danc"}}


@pytest.mark.parametrize("table", ["agent_memories", "team_memories"])
def test_an_interrupted_way_down_is_repeated(
    each_url: str, background: ThreadPoolExecutor, table: str
) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS)
    migrate.downgrade(each_url, revision=INDEXED)  # what came after it drops no index
    with open_transaction(each_url, f"LOCK TABLE pgrecall.{table} IN ROW EXCLUSIVE MODE"):
        running = background.submit(migrate.downgrade, each_url, revision=BEFORE)
        pid = wait_until_blocked(each_url, "DROP INDEX CONCURRENTLY")
        assert value(each_url, "SELECT pg_terminate_backend(%s, 10000)", pid)
        with pytest.raises(DatabaseUnavailable):
            running.result()

    status = migrate.downgrade(each_url, revision=BEFORE)

    assert (status.revision, status.invalid_indexes) == (BEFORE, [])


def test_the_words_are_kept_all_or_nothing(each_url: str, background: ThreadPoolExecutor) -> None:
    """Cut off while the second table waits to be written anew."""
    at_revision(each_url, DROPPED)
    insert(each_url, "agent_memories", "dancing")
    before = dump(each_url)
    with open_transaction(each_url, "LOCK TABLE pgrecall.team_memories IN ACCESS SHARE MODE"):
        running = background.submit(migrate.upgrade, each_url)
        pid = wait_until_blocked(each_url, "ALTER TABLE pgrecall.team_memories")
        assert value(each_url, "SELECT pg_terminate_backend(%s, 10000)", pid)
        with pytest.raises(DatabaseUnavailable):
            running.result()

    assert dump(each_url) == before
    assert migrate.upgrade(each_url).pending == []
    assert terms(each_url) == {"dancing": {"danc"}}


# The language


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (None, {"hauser", "der", "danc"}),
        ("english", {"hauser", "der", "danc"}),
        ("simple", {"hauser", "der", "dancing", "the"}),
        ("german", {"haus", "dancing", "the"}),
    ],
)
@pytest.mark.parametrize("begun", [None, BEFORE, KEPT])
def test_the_language_is_given_with_the_upgrade_that_brings_words(
    empty_url: str, language: str | None, expected: set[str], begun: str | None
) -> None:
    if begun:
        given = {} if begun == BEFORE else {"language": language}
        at_revision(empty_url, begun, **given)

    status = migrate.upgrade(empty_url, dimensions=DIMENSIONS, language=language)

    insert(empty_url, "agent_memories", "Häuser der dancing the")
    assert (status.language, status.pending) == (language or "english", [])
    assert terms(empty_url) == {"Häuser der dancing the": expected}
    again = migrate.upgrade(empty_url, language=language)
    assert again == status == migrate.upgrade(empty_url) == migrate.status(empty_url)


@pytest.mark.parametrize("revision", [KEPT, "head"])
def test_another_language_later_is_refused_and_the_way_is_told(
    empty_url: str, revision: str
) -> None:
    at_revision(empty_url, revision, language="german")

    with pytest.raises(SchemaError, match="by german, not simple; `pgrecall migrate language simp"):
        migrate.upgrade(empty_url, language="simple")

    assert migrate.status(empty_url).language == "german"


@pytest.mark.parametrize("begun", [None, BEFORE])
def test_a_language_that_the_server_has_not_is_refused_with_the_list(
    empty_url: str, begun: str | None
) -> None:
    if begun:
        at_revision(empty_url, begun)

    with pytest.raises(InputError, match=r"unknown text language 'klingon'.*english.*simple"):
        migrate.upgrade(empty_url, dimensions=DIMENSIONS, language="klingon")

    assert migrate.status(empty_url).language is None
    assert migrate.upgrade(empty_url, dimensions=DIMENSIONS).language == "english"


HOSTILE_NAMES = ["English", "a'b", "simple'::regconfig; --", "a.b", "x" * 64, "a\n", "ä", "1"]
each_hostile = pytest.mark.parametrize("name", HOSTILE_NAMES, ids=lambda name: f"{name!a:.25}")


@each_hostile
def test_a_language_that_cannot_be_a_name_is_refused(empty_url: str, name: str) -> None:
    with pytest.raises(InputError, match="a text language is named with"):
        migrate.upgrade(empty_url, dimensions=DIMENSIONS, language=name)
    with pytest.raises(InputError, match="a text language is named with"):
        migrate.sql(language=name)


def test_an_empty_name_of_a_language_is_refused(empty_url: str) -> None:
    with pytest.raises(InputError, match="a text language is named with"):
        migrate.sql(language="")
    with pytest.raises(InputError, match="a text language is named with"):
        migrate.change_language(empty_url, "")


def test_an_empty_name_of_a_language_is_not_taken_for_none(empty_url: str) -> None:
    with pytest.raises(InputError, match="a text language is named with"):
        migrate.upgrade(empty_url, dimensions=DIMENSIONS, language="")


def alembic(url: str | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "PGRECALL_DATABASE_URL"}
    if url is not None:
        environment["PGRECALL_DATABASE_URL"] = url
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "alembic", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        encoding="utf-8",
    )


def test_plain_alembic_takes_the_language_and_refuses_another(empty_url: str) -> None:
    given = ("-x", f"dimensions={DIMENSIONS}", "-x", "language=german")
    first = alembic(empty_url, *given, "upgrade", KEPT)
    assert first.returncode == 0, first.stderr
    assert migrate.status(empty_url).language == "german"

    other = alembic(empty_url, "-x", "language=simple", "upgrade", "head")
    without = alembic(empty_url, "upgrade", "head")

    assert other.returncode != 0
    assert "compares words by german, not simple" in other.stderr
    assert without.returncode == 0, without.stderr
    status = migrate.status(empty_url)
    assert (status.pending, status.language) == ([], "german")


def psql_(url: str, script: str) -> None:
    done = subprocess.run(
        [embedded.binaries() / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-", url],
        input=script,
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"PGCLIENTENCODING": "UTF8"},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("start", [None, BEFORE, KEPT])
def test_the_upgrade_as_text_builds_the_same_in_every_language(
    empty_url: str, server_url: str, start: str | None
) -> None:
    if start:
        at_revision(empty_url, start, language="german")
    with new_database(server_url) as other:
        migrate.upgrade(other, dimensions=DIMENSIONS, language="german")
        online = dump(other)

    psql_(empty_url, migrate.sql(dimensions=DIMENSIONS, language="german", start=start))

    assert dump(empty_url) == online
    assert migrate.status(empty_url).language == "german"


# Changing the language


@pytest.fixture
def filled(empty_url: str) -> str:
    """At the newest revision: one memory of an agent and one of a team, 60 of another, indexed."""
    migrate.upgrade(empty_url, dimensions=DIMENSIONS)
    for table in OWNERS:
        insert(empty_url, table, "the dancing")
    repo = repository(empty_url)
    dice = random.Random(5)
    repo.add_many(
        "indexed",
        [NewMemory(f"the note {n}", embedding=[dice.gauss() for _ in QUERY]) for n in range(60)],
    )
    repo.build_rank_indexes(agent_id="indexed", at_least=1)
    return empty_url


BLOCKED = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
    "AND wait_event_type = 'Lock'"
)
ENGLISH, SIMPLE = {"danc"}, {"the", "dancing"}
NOTES = "SELECT term_memories FROM pgrecall.rank_indexes WHERE common_terms IS NOT NULL"
HOLDS_THE_END = "SELECT FROM pgrecall.rank_indexes FOR UPDATE"
"""A change of the language waits for this after all texts have been taken apart."""


def of_both(url: str) -> list[set[str]]:
    return [terms(url, table)["the dancing"] for table in OWNERS]


def test_changing_the_language_takes_all_texts_apart_and_drops_what_indexes_noted(
    filled: str,
) -> None:
    assert of_both(filled) == [ENGLISH, ENGLISH]
    assert values(filled, NOTES) == [60]

    changed = migrate.change_language(filled, "simple")

    assert changed == 62
    assert of_both(filled) == [SIMPLE, SIMPLE]
    assert migrate.status(filled).language == "simple"
    assert values(filled, NOTES) == []
    repo = repository(filled)
    for strategy in ("index", "exact"):
        hits = hybrid(repo, "indexed", "the", strategy=strategy)
        assert (hits.strategy, len(with_words(hits))) == (strategy, 10)
    repo.maintain_rank_indexes(agent_id="indexed")
    assert migrate.change_language(filled, "english") == 62
    assert of_both(filled) == [ENGLISH, ENGLISH]


def test_a_changed_language_counts_for_what_is_written_later(filled: str) -> None:
    migrate.change_language(filled, "simple")
    repo = repository(filled)

    repo.add("a", NewMemory("the singing", embedding=QUERY))
    repo.add_many("a", [NewMemory("the reading", embedding=QUERY)])

    found = terms(filled)
    assert found["the singing"] == {"the", "singing"}
    assert found["the reading"] == {"the", "reading"}


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
            names = {term.term for term in repo.telling_terms("a")}
            connection.commit()
            return with_words(hits), with_words(alone), matching, filtered, names

        before = [seen() for _ in range(TIMES)]
        migrate.change_language(filled, "simple")
        after = [seen() for _ in range(TIMES)]

    the = ["the dancing"]
    assert before == [([], [], [1, 1], [1, 1], ENGLISH)] * TIMES
    assert after == [(the, the, [1, 0], [1, 0], SIMPLE)] * TIMES


@pytest.mark.parametrize("by", ["termination", "cancellation"])
def test_a_change_that_is_cut_off_at_its_end_has_changed_nothing(
    filled: str, background: ThreadPoolExecutor, by: str
) -> None:
    before = dump(filled)
    with open_transaction(filled, HOLDS_THE_END):
        running = background.submit(migrate.change_language, filled, "simple")
        pid = wait_until_blocked(filled, 'SELECT "pgrecall".change_text_language')
        assert with_words(hybrid(repository(filled), "a", "the dance")) == ["the dancing"]
        end = "pg_terminate_backend(%s, 10000)" if by == "termination" else "pg_cancel_backend(%s)"
        assert value(filled, f"SELECT {end}", pid)
        with pytest.raises(PgRecallError):
            running.result()

    assert of_both(filled) == [ENGLISH, ENGLISH]
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


@pytest.mark.parametrize(
    "isolation",
    [
        "READ COMMITTED",
        "REPEATABLE READ",
    ],
)
def test_a_change_takes_apart_what_was_written_while_it_waited(
    filled: str, background: ThreadPoolExecutor, isolation: str
) -> None:
    """Whatever the isolation level that an engine or a database has by default."""
    engine = engine_of(filled, isolation_level=isolation)
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


def test_two_changes_at_once_come_one_after_the_other(
    filled: str, background: ThreadPoolExecutor
) -> None:
    with open_transaction(filled, HOLDS_THE_END):
        running = [
            background.submit(migrate.change_language, filled, name)
            for name in ("simple", "german")
        ]
        wait_until_blocked(filled, 'SELECT "pgrecall".change_text_language')
    outcomes = [future.exception() for future in running]

    assert all(error is None or isinstance(error, PgRecallError) for error in outcomes)
    assert None in outcomes
    language = migrate.status(filled).language
    assert language in ("simple", "german")
    expected = SIMPLE if language == "simple" else {"the", "dancing"}
    assert of_both(filled) == [expected, expected]


@pytest.mark.parametrize("name", ["klingon", "pg_catalog"])
def test_changing_to_an_unknown_language_is_refused(filled: str, name: str) -> None:
    with pytest.raises(InputError, match="unknown text language"):
        migrate.change_language(filled, name)

    assert of_both(filled) == [ENGLISH, ENGLISH]


@each_hostile
def test_changing_to_what_cannot_be_a_name_is_refused(filled: str, name: str) -> None:
    with pytest.raises(InputError, match="a text language is named with"):
        migrate.change_language(filled, name)


@pytest.mark.parametrize("revision", [None, BEFORE, DROPPED])
def test_a_schema_without_words_has_no_language_to_change(
    empty_url: str, revision: str | None
) -> None:
    if revision:
        at_revision(empty_url, revision)

    with pytest.raises(SchemaError, match="keeps no words yet"):
        migrate.change_language(empty_url, "simple")


def test_one_schema_changes_its_language_and_another_does_not(empty_url: str) -> None:
    for schema in ("one", "two"):
        migrate.upgrade(empty_url, dimensions=DIMENSIONS, schema=schema)
        insert(empty_url, "agent_memories", "the dancing", schema=schema)

    migrate.change_language(empty_url, "simple", schema="two")

    assert terms(empty_url, schema="one") == {"the dancing": ENGLISH}
    assert terms(empty_url, schema="two") == {"the dancing": SIMPLE}


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_only_the_owner_may_change_the_language(filled: str, role: str) -> None:
    with new_role(filled, *OWNERS, "alembic_version") as name:
        if role == "writer":
            run(filled, f'GRANT ALL ON ALL TABLES IN SCHEMA pgrecall TO "{name}"')
        with psycopg.connect(filled, autocommit=True) as connection:
            connection.execute(f'SET ROLE "{name}"'.encode())
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT pgrecall.change_text_language('simple')")

    assert of_both(filled) == [ENGLISH, ENGLISH]


@pytest.mark.parametrize("given", ["NULL", "1::oid::regconfig"])
def test_changing_to_no_language_is_refused_in_an_empty_schema_too(
    empty_url: str, given: str
) -> None:
    migrate.upgrade(empty_url, dimensions=DIMENSIONS)

    with pytest.raises(psycopg.Error):
        run(empty_url, f"SELECT pgrecall.change_text_language({given})")


OWN = "CREATE TEXT SEARCH CONFIGURATION {} (COPY = pg_catalog.simple)"


def test_a_configuration_of_one_s_own_is_a_language_and_stays_while_it_is_used(
    empty_url: str,
) -> None:
    run(empty_url, OWN.format("public.mine"))
    migrate.upgrade(empty_url, dimensions=DIMENSIONS, language="mine")
    insert(empty_url, "agent_memories", "the dancing")

    with pytest.raises(psycopg.errors.DependentObjectsStillExist):
        run(empty_url, "DROP TEXT SEARCH CONFIGURATION public.mine")

    assert migrate.upgrade(empty_url, language="mine").language == "mine"
    assert terms(empty_url) == {"the dancing": SIMPLE}


@pytest.mark.parametrize("name", ["elsewhere.mine", 'public."My English"'])
def test_a_language_set_in_psql_does_not_stop_later_migrations(empty_url: str, name: str) -> None:
    migrate.upgrade(empty_url, dimensions=DIMENSIONS)
    run(
        empty_url,
        "CREATE SCHEMA elsewhere",
        OWN.format(name),
        f"SELECT pgrecall.change_text_language('{name}')",
    )

    assert migrate.upgrade(empty_url).pending == []
    assert migrate.downgrade(empty_url, revision=KEPT).revision == KEPT


# Grants


SEARCHES = ("memory_usage", "memory_events", "rank_indexes", "alembic_version")


def test_who_could_search_before_can_search_by_words_after(each_url: str) -> None:
    at_revision(each_url)
    insert(each_url, "agent_memories", "the dancing")
    insert(each_url, "team_memories", "the dance")
    with new_role(each_url, *OWNERS, *SEARCHES) as role:
        migrate.upgrade(each_url)
        with acting_as(each_url, role) as repo:
            hits = hybrid(repo, "a", "dancing", teams=["a"])
            assert with_words(hits) == ["the dance", "the dancing"]
            assert [term.term for term in repo.telling_terms("a")] == ["danc"]
            assert repo.count("a", text="dances") == 1
            [own] = [hit.memory.id for hit in hits if hit.memory.team_id is None]
            why = repo.explain("a", own, QUERY, profile="hybrid", query_text="dance")
            assert [(term.term, term.matched, term.memories) for term in why.terms] == [
                ("danc", True, 1)
            ]


@pytest.mark.parametrize("server", ["18"], indirect=True)
def test_who_may_read_because_everybody_may_can_search_by_words(each_url: str) -> None:
    at_revision(each_url)
    insert(each_url, "agent_memories", "the dancing")
    run(each_url, *(f"GRANT SELECT ON pgrecall.{t} TO PUBLIC" for t in (*OWNERS, *SEARCHES)))
    with new_role(each_url) as role:
        migrate.upgrade(each_url)
        with acting_as(each_url, role) as repo:
            assert with_words(hybrid(repo, "a", "dancing")) == ["the dancing"]


@pytest.mark.parametrize("server", ["18"], indirect=True)
def test_the_views_of_words_give_nobody_more_than_they_may_read(each_url: str) -> None:
    migrate.upgrade(each_url, dimensions=DIMENSIONS)
    insert(each_url, "agent_memories", "secret")
    with new_role(each_url, "memory_terms", "telling_terms") as role:
        for view in ("memory_terms", "telling_terms"):
            with psycopg.connect(each_url, autocommit=True) as connection:
                connection.execute(f'SET ROLE "{role}"'.encode())
                with pytest.raises(psycopg.errors.InsufficientPrivilege, match="agent_memories"):
                    connection.execute(f"SELECT * FROM pgrecall.{view}".encode())


# Dump and restore


def restored(source: str, target: str) -> None:
    """The whole database, through pg_dump and psql."""
    done = subprocess.run(
        [embedded.binaries() / "pg_dump", "--no-owner", source],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"PGCLIENTENCODING": "UTF8"},
    )
    assert done.returncode == 0, done.stderr
    psql_(target, done.stdout)


@pytest.mark.parametrize("language", ["english", "mine"])
def test_searches_find_the_same_in_a_database_restored_from_a_dump(
    empty_url: str, server_url: str, language: str
) -> None:
    run(empty_url, OWN.format("public.mine"))
    migrate.upgrade(empty_url, dimensions=DIMENSIONS, language=language)
    repo = repository(empty_url)
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
    repo.build_rank_indexes(agent_id="a", at_least=1)
    with new_database(server_url) as target:
        restored(empty_url, target)

        other = repository(target)
        for text in (*words, "the bears of 東京", "nothing of it"):
            for strategy in ("exact", "index"):
                asked: dict[str, Any] = {"strategy": strategy, "teams": ["a"], "k": 10}
                found = hybrid(other, "a", text, **asked)
                assert found == hybrid(repo, "a", text, **asked)
                assert found.strategy == strategy
        assert other.telling_terms("a") == repo.telling_terms("a")
        assert migrate.status(target) == migrate.status(empty_url)
        other.add("a", NewMemory("dancing again", embedding=QUERY))
        assert dump(target) == dump(empty_url)
