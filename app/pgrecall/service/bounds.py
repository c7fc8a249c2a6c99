"""What values may be, for the OpenAPI document only: the repository checks, and says what is wrong.

A bound beside `anyOf` holds for the type that it is about, so NULL still passes.
"""

from __future__ import annotations

from typing import Any

from pgrecall.context.styles import STYLES
from pgrecall.core import limits
from pgrecall.core.memory import TEAM
from pgrecall.core.tokens import MAX_TOKENS
from pgrecall.scoring.profiles import BUILT_IN

Bounds = dict[str, Any]


def _length(most: int) -> Bounds:
    return {"minLength": 1, "maxLength": most}


def _words(known: tuple[str, ...]) -> Bounds:
    return {"items": {"type": "string", "enum": [*known]}, "maxItems": limits.MAX_VALUES}


_SHARES = (
    *("importance", "usefulness", "confidence", "quality_score", "near_duplicates"),
    *("trust", "trust_provenance", "trust_consensus", "trust_governance", "trust_usage"),
    *("min_score", "min_relevance", "min_trust", "max_similarity"),
)
_NAMES = ("key", "memory_type", "session", "actor")
_TEXTS = (
    *("embedding_model", "memory_nature", "content_type", "subject"),
    *("component", "output_type", "domain", "category", "loop"),
)
_LISTS = (
    *("additional_types", "tags", "entities", "labels", "all_tags", "all_entities", "teams"),
    *("memory_types", "memory_natures", "content_types"),
    *("components", "output_types", "domains", "categories", "loops"),
)
_SHARE: Bounds = {"minimum": 0, "maximum": 1}
_LIST: Bounds = {"maxItems": limits.MAX_VALUES}
BOUNDS: dict[str, Bounds] = {
    **dict.fromkeys(_SHARES, _SHARE),
    **dict.fromkeys(_NAMES, _length(limits.MAX_NAME_LENGTH)),
    **dict.fromkeys(_TEXTS, _length(limits.MAX_TEXT_LENGTH)),
    **dict.fromkeys(_LISTS, _LIST),
    "min_similarity": {"minimum": -1, "maximum": 1},
    "owner": _length(limits.MAX_NAME_LENGTH + len(TEAM)),
    "content": _length(limits.MAX_CONTENT_BYTES),
    "query": _length(limits.MAX_QUERY_LENGTH),
    "query_text": _length(limits.MAX_QUERY_LENGTH),
    "text": {"maxLength": limits.MAX_FILTER_TEXT},
    "query_entities": {"maxItems": limits.MAX_QUERY_ENTITIES},
    "tiers": _words(limits.TIERS),
    "statuses": _words(limits.STATUSES),
    "label_kinds": _words(limits.LABEL_KINDS),
    "tier": {"enum": [*limits.TIERS]},
    "trust_curve": {"enum": [*limits.TRUST_CURVES, None]},
    "style": {"enum": [*STYLES]},
    "profile": {"enum": [*BUILT_IN, None]},
    "trust_half_life_hours": {"minimum": 0.001, "maximum": 1e9},
    "lend": {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "diversity": {"minimum": 0, "exclusiveMaximum": 1},
    "max_skips": {"minimum": 1, "maximum": limits.MAX_CONSIDERED},
    "tokens": {"minimum": 0, "maximum": MAX_TOKENS},
    "turn": {"minimum": 0, "maximum": limits.MAX_TURN},
}
"""Argument or field → what is true of every value that is accepted."""
