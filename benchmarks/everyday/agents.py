"""Agents of three sizes in one table: a thousand of 100 memories, one of 1,000, one of 10,000."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.data import Corpus, Floats, Row

SIZES = {100: [f"agent of 100, {number}" for number in range(1_000)]} | {
    size: [f"agent of {size:,}"] for size in (1_000, 10_000)
}
"""Memories → the agents that have so many."""


def rows(scale: float, seed: int) -> list[Row]:
    """All memories, those of one agent together; `scale` of the agents of 100."""
    owners = [owner for size in SIZES for owner in agents_of(size, scale) for _ in range(size)]
    corpus = Corpus.of(len(owners), seed)
    return [replace(row, agent_id=owner) for row, owner in zip(corpus, owners, strict=True)]


def agents_of(size: int, scale: float) -> list[str]:
    return SIZES[size][: max(1, int(scale * len(SIZES[size])))]


def queries(count: int, seed: int) -> list[Floats]:
    return Corpus.of(1_000, seed).queries(count)
