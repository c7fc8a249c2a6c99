"""What other libraries have written moves in, once, and is found as it was there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.types.json import Jsonb
from sqlalchemy import Engine, NullPool, create_engine, make_url

from pgrecall import Imported, Memory, MemoryRepository, import_file, import_from
from pgrecall.core.ids import id_of_key
from pgrecall.errors import (
    DatabaseReadOnly,
    DatabaseUnavailable,
    EmbedderMismatch,
    EmbedderRequired,
    InputError,
    InvalidLine,
    UnknownName,
)
from pgrecall.testing import new_database
from tests.conftest import DIMENSIONS
from tests.integration.commands import Run
from tests.integration.stores import FIELDS, INDEX
from tests.left import left_by
from tests.left.libraries import Bags

MODEL = "bags"


class Named(Bags):
    """An embedder whose model has a name, and that counts the texts it embeds."""

    model = MODEL

    def __init__(self) -> None:
        self.embedded = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.embedded += len(texts)
        return super().embed_documents(texts)


@pytest.fixture
def embedder() -> Named:
    return Named()


@pytest.fixture
def target(own_engine: Engine, embedder: Named) -> MemoryRepository:
    return MemoryRepository(own_engine, embedder=embedder)


@pytest.fixture
def source(server_url: str) -> Iterator[str]:
    """An empty database."""
    with new_database(server_url) as url:
        yield url


@pytest.fixture
def leave(source: str) -> Callable[..., list[Any]]:
    """Executes statements on the source."""

    def execute(statement: str, *rows: Any) -> list[Any]:
        with psycopg.connect(source, autocommit=True) as connection:
            if rows:
                connection.cursor().executemany(statement, rows)
                return []
            done = connection.execute(statement)
            return done.fetchall() if done.description else []

    return execute


def moved(repo: MemoryRepository, owner: str) -> dict[str, Memory]:
    """An owner's memories by their texts."""
    recalled_or_to_be = {"status": ["active", "pending"], "invalidated_at": None}
    page = repo.list(
        owner,
        filter=recalled_or_to_be,
        include_inactive=True,
        include_embedding=True,
        limit=1000,
    )
    return {one.content: one for one in page}


def memories(repo: MemoryRepository) -> int:
    return sum(owner.memories for owner in repo.owners())


def counts(done: Imported) -> tuple[int, int, int]:
    return done.added, done.already_there, done.rejected


def test_mem0(source: str, target: MemoryRepository, embedder: Named) -> None:
    left_by("mem0", source)

    done = import_from(target, None, "mem0", source, model=MODEL)

    assert counts(done) == (6, 0, 0)
    assert done.vectors.startswith("6 of 6 vectors are taken over")
    assert embedder.embedded == 0
    zoe = moved(target, "zoe")
    assert sorted(zoe) == sorted(
        [
            "Zoe drinks green tea",
            "The train to Paris leaves at nine",
            "Zoe has a cat",
            "größer ☕ \\ ' \"",
        ]
    )
    with psycopg.connect(source) as connection:
        rows = connection.execute("SELECT id, vector::text, payload FROM mem0").fetchall()
    written = {payload["data"]: (id_, vector, payload) for id_, vector, payload in rows}
    for content, memory in zoe.items():
        id_, vector, payload = written[content]
        assert (memory.id, memory.key, memory.embedding_model) == (id_, None, MODEL)
        assert list(memory.embedding or ()) == pytest.approx(json.loads(vector))
        assert memory.created_at == datetime.fromisoformat(payload["created_at"])
        assert memory.updated_at == datetime.fromisoformat(payload["updated_at"])
    tea, cat = zoe["Zoe drinks green tea"], zoe["Zoe has a cat"]
    assert (tea.metadata, tea.entities) == ({"lang": "en", "role": "user"}, ["Zoe"])
    assert cat.metadata == {"role": "user", "agent_id": "helper"}
    assert cat.expires_at == datetime(2200, 1, 1, tzinfo=UTC)
    assert zoe["The train to Paris leaves at nine"].session == "trip"
    [answers], [talk] = moved(target, "helper").values(), moved(target, "talk-1").values()
    assert (answers.content, talk.content, talk.session) == (
        "Answers are short",
        "Only in this talk",
        None,
    )
    [hit] = target.search("zoe", "the train to paris", k=1)
    assert hit.memory.session == "trip"
    again = import_from(target, None, "mem0", source)
    assert counts(again) == (0, 6, 0)


