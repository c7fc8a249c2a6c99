"""The service's /mcp, asked by the client of the official SDK, and by attackers."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest

pytest.importorskip("mcp")

from mcp import MCPError
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from pgrecall import NewMemory
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.migrate.service_keys import Scope, revoke_key
from pgrecall.testing import new_database
from tests.integration.serving import MOST, Service, service_on
from tests.integration.test_mcp import MEMORIES, answer, refusal
from tests.migrations.asking import value, wait_until
from tests.unit.test_layers import ROOT

CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "list_memories", "arguments": {}},
}


JSON = {"Accept": "application/json", "Content-Type": "application/json"}


def talk(
    url: str, token: str, said: Callable[[Client], Awaitable[None]], *, mode: str = "auto"
) -> None:
    """A client's session with a server."""

    async def session() -> None:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            create_mcp_http_client(headers) as sending,
            Client(streamable_http_client(url, http_client=sending), mode=mode) as client,
        ):
            await said(client)

    asyncio.run(session())


def called(client: httpx.Client, body: Any = CALL, **headers: str) -> httpx.Response:
    """The answer to one message, sent without the SDK."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post("/mcp", content=content, headers=JSON | headers)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_model_remembers_and_recalls(service: Service, agent: str, mode: str) -> None:
    """Configured as the page says."""
    page = (ROOT / "docs/mcp.md").read_text(encoding="utf-8")
    block = page.partition('```json title="mcp-http.json"\n')[2].partition("```")[0]
    configured = json.loads(block)["mcpServers"]["memory"]
    assert configured["headers"] == {"Authorization": "Bearer pgr_…"}

    async def said(client: Client) -> None:
        assert len((await client.list_tools()).tools) == 7
        tea = await answer(client, "remember", content="Ines drinks her tea without milk.")
        [hit] = (await answer(client, "recall", query="what does Ines drink?"))["memories"]
        assert hit["id"] == tea["id"]
        assert "tea" in (await answer(client, "recall_context", query="Ines's tea"))["text"]
        coffee = await answer(client, "correct", memory_id=tea["id"], content="Coffee, now.")
        await answer(client, "feedback", memory_id=coffee["id"], kind="useful")
        for uri in (MEMORIES, f"{MEMORIES}/{coffee['id']}"):
            [text] = (await client.read_resource(uri)).contents
            assert "Coffee, now." in getattr(text, "text", "")
        assert "importance" in await refusal(client, "remember", content="x", importance=2)
        assert (await answer(client, "forget", memory_id=coffee["id"]))["deleted"]

    url = configured["url"].replace("http://localhost:8080", service.url)
    talk(url, service.key(agent), said, mode=mode)
    [left] = service.repo.list(agent, include_inactive=True)
    assert (left.content, left.retrieval_count) == ("Ines drinks her tea without milk.", 2)


def test_a_reader_changes_nothing_and_is_told_what_it_needs(service: Service, agent: str) -> None:
    tea = service.repo.add(agent, "Ines drinks tea.")

    async def said(client: Client) -> None:
        own = {"memory_id": str(tea)}
        calls: tuple[tuple[str, dict[str, Any]], ...] = (
            ("remember", {"content": "x"}),
            ("feedback", {**own, "kind": "incorrect"}),
            ("correct", {**own, "content": "x"}),
            ("forget", own),
        )
        for tool, given in calls:
            assert "a key with the scope write" in await refusal(client, tool, **given)
        assert (await answer(client, "recall", query="tea"))["memories"]
        assert (await answer(client, "recall_context", query="tea"))["memory_ids"]
        assert "tea" in str(await client.read_resource(MEMORIES))

    talk(f"{service.url}/mcp", service.key(agent, scope="read"), said)
    [memory] = service.repo.list(agent)
    assert (memory.id, memory.retrieval_count, memory.usefulness) == (UUID(int=tea.int), 0, 0.5)


@pytest.mark.parametrize("scope", ["read", "maintain"])
def test_nothing_of_another_owner_is_shown_or_changed(
    service: Service, agent: str, scope: Scope
) -> None:
    other = f"{agent}-other"
    secret = NewMemory("the secret of another", key="secret", tags=["secret"])
    theirs = str(service.repo.add(other, secret))

    async def said(client: Client) -> None:
        for tool in ("recall", "recall_context"):
            assert "secret" not in str(await answer(client, tool, query="secret", agent=other))
        listed = await answer(client, "list_memories", agent=other, owner=other)
        assert listed["memories"] == []
        for uri in (f"{MEMORIES}/{theirs}", f"pgrecall://{other}/memories/{theirs}"):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert "secret" not in str(refused.value)
        if scope == "maintain":
            await answer(client, "remember", content="mine", agent=other)
            own = {"memory_id": theirs}
            assert await answer(client, "forget", **own) == {"deleted": False}
            for tool, more in (("correct", {"content": "x"}), ("feedback", {"kind": "useful"})):
                assert theirs in await refusal(client, tool, **own, **more)

    talk(f"{service.url}/mcp", service.key(agent, scope=scope), said)
    with pytest.MonkeyPatch.context() as patch:  # a route that forgot whose a memory is
        patch.setattr("pgrecall.service.key_cache.Key.owns", lambda self, owner: True)
        seen = service.client(agent).post(f"/mcp?owner={other}", json=CALL, headers=JSON)
    assert seen.json()["result"]["structuredContent"]["memories"] == []
    [kept] = service.repo.list(other)
    assert (kept.content, kept.retrieval_count, kept.usefulness) == (secret.content, 0, 0.5)
    assert service.repo.count(agent) == (scope == "maintain")


def test_the_url_names_one_of_several_owners(service: Service, agent: str) -> None:
    team = f"team:{agent}"
    several = service.key(agent, team)

    async def said(client: Client) -> None:
        await answer(client, "remember", content="The team deploys on Monday.")
        assert (await answer(client, "recall", query="deploys"))["memories"]
        assert "deploys" in str(await client.read_resource(MEMORIES))

    talk(f"{service.url}/mcp?owner={team}", several, said)
    assert service.repo.teams.count(agent) == 1
    assert service.repo.count(agent) == 0
    asking = httpx.Client(
        base_url=service.url, headers={"Authorization": f"Bearer {several}"}, timeout=30
    )
    with asking:
        for owner in (None, "bob", f"{team},bob", "", "team:"):
            asking.params = {} if owner is None else {"owner": owner}
            refused = called(asking)
            assert (refused.status_code, refused.json()["title"]) == (403, "Forbidden")


def test_without_a_key_in_use_nothing_is_answered(service: Service, agent: str) -> None:
    client = service.client(agent)
    token = client.headers.pop("Authorization").removeprefix("Bearer ")
    wrong = f"{token[:-4]}{'0000' if token[-4:] != '0000' else '1111'}"
    assert called(client).status_code == 401
    assert called(client, Authorization=f"Bearer {wrong}").status_code == 401
    assert called(client, Authorization=f"Bearer {token}").status_code == 200

    async def said(client: Client) -> None:
        pytest.fail("it was let in")

    engine: Any = service.repo._bind
    revoked = service.key(agent)
    revoke_key(engine, revoked.split("_")[1])
    for one in (wrong, revoked, ""):
        with pytest.raises(ExceptionGroup):
            talk(f"{service.url}/mcp", one, said)


UNREADABLE = (
    *(b"", b"{", b"\xff", b"[" * 50_000, b"1", b"[]", b'"tools/call"'),
    b'{"jsonrpc": "2.0", "id": 1, "method": ' + b"9" * 5000 + b"}",
    json.dumps([CALL]).encode(),
    json.dumps(CALL | {"jsonrpc": "1.0"}).encode(),
    json.dumps(CALL | {"params": "all"}).encode(),
)
WRONG: tuple[dict[str, Any], ...] = (
    {"method": "drop/everything"},
    {"params": {"name": "drop_everything", "arguments": {}}},
    {"params": {"name": "list_memories", "arguments": "all"}},
    {"params": {"name": "list_memories", "arguments": {"limit": 10**400}}},
    {"params": {"name": "remember", "arguments": {"content": "a\x00b"}}},
)


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28", "2999-01-01", "x"])
def test_messages_that_cannot_be_used_are_refused(
    service: Service, agent: str, version: str
) -> None:
    client = service.client(agent)
    headers = {"MCP-Protocol-Version": version}
    for body in UNREADABLE:
        assert called(client, body, **headers).status_code == 400, body[:40]
    assert called(client, b" " * (MOST + 1), **headers).status_code == 413
    for wrong in WRONG:
        refused = called(client, CALL | wrong, **headers)
        said = refused.json()
        assert "error" in said or said["result"]["isError"], wrong
        assert not re.search(r"Traceback|psycopg|agent_memories|site-packages", refused.text)
    assert called(client).json()["result"]["structuredContent"]["memories"] == []


def test_no_session_is_needed_and_no_stream_holds_a_turn(service: Service, agent: str) -> None:
    client = service.client(agent)
    for session in ("unknown", uuid4().hex, "a" * 5000):
        assert called(client, **{"Mcp-Session-Id": session}).status_code == 200
    streams = {"Accept": "text/event-stream"}
    assert client.get("/mcp", headers=streams).status_code == 405
    assert client.delete("/mcp", headers=streams).status_code == 405
    listening = CALL | {
        "method": "subscriptions/listen",
        "params": {
            "notifications": {"toolsListChanged": True},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    }
    refused = called(
        client,
        listening,
        Accept="application/json, text/event-stream",
        **{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"},
    )
    assert refused.status_code == 406
    assert (
        'route="/mcp",status="200"' in service.client(agent, scope="maintain").get("/metrics").text
    )


def test_a_tool_that_takes_too_long_is_cancelled_and_gives_its_turn_back(
    server_url: str, local_template: str, local_embedder: LocalEmbedder
) -> None:
    with (
        new_database(server_url, local_template) as url,
        service_on(url, local_embedder, timeout=1.0, concurrency=1) as service,
    ):
        client = service.client("ada")
        memory = service.repo.add("ada", "tea")
        forget = {"name": "forget", "arguments": {"memory_id": str(memory)}}
        wait_until("it is warm", lambda: called(client).status_code == 200)
        with psycopg.connect(url) as other:
            other.execute("SELECT FROM pgrecall.agent_memories FOR UPDATE")
            assert called(client, CALL | {"params": forget}).status_code == 504
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            wait_until("the statement is cancelled", lambda: value(url, waiting) == 0)
        [left] = called(client).json()["result"]["structuredContent"]["memories"]
        assert left["id"] == str(memory)
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("ALTER TABLE pgrecall.agent_memories RENAME TO renamed_memories")
        broken = called(client).json()["result"]
        assert broken["isError"]
        assert "agent_memories" not in str(broken)


def test_without_the_extra_the_service_says_what_is_missing(
    server_url: str,
    local_template: str,
    local_embedder: LocalEmbedder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [one for one in sys.modules if one.startswith("pgrecall.mcp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    with (
        new_database(server_url, local_template) as url,
        service_on(url, local_embedder) as service,
    ):
        client = service.client("ada")
        assert called(client).status_code == 501
        assert client.post("/memories", json={"content": "tea"}).status_code == 201
