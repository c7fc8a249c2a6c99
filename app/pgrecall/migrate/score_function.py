"""Generates the SQL functions of a profile, which `recall` calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from textwrap import fill, indent
from typing import Any

from pgrecall.core.quoting import shortened
from pgrecall.errors import InvalidProfile
from pgrecall.rank_index import space
from pgrecall.ranking.search_parameters import shift_of
from pgrecall.schema.composer import (
    FILTERING,
    ONLY_IN_PYTHON,
    RANKING,
    Line,
    blocks,
    derived,
    entries,
)
from pgrecall.schema.fields import FIELDS
from pgrecall.scoring.expression import (
    counts_subjects,
    decayed,
    factor,
    looked_up,
    needed_option,
    number,
    quoted,
    value,
)
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import is_built_in
from pgrecall.scoring.signals import (
    DECAY,
    Curve,
    Decay,
    Keyword,
    Recency,
    Signal,
    rate_of,
    requires_embedding,
)

_VECTOR = "agent_memories.embedding%TYPE"
_ARGUMENTS = {
    "coalesce(words.share, 0::float8)": "keyword",
    ":query_entities::text[]": "query_entities",
    ":names::integer": "cardinality(query_entities)",
    ":period_from::timestamptz": "period_from",
    ":period_to::timestamptz": "period_to",
    ":shifted_similarity": "similarity(agent_memories.embedding, query",
    ":query": "query",
    ":moment": "moment",
    ":last_accessed_at": "last_accessed_at",
    "pgrecall.": "",
    "pg_catalog.octet_length": "octet_length",
}
"""The arguments of a function, in place of names in statements."""
_TYPES = {
    "embedding": _VECTOR,
    "query": _VECTOR,
    "keyword": "float8",
    "moment": "timestamptz",
    "query_entities": "text[]",
    "period_from": "timestamptz",
    "period_to": "timestamptz",
    **{field.name: field.kind.type for field in FIELDS},
}
_ASKED = ("keyword", "query", "moment", "query_entities", "period_from", "period_to")
"""Arguments of a query, behind the columns of the memory and its usage."""
_NAME = re.compile(r"E?'(?:[^'\\]|''|\\.)*'|\b([a-z]\w*)\b(?!\()")


def require_function_name(profile: Profile) -> str:
    """The name of a profile, if it can be part of a function's name; else raises InvalidProfile."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,50}", profile.name):
        raise InvalidProfile(
            f"the name of a profile to install must have at most 51 lower-case letters, digits and "
            f"_, and start with a letter; got {shortened(profile.name)}"
        )
    return profile.name


def score_functions(profile: Profile) -> str:
    """CREATE FUNCTION of `score_<name>` and `profile_<name>`, with comments.

    The search_path must begin with our schema. PostgreSQL inlines the first one, since it is not
    STRICT, has no SET clause, and is not marked stricter than the functions that it calls.
    """
    name = require_function_name(profile)
    values = [_by_arguments(value(signal)) for signal in profile.signals]
    score = "\n+ ".join(
        f"weights[{number}] * {value}" for number, value in enumerate(values, start=1)
    )
    if profile.decay is not None:
        values.append(_by_arguments(factor(profile.decay)))
        score = _by_arguments(decayed(score, values[-1]))
    signature = [f"{one} {_TYPES[one]}" for one in _names(values)]
    score = indent(score, " " * 9).strip()
    return f"""\
CREATE OR REPLACE FUNCTION score_{name}(
{_wrapped([*signature, "weights float8[]"])})
    RETURNS float8
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN {score};

CREATE OR REPLACE FUNCTION profile_{name}() RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN {quoted_lines(_facts(profile))}::jsonb;

COMMENT ON FUNCTION score_{name} IS
    'The score by the profile {name}: {_formula(profile)}.';
COMMENT ON FUNCTION profile_{name} IS
    'Returns the facts of the profile {name} that recall needs: its signals and their inputs.';
"""


def readable(profile: Profile) -> str:
    """The score as SQL over agent_memories, memory_usage and the words of keyword_shares, with
    literal weights."""
    score = "\n+ ".join(f"{weight:g} * {value(signal)}" for signal, weight in profile)
    if profile.decay is not None:
        score = f"({score})\n* {factor(profile.decay)}"
    for place, shown in (
        ("pgrecall.", ""),
        (":moment", "now()"),
        ("pg_catalog.octet_length", "octet_length"),
        (":last_accessed_at", "memory_usage.last_accessed_at"),
    ):
        score = score.replace(place, shown)
    return score