def test_the_owner_is_chosen_by_a_map(source: str, target: MemoryRepository) -> None:
    left_by("mem0", source)
    chosen = {"payload.agent_id": "agent_id", "payload.lang": "subject"}

    with pytest.raises(InvalidLine, match=r"row 3: names no owner: .*--agent.*--map .*\(id '"):
        import_from(target, None, "mem0", source, fields=chosen)
    done = import_from(target, "nobody", "mem0", source, fields=chosen)

    assert counts(done) == (4, 2, 0)
    assert {*moved(target, "helper")} == {"Answers are short", "Zoe has a cat"}
    rest = moved(target, "nobody")
    assert rest["Zoe drinks green tea"].subject == "en"
    assert rest["Zoe drinks green tea"].metadata == {"user_id": "zoe", "role": "user"}


ITEMS: tuple[tuple[tuple[str, ...], str, dict[str, Any]], ...] = (
    (("memories", "zoe"), "1", {"text": "green tea", "n": 1}),
    (("memories", "zoe"), "[odd", {"text": "coffee", "deep": {"a": [1, None]}}),
    (("memories", "zoe", "work"), "1", {"text": "a ship"}),
    (("memories",), "1", {"text": "a dog"}),
    (("memories", "zoe"), "same", {"text": "green tea", "n": 1}),
    (("memories", "bob"), "flags", {"done": True}),
    (("memories", "bob"), "k" * 300, {"text": "a cat"}),
)


@pytest.mark.parametrize("with_vectors", [True, False], ids=["vectors", "no vectors"])
def test_langgraph(
    source: str, target: MemoryRepository, embedder: Named, with_vectors: bool
) -> None:
    """RecallStore finds the items under their namespaces and keys, and they are equal."""
    postgres = pytest.importorskip("langgraph.store.postgres")
    from pgrecall.langgraph import RecallStore

    with postgres.PostgresStore.from_conn_string(
        source, index=INDEX if with_vectors else None
    ) as left:
        left.setup()
        for namespace, key, value in ITEMS:
            left.put(namespace, key, value)
        left.put(("memories", "zoe"), "brief", {"text": "a train"}, ttl=60 * 24)
        there = {(item.namespace, item.key): item for item in left.search(("memories",), limit=100)}

    done = import_from(target, None, "langgraph", source, model=MODEL)

    assert counts(done) == (len(ITEMS) + 1, 0, 0)
    assert embedder.embedded == (0 if with_vectors else len(ITEMS))
    store = RecallStore(target, fields=FIELDS)
    here = {(item.namespace, item.key): item for item in store.search(("memories",), limit=100)}
    assert {place: item.dict() | {"score": None} for place, item in here.items()} == {
        place: item.dict() | {"score": None} for place, item in there.items()
    }
    for namespace, key, value in ITEMS:
        found = store.get(namespace, key)
        assert found is not None
        assert found.value == value
    [best] = store.search(("memories", "zoe"), query="coffee", limit=1)
    assert best.key == "[odd"
    assert moved(target, "memories.zoe")["a train"].expires_at is not None
    assert counts(import_from(target, None, "langgraph", source)) == (0, len(ITEMS) + 1, 0)
    store.put(("memories", "zoe"), "1", {"text": "black tea"})
    assert len(store.search(("memories",), limit=100)) == len(ITEMS) + 1, "it replaced the item"


