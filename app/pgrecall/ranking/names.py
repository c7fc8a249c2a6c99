"""The entities that texts name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pgrecall.core.statement import Statement
from pgrecall.core.steps import Run
from pgrecall.schema import Tables
from pgrecall.schema.verbs import call


def known_entities(
    tables: Tables, owners: Sequence[str], texts: Sequence[str], *, subjects: bool = False
) -> Run:
    """The entities of the owners' memories that texts name, and with `subjects` their subjects.

    Columns: number, of the text from 1, entities, the longest first, and names: how many names
    stand for them. See the SQL function named_entities.
    """
    agent_id, *teams = owners
    values = {"agent": agent_id, "others": teams, "texts": list(texts), "subjects": subjects}
    return Run(_named(tables), values)


@lru_cache
def _named(tables: Tables) -> Statement:
    return Statement(
        f"""/* pgrecall named_entities */
SELECT texts.number, named.entities, named.names
  FROM pg_catalog.unnest(:texts::text[]) WITH ORDINALITY texts(said, number)
 CROSS JOIN LATERAL "{tables.schema}".named_entities(
       :agent, texts.said, :subjects, :others::text[]) named
 WHERE named.names > 0"""  # noqa: S608  ours
    )


def known_as(tables: Tables, owners: Sequence[str], names: Sequence[str]) -> Run:
    """These names with the entities that they may stand for. Columns: entities and names."""
    agent_id, *teams = owners
    returning = "known_as AS entities, pg_catalog.cardinality(:given) AS names"
    return call(tables, "known_as", returning, agent=agent_id, given=list(names), others=teams)
