"""The relation `matched` as a subquery, for statements of a backend's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BindParameter,
    Boolean,
    DateTime,
    Double,
    Integer,
    Subquery,
    Text,
    Uuid,
    bindparam,
    column,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

from pgrecall.core.embedding_type import Embedding
from pgrecall.core.statement import Statement
from pgrecall.core.steps import READS, Operation, needs
from pgrecall.core.vectors import StoredVector, VectorLike
from pgrecall.ranking.filters import Filter
from pgrecall.ranking.question import Question
from pgrecall.schema import Tables
from pgrecall.schema.columns import field_type
from pgrecall.schema.fields import USAGE
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.score import ASKED, Asked
from pgrecall.search.matched import relation
from pgrecall.search.shape import Shape, shape_of

_TYPES: Final[Mapping[str, TypeEngine[Any]]] = {
    "boolean": Boolean(),
    **dict.fromkeys(("float8", "double"), Double()),
    "integer": Integer(),
    "jsonb": JSONB(),
    **dict.fromkeys(("text", "varchar"), Text()),
    **dict.fromkeys(("timestamp", "timestamptz"), DateTime(timezone=True)),
    "uuid": Uuid(),
}
_SHARES = (
    *("cosine", "similarity", "centered_similarity", "word_share", "word_coverage"),
    *("entity_overlap", "nearness", "relevance"),
)
_CAST = re.compile(r"(?<!:):(\w+)::((?:\w+(?: with time zone| precision)?)(?:\[\])?)", re.I)
_LITERAL = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")


@needs(READS)
def matched(
    tables: Tables,
    /,
    agent_id: str | UUID,
    query: VectorLike | str | None = None,
    *,
    profile: Profile | str | None = None,
    keywords: str | None = None,
    entities: Sequence[str] | None = None,
    period: Any = None,
    timezone: str | tzinfo | None = None,
    as_of: datetime | None = None,
    teams: Sequence[str | UUID] = (),
    filter: Filter | None = None,  # noqa: A002  as in a search
    include_inactive: bool = False,
) -> Operation[Subquery]:
    """The agent's memories with what a query has to do with each, as a subquery for your own
    SELECT.

    It has the columns of a memory, its counters, and what profiles compare: cosine, similarity,
    centered_similarity, word_share, entity_overlap, nearness, relevance and others. Rank by
    `profile.score(m)`, join your own tables, and execute the statement on your own connection. It
    reads every memory that passes the filter, and counts no retrieval.

    The arguments are those of `search`. The query is centered, and subjects are names, as the
    profile has it: rank by this one, or by others that agree in both.
    """
    arguments: Any = {
        "profile": profile,
        "keywords": keywords,
        "entities": entities,
        "as_of": as_of,
        "teams": teams,
        "filter": filter,
        "include_inactive": include_inactive,
        **({} if period is None else {"period": period}),
        **({} if timezone is None else {"timezone": timezone}),
    }
    question = Question.of(tables, agent_id, query, k=1, arguments=arguments)
    search = yield from question.resolved(tables)
    shape, parameters = shape_of(tables, search)
    written = _relation(shape)
    bound = _bound(Statement(written), parameters)
    found = text(_bindable(written)).bindparams(*bound)
    stored = (column(one.name, one.type) for one in tables.memories.c)
    m = found.columns(*stored, *_computed()).subquery("m")
    vars(m)[ASKED] = Asked(tables.schema, search.profile)
    return m


def _relation(shape: Shape) -> str:
    """The text of sql/matched.sql with this shape. PostgreSQL leaves out the joins that are not
    read: each has at most one row for a memory, and says so."""
    form, joins = shape.form, relation().joins
    words = "SELECT NULL::text AS agent_id, NULL::uuid AS memory_id, 0 AS share, 0 AS coverage"
    if shape.has("words"):
        words = f"SELECT * FROM {form.words}"  # noqa: S608  ours
    joined = {
        "u": "pgrecall.memory_usage",
        "w": f"(SELECT DISTINCT ON (agent_id, memory_id) * FROM ({words}) found)",  # noqa: S608
        "q": f"(SELECT DISTINCT ON (agent_id) * FROM {form.facts})",  # noqa: S608  ours
    }
    columns = [f"{shape.rows.text(name)} AS {name}" for name in relation().columns]
    conditions = " AND ".join((shape.agents, *shape.inside, *shape.outside()))
    return shape.written(
        "\n".join(
            (
                f"SELECT m.*, {', '.join(columns)}",
                "  FROM pgrecall.agent_memories m",
                *(f"  LEFT JOIN {one} {row} ON {joins[row]}" for row, one in joined.items()),
                f" WHERE {conditions}",
            )
        )
    )


def _computed() -> list[Any]:
    """The columns that are no columns of agent_memories, with their types."""
    types: dict[str, Any] = dict.fromkeys(_SHARES, Double())
    types |= {one.name: field_type(one) for one in USAGE}
    types["moment"] = DateTime(timezone=True)
    return [column(name, types.get(name, Boolean())) for name in relation().columns]


def _bindable(statement: str) -> str:
    """The text as SQLAlchemy's text() takes it."""
    cast = _CAST.sub(r"CAST(:\1 AS \2)", statement)
    return _LITERAL.sub(lambda match: match[0].replace(":", "\\:"), cast)


def _bound(statement: Statement, values: Mapping[str, Any]) -> list[BindParameter[Any]]:
    """The parameters that the text names, with their values."""
    return [
        bindparam(name, values.get(name), _type(cast, values.get(name)), unique=True)
        for name, cast in statement.types.items()
    ]


def _type(cast: str | None, value: Any) -> TypeEngine[Any]:
    if isinstance(value, StoredVector):
        return Embedding()
    name = (cast or "float8").lower()
    one = _TYPES[name.removesuffix("[]")]
    return ARRAY(one) if name.endswith("[]") else one
