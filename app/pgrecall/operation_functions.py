"""The operations that a DBA runs, as SQL functions made of the repository's own statements.

What stands in `sql/operations/` is written here and installed by a migration, so that both ways
do the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import indent
from typing import Any

from sqlalchemy import BindParameter
from sqlalchemy.dialects.postgresql.psycopg import PGCompiler_psycopg, PGDialect_psycopg
from sqlalchemy.sql import ClauseElement

from pgrecall import statements
from pgrecall.schema import Tables, tables
from pgrecall.schema.limits import TRUST_PARTS

_CHANGED = "TABLE (id uuid, old_values jsonb, new_values jsonb)"
_NOTE = {
    "note_reason": ("text", "reason"),
    "note_actor": ("text", "coalesce(actor, session_user)"),
    "note_metadata": ("jsonb", "coalesce(metadata, '{}'::jsonb)"),
}
_POLICY = """\
    min_trust_threshold float8 DEFAULT 0.2,
    max_age_hours float8 DEFAULT 720,
    delete_threshold float8 DEFAULT 0.1,
"""
_GC_NOTE = {
    "note_reason": ("text", "'garbage collection by policy ' || coalesce(policy, 'default')"),
    "note_actor": ("text", "session_user"),
    "note_metadata": ("jsonb", "'{}'::jsonb"),
}


Check = tuple[str, str]
"""A condition that must be false, and the message where it is not."""

_NAMED: Check = ("agent IS NULL OR agent = ''", "'agent must be given, got %', agent")
_SIGNED: Check = (
    "actor = '' IS TRUE OR jsonb_typeof(coalesce(metadata, '{}'::jsonb)) <> 'object'",
    "'actor must not be empty and metadata must be a JSON object, got % and %', actor, metadata",
)
_JUDGED: Check = (
    "NOT (coalesce(min_trust_threshold, 0) BETWEEN 0 AND 1"
    " AND coalesce(delete_threshold, 0) BETWEEN 0 AND 1"
    " AND coalesce(max_age_hours, 0) BETWEEN 0 AND 8766000)",
    "'thresholds lie within 0 and 1 and max_age_hours within 0 and 8766000, got %, % and %',"
    " min_trust_threshold, delete_threshold, max_age_hours",
)
_CAPPED: Check = ("max_live < 0 IS TRUE", "'max_live must not be negative, got %', max_live")
_BATCHED: Check = (
    "batch_size IS NULL OR NOT batch_size BETWEEN 1 AND 100000",
    "'batch_size lies within 1 and 100000, got %', batch_size",
)
_UNDER_A_NAME: Check = ("policy IS NULL OR policy = ''", "'policy must be named'")


class _Named(PGCompiler_psycopg):
    """Writes a bound parameter as the name of a variable."""

    def visit_bindparam(self, bindparam: BindParameter[Any], *_: Any, **options: Any) -> str:
        if bindparam.value is not None:
            return str(super().render_literal_bindparam(bindparam, **options))  # type: ignore[no-untyped-call]
        return str(bindparam.key)


class _Dialect(PGDialect_psycopg):
    statement_compiler = _Named
    supports_statement_cache = True


@dataclass(frozen=True, slots=True)
class OperationFunction:
    """One function: `body` gets the tables and returns PL/pgSQL."""

    name: str
    arguments: str
    returns: str
    variables: Mapping[str, tuple[str, str]]
    """Parameter of the statements → its type and what it is."""
    body: Callable[[Tables], str]
    comment: str
    checks: Sequence[Check] = field(default=())
    """What is refused, and the message."""
    volatility: str = "VOLATILE"

    def text(self) -> str:
        """CREATE FUNCTION and its comment, for a search_path that starts with our schema."""
        declared = "".join(
            f"    {name} {type_} := {value};\n" for name, (type_, value) in self.variables.items()
        )
        checks = "".join(
            f"    IF ({condition}) IS NOT FALSE THEN\n"
            f"        RAISE EXCEPTION {message}\n"
            "            USING ERRCODE = 'invalid_parameter_value';\n"
            "    END IF;\n"
            for condition, message in self.checks
        )
        return f"""\
