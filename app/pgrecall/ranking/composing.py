"""Composes the statements that rank, for a search and by a profile, and those that only filter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from pgrecall.core.statement import Statement
from pgrecall.core.steps import Run
from pgrecall.ranking.conditions import written_parts
from pgrecall.ranking.filters import Filters
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables, composer
from pgrecall.schema.composer import named_column, options_of
from pgrecall.scoring import expression
from pgrecall.scoring.signals import Decay, Signal

UNFILTERED: Final = Filters(include_inactive=True)


def ranks(
    tables: Tables,
    name: str,
    search: Search,
    *options: str,
    may_prepare: bool = True,
    counts: bool = False,
    **values: Any,
) -> Run:
    """Executes the statement of this name for a search, with more options and values."""
    signals, decay = tuple(search.profile.signals), search.profile.decay
    chosen, parameters = search.options.union(options), search.parameters | values
    run = executes(tables, name, chosen, signals, search.filters, {}, parameters, decay)
    return run._replace(may_prepare=may_prepare, counts=counts)


def reads(
    tables: Tables,
    name: str,
    filters: Filters = UNFILTERED,
    *options: str,
    places: Mapping[str, str] = MappingProxyType({}),
    as_of: datetime | None = None,
    **values: Any,
) -> Run:
    """Executes the statement of this name, which does not rank, for the memories that pass the
    filters at `as_of`, with more options and values.

    `places` are texts of ours that stand in it, such as the order.
    """
    if filters is UNFILTERED:
        return Run(composed(tables, name, frozenset(options), more=tuple(places.items())), values)
    chosen, parameters = filters.options.union(options), filters.parameters | values
    if as_of is not None:
        chosen, parameters = chosen | {"as_of"}, parameters | {"as_of": as_of}
    return executes(tables, name, chosen, (), filters, places, parameters)


def executes(
    tables: Tables,
    name: str,
    options: frozenset[str],
    signals: Sequence[Signal],
    filters: Filters,
    places: Mapping[str, str],
    parameters: dict[str, Any],
    decay: Decay | None = None,
) -> Run:
    """Executes the statement of this name with these options, with the conditions of the caller in
    the filters, and with these places and values."""
    texts: tuple[str, ...] = ()
    if filters.parts:
        conditions = written_parts(tables, filters)
        texts = tuple(condition.text for condition in conditions)
        for condition in conditions:
            parameters |= condition.values
        parameters.setdefault("agents", parameters.get("all_owners") or [parameters["owner_id"]])
    more = tuple(places.items())
    return Run(composed(tables, name, options, signals, texts, more, decay), parameters)


@lru_cache(maxsize=512)
def composed(
    tables: Tables,
    name: str,
    chosen: frozenset[str],
    signals: Sequence[Signal] = (),
    where: Sequence[str] = (),
    more: Sequence[tuple[str, str]] = (),
    decay: Decay | None = None,
) -> Statement:
    """The statement of this name with these options, a profile's signals and decay, conditions of
    the caller, and more places."""
    options = options_of(name, chosen | {"where"} if where else chosen)
    named = [(f"where_{number}", one) for number, one in enumerate(where, start=1)]
    places = {
        **expression.places(signals, options, decay),
        "keys": keys(()),
        "where": " AND ".join(f"({one})" for one in where),
        "where_meets": "".join(f", '{name}', coalesce({one}, false)" for name, one in named),
        **dict(more),
    }
    return Statement(composer.composed(name, options, places, schema=tables.schema))


def condition_names(search: Search) -> list[str]:
    """The names of the conditions that a memory has to meet, those of the filter at last."""
    where = range(1, len(search.filters.parts) + 1)
    return [*composer.condition_names(search.options), *(f"where_{number}" for number in where)]


def keys(names: Iterable[str]) -> str:
    """The fields that a statement sorts memories by, with their owner and id."""
    return ", ".join(map(named_column, dict.fromkeys(["agent_id", *names, "id"])))