def _by_arguments(written: str) -> str:
    for name, argument in _ARGUMENTS.items():
        written = written.replace(name, argument)
    return re.sub(r"\b(agent_memories|memory_usage)\.", "", written)


def _names(values: Iterable[str]) -> list[str]:
    """The arguments that these expressions read: columns in the order of their first use, and then
    the others."""
    names = [name for value in values for name in _NAME.findall(value) if name in _TYPES]
    of_rows = dict.fromkeys(name for name in names if name not in _ASKED)
    return [*of_rows, *(name for name in _ASKED if name in names)]


def quoted_lines(text: str) -> str:
    """A text of several lines as an SQL literal of as many lines."""
    plain = "\\" not in text and all(line.isprintable() for line in text.split("\n"))
    return "'" + text.replace("'", "''") + "'" if plain else quoted(text)


def _facts(profile: Profile) -> str:
    """Facts of a profile that `recall` needs, as JSON with one line per signal."""
    facts = {
        "requires_embedding": requires_embedding(profile.signals),
        "space": space.VERSION,
        "axes": len(space.AXES),
        **({"built_in": profile.name} if is_built_in(profile) else {}),
        **({"redistribute": True} if profile.redistribute else {}),
        **({} if profile.accessed_by == "retrieval" else {"accessed_by": profile.accessed_by}),
        **({"mean_share": share} if (share := shift_of(profile)) else {}),
        **({"subjects_named": True} if counts_subjects(profile.signals) else {}),
        **({} if profile.min_relevance is None else {"min_relevance": profile.min_relevance}),
        **({} if profile.decay is None else {DECAY: _facts_of_decay(profile.decay)}),
    }
    signals = [
        {"name": signal.name, "weight": weight, **_followed(signal)} for signal, weight in profile
    ]
    lines = ",\n  ".join(json.dumps(signal) for signal in signals)
    return f'{json.dumps(facts)[:-1]},\n "signals": [\n  {lines}]}}'


def _followed(signal: Signal) -> dict[str, Any]:
    """The coverage of a signal by the rank index; `terms` are those of `space.Term`."""
    parameters: dict[str, Any] = {
        "reads_usage": signal.reads_usage,
        "uncovered": not space.is_covered(signal, with_entities=True),
        "roughly": space.is_followed_roughly(signal),
    }
    parameters = {name: value for name, value in parameters.items() if value}
    if isinstance(signal, Keyword):
        parameters |= {"b": signal.b, "pivot": signal.pivot}
    if isinstance(signal, Recency):
        parameters["of_half_life"] = _of_half_life(signal)
    if (option := needed_option(signal)) is not None:
        parameters["needs"] = option
    parameters["sql"] = value(signal)
    if (text := looked_up(signal)) != value(signal):
        parameters["looked_up"] = text
    parameters["terms"] = _terms(space.terms(signal))
    if (terms := _terms(space.terms_if_used(signal))) != parameters["terms"]:
        parameters["used_terms"] = terms
    return parameters


def _terms(terms: Iterable[space.Term]) -> list[dict[str, float]]:
    return [term.values for term in terms if term.share]


def _facts_of_decay(decay: Decay) -> dict[str, Any]:
    return {
        "sql": factor(decay),
        "of_half_life": factor(decay, _of_half_life(decay.recency)),
        **({"reads_usage": True} if decay.recency.reads_usage else {}),
    }


def _of_half_life(signal: Recency) -> str:
    """Its SQL with one half-life for all memories, the parameter `half_life`."""
    [one] = Profile("one", {signal: 1}).with_half_life(1).signals
    speed, half_life = number(1), ":half_life::float8"
    if signal.curve is Curve.EXPONENTIAL:
        speed = number(rate_of(1))
        half_life = f"{speed} / {half_life}"
    return value(one).replace(f":moment, {speed},", f":moment, {half_life},")


def _wrapped(arguments: list[str]) -> str:
    # Lines are only broken between arguments; a type may consist of several words.
    text = ", ".join(argument.replace(" ", "\0") for argument in arguments)
    filled = fill(text, 96, initial_indent="    ", subsequent_indent="    ")
    return filled.replace("\0", " ")


