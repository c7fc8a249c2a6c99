"""Health: what needs doing is told in psql, by the repository, by `status`, and in metrics."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository
from pgrecall.lifecycle.health import KINDS
from tests.integration.commands import Run
from tests.integration.owner import north
from tests.integration.serving import Service
from tests.integration.support import NORTH, sql

pytestmark = pytest.mark.usefixtures("analysed")
FEW = 20
"""Memories from which an owner has a rank index here."""

LONG_AGO = """
UPDATE pgrecall.rank_indexes
   SET built_at = built_at - interval '2 days',
       seconds = extract(epoch FROM clock_timestamp() - built_at) + 2 * 86400 - 60
"""
"""As if the build, whose own walk is not counted, had begun two days ago, and ended now."""


def problems(engine: Engine, **given: int) -> dict[str, str]:
    """Problem → why, of those that are no statistics: other tests change the tables too."""
    told = ", ".join(f"{name} => {value}" for name, value in given.items())
    rows = sql(engine, f"SELECT problem, why FROM pgrecall.health(at_least => {FEW}, {told})")
    return {problem: why for problem, why in rows if problem not in ("statistics", "dead rows")}


@pytest.mark.hnsw
def test_it_tells_of_rank_indexes_and_of_maintenance(engine: Engine) -> None:
    repo = MemoryRepository(engine)
    assert problems(engine, max_memories=99) == {}
    repo.add_many("large", [north(f"number {n}") for n in range(FEW)])
    assert problems(engine, max_memories=99) == {
        "rank index": "not built yet",
        "maintenance": "tasks are due, and it never ran",
    }

    repo.maintenance.run(within=0, at_least=FEW)
    assert problems(engine, max_memories=99)["maintenance"] == "the last one left 1 tasks"
    repo.maintenance.run(at_least=FEW)
    assert problems(engine, max_memories=99) == {}
    assert problems(engine, max_memories=FEW - 1) == {"large owner": "more than 19 memories"}

    sql(engine, "UPDATE pgrecall.rank_indexes SET space = 0")
    assert "not used" in problems(engine, max_memories=99)["rank index"]
    sql(engine, "UPDATE pgrecall.maintenance_runs SET started_at = started_at - interval '3 days'")
    assert "it last ran" in problems(engine, max_memories=99)["maintenance"]


def test_an_index_is_unused_if_no_search_walks_it_though_memories_are_retrieved(
    engine: Engine, database_url: str
) -> None:
    repo = MemoryRepository(engine)
    repo.add_many("large", [north(f"number {n}") for n in range(FEW)])
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"CALL pgrecall.build_rank_index('large', {FEW})".encode())
        connection.execute("SELECT pg_stat_force_next_flush()")
        connection.execute(LONG_AGO)
    assert problems(engine, max_memories=99) == {}

    repo.search("large", NORTH, k=3, strategy="exact")
    [why] = problems(engine, max_memories=99).values()
    assert why.startswith("no search has used it since")

    with engine.begin() as connection:
        MemoryRepository(connection).search("large", NORTH, k=3, strategy="index")
        connection.exec_driver_sql("SELECT pg_stat_force_next_flush()")
    assert problems(engine, max_memories=99) == {}


def test_tables_that_autovacuum_left_are_told(engine: Engine) -> None:
    with engine.begin() as connection:
        repo = MemoryRepository(connection)
        repo.add_many("zoe", [north(f"number {n}") for n in range(1_500)])
        connection.exec_driver_sql("SELECT pg_stat_force_next_flush()")
    states = {one.name: one for one in MemoryRepository(engine).maintenance.health().tables}
    assert states["agent_memories"].live >= 1_500
    rows = sql(
        engine, "SELECT name, why, remedy FROM pgrecall.health() WHERE problem = 'statistics'"
    )
    assert "agent_memories" in {name for name, _, _ in rows}
    assert {remedy for _, _, remedy in rows} == {"pgrecall maintain"}


EXPIRE = "UPDATE pgrecall.agent_memories SET expires_at = now() - interval '1 hour' "


def test_status_says_what_to_do_and_maintenance_does_it(run: Run, local_url: str) -> None:
    with psycopg.connect(local_url, autocommit=True) as connection:
        for table in ("agent_memories", "memory_usage", "memory_events"):
            connection.execute(f"VACUUM ANALYZE pgrecall.{table}".encode())  # others left rows
        connection.execute("VACUUM ANALYZE pgrecall.memory_links, pgrecall.entity_names")
        connection.execute("VACUUM ANALYZE pgrecall.owner_vectors")
    run("maintain")
    assert run("status").code == 0
    for owner in (("a",), ("red", "--of-team")):
        run("add", "tea", "--agent", *owner)
    with psycopg.connect(local_url, autocommit=True) as connection:
        connection.execute(EXPIRE)
        connection.execute("DELETE FROM pgrecall.maintenance_runs")

    status = run("status")
    assert status.code == 1
    assert "it never ran" in status.out
    [record] = run("status", "--json").records
    [problem] = record["problems"]
    assert (problem["problem"], record["last_maintenance"]) == ("maintenance", None)
    assert problem["remedy"] == "pgrecall maintain"

    [planned] = run("maintain", "--dry-run", "--json").records
    assert {task["name"] for task in planned["done"]} == {"a", "team:red"}
    assert run("status").code == 1
    assert "team:red" in run("maintain").out
    assert run("maintain").out.strip() == "nothing is due"
    after = run("status")
    assert (after.code, "last maintenance" in after.out) == (0, True)
    assert run("status", "--max-memories", "0").code == 2


def test_metrics_tell_the_same(service: Service, agent: str) -> None:
    client = service.client(agent, scope="maintain")
    lines = client.get("/metrics").text.splitlines()
    assert "pgrecall_database_up 1.0" in lines
    for kind in KINDS:
        assert any(line.startswith(f'pgrecall_problems{{problem="{kind}"}} ') for line in lines)
    assert any(
        line.startswith('pgrecall_table_dead_rows{table="agent_memories"}') for line in lines
    )
