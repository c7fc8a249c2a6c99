"""The HTTP service and its connections: poolers, statements that take too long, lost sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from pgrecall.core.embedders import LocalEmbedder
from pgrecall.service import application
from pgrecall.testing import new_database
from tests.integration.serving import Service, service_on
from tests.migrations.asking import value, wait_until

OURS = "datname = current_database() AND application_name = 'pgrecall serve'"


@pytest.fixture
def quick(server_url: str, local_template: str, local_embedder: LocalEmbedder) -> Iterator[Service]:
    """A service with two connections that gives up after three seconds."""
    with (
        new_database(server_url, local_template) as url,
        service_on(url, local_embedder, timeout=3.0, concurrency=2) as service,
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
        patch.setattr("pgrecall.service.bearer.Key.owns", lambda self, owner: True)
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


def test_a_direct_connection_is_no_pooler(service: Service, loop: asyncio.Runner) -> None:
    async def asked() -> bool:
        engine = create_async_engine(service.database_url)
        async with engine.connect() as connection:
            found = await application._is_pooled(connection)
        await engine.dispose()
        return found

    assert loop.run(asked()) is False
