"""A profile as a set-returning SQL function, for psql: the compiler's expression, written out."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from typing import Any

from sqlalchemy import ColumnElement, literal_column
from sqlalchemy.dialects.postgresql import dialect

from pgrecall import compiler
from pgrecall.compiler import Scope
from pgrecall.errors import InvalidProfile
from pgrecall.profile import SMALLEST_WEIGHT, WEIGHT_SUM_TOLERANCE, Profile
from pgrecall.profiles import BUILT_IN
from pgrecall.quoting import shortened
from pgrecall.schema import tables
from pgrecall.schema.limits import LABEL_KINDS, MAX_FILTER_TEXT, STATUSES, TIERS
from pgrecall.signals import Keyword, Trust, requires_embedding

_POSTGRESQL = dialect(paramstyle="named")  # type: ignore[no-untyped-call]

FILTERS = """\
    memory_types text[] DEFAULT NULL,
    tiers text[] DEFAULT NULL,
    tags text[] DEFAULT NULL,
    all_tags text[] DEFAULT NULL,
    entities text[] DEFAULT NULL,
    all_entities text[] DEFAULT NULL,
    labels text[] DEFAULT NULL,
    label_kinds text[] DEFAULT NULL,
    metadata jsonb DEFAULT NULL,
    created_after timestamptz DEFAULT NULL,
    created_before timestamptz DEFAULT NULL,
    components text[] DEFAULT NULL,
    output_types text[] DEFAULT NULL,
    domains text[] DEFAULT NULL,
    categories text[] DEFAULT NULL,
    loops text[] DEFAULT NULL,
    compliant boolean DEFAULT NULL,
    min_trust float8 DEFAULT NULL,
    statuses text[] DEFAULT '{active}',
    include_invalid boolean DEFAULT false,
    text text DEFAULT NULL,
"""

CONDITIONS = """\
(include_invalid OR is_valid(
       m.valid_from, m.valid_until, m.invalidated_at, m.expires_at, moment))
AND (ARGS.as_of IS NULL OR m.created_at IS NULL OR m.created_at <= moment)
AND m.status = ANY (statuses)
AND (memory_types IS NULL OR m.memory_type = ANY (memory_types)
     OR m.additional_types && memory_types)
AND (tiers IS NULL OR m.tier = ANY (tiers))
AND (ARGS.tags IS NULL OR m.tags && ARGS.tags)
AND (all_tags IS NULL OR m.tags @> all_tags)
AND (ARGS.entities IS NULL OR m.entities && ARGS.entities)
AND (all_entities IS NULL OR m.entities @> all_entities)
AND (labels IS NULL OR EXISTS (
       SELECT FROM memory_labels l
        WHERE l.agent_id = m.agent_id AND l.memory_id = m.id AND l.value = ANY (labels)
          AND l.agent_id = ANY (owners)
          AND (label_kinds IS NULL OR l.kind = ANY (label_kinds))))
AND (ARGS.text IS NULL OR m.terms @@ asked)
AND (ARGS.metadata IS NULL OR m.metadata @> ARGS.metadata)
AND (created_after IS NULL OR m.created_at >= created_after)
AND (created_before IS NULL OR m.created_at < created_before)
AND (components IS NULL OR m.component = ANY (components))
AND (output_types IS NULL OR m.output_type = ANY (output_types))
AND (domains IS NULL OR m.domain = ANY (domains))
AND (categories IS NULL OR m.category = ANY (categories))
AND (loops IS NULL OR m.loop = ANY (loops))
AND (ARGS.compliant IS NULL OR m.compliant = ARGS.compliant)
AND (min_trust IS NULL OR m.trust IS NOT NULL AND TRUST >= min_trust)
AND (min_similarity IS NULL OR similarity(m.embedding, query, NULL) >= min_similarity)"""

KEYWORD = "coalesce(words.share, 0)"
USAGE = """\
LEFT JOIN memory_usage u
    ON u.agent_id = m.agent_id AND u.memory_id = m.id AND u.agent_id = ANY (owners)"""
"""With the owners said once more, without which the counters of all others would be read too."""


def function_name(profile: Profile) -> str:
    """recall_<profile>; raises InvalidProfile for a name that is no plain identifier."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,50}", profile.name):
        raise InvalidProfile(
            f"a profile to be installed is named with at most 51 lower-case letters, digits and "
            f"_, starting with a letter; got {shortened(profile.name)}"
        )
    return f"recall_{profile.name}"


