"""Measures of a run: by turns and by sessions, for all questions and for each kind."""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterator, Mapping, Sequence
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


def run_scores(
    conversations: Sequence[Conversation], run: Run, k: int, *, seed: int = 0
) -> RunScores:
    """Measures the first k turns of each question of a run."""
    by_turns, by_sessions = _Values(k), _Values(k)
    unanswerable: dict[str, list[bool]] = {}
    lost = without_evidence = 0
    for owner, question, sessions in _asked(conversations):
        found = run.found.get(question.id, ())[:k]
        if not question.answerable:
            unanswerable.setdefault(question.kind, []).append(not found)
            continue
        if not question.turns and not question.sessions:
            without_evidence += 1
            continue
        lost += not found
        by_turns.add(owner, question.kind, question.turns, found)
        by_sessions.add(owner, question.kind, question.sessions, [sessions[one] for one in found])
    return RunScores(
        run.tag,
        by_turns.scores(seed),
        by_sessions.scores(seed),
        {kind: (sum(one), len(one)) for kind, one in unanswerable.items()},
        lost,
        without_evidence,
    )


def _asked(
    conversations: Sequence[Conversation],
) -> Iterator[tuple[str, BenchQuestion, Mapping[str, str]]]:
    """Each question with its owner, and the session of each turn of this."""
    for conversation in conversations:
        sessions = {turn.id: turn.session for turn in conversation.turns}
        for question in conversation.questions:
            yield conversation.name, question, sessions


class _Values:
    """The measures of each question."""

    def __init__(self, k: int) -> None:
        self._k = k
        self._owners: list[Hashable] = []
        self._kinds: list[str] = []
        self._measures: list[Mapping[str, float]] = []

    def add(self, owner: str, kind: str, evidence: Sequence[str], found: Sequence[str]) -> None:
        """Measures a question, if it has evidence of this sort."""
        if not evidence:
            return
        ranks: dict[str, int] = {}
        for rank, one in enumerate(found, start=1):
            if one in evidence:
                ranks.setdefault(one, rank)
        self._owners.append(owner)
        self._kinds.append(kind)
        self._measures.append(_measures(dict.fromkeys(evidence, 1.0), ranks, self._k))

    def scores(self, seed: int) -> dict[str, KindScores]:
        """The scores of all questions, and of each kind."""
        if not self._kinds:
            return {}
        every = {ALL: range(len(self._kinds))}
        kinds = {
            kind: [place for place, one in enumerate(self._kinds) if one == kind]
            for kind in sorted(set(self._kinds))
        }
        return {kind: self._scores(places, seed) for kind, places in {**every, **kinds}.items()}

    def _scores(self, places: Sequence[int], seed: int) -> KindScores:
        owners = [self._owners[place] for place in places]
        different = len(set(owners))
        names = list(self._measures[0])
        samples = [[self._measures[place][name] for place in places] for name in names]
        ends = intervals(samples, seed, owners=owners if different >= FEWEST_OWNERS else None)
        means = {
            name: Mean(statistics.fmean(sample), low, high)
            for name, sample, (low, high) in zip(names, samples, ends, strict=True)
        }
        return KindScores(len(places), different, means)


def _measures(gains: Mapping[str, float], ranks: Mapping[str, int], k: int) -> dict[str, float]:
    within = {depth: metrics(gains, ranks, depth) for depth in depths_of(k)}
    depth = min(NDCG_DEPTH, k)
    return {
        **{f"recall@{depth}": one["recall"] for depth, one in within.items()},
        f"nDCG@{depth}": metrics(gains, ranks, depth)["ndcg"],
        "MRR": within[k]["mrr"],
        **{f"all@{depth}": float(one["recall"] == 1) for depth, one in within.items()},
    }
