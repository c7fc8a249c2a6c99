"""Labels of memories, and finding memories by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pgrecall.core.label import Label, LabelKind, require_kinds, require_labels
from pgrecall.core.memory import Memory, leading_memory
from pgrecall.core.steps import READS, VERB, Operation, needs
from pgrecall.core.validation import require_count, require_id, require_texts
from pgrecall.memories.event_fields import note
from pgrecall.ranking.composing import reads
from pgrecall.ranking.filters import Filters
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner
from pgrecall.schema.verbs import call

MOST = 10_000


@needs(VERB)
def label(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_id: UUID | str,
    labels: Label | str | Sequence[Label | str],
    *,
    actor: str | None = None,
) -> Operation[int]:
    """Adds labels to a memory. Returns how many. Text alone is a label of kind keyword, weight 1.

    An existing label of the same kind and value gets the new weight. At most 1,000 labels per call.
    Raises MemoryNotFound, InputError or UnknownName.
    """
    arguments = _given(tables, agent_id, memory_id, labels, actor)
    if not arguments["labels"]:
        return 0
    rows = yield call(tables, "label", **arguments)
    return int(rows[0][0])


@needs(VERB)
def unlabel(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory_id: UUID | str,
    labels: Label | str | Sequence[Label | str],
    *,
    actor: str | None = None,
) -> Operation[int]:
    """Removes labels from a memory, by kind and value. Returns how many were removed.

    Raises MemoryNotFound, InputError or UnknownName.
    """
    arguments = _given(tables, agent_id, memory_id, labels, actor)
    del arguments["weights"]
    if not arguments["labels"]:
        return 0
    rows = yield call(tables, "unlabel", **arguments)
    return int(rows[0][0])


@needs(READS)
def labels(
    tables: Tables, /, agent_id: str | UUID, memory_id: UUID | str
) -> Operation[list[Label]]:
    """The labels of a memory, the greatest weight first."""
    agent_id = require_owner(tables, agent_id)
    memory_id = require_id(memory_id)
    rows = yield call(tables, "labels", agent=agent_id, memory_id=memory_id)
    return [Label(row.value, row.kind, row.weight) for row in rows]


@needs(READS)
def labelled(
    tables: Tables,
    /,
    agent_id: str | UUID,
    values: str | Sequence[str],
    *,
    kinds: Sequence[LabelKind] | None = None,
    limit: int = 20,
) -> Operation[list[tuple[Memory, float]]]:
    """Active, valid memories that have any of these labels, with the sum of their weights.

    The greatest sum comes first, ties by id. To rank them by a profile, search with `labels=…`.
    """
    agent_id = require_owner(tables, agent_id)
    texts = list(require_texts("values", [values] if isinstance(values, str) else values) or ())
    of_kinds = require_kinds(kinds)
    require_count("limit", limit, at_least=1, at_most=MOST)
    filters = {"labels": texts, **({} if of_kinds is None else {"label_kinds": of_kinds})}
    rows = yield reads(
        tables,
        "by_labels",
        Filters(values=filters),
        "weighed",
        places={"order": "one.weight DESC, one.id"},
        owner_id=agent_id,
        limit=limit,
    )
    return [(leading_memory(row), float(row.weight)) for row in rows]


def _given(
    tables: Tables,
    agent_id: str | UUID,
    memory_id: UUID | str,
    labels: Label | str | Sequence[Label | str],
    actor: str | None,
) -> dict[str, Any]:
    agent_id = require_owner(tables, agent_id)
    memory_id = require_id(memory_id)
    checked = require_labels(labels)
    return {
        "agent": agent_id,
        "memory_id": memory_id,
        "labels": [one.value for one in checked],
        "kinds": [one.kind for one in checked],
        "weights": [one.weight for one in checked],
        "actor": note(reason=None, actor=actor)["actor"],
    }
