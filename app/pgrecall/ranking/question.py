"""A question: the checked arguments of a search, which become the parameters of its statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any, Self
from uuid import UUID

from pgrecall.core.checks import K, checked
from pgrecall.core.dates import found_period
from pgrecall.core.embedders import Embedded
from pgrecall.core.limits import MAX_QUERY_ENTITIES
from pgrecall.core.quoting import shortened
from pgrecall.core.steps import Ask, Operation
from pgrecall.core.validation import require_query
from pgrecall.core.vectors import StoredVector, VectorLike
from pgrecall.errors import InputError
from pgrecall.ranking.arguments import DEFAULTS, SearchArguments, require_known
from pgrecall.ranking.default_profile import default_profile
from pgrecall.ranking.filter_keys import SIMILARITY
from pgrecall.ranking.filters import FilterArguments, Filters
from pgrecall.ranking.names import known_as, known_entities
from pgrecall.ranking.owner_facts import owner_facts
from pgrecall.ranking.search_parameters import Search, weighs_time
from pgrecall.schema import Layout, Tables
from pgrecall.schema.tables import require_owner, require_owners
from pgrecall.schema.verbs import call
from pgrecall.scoring import profiles
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.score import counts_subjects
from pgrecall.scoring.signals import EntityOverlap, Keyword, Similarity, Time

_AS_GIVEN = ("min_score", "min_relevance", "as_of", "surrounding_turns")


@dataclass(frozen=True, slots=True)
class Question:
    """The checked arguments of a search; text is not embedded yet."""

    search: Search
    """Complete except for the vector, the entities found in the text, and what follows from the
    profile if that is the default one."""
    query: VectorLike | str | None
    arguments: SearchArguments
    floor: Callable[[Profile], float | None] | None
    zone: tzinfo | None

    @classmethod
    def of(
        cls,
        tables: Tables,
        agent_id: str | UUID,
        query: VectorLike | str | None,
        *,
        k: int,
        arguments: SearchArguments,
        floor: Callable[[Profile], float | None] | None = None,
    ) -> Self:
        """Checks everything that can be checked without a database. Raises InputError.

        `floor` returns the default of min_relevance for a profile. It applies if the caller gave
        none and the query has a vector or text.
        """
        agent_id = require_owner(tables, agent_id)
        K("k", k)
        require_known(arguments)
        text = require_query(query) if isinstance(query, str) else None
        also = () if query is None else ("query",)
        values: Any = {**DEFAULTS, **checked(SearchArguments, arguments, also=also)}
        keywords, period = values.get("keywords"), values["period"]
        if keywords is None:
            keywords = text
        elif text is None:
            text = keywords
        zone = tables.in_zone(values["timezone"]).zone if "timezone" in values else tables.zone
        has_question = query is not None or keywords is not None
        search = Search(
            agent_id=agent_id,
            query=None,
            k=k,
            profile=profiles.DEFAULT,
            filters=Filters.among(values),
            teams=()
            if values["teams"] is DEFAULTS["teams"]
            else other_owners(tables, agent_id, values["teams"]),
            query_entities=values.get("entities"),
            naming_text=text,
            keywords=keywords,
            period=None if isinstance(period, str) else period,
            **{name: values[name] for name in _AS_GIVEN if name in values},
        )
        if query is None and SIMILARITY in search.filters.reads:
            raise InputError("filter: similarity needs a query to compare with")
        question = cls(
            search,
            query,
            values,
            floor if has_question else None,
            zone,
        )
        profile = values.get("profile")
        return question if profile is None else question.by(profiles.checked_profile(profile))

    def by(self, profile: Profile) -> Self:
        """The question by this profile, with the caller's weights."""
        weights = self.arguments.get("weights")
        chosen = profile if weights is None else profile.with_weights(**weights)
        min_relevance = self.search.min_relevance
        if min_relevance is None and self.floor is not None:
            min_relevance = self.floor(chosen)
        # Relevance costs next to nothing where words are compared anyway.
        is_asked = self.query is not None or self.search.keywords is not None
        shows_relevance = is_asked and chosen.min_relevance is not None
        reads_text = shows_relevance or min_relevance is not None or chosen.find(Keyword)
        period, text = self.search.period, self.search.naming_text
        if weighs_time(chosen):
            given, as_of = self.arguments["period"], self.search.as_of
            period = found_period(text, given, as_of=as_of, zone=self.zone)
        search = replace(
            self.search,
            profile=chosen,
            period=period,
            min_relevance=min_relevance,
            shows_relevance=shows_relevance,
            keywords=self.search.keywords if reads_text else None,
        )
        return replace(self, search=search)

    def resolved(self, tables: Tables, query: StoredVector | None = None) -> Operation[Search]:
        """Completes the search: embeds its text, unless `query` is its vector, finds the default
        profile if the caller named none, and the entities in the text if the profile needs them.
        """
        vector = None if query is not None else self.query
        if isinstance(vector, str):
            embedded: Embedded = yield Ask("embed_query", (vector,))
            vector = embedded.vectors[0]
        layout: Layout = yield Ask("layout")
        if vector is not None:
            query = layout.vector(vector)
        search = self.search
        if self.arguments.get("profile") is None:
            search = self.by((yield from default_profile(tables))).search
        yield from require_words(tables, search.filters)
        known = yield owner_facts(tables, [search.agent_id, *search.teams])
        search = replace(
            search,
            query=query,
            is_large=known[0].is_large,
            naming_text=search.naming_text if known[0].has_names else None,
            has_subjects=known[0].has_subjects,
            distributed=layout.distributed,
        )
        if search.may_name and search.distributed:
            search = yield from _with_names(tables, search)
        return replace(search, profile=redistributed(search, has_query=query is not None))


