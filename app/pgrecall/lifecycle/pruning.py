"""The statement that finds memories to prune."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Double, Select, bindparam, select

from pgrecall.ranking.search_parameters import Search
from pgrecall.ranking.statement import scored
from pgrecall.schema import Tables


def below(tables: Tables, wanted: Search) -> Select[Any]:
    """The ids of memories that pass the search's filters and score less than `below_score`."""
    ranked = scored(tables, wanted.shape, ()).subquery("ranked")
    limit: Any = bindparam("below_score", type_=Double())
    return select(ranked.c.id).where(ranked.c.score < limit)
