"""The rank indexes that a search asks for candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Source:
    """A rank index to search."""

    owner_id: str
    relation: str
    written_until: datetime
    direction: str
    """The query in the rank space, as text."""
    used_direction: str | None
    """The same among memories used since the build; None if use does not matter."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of a search: rank indexes, and owners whose memories are all scored."""

    indexes: Sequence[Source]
    whole: Sequence[str]
    """Owners without an index."""
    words: tuple[float, ...] = ()
    """b and pivot of the keyword signal, if the profile has one."""

    @property
    def options(self) -> list[str]:
        """The options of a statement."""
        return ["index", "whole"] if self.whole else ["index"]

    def parameters(self, candidates: int, reach: int) -> dict[str, Any]:
        """The values to bind in addition to those of the search."""
        fields = ("owner_id", "relation", "direction", "used_direction", "written_until")
        names = ("indexed_owners", "relations", "directions", "used_directions", "written_until")
        parameters: dict[str, Any] = {
            "candidates": candidates,
            "reach": reach,
            **dict(zip(("keyword_b", "keyword_pivot"), self.words, strict=False)),
            **{
                name: [getattr(source, field) for source in self.indexes]
                for name, field in zip(names, fields, strict=True)
            },
        }
        if self.whole:
            parameters["whole_owners"] = list(self.whole)
        return parameters
