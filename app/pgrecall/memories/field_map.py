"""Renames the fields of a line before it is read as a memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError

METADATA = "metadata."
_MISSING = object()


def require_map(fields: object) -> dict[str, str]:
    """Checks a map of fields: old name or path → new name, empty to leave the field out."""
    if not isinstance(fields, Mapping) or not all(
        isinstance(old, str) and old and isinstance(new, str) for old, new in fields.items()
    ):
        raise InputError(f"fields must map old names to new names, got {shortened(fields)}")
    return dict(fields)


def renamed(values: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """The line with its fields renamed. An old name that it does not have is ignored.

    An old name may be a path into objects, such as `meta.user.name`, and a new one may be
    `metadata.<key>`. Of an object and what is in it, name the inner one first. Raises InputError
    where two values would get one name.
    """
    if not fields:
        return dict(values)
    rest: dict[str, Any] = _copied(values)
    moved = {old: value for old in fields if (value := pop_path(rest, old)) is not _MISSING}
    for old in fields:
        _drop_empty(rest, values, old)
    for old, value in sorted(moved.items(), key=lambda one: fields[one[0]].startswith(METADATA)):
        new = fields[old]
        holder, name = rest, new
        if new.startswith(METADATA):
            if rest.get("metadata") is None:
                rest["metadata"] = {}
            holder, name = rest["metadata"], new.removeprefix(METADATA)
            if not isinstance(holder, dict):
                raise InputError(f"metadata must be a JSON object, got {shortened(holder)}")
        if name and value is not None and holder.get(name) is not None:
            raise InputError(f"{shortened(old)} and another field both become {shortened(new)}")
        if name and (value is not None or name not in holder):
            holder[name] = value
    return rest


def _copied(value: Any) -> Any:
    """A copy of the objects, but not of lists, in which paths do not lead: an embedding is long."""
    if isinstance(value, Mapping):
        return {name: _copied(one) for name, one in value.items()}
    return value


def path_value(values: Mapping[str, Any], path: str) -> Any:
    """The value that a path leads to; None if there is nothing."""
    if path in values:
        return values[path]
    first, dot, rest = path.partition(".")
    inner = values.get(first)
    return path_value(inner, rest) if dot and isinstance(inner, Mapping) else None


def pop_path(values: dict[str, Any], path: str) -> Any:
    """Removes and returns what the path leads to; _MISSING if there is nothing."""
    if path in values:
        return values.pop(path)
    first, dot, rest = path.partition(".")
    inner = values.get(first)
    return pop_path(inner, rest) if dot and isinstance(inner, dict) else _MISSING


def _drop_empty(rest: dict[str, Any], values: Mapping[str, Any], path: str) -> None:
    """Removes the object that a path leads through if it is empty now."""
    first = path.partition(".")[0]
    if first != path and rest.get(first) == {} != values.get(first):
        del rest[first]
