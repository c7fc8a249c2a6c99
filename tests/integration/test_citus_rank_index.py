"""Rank indexes on Citus. Positions are on the node of their owner, beside the shard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from threading import Event
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository, ScoredMemory, migrate
from pgrecall.migrate.connecting import database_url
from tests.integration.citus import (
    URL,
    Worker,
    distributed,
    move,
    on_citus,
    one_and_several_nodes,
    place,
    workers,
)
from tests.integration.conftest import empty
from tests.integration.owner import north
from tests.integration.rank_indexes import (
    TABLES,
    A,
    acting_as,
    assert_as_exact,
    build,
    fill,
    maintain,
    memories,
    new_role,
    used_positions,
)
from tests.integration.support import NORTH, NOW, sql
from tests.migrations.asking import wait_until

pytestmark = on_citus
MISSING = "its positions are missing, not used"


@pytest.fixture(scope="module")
def session() -> Iterator[psycopg.Connection]:
    with distributed() as connection:
        yield connection


@pytest.fixture
def coordinator(session: psycopg.Connection) -> Iterator[Engine]:
    empty(session)  # of what tests of a whole module share
    session.execute("SELECT on_every_node('drop_positions')")
    made = create_engine(database_url(URL))
    yield made
    made.dispose()
    empty(session)
    session.execute("SELECT on_every_node('drop_positions')")


@pytest.fixture
def repo(coordinator: Engine) -> MemoryRepository:
    return MemoryRepository(coordinator)


def on(worker: Worker) -> psycopg.Connection:
    return psycopg.connect(URL, host=worker.host, port=worker.port, autocommit=True)


def positions(session: psycopg.Connection) -> dict[tuple[Worker, str], set[UUID]]:
    """The memories in each table of positions of each worker."""
    found = {}
    for worker in workers(session):
        with on(worker) as there:
            for (table,) in there.execute(TABLES, ['"pgrecall"']).fetchall():
                rows = there.execute(f"SELECT memory_id FROM pgrecall.{table}".encode())
                found[worker, table] = {row[0] for row in rows}
    return found


def due(repo: MemoryRepository, agent_id: str = A) -> str | None:
    [status] = repo.rank_indexes.status(agent_id=agent_id)
    return status.due


Answer = tuple[str, list[ScoredMemory]]


def searched(repo: MemoryRepository, agent: str = "ada", **arguments: Any) -> Answer:
    found = repo.search(agent, NORTH, **arguments, **ALL)
    return found.strategy, found


def packed(repo: MemoryRepository, **arguments: Any) -> Answer:
    found = repo.context("ada", NORTH, min_relevance=0.05, **arguments, **ALL)
    return found.strategy, [one.hit for one in found.packed]


ALL: dict[str, Any] = {"as_of": NOW, "touch": False, "strategy": "index"}
WORDS: dict[str, Any] = {"keywords": "memory 17 or 3", "profile": "hybrid"}
QUESTIONS: dict[str, Callable[[MemoryRepository], Answer]] = {
    "meaning": partial(searched, profile="five_factor"),
    "words": partial(searched, **WORDS),
    "filtered": lambda r: searched(r, filter=r.memories.c.importance > 0.6),
    "with teams": partial(searched, teams=["red", "small"]),
    "with teams and words": partial(searched, teams=["red", "small"], **WORDS),
    "with teams and turns": partial(searched, teams=["red"], surrounding_turns=1, **WORDS),
    "of a team": lambda r: searched(r.teams, agent="red", **WORDS),
    "context": partial(packed, **WORDS),
    "context with teams": partial(packed, teams=["red", "small"], **WORDS),
    "context with teams and turns": partial(packed, teams=["red"], surrounding_turns=1, **WORDS),
}


def furnish(repo: MemoryRepository) -> None:
    """An agent and a team with an index each, and a team without."""
    owners = (
        *((repo, "ada", 300, 0), (repo.teams, "red", 300, 1_000)),
        (repo.teams, "small", 20, 2_000),
    )
    for of, name, number, start in owners:
        new = [
            replace(one, id=UUID(int=start + n), session=f"session {n // 10}", turn=n % 10)
            for n, one in enumerate(memories(number, start))
        ]
        of.add_many(name, new)
    build(repo, "ada")
    build(repo.teams, "red")
    later = [replace(one, id=UUID(int=3_000 + n)) for n, one in enumerate(memories(20, 3_000))]
    repo.add_many("ada", later)  # words weigh by the counts at the build


@pytest.fixture(scope="module")
def one_and_several(
    session: psycopg.Connection, server_url: str, template: str
) -> Iterator[tuple[MemoryRepository, MemoryRepository]]:
    with one_and_several_nodes(server_url, template, furnish) as found:
        yield found


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_index_on_several_nodes_answers_as_on_one(
    one_and_several: tuple[MemoryRepository, MemoryRepository], question: str
) -> None:
    answers = [QUESTIONS[question](repo) for repo in one_and_several]

    one, several = (
        [(h.memory.owner_id, h.memory.id, h.score, h.attached_to) for h in hits]
        for _, hits in answers
    )
    assert [strategy for strategy, _ in answers] == ["index", "index"]
    assert len(one) >= 10
    assert several == one


def test_calls_in_a_transaction_of_the_caller_reach_the_positions(
    session: psycopg.Connection, repo: MemoryRepository, coordinator: Engine
) -> None:
    """They run on the coordinator, which has no positions."""
    filled = fill(repo)
    index = build(repo)
    here = place(session, A)[1]

    for commits in (False, True):
        with coordinator.connect() as connection:
            within = MemoryRepository(connection)
            assert within.touch(A, filled[:3]) == 3
            assert within.delete(A, [filled[3]]) == 1
            assert within.erase(A, [filled[4]]).positions == 1
            if commits:
                connection.commit()
        found = positions(session)
        gone = {filled[3], filled[4]} if commits else set()
        assert found[here, index.relation] == {*filled} - gone
        used = found[here, used_positions(index.relation)]
        assert used == ({*filled[:3]} if commits else set())
    assert_as_exact(repo)
    # And calls of one statement, which run on the node.
    used_by = repo.search(A, NORTH, k=3)
    repo.delete(A, [filled[5]])
    repo.erase(A, [filled[6]])
    gone |= {filled[5], filled[6]}
    found = positions(session)
    assert found[here, index.relation] == {*filled} - gone
    noted = {*filled[:3], *(hit.memory.id for hit in used_by)} - gone
    assert found[here, used_positions(index.relation)] == noted
    assert repo.erase_owner(A).positions >= 96
    assert positions(session) == {}


@pytest.mark.parametrize("how", ["of the caller", "prepared"])
def test_a_build_waits_for_who_writes_on_either_node(
    session: psycopg.Connection, repo: MemoryRepository, coordinator: Engine, how: str
) -> None:
    fill(repo)
    with ExitStack() as stack:
        background = stack.enter_context(ThreadPoolExecutor(1))
        if how == "of the caller":
            connection = stack.enter_context(coordinator.connect())
            MemoryRepository(connection).add(A, north("late"))
            commit: Callable[[], Any] = connection.commit
        else:
            shard, node = place(session, A)
            worker = stack.enter_context(on(node))
            worker.execute("SET citus.enable_manual_changes_to_shards = on")
            worker.execute("BEGIN")
            worker.execute(
                f"INSERT INTO pgrecall.agent_memories_{shard} (agent_id, id, content, "
                f"embedding) VALUES ('agent', gen_random_uuid(), 'late', '{NORTH}')".encode()
            )
            worker.execute("PREPARE TRANSACTION 'late'")
            commit = partial(worker.execute, "COMMIT PREPARED 'late'")
        building = background.submit(build, repo)
        wait_until("the build waits", lambda: bool(sql(coordinator, WAITS)))
        commit()
        index = building.result()

    assert index.memories == 101
    assert repo.search(A, NORTH, strategy="index", touch=False)[0].memory.content == "late"


WAITS = "SELECT FROM citus_stat_activity WHERE wait_event = 'PgSleep'"


def test_after_a_shard_has_moved_searches_are_exact_until_maintenance(
    session: psycopg.Connection, repo: MemoryRepository
) -> None:
    """While others write, before, meanwhile and afterwards."""
    filled, done = fill(repo, number=300), Event()
    former = build(repo)

    def write(n: int) -> int:
        number = 0
        while not done.is_set():
            repo.add(A, north(f"{n} {number}"))
            repo.touch(A, [filled[number % len(filled)]])
            number += 1
        return number

    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(write, n) for n in range(2)]
        try:
            here = move(session, A)
            there = place(session, A)[1]
            assert here != there
            assert due(repo) == MISSING
            hits = repo.search(A, NORTH, strategy="index", touch=False)
            assert hits.strategy == "exact"
            assert maintain(repo) == [A]
        finally:
            done.set()
        written = sum(one.result() for one in running)

    [status] = repo.rank_indexes.status()
    assert status.index is not None
    assert status.index.relation != former.relation
    found = positions(session)
    assert {node for node, _ in found} == {there}
    maintain(repo)
    assert len(positions(session)[there, status.index.relation]) == 300 + written
    assert_as_exact(repo)


def test_nothing_of_what_is_erased_after_a_move_is_left(
    session: psycopg.Connection, repo: MemoryRepository
) -> None:
    """Not on the former node, nor where the shard comes back to."""
    filled = fill(repo)
    build(repo)
    here = move(session, A)
    assert {node for node, _ in positions(session)} == {here}

    repo.erase(A, [filled[0]])
    assert positions(session) == {}
    move(session, A)

    assert place(session, A)[1] == here
    assert due(repo) == MISSING
    assert maintain(repo) == [A]
    assert filled[0] not in set().union(*positions(session).values())
    assert_as_exact(repo)


def test_who_may_search_searches_through_the_index(
    session: psycopg.Connection, repo: MemoryRepository, coordinator: Engine
) -> None:
    """Also behind policies, but only the owners that the session names."""
    fill(repo)
    build(repo)
    with new_role(URL, "reader") as reader, new_role(URL, "maintainer") as maintainer:
        migrate.grant(URL, reader, "reader")
        migrate.grant(URL, maintainer, "maintainer")
        for role in (reader, maintainer):  # Citus connects to the nodes as this role
            session.execute(f'ALTER ROLE "{role}" LOGIN'.encode())
        maintain(repo)
        with acting_as(coordinator, reader) as connection:
            assert_as_exact(MemoryRepository(connection))
        with acting_as(coordinator, maintainer) as connection:
            within = MemoryRepository(connection)
            build(within)
            assert_as_exact(within)
            connection.commit()
            assert maintain(within) == []
            connection.commit()
        session.execute("SELECT protect_owners()")
        try:
            maintain(repo)
            for named, number in ((A, 10), ("another", 0)):
                with acting_as(coordinator, reader) as connection:
                    connection.exec_driver_sql("SET citus.propagate_set_commands = 'local'")
                    connection.exec_driver_sql(f"SET LOCAL pgrecall.owners = '{{{named}}}'")
                    hits = MemoryRepository(connection).search(
                        A, NORTH, strategy="index", touch=False
                    )
                    assert len(hits) == number
                    assert hits.strategy == ("index" if number else "exact")
        finally:
            guarded = "SELECT polrelid::regclass::text FROM pg_policy WHERE polname = 'owners'"
            for (table,) in session.execute(guarded).fetchall():
                session.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY".encode())
                session.execute(f"DROP POLICY owners ON {table}".encode())
