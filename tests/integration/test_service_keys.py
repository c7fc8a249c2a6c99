"""The HTTP service as an attacker sees it: keys, other owners, and connections held open."""

from __future__ import annotations

import logging
import re
import socket
import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from pgrecall import NewMemory
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.core.ids import id_of_key
from pgrecall.errors import InputError
from pgrecall.migrate.service_keys import (
    hash_of_secret,
    list_keys,
    matches,
    owner_set,
    presented,
    revoke_key,
)
from pgrecall.testing import new_database
from tests.integration.serving import ROLE, Service, service_on

SECRET = "bobsecret"


@pytest.fixture(scope="module")
def victim(service: Service) -> dict[str, Any]:
    """Memories of an owner, and of a team, whom the attacker's key is not for."""
    found: dict[str, Any] = {"owner": "bob"}
    for repo, owner in ((service.repo, "bob"), (service.repo.teams, "bob")):
        new = NewMemory(
            f"{SECRET} of {owner}", key=f"{SECRET}-key", tags=[SECRET], entities=[SECRET]
        )
        found[type(repo).__name__ + str(repo is service.repo)] = memory = repo.add(owner, new)
        repo.feedback(owner, memory, "useful", SECRET)
    return found | {"memory": str(id_of_key("bob", f"{SECRET}-key"))}


@pytest.fixture
def attacker(service: Service, victim: dict[str, Any]) -> httpx.Client:
    return service.client("mallory", scope="maintain")


def snapshot(service: Service) -> list[Any]:
    with psycopg.connect(service.database_url.replace("+psycopg", "")) as connection:
        return connection.execute(
            "SELECT 1, m::text FROM pgrecall.agent_memories m WHERE agent_id IN ('bob','team:bob')"
            " UNION ALL SELECT 2, u::text FROM pgrecall.memory_usage u "
            "WHERE agent_id IN ('bob', 'team:bob') UNION ALL SELECT 3, e::text "
            "FROM pgrecall.memory_events e WHERE agent_id IN ('bob', 'team:bob') ORDER BY 1, 2"
        ).fetchall()


def requests_about(memory: str) -> Iterator[tuple[str, str, Any]]:
    """Every route that takes an id."""
    body = {"memory_id": memory, "query": SECRET}
    yield "GET", f"/memories/{memory}", None
    yield "GET", f"/memories/{memory}/history", None
    yield "PATCH", f"/memories/{memory}", {"content": "mine"}
    yield "DELETE", f"/memories/{memory}", None
    yield "DELETE", f"/memories/{memory}?erase=true", None
    yield "POST", f"/memories/{memory}/supersede", {"new": {"content": "mine"}}
    yield "GET", f"/memories/by-key?key={SECRET}-key", None
    yield "GET", f"/memories/{memory}/links", None
    for verb in ("invalidate", "revive", "approve", "reject"):
        yield "POST", f"/memories/{memory}/{verb}", {"reason": "mine"}
    yield "POST", "/explain", body
    yield "POST", "/judgements", body
    yield "POST", "/feedback", {"memory_id": memory, "kind": "incorrect"}
    yield "POST", "/outcomes", {"memory_id": memory, "outcome": "failure"}
    yield "GET", f"/v1/memories/{memory}", None
    yield "GET", f"/v1/memories/{SECRET}-key", None
    yield "PATCH", f"/v1/memories/{memory}", {"content": "mine"}
    yield "DELETE", f"/v1/memories/{memory}", None
    yield "POST", "/v1/feedback", {"memory_id": memory, "type": "incorrect"}
    yield "POST", "/v1/memories", {"content": "mine", "parent_memory_id": memory}


def requests_about_many() -> Iterator[tuple[str, str, Any]]:
    """Every route that finds memories."""
    yield "GET", "/memories?limit=1000&include_inactive=true", None
    yield "GET", f'/memories?filter={{"tags": "{SECRET}"}}', None
    yield "POST", "/search", {"query": SECRET, "k": 100}
    yield "POST", "/search", {"k": 100, "linked": 2, "include_inactive": True}
    yield "POST", "/context", {"query": SECRET, "min_relevance": 0}
    yield "POST", "/candidates", {"query": SECRET}
    yield "GET", "/judgements", None
    yield "POST", "/memories", {"content": "mine"}
    yield "POST", "/memories/batch", {"memories": [{"content": "mine"}]}
    yield "PUT", "/memories", {"key": f"{SECRET}-key", "content": "mine"}
    yield "GET", "/owners?limit=1000", None
    yield "GET", "/owners?teams=true&prefix=b", None
    yield "GET", "/status", None
    yield "POST", "/v1/search", {"query": SECRET, "limit": 100}
    yield "POST", "/v1/context", {"query": SECRET}
    yield "GET", "/v1/memories?limit=100", None


HARMLESS = ("history", "links", "invalidate", "revive", "approve", "reject")
"""Of an id that the owner does not have, these tell nothing and change nothing."""


