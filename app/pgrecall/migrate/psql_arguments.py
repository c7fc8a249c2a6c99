"""The arguments of recall, explain and the other functions of psql that search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Annotated, Any, TypedDict
from uuid import UUID

from pgrecall.core.checks import COSINE, SHARE, Count, Length, Needs, Texts, Words
from pgrecall.core.limits import (
    MAX_FILTER_TEXT,
    MAX_QUERY_ENTITIES,
    MAX_QUERY_LENGTH,
    MAX_SURROUNDING_TURNS,
    STATUSES,
    TIERS,
)
from pgrecall.core.validation import require_period
from pgrecall.scoring.profile import Profile


def _given(name: str, value: Any) -> Any:
    return value


class PsqlFilters(TypedDict, total=False):
    """Keyword arguments that restrict `search`, `count` and others to some memories.

    A memory must pass all filters. It passes a list if it has any of its values.
    """

    memory_types: Sequence[str] | None
    """Only memories of these types, such as fact or task: by memory_type or additional_types."""
    memory_natures: Sequence[str] | None
    """Only memories of these natures, such as semantic or episodic."""
    content_types: Sequence[str] | None
    """Only memories with content in these forms, such as text/markdown."""
    tiers: Annotated[Sequence[str] | None, Words(TIERS)]
    """Only memories in these tiers."""
    tags: Sequence[str] | None
    """Only memories with any of these tags."""
    all_tags: Sequence[str] | None
    """Only memories with every one of these tags."""
    entities: Sequence[str] | None
    """Only memories about any of these entities, or entities with such an alias."""
    all_entities: Sequence[str] | None
    """Only memories about every one of these entities; an alias stands for its entity."""
    text: Annotated[str | None, Length(MAX_FILTER_TEXT)]
    """Only memories with these words, written as for a web search engine: words that must all
    occur, "a phrase", or, -without. At most 10,000 characters. A text of stop words only filters
    nothing."""
    metadata: Annotated[Mapping[str, Any] | None, _given]
    """Only memories whose metadata contain this JSON object. {"user.age": {"$gte": 30}} compares
    the value at a path, in which a backslash makes a dot a part of a key; see MetadataFilter."""
    created_after: datetime | None
    """Only memories created at this moment or later; one of unknown age does not pass."""
    created_before: datetime | None
    """Only memories created before this moment; one of unknown age does not pass."""
    components: Sequence[str] | None
    """Only memories produced by these components."""
    output_types: Sequence[str] | None
    """Only memories with these types of output."""
    domains: Sequence[str] | None
    """Only memories of these domains."""
    categories: Sequence[str] | None
    """Only memories of these categories."""
    loops: Sequence[str] | None
    """Only memories of these loops."""
    compliant: bool | None
    """Only memories that passed governance, or only those that did not."""
    needs_review: bool | None
    """Only memories that feedback called outdated, or only others."""
    min_trust: Annotated[float | None, SHARE]
    """Only memories with at least this trust, after decay; one whose trust was never assessed does
    not pass."""
    statuses: Annotated[Sequence[str], Words(STATUSES)]
    """Only memories with these statuses. Default: active."""
    include_invalid: bool
    """Includes memories that are not valid at `as_of`: not yet, no longer, invalidated, expired."""


class PsqlArguments(PsqlFilters, total=False):
    """Keyword arguments that control how memories are ranked. FilterArguments control which
    memories are ranked."""

    profile: Profile | str | None
    """How to rank: by a Profile, or the built-in one of this name. Default: that of the repository,
    or else of the database (`pgrecall profiles default`), or else hybrid."""
    weights: Annotated[Mapping[str, float] | None, _given]
    """Replaces the profile's weights for this query. Signals that are not named get 0; the weights
    must sum to 1."""
    min_score: Annotated[float | None, SHARE]
    """Leaves out memories with a lower score."""
    min_similarity: Annotated[float | None, COSINE, Needs(("query",), "needs query")]
    """Leaves out memories whose embedding has a lower cosine with the query's before scoring. From
    -1 to 1. Needs `query`. The signal similarity is never below 0, so 0 leaves out what has a
    negative cosine."""
    min_relevance: Annotated[
        float | None, SHARE, Needs(("query", "keywords"), "needs query or keywords")
    ]
    """Leaves out memories with a lower relevance before scoring. Relevance is the mean of
    similarity and keyword, or the one of them that the query has, and does not depend on the
    profile; words that no memory has lower it. Needs `query` or `keywords`. 0 leaves out nothing,
    but measures relevance. The default is none for `search`, and the profile's for `context`."""
    teams: Sequence[str | UUID]
    """Ranks the memories of these teams together with the agent's."""
    query_entities: Annotated[Sequence[str] | None, Texts(MAX_QUERY_ENTITIES)]
    """The entities that entity_overlap compares with. Default: the known entities that occur in the
    query, if it is text, or else in `keywords`."""
    keywords: Annotated[str | None, Length(MAX_QUERY_LENGTH)]
    """The text that keyword compares with. It is not embedded: alone, without a query, it ranks by
    words only. Default: the query, if it is text."""
    query_time: Annotated[tuple[datetime, datetime] | None, require_period]
    """The period, start and end, that the time signal compares with. A search with a period uses no
    rank index."""
    dates: Annotated[str | None, _given]
    """Finds `query_time` in the query's text, relative to `as_of` and in `timezone`, if the profile
    weighs time. "auto" means English; other languages are given by their code, such as "de"; "off"
    finds none. Default: "auto" if the extra `local` is installed, or else "off"."""
    timezone: str | tzinfo | None
    """The user's time zone, such as "Europe/Berlin". Days that `dates` finds begin and end at its
    midnights, and `context` writes the dates of memories in it. Default: that of the repository, or
    else that of `as_of` for `dates`, and UTC."""
    surrounding_turns: Annotated[int, Count(0, MAX_SURROUNDING_TURNS)]
    """Adds up to this many turns before and after each hit, from its session. They must pass the
    filters, but `min_score`, `min_relevance` and `k` do not apply to them."""
    as_of: datetime | None
    """The moment at which ages, validity and expiry are determined. Memories created later are
    hidden and do not count in the frequency of words. A memory whose last access came later counts
    as never accessed. Everything else has its present value: text, status, tier, links,
    usefulness, importance, confidence, trust before decay, and the number of retrievals.
    Default: now."""


DEFAULTS: Mapping[str, Any] = {
    "teams": (),
    "surrounding_turns": 0,
    "statuses": ("active",),
    "include_invalid": False,
}
"""Default values of the arguments whose default is not None."""
