"""Generates the SQL functions of a profile, which `recall` calls."""

from __future__ import annotations

import json
import re
from textwrap import fill, indent
from typing import Any

from sqlalchemy import ColumnElement, Table, column, literal_column
from sqlalchemy.dialects.postgresql import dialect

from pgrecall.core.quoting import shortened
from pgrecall.errors import InvalidProfile
from pgrecall.rank_index import space
from pgrecall.schema import tables
from pgrecall.scoring import compiler
from pgrecall.scoring.compiler import Scope
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.signals import Keyword, Signal, Trust, requires_embedding

_POSTGRESQL = dialect(paramstyle="named")  # type: ignore[no-untyped-call]
KEYWORD = "coalesce(words.share, 0)"
"""The keyword signal of a row in a statement that joins the shares as `words`."""
_OTHERS = (
    *("keyword", "query", "moment", "query_entities", "period_from", "period_to"),
    "apply_decay",
)
_PERIOD: tuple[ColumnElement[Any], ColumnElement[Any]] = (
    literal_column("period_from"),
    literal_column("period_to"),
)
_ENDS = {"period_from": "lower(q.query_time)", "period_to": "upper(q.query_time)"}
_TYPES = {
    "keyword": "float8",
    "moment": "timestamptz",
    "query_entities": "text[]",
    "period_from": "timestamptz",
    "period_to": "timestamptz",
    "apply_decay": "boolean",
}
_VECTOR = "agent_memories.embedding%TYPE"


def require_function_name(profile: Profile) -> str:
    """The name of a profile, if it can be part of a function's name; else raises InvalidProfile."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,50}", profile.name):
        raise InvalidProfile(
            f"the name of a profile to install must have at most 51 lower-case letters, digits and "
            f"_, and start with a letter; got {shortened(profile.name)}"
        )
    return profile.name


def score_functions(profile: Profile) -> str:
    """CREATE FUNCTION of `score_<name>`, `signals_<name>` and `profile_<name>`, with comments.

    The search_path must begin with our schema. PostgreSQL inlines the first two, since they are not
    STRICT, have no SET clause, and are not marked stricter than the functions they call.
    """
    name = require_function_name(profile)
    scope, read = _arguments()
    values = {signal.name: sql(compiler.value(signal, scope)) for signal in profile.signals}
    written = " ".join(map(_without_literals, values.values()))
    names = [
        name for name in (*read, *_OTHERS) if re.search(rf"\b{name}\b(?!\()", written) is not None
    ]
    signature = [f"{one} {_type(one)}" for one in names]
    score = "\n+ ".join(
        f"weights[{number}] * {value}" for number, value in enumerate(values.values(), start=1)
    )
    signals = ",\n".join(f"'{name}', {value}" for name, value in values.items())
    score, signals = indent(score, " " * 9).strip(), indent(signals, " " * 8)
    return f"""\
CREATE OR REPLACE FUNCTION score_{name}(
{_wrapped([*signature, "weights float8[]"])})
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN {score};

CREATE OR REPLACE FUNCTION signals_{name}(
{_wrapped(signature)})
    RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN jsonb_build_object(
{signals});

CREATE OR REPLACE FUNCTION profile_{name}() RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN {_quoted_lines(_facts(profile, names))}::jsonb;

COMMENT ON FUNCTION score_{name} IS
    'The score by the profile {name}: {_formula(profile)}.';
COMMENT ON FUNCTION signals_{name} IS 'The value of each signal of the profile {name}.';
COMMENT ON FUNCTION profile_{name} IS
    'What recall has to know of the profile {name}: its signals, and what it reads.';
