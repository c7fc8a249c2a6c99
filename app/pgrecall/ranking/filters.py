"""Filters restrict a search to some memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any, Self, TypedDict

from pgrecall.core.checks import SHARE, Length, Words, checked, require_known
from pgrecall.core.limits import MAX_FILTER_TEXT, STATUSES, TIERS
from pgrecall.ranking.custom_condition import Expression, require_condition
from pgrecall.ranking.metadata_filter import MetadataFilter


def _metadata(name: str, value: Any) -> MetadataFilter:
    return MetadataFilter.of(value)


def _where(name: str, value: Any) -> tuple[Expression, ...]:
    several = isinstance(value, Sequence) and not isinstance(value, str)
    return tuple(map(require_condition, value if several else (value,)))


class FilterArguments(TypedDict, total=False):
    """Keyword arguments that restrict `search`, `count` and others to some memories.

    A memory must pass all filters. It passes a list if it has any of its values.
    """

    memory_types: Sequence[str] | None
    """Only memories of these types, such as fact or task: by memory_type or additional_types."""
    memory_natures: Sequence[str] | None
    """Only memories of these natures, such as semantic or episodic."""
    content_types: Sequence[str] | None
    """Only memories with content in these forms, such as text/markdown."""
    tiers: Annotated[Sequence[str] | None, Words(TIERS)]
    """Only memories in these tiers."""
    tags: Sequence[str] | None
    """Only memories with any of these tags."""
    all_tags: Sequence[str] | None
    """Only memories with every one of these tags."""
    entities: Sequence[str] | None
    """Only memories about any of these entities, or entities with such an alias."""
    all_entities: Sequence[str] | None
    """Only memories about every one of these entities; an alias stands for its entity."""
    text: Annotated[str | None, Length(MAX_FILTER_TEXT)]
    """Only memories with these words, written as for a web search engine: words that must all
    occur, "a phrase", or, -without. At most 10,000 characters. A text of stop words only filters
    nothing."""
    metadata: Annotated[Mapping[str, Any] | None, _metadata]
    """Only memories whose metadata contain this JSON object. {"user.age": {"$gte": 30}} compares
    the value at a path, in which a backslash makes a dot a part of a key; see MetadataFilter."""
    created_after: datetime | None
    """Only memories created at this moment or later; one of unknown age does not pass."""
    created_before: datetime | None
    """Only memories created before this moment; one of unknown age does not pass."""
    components: Sequence[str] | None
    """Only memories produced by these components."""
    output_types: Sequence[str] | None
    """Only memories with these types of output."""
    domains: Sequence[str] | None
    """Only memories of these domains."""
    categories: Sequence[str] | None
    """Only memories of these categories."""
    loops: Sequence[str] | None
    """Only memories of these loops."""
    compliant: bool | None
    """Only memories that passed governance, or only those that did not."""
    needs_review: bool | None
    """Only memories that feedback called outdated, or only others."""
    min_trust: Annotated[float | None, SHARE]
    """Only memories with at least this trust, after decay; one whose trust was never assessed does
    not pass."""
    statuses: Annotated[Sequence[str], Words(STATUSES)]
    """Only memories with these statuses. Default: active."""
    include_invalid: bool
    """Includes memories that are not valid at `as_of`: not yet, no longer, invalidated, expired."""
    where: Annotated[Expression | Sequence[Expression], _where]
    """SQLAlchemy expressions over `repository.memories`. Raw SQL in them must be trusted."""


DEFAULTS: FilterArguments = {"statuses": ("active",), "include_invalid": False, "where": ()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Checked FilterArguments."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """The other filters in use, without those at their default."""
    metadata: MetadataFilter | None = None
    include_invalid: bool = False
    where: Sequence[Expression] = ()

    @property
    def options(self) -> frozenset[str]:
        """The options of a statement that follow from the filters."""
        names = {*self.values}
        if self.metadata is not None:
            names |= self.metadata.options
        if not self.include_invalid:
            names.add("valid")
        return frozenset(names)

    @property
    def are_default(self) -> bool:
        """True if no filter narrows the search."""
        return not self.where and not self.parameters

    @property
    def parameters(self) -> dict[str, Any]:
        """The values to bind, by name."""
        return {**self.values, **({} if self.metadata is None else self.metadata.parameters)}

    def without(self, name: str) -> Self:
        """The same filters except for one."""
        return replace(self, values={n: v for n, v in self.values.items() if n != name})

    @classmethod
    def of(cls, arguments: FilterArguments) -> Self:
        """Checks filters. Raises UnknownName for an unknown filter, InputError for a bad value."""
        require_known(FilterArguments, arguments, "filter", "the filters are", ["agent_id"])
        return cls.among(checked(FilterArguments, arguments))

    @classmethod
    def among(cls, arguments: Mapping[str, Any]) -> Self:
        """The filters among checked arguments."""
        names = FilterArguments.__annotations__
        values = {name: value for name, value in arguments.items() if name in names}
        if [*values.get("statuses", ())] == ["active"]:
            del values["statuses"]  # a literal, which is compared faster
        return cls(
            metadata=values.pop("metadata", None),
            include_invalid=values.pop("include_invalid", False),
            where=values.pop("where", ()),
            values=values,
        )