CREATE FUNCTION {self.name}(
{self.arguments.rstrip().rstrip(",")}
) RETURNS {self.returns}
    LANGUAGE plpgsql {self.volatility}
    SET search_path FROM CURRENT
AS $operation$
#variable_conflict use_column
DECLARE
{declared}BEGIN
{checks}{indent(self.body(tables("")), "    ")}
END
$operation$;

COMMENT ON FUNCTION {self.name} IS
    '{self.comment}';
"""


def written(statement: ClauseElement) -> str:
    """A statement with its parameters as names."""
    dialect = _Dialect(paramstyle="named")  # type: ignore[no-untyped-call]
    dialect._bind_typing_render_casts = False
    text = str(statement.compile(dialect=dialect))
    return "\n".join(line.rstrip() for line in text.splitlines())


def _one_memory(
    name: str,
    statement: Callable[[Tables], ClauseElement],
    arguments: str,
    variables: Mapping[str, tuple[str, str]],
    comment: str,
    checks: Sequence[Check] = (),
) -> OperationFunction:
    """A function that changes one memory, and refuses one that is not there."""

    def body(of: Tables) -> str:
        return (
            f"RETURN QUERY\n{written(statement(of))};\n"
            "IF NOT FOUND THEN\n"
            f"    RAISE EXCEPTION '% has no memory % that {name} could change', agent, "
            f"{name}.memory_id\n"
            "        USING ERRCODE = 'no_data_found';\n"
            "END IF;"
        )

    return OperationFunction(
        name,
        f"    agent text,\n    memory_id uuid,\n{arguments}",
        _CHANGED,
        {"owner_id": ("text", "agent"), "this_id": ("uuid", f"{name}.memory_id")} | dict(variables),
        body,
        comment,
        (_NAMED, _SIGNED, *checks),
    )


def _several(name: str, statement: Callable[[Tables], ClauseElement], comment: str) -> Any:
    return OperationFunction(
        name,
        "    agent text,\n    memory_ids uuid[],\n    reason text DEFAULT NULL,\n"
        "    actor text DEFAULT NULL,\n    metadata jsonb DEFAULT '{}'",
        _CHANGED,
        {"owner_id": ("text", "agent"), "ids": ("uuid[]", "memory_ids")} | _NOTE,
        lambda of: f"RETURN QUERY\n{written(statement(of))};",
        comment,
        (_NAMED, _SIGNED),
    )


def _told(of: Tables) -> str:
    def number(values: str, name: str) -> str:
        return f"(h.{values} ->> '{name}')::float8"

    parts = ("trust", *(f"trust_{part}" for part in TRUST_PARTS))
    deltas = ",\n".join(
        f"       {number('new_values', name)} - {number('old_values', name)}" for name in parts
    )
    columns = ", ".join(f"h.{name}" for name in ("id", "occurred_at", "event_type", "reason"))
    trust = f"{number('old_values', 'trust')}, {number('new_values', 'trust')}"
    return "\n".join(
        (
            "RETURN QUERY",
            f"SELECT {columns}, h.actor,",
            f"       {trust},",
            f"{deltas},",
            "       h.old_values, h.new_values, h.metadata",
            "  FROM (",
            f"{written(statements.history(of))}) h",
            " ORDER BY h.occurred_at, h.id;",
        )
    )


def _cleared(of: Tables) -> str:
    first, *traces = statements.clear(of)
    return "\n".join(
        [
            f"{written(first)}\nINTO cleared;",
            *(f"{written(trace)};" for trace in traces),
            "RETURN cleared;",
        ]
    )


def _batch(of: Tables) -> str:
    first, following = (
        indent(f"{written(statements.collect_batch(of, first=is_first))}\nINTO batch;", "    ")
        for is_first in (True, False)
    )
    traces = "\n".join(f"    {written(trace)};" for trace in statements.delete_traces(of))
    return f"""\
