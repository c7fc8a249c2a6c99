"""What the catalogue says of the tables, read without the code's own picture of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import alembic.config
import psycopg
import pytest
from psycopg.errors import NotNullViolation
from pytest_alembic import Config, MigrationContext, create_alembic_fixture, tests
from pytest_alembic.plugin.error import AlembicTestFailure
from sqlalchemy import Engine, NullPool, create_engine, make_url, text
from sqlalchemy.schema import CreateTable

from pgrecall import migrate
from pgrecall.core.resources import migrations_folder, sql_folder
from pgrecall.core.vectors import EmbeddingType
from pgrecall.migrate.settings import SETTINGS, Settings
from pgrecall.schema import tables
from pgrecall.testing import new_database
from tests.migrations.asking import rows, run, value, values
from tests.migrations.conftest import compared
from tests.migrations.schema_dump import COMMITTED, dump

OURS = "c.relnamespace = 'pgrecall'::regnamespace AND c.relname <> 'alembic_version'"

REFERENCE = {
    "component_reputations": "component",
    "output_type_defaults": "output_type",
    "tier_defaults": "tier",
    "profiles": "name",
    "installed_sql": "file",
    "granted_roles": "role",
    "embedding_model": "is_set",
    "service_keys": "id",
}
"""Tables that belong to all, to be copied to each node, and what their keys are."""
POSITIONS = "rank_positions"
"""Its partitions belong to one agent each, and stay where they are built."""
CONSTRAINTS = """
    SELECT c.relname, o.conname, pg_get_constraintdef(o.oid)
      FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid
     WHERE o.connamespace = %s::regnamespace AND o.contype <> 'n' ORDER BY 1, 2
"""
COLUMNS = """
    SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated,
           pg_get_expr(d.adbin, d.adrelid)
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE c.relnamespace = %s::regnamespace AND c.relkind = 'r' AND a.attnum > 0
     ORDER BY c.relname, a.attnum
"""


@pytest.fixture(scope="module")
def url(server_url: str, template: str) -> Iterator[str]:
    """One migrated database for all the questions here."""
    with new_database(server_url, template) as url:
        yield url


def test_every_table_view_column_and_function_has_a_comment(url: str) -> None:
    relations = f"FROM pg_class c WHERE c.relkind IN ('r', 'v') AND {OURS}"
    columns = relations.replace("WHERE", "JOIN pg_attribute a ON a.attrelid = c.oid WHERE")
    comments = dict(
        rows(
            url,
            f"SELECT c.relname::text, obj_description(c.oid, 'pg_class') {relations} UNION ALL "
            "SELECT c.relname || '.' || a.attname, col_description(c.oid, a.attnum) "
            f"{columns} AND a.attnum > 0 AND NOT a.attisdropped UNION ALL "
            "SELECT oid::regprocedure::text, obj_description(oid, 'pg_proc') FROM pg_proc "
            "WHERE pronamespace = 'pgrecall'::regnamespace",
        )
    )

    some = {
        *("agent_memories", "memory_usage", "team_memories", "agent_memories.embedding"),
        "pgrecall.frequency(integer,double precision)",
    }
    assert some <= comments.keys()
    assert [name for name, comment in comments.items() if not comment] == []


def test_a_second_touch_moves_no_index_entry(url: str) -> None:
    touch = (
        "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count, last_accessed_at)"
        " VALUES ('hot', gen_random_uuid(), 1, now())"
    )
    again = (
        "UPDATE pgrecall.memory_usage SET retrieval_count = retrieval_count + 1,"
        " last_accessed_at = clock_timestamp() WHERE agent_id = 'hot'"
    )
    run(url, touch, *[again] * 10, "SELECT pg_stat_force_next_flush()")

    assert rows(
        url,
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables "
        "WHERE relid = 'pgrecall.memory_usage'::regclass",
    ) == [(10, 10)]


def test_every_key_starts_with_the_agent_but_for_tables_of_defaults(url: str) -> None:
    """So that the tables can be distributed, or, where they belong to nobody, copied."""
    first_columns = rows(
        url,
        "SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] "
        f"WHERE i.indisunique AND {OURS}",
    )

    assert len(first_columns) == 10 + len(REFERENCE)
    assert [
        (table, column)
        for table, column in first_columns
        if column != REFERENCE.get(table, "agent_id") and table != POSITIONS
    ] == []


def test_tables_of_defaults_are_small_and_know_no_agent_and_all_can_be_distributed(
    url: str,
) -> None:
    columns = "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'pgrecall'"
    for table in REFERENCE:
        of_table = f"{columns} AND table_name = %s AND column_name = 'agent_id'"
        assert value(url, of_table, table) == 0
        assert value(url, f"SELECT count(*) FROM pgrecall.{table}") < 300
    triggers = f"SELECT tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE {OURS}"
    sequences = f"SELECT relname FROM pg_class c WHERE relkind = 'S' AND {OURS}"
    assert values(url, triggers) == values(url, sequences) == []


READ_BY_SQL = r"""
    SELECT p.proname::text FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
     WHERE p.pronamespace = 'pgrecall'::regnamespace AND l.lanname = 'sql'
       AND pg_get_functiondef(p.oid)
           ~ '\y(FROM|JOIN)\s+\(*(pgrecall\.)?(agent_memories|memory_|maintenance_|rank_indexes)'
     ORDER BY 1
