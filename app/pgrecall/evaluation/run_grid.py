"""The tables of a measured run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pgrecall.core.display import Cell, Column, Grid, numbers
from pgrecall.evaluation.results import FEWEST, FEWEST_OWNERS
from pgrecall.evaluation.run_measures import ALL, KindScores, Mean, RunScores

Row = list[str | Cell]
Rows = Callable[[str, KindScores, Sequence[Mean]], Iterator[Row]]
_WIDE, _NARROW = 8, 4
_WIDTH = 124
"""Characters that the longest name of a kind and eight measures take."""


def run_grids(scores: RunScores, width: int) -> list[Grid]:
    """By turns, by sessions, and the questions without an answer, for a terminal of this width."""
    grids = [
        *_grids(f"{scores.tag}, by turns", scores.turns, width, _mean_rows),
        *_grids(f"{scores.tag}, by sessions", scores.sessions, width, _mean_rows),
    ]
    rows = [(kind, str(total), str(silent)) for kind, (silent, total) in scores.silent.items()]
    if rows:
        columns = [Column("without an answer"), *numbers("n", "found nothing")]
        grids.append(Grid(columns, rows, scores.tag))
    return grids


def gain_grids(first: str, other: str, gains: Mapping[str, KindScores], width: int) -> list[Grid]:
    """The differences between two runs, which have these tags. Clear ones have a color."""
    return [*_grids(f"{other} less {first}, by turns", gains, width, _gain_rows)]


def _grids(title: str, kinds: Mapping[str, KindScores], width: int, rows: Rows) -> Iterator[Grid]:
    names = [*kinds[ALL].means] if kinds else []
    number = _WIDE if width >= _WIDTH else _NARROW
    for first in range(0, len(names), number):
        some = names[first : first + number]
        shown = (name.replace("recall", "R") for name in some)
        resampled = "conversations" if kinds[ALL].owners >= FEWEST_OWNERS else "questions"
        yield Grid(
            [Column("question"), *numbers("n", *shown)],
            [
                row
                for kind, one in kinds.items()
                for row in rows(kind, one, [one.means[name] for name in some])
            ],
            f"{title}, with 95 % intervals over {resampled}",
            line_after=1,
        )


def _mean_rows(kind: str, scores: KindScores, means: Sequence[Mean]) -> Iterator[Row]:
    yield [kind, f"{scores.questions:,}", *(f"{one.mean:.3f}" for one in means)]
    ends = ((f"{end:.2f}".removeprefix("0") for end in (one.low, one.high)) for one in means)
    yield ["", "", *(Cell("–".join(pair), "dim") for pair in ends)]


def _gain_rows(kind: str, scores: KindScores, means: Sequence[Mean]) -> Iterator[Row]:
    yield [kind, f"{scores.questions:,}", *(f"{one.mean:+.3f}" for one in means)]
    yield ["", "", *(_gain(one, scores.questions) for one in means)]


def _gain(mean: Mean, questions: int) -> Cell:
    clear = questions >= FEWEST and (mean.low > 0 or mean.high < 0)
    ends = (f"{end:+.2f}".replace("0.", ".", 1) for end in (mean.low, mean.high))
    return Cell("…".join(ends), ("good" if mean.low > 0 else "bad") if clear else "dim")
