"""Checks the fields of a memory before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from inspect import signature
from itertools import compress
from operator import attrgetter, is_not
from types import MappingProxyType
from typing import Any

from pgrecall.core.memory import UNSET, NewMemory
from pgrecall.core.quoting import listed, unknown_field
from pgrecall.errors import InputError, InvalidMemory
from pgrecall.schema.fields import CHECKS, NOTHING


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as they will be stored, except `embedding`, which needs the database's layout.

    Raises UnknownName for an unknown field, and InvalidMemory for a bad value.
    """
    if unknown := values.keys() - FIELDS:
        raise unknown_field(unknown, FIELDS)
    stored = {name: CHECKS[name](name, value) for name, value in values.items()}
    start, end = stored.get("valid_from"), stored.get("valid_until")
    if start is not None and end is not None and not start < end:
        raise InvalidMemory(f"valid_from {start} must be before valid_until {end}")
    if stored.get("id") is not None and stored.get("key") is not None:
        raise InvalidMemory("give a memory an id or a key, not both")
    return stored


def as_new(
    memory: object,
    fields: Mapping[str, Any] = MappingProxyType({}),
    beside: Callable[..., Any] | None = None,
) -> NewMemory:
    """The NewMemory that a text, a mapping or a NewMemory stands for.

    A text may have `fields`, the arguments of the operation `beside` that are not its own.
    """
    if fields and not isinstance(memory, str):
        raise InputError(
            f"give the fields of a memory in one place: {listed(fields)} beside a text, or in the "
            f"{type(memory).__name__}"
        )
    match memory:
        case NewMemory():
            return memory
        case str():
            values = fields
        case Mapping():
            values = memory
        case _:
            raise InvalidMemory(
                f"a memory must be text, a NewMemory or a dict, got {type(memory).__name__}"
            )
    if unknown := values.keys() - FIELDS:
        raise unknown_field(unknown, FIELDS, () if beside is None else _options(beside))
    if isinstance(memory, str):
        if "content" in values:
            raise InputError("give the text of a memory once, not as content too")
        return NewMemory(memory, **values)
    if "content" not in values:
        raise InvalidMemory("a memory needs content, its text")
    return NewMemory(**values)


def _options(operation: Callable[..., Any]) -> list[str]:
    return [
        one.name for one in signature(operation).parameters.values() if one.kind is one.KEYWORD_ONLY
    ]


_FIELDS = fields(NewMemory)
_NAMES = tuple(field.name for field in _FIELDS)
_values = attrgetter(*_NAMES)
_DEFAULTS = tuple(field.default for field in _FIELDS)
FIELDS = frozenset(_NAMES)
"""The names of all fields."""
STORED_DEFAULTS = {
    field.name: CHECKS[field.name](field.name, field.default)
    for field in _FIELDS
    if field.default is not MISSING and field.default is not UNSET
} | {"metadata": {}}
"""The values stored in absent fields, except computed ones."""


def validated_memory(memory: NewMemory) -> dict[str, Any]:
    """Checks a memory. Returns the fields not at their defaults, as `new_memory` takes them.

    Defaults are not checked, which saves time, since most fields have them.
    """
    values = _values(memory)
    set_fields = dict(compress(zip(_NAMES, values, strict=True), map(is_not, values, _DEFAULTS)))
    if isinstance(set_fields["metadata"], dict) and not set_fields["metadata"]:
        del set_fields["metadata"]
    changed = checked(set_fields)
    if changed.get("turn") is not None and changed.get("session") is None:
        raise InvalidMemory("a turn is a place in a session: give the session too")
    return changed | {name: NOTHING[name] for name in NOTHING if changed.get(name, ...) is None}
