"""Filters restrict a search to some memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self, TypedDict

from pgrecall.core.limits import LABEL_KINDS, MAX_FILTER_TEXT, STATUSES, TIERS
from pgrecall.core.quoting import listed
from pgrecall.core.validation import (
    require_aware,
    require_bool,
    require_share,
    require_text,
    require_texts,
)
from pgrecall.errors import InputError, UnknownName
from pgrecall.ranking.custom_condition import Expression, require_condition
from pgrecall.ranking.metadata_filter import MetadataFilter

_TEXTS = (
    *("memory_types", "memory_natures", "content_types"),
    *("tags", "all_tags", "entities", "all_entities"),
    *("components", "output_types", "domains", "categories", "loops", "labels"),
)


_VALUES = (
    *_TEXTS,
    *("tiers", "statuses", "label_kinds", "created_after", "created_before"),
    *("compliant", "needs_review", "min_trust", "text"),
)


class FilterArguments(TypedDict, total=False):
    """Keyword arguments that restrict `search`, `count` and others to some memories.

    A memory must pass all filters. It passes a list if it has any of its values.
    """

    memory_types: Sequence[str] | None
    """Its memory_type or one of its additional_types."""
    memory_natures: Sequence[str] | None
    content_types: Sequence[str] | None
    tiers: Sequence[str] | None
    tags: Sequence[str] | None
    """Any of these tags."""
    all_tags: Sequence[str] | None
    """Every one of these tags."""
    entities: Sequence[str] | None
    """Any of these entities."""
    all_entities: Sequence[str] | None
    """Every one of these entities."""
    labels: Sequence[str] | None
    """Any of these labels."""
    label_kinds: Sequence[str] | None
    """With `labels`: only labels of these kinds count."""
    text: str | None
    """A query as for a web search engine: words that must all occur, "a phrase", or, -without. At
    most 10,000 characters. A text of stop words only filters nothing."""
    metadata: Mapping[str, Any] | None
    """The metadata contains this JSON object. {"user.age": {"$gte": 30}} compares the value at a
    path, in which a backslash makes a dot a part of a key; see MetadataFilter."""
    created_after: datetime | None
    """Created at this moment or later; a memory of unknown age does not pass."""
    created_before: datetime | None
    """Created before this moment; a memory of unknown age does not pass."""
    components: Sequence[str] | None
    output_types: Sequence[str] | None
    domains: Sequence[str] | None
    categories: Sequence[str] | None
    loops: Sequence[str] | None
    compliant: bool | None
    needs_review: bool | None
    """Whether feedback called it outdated."""
    min_trust: float | None
    """Trust after decay; a memory whose trust was never assessed does not pass."""
    statuses: Sequence[str]
    """Default: active."""
    include_invalid: bool
    """Includes memories that are not valid at `as_of`: not yet, no longer, invalidated, expired."""
    where: Expression | Sequence[Expression]
    """SQLAlchemy expressions over `repository.memories`. Raw SQL in them must be trusted."""


@dataclass(frozen=True, slots=True)
class FilterShape:
    """Which filters are given, without their values."""

    given: frozenset[str]
    include_invalid: bool
    apply_decay: bool

    @property
    def reads_usage(self) -> bool:
        """Whether a condition needs `memory_usage`."""
        return "min_trust" in self.given and self.apply_decay


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Checked FilterArguments."""

    memory_types: Sequence[str] | None = None
    memory_natures: Sequence[str] | None = None
    content_types: Sequence[str] | None = None
    tiers: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    all_tags: Sequence[str] | None = None
    entities: Sequence[str] | None = None
    all_entities: Sequence[str] | None = None
    labels: Sequence[str] | None = None
    label_kinds: Sequence[str] | None = None
    text: str | None = None
    metadata: Mapping[str, Any] | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None
    components: Sequence[str] | None = None
    output_types: Sequence[str] | None = None
    domains: Sequence[str] | None = None
    categories: Sequence[str] | None = None
    loops: Sequence[str] | None = None
    compliant: bool | None = None
    needs_review: bool | None = None
    min_trust: float | None = None
    statuses: Sequence[str] = ("active",)
    include_invalid: bool = False
    where: Sequence[Expression] = field(default=())
    apply_decay: bool = True
    """Whether min_trust applies to trust after decay. An argument of search, not a filter."""
    taken_apart: MetadataFilter = field(init=False)
    """`metadata`, parsed."""

    @property
    def shape(self) -> FilterShape:
        """The part that the text of a statement depends on."""
        return FilterShape(
            frozenset(self.parameters),
            self.include_invalid,
            self.apply_decay,
        )

    @property
    def are_default(self) -> bool:
        """Whether no filter is given."""
        return not self.where and not self.parameters

    @property
    def parameters(self) -> dict[str, Any]:
        """The values to bind, by name."""
        given = {
            name: list(value) if isinstance(value, Sequence) and name != "text" else value
            for name in _VALUES
            if (value := getattr(self, name)) is not None
        }
        if given["statuses"] == ["active"]:
            del given["statuses"]  # a literal, which is compared faster
        return given | self.taken_apart.parameters

    @classmethod
    def of(cls, arguments: FilterArguments, *, apply_decay: bool = True) -> Self:
        """Checks filters. Raises UnknownName for an unknown filter, InputError for a bad value."""
        known = list(FilterArguments.__annotations__)
        unknown = sorted(set(arguments) - set(known))
        if unknown:
            raise UnknownName(
                f"unknown filter {listed(unknown)}; the filters are {', '.join(known)}"
            )
        given: dict[str, Any] = {k: v for k, v in arguments.items() if v is not None}
        where = given.pop("where", ())
        if not isinstance(where, Sequence) or isinstance(where, str):
            where = (where,)
        return cls(**given, where=tuple(where), apply_decay=apply_decay)

    def __post_init__(self) -> None:
        for name in _TEXTS:
            require_texts(name, getattr(self, name))
        _require_known("tiers", self.tiers, TIERS)
        _require_known("statuses", self.statuses, STATUSES)
        _require_known("label_kinds", self.label_kinds, LABEL_KINDS)
        if self.label_kinds is not None and self.labels is None:
            raise InputError("label_kinds narrows labels down: give labels too")
        taken_apart = MetadataFilter.of({} if self.metadata is None else self.metadata)
        object.__setattr__(self, "taken_apart", taken_apart)
        if self.text is not None:
            require_text("text", self.text)
            if len(self.text) > MAX_FILTER_TEXT:
                raise InputError(
                    f"text may have at most {MAX_FILTER_TEXT:,} characters, got {len(self.text):,}"
                )
        require_bool("include_invalid", self.include_invalid)
        for name in ("compliant", "needs_review"):
            if getattr(self, name) is not None:
                require_bool(name, getattr(self, name))
        require_share("min_trust", self.min_trust)
        require_aware("created_after", self.created_after)
        require_aware("created_before", self.created_before)
        for condition in self.where:
            require_condition(condition)


def _require_known(name: str, values: Sequence[str] | None, known: Sequence[str]) -> None:
    require_texts(name, values)
    unknown = [value for value in values or () if value not in known]
    if unknown:
        raise UnknownName(f"{name}: unknown {listed(unknown)}; known are {', '.join(known)}")
