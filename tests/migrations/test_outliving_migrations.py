"""Pools that are open while the schema is migrated."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from threading import Event
from unittest.mock import patch
from uuid import UUID

import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory, migrate
from pgrecall.errors import DatabaseConflict
from pgrecall.migrate import repeatable
from tests.integration.support import awaited
from tests.migrations.asking import repository, rows, run, value, wait_until
from tests.migrations.called_functions import called
from tests.upgrading import client
from tests.upgrading.editions import edition

Work = Callable[[MemoryRepository], object]
PREPARED = 8
"""Calls after which psycopg has prepared every statement."""


@contextmanager
def on(kind: str, url: str) -> Iterator[tuple[MemoryRepository, Callable[[str], None]]]:
    """A repository on one connection, and what ends a caller's transaction on it."""
    url = url.replace("postgresql:", "postgresql+psycopg:", 1)
    with ExitStack() as stack:
        if not kind.startswith("Async"):
            engine = create_engine(url, pool_size=1, max_overflow=0)
            stack.callback(engine.dispose)
            if kind == "Engine":
                yield MemoryRepository(engine), lambda how: None
            else:
                connection = stack.enter_context(engine.connect())
                yield MemoryRepository(connection), lambda how: getattr(connection, how)()
            return
        runner = stack.enter_context(asyncio.Runner())
        async_engine = create_async_engine(url, pool_size=1, max_overflow=0)
        stack.callback(lambda: runner.run(async_engine.dispose()))
        if kind == "AsyncEngine":
            yield awaited(AsyncMemoryRepository(async_engine), runner.run), lambda how: None
        else:
            session = AsyncSession(async_engine)
            stack.callback(lambda: runner.run(session.close()))
            repo = awaited(AsyncMemoryRepository(session), runner.run)
            yield repo, lambda how: runner.run(getattr(session, how)())


def retyped(url: str, name: str, old: str, new: str) -> None:
    """Replaces a function by one with another type of result, as no release may."""
    definition = value(url, f"SELECT pg_get_functiondef('pgrecall.{name}'::regproc)")
    assert old in definition
    after = definition.replace(old, new).replace("l.kind, l.weight\n", "l.kind, l.weight::real\n")
    run(url, f"DROP FUNCTION pgrecall.{name}", after)


each_kind = pytest.mark.parametrize("kind", ["Engine", "AsyncEngine", "Connection", "AsyncSession"])


@each_kind
def test_a_rejected_plan_is_prepared_again(migrated: str, kind: str) -> None:
    """In autocommit and in a savepoint. A statement has no effect when its plan is rejected."""
    memory_id = repository(migrated).add("agent", NewMemory("one", embedding=client.VECTOR))
    verb = "touch" if kind.endswith("Engine") else "remove_alias"  # one takes no savepoint
    done = int(verb == "touch")
    with on(kind, migrated) as (repo, end):

        def call() -> int:
            made = repo.touch("agent", memory_id) if done else repo.names.remove("agent", "x")
            end("commit")
            return made

        for _ in range(PREPARED):
            assert call() == done
        retyped(migrated, verb, "RETURNS bigint", "RETURNS integer")
        for _ in range(PREPARED):
            assert call() == done

    if done:
        counted = value(migrated, "SELECT retrieval_count FROM pgrecall.memory_usage")
        assert counted == 2 * PREPARED


@each_kind
def test_a_call_that_cannot_be_repeated_says_so(migrated: str, kind: str) -> None:
    """Reading takes no savepoint, so a caller's transaction is lost; the next one works."""
    memory_id = UUID(int=1)
    with on(kind, migrated) as (repo, end):
        for _ in range(PREPARED):
            assert repo.links.of("agent", memory_id) == []
            end("commit")
        retyped(migrated, "links", "weight double precision", "weight real")

        if not kind.endswith("Engine"):
            with pytest.raises(DatabaseConflict, match="a migration has just replaced"):
                repo.links.of("agent", memory_id)
            end("rollback")
        for _ in range(PREPARED):
            assert repo.links.of("agent", memory_id) == []
            end("commit")


def test_a_function_that_is_gone_for_a_moment_is_called_again(migrated: str) -> None:
    """As where PostgreSQL looked it up just before it was replaced, or it returned other rows."""
    failing = """
        CREATE SEQUENCE public.calls;
        CREATE OR REPLACE FUNCTION pgrecall.forget(
            agent text, memory_ids uuid[], reason text, actor text,
            metadata jsonb DEFAULT '{}')
            RETURNS SETOF uuid LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('public.calls') = 1 THEN
                RAISE EXCEPTION 'cache lookup failed for function 1' USING ERRCODE = 'XX000';
            ELSIF currval('public.calls') = 2 THEN
                RETURN QUERY SELECT 'text';
            END IF;
            RETURN QUERY SELECT memory_ids[1];
        END $$"""
    memory_id = UUID(int=1)
    with on("Engine", migrated) as (repo, _):
        assert repo.count("agent") == 0
        run(migrated, "DROP FUNCTION pgrecall.forget", *failing.split(";", 1))

        assert repo.delete("agent", memory_id) == 1
    assert value(migrated, "SELECT last_value FROM public.calls") == 3


def test_no_call_fails_while_functions_gain_arguments_and_columns(migrated: str) -> None:
    files = repeatable.files()
    rounds, stopped = Counter[str](), Event()

    def run_client(kind: str) -> client.Account:
        return client.run(kind, migrated, kind, stopped.is_set, lambda: rounds.update([kind]))

    def await_rounds(more: int) -> None:
        until = {kind: rounds[kind] + more for kind in client.KINDS}
        wait_until(
            "all go on",
            lambda: rounds >= Counter(until) or any(work.done() for work in works),
        )
        assert [work.exception() for work in works if work.done()] == []

    with ThreadPoolExecutor(len(client.KINDS)) as executor:
        works = [executor.submit(run_client, kind) for kind in client.KINDS]
        try:
            for number in (1, 10, 11):
                await_rounds(PREPARED)
                edited = edition(files, number, called())
                with patch.object(repeatable, "files", lambda edited=edited: edited):
                    migrate.upgrade(migrated)
            await_rounds(2)
        finally:
            stopped.set()
        accounts = [work.result() for work in works]

    for kind, account in zip(client.KINDS, accounts, strict=True):
        assert [error for *_, error in account.calls if error] == [], kind
        assert len(account.calls) > 3 * PREPARED * len(client.CALLS)
        assert client.as_told(account.told(), rows(migrated, client.STORED, kind))
