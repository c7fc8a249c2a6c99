"""A statement of plain SQL with named parameters."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Final

_PARAMETER: Final = re.compile(
    r"(?P<literal>'(?:[^']|'')*'|\"[^\"]*\")|(?<!:):(?P<name>[a-z]\w*)(?:::(?P<type>\w+(?:\[\])?))?"
)


class Statement:
    """SQL with named parameters, such as `:tags::text[]`.

    Compared by identity: the caller keeps those that are executed again.
    """

    def __init__(self, named: str) -> None:
        self.named = named
        """The text with named parameters."""
        self.types: dict[str, str | None] = {}
        """The parameters in the order of their numbers, with the types that the text casts them to;
        None for an embedding, whose type depends on the schema."""
        for found in _PARAMETER.finditer(named):
            if found["name"] and not self.types.get(found["name"]):
                self.types[found["name"]] = found["type"]

    @cached_property
    def numbered(self) -> str:
        """The text with numbers instead of names, as PostgreSQL takes it."""
        numbers = {name: number for number, name in enumerate(self.types, start=1)}
        return _replaced(self.named, lambda name: f"${numbers[name]}")

    @cached_property
    def formatted(self) -> str:
        """The text with names as cursors of psycopg take them."""
        return _replaced(self.named.replace("%", "%%"), lambda name: f"%({name})s")


def _replaced(text: str, write: Callable[[str], str]) -> str:
    def written(found: re.Match[str]) -> str:
        if found["name"] is None:
            return found[0]
        return write(found["name"]) + (f"::{found['type']}" if found["type"] else "")

    return _PARAMETER.sub(written, text)
