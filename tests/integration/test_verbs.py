"""Verbs in psql: they do what the repository's do, wherever and by whom they are called."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql
from psycopg.types.json import Jsonb
from sqlalchemy import Engine, NullPool, create_engine

from pgrecall import MemoryRepository, migrate
from pgrecall.errors import (
    DuplicateMemory,
    InputError,
    InvalidMemory,
    MemoryNotFound,
    NotCompliant,
    SupersessionConflict,
    UnknownName,
)
from pgrecall.execution.error_mapping import mapped_error
from pgrecall.testing import new_database
from tests.conftest import DIMENSIONS
from tests.integration.owner import TABLES, Owner, north
from tests.integration.test_both_repositories import OPERATIONS, case_of, check, furnish

Connection = psycopg.Connection[dict[str, Any]]
Rows = list[dict[str, Any]]
NAN = float("nan")


def plain_id(id_: UUID) -> UUID:
    return UUID(int=id_.int)


def call(
    connection: Connection, name: str, *arguments: Any, schema: str = "pgrecall", **named: Any
) -> Rows:
    """Calls a function, with further arguments by name."""
    marks = [
        *[sql.SQL("%s")] * len(arguments),
        *(sql.SQL("{} => %s").format(sql.Identifier(argument)) for argument in named),
    ]
    function, given = sql.Identifier(schema, name), sql.SQL(", ").join(marks)
    return connection.execute(
        sql.SQL("SELECT * FROM {}({})").format(function, given), [*arguments, *named.values()]
    ).fetchall()


# What they note


CHANGING: dict[str, tuple[Any, ...]] = {
    "record_outcome": ("success",),
    "adjust_trust": (0.1, "why"),
    "record_feedback": ("useful",),
    "set_importance": (0.4,),
    "update_memory": (Jsonb({"importance": 0.4}),),
}


def test_the_actor_is_the_sessions_user_unless_named(mine: Owner, connection: Connection) -> None:
    [user] = mine.sql("SELECT session_user::text")
    a, b = map(plain_id, mine.add_many([north("a", trust=0.5), north("b")]))
    verbs: dict[str, tuple[Any, ...]] = {
        **{name: (a, *given) for name, given in CHANGING.items()},
        "invalidate": ([a],),
        "revive": ([a],),
        "link": (a, b),
        "unlink": (a, b),
        "forget": ([a],),
    }
    for name, given in verbs.items():
        for actor in ({}, {"actor": "Ann"}):
            call(connection, name, mine.name, *given, **actor)

        actors = {event.actor for event in mine.history(a)[-2:]}
        once = ("invalidate", "revive", "unlink", "forget")
        assert user in actors if name in once else actors == {user, "Ann"}
    call(connection, "record_feedback", mine.name, b, "useful", actor=None)
    assert mine.history(b)[-1].actor is None


def test_the_history_tells_what_was_done_to_trust(mine: Owner, connection: Connection) -> None:
    memory_id = mine.add(north("m", component="meta", confidence=0.5, compliant=True), actor="Ann")
    mine.record_outcome(memory_id, "success", reason="it helped")
    mine.adjust_trust(memory_id, -0.25, "stale", "Ben", metadata={"case": 7})
    mine.update(memory_id, trust=None, trust_provenance=0.5)
    mine.delete(memory_id)

    rows, events = (
        call(connection, "history", mine.name, plain_id(memory_id)),
        mine.history(memory_id),
    )

    assert [(row["id"], row["reason"]) for row in rows] == [(one.id, one.reason) for one in events]
    deltas = [row["trust_delta"] for row in rows]
    assert deltas == pytest.approx([None, 0.05 / 1.1, -0.25, None, None], abs=1e-9)
    for row, event in zip(rows, events, strict=True):
        assert row["new_trust"] == event.new_values.get("trust")
        for part in ("usage", "provenance", "consensus", "governance"):
            assert row[f"{part}_delta"] == pytest.approx(event.delta(f"trust_{part}"), abs=1e-9)
    assert call(connection, "history", mine.name, uuid4()) == []


def test_the_owners_of_memories_in_order(engine: Engine, repo: MemoryRepository) -> None:
    for name in ("b", "a", "zoe", "c", "a"):
        repo.add(name, north(f"{name} {uuid4()}"))
    repo.teams.add("red", north("x"))
    for owner, values in (
        ("aa", "usage (agent_id, memory_id) VALUES (:agent, gen_random_uuid())"),
        ("zz", "usage (agent_id, memory_id) VALUES (:agent, gen_random_uuid())"),
        ("team:blue", "links VALUES (:agent, gen_random_uuid(), gen_random_uuid(), 'x')"),
        ("b", "usage (agent_id, memory_id) VALUES (:agent, gen_random_uuid())"),
    ):
        Owner(engine, owner).sql(f"INSERT INTO pgrecall.memory_{values}")

    nobody = Owner(engine, "")
    few = dict(nobody.sql("SELECT * FROM pgrecall.owners_of_memories()"))
    every = nobody.sql("SELECT * FROM pgrecall.owners_of_memories(true)")

    assert few == dict.fromkeys(["a", "b", "c", "team:red", "zoe"], True)
    left = dict.fromkeys(["aa", "team:blue", "zz"], False)
    assert every == sorted((few | left).items())


# What is refused

UNKNOWN = UUID(int=7)
GOOD: dict[str, dict[str, Any]] = {
    "adjust_trust": {"memory_id": "a", "delta": 0.1, "reason": "why"},
    "record_feedback": {"memory_id": "a", "kind": "useful"},
    "record_outcome": {"memory_id": "a", "outcome": "success"},
    "remember": {"content": "new"},
    "set_importance": {"memory_id": "a", "importance": 0.4},
    "supersede": {"memory_id": "a", "new": {"content": "new"}},
    "touch": {"memory_ids": []},
    "_extend_expiry": {"memory_ids": ["a"], "expires_at": "2030-01-01"},
    "update_memory": {"memory_id": "a", "changes": {"importance": 0.4}},
    **{key: {"source_id": "a", "target_id": "b"} for key in ["link", "unlink"]},
    **{key: {"memory_id": "a"} for key in ["history", "links"]},
    **{
        key: {"memory_ids": ["a"]}
        for key in ["forget", "revive", "approve", "reject", "invalidate", "erase"]
    },
    "clusters": {},
    **{
        key: {}
        for key in [
            *("erase_owner", "erase_owner_batch", "count_owner"),
        ]
    },
}
"""Of each function arguments that it takes, with memories by their texts."""
OF_ONE = "adjust_trust record_feedback record_outcome set_importance supersede update_memory"
NOTING = f"{OF_ONE} link unlink forget revive approve reject invalidate"
SHARES = [-0.1, 1.1, NAN, None]
FLAGGED: dict[str, Any] = {"compliant": False}
NOT_COMPLIANT = {"content": "x"} | FLAGGED
WRONG: list[tuple[str, str, type[Exception], list[Any]]] = [
    (" ".join(GOOD), "agent", InputError, ["", "team:", "x" * 206]),
    (NOTING, "agent", InputError, [None]),
    (NOTING, "actor", InputError, ["", "x" * 201]),
    (NOTING, "metadata", InputError, [Jsonb([]), Jsonb("text"), None]),
    (OF_ONE, "memory_id", MemoryNotFound, [UNKNOWN, None]),
    ("touch", "accessed", InputError, [None]),
    ("_extend_expiry", "expires_at", InputError, [None]),
    ("record_outcome", "outcome", UnknownName, ["Success", "", None]),
    ("record_outcome", "touch", InputError, [None]),
    ("record_feedback", "kind", UnknownName, ["USEFUL", "", None]),
    ("record_outcome record_feedback", "query", InputError, ["", " \t\n"]),
    ("adjust_trust", "delta", InputError, [1.01, -1.01, NAN, None]),
    ("adjust_trust", "reason", InputError, ["", " \n", None]),
    ("adjust_trust", "actor", InputError, [None]),
    ("adjust_trust", "memory_id", InvalidMemory, ["never assessed"]),
    ("link unlink", "kind", InputError, [None, "", "x" * 201]),
    ("link unlink", "target_id", InputError, ["a"]),
    ("link", "weight", InputError, SHARES),
    ("link", "source_id", MemoryNotFound, [UNKNOWN]),
    ("link", "target_id", MemoryNotFound, [UNKNOWN, None]),
    ("set_importance", "importance", InputError, SHARES),
    ("update_memory", "changes", InvalidMemory, [[], 1, {}, {"id": "x"}, {"key": "k"}, None]),
    ("update_memory", "changes", UnknownName, [{"flavour": 1}, {"status": 1}, {"edition": 1}]),
    ("update_memory", "changes", InvalidMemory, [{"content": "new"}, {"importance": None}]),
    ("update_memory", "changes", InvalidMemory, [{"content": "", "embedding": None}]),
    ("update_memory", "changes", DuplicateMemory, [{"content": "b", "embedding": None}]),
    ("update_memory", "changes", NotCompliant, [FLAGGED]),
    ("remember", "content", InvalidMemory, ["", None]),
    ("remember", "", InvalidMemory, [{"key": ""}, {"key": "k", "id": UNKNOWN}]),
    ("remember", "", InvalidMemory, [{"valid_from": "2020-01-01", "valid_until": "2020-01-01"}]),
    ("remember", "compliant", NotCompliant, [False]),
    ("remember", "duplicates", UnknownName, ["no", None]),
    ("remember", "near_duplicates", InputError, [1.5]),
    ("remember", "", InputError, [{"near_duplicates": 0.5, "duplicates": "allow"}]),
    ("remember", "actor", InputError, [""]),
    ("supersede", "new", InvalidMemory, [{"content": "A"}, {"content": ""}]),
    ("supersede", "new", InvalidMemory, [{"content": "x", "valid_until": "2000-01-01"}]),
    ("supersede", "new", NotCompliant, [NOT_COMPLIANT]),
    ("supersede", "new", InvalidMemory, [{"content": "x", "requires_approval": True}]),
    # NULL waives nothing.
    ("supersede", "", SupersessionConflict, [{"memory_id": "over", "force": None}]),
    ("revive", "", SupersessionConflict, [{"memory_ids": ["over"], "force": None}]),
    ("remember", "", NotCompliant, [{"compliant": False, "check_compliance": None}]),
    ("supersede", "", NotCompliant, [{"new": NOT_COMPLIANT, "check_compliance": None}]),
    ("update_memory", "", NotCompliant, [{"changes": FLAGGED, "check_compliance": None}]),
    ("supersede", "memory_id", SupersessionConflict, ["over", "gone", "for long"]),
    ("clusters", "newest", InputError, [1, 100_001, None]),
    ("clusters", "min_similarity", InputError, SHARES),
    ("clusters", "min_size", InputError, [1, None]),
    ("clusters", "more_than", InputError, [-1, None]),
    ("erase_owner erase_owner_batch", "batch_size", InputError, [0, 100_001, None]),
    ("erase", "dry_run", InputError, [None]),
]
"""Functions, an argument that makes no sense (of no name: several), and how that is refused."""


@pytest.mark.parametrize("name", GOOD)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    mine: Owner, connection: Connection, name: str
) -> None:
    texts = ("a", "b", "over", "gone", "never assessed")
    ids = {text: plain_id(mine.add(north(text, trust=0.5))) for text in texts}
    end = datetime(2800, 1, 1, tzinfo=UTC)
    ids["for long"] = plain_id(mine.add(north("for long", valid_until=end)))
    mine.update(ids["never assessed"], trust=None)
    mine.invalidate(ids["gone"])
    mine.supersede(ids["over"], north("what came after"))
    stored = mine.everything()

    for names, argument, error, values in WRONG:
        for value in values if name in names.split() else []:
            wrong = {argument: value} if argument else value
            score = {"below_score": 1.0} if argument == "profile" else {}
            with pytest.raises(psycopg.Error) as refused:
                call_named(connection, name, {"agent": mine.name} | GOOD[name] | score | wrong, ids)

            assert type(mapped_error(refused.value)) is error, wrong
            assert refused.value.diag.message_primary
    assert (mine.everything(), mine.rows("maintenance_runs")) == (stored, [])


def call_named(
    connection: Connection, name: str, arguments: dict[str, Any], ids: dict[str, UUID]
) -> None:
    """Calls a function or the procedure, with memories named by their texts."""
    values: dict[str, Any] = {}
    marks = []
    for argument, value in arguments.items():
        if argument == "new":
            values |= {f"new_{field}": one for field, one in value.items()}
            fields = ", ".join(f"{field} => %(new_{field})s" for field in value)
            marks.append(f"new => pgrecall.new_memory({fields})")
            continue
        if argument.endswith("_id"):
            value = ids.get(value, value)
        if argument == "memory_ids":
            value = [ids[one] for one in value]
        if argument == "changes" and value is not None:
            value = Jsonb(value)
        values[argument] = value
        marks.append(f"{argument} => %({argument})s")
    verb = "CALL" if name == "erase_owner" else "SELECT * FROM"
    connection.execute(f"{verb} pgrecall.{name}({', '.join(marks)})", values)


@pytest.mark.parametrize("name", ["touch", "forget", "invalidate", "revive", "approve", "reject"])
def test_no_ids_change_nothing(mine: Owner, connection: Connection, name: str) -> None:
    mine.add(north("a"))
    stored = mine.everything()

    for nothing in ([], None, [None]):
        rows = call(connection, name, mine.name, nothing)
        assert rows == ([{"touch": 0}] if name == "touch" else [])
    assert mine.everything() == stored


def test_a_memory_that_is_not_there_is_named(mine: Owner, connection: Connection) -> None:
    hers, there = (plain_id(of.add(north("a"))) for of in (mine.other, mine))
    for name in (mine.name, "'; DROP TABLE x; --", "%s :name $1 {0}", "🙂 \u202e \t\n"):
        for id_ in (UNKNOWN, hers, None):
            with pytest.raises(psycopg.Error) as refused:
                call(connection, "record_outcome", name, id_, "success")
            message = f"agent '{name}' has no memory {id_ or 'NULL'}"
            assert refused.value.diag.message_primary == message
    for source, target in ((UNKNOWN, there), (there, UNKNOWN), (UUID(int=9), UNKNOWN)):
        with pytest.raises(psycopg.Error, match=str(UNKNOWN)):  # the first of several
            call(connection, "link", mine.name, source, target)
    with pytest.raises(psycopg.Error, match="team 'red' has no memory"):
        call(connection, "record_outcome", "team:red", UNKNOWN, "success")


# Where it runs


def unpooled(url: str) -> Engine:
    return create_engine(url, poolclass=NullPool)


def assert_everything_works(connection: sa.Connection, schema: str = "pgrecall") -> None:
    repo = MemoryRepository(connection, schema=schema)
    furnish(repo)
    for name in OPERATIONS:
        with connection.begin_nested() as savepoint:
            check(repo, case_of(name))
            savepoint.rollback()


@pytest.mark.parametrize("search_path", ["", "pg_temp, elsewhere, pgrecall"])
def test_the_callers_search_path_and_tables_of_our_names_do_not_matter(
    own_url: str, search_path: str
) -> None:
    """Temporary tables come first on every search_path that does not name pg_temp."""
    with unpooled(own_url).connect() as connection:
        session: Any = connection.connection.driver_connection
        lay_traps(session)
        session.execute("SELECT set_config('search_path', %s, false)", (search_path,))

        assert_everything_works(connection)

        connection.commit()
        session.autocommit = True
        policy = '{"max_age_hours": 720}'
        call = "CALL pgrecall.maintain('agent', %s, false)"
        [[maintained]] = session.execute(call, (policy,)).fetchall()
        assert (maintained["scanned"], maintained["archived"]) == (7, 1)
        with pytest.raises(psycopg.Error):
            session.execute(call, (None,))
        assert session.execute("SHOW search_path").fetchall() == [(search_path,)]
        [erased] = session.execute("CALL pgrecall.erase_owner('agent')").fetchall()
        assert erased[0] == 7
        for table in TABLES:
            for schema in ("elsewhere", "pg_temp"):
                assert not session.execute(f"SELECT FROM {schema}.{table}").fetchall(), table


def lay_traps(session: psycopg.Connection[Any]) -> None:
    """Tables and functions of our names, elsewhere; a function that is called raises an error."""
    session.execute("CREATE SCHEMA elsewhere")
    for table in TABLES:
        for schema in ("elsewhere", "pg_temp"):
            like = f"(LIKE pgrecall.{table} INCLUDING ALL)"
            session.execute(f"CREATE TABLE {schema}.{table} {like}".encode())
    signatures = session.execute(
        "SELECT format('%I(%s) RETURNS %s', proname, pg_get_function_identity_arguments(oid), "
        "pg_get_function_result(oid)) FROM pg_proc "
        "WHERE pronamespace = 'pgrecall'::regnamespace AND prokind = 'f' AND NOT proretset"
    ).fetchall()
    for (signature,) in signatures:  # functions are never looked up in pg_temp
        session.execute(
            f"CREATE FUNCTION elsewhere.{signature} "
            "LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'trapped'; END$$".encode()
        )
    session.commit()


def test_a_second_schema_with_an_odd_name_does_not_mix_with_the_first(own_url: str) -> None:
    migrate.upgrade(own_url, dimensions=DIMENSIONS, schema="select")
    engine = unpooled(own_url)
    first = MemoryRepository(engine)
    first.add("agent", north("of the first", trust=0.0))
    rows = Owner(engine, "agent").everything()

    with engine.begin() as connection:
        assert_everything_works(connection, "select")

    assert Owner(engine, "agent").everything() == rows


def test_postgresql_16_with_halfvec(postgres_16: str) -> None:
    with new_database(postgres_16) as url:
        migrate.upgrade(url, dimensions=DIMENSIONS, embedding_type="halfvec")
        with unpooled(url).begin() as connection:
            assert_everything_works(connection)