"""


def test_functions_that_read_tables_are_in_plpgsql(url: str) -> None:
    """Citus refuses others, or reads tables that are empty. There, matched is not called."""
    assert values(url, READ_BY_SQL) == ["matched"]


def test_the_code_s_tables_build_what_the_migrations_build(migrated: str) -> None:
    """Checks and defaults too, which Alembic does not compare."""
    model = tables("model").metadata
    engine = create_engine(make_url(migrated).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.execute(text("CREATE SCHEMA model"))
        connection.execute(text("SET LOCAL search_path = model, public"))
        connection.execute(
            text(
                "CREATE FUNCTION text_language() RETURNS regconfig IMMUTABLE "
                "RETURN CAST('english' AS regconfig)"
            )
        )
        for function in ("content_hash", "folded", "lexemes"):
            installed = (sql_folder() / "bound" / f"{function}.sql").read_text(encoding="utf-8")
            connection.execute(text(installed.replace(":", r"\:")))
        for table in model.sorted_tables:
            connection.execute(CreateTable(table))
    engine.dispose()

    built = constraints_and_columns(migrated, "pgrecall")
    described = constraints_and_columns(migrated, "model")
    only_the_migration_knows = [row for row in built if row[1] == f"ck_{row[0]}_embedding"]
    assert [row[0] for row in only_the_migration_knows] == ["agent_memories"]
    assert all("norm(embedding) >=" in row[2] for row in only_the_migration_knows)
    assert [row for row in built if row not in only_the_migration_knows] == [
        tuple("vector(3)" if cell == "vector" else cell for cell in row) for row in described
    ]


def constraints_and_columns(url: str, schema: str) -> list[tuple[Any, ...]]:
    found = [*rows(url, CONSTRAINTS, schema), *rows(url, COLUMNS, schema)]
    return [
        tuple(cell.replace(f"{schema}.", "") if isinstance(cell, str) else cell for cell in row)
        for row in found
        if "alembic_version" not in row[0]
    ]


def test_rows_bear_the_moment_they_were_written(migrated: str) -> None:
    """The server's clock, not the moment at which the transaction began."""
    columns = "pgrecall.agent_memories (agent_id, id, content)"
    clock = "SELECT clock_timestamp()"
    moments = []
    with psycopg.connect(migrated) as connection:
        for write in ("INSERT", "COPY", None):
            moments += connection.execute(clock).fetchall()
            if write == "INSERT":
                connection.execute(
                    f"INSERT INTO {columns} VALUES ('a', gen_random_uuid(), '1')".encode()
                )
            elif write == "COPY":
                with connection.cursor().copy(f"COPY {columns} FROM STDIN".encode()) as copy:
                    copy.write_row(("a", UUID(int=1), "2"))

    found = rows(migrated, "SELECT inserted_at FROM pgrecall.agent_memories ORDER BY content")
    assert moments[0] < found[0] < moments[1] < found[1] < moments[2]
    with pytest.raises(NotNullViolation):
        run(migrated, "UPDATE pgrecall.agent_memories SET inserted_at = NULL")


