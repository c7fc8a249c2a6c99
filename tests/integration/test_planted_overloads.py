"""Functions of ours name what they use: what others plant in a schema on the path is not called.

PostgreSQL prefers an overload that matches the types exactly to one of its own that does not, in
whatever schema it stands, so a path with a schema that others may write to runs their code.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import (
    AsyncMemoryRepository,
    JudgedQuery,
    MemoryRepository,
    NewMemory,
    migrate,
    pin_search_path,
    profiles,
)
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.core.limits import EARLIEST
from pgrecall.scoring.profiles import BUILT_IN
from pgrecall.testing import new_database
from tests.calls import CALLS, PROCEDURES
from tests.conftest import DIMENSIONS
from tests.integration.commands import BUILT, fast_runner
from tests.integration.planting import planted
from tests.integration.support import NORTH, at, awaited
from tests.integration.tenants import furnish, outcome, things_of
from tests.migrations.asking import run, value, values

ATTACKER = "pgrecall_attacker"


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
            given = f"entities => '{{x,y}}', teams => '{{one}}', profile => '{name}'"
            every += [f"SELECT * FROM recall('one', {things['vector']}, 'secret', {given})"]
        every += [f"CALL {call}" for calls in PROCEDURES.values() for call in calls]
        every += [f"SELECT * FROM {view}" for view in VIEWS]
        every.append(
            "INSERT INTO agent_memories (agent_id, id, content) "
            "VALUES ('one', gen_random_uuid(), 'written by hand')"
        )
        as_attacker(url, *planted())
        with psycopg.connect(url, autocommit=True) as connection:
            for statement in every:
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

        assert migrate.upgrade(url, dimensions=DIMENSIONS, embedding_index=True).pending == []
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
        *("_maintain_rank_index", "build_rank_index", "distribute", "erase_owner", "maintain"),
    ]
    assert value(
        shared_url,
        "SELECT bool_and('security_invoker=true' = ANY (coalesce(reloptions, '{}'))) "
        "FROM pg_class WHERE relnamespace = 'pgrecall'::regnamespace AND relkind = 'v'",
    )


COMMANDS = """
    add hello; upsert key hello; list --tag a --total; get ONE; owners; list --count;
    search tea --tag a --entity x; search tea --plan; explain ONE tea;
    context tea; outcome ONE success; feedback ONE useful; judge ONE tea;
    trust ONE 0.1 --reason r --actor who; history ONE; supersede ONE another; invalidate TWO;
    revive TWO; approve TWO; reject TWO;
    consolidate --more-than 1 --dry-run; consolidate --more-than 1;
    maintain; maintain --dry-run; maintain --max-live 100 --yes;
    link TWO THREE; links TWO; unlink TWO THREE;
    profiles show --installed;
    profiles show hybrid --installed; profiles install FOLDER/mine.toml; profiles default mine;
    evaluate FOLDER/judged.jsonl --agent a; tune FOLDER/judged.jsonl --agent a;
    index build --at-least 1; index list; index drop;
    export FOLDER/all.jsonl; import FOLDER/all.jsonl; delete --tag a --tag none --yes;
    delete THREE --yes; erase FOUR --yes; keys create --owner a --json;
    keys list; keys revoke KEY; status; migrate up;
    migrate protect --role ROLE; migrate grant --reader ROLE; migrate grant --none ROLE;
    migrate language german; migrate embedding-model another;
    migrate up --embedding-index; migrate down --yes
"""
"""In this order: each finds what those before have left. They are the agent's where they may be."""
OTHERS = {
    # tests/integration/conftest.py plants in the database of the service
    *("serve", "mcp", "studio"),
    "config",  # needs no database
    "migrate sql",
    *("demo", "server start", "server stop"),  # have one of their own
    "migrate distribute",  # is refused without Citus
}


def all_commands(group: Any, *names: str) -> Iterator[str]:
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from all_commands(command, *names, name)
        else:
            yield " ".join((*names, name))


