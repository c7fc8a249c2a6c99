"""The search statement: rank all candidate rows narrowly, then describe the k that are left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Double,
    FromClause,
    Integer,
    Select,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.sql.selectable import LateralFromClause

from pgrecall.core.dates import Period
from pgrecall.core.vectors import StoredVector
from pgrecall.ranking.conditions import (
    OWNER,
    OWNERS,
    Condition,
    conditions,
    custom_conditions,
    of_owners,
    owned,
    scope,
)
from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.filters import Filters, FilterShape
from pgrecall.ranking.memory_columns import memory_columns, with_usage
from pgrecall.ranking.words import has_terms, share, shares, with_shares
from pgrecall.schema import Tables
from pgrecall.scoring import compiler
from pgrecall.scoring.compiler import Scope
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import Frequency, Keyword, Signal, Time, requires_embedding

SIGNAL_PREFIX = "signal_"
KEYWORD, COVERAGE, RELEVANCE = "keyword", "coverage", "relevance"
HAS_TERMS = "has_terms"
BESIDE, LENT, LENDER, HIT_SCORE = "beside", "lent", "lender", "hit_score"
"""Columns: the hit that a turn came along with; what its score was raised by and whose score that
is a share of; and the score by which it is among the rows, its own or that of the hit."""
LEAST_LENDERS = 20
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
    query_time: Period | None = None
    """The period that the time signal compares with."""
    min_score: float | None = None
    min_similarity: float | None = None
    min_relevance: float | None = None
    shows_relevance: bool = False
    """Whether it is measured where nothing is left out by it."""
    as_of: datetime | None = None
    expand_session: int = 0
    lend: float | None = None

    @property
    def most(self) -> int:
        """How many are ranked by what they score themselves."""
        return self.k if self.lend is None else max(self.k, LEAST_LENDERS)

    @property
    def shape(self) -> Shape:
        return Shape(
            signals=tuple(self.profile.signals),
            filters=self.filters.shape,
            has_query=self.query is not None,
            has_teams=bool(self.teams),
            has_min_score=self.min_score is not None,
            has_min_similarity=self.min_similarity is not None,
            has_min_relevance=self.min_relevance is not None,
            shows_relevance=self.shows_relevance or self.min_relevance is not None,
            has_as_of=self.as_of is not None,
            has_text=self.query_text is not None,
            has_period=self.weighs_time,
            redistributes=self.ranks_by_words and self.profile.redistribute,
            follows_use=self._follows_use,
            expands=bool(self.expand_session),
            lends=self.lend is not None,
        )

    @property
    def ranks_by_words(self) -> bool:
        """Whether the profile compares words; else only the relevance may."""
        reads_words = any(isinstance(signal, Keyword) for signal in self.profile.signals)
        return self.query_text is not None and reads_words

    @property
    def weighs_time(self) -> bool:
        """Whether how near memories are to a period counts."""
        return self.query_time is not None and any(
            isinstance(signal, Time) and weight > 0 for signal, weight in self.profile
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
            "min_relevance": self.min_relevance,
            "as_of": self.as_of,
            "owners": [self.agent_id, *self.teams] if self.teams else None,
            "query_text": self.query_text,
            "lend": self.lend,
        }
        if self.query_time is not None and self.weighs_time:
            given["period_from"], given["period_to"] = self.query_time
        return {
            "owner_id": self.agent_id,
            "query": self.query,
            "query_entities": list(self.query_entities),
            "k": self.k,
            "ranked": self.most,
            "expand_session": self.expand_session,
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
    has_min_relevance: bool = False
    shows_relevance: bool = False
    has_text: bool = False
    """Whether words are compared."""
    has_period: bool = False
    """Whether the time signal has anything to compare with."""
    redistributes: bool = False
    """Whether the keyword signal's weight goes to the others where its text has no term."""
    follows_use: bool = False
    """Whether what was retrieved since an index was built is scored beside it."""
    expands: bool = False
    """Whether the turns beside the best are looked at."""
    lends: bool = False
    """Whether they are ranked with what these lend them, and do not just come along."""

    @property
    def brings_along(self) -> bool:
        return self.expands and not self.lends

    @property
    def owners(self) -> str:
        """The parameter that tells whose memories are looked at."""
        return OWNERS if self.has_teams else OWNER

    @property
    def reads_usage(self) -> bool:
        return self.filters.reads_usage or any(signal.reads_usage for signal in self.signals)


def ranked_most(shape: Shape) -> ColumnElement[int]:
    """How many are ranked by what they score themselves."""
    return bindparam("ranked" if shape.lends else "k", type_=Integer())


def ranked(tables: Tables, shape: Shape, where: Sequence[Expression]) -> Select[Any]:
    """The `most` best rows, narrowly: owner_id, id, score, and keyword as of `scored`."""
    statement = scored(tables, shape, where)
    score, id_ = statement.selected_columns.score, tables.memories.c.id
    return statement.order_by(score.desc(), id_).limit(ranked_most(shape))


def described_in_order(
    tables: Tables,
    shape: Shape,
    best: FromClause,
    *more: ColumnElement[Any],
    in_passages: bool = False,
) -> Select[Any]:
    """The ranked rows in full, best first, with `more` columns; or in passages: the turns of one
    session together, in their order.

    Owners are told once more: no expression of the caller's stands in this query.
    """
    memories = by_key(tables, best, shape)
    found = _in_full(tables, best, memories, shape).add_columns(*more)
    first = _passages(best, memories) if in_passages else ()
    return found.order_by(*first, best.c.score.desc(), best.c.id)


