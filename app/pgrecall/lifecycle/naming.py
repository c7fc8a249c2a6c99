"""Names: what else the entities of memories are called."""

from __future__ import annotations

from uuid import UUID

from pgrecall.core.steps import READS, VERB, Operation, needs
from pgrecall.core.validation import require_name
from pgrecall.ranking.owner_facts import expects_names
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import call


@needs(VERB)
def alias(tables: Tables, /, agent_id: str | UUID, alias: str, entity: str) -> Operation[bool]:
    """Lets questions call an entity or subject of the agent's memories by another name: `alias`.

    It then counts for the signal entity_overlap, and in filters on `entities`.
    Case, accents and punctuation of an alias do not matter. False if it stood for the entity
    before. Raises InputError.
    """
    agent_id = require_owner(tables, agent_id)
    given = {"alias": require_name("alias", alias), "entity": require_name("entity", entity)}
    [row] = yield call(tables, "alias", agent=agent_id, **given)
    yield from expects_names(tables, agent_id)
    return bool(row.alias)


@needs(VERB)
def remove_alias(
    tables: Tables, /, agent_id: str | UUID, alias: str, entity: str | None = None
) -> Operation[int]:
    """Removes an alias of one entity, or of all that it stands for. Returns of how many.

    Raises InputError.
    """
    agent_id = require_owner(tables, agent_id)
    given = {"alias": require_name("alias", alias)}
    if entity is not None:
        given["entity"] = require_name("entity", entity)
    [row] = yield call(tables, "remove_alias", agent=agent_id, **given)
    return int(row.remove_alias)


@needs(READS)
def aliases(tables: Tables, /, agent_id: str | UUID) -> Operation[list[tuple[str, str]]]:
    """Each alias, as it is compared, with the entity that it stands for, in order."""
    rows = yield call(tables, "names", agent=require_owner(tables, agent_id))
    return [(row.alias, row.entity) for row in rows]
