"""The statement of a search that scores every memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Select

from pgrecall.ranking.custom_condition import Expression
from pgrecall.ranking.search_parameters import Search, Shape
from pgrecall.ranking.statement import described_in_order, ranked
from pgrecall.ranking.touched import with_touch
from pgrecall.ranking.turns import with_turns
from pgrecall.schema import Tables


def search_statement(
    tables: Tables, wanted: Search, *, touch: bool = False, exact: bool = True
) -> Select[Any]:
    """The k best memories, best first, ties by id. Execute it with `wanted.parameters`.

    Columns: those of a memory and its usage, score, similarity, `signal_<name>` for each signal,
    and, with expand_session, beside, lent and lender. The statement has two phases: the inner query
    scores every row that passes and sorts only ids and scores; the outer query fetches the other
    columns of k rows. With `touch`, the statement also counts a retrieval of each, which needs
    `touch_parameters`, and cannot be combined with expand_session. `exact` is that of `with_turns`.
    """
    if wanted.filters.where:
        return _search(tables, wanted.shape, wanted.filters.where, touch, exact)
    return _known_search(tables, wanted.shape, touch, exact)


@lru_cache(maxsize=512)
def _known_search(tables: Tables, shape: Shape, touch: bool, exact: bool) -> Select[Any]:
    return _search(tables, shape, (), touch, exact)


def _search(
    tables: Tables, shape: Shape, where: Sequence[Expression], touch: bool, exact: bool
) -> Select[Any]:
    best = ranked(tables, shape, where)
    if not (shape.expands or shape.is_divided):
        hits = described_in_order(tables, shape, best.subquery("ranked"))
        return with_touch(tables, hits) if touch else hits
    turns = with_turns(tables, shape, best, where, exact=exact)
    return described_in_order(turns.tables, shape, turns.found, in_passages=shape.brings_along)
