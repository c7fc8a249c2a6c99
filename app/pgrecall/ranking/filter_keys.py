"""The keys and operators of filters, and the checks of their values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from pgrecall.core.limits import (
    INVALIDATION_REASONS,
    MAX_DEPTH,
    MAX_FILTER_TEXT,
    STATUSES,
    TIERS,
    TRUST_CURVES,
)
from pgrecall.core.metadata_path import path_of
from pgrecall.core.quoting import did_you_mean, shortened
from pgrecall.core.validation import (
    require_aware,
    require_bool,
    require_id,
    require_json_object,
    require_length,
    require_number,
    require_text,
)
from pgrecall.errors import InputError, UnknownName
from pgrecall.schema.fields import FIELDS, USAGE

PROVENANCE: Final = {
    "component": "component",
    "output_type": "output_type",
    "domain": "domain",
    "category": "category",
    "loop": "loop",
    "quality_score": "quality_score",
    "constitutional_compliance": "compliant",
    "requires_approval": "requires_approval",
    "errors": "has_errors",
    "policy_violation": "violates_policy",
    "policy_review": "under_policy_review",
}
"""Keys below `provenance.`, and the column that each is."""
SIMILARITY, DECAYED_TRUST = "similarity", "decayed_trust"
COLUMNS: Final = {
    **{
        one.name: one.kind.type
        for one in FIELDS
        if one.shown and one.name not in {*PROVENANCE.values(), "metadata"}
    },
    SIMILARITY: "float8",
    DECAYED_TRUST: "float8",
    "embedding": "vector",
}
"""Each key that is not a path or a group, with its type in SQL."""
COMPUTED: Final = frozenset({SIMILARITY, DECAYED_TRUST, *(one.name for one in USAGE)})
"""Keys that are no columns of agent_memories."""
_KEYS: Final = {
    **{name: (name, kind) for name, kind in COLUMNS.items()},
    **{
        f"provenance.{key}": (name, next(one.kind.type for one in FIELDS if one.name == name))
        for key, name in PROVENANCE.items()
    },
}
_WORDS: Final = {
    "status": STATUSES,
    "tier": TIERS,
    "trust_curve": TRUST_CURVES,
    "invalidation_reason": INVALIDATION_REASONS,
}
GROUPS: Final = {"$and": "$and", "$or": "$or", "$not": "$not"} | {
    word: f"${word.lower()}" for word in ("AND", "OR", "NOT")
}
"""How groups are written, also as mem0 does."""
SAME, AMONG, ORDERED = ("$eq", "$ne"), ("$in", "$nin"), ("$gt", "$gte", "$lt", "$lte")
ALIKE = ("$like", "$ilike")
_NUMBERS = (*SAME, *ORDERED, "$between", *AMONG, "$exists")
OPERATORS: Final = {
    "text": (*_NUMBERS, *ALIKE),
    "float8": _NUMBERS,
    "integer": _NUMBERS,
    "timestamptz": _NUMBERS,
    "uuid": (*SAME, *AMONG, "$exists"),
    "boolean": (*SAME, *AMONG, "$exists"),
    "text[]": (*SAME, *AMONG, "$all", "$exists"),
    "jsonb": (*_NUMBERS, "$all", *ALIKE),
    "vector": ("$exists",),
}
"""What applies to a column of each type; jsonb is a value in metadata."""
MATCH: Final = "$match"


def column_of(key: str) -> tuple[str, str]:
    """The column that a key reads, and its type."""
    if key in _KEYS:
        return _KEYS[key]
    if key.startswith("metadata."):
        require_length(
            f"filter: {shortened(key)}", require_text("filter: a key", key), MAX_FILTER_TEXT
        )
        if len(path := path_of(key)) > MAX_DEPTH or not all(path):
            raise InputError(
                f"filter: {shortened(key)} must have 1 to {MAX_DEPTH - 1} keys behind metadata, "
                "divided by dots, none of them empty"
            )
        return "metadata", "jsonb"
    if key == "metadata":
        raise InputError("filter: name a key of metadata, as in metadata.project")
    if key.startswith("$"):
        hint = did_you_mean([key], ["$and", "$or", "$not"])
        raise UnknownName(
            f"filter: unknown operator {shortened(key)}{hint}; it takes $and, $or, $not"
        )
    hint = did_you_mean([key], [*_KEYS])
    for name, column in PROVENANCE.items():
        if key in (name, column):
            hint = f" (did you mean provenance.{name}?)"
    raise UnknownName(
        f"filter: unknown key {shortened(key)}{hint}; keys are columns of a memory, "
        "metadata.<path>, provenance.<key>, similarity, decayed_trust, $and, $or and $not"
    )


def on_metadata(given: Any, path: str = "metadata") -> Any:
    """A filter of LangChain or LangGraph as ours: its keys are those of the object at `path`, a dot
    being a part of a key, and an object in it is compared by its own keys."""
    if not isinstance(given, Mapping):
        return given
    ours: dict[Any, Any] = {}
    for key, value in given.items():
        if not isinstance(key, str) or key.startswith("$"):
            ours[key] = (
                on_metadata(value, path)
                if not isinstance(value, list | tuple)
                else [on_metadata(one, path) for one in value]
            )
            continue
        within = path + "." + key.replace("\\", "\\\\").replace(".", "\\.")
        if not isinstance(value, Mapping) or not value:
            ours[within] = {"$eq": value}
        elif any(str(name).startswith("$") for name in value):
            ours[within] = value
        else:
            ours |= on_metadata(value, within)
    return ours


def require_operator(key: str, type_: str, operator: object) -> None:
    allowed = (*OPERATORS[type_], MATCH) if key == "content" else OPERATORS[type_]
    if operator in allowed:
        return
    known = {one for several in OPERATORS.values() for one in several} | {MATCH}
    if operator in known:
        raise InputError(f"filter: {key}: {operator} does not apply; it takes {', '.join(allowed)}")
    hint = did_you_mean([operator], allowed)
    as_value = (
        "; to compare with an object, write {'$eq': …}" if type_ == "jsonb" and not hint else ""
    )
    raise UnknownName(
        f"filter: {key}: unknown operator {shortened(operator)}{hint}; "
        f"it takes {', '.join(allowed)}{as_value}"
    )


def bound_value(what: str, column: str, type_: str, operator: str, value: Any) -> Any:
    """One value as it is bound."""
    if operator in ALIKE:
        return _pattern(what, value)
    match type_:
        case "text" | "text[]":
            text = require_length(what, require_text(what, value), MAX_FILTER_TEXT)
            if column in _WORDS and text not in _WORDS[column]:
                hint = did_you_mean([text], _WORDS[column])
                known = ", ".join(_WORDS[column])
                raise UnknownName(f"{what}: unknown {shortened(text)}{hint}; known are {known}")
            return text
        case "float8" | "integer":
            return require_number(what, value, -1e300, 1e300)
        case "timestamptz":
            return _moment(what, value)
        case "uuid":
            return require_id(value, what)
        case "boolean":
            return require_bool(what, value)
    if operator in ORDERED and (
        isinstance(value, bool) or not isinstance(value, int | float | str)
    ):
        raise InputError(f"{what} takes a number or a text, got {shortened(value)}")
    require_json_object(what, {"value": value})
    return value


def _pattern(what: str, value: object) -> str:
    text = require_length(what, require_text(what, value), MAX_FILTER_TEXT)
    if (len(text) - len(text.rstrip("\\"))) % 2:
        raise InputError(f"{what} must not end with a backslash that escapes nothing")
    return text


def _moment(what: str, value: object) -> datetime:
    """A datetime, or the text of one in ISO 8601."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InputError(
                f"{what} takes a time such as 2026-01-31T12:00:00+00:00, got {shortened(value)}"
            ) from None
    moment: datetime | None = require_aware(what, value)
    if moment is None:
        raise InputError(f"{what} takes a time, got None")
    return moment
