"""A question: the arguments of a search, checked, and then made ready for its statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from pgrecall import profiles, statements
from pgrecall.embedding import StoredVector, VectorLike
from pgrecall.errors import InputError
from pgrecall.filters import FilterArguments, Filters
from pgrecall.profile import Profile
from pgrecall.schema import Layout, Tables
from pgrecall.signals import MAX_QUERY_ENTITIES, EntityOverlap, Keyword
from pgrecall.statements import Search
from pgrecall.steps import Embed, Embedded, Execute, Inspect, Operation
from pgrecall.validation import (
    require_aware,
    require_bool,
    require_count,
    require_owner,
    require_query,
    require_query_entities,
    require_share,
    require_text,
    require_texts,
)

MAX_K = 1_000_000


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, in the caller's terms; `search` tells what each argument means."""

    search: Search
    """Complete but for the vector and the entities found in the text."""
    embedding: VectorLike | str | None
    entities_from_text: bool
    hands_on_weight: bool
    """Whether a keyword signal that has nothing to compare with leaves its weight to the others."""

    @classmethod
    def of(
        cls,
        tables: Tables,
        agent_id: str,
        embedding: VectorLike | str | None,
        *,
        k: int,
        profile: Profile | str,
        weights: Mapping[str, float] | None,
        normalise_weights: bool,
        min_score: float | None,
        min_similarity: float | None,
        teams: Sequence[str],
        query_entities: Sequence[str] | None,
        query_text: str | None,
        apply_decay: bool,
        as_of: datetime | None,
        filters: FilterArguments,
    ) -> Self:
        """Checks everything that can be checked without a database. Raises InputError."""
        agent_id = require_owner(tables, agent_id)
        require_count("k", k, at_least=1, at_most=MAX_K)
        require_aware("as_of", as_of)
        others = other_owners(tables, agent_id, teams)
        require_bool("normalise_weights", normalise_weights)
        require_bool("apply_decay", apply_decay)
        entities = require_query_entities(query_entities) or []
        if isinstance(embedding, str):
            require_query(embedding)
        if query_text is None and isinstance(embedding, str):
            query_text = embedding
        if query_text is not None:
            require_text("query_text", query_text)
        if embedding is None and min_similarity is not None:
            raise InputError("min_similarity needs a query vector or text")
        chosen = _profile(profile, weights, normalise_weights, apply_decay)
        reads_words = any(isinstance(signal, Keyword) for signal in chosen.signals)
        wanted = Search(
            agent_id=agent_id,
            query=None,
            k=k,
            profile=chosen,
            filters=Filters.of(filters, apply_decay=apply_decay),
            teams=others,
            query_entities=entities,
            min_score=require_share("min_score", min_score),
            min_similarity=require_share("min_similarity", min_similarity),
            as_of=as_of,
            query_text=query_text if reads_words else None,
        )
        reads_entities = any(isinstance(signal, EntityOverlap) for signal in chosen.signals)
        return cls(
            wanted,
            embedding,
            entities_from_text=reads_entities and query_entities is None,
            hands_on_weight=reads_words and normalise_weights,
        )

    def resolved(self, tables: Tables) -> Operation[Search]:
        """The search with its text embedded and, if need be, its entities found."""
        vector = self.embedding
        if isinstance(vector, str):
            embedded: Embedded = yield Embed((vector,), as_query=True)
            vector = embedded.vectors[0]
        query: StoredVector | None = None
        if vector is not None:
            layout: Layout = yield Inspect()
            query = layout.vector(vector)
        search = self.search
        entities = search.query_entities
        if self.entities_from_text and isinstance(self.embedding, str):
            found = yield Execute(
                statements.known_entities(tables),
                {
                    "owners": [search.agent_id, *search.teams],
                    "text": self.embedding,
                    "limit": MAX_QUERY_ENTITIES,
                },
            )
            entities = [row.entity for row in found]
        wanted = replace(search, query=query, query_entities=entities)
        wanted = replace(wanted, filters=(yield from narrowing(tables, wanted.filters)))
        if self.hands_on_weight:
            wanted = yield from _with_terms(tables, wanted)
        return wanted


def other_owners(tables: Tables, agent_id: str, teams: Sequence[str]) -> tuple[str, ...]:
    """The teams as they are stored, each once; raises InputError."""
    named = require_texts("teams", teams) or ()
    others = dict.fromkeys(require_owner(tables.of_teams(), team, "teams") for team in named)
    others.pop(agent_id, None)
    return tuple(others)


def narrowing(tables: Tables, filters: Filters) -> Operation[Filters]:
    """The filters, without a text that asks for nothing."""
    if filters.text is None:
        return filters
    [found] = yield Execute(statements.narrows(tables), {"text": filters.text})
    return filters if found.narrows else replace(filters, text=None)


def _with_terms(tables: Tables, wanted: Search) -> Operation[Search]:
    """The search, without the keyword signal where the query has no term that counts."""
    if wanted.query_text is not None:
        [found] = yield Execute(statements.usable_terms(tables), {"query_text": wanted.query_text})
        if found.terms:
            return wanted
    weights = wanted.profile.weights
    others = {name: weight for name, weight in weights.items() if name != Keyword.name}
    if not any(others.values()):
        return wanted
    profile = wanted.profile.with_weights(**_normalised(others))
    return replace(wanted, profile=profile, query_text=None)


def _profile(
    profile: Profile | str,
    weights: Mapping[str, float] | None,
    normalise_weights: bool,
    apply_decay: bool,
) -> Profile:
    profile = checked_profile(profile)
    if weights is not None:
        if not isinstance(weights, Mapping):
            raise InputError(f"weights must map signals to numbers, got {type(weights).__name__}")
        weights = {str(name): weight for name, weight in weights.items()}
        profile = profile.with_weights(**_normalised(weights) if normalise_weights else weights)
    return profile if apply_decay else profile.without_trust_decay()


def checked_profile(profile: object) -> Profile:
    """A profile, or the built-in one of a name; raises InputError."""
    if isinstance(profile, str):
        return profiles.named(profile)
    if not isinstance(profile, Profile):
        raise InputError(f"profile must be a Profile or a name, got {type(profile).__name__}")
    return profile


def _normalised(weights: Mapping[str, float]) -> dict[str, float]:
    """Divided by their sum; what cannot be a weight is left for the profile to refuse."""
    try:
        largest = max(weights.values())
        total = sum(weight / largest for weight in weights.values())
        return {name: weight / largest / total for name, weight in weights.items()}
    except (TypeError, ValueError, ArithmeticError):
        return dict(weights)
