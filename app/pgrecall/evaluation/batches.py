"""Statements about many judged queries, which begin with `sql/statements/measured.sql`.

What does not depend on a query is computed once for all queries of one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from pgrecall.core.rerankers import Rerank
from pgrecall.core.steps import Ask, Operation, Run
from pgrecall.core.vectors import HalfVector, as_text
from pgrecall.evaluation.checked_query import CheckedQuery, by_owner, searched_owners
from pgrecall.ranking.composing import executes
from pgrecall.ranking.filters import Filters
from pgrecall.ranking.names import known_entities
from pgrecall.ranking.question import redistributed
from pgrecall.ranking.search_parameters import Search, shift_of
from pgrecall.schema import Layout, Tables
from pgrecall.scoring import expression
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import (
    EntityOverlap,
    Keyword,
    Signal,
    Similarity,
    Time,
    requires_embedding,
)

_OF_QUERIES = {
    name: f"queries.{name}"
    for name in ("query", "keywords", "query_entities", "period_from", "period_to", "names")
}
_SHIFTED = (
    "(SELECT shifts.query FROM shifts WHERE shifts.number = queries.number "
    "AND shifts.share = {share}{whose})"
)
"""The vector of a query as it is shifted for the owner of a memory."""
_SHARES = (
    "pgrecall.keyword_shares(:all_owners::text[], :keywords, :all_owners::text[], "
    ":as_of::timestamptz)"
)
_SHARES_APART = "(SELECT shares.* FROM shares WHERE shares.number = queries.number)"
_NEEDED = {
    "content": "words",
    "entities": "named",
    "subject": "named",
    "observed_at": "period",
    "created_at": "period",
}
"""Columns that signals of a query need, and the option with which they do."""
_ELSEWHERE = {"min_similarity", "embedding", "redistribute"}
"""Options of conditions that are not the same for all queries and profiles."""


class Values:
    """The values that scores are computed of, each of them once."""

    def __init__(self, options: frozenset[str]) -> None:
        self.options = options
        self._known: dict[str, str] = {}
        self._of_query: dict[str, str] = {}

    def score(self, profile: Profile, number: int = 0) -> str:
        """The score by the profile of this number, summed in the order of a search."""
        parts = (
            self.signal(signal, f"{_weight(signal.name, number)} * ")
            for signal in profile.signals
            if self._has(signal)
        )
        score = " + ".join(parts) or "0::float8"
        if profile.decay is None:
            return score
        return expression.decayed(score, self.known(expression.factor(profile.decay)))

    def signal(self, signal: Signal, weight: str = "") -> str:
        """The SQL that reads the value of a signal, and multiplies it."""
        if not self._has(signal):
            return "0::float8"
        if isinstance(signal, Similarity) and not signal.shift:
            missing = expression.number(signal.missing)
            return f"{weight}coalesce(compared.similarity, {missing})"
        text = expression.value(signal)
        if isinstance(signal, Similarity) and "shifted" in self.options:
            whose = " AND shifts.agent_id = agent_memories.agent_id"
            whose = whose if "teams" in self.options else ""
            shifted = _SHIFTED.format(share=expression.number(signal.shift), whose=whose)
            shifted = expression.shifted_similarity(shifted)
            text = text.replace(":shifted_similarity", shifted)
        if not isinstance(signal, Keyword | EntityOverlap | Similarity | Time):
            return self.known(weight + text)
        return weight + self.of_query(text)

    def known(self, text: str) -> str:
        """The SQL that reads what this SQL computes, without regard to a query."""
        return f"compared.{self._known.setdefault(text, f'value_{len(self._known)}')}"

    def of_query(self, text: str) -> str:
        """The SQL that reads what this SQL computes of a memory and a query."""
        return f"compared.{self._of_query.setdefault(text, f'signal_{len(self._of_query)}')}"

    def _has(self, signal: Signal) -> bool:
        """False if the signal is 0 of every memory."""
        return expression.has_value(signal, self.options)

    @property
    def places(self) -> dict[str, str]:
        """The places of `known.sql` and of the part `query_scores`."""
        columns = ["embedding", *(name for name in _NEEDED if _NEEDED[name] in self.options)]
        return {
            "known": ", ".join(
                [*(f"agent_memories.{name}" for name in columns), *_named(self._known)]
            ),
            "of_query": ", ".join(_named(self._of_query)),
        }


def _named(texts: Mapping[str, str]) -> Iterator[str]:
    return (f"{text} AS {name}" for text, name in texts.items())


def weights(profiles: Sequence[Profile]) -> dict[str, float]:
    """The parameters with the weights of profiles."""
    return {
        f"{name}_weight_{number}": weight
        for number, profile in enumerate(profiles)
        for name, weight in profile.weights.items()
    }


def _weight(name: str, number: int) -> str:
    return f":{name}_weight_{number}::float8"


@dataclass(frozen=True, slots=True)
class Batch:
    """Queries of one moment that have values for the same signals."""

    search: Search
    """The search of the first one."""
    profiles: Sequence[Profile]
    """The profiles, with weights as they are redistributed for these queries."""
    options: frozenset[str]
    queries: Mapping[int, CheckedQuery]
    """Number → query."""

    def score(self, values: Values, number: int, profile: Profile) -> str:
        """The score by the profile of this number; NULL if it does not rank the memory."""
        score = values.score(profile, number)
        if profile.redistribute and "words" in self.options and Keyword.name in profile.weights:
            keyword = _weight(Keyword.name, number)
            score = (
                f"({score}) / CASE WHEN queries.has_terms OR {keyword} >= 1::float8 "
                f"THEN 1::float8 ELSE 1::float8 - {keyword} END"
            )
        if self.search.query is not None and requires_embedding(profile.signals):
            score = f"CASE WHEN compared.embedding IS NOT NULL THEN {score} END"
        return score

    def run(
        self,
        tables: Tables,
        name: str,
        places: Callable[[Values, Batch], Mapping[str, str]],
        **arguments: Any,
    ) -> Run:
        """Executes the statement of this name, with these places."""
        values = Values(self.options)
        more = dict(places(values, self)) | values.places | _OF_QUERIES
        # Citus could run the call on a node that does not have these owners.
        more["shares"] = _SHARES_APART if self.search.spans_nodes else _SHARES
        options = self.options
        if more["of_query"]:
            options |= {"signals_of_query"}
        judged = [
            (number, id_, gain)
            for number, query in self.queries.items()
            for id_, gain in query.relevant.items()
        ]
        parameters = {
            **self.search.parameters,
            **weights(self.profiles),
            "least_similarity": self.search.min_similarity,
            "shift_shares": list({shift_of(one): None for one in self.profiles}),
            "queries": [_as_memory(number, query) for number, query in self.queries.items()],
            "judged_numbers": [number for number, _, _ in judged],
            "judged_ids": [id_ for _, id_, _ in judged],
            "gains": [gain for _, _, gain in judged],
            **arguments,
        }
        return executes(tables, name, options, (), self.search.filters, more, parameters)


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments that all queries of an evaluation have in common."""

    tables: Tables
    teams: Sequence[str | UUID]
    filters: Filters
    as_of: datetime | None
    floors: Mapping[str, float] = field(default_factory=dict)
    """min_score and min_similarity, if given."""
    rerank: Rerank | None = None

    def batches(
        self,
        checked: Sequence[CheckedQuery],
        profiles: Sequence[Profile],
        *,
        reads_words: bool = False,
        most: int | None = None,
    ) -> Operation[list[Batch]]:
        """The queries in batches, of `most` queries if given. `reads_words`: words count although
        no profile weighs them."""
        layout: Layout = yield Ask("layout")
        reads_words = reads_words or _read(profiles, Keyword)
        result: list[Batch] = []
        for numbers in by_owner(checked).values():
            owners = searched_owners(self.tables, checked[numbers[0]], self.teams)
            search = Search(
                agent_id=owners[0],
                query=None,
                k=1,
                profile=profiles[0],
                filters=self.filters,
                teams=owners[1:],
                distributed=layout.distributed,
                min_score=self.floors.get("min_score"),
                min_similarity=self.floors.get("min_similarity"),
            )
            queries = {number: checked[number] for number in numbers}
            named: Mapping[int, Any] = {}
            if _read(profiles, EntityOverlap):
                subjects = any(expression.counts_subjects(one.signals) for one in profiles)
                named = yield from _named_entities(self.tables, owners, queries, subjects)
            result += _batches(
                search,
                {
                    number: replace(
                        query,
                        as_of=query.as_of or self.as_of,
                        keywords=query.keywords if reads_words else None,
                        **named.get(number, {}),
                    )
                    for number, query in queries.items()
                },
                profiles,
                most,
            )
        return result


