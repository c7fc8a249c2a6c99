"""What search, context, explain and plan take alike: how memories are ranked, beside filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from pgrecall.core.quoting import listed
from pgrecall.errors import UnknownName
from pgrecall.ranking.filters import FilterArguments, Filters
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import DEFAULT


class SearchArguments(FilterArguments, total=False):
    """The keyword arguments that say how memories are ranked. Those of FilterArguments narrow down
    which are ranked at all."""

    profile: Profile | str
    """A Profile, or the name of a built-in one. Default: hybrid."""
    weights: Mapping[str, float] | None
    """Replaces the profile's weights for this query. Signals not named weigh 0; the sum is 1."""
    normalise_weights: bool
    """Divides `weights` by their sum."""
    min_score: float | None
    """Leaves out lower scores."""
    min_similarity: float | None
    """Leaves out less similar memories before scoring. Needs a query vector or text."""
    min_relevance: float | None
    """Leaves out less relevant memories before scoring, by one scale for every profile: the mean of
    similarity and keyword, with the words that nobody has among those asked for, or whichever of
    the two the query can be compared by. Needs a query vector or text; with 0 it is only measured.
    Not given, `context` takes the profile's own."""
    teams: Sequence[str]
    """Brings the memories of these teams into the same ranking."""
    query_entities: Sequence[str] | None
    """What the entity signal compares with. When not given, those known entities that occur in
    the query's text are taken."""
    query_text: str | None
    """What the keyword signal compares with. Default: the query's own text, where it is one."""
    query_time: tuple[datetime, datetime] | None
    """The period that is asked for, from and to: what the time signal compares with. With it every
    memory is scored, whatever rank index there is."""
    dates: str | None
    """Finds `query_time` in the query's text, relative to `as_of` and in its time zone: "auto"
    looks for English dates, "de" and the like for those of another language. Needs the extra
    `dates`. Default: the text is not looked at."""
    apply_decay: bool
    """False ranks by trust as it is stored."""
    expand_session: int
    """Brings along up to so many turns before and after each hit, of its owner and session, that
    pass the filters too (but `min_score` and `min_relevance`, which are the hits', and `k`)."""
    lend: float | None
    """A share in (0, 1): the turns do not come along but are ranked, each raised by this share of
    the best score that it stands beside. Needs `expand_session`. Those who lend are the k best,
    at least 20; `min_score` is for the raised scores, `min_relevance` for what each has itself."""
    as_of: datetime | None
    """The moment asked about. Ages, validity and expiry are those of that moment. What was created
    later is hidden and not counted among the memories that have a word, and a memory whose last
    access came later counts as never accessed. All else is as it is now, whatever the moment: text,
    status, tier, labels and links, usefulness, importance, confidence, trust before its decay, and
    how often a memory was retrieved. Default: now."""


DEFAULTS: SearchArguments = {
    "profile": DEFAULT.name,
    "normalise_weights": False,
    "teams": (),
    "apply_decay": True,
    "expand_session": 0,
    "statuses": Filters().statuses,
    "include_invalid": Filters().include_invalid,
    "where": (),
}
"""What stands for an argument that is not given, where it is not None."""


def require_known(arguments: Mapping[str, object]) -> None:
    """Raises UnknownName for an argument that a search does not take."""
    known = SearchArguments.__annotations__
    if unknown := sorted(set(arguments) - set(known)):
        raise UnknownName(
            f"unknown argument {listed(unknown)}; beside k, touch and the like there are "
            f"{', '.join(known)}"
        )


def filters_of(arguments: SearchArguments) -> FilterArguments:
    """Those of them that narrow down what is ranked."""
    names = FilterArguments.__annotations__
    found: Any = {name: value for name, value in arguments.items() if name in names}
    return cast("FilterArguments", found)
