"""Checks the fields of a memory before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import partial
from itertools import compress
from operator import attrgetter, is_not
from typing import Any
from uuid import UUID

from pgrecall.core.label import require_labels
from pgrecall.core.limits import MAX_CONTENT_BYTES, MAX_TURN, TIERS, TRUST_CURVES, is_blank
from pgrecall.core.memory import LABELS, UNSET, NewMemory
from pgrecall.core.quoting import listed, shortened
from pgrecall.core.tokens import MAX_TOKENS
from pgrecall.core.validation import (
    require_aware,
    require_count,
    require_given_share,
    require_json_object,
    require_name,
    require_one_of,
    require_share,
    require_shown,
    require_text,
    require_texts,
)
from pgrecall.errors import InvalidMemory, UnknownName

Check = Callable[[str, Any], Any]


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as they will be stored, except `embedding`, which needs the database's layout.

    Raises UnknownName for an unknown field, and InvalidMemory for a bad value.
    """
    unknown = [name for name in values if name not in FIELDS]
    if unknown:
        raise UnknownName(
            f"unknown field {listed(unknown)}; the fields are {', '.join(sorted(FIELDS))}"
        )
    stored = {name: _CHECKS[name](name, value) for name, value in values.items()}
    start, end = stored.get("valid_from"), stored.get("valid_until")
    if start is not None and end is not None and not start < end:
        raise InvalidMemory(f"valid_from {start} must be before valid_until {end}")
    if stored.get("id") is not None and stored.get("key") is not None:
        raise InvalidMemory("give a memory an id or a key, not both")
    return stored


def _content(name: str, value: Any) -> str:
    text = require_text(name, value, error=InvalidMemory)
    if not text:
        raise InvalidMemory("content must not be empty")
    if is_blank(text):
        raise InvalidMemory(f"content must not be blank, got {shortened(text)}")
    size = len(text.encode())
    if size > MAX_CONTENT_BYTES:
        raise InvalidMemory(
            f"content has {size:,} bytes of UTF-8, at most {MAX_CONTENT_BYTES:,} are stored; "
            "split it into several memories"
        )
    return text


def _optional_text(name: str, value: Any) -> str | None:
    return None if value is None else require_shown(name, value, error=InvalidMemory)


def _optional_name(name: str, value: Any) -> str | None:
    return None if value is None else require_name(name, value, error=InvalidMemory)


def _texts(name: str, value: Any) -> list[str]:
    texts = require_texts(name, value, error=InvalidMemory)
    if texts is None:
        raise InvalidMemory(f"{name} must be a list of texts, got None")
    for text in texts:
        require_shown(name, text, error=InvalidMemory)
    return list(texts)


def _hours(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-3 <= value <= 1e9:
        raise InvalidMemory(f"{name} must lie within 0.001 and 1e9 hours, got {shortened(value)}")
    return float(value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidMemory(f"{name} must be True or False, got {shortened(value)}")
    return value


def _optional_flag(name: str, value: Any) -> bool | None:
    return None if value is None else _flag(name, value)


def _metadata(name: str, value: Any) -> dict[str, Any]:
    return dict(require_json_object(name, value, error=InvalidMemory))


def _moment(name: str, value: Any) -> Any:
    require_aware(name, value, error=InvalidMemory)
    return value


def _id(name: str, value: Any) -> UUID | None:
    if value is not None and not isinstance(value, UUID):
        raise InvalidMemory(f"{name} must be a uuid.UUID, got {shortened(value)}")
    return value


def _one_of(known: Sequence[str], name: str, value: Any) -> str:
    return require_one_of(name, value, known, error=InvalidMemory)


def _optional_one_of(known: Sequence[str], name: str, value: Any) -> str | None:
    return None if value is None else _one_of(known, name, value)


def _tokens(name: str, value: Any) -> int | None:
    if value is None:
        return None
    return require_count(name, value, at_least=0, at_most=MAX_TOKENS, error=InvalidMemory)


def _turn(name: str, value: Any) -> int | None:
    if value is None:
        return None
    return require_count(name, value, at_least=0, at_most=MAX_TURN, error=InvalidMemory)


def _unchecked(name: str, value: Any) -> Any:
    return value


_short = partial(require_name, error=InvalidMemory)
_share = partial(require_given_share, error=InvalidMemory)
_optional_share = partial(require_share, error=InvalidMemory)

_CHECKS: dict[str, Check] = {
    "content": _content,
    "id": _id,
    "key": _optional_name,
    "embedding": _unchecked,
    "embedding_model": _optional_text,
    "memory_type": _short,
    "additional_types": _texts,
    "memory_nature": _optional_text,
    "content_type": _optional_text,
    "tier": partial(_one_of, TIERS),
    "subject": _optional_text,
    "tags": _texts,
    "entities": _texts,
    "metadata": _metadata,
    "importance": _share,
    "usefulness": _share,
    "confidence": _share,
    "trust": _optional_share,
    "trust_provenance": _optional_share,
    "trust_consensus": _optional_share,
    "trust_governance": _optional_share,
    "trust_usage": _optional_share,
    "trust_curve": partial(_optional_one_of, TRUST_CURVES),
    "trust_half_life_hours": _hours,
    "component": _optional_text,
    "output_type": _optional_text,
    "domain": _optional_text,
    "category": _optional_text,
    "loop": _optional_text,
    "quality_score": _optional_share,
    "compliant": _optional_flag,
    "requires_approval": _flag,
    "has_errors": _flag,
    "violates_policy": _flag,
    "under_policy_review": _flag,
    "created_at": _moment,
    "observed_at": _moment,
    "valid_from": _moment,
    "valid_until": _moment,
    "expires_at": _moment,
    "tokens": _tokens,
    "session": _optional_name,
    "turn": _turn,
}

_FIELDS = fields(NewMemory)
_NAMES = tuple(field.name for field in _FIELDS)
_values = attrgetter(*_NAMES)
_DEFAULTS = tuple(field.default for field in _FIELDS)
_COMPUTED = tuple(
    field.name for field in _FIELDS if field.default is UNSET and field.name != "embedding"
)
STORED_DEFAULTS = {
    field.name: _CHECKS[field.name](field.name, field.default)
    for field in _FIELDS
    if field.default is not MISSING and field.default is not UNSET and field.name != LABELS
} | {"metadata": {}}
"""What is stored in fields that are not given, except those that are computed."""


def checked_memory(memory: NewMemory) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Checks a memory. Returns the fields not at their defaults, and the names of those that
    the database computes.

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
    return changed, tuple(name for name in _COMPUTED if name not in given)


FIELDS = frozenset(_NAMES) - {LABELS}
"""Those that are columns."""
assert _CHECKS.keys() == FIELDS, _CHECKS.keys() ^ FIELDS
