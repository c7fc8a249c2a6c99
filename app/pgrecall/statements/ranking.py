"""The search statement: rank all candidate rows narrowly, then describe the k that are left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Double,
    FromClause,
    Integer,
    Select,
    Subquery,
    Text,
    and_,
    bindparam,
    case,
    false,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.sql.selectable import LateralFromClause

from pgrecall import compiler
from pgrecall.compiler import Scope
from pgrecall.custom_condition import Expression
from pgrecall.embedding import StoredVector
from pgrecall.filters import Filters, FilterShape
from pgrecall.profile import Profile
from pgrecall.schema import Tables
from pgrecall.schema.limits import MAX_NAME_LENGTH
from pgrecall.signals import MAX_QUERY_ENTITIES, Frequency, Signal, requires_embedding
from pgrecall.statements.conditions import (
    OWNER,
    OWNERS,
    Condition,
    conditions,
    custom_conditions,
    of_owners,
    owned,
    scope,
)
from pgrecall.statements.reading import memory_columns, with_usage
from pgrecall.statements.words import share, shares, with_shares

SIGNAL_PREFIX = "signal_"
KEYWORD = "keyword"
MAX_FREQUENCY = 0.1
"""The weight of frequency up to which retrievals may go unseen until an index is built anew."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched for; see `operations.search` for the meaning of each."""

    agent_id: str
    """As stored, and so are the teams."""
    query: StoredVector | None
    k: int
    profile: Profile
    filters: Filters
    teams: Sequence[str] = ()
    query_entities: Sequence[str] = ()
    query_text: str | None = None
    """What the keyword signal compares with; None where nothing asks for it."""
    min_score: float | None = None
    min_similarity: float | None = None
    as_of: datetime | None = None

    @property
    def shape(self) -> Shape:
        return Shape(
            signals=tuple(self.profile.signals),
            filters=self.filters.shape,
            has_query=self.query is not None,
            has_teams=bool(self.teams),
            has_min_score=self.min_score is not None,
            has_min_similarity=self.min_similarity is not None,
            has_as_of=self.as_of is not None,
            has_text=self.query_text is not None,
            follows_use=self._follows_use,
        )

    @property
    def _follows_use(self) -> bool:
        """Whether retrievals can move a memory far: not where little is given to their number."""
        return any(
            signal.reads_usage and (not isinstance(signal, Frequency) or weight > MAX_FREQUENCY)
            for signal, weight in self.profile
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """Every value, under the name it is bound by."""
        given = {
            "min_score": self.min_score,
            "min_similarity": self.min_similarity,
            "as_of": self.as_of,
            "owners": [self.agent_id, *self.teams] if self.teams else None,
            "query_text": self.query_text,
        }
        return {
            "owner_id": self.agent_id,
            "query": self.query,
            "query_entities": list(self.query_entities),
            "k": self.k,
            **{f"{name}_weight": weight for name, weight in self.profile.weights.items()},
            **self.filters.parameters,
            **{name: value for name, value in given.items() if value is not None},
        }


@dataclass(frozen=True, slots=True)
class Shape:
    """All that the text of a search statement depends on; statements are built once per shape."""

    signals: tuple[Signal, ...]
    filters: FilterShape
    has_query: bool
    has_teams: bool
    has_min_score: bool
    has_min_similarity: bool
    has_as_of: bool
    has_text: bool = False
    """Whether the keyword signal has anything to compare with."""
    follows_use: bool = False
    """Whether what was retrieved since an index was built is scored beside it."""

    @property
    def owners(self) -> str:
        """The parameter that tells whose memories are looked at."""
        return OWNERS if self.has_teams else OWNER

    @property
    def reads_usage(self) -> bool:
        return self.filters.reads_usage or any(signal.reads_usage for signal in self.signals)


def search(tables: Tables, wanted: Search) -> Select[Any]:
    """The k best memories, best first, ties by id; execute it with `wanted.parameters`.

    Columns: those of a memory and its usage, then score, similarity and one `signal_<name>` per
    signal. Two phases: the inner one scores every row that passes and carries only id and score
    into the sort, the outer one fetches the rest for k rows.
    """
    if wanted.filters.where:
        return _search(tables, wanted.shape, wanted.filters.where)
    return _known_search(tables, wanted.shape)


@lru_cache(maxsize=512)
def _known_search(tables: Tables, shape: Shape) -> Select[Any]:
    return _search(tables, shape, ())


def _search(tables: Tables, shape: Shape, where: Sequence[Expression]) -> Select[Any]:
    return described_in_order(tables, shape, ranked(tables, shape, where).subquery("ranked"))


def ranked(tables: Tables, shape: Shape, where: Sequence[Expression]) -> Select[Any]:
    """The k best rows, narrowly: owner_id, id, score, and keyword as of `scored`."""
    statement = scored(tables, shape, where)
    score, id_ = statement.selected_columns.score, tables.memories.c.id
    return statement.order_by(score.desc(), id_).limit(bindparam("k", type_=Integer()))


def described_in_order(
    tables: Tables, shape: Shape, best: FromClause, *more: ColumnElement[Any]
) -> Select[Any]:
    """The ranked rows in full, best first, with `more` columns.

    Owners are told once more: no expression of the caller's stands in this query.
    """
    found = _in_full(tables, best, shape).add_columns(*more)
    return found.order_by(best.c.score.desc(), best.c.id)


def passing(within: Scope, shape: Shape, where: Sequence[Expression]) -> dict[str, Condition]:
    """Every condition on a memory to be ranked at all, by name, but whose it is."""
    found = conditions(within, shape.filters, as_of=shape.has_as_of, owners=shape.owners)
    if shape.has_query and requires_embedding(shape.signals):
        found["embedding"] = within.memories.c.embedding.is_not(None)
    if shape.has_min_similarity:
        floor: Any = bindparam("min_similarity", type_=Double())
        found["min_similarity"] = compiler.similarity(within) >= floor
    return found | custom_conditions(where)


def scored(
    tables: Tables,
    shape: Shape,
    where: Sequence[Expression],
    *,
    owners: str | None = None,
    among: FromClause | None = None,
    words: FromClause | None = None,
) -> Select[Any]:
    """Owner, id and score of every memory that passes, and nothing else but its keyword signal
    where the query has a text.

    `owners` is the parameter that tells whose, where not those of the search. `among` are the rows
    to be scored (owner_id, id, source); its `source` comes along. `words` are the shares in the
    query's words (owner_id, id, share), where they are not those of all.
    """
    memories = tables.memories
    owners = owners or shape.owners
    rows: Any = memories
    if among is not None:
        same = and_(memories.c.agent_id == among.c.owner_id, memories.c.id == among.c.id)
        rows = among.join(memories, same)
    if shape.reads_usage:
        rows = with_usage(memories, tables.memory_usage, rows, owners)
    rows, within, keyword = with_words(tables, owners, shape, rows, words)
    statement = (
        select(
            memories.c.agent_id.label("owner_id"),
            memories.c.id,
            compiler.score(shape.signals, within).label("score"),
            *keyword,
        )
        .select_from(rows)
        .where(of_owners(memories, owners), *passing(within, shape, where).values())
    )
    return statement if among is None else statement.add_columns(among.c.source)


def with_words(
    tables: Tables,
    owners: str,
    shape: Shape,
    rows: FromClause,
    words: FromClause | None = None,
) -> tuple[FromClause, Scope, list[ColumnElement[Any]]]:
    """The rows beside their shares in the query's words, the scope of their signals, and the
    keyword signal as a column; only where the query has a text."""
    memories = tables.memories
    if not shape.has_text:
        return rows, scope(tables, memories, as_of=shape.has_as_of), []
    words = shares(tables, owners) if words is None else words
    keyword = share(words)
    within = scope(tables, memories, as_of=shape.has_as_of, keyword=keyword)
    return with_shares(rows, memories, words), within, [keyword.label(KEYWORD)]


def _in_full(tables: Tables, ranked: Any, shape: Shape) -> Select[Any]:
    """The ranked memories in full, with every signal's value."""
    memories, usage = by_key(tables, ranked, shape), tables.memory_usage
    keyword = ranked.c[KEYWORD] if shape.has_text else None
    within = scope(tables, memories, as_of=shape.has_as_of, keyword=keyword)
    statement = select(
        *memory_columns(memories, usage),
        ranked.c.score,
        *signal_columns(shape, within),
    ).select_from(
        ranked.join(memories, true()).outerjoin(
            usage,
            and_(usage.c.agent_id == ranked.c.owner_id, usage.c.memory_id == ranked.c.id),
        )
    )
    if shape.has_min_score:
        # Equal to filtering before the limit, since the k best are best; and computed once.
        floor: Any = bindparam("min_score", type_=Double())
        statement = statement.where(ranked.c.score >= floor)
    return statement


def by_key(tables: Tables, best: FromClause, shape: Shape) -> LateralFromClause:
    """The memories of these rows (owner_id, id), each looked up by its key.

    By OFFSET 0, whatever the plan: one that was made while an owner had few memories, and is kept,
    would go through all that it has by now for each row.
    """
    memories = tables.memories
    same = memories.c.agent_id == best.c.owner_id, memories.c.id == best.c.id
    found = select(memories).where(of_owners(memories, shape.owners), *same)
    return found.correlate(best).offset(literal_column("0")).lateral(memories.name)


def signal_columns(shape: Shape, within: Scope) -> list[ColumnElement[Any]]:
    """The similarity itself and each signal's value."""
    return [
        compiler.similarity(within).label("similarity"),
        *(
            compiler.value(signal, within).label(SIGNAL_PREFIX + signal.name)
            for signal in shape.signals
        ),
    ]


def count(tables: Tables, filters: Filters, *, as_of: bool) -> Select[int]:
    """How many memories of `owner_id` pass the filters at `as_of`."""
    memories, shape = tables.memories, filters.shape
    within = scope(tables, memories, as_of=as_of)
    return (
        select(func.count())
        .select_from(with_usage(memories, tables.memory_usage) if shape.reads_usage else memories)
        .where(
            owned(memories),
            *conditions(within, shape, as_of=as_of).values(),
            *custom_conditions(filters.where).values(),
        )
    )


def known_entities(tables: Tables) -> Select[Any]:
    """Entities of the `owners`' memories that occur in `text` as whole words, longest first.

    Parameters: owners, text, limit.
    """
    known = _entities(tables, OWNERS)
    return (
        select(known.c.entity)
        .where(_occurs(known.c.entity, bindparam("text", type_=Text())))
        .order_by(func.length(known.c.entity).desc(), known.c.entity)
        .limit(bindparam("limit", type_=Integer()))
    )


def entities_of_each(tables: Tables, queries: FromClause, owners: str) -> Select[Any]:
    """As `known_entities`, of each query (number, question, query_entities) that names none.

    Columns: number, entities. `owners` is the parameter that tells whose memories name them.
    """
    known = _entities(tables, owners)
    order = (func.length(known.c.entity).desc(), known.c.entity)
    place = func.row_number().over(partition_by=queries.c.number, order_by=order)
    found = (
        select(queries.c.number, known.c.entity, place.label("place"))
        .select_from(queries.join(known, true()))
        .where(queries.c.query_entities.is_(None), _occurs(known.c.entity, queries.c.question))
        .subquery("found")
    )
    most = literal_column(str(MAX_QUERY_ENTITIES), Integer())
    return (
        select(found.c.number, func.array_agg(found.c.entity, type_=ARRAY(Text)).label("entities"))
        .where(found.c.place <= most)
        .group_by(found.c.number)
    )


def _entities(tables: Tables, owners: str) -> Subquery:
    """Every entity of the owners' memories, once."""
    memories = tables.memories
    entities = select(func.unnest(memories.c.entities, type_=Text()).label("entity"))
    return entities.where(of_owners(memories, owners)).distinct().subquery("known")


def _occurs(entity: ColumnElement[Any], asked: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether the text has this entity as whole words."""
    escaped = func.regexp_replace(entity, r"([^[:alnum:]_[:space:]])", r"\\\1", "g")
    whole_words = func.concat(r"(?<!\w)", escaped, r"(?!\w)")
    # CASE: the regular expression is only tried on what can match and is short enough.
    return case(
        (
            and_(
                func.length(entity).between(1, MAX_NAME_LENGTH),
                func.strpos(func.lower(asked), func.lower(entity)) > 0,
            ),
            asked.regexp_match(whole_words, flags="i"),
        ),
        else_=false(),
    )
