"""Positions of memories in the rank space, and the tables and indexes that hold them."""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    DateTime,
    Delete,
    Double,
    Executable,
    Index,
    Insert,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    Uuid,
    bindparam,
    case,
    cast,
    column,
    delete,
    func,
    insert,
    literal,
    literal_column,
    or_,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, array
from sqlalchemy.schema import DDL, CreateIndex, CreateTable, SetTableComment
from sqlalchemy.types import UserDefinedType

from pgrecall import compiler
from pgrecall.compiler import Scope
from pgrecall.ids import new_id
from pgrecall.rank_space import AXES, EVENNESS, Axis, Missing
from pgrecall.schema import Layout, Tables
from pgrecall.schema.types import Embedding
from pgrecall.statements.conditions import active, owned, uuids
from pgrecall.statements.names import full_name, quoted
from pgrecall.statements.reading import with_usage

SEED = 42
"""Of the order in which positions are put into the graph."""
IN_THE_ROW = 8_160
"""The most that PostgreSQL allows: positions stay in their rows, since fetching one from elsewhere
takes longer than to compare it."""


_AS_OF: Any = bindparam("as_of", type_=DateTime(timezone=True))


class _Type(UserDefinedType[Any]):
    """A type of pgvector, wherever the extension is installed."""

    cache_ok = True

    def __init__(self, schema: str, name: str, dimensions: int | None = None) -> None:
        self.schema = schema
        self.name = name
        self.dimensions = dimensions

    def get_col_spec(self, **_: Any) -> str:
        length = "" if self.dimensions is None else f"({self.dimensions})"
        return f"{quoted(self.schema)}.{self.name}{length}"


def relation_name() -> str:
    """A name for a table of positions that no other has."""
    return f"ranks_{new_id().hex}"


def positions_table(tables: Tables, layout: Layout, relation: str) -> Table:
    """The table of this name; each build has a new one, so it is not in our metadata."""
    return Table(
        relation,
        MetaData(schema=tables.schema),
        Column("memory_id", Uuid, primary_key=True),
        Column(
            "position",
            _Type(layout.extension_schema, "halfvec", layout.dimensions + len(AXES) + 1),
            nullable=False,
        ),
        Column("words", ARRAY(BigInteger), nullable=False),
        comment="Positions of an owner's memories in the rank space: see rank_indexes.",
    )


def create_positions(positions: Table) -> tuple[Executable, ...]:
    whole: Any = DDL(  # type: ignore[no-untyped-call]
        f"ALTER TABLE %(fullname)s SET (toast_tuple_target = {IN_THE_ROW})"
    )
    return CreateTable(positions), whole.against(positions), SetTableComment(positions)


@lru_cache
def drop_positions(tables: Tables) -> Select[Any]:
    """Whether the table `relation` is gone; False where somebody still reads it."""
    dropped = compiler.schema_function(
        tables.schema, "drop_ranks", bindparam("relation", type_=Text()), type_=Boolean()
    )
    return select(dropped.label("dropped"))


@lru_cache
def calibrated(tables: Tables) -> Select[Any]:
    """How many `candidates` a search of the `relation` needs to find the share `recall` of the best
    `hits` in these `directions`, and `worst` of those in each, out of the `levels`; and how like a
    query what a walk meets usually is: `likeness`."""
    found: Any = compiler.schema_function(
        tables.schema,
        "calibrated_candidates",
        bindparam("relation", type_=Text()),
        bindparam("directions", type_=ARRAY(Text)),
        bindparam("hits", type_=Integer()),
        bindparam("levels", type_=ARRAY(Integer)),
        bindparam("recall", type_=Double()),
        bindparam("worst", type_=Double()),
        type_=Integer(),
    )
    measured = found.table_valued(column("candidates", Integer()), column("likeness", Double()))
    return select(measured)


@lru_cache
def forget_positions(tables: Tables) -> Select[Any]:
    """Deletes the positions of `ids` from the owner's rank index, if there is one; NULL: all."""
    return select(
        compiler.schema_function(
            tables.schema,
            "forget_positions",
            bindparam("owner_id", type_=Text()),
            uuids(),
            type_=BigInteger(),
        ).label("forgotten")
    )


def fill_positions(tables: Tables, layout: Layout, positions: Table) -> Insert:
    """Puts in the positions of the owner's active memories; parameters: owner_id, as_of.

    In an order that has nothing to do with time or topic: filled from old to new, the graph finds
    much less (ADR-0021).
    """
    return insert(positions).from_select(
        ["memory_id", "position", "words"], _placed(tables, layout)
    )


