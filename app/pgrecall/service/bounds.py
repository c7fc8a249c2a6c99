"""What values may be, for the OpenAPI document only: the repository checks, and says what is wrong.

A bound beside `anyOf` holds for the type that it is about, so NULL still passes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pgrecall.context.styles import STYLES
from pgrecall.core import limits
from pgrecall.core.memory import TEAM
from pgrecall.core.tokens import MAX_TOKENS
from pgrecall.memories.ordering import sortable
from pgrecall.schema import tables
from pgrecall.schema.fields import NEW
from pgrecall.schema.kinds import CONTENT, HOURS, NAME, SHARE, TEXT, TEXTS, Kind
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


def _words(known: tuple[str, ...]) -> Bounds:
    return {"items": {"type": "string", "enum": [*known]}, "maxItems": limits.MAX_VALUES}


_SHARES = ("near_duplicates", "min_score", "min_relevance", "min_trust", "max_similarity")
_NAMES = ("actor", "run")
_LISTS = (
    *("labels", "all_tags", "all_entities", "teams"),
    *("memory_types", "memory_natures", "content_types"),
    *("components", "output_types", "domains", "categories", "loops"),
)
_COLUMNS = "|".join(sortable(tables()))
_SHARE: Bounds = {"minimum": 0, "maximum": 1}
_LIST: Bounds = {"maxItems": limits.MAX_VALUES}
_NAME = _length(limits.MAX_NAME_LENGTH)
_OF_KIND: dict[Kind, Bounds] = {
    CONTENT: _length(limits.MAX_CONTENT_BYTES),
    HOURS: {"minimum": 0.001, "maximum": 1e9},
    NAME: _NAME,
    SHARE: _SHARE,
    TEXT: _length(limits.MAX_TEXT_LENGTH),
    TEXTS: _LIST,
}
BOUNDS: dict[str, Bounds] = {
    **{field.name: _OF_KIND[field.kind] for field in NEW if field.kind in _OF_KIND},
    **dict.fromkeys(_SHARES, _SHARE),
    **dict.fromkeys(_NAMES, _NAME),
    **dict.fromkeys(_LISTS, _LIST),
    "min_similarity": {"minimum": -1, "maximum": 1},
    "owner": _length(limits.MAX_NAME_LENGTH + len(TEAM)),
    "query": _length(limits.MAX_QUERY_LENGTH),
    "query_text": {"maxLength": limits.MAX_QUERY_LENGTH},
    "text": {"maxLength": limits.MAX_FILTER_TEXT},
    "query_entities": {"maxItems": limits.MAX_QUERY_ENTITIES},
    "after": _SHOWN,
    "order": {"items": {"type": "string", "pattern": f"^-?({_COLUMNS})$"}},
    "tiers": _words(limits.TIERS),
    "statuses": _words(limits.STATUSES),
    "label_kinds": _words(limits.LABEL_KINDS),
    "tier": {"enum": [*limits.TIERS]},
    "trust_curve": {"enum": [*limits.TRUST_CURVES, None]},
    "style": {"enum": [*STYLES]},
    "profile": {"enum": [*BUILT_IN, None]},
    "lend": {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "diversity": {"minimum": 0, "exclusiveMaximum": 1},
    "max_skips": {"minimum": 1, "maximum": limits.MAX_CONSIDERED},
    "tokens": {"minimum": 0, "maximum": MAX_TOKENS},
    "turn": {"minimum": 0, "maximum": limits.MAX_TURN},
}
"""Argument or field → what is true of every value that is accepted."""

_QUERY = ("query", "embedding")
_NEEDS = {
    "turn": ("session",),
    "lend": ("expand_session",),
    "label_kinds": ("labels",),
    "min_similarity": _QUERY,
    "min_relevance": (*_QUERY, "query_text"),
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
