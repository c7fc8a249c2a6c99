from __future__ import annotations

from dataclasses import replace

from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, make_url

from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.resources import migrations_folder
from pgrecall.schema import REVISION, tables
from tests.migrations.asking import run, value, values
from tests.migrations.schema_dump import dump

RELATIONS = """
    SELECT relname FROM pg_class WHERE relnamespace = 'pgrecall'::regnamespace ORDER BY 1
"""
ROUTINES = """
    SELECT proname FROM pg_proc WHERE pronamespace = 'pgrecall'::regnamespace ORDER BY 1
"""
TYPES = """
    SELECT typname FROM pg_type WHERE typnamespace = 'pgrecall'::regnamespace
       AND typname NOT IN ('alembic_version', '_alembic_version') ORDER BY 1
"""
EXTENSION = "SELECT count(*) FROM pg_extension WHERE extname = 'vector'"


def revisions() -> list[str]:
    """Oldest first."""
    scripts = ScriptDirectory(str(migrations_folder()))
    return [script.revision for script in scripts.walk_revisions()][::-1]


def test_up_down_and_up_again_build_the_same(each_url: str) -> None:
    first = migrate.upgrade(each_url, dimensions=12, embedding_type="halfvec")
    built = dump(each_url)
    migrate.downgrade(each_url)
    second = migrate.upgrade(each_url, dimensions=12, embedding_type="halfvec")

    assert first.revision == first.head
    assert first.pending == first.invalid_indexes == []
    assert second == first
    assert dump(each_url) == built


def test_down_drops_everything_of_ours_and_leaves_the_extension(each_url: str) -> None:
    migrate.upgrade(each_url, dimensions=3)
    assert len(values(each_url, ROUTINES)) > 3
    run(
        each_url,
        "CREATE TABLE public.host AS SELECT '[1,2,3]'::vector AS embedding",
        "CREATE FUNCTION public.frequency() RETURNS integer RETURN 1",
    )

    status = migrate.downgrade(each_url)

    assert status.revision is None
    assert status.dimensions is None
    assert len(status.pending) == len(revisions())
    assert values(each_url, RELATIONS) == ["alembic_version", "alembic_version_pkc"]
    assert values(each_url, ROUTINES) == []
    assert values(each_url, TYPES) == []
    assert value(each_url, EXTENSION) == 1
    assert value(each_url, "SELECT embedding::text || frequency() FROM host") == "[1,2,3]1"


def test_each_revision_goes_up_and_down_alone(each_url: str) -> None:
    shapes = {"base": ""}
    for revision in revisions():
        status = migrate.upgrade(each_url, dimensions=5, revision=revision)
        shapes[revision] = dump(each_url)
        assert status.revision == revision
        assert [line.split(":")[0] for line in status.pending] == [
            later for later in revisions() if later > revision
        ]

    for revision in [*revisions()[-2::-1], "base"]:
        status = migrate.downgrade(each_url, revision=revision)
        assert status.revision == (None if revision == "base" else revision)
        if revision != "base":
            assert dump(each_url) == shapes[revision]
    assert len(set(shapes.values())) == len(shapes), "each revision changes something"


def test_relative_steps(empty_url: str) -> None:
    assert migrate.upgrade(empty_url, dimensions=5, revision="+1").revision == "0001"
    assert migrate.upgrade(empty_url, revision="+1").revision == "0002"
    assert migrate.downgrade(empty_url, revision="-1").revision == "0001"


def test_up_again_keeps_what_is_stored(each_url: str) -> None:
    before = migrate.upgrade(each_url, dimensions=3)
    engine = create_engine(make_url(each_url).set(drivername="postgresql+psycopg"))
    repo = MemoryRepository(engine)
    memory_id = repo.add("agent", NewMemory("kept", embedding=[1, 2, 3], tags=["tag"]))
    repo.touch("agent", [memory_id])
    stored = repo.get("agent", memory_id, include_embedding=True)
    built = dump(each_url)

    assert migrate.upgrade(each_url) == before
    assert migrate.upgrade(each_url, dimensions=3, embedding_type="vector") == before
    assert migrate.downgrade(each_url, revision="0001").revision == "0001"
    assert migrate.upgrade(each_url) == before

    assert stored is not None
    assert stored.retrieval_count == 1
    # What was counted went with its column; without it tokens are estimated.
    uncounted = replace(stored, tokens=None)
    assert repo.get("agent", memory_id, include_embedding=True) == uncounted
    assert dump(each_url) == built
    engine.dispose()


def test_several_schemas_in_one_database(empty_url: str) -> None:
    one = migrate.upgrade(empty_url, dimensions=3, schema="one")
    two = migrate.upgrade(empty_url, dimensions=4, embedding_type="halfvec", schema="two")
    migrate.downgrade(empty_url, schema="one")

    assert (one.dimensions, one.embedding_type) == (3, "vector")
    assert migrate.status(empty_url, schema="two") == two
    assert (two.dimensions, two.embedding_type) == (4, "halfvec")
    assert migrate.status(empty_url, schema="one").revision is None
    assert migrate.status(empty_url).revision is None


def test_the_code_is_written_against_the_newest_revision() -> None:
    assert ScriptDirectory(str(migrations_folder())).get_current_head() == REVISION


def test_revisions_are_numbered() -> None:
    """Older and newer are told apart by comparing the numbers as text."""
    assert revisions() == [f"{number:04}" for number in range(1, len(revisions()) + 1)]


def test_the_tables_known_to_the_code_are_those_in_the_database(database_url: str) -> None:
    found = values(
        database_url,
        "SELECT relname FROM pg_class WHERE relnamespace = 'pgrecall'::regnamespace "
        "AND relkind = 'r' AND relname <> 'alembic_version'",
    )

    assert set(found) == {table.name for table in tables().metadata.tables.values()}
