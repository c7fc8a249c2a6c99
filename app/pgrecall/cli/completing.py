"""Values that the shell completes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import typer

from pgrecall.context.styles import STYLES
from pgrecall.core.checks import Argument, Words, arguments_of
from pgrecall.errors import PgRecallError
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import BUILT_IN

MOST_OWNERS = 100
_ARGUMENTS = arguments_of(SearchArguments)


def completion_of(name: str, kind: Any) -> Callable[..., list[str]] | None:
    """The completion of an option by its parameter's name and type; None: there is none."""
    if kind in (Profile | str, list[Profile]):
        return _among([*BUILT_IN])
    if name in ("agent", "agents"):
        return _owners
    if name == "style":
        return _among([*STYLES])
    match _ARGUMENTS.get(name):
        case Argument(check=Words(known)):
            return _among(known)
    return None


def _among(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Completes known words."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in known if word.startswith(incomplete)]

    return complete


def _owners(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completes the owners that have memories. Starts no embedded server, and reports no error."""
    try:
        page = _page(ctx.params, incomplete)
    except (PgRecallError, OSError):
        return []
    names = [str(one.agent_id or one.team_id) for one in page]
    return [name for name in names if name.isprintable()]


def _page(options: dict[str, Any], prefix: str) -> Sequence[Any]:
    from pgrecall.cli.database import Database, data_folder
    from pgrecall.embedded.postgres import postmaster
    from pgrecall.schema import DEFAULT_SCHEMA

    url = options.get("database_url")
    if url is None:
        process = postmaster(data_folder())
        if process is None:
            return ()
        url = process.get_uri()
    database = Database(url, options.get("schema") or DEFAULT_SCHEMA)
    with database.repository(bool(options.get("of_team"))) as repo:
        return repo.owners(prefix=prefix, limit=MOST_OWNERS)
