"""Overloads that an attacker plants in a schema on the search_path of others."""

from __future__ import annotations

from collections.abc import Iterator

FUNCTIONS = {
    "boolean": ("has_table_privilege(text, text, text)", "starts_with(varchar, text)"),
    "text": (
        *("format(text, text, text, text, text)", "format(text, text, text, text)"),
        *("format(text, text)", "format(text, text, name)", "quote_ident(name)"),
        *("least(text)", "set_config(text, varchar, boolean)"),
    ),
    "SETOF text": ("unnest(text[])",),
    "SETOF uuid": ("unnest(uuid[])",),
    "SETOF float8": ("unnest(float8[])",),
    "integer": (
        *("cardinality(text[])", "cardinality(uuid[])", "cardinality(integer[])"),
        *("array_length(float8[], integer)", "array_position(text[], name)"),
    ),
    "boolean[]": ("array_fill(boolean, integer[])",),
    "real[]": ("array_fill(real, integer[])",),
    "jsonb": ("jsonb_build_object(text, text)",),
    "uuid[]": ("array_agg(uuid)",),
    "float8": ("date_part(text, timestamp)", "l2_norm(text)", "max(float8)", "ln(integer)"),
    "bigint": ("hashtextextended(text, integer)", "count(float8)"),
    "regclass": ("to_regclass(varchar)",),
}
OPERATORS = {
    "boolean": (
        *("= (name, text)", "= (name, varchar)", "= (text, varchar)", "= (varchar, text)"),
        *("= (oid, regtype)", "= (uuid[], uuid[])", "= (bigint, numeric)"),
        *("< (float8, numeric)", "< (integer, float8)", "<> (text, varchar)"),
        *("> (float8, integer)", ">= (float8, integer)", "<= (float8, integer)"),
        *("<= (float8, numeric)", "&& (text[], text[])", "@> (text[], text[])"),
        *("<@ (text[], text[])", "@> (bigint[], bigint[])", "&& (bigint[], bigint[])"),
    ),
    "float8": (
        *("+ (integer, float8)", "* (float8, integer)", "- (float8, integer)"),
        *("/ (float8, integer)", "* (integer, float8)", "<#> (text, text)"),
        *("- (numeric, float8)", "* (numeric, float8)", "+ (numeric, float8)"),
    ),
    "uuid[]": ("|| (uuid[], uuid[])",),
    "integer[]": ("|| (integer[], integer)",),
    "float8[]": ("|| (float8[], float8[])",),
    "text": ("->> (jsonb, name)",),
}
"""What is returned → calls that match none of PostgreSQL's own functions and operators exactly, or
only for any type of array: in our SQL, in statements of ours, SQLAlchemy's and psycopg's."""


def planted() -> Iterator[str]:
    """Statements that plant all of these; whoever calls one is made known by an error."""
    body = "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted: %', '{}'; END $$"
    for signature, returns in _each(FUNCTIONS):
        name, _, arguments = signature.partition("(")
        yield f'CREATE FUNCTION public."{name}"({arguments} RETURNS {returns} {body.format(name)}'
    for number, (signature, returns) in enumerate(_each(OPERATORS)):
        operator, _, arguments = signature.partition(" (")
        left, right = arguments.rstrip(")").split(", ")
        yield (
            f"CREATE FUNCTION public.op{number}({left}, {right}) RETURNS {returns} "
            + body.format(f"op {operator}")
        )
        yield (
            f"CREATE OPERATOR public.{operator} "
            f"(FUNCTION = public.op{number}, LEFTARG = {left}, RIGHTARG = {right})"
        )


def _each(listed: dict[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Each signature, and what it returns."""
    for returns, signatures in listed.items():
        yield from ((signature, returns) for signature in signatures)
