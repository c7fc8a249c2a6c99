"""Searches whose hits differ from each other, by the rule of a context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pgrecall.core.limits import COMPARED_PER_HIT, MAX_CONSIDERED
from pgrecall.core.validation import require_diversity
from pgrecall.errors import InputError
from pgrecall.ranking.search_parameters import Search

_MOST = MAX_CONSIDERED // COMPARED_PER_HIT


def require_diverse(
    diversity: float, k: object, arguments: Mapping[str, Any], rerank: object
) -> float:
    """The diversity of a search with these arguments; raises InputError."""
    share = require_diversity(diversity)
    if not share:
        return share
    if arguments.get("expand_session"):
        raise InputError("diversity does not go with expand_session: leave one out")
    if rerank:
        raise InputError("rerank does not go with diversity, which weighs scores: leave one out")
    if isinstance(k, int) and k > _MOST:
        raise InputError(f"with diversity, k may be at most {_MOST}, got {k}")
    return share


def diverse(search: Search, diversity: float) -> Search:
    """The search with this diversity; raises InputError."""
    if search.spans_nodes:
        raise InputError(
            "diversity does not go with teams on Citus, where each owner is ranked on its node: "
            "leave one out"
        )
    return replace(search, diversity=diversity)
