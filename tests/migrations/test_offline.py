"""The upgrade as SQL text, run by hand, and plain `alembic` in a checkout."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest
from alembic.config import main as alembic_main
from sqlalchemy import make_url

from pgrecall import NewMemory, migrate
from pgrecall.errors import InputError
from pgrecall.schema import REVISION
from pgrecall.scoring.profiles import BUILT_IN
from tests.migrations.asking import (
    ROOT,
    alembic,
    psql,
    repository,
    run,
    value,
    values,
)
from tests.migrations.schema_dump import dump
from tests.migrations.test_words import SOON


def test_the_text_for_another_schema_and_as_plain_alembic_writes_it(
    empty_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    psql(empty_url, migrate.sql(dimensions=3, schema="other"))
    built = dump(empty_url, "other")

    status = migrate.status(empty_url, schema="other")
    assert (status.pending, status.dimensions, status.embedding_type) == ([], 3, "vector")
    assert migrate.status(empty_url).revision is None
    run(empty_url, "DROP SCHEMA other CASCADE")
    capsys.readouterr()
    alembic("", "-x", "dimensions=3", "-x", "schema=other", "upgrade", "head", "--sql")
    psql(empty_url, capsys.readouterr().out)
    assert dump(empty_url, "other") == built


def test_the_text_from_the_newest_revision_on_changes_nothing(migrated: str) -> None:
    before = dump(migrated)

    psql(migrated, migrate.sql(dimensions=3, start=REVISION))
    assert dump(migrated) == before

    with pytest.raises(AssertionError, match="already exists"):  # it stops where it fails
        psql(migrated, migrate.sql(dimensions=3))
    assert dump(migrated) == before


def test_plain_alembic_with_arguments_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGRECALL_DATABASE_URL", raising=False)
    for arguments, message in (
        (["-x", "dimensions=many"], "dimensions must be a whole number, got 'many'"),
        (["-x", "dimensions=0"], "got 0"),
        (["-x", "dimension=3"], "unknown -x argument dimension"),
        (["-x", "embedding_type=bit"], "unknown embedding type 'bit'"),
        (["-x", "schema=a;b"], "schema name"),
        ([], "no database: set PGRECALL_DATABASE_URL"),
    ):
        with pytest.raises(InputError, match=message):
            alembic_main(["-c", str(ROOT / "alembic.ini"), *arguments, "upgrade", "head"])


def test_other_tables_of_our_names_do_no_harm(server_url: str, empty_url: str) -> None:
    """First on the search_path of whoever migrates, and then without any path."""
    run(
        empty_url,
        "CREATE TABLE public.agent_memories (embedding text)",
        "CREATE TABLE public.memory_usage (id integer)",
        "CREATE FUNCTION public.content_hash(content text) RETURNS bytea IMMUTABLE "
        "RETURN '\\x00'::bytea",
        "CREATE FUNCTION public.vector_norm(text) RETURNS float8 IMMUTABLE RETURN 0",
    )

    migrate.upgrade(empty_url, dimensions=3)

    run(
        empty_url,
        "INSERT INTO pgrecall.agent_memories (agent_id, id, content) "
        "VALUES ('a', gen_random_uuid(), 'text')",
    )
    assert value(empty_url, "SELECT length(content_hash) FROM pgrecall.agent_memories") == 32
    run(server_url, f"ALTER DATABASE {make_url(empty_url).database} SET search_path = ''")
    assert migrate.downgrade(empty_url).revision is None
    assert migrate.upgrade(empty_url, dimensions=3).pending == []
    migrate.downgrade(empty_url)
    run(server_url, f"ALTER DATABASE {make_url(empty_url).database} RESET search_path")
    assert value(empty_url, "SELECT count(*) FROM public.agent_memories") == 0
    assert value(empty_url, "SELECT content_hash('a')") == b"\x00"


ODD = 'O\'Neil:x "own"'


@pytest.fixture
def where(request: pytest.FixtureRequest, each_url: str) -> str:
    schema: str = request.param
    quoted = '"' + schema.replace('"', '""') + '"'
    run(each_url, f"CREATE SCHEMA {quoted}", f"CREATE EXTENSION vector SCHEMA {quoted}")
    return schema


@pytest.mark.parametrize(
    ("server", "where", "embedding_type"),
    [("16", ODD, "vector"), ("18", "extensions", "halfvec")],
    indirect=["server", "where"],
)
def test_everything_works(each_url: str, where: str, embedding_type: str) -> None:
    script = migrate.sql(dimensions=3, embedding_type=embedding_type, extension_schema=where)
    psql(each_url, script)
    offline = dump(each_url)
    assert migrate.downgrade(each_url).revision is None
    assert migrate.upgrade(each_url, dimensions=3, embedding_type=embedding_type).pending == []
    assert dump(each_url) == offline
    assert migrate.upgrade(each_url, embedding_index=True).embedding_index

    assert value(each_url, "SHOW search_path") == '"$user", public'
    repo = repository(each_url)
    dice = Random(1)
    added = repo.add_many(
        "a", [NewMemory(f"note {n}", embedding=[1, dice.random(), 1]) for n in range(60)]
    )
    repo.add("a", NewMemory("away", embedding=[-1, -2, -3]))
    repo.update("a", added[0], embedding=[1, 5, 1])
    stored = repo.get("a", added[0], include_embedding=True)
    assert stored is not None
    assert stored.embedding == [1, 5, 1]
    repo.rank_indexes.build(agent_id="a", at_least=1)
    search = partial(repo.search, "a", [1, 5, 1], k=5, as_of=SOON, touch=False)
    for profile in BUILT_IN:
        found = search(profile=profile, strategy="exact")
        recalled = (
            "SELECT id FROM pgrecall.recall("
            f"'a', '[1,5,1]', profile => '{profile}', k => 5, as_of => %s)"
        )
        assert values(each_url, recalled, SOON) == [hit.memory.id for hit in found]
        assert len(found) == 5
    for profile in ("five_factor", "hybrid"):
        exact, ranked = (
            search(profile=profile, strategy=strategy) for strategy in ("exact", "index")
        )
        assert ranked.strategy == "index"
        assert [hit.memory.id for hit in ranked] == [hit.memory.id for hit in exact]


@pytest.mark.parametrize(("server", "where"), [("18", ODD)], indirect=True)
def test_plain_alembic_is_told_where_it_is(
    each_url: str, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    alembic(each_url, "-x", "dimensions=3", "upgrade", "head")
    online = dump(each_url)
    run(each_url, "DROP SCHEMA pgrecall CASCADE")
    capsys.readouterr()

    given = ("-x", "dimensions=3", "-x", f"extension_schema={where}")
    alembic(each_url, *given, "upgrade", "head", "--sql")

    psql(each_url, capsys.readouterr().out)
    assert dump(each_url) == online


def test_the_text_for_another_schema_refuses_before_it_has_made_anything(empty_url: str) -> None:
    run(empty_url, 'CREATE SCHEMA "My ext"', 'CREATE EXTENSION vector SCHEMA "My ext"')

    for said in ("public", "nowhere", "extensions'; --", "%", 'My "ext"'):
        with pytest.raises(AssertionError) as refusal:
            psql(empty_url, migrate.sql(dimensions=3, extension_schema=said))
        assert f"pgvector is not in the schema {said}" in str(refusal.value)
        assert "--extension-schema" in str(refusal.value)
    made = "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('pgrecall')"
    assert values(empty_url, made) == []