def test_what_is_new_is_looked_up_in_these_indexes(migrated: str) -> None:
    run(
        migrated,
        "INSERT INTO pgrecall.agent_memories (agent_id, id, content) "
        "SELECT 'a ' || n % 10, gen_random_uuid(), 'memory ' || n "
        "FROM generate_series(1, 5000) AS n",
        "INSERT INTO pgrecall.memory_events (agent_id, memory_id, id, event_type, occurred_at) "
        "SELECT agent_id, id, pgrecall.event_id(), 'updated', now() FROM pgrecall.agent_memories",
        "ANALYZE",
    )
    for column, among in (
        ("inserted_at", "agent_memories"),
        ("occurred_at", "memory_events WHERE event_type <> 'initial' AND"),
    ):
        asked = among if "WHERE" in among else f"{among} WHERE"
        plan = values(
            migrated,
            f"EXPLAIN SELECT id FROM pgrecall.{asked} agent_id = 'a 3' "
            f"AND {column} >= now() + interval '1 hour'",
        )
        assert any(f"ix_{among.split()[0]}_agent_id_{column}" in line for line in plan), plan


def test_the_committed_dump_is_what_the_migrations_build(empty_url: str) -> None:
    migrate.upgrade(empty_url)

    assert dump(empty_url, repeatable=False) == COMMITTED.read_text(encoding="utf-8"), (
        "the migrations build another schema than migrations/schema.sql shows: "
        "run `python -m tests.migrations.schema_dump` and commit the file"
    )
    everything = dump(empty_url)
    assert not re.search(r"restrict|pg_dump version|Owner: (?!-)|^GRANT", everything, re.MULTILINE)
    moments = re.findall(r"'(\d{4}-[^']+)'::timestamp with time zone", everything)
    assert moments
    assert all(moment.endswith("+00") for moment in moments), "PGTZ is UTC"


def config() -> Config:
    folder = str(migrations_folder())
    options = alembic.config.Config()
    options.set_main_option("script_location", folder)
    options.attributes[SETTINGS] = Settings(dimensions=8, embedding_type=EmbeddingType.HALFVEC)
    return Config(alembic_config=options, config_options={"script_location": folder})


history = create_alembic_fixture(config())


@pytest.fixture
def alembic_engine(empty_url: str) -> Iterator[Engine]:
    url = make_url(empty_url).set(drivername="postgresql+psycopg")
    engine = create_engine(url, poolclass=NullPool)
    yield engine
    engine.dispose()


CHANGES = {
    "ALTER TABLE memory_usage ADD COLUMN extra integer": "drop_column('memory_usage'",
    "ALTER TABLE installed_sql DROP COLUMN grants": "add_column('installed_sql'",
    "ALTER TABLE profiles ALTER name TYPE varchar(9)": "existing_type=sa.VARCHAR",
    "ALTER TABLE agent_memories ALTER subject SET NOT NULL": "nullable=True",
    "COMMENT ON COLUMN memory_links.kind IS 'other'": "existing_comment='other'",
    "DROP TABLE granted_roles": "create_table('granted_roles'",
    "CREATE INDEX extra ON agent_memories (created_at)": "drop_index(op.f('extra')",
    "DROP INDEX ix_memory_links_agent_id_target_id": "create_index(op.f('ix_memory_links_ag",
}
"""And what Alembic would write to undo them."""


@compared
def test_tables_that_differ_are_noticed(history: MigrationContext, alembic_engine: Engine) -> None:
    """And nothing else: the code's tables match the database."""
    history.migrate_up_to("heads")
    with alembic_engine.begin() as connection:
        connection.execute(text("SET LOCAL search_path = pgrecall"))
        for change in CHANGES:
            connection.execute(text(change))

    with pytest.raises(AlembicTestFailure) as failure:
        tests.test_model_definitions_match_ddl(history)
    assert failure.value.context is not None
    [(_, upgrade)] = failure.value.context
    for remedy in CHANGES.values():
        assert remedy in upgrade
    assert upgrade.count("\nop.") == len(CHANGES), "nothing else differs"
