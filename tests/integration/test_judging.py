"""Judgements by people: events that change no score, and queries to evaluate by."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from pgrecall import (
    InputError,
    JudgedQuery,
    MemoryNotFound,
    MemoryRepository,
    NewMemory,
    load_queries,
    save_queries,
)
from tests.integration.serving import Service, stored
from tests.integration.support import at

QUESTION = "what does Ines drink?"


@pytest.fixture
def memories(repo: MemoryRepository, agent: str) -> list[UUID]:
    new = [NewMemory(f"memory {n}", embedding=at(n)) for n in range(4)]
    return list(repo.add_many(agent, new))


def judged(repo: MemoryRepository, agent: str) -> dict[Any, tuple[list[Any], list[Any]]]:
    return {
        one.query: (list(one.relevant), list(one.irrelevant))
        for one in repo.evaluation.judged_queries(agent)
    }


def test_the_last_judgement_counts_and_one_that_says_the_same_is_none(
    repo: MemoryRepository, agent: str, memories: list[UUID]
) -> None:
    one, two, three, _ = memories
    before = repo.get_many(agent, memories)
    judge = repo.evaluation.judge
    assert judge(agent, one, QUESTION) is True
    assert judge(agent, one, QUESTION) is False
    assert judge(agent, two, QUESTION, False, actor="zoe", reason="old") is True
    assert judge(agent, three, QUESTION, None) is False
    assert judge(agent, three, "another") is True
    assert judged(repo, agent) == {QUESTION: ([one], [two]), "another": ([three], [])}
    assert judge(agent, one, QUESTION, False) is True
    assert judge(agent, two, QUESTION, True) is True
    assert judge(agent, three, "another", None) is True
    assert judged(repo, agent) == {QUESTION: ([two], [one])}

    assert repo.get_many(agent, memories) == before  # neither counters nor updated_at
    events = [one for one in repo.history(agent, two) if one.event_type == "judgement"]
    assert [one.metadata for one in events] == [
        {"query": QUESTION, "answers": False},
        {"query": QUESTION, "answers": True},
    ]
    assert (events[0].actor, events[0].reason) == ("zoe", "old")
    assert (events[0].old_values, events[0].new_values) == ({}, {})


def test_memories_that_no_search_returns_are_left_out(
    repo: MemoryRepository, agent: str, memories: list[UUID]
) -> None:
    for memory in memories:
        repo.evaluation.judge(agent, memory, QUESTION)
    repo.invalidate(agent, memories[0])
    repo.delete(agent, memories[1])
    repo.erase(agent, memories[2])
    assert judged(repo, agent) == {QUESTION: ([memories[3]], [])}
    repo.revive(agent, memories[0])
    assert judged(repo, agent)[QUESTION][0] == sorted([memories[0], memories[3]])
    assert repo.history(agent, memories[2]) == []


def test_a_judgement_moves_with_its_memory(
    repo: MemoryRepository, agent: str, memories: list[UUID], tmp_path: Path
) -> None:
    repo.evaluation.judge(agent, memories[0], QUESTION)
    lines: list[str] = []
    repo.transfer.export(agent_id=agent, events=True, write=lines.extend)
    assert QUESTION in "".join(lines)
    queries = [JudgedQuery(QUESTION, [memories[0]], agent_id=agent, irrelevant=[memories[1]])]
    save_queries(tmp_path / "judged.jsonl", queries)
    assert load_queries(tmp_path / "judged.jsonl") == queries


def test_what_is_no_judgement_is_refused(
    repo: MemoryRepository, agent: str, memories: list[UUID], engine: Engine
) -> None:
    for query in ("", " \u200b", "a\0", 7, None):
        with pytest.raises(InputError):
            repo.evaluation.judge(agent, memories[0], query)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="answers must be True or False"):
        repo.evaluation.judge(agent, memories[0], QUESTION, "yes")  # type: ignore[arg-type]
    with pytest.raises(MemoryNotFound):
        repo.evaluation.judge("another", memories[0], QUESTION)
    with engine.connect() as connection, pytest.raises(DBAPIError, match="the query is empty"):
        connection.exec_driver_sql(f"SELECT pgrecall.judge('{agent}', '{memories[0]}', NULL)")


def test_requests_judge_and_list(service: Service, agent: str) -> None:
    client = service.client(agent)
    one, two = stored(client, "Ines drinks tea."), stored(client, "Ines has a tram.")
    body = {"memory_id": one, "query": QUESTION, "answers": True}
    answers = [client.post("/judgements", json=body).json() for _ in range(2)]
    assert answers == [{"changed": True}, {"changed": False}]
    assert client.post("/judgements", json=body | {"memory_id": two, "answers": False}).is_success
    told = client.get("/judgements").json()
    assert told == {
        "queries": [
            {"query": QUESTION, "relevant": [one], "agent": agent, "irrelevant": [two]},
        ]
    }
    reader: httpx.Client = service.client(agent, scope="read")
    assert reader.get("/judgements").json() == told
    assert reader.post("/judgements", json=body).status_code == 403


def test_requests_read_links_and_change_what_is_found(service: Service, agent: str) -> None:
    client = service.client(agent)
    one = stored(client, "Ines drinks tea.")
    two = stored(client, "Ines likes milk in it.")
    service.repo.links.add(agent, one, two, "next", weight=0.5)
    [link] = client.get(f"/memories/{two}/links").json()["links"]
    assert link == {"source_id": one, "target_id": two, "kind": "next", "weight": 0.5}

    def changed(verb: str, memory: str = one, **body: Any) -> Any:
        return client.post(f"/memories/{memory}/{verb}", json=body).json()["changed"]

    assert [changed("invalidate", reason="old"), changed("invalidate")] == [1, 0]
    assert client.get("/memories").json()["memories"][0]["id"] == two
    assert [changed("revive", actor="zoe"), changed("approve"), changed("reject")] == [1, 0, 0]
    waiting = stored(client, "Ines moved.", requires_approval=True)
    assert [changed("approve", waiting), changed("approve", waiting)] == [1, 0]
    reader = service.client(agent, scope="read")
    for verb in ("invalidate", "revive", "approve", "reject"):
        assert reader.post(f"/memories/{one}/{verb}", json={}).status_code == 403
