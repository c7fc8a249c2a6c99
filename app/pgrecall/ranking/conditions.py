"""Writes a checked filter as conditions of SQL, by SQLAlchemy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    Boolean,
    ColumnElement,
    DateTime,
    Double,
    Text,
    and_,
    any_,
    bindparam,
    cast,
    false,
    func,
    literal_column,
    not_,
    or_,
    select,
    text,
    true,
)
from sqlalchemy.dialects.postgresql import JSONB, UUID
from sqlalchemy.types import TypeEngine

from pgrecall.core.statement import Functions
from pgrecall.ranking.custom_condition import written
from pgrecall.ranking.filter_keys import MATCH, ORDERED
from pgrecall.ranking.filters import Comparison, Filters, Group, Node
from pgrecall.schema import Tables

Columns = Mapping[str, Any]
_TYPES: Final[Mapping[str, TypeEngine[Any]]] = {
    "text": Text(),
    "text[]": ARRAY(Text),
    "float8": Double(),
    "integer": Double(),
    "timestamptz": DateTime(timezone=True),
    "uuid": UUID(),
    "boolean": Boolean(),
    "jsonb": JSONB(),
}
_OWN, _OTHERS = text("(CAST(:agents AS text[]))[1]"), text("(CAST(:agents AS text[]))[2:]")
"""The agent and the teams whose memories are read: they know what an alias stands for."""
_COMPARED: Final[Mapping[str, Callable[[Any, Any], ColumnElement[bool]]]] = {
    "$eq": lambda found, value: found == value,
    "$ne": lambda found, value: found.is_distinct_from(value),
    "$gt": lambda found, value: found > value,
    "$gte": lambda found, value: found >= value,
    "$lt": lambda found, value: found < value,
    "$lte": lambda found, value: found <= value,
    "$in": lambda found, values: found == any_(values),
    "$nin": lambda found, values: _none_of(found == any_(values)),
    "$like": lambda found, pattern: found.like(pattern),
    "$ilike": lambda found, pattern: found.ilike(pattern),
}


def condition(node: Node, columns: Columns, schema: str) -> ColumnElement[bool]:
    """The condition over these columns, with parameters named f0, f1, … . `columns` has the columns
    of a memory, the counters, and similarity, decayed_trust and terms if they are read."""
    match node:
        case Group("$or", children):
            return or_(*(condition(child, columns, schema) for child in children))
        case Group("$not", children):
            return and_(*(_none_of(condition(child, columns, schema)) for child in children))
        case Group(_, children):
            return and_(true(), *(condition(child, columns, schema) for child in children))
        case Comparison():
            met: ColumnElement[bool] = _comparison(node, columns, schema)
            return met


def _comparison(node: Comparison, columns: Columns, schema: str) -> Any:
    its_schema = Functions(schema)
    if node.operator == MATCH:
        words = select(its_schema.word_filter(_bound(node.place, Text()))).scalar_subquery()
        return columns["terms"].op("@@", return_type=Boolean())(words)
    found = columns[node.column]
    if node.type == "text[]":
        return _of_list(node, found, its_schema)
    if node.type == "jsonb":
        return _of_metadata(node, found)
    if node.operator in ("$exists", "$missing"):
        exists = found.is_not(None)
        return exists if node.operator == "$exists" else found.is_(None)
    type_ = _TYPES[node.type]
    if node.type == "integer":  # as are its values
        found = cast(found, type_)
    several = node.operator in ("$in", "$nin")
    return _COMPARED[node.operator](found, _bound(node.place, ARRAY(type_) if several else type_))


def _of_list(node: Comparison, found: Any, schema: Any) -> Any:
    """A column that is a list has a value, or any or all of several. No element is no value."""
    if node.operator in ("$exists", "$missing"):
        empty: Any = literal_column("'{}'")
        return found != empty if node.operator == "$exists" else found == empty
    values: Any = _bound(node.place, ARRAY(Text))
    if node.column == "entities":  # an alias stands for its entity
        known = schema.known_for if node.operator == "$all" else schema.known_as
        values = select(known(_OWN, values, _OTHERS)).scalar_subquery()
    if node.operator == "$all":
        return found.op("OPERATOR(pg_catalog.@>)", return_type=Boolean())(values)
    has_any = found.op("OPERATOR(pg_catalog.&&)", return_type=Boolean())(values)
    return not_(has_any) if node.operator in ("$ne", "$nin") else has_any


def _of_metadata(node: Comparison, metadata: Any) -> Any:
    """JSON is ordered only between two numbers or two texts."""
    path = _bound(node.place + 1, ARRAY(Text))
    found = metadata.op("#>", return_type=JSONB())(path)
    if node.operator in ("$exists", "$missing"):
        return found.is_not(None) if node.operator == "$exists" else found.is_(None)
    type_of = func.pg_catalog.jsonb_typeof
    if node.operator in ("$like", "$ilike"):
        found_text = metadata.op("#>>", return_type=Text())(path)
        alike = _COMPARED[node.operator](found_text, _bound(node.place, Text()))
        return and_(type_of(found) == literal_column("'string'"), alike)
    if node.operator == "$all":
        return found.op("@>", return_type=Boolean())(_bound(node.place, JSONB()))
    several = node.operator in ("$in", "$nin")
    value = _bound(node.place, ARRAY(JSONB) if several else JSONB())
    compared = _COMPARED[node.operator](found, value)
    return (
        and_(type_of(found) == type_of(value), compared) if node.operator in ORDERED else compared
    )


def _none_of(met: ColumnElement[bool]) -> ColumnElement[bool]:
    return not_(func.coalesce(met, false()))


def _bound(place: int, type_: TypeEngine[Any]) -> Any:
    return bindparam(f"f{place}", type_=type_)


def conditions_of(
    tables: Tables, filters: Filters
) -> tuple[tuple[Node | str, ...], dict[str, Any]]:
    """The conditions of a filter on rows `m`, the caller's own as text; and the values of all their
    parameters."""
    conditions: list[Node | str] = []
    values = dict(filters.values)
    for number, part in enumerate(filters.parts, start=1):
        if isinstance(part.node, Comparison | Group):
            conditions.append(part.node)
        else:
            own = written(tables.memories, part.node, f"where_{number}_", "m")
            conditions.append(f"({own.text})")
            values |= own.values
    return tuple(conditions), values
