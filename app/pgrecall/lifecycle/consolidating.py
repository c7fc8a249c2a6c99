"""Consolidation: replaces similar memories by one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from uuid import UUID

from pgrecall.core.quoting import shortened
from pgrecall.core.steps import Ask, Job, Part, says_how_far
from pgrecall.core.validation import require_bool, require_callable
from pgrecall.errors import InputError
from pgrecall.lifecycle.cluster import Cluster, Consolidation
from pgrecall.lifecycle.curating import NEWEST, clusters, consolidate_cluster
from pgrecall.memories.event_fields import check_audit_fields

Summarise = Callable[[list[str]], str] | Callable[[list[str]], Awaitable[str]]


def consolidate(
    agent_id: str | UUID,
    summarise: Summarise | None = None,
    *,
    min_similarity: float = 0.80,
    min_size: int = 3,
    more_than: int = 20,
    newest: int = NEWEST,
    actor: str | None = None,
    dry_run: bool = False,
    on_progress: Callable[[int, int], Any] | None = None,
) -> Job[list[Consolidation]]:
    """Finds groups of similar active memories and stores one new memory in place of each.

    A group has at least `min_size` memories whose similarity to the central one is at least
    `min_similarity`; no memory is in two. They are found among the `newest` memories, and only if
    the agent has more than `more_than`. With `dry_run` they are returned, and nothing changes.

    `summarise` makes the new text from the cluster's texts, the most central first; without it the
    central memory's text and vector are used. The status of the sources becomes consolidated, and
    links of the kind consolidates lead to them. The new memory's importance is min(greatest of the
    sources + 0.1, 1), and its trust and usefulness are the means of theirs.

    Each cluster is a transaction of its own; `summarise` runs outside of it. A cluster that was
    changed meanwhile is left as it is. `on_progress(done, of)` is called after each.
    """
    require_callable("summarise", summarise)
    require_callable("on_progress", on_progress)
    require_bool("dry_run", dry_run)
    check_audit_fields(reason=None, actor=actor)
    similar: list[Cluster] = yield Part(
        partial(
            clusters,
            agent_id=agent_id,
            min_similarity=min_similarity,
            min_size=min_size,
            more_than=more_than,
            newest=newest,
        )
    )
    if dry_run:
        return [one.replaced(None, _importance(one)) for one in similar]
    done: list[Consolidation] = []
    with says_how_far(lambda: f"{len(done)} of {len(similar)} clusters are consolidated"):
        for number, cluster in enumerate(similar, start=1):
            text: Any = None
            if summarise is not None:
                text = yield Ask(summarise, ([member.content for member in cluster.memories],))
                if not isinstance(text, str) or not text.strip():
                    raise InputError(f"summarise must return a text, got {shortened(text)}")
            result: Consolidation | None = yield Part(
                partial(
                    consolidate_cluster, agent_id=agent_id, cluster=cluster, text=text, actor=actor
                )
            )
            if result is not None:
                done.append(result)
            if on_progress is not None:
                yield Ask(on_progress, (number, len(similar)))
    return done


def _importance(cluster: Cluster) -> float:
    return min(max(memory.importance for memory in cluster.memories) + 0.1, 1.0)
