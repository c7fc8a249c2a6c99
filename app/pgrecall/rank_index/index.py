"""Records of rank indexes: the index, its status, and the result of a check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from pgrecall.rank_index.space import VERSION
from pgrecall.scoring.profile import Profile
from pgrecall.scoring.profiles import is_built_in

AT_LEAST = 5_000
"""From this number of memories on, an index was measured to be faster than ranking all of them."""
M, EF_CONSTRUCTION = 16, 128
"""Parameters of the HNSW graph, chosen by measurement. With smaller values, more queries miss their
topic entirely; with m 24, a search of 100,000 compares fewer positions for the same hits, but each
takes a third longer."""
LARGE, M_OF_LARGE = 250_000, 24
"""The graph of more memories has at least this m: with 16, walks reached only nine of ten of the
best among a million memories without topics, however far they went."""

LEVELS = (25, 40, 64, 80, 100, 125, 150, 200, 250, 300, 400, 600)
"""How many candidates a search may take from the graph. Each build measures which of them suffices,
for each built-in profile but `hybrid`, and for similarity alone."""
MEASURED_HITS = 10
"""How many best memories of each question these numbers are measured with."""
MAX_BESIDE = 2_000
"""An index is rebuilt above this number of memories, and a fiftieth of those in it, that are not in
its graph. Each costs a search some microseconds, or, once maintenance has placed it, one."""
MAX_AGE = timedelta(days=28)
"""Maintenance is due after this time, since the graph favours what was recent at its build."""


@dataclass(frozen=True, slots=True)
class RankIndex:
    """The rank index of one owner's memories."""

    agent_id: str
    """The owner: an agent, or team:<id>."""
    relation: str
    """The main table of its positions."""
    space: int
    """The version of the rank space."""
    as_of: datetime
    """The moment that positions were computed at. Searches with an earlier `as_of` are exact."""
    built_at: datetime
    written_until: datetime
    """Memories written or changed before this moment are in the index; later ones are scored beside
    it."""
    memories: int
    """Number of memories that its build put into it."""
    at_least: int
    """Searches use the index if it has at least this many memories."""
    m: int
    ef_construction: int
    seconds: float
    """Duration of the build."""
    candidates: int
    """How many candidates a search first takes from the graph: the most of these profiles."""
    candidates_alone: int
    """The same where one signal has most of the weight."""
    candidates_by_profile: Mapping[str, int] = field(hash=False)
    """The same by a built-in profile, for each that the build measured."""

    def candidates_for(self, profile: Profile) -> int:
        """How many candidates a search by this profile first takes from the graph."""
        if is_built_in(profile):
            return self.candidates_by_profile.get(profile.name, self.candidates)
        return self.candidates

    @property
    def is_usable(self) -> bool:
        """True if this version of pgrecall can search the index."""
        return self.space == VERSION

    def record(self) -> dict[str, Any]:
        """The fields as plain JSON values."""
        return asdict(self) | {
            "as_of": self.as_of.isoformat(),
            "built_at": self.built_at.isoformat(),
            "written_until": self.written_until.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class RankIndexStatus:
    """A rank index and what changed since its build; `index` is None if one should be built."""

    agent_id: str
    index: RankIndex | None
    written: int
    """Number of memories written since `written_until`."""
    changed: int
    used: int
    """Number of memories retrieved since the build. The index follows them."""
    bytes: int
    due: str | None
    """Why maintenance is needed; None if it is not."""
    shrunk: bool = False
    """True if the owner has fewer than half of the memories that the index is for, so that
    maintenance drops it."""
    memories: int | None = None
    """Number of the owner's active memories; None if there is an index."""
    progress: float | None = None
    """How much of the graph is built, 0 to 1, while the server builds one for this owner."""

    @property
    def beside(self) -> int:
        """At most this many memories are scored in addition to the index."""
        return self.written + self.changed

    def record(self) -> dict[str, Any]:
        """The status as plain JSON values."""
        return {
            "agent_id": self.agent_id,
            "due": self.due,
            "shrunk": self.shrunk,
            "written": self.written,
            "changed": self.changed,
            "used": self.used,
            "bytes": self.bytes,
            "memories": self.memories,
            "progress": self.progress,
            "index": None if self.index is None else self.index.record(),
        }


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