def test_the_ids_of_another_owner_lead_nowhere(
    service: Service, attacker: httpx.Client, victim: dict[str, Any]
) -> None:
    before = snapshot(service)
    for method, path, body in requests_about(victim["memory"]):
        answer = attacker.request(method, path, json=body)
        harmless = path.rpartition("/")[2].startswith(HARMLESS) or "erase" in path
        assert answer.status_code == (200 if harmless else 404), (method, path, answer.text)
        assert SECRET not in answer.text.replace(f"{SECRET}-key", ""), (method, path)
    for method, path, body in requests_about_many():
        answer = attacker.request(method, path, json=body)
        assert answer.is_success, (method, path, answer.text)
        assert SECRET not in answer.text.replace(f"{SECRET}-key", ""), (method, path)
    assert snapshot(service) == before


@pytest.mark.parametrize("owner", ["bob", "team:bob", "team:mallory", "", "*", "mallory,bob"])
def test_another_owner_cannot_be_named(
    service: Service, attacker: httpx.Client, victim: dict[str, Any], owner: str
) -> None:
    before = snapshot(service)
    every = [*requests_about(victim["memory"]), *requests_about_many()]
    for method, path, body in every:
        if path.startswith(("/owners", "/status")):
            continue  # these take no owner
        answer = attacker.request(
            method, httpx.URL(path).copy_merge_params({"owner": owner}), json=body
        )
        assert answer.status_code == 403, (method, path, answer.text)
    for path in ("/search", "/context"):
        for team in ("bob", "team:bob"):
            assert attacker.post(path, json={"query": SECRET, "teams": [team]}).status_code == 403
    assert snapshot(service) == before


def test_an_owner_in_a_body_is_no_field(attacker: httpx.Client) -> None:
    for name in ("owner", "agent_id", "team_id"):
        assert attacker.post("/search", json={"query": "x", name: "bob"}).status_code == 422
        assert attacker.post("/memories", json={"content": "x", name: "bob"}).status_code == 422


