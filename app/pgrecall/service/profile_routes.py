"""Profiles: the built-in ones, and those that the database has of its own."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from pgrecall.execution.error_mapping import map_errors
from pgrecall.migrate.chosen_profile import chosen_profile
from pgrecall.migrate.installing import installed
from pgrecall.scoring.profile_file import as_values
from pgrecall.scoring.profiles import BUILT_IN, DEFAULT
from pgrecall.service.answers import answer
from pgrecall.service.caller import AnyKey

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
