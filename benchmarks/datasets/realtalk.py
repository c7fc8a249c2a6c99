"""REALTALK: chats of people over three weeks (Lee et al. 2025)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.datasets.conversation import (
    Conversation,
    Question,
    Turn,
    said,
    sessions_of,
    word,
)
from benchmarks.datasets.locomo import with_caption
from benchmarks.datasets.published import (
    Publication,
    Unlike,
    each,
    kind_of,
    moment,
    numbered_sessions,
    part,
    within,
)

PUBLISHED = Publication("REALTALK", "Chat_*.json", "github.com/danny911kr/REALTALK")
KINDS = {1: "multi-hop", 2: "temporal", 3: "commonsense"}
_TIME = "%d.%m.%Y, %H:%M:%S"
_PLACE = r"D\s*(\d+)\s*[:;]\s*0*(\d+)"
_PLACES = re.compile(rf"{_PLACE}(?:\s*-\s*{_PLACE})?")
"""A turn, also written "D17;39" or "D 2:18", or the first and the last of several."""
Place = tuple[int, int]
"""The sitting of the raw chat, which is no session, and the turn in it."""


def read(path: Path) -> list[Conversation]:
    """The chats of a folder, or the one of a file."""
    return [
        PUBLISHED.read(file, partial(_conversation, word(file.stem)))
        for file in PUBLISHED.find(path)
    ]


def _conversation(name: str, record: Any) -> Conversation:
    turns: list[Turn] = []
    with_photo: set[str] = set()
    for turn, has_photo in _turns(name, kind_of(record, dict, "a chat")):
        turns.append(turn)
        if has_photo:
            with_photo.add(turn.id)
    turns = said(turns)
    places = {_place(turn.id): turn.id for turn in turns}
    questions = []
    for number, one in each(part(record, "qa", list), "question"):
        with within(f"question {number}"):
            category = part(one, "category", int)
            evidence = _evidence(part(one, "evidence", list), places, with_photo)
            questions.append(
                Question(
                    f"{name}/{number}",
                    part(one, "question", str),
                    KINDS.get(category, f"category {category}"),
                    evidence,
                    sessions_of(turns, evidence),
                )
            )
    return Conversation(name, turns, questions)


def _turns(name: str, record: Mapping[str, Any]) -> Iterator[tuple[Turn, bool]]:
    for session, turns in numbered_sessions(record):
        for number, turn in each(turns, "turn"):
            with within(f"{session}, turn {number}"):
                at = moment(part(turn, "date_time", str), _TIME)
                id_ = f"{name}/{word(part(turn, 'dia_id', str))}"
                text = with_caption(part(turn, "clean_text", str), turn)
                speaker = part(turn, "speaker", str)
                has_photo = bool(turn.get("img_file") or turn.get("blip_caption"))
                yield Turn(id_, session, number - 1, speaker, text, at), has_photo


def _place(id_: str) -> Place:
    match = _PLACES.fullmatch(id_.rpartition("/")[2])
    if match is None:
        raise Unlike(f"dia_id {id_} is not as D1:2")
    return int(match[1]), int(match[2])


def _evidence(
    texts: list[Any], places: Mapping[Place, str], with_photo: set[str]
) -> tuple[str, ...]:
    """The turns that the texts name. A turn that is missing was a photo alone, which hangs at the
    turn before it or after it."""
    found: list[str] = []
    for text in texts:
        for match in _PLACES.finditer(kind_of(text, str, "evidence")):
            first = int(match[1]), int(match[2])
            if match[3] is not None:
                last = int(match[3]), int(match[4])
                found += [id_ for place, id_ in places.items() if first <= place <= last]
                continue
            beside = [(first[0], first[1] + step) for step in (-1, 1)]
            photos = (places[one] for one in beside if places.get(one) in with_photo)
            turn = places.get(first) or next(photos, None)
            found += [] if turn is None else [turn]
    return tuple(dict.fromkeys(found))
