"""A small world to try pgrecall on: the memories of one assistant over six months."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid5

from pgrecall.core.memory import NewMemory
from pgrecall.core.resources import demo_memories
from pgrecall.execution import MemoryRepository

AGENT = "demo"
QUERIES = (
    "How do I deploy the next release safely, and roll it back if something breaks?",
    "Which allergies and diets must I consider when booking a restaurant for the family?",
    "What should I know about Brennholt Foods before the renewal?",
    "Who won the football world cup of 1966?",
)
"""No memory is on the subject of the last one."""
EARLIER_QUERIES = (
    "deploy window and release checklist",
    "who is on call when something breaks?",
    "restaurant for a team dinner",
    "Brennholt renewal",
    "how does Ines like her answers?",
    "children, school and birthdays",
    "database incident and what we learned",
)
"""Asked once while storing, so that some memories have been retrieved before others."""

_NAMESPACE = UUID("5c8f7d0e-52a4-4f0b-8a3b-0d9c7f3f6a10")


def store(repo: MemoryRepository) -> int:
    """Stores the memories unless they are there; returns how many were new."""
    now = datetime.now(UTC)
    memories = list(_memories(now))
    known = repo.get_many(AGENT, [memory.id for memory in memories if memory.id])
    new = [memory for memory in memories if memory.id not in known]
    repo.add_many(AGENT, new)
    if new:
        for query in EARLIER_QUERIES:
            repo.search(AGENT, query)
    return len(new)


def _memories(now: datetime) -> Iterator[NewMemory]:
    with demo_memories().open(encoding="utf-8") as file:
        for line in file:
            values = json.loads(line)
            values["id"] = uuid5(_NAMESPACE, values["id"])
            values["created_at"] = now - timedelta(days=values.pop("days_ago"))
            yield NewMemory(**values)
