"""The arguments that search, context, explain and plan have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Annotated, Any
from uuid import UUID

from pgrecall.core import checks
from pgrecall.core.checks import SHARE, Count, Length, Needs, Texts
from pgrecall.core.dates import AUTO
from pgrecall.core.limits import MAX_QUERY_ENTITIES, MAX_QUERY_LENGTH, MAX_SURROUNDING_TURNS
from pgrecall.core.validation import require_period
from pgrecall.errors import InputError
from pgrecall.ranking import filters
from pgrecall.ranking.filters import FilterArguments
from pgrecall.scoring.profile import Profile


def _weights(name: str, value: Any) -> Mapping[str, float]:
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must map signals to numbers, got {type(value).__name__}")
    return {str(signal): weight for signal, weight in value.items()}


class SearchArguments(FilterArguments, total=False):
    """Keyword arguments that control how memories are ranked. FilterArguments control which
    memories are ranked."""

    profile: Profile | str | None
    """How to rank: by a Profile, or the built-in one of this name. Default: that of the repository,
    or else of the database (`pgrecall profiles default`), or else hybrid."""
    weights: Annotated[Mapping[str, float] | None, _weights]
    """Replaces the profile's weights for this query. Signals that are not named get 0; the weights
    must sum to 1."""
    min_score: Annotated[float | None, SHARE]
    """Leaves out memories with a lower score."""
    min_relevance: Annotated[
        float | None, SHARE, Needs(("query", "keywords"), "needs query or keywords")
    ]
    """Leaves out memories with a lower relevance before scoring. Relevance is the mean of
    similarity and keyword, or the one of them that the query has, and does not depend on the
    profile; words that no memory has lower it. Needs `query` or `keywords`. 0 leaves out nothing,
    but measures relevance. The default is none for `search`, and the profile's for `context`."""
    teams: Sequence[str | UUID]
    """Ranks the memories of these teams together with the agent's."""
    entities: Annotated[Sequence[str] | None, Texts(MAX_QUERY_ENTITIES)]
    """The entities that entity_overlap compares with. Default: the known entities that occur in the
    query, if it is text, or else in `keywords`."""
    keywords: Annotated[str | None, Length(MAX_QUERY_LENGTH)]
    """The text that keyword compares with. It is not embedded: alone, without a query, it ranks by
    words only. Default: the query, if it is text."""
    period: Annotated[tuple[datetime, datetime] | str | None, require_period]
    """The period that the time signal compares with: its start and end; or "auto", to find it in an
    English query, relative to `as_of` and in `timezone`, if the profile weighs time and the extra
    `local` is installed; or the code of another language to find it in, such as "de"; or None, for
    no period. A search with a period uses no rank index. Default: "auto"."""
    timezone: str | tzinfo | None
    """The user's time zone, such as "Europe/Berlin". Days that `period` finds begin and end at its
    midnights, and `context` writes the dates of memories in it. Default: that of the repository, or
    else that of `as_of` for `period`, and UTC."""
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
    "period": AUTO,
    "surrounding_turns": 0,
    **filters.DEFAULTS,
}
"""Default values of the arguments whose default is not None."""


def require_known(arguments: Mapping[str, object]) -> None:
    """Raises UnknownName for an argument that a search does not take."""
    others = "besides query, k, touch and the like there are"
    beside = ("agent_id", "query", "k")
    checks.require_known(SearchArguments, arguments, "argument", others, beside)
