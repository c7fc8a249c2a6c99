"""Where there is no Citus. With one, tests/integration/test_citus.py distributes a schema."""

from __future__ import annotations

import pytest

from pgrecall import migrate
from pgrecall.errors import MigrationFailed, SchemaMissing
from tests.migrations.asking import value, values


def test_a_server_without_citus_is_refused_and_stays_as_it_is(database_url: str) -> None:
    with pytest.raises(MigrationFailed, match="no Citus: install it on each node"):
        migrate.distribute(database_url)

    assert not value(database_url, "SELECT pgrecall.is_distributed()")
    assert migrate.status(database_url).nodes == {}


def test_a_database_without_the_schema_is_refused(empty_url: str) -> None:
    with pytest.raises(SchemaMissing, match="migrate up"):
        migrate.distribute(empty_url)


def test_after_an_upgrade_only_a_distributed_schema_is_distributed_again(database_url: str) -> None:
    assert values(database_url, "SELECT name FROM pgrecall.distribute(again => true)") == []


READ_BY_SQL = r"""
    SELECT p.proname::text FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
     WHERE p.pronamespace = 'pgrecall'::regnamespace AND l.lanname = 'sql'
       AND pg_get_functiondef(p.oid)
           ~ '\y(FROM|JOIN)\s+\(*(pgrecall\.)?(agent_memories|memory_|gc_runs|rank_indexes)'
     ORDER BY 1
"""


def test_functions_that_read_tables_are_in_plpgsql(database_url: str) -> None:
    """Citus refuses others, or reads tables that are empty."""
    assert values(database_url, READ_BY_SQL) == []
