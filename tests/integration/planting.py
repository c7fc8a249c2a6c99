"""Overloads that an attacker plants in a schema on the search_path of others."""

from __future__ import annotations

from collections.abc import Iterator

FUNCTIONS = {
    "has_table_privilege(text, text, text)": "boolean",
    "format(text, text, text, text, text)": "text",
    "format(text, text, text, text)": "text",
    "format(text, text)": "text",
    "format(text, text, name)": "text",
    "quote_ident(name)": "text",
    "unnest(text[])": "SETOF text",
    "unnest(uuid[])": "SETOF uuid",
    "unnest(float8[])": "SETOF float8",
    "cardinality(text[])": "integer",
    "cardinality(uuid[])": "integer",
    "cardinality(integer[])": "integer",
    "array_length(float8[], integer)": "integer",
    "array_fill(boolean, integer[])": "boolean[]",
    "array_fill(real, integer[])": "real[]",
    "jsonb_build_object(text, text)": "jsonb",
    "date_part(text, timestamp)": "float8",
    "hashtextextended(text, integer)": "bigint",
    "l2_norm(text)": "float8",
    "least(text)": "text",
    "set_config(text, varchar, boolean)": "text",
    "starts_with(varchar, text)": "boolean",
    "array_position(text[], name)": "integer",
    "to_regclass(varchar)": "regclass",
    "count(float8)": "bigint",
    "max(float8)": "float8",
    "ln(integer)": "float8",
}
OPERATORS = {
    "= (name, text)": "boolean",
    "= (name, varchar)": "boolean",
    "= (text, varchar)": "boolean",
    "= (varchar, text)": "boolean",
    "= (oid, regtype)": "boolean",
    "= (uuid[], uuid[])": "boolean",
    "= (bigint, numeric)": "boolean",
    "> (float8, integer)": "boolean",
    ">= (float8, integer)": "boolean",
    "+ (integer, float8)": "float8",
    "<= (float8, integer)": "boolean",
    "<= (float8, numeric)": "boolean",
    "&& (text[], text[])": "boolean",
    "@> (text[], text[])": "boolean",
    "<@ (text[], text[])": "boolean",
    "@> (bigint[], bigint[])": "boolean",
    "&& (bigint[], bigint[])": "boolean",
    "|| (uuid[], uuid[])": "uuid[]",
    "|| (integer[], integer)": "integer[]",
    "|| (float8[], float8[])": "float8[]",
    "* (float8, integer)": "float8",
    "- (float8, integer)": "float8",
    "/ (float8, integer)": "float8",
    "* (integer, float8)": "float8",
    "<#> (text, text)": "float8",
    "->> (jsonb, name)": "text",
}
"""Calls that match none of PostgreSQL's own functions and operators exactly, or only for any type
of array: in our SQL, in statements of ours, SQLAlchemy's and psycopg's."""


def planted() -> Iterator[str]:
    """Statements that plant all of these; whoever calls one is made known by an error."""
    body = "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted: %', '{}'; END $$"
    for signature, returns in FUNCTIONS.items():
        name, _, arguments = signature.partition("(")
        yield f'CREATE FUNCTION public."{name}"({arguments} RETURNS {returns} {body.format(name)}'
    for number, (signature, returns) in enumerate(OPERATORS.items()):
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
