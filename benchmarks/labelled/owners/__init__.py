"""Twelve owners' memories and what is asked about them: long ones, dialogues, dates, changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pgrecall import JudgedQuery, MemoryRepository, NewMemory
from pgrecall.memories.record import id_of_source

FOLDER = Path(__file__).parent
NO_ANSWER = "none"
"""The group of questions that no memory answers."""


@dataclass(frozen=True, slots=True)
class Memory:
    id: str
    owner: str
    content: str
    created_at: datetime
    session: str | None
    """The dialogue of which it is a turn, "speaker: text"."""
    turn: int | None
    """Its place in the session, from 1."""


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    owner: str
    relevant: tuple[str, ...]
    """The ids of all memories that answer it; none in the group NO_ANSWER."""
    group: str
    as_of: datetime
    """When it is asked: what "last week" counts from."""
    held_out: bool
    """Kept apart: whoever tunes by the others may judge by these."""
    period: tuple[datetime, datetime] | None
    """What it names of time, the end excluded; its answers were created within."""


def memories() -> Iterator[Memory]:
    """All of them, by owner."""
    for line in _lines("memories.jsonl"):
        yield Memory(
            line["id"],
            line["owner"],
            line["content"],
            datetime.fromisoformat(line["created_at"]),
            line.get("session"),
            line.get("turn"),
        )


def questions() -> Iterator[Question]:
    """All of them, by owner."""
    for line in _lines("questions.jsonl"):
        start, end = line.get("from"), line.get("to")
        yield Question(
            line["question"],
            line["owner"],
            tuple(line["relevant"]),
            line["group"],
            datetime.fromisoformat(line["as_of"]),
            line["held_out"],
            (datetime.fromisoformat(start), datetime.fromisoformat(end)) if start and end else None,
        )


def stored(repo: MemoryRepository) -> list[str]:
    """Stores them, each owner an agent of this name; returns the agents."""
    by_owner: dict[str, list[NewMemory]] = {}
    for memory in memories():
        by_owner.setdefault(memory.owner, []).append(
            NewMemory(
                memory.content,
                id=id_of_source(memory.id, memory.owner),
                created_at=memory.created_at,
                session=memory.session,
                turn=memory.turn,
            )
        )
    for owner, theirs in by_owner.items():
        repo.add_many(owner, theirs)
    return list(by_owner)


def queries(owner: str, *, held_out: bool = False, unanswered: bool = False) -> list[JudgedQuery]:
    """One part of the owner's questions, those that have an answer and, if wanted, the others."""
    return [
        JudgedQuery(
            question.text,
            [id_of_source(memory_id, owner) for memory_id in question.relevant],
            group=question.group,
            as_of=question.as_of,
            agent_id=owner,
        )
        for question in questions()
        if question.owner == owner
        and question.held_out == held_out
        and (unanswered or question.relevant)
    ]


def _lines(name: str) -> Iterator[dict[str, Any]]:
    with (FOLDER / name).open(encoding="utf-8") as file:
        yield from map(json.loads, file)
