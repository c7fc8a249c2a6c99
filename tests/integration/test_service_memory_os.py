"""Requests as clients of Memory OS send them, under /v1."""

from __future__ import annotations

import json
import subprocess
from typing import Any
from uuid import UUID

import httpx
import pytest

from pgrecall import NewMemory
from tests.integration.serving import Service


@pytest.fixture
def token(service: Service, agent: str) -> str:
    return service.key(agent).replace("pgr_", "mos_live_")


def curl(service: Service, token: str, method: str, path: str, body: Any = None) -> Any:
    """As its documentation shows requests."""
    command = ["curl", "-sS", "-X", method, f"{service.url}/api{path}"]
    command += ["-H", f"Authorization: Bearer {token}", "-H", "Content-Type: application/json"]
    command += [] if body is None else ["-d", json.dumps(body)]
    done = subprocess.run(command, capture_output=True, check=True)
    return json.loads(done.stdout)


PREFERENCE = {
    "content": "User prefers dark mode and Python",
    "tier": "long",
    "content_type": "fact",
    "memory_nature": "semantic",
    "importance_score": 0.8,
    "metadata": {"source": "chat"},
    "external_id": "crm-17",
}


def test_its_examples_as_curl(service: Service, token: str) -> None:
    created = curl(service, token, "POST", "/v1/memories", PREFERENCE)
    memory = created["data"]
    assert {name: memory[name] for name in PREFERENCE} == PREFERENCE
    assert (memory["access_count"], memory["expires_at"]) == (0, None)
    assert created["meta"]["request_id"].startswith("req_")

    changes = {"importance_score": 0.95, "metadata": {"verified": True}}
    updated = curl(service, token, "PATCH", f"/v1/memories/{memory['id']}", changes)["data"]
    assert (updated["importance_score"], updated["metadata"]) == (0.95, {"verified": True})
    assert updated["external_id"] == "crm-17"

    query = {"query": "What are the user's preferences?", "threshold": 0.2, "limit": 5}
    filters = {"tier": "long", "memory_nature": "semantic"}
    found = curl(service, token, "POST", "/v1/search", query | filters)["data"]
    [result] = found["results"]
    assert (found["search_type"], found["threshold"]) == ("semantic", 0.2)
    assert result["combined_score"] >= 0.2
    assert result.keys() >= {"similarity", "relevance_score", "tier", "created_at", "content"}
    assert curl(service, token, "POST", "/v1/search", query | {"tier": "short"})["results"] == []
    assert curl(service, token, "POST", "/v1/search", query | {"threshold": 0.9})["results"] == []

    said = {"memory_id": memory["id"], "type": "useful", "context": "It answered the question"}
    after = curl(service, token, "POST", "/v1/feedback", said)["data"]
    assert after["relevance_score"] > result["relevance_score"]

    asked = {"query": "Help the user with their request", "max_tokens": 2000, "format": "text"}
    context = curl(service, token, "POST", "/v1/context", asked)["data"]
    assert "dark mode" in context["context"]
    assert [one["id"] for one in context["memories"]] == [memory["id"]]
    assert 0 < context["token_count"] <= 2000
    asked["format"] = "json"
    listed = curl(service, token, "POST", "/v1/context", asked)["context"]
    assert json.loads(listed)[0]["tier"] == "long"


class Client:
    """What its Python client does: a session, a base URL with /v1, and `data` of each answer."""

    def __init__(self, api_key: str, base_url: str) -> None:
        assert api_key.startswith("mos_")
        self._headers, self._url = {"Authorization": f"Bearer {api_key}"}, base_url

    def call(self, method: str, path: str, **body: Any) -> Any:
        answer = httpx.request(method, self._url + path, json=body or None, headers=self._headers)
        if answer.is_error:
            raise LookupError(answer.status_code, answer.json()["error"]["code"])
        return answer.json()["data"]


def test_its_examples_as_a_python_client(service: Service, token: str, agent: str) -> None:
    client = Client(token, f"{service.url}/v1")
    short = client.call("POST", "/memories", content="The user is packing for Porto")
    assert (short["tier"], short["content_type"]) == ("short", "text")
    assert short["expires_at"] > short["created_at"]
    child = client.call(
        "POST", "/memories", content="Porto it is", parent_memory_id=short["id"], tier="medium"
    )
    assert child["parent_memory_id"] == short["id"]
    assert len(service.repo.links.of(agent, UUID(child["id"]))) == 1
    listed = client.call("GET", "/memories?limit=1")
    assert [one["id"] for one in listed] == [child["id"]]
    assert client.call("GET", f"/memories/{short['id']}")["decay_rate"] > child["decay_rate"]

    entities = client.call("POST", "/memories", content="Ann met Bob", entities=["Ann", "Bob"])
    [best, *_] = client.call("POST", "/search", query="Ann", limit=1)["results"]
    assert best["id"] == entities["id"]
    assert client.call("DELETE", f"/memories/{short['id']}")["deleted"]
    with pytest.raises(LookupError, match=r"404, 'NOT_FOUND'"):
        client.call("GET", f"/memories/{short['id']}")
    for path, body in (
        ("/search", {"query": "x", "limit": 101}),
        ("/search", {"query": "x", "tags": ["\0"]}),
        ("/memories", {"content": " "}),
        ("/memories", {"content": "x", "importance_score": 2}),
    ):
        with pytest.raises(LookupError, match=r"400, 'VALIDATION_ERROR'"):
            client.call("POST", path, **body)
    with pytest.raises(LookupError, match=r"401, 'UNAUTHORIZED'"):
        Client("mos_live_none", f"{service.url}/v1").call("GET", "/memories")


def test_a_memory_that_moved_here_keeps_its_id(service: Service, token: str, agent: str) -> None:
    service.repo.add(agent, NewMemory("Carla lives in Lisbon.", key="mem_123"))
    client = Client(token, f"{service.url}/v1")

    assert client.call("GET", "/memories/mem_123")["id"] == "mem_123"
    [found] = client.call("POST", "/search", query="Carla")["results"]
    assert found["id"] == "mem_123"
    client.call("POST", "/feedback", memory_id="mem_123", type="outdated", context="she moved")
    memory = service.repo.get(agent, key="mem_123")
    assert memory is not None
    assert memory.needs_review


def test_filters_are_those_of_its_documentation(service: Service, token: str) -> None:
    client = Client(token, f"{service.url}/v1")
    client.call("POST", "/memories", content="Rust is fast.", tier="long", tags=["a", "b"])
    metadata = {"app.v\\": 5, "labels": ["x", "y"], "user": {"age": 3}}
    client.call("POST", "/memories", content="Go is small.", content_type="fact", metadata=metadata)

    def found(**filters: Any) -> list[str]:
        results = client.call("POST", "/search", query="language", **filters)["results"]
        return sorted(one["content"] for one in results)

    rust, go = ["Rust is fast."], ["Go is small."]
    assert found() == found(tags=[], metadata={}, tier=None) == go + rust
    assert found(tier="long") == found(tags=["b", "c"]) == found(content_type="text") == rust
    assert found(content_type="fact", tier="short") == found(metadata=metadata) == go
    assert found(metadata={"labels": ["y"]}) == found(metadata={"user": {"age": 3}}) == go
    assert found(metadata={"labels": ["z"]}) == found(metadata={"app": 5}) == []
    listed = client.call("GET", "/memories?tier=short&content_type=fact")
    assert [one["content"] for one in listed] == go
    packed = client.call("POST", "/context", query="language", tier="long")
    assert [one["content"] for one in packed["memories"]] == rust
