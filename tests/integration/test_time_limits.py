"""Jobs take longer than the limits that a server sets for statements, locks and transactions."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, NullPool, create_engine

from pgrecall import MemoryRepository, NewMemory, RetentionPolicy
from tests.integration.support import NORTH, at, hurried, sql

GUARD = """
CREATE FUNCTION public.unlimited() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('application_name') = 'job' AND ARRAY[
        current_setting('statement_timeout'), current_setting('lock_timeout'),
        coalesce(current_setting('transaction_timeout', true), '0')] <> '{0,0,0}' THEN
        RAISE EXCEPTION '% of % has a limit', TG_OP, TG_TABLE_NAME;
    END IF;
    RETURN NULL;
END $$
"""
JOBS: dict[str, Callable[[MemoryRepository, list[str]], Any]] = {
    "build": lambda repo, lines: repo.rank_indexes.build(agent_id="agent", at_least=1),
    "maintain": lambda repo, lines: repo.maintenance.run(at_least=1),
    "retain": lambda repo, lines: repo.maintenance.run(RetentionPolicy(max_age_hours=0)),
    "restore": lambda repo, lines: repo.transfer.restore("other", [json.loads(lines[0])]),
    "erase_owner": lambda repo, lines: repo.erase_owner("agent"),
}
CALLS = (
    "build_rank_index('agent', 1)",
    "maintain(at_least => 1, dry_run => false)",
    """maintain(policy => '{"max_age_hours": 0}', dry_run => false)""",
    "erase_owner('agent')",
)


@pytest.fixture(scope="module")
def guarded(module_engine: Engine) -> Engine:
    """A database that refuses what sessions named "job" write under a limit."""
    sql(module_engine, GUARD)
    for table in ("agent_memories", "memory_events", "rank_indexes", "maintenance_runs"):
        sql(
            module_engine,
            "CREATE TRIGGER unlimited AFTER INSERT OR UPDATE OR DELETE "
            f"ON pgrecall.{table} FOR EACH STATEMENT EXECUTE FUNCTION public.unlimited()",
        )
    return module_engine


@pytest.fixture
def options(guarded: Engine) -> Iterator[str]:
    repo = MemoryRepository(guarded)
    repo.add_many("agent", [NewMemory(f"{n}", embedding=at(n)) for n in range(20)])
    yield f"{hurried(guarded, '20s')} -c application_name=job"
    for owner in ("agent", "other"):
        repo.erase_owner(owner)


@pytest.mark.parametrize("name", JOBS)
def test_a_job_lifts_them_for_its_transactions(
    guarded: Engine, module_url: str, options: str, name: str
) -> None:
    lines: list[str] = []
    MemoryRepository(guarded).transfer.export(lines.extend, agent_id="agent")
    engine = create_engine(module_url, connect_args={"options": options}, pool_size=1)
    repo = MemoryRepository(engine)

    with pytest.raises(Exception, match="INSERT of agent_memories has a limit"):
        repo.add("agent", NewMemory("no job", embedding=NORTH))
    JOBS[name](repo, lines)

    assert sql(engine, "SHOW lock_timeout") == sql(engine, "SHOW statement_timeout") == [("20s",)]
    engine.dispose()


@pytest.mark.parametrize("call", CALLS)
def test_so_does_a_procedure(module_url: str, options: str, call: str) -> None:
    with psycopg.connect(module_url, autocommit=True, options=options) as connection:
        connection.execute(f"CALL pgrecall.{call}")

        assert connection.execute("SHOW lock_timeout").fetchall() == [("20s",)]


def test_an_export_may_wait_for_what_takes_its_lines(
    guarded: Engine, module_url: str, options: str
) -> None:
    engine = create_engine(
        module_url, poolclass=NullPool, connect_args={"options": hurried(guarded, "100ms")}
    )
    taken: list[str] = []

    def take(lines: list[str]) -> None:
        time.sleep(0.15)  # longer than a transaction may last
        taken.extend(lines)

    assert MemoryRepository(engine).transfer.export(take, agent_id="agent", batch_size=10) == 20
    assert len(taken) == 20
