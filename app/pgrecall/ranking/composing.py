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
from pgrecall.schema.fields import COUNTERS, FIELD, ROW
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
    where = written(tables.memories, wanted.filters.where)
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
    more: Sequence[tuple[str, str]] = (),
) -> Statement:
    """The statement of this name with these options, a profile's signals, conditions of the caller,
    and more places, or others."""
    options = options_of(given | {"where"} if where else given)
    places = {
        "score": expression.score(signals, options),
        "signals": expression.values(signals, options),
        "columns": COLUMNS,
        "meets": _meets(options, len(where)),
        **{f"where_{number}": one for number, one in enumerate(where, start=1)},
        "where": " AND ".join(f"({condition})" for condition in where),
        **dict(more),
    }
    return Statement(composer.composed(name, options, places, schema=schema))


def condition_names(options: frozenset[str], where: int) -> list[str]:
    """The names of the conditions that a memory has to meet, of these options and so many of the
    caller."""
    names = [name for name in composer.conditions(options) if name != "where"]
    return [*names, *(f"where_{number}" for number in range(1, where + 1))]


def _meets(options: frozenset[str], where: int) -> str:
    """Each condition by its name, as arguments of jsonb_build_object."""
    found = composer.conditions(options)
    return ", ".join(
        f"'{name}', coalesce({found.get(name, f'(:{name})')}, false)"
        for name in condition_names(options, where)
    )


def _column(name: str) -> str:
    if name == "embedding":
        return "NULL AS embedding"
    if name in COUNTERS:
        return f"coalesce(memory_usage.{name}, 0) AS {name}"
    return f"{'memory_usage' if FIELD[name].part == 'usage' else 'agent_memories'}.{name}"


COLUMNS = ", ".join(map(_column, ROW))
"""The fields of `Memory`, as `leading_memory` takes them; without the embedding."""
