"""The metadata filter: containment, and comparisons of single keys.

{"project": "quaybook"}                     containment
{"priority": {"$gte": 3}, "state": {"$in": ["open", "late"]}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pgrecall.core.quoting import shortened
from pgrecall.core.validation import require_json_object
from pgrecall.errors import InputError, UnknownName

OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists")
ORDERED = ("$gt", "$gte", "$lt", "$lte")
_LISTS = ("$in", "$nin")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One operator applied to the value of a top-level key."""

    key: str
    operator: str
    value: Any


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """A parsed filter on metadata; containment and all comparisons must hold."""

    contained: dict[str, Any]
    comparisons: tuple[Comparison, ...]

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Self:
        """Parses a filter. An object whose keys begin with $ contains operators.

        Everything else is compared by containment. If the key is missing, `$ne` and `$nin` pass and
        other operators do not. Orderings compare numbers with numbers and texts with texts.

        Raises UnknownName for an unknown operator, InputError for a value that does not fit it.
        """
        require_json_object("metadata", metadata)
        contained: dict[str, Any] = {}
        comparisons: list[Comparison] = []
        for key, value in metadata.items():
            if isinstance(value, Mapping) and any(str(name).startswith("$") for name in value):
                comparisons += (_comparison(key, name, asked) for name, asked in value.items())
            else:
                contained[key] = value
        return cls(contained, tuple(comparisons))

    @property
    def parameters(self) -> dict[str, Any]:
        """The values to bind, by name."""
        found: dict[str, Any] = {"metadata": self.contained} if self.contained else {}
        for number, comparison in enumerate(self.comparisons):
            found[f"metadata_key_{number}"] = comparison.key
            found[f"metadata_value_{number}"] = comparison.value
        return found


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
