"""Checks of a caller's arguments.

Each raises InputError, or the subclass passed as `error`, with the name and the value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from datetime import datetime, timedelta
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any
from uuid import UUID

from pgrecall.core.dates import Period, require_language
from pgrecall.core.limits import (
    EARLIEST,
    LATEST,
    LONGEST_DURATION,
    MAX_DEPTH,
    MAX_METADATA,
    MAX_NAME_LENGTH,
    MAX_QUERY_LENGTH,
    MAX_TEXT_LENGTH,
    MAX_VALUES,
    SMALLEST_SHARE,
    is_blank,
    is_storable,
)
from pgrecall.core.quoting import cut, shortened
from pgrecall.errors import InputError, UnknownName


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
    """Text that is neither empty nor too long."""
    text = require_length("the query", require_text("the query", value), MAX_QUERY_LENGTH)
    if is_blank(text):
        raise InputError("the query is empty")
    return text


def require_length(
    name: str, text: str, most: int = MAX_TEXT_LENGTH, *, error: type[InputError] = InputError
) -> str:
    """Text of at most so many characters."""
    if len(text) > most:
        raise error(f"{name} may have at most {most:,} characters, got {len(text):,}: shorten it")
    return text


def require_shown(name: str, value: object, *, error: type[InputError] = InputError) -> str:
    """Text that shows something, of at most MAX_TEXT_LENGTH characters."""
    text = require_length(name, require_text(name, value, error=error), error=error)
    if is_blank(text):
        raise error(f"{name} must not be blank, got {shortened(text)}: leave it out")
    return text


def require_name(name: str, value: object, *, error: type[InputError] = InputError) -> str:
    """Text of 1 to MAX_NAME_LENGTH characters."""
    text = require_text(name, value, error=error)
    if not text:
        raise error(f"{name} must not be empty")
    if is_blank(text):
        raise error(f"{name} must not be blank, got {shortened(text)}")
    if len(text) > MAX_NAME_LENGTH:
        raise error(f"{name} may have at most {MAX_NAME_LENGTH} characters, got {len(text)}")
    return text


def require_texts(
    name: str, values: object, *, error: type[InputError] = InputError
) -> Sequence[str] | None:
    """A list of texts; None passes."""
    if values is None:
        return None
    several = require_few(name, values, error=error)
    for value in several:
        if not is_storable(value):
            require_text(f"{name}: {shortened(value)}", value, error=error)
        require_length(f"a text of {name}", value, error=error)
    return several if isinstance(several, Sequence) else sorted(several)


def require_few(
    name: str, values: object, *, error: type[InputError] = InputError
) -> Sequence[Any] | Set[Any]:
    """A list or set of at most MAX_VALUES values."""
    if isinstance(values, str) or not isinstance(values, Sequence | Set):
        raise error(f"{name} must be a list of texts, got {type(values).__name__}")
    if len(values) > MAX_VALUES:
        raise error(f"{name} may have at most {MAX_VALUES:,} texts, got {len(values):,}")
    return values


def require_aware(name: str, value: Any, *, error: type[InputError] = InputError) -> Any:
    """A datetime with a time zone; None passes."""
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise error(f"{name} must be a datetime, got {type(value).__name__}")
    if value.utcoffset() is None:
        raise error(
            f"{name} has no time zone: {value.isoformat()}; add one, such as +00:00 or "
            "datetime.now(timezone.utc), or say by `timezone` in which it is"
        )
    if not EARLIEST <= value <= LATEST:
        raise error(
            f"{name} must lie within {EARLIEST:%Y-%m-%d} and {LATEST:%Y-%m-%d}, got {value}"
        )
    return value


def require_period(name: str, value: object) -> Period | str | None:
    """A period, or the language in which to find it; None passes."""
    return require_language(name, value) if isinstance(value, str) else require_ends(name, value)


def require_ends(name: str, value: object) -> Period | None:
    """A pair of datetimes, start and end, the end being later; None passes."""
    if value is None:
        return None
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise InputError(f"{name} must be two datetimes, from and to, got {shortened(value)}")
    start, end = value
    for moment in (start, end):
        if moment is None:
            raise InputError(f"{name} must be two datetimes, from and to, got {shortened(value)}")
        require_aware(name, moment)
    if not start < end:
        raise InputError(f"{name} must end after it begins, got {start} to {end}")
    return start, end


def require_number(
    name: str,
    value: object,
    least: float,
    most: float,
    *,
    units: str = "",
    error: type[InputError] = InputError,
) -> float:
    """A number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise error(f"{name} must be a number, got {type(value).__name__} {shortened(value)}")
    number = Fraction(value) if isinstance(value, Rational) else float(value)
    if not least <= number <= most:
        raise error(f"{name} must lie within {least:,} and {most:,}{units}, got {shortened(value)}")
    return float(number)


