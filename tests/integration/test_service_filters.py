"""Filters of requests: one JSON object, in a body or in a URL."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.integration.serving import Service, stored
from tests.integration.test_hostile_strings import SHORT


@pytest.fixture
def client(service: Service, agent: str) -> httpx.Client:
    return service.client(agent)


def test_a_filter_is_checked_before_anything_is_asked(client: httpx.Client) -> None:
    memory = stored(client, session="call")
    deep: dict[str, Any] = {"session": "call"}
    for _ in range(8):
        deep = {"$not": deep}
    wrong: list[tuple[Any, str]] = [
        ({"sesion": "call"}, "unknown key 'sesion' (did you mean session?)"),
        ({"session": {"$gtee": "call"}}, "unknown operator '$gtee' (did you mean $gte?)"),
        ({"importance": "much"}, "filter: importance must be a number"),
        ({"created_at": {"$gte": "soon"}}, "filter: created_at: $gte takes a time"),
        ({"status": "activ"}, "filter: status: unknown 'activ' (did you mean active?)"),
        ({"tags": {"$all": []}}, "filter: tags: $all has an empty list"),
        ({"$or": [{}]}, "filter: $or is given an empty mapping"),
        ({"content": {"$match": "the"}}, "filter: content: $match has only stop words"),
        ({"metadata.": 1}, "filter: 'metadata.' must have"),
        ({"session": ["call"] * 1_001}, "filter: session: $in may have at most 1,000"),
        ({"$or": [{"trust": 1}] * 201}, "filter: at most 200 conditions"),
        (deep, "filter: $not is nested more than 8 levels deep"),
        ([], "body.filter"),
        ("session", "body.filter"),
    ]
    for given, said in wrong:
        for path in ("/search", "/context", "/explain", "/candidates"):
            named = {"memory_id": memory} if path == "/explain" else {}
            refused = client.post(path, json={**named, "query": "tea", "filter": given})
            assert (refused.status_code, said in refused.json()["detail"]) == (422, True), said
    for given in ('{"sesion": "call"}', "[]", '"session"', "{", '{"session": NaN}', ""):
        refused = client.get("/memories", params={"filter": given})
        assert (refused.status_code, "filter" in refused.json()["detail"]) == (422, True), given
    for path in ("/search", "/context", "/candidates"):
        refused = client.post(path, json={"query": "tea", "memory_types": ["fact"]})
        assert (refused.status_code, "memory_types" in refused.json()["detail"]) == (422, True)
    assert client.get("/memories?tags=a").status_code == 422


def test_what_is_not_active_or_not_valid_is_asked_for(client: httpx.Client) -> None:
    old, waits = stored(client), stored(client, "Tom is on leave.", requires_approval=True)
    client.post(f"/memories/{old}/invalidate", json={"reason": "a mistake"})
    pending = {"filter": json.dumps({"status": "pending"})}

    def listed(**params: Any) -> set[str]:
        return {one["id"] for one in client.get("/memories", params=params).json()["memories"]}

    assert listed() == listed(**pending) == set()
    assert listed(include_inactive=True) == {old, waits}
    assert listed(include_inactive=True, **pending) == {waits}
    found = client.post("/search", json={"query": "tea", "include_inactive": True}).json()
    assert {one["memory"]["id"] for one in found["results"]} == {old, waits}


def test_hostile_texts_are_values_of_a_filter_or_refused(client: httpx.Client) -> None:
    memory = stored(client, tags=[*SHORT], metadata=dict.fromkeys(SHORT, "there"))
    for text in SHORT:
        path = text.replace("\\", r"\\").replace(".", r"\.")
        for given, finds in (
            ({"tags": text}, True),
            ({"tags": {"$all": [text, *SHORT]}}, True),
            ({f"metadata.{path}": "there"}, True),
            ({f"metadata.{path}": text}, False),
            ({"session": text}, False),
            ({"metadata.a": {"$like": text.rstrip("\\")}}, False),
        ):
            found = client.get("/memories", params={"filter": json.dumps(given)})
            assert [one["id"] for one in found.json()["memories"]] == [memory] * finds, given
            again = client.post("/search", json={"filter": given, "touch": False}).json()
            assert len(again["results"]) == finds, given
        unusable: list[Any] = [{text: 1}, {"session": {text: 1}}, {"status": text}, {"$or": text}]
        for wrong in unusable:
            refused = client.post("/search", json={"filter": wrong})
            assert (refused.status_code, "filter: " in refused.json()["detail"]) == (422, True)
    as_json = {"Content-Type": "application/json"}
    for text in ("\0", "\ud800"):
        for wrong in ({"session": text}, {f"metadata.{text}": 1}, {"metadata.a": [text]}):
            body = json.dumps({"filter": wrong})
            refused = client.post("/search", content=body, headers=as_json)
            assert refused.status_code in (400, 422), refused.text
