"""A judged query: a query and the memories known to answer it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from uuid import UUID

from pgrecall.core.vectors import VectorLike


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query of an evaluation. It is checked when it is used, before anything is sent."""

    query: VectorLike | str | None
    """Its text, its vector, or None to rank without either."""
    relevant: Iterable[UUID | str] | Mapping[UUID, float] | Mapping[str, float]
    """The ids of the memories that answer it, optionally with a gain above 0 (default 1). Empty: no
    memory does; such queries are for evaluating floors."""
    _: KW_ONLY
    group: str | None = None
    """The kind of query, for results by group."""
    as_of: datetime | None = None
    """The `as_of` of its search; None: that of the evaluation."""
    query_text: str | None = None
    """Its text, if `query` is a vector. Entities are found in it too."""
    query_entities: Sequence[str] | None = None
    """Its entities; None: those found in its text."""
    agent_id: str | UUID | None = None
    """The owner whose memories it is about; None: the evaluation's `agent_id`."""
    query_time: tuple[datetime, datetime] | None = None
    """Its period, start and end."""
    irrelevant: Iterable[UUID | str] = ()
    """The ids of memories that somebody judged not to answer it. No measure reads them: what is not
    relevant does not count."""

    def __post_init__(self) -> None:
        if isinstance(self.relevant, Iterator):  # an iterator can only be used once
            object.__setattr__(self, "relevant", list(self.relevant))
        if isinstance(self.irrelevant, Iterator):
            object.__setattr__(self, "irrelevant", list(self.irrelevant))
