"""LongMemEval: questions, each with a history of its own (Wu et al. 2025)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.datasets.conversation import (
    Conversation,
    Question,
    Turn,
    said,
    storable,
    word,
)
from benchmarks.datasets.published import (
    Publication,
    Unlike,
    each,
    kind_of,
    moment,
    part,
    within,
)

PUBLISHED = Publication(
    "LongMemEval", "longmemeval_*.json", "huggingface.co/datasets/xiaowu0162/longmemeval-cleaned"
)
UNANSWERABLE = "_abs"
"""The end of the id of a question that the history does not answer."""
_TIME = "%Y/%m/%d (%a) %H:%M"


def read(path: Path) -> list[Conversation]:
    """The records of a file, each a conversation with one question."""
    [file, *others] = PUBLISHED.find(path)
    if others:  # their records have the same ids
        raise PUBLISHED.unlike(path, f"it has {1 + len(others)} such files: name one of them")
    return PUBLISHED.read(file, lambda values: [_record(*one) for one in each(values, "record")])


def _record(number: int, record: Any) -> Conversation:
    with within(f"record {number}"):
        id_ = word(part(record, "question_id", str))
        answers = part(record, "answer_session_ids", list)
        turns: list[Turn] = []
        evidence: list[str] = []
        sessions: list[str] = []
        for of, turn, has_answer in _turns(id_, record):
            turns.append(turn)
            if of in answers:
                sessions.append(turn.session)
                if has_answer and turn.text:
                    evidence.append(turn.id)
        is_answerable = not id_.endswith(UNANSWERABLE)
        question = Question(
            id_,
            part(record, "question", str),
            part(record, "question_type", str),
            tuple(evidence) if is_answerable else (),
            tuple(dict.fromkeys(sessions)) if is_answerable else (),
            answerable=is_answerable,
            asked_at=moment(part(record, "question_date", str), _TIME),
        )
    return Conversation(id_, said(turns), [question])


def _turns(name: str, record: Any) -> Iterator[tuple[Any, Turn, bool]]:
    """The id of each turn's session, the turn, and whether it has the answer."""
    names = ("haystack_session_ids", "haystack_dates", "haystack_sessions")
    ids, dates, sessions = (part(record, one, list) for one in names)
    if not len(ids) == len(dates) == len(sessions):
        lengths = f"{len(ids)}, {len(dates)} and {len(sessions)} items"
        raise Unlike(f"{', '.join(names)} must be equally long, got {lengths}")
    seen: Counter[str] = Counter()
    for id_, date, messages in zip(ids, dates, sessions, strict=True):
        session = word(kind_of(id_, str, "a session's id"))
        seen[session] += 1
        if seen[session] > 1:  # the same filler twice
            session += f"~{seen[session]}"
        at = moment(kind_of(date, str, "a date"), _TIME)
        for place, message in each(messages, "turn"):
            with within(f"{session}, turn {place}"):
                turn = Turn(
                    f"{name}/{session}/{place}",
                    session,
                    place - 1,
                    part(message, "role", str),
                    storable(part(message, "content", str)),
                    at,
                )
                yield id_, turn, message.get("has_answer") is True