def recall_function(profile: Profile, *, or_replace: bool = False) -> str:
    """CREATE FUNCTION and its comment, for a search_path that starts with our schema.

    The same ranking as a search through the repository, with the same filters, but counting no
    retrieval. `resources.with_extension` puts pgvector's schema in. `or_replace` makes it CREATE
    OR REPLACE.
    """
    name = function_name(profile)
    query_text = "    query_text text DEFAULT NULL,\n" if _reads_words(profile) else ""
    weights = {f"{signal}_weight": weight for signal, weight in profile.weights.items()}
    total = " + ".join(weights)
    valid = "\n        AND ".join(f"({w} = 0 OR {w} >= {SMALLEST_WEIGHT}::float8)" for w in weights)
    signals = [f"signal_{signal.name}" for signal in profile.signals]
    parameters = ",\n".join(f"    {w} float8 DEFAULT {_number(v)}" for w, v in weights.items())
    columns = ",\n".join(f"    {signal} float8" for signal in signals)
    body = f"""\
#variable_conflict use_column
DECLARE
    moment timestamptz := coalesce(as_of, now());
    owners text[] := array_prepend(agent, ARRAY(SELECT 'team:' || t FROM unnest(teams) t));
    asked tsquery := word_filter({name}.text);
BEGIN
    IF agent IS NULL OR agent = '' OR k IS NULL OR k < 1 THEN
        RAISE EXCEPTION 'agent must be given and k must be at least 1, got % and %', agent, k
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF statuses IS NULL OR NOT statuses <@ '{{{",".join(STATUSES)}}}'::text[]
       OR NOT coalesce(tiers, '{{}}') <@ '{{{",".join(TIERS)}}}'::text[] THEN
        RAISE EXCEPTION 'statuses may be {", ".join(STATUSES)}, got %; '
            'tiers {", ".join(TIERS)}, got %', statuses, tiers
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT coalesce(label_kinds, '{{}}') <@ '{{{",".join(LABEL_KINDS)}}}'::text[]
       OR label_kinds IS NOT NULL AND labels IS NULL THEN
        RAISE EXCEPTION 'label_kinds may be {", ".join(LABEL_KINDS)} and need labels, got %',
            label_kinds
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT (coalesce(min_score, 0) BETWEEN 0 AND 1 AND coalesce(min_similarity, 0) BETWEEN 0 AND 1
            AND coalesce(min_trust, 0) BETWEEN 0 AND 1) THEN
        RAISE EXCEPTION 'min_score, min_similarity and min_trust lie within 0 and 1, '
            'got %, % and %', min_score, min_similarity, min_trust
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF ({valid}
        AND abs({total} - 1) <= {WEIGHT_SUM_TOLERANCE}) IS NOT TRUE THEN
        RAISE EXCEPTION 'the weights must be 0 or at least {SMALLEST_WEIGHT:g} and must sum to 1, '
            'they sum to %', {total}
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NULL AND min_similarity IS NOT NULL THEN
        RAISE EXCEPTION 'min_similarity needs a query vector'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF query IS NOT NULL AND NOT query OPERATOR(@extschema:vector@.<=>) query < 1 THEN
        RAISE EXCEPTION 'the query vector has no direction: it is zero, or too short or too long'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF length({name}.text) > {MAX_FILTER_TEXT} THEN
        RAISE EXCEPTION 'text may have at most {MAX_FILTER_TEXT} characters, got %',
            length({name}.text)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF numnode(asked) = 0 THEN
        {name}.text := NULL;
    END IF;
    query_entities := ARRAY(
        SELECT DISTINCT entity FROM unnest(query_entities) entity WHERE entity IS NOT NULL);
    IF cardinality(query_entities) > 32 THEN
        RAISE EXCEPTION 'query_entities may hold at most 32, got %', cardinality(query_entities)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    WITH ranked AS (
{indent(_ranked(profile, name), " " * 8)}
    )
{indent(_described(profile), "    ")};
END"""
    return f"""\
CREATE {"OR REPLACE " if or_replace else ""}FUNCTION {name}(
    agent text,
{query_text}    query agent_memories.embedding%TYPE DEFAULT NULL,
    k integer DEFAULT 10,
    as_of timestamptz DEFAULT NULL,
    min_score float8 DEFAULT NULL,
    min_similarity float8 DEFAULT NULL,
{FILTERS}\
    teams text[] DEFAULT NULL,
    query_entities text[] DEFAULT NULL,
    apply_decay boolean DEFAULT true,
{parameters}
) RETURNS TABLE (
    agent_id text,
    id uuid,
    content text,
    memory_type text,
    created_at timestamptz,
    score float8,
    similarity float8,
{columns}
)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path FROM CURRENT
AS $recall$
{body}
$recall$;

COMMENT ON FUNCTION {name} IS
    'The k best memories of an agent by the profile {profile.name}: {_formula(profile)}.';
"""


