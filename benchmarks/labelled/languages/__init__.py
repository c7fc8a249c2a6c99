"""Memories in German, Japanese and Arabic, and what is asked about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pgrecall import JudgedQuery, MemoryRepository, NewMemory
from pgrecall.memories.record import id_of_source

FOLDER = Path(__file__).parent
LANGUAGES = ("german", "japanese", "arabic")


def memories(language: str) -> list[dict[str, Any]]:
    """id and content of each."""
    return _lines("memories", language)


def questions(language: str) -> list[dict[str, Any]]:
    """Each question, and the ids of the memories that answer it."""
    return _lines("questions", language)


def stored(repo: MemoryRepository, language: str) -> None:
    """Stores the memories of a language for an agent of its name."""
    repo.add_many(
        language, [NewMemory(one["content"], key=one["id"]) for one in memories(language)]
    )


def queries(language: str) -> list[JudgedQuery]:
    """The questions about them."""
    return [
        JudgedQuery(one["question"], [id_of_source(id_, language) for id_ in one["relevant"]])
        for one in questions(language)
    ]


def _lines(name: str, language: str) -> list[dict[str, Any]]:
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as file:
        return [one for one in map(json.loads, file) if one["language"] == language]
