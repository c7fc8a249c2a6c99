"""The scores of every memory for a judged query, which other statements read.

Each query is the search that it stands for: the profiles' scores are those of that search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from pgrecall.core.rerankers import Rerank
from pgrecall.core.statement import Statement
from pgrecall.core.steps import Operation, Run
from pgrecall.evaluation.checked_query import CheckedQuery
from pgrecall.ranking.filters import Filters
from pgrecall.ranking.question import Question
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.score import shift_of
from pgrecall.scoring.signals import EntityOverlap, Time
from pgrecall.search.matched import Rows, folded, reads
from pgrecall.search.scatter_gather import each_owner
from pgrecall.search.shape import Shape, shape_of, statement, table


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments that all queries of an evaluation have in common."""

    tables: Tables
    teams: Sequence[str | UUID]
    filters: Filters
    """Whose words were checked."""
    as_of: datetime | None
    min_score: float | None = None
    rerank: Rerank | None = None

    def searches(
        self,
        query: CheckedQuery,
        profiles: Sequence[Profile],
        min_relevance: float | None = None,
    ) -> Operation[list[Search]]:
        """The search by each profile that the query stands for."""
        searches = []
        for profile in profiles:
            question = Question.of(
                self.tables.in_zone(None),
                str(query.agent_id),
                query.query,
                k=1,
                arguments={
                    "profile": profile,
                    "keywords": query.keywords,
                    "entities": query.entities,
                    "period": query.period,
                    "as_of": query.as_of or self.as_of,
                    "min_score": self.min_score,
                    "min_relevance": min_relevance,
                    "teams": self.teams,
                },
            )
            search = replace(question.search, filters=replace(self.filters, words=()))
            asked = replace(question, search=search)
            searches.append((yield from asked.resolved(self.tables, query.vector)))
        return searches


class Scored(NamedTuple):
    """A profile whose scores are a column."""

    place: int
    """Its column is score_<place>, its weights are <signal>_weight_<place>."""
    shape: Shape

    def expression(self, rows: Rows) -> str:
        """The score over the rows of a statement; NULL where the profile does not rank a memory."""
        text = self.shape.score_over(rows, f"_{self.place}")
        if self.shape.has("embedding"):
            return f"CASE WHEN m.embedding IS NOT NULL THEN {text} END"
        return text


Columns = Callable[[Shape, Sequence[Scored]], Mapping[str, str]]
"""The columns of `scored`, by their names."""
Last = Callable[[Sequence[Scored], bool], str]
"""The SELECT that reads `scored`; told if there is a least score."""


def ask(
    asked: Asked,
    name: str,
    searches: Sequence[Search],
    columns: Columns,
    last: Last,
    **values: Any,
) -> Operation[list[Any]]:
    """The rows of a statement that reads the scores of these searches, which differ in their
    profiles. On Citus, the scores of several agents are read from their nodes first."""
    shapes, bound = _scored(asked.tables, dict(enumerate(searches)))
    bound |= values  # these k and limits, not those of a search
    rows: list[Any] = []
    for scored in _groups(shapes):
        if not searches[0].spans_nodes:
            statement = _statement(name, scored, columns, last)
            rows += yield Run(statement, bound, may_prepare=searches[0].may_prepare)
            continue
        gathered: list[Any] = []
        places = [one.place for one in scored]
        for parts in zip(*(each_owner(searches[place]) for place in places), strict=True):
            own, its = _scored(asked.tables, dict(zip(places, parts, strict=True)))
            gathered += yield Run(_gathering(name, tuple(own), columns), its)
        names = [*columns(scored[0].shape, scored)]
        size = 2 + len(scored) + len(names)
        given = {f"given_{n}": [row[n] for row in gathered] for n in range(size)}
        rows += yield Run(_given(name, scored, tuple(names), last), bound | given)
    return rows


def _scored(tables: Tables, searches: Mapping[int, Search]) -> tuple[list[Scored], dict[str, Any]]:
    """The shape of each search, by its place, and the values of all parameters."""
    scored: list[Scored] = []
    bound: dict[str, Any] = {}
    for place, search in searches.items():
        shape, parameters = shape_of(tables, search)
        bound |= parameters
        if search.period is not None and search.profile.find(Time):  # also without a weight
            shape = replace(shape, options=shape.options | {"period"})
            bound["period_from"], bound["period_to"] = search.period
        scored.append(Scored(place, shape))
        for signal, weight in search.profile:
            bound[f"{signal.name}_weight_{place}"] = weight
    return scored, bound


def _groups(shapes: Sequence[Scored]) -> list[tuple[Scored, ...]]:
    """Profiles that one statement can score: they center the query alike, if they do at all, and
    agree whether subjects are entities."""
    groups: list[tuple[list[Any], list[Scored]]] = []
    for one in shapes:
        overlap = next((x for x in one.shape.signals if isinstance(x, EntityOverlap)), None)
        needs = [
            shift_of(one.shape.signals) or None,
            overlap and overlap.subject,
        ]
        for known, scored in groups:
            pairs = [*zip(known, needs, strict=True)]
            if all(None in pair or pair[0] == pair[1] for pair in pairs):
                known[:] = [a if b is None else b for a, b in pairs]
                scored.append(one)
                break
        else:
            groups.append((needs, [one]))
    return [tuple(scored) for _, scored in groups]


def _of_all(scored: Sequence[Scored]) -> Shape:
    """The shape of a statement that has the signals of all these profiles."""
    shapes = [one.shape for one in scored]
    options = frozenset[str]().union(*(one.options for one in shapes)) - {"embedding"}
    signals = dict.fromkeys(signal for one in shapes for signal in one.signals)
    return replace(shapes[0], options=options, signals=tuple(signals), decay=None)


def _select(scored: Sequence[Scored], columns: Columns) -> tuple[Shape, str]:
    shape = _of_all(scored)
    listed = [f"{one.expression(shape.rows)} AS score_{one.place}" for one in scored]
    listed += [f"{text} AS {name}" for name, text in columns(shape, scored).items()]
    select, outside = ", ".join(["m.agent_id", "m.id", *listed]), shape.outside()
    source = shape.form.of_all(shape.inside, outside, reads(select, *outside))
    return shape, "\n".join((folded(f"SELECT {select}", 0, 7), source))


@lru_cache(maxsize=256)
def _statement(name: str, scored: tuple[Scored, ...], columns: Columns, last: Last) -> Statement:
    shape, select = _select(scored, columns)
    has_least = shape.has("min_score")
    begun = [table("scored", select, materialized=True)]
    return statement(shape, name, begun, [last(scored, has_least)])


@lru_cache(maxsize=256)
def _gathering(name: str, scored: tuple[Scored, ...], columns: Columns) -> Statement:
    shape, select = _select(scored, columns)
    return statement(shape, name, [table("scored", select)], ["SELECT * FROM scored"])


@lru_cache(maxsize=256)
def _given(
    name: str, scored: tuple[Scored, ...], columns: tuple[str, ...], last: Last
) -> Statement:
    names = ["agent_id", "id", *(f"score_{one.place}" for one in scored), *columns]
    types = ["text", "uuid", *["float8"] * (len(names) - 2)]
    given = ", ".join(f":given_{n}::{type_}[]" for n, type_ in enumerate(types))
    select = f"SELECT * FROM unnest({given}) given({', '.join(names)})"  # noqa: S608  ours
    has_least = scored[0].shape.has("min_score")
    text = table("scored", select, materialized=True)
    return Statement(f"/* pgrecall {name} */\nWITH {text}\n{last(scored, has_least)}")
