"""Profiles in requests: definitions, what they may read, and installing them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from pgrecall import profiles
from pgrecall.scoring.profile_file import as_values
from pgrecall.service.bodies import MAX_PROFILE
from tests.integration.serving import TEA, Service, stored

QUESTION = {"query": "what does Ines drink?"}
SLOW = profiles.hybrid.with_half_life(365).renamed("slow")
VIEWS = {"name": "views", "signals": {"views": {"weight": 1, "metadata": "views", "most": 10}}}


@pytest.fixture
def client(service: Service, agent: str) -> httpx.Client:
    client = service.client(agent, scope="maintain")
    stored(client, TEA, metadata={"views": 9})
    stored(client, "Ines switched to coffee.", metadata={"views": 1})
    return client


@pytest.mark.parametrize("path", ["/search", "/candidates", "/context", "/explain"])
def test_a_request_ranks_by_a_definition(
    service: Service, client: httpx.Client, agent: str, path: str
) -> None:
    memory = client.get("/memories").json()["memories"][0]["id"]
    more = {"memory_id": memory} if path == "/explain" else {}
    for definition in (as_values(SLOW), as_values(profiles.trust) | {"name": "mine"}, VIEWS):
        answer = client.post(path, json=QUESTION | more | {"profile": definition})
        assert answer.status_code == 200, answer.text
    views = client.post("/search", json={"profile": VIEWS}).json()
    assert [one["score"] for one in views["results"]] == [0.9, 0.1]
    assert views["profile"] == "views"


def test_the_service_shows_candidates_to_the_studio(
    service: Service, client: httpx.Client, agent: str
) -> None:
    answer = client.post("/candidates", json=QUESTION | {"n": 1, "k": 1, "profile": "hybrid"})
    [hit] = service.repo.search(agent, QUESTION["query"], k=1, profile="hybrid", touch=False)
    shown = answer.json()
    assert shown["total"] == 2
    assert shown["profile"] == as_values(profiles.hybrid)
    [first, *_] = shown["memories"]
    assert first["memory"]["id"] == str(hit.memory.id)
    assert first["score"] == pytest.approx(hit.score, abs=1e-6)
    assert first["terms"] == ["ine", "drink"]
    assert first["age_days"]["recency"] >= 0
    keyword = {"has_value": True, "nth": hit.signals["keyword"], "nth_age_days": None}
    assert shown["signals"]["keyword"] == keyword
    assert client.post("/candidates", json=QUESTION | {"touch": False}).status_code == 422
    counted = client.get(f"/memories/{first['memory']['id']}").json()["retrieval_count"]
    assert counted == 0


REFUSED: list[Any] = [
    {"signals": {"similarity": {"weight": 0.5}}},
    {"signals": {}},
    {"signals": {"similarity": {"weight": 1, "shift": 7}}},
    {"signals": {"nonsense": {"weight": 1}}},
    {"signals": {"similarity": {"weight": "1"}}},
    {"signals": {"recency": {"weight": 1, "half_life": 1e400}}},
    {"signals": {"recency": {"weight": 1, "half_life": 10**400}}},
    {"signals": {"x; DROP TABLE": {"weight": 1, "metadata": "a"}}},
    {"signals": {"views": {"weight": 1, "metadata": "x" * MAX_PROFILE}}},
    {"signals": {f"a{n}": {"weight": 1 / 65, "metadata": "a"} for n in range(65)}},
    {"signals": {"similarity": {"weight": 1}}, "decay": {"half_life": -1}},
    {"signals": {"similarity": {"weight": 1}}, "more": 1},
    {"name": "a\0", "signals": {"similarity": {"weight": 1}}},
    "of nobody",
    ["hybrid"],
    7,
]


@pytest.mark.parametrize("definition", REFUSED, ids=range(len(REFUSED)))
def test_a_definition_that_cannot_be_used_is_refused(client: httpx.Client, definition: Any) -> None:
    import json

    body = json.dumps(QUESTION | {"profile": definition}).replace("Infinity", "1e400")
    answer = client.post("/search", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_profiles_are_listed_with_the_default(client: httpx.Client) -> None:
    told = client.get("/profiles").json()
    assert told["default"] == "hybrid"
    own = {name: as_values(one) for name, one in profiles.BUILT_IN.items()}
    flags = {"built_in": True, "installed": True}
    assert told["profiles"] == [one | flags for one in own.values()]