def _batches(
    search: Search,
    queries: Mapping[int, CheckedQuery],
    profiles: Sequence[Profile],
    most: int | None,
) -> Iterator[Batch]:
    """The queries of one owner."""
    alike: dict[Any, dict[int, CheckedQuery]] = {}
    for number, query in queries.items():
        has_values = (
            query.vector is not None,
            query.keywords is not None,
            query.period is not None,
            bool(query.entities),
        )
        alike.setdefault((has_values, query.as_of), {})[number] = query
    ranked: dict[Any, tuple[Sequence[Profile], frozenset[str]]] = {}
    parts = ((key, part) for key, several in alike.items() for part in _parts(several, most))
    for (has_values, moment), several in parts:
        query = next(iter(several.values()))
        of_group = replace(
            search,
            query=query.vector,
            query_entities=query.entities or (),
            keywords=query.keywords,
            period=query.period,
            as_of=moment,
        )
        pattern = has_values, moment is None
        if pattern not in ranked:
            ranked[pattern] = _ranked(of_group, profiles)
        in_effect, options = ranked[pattern]
        options |= {"one"} if len(several) == 1 else set()
        yield Batch(of_group, in_effect, options, several)


def _parts(
    queries: Mapping[int, CheckedQuery], most: int | None
) -> Iterator[dict[int, CheckedQuery]]:
    numbers = list(queries)
    size = most or len(numbers)
    for begin in range(0, len(numbers), size):
        yield {number: queries[number] for number in numbers[begin : begin + size]}


