"""Labels of memories, and finding memories by them."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import get_args
from uuid import UUID

from pgrecall import statements
from pgrecall.errors import InputError, MemoryNotFound
from pgrecall.label import Label, LabelKind
from pgrecall.memory import Memory
from pgrecall.operations.noting import noted
from pgrecall.operations.reading import memory
from pgrecall.quoting import shortened
from pgrecall.schema import Tables
from pgrecall.steps import Execute, Operation
from pgrecall.validation import (
    require_count,
    require_given_share,
    require_ids,
    require_name,
    require_one_of,
    require_owner,
    require_texts,
)

MOST = 10_000
MOST_LABELS = 1_000
"""That one call writes or takes away: its event holds all of them."""


def label(
    tables: Tables,
    /,
    agent_id: str,
    memory_id: UUID,
    labels: Label | str | Sequence[Label | str],
    *,
    actor: str | None = None,
) -> Operation[int]:
    """Gives a memory labels; a text alone is a keyword of weight 1. Returns how many.

    A label of the same kind and value that is there takes the new weight. At most 1,000 at once.
    Raises MemoryNotFound, InputError or UnknownName.
    """
    agent_id = require_owner(tables, agent_id)
    [memory_id] = require_ids([memory_id])
    given = {(one.kind, one.value): one for one in map(_checked, _several(labels))}
    bound = {"owner_id": agent_id, **noted(reason=None, actor=actor)}
    if not given:
        return 0
    yield from locked(tables, agent_id, [memory_id])
    rows = yield Execute(
        statements.label(tables),
        bound
        | {
            "this_id": memory_id,
            "kinds": [kind for kind, _ in given],
            "label_values": [value for _, value in given],
            "weights": [one.weight for one in given.values()],
        },
    )
    return int(rows[0][0])


def unlabel(
    tables: Tables,
    /,
    agent_id: str,
    memory_id: UUID,
    labels: Label | str | Sequence[Label | str],
    *,
    actor: str | None = None,
) -> Operation[int]:
    """Takes labels from a memory, by kind and value; returns how many were there.

    Raises MemoryNotFound, InputError or UnknownName.
    """
    agent_id = require_owner(tables, agent_id)
    [memory_id] = require_ids([memory_id])
    given = sorted({(one.kind, one.value) for one in map(_checked, _several(labels))})
    bound = {"owner_id": agent_id, **noted(reason=None, actor=actor)}
    if not given:
        return 0
    yield from locked(tables, agent_id, [memory_id])
    rows = yield Execute(
        statements.unlabel(tables),
        bound
        | {
            "this_id": memory_id,
            "kinds": [kind for kind, _ in given],
            "label_values": [value for _, value in given],
        },
    )
    return int(rows[0][0])


def labels(tables: Tables, /, agent_id: str, memory_id: UUID) -> Operation[list[Label]]:
    """The labels of a memory, heaviest first."""
    agent_id = require_owner(tables, agent_id)
    [memory_id] = require_ids([memory_id])
    rows = yield Execute(statements.labels_of(tables), {"owner_id": agent_id, "this_id": memory_id})
    return [Label(row.value, row.kind, row.weight) for row in rows]


def labelled(
    tables: Tables,
    /,
    agent_id: str,
    values: str | Sequence[str],
    *,
    kinds: Sequence[LabelKind] | None = None,
    limit: int = 20,
) -> Operation[list[tuple[Memory, float]]]:
    """Active, valid memories that carry any of these labels, with the sum of their weights.

    Heaviest first, ties by id. To rank them by a profile, search with `labels=…` instead.
    """
    agent_id = require_owner(tables, agent_id)
    wanted = list(require_texts("values", [values] if isinstance(values, str) else values) or ())
    of_kinds = require_kinds(kinds)
    require_count("limit", limit, at_least=1, at_most=MOST)
    parameters = {"owner_id": agent_id, "labels": wanted, "limit": limit}
    if of_kinds is not None:
        parameters["label_kinds"] = of_kinds
    rows = yield Execute(statements.labelled(tables, of_kind=of_kinds is not None), parameters)
    return [(memory(row._mapping), float(row.weight)) for row in rows]


def locked(tables: Tables, agent_id: str, ids: Sequence[UUID]) -> Operation[None]:
    """Keeps memories as they are until the transaction ends. Raises MemoryNotFound."""
    found = yield Execute(statements.lock(tables), {"owner_id": agent_id, "ids": sorted(ids)})
    missing = sorted(set(ids) - {row.id for row in found})
    if missing:
        raise MemoryNotFound(f"agent {shortened(agent_id)} has no memory {missing[0]}")


def require_kinds(kinds: Sequence[str] | None) -> list[str] | None:
    known = get_args(LabelKind)
    given = require_texts("kinds", kinds)
    return None if given is None else [require_one_of("kind", kind, known) for kind in given]


def _several(labels: Label | str | Sequence[Label | str]) -> list[Label]:
    several = [labels] if isinstance(labels, Label | str) else labels
    if not isinstance(several, Sequence | Set):
        raise InputError(f"labels must be a list of labels, got {type(labels).__name__}")
    if len(several) > MOST_LABELS:
        raise InputError(
            f"at most {MOST_LABELS:,} labels at once, got {len(several):,}; use several calls"
        )
    return [Label(one) if isinstance(one, str) else one for one in several]


def _checked(one: Label) -> Label:
    if not isinstance(one, Label):
        raise InputError(f"a label is a Label or text, got {type(one).__name__}")
    require_kinds([one.kind])
    weight = require_given_share("weight", one.weight)
    return Label(require_name("label", one.value), one.kind, weight)
