"""Finds the terms that are characteristic of an owner's memories."""

from __future__ import annotations

from uuid import UUID

from pgrecall.core.steps import READS, Operation, Run, needs
from pgrecall.core.validation import require_count
from pgrecall.memories.term import Term
from pgrecall.ranking.words import telling_terms_statement
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner

MAX_TERMS = 10_000


@needs(READS)
def telling_terms(
    tables: Tables, /, agent_id: str | UUID, *, limit: int = 20
) -> Operation[list[Term]]:
    """The terms that are most characteristic of an agent's memories, the most telling first.

    Reads the words of all its memories. Raises InputError.
    """
    agent_id = require_owner(tables, agent_id)
    require_count("limit", limit, at_least=1, at_most=MAX_TERMS)
    rows = yield Run(telling_terms_statement(tables), {"owner_id": agent_id, "limit": limit})
    return [Term(row.term, row.memories, row.weight, row.telling) for row in rows]