def readable(profile: Profile) -> str:
    """The score as SQL over agent_memories m and memory_usage u, weights written in."""
    scope = replace(_scope(), as_of=literal_column("now()"), apply_decay=None)
    return "\n+ ".join(
        f"{weight:g} * {_sql(compiler.value(signal, scope))}" for signal, weight in profile
    )


def _ranked(profile: Profile, name: str) -> str:
    conditions = CONDITIONS.replace("ARGS.", f"{name}.").replace("TRUST", _trust())
    if requires_embedding(profile.signals):
        conditions += "\nAND (query IS NULL OR m.embedding IS NOT NULL)"
    words = keyword = ""
    if _reads_words(profile):
        words = (
            "  LEFT JOIN keyword_shares(owners, query_text) words\n"
            "    ON words.agent_id = m.agent_id AND words.memory_id = m.id\n"
        )
        keyword = f",\n       {KEYWORD} AS keyword"
    return f"""\
SELECT m.agent_id, m.id,
{indent(_score(profile), " " * 7)} AS score{keyword}
  FROM agent_memories m
  {USAGE}
{words} WHERE m.agent_id = ANY (owners)
{indent("AND " + conditions, "   ")}
 ORDER BY score DESC, m.id
 LIMIT k"""


def _described(profile: Profile) -> str:
    scope = replace(_scope(), keyword=literal_column("r.keyword"))
    signals = ",\n".join(
        f"       {_sql(compiler.value(signal, scope))}" for signal in profile.signals
    )
    return f"""\
SELECT m.agent_id, m.id, m.content, m.memory_type, m.created_at, r.score,
       similarity(m.embedding, query, NULL),
{signals}
  FROM ranked r
  JOIN agent_memories m ON m.agent_id = r.agent_id AND m.id = r.id
  {USAGE}
 WHERE min_score IS NULL OR r.score >= min_score
 ORDER BY r.score DESC, m.id"""


def _score(profile: Profile) -> str:
    scope = _scope()
    return "\n+ ".join(
        f"{signal.name}_weight * {_sql(compiler.value(signal, scope))}"
        for signal in profile.signals
    )


def _reads_words(profile: Profile) -> bool:
    return any(isinstance(signal, Keyword) for signal in profile.signals)


def _trust() -> str:
    return _sql(compiler.value(Trust(), _scope()))


def _scope() -> Scope:
    found = tables()
    return Scope(
        schema="",
        memories=found.memories.alias("m"),
        usage=found.memory_usage.alias("u"),
        query=literal_column("query"),
        as_of=literal_column("moment"),
        query_entities=literal_column("query_entities"),
        apply_decay=literal_column("apply_decay"),
        keyword=literal_column(KEYWORD),
        parameter=_literal,
    )


def _literal(name: str, value: Any, type_: Any) -> ColumnElement[Any]:
    if value is None:
        return literal_column("NULL", type_)
    if isinstance(value, str):
        if "$recall$" in value:
            raise InvalidProfile(
                f"a name in a profile cannot contain $recall$, got {shortened(value)}"
            )
        return literal_column(_quoted(value), type_)
    return literal_column(_number(value), type_)


def _quoted(value: str) -> str:
    """A literal on one line; with escapes only where it needs them."""
    doubled = value.replace("'", "''")
    if "\n" not in value and "\r" not in value:
        return f"'{doubled}'"
    escaped = doubled.replace("\\", r"\\").replace("\n", r"\n").replace("\r", r"\r")
    return f"E'{escaped}'"


def _number(value: float) -> str:
    """All digits, so that the function computes with the very same float8."""
    return f"{value!r}::float8" if "e" in repr(value) else repr(value)


def _sql(expression: ColumnElement[Any]) -> str:
    """On one line, with what stands inside literals left as it is."""
    written = str(expression.compile(dialect=_POSTGRESQL))
    parts = re.split(r"('(?:[^']|'')*')", written)  # every second one is a literal
    return "".join(
        part if number % 2 else re.sub(r"\s+", " ", part) for number, part in enumerate(parts)
    ).strip()


def _formula(profile: Profile) -> str:
    return " + ".join(f"{weight:g} {signal.name}" for signal, weight in profile)


def write_built_in(folder: Path) -> None:
    """Writes the function of every built-in profile into a folder, one file each."""
    for profile in BUILT_IN.values():
        (folder / f"{profile.name}.sql").write_text(recall_function(profile), encoding="utf-8")


if __name__ == "__main__":
    write_built_in(Path(sys.argv[1]))
