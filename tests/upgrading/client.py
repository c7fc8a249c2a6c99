"""A client that makes every kind of call in turn and counts what it was told.

It imports nothing of the checkout but pgrecall, so that it also runs with the pgrecall of another
release: `python client.py KIND URL AGENT STOP`. A number is printed after each round, and the
account once the file STOP exists.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

import psycopg
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory

KINDS = ("psycopg", "sync", "async")
VECTOR = [1.0, 0.0, 0.0]
CALLS = (
    *("add", "add_many", "upsert", "get", "get_many", "list", "count", "search", "context"),
    *("explain", "touch", "record_outcome", "feedback", "update", "supersede"),
    "history",
)
"""The kinds of calls, as each client makes them in turn. `add` makes the memory of others."""


class Repository:
    """A repository of either kind behind the calls, by waiting for each."""

    def __init__(self, repo: Any, wait: Callable[[Any], Any] = lambda result: result) -> None:
        self._repo, self._wait = repo, wait

    def make(self, call: str, agent: str, about: UUID, text: str) -> Any:
        repo, new = self._repo, partial(NewMemory, embedding=VECTOR)
        calls: dict[str, Callable[[], Any]] = {
            "add": lambda: repo.add(agent, new(text)),
            "add_many": lambda: repo.add_many(agent, [new(f"{text} {n}") for n in "ab"]),
            "upsert": lambda: repo.upsert(agent, new(text + " upserted", key="key")),
            "get": lambda: repo.get(agent, about),
            "get_many": lambda: repo.get_many(agent, [about]),
            "list": lambda: repo.list(agent, limit=3),
            "count": lambda: repo.count(agent),
            "search": lambda: repo.search(agent, VECTOR, keywords=text, k=3),
            "context": lambda: repo.context(agent, VECTOR, max_tokens=40, k=3),
            "explain": lambda: repo.explain(agent, about, VECTOR),
            "touch": lambda: repo.touch(agent, about),
            "record_outcome": lambda: repo.record_outcome(agent, about, "success", touch=False),
            "feedback": lambda: repo.feedback(agent, about, "useful"),
            "update": lambda: repo.update(agent, about, tags=[text]),
            "supersede": lambda: repo.supersede(agent, about, new(text + " instead"), force=True),
            "history": lambda: repo.history(agent, about),
        }
        return self._wait(calls[call]())

    def ids(self, call: str, result: Any) -> list[UUID]:
        """The ids that the result names."""
        if call == "context":
            return [one.hit.memory.id for one in result.packed]
        if call == "search":
            return [hit.memory.id for hit in result]
        return [as_id(one) for one in (result if isinstance(result, list) else [result])]


def as_id(one: Any) -> UUID:
    return UUID(str(getattr(one, "id", one)))


class Statements:
    """psycopg alone, which prepares these statements, as docs/operations.md says how."""

    NEW = "pgrecall.new_memory(content => %(text)s{}, embedding => '[1,0,0]'{})"
    SQL: ClassVar[dict[str, str]] = {
        "add": "SELECT memory_id FROM pgrecall.remember(%(agent)s, %(text)s, '[1,0,0]')",
        "add_many": "SELECT memory_id FROM pgrecall.remember_rows(%(agent)s, ARRAY["
        f"{NEW.format(' || chr(97)', '')}, {NEW.format(' || chr(98)', '')}])",
        "upsert": "SELECT memory_id FROM pgrecall.upsert(%(agent)s, "
        f"{NEW.format('', ', key => $$key$$')})",
        "get": "SELECT id FROM pgrecall.memory_records WHERE (agent_id, id) = (%(agent)s, %(id)s)",
        "get_many": "SELECT id FROM pgrecall.memory_records "
        "WHERE agent_id = %(agent)s AND id = ANY (ARRAY[%(id)s::uuid])",
        "list": "SELECT id FROM pgrecall.ranked(%(agent)s) ORDER BY id DESC LIMIT 3",
        "count": "SELECT memories FROM pgrecall.owners() WHERE agent_id = %(agent)s",
        "search": "SELECT id FROM pgrecall.recall(%(agent)s, '[1,0,0]', %(text)s, k => 3, "
        "touch => true)",
        "context": "SELECT id FROM pgrecall.recall(%(agent)s, '[1,0,0]', max_tokens => 40, k => 3)",
        "explain": "SELECT score FROM pgrecall.explain(%(agent)s, %(id)s, '[1,0,0]')",
        "touch": "SELECT touch FROM pgrecall.touch(%(agent)s, ARRAY[%(id)s::uuid])",
        "record_outcome": "SELECT id FROM pgrecall.record_outcome(%(agent)s, %(id)s, 'success', "
        "touch => false)",
        "feedback": "SELECT id FROM pgrecall.record_feedback(%(agent)s, %(id)s, 'useful')",
        "update": "SELECT id FROM pgrecall.update_memory(%(agent)s, %(id)s, "
        "jsonb_build_object('tags', ARRAY[%(text)s]))",
        "supersede": "SELECT successor FROM pgrecall.supersede(%(agent)s, %(id)s, "
        f"{NEW.format(' || $$ instead$$', '')}, force => true)",
        "history": "SELECT id FROM pgrecall.history(%(agent)s, %(id)s)",
    }

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def make(self, call: str, agent: str, about: UUID, text: str) -> Any:
        statement = self.SQL[call].encode()
        values = {"agent": agent, "id": about, "text": text}
        try:
            return self._connection.execute(statement, values).fetchall()
        except psycopg.Error as error:
            if error.sqlstate not in ("0A000", "42804", "XX000"):
                raise
            self._connection.execute("ROLLBACK")  # lets psycopg discard what it has prepared
            return self._connection.execute(statement, values, prepare=False).fetchall()

    def ids(self, call: str, result: Any) -> list[UUID]:
        return [] if call == "context" else [row[0] for row in result]  # psql's counts nothing


class Account:
    """What a client was told: the ids of its memories, and what it has counted of each."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, float, float, str]] = []
        self.ids: set[str] = set()
        self.counted: dict[str, Counter[str]] = {name: Counter() for name in COUNTERS}

    def told(self) -> dict[str, Any]:
        return {"calls": self.calls, "ids": sorted(self.ids), "counted": self.counted}

    def note(self, call: str, ids: list[UUID]) -> None:
        named = [str(one) for one in ids]
        if call in STORES:
            self.ids.update(named)
        if call in COUNTED:
            self.counted[COUNTED[call]].update(named)


