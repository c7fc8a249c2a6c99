"""Owners: agents, and teams, whose ids are stored with a prefix."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from uuid import UUID

from pgrecall.core.memory import TEAM
from pgrecall.core.quoting import shortened
from pgrecall.core.validation import require_few, require_name
from pgrecall.errors import InputError
from pgrecall.schema.tables import Tables


def require_owner(tables: Tables, agent_id: object, name: str = "agent_id") -> str:
    """Checks an owner's id and returns it as stored, with the prefix of teams if `tables` has one.

    A UUID stands for its text. A team's id that already has the prefix passes. Raises InputError.
    """
    if isinstance(agent_id, UUID):
        agent_id = str(agent_id)
    if not isinstance(agent_id, str):
        raise InputError(f"{name} must be text or a UUID, got {shortened(agent_id)}")
    return _stored(tables.prefix, agent_id, name)


def require_owners(tables: Tables, agent_ids: object, name: str) -> list[str]:
    """The ids of several owners as stored, each once. None stands for none. Raises InputError."""
    if agent_ids is None:
        return []
    several = require_few(name, agent_ids)
    owners = dict.fromkeys(require_owner(tables, one, name) for one in several)
    return [*owners] if isinstance(several, Sequence) else sorted(owners)


@lru_cache(1_000)
def _stored(prefix: str, agent_id: str, name: str) -> str:
    """The id as stored. Cached, since most calls are about an owner that was checked before."""
    owner_id = prefix + require_name(name, agent_id.removeprefix(prefix))
    if owner_id.startswith(TEAM) and not prefix:
        raise InputError(
            f"{name} must not begin with {TEAM!r}, got {shortened(owner_id)}: work on the memories "
            "of teams through `repository.teams`, which takes their ids without it"
        )
    return owner_id
