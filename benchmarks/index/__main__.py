"""`python -m benchmarks.index`: how much rank indexes find, and how fast, beside exact search.

--only topics, continuous, sizes, filters, long or passages (which needs --passages) measures one
part. By `hybrid`, questions have words and names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.index.comparing import (
    EXACT,
    INDEX,
    NEAREST,
    PROFILES,
    Outcome,
    compared,
    indexed,
)
from benchmarks.index.memories import SAMPLES, TYPES, Meanings, Memories
from benchmarks.index.passages import Passages
from benchmarks.measuring import print_machine, print_table
from benchmarks.server import server
from pgrecall import profiles

SETTINGS = """
shared_buffers = '8GB'
maintenance_work_mem = '2GB'
max_wal_size = '8GB'
autovacuum = off  # tables are vacuumed once loaded; nothing may disturb what is timed
"""
ROWS = 100_000
SIZES = (1_000, 2_500, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 400_000)
LONG = {1_536: "vector", 3_072: "halfvec"}
HEADING = "exact, ms|rank index, ms|times as fast|recall@10|by the index"


class Part(StrEnum):
    TOPICS = "topics"
    CONTINUOUS = "continuous"
    SIZES = "sizes"
    FILTERS = "filters"
    LONG = "long"
    PASSAGES = "passages"


def cells(outcomes: dict[str, Outcome]) -> list[object]:
    """Those of HEADING."""
    index = outcomes[INDEX]
    times = [outcomes[EXACT].timing.ms, index.timing.ms, index.faster]
    return [*times, f"{index.recall:.3f}", f"{index.by_index:.0%}"]


def by_profile(url: str, source: Memories | Passages, rounds: int) -> Iterator[list[object]]:
    """Each profile through both, five_factor by its nearest too."""
    questions = source.questions(rounds)
    with indexed(url, source) as loaded:
        for profile in PROFILES:
            peers = NEAREST if profile == profiles.five_factor else ()
            outcomes = compared(loaded, questions, profile, peers)
            nearest = [
                f"{one.recall:.2f}, {one.faster:.1f}"
                for name, one in outcomes.items()
                if name not in (EXACT, INDEX)
            ]
            yield [source.name, profile.name, *cells(outcomes), *(nearest or [""] * len(NEAREST))]


def filtered(url: str, source: Memories, rounds: int) -> Iterator[list[object]]:
    """Shares of the memories that pass, by several kinds of filters."""
    types = list(TYPES)
    with indexed(url, source) as loaded:
        for sample, share in SAMPLES.items():
            filters: dict[str, dict[str, Any]] = {
                "metadata": {"metadata.drawn": {"$all": [sample]}},
                "created_at": {"created_at": {"$gte": source.moment(1 - share)}},
            }
            if share in (number := list(TYPES.values())):
                filters["memory_type"] = {"memory_type": types[: number.index(share) + 1]}
            for kind, one in filters.items():
                questions = source.questions(rounds)
                outcomes = compared(loaded, questions, profiles.five_factor, only=one)
                yield [f"{share:.1%} by {kind}", *cells(outcomes)]


def main(
    only: Annotated[Part | None, typer.Option(help="One part of it.")] = None,
    rounds: Annotated[int, typer.Option(min=2, help="Questions, each asked once.")] = 40,
    scale: Annotated[float, typer.Option(min=0.001, max=1, help="Of all row counts.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Decides all the data.")] = 0,
    passages: Annotated[
        Path | None,
        typer.Option(exists=True, help="JSON lines, gzipped: content, created_at, entities."),
    ] = None,
) -> None:
    """Measures each part on an embedded server."""
    print_machine()
    one = Memories(max(round(ROWS * scale), 100), datetime.now(UTC), seed)
    worded = {Part(each): replace(one, meanings=each, worded=True) for each in Meanings}
    nearest = "|".join(f"{number:,} nearest: recall, ×" for number in NEAREST)

    def is_wanted(part: Part) -> bool:
        return only in (None, part)

    with server(SETTINGS) as url:
        for part, source in worded.items():
            if is_wanted(part):
                rows = by_profile(url, source, rounds)
                print_table(f"memories|profile|{HEADING}|{nearest}", rows)
        if passages and is_wanted(Part.PASSAGES):
            read = Passages.read(passages, scale, seed, one.now)
            print_table(f"memories|profile|{HEADING}|{nearest}", by_profile(url, read, rounds))
        if is_wanted(Part.SIZES):
            sources = [replace(one, total=max(round(size * scale), 100)) for size in SIZES]
            print_table(f"memories of one agent|{HEADING}", sized(url, sources, rounds))
        if is_wanted(Part.LONG):
            sources = [
                replace(one, dimensions=dimensions, embedding_type=kind, meanings=meanings)
                for dimensions, kind in LONG.items()
                for meanings in Meanings
            ]
            print_table(f"long embeddings|{HEADING}", sized(url, sources, rounds))
        if is_wanted(Part.FILTERS):
            print_table(f"passes|{HEADING}", filtered(url, one, rounds))


def sized(url: str, sources: list[Memories], rounds: int) -> Iterator[list[object]]:
    """Each by five_factor, in a database of its own."""
    for source in sources:
        with indexed(url, source) as loaded:
            outcomes = compared(loaded, source.questions(rounds), profiles.five_factor)
        yield [source.name, *cells(outcomes)]


if __name__ == "__main__":
    typer.run(main)
