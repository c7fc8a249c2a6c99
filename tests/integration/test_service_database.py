"""The HTTP service and its connections: poolers, statements that take too long, lost sessions, and
databases that hang or are gone."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from pgrecall import embedded, migrate, pin_search_path
from pgrecall.core import time_limit
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.service import application
from pgrecall.service.gate import Gate
from pgrecall.testing import hurry, new_database
from tests.integration.serving import Service, Slow, service_on, settings
from tests.migrations.asking import value, wait_until

OURS = "datname = current_database() AND application_name = 'pgrecall serve'"


@pytest.fixture
def quick(server_url: str, local_template: str, local_embedder: LocalEmbedder) -> Iterator[Service]:
    """A service with two connections that gives up soon."""
    with (
        new_database(server_url, local_template) as url,
        service_on(url, local_embedder, timeout=1.5, concurrency=2) as service,
    ):
        warm_up(service)
        yield service


def warm_up(service: Service) -> None:
    """The first request imports and inspects, which takes long on a machine that is busy."""
    client = service.client("ada")
    wait_until(
        "the service is warm",
        lambda: client.post("/search", json={"query": "tea"}).status_code == 200,
    )


@pytest.fixture(params=["sessions", "pooler"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Service:
    """The same, and as it is behind a pooler."""

    async def pooled(_: AsyncConnection) -> bool:
        return True

    if request.param == "pooler":
        monkeypatch.setattr(application, "_is_pooled", pooled)
    found: Service = request.getfixturevalue("quick")
    return found


def test_connections_are_shared_and_memories_are_not(either_way: Service) -> None:
    clients = {owner: either_way.client(owner) for owner in ("ada", "bob")}
    ids = {}
    for _ in range(3):  # on the same two connections
        for owner, client in clients.items():
            added = client.post("/memories", json={"content": f"{owner} drinks tea"})
            ids[owner] = added.json()["id"]
            found = client.post("/search", json={"query": "who drinks tea?"}).json()["results"]
            assert [one["memory"]["content"] for one in found] == [f"{owner} drinks tea"]
    assert clients["ada"].get(f"/memories/{ids['bob']}").status_code == 404
    with pytest.MonkeyPatch.context() as patch:  # a route that forgot whose a memory is
        patch.setattr("pgrecall.service.key_cache.Key.owns", lambda self, owner: True)
        seen = clients["ada"].get("/memories?owner=bob").json()["memories"]
    assert seen == []


def test_what_takes_too_long_is_cancelled_and_lost_sessions_are_replaced(quick: Service) -> None:
    client = quick.client("ada")
    url = quick.database_url.replace("+psycopg", "")
    memory = client.post("/memories", json={"content": "tea"}).json()["id"]
    with psycopg.connect(url) as other:
        other.execute("SELECT FROM pgrecall.agent_memories FOR UPDATE")
        late = client.patch(f"/memories/{memory}", json={"importance": 0.9})
        assert late.status_code == 504
        wait_until(
            "the statement is cancelled",
            lambda: (
                value(
                    url, f"SELECT count(*) FROM pg_stat_activity WHERE {OURS} AND state <> 'idle'"
                )
                == 0
            ),
        )
    assert client.patch(f"/memories/{memory}", json={"importance": 0.7}).status_code == 200

    with psycopg.connect(url) as other:
        other.execute(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {OURS}")
    answers = [client.get(f"/memories/{memory}") for _ in range(6)]
    assert {one.status_code for one in answers} <= {200, 503}
    assert [one.status_code for one in answers[3:]] == [200] * 3
    assert all("psycopg" not in one.text and "terminat" not in one.text for one in answers)
    ready = [client.get("/ready").status_code for _ in range(3)]
    assert ready[2] == 200


async def test_a_direct_connection_is_no_pooler(service: Service) -> None:
    engine = pin_search_path(create_async_engine(service.database_url))
    async with engine.connect() as connection:
        assert await application._is_pooled(connection) is False
    await engine.dispose()


@contextmanager
def hanging(data: Path) -> Iterator[None]:
    """Stops every process of the server in this folder, and lets them go on."""
    postmaster = psutil.Process(int((data / "postmaster.pid").read_text().split()[0]))
    stopped = []
    try:
        for process in (postmaster, *postmaster.children()):
            os.kill(process.pid, signal.SIGSTOP)
            stopped.append(process.pid)
        yield
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The folder and the URL of a server that may hang."""
    data = tmp_path_factory.mktemp("hanging") / "data"
    with embedded.database(data) as url:
        hurry(url)
        migrate.upgrade(url)
        yield data, url


