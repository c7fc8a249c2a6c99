"""Bounds of values, for the OpenAPI document only: the repository checks, and says what is wrong.

A bound beside `anyOf` holds for the type that it is about, so NULL still passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pgrecall.context.styles import STYLES
from pgrecall.core import checks, limits
from pgrecall.core.checks import Count, Texts, arguments_of
from pgrecall.core.memory import TEAM
from pgrecall.core.tokens import MAX_TOKENS
from pgrecall.memories.ordering import SORTABLE
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.schema.fields import NEW
from pgrecall.schema.kinds import CONTENT, HOURS, NAME, SHARE, TEXT, TEXTS, Kind

Bounds = dict[str, Any]

_BLANK = "".join(f"\\u{ord(one):04x}" for one in limits.BLANK)
COMPONENTS: dict[str, Bounds] = {
    "Shown": {"description": "A text that shows something.", "pattern": f"[^{_BLANK}]"}
}
"""Schemas that bounds refer to, since they are long."""
SHOWN = [{"$ref": "#/components/schemas/Shown"}]
_SHOWN: Bounds = {"minLength": 1, "allOf": SHOWN}


def _length(most: int) -> Bounds:
    return {**_SHOWN, "maxLength": most}


_NAMES = ("actor", "run")
_ARGUMENTS = arguments_of(SearchArguments)
_COLUMNS = "|".join(SORTABLE)
_NAME = _length(limits.MAX_NAME_LENGTH)
_OF_KIND: dict[Kind, Bounds] = {
    CONTENT: _length(limits.MAX_CONTENT_BYTES),
    HOURS: {"minimum": 0.001, "maximum": 1e9},
    NAME: _NAME,
    SHARE: checks.SHARE.schema,
    TEXT: _length(limits.MAX_TEXT_LENGTH),
    TEXTS: Texts().schema,
}
BOUNDS: dict[str, Bounds] = {
    **{name: one.schema for name, one in _ARGUMENTS.items() if one.schema},
    **{field.name: _OF_KIND[field.kind] for field in NEW if field.kind in _OF_KIND},
    **dict.fromkeys(("near_duplicates", "max_similarity"), checks.SHARE.schema),
    **dict.fromkeys(_NAMES, _NAME),
    "owner": _length(limits.MAX_NAME_LENGTH + len(TEAM)),
    "teams": Texts().schema,
    "query": _length(limits.MAX_QUERY_LENGTH),
    "after": _SHOWN,
    "order": {"items": {"type": "string", "pattern": f"^-?({_COLUMNS})$"}},
    "tier": {"enum": [*limits.TIERS]},
    "trust_curve": {"enum": [*limits.TRUST_CURVES, None]},
    "style": {"enum": [*STYLES]},
    "diversity": {"minimum": 0, "exclusiveMaximum": 1},
    "consider": Count(1, limits.MAX_CONSIDERED).schema,
    "tokens": {"minimum": 0, "maximum": MAX_TOKENS},
    "turn": {"minimum": 0, "maximum": limits.MAX_TURN},
}
"""Argument or field → what is true of every value that is accepted."""

_NEEDS: dict[str, Sequence[str]] = {
    "turn": ("session",),
    **{name: one.needs.names for name, one in _ARGUMENTS.items() if one.needs is not None},
}
"""Field → fields of which it needs one; the repository checks it where it uses them."""


def rules(fields: Iterable[str]) -> Bounds:
    """Rules for the fields of a body together. NULL is no value, and 0 turns are none."""
    names = {*fields}
    conditions = [
        {"anyOf": [_is_null(name), *map(_is_present, others)]}
        for name, others in _NEEDS.items()
        if name in names
    ]
    if {"id", "key"} <= names:
        conditions.append({"anyOf": [_is_null("id"), _is_null("key")]})
    return {"allOf": conditions} if conditions else {}


def _is_null(name: str) -> Bounds:
    """The field is NULL or left out."""
    return {"properties": {name: {"type": "null"}}}


def _is_present(name: str) -> Bounds:
    return {"required": [name], "properties": {name: {"not": {"enum": [None, 0]}}}}
