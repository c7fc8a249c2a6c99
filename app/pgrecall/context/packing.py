"""Packing: selects memories for a prompt, in the statement that ranks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from pgrecall.context.styles import CATEGORY_PIECES, LINE_BREAKS, MAX_CATEGORY_LENGTH, Added, Style
from pgrecall.core.steps import Run
from pgrecall.core.tokens import PIECES
from pgrecall.rank_index.index import Sources
from pgrecall.rank_index.strategy import over_candidates
from pgrecall.ranking.composing import ranks
from pgrecall.ranking.search_parameters import Search
from pgrecall.schema import Tables
from pgrecall.scoring.scored_memory import ScoredMemory

PACKED = "packed"
MAX_SKIPS = 3
"""After so many memories in a row that do not fit, packing stops."""
MOST = 2_000_000_000
"""Greatest estimate of one memory's tokens, so that the sum with its block is still an integer."""


@dataclass(frozen=True, slots=True)
class Packing:
    """The arguments of packing; `MemoryRepository.context` describes each of them."""

    budget: int
    """Tokens for all blocks, without the frame that the style adds around them."""
    most: int
    min_score: float
    min_relevance: float | None
    style: Style
    added: Added
    reserve: Mapping[str, float] = field(default_factory=dict)
    diversity: float = 0.0
    max_similarity: float | None = None
    measured: Mapping[UUID, int] = field(default_factory=dict)
    """Counted tokens of memories whose estimates were too low."""
    reranked: Mapping[tuple[str, UUID], ScoredMemory] = field(default_factory=dict)
    """The memories that come first, by owner and id, in the order of a reranker."""

    @property
    def options(self) -> list[str]:
        """The options of its statement."""
        options = {
            "compares": self.diversity > 0 or self.max_similarity is not None,
            "indents": bool(self.style.indent),
            "escapes": bool(self.style.escaped),
            "reranked": bool(self.reranked),
        }
        return [name for name, is_on in options.items() if is_on]

    @property
    def parameters(self) -> dict[str, Any]:
        """The values to bind, by name."""
        return {
            "budget": self.budget,
            "most": self.most,
            "floor": self.min_score,
            **({} if self.min_relevance is None else {"min_relevance": self.min_relevance}),
            "max_skips": MAX_SKIPS,
            **estimate_values(self.style, self.added),
            "reserved_types": list(self.reserve),
            "reserved_shares": list(self.reserve.values()),
            "diversity": self.diversity,
            "max_similarity": self.max_similarity,
            "measured_ids": list(self.measured),
            "measured_costs": list(self.measured.values()),
            **(
                {
                    "reranked_owners": [owner_id for owner_id, _ in self.reranked],
                    "reranked_ids": [id_ for _, id_ in self.reranked],
                }
                if self.reranked
                else {}
            ),
        }


def estimate_values(style: Style, added: Added) -> dict[str, Any]:
    """The values by which the statement estimates the tokens of a memory and its block."""
    return {
        "per_block": added.per_block,
        "per_line": added.per_line,
        "per_escape": added.per_escape,
        "pieces": PIECES,
        "category_pieces": CATEGORY_PIECES,
        "line_breaks": LINE_BREAKS,
        "escaped": style.escaped,
        "most_tokens": MOST,
        "longest_kind": MAX_CATEGORY_LENGTH,
    }


def pack(tables: Tables, search: Search, packing: Packing, **values: Any) -> Run:
    """All considered memories with the columns of a search, and for each its `place` from 1, the
    estimated tokens `cost`, the `verdict`, "packed" or the reason for leaving it out, the `step`
    at which that was reached, and `near`, the place of the memory that it is a near duplicate of or
    came along with."""
    values = packing.parameters | values
    options = packing.options
    return ranks(tables, "context", search, *options, may_prepare=search.may_prepare, **values)


def pack_candidates(
    tables: Tables,
    search: Search,
    sources: Sources,
    values: Mapping[str, Any],
    *,
    packing: Packing,
) -> Run:
    """Like `pack`, for candidates of rank indexes; adds `passed` and `total`."""
    parameters = {**packing.parameters, **values}
    return over_candidates(tables, search, sources, parameters, *packing.options, name="context")
