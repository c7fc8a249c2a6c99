"""Finds known entities in the text of a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Integer,
    Select,
    Subquery,
    Text,
    and_,
    case,
    false,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY

from pgrecall.core.limits import MAX_NAME_LENGTH, MAX_QUERY_ENTITIES
from pgrecall.core.steps import Run
from pgrecall.ranking.composing import reads
from pgrecall.ranking.conditions import of_owners
from pgrecall.schema import Tables


def known_entities(tables: Tables, owners: Sequence[str], texts: Sequence[str]) -> Run:
    """Entities of the owners' memories that occur in texts as whole words, longest first.

    Columns: number, of the text from 1, and entities.
    """
    return reads(
        tables,
        "entities",
        owners=list(owners),
        texts=list(texts),
        most=MAX_QUERY_ENTITIES,
        longest=MAX_NAME_LENGTH,
    )


def entities_of_each(tables: Tables, queries: FromClause, owners: str) -> Select[Any]:
    """Like `known_entities`, for each query whose query_entities is NULL.

    Columns: number, entities. `queries` has number, question and query_entities; `owners` is the
    parameter with the owners of the memories.
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
    """The entities of the owners' memories, without duplicates."""
    memories = tables.memories
    entities = select(func.unnest(memories.c.entities, type_=Text()).label("entity"))
    return entities.where(of_owners(memories, owners)).distinct().subquery("known")


def _occurs(entity: ColumnElement[Any], asked: ColumnElement[Any]) -> ColumnElement[bool]:
    """Condition: the text contains the entity as whole words."""
    escaped = func.regexp_replace(entity, r"([^[:alnum:]_[:space:]])", r"\\\1", "g")
    whole_words = func.concat(r"(?<!\w)", escaped, r"(?!\w)")
    # CASE makes sure that the regular expression only runs on short entities that can match.
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
