"""Owners, profiles, and the state of the service itself."""

from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import version
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from pgrecall.core.memory import TEAM
from pgrecall.core.time_limit import TookTooLong, within
from pgrecall.execution.error_mapping import map_errors
from pgrecall.migrate.kept_settings import chosen_profile
from pgrecall.migrate.repeatable import installed
from pgrecall.migrate.state import read_status
from pgrecall.scoring.profile_file import as_values
from pgrecall.scoring.profiles import BUILT_IN, DEFAULT
from pgrecall.service.answers import KeyAnswer, answer
from pgrecall.service.bodies import Name
from pgrecall.service.caller import AnyKey, default_owner, require_scope
from pgrecall.service.database_metrics import exposed
from pgrecall.service.problems import Problem, to_problem
from pgrecall.service.service_settings import ServiceSettings

READY_SECONDS = 2.0
"""Time limit of the check that the database is ready."""
router = APIRouter(tags=["service"])
Record = dict[str, Any]


@router.get("/profiles", response_model=dict[str, Any])
async def profiles(request: Request, _: AnyKey) -> Response:
    """List the built-in profiles and the installed ones, and name the default."""
    state = request.app.state
    schema = state.settings.schema
    with map_errors():
        async with state.repo._bind.connect() as connection:  # keys must not wait for it
            own = await connection.run_sync(installed, schema)
            chosen = await connection.run_sync(chosen_profile, schema)
    known = {name: as_values(one) | {"built_in": True} for name, one in BUILT_IN.items()}
    known |= {one["name"]: one | {"built_in": False} for one in own}
    listed = [one | {"installed": True} for one in known.values()]
    return answer({"profiles": listed, "default": chosen or DEFAULT.name})


@router.get("/key", response_model=KeyAnswer)
async def key(request: Request, key: AnyKey) -> Response:
    """Show what the key of this request is for, and what the service can do."""
    state = request.app.state
    settings: ServiceSettings = state.settings
    return answer(
        KeyAnswer(
            keyed=settings.keyed or settings.run_key is not None,
            owners=None if key.owners is None else [*key.owners],
            scope=key.scope,
            default_owner=default_owner(key, settings.agent) or (key.owners or ("",))[0],
            embedder=state.repo._tools.embedder is not None,
            version=version("pgrecall"),
        )
    )


@router.get("/owners", response_model=Record)
async def owners(
    request: Request,
    key: AnyKey,
    teams: Annotated[bool, Query(description="List teams in place of agents.")] = False,
    prefix: str = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Name | None = None,
) -> Response:
    """List the key's owners that have memories, with the number of these."""
    repo = request.app.state.repo.teams if teams else request.app.state.repo
    page = await repo.owners(prefix=prefix, limit=limit, after=after)
    own = [one for one in page if key.owns(one.agent_id or f"{TEAM}{one.team_id}")]
    return answer({"owners": own, "next": page.next})


@router.get("/status", response_model=Record)
async def status(request: Request, key: AnyKey) -> Response:
    """Show versions, pending migrations and the owners' rank indexes. Needs the scope maintain."""
    require_scope(key, "maintain")
    state = request.app.state
    with map_errors():
        async with state.own.connect() as connection:
            schema_status = await connection.run_sync(read_status, state.settings.schema)
    indexes = await state.repo.rank_indexes.status()
    of_teams = await state.repo.teams.rank_indexes.status()
    own = [one for one in indexes if key.owns(one.agent_id)]
    own += [one for one in of_teams if key.owns(TEAM + one.agent_id)]
    return answer({"pgrecall": version("pgrecall"), **asdict(schema_status), "rank_indexes": own})


@router.get("/metrics", response_class=Response)
async def metrics(request: Request, key: AnyKey) -> Response:
    """Metrics of requests and of the database for Prometheus. Needs the scope maintain."""
    require_scope(key, "maintain")
    return exposed(await request.app.state.database_metrics.collected())


@router.get("/health", response_model=dict[str, str])
async def health() -> Response:
    """Answers as long as the process runs."""
    return answer({"status": "ok"})


@router.get("/ready", response_model=dict[str, str])
async def ready(request: Request) -> Response:
    """Succeeds if the database answers, at the schema's right revision."""
    lookup = request.app.state.prober.get("pgrecall", UUID(int=0))
    try:
        await within(READY_SECONDS, lookup)
    except TookTooLong:
        raise Problem(503, "the database does not answer", retry_after=1) from None
    except Exception as error:
        raise Problem(503, to_problem(error).title, retry_after=1) from None
    return answer({"status": "ready"})
