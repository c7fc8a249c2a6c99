"""BEAM: long chats with an assistant, and ten kinds of questions (Tavakoli et al. 2025)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.datasets.conversation import (
    Conversation,
    Question,
    Turn,
    said,
    sessions_of,
    storable,
    word,
)
from benchmarks.datasets.published import Publication, each, kind_of, moment, part, within

PUBLISHED = Publication("BEAM", "chat.json", "github.com/mohammadtavakoli78/BEAM, chats/100K")
QUESTIONS = Publication("BEAM", "probing_questions/probing_questions.json", PUBLISHED.place)
UNANSWERABLE = "abstention"
_TIME = "%B-%d-%Y"
_INDEX = re.compile(r"\s*->->[\s\d,/NA)]*\Z")
"""The end of a user's text: " ->-> 1,1", "->-> 3,N/A", "->-> 4,5)"."""
_OLD = "original_info"
"""The messages that said what is no longer true."""


def read(path: Path) -> list[Conversation]:
    """The chats of a folder, or the one of a file."""
    files = PUBLISHED.find(path)
    top = path if path.is_dir() else path.parent
    return [_conversation(_name(file.parent, top), file) for file in files]


def _name(folder: Path, top: Path) -> str:
    """The folder within the one that was given, such as 17."""
    return word("/".join(folder.relative_to(top).parts) or folder.resolve().name)


def _conversation(name: str, file: Path) -> Conversation:
    turns = PUBLISHED.read(file, lambda batches: said(_turns(name, batches)))
    [asked] = QUESTIONS.find(file.parent / QUESTIONS.files)
    questions = QUESTIONS.read(asked, lambda kinds: list(_questions(name, kinds, turns)))
    return Conversation(name, turns, questions)


def _turns(name: str, batches: Any) -> Iterator[Turn]:
    at: datetime | None = None
    for number, batch in each(batches, "batch"):
        with within(f"batch {number}"):
            messages = [
                message
                for _, several in each(part(batch, "turns", list), "turn")
                for message in kind_of(several, list, "a turn")
            ]
            at = _time(messages) or at
            session = f"batch_{part(batch, 'batch_number', int)}"
            for place, message in enumerate(messages):
                text = storable(part(message, "content", str))
                if "index" in message:
                    text = _INDEX.sub("", text)
                id_ = f"{name}/{part(message, 'id', int)}"
                yield Turn(id_, session, place, part(message, "role", str), text, at)


def _time(messages: list[Any]) -> datetime | None:
    """The day of a batch, which one of its messages has."""
    anchors = (kind_of(one, dict, "a message").get("time_anchor") for one in messages)
    text = next(filter(None, anchors), None)
    return None if text is None else moment(kind_of(text, str, "time_anchor"), _TIME)


def _questions(name: str, kinds: Any, turns: list[Turn]) -> Iterator[Question]:
    known = {turn.id for turn in turns}
    for kind, several in kind_of(kinds, dict, "the file").items():
        for number, one in each(several, "question"):
            with within(f"{kind}, question {number}"):
                source = kind_of(one, dict, "a question").get("source_chat_ids")
                named = (f"{name}/{id_}" for id_ in _ids(source))
                evidence = tuple(dict.fromkeys(id_ for id_ in named if id_ in known))
                yield Question(
                    f"{name}/{word(kind)}/{number}",
                    part(one, "question", str),
                    kind,
                    evidence,
                    sessions_of(turns, evidence),
                    answerable=kind != UNANSWERABLE,
                )


def _ids(source: Any) -> Iterator[int]:
    """The numbers in a list, a nested list, or an object of lists."""
    if isinstance(source, Mapping):
        source = [ids for role, ids in source.items() if role != _OLD]
    if isinstance(source, list):
        for one in source:
            yield from _ids(one)
    elif isinstance(source, int):
        yield source
