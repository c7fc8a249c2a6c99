"""The metadata filter: containment, and comparisons of single values.

{"project": "quaybook"}                     containment
{"priority": {"$gte": 3}, "state": {"$in": ["open", "late"]}}
{"user.age": {"$gte": 30}}                  a path into nested objects
{"app\\.version": "4.19"}                   the key "app.version"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pgrecall.core.limits import MAX_COMPARISONS, MAX_DEPTH, MAX_FILTER_TEXT
from pgrecall.core.metadata_path import path_of, value_at
from pgrecall.core.quoting import shortened
from pgrecall.core.validation import require_few_values, require_json_object
from pgrecall.errors import InputError, UnknownName

OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists")
ORDERED = ("$gt", "$gte", "$lt", "$lte")
_LISTS = ("$in", "$nin")
MOST_APART = 4
"""Up to so many comparisons are conditions of their own, which is several times as fast: 1, 2 or 4,
whatever their operators are. More are one value, so that few statements have to be built."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One operator applied to the value at a path."""

    key: str
    """The path as it is written."""
    operator: str
    value: Any

    @property
    def apart(self) -> dict[str, Any]:
        """As the SQL function meets_comparison takes it, with the path to what it finds."""
        among = self.value if self.operator in _LISTS else None
        return {
            "path": path_of(self.key),
            "operator": self.operator,
            "value": self.value,
            "among": among,
        }

    @property
    def bound(self) -> dict[str, Any]:
        """As the SQL function unmet_comparison takes it. The path is an array as text."""
        steps = (re.sub(r'(["\\])', r"\\\1", step) for step in path_of(self.key))
        path = "{" + ",".join(f'"{step}"' for step in steps) + "}"
        return {"path": path, "operator": self.operator, "value": self.value}

    def found_in(self, metadata: Any) -> Any:
        """The value that is compared, or "missing"."""
        return value_at(metadata, path_of(self.key))


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """A parsed filter on metadata; containment and all comparisons must hold."""

    contained: dict[str, Any]
    comparisons: tuple[Comparison, ...]
    parameters: dict[str, Any]
    """The values to bind, by name."""

    @property
    def options(self) -> set[str]:
        """The options of a statement: whether it contains, and what it compares."""
        options = self.parameters.keys() & {"metadata", "compared"}
        apart = (f"compared_{place}_path" in self.parameters for place in range(MOST_APART))
        return options | {f"comparison_{n}" for n, is_on in enumerate(apart, start=1) if is_on}

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Self:
        """Parses a filter. An object whose keys begin with $ contains operators.

        A key with a dot is a path, `steps.0` the first element of the list `steps`. A dot that
        belongs to a key is written `\\.`, and a backslash before a dot or a backslash `\\\\`.
        What has no operator is compared by `$eq` if it has a path, else by containment. If the
        value is missing, `$ne` and `$nin` pass and other operators do not.

        Raises UnknownName for an unknown operator, InputError for a value that does not fit it and
        for a filter beyond the limits.
        """
        require_few_values("metadata", metadata)
        require_json_object("metadata", metadata)
        contained: dict[str, Any] = {}
        comparisons: list[Comparison] = []
        for key, value in metadata.items():
            if len(key) > MAX_FILTER_TEXT or len(path := path_of(key)) > MAX_DEPTH:
                raise InputError(
                    f"metadata[{shortened(key)}]: a path may have at most {MAX_DEPTH} keys and "
                    f"{MAX_FILTER_TEXT:,} characters"
                )
            if isinstance(value, Mapping) and any(str(name).startswith("$") for name in value):
                comparisons += (_comparison(key, name, operand) for name, operand in value.items())
            elif len(path) > 1:
                comparisons.append(Comparison(key, "$eq", value))
            elif path[0] in contained:
                raise InputError(f"metadata[{shortened(key)}] is given twice")
            else:
                contained[path[0]] = value
            if len(comparisons) > MAX_COMPARISONS:
                raise InputError(f"metadata may have at most {MAX_COMPARISONS} comparisons")
        bound: dict[str, Any] = {"metadata": contained} if contained else {}
        if len(comparisons) > MOST_APART:
            bound["compared"] = [comparison.bound for comparison in comparisons]
        elif comparisons:
            number = 1 << (len(comparisons) - 1).bit_length()
            for place in range(number):  # the last once more, so that few numbers occur
                one = comparisons[min(place, len(comparisons) - 1)]
                bound |= {f"compared_{place}_{name}": part for name, part in one.apart.items()}
        return cls(contained, tuple(comparisons), bound)


def _comparison(key: str, operator: str, value: Any) -> Comparison:
    if operator not in OPERATORS:
        raise UnknownName(
            f"metadata[{shortened(key)}]: unknown operator {shortened(operator)}; "
            f"the operators are {', '.join(OPERATORS)}"
        )
    what = f"metadata[{shortened(key)}]: {operator} takes"
    if operator in _LISTS and not isinstance(value, list | tuple):
        raise InputError(f"{what} a list, got {shortened(value)}")
    if operator == "$exists" and not isinstance(value, bool):
        raise InputError(f"{what} True or False, got {shortened(value)}")
    if operator in ORDERED and (
        isinstance(value, bool) or not isinstance(value, int | float | str)
    ):
        raise InputError(f"{what} a number or a text, got {shortened(value)}")
    return Comparison(key, operator, list(value) if operator in _LISTS else value)
