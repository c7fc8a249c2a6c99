"""Checks what a change records in the history: reason, actor, the caller's own fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pgrecall.core.validation import require_json_object, require_name, require_text


def note(
    *, reason: str | None, actor: str | None, metadata: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The arguments of a verb. Raises InputError."""
    if reason is not None:
        require_text("reason", reason)
    if actor is not None:
        require_name("actor", actor)
    fields = {} if metadata is None else require_json_object("metadata", metadata)
    return {"reason": reason, "actor": actor, "metadata": dict(fields)}


def check_audit_fields(
    *, reason: str | None, actor: str | None, run: str | None = None
) -> dict[str, Any]:
    """The parameters of a statement that writes events. Raises InputError."""
    if run is not None:
        require_name("run", run)
    values = note(reason=reason, actor=actor)
    return {f"note_{name}": value for name, value in values.items()}
