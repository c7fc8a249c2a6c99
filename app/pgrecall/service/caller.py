"""The caller: the owner of a request, and the repository for that owner."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Request

from pgrecall.core.memory import TEAM
from pgrecall.execution import AsyncMemoryRepository
from pgrecall.migrate.service_keys import Scope
from pgrecall.service.bodies import BOUNDS
from pgrecall.service.gate import KEY
from pgrecall.service.key_cache import Key
from pgrecall.service.problems import Problem

_WHOSE = "An agent, or team:NAME. Default: the key's only owner, or the service's --agent."
OwnerName = Annotated[
    str | None,
    Query(description=_WHOSE, examples=["ines"], json_schema_extra=BOUNDS["owner"]),
]


@dataclass(frozen=True, slots=True)
class Caller:
    """A request about an owner whom its key is for."""

    repo: AsyncMemoryRepository
    """The repository, or that of teams."""
    owner: str
    """The owner's id, as the repository takes it."""
    key: Key

    def require_teams(self, teams: Iterable[str]) -> None:
        """Raises Problem unless the key is for these teams, too."""
        for team in teams:
            _require_owned(self.key, TEAM + team.removeprefix(TEAM))

    def touch(self, requested: bool | None = None) -> bool | None:
        """Whether to count retrievals; None: if the profile reads them. Raises Problem for a key
        that may not."""
        if requested:
            require_scope(self.key, "write")
        return requested if self.key.may("write") else False


def require_scope(key: Key, scope: Scope) -> None:
    """Raises Problem unless the key has this scope."""
    if not key.may(scope):
        raise Problem(403, f"this needs a key with the scope {scope}")


def _require_owned(key: Key, owner: str) -> None:
    if not key.owns(owner):
        raise Problem(403, "the key is not for this owner")


def default_owner(key: Key, agent: str) -> str | None:
    """The owner of requests that name none: the key's only one, or else the service's `agent`.
    None if the key is for several others."""
    if key.owners is not None and len(key.owners) == 1:
        return key.owners[0]
    return agent if key.owns(agent) else None


def authenticate(request: Request, scope: Scope, owner: str | None = None) -> Caller:
    """The caller of a request; raises Problem if the key may not do it for this owner."""
    key, state = request.scope[KEY], request.app.state
    if owner is None:
        owner = default_owner(key, state.settings.agent)
    if owner is None:
        raise Problem(403, "the key is for several owners: name one by ?owner=")
    _require_owned(key, owner)
    require_scope(key, scope)
    if owner.startswith(TEAM):
        return Caller(state.repo.teams, owner.removeprefix(TEAM), key)
    return Caller(state.repo, owner, key)


async def _reader(request: Request, owner: OwnerName = None) -> Caller:
    return authenticate(request, "read", owner)


async def _writer(request: Request, owner: OwnerName = None) -> Caller:
    return authenticate(request, "write", owner)


async def _key_of(request: Request) -> Key:  # of a request that is about no owner
    key: Key = request.scope[KEY]
    return key


Reader = Annotated[Caller, Depends(_reader)]
Writer = Annotated[Caller, Depends(_writer)]
AnyKey = Annotated[Key, Depends(_key_of)]
