"""Keys: what a request may do."""

from __future__ import annotations

from dataclasses import dataclass

from pgrecall.migrate.service_keys import SCOPES, Scope


@dataclass(frozen=True, slots=True)
class Key:
    """The rights of a request."""

    id: str
    owners: tuple[str, ...] | None
    """Owners as stored; a team is team:<id>. None: all, in a service without keys."""
    scope: Scope

    def may(self, scope: Scope) -> bool:
        return SCOPES.index(scope) <= SCOPES.index(self.scope)

    def owns(self, owner: str) -> bool:
        return self.owners is None or owner in self.owners


OPEN = Key("", None, "maintain")
"""The key of every request to a service without keys."""
