"""Each call on a small owner ends with a cached plan: planning would take longer than the call.

PostgreSQL plans for the values of a statement's first five executions. Afterwards it caches a plan
for all, unless that looks dearer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository, NewMemory
from tests.integration.support import NORTH, at, sql

MEMORIES = 100
CALLS: dict[str, Callable[[MemoryRepository, Any, int], Any]] = {
    "search": lambda repo, id_, n: repo.search("agent", at(n)),
    "search, not counted": lambda repo, id_, n: repo.search("agent", at(n), touch=False),
    "search by words": lambda repo, id_, n: repo.search(
        "agent", at(n), query_text="tea", profile="hybrid"
    ),
    "search, filtered": lambda repo, id_, n: repo.search(
        "agent", at(n), tags=["draft"], tiers=["short"]
    ),
    "search, metadata": lambda repo, id_, n: repo.search(
        "agent", at(n), metadata={"a": {"$gte": n}}
    ),
    "search, as of": lambda repo, id_, n: repo.search("agent", at(n), as_of=datetime.now(UTC)),
    "search, relevance": lambda repo, id_, n: repo.search("agent", at(n), min_relevance=0.1),
    "search, turns": lambda repo, id_, n: repo.search("agent", at(n), expand_session=1),
    "search, turns ranked": lambda repo, id_, n: repo.search(
        "agent", at(n), expand_session=1, lend=0.5
    ),
    "search, linked": lambda repo, id_, n: repo.search("agent", at(n), expand=1),
    "context": lambda repo, id_, n: repo.context("agent", at(n)),
    "list": lambda repo, id_, n: repo.list("agent", tags=["draft"]),
    "count": lambda repo, id_, n: repo.count("agent", tags=["draft"]),
    "get": lambda repo, id_, n: repo.get("agent", id_),
    "history": lambda repo, id_, n: repo.history("agent", id_),
    "touch": lambda repo, id_, n: repo.touch("agent", [id_]),
    "add": lambda repo, id_, n: repo.add("agent", NewMemory(f"new {n}", embedding=at(n))),
    "update": lambda repo, id_, n: repo.update("agent", id_, importance=n / 100),
    "record_outcome": lambda repo, id_, n: repo.record_outcome("agent", id_, "success"),
    "invalidate": lambda repo, id_, n: repo.invalidate("agent", id_),
    "labels.add": lambda repo, id_, n: repo.labels.add("agent", id_, f"label {n}"),
}
PLANNED_EACH_TIME = """
SELECT left(statement, 300), custom_plans FROM pg_prepared_statements
 WHERE generic_plans = 0 AND custom_plans > 5
"""


@pytest.fixture
def small(engine: Engine, database_url: str) -> Iterator[Engine]:
    """One connection to a database with one small owner, statistics up to date."""
    repository = MemoryRepository(engine)
    ids = repository.add_many(
        "agent",
        [
            NewMemory(
                f"tea {n}",
                embedding=at(n),
                tags=["draft"],
                tier="short",
                metadata={"a": n},
                session=f"session {n // 10}",
                turn=n % 10,
            )
            for n in range(MEMORIES)
        ],
    )
    repository.links.add("agent", ids[0], ids[1])
    sql(engine, "ANALYZE")
    made = create_engine(database_url, pool_size=1, max_overflow=0)
    yield made
    made.dispose()


@pytest.mark.parametrize("name", CALLS)
def test_a_call_on_a_small_owner_has_a_cached_plan(small: Engine, name: str) -> None:
    repo = MemoryRepository(small)
    [first] = repo.search("agent", NORTH, k=1, touch=False)
    with small.connect() as connection:
        connection.exec_driver_sql("DEALLOCATE ALL")
        driver: Any = connection.connection.driver_connection
        driver._prepared.clear()
    numbers = count(1)
    for _ in range(8):
        CALLS[name](repo, first.memory.id, next(numbers))

    with small.connect() as connection:
        executed = connection.exec_driver_sql("SELECT count(*) FROM pg_prepared_statements")
        assert executed.scalar_one() >= 1
        assert connection.exec_driver_sql(PLANNED_EACH_TIME).all() == []