def require_share(
    name: str, value: object, *, error: type[InputError] = InputError
) -> float | None:
    """A number in [0, 1]; numbers below SMALLEST_SHARE become 0. None passes."""
    if value is None:
        return None
    share = require_number(name, value, 0, 1, error=error)
    return 0.0 if share < SMALLEST_SHARE else share


def require_given_share(name: str, value: object, *, error: type[InputError] = InputError) -> float:
    """Like `require_share`, but None is refused."""
    share = require_share(name, value, error=error)
    if share is None:
        raise error(f"{name} must be a number, got None")
    return share


def require_diversity(value: float) -> float:
    """A share below 1; raises InputError."""
    share = require_given_share("diversity", value)
    if share == 1:
        raise InputError("diversity must be less than 1; with 1 the score would not count")
    return share


def require_hours(name: str, value: object) -> float:
    """A duration in hours, at most a thousand years."""
    return require_number(name, value, 0, LONGEST_DURATION // timedelta(hours=1), units=" hours")


def require_seconds(name: str, value: object) -> float | None:
    """A duration in seconds, at most a thousand years; None passes."""
    if value is None:
        return None
    longest = LONGEST_DURATION // timedelta(seconds=1)
    return require_number(name, value, 0, longest, units=" seconds")


def require_duration(name: str, value: object) -> float:
    """Converts a timedelta of at most a thousand years to hours."""
    if not isinstance(value, timedelta):
        raise InputError(
            f"{name} must be a timedelta, got {type(value).__name__} {shortened(value)}"
        )
    if not timedelta(0) <= value <= LONGEST_DURATION:
        raise InputError(f"{name} must lie within 0 and {LONGEST_DURATION.days} days, got {value}")
    return value / timedelta(hours=1)


def require_json_object(
    name: str, value: object, *, error: type[InputError] = InputError
) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise error(f"{name} must be a JSON object, got {type(value).__name__}")
    if _is_deep(value):
        raise error(f"{name} may be nested at most {MAX_DEPTH} levels deep")
    try:
        size = len(json.dumps(dict(value), allow_nan=False, ensure_ascii=False))
        _require_json_texts(name, value, error)
    except InputError:
        raise
    except (TypeError, ValueError, RecursionError) as problem:
        raise error(f"{name} cannot be written as JSON: {cut(str(problem))}") from None
    if size > MAX_METADATA:
        raise error(
            f"{name} has {size:,} characters of JSON, at most {MAX_METADATA:,} are stored; "
            "store large values elsewhere"
        )
    return value


def _items(value: object) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _is_deep(value: object) -> bool:
    """True if lists and objects are nested more than MAX_DEPTH levels deep."""
    level: dict[int, object] = {id(value): value}
    for _ in range(MAX_DEPTH):
        level = {  # each once, whatever it is a part of
            id(item): item
            for one in level.values()
            for item in _items(one)
            if isinstance(item, Mapping | list | tuple)
        }
        if not level:
            return False
    return True


def require_few_values(name: str, value: object) -> None:
    """JSON of at most MAX_VALUES values, however nested; stops at the first one more."""
    values, met, waiting = 0, 0, [value]
    while waiting:
        one = waiting.pop()
        met += 1  # lists and objects too: one may contain itself
        if isinstance(one, Mapping | list | tuple):
            waiting += _items(one)
        else:
            values += 1
        if values > MAX_VALUES or met > MAX_DEPTH * MAX_VALUES:
            raise InputError(f"{name} may have at most {MAX_VALUES:,} values")


def _require_json_texts(name: str, value: object, error: type[InputError]) -> None:
    problem = _fault(value)
    if problem is None:
        return
    fault, keys = problem
    path = "".join(f"[{shortened(key, 40)}]" for key in reversed(keys))
    where = f"{name}{cut(path, 100)}"
    if not isinstance(fault, str):
        raise error(
            f"{where}: a key of a JSON object must be text, got {type(fault).__name__} "
            f"{shortened(fault)}"
        )
    require_text(where, fault, error=error)


def _fault(value: object) -> tuple[object, list[object]] | None:
    """The first key or text in a JSON value that PostgreSQL cannot store, and the path to it.

    The path lists keys from the inside out.
    """
    if isinstance(value, str):
        return None if is_storable(value) else (value, [])
    items: Iterable[tuple[object, object]] = ()
    if isinstance(value, Mapping):
        items = value.items()
        for key in value:
            if not is_storable(key):
                return key, [key]
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    for key, item in items:
        if (problem := _fault(item)) is not None:
            problem[1].append(key)
            return problem
    return None


def in_list(values: object) -> list[Any] | None:
    """The values of an iterable as a list; None for texts and for what is not iterable."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        return None
    try:
        iterator = iter(values)
    except TypeError:  # such as a NumPy array of zero dimensions
        return None
    return list(iterator)


def require_id(
    value: object, name: str = "a memory's id", *, error: type[InputError] = InputError
) -> UUID:
    """A UUID, or the text of one."""
    if isinstance(value, UUID):
        return value
    if isinstance(value, str):
        with suppress(ValueError):
            return UUID(value)
    raise error(f"{name} must be a UUID, or one as text, got {shortened(value)}")


def require_ids(memory_ids: object) -> list[UUID]:
    """One id or several, as a sorted list without duplicates."""
    several = in_list(memory_ids)
    return sorted(set(map(require_id, [memory_ids] if several is None else several)))


def require_one_of(
    name: str, value: object, known: Iterable[str], *, error: type[InputError] = UnknownName
) -> str:
    """One of the `known` texts."""
    words = tuple(known)
    if not isinstance(value, str) or value not in words:
        raise error(f"unknown {name} {shortened(value)}; known are {', '.join(words)}")
    return words[words.index(value)]


def require_callable(name: str, value: object) -> None:
    """A callable; None passes."""
    if value is not None and not callable(value):
        raise InputError(f"{name} must be a function, got {shortened(value)}")


def require_schema_name(name: object) -> str:
    """The name of a schema that needs no quotes and is not reserved by PostgreSQL."""
    if not isinstance(name, str) or not re.fullmatch(r"(?!pg_)[a-z_][a-z0-9_]{0,62}", name):
        raise InputError(
            "a schema name has at most 63 lower-case letters, digits and _, and does not start "
            f"with a digit or pg_; got {shortened(name)}"
        )
    return name


def require_bool(name: str, value: object, *, error: type[InputError] = InputError) -> bool:
    if not isinstance(value, bool):
        raise error(f"{name} must be True or False, got {shortened(value)}")
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
        raise error(f"{name} must be a whole number, got {shortened(value)}")
    number = int(value)
    if not at_least <= number <= at_most:
        raise error(f"{name} must lie within {at_least} and {at_most}, got {shortened(number)}")
    return number
