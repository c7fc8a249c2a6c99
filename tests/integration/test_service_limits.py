"""The HTTP service's limits: of headers, bodies and values, and what is there beyond them."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import suppress
from typing import Any

import httpx
import psycopg
import pytest

from pgrecall.service.bearer import Key
from pgrecall.service.bodies_in_flight import OF_ALL, OF_ONE
from pgrecall.service.connections import MAX_HEAD
from pgrecall.service.gate import MAX_READ_BODY, Gate
from tests.integration.serving import MOST, Service
from tests.integration.test_service import Slow, settings, stored


class OneKey:
    """A ring of keys in which each is for reading."""

    async def key(self, key_id: str, secret: str, seconds: float) -> Key:
        return Key(key_id, ("ada",), "read")


def test_bodies_in_flight_are_limited_by_caller_and_in_all(loop: asyncio.Runner) -> None:
    async def run() -> None:
        app, kind = Slow(), {"Content-Type": "application/json"}
        gate = Gate(app, settings(max_body=100, concurrency=99), None)

        async def posted(address: str) -> httpx.Response:
            transport = httpx.ASGITransport(gate, client=(address, 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as one:
                return await one.post("/search", content=b"x" * 100, headers=kind)

        held: list[asyncio.Task[httpx.Response]] = []
        for address in range(OF_ALL // OF_ONE):
            held += [asyncio.create_task(posted(f"{address}")) for _ in range(OF_ONE)]
            while app.running < len(held):
                await asyncio.sleep(0)
            refused = await posted(f"{address}")
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        refused = await posted("another")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        app.go.set()
        assert {one.status_code for one in await asyncio.gather(*held)} == {200}
        assert (await posted("another")).status_code == 200

    loop.run(run())


def test_a_key_that_may_only_read_has_smaller_bodies(loop: asyncio.Runner) -> None:
    async def run() -> None:
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

    loop.run(run())


def spoken(port: int, *parts: bytes) -> bytes:
    """What a connection is told after it has sent these, until the service closes it."""
    said = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        with suppress(ConnectionError):
            for part in parts:
                if part == BLANK_LINE:  # once the request before is answered
                    said += connection.recv(65536)
                connection.sendall(part)
        with suppress(ConnectionError):
            while received := connection.recv(65536):
                said += received
    return said


BLANK_LINE = b"\r\n"
HALF = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


def test_headers_end_by_size_and_what_follows_a_request_is_counted_anew(service: Service) -> None:
    long = b"x" * (MAX_HEAD + 1)
    for parts in (
        (HALF + b"X-Long: ", long),  # without an end
        (HALF + b"X-Long: " + long + b"\r\n\r\n",),
        (HALF, *(b"X-%d: %b\r\n" % (n, b"y" * 1000) for n in range(70))),
        (b"GET /health?" + long + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",),
        (HALF + BLANK_LINE, BLANK_LINE, HALF + b"X-Long: ", long),
        (b"POST /search HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;", long),
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
    monkeypatch.setattr("pgrecall.service.connections.HEAD_SECONDS", 0.2)
    body = b"POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"
    for parts, answers in (
        ((), 0),
        ((HALF,), 0),
        ((HALF + BLANK_LINE, BLANK_LINE), 1),
        ((HALF + b"\r\n" + HALF,), 1),
        ((body,), 1),  # 401, before the rest of its body came
    ):
        began = time.monotonic()
        assert spoken(service.port, *parts).count(b"HTTP/1.1 ") == answers, parts
        assert time.monotonic() - began < 5, parts


def test_the_document_allows_what_the_repository_allows(service: Service, agent: str) -> None:
    """At each bound a value is accepted, and beyond it refused."""
    client = service.client(agent)
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    query = {"query": "tea"}
    for path, name, needed, other in (
        ("/memories", "AddBody", {"content": "tea"}, {"turn": {"session": "s"}}),
        ("/search", "SearchBody", query, {"lend": {"expand_session": 1}}),
        ("/context", "ContextBody", query, {"lend": {"expand_session": 1}}),
    ):
        for field, bounds in schemas[name]["properties"].items():
            if field == "content":  # bytes, and more than a body may have here
                continue
            number = next((x for x in bounds.get("anyOf", ()) if "minimum" in x), bounds)
            beside = other.get(field, {"k": 1} if field == "consider" else {})
            for value, fits in beyond(number):
                body = needed | beside | {field: value}
                status = client.post(path, json=body).status_code
                assert (status < 400) == fits, (name, field, str(value)[:20], status)


def beyond(bounds: dict[str, Any]) -> list[tuple[Any, bool]]:
    """Values at the bounds, which fit, and values beyond them."""
    found: list[tuple[Any, bool]] = []
    if (least := bounds.get("minimum")) is not None:
        found += [(least, True), (least - 1, False)]
    if (most := bounds.get("maximum")) is not None and most < 2**31 - 1:
        found += [(most, True), (most + 1, False)]
    for name in ("exclusiveMinimum", "exclusiveMaximum"):
        if name in bounds:
            found.append((bounds[name], name == "exclusiveMaximum" and bounds[name] == 0))
    if bounds.get("maxLength", MOST) < MOST:
        found += [("x" * bounds["maxLength"], True), ("x" * (bounds["maxLength"] + 1), False)]
    if "maxItems" in bounds and "prefixItems" not in str(bounds) and "items" not in bounds:
        found.append(([f"x{n}" for n in range(bounds["maxItems"] + 1)], False))
    if "enum" in bounds:
        found += [(one, True) for one in bounds["enum"]] + [("x", False)]
    return found


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
