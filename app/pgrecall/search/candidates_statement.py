"""The statement of the memories that any weights of a profile could rank first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, Final

from sqlalchemy import ColumnElement, func

from pgrecall.core.statement import Statement
from pgrecall.core.steps import Run
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring.score import age, factor, number, signal_expression
from pgrecall.scoring.signals import (
    DECAY,
    Decay,
    EntityOverlap,
    Keyword,
    Recency,
    Signal,
    Similarity,
    Time,
)
from pgrecall.search.matched import Rows, compiled, folded, reads
from pgrecall.search.shape import Shape, shape_of, statement, table

List = Callable[[Rows], ColumnElement[float]]
AGE: Final = "age of "
"""Begins the name of a list by age."""
_NEEDED: Final[Mapping[type[Signal], str]] = {
    Similarity: "query",
    Keyword: "words",
    EntityOverlap: "named",
    Time: "period",
}
"""The option of a search without which a signal is the same of all memories."""
_TERMS: Final = """\
asked_for AS MATERIALIZED (
    SELECT term, place FROM pgrecall.query_terms(:keywords::text) WITH ORDINALITY one(term, place)
)"""
_OWN_TERMS: Final = """\
ARRAY(SELECT asked_for.term
          FROM (SELECT tsvector_to_array(m.terms) AS own OFFSET 0) its CROSS JOIN asked_for
         WHERE asked_for.term = ANY (its.own)
         ORDER BY asked_for.place) AS terms"""
_BEST: Final = """\
keys AS (
    SELECT * FROM scored ORDER BY score DESC, id LIMIT :n::integer
)"""
_BEST_OF_EACH: Final = """\
last AS MATERIALIZED (
    SELECT score, id FROM scored ORDER BY score DESC, id OFFSET :n::integer - 1 LIMIT 1
),
numbers AS MATERIALIZED (
    SELECT (SELECT count(*) FROM scored) AS total,
           ARRAY[{least}]::float8[] AS least
),
keys AS (
    SELECT scored.*, numbers.total, numbers.least
      FROM scored CROSS JOIN numbers LEFT JOIN last ON true
     WHERE last.id IS NULL
        OR (scored.score, last.id) >= (last.score, scored.id){above}
)"""
"""least: the n-th greatest value of each list, NULL if there are fewer."""


def candidates_of(tables: Tables, search: Search, n: int, *, by_signal: bool) -> Run:
    """The n best, each with its `ages`; by signal, also the memories that have more of a list than
    its n-th, the `total`, and `least`, these values."""
    shape, parameters = shape_of(tables, search, *(["listed"] if by_signal else []))
    return Run(_candidates(shape), parameters | {"n": n}, search.may_prepare)


def clocks(signals: Iterable[Signal], decay: Decay | None) -> dict[str, Recency]:
    """The parts of a score that age decides, by their names."""
    found = {one.name: one for one in signals if isinstance(one, Recency)}
    return found if decay is None else found | {DECAY: decay.recency}


def lists(
    signals: Iterable[Signal], decay: Decay | None, options: Collection[str]
) -> dict[str, List]:
    """What a candidate may have more of, in a search with these options: youth by each clock, each
    signal for which the query has something, and the decay."""
    found: dict[str, List] = {
        f"{AGE}{name}": partial(_youth, one) for name, one in clocks(signals, decay).items()
    }
    for one in signals:
        if _NEEDED.get(type(one)) in (None, *options):
            found[one.name] = partial(signal_expression, one)
    if decay is not None:
        found[DECAY] = partial(factor, decay)
    return found


def _youth(signal: Recency, m: Any) -> ColumnElement[float]:
    """A memory without a clock is among the youngest: its recency is the same whatever the
    half-life."""
    youth: ColumnElement[float] = func.coalesce(-age(signal, m), number(0))
    return youth


@lru_cache(maxsize=64)
def _candidates(shape: Shape) -> Statement:
    scored = ["m.agent_id", "m.id", f"{shape.score} AS score"]
    if shape.has("words"):
        scored += ["w.share", "w.coverage"]
    keys = _BEST
    if shape.has("listed"):
        values = [
            one(shape.rows) for one in lists(shape.signals, shape.decay, shape.options).values()
        ]
        scored += [f"{compiled(value)} AS value_{place}" for place, value in enumerate(values)]
        least = ",\n                 ".join(map(_LEAST.format, range(len(values))))
        above = "".join(map(_ABOVE.format, range(len(values)), range(1, len(values) + 1)))
        keys = _BEST_OF_EACH.format(least=least, above=above)
    outside = shape.outside()
    source = shape.form.of_all(shape.inside, outside, reads(*scored, *outside))
    text = "\n".join((folded(f"SELECT {', '.join(scored)}", 0, 7), source))
    begun = [table("scored", text, materialized=shape.has("listed")), keys]

    ages = [compiled(age(one, shape.rows)) for one in clocks(shape.signals, shape.decay).values()]
    columns = [
        *shape.described(shape.rows),
        "k.score",
        f"ARRAY[{', '.join(ages)}]::float8[] AS ages",
        *(["k.total", "k.least"] if shape.has("listed") else []),
    ]
    lines = [folded(f"SELECT {', '.join(columns)}", 0, 7)]
    if shape.has("words"):
        begun.append(_TERMS)
        lines.append(f"     , {_OWN_TERMS}")
    lines.append(shape.form.of_keys("keys", (), (), reads(*columns) - {"w"}))
    if shape.has("words"):
        lines.append("  CROSS JOIN LATERAL (SELECT k.share, k.coverage) w")
    lines.append(" ORDER BY score DESC, id")
    return statement(shape, "candidates", begun, lines)


_LEAST = "(SELECT value_{0} FROM scored ORDER BY value_{0} DESC OFFSET :n::integer - 1 LIMIT 1)"
_ABOVE = "\n        OR scored.value_{0} > numbers.least[{1}]"
