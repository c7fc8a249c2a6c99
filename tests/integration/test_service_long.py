"""Requests without a limit of time: progress as lines, the end of a client, and room for others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from pgrecall import NewMemory, profiles
from pgrecall.errors import MemoryNotFound
from pgrecall.scoring.profile_file import as_values
from pgrecall.service import progress_lines
from pgrecall.service.gate import LONG
from pgrecall.service.progress_lines import Lines, Progress
from tests.integration.serving import Service, Slow, gated

WORDS = (
    *("tea", "milk", "tram", "cello", "viola", "rain"),
    *("fire", "ferry", "bread", "salt", "coffee", "window"),
)
MINE = as_values(profiles.hybrid.with_half_life(5).renamed("mine"))


def told(answer: httpx.Response) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The lines about progress, and the last one."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    *progress, last = map(json.loads, answer.text.splitlines())
    assert all(one.keys() == {"done", "of"} and one["done"] <= one["of"] for one in progress)
    return progress, last


@pytest.fixture
def client(service: Service, agent: str) -> httpx.Client:
    """Of an owner with judged and recorded queries."""
    for n, word in enumerate(WORDS):
        memory = service.repo.add(agent, NewMemory(f"Ines and the {word}, number {n}."))
        service.repo.evaluation.judge(agent, memory, f"what about the {word}?")
        service.repo.feedback(agent, memory, "useful", query=f"the {word}?")
    return service.client(agent, scope="maintain")


def test_profiles_are_evaluated_by_what_people_judged(
    service: Service, client: httpx.Client, agent: str
) -> None:
    progress, last = told(client.post("/evaluate", json={"profiles": ["hybrid", MINE], "k": 5}))
    assert progress[0] == {"done": 0, "of": 1}
    assert {"done": 10, "of": len(WORDS)} in progress
    assert progress[-1] == {"done": len(WORDS), "of": len(WORDS)}
    queries = service.repo.evaluation.judged_queries(agent)
    found = service.repo.evaluation.evaluate(
        agent, queries, profiles=["hybrid", profiles.hybrid.with_half_life(5).renamed("mine")], k=5
    )
    assert last == {"result": found.record()}
    assert [one["profile"] for one in last["result"]["profiles"]] == ["hybrid", "mine"]
    _, recorded = told(client.post("/evaluate", json={"from": "recorded"}))
    assert recorded["result"]["profiles"][0]["queries"] == len(WORDS)


def test_a_profile_is_tuned_with_progress(client: httpx.Client, monkeypatch: Any) -> None:
    for name, value in (("BY_CHANCE", 12), ("ROUNDS_OF_EACH", 3), ("LAST_ROUNDS", 3)):
        monkeypatch.setattr(f"pgrecall.evaluation.weight_search.{name}", value)
    body = {"start": MINE, "folds": 2, "arguments": False}
    progress, last = told(client.post("/tune", json=body, timeout=300))
    assert len({one["done"] for one in progress}) > 2
    assert last["result"]["start"]["name"] == "mine"


def test_a_failure_is_the_last_line(service: Service, agent: str) -> None:
    client = service.client(agent)
    for path in ("/evaluate", "/tune"):
        _, last = told(client.post(path, json={}))
        assert last["problem"]["status"] == 422
        assert "POST /judgements" in last["problem"]["detail"]
        assert last["problem"]["type"] == "urn:pgrecall:error:InputError"
    _, last = told(client.post("/evaluate", json={"profiles": ["none"]}))
    assert last["problem"]["status"] == 422
    service.repo.evaluation.judge(agent, service.repo.add(agent, "Ines drinks tea."), "tea?")
    _, last = told(client.post("/tune", json={}))
    assert "at least 10 judged queries" in last["problem"]["detail"]


def test_what_a_key_may_not_is_refused_before_the_first_line(
    service: Service, client: httpx.Client, agent: str
) -> None:
    reader, writer = service.client(agent, scope="read"), service.client(agent)
    table = {"signals": {"x": {"weight": 1, "table": "t", "column": "c"}}}
    for path in LONG:
        assert reader.post(path, json={}).status_code == 403
        assert writer.post(path, params={"owner": "bob"}, json={}).status_code == 403
        if path.startswith("/rank"):
            assert writer.post(path, json={}).status_code == 403
    assert writer.post("/evaluate", json={"profiles": [table]}).status_code == 403
    assert writer.post("/tune", json={"start": table}).status_code == 403
    assert writer.post("/evaluate", json={"teams": ["bob"]}).status_code == 403
    refused: list[dict[str, Any]] = [{"profiles": []}, {"from": "nobody"}, {"queries": []}]
    for wrong in refused:
        assert client.post("/evaluate", json=wrong).status_code == 422


def test_a_rank_index_is_built_maintained_and_dropped(
    service: Service, client: httpx.Client, agent: str
) -> None:
    progress, last = told(client.post("/rank-indexes/build", json={"at_least": 1}))
    assert [one["agent_id"] for one in last["result"]["built"]] == [agent]
    assert progress[-1]["done"] == progress[-1]["of"] == 1
    assert client.get("/sizes").json()["rank_index"]["index"]["memories"] == len(WORDS)
    _, last = told(client.post("/rank-indexes/maintain", json={}))
    assert last["result"] == {"built": []}
    for dropped in (True, False):
        _, last = told(client.post("/rank-indexes/drop"))
        assert last == {"result": {"dropped": dropped}}


async def lines_of(work: Any, gone: asyncio.Event) -> AsyncIterator[dict[str, Any]]:
    """The lines of an answer to a client that goes away at some time."""
    sent: asyncio.Queue[Any] = asyncio.Queue()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    answering = asyncio.create_task(Lines(work)({"type": "http"}, receive, sent.put))
    answering.add_done_callback(lambda _: sent.put_nowait(None))
    while (message := await sent.get()) is not None:
        if message.get("body"):
            yield json.loads(message["body"])
    await answering


async def test_a_client_that_goes_away_ends_the_work() -> None:
    gone, ended = asyncio.Event(), asyncio.Event()

    async def work(progress: Progress) -> None:
        progress(1, 8)
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()

    seen = []
    async for line in lines_of(work, gone):
        seen.append(line)
        if line == {"done": 1, "of": 8}:
            gone.set()
    await asyncio.wait_for(ended.wait(), 5)
    assert seen[:2] == [{"done": 0, "of": 1}, {"done": 1, "of": 8}]
    assert not any("result" in one or "problem" in one for one in seen)


async def test_a_line_comes_though_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_lines, "BEAT_SECONDS", 0.01)
    enough = asyncio.Event()

    async def work(progress: Progress) -> None:
        await enough.wait()
        raise MemoryNotFound

    seen = []
    async for line in lines_of(work, asyncio.Event()):
        seen.append(line)
        if len(seen) == 5:
            enough.set()
    assert seen[:5] == [{"done": 0, "of": 1}] * 5
    assert seen[-1]["problem"]["status"] == 404


async def test_long_requests_have_no_limit_of_time_and_leave_room() -> None:
    app = Slow()
    async with gated(app, concurrency=8, timeout=0.05) as client:
        running = [asyncio.create_task(client.post("/evaluate")) for _ in range(2)]
        while app.running < 2:
            await asyncio.sleep(0)
        assert (await client.post("/tune")).status_code == 503
        assert (await client.get("/memories")).status_code == 504  # and so more time has passed
        app.go.set()
        assert {one.status_code for one in await asyncio.gather(*running)} == {200}
