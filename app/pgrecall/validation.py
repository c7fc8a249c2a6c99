"""Checks on values that a caller hands in.

Each raises InputError naming the value, or the subclass passed as `error`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pgrecall.errors import InputError
from pgrecall.schema.tables import EARLIEST, LATEST, MAX_NAME_LENGTH, SMALLEST_SHARE


def require_text(name: str, value: object, *, error: type[InputError] = InputError) -> str:
    """A str that PostgreSQL can hold: no NUL, no lone surrogate."""
    if not isinstance(value, str):
        raise error(f"{name} must be text, got {type(value).__name__}")
    if "\0" in value:
        raise error(
            f"{name} contains a NUL character at position {value.index(chr(0))}, which "
            "PostgreSQL cannot store; remove it"
        )
    try:
        value.encode()
    except UnicodeEncodeError as problem:
        raise error(
            f"{name} contains a lone surrogate at position {problem.start}, which is not text"
        ) from None
    return value


def require_name(name: str, value: object, *, error: type[InputError] = InputError) -> str:
    """A short text that is not empty."""
    text = require_text(name, value, error=error)
    if not text:
        raise error(f"{name} must not be empty")
    if len(text) > MAX_NAME_LENGTH:
        raise error(f"{name} may have at most {MAX_NAME_LENGTH} characters, got {len(text)}")
    return text


def require_texts(
    name: str, values: object, *, error: type[InputError] = InputError
) -> Sequence[str] | None:
    if values is None:
        return None
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise error(f"{name} must be a list of texts, got {type(values).__name__}")
    for value in values:
        require_text(f"{name}: {value!r:.60}", value, error=error)
    return values


def require_aware(
    name: str, value: datetime | None, *, error: type[InputError] = InputError
) -> None:
    """A moment, not a wall-clock reading; None passes."""
    if value is None:
        return
    if not isinstance(value, datetime):
        raise error(f"{name} must be a datetime, got {type(value).__name__}")
    if value.utcoffset() is None:
        raise error(
            f"{name} has no time zone: {value.isoformat()}; "
            "give one, for example datetime.now(timezone.utc)"
        )
    if not EARLIEST <= value <= LATEST:
        raise error(
            f"{name} must lie within {EARLIEST:%Y-%m-%d} and {LATEST:%Y-%m-%d}, got {value}"
        )


def require_share(
    name: str, value: object, *, error: type[InputError] = InputError
) -> float | None:
    """A number in [0, 1], with what is too small to compute with flushed to 0; None passes."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise error(f"{name} must be a number, got {type(value).__name__}")
    if not 0 <= value <= 1:
        raise error(f"{name} must lie within 0 and 1, got {value}")
    return 0.0 if value < SMALLEST_SHARE else float(value)


def require_json_object(
    name: str, value: object, *, error: type[InputError] = InputError
) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise error(f"{name} must be a JSON object, got {type(value).__name__}")
    try:
        json.dumps(dict(value), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise error(f"{name} cannot be written as JSON: {problem}") from None
    _require_json_texts(name, value, error)
    return value


def _require_json_texts(name: str, value: object, error: type[InputError]) -> None:
    if isinstance(value, str):
        require_text(name, value, error=error)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _require_json_texts(f"{name}: key {key!r:.60}", key, error)
            _require_json_texts(f"{name}[{key!r:.60}]", item, error)
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            _require_json_texts(f"{name}[{position}]", item, error)


def require_count(name: str, value: object, *, at_least: int, at_most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{name} must be a whole number, got {value!r}")
    if not at_least <= value <= at_most:
        raise InputError(f"{name} must lie within {at_least} and {at_most}, got {value}")
    return value