def answered(client: httpx.Client, path: str, body: Any = None) -> int:
    """The status of an answer to a client that waits for 6 s; the limit is 1 s."""
    return client.request("POST" if body else "GET", path, json=body, timeout=6).status_code


TEA = {"query": "tea"}
LIST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "list_memories", "arguments": {}},
}


def test_limits_hold_while_the_database_hangs_and_all_is_normal_when_it_goes_on(
    own_server: tuple[Path, str], local_embedder: LocalEmbedder
) -> None:
    """The key is known, so that requests get as far as a statement."""
    data, url = own_server
    limits: dict[str, Any] = {"timeout": 1.0, "concurrency": 2, "key_seconds": 60.0}
    with service_on(url, local_embedder, **limits) as service, ThreadPoolExecutor(12) as threads:
        warm_up(service)
        client = service.client("ada", scope="maintain")
        wait_until("its key is known", lambda: answered(client, "/search", TEA) == 200)
        with hanging(data):
            searches: list[tuple[Any, ...]] = [("/search", TEA)] * 9
            asked = [*searches, ("/mcp", LIST), ("/ready",), ("/ready",)]
            answers = [threads.submit(answered, client, *one) for one in asked]
            assert client.get("/health").status_code == 200
            *statuses, ready, again = [one.result() for one in answers]
            assert set(statuses) == {503, 504}
            assert ready == again == 503
            # Turns were given back, though all still hangs.
            wait_until("one has a turn", lambda: answered(client, "/search", TEA) == 504)
            counted = client.get("/metrics").text
        for one in (("/search", TEA), ("/ready",)):
            wait_until("it goes on", lambda one=one: answered(client, *one) == 200)  # type: ignore[misc]
    assert 'route="/search",status="504"' in counted
    assert 'status="0"' not in counted


def test_keys_are_looked_up_within_the_limit_while_the_database_hangs(
    own_server: tuple[Path, str], local_embedder: LocalEmbedder
) -> None:
    data, url = own_server
    limits: dict[str, Any] = {"timeout": 1.0, "concurrency": 2, "key_seconds": 0.0}
    with service_on(url, local_embedder, **limits) as service, ThreadPoolExecutor(20) as threads:
        warm_up(service)
        clients = [service.client("ada") for _ in range(10)]
        with hanging(data):
            answers = [threads.submit(answered, one, "/search", TEA) for one in clients * 2]
            assert {one.result() for one in answers} == {503}
        wait_until("it goes on", lambda: answered(clients[0], "/search", TEA) == 200)


def test_every_route_says_that_the_database_is_gone(
    server_url: str, local_template: str, local_embedder: LocalEmbedder
) -> None:
    with (
        new_database(server_url, local_template) as url,
        service_on(url, local_embedder, key_seconds=60.0) as service,
    ):
        client = service.client("ada", scope="maintain")
        assert client.get("/status").status_code == 200
        with psycopg.connect(server_url, autocommit=True) as other:
            name = url.rpartition("/")[2].partition("?")[0]
            other.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
            other.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
                [name],
            )
        for path in ("/status", "/owners", "/memories", "/ready") * 3:
            assert client.get(path).status_code == 503, path
        assert client.get("/health").status_code == 200


async def test_a_limit_answers_though_the_work_has_not_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As psycopg, which waits for the server when it is cancelled, and ends when it is again."""
    monkeypatch.setattr(time_limit, "CLOSING_SECONDS", 0.3)

    class Hanging(Slow):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            try:
                await super().__call__(scope, receive, send)
            except asyncio.CancelledError:
                await super().__call__(scope, receive, send)

    app, sent = Hanging(), []
    gate = Gate(app, settings(concurrency=1, timeout=0.1), None)

    async def noted(scope: Any, receive: Any, send: Any) -> None:
        async def note(message: Any) -> None:
            sent.append(message.get("status"))
            await send(message)

        await gate(scope, receive, note)

    transport = httpx.ASGITransport(noted)
    client = httpx.AsyncClient(transport=transport, base_url="http://localhost")
    async with asyncio.timeout(20), client:

        async def status() -> int:
            return (await client.get("/search")).status_code

        assert [await status(), await status()] == [504, 503]  # it still has the turn
        while await status() != 504:
            pass
        app.go.set()  # what it answers now is too late
        while await status() != 200:
            pass
    assert sent.count(200) == 1