IF after IS NULL THEN
{first}
ELSE
{following}
END IF;
IF cardinality(batch.deleted_ids) > 0 THEN
    ids := batch.deleted_ids;
{traces}
END IF;
scanned := batch.scanned;
last_id := batch.last_id;
archived := batch.archived;
deleted := cardinality(batch.deleted_ids);
RETURN NEXT;"""


def _swept(of: Tables) -> str:
    steps = []
    for statement in statements.sweep(of):
        steps.append(
            f"{written(statement).removesuffix(' RETURNING 1')};\n"
            "GET DIAGNOSTICS rows_gone = ROW_COUNT;\nswept := swept + rows_gone;"
        )
    return "\n".join([*steps, "RETURN swept;"])


def _each(statement: Callable[[Tables], ClauseElement], of: Tables) -> str:
    """The agents and then the teams of a statement, as one array."""
    arrays = (f"ARRAY(\n{written(statement(one))})" for one in (of, of.of_teams()))
    return " || ".join(arrays)


FUNCTIONS = (
    _one_memory(
        "record_outcome",
        statements.record_outcome,
        "    outcome text,\n    reason text DEFAULT NULL,\n    actor text DEFAULT NULL,\n"
        "    metadata jsonb DEFAULT '{}',\n    touch boolean DEFAULT true,\n",
        {"success": ("boolean", "outcome = 'success'")} | _NOTE,
        "Counts a success or failure of a memory''s use and moves its trust; touch counts a "
        "retrieval too.",
        [
            (
                "outcome NOT IN ('success', 'failure')",
                "'outcome is success or failure, got %', outcome",
            )
        ],
    ),
    _one_memory(
        "adjust_trust",
        statements.adjust_trust,
        "    delta float8,\n    reason text,\n    actor text DEFAULT NULL,\n"
        "    metadata jsonb DEFAULT '{}',\n",
        _NOTE,
        "Adds delta to the stored trust of a memory, within 0 and 1, for a reason.",
        [
            (
                "NOT delta BETWEEN -1 AND 1 OR reason = ''",
                "'delta lies within -1 and 1 and needs a reason, got % and %', delta, reason",
            )
        ],
    ),
    _one_memory(
        "record_feedback",
        statements.record_feedback,
        "    kind text,\n    context text DEFAULT NULL,\n    actor text DEFAULT NULL,\n"
        "    metadata jsonb DEFAULT '{}',\n",
        {
            "up": ("integer", "CASE kind WHEN 'useful' THEN 1 ELSE 0 END"),
            "down": (
                "integer",
                "CASE kind WHEN 'useful' THEN 0 WHEN 'incorrect' THEN 3 ELSE 1 END",
            ),
            "outdated": ("boolean", "kind = 'outdated'"),
            "note_reason": ("text", "context"),
            "note_actor": ("text", "coalesce(actor, session_user)"),
            "note_metadata": (
                "jsonb",
                "coalesce(metadata, '{}'::jsonb) || jsonb_build_object('kind', kind)",
            ),
        },
        "Counts feedback on a memory (useful, not_useful, outdated, incorrect) and moves its "
        "usefulness.",
        [
            (
                "kind NOT IN ('useful', 'not_useful', 'outdated', 'incorrect')",
                "'feedback is useful, not_useful, outdated or incorrect, got %', kind",
            )
        ],
    ),
    _several(
        "invalidate_memories",
        statements.invalidate,
        "Forgets memories of an agent: they stay, but are not recalled from now on.",
    ),
    _several(
        "revive_memories",
        statements.revive,
        "Makes memories recallable again that were invalidated, put away or have expired.",
    ),
    OperationFunction(
        "history",
        "    agent text,\n    memory_id uuid",
        "TABLE (\n    id uuid, occurred_at timestamptz, event_type text, reason text, actor text,\n"
        "    old_trust float8, new_trust float8, trust_delta float8, provenance_delta float8,\n"
        "    consensus_delta float8, governance_delta float8, usage_delta float8,\n"
        "    old_values jsonb, new_values jsonb, metadata jsonb)",
        {"owner_id": ("text", "agent"), "this_id": ("uuid", "history.memory_id")},
        _told,
        "What happened to a memory of an owner, oldest first, with what it did to trust.",
        volatility="STABLE",
        checks=(_NAMED,),
    ),
    OperationFunction(
        "clear_memories",
        "    agent text",
        "bigint",
        {"owner_id": ("text", "agent"), "cleared": ("bigint", "0")},
        _cleared,
        "Deletes everything of an agent, memories, counters, labels, links and history; returns "
        "how many memories there were.",
        checks=(_NAMED,),
    ),
    OperationFunction(
        "owners_of_memories",
        "    with_leftovers boolean DEFAULT false",
        "text[]",
        {"found_owners": ("text[]", "'{}'")},
        lambda of: (
            f"found_owners := {_each(statements.owners, of)};\n"
            f"IF with_leftovers THEN\n    found_owners := found_owners\n"
            f"        || {_each(statements.owners_of_orphans, of)};\n"
            "END IF;\nRETURN found_owners;"
        ),
        "Who has memories, agents first and then teams; with_leftovers: also who only has what "
        "memories left behind.",
        volatility="STABLE",
    ),
    OperationFunction(
        "count_garbage",
        f"    agent text,\n{_POLICY}    max_live bigint DEFAULT NULL",
        "TABLE (scanned bigint, archived bigint, deleted bigint, swept bigint)",
        {"owner_id": ("text", "agent")},
        lambda of: f"RETURN QUERY\n{written(statements.count_garbage(of))};",
        "What a garbage collection would do to the memories of an agent; changes nothing.",
        volatility="STABLE",
        checks=(
            _NAMED,
            _JUDGED,
            _CAPPED,
        ),
    ),
    OperationFunction(
        "collect_garbage_batch",
        f"    agent text,\n    after uuid DEFAULT NULL,\n{_POLICY}"
        "    policy text DEFAULT 'default',\n    batch_size integer DEFAULT 1000",
        "TABLE (scanned bigint, last_id uuid, archived bigint, deleted bigint)",
        {"owner_id": ("text", "agent"), "ids": ("uuid[]", "'{}'"), "batch": ("record", "NULL")}
        | _GC_NOTE,
        _batch,
        "One batch of the garbage collection: the next memories of an agent after an id.",
        checks=(
            _NAMED,
            _JUDGED,
            _UNDER_A_NAME,
            _BATCHED,
        ),
    ),
    OperationFunction(
        "archive_excess_batch",
        "    agent text,\n    max_live bigint,\n    policy text DEFAULT 'default',\n"
        "    batch_size integer DEFAULT 1000",
        _CHANGED,
        {"owner_id": ("text", "agent")} | _GC_NOTE,
        lambda of: f"RETURN QUERY\n{written(statements.archive_excess(of))};",
        "One batch of the garbage collection: the least trusted beyond the cap are archived.",
        checks=(
            _NAMED,
            _CAPPED,
            _UNDER_A_NAME,
            _BATCHED,
        ),
    ),
    OperationFunction(
        "sweep_orphans_batch",
        "    agent text,\n    batch_size integer DEFAULT 1000",
        "bigint",
        {"owner_id": ("text", "agent"), "swept": ("bigint", "0"), "rows_gone": ("bigint", "0")},
        _swept,
        "One batch of the garbage collection: what is left of memories that are gone.",
        checks=(
            _NAMED,
            _BATCHED,
        ),
    ),
)


def write_all(folder: Path) -> None:
    """Writes every function into a folder, one file each."""
    for function in FUNCTIONS:
        (folder / f"{function.name}.sql").write_text(function.text(), encoding="utf-8")


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
