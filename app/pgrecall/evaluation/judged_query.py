"""A judged query: a question, and the memories that answer it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from uuid import UUID

from pgrecall.core.vectors import VectorLike


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """One question to evaluate by.

    Nothing is checked here: what evaluates checks all before anything is sent.
    """

    query: VectorLike | str | None
    """Its text, its vector, or None to rank without either."""
    relevant: Iterable[UUID] | Mapping[UUID, float]
    """The memories that answer it, each with its gain, a number above 0, or 1. Empty: none does,
    by which floors are judged."""
    _: KW_ONLY
    group: str | None = None
    """A kind of query, told apart in the result."""
    as_of: datetime | None = None
    """The moment it is asked about; None: that of the evaluation."""
    query_text: str | None = None
    """Its words, where `query` is a vector."""
    query_entities: Sequence[str] | None = None
    """Its entities; None: those found in its text."""
    agent_id: str | None = None
    """Whose memories it is about; None: those of the evaluation's `agent_id`."""
    recorded: bool = False
    """Whether use has made its labels: what feedback, outcomes and use have changed since its
    moment does not count then."""
    query_time: tuple[datetime, datetime] | None = None
    """The period it names, from and to."""

    def __post_init__(self) -> None:
        if isinstance(self.relevant, Iterator):  # its first use would leave nothing to the next
            object.__setattr__(self, "relevant", list(self.relevant))