"""


def readable(profile: Profile) -> str:
    """The score as SQL over agent_memories m and memory_usage u, with literal weights."""
    found = tables()
    scope = Scope(
        schema="",
        memories=found.memories.alias("m"),
        usage=found.memory_usage.alias("u"),
        query=literal_column("query"),
        as_of=literal_column("now()"),
        query_entities=literal_column("query_entities"),
        keyword=literal_column(KEYWORD),
        period=_PERIOD,
        parameter=literal,
    )
    return "\n+ ".join(
        f"{weight:g} * {sql(compiler.value(signal, scope))}" for signal, weight in profile
    )


def literal(_: str, value: Any, type_: Any) -> ColumnElement[Any]:
    """A parameter as a literal; for `Scope.parameter`."""
    if value is None:
        return literal_column("NULL", type_)
    return literal_column(quoted(value) if isinstance(value, str) else _number(value), type_)


def quoted(value: str) -> str:
    """A text as an SQL literal, with escapes only if necessary."""
    doubled = value.replace("'", "''")
    if "\\" not in value and value.isprintable():
        return f"'{doubled}'"
    escaped = "".join(
        one if one.isprintable() else f"\\U{ord(one):08x}" for one in doubled.replace("\\", r"\\")
    )
    return f"E'{escaped}'"


def _quoted_lines(text: str) -> str:
    """A text of several lines as an SQL literal of as many lines."""
    plain = "\\" not in text and all(line.isprintable() for line in text.split("\n"))
    return "'" + text.replace("'", "''") + "'" if plain else quoted(text)


def sql(expression: ColumnElement[Any]) -> str:
    """The SQL of an expression on one line, with literals unchanged."""
    written = str(expression.compile(dialect=_POSTGRESQL))
    parts = re.split(r"(E?'(?:[^'\\]|''|\\.)*')", written)  # every second one is a literal
    return "".join(
        part if number % 2 else re.sub(r"\s+", " ", part) for number, part in enumerate(parts)
    ).strip()


class _Read:
    """Stands in for the columns of a table: each becomes an argument, in the order of first use."""

    def __init__(self, table: Table, read: dict[str, None]) -> None:
        self._table, self._noted = table, read

    def __getattr__(self, name: str) -> ColumnElement[Any]:
        self._noted[name] = None
        return column(name, self._table.c[name].type)


class _Rows:
    def __init__(self, columns: _Read) -> None:
        self.c = columns


def _arguments() -> tuple[Scope, dict[str, None]]:
    """A scope whose values are arguments of the function, and the columns that it has read."""
    found = tables()
    read: dict[str, None] = {}
    memories: Any = _Rows(_Read(found.memories, read))
    usage: Any = _Rows(_Read(found.memory_usage, read))
    scope = Scope(
        schema="",
        memories=memories,
        usage=usage,
        query=literal_column("query"),
        as_of=literal_column("moment"),
        query_entities=literal_column("query_entities"),
        apply_decay=literal_column("apply_decay"),
        keyword=literal_column("keyword"),
        period=_PERIOD,
        parameter=literal,
    )
    return scope, read


def _type(argument: str) -> str:
    if argument in ("embedding", "query"):
        return _VECTOR
    if argument in _TYPES:
        return _TYPES[argument]
    found = tables()
    columns = found.memories.c if argument in found.memories.c else found.memory_usage.c
    written = str(columns[argument].type.compile(dialect=_POSTGRESQL)).lower()
    names = {"double precision": "float8", "timestamp with time zone": "timestamptz"}
    return names.get(written, written)


def _facts(profile: Profile, names: list[str]) -> str:
    """Facts of a profile that `recall` needs, as JSON with one line per signal."""
    facts = {
        "reads": ", ".join(map(_place, names)),
        "requires_embedding": requires_embedding(profile.signals),
        "space": space.VERSION,
        "axes": len(space.AXES),
        **({"redistribute": True} if profile.redistribute else {}),
        **({} if profile.accessed_by == "retrieval" else {"accessed_by": profile.accessed_by}),
        **({} if profile.min_relevance is None else {"min_relevance": profile.min_relevance}),
    }
    signals = [
        {"name": signal.name, "weight": weight, **_followed(signal), **_without_decay(signal)}
        for signal, weight in profile
    ]
    lines = ",\n  ".join(json.dumps(signal) for signal in signals)
    return f'{json.dumps(facts)[:-1]},\n "signals": [\n  {lines}]}}'


def _place(name: str) -> str:
    """The column of recall's statement that is passed for an argument of this name."""
    if name == "keyword":
        return KEYWORD
    if name in _ENDS:
        return _ENDS[name]
    found = tables()
    if name in found.memories.c:
        return f"m.{name}"
    return f"u.{name}" if name in found.memory_usage.c else f"q.{name}"


def _followed(signal: Signal) -> dict[str, Any]:
    """How well the rank index covers a signal; `terms` are those of `space.Term`."""
    found: dict[str, Any] = {
        "reads_usage": signal.reads_usage,
        "uncovered": not space.is_covered(signal, with_entities=True),
        "roughly": space.is_followed_roughly(signal),
    }
    found = {name: value for name, value in found.items() if value}
    if isinstance(signal, Keyword):
        found |= {"b": signal.b, "pivot": signal.pivot}
    return found | {"terms": [term.values for term in space.terms(signal) if term.share]}


def _without_decay(signal: Signal) -> dict[str, Any]:
    if not isinstance(signal, Trust) or not signal.decay:
        return {}
    return {"undecayed": _followed(Trust(decay=False, missing=signal.missing))}


def _wrapped(arguments: list[str]) -> str:
    # Lines are only broken between arguments; a type may consist of several words.
    kept = ", ".join(argument.replace(" ", "\0") for argument in arguments)
    filled = fill(kept, 96, initial_indent="    ", subsequent_indent="    ")
    return filled.replace("\0", " ")


def _without_literals(text: str) -> str:
    return re.sub(r"E?'(?:[^'\\]|''|\\.)*'", "", text)


def _number(value: float) -> str:
    """All digits, so that the function uses exactly the same float8."""
    return f"{value!r}::float8" if "e" in repr(value) else repr(value)


def _formula(profile: Profile) -> str:
    return " + ".join(f"{weight:g} {signal.name}" for signal, weight in profile)