def test_the_database_itself_shows_a_request_its_own_owners_only(
    service: Service, victim: dict[str, Any]
) -> None:
    """If a route forgot to ask whose a memory is, there would be nothing to see: every connection
    is confined, and without owners it sees nothing at all."""
    both = service.client("bob", "mallory")
    assert both.post("/search", params={"owner": "bob"}, json={"query": SECRET}).json()["results"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pgrecall.service.key_cache.Key.owns", lambda self, owner: True)
        mallory = service.client("mallory")
        found = mallory.post("/search", params={"owner": "bob"}, json={"query": SECRET}).json()
        assert found["results"] == []
        added = mallory.post("/memories", params={"owner": "bob"}, json={"content": "planted"})
        assert (added.status_code, "agent_memories" in added.text) == (500, False)
        owners = mallory.get("/owners").json()["owners"]
        assert {one["agent_id"] for one in owners} <= {"mallory"}


MISSING = (
    "",
    "Bearer",
    "Basic bWFsbG9yeTp4",
    "Bearer pgr_000000000000_" + "0" * 64,
    "Bearer " + "x" * 10_000,
    "Bearer pgr_00000000000g_" + "0" * 64,
    "Bearer pgr_' OR 1=1 --_" + "0" * 64,
)


@pytest.mark.parametrize("header", MISSING, ids=range(len(MISSING)))
def test_without_a_valid_key_nothing_is_answered(service: Service, header: str) -> None:
    client = service.client()
    answers = [
        client.request(method, path, json=body, headers={"Authorization": header})
        for method, path, body in [*requests_about(str(UUID(int=0)))][:3]
    ]
    answers.append(client.get("/metrics", headers={"Authorization": header}))
    assert {one.status_code for one in answers} == {401}
    assert all(one.headers["www-authenticate"] for one in answers)


def test_a_key_with_another_secret_is_none(service: Service) -> None:
    token = service.key("mallory")
    for wrong in (token[:-1] + ("0" if token[-1] != "0" else "1"), token[:-1], token + "0"):
        answer = httpx.get(f"{service.url}/memories", headers={"Authorization": f"Bearer {wrong}"})
        assert answer.status_code == 401
    other = f"mos_live_{token.removeprefix('pgr_')}"
    answer = httpx.get(f"{service.url}/memories", headers={"Authorization": f"Bearer {other}"})
    assert answer.status_code == 200


def test_scopes_are_kept(service: Service, agent: str) -> None:
    writer, reader = service.client(agent), service.client(agent, scope="read")
    memory = writer.post("/memories", json={"content": "tea"}).json()["id"]

    for method, path, body in (*requests_about(memory), *requests_about_many()):
        reads = method == "GET" or path in ("/search", "/candidates", "/context", "/explain")
        reads |= path in ("/v1/search", "/v1/context")
        answer = reader.request(method, path, json=body)
        assert (answer.status_code == 403) != (reads and "status" not in path), (method, path)
    assert reader.post("/search", json={"touch": True}).status_code == 403
    assert service.repo.get(agent, UUID(memory)).retrieval_count == 0  # type: ignore[union-attr]
    assert writer.delete(f"/memories/{memory}?erase=true").status_code == 403
    assert writer.get("/metrics").status_code == 403


def test_keys_end_when_they_are_revoked(
    server_url: str, local_template: str, local_embedder: LocalEmbedder
) -> None:
    with (
        new_database(server_url, local_template) as url,
        service_on(url, local_embedder, key_seconds=0.0) as service,
    ):
        engine: Any = service.repo._bind
        first, second = service.client("ada"), service.client("ada")
        assert (first.get("/memories").status_code, second.get("/memories").status_code) == (
            200,
            200,
        )
        ids = {one["id"]: one for one in list_keys(engine)}
        token = first.headers["authorization"].removeprefix("Bearer ")
        own = token.split("_")[1]
        revoke_key(engine, own)
        assert first.get("/memories").status_code == 401
        with pytest.raises(InputError, match="no key"):
            revoke_key(engine, own)
        assert ids.keys() >= {own}
        assert "hash" not in ids[own]
        with psycopg.connect(url) as connection:
            [(row,)] = connection.execute(
                "SELECT k::text FROM pgrecall.service_keys k WHERE id = %s", [own]
            )
        assert token.split("_")[2] not in row
        assert second.get("/memories").status_code == 200


def test_the_hash_of_a_secret_says_nothing_and_no_secret_fits_no_hash() -> None:
    token = f"pgr_0f3a52c1b7d9_{'ab' * 32}"
    found = presented(f"Bearer {token}")
    assert found == ("0f3a52c1b7d9", "ab" * 32)
    assert matches(found[1], hash_of_secret(found[1]))
    assert not matches(found[1], None)
    assert hash_of_secret(found[1]).hex() not in token
    assert owner_set(["b", "a", "b"]) == ["a", "b"]


def test_no_secret_is_logged(
    service: Service, attacker: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = attacker.headers["authorization"].removeprefix("Bearer ")
    attacker.post("/memories", json={"content": "tea"})
    attacker.post("/search", json={"query": "x", "k": 0})
    attacker.get("/memories?owner=bob")
    httpx.get(f"{service.url}/memories", headers={"Authorization": f"Bearer {token}0"})

    for record in caplog.records:
        if record.name.startswith(("pgrecall", "uvicorn", "fastapi", "sqlalchemy", "psycopg")):
            assert token.rpartition("_")[2] not in record.getMessage()


def test_no_other_web_page_may_read(service: Service, attacker: httpx.Client) -> None:
    answer = attacker.get("/memories", headers={"Origin": "https://evil.example"})
    assert not [name for name in answer.headers if name.startswith("access-control")]
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    assert attacker.options("/search", headers=asked).status_code == 405


def test_pipelined_requests_are_answered_in_order_each_with_its_own_key(
    service: Service, victim: dict[str, Any]
) -> None:
    mine, theirs = service.key("mallory"), service.key("bob")
    path = f"/memories/{victim['memory']}"
    requests = "".join(
        f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        for token in (theirs, mine, theirs, mine, mine)
    )
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        connection.sendall(requests.encode())
        received = b""
        while len(re.findall(rb"HTTP/1\.1 \d", received)) < 5 or not received.endswith(b"}"):
            received += connection.recv(65536)
    assert re.findall(rb"HTTP/1\.1 (\d+)", received) == [b"200", b"404", b"200", b"404", b"404"]
    assert received.count(f"{SECRET} of".encode()) == 2


def test_many_connections_that_send_nothing_or_half_a_request_hold_up_nobody(
    service: Service, attacker: httpx.Client
) -> None:
    half = (b"", b"POST /search HTTP/1.1\r\nHost", b"GET", b"\0\xff\r\n\r\n")
    body = b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    body += f"Authorization: {attacker.headers['authorization']}\r\n".encode()
    body += b"Content-Length: 100\r\n\r\n{"
    held = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(100)]
    try:
        for number, connection in enumerate(held):
            connection.sendall((*half, body)[number % 5])
        began = time.monotonic()
        assert attacker.post("/search", json={"query": "tea"}).status_code == 200
        assert attacker.get("/ready").status_code == 200
        assert time.monotonic() - began < 5
    finally:
        for connection in held:
            connection.close()


def test_requests_that_two_servers_would_read_differently_are_refused(service: Service) -> None:
    """Request smuggling: two lengths, or a length and chunks."""
    for header in (
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: -1",
        "Content-Length: 0x5",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
    ):
        with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
            connection.sendall(
                f"POST /search HTTP/1.1\r\nHost: x\r\n{header}\r\n\r\n0\r\n\r\n".encode()
            )
            status = connection.recv(4096).partition(b" ")[2][:3]
        assert status in (b"400", b"401", b"413", b""), header


def test_a_service_whose_role_no_policy_restricts_does_not_start(
    server_url: str, local_template: str, local_embedder: LocalEmbedder
) -> None:
    with new_database(server_url, local_template) as url, pytest.raises(AssertionError):
        service_on(url, local_embedder, role=None).__enter__()


def test_the_service_role_may_not_change_keys(service: Service) -> None:
    with psycopg.connect(service.database_url.replace("+psycopg", "")) as connection:
        connection.execute(f"SET ROLE {ROLE}")
        connection.execute("SELECT id FROM pgrecall.service_keys")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("UPDATE pgrecall.service_keys SET scope = 'maintain'")
