"""A conversation of a published data set, and the questions about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

_UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a dialogue."""

    id: str
    """The name of its conversation, and its id or place there; unique in the data set."""
    session: str
    place: int
    """In the session, from 0."""
    speaker: str
    text: str
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and where its answer is said."""

    id: str
    text: str
    kind: str
    turns: tuple[str, ...] = ()
    """The ids of the turns that are its evidence; empty if the data set names none."""
    sessions: tuple[str, ...] = ()
    """The sessions that are its evidence."""
    answerable: bool = True
    """False if the conversation does not answer it, so that the best result is none."""
    asked_at: datetime | None = None
    """None: when the conversation is over."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns that one owner remembers."""

    name: str
    turns: Sequence[Turn]
    questions: Sequence[Question]


def word(text: str) -> str:
    """A name without white space."""
    return "_".join(text.split()) or "_"


def storable(text: str) -> str:
    """The text without what PostgreSQL cannot store, and white space around it."""
    return _UNSTORABLE.sub("", text).strip()


def said(turns: Iterable[Turn]) -> list[Turn]:
    """The turns that say something."""
    return [turn for turn in turns if turn.text]


def sessions_of(turns: Iterable[Turn], evidence: Iterable[str]) -> tuple[str, ...]:
    """The sessions of these turns, each once."""
    sessions = {turn.id: turn.session for turn in turns}
    return tuple(dict.fromkeys(sessions[one] for one in evidence))
