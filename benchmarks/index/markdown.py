"""`python -m benchmarks.index.markdown run.json`: tables for RESULTS.md of what --json wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.index.approaches import EXACT, INDEX
from benchmarks.index.goals import FASTER, RECALL
from benchmarks.index.verdicts import FILTERS_CASE, GROWTH_CASE, SMALL_CASE

Record = Mapping[str, Any]

PEERS = {
    "50 nearest: recall, ×": "50 nearest, re-ranked",
    "200 nearest": "200 nearest, re-ranked",
    "1,000 nearest": "1,000 nearest, re-ranked",
    "200, iterative scan": "200 nearest, iterative scan",
}
"""Heading → approach."""


def main(
    run: Annotated[Path, typer.Argument(exists=True, help="What --json wrote.")],
) -> None:
    """Prints a run of the benchmark as Markdown."""
    typer.echo("\n\n".join(tables(json.loads(run.read_text(encoding="utf-8")))))


def tables(run: Record) -> Iterator[str]:
    """Comparisons, growth, filters, builds, and the goals that were missed."""
    by_case: dict[int, list[Record]] = {}
    for comparison in run["comparisons"]:
        by_case.setdefault(comparison["case"], []).append(comparison)
    goals = {
        (goal["case"], goal["data"], goal["question"], goal["measure"]): goal
        for goal in run["goals"]
    }
    apart = (GROWTH_CASE, FILTERS_CASE, SMALL_CASE)
    alone = [one for case, found in by_case.items() if case not in apart for one in found]
    if alone:
        yield _compared(alone, goals)
    grown = [*by_case.get(GROWTH_CASE, ()), *by_case.get(SMALL_CASE, ())]
    if grown:
        yield _grown(grown, goals)
    if FILTERS_CASE in by_case:
        yield _filtered(by_case[FILTERS_CASE])
    yield _built(run["indexes"])
    missed = [goal for goal in run["goals"] if not goal["met"]]
    yield "Missed: " + ("; ".join(map(_missed, missed)) or "none") + "."


def _compared(comparisons: Sequence[Record], goals: Mapping[Any, Record]) -> str:
    heads = ["memories", "question", "exact, ms", "rank index, ms", "times as fast", "recall@10"]
    return _table(
        [*heads, *_asked(comparisons)],
        (
            [
                *(one["data"], one["question"], *_measured(one, goals)),
                *_peers(one, comparisons),
            ]
            for one in comparisons
        ),
    )


def _grown(comparisons: Sequence[Record], goals: Mapping[Any, Record]) -> str:
    heads = ["memories of one agent", "exact, ms", "rank index, ms", "times as fast", "recall@10"]
    return _table(
        [*heads, *_asked(comparisons)],
        (
            [one["question"], *_measured(one, goals), *_peers(one, comparisons)]
            for one in comparisons
        ),
    )


def _filtered(comparisons: Sequence[Record]) -> str:
    heads = ["filter", "rank index, ms", "times as fast as exact", "recall@10", "in the index"]
    found = ((one, one["approaches"][INDEX]) for one in comparisons)
    return _table(
        [*heads, *_asked(comparisons)],
        (
            [
                *(one["question"], f"{its['median_ms']:.1f}", f"{its['times_faster']:.1f}"),
                *(f"{its['recall']:.3f}", f"{100 * its['in_index']:.0f} %"),
                *_peers(one, comparisons),
            ]
            for one, its in found
        ),
    )


def _built(indexes: Iterable[Record]) -> str:
    return _table(
        ["data", "memories", "seconds", "candidates"],
        (
            [
                *(one["data"], f"{one['memories']:,}"),
                *(f"{one['seconds']:.0f}", str(one["candidates"])),
            ]
            for one in indexes
        ),
    )


def _measured(comparison: Record, goals: Mapping[Any, Record]) -> list[str]:
    exact, index = (comparison["approaches"][name] for name in (EXACT, INDEX))
    of = comparison["case"], comparison["data"], comparison["question"]
    return [
        f"{exact['median_ms']:.1f}",
        f"{index['median_ms']:.1f}",
        f"{index['times_faster']:.1f}{_judged(goals.get((*of, FASTER)))}",
        f"{index['recall']:.3f}{_judged(goals.get((*of, RECALL)))}",
    ]


def _judged(goal: Record | None) -> str:
    if goal is None:
        return ""
    return f" ({goal['goal']}{'' if goal['met'] else ', missed'})"


def _asked(comparisons: Sequence[Record]) -> dict[str, str]:
    """The peers that were asked any of these."""
    return {
        heading: peer
        for heading, peer in PEERS.items()
        if any(peer in comparison["approaches"] for comparison in comparisons)
    }


def _peers(comparison: Record, among: Sequence[Record]) -> Iterator[str]:
    """Recall and times as fast as exact of each; empty where it was not asked."""
    for peer in _asked(among).values():
        its = comparison["approaches"].get(peer)
        yield "" if its is None else f"{its['recall']:.2f}, {its['times_faster']:.1f}"


def _missed(goal: Record) -> str:
    of = f"{goal['data']}, {goal['question']}"
    return f"{of}, {goal['measure']} {goal['value']:g} (goal {goal['goal']})"


def _table(heads: list[str], rows: Iterable[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    typer.run(main)
