"""Filters: which memories a read is about, as one mapping that any client can send as JSON.

    {"memory_type": "fact", "tags": ["work", "home"], "metadata.priority": {"$gte": 3},
     "$or": [{"session": "call-7"}, {"importance": {"$gt": 0.8}}], "$not": {"subject": "Ines"}}

A filter is checked here, before anything runs, and becomes a tree whose values stand apart, so that
filters of the same shape share one statement. `conditions` writes the tree as SQL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Self, TypedDict, cast

from sqlalchemy import ColumnElement, TextClause

from pgrecall.core.checks import checked, require_known
from pgrecall.core.limits import (
    MAX_CONDITIONS,
    MAX_FILTER_DEPTH,
    MAX_FILTER_VALUES,
    MAX_VALUES,
)
from pgrecall.core.metadata_path import path_of
from pgrecall.core.quoting import cut, shortened
from pgrecall.core.validation import require_bool
from pgrecall.errors import InputError
from pgrecall.ranking.custom_condition import require_condition
from pgrecall.ranking.filter_keys import (
    AMONG,
    GROUPS,
    MATCH,
    SAME,
    bound_value,
    column_of,
    require_operator,
)

LONGEST_KEY: Final = 100
"""In characters, of a key in a message."""


class Comparison(NamedTuple):
    """One operator, applied to a column or to a value in metadata."""

    column: str
    type: str
    operator: str
    """As it is written, but `$missing` for `$exists` of False."""
    place: int
    """The number of its value; in metadata, that of the path comes behind it."""

    @property
    def reads(self) -> frozenset[str]:
        """The column that it reads."""
        return frozenset({self.column})


class Group(NamedTuple):
    """Conditions of which all (`$and`) or any (`$or`) must hold, or none (`$not`)."""

    operator: str
    children: tuple[Node, ...]

    @property
    def reads(self) -> frozenset[str]:
        """The columns that its conditions read."""
        return frozenset().union(*(child.reads for child in self.children))


Node = Comparison | Group
Condition = ColumnElement[bool] | TextClause
Filter = Mapping[str, Any] | Condition
"""What the argument `filter` takes."""


class Part(NamedTuple):
    """A condition that a memory must meet, with the key that explains it."""

    key: str
    node: Node | Condition
    given: Any
    """What was written below the key."""


class FilterArguments(TypedDict, total=False):
    """Keyword arguments that restrict a read to some memories.

    `filter` may also be a SQLAlchemy condition over `repository.memories`, or have such conditions
    below $and. Raw SQL in them must be trusted.
    """

    filter: Filter | None
    """Only memories that meet these conditions. A key is a column of a memory, a counter such as
    retrieval_count, metadata.path.to.it, provenance.component, similarity (the cosine with the
    query), decayed_trust, or $and, $or, $not. A value is compared for equality, a list means any of
    them, a mapping has operators: $eq $ne $gt $gte $lt $lte $between $in $nin $exists $all $match
    $like $ilike. At most 8 levels, 200 conditions, and 10,000 values in all lists."""
    include_inactive: bool
    """Looks at every memory: also at those that are not active, or not valid at `as_of`."""


DEFAULTS: FilterArguments = {"include_inactive": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """A checked filter."""

    parts: tuple[Part, ...] = ()
    """All must hold."""
    values: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """The values to bind, by name."""
    words: tuple[str, ...] = ()
    """The texts that `$match` compares with."""
    include_inactive: bool = False

    @property
    def are_default(self) -> bool:
        """True if the filter leaves nothing out."""
        return not self.parts

    @property
    def reads(self) -> frozenset[str]:
        """The columns that the mapping reads."""
        nodes = (part.node for part in self.parts)
        return frozenset().union(
            *(node.reads for node in nodes if isinstance(node, Comparison | Group))
        )

    @property
    def options(self) -> frozenset[str]:
        """The options of a statement that follow from the filters."""
        return frozenset({"statuses"} if self.include_inactive else {"valid"})

    @classmethod
    def of(cls, arguments: FilterArguments) -> Self:
        """Checks filters. Raises UnknownName for an unknown argument, key or operator, InputError
        for a bad value."""
        require_known(FilterArguments, arguments, "argument", "besides", ["agent_id"])
        return cls.among(checked(FilterArguments, arguments))

    @classmethod
    def among(cls, arguments: Mapping[str, Any]) -> Self:
        """The filter among checked arguments."""
        reader = _Reader()
        parts = tuple(reader.parts(arguments.get("filter")))
        return cls(
            parts=parts,
            values=MappingProxyType(reader.values),
            words=tuple(reader.words),
            include_inactive=arguments.get("include_inactive", False),
        )


class _Reader:
    """Reads one filter; keeps the values to bind, and counts conditions and values in lists."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.words: list[str] = []
        self.conditions = self.listed = 0

    def parts(self, given: object, depth: int = 1) -> Iterator[Part]:
        """The conditions of a whole filter; those below `$and` are parts of their own."""
        if given is None and depth == 1:
            return
        if isinstance(given, ColumnElement | TextClause):
            self._count()
            yield Part("filter", require_condition(given), given)
            return
        where = "filter" if depth == 1 else "$and"
        for key, value in _mapping(where, given, empty=depth == 1).items():
            if GROUPS.get(key) != "$and":
                yield Part(str(key), self._entry(key, value, depth), value)
                continue
            _require_depth(key, depth)
            for one in _conditions(key, value):
                yield from self.parts(one, depth + 1)

    def _node(self, where: str, given: object, depth: int) -> Node:
        """A filter below a group."""
        if isinstance(given, ColumnElement | TextClause):
            raise InputError(
                f"filter: {where} takes mappings; a SQLAlchemy condition may stand alone or below "
                "$and, and combine others by or_() and not_() itself"
            )
        entries = [self._entry(*one, depth) for one in _mapping(where, given, empty=False).items()]
        return entries[0] if len(entries) == 1 else Group("$and", tuple(entries))

    def _entry(self, key: object, value: object, depth: int) -> Node:
        if not isinstance(key, str):
            raise InputError(f"filter: a key must be text, got {shortened(key)}")
        if (group := GROUPS.get(key)) is None:
            return self._comparisons(key, value)
        _require_depth(key, depth)
        below = [value] if group == "$not" and isinstance(value, Mapping) else value
        conditions = _conditions(key, below)
        return Group(group, tuple(self._node(key, one, depth + 1) for one in conditions))

    def _comparisons(self, key: str, value: object) -> Node:
        column, type_ = column_of(key)
        if isinstance(value, Mapping):
            operators = _mapping(key, value, empty=False)
        else:
            operators = {"$in" if _is_list(value) else "$eq": value}
        nodes = [self._comparison(key, column, type_, *one) for one in operators.items()]
        return nodes[0] if len(nodes) == 1 else Group("$and", tuple(nodes))

    def _comparison(self, key: str, column: str, type_: str, operator: Any, value: Any) -> Node:
        shown = cut(key, LONGEST_KEY)
        require_operator(shown, type_, operator)
        if operator == "$between":
            pair = _list(f"{shown}: $between", value)
            if len(pair) != 2:
                raise InputError(
                    f"filter: {shown}: $between takes two values, the least and the most"
                )
            ends = zip(("$gte", "$lte"), pair, strict=True)
            return Group("$and", tuple(self._comparison(key, column, type_, *end) for end in ends))
        self._count()
        what = f"filter: {shown}" if operator == "$eq" else f"filter: {shown}: {operator}"
        if operator == "$exists" or (
            value is None and operator in SAME and type_ not in ("jsonb", "text[]")
        ):
            exists = require_bool(what, value) if operator == "$exists" else operator == "$ne"
            operator, bound = "$exists" if exists else "$missing", None
        elif operator in (*AMONG, "$all"):
            several = _list(what, value)
            self._count_values(len(several))
            bound = [bound_value(what, column, type_, operator, one) for one in several]
        else:
            bound = bound_value(what, column, type_, operator, value)
        if type_ == "text[]" and operator in SAME:
            bound = [bound]
        if operator == MATCH:
            self.words.append(cast(str, bound))
        place = len(self.values)
        self.values[f"f{place}"] = bound
        if type_ == "jsonb":
            self.values[f"f{place + 1}"] = path_of(key)[1:]
        return Comparison(column, type_, operator, place)

    def _count(self) -> None:
        self.conditions += 1
        if self.conditions > MAX_CONDITIONS:
            raise InputError(f"filter: at most {MAX_CONDITIONS} conditions, got more")

    def _count_values(self, number: int) -> None:
        self.listed += number
        if self.listed > MAX_FILTER_VALUES:
            raise InputError(f"filter: at most {MAX_FILTER_VALUES:,} values in all lists, got more")


