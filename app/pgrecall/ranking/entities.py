"""Finds known entities in the text of a query."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    Subquery,
    Text,
    and_,
    bindparam,
    case,
    column,
    false,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY

from pgrecall.core.limits import MAX_NAME_LENGTH, MAX_QUERY_ENTITIES
from pgrecall.ranking.conditions import OWNERS, of_owners
from pgrecall.schema import Tables


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


@lru_cache
def known_in_texts(tables: Tables) -> Select[Any]:
    """Like `known_entities`, for each of `texts`. Columns: number, from 1, and entities.

    Parameters: owners, texts.
    """
    given: Any = func.unnest(bindparam("texts", type_=ARRAY(Text)))
    texts = given.table_valued(
        column("question", Text), with_ordinality="number", name="texts"
    ).render_derived()
    known = _entities(tables, OWNERS)
    order = (func.length(known.c.entity).desc(), known.c.entity)
    place = func.row_number().over(partition_by=texts.c.number, order_by=order)
    found = (
        select(texts.c.number, known.c.entity, place.label("place"))
        .select_from(texts.join(known, true()))
        .where(_occurs(known.c.entity, texts.c.question))
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