def index_positions(
    layout: Layout, positions: Table, *, m: int, ef_construction: int
) -> tuple[Executable, ...]:
    index = Index(
        f"{positions.name}_position",
        positions.c.position,
        postgresql_using="hnsw",
        postgresql_ops={"position": f"{quoted(layout.extension_schema)}.halfvec_ip_ops"},
        postgresql_with={"m": m, "ef_construction": ef_construction},
    )
    words = Index(
        f"{positions.name}_words",
        positions.c.words,
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )
    return CreateIndex(index), CreateIndex(words), text(f"ANALYZE {full_name(positions)}")


def delete_gone(tables: Tables, positions: Table) -> Delete:
    """Deletes the positions of memories that were deleted while the index was built."""
    memories = tables.memories
    there = select(memories.c.id).where(owned(memories), memories.c.id == positions.c.memory_id)
    return delete(positions).where(~there.exists())


def _placed(tables: Tables, layout: Layout) -> Select[Any]:
    memories, usage = tables.memories, tables.memory_usage
    vector, halfvec = (_Type(layout.extension_schema, name) for name in ("vector", "halfvec"))
    unit = compiler.schema_function(
        layout.extension_schema, "l2_normalize", memories.c.embedding, type_=vector
    )
    nowhere = func.array_fill(
        literal(0.0, Double()), array([literal_column(str(layout.dimensions))])
    )
    origin = (
        select(
            memories.c.id,
            func.coalesce(cast(unit, vector), _vector(nowhere, vector), type_=vector).label(
                "meaning"
            ),
            _vector(array([_coordinate(tables, axis) for axis in AXES]), vector).label("signals"),
            _words(tables).label("words"),
        )
        .select_from(with_usage(memories, usage))
        .where(owned(memories), active(memories), *_not_over(memories))
        .subquery("origin")
    )
    operator = f"OPERATOR({quoted(layout.extension_schema)}.%s)"
    negative: Any = origin.c.signals.op(operator % "<#>", return_type=Double())(origin.c.signals)
    sized = select(origin, (-negative).label("squared")).subquery("sized")
    rest: Any = literal(EVENNESS, Double()) * func.sqrt(
        func.max(sized.c.squared).over() - sized.c.squared
    )
    position: Any = sized.c.meaning.op(operator % "||")(sized.c.signals)
    position = position.op(operator % "||")(_vector(array([rest]), vector))
    return select(sized.c.id, cast(position, halfvec), sized.c.words).order_by(
        func.uuid_hash_extended(sized.c.id, literal_column(f"{SEED}::bigint"))
    )


def _words(tables: Tables) -> ColumnElement[Any]:
    """The keys of the memory's words, as the index of words has them."""
    memories = tables.memories
    return compiler.schema_function(
        tables.schema,
        "term_keys",
        memories.c.agent_id,
        memories.c.terms,
        type_=ARRAY(BigInteger),
    )


def _not_over(memories: Table) -> list[ColumnElement[bool]]:
    """That it holds at `as_of` or may yet: what is to begin later is in the index already."""
    ends = (memories.c.valid_until, memories.c.expires_at, memories.c.invalidated_at)
    return [or_(end.is_(None), end > _AS_OF) for end in ends]


def _vector(numbers: Any, vector: _Type) -> ColumnElement[Any]:
    return cast(cast(numbers, ARRAY(Double)), vector)


def _coordinate(tables: Tables, axis: Axis) -> ColumnElement[Any]:
    return _value(tables, axis) * literal(axis.scale, Double())


def _value(tables: Tables, axis: Axis) -> ColumnElement[Any]:
    if isinstance(axis.what, Missing):
        lacks = tables.memories.c[axis.what].is_(None)
        return case((lacks, literal(1.0, Double())), else_=literal(0.0, Double()))
    return compiler.value(axis.what, _scope(tables, axis.after))


def _scope(tables: Tables, after: float) -> Scope:
    return Scope(
        schema=tables.schema,
        memories=tables.memories,
        usage=tables.memory_usage,
        query=literal(None, Embedding()),
        as_of=_AS_OF + literal(timedelta(days=after)) if after else _AS_OF,
        query_entities=literal([], ARRAY(Text)),
        parameter=lambda name, value, type_: literal(value, type_),  # the names repeat
    )