def test_langchain(source: str, target: MemoryRepository, embedder: Named) -> None:
    """Our vector store finds the documents by their ids."""
    from pgrecall.langchain import RecallVectorStore

    left_by("langchain", source)

    done = import_from(
        target, None, "langchain", source, fields={"collection": "agent_id"}, model=MODEL
    )

    assert counts(done) == (6, 0, 0)
    assert embedder.embedded == 0
    store = RecallVectorStore(target, agent_id="zoe")
    documents = store.get_by_ids([f"zoe-{n}" for n in range(3)])
    assert [(one.id, one.page_content, one.metadata) for one in documents] == [
        (f"zoe-{n}", f"zoe has tea {n}", {"user": "u", "n": n}) for n in range(3)
    ]
    assert counts(
        import_from(target, None, "langchain", source, fields={"collection": "agent_id"})
    ) == (0, 6, 0)
    by_user = import_from(
        target, None, "langchain", source, collection="bob", fields={"cmetadata.user": "agent_id"}
    )
    assert counts(by_user) == (3, 0, 0)
    assert (target.count("u"), target.count("w")) == (2, 1)
    [last] = moved(target, "w").values()
    assert last.metadata == {}


def test_langchains_newer_store(source: str, target: MemoryRepository) -> None:
    left_by("langchain", source)

    done = import_from(target, "sea", "langchain", source, table="notes", model=MODEL)

    assert counts(done) == (2, 0, 0)
    found = moved(target, "sea")
    assert found["a ship"].metadata == {"page": 1, "topic": "sea"}
    assert found["a dog"].metadata == {"topic": "pets"}
    assert found["a dog"].key == "0197a3c2-0000-7000-8000-000000000002"


LETTA = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE archival_passages (
    id varchar PRIMARY KEY, text varchar NOT NULL, embedding_config json NOT NULL,
    metadata_ json NOT NULL, tags json, embedding vector(4096), created_at timestamptz,
    updated_at timestamptz, is_deleted boolean NOT NULL DEFAULT false, _created_by_id varchar,
    _last_updated_by_id varchar, organization_id varchar NOT NULL, archive_id varchar NOT NULL);
CREATE TABLE archives_agents (
    agent_id varchar, archive_id varchar, created_at timestamptz DEFAULT now(),
    is_owner boolean NOT NULL, PRIMARY KEY (agent_id, archive_id));
