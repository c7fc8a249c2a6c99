"""Statements that compute values of every memory for one query, such as the scores of profiles.

They begin with `sql/statements/measured.sql`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pgrecall.core.steps import Operation, Run
from pgrecall.ranking.composing import composed
from pgrecall.ranking.custom_condition import Written
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring import expression
from pgrecall.scoring.profile import Profile
from pgrecall.search.owner_by_owner import each_owner

_LEARNED = ("usefulness", "importance", "confidence", "trust")
"""The columns whose changes are recorded as events with the former value."""


class Values:
    """Different values of a memory, each of which is computed once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __getitem__(self, text: str) -> str:
        """The SQL that reads the value of this SQL."""
        return f"every.score[{self._numbers.setdefault(text, len(self._numbers) + 1)}]"

    @property
    def array(self) -> str:
        return f"ARRAY[{', '.join(self._numbers)}]"


def weighted(values: Values, profile: Profile, options: frozenset[str], number: int = 0) -> str:
    """The score by a profile, with the parameters of `weights`, summed as a search does."""
    weighted = (
        f"{_weight(signal.name, number)} * {values[expression.value(signal)]}"
        for signal in profile.signals
        if expression.has_value(signal, options)
    )
    total = " + ".join(weighted) or "0::float8"
    if "redistributes" not in options:
        return total
    keyword = _weight("keyword", number)
    return (
        f"({total}) / (SELECT CASE WHEN asked.has_terms OR {keyword} >= 1::float8 "  # noqa: S608  ours
        f"THEN 1::float8 ELSE 1::float8 - {keyword} END FROM asked)"
    )


def weights(profile: Profile, number: int = 0) -> dict[str, float]:
    """The parameters with the weights of the profile of this number."""
    return {f"{name}_weight_{number}": weight for name, weight in profile.weights.items()}


def _weight(name: str, number: int) -> str:
    return f":{name}_weight_{number}::float8"


@dataclass(frozen=True, slots=True)
class Measure:
    """What is computed of each memory."""

    options: frozenset[str]
    values: Values
    places: Mapping[str, str]
    """Computed from the values."""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def of(
        self, tables: Tables, name: str, wanted: Search, where: Sequence[Written], **given: Any
    ) -> Operation[Sequence[Any]]:
        """The rows of the statement of this name for a search.

        Owners who may be on different nodes are measured one by one.
        """
        places = {**self.places, "score": self.values.array, "as_recorded": _as_recorded(tables)}
        of_where = {name: value for one in where for name, value in one.values.items()}

        def run(name: str, one: Search, options: frozenset[str], **more: Any) -> Run:
            texts = tuple(condition.text for condition in where)
            return Run(
                composed(tables.schema, name, options, (), texts, tuple(places.items())),
                {**one.parameters, **of_where, **self.parameters, **more, **given},
                may_prepare=wanted.may_prepare,
            )

        if not wanted.is_divided:
            return (yield run(name, wanted, self.options))
        rows: list[Any] = []
        for one in each_owner(wanted):
            rows += yield run("measured", one, self.options - {"teams", "apart"})
        measured = {
            f"every_{several}": [getattr(row, name) for row in rows]
            for several, name in (("owners", "agent_id"), ("ids", "id"), ("scores", "score"))
        }
        return (yield run(name, wanted, self.options, **measured))


@lru_cache
def _as_recorded(tables: Tables) -> str:
    """The columns of memories, with former values of those that changed."""
    return ", ".join(
        f"CASE WHEN jsonb_exists(former.its, '{name}') THEN (former.its ->> '{name}')::float8 "
        f"ELSE memories.{name} END AS {name}"
        if name in _LEARNED
        else f"memories.{name}"
        for name in tables.memories.c.keys()
    )