def _with_names(tables: Tables, search: Search) -> Operation[Search]:
    """The search with its entities looked up, on Citus: each owner is asked on its node."""
    owners = [search.agent_id, *search.teams]
    entities: dict[str, None] = {}
    names = 0
    for owner in owners:
        if search.query_entities is not None:
            rows = yield known_as(tables, [owner], search.query_entities)
        else:
            assert search.naming_text is not None
            subjects = counts_subjects(search.profile.signals)
            rows = yield known_entities(tables, [owner], [search.naming_text], subjects=subjects)
        if rows:
            entities |= dict.fromkeys(rows[0].entities)
            names = max(names, rows[0].names)
    return replace(search, query_entities=list(entities)[:MAX_QUERY_ENTITIES], names=names)


def embedded(queries: Sequence[VectorLike | str | None]) -> Operation[list[StoredVector | None]]:
    """The vectors of queries; each text is embedded once. Raises InputError with the number of the
    query whose vector does not fit."""
    of_texts: dict[str, VectorLike] = {}
    for query in queries:
        if isinstance(query, str) and query not in of_texts:
            made: Embedded = yield Ask("embed_query", (query,))
            of_texts[query] = made.vectors[0]
    layout: Layout = yield Ask("layout")
    vectors: list[StoredVector | None] = []
    for number, query in enumerate(queries):
        vector = of_texts[query] if isinstance(query, str) else query
        try:
            vectors.append(None if vector is None else layout.vector(vector))
        except InputError as error:
            raise type(error)(f"query {number}: {error}") from None
    return vectors


def other_owners(tables: Tables, agent_id: str, teams: Sequence[str | UUID]) -> tuple[str, ...]:
    """The stored ids of the teams, without the owner and duplicates; raises InputError."""
    named = require_owners(tables.of_teams(), teams, "teams")
    return tuple(one for one in named if one != agent_id)


def checked_filters(tables: Tables, arguments: FilterArguments) -> Operation[Filters]:
    """The filters of a read without a query; raises InputError and UnknownName."""
    filters = Filters.of(arguments)
    if SIMILARITY in filters.reads:
        raise InputError("filter: similarity needs a query, which this does not take")
    yield from require_words(tables, filters)
    return filters


def require_words(tables: Tables, filters: Filters) -> Operation[None]:
    """Raises InputError for a `$match` of stop words alone, which compares nothing."""
    for words in filters.words:
        numbers = "pg_catalog.numnode(word_filter) AS compared"
        [row] = yield call(tables, "word_filter", numbers, asked=words)
        if not row.compared:
            raise InputError(
                f"filter: content: $match has only stop words: {shortened(words)}; give others"
            )


def redistributed(search: Search, *, has_query: bool) -> Profile:
    """The profile without the signals that the query has no value for, if it redistributes.

    The statement itself checks whether the query's text has only stop words, and names nothing.
    """
    if not search.profile.redistribute:
        return search.profile
    values = {
        Similarity.name: has_query,
        Keyword.name: search.keywords is not None,
        EntityOverlap.name: search.may_name,
        Time.name: search.period is not None,
    }
    missing = [name for name, has_value in values.items() if not has_value]
    return search.profile.without(*missing)
