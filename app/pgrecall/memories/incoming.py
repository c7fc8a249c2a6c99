"""Checks the fields of a memory before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from itertools import compress
from operator import attrgetter, is_not
from typing import Any

from pgrecall.core.label import require_labels
from pgrecall.core.memory import LABELS, UNSET, NewMemory
from pgrecall.core.quoting import did_you_mean, listed
from pgrecall.errors import InvalidMemory, UnknownName
from pgrecall.schema.fields import CHECKS, NOTHING


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as they will be stored, except `embedding`, which needs the database's layout.

    Raises UnknownName for an unknown field, and InvalidMemory for a bad value.
    """
    unknown = [name for name in values if name not in FIELDS]
    if unknown:
        raise UnknownName(
            f"unknown field {listed(unknown)}{did_you_mean(unknown, FIELDS)}; the fields are "
            f"{', '.join(sorted(FIELDS))}"
        )
    stored = {name: CHECKS[name](name, value) for name, value in values.items()}
    start, end = stored.get("valid_from"), stored.get("valid_until")
    if start is not None and end is not None and not start < end:
        raise InvalidMemory(f"valid_from {start} must be before valid_until {end}")
    if stored.get("id") is not None and stored.get("key") is not None:
        raise InvalidMemory("give a memory an id or a key, not both")
    return stored


_FIELDS = fields(NewMemory)
_NAMES = tuple(field.name for field in _FIELDS)
_values = attrgetter(*_NAMES)
_DEFAULTS = tuple(field.default for field in _FIELDS)
STORED_DEFAULTS = {
    field.name: CHECKS[field.name](field.name, field.default)
    for field in _FIELDS
    if field.default is not MISSING and field.default is not UNSET and field.name != LABELS
} | {"metadata": {}}
"""What is stored in fields that are not given, except those that are computed."""


def checked_memory(memory: NewMemory) -> dict[str, Any]:
    """Checks a memory. Returns the fields not at their defaults, as `new_memory` takes them.

    Defaults are not checked, which saves time, since most fields have them.
    """
    values = _values(memory)
    given = dict(compress(zip(_NAMES, values, strict=True), map(is_not, values, _DEFAULTS)))
    if isinstance(given["metadata"], dict) and not given["metadata"]:
        del given["metadata"]
    labels = require_labels(given.pop(LABELS, ()), error=InvalidMemory, scaled=True)
    changed = checked(given)
    if labels:
        changed[LABELS] = [
            {"kind": one.kind, "value": one.value, "weight": one.weight} for one in labels
        ]
    if changed.get("turn") is not None and changed.get("session") is None:
        raise InvalidMemory("a turn is a place in a session: give the session too")
    return changed | {name: NOTHING[name] for name in NOTHING if changed.get(name, ...) is None}


FIELDS = frozenset(_NAMES) - {LABELS}
"""Those that are columns."""
