"""Requests that schemathesis makes from the OpenAPI document, with another owner's ids among them.

PGRECALL_SERVICE_REQUESTS=2000 sends that many.
"""

from __future__ import annotations

import os
from typing import Any
from uuid import UUID

import pytest

pytest.importorskip("schemathesis")

import jsonschema_rs
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from pgrecall import NewMemory
from tests.integration.serving import Service

REQUESTS = int(os.environ.get("PGRECALL_SERVICE_REQUESTS", "150"))
SECRET = "carolsecret"
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]


def test_no_request_of_the_document_fails_or_shows_another_owner(service: Service) -> None:
    secret = NewMemory(f"{SECRET} tea", key=SECRET, tags=[SECRET])
    theirs = str(service.repo.add("carol", secret))
    service.repo.teams.add("carol", NewMemory(f"{SECRET} of the team"))
    own = str(service.repo.add("eve", NewMemory("Eve drinks tea.")))
    client = service.client("eve", "team:eve", scope="maintain")
    document = client.get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    operations = [found.ok() for found in schema.get_all_operations()]  # type: ignore[union-attr]
    owners = st.sampled_from(["eve", "carol", "team:carol", "team:eve", None])
    ids = st.sampled_from([own, theirs, None])
    seen: dict[int, int] = {}
    session = requests.Session()

    def send(case: Any, owner: str | None, memory: str | None) -> None:
        if owner is not None and case.operation.query.get("owner") is not None:
            case.query = {**(case.query or {}), "owner": owner}
        if memory is not None:
            if "memory_id" in (case.path_parameters or {}):
                case.path_parameters["memory_id"] = memory
            if isinstance(case.body, dict) and "memory_id" in case.body:
                case.body["memory_id"] = memory
        answer = case.call(
            base_url=service.url, session=session, headers=dict(client.headers), timeout=30
        )
        seen[answer.status_code] = seen.get(answer.status_code, 0) + 1
        case.validate_response(answer, checks=CHECKS)
        asked = str(answer.request.url) + str(answer.request.body)
        assert SECRET not in answer.text or SECRET in asked, case.as_curl_command()

    for operation in operations:
        most = settings(
            max_examples=max(1, REQUESTS // len(operations)),
            deadline=None,
            database=None,
            derandomize="PGRECALL_SERVICE_REQUESTS" not in os.environ,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        most(given(operation.as_strategy(), owners, ids)(send))()
    session.close()
    assert sum(seen.values()) >= REQUESTS // 2
    assert {200, 403, 404, 422} <= seen.keys(), seen


ID = "01993f7e-7b0a-7000-8000-000000000001"
SENT: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "POST /memories": (
        [
            {"content": "a", "id": None, "key": "k", "turn": None},
            {"content": "b", "turn": 1, "session": "s"},
            {"content": "c", "tags": ["\x1c"]},
        ],
        [
            {"content": "\u200b"},
            {"content": "a\0"},
            *({"content": "a", "tags": [text]} for text in ("", " ", "\u00ad", "a\0")),
            {"content": "a", "id": ID, "key": "k"},
            {"content": "a", "run": " "},
            {"content": "a", "turn": 1},
            {"content": "a", "turn": 1, "session": None},
        ],
    ),
    "POST /memories/batch": (
        [{"memories": [{"content": "d", "id": None, "key": "l"}]}],
        [{"memories": [{"content": "d", "id": ID, "key": "l"}]}],
    ),
    "PUT /memories": (
        [{"content": "a", "key": "k"}],
        [{"content": "a"}, {"content": "a", "key": None}],
    ),
    "PATCH /memories/{memory_id}": (
        [{"tags": []}, {"subject": None, "reason": "asked"}],
        [{}, {"reason": "asked", "actor": "me", "check_compliance": False}, {"tags": [" "]}],
    ),
    "POST /search": (
        [
            {"filter": {"tags": [" "]}, "keywords": "", "min_relevance": 0, "touch": None},
            {"query": "tea", "filter": {"similarity": {"$gte": 0}}, "surrounding_turns": 1},
            {"query": [0.5] * 256, "filter": None, "include_inactive": True},
        ],
        [
            {"filter": []},
            {"filter": "a"},
            {"include_inactive": None},
            *({"query": bad} for bad in ([], ["a"], 5)),
            {"min_relevance": 0},
        ],
    ),
    "POST /outcomes": (
        [{"memory_id": ID, "outcome": "success"}],
        [{"memory_id": ID, "outcome": "success", "touch": None}],
    ),
    "GET /memories": (
        [{"order": ["-trust", "id"], "filter": '{"tags": " "}', "include_inactive": True}],
        [{"order": ["content"]}, {"order": ["--id"]}, {"after": " "}, {"filter": 5}],
    ),
    "GET /memories/by-key": ([{"key": "k"}], [{}, {"key": " "}]),
    "GET /owners": ([{"after": "a", "prefix": ""}], [{"after": " "}, {"prefix": "\0"}]),
}
"""Request → bodies, or parameters of a GET, that are accepted, and others that are refused."""


def test_the_document_and_the_service_accept_the_same(service: Service, agent: str) -> None:
    client = service.client(agent)
    memory = str(service.repo.add(agent, NewMemory("Eve drinks tea.", id=UUID(ID))))
    service.repo.add(agent, NewMemory("Eve drinks coffee.", key="k"))
    document = client.get("/openapi.json").json()
    for request, (accepted, refused) in SENT.items():
        method, path = request.split()
        operation = document["paths"][path][method.lower()]
        if method == "GET":
            schema = {
                "required": [one["name"] for one in operation["parameters"] if one["required"]],
                "properties": {one["name"]: one["schema"] for one in operation["parameters"]},
            }
        else:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
        whole = schema | {"components": document["components"]}
        validator = jsonschema_rs.Draft202012Validator(whole)
        for sent in accepted + refused:
            fits = sent in accepted
            assert validator.is_valid(sent) == fits, (request, sent)
            how: dict[str, Any] = {"params" if method == "GET" else "json": sent}
            answer = client.request(method, path.format(memory_id=memory), **how)
            assert answer.status_code in ((200, 201) if fits else (400, 422)), (sent, answer.text)
