"""Measures of a run: by turns and by sessions, for all questions and for each kind."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgrecall.evaluation.bootstrap import intervals
from pgrecall.evaluation.datasets.conversation import BenchQuestion, Conversation
from pgrecall.evaluation.ranks import metrics
from pgrecall.evaluation.results import FEWEST_OWNERS
from pgrecall.evaluation.run_file import Run
from pgrecall.scoring.scored_memory import RECORD_DECIMALS

DEPTHS = (5, 10, 20)
NDCG_DEPTH = 10
ALL = "all questions"


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over questions, and its 95 % interval by bootstrap."""

    mean: float
    low: float
    high: float

    def record(self) -> list[float]:
        """The three numbers."""
        return [round(one, RECORD_DECIMALS) for one in (self.mean, self.low, self.high)]


@dataclass(frozen=True, slots=True)
class KindScores:
    """The measures over the questions of one kind."""

    questions: int
    owners: int
    """Conversations that they are about. From FEWEST_OWNERS on, these are resampled."""
    means: Mapping[str, Mean]
    """Measure → mean."""

    def record(self) -> dict[str, Any]:
        """As JSON."""
        means = {name: one.record() for name, one in self.means.items()}
        return {"questions": self.questions, "owners": self.owners, **means}


@dataclass(frozen=True, slots=True)
class QuestionMeasures:
    """The measures of one question."""

    owner: str
    kind: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RunScores:
    """The measures of a run."""

    tag: str
    turns: Mapping[str, KindScores]
    """Kind of question, ALL first → scores by turns."""
    sessions: Mapping[str, KindScores]
    """The same by sessions. A session has the rank of its first turn that was found."""
    silent: Mapping[str, tuple[int, int]]
    """Kind of question without an answer → how many found nothing, and how many there are."""
    lost: int
    """Questions with an answer that found nothing."""
    without_evidence: int
    """Questions for which the data set names no turn and no session; they are not counted."""
    by_question: Sequence[QuestionMeasures]
    """By turns."""

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "run": self.tag,
            "by_turns": {kind: one.record() for kind, one in self.turns.items()},
            "by_sessions": {kind: one.record() for kind, one in self.sessions.items()},
            "unanswerable": {
                kind: {"questions": total, "silent": silent}
                for kind, (silent, total) in self.silent.items()
            },
            "lost": self.lost,
            "without_evidence": self.without_evidence,
        }


def depths_of(k: int) -> tuple[int, ...]:
    """The numbers of hits within which evidence is looked for, if k are found."""
    return tuple(sorted({one for one in DEPTHS if one < k} | {k}))


def run_scores(conversations: Sequence[Conversation], run: Run, k: int) -> RunScores:
    """Measures the first k turns of each question of a run."""
    by_turns: list[QuestionMeasures] = []
    by_sessions: list[QuestionMeasures] = []
    unanswerable: dict[str, list[bool]] = {}
    lost = without_evidence = 0
    for owner, question, sessions in _asked(conversations):
        found = run.found.get(question.id, ())[:k]
        if not question.answerable:
            unanswerable.setdefault(question.kind, []).append(not found)
            continue
        if not question.has_evidence:
            without_evidence += 1
            continue
        lost += not found
        for measured, evidence, ids in (
            (by_turns, question.turns, found),
            (by_sessions, question.sessions, [sessions[one] for one in found]),
        ):
            if evidence:
                values = _measures(evidence, ids, k)
                measured.append(QuestionMeasures(owner, question.kind, values))
    return RunScores(
        run.tag,
        kind_scores(by_turns),
        kind_scores(by_sessions),
        {kind: (sum(one), len(one)) for kind, one in unanswerable.items()},
        lost,
        without_evidence,
        by_turns,
    )


def gains_over(first: RunScores, other: RunScores) -> dict[str, KindScores]:
    """The differences of each question by turns, of a run of the same data set and the same k."""
    pairs = zip(first.by_question, other.by_question, strict=True)
    return kind_scores(
        [
            QuestionMeasures(
                one.owner,
                one.kind,
                {name: more.values[name] - value for name, value in one.values.items()},
            )
            for one, more in pairs
        ]
    )


def kind_scores(measured: Sequence[QuestionMeasures], seed: int = 0) -> dict[str, KindScores]:
    """The means over all questions, and over those of each kind."""
    groups = {ALL: measured} if measured else {}
    for kind in sorted({one.kind for one in measured}):
        groups[kind] = [one for one in measured if one.kind == kind]
    return {kind: _scores(group, seed) for kind, group in groups.items()}


def _scores(measured: Sequence[QuestionMeasures], seed: int) -> KindScores:
    owners = [one.owner for one in measured]
    different = len(set(owners))
    names = list(measured[0].values)
    samples = [[one.values[name] for one in measured] for name in names]
    ends = intervals(samples, seed, owners=owners if different >= FEWEST_OWNERS else None)
    means = {
        name: Mean(statistics.fmean(sample), low, high)
        for name, sample, (low, high) in zip(names, samples, ends, strict=True)
    }
    return KindScores(len(measured), different, means)


def _asked(
    conversations: Sequence[Conversation],
) -> Iterator[tuple[str, BenchQuestion, Mapping[str, str]]]:
    """Each question with its owner, and the session of each turn of this."""
    for conversation in conversations:
        sessions = {turn.id: turn.session for turn in conversation.turns}
        for question in conversation.questions:
            yield conversation.name, question, sessions


def _measures(evidence: Sequence[str], found: Sequence[str], k: int) -> dict[str, float]:
    gains = dict.fromkeys(evidence, 1.0)
    ranks: dict[str, int] = {}
    for rank, one in enumerate(found, start=1):
        if one in gains:
            ranks.setdefault(one, rank)
    within = {depth: metrics(gains, ranks, depth) for depth in depths_of(k)}
    depth = min(NDCG_DEPTH, k)
    return {
        **{f"recall@{depth}": one["recall"] for depth, one in within.items()},
        f"nDCG@{depth}": metrics(gains, ranks, depth)["ndcg"],
        "MRR": within[k]["mrr"],
        **{f"all@{depth}": float(one["recall"] == 1) for depth, one in within.items()},
    }
