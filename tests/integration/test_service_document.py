"""Requests that schemathesis makes from the OpenAPI document, with another owner's ids among them.

`make fuzz-service` sends 2,000.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

pytest.importorskip("schemathesis")

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
)

from pgrecall import NewMemory
from tests.integration.serving import Service

REQUESTS = int(os.environ.get("PGRECALL_SERVICE_REQUESTS", "300"))
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
