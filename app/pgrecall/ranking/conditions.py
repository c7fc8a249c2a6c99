"""Conditions on the rows that a statement reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Boolean,
    ColumnElement,
    DateTime,
    Double,
    FromClause,
    Integer,
    Select,
    Text,
    Uuid,
    and_,
    any_,
    bindparam,
    cast,
    func,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSQUERY
from sqlalchemy.sql.elements import Grouping
from sqlalchemy.sql.selectable import Lateral

from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.filters import FilterShape
from pgrecall.ranking.metadata_filter import MOST_APART
from pgrecall.schema import Tables, tables
from pgrecall.scoring import compiler
from pgrecall.scoring.compiler import Scope
from pgrecall.scoring.signals import Trust

Condition = ColumnElement[bool]


def moment(explicit: bool) -> ColumnElement[Any]:
    """The parameter `as_of` if it is explicit, else the transaction's now()."""
    return bindparam("as_of", type_=DateTime(timezone=True)) if explicit else func.now()


def scope(
    within: Tables,
    memories: FromClause,
    *,
    as_of: bool,
    keyword: ColumnElement[float] | None = None,
    period: bool = False,
) -> Scope:
    """The Scope of the repository's own statements, in which every value is bound."""
    return Scope(
        schema=within.schema,
        memories=memories,
        usage=within.memory_usage,
        query=compiler.query_parameter(),
        as_of=moment(as_of),
        explicit_as_of=moment(True) if as_of else None,
        query_entities=compiler.query_entities_parameter(),
        keyword=keyword,
        period=(_time("period_from"), _time("period_to")) if period else None,
    )


OWNER, OWNERS = "owner_id", "owners"
"""Names of the parameter for one owner's id, and of that for an array of several."""
HIDDEN_OWNER = "hidden owner_id"
"""The parameter `owner_id`, hidden from the planner."""


def of_owners(rows: FromClause, owners: str) -> Condition:
    """Rows of the owners in the parameter of this name: OWNER, HIDDEN_OWNER or OWNERS."""
    if owners == HIDDEN_OWNER:
        condition: Condition = rows.c.agent_id == hidden(bindparam(OWNER, type_=Text()))
        return condition
    return owned(rows) if owners == OWNER else any_of(rows.c.agent_id, owners)


def of_one(owners: str) -> bool:
    """True if the parameter of this name is one owner."""
    return owners in (OWNER, HIDDEN_OWNER)


def hidden(value: ColumnElement[Any]) -> ColumnElement[Any]:
    """A value that the planner cannot see. The plan is then the same for every value, so PostgreSQL
    caches it after five executions."""
    return select(value).scalar_subquery()


def owned(rows: FromClause, owner_id: str | None = None) -> Condition:
    """Rows of one owner. Without a value, the id is the parameter `owner_id`."""
    condition: Condition = rows.c.agent_id == bindparam("owner_id", owner_id, type_=Text())
    return condition


ACTIVE: ColumnElement[Any] = literal_column("'active'", Text())


def active(memories: FromClause) -> Condition:
    """The status is a literal, so that the partial index on active memories can be used."""
    condition: Condition = memories.c.status == ACTIVE
    return condition


def uuids(values: Sequence[UUID] | None = None) -> ColumnElement[Any]:
    """Ids as one bound array; without values, the parameter `ids`."""
    ids = None if values is None else list(values)
    return cast(bindparam("ids", ids, type_=ARRAY(Uuid)), ARRAY(Uuid))


def rows_of_arrays(name: str, **columns: tuple[str, Any]) -> FromClause:
    """Bound arrays as the columns of a table.

    `columns` maps each column to its parameter and the type of its elements.
    """
    arrays = [
        cast(bindparam(parameter, type_=ARRAY(type_)), ARRAY(type_))
        for parameter, type_ in columns.values()
    ]
    return func.unnest(*arrays).table_valued(*columns, name=name).render_derived()


OF_COLUMNS = {
    "memory_natures": "memory_nature",
    "content_types": "content_type",
    "tiers": "tier",
    "components": "component",
    "output_types": "output_type",
    "domains": "domain",
    "categories": "category",
    "loops": "loop",
}
"""Filters that a column passes if it is one of several texts."""


def conditions(
    scope: Scope, shape: FilterShape, *, as_of: bool, owners: str = OWNER
) -> dict[str, Condition]:
    """The conditions of the filters by name, including validity at `as_of`.

    Values are bound under the names of the filters, so the statement depends only on which filters
    are given. `owners` is the parameter with the owners, OWNER or OWNERS.
    """
    columns, given = scope.memories.c, shape.given
    found: dict[str, Condition] = {}
    if not shape.include_invalid:
        found["valid"] = valid(scope)
    if as_of:
        found["as_of"] = created_by(scope)
    found["statuses"] = (
        any_of(columns.status, "statuses") if "statuses" in given else active(scope.memories)
    )
    for name, column in OF_COLUMNS.items():
        if name in given:
            found[name] = any_of(columns[column], name)
    if "memory_types" in given:
        found["memory_types"] = or_(
            any_of(columns.memory_type, "memory_types"),
            _overlap(columns.additional_types, "memory_types"),
        )
    for name, array in (("tags", columns.tags), ("entities", columns.entities)):
        if name in given:
            found[name] = _overlap(array, name)
        if f"all_{name}" in given:
            found[f"all_{name}"] = array.contains(texts(f"all_{name}"))
    if "labels" in given:
        found["labels"] = _labelled(scope, owners, of_kind="label_kinds" in given)
    if "metadata" in given:
        found["metadata"] = columns.metadata.contains(bindparam("metadata", type_=JSONB()))
    if "compared" in given:
        found["compared"] = unmet_comparison(scope) == literal_column("0")
    for place in range(MOST_APART):
        if f"compared_{place}_path" in given:
            found[f"comparison_{place + 1}"] = _compared(scope, f"compared_{place}")
    if "text" in given:
        found["text"] = _matches_text(scope)
    if "created_after" in given:
        found["created_after"] = columns.created_at >= _time("created_after")
    if "created_before" in given:
        found["created_before"] = columns.created_at < _time("created_before")
    for name in ("compliant", "needs_review"):
        if name in given:
            found[name] = columns[name] == bindparam(name, type_=Boolean())
    if "min_trust" in given:
        found["min_trust"] = trusted(scope, decay=shape.apply_decay)
    return found


