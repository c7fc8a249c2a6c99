"""Bearer keys: what a client presents, and what it may do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hmac import compare_digest

from pgrecall.migrate.service_keys import SCOPES, Scope, hash_of_secret

_TOKEN = re.compile(r"[A-Za-z0-9_]{1,20}_(?P<id>[0-9a-f]{12})_(?P<secret>[0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Key:
    """What a request may do."""

    id: str
    owners: tuple[str, ...] | None
    """Owners as stored; a team is team:<id>. None: all, in a service without keys."""
    scope: Scope

    def may(self, scope: Scope) -> bool:
        return SCOPES.index(scope) <= SCOPES.index(self.scope)

    def owns(self, owner: str) -> bool:
        return self.owners is None or owner in self.owners


OPEN = Key("", None, "maintain")
"""Of every request to a service without keys."""


def presented(header: str) -> tuple[str, str] | None:
    """Id and secret of an Authorization header; None if it is no key.

    What stands before the id does not matter: clients of Memory OS insist on mos_live_.
    """
    scheme, _, token = header.partition(" ")
    found = _TOKEN.fullmatch(token.strip()) if scheme.lower() == "bearer" else None
    return (found["id"], found["secret"]) if found else None


def matches(secret: str, stored: bytes | None) -> bool:
    """Whether a secret has this hash, in the same time for every secret and for no hash."""
    return compare_digest(hash_of_secret(secret), stored or bytes(32))
