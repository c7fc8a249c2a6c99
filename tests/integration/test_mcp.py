"""The MCP server, asked by the client of the official SDK over each transport."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("mcp")

from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from sqlalchemy import NullPool, create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory
from pgrecall.context.styles import STYLES
from pgrecall.mcp import memory_server
from tests.integration.support import NORTH, at
from tests.integration.test_configuration import HALVES

MEMORIES = "pgrecall://memories"


class Compass:
    """An embedder for whom all that speaks of music lies in one direction."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return NORTH if {"cello", "viola", "instrument"} & {*text.lower().split()} else at(90)


def talk(url: str, agent: str | None, said: Callable[[Client], Awaitable[None]]) -> None:
    """A client's session with a server of this agent, within this process."""

    async def session() -> None:
        engine = create_async_engine(url.replace("postgresql:", "postgresql+psycopg:"))
        repo = AsyncMemoryRepository(engine, embedder=Compass())
        async with Client(memory_server(repo, agent)) as client:
            await said(client)
        await engine.dispose()

    asyncio.run(session())


async def answer(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    [content] = result.content
    return str(getattr(content, "text", content))


@pytest.fixture
def remembering(shared_engine: Any) -> MemoryRepository:
    return MemoryRepository(shared_engine, embedder=Compass())


def test_a_model_says_what_it_is_about_and_until_when(
    shared_url: str, remembering: MemoryRepository, agent: str
) -> None:
    more = {
        "subject": "home",
        "key": "user.city",
        "metadata": {"source": {"page": 7}},
        "expires_at": "2099-01-02T03:04:05Z",
    }

    async def said(client: Client) -> None:
        first = await answer(client, "remember", content="Zoe lives in Oslo", **more)
        again = await answer(client, "remember", content="Zoe lives in Oslo", **more)
        assert (first["outcome"], again["id"]) == ("inserted", first["id"])
        refused = await refusal(client, "remember", content="x", expires_at="2099-01-02T03:04:05")
        assert "time zone" in refused
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        described = json.dumps(tools["recall_context"].output_schema)
        assert STYLES["plain"].legend in described

    talk(shared_url, agent, said)

    [kept] = remembering.list(agent)
    assert (kept.memory_type, kept.subject, kept.key) == ("episodic", "home", "user.city")
    assert kept.metadata == {"source": {"page": 7}}
    assert kept.expires_at == datetime(2099, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_what_a_model_can_do(shared_url: str, remembering: MemoryRepository, agent: str) -> None:
    async def said(client: Client) -> None:
        cello = await answer(
            client,
            "remember",
            content="Zoe plays the cello today",
            memory_type="preference",
            tags=["music"],
            entities=["Zoe"],
        )
        assert cello["outcome"] == "inserted"
        again = await answer(
            client, "remember", content="zoe plays the CELLO today", memory_type="preference"
        )
        assert again == {"id": cello["id"], "outcome": "duplicate"}
        await answer(client, "remember", content="It rained", importance=0.1)

        [best, other] = (await answer(client, "recall", query="which instrument"))["memories"]
        assert best["id"] == cello["id"]
        assert best["score"] > other["score"]
        assert (best["tags"], best["entities"]) == (["music"], ["Zoe"])
        [only] = (await answer(client, "recall", query="which instrument", tags=["music"]))[
            "memories"
        ]
        assert only["id"] == cello["id"]
        long_ago = "2001-01-01T00:00:00Z"
        for arguments, found in (
            ({"memory_types": ["preference", "task"], "created_after": long_ago}, 1),
            ({"tags": ["music"], "created_before": long_ago}, 0),
        ):
            recalled = await answer(client, "recall", query="which instrument", **arguments)
            assert len(recalled["memories"]) == found

        prompt = await answer(client, "recall_context", query="which instrument", max_tokens=60)
        assert "Zoe plays the cello" in prompt["text"]
        assert prompt["tokens"] <= 60
        assert prompt["memory_ids"][0] == cello["id"]

        await answer(client, "feedback", memory_id=cello["id"], kind="useful", query="instrument")
        events = remembering.history(agent, cello["id"])
        assert "instrument" in [event.metadata.get("query") for event in events]
        viola = await answer(
            client, "correct", memory_id=cello["id"], content="Zoe plays the viola now"
        )
        page = await answer(client, "list_memories", tags=["music"])
        assert [one["content"] for one in page["memories"]] == ["Zoe plays the viola now"]
        assert page["memories"][0]["memory_type"] == "preference"

        first = await answer(client, "list_memories", limit=1)
        rest = await answer(client, "list_memories", limit=1, after=first["next"])
        assert {first["memories"][0]["id"], rest["memories"][0]["id"]} >= {viola["id"]}
        assert rest["next"] is None

        assert await answer(client, "forget", memory_id=viola["id"]) == {"deleted": True}
        assert await answer(client, "forget", memory_id=viola["id"]) == {"deleted": False}

    talk(shared_url, agent, said)


def test_every_tool_teaches_and_says_what_it_does(shared_url: str, agent: str) -> None:
    async def said(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        said = {name: tool.annotations for name, tool in tools.items() if tool.annotations}
        reading = {name for name, one in said.items() if one.read_only_hint}
        destroying = {name for name, one in said.items() if one.destructive_hint}

        assert reading == {"recall", "recall_context", "list_memories"}
        assert destroying == {"forget"}
        for tool in tools.values():
            assert tool.output_schema
            assert len(tool.description or "") > 80
            for name, argument in tool.input_schema["properties"].items():
                assert argument.get("description"), (tool.name, name)
                assert name != "agent"

    talk(shared_url, agent, said)


def test_a_model_names_the_agent_where_it_may(shared_url: str, agent: str) -> None:
    async def said(client: Client) -> None:
        for name in ("one", "two"):
            await answer(client, "remember", agent=f"{agent}-{name}", content=f"of {name}")
        found = await answer(client, "list_memories", agent=f"{agent}-one")
        [memory] = found["memories"]
        assert memory["content"] == "of one"
        assert "agent" in await refusal(client, "list_memories")
        within = f"pgrecall://{agent}-one/memories"
        for uri in (within, f"{within}/{memory['id']}"):
            [text] = (await client.read_resource(uri)).contents
            assert "of one" in getattr(text, "text", "")

    talk(shared_url, None, said)


def test_memories_are_resources(shared_url: str, remembering: MemoryRepository, agent: str) -> None:
    memory = remembering.add(agent, "Zoe plays the cello today")

    async def said(client: Client) -> None:
        [listed] = (await client.list_resources()).resources
        [template] = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == f"{listed.uri}/{{memory_id}}"
        for uri in (str(listed.uri), f"{listed.uri}/{memory}"):
            [text] = (await client.read_resource(uri)).contents
            assert text.mime_type == "application/json"
            assert str(memory) in getattr(text, "text", "")
        for unknown in (uuid4(), "nonsense", "a%00b", "..%2f..%2fetc"):
            with pytest.raises(MCPError):
                await client.read_resource(f"{listed.uri}/{unknown}")

    talk(shared_url, agent, said)


BAD: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("remember", {"content": ""}, "content"),
    ("remember", {"content": "a\x00b"}, "NUL"),
    ("remember", {"content": "x", "importance": 2}, "importance"),
    ("remember", {"content": "x", "importance": float("nan")}, "importance"),
    ("remember", {"content": "x", "tags": ["a\x00b"]}, "tags"),
    ("remember", {"content": {"$ne": 1}}, "content"),
    ("recall", {"query": "x", "limit": 10**9}, "limit"),
    ("recall", {"query": ""}, "query"),
    ("recall", {"query": "x", "created_after": "yesterday"}, "created_after"),
    ("recall", {"query": "x", "created_after": "2026-01-01T00:00:00"}, "created_after"),
    ("recall_context", {"query": "x", "max_tokens": 0}, "max_tokens"),
    ("feedback", {"memory_id": str(uuid4()), "kind": "useful"}, "no memory"),
    ("feedback", {"memory_id": str(uuid4()), "kind": "'; DROP TABLE"}, "kind"),
    ("correct", {"memory_id": str(uuid4()), "content": "x"}, "no memory"),
    ("forget", {"memory_id": "nonsense"}, "memory_id"),
    ("list_memories", {"after": "nonsense"}, "after"),
    ("list_memories", {"limit": -1}, "limit"),
    ("drop_everything", {}, "drop_everything"),
)


def test_bad_arguments_are_answered(
    shared_url: str, remembering: MemoryRepository, agent: str
) -> None:
    async def asked(client: Client) -> None:
        for tool, arguments, said in BAD:
            assert said in await refusal(client, tool, **arguments), (tool, arguments)

    talk(shared_url, agent, asked)
    assert remembering.count(agent) == 0


async def test_a_client_starts_the_server_as_the_page_says(local_url: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")
    block = page.partition('```json title="mcp.json"\n')[2].partition("```")[0]
    configured = json.loads(block)["mcpServers"]["memory"]
    started = StdioServerParameters(
        command=str(Path(sys.executable).with_name(configured["command"])),
        args=configured["args"],
        env={"PATH": "/usr/bin:/bin", "PGRECALL_DATABASE_URL": local_url},
    )

    async with Client(stdio_client(started)) as client:
        await answer(client, "remember", content="Zoe plays the cello.")
        [found] = (await answer(client, "recall", query="which instrument?"))["memories"]
        assert found["content"] == "Zoe plays the cello."


SEVENS = """
def sevens(query, texts):
    return [7 for _ in texts]
"""


async def test_the_users_file_names_embedder_reranker_and_profile_and_a_projects_file_none(
    database_url: str, tmp_path: Path
) -> None:
    own = tmp_path / "config" / "pgrecall"
    own.mkdir(parents=True)
    (own / "halves_embedder.py").write_text(HALVES + SEVENS)
    (own / "mine.toml").write_text("name = 'mine'\n[signals.importance]\nweight = 1\n")
    (own / "config.toml").write_text(
        f"agent = 'a'\nprofile = 'mine.toml'\nembedder = 'halves_embedder:Halves'\n"
        f"rerank = 'halves_embedder:sevens'\ntimezone = 'Pacific/Pago_Pago'\n"
        f"database_url = {json.dumps(database_url)}\n"
    )
    (tmp_path / "pgrecall.toml").write_text("embedder = 'planted:Embedder'")
    started = StdioServerParameters(
        command=str(Path(sys.executable).with_name("pgrecall")),
        args=["mcp"],
        env={"PATH": "/usr/bin:/bin", "XDG_CONFIG_HOME": str(tmp_path / "config")},
        cwd=tmp_path,
    )
    async with Client(stdio_client(started)) as client:
        await answer(client, "remember", content="Zoe plays the cello.", importance=0.25)
        [found] = (await answer(client, "recall", query="which instrument?"))["memories"]
        assert found["score"] == 0.25, "by importance alone"
        assert found["rerank_score"] == 7
        night = datetime(2026, 3, 10, 2, tzinfo=UTC)
        url = database_url.replace(":", "+psycopg:", 1)
        repo = MemoryRepository(create_engine(url, poolclass=NullPool))
        repo.add("a", NewMemory("Zoe sings.", embedding=NORTH, created_at=night))
        assert "20260309" in (await answer(client, "recall_context", query="Zoe"))["text"]
