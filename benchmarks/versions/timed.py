"""Run by the Python of a checkout, by path: times its calls and prints them as JSON.

It uses only what every version has, on a database of its own: 10,000, 1,000 and 100 memories of
three owners among 9,000 of others, with some retrievals, statistics up to date.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from sqlalchemy import Connection, create_engine, text

from pgrecall import MemoryRepository, NewMemory, embedded, migrate

DIMENSIONS = 128
OWNERS = {"big": 10_000, "mid": 1_000, "small": 100, **{f"other {n}": 1_000 for n in range(9)}}
WORDS = ("invoice", "meeting", "garden", "train", "recipe", "doctor", "window", "printer")
SEARCHES: dict[str, dict[str, Any]] = {
    "search": {"touch": False},
    "search, touch": {"touch": True},
    "search, hybrid": {"touch": False, "profile": "hybrid"},
}
# Named, since the default has not always been the same.
PROFILE = "five_factor"
Vector = list[float]

dice = random.Random(0)


def vector() -> Vector:
    return [dice.gauss(0, 1) for _ in range(DIMENSIONS)]


def memory(number: int) -> NewMemory:
    words = " ".join(dice.choices(WORDS, k=6))
    return NewMemory(f"{words} {number} {dice.random()}", embedding=vector(), trust=0.5)


def timed(call: Callable[[], object], times: int) -> float:
    """The lower quartile, in milliseconds, after psycopg has prepared what it will prepare."""
    for _ in range(8):
        call()
    found = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        found.append((time.perf_counter() - began) * 1000)
    return sorted(found)[times // 4]


def main(url: str) -> dict[str, float]:
    migrate.upgrade(url, dimensions=DIMENSIONS)
    engine = create_engine(url, pool_size=1)
    repo = MemoryRepository(engine)
    alone = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    ids = {
        owner: [*repo.add_many(owner, [memory(number) for number in range(many)])]
        for owner, many in OWNERS.items()
    }
    queries = [vector() for _ in range(20)]
    for owner in ("big", "mid", "small"):
        for query in queries:
            repo.search(owner, query)
    alone.execute(text("VACUUM ANALYZE"))
    one = alone.scalar(text("SELECT count(*) FROM pg_proc WHERE proname = 'recall'"))
    name, profile = ("recall", f", profile => '{PROFILE}'") if one else (f"recall_{PROFILE}", "")
    recall = f"SELECT * FROM pgrecall.{name}(:owner, CAST(:query AS vector){profile})"
    found = {}
    for owner in ("big", "mid", "small"):
        search = partial(_search, repo, owner, queries)
        for what, arguments in SEARCHES.items():
            found[f"{what}, {OWNERS[owner]:,}"] = timed(partial(search, **arguments), 40)
        found[f"psql, {OWNERS[owner]:,}"] = timed(
            partial(_recall, alone, recall, owner, queries), 40
        )
    found["explain"] = timed(
        lambda: repo.explain("mid", ids["mid"][3], queries[0], profile=PROFILE), 40
    )
    found["context"] = timed(
        lambda: repo.context("mid", queries[0], profile=PROFILE, touch=False), 40
    )
    found["touch"] = timed(lambda: repo.touch("mid", dice.sample(ids["mid"], 10)), 200)
    found["add"] = timed(lambda: repo.add("adds", memory(0)), 200)
    found["add_many, 1,000"] = timed(
        lambda: repo.add_many("adds", [memory(n) for n in range(1_000)]), 4
    )
    found["record_outcome"] = timed(
        lambda: repo.record_outcome("mid", dice.choice(ids["mid"]), "success"), 200
    )
    add_labels: Any = getattr(repo, "label", None) or repo.labels.add  # its name has changed
    found["label"] = timed(
        lambda: add_labels("mid", dice.choice(ids["mid"]), [str(dice.random())]), 200
    )
    found["history"] = timed(lambda: repo.history("mid", dice.choice(ids["mid"])), 100)
    return found


def _search(repo: MemoryRepository, owner: str, queries: list[Vector], **more: Any) -> object:
    profile = more.pop("profile", PROFILE)
    if profile != PROFILE:
        more["query_text"] = " ".join(dice.choices(WORDS, k=3))
    return repo.search(owner, dice.choice(queries), profile=profile, **more)


def _recall(connection: Connection, recall: str, owner: str, queries: list[Vector]) -> object:
    arguments = {"owner": owner, "query": str(dice.choice(queries))}
    return connection.execute(text(recall), arguments).all()


if __name__ == "__main__":
    with embedded.database() as url:
        json.dump(main(url), sys.stdout)
