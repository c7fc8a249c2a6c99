"""Conversations loaded into a schema that is dropped afterwards, and searched."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict
from uuid import uuid4

from sqlalchemy import QueuePool, text

from pgrecall import embedded, migrate
from pgrecall.cli.options import Reranking
from pgrecall.core.checks import checked
from pgrecall.core.dates import AUTO, OFF
from pgrecall.core.embedders import Embedder
from pgrecall.core.memory import NewMemory
from pgrecall.core.rerankers import Rerank, Reranker
from pgrecall.core.vectors import components_of
from pgrecall.evaluation.datasets.conversation import BenchQuestion, Conversation, Turn
from pgrecall.evaluation.run_file import Found, Run
from pgrecall.execution import MemoryRepository
from pgrecall.execution.error_mapping import map_errors
from pgrecall.migrate.connecting import engine_of
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.scoring.profile import Profile

_BATCH = 500
Advance = Callable[[float, float], None]


class BenchSearch(TypedDict, total=False):
    """The options that are arguments of each search."""

    expand_session: int
    lend: float
    min_relevance: float
    rerank: Reranking


def search_arguments(given: BenchSearch, *, dates: bool) -> SearchArguments:
    """The arguments of each search but the reranker, checked before anything is stored. Raises
    InputError and ExtraMissing."""
    arguments: Any = {name: value for name, value in given.items() if name != "rerank"}
    arguments["dates"] = AUTO if dates else OFF
    checked(SearchArguments, arguments, also=("query",))
    result: SearchArguments = arguments
    return result


@dataclass
class Searched:
    """The results of all questions by one profile."""

    found: dict[str, Found] = field(default_factory=dict)
    """Question → turns."""
    seconds: list[float] = field(default_factory=list)
    """Of each search, with embedding its question."""
    floor: float | None = None
    """The `min_relevance` of questions without an answer."""
    silenced: int = 0
    """Questions with an answer that would find nothing above the floor."""
    not_reranked: int | None = None
    """Searches whose order by score stands, since the reranker failed; None: there is none."""

    def run(self, tag: str) -> Run:
        """The turns that were found."""
        found = {question: [turn for turn, _ in turns] for question, turns in self.found.items()}
        return Run(tag, found)

    def record(self) -> dict[str, Any]:
        """As JSON. Of the times there are the median, and what 95 % do not exceed."""
        ordered = sorted(1000 * one for one in self.seconds)
        slow = ordered[math.ceil(0.95 * len(ordered)) - 1]
        times = {"median": round(statistics.median(ordered), 3), "p95": round(slow, 3)}
        return {
            "min_relevance": self.floor,
            "silenced": self.silenced,
            "not_reranked": self.not_reranked,
            "milliseconds": times,
        }


@contextmanager
def temporary_repository(
    database_url: str | None, embedder: Embedder
) -> Iterator[MemoryRepository]:
    """A repository on an empty schema of its own; without a URL, on a server of its own."""
    dimensions = len(components_of(embedder.embed_query("How many dimensions?")))
    schema = f"pgrecall_bench_{uuid4().hex[:12]}"
    with ExitStack() as stack:
        url = database_url or stack.enter_context(embedded.database())
        engine = engine_of(url, poolclass=QueuePool)
        stack.callback(engine.dispose)
        try:
            migrate.upgrade(url, schema=schema, dimensions=dimensions)
            yield MemoryRepository(engine, schema=schema, embedder=embedder)
        finally:
            with map_errors(), engine.begin() as connection:
                connection.execute(text(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE'))


def load(repo: MemoryRepository, conversations: Sequence[Conversation], advance: Advance) -> None:
    """Stores each conversation for an owner of its name; a turn's id becomes the key."""
    total, done = sum(len(one.turns) for one in conversations), 0
    for conversation in conversations:
        for first in range(0, len(conversation.turns), _BATCH):
            batch = conversation.turns[first : first + _BATCH]
            repo.add_many(conversation.name, map(_memory, batch))
            done += len(batch)
            advance(done, total)


def _memory(turn: Turn) -> NewMemory:
    return NewMemory(
        turn.text,
        key=turn.id,
        subject=turn.speaker or None,
        session=turn.session,
        turn=turn.place,
        created_at=turn.created_at,
    )


def search(
    repo: MemoryRepository,
    conversations: Sequence[Conversation],
    profile: Profile,
    k: int,
    arguments: SearchArguments,
    rerank: Rerank | Reranker | bool | None,
    advance: Advance,
) -> Searched:
    """Asks each question of its owner, after the conversation.

    A floor of the profile is for questions without an answer, so that they find nothing. Where
    there are such, others are asked with it too, to count those that it would silence.
    """
    asked = [(one, question) for one in conversations for question in one.questions]
    searched = Searched(floor=arguments.get("min_relevance", profile.min_relevance))
    if rerank:
        searched.not_reranked = 0
    counts_silenced = searched.floor is not None and any(not one.answerable for _, one in asked)
    once_before = asked[:1]  # what the first search of a process reads and imports is not its time
    for number, (conversation, question) in enumerate([*once_before, *asked]):
        as_of = _asked_at(conversation, question)
        usual: Any = {"profile": profile, "as_of": as_of, "touch": False, **arguments}
        above: Any = {**usual, "min_relevance": searched.floor}
        given = usual if question.answerable else above
        start = time.perf_counter()
        hits = repo.search(conversation.name, question.text, k=k, rerank=rerank, **given)
        seconds = time.perf_counter() - start
        searched.found[question.id] = [(hit.memory.key or "", hit.score) for hit in hits[:k]]
        if number:
            searched.seconds.append(seconds)
            if searched.not_reranked is not None:
                searched.not_reranked += hits.reranked is False
            if counts_silenced and question.has_evidence:
                hits = repo.search(conversation.name, question.text, k=1, **above)
                searched.silenced += not hits
        advance(number, len(asked))
    return searched


def _asked_at(conversation: Conversation, question: BenchQuestion) -> datetime | None:
    """When all turns have been said."""
    moments = [question.asked_at, *(turn.created_at for turn in conversation.turns)]
    return max((one for one in moments if one is not None), default=None)
