"""The tables of a measured run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pgrecall.core.display import Cell, Column, Grid, numbers
from pgrecall.evaluation.results import FEWEST_OWNERS
from pgrecall.evaluation.run_measures import ALL, KindScores, Mean, RunScores

_WIDE, _NARROW = 8, 4
_WIDTH = 124
"""Characters that the longest name of a kind and eight measures take."""


def run_grids(scores: RunScores, width: int) -> list[Grid]:
    """By turns, by sessions, and the questions without an answer, for a terminal of this width."""
    number = _WIDE if width >= _WIDTH else _NARROW
    grids = []
    for unit, kinds in (("turns", scores.turns), ("sessions", scores.sessions)):
        names = [*kinds[ALL].means] if kinds else []
        for first in range(0, len(names), number):
            some = names[first : first + number]
            grids.append(_grid(f"{scores.tag}, by {unit}", kinds, some))
    rows = [(kind, str(total), str(silent)) for kind, (silent, total) in scores.silent.items()]
    if rows:
        columns = [Column("without an answer"), *numbers("n", "found nothing")]
        grids.append(Grid(columns, rows, scores.tag))
    return grids


def _grid(title: str, kinds: Mapping[str, KindScores], names: Sequence[str]) -> Grid:
    resampled = "conversations" if kinds[ALL].owners >= FEWEST_OWNERS else "questions"
    shown = [name.replace("recall", "R") for name in names]
    columns = [Column("question"), *numbers("n", *shown)]
    title = f"{title}, with 95 % intervals over {resampled}"
    return Grid(columns, [*_rows(kinds, names)], title, line_after=1)


def _rows(kinds: Mapping[str, KindScores], names: Sequence[str]) -> Iterator[list[str | Cell]]:
    for kind, one in kinds.items():
        means = [one.means[name] for name in names]
        yield [kind, f"{one.questions:,}", *(f"{mean.mean:.3f}" for mean in means)]
        yield ["", "", *(Cell(_interval(mean), "dim") for mean in means)]


def _interval(mean: Mean) -> str:
    return "–".join(f"{end:.2f}".removeprefix("0") for end in (mean.low, mean.high))