def test_no_command_calls_what_was_planted(
    server_url: str,
    local_template: str,
    local_embedder: LocalEmbedder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """Whoever may create functions in public would otherwise become what the caller is."""
    lines = [line.split() for line in COMMANDS.split(";")]
    every = set(all_commands(BUILT))
    tried = {" ".join(line[:words]) for line in lines for words in (1, 2)} & every
    failed = []
    assert tried | OTHERS == every
    role = f"pgrecall_served_{os.getpid()}"
    with new_database(server_url, local_template) as url, attacker(url):
        run(url, f"DROP ROLE IF EXISTS {role}")
        as_attacker(url, *planted())
        engine = pin_search_path(create_engine(url.replace("postgresql:", "postgresql+psycopg:")))
        repo = MemoryRepository(engine, embedder=local_embedder)
        ids = repo.add_many("a", [NewMemory(f"tea number {n}", tags=["a"]) for n in range(12)])
        engine.dispose()
        judged = [{"query": f"number {n}", "relevant": [str(one)]} for n, one in enumerate(ids)]
        (tmp_path / "judged.jsonl").write_text("\n".join(map(json.dumps, judged)))
        profiles.save(replace(profiles.hybrid, name="mine"), tmp_path / "mine.toml")
        command = fast_runner(monkeypatch, capsys, url, local_embedder)
        monkeypatch.setenv("PGRECALL_AGENT", "a")
        named = dict(zip(("ONE", "TWO", "THREE", "FOUR"), map(str, ids), strict=False))
        named |= {"FOLDER": str(tmp_path), "ROLE": role}
        for line in lines:
            given = [re.sub("|".join(named), lambda m: named[m[0]], part) for part in line]
            done = command(*given)
            assert "planted" not in done.err + done.out, line
            if done.code:
                failed.append((line, done.err))
            if line[:2] == ["keys", "create"]:
                named["KEY"] = done.records[0]["id"]
        run(url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")
    assert failed == []


@pytest.mark.parametrize("pin", [pin_search_path, lambda engine: engine], ids=["pinned", "plain"])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_no_statement_on_an_engine_of_a_caller_calls_what_was_planted(
    server_url: str, template: str, kind: str, pin: Callable[[Any], Any]
) -> None:
    """On a plain engine, SQLAlchemy itself compares an oid with a regtype when it connects."""
    with new_database(server_url, template) as url, asyncio.Runner() as runner:
        run(url, *(one for one in planted() if pin is pin_search_path or "regtype" not in one))
        url = url.replace("postgresql:", "postgresql+psycopg:")
        if kind == "sync":
            engine = pin(create_engine(url))
            repo = MemoryRepository(engine)
        else:
            async_engine = pin(create_async_engine(url))
            repo = awaited(AsyncMemoryRepository(async_engine), runner.run)
        for _ in range(2):  # by SQLAlchemy, and by psycopg alone
            new = NewMemory(
                "tea", embedding=NORTH, tags=["a"], metadata={"a": 1}, entities=["x"], session="s"
            )
            memory_id = UUID(int=repo.add("a", new).int)
            filters: dict[str, Any] = {
                "filter": {
                    "tags": "a",
                    "metadata.a": {"$in": [1], "$gt": 0},
                    "session": "s",
                    "retrieval_count": {"$lt": 9},
                    "created_at": {"$gt": EARLIEST},
                    "decayed_trust": {"$lte": 1},
                    "content": {"$match": "tea", "$ilike": "T%"},
                    "$not": {"key": "k"},
                }
            }
            assert repo.get("a", memory_id) is not None
            assert repo.list("a", **filters, total=True).total == 1
            assert repo.search("a", NORTH, keywords="tea", entities=["x"], **filters)
            assert repo.context("a", NORTH, max_tokens=99, max_similarity=0.9).packed
            assert repo.explain("a", memory_id, NORTH).hit.memory.id == memory_id
            assert repo.history("a", memory_id)
            judged = [
                JudgedQuery(at(degrees), [memory_id], keywords="tea") for degrees in range(10)
            ]
            repo.evaluation.evaluate("a", judged)
            repo.evaluation.tune("a", judged)
            assert repo.erase_owner("a").memories == 1
        if kind == "sync":
            engine.dispose()
        else:
            runner.run(async_engine.dispose())
