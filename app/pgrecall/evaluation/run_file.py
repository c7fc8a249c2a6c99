"""Runs and relevance judgements as files of TREC, which trec_eval and others read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pgrecall.core.quoting import LONGEST, shortened
from pgrecall.errors import InputError
from pgrecall.evaluation.datasets.conversation import Conversation, word
from pgrecall.memories.lines import lines_of, naming_line
from pgrecall.scoring.scored_memory import RECORD_DECIMALS

Found = Sequence[tuple[str, float]]
"""The ids of turns and their scores, best first."""


@dataclass(frozen=True, slots=True)
class Run:
    """The turns that one way of searching found."""

    tag: str
    """Its name."""
    found: Mapping[str, Sequence[str]]
    """Question → turns, best first. A question that is missing found nothing."""


def write_run(path: Path, tag: str, found: Mapping[str, Found]) -> None:
    """Writes lines of `question Q0 turn rank score tag`. Raises InputError.

    Readers order by score. So scores are lowered where two would be equal, or lower ones come
    first.
    """
    _write(path, _run_lines(word(tag), found))


def _run_lines(tag: str, found: Mapping[str, Found]) -> Iterator[str]:
    step = 10**-RECORD_DECIMALS
    for question, turns in found.items():
        written = math.inf
        for rank, (turn, score) in enumerate(turns, start=1):
            written = min(round(score, RECORD_DECIMALS), written - step)
            yield f"{question} Q0 {turn} {rank} {written:.{RECORD_DECIMALS}f} {tag}\n"


def write_judgements(path: Path, conversations: Iterable[Conversation]) -> None:
    """Writes lines of `question 0 turn 1` (qrels) for the questions that have an answer. Raises
    InputError."""
    questions = (one for conversation in conversations for one in conversation.questions)
    _write(path, (f"{one.id} 0 {turn} 1\n" for one in questions for turn in one.turns))


def read_run(path: Path, conversations: Iterable[Conversation]) -> Run:
    """The run of a file, gzipped or not, for these conversations.

    As in trec_eval, the order is that of the scores, equal ones by id backwards, and the rank is
    not read. Raises InvalidLine for a line that is none, or names what is not there, and InputError
    for a file without one.
    """
    turns = {
        question.id: {turn.id for turn in conversation.turns}
        for conversation in conversations
        for question in conversation.questions
    }
    scores: dict[str, dict[str, float]] = {}
    tags: dict[str, None] = {}
    for number, line, _ in lines_of(path):
        with naming_line(path, number):
            question, turn, score, tag = _parsed(line, turns)
            tags[tag] = None
            if turn in scores.setdefault(question, {}):
                raise InputError(f"{shortened(turn)} is there twice for {shortened(question)}")
            scores[question][turn] = score
    if len(tags) != 1:
        tagged = "no line" if not tags else f"lines of several runs: {', '.join(tags)}"
        raise InputError(f"{shortened(path, LONGEST)} has {tagged}; give a file for each run")
    [tag] = tags
    return Run(tag, {question: _ordered(theirs) for question, theirs in scores.items()})


def _ordered(scores: Mapping[str, float]) -> list[str]:
    return sorted(scores, key=lambda turn: (scores[turn], turn), reverse=True)


def _parsed(line: bytes, turns: Mapping[str, set[str]]) -> tuple[str, str, float, str]:
    fields = line.decode("utf-8").split()
    if len(fields) != 6:
        raise InputError(f"must be `question Q0 turn rank score tag`, got {shortened(line)}")
    question, _, turn, _, score, tag = fields
    if question not in turns:
        examples = ", ".join(list(turns)[:2])
        raise InputError(
            f"the data set has no question {shortened(question)}; they are called {examples} …"
        )
    if turn not in turns[question]:
        examples = ", ".join(sorted(turns[question])[:2])
        raise InputError(
            f"the conversation of {question} has no turn {shortened(turn)}; they are called "
            f"{examples} …"
        )
    number = float(score)
    if not math.isfinite(number):
        raise InputError(f"the score must be a finite number, got {score}")
    return question, turn, number, tag


def _write(path: Path, lines: Iterable[str]) -> None:
    try:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(lines)
    except OSError as error:
        shown = shortened(path, LONGEST)
        raise InputError(f"{shown} cannot be written: {error.strerror or error}") from error
