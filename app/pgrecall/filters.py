"""Filters: which memories take part in a search at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Self, TypedDict

from sqlalchemy import ColumnElement

from pgrecall.errors import InputError, UnknownName
from pgrecall.schema.tables import STATUSES, TIERS
from pgrecall.validation import require_aware, require_json_object, require_texts


class FilterArguments(TypedDict, total=False):
    """The keyword arguments by which `search` and `count` narrow what they look at.

    A list passes a memory that has any of its values; all the filters given must pass.
    """

    memory_types: Sequence[str]
    """Its kind or one of its additional kinds."""
    tiers: Sequence[str]
    tags: Sequence[str]
    """Any of these tags."""
    all_tags: Sequence[str]
    """Every one of these tags."""
    entities: Sequence[str]
    """Any of these entities."""
    all_entities: Sequence[str]
    """Every one of these entities."""
    metadata: Mapping[str, Any]
    """The memory's metadata contains this JSON object."""
    created_after: datetime
    """Created at this moment or later; a memory of unknown age does not pass."""
    created_before: datetime
    """Created before this moment; a memory of unknown age does not pass."""
    statuses: Sequence[str]
    """Default: active."""
    include_invalid: bool
    """Also what is not valid at as_of: not yet, no longer, invalidated, expired."""
    where: ColumnElement[bool] | Sequence[ColumnElement[bool]]
    """Any SQLAlchemy expressions over `repository.memories`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """FilterArguments, checked; see there for what each means."""

    memory_types: Sequence[str] | None = None
    tiers: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    all_tags: Sequence[str] | None = None
    entities: Sequence[str] | None = None
    all_entities: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    statuses: Sequence[str] = ("active",)
    include_invalid: bool = False
    where: Sequence[ColumnElement[bool]] = field(default=())

    @classmethod
    def of(cls, arguments: FilterArguments) -> Self:
        """Raises UnknownName for a filter that does not exist, InputError for a bad value."""
        known = [f.name for f in fields(cls)]
        unknown = sorted(set(arguments) - set(known))
        if unknown:
            raise UnknownName(
                f"unknown filter {', '.join(unknown)}; the filters are {', '.join(known)}"
            )
        given: dict[str, Any] = {k: v for k, v in arguments.items() if v is not None}
        where = given.pop("where", ())
        if isinstance(where, ColumnElement):
            where = (where,)
        return cls(**given, where=tuple(where))

    def __post_init__(self) -> None:
        for name in ("memory_types", "tags", "all_tags", "entities", "all_entities"):
            require_texts(name, getattr(self, name))
        _require_known("tiers", self.tiers, TIERS)
        _require_known("statuses", self.statuses, STATUSES)
        if self.metadata is not None:
            require_json_object("metadata", self.metadata)
        require_aware("created_after", self.created_after)
        require_aware("created_before", self.created_before)
        for condition in self.where:
            if not isinstance(condition, ColumnElement):
                raise InputError(
                    f"where takes SQLAlchemy expressions, got {type(condition).__name__}"
                )


def _require_known(name: str, values: Sequence[str] | None, known: Sequence[str]) -> None:
    require_texts(name, values)
    unknown = [value for value in values or () if value not in known]
    if unknown:
        raise UnknownName(f"{name}: unknown {', '.join(unknown)}; known are {', '.join(known)}")
