"""What passes a filter, in plain Python, and filters drawn at random for it.

It shares no code with `pgrecall`: a filter means what the page on filters says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from tests.integration.random_memories import Dice

Row = Mapping[str, Any]
"""A memory: the values of all keys but metadata.path, and `metadata`."""
Filter = dict[str, Any]

MISSING: Final = object()
ALIASES: Final = {"annie": "Ann Lee", "the firm": "Acme", "zed": "Zoë"}


# What passes


def passes(given: Filter, row: Row) -> bool:
    return all(_entry(key, value, row) for key, value in given.items())


def _entry(key: str, value: Any, row: Row) -> bool:
    match key.lower().removeprefix("$"):
        case "and":
            return all(passes(one, row) for one in value)
        case "or":
            return any(passes(one, row) for one in value)
        case "not":
            several = value if isinstance(value, list) else [value]
            return not any(passes(one, row) for one in several)
    if isinstance(value, list):
        value = {"$in": value}
    elif not isinstance(value, dict):
        value = {"$eq": value}
    found = row[key] if key in row else at(row["metadata"], key.removeprefix("metadata."))
    return all(_meets(key, found, operator, operand) for operator, operand in value.items())


def at(value: Any, path: str) -> Any:
    """The value that a path leads to; a backslash makes a dot a part of a key."""
    for step in re.split(r"(?<!\\)\.", path):
        key = step.replace("\\.", ".")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and -len(value) <= int(key) < len(value):
            value = value[int(key)]
        else:
            return MISSING
    return value


def _meets(key: str, found: Any, operator: str, operand: Any) -> bool:
    in_metadata = key.startswith("metadata.")
    if isinstance(found, list) and not in_metadata:
        return _has(key, found, operator, operand)
    is_there = found is not MISSING if in_metadata else found is not None
    if operand is None and operator in ("$eq", "$ne") and not in_metadata:
        return is_there == (operator == "$ne")
    match operator:
        case "$exists":
            return is_there is operand
        case "$ne":
            return not (is_there and _same(found, operand))
        case "$nin":
            return not (is_there and any(_same(found, one) for one in operand))
    if not is_there:
        return False
    match operator:
        case "$eq":
            return _same(found, operand)
        case "$in":
            return any(_same(found, one) for one in operand)
        case "$all":
            return isinstance(found, list) and all(
                any(_same(one, asked) for one in found) for asked in operand
            )
        case "$between":
            least, most = operand
            return _ordered(found, "$gte", least) and _ordered(found, "$lte", most)
        case "$like" | "$ilike":
            return isinstance(found, str) and _is_like(found, operand, operator == "$ilike")
        case "$match":
            return _has_words(found, operand)
    return _ordered(found, operator, operand)


def _has(key: str, found: list[str], operator: str, operand: Any) -> bool:
    """Of a column that is a list."""
    if operator == "$exists":
        return bool(found) is operand
    asked = [*operand] if isinstance(operand, list) else [operand]
    if operator == "$all":
        return all(one in found or (key == "entities" and _named(one) in found) for one in asked)
    if key == "entities":
        asked = [*asked, *map(_named, asked)]
    has_any = any(one in found for one in asked)
    return not has_any if operator in ("$ne", "$nin") else has_any


def _named(name: str) -> str:
    return ALIASES.get(name.lower(), name)


def _same(found: Any, asked: Any) -> bool:
    """Equality of JSON: true is not 1, and 1 is 1.0."""
    if isinstance(found, datetime) and isinstance(asked, str):
        return found == datetime.fromisoformat(asked)
    if isinstance(found, UUID):
        return str(found) == str(asked)
    if isinstance(found, bool) or isinstance(asked, bool):
        return found is asked
    if isinstance(found, list) and isinstance(asked, list):
        return len(found) == len(asked) and all(map(_same, found, asked))
    if isinstance(found, dict) and isinstance(asked, dict):
        return found.keys() == asked.keys() and all(_same(found[k], asked[k]) for k in found)
    return bool(found == asked)


def _ordered(found: Any, operator: str, asked: Any) -> bool:
    if isinstance(found, datetime) and isinstance(asked, str):
        asked = datetime.fromisoformat(asked)
    numbers = not isinstance(found, bool) and isinstance(found, int | float)
    if numbers != isinstance(asked, int | float) or not isinstance(
        found, int | float | str | datetime
    ):
        return False
    if isinstance(found, bool):
        return False
    match operator:
        case "$gt":
            return bool(found > asked)
        case "$gte":
            return bool(found >= asked)
        case "$lt":
            return bool(found < asked)
        case _:
            return bool(found <= asked)


def _is_like(found: str, pattern: str, folds: bool) -> bool:
    pieces = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    written = "".join(wild.get(piece, re.escape(piece[-1])) for piece in pieces)
    return bool(re.fullmatch(written, found, re.DOTALL | (re.IGNORECASE if folds else 0)))


def _has_words(content: str, asked: str) -> bool:
    """Alternatives of words that must all occur; -word must not, "a phrase" as a whole."""
    said = content.lower().split()

    def occurs(phrase: str) -> bool:
        words = phrase.strip('"').split()
        return any(said[n : n + len(words)] == words for n in range(len(said)))

    def all_of(part: str) -> bool:
        words = re.findall(r'-?(?:"[^"]*"|\S+)', part)
        return all(not occurs(word[1:]) if word.startswith("-") else occurs(word) for word in words)

    return any(map(all_of, asked.split(" or ")))


def decayed_trust(row: Row, as_of: datetime) -> float | None:
    trust: float | None = row["trust"]
    clock: datetime | None = row["last_accessed_at"]
    if trust is None or clock is None or clock >= as_of:
        return trust
    half_life: float = row["trust_half_life_hours"] or 168.0
    halves = (as_of - clock).total_seconds() / 3600 / half_life
    match row["trust_curve"]:
        case "exponential":
            return trust * math.exp(-math.log(2) * halves)
        case "linear":
            return trust * max(0.0, 1 - halves / 2)
    return trust / (1 + halves)


# Filters at random

SAME: Final = ("$eq", "$ne")
AMONG: Final = ("$in", "$nin")
ORDERED: Final = ("$gt", "$gte", "$lt", "$lte", "$between")
ALIKE: Final = ("$like", "$ilike")
OPERATORS: Final[Mapping[str, Sequence[str]]] = {
    "text": (*SAME, *AMONG, *ORDERED, *ALIKE, "$exists"),
    "unsorted": (*SAME, *AMONG, *ALIKE, "$exists"),
    "float8": (*SAME, *AMONG, *ORDERED, *ORDERED, "$exists"),
    "integer": (*SAME, *AMONG, *ORDERED, "$exists"),
    "timestamptz": (*SAME, *AMONG, *ORDERED, "$exists"),
    "uuid": (*SAME, *AMONG, "$exists"),
    "boolean": (*SAME, *AMONG, "$exists"),
    "text[]": (*SAME, *AMONG, "$all", "$exists"),
    "jsonb": (*SAME, *AMONG, *ORDERED, *ALIKE, "$all", "$exists"),
    "vector": ("$exists",),
}
GROUPS: Final = ("$and", "$or", "$not", "AND", "OR", "NOT")
ODD: Final = 'it\'s "%s" :x %(y)s'
PATHS: Final = (
    *("project", "priority", "done", "nothing", "any", "user", "user.age", "user.name"),
    *("user.scores", "user.scores.0", "user.scores.-1", "user.deep.x", "list", "list.1", "absent"),
    *("app\\.version", ODD),
)
UNSORTED: Final = ("content", f"metadata.{ODD}")
"""Their texts have signs, capitals and spaces, which servers sort in different ways."""
MATCHES: Final = (
    *("lamp", "lamp boat", "lamp or boat", "-lamp", "boat -lamp", '"lamp boat"', "river or -boat"),
    *('-"boat river"', "garden river lamp", "lamp -boat or garden", "nowhere", "-nowhere"),
)
DEEPEST: Final = 7
"""Groups within each other; what they contain is the eighth level."""


class Filters:
    """Draws filters about values that some memories have."""

    def __init__(self, dice: Dice, types: Mapping[str, str], pool: Mapping[str, Sequence[Any]]):
        self.dice, self.pool = dice, pool
        self.types = dict(types) | {f"metadata.{path}": "jsonb" for path in PATHS}
        self.keys = [*self.types, *("content", "decayed_trust", "similarity") * 2]

    def draw(self, *, similarity: bool) -> Filter:
        """A filter; two of three have groups, few many of them."""
        dice = self.dice
        deepest = dice.pick([0, 0, 1, 2, 2, 3, DEEPEST])
        self.left = 25
        return self._mapping(deepest, similarity)

    def _mapping(self, depth: int, similarity: bool) -> Filter:
        found: Filter = {}
        for _ in range(self.dice.pick([1, 1, 1, 2])):
            self.left -= 1
            if depth and self.left > 0 and self.dice.maybe(0.8):
                group = self.dice.pick(GROUPS)
                several = [
                    self._mapping(depth - 1, similarity) for _ in range(self.dice.whole(1, 3))
                ]
                alone = group in ("$not", "NOT") and self.dice.maybe(0.7)
                found[group] = several[0] if alone else several
            else:
                key = self.dice.pick(self.keys)
                if key != "similarity" or similarity:
                    found[key] = self._condition(key)
        return found or {"importance": {"$gte": self.dice.random()}}

    def _condition(self, key: str) -> Any:
        dice, type_ = self.dice, self.types[key]
        if key == "content" and dice.maybe(0.5):
            return {"$match": dice.pick(MATCHES)}
        if type_ != "vector" and dice.maybe(0.2):
            several = dice.maybe(0.4)
            return [self._value(key), self._value(key)] if several else self._plain(key)
        known = OPERATORS["unsorted" if key in UNSORTED else type_]
        operators = [dice.pick(known) for _ in range(1 if dice.maybe(0.8) else 2)]
        return {one: self._operand(key, one) for one in dict.fromkeys(operators)}

    def _plain(self, key: str) -> Any:
        """A value that is no list or mapping, which mean something else."""
        value = self._value(key)
        return value if not isinstance(value, list | dict) else "x"

    def _operand(self, key: str, operator: str) -> Any:
        dice = self.dice
        match operator:
            case "$exists":
                return dice.maybe(0.5)
            case "$in" | "$nin" | "$all":
                values = [self._value(key) for _ in range(dice.whole(1, 3))]
                if operator == "$all" and key.startswith("metadata."):
                    return [one for one in values if not isinstance(one, list | dict)] or [1]
                return values
            case "$between":
                return [self._ordered_value(key), self._ordered_value(key)]
            case "$like" | "$ilike":
                return self._pattern(key)
            case "$eq" | "$ne":
                no_value = self.types[key] not in ("text[]", "jsonb") and dice.maybe(0.1)
                return None if no_value else self._value(key)
        return self._ordered_value(key)

    def _value(self, key: str) -> Any:
        """Of some memory, or of none."""
        dice, known = self.dice, self.pool[key]
        if key.startswith("metadata."):
            return dice.pick(
                [*known, *self.pool["metadata"], "nowhere", 7.5, None, [1, 2], {"a": 1}]
            )
        if self.types[key] == "float8" and dice.maybe(0.5):
            return dice.random()
        return dice.pick(known)

    def _ordered_value(self, key: str) -> Any:
        for _ in range(20):
            value = self._value(key)
            if isinstance(value, int | float | str | datetime) and not isinstance(value, bool):
                return value
        return 3

    def _pattern(self, key: str) -> str:
        for _ in range(20):
            value = self._value(key)
            if isinstance(value, str) and value:
                start = self.dice.whole(0, len(value) - 1)
                part = re.sub(r"([%_\\])", r"\\\1", value[start : start + 3])
                return self.dice.pick([f"%{part}%", f"{part}%", f"_{part}%", value, value.upper()])
        return "%a%"
