"""Functions of ours name what they use: what others plant in a schema on the path is not called.

PostgreSQL prefers an overload that matches the types exactly to one of its own that does not, in
whatever schema it stands, so a path with a schema that others may write to runs their code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from pgrecall import migrate
from pgrecall.scoring.profiles import BUILT_IN
from pgrecall.testing import new_database
from tests.conftest import DIMENSIONS
from tests.integration.tenants import furnish, outcome, things_of
from tests.integration.tenants_calls import CALLS, PROCEDURES
from tests.migrations.asking import run, value, values

ATTACKER = "pgrecall_attacker"
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
}
OPERATORS = {
    "= (name, text)": "boolean",
    "= (name, varchar)": "boolean",
    "= (bigint, numeric)": "boolean",
    ">= (float8, integer)": "boolean",
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
"""Calls in our SQL that match none of PostgreSQL's own functions and operators exactly."""


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


@contextmanager
def attacker(url: str) -> Iterator[None]:
    """A role with USAGE on our schema and CREATE on pgvector's."""
    run(url, f"DROP ROLE IF EXISTS {ATTACKER}", f"CREATE ROLE {ATTACKER}")
    try:
        run(url, f"GRANT CREATE ON SCHEMA public TO {ATTACKER}")
        yield
    finally:
        run(url, f"DROP OWNED BY {ATTACKER}", f"DROP ROLE {ATTACKER}")


def as_attacker(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"SET ROLE {ATTACKER}")
        for statement in statements:
            connection.execute(statement.encode())


def test_the_attack_that_made_a_superuser_of_anybody(server_url: str, template: str) -> None:
    escalate = """
        CREATE FUNCTION public.has_table_privilege(text, text, text) RETURNS boolean
        LANGUAGE plpgsql AS $$
        BEGIN EXECUTE 'ALTER ROLE pgrecall_attacker SUPERUSER'; RETURN true; END $$"""
    with new_database(server_url, template) as url, attacker(url):
        run(url, f"GRANT USAGE ON SCHEMA pgrecall TO {ATTACKER}")
        as_attacker(url, escalate)

        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="forget_positions"):
            as_attacker(url, "SELECT pgrecall.forget_positions('a', NULL)")

        # Nor for one who may call it, or where somebody who may do anything does.
        run(url, f"GRANT EXECUTE ON FUNCTION pgrecall.forget_positions TO {ATTACKER}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="agent_memories"):
            as_attacker(url, "SELECT pgrecall.forget_positions('a', NULL)")
        run(url, "SELECT pgrecall.forget_positions('a', NULL)")
        assert not value(url, "SELECT rolsuper FROM pg_roles WHERE rolname = %s", ATTACKER)


COMPUTES = re.compile(r"(count|length|cardinality|max)\(")
VIEWS = ("memory_signals", "team_memories", "telling_terms")


def test_nothing_of_ours_calls_what_was_planted(server_url: str, template: str) -> None:
    """Whoever calls: here somebody who may do anything, so that nothing is refused for less."""
    with new_database(server_url, template) as url, attacker(url):
        furnish(url, "one")
        things = things_of(url, "one")
        calls = [call.format(**things) for calls in CALLS.values() for call in calls]
        starts = ("pg_catalog." if COMPUTES.match(call) else "* FROM " for call in calls)
        every = [f"SELECT {start}{call}" for start, call in zip(starts, calls, strict=True)]
        for name in BUILT_IN:
            given = "tags => '{a}', query_entities => '{x,y}', label_kinds => '{tag}', "
            given += f"labels => '{{l}}', teams => '{{one}}', profile => '{name}'"
            every += [f"SELECT * FROM recall('one', {things['vector']}, 'secret', {given})"]
        every += [f"CALL {call}" for calls in PROCEDURES.values() for call in calls]
        every += [f"SELECT * FROM {view}" for view in VIEWS]
        every.append(
            "INSERT INTO agent_memories (agent_id, id, content) "
            "VALUES ('one', gen_random_uuid(), 'written by hand')"
        )
        as_attacker(url, *planted())
        for statement in every:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("SET search_path = pgrecall, public")
                if statement.startswith("CALL"):
                    got = outcome(connection, statement)
                else:
                    with connection.transaction(force_rollback=True):
                        got = outcome(connection, statement)
            assert "planted" not in got, statement


def test_a_migration_calls_nothing_that_was_planted(server_url: str) -> None:
    with new_database(server_url) as url, attacker(url):
        run(url, "CREATE EXTENSION vector")
        as_attacker(url, *planted())

        assert migrate.upgrade(url, dimensions=DIMENSIONS).pending == []
        migrate.embedding_index(url)
        migrate.downgrade(url)


def test_functions_find_names_in_our_schema_alone_and_views_see_what_their_reader_sees(
    shared_url: str,
) -> None:
    """What the calls above do not reach: its names are bound when it is created, or it has a path
    of ours alone, or (what commits) sets that path before anything else, or names the schema."""
    assert values(
        shared_url,
        "SELECT proname FROM pg_proc WHERE pronamespace = 'pgrecall'::regnamespace "
        "AND prosqlbody IS NULL "
        "AND NOT 'search_path=pgrecall, pg_temp' = ANY (coalesce(proconfig, '{}')) ORDER BY 1",
    ) == [
        *("build_rank_index", "collect_garbage", "distribute", "erase_owner"),
        "maintain_rank_indexes",
    ]
    assert value(
        shared_url,
        "SELECT bool_and('security_invoker=true' = ANY (coalesce(reloptions, '{}'))) "
        "FROM pg_class WHERE relnamespace = 'pgrecall'::regnamespace AND relkind = 'v'",
    )
