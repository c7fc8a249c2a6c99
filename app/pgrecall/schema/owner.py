"""Owners: agents, and teams, whose ids are stored with a prefix."""

from __future__ import annotations

from pgrecall.core.memory import TEAM
from pgrecall.core.quoting import shortened
from pgrecall.core.validation import require_name
from pgrecall.errors import InputError
from pgrecall.schema.tables import Tables


def require_owner(tables: Tables, agent_id: object, name: str = "agent_id") -> str:
    """Checks an owner's id and returns it as stored, with the prefix of teams if `tables` has one.

    A team's id that already has the prefix passes. Raises InputError.
    """
    if tables.prefix and isinstance(agent_id, str):
        agent_id = agent_id.removeprefix(tables.prefix)
    owner_id = tables.prefix + require_name(name, agent_id)
    if owner_id.startswith(TEAM) and not tables.prefix:
        raise InputError(
            f"{name} must not begin with {TEAM!r}, got {shortened(owner_id)}: work on the memories "
            "of teams through `repository.teams`, which takes their ids without it"
        )
    return owner_id
