"""`python -m benchmarks.datasets SET FILE`: what searches find in a published data set.

Each conversation is stored for an owner of its own, and each question asked after it. recall@k is
the share of a question's evidence among the first k turns. A session is found where the first of
its turns is. Questions that the conversation does not answer are asked with the profile's floor of
relevance, and counted apart: none should be found. Intervals are over conversations.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.datasets import DataSetName, read_data_set
from benchmarks.datasets.conversation import Conversation, Question, Turn
from benchmarks.server import repository, server
from pgrecall import MemoryRepository, NewMemory, Profile, migrate
from pgrecall.cli.embedding import make_embedder
from pgrecall.core.vectors import components_of
from pgrecall.evaluation.bootstrap import intervals
from pgrecall.evaluation.ranks import metrics
from pgrecall.scoring.profiles import named

K = 10
ALL = "all"
HEADING = (
    f"| profile | questions | n | recall@{K} | nDCG@{K} | MRR | of sessions: recall@{K} "
    "| without an answer: found nothing | ms |\n" + 9 * "|---" + "|"
)


@dataclass(frozen=True)
class Found:
    """What a question found."""

    owner: str
    question: Question
    turns: Sequence[str]
    sessions: Sequence[str]
    seconds: float


def store(repo: MemoryRepository, conversations: Sequence[Conversation]) -> None:
    """Stores each conversation for an owner of its name; a turn's id becomes the key."""
    for conversation in conversations:
        repo.add_many(conversation.name, map(_memory, conversation.turns))


def _memory(turn: Turn) -> NewMemory:
    return NewMemory(
        turn.text,
        key=turn.id,
        subject=turn.speaker or None,
        session=turn.session,
        turn=turn.place,
        created_at=turn.created_at,
    )


def searched(
    repo: MemoryRepository, conversations: Sequence[Conversation], profile: Profile, *, dates: bool
) -> list[Found]:
    """The answers to all questions."""
    found = []
    for one in conversations:
        times = [turn.created_at for turn in one.turns if turn.created_at is not None]
        sessions = {turn.id: turn.session for turn in one.turns}
        for question in one.questions:
            arguments: dict[str, Any] = {
                "as_of": question.asked_at or max(times, default=None),
                "period": "auto" if dates else None,
            }
            if not question.answerable:
                arguments["min_relevance"] = profile.min_relevance
            start = time.perf_counter()
            hits = repo.search(
                one.name, question.text, k=K, profile=profile, touch=False, **arguments
            )
            seconds = time.perf_counter() - start
            turns = [hit.memory.key or "" for hit in hits]
            its = [sessions[turn] for turn in turns]
            found.append(Found(one.name, question, turns, its, seconds))
    return found


def rows(profile: str, found: Sequence[Found]) -> list[str]:
    """Lines of a table: of all questions, and of each kind."""
    kinds = sorted({one.question.kind for one in found})
    milliseconds = 1000 * statistics.median(one.seconds for one in found)
    lines = [_row(profile, ALL, found) + f" {milliseconds:.1f} |"]
    for kind in kinds:
        lines.append(
            _row(profile, kind, [one for one in found if one.question.kind == kind]) + " |"
        )
    return lines


def _row(profile: str, kind: str, found: Sequence[Found]) -> str:
    answered = [one for one in found if one.question.answerable]
    with_turns = [one for one in answered if one.question.turns]
    measures = [_measured(one.question.turns, one.turns) for one in with_turns]
    samples = [[one[name] for one in measures] for name in ("recall", "ndcg", "mrr")]
    cells = [str(len(with_turns)), *_means(samples, [one.owner for one in with_turns])]
    by_session = [one for one in answered if one.question.sessions]
    recall = [_measured(one.question.sessions, one.sessions)["recall"] for one in by_session]
    cells += _means([recall], [one.owner for one in by_session])
    silent = [not one.turns for one in found if not one.question.answerable]
    cells.append(f"{sum(silent)} of {len(silent)}" if silent else "")
    return f"| {profile} | {kind} | {' | '.join(cells)} |"


def _measured(evidence: Sequence[str], found: Sequence[str]) -> dict[str, float]:
    gains = dict.fromkeys(evidence, 1.0)
    ranks: dict[str, int] = {}
    for rank, one in enumerate(found, start=1):
        if one in gains:
            ranks.setdefault(one, rank)
    return metrics(gains, ranks, K)


def _means(samples: Sequence[Sequence[float]], owners: Sequence[str]) -> list[str]:
    """Each mean with its 95 % interval."""
    if not owners:
        return ["" for _ in samples]
    over = owners if len(set(owners)) > 1 else None
    return [
        f"{statistics.fmean(sample):.3f} ({low:.3f} to {high:.3f})"
        for sample, (low, high) in zip(samples, intervals(samples, 0, owners=over), strict=True)
    ]


def main(
    data_set: DataSetName,
    file: Annotated[Path, typer.Argument(help="As published, or the folder if there are several.")],
    profile: Annotated[str, typer.Option(help="With commas between several.")] = "hybrid",
    dates: Annotated[bool, typer.Option(help="Find the dates in questions.")] = True,
    embedder: Annotated[str | None, typer.Option(help="MODULE:OBJECT. Default: local.")] = None,
) -> None:
    """Stores the data set on a server of its own, and prints a table."""
    conversations = read_data_set(data_set, file)
    model = make_embedder(embedder)
    with server() as url:
        migrate.upgrade(url, dimensions=len(components_of(model.embed_query("How many?"))))
        with repository(url, model) as repo:
            store(repo, conversations)
            print(HEADING)
            for name in profile.split(","):
                found = searched(repo, conversations, named(name), dates=dates)
                print(*rows(name, found), sep="\n")


if __name__ == "__main__":
    typer.run(main)
