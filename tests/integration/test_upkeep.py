"""Upkeep: what is due, by the repository and as the procedure of psql."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, event

from pgrecall import MemoryRepository
from pgrecall.lifecycle.garbage import UpkeepPolicy
from pgrecall.lifecycle.upkeep import UpkeepRun, UpkeepTask
from tests.integration.owner import north, plain
from tests.integration.support import sql

pytestmark = pytest.mark.usefixtures("analysed")
FEW = 20
"""Memories from which an owner has a rank index here."""
Upkeep = Callable[..., dict[str, int]]
"""Runs it; returns how many tasks of each kind it did."""


@pytest.fixture(params=["python", "psql"])
def upkeep(request: pytest.FixtureRequest, engine: Engine, database_url: str) -> Upkeep:
    repo = MemoryRepository(engine)

    def by_python(**options: Any) -> dict[str, int]:
        return repo.upkeep.run(at_least=FEW, **options).tasks

    def by_psql(within: float = 3600.0, **options: Any) -> dict[str, int]:
        given = {"within_seconds": within, "at_least": FEW, **options}
        named = ", ".join(f"{name} => %({name})s" for name in given)
        with psycopg.connect(database_url, autocommit=True) as connection:
            row = connection.execute(f"CALL pgrecall.upkeep({named})", given).fetchone()
        assert row is not None
        done: dict[str, int] = row[0]
        return done

    return by_python if request.param == "python" else by_psql


def expire(engine: Engine, owner: str) -> None:
    """Stores a memory that has expired."""
    repo = MemoryRepository(engine)
    (repo.teams if owner.startswith("team:") else repo).add(owner, plain(f"of {owner}"))
    sql(
        engine,
        "UPDATE pgrecall.agent_memories SET expires_at = now() - interval '1 hour' "
        "WHERE agent_id = :owner",
        owner=owner,
    )


def last_run(engine: Engine) -> tuple[Any, ...]:
    [row] = sql(
        engine,
        "SELECT policy, tasks, archived, finished FROM pgrecall.gc_runs ORDER BY started_at DESC "
        "LIMIT 1",
    )
    return tuple(row)


def test_it_does_what_is_due_and_then_nothing(engine: Engine, upkeep: Upkeep) -> None:
    repo = MemoryRepository(engine)
    expire(engine, "zoe")
    repo.add("max", plain("stays", expires_at=datetime.now(UTC) + timedelta(days=1)))
    repo.add_many("large", [north(f"number {n}") for n in range(FEW)])

    assert upkeep() == {"garbage": 1, "build index": 1}

    assert last_run(engine) == ("upkeep", {"garbage": 1, "build index": 1}, 1, True)
    assert [memory.status for memory in repo.list("max")] == ["active"]
    assert repo.count("zoe") == 0
    [status] = repo.rank_indexes.status(at_least=FEW)
    assert (status.agent_id, status.due) == ("large", None)
    assert upkeep() == {}
    repo.add("large", north("one more"))
    assert upkeep() == {"place": 1}
    [status] = repo.rank_indexes.status(at_least=FEW)
    assert status.beside == 0
    sql(engine, "UPDATE pgrecall.agent_memories SET status = 'archived' WHERE agent_id = 'large'")
    assert upkeep() == {"drop index": 1}
    assert upkeep() == {}


def test_what_there_is_no_time_for_is_left_to_the_next_run(engine: Engine, upkeep: Upkeep) -> None:
    expire(engine, "zoe")
    MemoryRepository(engine).add_many("large", [north(f"number {n}") for n in range(FEW)])

    assert upkeep(within=0.0) == {"left": 2}

    assert last_run(engine) == ("upkeep", {"left": 2}, 0, False)
    assert sql(engine, "SELECT seconds > 0 FROM pgrecall.gc_runs") == [(True,)]
    assert upkeep() == {"garbage": 1, "build index": 1}


def test_a_policy_judges_too(engine: Engine, upkeep: Upkeep) -> None:
    repo = MemoryRepository(engine)
    repo.add_many("zoe", [plain(f"number {n}", trust=0.05 * n) for n in range(5)])
    assert upkeep() == {}

    by_python = upkeep.__name__ == "by_python"
    for rules, left in (({"min_trust_threshold": 0.18}, 1), ({"max_live": 0}, 0)):
        given: dict[str, Any] = dict(rules)
        asked = {"policy": UpkeepPolicy(**given)} if by_python else given
        assert upkeep(**asked) == {"garbage": 1}
        assert repo.count("zoe") == left


def test_statistics_are_taken_of_tables_that_changed_much(engine: Engine, upkeep: Upkeep) -> None:
    with engine.begin() as connection:
        repo = MemoryRepository(connection)
        repo.add_many("zoe", [plain(f"number {n}") for n in range(2_000)])
        connection.exec_driver_sql("SELECT pg_stat_force_next_flush()")

    assert upkeep()["statistics"] >= 1

    assert "statistics" not in upkeep()
    with pytest.raises(Exception, match="relation must be one of agent_memories"):
        sql(engine, "SELECT pgrecall.take_statistics('pg_class')")


def test_a_dry_run_says_what_is_due(engine: Engine) -> None:
    expire(engine, "zoe")
    repo, told = MemoryRepository(engine), list[tuple[UpkeepTask, int, int]]()

    planned: UpkeepRun = repo.upkeep.run(dry_run=True, at_least=FEW)

    assert sql(engine, "SELECT * FROM pgrecall.gc_runs") == []
    [task] = planned.done
    assert (task.task, task.name, task.why) == ("garbage", "zoe", "to archive or delete: 1")
    made = repo.upkeep.run(at_least=FEW, on_progress=lambda *said: told.append(said))
    assert (made.done, made.left) == ([task], [])
    assert told == [(task, 0, 1)]


def test_teams_are_looked_after_like_agents(engine: Engine, upkeep: Upkeep) -> None:
    expire(engine, "team:red")
    repo = MemoryRepository(engine)
    repo.teams.add_many("blue", [north(f"number {n}") for n in range(FEW)])

    assert upkeep() == {"garbage": 1, "build index": 1}

    assert [one.agent_id for one in repo.teams.rank_indexes.status(at_least=FEW)] == ["team:blue"]
    repo.teams.add("blue", north("one more"))
    assert repo.teams.upkeep.run(agent_id="blue", at_least=FEW).tasks == {"place": 1}
    assert upkeep() == {}


def test_a_writer_that_does_not_end_leaves_indexes_and_nothing_else(
    engine: Engine, upkeep: Upkeep
) -> None:
    repo = MemoryRepository(engine)
    repo.add_many("large", [north(f"number {n}") for n in range(FEW)])
    expire(engine, "zoe")
    with engine.connect() as hanging:
        MemoryRepository(hanging).add("max", plain("not committed"))
        assert upkeep(within=1.0) == {"garbage": 1, "left": 1}
        hanging.rollback()
    assert last_run(engine)[1] == {"garbage": 1, "left": 1}
    assert upkeep() == {"build index": 1}


def test_waiting_is_for_one_owner(database_url: str) -> None:
    with (
        psycopg.connect(database_url, autocommit=True) as connection,
        pytest.raises(psycopg.errors.InvalidParameterValue, match="waited is of one owner"),
    ):
        connection.execute("CALL pgrecall.maintain_rank_indexes(waited => now())")


def test_writers_are_waited_for_once(engine: Engine) -> None:
    repo = MemoryRepository(engine)
    repo.add_many("large", [north(f"number {n}") for n in range(FEW)])
    waits: list[str] = []

    @event.listens_for(engine, "before_cursor_execute")
    def note(_c: object, _cursor: object, statement: str, *_: object) -> None:
        waits.extend(["wait"] if "await_writers" in statement else [])

    assert repo.upkeep.run(at_least=FEW).tasks == {"build index": 1}
    built = len(waits)
    repo.add("large", north("one more"))
    assert repo.upkeep.run(at_least=FEW).tasks == {"place": 1}
    assert (built, len(waits) - built) == (2, 1)  # a build waits for those who count, too


def test_an_interrupted_run_is_told(engine: Engine) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    repo = MemoryRepository(engine)
    repo.upkeep.run(at_least=FEW)
    expire(engine, "zoe")
    with pytest.raises(KeyboardInterrupt):
        repo.upkeep.run(at_least=FEW, on_progress=stop)
    problems = "SELECT problem, why FROM pgrecall.health(max_age => %s)"
    told = [dict(sql(engine, problems % age)) for age in ("'1 day'", "'0 s'")]
    assert "upkeep" not in told[0]  # one was finished within a day
    assert told[1]["upkeep"] == "the last one has not ended"


def test_wrong_arguments_of_the_procedure_leave_no_run(database_url: str, engine: Engine) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        for wrong in ("at_least => 0", "at_least => NULL", "agent => ''", "max_live => -1"):
            with pytest.raises(psycopg.Error):
                connection.execute(f"CALL pgrecall.upkeep({wrong})".encode())
        expire(engine, "zoe")
        for within, done in (
            ("-1", "left"),
            ("NULL", "garbage"),
            ("'NaN'", ""),
            ("'Infinity'", ""),
        ):
            called = connection.execute(f"CALL pgrecall.upkeep({within})".encode()).fetchone()
            assert called is not None
            assert [*called[0]] == [done] * bool(done)
    assert len(sql(engine, "SELECT * FROM pgrecall.gc_runs")) == 4
