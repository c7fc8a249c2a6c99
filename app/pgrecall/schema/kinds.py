"""The kinds of a memory's fields: their type, and what a value may be, in Python and in the table.

Each check returns the value as it is stored, and raises InvalidMemory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from pgrecall.core.limits import (
    EARLIEST,
    LATEST,
    MAX_CONTENT_BYTES,
    MAX_NAME_LENGTH,
    MAX_TURN,
    SMALLEST_SHARE,
    is_blank,
)
from pgrecall.core.quoting import shortened
from pgrecall.core.validation import (
    require_aware,
    require_bool,
    require_count,
    require_given_share,
    require_id,
    require_json_object,
    require_name,
    require_one_of,
    require_shown,
    require_text,
    require_texts,
)
from pgrecall.errors import InvalidMemory

Check = Callable[[str, Any], Any]


class Kind(NamedTuple):
    """A kind of field."""

    type: str
    """Its type in SQL, as an argument of a function."""
    check: Check
    """Checks a value that is not None."""
    condition: str | None = None
    """The CHECK constraint, with {} for the field."""
    default: str | None = None


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


def _texts(name: str, value: Any) -> list[str]:
    texts = require_texts(name, value, error=InvalidMemory)
    if texts is None:
        raise InvalidMemory(f"{name} must be a list of texts, got None")
    for text in texts:
        require_shown(name, text, error=InvalidMemory)
    return list(texts)


def _hours(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-3 <= value <= 1e9:
        raise InvalidMemory(f"{name} must lie within 0.001 and 1e9 hours, got {shortened(value)}")
    return float(value)


def _metadata(name: str, value: Any) -> dict[str, Any]:
    return dict(require_json_object(name, value, error=InvalidMemory))


def _moment(name: str, value: Any) -> Any:
    require_aware(name, value, error=InvalidMemory)
    return value


def _id(name: str, value: Any) -> UUID | None:
    return None if value is None else require_id(value, name, error=InvalidMemory)


def _one_of(known: Sequence[str], name: str, value: Any) -> str:
    return require_one_of(name, value, known, error=InvalidMemory)


def unchecked(name: str, value: Any) -> Any:
    return value


def optional(check: Check) -> Check:
    """The check for a field that may be None."""

    def checked(name: str, value: Any) -> Any:
        return None if value is None else check(name, value)

    return checked


def one_of(known: Sequence[str]) -> Kind:
    """One of these words."""
    listed = ", ".join(repr(word) for word in known)
    return Kind("text", partial(_one_of, known), f"{{}} IN ({listed})")


def count(most: int = MAX_TURN, condition: str = "{} >= 0") -> Kind:
    """A whole number that is not negative."""
    check = partial(require_count, at_least=0, at_most=most, error=InvalidMemory)
    return Kind("integer", check, condition)


ID = Kind("uuid", _id)
CONTENT = Kind("text", _content, f"{{}} <> '' AND octet_length({{}}) <= {MAX_CONTENT_BYTES}")
NAME = Kind(
    "text",
    partial(require_name, error=InvalidMemory),
    f"{{}} <> '' AND length({{}}) <= {MAX_NAME_LENGTH}",
)
TEXT = Kind("text", partial(require_shown, error=InvalidMemory))
TEXTS = Kind("text[]", _texts, default="'{}'::text[]")
SHARE = Kind(
    "float8",
    partial(require_given_share, error=InvalidMemory),
    f"{{}} = 0 OR {{}} BETWEEN '{SMALLEST_SHARE:g}'::float8 AND 1",
)
HOURS = Kind("float8", _hours, "{} BETWEEN '1e-3'::float8 AND '1e9'::float8")
MOMENT = Kind("timestamptz", _moment, f"{{}} BETWEEN '{EARLIEST}' AND '{LATEST}'")
ANSWER = Kind("boolean", partial(require_bool, error=InvalidMemory))
FLAG = ANSWER._replace(default="false")
METADATA = Kind("jsonb", _metadata, "jsonb_typeof({}) = 'object'", "'{}'::jsonb")
EMBEDDING = Kind("agent_memories.embedding%TYPE", unchecked)
BIGINT, BYTES, DOUBLE, INTEGER, JSON = (
    Kind(type_, unchecked) for type_ in ("bigint", "bytea", "float8", "integer", "jsonb")
)
"""Kinds of columns whose values callers do not give."""
TEXT_OF_JSON = Kind("json", unchecked)
"""JSON whose keys keep their order."""
