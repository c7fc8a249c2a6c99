"""Settings of the planner: those of functions reach no other function, and nothing is compiled."""

from __future__ import annotations

import re
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Engine, create_engine, func, make_url, text
from sqlalchemy.ext.asyncio import AsyncEngine

from pgrecall import MemoryRepository, NewMemory
from pgrecall.execution.inspection import LAYOUTS
from tests.integration.owner import north
from tests.integration.support import NORTH, contents

FUNCTIONS = """
SELECT p.proname, l.lanname, coalesce(p.proconfig, '{}'), p.prosrc
  FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
 WHERE p.pronamespace = 'pgrecall'::regnamespace AND p.prokind = 'f'
"""
COMPILED = """
SELECT query FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
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


def test_nothing_that_a_call_runs_is_compiled(database_url: str) -> None:
    """Also where the server compiles all it can, but for what the first call of an engine sends."""
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
        repo = MemoryRepository(engine)
        repo.count("ann")
        assert connection.execute(COMPILED).fetchall() != []
        connection.execute("SELECT pg_stat_statements_reset()")
        _use(repo)
        engine.dispose()

        compiled = connection.execute(COMPILED).fetchall()

    assert compiled == []


def _use(repo: MemoryRepository) -> None:
    first: UUID = repo.add("ann", north("tea at noon", subject="tea"))
    repo.add("ann", north("tea at noon"))
    repo.add_many("ann", [north(f"milk {n}") for n in range(20)])
    repo.upsert("ann", NewMemory("coffee", key="drink", embedding=NORTH))
    second = repo.supersede("ann", first, north("no tea"))
    repo.search("ann", NORTH, query_text="tea milk")
    repo.explain("ann", second, NORTH, query_text="tea milk")
    repo.invalidate("ann", [second])
    repo.upkeep.collect_garbage(agent_id="ann")
    repo.rank_indexes.build(agent_id="ann", at_least=1)
    repo.search("ann", NORTH, query_text="tea milk", strategy="index")


def test_a_server_that_compiles_cheap_statements_is_told_not_to(
    either: MemoryRepository, engine: Engine, async_engine: AsyncEngine
) -> None:
    """In a transaction, whose end undoes it."""
    either.add("ann", north("tea"))
    off = func.current_setting("jit") == "off"
    assert contents(either.search("ann", NORTH, where=off)) == []
    for one in (engine, async_engine.sync_engine):
        if layout := LAYOUTS.get(one, {}).get("pgrecall"):
            LAYOUTS[one]["pgrecall"] = replace(layout, compiles=True)

    assert contents(either.search("ann", NORTH, where=off)) == ["tea"]
    with engine.connect() as connection:
        assert connection.scalar(text("SHOW jit")) == "on"
