"""The HTTP service: what its routes do, its errors, and its limits."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import httpx
import psycopg
import pytest

from pgrecall import LocalEmbedder, profiles
from pgrecall.core.vectors import components_of
from pgrecall.errors import PgRecallError
from pgrecall.scoring.profile_file import as_values
from pgrecall.service.gate import MAX_READ_BODY, Gate
from pgrecall.service.key_cache import Key
from pgrecall.service.problems import STATUSES, to_problem
from pgrecall.service.shutdown import MAX_HEAD
from tests.integration.serving import MOST, TEA, Service, Slow, gated, service_on, settings, stored
from tests.unit.test_layers import CLASSES, ROOT


@pytest.fixture
def client(service: Service, agent: str) -> httpx.Client:
    return service.client(agent)


def test_a_memory_is_stored_read_changed_listed_and_deleted(
    client: httpx.Client, agent: str
) -> None:
    memory = stored(client, importance=0.8, tags=["drinks"], metadata={"source": "call"})
    again = client.post("/memories", json={"content": TEA.upper()}).json()
    assert (again["id"], again["outcome"]) == (memory, "duplicate")
    found = client.get(f"/memories/{memory}").json()
    assert (found["agent_id"], found["content"], found["importance"]) == (agent, TEA, 0.8)
    assert found["embedding"] is None
    vector = client.get(f"/memories/{memory}?include_embedding=true").json()["embedding"]
    assert len(vector) == 256

    changed = client.patch(f"/memories/{memory}", json={"importance": 0.9, "reason": "typo"})
    assert changed.json()["importance"] == 0.9
    [first, *_, last] = client.get(f"/memories/{memory}/history").json()["events"]
    assert (first["event_type"], last["reason"]) == ("initial", "typo")

    other = stored(client, "Tom likes coffee.")
    page = client.get("/memories", params={"limit": 1, "order": "created_at", "total": True}).json()
    assert ([one["id"] for one in page["memories"]], page["total"]) == ([memory], 2)
    after = {"limit": 1, "order": "created_at", "after": page["next"]}
    assert [one["id"] for one in client.get("/memories", params=after).json()["memories"]] == [
        other
    ]
    called = {"metadata.source": "call"}
    by_metadata = client.get("/memories", params={"filter": json.dumps(called)})
    assert [one["id"] for one in by_metadata.json()["memories"]] == [memory]

    assert client.delete(f"/memories/{memory}").json() == {"deleted": 1}
    assert client.get(f"/memories/{memory}").status_code == 404
    assert client.delete(f"/memories/{memory}").status_code == 404


def test_a_batch_reports_what_it_refuses_or_stores_nothing(client: httpx.Client) -> None:
    memories = [{"content": "one"}, {"content": "two", "importance": 2}, {"content": "three"}]

    refused = client.post("/memories/batch", json={"memories": memories})
    assert (refused.status_code, client.get("/memories").json()["memories"]) == (422, [])
    assert "1" in refused.json()["detail"]
    answer = client.post(
        "/memories/batch", json={"memories": memories, "on_error": "report"}
    ).json()
    assert ([one["outcome"] for one in answer["added"]], list(answer["refused"])) == (
        ["inserted", "inserted"],
        ["1"],
    )


def test_a_key_names_a_memory(client: httpx.Client) -> None:
    at = {"key": "message/17?"}
    first = client.put("/memories", json={**at, "content": "The parcel is sent."})
    second = client.put("/memories", json={**at, "content": "It has arrived."})
    found = client.get("/memories/by-key", params=at).json()

    assert (first.json()["outcome"], second.json()["outcome"]) == ("inserted", "replaced")
    assert (found["content"], found["key"]) == ("It has arrived.", "message/17?")
    assert client.get("/memories/by-key?key=none").status_code == 404


def test_a_search_answers_as_the_repository_does(
    service: Service, client: httpx.Client, agent: str
) -> None:
    for content in (TEA, "Ines switched to coffee in March.", "Quaybook ships on Monday."):
        stored(client, content, memory_type="fact")
    asked: dict[str, Any] = {"k": 2, "min_score": 0.1, "profile": "trust"}
    asked["filter"] = {"$or": [{"memory_type": "fact"}, {"tags": ["a", "b"]}]}

    answer = client.post("/search", json={"query": "what does Ines drink?", **asked}).json()
    hits = service.repo.search(agent, "what does Ines drink?", **asked)
    assert answer["strategy"] == "exact"
    assert [one["memory"]["id"] for one in answer["results"]] == [str(h.memory.id) for h in hits]
    assert [one["score"] for one in answer["results"]] == pytest.approx([h.score for h in hits])
    assert answer["results"][0]["contributions"].keys() == hits[0].contributions.keys()

    vector = components_of(LocalEmbedder().embed_query("what does Ines drink?"))
    by_vector = client.post("/search", json={"query": vector, **asked}).json()
    assert [one["similarity"] for one in by_vector["results"]] == [h.similarity for h in hits]

    weighed = client.post("/search", json={"weights": {"importance": 1}, "touch": False}).json()
    assert {one["score"] for one in weighed["results"]} == {0.5}


def test_a_request_may_ask_for_the_reranker_of_the_service(
    service: Service, client: httpx.Client, agent: str
) -> None:
    for content in (TEA, "Ines switched to coffee in March.", "Quaybook ships on Monday."):
        stored(client, content)
    asked = {"query": "what does Ines drink?", "rerank": True}

    refused = client.post("/search", json=asked)
    assert (refused.status_code, "--rerank MODULE:OBJECT" in refused.text) == (422, True)

    async def shortest(query: str, texts: list[str]) -> list[float]:
        return [-float(len(text)) for text in texts]

    with service_on(service.database_url, LocalEmbedder(), shortest) as other:
        asking = other.client(agent)
        plain = asking.post("/search", json=asked | {"rerank": False}).json()
        answer = asking.post("/search", json=asked).json()
        packed = asking.post("/context", json=asked).json()

    lengths = [len(one["memory"]["content"]) for one in answer["results"]]
    assert [-one["rerank_score"] for one in answer["results"]] == lengths == sorted(lengths)
    assert answer["results"][0]["moved"] == 2
    assert (answer["reranked"], answer["rerank_note"]) == (True, None)
    assert (plain["reranked"], plain["results"][0]["rerank_score"]) == (None, None)
    assert packed["reranked"] is True
    assert packed["packed"][0]["rerank_score"] < 0


def test_a_context_an_explanation_and_what_is_learned(client: httpx.Client) -> None:
    memory = stored(client)
    query = {"query": "what does Ines drink?"}

    packed = client.post("/context", json={**query, "max_tokens": 100, "style": "xml"}).json()
    assert TEA in packed["text"]
    assert packed["tokens"] <= 100
    why = client.post("/explain", json={**query, "memory_id": memory}).json()
    assert (why["returned"], why["rank"]) == (True, 1)
    useful = client.post("/feedback", json={"memory_id": memory, "kind": "useful"}).json()
    assert useful["usefulness"] == pytest.approx(2 / 3)
    used = client.post("/outcomes", json={"memory_id": memory, "outcome": "success"}).json()
    assert (used["success_count"], used["retrieval_count"]) == (1, 2)

    new = {"new": {"content": "Ines drinks coffee now."}}
    successor = client.post(f"/memories/{memory}/supersede", json=new).json()["id"]
    assert client.get(f"/memories/{memory}").json()["superseded_by"] == successor
    again = client.post(f"/memories/{memory}/supersede", json={"new": {"content": "No: juice"}})
    assert (again.status_code, again.json()["title"]) == (
        409,
        "The memory cannot be superseded like this without force=True.",
    )


def test_profiles_are_evaluated_on_a_limited_number_of_judged_queries(
    service: Service, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = service.client(agent)
    slow = profiles.hybrid.with_half_life(365).renamed("slow")
    body = {"profiles": ["hybrid", as_values(slow)], "k": 5}
    none = client.post("/evaluate", json=body)
    assert (none.status_code, "POST /judgements" in none.json()["detail"]) == (422, True)

    memory = stored(client)
    for query in ("what does Ines drink?", "tea or coffee?"):
        judged = {"query": query, "memory_id": memory, "answers": True}
        assert client.post("/judgements", json=judged).json() == {"changed": True}
    found = service.repo.evaluation.evaluate(
        agent, service.repo.evaluation.judged_queries(agent), profiles=["hybrid", slow], k=5
    )
    assert client.post("/evaluate", json=body).json() == found.record()

    reader = service.client(agent, scope="read")
    assert reader.post("/evaluate", json=body).status_code == 403
    assert client.post("/evaluate", json={"teams": ["bob"]}).status_code == 403
    refused: list[Any] = [{"profiles": []}, {"profiles": ["none"]}, {"queries": []}]
    for wrong in refused:
        assert client.post("/evaluate", json=wrong).status_code == 422
    monkeypatch.setattr("pgrecall.service.memory_routes.MOST_QUERIES", 1)
    many = client.post("/evaluate", json=body)
    assert (many.status_code, "at most 1: use" in many.json()["detail"]) == (422, True)


def test_owners_profiles_and_status(service: Service, agent: str) -> None:
    client = service.client(agent, f"team:{agent}", scope="maintain")
    for owner in (agent, f"team:{agent}"):
        assert client.post("/memories", params={"owner": owner}, json={"content": TEA}).is_success

    [own] = client.get("/owners", params={"limit": 1000}).json()["owners"]
    [team] = client.get("/owners", params={"teams": True}).json()["owners"]
    assert (own["agent_id"], own["memories"], team["team_id"]) == (agent, 1, agent)
    named = {one["name"] for one in client.get("/profiles").json()["profiles"]}
    assert named == set(profiles.BUILT_IN)
    found = client.get("/status").json()
    assert (found["pending"], found["embedding_type"]) == ([], "vector")
    searched = {"query": TEA, "teams": [agent]}
    both = client.post("/search", params={"owner": agent}, json=searched).json()["results"]
    assert len(both) == 2


def test_metrics_count_requests_by_route(service: Service, agent: str) -> None:
    client = service.client(agent, scope="maintain")
    memory = stored(client)
    client.get(f"/memories/{memory}")
    client.post("/search", content=b"x" * (MOST + 1))

    lines = client.get("/metrics").text
    assert 'route="/memories/{memory_id}",status="200"' in lines
    assert 'pgrecall_refused_requests_total{reason="413"}' in lines
    assert memory not in lines
    assert agent not in lines
    dashboard = (ROOT / "docs/service/grafana.json").read_text(encoding="utf-8")
    for name in re.findall(r"pgrecall_[a-z_]+", dashboard):
        assert f"\n{name}" in lines, name


def test_health_and_readiness_need_no_key(service: Service) -> None:
    client = service.client()
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/ready").json() == {"status": "ready"}


def test_every_error_of_ours_has_a_status_and_none_of_the_database_is_quoted() -> None:
    for kind in CLASSES:
        problem = to_problem(kind("row of agent_memories"))
        assert 400 <= problem.status < 600
        assert ("agent_memories" in problem.detail) == (problem.status < 500), kind
    assert STATUSES[-1] == (PgRecallError, 500)
    assert "agent_memories" not in to_problem(ValueError("agent_memories")).detail


WRONG = (
    ({"k": 0}, "body.k"),
    ({"k": 101}, "body.k"),
    ({"limit": 5}, "body.limit"),
    ({"min_score": "high"}, "body.min_score"),
    ({"profile": "none"}, "unknown profile"),
    ({"min_score": 2}, "min_score"),
    ({"query": "a\0b"}, "query"),
    ({"query": [1.0]}, "256"),
    ({"query": 5}, "body.query"),
    ({"embedding": [1.0]}, "body.embedding"),
    ({"teams": ["x"]}, "owner"),
)


@pytest.mark.parametrize(("body", "named"), WRONG, ids=[str(body) for body, _ in WRONG])
def test_what_cannot_be_used_is_named(
    client: httpx.Client, body: dict[str, Any], named: str
) -> None:
    answer = client.post("/search", json=body)

    assert answer.status_code == (403 if "teams" in body else 422)
    assert answer.headers["content-type"] == "application/problem+json"
    assert named in answer.json()["detail"]


def test_a_body_that_is_no_json_or_too_large_or_of_another_type_is_refused(
    client: httpx.Client,
) -> None:
    as_json = {"Content-Type": "application/json"}
    bodies = (b"{", b"[1", b"\xff", b'{"k": 1e999}', b"[" * 50_000, b'{"k": ' + b"9" * 5000 + b"}")
    for body in bodies:
        answer = client.post("/search", content=body, headers=as_json)
        assert (answer.status_code in (400, 422), body[:20]) == (True, body[:20])
    assert client.post("/search", content=b"x" * (MOST + 1), headers=as_json).status_code == 413
    chunks = (b"x" * 50_000 for _ in range(MOST // 50_000 + 1))
    assert client.post("/search", content=chunks, headers=as_json).status_code == 413
    assert client.post("/search", data={"query": "tea"}).status_code == 415
    assert client.post("/search", content=b"{}").status_code == 415


async def test_readiness_and_metrics_take_no_turn() -> None:
    app = Slow()
    async with gated(app, concurrency=1) as client:
        busy = asyncio.create_task(client.get("/search"))
        while not app.running:
            await asyncio.sleep(0)
        ready = asyncio.create_task(client.get("/ready"))
        metrics = asyncio.create_task(client.get("/metrics"))
        while app.running < 3:
            await asyncio.sleep(0)
        app.go.set()
        answers = await asyncio.gather(ready, metrics, busy)
        assert [one.status_code for one in answers] == [200] * 3


async def test_a_body_that_does_not_arrive_holds_no_turn() -> None:
    app = Slow()
    app.go.set()

    async def slow() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    async with gated(app, concurrency=1, timeout=0.1) as client:
        kind = {"Content-Type": "application/json"}
        stuck = asyncio.create_task(client.post("/search", content=slow(), headers=kind))
        await asyncio.sleep(0)
        assert (await client.get("/search")).status_code == 200
        assert (await stuck).status_code == 408


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "10.0.0.1:8080", ""])
async def test_without_keys_only_this_machine_is_answered(host: str) -> None:
    """A web page may resolve its own name to 127.0.0.1."""
    app = Slow()
    app.go.set()
    async with gated(app) as client:
        assert (await client.get("/search", headers={"Host": host})).status_code == 421
        page = {"Host": "localhost", "Origin": f"http://{host}"}
        assert (await client.get("/search", headers=page)).status_code == 421
        for own in ("localhost", "127.0.0.1:8080", "[::1]:8080"):
            known = {"Host": own, "Origin": f"http://{own}"}
            assert (await client.get("/search", headers=known)).status_code == 200


async def test_without_keys_no_page_of_another_site_is_answered() -> None:
    """A GET of an image or a link has no Origin."""
    app = Slow()
    app.go.set()
    async with gated(app) as client:
        for site, status in (("cross-site", 421), ("same-origin", 200), ("none", 200)):
            answer = await client.get("/memories", headers={"Sec-Fetch-Site": site})
            assert answer.status_code == status, site


def test_a_key_of_several_owners_is_told_to_name_one(service: Service, agent: str) -> None:
    refused = service.client(agent, f"{agent} 2").get("/memories")
    assert (refused.status_code, "?owner=" in refused.json()["detail"]) == (403, True)


def test_the_root_leads_to_a_page_that_loads_nothing(service: Service) -> None:
    client = service.client()
    found = client.get("/").json()
    assert found["service"] == "pgrecall"
    page = client.get(found["docs"])
    paths = client.get(found["openapi"]).json()["paths"]
    for path in paths:
        assert f"{path}</h2>" in page.text
    assert "<td>min_relevance</td><td>number</td>" in page.text
    assert "&quot;Europe/Berlin&quot;" in page.text, "texts are escaped"
    assert not re.search(r"<script|src=|https?://|@import|url\(", page.text)
    assert "default-src 'none'" in page.headers["content-security-policy"]


# Limits of headers, bodies and values


class OneKey:
    """A ring of keys in which each is for reading."""

    async def key(self, key_id: str, secret: str, seconds: float) -> Key:
        return Key(key_id, ("ada",), "read")


async def test_a_key_that_may_only_read_has_smaller_bodies() -> None:
    app = Slow()
    app.go.set()
    gate = Gate(app, settings(keyed=True), OneKey())  # type: ignore[arg-type]
    token = f"pgr_{'0' * 12}_{'0' * 64}"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    transport = httpx.ASGITransport(gate)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        for size, status in ((MAX_READ_BODY, 200), (MAX_READ_BODY + 1, 413)):
            answer = await client.post("/search", content=b"x" * size, headers=headers)
            assert answer.status_code == status


def spoken(port: int, *parts: bytes) -> bytes:
    """What a connection is told after it has sent these, until the service closes it."""
    said = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        with suppress(ConnectionError):
            for part in parts:
                if part == ANSWERED:
                    said += connection.recv(65536)
                connection.sendall(part)
        with suppress(ConnectionError):
            while received := connection.recv(65536):
                said += received
    return said


ANSWERED = b""
"""Here the answer to what was sent before is awaited."""
HALF = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


def test_headers_end_by_size_and_what_follows_a_request_is_counted_anew(service: Service) -> None:
    long = b"x" * (MAX_HEAD + 1)
    for parts in (
        (HALF + b"X-Long: ", long),  # without an end
        (HALF + b"X-Long: " + long + b"\r\n\r\n",),
        (HALF, *(b"X-%d: %b\r\n" % (n, b"y" * 1000) for n in range(70))),
        (b"GET /health?" + long + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",),
        (HALF + b"\r\n", ANSWERED, HALF + b"X-Long: ", long),
        (b"POST /search HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;", ANSWERED, long),
    ):
        began = time.monotonic()
        assert b"HTTP/1.1 200" not in spoken(service.port, *parts)[12:], parts[0][:40]
        assert time.monotonic() - began < 4, "by its time"
    most = b"X: " + b"y" * (MAX_HEAD // 2) + b"\r\n\r\n"
    close = HALF + b"Connection: close\r\n\r\n"
    assert spoken(service.port, HALF + most, HALF + most, close).count(b"HTTP/1.1 200") == 3


def test_headers_and_bodies_that_do_not_end_are_closed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.service.shutdown.HEAD_SECONDS", 0.2)
    body = b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"
    for parts, answers in (
        ((), 0),
        ((HALF,), 0),
        ((HALF + b"\r\n", ANSWERED, b"\r\n"), 1),
        ((HALF + b"\r\n", ANSWERED, HALF), 1),
        ((body, ANSWERED, b"}"), 1),  # 401, before the rest of its body came
    ):
        began = time.monotonic()
        assert spoken(service.port, *parts).count(b"HTTP/1.1 ") == answers, parts
        assert time.monotonic() - began < 5, parts


@pytest.mark.parametrize("levels", [40, 254, 900])
def test_what_is_stored_deeper_already_is_read_by_every_way(
    service: Service, agent: str, levels: int
) -> None:
    client = service.client(agent)
    memory = stored(client)
    with psycopg.connect(service.database_url.replace("+psycopg", "")) as connection:
        deep = '{"a":' * levels + "1" + "}" * levels
        connection.execute(
            "UPDATE pgrecall.agent_memories SET metadata = %s WHERE id = %s", (deep, memory)
        )
    for answer in (
        client.get(f"/memories/{memory}"),
        client.get("/memories"),
        client.get(f"/memories/{memory}/history"),
        client.post("/search", json={"query": "tea"}),
        client.post("/context", json={"query": "tea"}),
        client.post("/explain", json={"query": "tea", "memory_id": memory}),
        client.get(f"/v1/memories/{memory}"),
        client.post("/v1/search", json={"query": "tea"}),
        client.patch(f"/memories/{memory}", json={"importance": 0.4}),
    ):
        assert answer.status_code == 200, answer.url
    assert client.get(f"/memories/{memory}").text.count('{"a":') == levels
    lines: list[str] = []
    service.repo.transfer.export(lines.extend, agent_id=agent)
    assert "".join(lines).replace(" ", "").count('{"a":') == levels
    pytest.importorskip("mcp")
    for tool, arguments in (("recall", {"query": "tea"}), ("list_memories", {})):
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        call |= {"params": {"name": tool, "arguments": arguments}}
        answer = client.post("/mcp", json=call, headers={"Accept": "application/json"})
        assert '"isError":true' not in answer.text.replace(" ", ""), answer.text[:300]
        assert memory in answer.text