COUNTERS = ("retrieval_count", "success_count", "feedback_up")
STORED = f"""
    SELECT r.id::text, r.{", r.".join(COUNTERS)} FROM pgrecall.memory_records r
     WHERE r.agent_id = %s
"""
STORES = ("add", "add_many", "upsert", "supersede")
COUNTED = {
    "search": "retrieval_count",
    "context": "retrieval_count",
    "touch": "retrieval_count",
    "record_outcome": "success_count",
    "feedback": "feedback_up",
}


def work(client: Any, agent: str, stopped: Callable[[], bool], done: Callable[[], None]) -> Account:
    """Makes all calls, one after the other, until it is stopped at the end of a round."""
    account, about, number = Account(), UUID(int=0), 0
    while not stopped():
        for call in CALLS:
            began, error = time.monotonic(), ""
            try:
                result = client.make(call, agent, about, f"{agent} {number} {call}")
                if call == "add":
                    [about] = client.ids(call, result)
                if call == "touch":
                    account.note(call, [about])
                elif call in STORES or call in COUNTED:
                    account.note(call, client.ids(call, result))
            except Exception as problem:
                error = f"{type(problem).__name__}: {problem}".splitlines()[0]
            account.calls.append((call, began, time.monotonic(), error))
        number += 1
        done()
    return account


def run(kind: str, url: str, agent: str, stopped: Callable[[], bool], done: Any) -> Account:
    """One client of this kind, with a pool of its own."""
    of_sqlalchemy = url.replace("postgresql:", "postgresql+psycopg:", 1)
    if kind == "psycopg":
        with psycopg.connect(url, autocommit=True) as connection:
            return work(Statements(connection), agent, stopped, done)
    if kind == "sync":
        engine = create_engine(of_sqlalchemy)
        try:
            return work(Repository(MemoryRepository(engine)), agent, stopped, done)
        finally:
            engine.dispose()
    with asyncio.Runner() as runner:
        async_engine = create_async_engine(of_sqlalchemy)
        repo = Repository(AsyncMemoryRepository(async_engine), runner.run)
        try:
            return work(repo, agent, stopped, done)
        finally:
            runner.run(async_engine.dispose())


def as_told(told: dict[str, Any], stored: list[tuple[Any, ...]]) -> bool:
    """Whether the rows of STORED are the memories that a client was told of, as often counted."""
    counted = told["counted"]
    return {row[0] for row in stored} == set(told["ids"]) and all(
        row[1:] == tuple(counted[name].get(row[0], 0) for name in COUNTERS) for row in stored
    )


def main(kind: str, url: str, agent: str, stop: str) -> None:
    def done() -> None:
        print("round", flush=True)

    print(json.dumps(run(kind, url, agent, Path(stop).exists, done).told()), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
