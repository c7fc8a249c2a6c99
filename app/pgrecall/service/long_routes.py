"""Requests that take as long as they need: evaluations, tuning, and work on rank indexes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field, create_model
from starlette.responses import Response

from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError
from pgrecall.evaluation.judged_query import JudgedQuery
from pgrecall.service.bodies import AnyProfile, Body, request_model
from pgrecall.service.caller import Caller, Writer, require_scope
from pgrecall.service.progress_lines import Lines, Progress

MOST_PROFILES = 20
router = APIRouter(tags=["evaluation"], default_response_class=Response)
_LINES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Lines of JSON: done and of while it works, and at last result or problem.",
        "content": {Lines.media_type: {"schema": {"type": "string"}}},
    }
}
Source = Annotated[
    Literal["judged", "recorded"],
    Field(alias="from", description="Judgements by people, or feedback and outcomes."),
]


def _body(method: str, *without: str, **fields: Any) -> type[Body]:
    """A body with the arguments of an evaluation, and where its queries come from."""
    base = request_model(
        method, without=("queries", "agents", "on_progress", *without), in_url=False, k=10
    )
    return create_model(base.__name__, __base__=base, source=(Source, "judged"), **fields)


_Several = Annotated[list[AnyProfile], Field(min_length=1, max_length=MOST_PROFILES)]
EvaluateBody = _body("evaluation.evaluate", "profiles", profiles=(_Several | None, None))
TuneBody = _body("evaluation.tune", "start", start=(AnyProfile | None, None))
BuildBody = request_model("rank_indexes.build", without=("on_progress",), in_url=False, m=16)
MaintainBody = request_model("rank_indexes.maintain", without=("on_progress",), in_url=False, m=16)


@router.post("/evaluate", response_model=None, responses=_LINES)
async def evaluate(caller: Writer, body: EvaluateBody) -> Lines:  # type: ignore[valid-type]
    """Measure how well profiles find what answers the owner's queries, with progress as lines."""
    arguments = await _arguments(caller, body)

    async def work(progress: Progress) -> Any:
        queries = await _queries(caller, body)
        evaluated = caller.repo.evaluation.evaluate
        found = await evaluated(caller.owner, queries, on_progress=progress, **arguments)
        return found.record()

    return Lines(work)


@router.post("/tune", response_model=None, responses=_LINES)
async def tune(caller: Writer, body: TuneBody) -> Lines:  # type: ignore[valid-type]
    """Search for a profile that finds more of what answers the queries, with progress as lines."""
    arguments = await _arguments(caller, body)

    async def work(progress: Progress) -> Any:
        queries = await _queries(caller, body)
        tuned = caller.repo.evaluation.tune
        found = await tuned(caller.owner, queries, on_progress=progress, **arguments)
        return found.record()

    return Lines(work)


@router.post("/rank-indexes/build", response_model=None, responses=_LINES)
async def build(caller: Writer, body: BuildBody) -> Lines:  # type: ignore[valid-type]
    """Build the owner's rank index. Needs the scope maintain."""
    return _on_index(caller, "build", body)


@router.post("/rank-indexes/maintain", response_model=None, responses=_LINES)
async def maintain(caller: Writer, body: MaintainBody) -> Lines:  # type: ignore[valid-type]
    """Do what is due for the owner's rank index. Needs the scope maintain."""
    return _on_index(caller, "maintain", body)


@router.post("/rank-indexes/drop", response_model=None, responses=_LINES)
async def drop(caller: Writer) -> Lines:
    """Drop the owner's rank index, so that its searches become exact. Needs the scope maintain."""
    require_scope(caller.key, "maintain")

    async def work(_: Progress) -> Any:
        return {"dropped": await caller.repo.rank_indexes.drop(caller.owner)}

    return Lines(work)


def _on_index(caller: Caller, method: str, body: Body) -> Lines:
    require_scope(caller.key, "maintain")

    async def work(progress: Progress) -> Any:
        def report(_: str, done: int, of: int) -> None:
            progress(done, of)

        run = partial(getattr(caller.repo.rank_indexes, method), agent_id=caller.owner)
        built = await run(on_progress=report, **body.sent_fields())
        return {"built": [one.record() for one in built]}

    return Lines(work)


async def _arguments(caller: Caller, body: Body) -> dict[str, Any]:
    """The method's arguments; raises Problem for what the key does not allow."""
    values = body.sent_fields("source")
    caller.require_teams(values.get("teams") or ())
    for profile in (values.get("start"), *(values.get("profiles") or ())):
        await caller.require_profile(profile)
    return values


async def _queries(caller: Caller, body: Any) -> Sequence[JudgedQuery]:
    """The owner's queries; raises InputError if there are none."""
    evaluation = caller.repo.evaluation
    of = evaluation.judged_queries if body.source == "judged" else evaluation.recorded_queries
    queries: Sequence[JudgedQuery] = await of(caller.owner)
    if not queries:
        raise InputError(
            f"no queries of {shortened(caller.owner)} are {body.source}: "
            "judge some by POST /judgements, or send feedback and outcomes with a query"
        )
    return queries