def _ranked(
    search: Search, profiles: Sequence[Profile]
) -> tuple[Sequence[Profile], frozenset[str]]:
    """The profiles with the weights that they have in a search, and the options of a statement."""
    has_query = search.query is not None
    in_effect = [
        redistributed(replace(search, profile=one), has_query=has_query) for one in profiles
    ]
    of_each = [replace(search, profile=one).options for one in in_effect]
    more = {
        "embedding": all("embedding" in options for options in of_each),
        "period": search.period is not None and _read(profiles, Time),
        "least_similarity": search.min_similarity is not None,
    }
    options = frozenset[str]().union(*of_each) - _ELSEWHERE
    return in_effect, options.union(name for name, is_on in more.items() if is_on)


def _read(profiles: Sequence[Profile], kind: type[Signal]) -> bool:
    return any(profile.find(kind) for profile in profiles)


def _named_entities(
    tables: Tables, owners: Sequence[str], queries: Mapping[int, CheckedQuery], subjects: bool
) -> Operation[dict[int, dict[str, Any]]]:
    """The entities in the texts of queries that come without, and how many names they have."""
    queried = {
        number: query.query if isinstance(query.query, str) else query.keywords
        for number, query in queries.items()
        if query.entities is None
    }
    texts = {number: text for number, text in queried.items() if text is not None}
    if not texts:
        return {}
    numbers = list(texts)
    rows = yield known_entities(tables, owners, list(texts.values()), subjects=subjects)
    return {numbers[row.number - 1]: {"entities": row.entities, "names": row.names} for row in rows}


def _as_memory(number: int, query: CheckedQuery) -> dict[str, Any]:
    """The query as `queries.sql` reads it."""
    vector = None
    if query.vector is not None:
        digits = 5 if isinstance(query.vector, HalfVector) else 9
        vector = as_text(query.vector.to_list(), digits=digits)
    period = [None, None] if query.period is None else [*map(str, query.period)]
    return {
        "turn": number,
        "embedding": vector,
        "content": query.keywords,
        "entities": list(query.entities or ()),
        "tokens": query.names,
        "valid_from": period[0],
        "valid_until": period[1],
    }