def custom_conditions(where: Sequence[Expression]) -> dict[str, Condition]:
    """The caller's expressions in brackets, so that an OR in raw SQL cannot bypass other ones."""
    return {
        f"where_{number}": Grouping(condition) for number, condition in enumerate(where, start=1)
    }


def valid(scope: Scope) -> Condition:
    """Condition: valid at `as_of`, that is within its validity, not invalidated, not expired."""
    columns = scope.memories.c
    return compiler.schema_function(
        scope.schema,
        "is_valid",
        columns.valid_from,
        columns.valid_until,
        columns.invalidated_at,
        columns.expires_at,
        scope.as_of,
        type_=Boolean(),
    )


def created_by(scope: Scope) -> Condition:
    """Condition: the memory existed at an explicit `as_of`. One of unknown age always did.

    Without an explicit `as_of` this is not checked, so a row from a clock that is ahead is found.
    """
    created_at = scope.memories.c.created_at
    return or_(created_at.is_(None), created_at <= scope.as_of)


def trusted(scope: Scope, *, decay: bool) -> Condition:
    """Condition: trust, decayed as in ranking, reaches `min_trust`. Unknown trust does not."""
    assessed = scope.memories.c.trust.is_not(None)
    floor: Any = bindparam("min_trust", type_=Double())
    return and_(assessed, compiler.value(Trust(decay=decay), scope) >= floor)


def unmet_comparison(scope: Scope) -> ColumnElement[int]:
    """The place of the first comparison in `compared` that the metadata does not meet; 0: none."""
    compared = bindparam("compared", type_=JSONB())
    found: ColumnElement[int] = compiler.schema_function(
        scope.schema, "unmet_comparison", scope.memories.c.metadata, compared, type_=Integer()
    )
    return found


JSONS = ARRAY(JSONB, dimensions=1)
"""An array of JSON values, which may be lists themselves."""


def _compared(scope: Scope, name: str) -> Condition:
    """Condition: the metadata meet one comparison, whose parameters begin with this name."""
    operand = scope.memories.c.metadata.op("#>", return_type=JSONB())(texts(f"{name}_path"))
    among = cast(bindparam(f"{name}_among", type_=JSONS), JSONS)
    condition: Condition = compiler.schema_function(
        scope.schema,
        "meets_comparison",
        operand,
        bindparam(f"{name}_operator", type_=Text()),
        cast(bindparam(f"{name}_value", type_=JSONB()), JSONB),
        among,
        type_=Boolean(),
    )
    return condition


def _labelled(scope: Scope, owners: str, *, of_kind: bool) -> Condition:
    """Condition: the memory has any of `labels`; with `of_kind`, of any of `label_kinds`."""
    labels: Any = tables(scope.schema).memory_labels
    of_memory = and_(
        labels.c.agent_id == scope.memories.c.agent_id, labels.c.memory_id == scope.memories.c.id
    )
    if not of_one(owners):  # for one owner the planner infers this
        of_memory = and_(of_memory, of_owners(labels, owners))
    if isinstance(scope.memories, Lateral):  # each is looked up, and so are its labels: all of them
        theirs = select(labels.c.value, labels.c.kind).where(of_memory)
        labels = theirs.correlate(scope.memories).offset(literal_column("0")).subquery("its_labels")
        of_memory = true()
    carried: Select[Any] = select(literal_column("1")).where(
        of_memory, any_of(labels.c.value, "labels")
    )
    if of_kind:
        carried = carried.where(any_of(labels.c.kind, "label_kinds"))
    return carried.exists()


def text_query(schema: str) -> ColumnElement[Any]:
    """The `text` filter as a tsquery, computed once per statement."""
    asked = compiler.schema_function(
        schema, "word_filter", bindparam("text", type_=Text()), type_=TSQUERY()
    )
    return select(asked).scalar_subquery()


def _matches_text(scope: Scope) -> Condition:
    """Condition: the memory matches the `text` filter."""
    passes = scope.memories.c.terms.op("@@", is_comparison=True, return_type=Boolean())
    condition: Condition = passes(text_query(scope.schema))
    return condition


def texts(name: str) -> ColumnElement[Any]:
    return cast(bindparam(name, type_=ARRAY(Text)), ARRAY(Text))


def _time(name: str) -> ColumnElement[Any]:
    return bindparam(name, type_=DateTime(timezone=True))


def any_of(column: ColumnElement[Any], name: str) -> Condition:
    """Condition: the column equals one of the texts in the parameter of this name."""
    condition: Condition = column == any_(texts(name))
    return condition


def _overlap(column: ColumnElement[Any], name: str) -> Condition:
    overlaps = column.op("&&", is_comparison=True, return_type=Boolean())
    condition: Condition = overlaps(texts(name))
    return condition