"""
"""As letta/orm/passage.py, archives_agents.py and sqlalchemy_base.py of letta-ai/letta have them.
Vectors are padded with zeros to 4096 dimensions."""


def test_letta(
    source: str, leave: Callable[..., list[Any]], target: MemoryRepository, embedder: Named
) -> None:
    leave(LETTA)
    texts = ("Zoe drinks tea", "Zoe has a cat", "of another model", "deleted", "of no agent")
    vectors = embedder.embed_documents([*texts])
    embedder.embedded = 0

    def passage(number: int) -> dict[str, Any]:
        model = "other" if number == 2 else MODEL
        padded = [*vectors[number], *[0.0] * (4096 - DIMENSIONS)]
        return {
            "id": f"passage-0197a3c2-0000-4000-8000-00000000000{number}",
            "text": texts[number],
            "config": Jsonb({"embedding_model": model, "embedding_dim": DIMENSIONS}),
            "metadata": Jsonb({"n": number}),
            "tags": Jsonb(["drinks"] if number == 0 else None),
            "embedding": str(padded),
            "deleted": number == 3,
            "archive": "archive-2" if number == 4 else "archive-1",
        }

    leave(
        "INSERT INTO archival_passages VALUES (%(id)s, %(text)s, %(config)s, %(metadata)s, "
        "%(tags)s, %(embedding)s, '2026-05-01 10:00Z', '2026-05-02 10:00Z', %(deleted)s, "
        "'user-1', 'user-1', 'org-1', %(archive)s)",
        *map(passage, range(len(texts))),
    )
    leave(
        "INSERT INTO archives_agents VALUES (%s, 'archive-1', now(), %s)",
        ("agent-a", False),
        ("agent-b", True),
    )

    done = import_from(target, None, "letta", source)

    assert counts(done) == (4, 0, 0)
    assert done.vectors.startswith("3 of 4 vectors are taken over")
    assert embedder.embedded == 1
    found = moved(target, "agent-b")
    tea = found["Zoe drinks tea"]
    assert (tea.key, tea.tags) == (passage(0)["id"], ["drinks"])
    assert tea.metadata == {"n": 0, "archive_id": "archive-1"}
    assert list(tea.embedding or ()) == pytest.approx(vectors[0])
    assert tea.updated_at == datetime(2026, 5, 2, 10, tzinfo=UTC)
    assert {*moved(target, "archive-2")} == {"of no agent"}
    assert len(found) == 3
    assert counts(import_from(target, None, "letta", source)) == (0, 4, 0)


def test_any_table(source: str, leave: Callable[..., list[Any]], target: MemoryRepository) -> None:
    leave(
        'CREATE EXTENSION IF NOT EXISTS vector; CREATE SCHEMA "my app"; '
        'CREATE TABLE "my app"."the ""items" (number bigint, part text, body text, "who?" integer, '
        f"embedding halfvec({DIMENSIONS}), at timestamp, "
        "note jsonb, PRIMARY KEY (number, part)); "
        'INSERT INTO "my app"."the ""items" SELECT n, \'a\', \'body \' || n, 7, '
        f"('[1' || repeat(',0', {DIMENSIONS - 1}) || ']')::halfvec, '2026-05-01 10:00', "
        "jsonb_build_object('n', n) FROM generate_series(1, 1500) n"
    )
    arguments: Any = {
        "table": 'my app.the "items',
        "model": MODEL,
        "timezone": "Europe/Berlin",
        "fields": {
            "body": "content",
            "who?": "agent_id",
            "at": "created_at",
            "note": "metadata",
            "number": "metadata.number",
            "part": "",
        },
    }

    done = import_from(target, None, "table", source, **arguments)

    assert counts(done) == (1500, 0, 0)
    found = moved(target, "7")
    assert found["body 7"].metadata == {"n": 7, "number": 7}
    assert found["body 7"].created_at == datetime(2026, 5, 1, 8, tzinfo=UTC)
    assert found["body 7"].embedding is not None
    leave('UPDATE "my app"."the ""items" SET embedding = NULL WHERE number > 2')
    leave('CREATE INDEX ON "my app"."the ""items" (body)')
    assert counts(import_from(target, None, "table", source, **arguments)) == (0, 1500, 0)


def test_the_primary_key_is_the_id(
    leave: Callable[..., list[Any]], source: str, target: MemoryRepository
) -> None:
    leave(
        "CREATE TABLE notes (note_no serial PRIMARY KEY, content text, vector float8[]); "
        "INSERT INTO notes (content) VALUES ('first'), ('first'), ('second')"
    )

    done = import_from(target, "zoe", "table", source, table="notes")
    leave("UPDATE notes SET content = 'changed' WHERE note_no = 1")
    again = import_from(target, "zoe", "table", source, table="public.notes")

    assert (counts(done), counts(again)) == ((3, 0, 0), (0, 3, 0))
    assert target.get("zoe", key="notes:3") is not None
    assert id_of_key("zoe", "notes:3") == UUID(str(moved(target, "zoe")["second"].id))


def test_a_dry_run_says_what_would_be(
    source: str, leave: Callable[..., list[Any]], target: MemoryRepository, embedder: Named
) -> None:
    left_by("mem0", source)
    import_from(target, "known", "mem0", source, fields={"payload.lang": "subject"})
    leave('INSERT INTO mem0 VALUES (gen_random_uuid(), NULL, \'{"user_id": "zoe"}\')')
    leave(
        "INSERT INTO mem0 SELECT gen_random_uuid(), NULL, jsonb_build_object('data', 'n ' || n, "
        "'user_id', 'many') FROM generate_series(1, 20) n"
    )
    before, embedder.embedded = memories(target), 0
    refused: list[str] = []
    told: list[tuple[int, str]] = []

    done = import_from(
        target,
        None,
        "mem0",
        source,
        dry_run=True,
        on_start=lambda *start: told.append(start),
        on_reject=lambda number, reason: refused.append(reason),
    )

    assert counts(done) == (20, 6, 1)
    assert memories(target) == before
    assert embedder.embedded == 0
    assert told == [(27, done.vectors)]
    assert done.vectors == (
        "6 vectors are made anew: the source does not say which model made them; name it (--model) "
        "to take them over"
    )
    assert done.preview is not None
    assert done.preview.owners == {"zoe": 4, "helper": 1, "talk-1": 1, "many": 20}
    assert len(done.preview.memories) == 10
    assert done.preview.memories[0]["content"] == "Answers are short"
    assert any("graph memories" in one for one in done.preview.left_behind)
    [reason] = refused
    assert reason.startswith("the object has no content (id '")


VECTORS: tuple[tuple[str | None, int, str], ...] = (
    ("other", DIMENSIONS, "2 vectors are made anew: they are of 'other', and those here of 'bags'"),
    (None, DIMENSIONS, "does not say which model made them"),
    (MODEL, 3, "they have 3 dimensions, and those here 8"),
    (MODEL, DIMENSIONS, "2 of 2 vectors are taken over"),
)


@pytest.mark.parametrize(("model", "dimensions", "told"), VECTORS)
def test_vectors_are_taken_over_only_where_they_can_be_compared(
    source: str,
    leave: Callable[..., list[Any]],
    target: MemoryRepository,
    embedder: Named,
    model: str | None,
    dimensions: int,
    told: str,
) -> None:
    leave("CREATE TABLE notes (id text PRIMARY KEY, content text, embedding float8[])")
    vector = [float(n + 1) for n in range(dimensions)]
    leave("INSERT INTO notes VALUES (%s, %s, %s)", ("1", "tea", vector), ("2", "cat", vector))

    done = import_from(target, "zoe", "table", source, table="notes", model=model)

    assert told in done.vectors
    is_taken = "taken over" in told
    assert embedder.embedded == (0 if is_taken else 2)
    tea = moved(target, "zoe")["tea"]
    expected = vector if is_taken else embedder.embed_query("tea")
    assert list(tea.embedding or ()) == pytest.approx(expected)
    assert tea.embedding_model == MODEL


def test_the_model_of_vectors_taken_over_is_that_of_the_schema(
    source: str, target: MemoryRepository, own_engine: Engine
) -> None:
    left_by("mem0", source)
    without = MemoryRepository(own_engine)

    with pytest.raises(EmbedderRequired, match=r"6 vectors are made anew: .*Pass embedder"):
        import_from(without, None, "mem0", source)
    assert counts(import_from(without, None, "mem0", source, model="other")) == (6, 0, 0)

    for call in (
        lambda: target.add("zoe", "tea"),
        lambda: import_from(target, "zoe", "mem0", source, model=MODEL),
    ):
        with pytest.raises(EmbedderMismatch, match="holds embeddings of 'other'"):
            call()


def test_a_vector_of_another_length_or_a_row_without_text_is_one_sentence(
    source: str, leave: Callable[..., list[Any]], target: MemoryRepository, tmp_path: Any
) -> None:
    """Batches before it are whole; what is mended is imported by the same call."""
    leave(
        "CREATE EXTENSION IF NOT EXISTS vector; "
        "CREATE TABLE notes (id integer PRIMARY KEY, content text, embedding vector); "
        "INSERT INTO notes SELECT n, 'note ' || n, '[1,0,0,0,0,0,0,0]' "
        "FROM generate_series(1, 9) n; "
        "UPDATE notes SET embedding = '[1,0,0]' WHERE id = 5; "
        "UPDATE notes SET content = NULL WHERE id = 8"
    )
    arguments: Any = {"table": "notes", "model": MODEL, "batch_size": 2}

    with pytest.raises(
        InvalidLine,
        match=r"^public\.notes, row 5: the vector has 3 dimensions, .* stores 8 \(id 5\)$",
    ):
        import_from(target, "zoe", "table", source, **arguments)
    assert target.count("zoe") == 4
    told: list[str] = []
    done = import_from(
        target,
        "zoe",
        "table",
        source,
        **arguments,
        rejects=tmp_path / "bad.jsonl",
        on_reject=lambda number, reason: told.append(reason),
    )

    assert counts(done) == (3, 4, 2)
    assert told[1] == "the object has no content (id 8)"
    bad = [*map(json.loads, (tmp_path / "bad.jsonl").read_text().splitlines())]
    assert [line["id"] for line in bad] == ["notes:5", "notes:8"]
    mended = [line | {"content": "mended", "embedding": None} for line in bad]
    (tmp_path / "mended.jsonl").write_text("\n".join(map(json.dumps, mended)))
    assert counts(import_file(target, "zoe", tmp_path / "mended.jsonl")) == (2, 0, 0)
    leave("UPDATE notes SET content = 'text', embedding = NULL WHERE id IN (5, 8)")
    assert counts(import_from(target, "zoe", "table", source, **arguments)) == (0, 9, 0)


WRONG: tuple[tuple[dict[str, Any], type[Exception], str], ...] = (
    ({"system": "mem9"}, UnknownName, "unknown system 'mem9'; known are mem0, langgraph"),
    ({"system": "mem0"}, InputError, "the source has no table 'mem0': name the one to read"),
    ({"system": "table"}, InputError, "name the table to read"),
    (
        {"system": "mem0", "table": "notes"},
        InputError,
        "public.notes is not a table of mem0's PGVector: it has no column payload, vector",
    ),
    (
        {"system": "langgraph", "table": "notes"},
        InputError,
        "is not the table of LangGraph's PostgresStore: it has no column created_at, key, prefix",
    ),
    ({"system": "table", "table": "twice"}, InputError, "is the name of a.twice, b.twice"),
    (
        {"system": "table", "table": "notes", "agent_id": None},
        InvalidLine,
        "row 1: names no owner: give an agent for rows without",
    ),
    (
        {"system": "table", "table": "notes"},
        InvalidLine,
        "row 1: unknown fields body, odd: rename or leave out",
    ),
    (
        {"system": "table", "table": "notes", "fields": {"bdoy": "content"}},
        UnknownName,
        "public.notes has no column bdoy (did you mean body?); there are id, body, odd",
    ),
    ({"system": "letta", "collection": "x"}, InputError, "has no collections"),
    ({"system": "langchain", "table": "a.twice"}, InputError, "of LangChain's PGVectorStore"),
    ({"system": "table", "table": "notes; DROP TABLE notes"}, InputError, "has no table 'notes; "),
    ({"system": "mem0", "source": "sqlite:///x"}, InputError, "needs a postgresql:// URL"),
    ({"system": "mem0", "owner_labels": 0}, InputError, "owner_labels must lie within 1"),
)


def test_a_source_that_is_not_what_is_said_is_one_sentence(
    source: str, leave: Callable[..., list[Any]], target: MemoryRepository
) -> None:
    leave(
        "CREATE TABLE notes (id integer PRIMARY KEY, body text, odd text); "
        "INSERT INTO notes VALUES (1, 'x', 'y'); CREATE SCHEMA a; CREATE SCHEMA b; "
        "CREATE TABLE a.twice (x text); CREATE TABLE b.twice (x text)"
    )
    for wrong, error, reason in WRONG:
        given: dict[str, Any] = {"agent_id": "zoe", "source": source} | wrong
        with pytest.raises(error) as caught:
            import_from(target, **given)
        assert reason in str(caught.value), wrong
        assert "\n" not in str(caught.value)
    assert memories(target) == 0


def test_a_source_that_cannot_be_reached_is_named_and_no_password(target: MemoryRepository) -> None:
    url = "postgresql://nobody:s3cret@127.0.0.1:1/none"
    with pytest.raises(DatabaseUnavailable, match="the source cannot be read: ") as caught:
        import_from(target, None, "mem0", url)
    assert "s3cret" not in str(caught.value)


def test_langchains_tables_of_before(
    source: str, leave: Callable[..., list[Any]], target: MemoryRepository
) -> None:
    """Of langchain-community, whose documents may have an id of the caller, or none."""
    leave(
        "CREATE EXTENSION vector; "
        "CREATE TABLE langchain_pg_collection (uuid uuid PRIMARY KEY, name text, cmetadata json); "
        "CREATE TABLE langchain_pg_embedding (uuid uuid PRIMARY KEY, collection_id uuid, "
        "embedding vector, document text, cmetadata json, custom_id text); "
        "INSERT INTO langchain_pg_embedding VALUES "
        f"('{UUID(int=1)}', NULL, NULL, 'named', NULL, 'name'), "
        f"('{UUID(int=2)}', NULL, NULL, 'nameless', NULL, NULL)"
    )

    assert counts(import_from(target, "zoe", "langchain", source)) == (2, 0, 0)

    found = moved(target, "zoe")
    assert [found[one].key for one in ("named", "nameless")] == ["name", str(UUID(int=2))]


def test_the_source_is_read_at_one_moment_and_not_changed(
    source: str, leave: Callable[..., list[Any]], target: MemoryRepository
) -> None:
    """Also where it is the database of the memories, and rows come while it is read."""
    leave(
        "CREATE TABLE notes (id integer PRIMARY KEY, content text); "
        "INSERT INTO notes SELECT n, 'note ' || n FROM generate_series(1, 300) n"
    )

    def add(done: Imported, position: int) -> None:
        leave(f"INSERT INTO notes VALUES ({1000 + position}, 'later')")

    engine = create_engine(source.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool)
    done = import_from(
        target, "zoe", "table", engine, table="notes", batch_size=50, on_progress=add
    )

    assert counts(done) == (300, 0, 0)
    assert leave("SELECT count(*) FROM notes") == [(306,)]


def test_the_source_can_only_be_read(
    source: str, leave: Callable[..., list[Any]], target: MemoryRepository
) -> None:
    """Also by the functions of a view there, which would run as the role that imports."""
    leave(
        "CREATE TABLE seen (at timestamptz); CREATE FUNCTION public.noted() RETURNS text "
        "LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.seen VALUES (now()); RETURN ''x''; END'; "
        "CREATE VIEW notes AS SELECT 1 AS id, public.noted() AS content"
    )

    with pytest.raises(DatabaseReadOnly, match="the source cannot be read: "):
        import_from(target, "zoe", "table", source, table="notes")

    assert leave("SELECT count(*) FROM seen") == [(0,)]


def test_the_command(run: Run, source: str, leave: Callable[..., list[Any]]) -> None:
    left_by("mem0", source)
    leave('INSERT INTO mem0 VALUES (gen_random_uuid(), NULL, \'{"user_id": "zoe"}\')')
    leave("ALTER TABLE mem0 RENAME TO memories")

    command = ("import", "--from", "mem0", source, "--table", "memories")
    seen = run(*command, "--dry-run")
    record = run(*command, "--dry-run", "--json").records[0]
    refused = run(*command)
    leave("DELETE FROM memories WHERE NOT payload ? 'data'")
    done, again = run(*command), run(*command, "--json")

    assert (seen.code, refused.code, done.code) == (2, 2, 0), seen.err + done.err
    for part in (
        *("Zoe drinks green tea", "6 memories would be added, 0 known by id, 1 row cannot be"),
        *("owners: zoe 4, helper 1, talk-1 1", "stays behind: hash and text_lemmatized"),
        "vectors: 6 vectors are made anew: they have 8 dimensions, and those here 256",
    ):
        assert part in " ".join(seen.out.split()), part
    assert "mem0, row 7: the object has no content (id '" in seen.err
    assert (record["added"], record["rejected"], len(record["preview"]["memories"])) == (6, 1, 6)
    assert "public.memories, row 7: the object has no content (id '" in refused.err
    assert "6 rows; 6 vectors are made anew" in " ".join(done.err.split())
    assert again.records[0]["already_there"] == 6
    found = run("search", "tea", "--agent", "zoe", "--json").records
    assert found[0]["content"] == "Zoe drinks green tea"


def test_a_command_that_cannot_be_is_one_line(run: Run, source: str) -> None:
    secret = make_url(source).set(password="s3cret").render_as_string(hide_password=False)
    for words, reason in (
        ((secret,), "a URL needs --from, the system whose tables are read, such as --from mem0"),
        (("notes.csv", "--table", "items"), "--table without --from, the system"),
        (("--from", "table", secret), "name the table to read (--table items"),
        (("--from", "mem0", source), "the source has no table 'mem0'"),
        (("--from", "mem0", "postgresql:/x:s3cret@y"), "the database URL cannot be"),
        (("--from", "mem0", "nothing.jsonl"), "the database URL cannot be parsed"),
    ):
        done = run("import", *words)
        assert (done.code, done.err.count("\n")) == (2, 1), done.err
        assert reason in done.err
        assert "s3cret" not in done.err
