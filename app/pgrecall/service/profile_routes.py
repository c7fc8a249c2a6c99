"""Profiles: the built-in ones, and those that the database has of its own."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import Connection, text
from starlette.responses import Response

from pgrecall.execution.error_mapping import map_errors
from pgrecall.migrate.chosen_profile import chosen_profile
from pgrecall.migrate.installing import install, installed
from pgrecall.migrate.state import pin_transaction
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profile_file import as_values
from pgrecall.scoring.profiles import BUILT_IN, DEFAULT
from pgrecall.service.answers import answer
from pgrecall.service.bodies import ProfileBody
from pgrecall.service.caller import AnyKey, require_scope
from pgrecall.service.problems import Problem
from pgrecall.service.service_settings import ServiceSettings

router = APIRouter(tags=["service"])


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


@router.put("/profiles/{name}", response_model=dict[str, Any])
async def put(request: Request, key: AnyKey, name: str, body: ProfileBody) -> Response:
    """Install a profile in the database, or replace it. Needs the scope maintain."""
    require_scope(key, "maintain")
    if "name" in body.model_fields_set and body.name != name:
        raise Problem(422, f"the profile is named {body.name!r:.60}, and not as in the URL")
    profile = body.profile().renamed(name)
    state = request.app.state
    with map_errors():
        async with state.own.begin() as connection:
            await connection.run_sync(_install, state.settings, profile)
    return answer(as_values(profile))


_MAY = text(
    "SELECT CURRENT_USER AS role, pg_has_role(CURRENT_USER, n.nspowner, 'USAGE') AS may "
    "FROM pg_namespace n WHERE n.nspname = :schema"
)


def _install(connection: Connection, settings: ServiceSettings, profile: Profile) -> None:
    """Installs it as the role that requests run as, so that a key of a tenant cannot change how
    others' memories rank unless that role may anyway."""
    pin_transaction(connection)
    if settings.role is not None:
        connection.execute(text("SELECT set_config('role', :role, true)"), {"role": settings.role})
    role, may = connection.execute(_MAY, {"schema": settings.schema}).one()
    if not may:
        raise Problem(
            403,
            f"requests run as the role {role}, which is no member of the owner of the schema "
            f"{settings.schema}; install the profile with `pgrecall profiles install`",
        )
    install(connection, settings.schema, profile)
