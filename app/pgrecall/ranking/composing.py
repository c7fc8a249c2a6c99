"""Composes the statements that rank, for a search and by a profile."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pgrecall.core.statement import Statement
from pgrecall.core.steps import Run
from pgrecall.ranking.custom_condition import written
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring import expression
from pgrecall.scoring.signals import Signal
from pgrecall.statements import composer
from pgrecall.statements.composer import options_of


def ranks(
    tables: Tables,
    name: str,
    wanted: Search,
    *options: str,
    may_prepare: bool = True,
    counts: bool = False,
    **values: Any,
) -> Run:
    """Executes the statement of this name for a search, with more options and values."""
    own = wanted.filters.where
    where = written(tables.memories, own) if own else []
    texts = tuple(condition.text for condition in where)
    signals = tuple(wanted.profile.signals)
    statement = composed(tables.schema, name, wanted.options.union(options), signals, texts)
    parameters = wanted.parameters | values
    for condition in where:
        parameters |= condition.values
    return Run(statement, parameters, may_prepare=may_prepare, counts=counts)


@lru_cache(maxsize=512)
def composed(
    schema: str,
    name: str,
    given: frozenset[str],
    signals: Sequence[Signal],
    where: Sequence[str] = (),
) -> Statement:
    """The statement of this name with these options, a profile's signals, and conditions of the
    caller."""
    options = options_of(name, given | {"where"} if where else given)
    named = [(f"where_{number}", one) for number, one in enumerate(where, start=1)]
    places = {
        **expression.places(signals, options),
        "where": " AND ".join(f"({one})" for one in where),
        "where_meets": "".join(f", '{name}', coalesce({one}, false)" for name, one in named),
    }
    return Statement(composer.composed(name, options, places, schema=schema))


def condition_names(wanted: Search) -> list[str]:
    """The names of the conditions that a memory has to meet, those of the caller at last."""
    where = range(1, len(wanted.filters.where) + 1)
    return [*composer.condition_names(wanted.options), *(f"where_{number}" for number in where)]
