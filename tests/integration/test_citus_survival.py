"""What happens on Citus while clients race, shards move and a worker is down."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository
from pgrecall.errors import DatabaseUnavailable
from tests.integration import test_races
from tests.integration.citus import URL, Worker, distributed, move, on_citus, place
from tests.integration.conftest import empty
from tests.integration.owner import Owner, north
from tests.integration.support import NORTH, contents, read, sql
from tests.migrations.asking import wait_until

pytestmark = on_citus
A, CLIENTS = "agent", 4

# Every race, with the fixtures below.
RACES = {name: one for name, one in vars(test_races).items() if name.startswith("test_")}
globals().update(RACES, crowd=test_races.crowd, mine=test_races.mine)


@pytest.fixture(scope="module")
def session() -> Iterator[psycopg.Connection]:
    with distributed() as connection:
        yield connection


@pytest.fixture
def database_url(session: psycopg.Connection) -> Iterator[str]:
    yield URL
    empty(session)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    made = create_engine(database_url)
    yield made
    made.dispose()


@pytest.fixture(autouse=True)
def waits_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for a row waits on the worker."""
    waiting = "SELECT count(*) FROM citus_stat_activity WHERE wait_event_type = 'Lock'"
    monkeypatch.setattr(test_races, "WAITING", waiting)


def test_a_call_waits_for_one_in_a_transaction_of_a_callers(engine: Engine, mine: Owner) -> None:
    """The first runs on the worker, the second on the coordinator."""
    mine.count()  # reads the layout

    def add(repo: MemoryRepository, content: str) -> str:
        return repo.add(A, north(content), near_duplicates=0.9).outcome

    with ThreadPoolExecutor(1) as threads, engine.connect() as connection:
        first = add(MemoryRepository(connection), "one")
        second = threads.submit(add, mine.repo, "another")
        wait_until("it waits", lambda: sql(engine, test_races.WAITING) == [(1,)])
        connection.commit()

        assert (first, second.result()) == ("inserted", "near_duplicate")


def an_owner_of_each(session: psycopg.Connection) -> dict[Worker, str]:
    return {place(session, f"agent {n}")[1]: f"agent {n}" for n in range(50)}


@contextmanager
def down(worker: Worker) -> Iterator[None]:
    """Ends all connections to a worker and lets it take no new ones."""
    with psycopg.connect(URL) as connection:
        name = connection.info.dbname
    with psycopg.connect(
        URL, host=worker.host, port=worker.port, dbname="template1", autocommit=True
    ) as beside:
        allow = "ALTER DATABASE {} ALLOW_CONNECTIONS {}".format
        beside.execute(allow(name, "false").encode())
        try:
            beside.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
                [name],
            )
            yield
        finally:
            beside.execute(allow(name, "true").encode())


def test_owners_on_other_workers_notice_nothing_of_one_that_is_down(
    session: psycopg.Connection, engine: Engine
) -> None:
    repo, owners = MemoryRepository(engine), an_owner_of_each(session)
    for owner in owners.values():
        repo.add(owner, north("before"))
    lost, *others = owners

    with down(lost):
        for call in (
            lambda: repo.search(owners[lost], NORTH),
            lambda: repo.add(owners[lost], north("meanwhile")),
            lambda: repo.add_many(owners[lost], [north("meanwhile")]),
            lambda: repo.count(owners[lost]),
        ):
            with pytest.raises(DatabaseUnavailable):
                call()
        for owner in (owners[other] for other in others):
            repo.add(owner, north("meanwhile"))
            repo.add_many(owner, [north("at once")])
            assert len(repo.search(owner, NORTH)) == repo.count(owner) == 3

    assert others
    assert contents(repo.search(owners[lost], NORTH)) == ["before"]
    repo.add(owners[lost], north("afterwards"))
    assert repo.count(owners[lost]) == 2


def test_a_shard_that_moves_loses_nothing_of_what_clients_write(
    session: psycopg.Connection, database_url: str
) -> None:
    crowd = create_engine(database_url, pool_size=CLIENTS, max_overflow=0)
    repo, moved = MemoryRepository(crowd), Event()
    first = UUID(int=repo.add(A, north("one", trust=0.5)).int)

    def client(n: int) -> Counter[str]:
        mine, done = random.Random(n), Counter[str]()
        while not moved.is_set():
            match mine.choice(["initial", "restated", "touched", "penalty"]):
                case "initial":
                    repo.add(A, north(f"{n} {done['initial']}"))
                    done["initial"] += 1
                case "restated":
                    done["restated"] += not repo.add(A, north("ONE")).inserted
                case "touched":
                    done["touched"] += repo.touch(A, [first])
                case _:
                    repo.record_outcome(A, first, "failure")
                    done["penalty"] += 1
        return done

    with ThreadPoolExecutor(CLIENTS) as threads:
        running = [threads.submit(client, n) for n in range(CLIENTS)]
        try:
            former = move(session, A)
        finally:
            moved.set()
        done = sum((one.result() for one in running), Counter[str]())

    assert place(session, A)[1] != former
    assert min(done.values()) > 0
    memory = read(repo, A, first)
    assert memory.retrieval_count == done["restated"] + done["touched"] + done["penalty"]
    assert memory.failure_count == done["penalty"]
    types = "SELECT event_type FROM pgrecall.memory_events WHERE agent_id = 'agent'"
    noted = Counter(kind for (kind,) in sql(crowd, types))
    assert noted == {
        "initial": done["initial"] + 1,
        "restated": done["restated"],
        "penalty": done["penalty"],
    }
    assert repo.count(A) == done["initial"] + 1
    assert sql(crowd, test_races.OVERLAPPING) == []
    crowd.dispose()
