"""The routes about memories: each is one method of the repository."""

from __future__ import annotations

from inspect import Parameter, Signature, getdoc, signature
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import Field, create_model
from starlette.responses import Response

from pgrecall.core.memory import Memory, NewMemory
from pgrecall.errors import InputError, MemoryNotFound
from pgrecall.lifecycle.event import Event
from pgrecall.lifecycle.linking import Link
from pgrecall.search.shortlisting import Candidates
from pgrecall.service import answers
from pgrecall.service.bodies import MEMORY_FIELDS, AnyProfile, Body, method_named, request_model
from pgrecall.service.caller import Caller, Reader, Writer, require_scope

_CALLED = {
    "history": "events",
    "links.of": "links",
    "evaluation.judged_queries": "queries",
    **dict.fromkeys(("invalidate", "revive", "approve", "reject"), "changed"),
    "evaluation.judge": "changed",
}
"""Method → the name that its result has in an answer, if that is no object by itself."""
router = APIRouter(tags=["memories"])
ID = "01993f7e-7b0a-7000-8000-000000000001"
TEA = {"content": "Ines drinks her tea without milk.", "memory_type": "fact"}
COFFEE = {"content": "Ines switched to coffee."}
DRINK = {"query": "what does Ines drink?"}
MOST_PROFILES, MOST_QUERIES = 20, 200
"""Of an evaluation."""


def route(
    request: str, method: str, caller: Any, returns: Any, *without: str, **example: Any
) -> None:
    """Answers a request by a method of the repository, or by one for the studio.

    The fields of the body, or of a GET's URL, are the method's arguments except those `without`. An
    id in the path is the method's memory_id, or the only one of its memory_ids.
    """
    verb, path = request.split()
    in_path = "{memory_id}" in path
    function = method_named(method)
    takes = signature(function).parameters
    its_id = "memory_ids" if "memory_ids" in takes else "memory_id"
    excluded = (*without, its_id) if in_path else without
    body = request_model(method, without=excluded, in_url=verb == "GET", **example)
    stores = returns in (answers.AddedAnswer, answers.BatchAnswer)
    status = 201 if verb == "POST" and stores else 200

    async def endpoint(caller: Caller, given: Body, **named: UUID) -> Response:
        arguments = _arguments(caller, given, adds=method in ("add", "upsert"))
        ids = {its_id: named["memory_id"]} if named else {}
        result = await function(caller.repo, caller.owner, **arguments, **ids)
        return answers.answer(answers.shown(result, _CALLED.get(method)), status)

    hints: dict[str, Any] = {"memory_id": UUID} if in_path else {}
    hints |= {"caller": caller, "given": Annotated[body, Query()] if verb == "GET" else body}
    endpoint.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(name, Parameter.KEYWORD_ONLY, annotation=one) for name, one in hints.items()]
    )
    documentation = getdoc(function) or ""
    router.add_api_route(
        path,
        endpoint,
        methods=[verb],
        status_code=status,
        response_model=returns,
        summary=" ".join(documentation.partition("\n\n")[0].split()),
        operation_id=request,
        include_in_schema=method != "candidates",  # it is for the studio
    )


def _arguments(caller: Caller, body: Body, *, adds: bool) -> dict[str, Any]:
    """The method's arguments; raises Problem for what the key does not allow."""
    fields = type(body).model_fields
    values = body.sent_fields("owner")
    if adds:
        values["memory"] = NewMemory(
            **{one: values.pop(one) for one in MEMORY_FIELDS & values.keys()}
        )
    if "teams" in fields:
        caller.require_teams(values.get("teams") or ())
        if "touch" in fields:
            values["touch"] = caller.touch(values.get("touch"))
    return values


route("POST /memories", "add", Writer, answers.AddedAnswer, **TEA)
route("PUT /memories", "upsert", Writer, answers.AddedAnswer, key="message-17", **TEA)
route("POST /memories/batch", "add_many", Writer, answers.BatchAnswer, memories=[TEA, COFFEE])
route("GET /memories", "list", Reader, answers.MemoriesAnswer)
route("GET /memories/by-key", "get", Reader, Memory, "memory_id")
route("GET /memories/{memory_id}", "get", Reader, Memory, "key")
route("PATCH /memories/{memory_id}", "update", Writer, Memory, importance=0.9, reason="asked twice")
route("GET /memories/{memory_id}/history", "history", Reader, dict[str, list[Event]])
route("POST /memories/{memory_id}/supersede", "supersede", Writer, answers.AddedAnswer, new=COFFEE)
route("GET /memories/{memory_id}/links", "links.of", Reader, dict[str, list[Link]])
for _verb in ("invalidate", "revive", "approve", "reject"):
    _request = f"POST /memories/{{memory_id}}/{_verb.rpartition('.')[2]}"
    route(_request, _verb, Writer, dict[str, int], reason="asked for")
route("POST /search", "search", Reader, answers.SearchAnswer, k=3, **DRINK)
route("POST /context", "context", Reader, dict[str, Any], max_tokens=500, style="xml", **DRINK)
route(
    "POST /candidates",
    "candidates",
    Reader,
    Candidates,
    *("min_score", "surrounding_turns"),
    n=50,
    **DRINK,
)
route("POST /explain", "explain", Reader, dict[str, Any], memory_id=ID, **DRINK)
route("POST /feedback", "feedback", Writer, Memory, memory_id=ID, kind="useful")
route("POST /outcomes", "record_outcome", Writer, Memory, memory_id=ID, outcome="success")
route(
    "POST /judgements",
    "evaluation.judge",
    Writer,
    dict[str, bool],
    memory_id=ID,
    answers=True,
    **DRINK,
)
route("GET /judgements", "evaluation.judged_queries", Reader, dict[str, list[dict[str, Any]]])


@router.delete("/memories/{memory_id}", response_model=dict[str, int])
async def delete(
    caller: Writer, memory_id: UUID, erase: bool = False, reason: str | None = None
) -> Response:
    """Deletes a memory; with `erase`, which needs the scope maintain, its history, too."""
    if erase:
        require_scope(caller.key, "maintain")
        deleted = (await caller.repo.erase(caller.owner, memory_id)).memories
    elif not (deleted := await caller.repo.delete(caller.owner, memory_id, reason=reason)):
        raise MemoryNotFound()
    return answers.answer({"deleted": deleted})


EvaluateBody = create_model(
    "EvaluateBody",
    __base__=request_model(
        "evaluation.evaluate",
        without=("queries", "agents", "on_progress", "profiles"),
        in_url=False,
        k=10,
    ),
    profiles=(
        Annotated[list[AnyProfile], Field(min_length=1, max_length=MOST_PROFILES)] | None,
        None,
    ),
)


@router.post("/evaluate", response_model=dict[str, Any])
async def evaluate(caller: Writer, body: EvaluateBody) -> Response:  # type: ignore[valid-type]
    """Measure how well profiles find what answers the owner's judged queries, at most 200."""
    arguments: dict[str, Any] = body.sent_fields()  # type: ignore[attr-defined]
    caller.require_teams(arguments.get("teams") or ())
    queries = await caller.repo.evaluation.judged_queries(caller.owner)
    if not queries:
        raise InputError("no query is judged yet: judge some by POST /judgements")
    if len(queries) > MOST_QUERIES:
        raise InputError(
            f"{len(queries):,} queries are judged, and a request evaluates at most {MOST_QUERIES}: "
            "use `pgrecall evaluate`"
        )
    found = await caller.repo.evaluation.evaluate(caller.owner, queries, **arguments)
    return answers.answer(found.record())
