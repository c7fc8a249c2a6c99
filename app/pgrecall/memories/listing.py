"""Lists memories and owners, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Unpack
from uuid import UUID

from pgrecall.core.memory import Memory, memory_in_full
from pgrecall.core.steps import READS, Operation, needs
from pgrecall.core.validation import (
    require_aware,
    require_bool,
    require_count,
    require_name,
    require_text,
)
from pgrecall.memories.list_statement import page
from pgrecall.memories.ordering import NEWEST_FIRST, Ordering
from pgrecall.memories.owner_count import OwnerCount
from pgrecall.memories.page import Page
from pgrecall.ranking.composing import reads
from pgrecall.ranking.filters import FilterArguments, Filters
from pgrecall.ranking.question import narrowing
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner
from pgrecall.schema.verbs import call

MOST = 10_000
"""The greatest `limit`."""


@needs(READS)
def list_memories(
    tables: Tables,
    /,
    agent_id: str | UUID,
    *,
    order: str | Sequence[str] = NEWEST_FIRST,
    limit: int = 50,
    after: str | None = None,
    total: bool = False,
    include_embedding: bool = False,
    as_of: datetime | None = None,
    **filters: Unpack[FilterArguments],
) -> Operation[Page[Memory]]:
    """Lists memories that pass the filters, in any order, without ranking or touching them.

    As in a search, only active and valid memories pass unless `statuses` or `include_invalid` say
    otherwise. `order` names columns of a memory or of its usage; `-` before one puts the largest
    value first. NULL comes last, and the id decides between equals. The default is newest first.

    `limit` is at most 10,000. To get the next page, pass the `next` of the page as `after`, with
    the same order and filters. A page begins after the last memory of the one before, even if that
    was deleted meanwhile: no memory is repeated or left out, unless the columns of its order
    change. With `total`, the page has the number of all memories that pass.

    Raises UnknownName for an unknown column or filter, InputError for a bad value or cursor.
    """
    agent_id = require_owner(tables, agent_id)
    ordering = Ordering.of(order)
    require_count("limit", limit, at_least=1, at_most=MOST)
    last = None if after is None else ordering.last(after)
    require_bool("total", total)
    require_bool("include_embedding", include_embedding)
    require_aware("as_of", as_of)
    chosen = yield from narrowing(tables, Filters.of(filters))
    rows = yield page(
        tables,
        agent_id,
        chosen,
        ordering,
        last=last,
        limit=limit + 1,
        as_of=as_of,
        embedding=include_embedding,
    )
    memories = [memory_in_full(row) for row in rows[:limit]]
    counted = None
    if total:
        [[counted]] = yield reads(tables, "count", chosen, as_of=as_of, owner_id=agent_id)
    more = ordering.cursor(memories[-1]) if len(rows) > limit else None
    return Page(memories, cursor=more, total=counted)


@needs(READS)
def owners(
    tables: Tables, /, *, prefix: str = "", limit: int = 100, after: str | None = None
) -> Operation[Page[OwnerCount]]:
    """Lists the agents that have memories, with the number of these, in the order of their ids.

    `repository.teams.owners()` lists teams. `prefix` restricts the list to ids that begin with it.
    `limit` is at most 10,000; `after` is the `next` of the page before. A role that row-level
    security restricts sees its own. Raises InputError.
    """
    require_text("prefix", prefix)
    require_count("limit", limit, at_least=1, at_most=MOST)
    begin = None if after is None else tables.prefix + require_name("after", after)
    of_teams = bool(tables.prefix)
    rows = yield call(
        tables, "owners", of_teams=of_teams, prefix=prefix, most=limit + 1, after=begin
    )
    ids = [row.agent_id.removeprefix(tables.prefix) for row in rows[:limit]]
    counts = [
        OwnerCount(
            agent_id=None if tables.prefix else id_,
            team_id=id_ if tables.prefix else None,
            memories=row.memories,
        )
        for id_, row in zip(ids, rows, strict=False)
    ]
    return Page(counts, cursor=ids[-1] if len(rows) > limit else None)