def _formula(profile: Profile) -> str:
    formula = " + ".join(f"{weight:g} {signal.name}" for signal, weight in profile)
    if profile.decay is None:
        return formula
    floor = profile.decay.floor
    return f"({formula}) * ({floor:g} + {1 - floor:g} recency)"


_STATEMENTS = (*RANKING, *FILTERING)
_BETWEEN_LINES, _BETWEEN_TABLES, _NOTHING = r"E'\n'", "', '", "''"

MOST_ARGUMENTS = 90


def composing_functions() -> str:
    """CREATE FUNCTION of `statement_options`, `statement_file` and `statement_text`, which do what
    `schema.composer` does. PL/pgSQL prepares an arm of a CASE when it is first executed."""
    files = dict.fromkeys(file for name in _STATEMENTS for _, file in entries(name))
    texts = (_arm(file, _joined(map(_block, _shared(file)), _BETWEEN_LINES)) for file in files)
    return "\n".join(
        (
            _function(
                "statement_options(given text[]) RETURNS text[]",
                [*map(_option, derived()), "RETURN given;"],
                "Options of a statement, with those that follow from them.",
            ),
            _function(
                "statement_file(file text, options text[]) RETURNS text",
                ["CASE file", *texts, "END CASE;"],
                "A part of a statement: a common table expression, or the last SELECT. Lines that "
                "need an option that is not on are left out.",
            ),
            _function(
                "statement_text(name text, options text[]) RETURNS text",
                ["CASE name", *(_arm(name, _statement(name)) for name in _STATEMENTS), "END CASE;"],
                "A statement with these options, made of the files that it lists.",
            ),
        )
    )


def _shared(file: str) -> Iterator[Line]:
    """The lines of a file that statements of psql may have."""
    return (line for line in blocks(file) if line.needs.isdisjoint(ONLY_IN_PYTHON))


def _function(signature: str, body: list[str], comment: str) -> str:
    lines = "\n".join(body)  # not indented: literals have several lines
    name = signature.partition("(")[0]
    return f"""\
CREATE OR REPLACE FUNCTION {signature}
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path FROM CURRENT SET jit = off AS $function$
BEGIN
{lines}
END
$function$;

COMMENT ON FUNCTION {name} IS
    '{comment}';
"""


def _option(line: Line) -> str:
    condition = _condition(line).replace("options", "given")
    return f"IF {condition} THEN given := given || '{line.name}'::text; END IF;"


def _arm(name: str, value: str) -> str:
    return f"WHEN '{name}' THEN\n    RETURN {value};"


def _statement(name: str) -> str:
    tables: list[str] = []
    ends: list[str] = []
    for head, file in entries(name):
        text = f"statement_file('{file}', options)"
        if head.text:
            form = rf"E'{head.text} (\n    %s\n)'"
            text = rf"format({form}, replace({text}, E'\n', E'\n    '))"
        (tables if head.text else ends).append(_if(head, text))
    last = _joined(iter(ends), _NOTHING)
    if not tables:
        return last
    return rf"concat('WITH ', {_joined(iter(tables), _BETWEEN_TABLES)}, E'\n', {last})"


def _block(line: Line) -> str:
    return _if(line, quoted_lines(line.text))


def _if(line: Line, value: str) -> str:
    condition = _condition(line)
    return f"CASE WHEN {condition} THEN {value} END" if condition else value


def _condition(line: Line) -> str:
    needs, excludes = sorted(line.needs), sorted(line.excludes)
    return " AND ".join(
        (
            *([f"options @> '{{{','.join(needs)}}}'"] if needs else []),
            *([f"NOT options && '{{{','.join(excludes)}}}'"] if excludes else []),
        )
    )


def _joined(values: Iterator[str], between: str) -> str:
    """The values that are not NULL. A function takes at most 100 arguments, and each part of fewer
    must be NULL if all of it is."""
    parts = list(values)
    if len(parts) > MOST_ARGUMENTS:
        several = (parts[at : at + MOST_ARGUMENTS] for at in range(0, len(parts), MOST_ARGUMENTS))
        parts = [f"nullif({_joined(iter(part), between)}, '')" for part in several]
    text = ",\n        ".join(parts)
    return f"concat_ws({between},\n        {text})"
