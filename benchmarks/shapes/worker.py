"""Run by the Python of a checkout, by path: executes its calls as it is told, and times them.

It uses only what every version has. Its database has the same memories, with the same ids, as that
of any other checkout: 10,000 (or as told), 1,000 and 100 of three owners among 9,000 of others, in
sessions, with tags and some retrievals, statistics up to date. The owner of 10,000 is there twice,
the second time with a rank index.

Each line of its input is JSON, {"call": name, "times": number}; each line of its output is what
they took, in milliseconds, and the ids that they returned.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Engine, create_engine, text

from pgrecall import MemoryRepository, NewMemory, migrate

DIMENSIONS = 128
OWNERS = {"small": 100, "mid": 1_000, "big": 10_000}
OTHERS = {"indexed": 10_000, "team": 500, **{f"other {n}": 1_000 for n in range(8)}}
WORDS = ("invoice", "meeting", "garden", "train", "recipe", "doctor", "window", "printer")
TOPICS = 20
RECALL = """
SELECT id FROM pgrecall.recall(:owner, CAST(:query AS vector), profile => 'five_factor')
"""
Call = Callable[[], Any]


class World:
    """A filled database, and the calls on it by their names."""

    def __init__(self, engine: Engine, start: datetime) -> None:
        self._repo = MemoryRepository(engine)
        self._alone = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        self._dice = random.Random(0)
        self._start = start
        self._topics = [[self._dice.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in range(TOPICS)]
        self._ids: dict[str, list[UUID]] = {}
        for owner, many in {**OWNERS, **OTHERS}.items():
            repository = self._repo.teams if owner == "team" else self._repo
            memories = [self._memory(number) for number in range(many)]
            repository.add_many(owner, memories, duplicates="allow")
            self._ids[owner] = [one.id for one in memories if isinstance(one.id, UUID)]
        for owner in (*OWNERS, "indexed"):
            for first in range(0, len(self._ids[owner]), 30):
                self._repo.touch(owner, self._ids[owner][first : first + 10])
        self._alone.execute(text("VACUUM ANALYZE"))
        self._repo.rank_indexes.build(agent_id="indexed", at_least=1)
        self.calls = dict(self._calls())

    def _vector(self) -> list[float]:
        topic = self._dice.choice(self._topics)
        return [one + self._dice.gauss(0, 0.7) for one in topic]

    def _text(self) -> str:
        return f"{' '.join(self._dice.choices(WORDS, k=6))} {self._dice.random()}"

    def _memory(self, number: int) -> NewMemory:
        return NewMemory(
            self._text(),
            id=UUID(int=self._dice.getrandbits(128), version=4),
            embedding=self._vector(),
            trust=0.5,
            importance=self._dice.random(),
            tier=("short", "medium", "long")[number % 3],
            tags=[("draft", "note", "done")[number % 3]],
            metadata={"a": number % 7},
            session=f"session {number // 20}",
            turn=number % 20,
            created_at=self._start - timedelta(hours=self._dice.random() * 2_000),
        )

    def _calls(self) -> Iterator[tuple[str, Call]]:
        searches: dict[str, dict[str, Any]] = {
            "search": {},
            "search, counted": {"touch": True},
            "search, two filters": {
                "filter": {"tags": ["draft", "note"], "tier": ["short", "medium"]}
            },
            "search, metadata": {"filter": {"metadata.a": {"$gte": 2}}},
            "search, where": {"filter": self._repo.memories.c.importance > 0.2},
            "search, as of": {"as_of": self._start - timedelta(hours=100)},
            "search, words": {"keywords": "invoice garden", "profile": "hybrid"},
            "search, relevance": {"keywords": "invoice garden", "min_relevance": 0.3},
            "search, teams": {"teams": ["team"]},
            "search, turns": {"surrounding_turns": 2},
        }
        for what, arguments in searches.items():
            for owner, many in OWNERS.items():
                yield f"{what}, {many:,}", partial(self._search, owner, **arguments)
        indexed: dict[str, dict[str, Any]] = {
            "index": {},
            "index, words": {"keywords": "invoice garden", "profile": "hybrid"},
            "index, tags": {"filter": {"tags": ["draft", "note"]}},
        }
        for what, arguments in indexed.items():
            yield what, partial(self._search, "indexed", strategy="index", **arguments)
        for owner, many in OWNERS.items():
            yield f"psql, {many:,}", partial(self._recall, owner)
        one = partial(self._one_of, "mid")
        for owner, many in OWNERS.items():
            yield f"context, {many:,}", partial(self._context, owner)
        repo = self._repo
        yield "explain", lambda: repo.explain("mid", one(), self._vector(), profile="five_factor")
        yield "list", lambda: repo.list("mid", filter={"tags": "draft"}, limit=50)
        yield "count", lambda: repo.count("mid", filter={"tags": "draft"})
        yield "get", lambda: repo.get("mid", one())
        yield "get_many, 50", lambda: repo.get_many("mid", self._dice.sample(self._ids["mid"], 50))
        yield "history", lambda: repo.history("mid", one())
        yield "touch, 10", lambda: repo.touch("mid", self._dice.sample(self._ids["mid"], 10))
        yield "record_outcome", lambda: repo.record_outcome("mid", one(), "success")
        yield (
            "update importance",
            lambda: repo.update("mid", one(), importance=self._dice.random() or 1.0),
        )
        yield "invalidate", lambda: repo.invalidate("other 1", self._one_of("other 1"))
        yield "add", lambda: repo.add("other 2", self._memory(0))
        for many in (100, 1_000):
            yield f"add_many, {many:,}", partial(self._add_many, many)

    def _one_of(self, owner: str) -> UUID:
        return self._dice.choice(self._ids[owner])

    def _search(self, owner: str, **arguments: Any) -> object:
        arguments = {"profile": "five_factor", "touch": False, **arguments}
        return self._repo.search(owner, self._vector(), **arguments)

    def _context(self, owner: str) -> object:
        return self._repo.context(owner, self._vector(), profile="five_factor", touch=False)

    def _recall(self, owner: str) -> object:
        rows = self._alone.execute(text(RECALL), {"owner": owner, "query": str(self._vector())})
        return [row.id for row in rows]

    def _add_many(self, many: int) -> object:
        return self._repo.add_many("other 3", [self._memory(number) for number in range(many)])


def ids_of(result: object) -> list[str]:
    """The ids of hits, or of what else a call returned a list of."""
    found = result if isinstance(result, list) else []
    return [str(getattr(getattr(one, "memory", one), "id", one)) for one in found]


def main(url: str, start: datetime) -> None:
    migrate.upgrade(url, dimensions=DIMENSIONS)
    world = World(create_engine(url, pool_size=1), start)
    print(json.dumps([*world.calls]), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        call, took, ids = world.calls[asked["call"]], [], []
        for _ in range(asked["times"]):
            began = time.perf_counter()
            result = call()
            took.append((time.perf_counter() - began) * 1e3)
            ids.append(ids_of(result))
        print(json.dumps({"ms": took, "ids": ids}), flush=True)


if __name__ == "__main__":
    OWNERS["big"] = int(sys.argv[3])
    main(sys.argv[1], datetime.fromisoformat(sys.argv[2]).astimezone(UTC))
