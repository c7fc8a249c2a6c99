"""What values may be, for the OpenAPI document only: the repository checks, and says what is wrong.

A bound beside `anyOf` holds for the type that it is about, so NULL still passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pgrecall.context.styles import STYLES
from pgrecall.core import limits
from pgrecall.core.checks import SHARE, Count, Texts, arguments_of
from pgrecall.core.memory import TEAM
from pgrecall.core.tokens import MAX_TOKENS
from pgrecall.memories.ordering import sortable
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.schema import tables
from pgrecall.scoring.profiles import BUILT_IN

Bounds = dict[str, Any]

_BLANK = "".join(f"\\u{ord(one):04x}" for one in limits.BLANK)
COMPONENTS: dict[str, Bounds] = {
    "Shown": {"description": "A text that shows something.", "pattern": f"[^{_BLANK}]"}
}
"""Schemas that bounds refer to, since they are long."""
_SHOWN: Bounds = {"minLength": 1, "allOf": [{"$ref": "#/components/schemas/Shown"}]}


def _length(most: int) -> Bounds:
    return {**_SHOWN, "maxLength": most}


_SHARES = (
    *("importance", "usefulness", "confidence", "quality_score", "near_duplicates"),
    *("trust", "trust_provenance", "trust_consensus", "trust_governance", "trust_usage"),
    "max_similarity",
)
_NAMES = ("key", "memory_type", "session", "actor", "run")
_TEXTS = (
    *("embedding_model", "memory_nature", "content_type", "subject"),
    *("component", "output_type", "domain", "category", "loop"),
)
_ARGUMENTS = arguments_of(SearchArguments)
_COLUMNS = "|".join(sortable(tables()))
BOUNDS: dict[str, Bounds] = {
    **{name: one.schema for name, one in _ARGUMENTS.items() if one.schema},
    **dict.fromkeys(_SHARES, SHARE.schema),
    **dict.fromkeys(_NAMES, _length(limits.MAX_NAME_LENGTH)),
    **dict.fromkeys(_TEXTS, _length(limits.MAX_TEXT_LENGTH)),
    "additional_types": Texts().schema,
    "owner": _length(limits.MAX_NAME_LENGTH + len(TEAM)),
    "content": _length(limits.MAX_CONTENT_BYTES),
    "query": _length(limits.MAX_QUERY_LENGTH),
    "after": _SHOWN,
    "order": {"items": {"type": "string", "pattern": f"^-?({_COLUMNS})$"}},
    "tier": {"enum": [*limits.TIERS]},
    "trust_curve": {"enum": [*limits.TRUST_CURVES, None]},
    "style": {"enum": [*STYLES]},
    "profile": {"enum": [*BUILT_IN, None]},
    "trust_half_life_hours": {"minimum": 0.001, "maximum": 1e9},
    "diversity": {"minimum": 0, "exclusiveMaximum": 1},
    **dict.fromkeys(("max_skips", "consider"), Count(1, limits.MAX_CONSIDERED).schema),
    "tokens": {"minimum": 0, "maximum": MAX_TOKENS},
    "turn": {"minimum": 0, "maximum": limits.MAX_TURN},
}
"""Argument or field → what is true of every value that is accepted."""

_CALLED = {"embedding": ("query", "embedding")}
_NEEDS: dict[str, Sequence[str]] = {
    "turn": ("session",),
    **{
        name: [field for other in one.needs.names for field in _CALLED.get(other, (other,))]
        for name, one in _ARGUMENTS.items()
        if one.needs is not None
    },
}
"""Field → fields of which it needs one; the repository checks it where it uses them."""


def rules(fields: Iterable[str]) -> Bounds:
    """What is true of the fields of a body together. NULL is no value, and 0 turns are none."""
    given = {*fields}
    found = [
        {"anyOf": [_is_null(name), *map(_is_given, others)]}
        for name, others in _NEEDS.items()
        if name in given
    ]
    if {"id", "key"} <= given:
        found.append({"anyOf": [_is_null("id"), _is_null("key")]})
    return {"allOf": found} if found else {}


def _is_null(name: str) -> Bounds:
    """The field is NULL or left out."""
    return {"properties": {name: {"type": "null"}}}


def _is_given(name: str) -> Bounds:
    return {"required": [name], "properties": {name: {"not": {"enum": [None, 0]}}}}
