"""Up and down the whole way, several schemas side by side."""

from __future__ import annotations

from dataclasses import replace

import pytest
from alembic.script import ScriptDirectory

from pgrecall import NewMemory, migrate
from pgrecall.core.resources import migrations_folder
from pgrecall.errors import MigrationFailed
from pgrecall.schema import REVISION
from tests.migrations.asking import repository, run, value, values
from tests.migrations.schema_dump import dump

RELATIONS = """
    SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace ORDER BY 1
"""
ROUTINES = """
    SELECT proname FROM pg_proc WHERE pronamespace = %s::regnamespace ORDER BY 1
"""
TYPES = """
    SELECT typname FROM pg_type WHERE typnamespace = %s::regnamespace
       AND typname NOT IN ('alembic_version', '_alembic_version') ORDER BY 1
"""
EXTENSION = "SELECT count(*) FROM pg_extension WHERE extname = 'vector'"


OTHERS = (
    "CREATE SCHEMA host",
    "CREATE TABLE host.agent_memories AS SELECT '[1,2,3]'::vector AS embedding",
    f"CREATE TABLE host.ranks_{'0' * 32} (id integer)",
    "CREATE VIEW host.memory_signals AS SELECT embedding FROM host.agent_memories",
    "CREATE FUNCTION public.frequency() RETURNS integer RETURN 1",
    "CREATE FOREIGN DATA WRAPPER nothing",
    "CREATE SERVER elsewhere FOREIGN DATA WRAPPER nothing",
    "CREATE FOREIGN TABLE host.memory_events (id integer) SERVER elsewhere",
)


def test_down_drops_everything_of_ours_and_leaves_the_rest(empty_url: str) -> None:
    schema = "select"
    empty = migrate.status(empty_url, schema=schema)
    migrate.upgrade(empty_url, dimensions=3, schema=schema)
    run(empty_url, *OTHERS)
    others = dump(empty_url, "host")
    repo = repository(empty_url, schema)
    for among in (repo, repo.teams):
        among.add_many("a", [NewMemory(f"{n}", embedding=[n, 1, 1]) for n in range(60)])
        among.rank_indexes.build(agent_id="a", at_least=1)
    migrate.upgrade(empty_url, embedding_index=True, schema=schema)
    ours = f'"{schema}"'
    assert len([name for name in values(empty_url, RELATIONS, ours) if "ranks" in name]) > 2
    assert len(values(empty_url, ROUTINES, ours)) > 3

    status = migrate.downgrade(empty_url, schema=schema)

    assert status == replace(empty, pgvector=status.pgvector)
    assert values(empty_url, RELATIONS, ours) == ["alembic_version", "alembic_version_pkc"]
    assert values(empty_url, ROUTINES, ours) == values(empty_url, TYPES, ours) == []
    assert value(empty_url, EXTENSION) == 1
    assert dump(empty_url, "host") == others
    assert value(empty_url, "SELECT embedding::text || frequency() FROM host.memory_signals") == (
        "[1,2,3]1"
    )
    assert migrate.upgrade(empty_url, dimensions=4, schema=schema).pending == []
    assert repository(empty_url, schema).rank_indexes.status(agent_id="a") == []


def test_down_leaves_what_others_built_on_it(migrated: str) -> None:
    """It would go with the tables; no memory is dropped instead."""
    run(migrated, "CREATE VIEW public.mine AS SELECT id FROM pgrecall.agent_memories")
    built = dump(migrated)

    with pytest.raises(MigrationFailed, match="other objects depend on them"):
        migrate.downgrade(migrated)

    assert migrate.status(migrated).revision == "0001"
    migrate.upgrade(migrated)
    assert dump(migrated) == built
    assert migrate.status(migrated).pending == []


def test_down_with_the_extension_in_our_schema(empty_url: str) -> None:
    run(empty_url, "CREATE SCHEMA pgrecall", "CREATE EXTENSION vector SCHEMA pgrecall")
    migrate.upgrade(empty_url, dimensions=3)

    assert migrate.downgrade(empty_url).revision is None

    assert value(empty_url, "SELECT '[1,2,3]'::pgrecall.vector::text") == "[1,2,3]"
    assert migrate.upgrade(empty_url, dimensions=3).pending == []


def test_several_schemas_in_one_database(migrated: str) -> None:
    one = migrate.status(migrated)
    two = migrate.upgrade(migrated, dimensions=4, embedding_type="halfvec", schema="two")
    assert migrate.upgrade(migrated, embedding_index=True) == replace(one, embedding_index=True)
    for schema, dimensions in (("pgrecall", 3), ("two", 4)):
        repo = repository(migrated, schema)
        repo.add_many(
            "a", [NewMemory(f"{n}", embedding=[n] + [1] * (dimensions - 1)) for n in range(60)]
        )
        repo.rank_indexes.build(agent_id="a", at_least=1)

    migrate.downgrade(migrated)

    assert (one.dimensions, one.embedding_type) == (3, "vector")
    assert migrate.status(migrated, schema="two") == two
    assert (two.dimensions, two.embedding_type) == (4, "halfvec")
    assert migrate.status(migrated).revision is None
    found = repository(migrated, "two").search("a", [1, 0, 0, 0], strategy="index")
    assert (found.strategy, len(found)) == ("index", 10)


def test_the_code_is_written_against_the_newest_revision() -> None:
    scripts = ScriptDirectory(str(migrations_folder()))
    of_tables = [one.revision for one in scripts.walk_revisions()][::-1]

    assert of_tables == [f"{number:04}" for number in range(1, len(of_tables) + 1)], (
        "older and newer are told apart by comparing the numbers as text"
    )
    assert of_tables[-1] == REVISION
