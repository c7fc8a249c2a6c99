"""LoCoMo: long dialogues of two people (Maharana et al. 2024)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
from benchmarks.datasets.published import (
    Publication,
    each,
    kind_of,
    moment,
    numbered_sessions,
    part,
    within,
)

PUBLISHED = Publication("LoCoMo", "locomo*.json", "github.com/snap-research/LoCoMo")
KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_ADVERSARIAL = 5
"""Its evidence is where a tempting answer comes from, and no answer."""
_TIME = "%I:%M %p on %d %B, %Y"
_ID = re.compile(r"D:?(\d+):0*(\d+)")
"""Also in "D8:6; D9:17", "D:11:26" and "D30:05"."""


def read(path: Path) -> list[Conversation]:
    """The conversations of a file."""
    return [one for file in PUBLISHED.find(path) for one in PUBLISHED.read(file, _conversations)]


def _conversations(values: Any) -> list[Conversation]:
    return [_conversation(number, one) for number, one in each(values, "conversation")]


def _conversation(number: int, record: Any) -> Conversation:
    with within(f"conversation {number}"):
        name = word(part(record, "sample_id", str))
        turns = said(_turns(name, part(record, "conversation", dict)))
        places = {place: turn.id for turn in turns for place in _ids(turn.id.rpartition("/")[2])}
        asked = each(part(record, "qa", list), "question")
        questions = [_question(f"{name}/{place}", one, turns, places) for place, one in asked]
    return Conversation(name, turns, questions)


def _turns(name: str, record: Mapping[str, Any]) -> Iterator[Turn]:
    for session, turns in numbered_sessions(record):
        at = moment(part(record, f"{session}_date_time", str), _TIME)
        for place, turn in each(turns, "turn"):
            with within(f"{session}, turn {place}"):
                id_ = f"{name}/{word(part(turn, 'dia_id', str))}"
                speaker = part(turn, "speaker", str)
                text = with_caption(part(turn, "text", str), turn)
                yield Turn(id_, session, place - 1, speaker, text, at)


def with_caption(text: str, turn: Mapping[str, Any]) -> str:
    """The text, followed by the description of the photo that was sent with it."""
    caption = turn.get("blip_caption")
    photo = f"[photo: {storable(caption)}]" if isinstance(caption, str) and caption else ""
    return " ".join(filter(None, (storable(text), photo)))


def _question(
    id_: str, record: Any, turns: list[Turn], places: Mapping[tuple[int, int], str]
) -> Question:
    with within(f"question {id_}"):
        category = part(record, "category", int)
        named = [
            places[found]
            for one in part(record, "evidence", list)
            for found in _ids(kind_of(one, str, "evidence"))
            if found in places
        ]
        evidence = tuple(dict.fromkeys(named)) if category != _ADVERSARIAL else ()
        return Question(
            id_,
            part(record, "question", str),
            KINDS.get(category, f"category {category}"),
            evidence,
            sessions_of(turns, evidence),
            answerable=category != _ADVERSARIAL,
        )


def _ids(text: str) -> list[tuple[int, int]]:
    return [(int(session), int(place)) for session, place in _ID.findall(text)]