def _passages(best: FromClause, memories: FromClause) -> list[ColumnElement[Any]]:
    """Passages by the best of their hits, and the place of each memory in its own."""
    alone = case((memories.c.session.is_(None), best.c.id))
    passage = [best.c.owner_id, memories.c.session, alone]
    hit = func.coalesce(best.c[BESIDE], best.c.id)
    by_score = [best.c[HIT_SCORE].desc(), hit]
    return [
        func.max(best.c[HIT_SCORE]).over(partition_by=passage).desc(),
        func.first_value(hit).over(partition_by=passage, order_by=by_score),
        memories.c.turn,
        memories.c.created_at,
        best.c.id,
    ]


def passing(within: Scope, shape: Shape, where: Sequence[Expression]) -> dict[str, Condition]:
    """Every condition on a memory to be ranked at all, by name, but whose it is."""
    found = conditions(within, shape.filters, as_of=shape.has_as_of, owners=shape.owners)
    if shape.has_query and requires_embedding(shape.signals):
        found["embedding"] = within.memories.c.embedding.is_not(None)
    if shape.has_min_similarity:
        floor: Any = bindparam("min_similarity", type_=Double())
        found["min_similarity"] = compiler.similarity(within) >= floor
    if shape.has_min_relevance:
        least: Any = bindparam("min_relevance", type_=Double())
        found["min_relevance"] = compiler.relevance(within) >= least
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
    """Owner, id and score of every memory that passes, and nothing else but what its relevance and
    its keyword signal are computed from where the query has a text.

    `owners` is the parameter that tells whose, where not those of the search. `among` are the rows
    to be scored (owner_id, id); what else it has comes along. `words` are the shares in the
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
    carried = () if among is None else (c for c in among.c if c.name not in ("owner_id", "id"))
    return statement.add_columns(*carried)


def with_words(
    tables: Tables,
    owners: str,
    shape: Shape,
    rows: FromClause,
    words: FromClause | None = None,
) -> tuple[FromClause, Scope, list[ColumnElement[Any]]]:
    """The rows beside their shares in the query's words, the scope of their signals, and the shares
    as columns; only where the query has a text."""
    memories = tables.memories
    if not shape.has_text:
        return rows, scope(tables, memories, as_of=shape.has_as_of, period=shape.has_period), []
    if words is None:
        words = shares(tables, owners, others=shape.owners, as_of=shape.has_as_of)
    keyword = share(words)
    within = scope(
        tables, memories, as_of=shape.has_as_of, keyword=keyword, period=shape.has_period
    )
    columns: list[ColumnElement[Any]] = [keyword.label(KEYWORD)]
    if shape.redistributes:
        within = replace(within, told=_told(tables, shape))
    if shape.shows_relevance:
        within = _with_relevance(tables, shape, within, words)
        columns.append(words.c.coverage)
    return with_shares(rows, memories, words), within, columns


def _with_relevance(tables: Tables, shape: Shape, within: Scope, rows: FromClause) -> Scope:
    """The scope with what the relevance of these rows is computed from, beside the words."""
    comparable: ColumnElement[Any] = literal_column("1::float8", Double())
    if shape.has_query:
        both: ColumnElement[float] = literal_column("2::float8", Double())
        counted = case((has_terms(tables), both), else_=comparable)
        comparable = select(counted).scalar_subquery()  # computed once
    return replace(within, coverage=rows.c[COVERAGE], comparable=comparable)


def _told(tables: Tables, shape: Shape) -> ColumnElement[float]:
    """1, or what is left of it without the keyword signal where the text has no term."""
    [keyword] = (compiler.weight(one) for one in shape.signals if isinstance(one, Keyword))
    everything: ColumnElement[float] = literal_column("1::float8", Double())
    all_of_it = or_(has_terms(tables), keyword >= everything)
    told = case((all_of_it, everything), else_=everything - keyword)
    return select(told).scalar_subquery()  # computed once


def _in_full(tables: Tables, ranked: Any, memories: FromClause, shape: Shape) -> Select[Any]:
    """The ranked memories in full, with every signal's value."""
    usage = tables.memory_usage
    within = of_ranked(tables, shape, memories, ranked)
    statement = select(
        *memory_columns(memories, usage),
        ranked.c.score,
        *signal_columns(shape, within),
        *([has_terms(tables).label(HAS_TERMS)] if shape.redistributes else []),
        *(ranked.c[name] for name in (BESIDE, LENT, LENDER, HIT_SCORE) if name in ranked.c),
    ).select_from(
        ranked.join(memories, true()).outerjoin(
            usage,
            and_(usage.c.agent_id == ranked.c.owner_id, usage.c.memory_id == ranked.c.id),
        )
    )
    if shape.has_min_score:
        # Equal to filtering before the limit, since the k best are best; and computed once.
        floor: Any = bindparam("min_score", type_=Double())
        statement = statement.where(
            ranked.c[HIT_SCORE if HIT_SCORE in ranked.c else "score"] >= floor
        )
    return statement


def of_ranked(tables: Tables, shape: Shape, memories: FromClause, ranked: Any) -> Scope:
    """What the signals of memories that are ranked already are computed from."""
    keyword = ranked.c[KEYWORD] if shape.has_text else None
    within = scope(
        tables, memories, as_of=shape.has_as_of, keyword=keyword, period=shape.has_period
    )
    if shape.has_text and shape.shows_relevance:
        return _with_relevance(tables, shape, within, ranked)
    return within


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
    """The similarity itself, the relevance where it is asked for, and each signal's value."""
    return [
        compiler.similarity(within).label("similarity"),
        *([compiler.relevance(within).label(RELEVANCE)] if shape.shows_relevance else []),
        *(
            compiler.value(signal, within).label(SIGNAL_PREFIX + signal.name)
            for signal in shape.signals
        ),
    ]


def count_statement(tables: Tables, filters: Filters, *, as_of: bool) -> Select[int]:
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