def _mapping(where: str, given: object, *, empty: bool = True) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        takes = "filter must be a mapping"
        if where != "filter":
            takes = f"filter: {where} takes mappings"
        raise InputError(f"{takes}, got {type(given).__name__} {shortened(given)}")
    if not given and not empty:
        raise InputError(f"filter: {where} is given an empty mapping, which all memories pass")
    return given


def _conditions(key: object, given: object) -> Sequence[Any]:
    if not _is_list(given):
        raise InputError(f"filter: {key} takes a list of mappings, got {shortened(given)}")
    return _list(str(key), given)


def _require_depth(key: object, depth: int) -> None:
    if depth >= MAX_FILTER_DEPTH:
        raise InputError(f"filter: {key} is nested more than {MAX_FILTER_DEPTH} levels deep")


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence | Set) and not isinstance(value, str | bytes)


def _list(what: str, value: object) -> list[Any]:
    where = what if what.startswith("filter") else f"filter: {what}"
    if not _is_list(value):
        raise InputError(f"{where} takes a list, got {shortened(value)}")
    several = cast(Sequence[Any], value)
    if not several:
        raise InputError(f"{where} has an empty list: leave it out")
    if len(several) > MAX_VALUES:
        raise InputError(f"{where} may have at most {MAX_VALUES:,} values, got {len(several):,}")
    return [*several]
