"""Checks on values that a caller hands in.

Each raises InputError naming the value, or the subclass passed as `error`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime, timedelta
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any
from uuid import UUID

from pgrecall.errors import InputError
from pgrecall.schema import TEAM, Tables
from pgrecall.schema.limits import EARLIEST, LATEST, MAX_NAME_LENGTH
from pgrecall.signals import MAX_QUERY_ENTITIES, SMALLEST_SHARE

LONGEST_DURATION = timedelta(days=365_250)


def shown(value: object) -> str:
    """A value in an error message, cut off."""
    try:
        return f"{value!r:.80}"
    except ValueError:  # Python writes no whole number of more than some thousand digits
        return f"{type(value).__name__} with too many digits to be shown"


def require_owner(tables: Tables, agent_id: object, name: str = "agent_id") -> str:
    """The id of an agent or a team as it is stored; a team's that is stored already passes."""
    if tables.prefix and isinstance(agent_id, str):
        agent_id = agent_id.removeprefix(tables.prefix)
    owner_id = tables.prefix + require_name(name, agent_id)
    if owner_id.startswith(TEAM) and not tables.prefix:
        raise InputError(
            f"{name} must not begin with {TEAM!r}, got {shown(owner_id)}: work on the memories "
            "of teams through `repository.teams`, which takes their ids without it"
        )
    return owner_id


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


def require_query(value: object) -> str:
    """What is asked, as text that is not empty."""
    text = require_text("the query", value)
    if not text.strip():
        raise InputError("the query is empty")
    return text


def require_query_entities(values: object) -> list[str] | None:
    """The entities of a query, each once; None passes."""
    given = require_texts("query_entities", values)
    if given is None:
        return None
    entities = list(dict.fromkeys(given))
    if len(entities) > MAX_QUERY_ENTITIES:
        raise InputError(
            f"query_entities may hold at most {MAX_QUERY_ENTITIES}, got {len(entities)}"
        )
    return entities


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
    if isinstance(values, str) or not isinstance(values, Sequence | Set):
        raise error(f"{name} must be a list of texts, got {type(values).__name__}")
    for value in values:
        require_text(f"{name}: {value!r:.60}", value, error=error)
    return values if isinstance(values, Sequence) else sorted(values)


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
    if isinstance(value, bool) or not isinstance(value, Real):
        raise error(f"{name} must be a number, got {type(value).__name__} {value!r:.60}")
    number = Fraction(value) if isinstance(value, Rational) else float(value)
    if not 0 <= number <= 1:
        raise error(f"{name} must lie within 0 and 1, got {value!s:.80}")
    return 0.0 if number < SMALLEST_SHARE else float(number)


def require_given_share(name: str, value: object, *, error: type[InputError] = InputError) -> float:
    """As `require_share`, but None does not pass."""
    share = require_share(name, value, error=error)
    if share is None:
        raise error(f"{name} must be a number, got None")
    return share


def require_change(name: str, value: object) -> float:
    """A number in [-1, 1]: by how much a share is to change."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} must be a number, got {type(value).__name__} {value!r:.60}")
    number = Fraction(value) if isinstance(value, Rational) else float(value)
    if not -1 <= number <= 1:
        raise InputError(f"{name} must lie within -1 and 1, got {value!s:.80}")
    return float(number)


def require_hours(name: str, value: object) -> float:
    """A length of time of at most a thousand years, in hours."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{name} must be a number, got {type(value).__name__} {value!r:.60}")
    longest = LONGEST_DURATION / timedelta(hours=1)
    number = Fraction(value) if isinstance(value, Rational) else float(value)
    if not 0 <= number <= longest:
        raise InputError(f"{name} must lie within 0 and {longest:,.0f} hours, got {value!s:.60}")
    return float(number)


def require_duration(name: str, value: object) -> float:
    """A length of time of at most a thousand years, as hours."""
    if not isinstance(value, timedelta):
        raise InputError(f"{name} must be a timedelta, got {type(value).__name__} {value!r:.60}")
    if not timedelta(0) <= value <= LONGEST_DURATION:
        raise InputError(f"{name} must lie within 0 and {LONGEST_DURATION.days} days, got {value}")
    return value / timedelta(hours=1)


def require_json_object(
    name: str, value: object, *, error: type[InputError] = InputError
) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise error(f"{name} must be a JSON object, got {type(value).__name__}")
    try:
        json.dumps(dict(value), allow_nan=False)
        _require_json_texts(name, value, error)
    except InputError:
        raise
    except (TypeError, ValueError, RecursionError) as problem:
        raise error(f"{name} cannot be written as JSON: {problem}") from None
    return value


def _require_json_texts(name: str, value: object, error: type[InputError]) -> None:
    if isinstance(value, str):
        require_text(name, value, error=error)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if not isinstance(key, str):
                raise error(
                    f"{name}: a key of a JSON object is text, got {type(key).__name__} {key!r:.60}"
                )
            _require_json_texts(f"{name}: key {key!r:.60}", key, error)
            _require_json_texts(f"{name}[{key!r:.60}]", item, error)
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            _require_json_texts(f"{name}[{position}]", item, error)


def require_ids(memory_ids: object) -> list[UUID]:
    """One id or several, each once and in the order of the key."""
    several = [memory_ids] if isinstance(memory_ids, UUID) else memory_ids
    if isinstance(several, str) or not isinstance(several, Iterable):
        raise InputError(f"a memory's id is a uuid.UUID, got {several!r:.80}")
    ids = list(several)
    for memory_id in ids:
        if not isinstance(memory_id, UUID):
            raise InputError(f"a memory's id is a uuid.UUID, got {memory_id!r:.80}")
    return sorted(set(ids))


def require_bool(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{name} must be True or False, got {value!r:.80}")
    return value


def require_count(
    name: str,
    value: object,
    *,
    at_least: int,
    at_most: int,
    error: type[InputError] = InputError,
) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise error(f"{name} must be a whole number, got {shown(value)}")
    number = int(value)
    if not at_least <= number <= at_most:
        raise error(f"{name} must lie within {at_least} and {at_most}, got {shown(number)}")
    return number
