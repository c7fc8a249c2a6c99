"""Settings of the planner that functions have: they reach no other function, and none compiles."""

from __future__ import annotations

import re
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import create_engine, make_url

from pgrecall import MemoryRepository, NewMemory
from tests.integration.support import NORTH

FUNCTIONS = """
SELECT p.proname, l.lanname, coalesce(p.proconfig, '{}'), p.prosrc
  FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
 WHERE p.pronamespace = 'pgrecall'::regnamespace AND p.prokind = 'f'
"""
COMPILED = """
SELECT toplevel, query FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
 WHERE d.datname = current_database() AND s.jit_functions > 0
"""


def test_settings_of_the_planner_reach_no_other_function(database_url: str) -> None:
    """Inlined functions, which are in SQL, have no plans of their own."""
    with psycopg.connect(database_url) as connection:
        found = connection.execute(FUNCTIONS).fetchall()
    planning = {name for name, language, _, _ in found if language == "plpgsql"}
    setting = {
        name: source
        for name, _, settings, source in found
        if any(one.startswith("enable_") for one in settings) or "'enable_" in source
    }

    assert "walk" in setting
    called = {
        name: {one for one in planning if re.search(rf"\b{one}\(", source)}
        for name, source in setting.items()
    }
    assert {name: calls for name, calls in called.items() if calls} == {}


def test_no_function_has_its_statements_compiled(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        found = connection.execute(FUNCTIONS).fetchall()

    compiling = {n for n, language, of, _ in found if language == "plpgsql" and "jit=off" not in of}
    assert compiling == {"distribute"}


def test_what_calls_run_inside_is_not_compiled(database_url: str) -> None:
    """Where the server compiles all it can: then only statements that the client sends."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        loaded, compiles = connection.execute(
            "SELECT current_setting('shared_preload_libraries') LIKE '%%pg_stat_statements%%', "
            "pg_jit_available()"
        ).fetchone() or (False, False)
        if not (loaded and compiles):
            pytest.skip("the server has no JIT, or no pg_stat_statements to count it")
        connection.execute("CREATE EXTENSION pg_stat_statements")
        options = "-c jit_above_cost=0 -c pg_stat_statements.track=all"
        url = make_url(database_url).set(drivername="postgresql+psycopg")
        engine = create_engine(url, connect_args={"options": options})
        _use(MemoryRepository(engine))
        engine.dispose()

        compiled = connection.execute(COMPILED).fetchall()

    assert any(toplevel for toplevel, _ in compiled)
    assert [query for toplevel, query in compiled if not toplevel] == []


def _use(repo: MemoryRepository) -> None:
    first: UUID = repo.add("ann", NewMemory("tea at noon", embedding=NORTH, subject="tea"))
    repo.add("ann", NewMemory("tea at noon", embedding=NORTH))
    repo.add_many("ann", [NewMemory(f"milk {n}", embedding=NORTH) for n in range(20)])
    repo.upsert("ann", NewMemory("coffee", key="drink", embedding=NORTH))
    second = repo.supersede("ann", first, NewMemory("no tea", embedding=NORTH))
    repo.search("ann", NORTH, query_text="tea milk")
    repo.explain("ann", second, NORTH, query_text="tea milk")
    repo.invalidate("ann", [second])
    repo.upkeep.collect_garbage(agent_id="ann")
    repo.rank_indexes.build(agent_id="ann", at_least=1)
    repo.search("ann", NORTH, query_text="tea milk", strategy="index")
