"""Adds memories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Unpack, get_args
from uuid import UUID

from pgrecall.core.memory import NewMemory, NewMemoryDict, NewMemoryFields
from pgrecall.core.steps import ALONE, Operation, Run, needs
from pgrecall.core.validation import in_list, require_one_of
from pgrecall.errors import InputError, InvalidMemory
from pgrecall.memories.added import Added, Batch
from pgrecall.memories.analysing import analysed_after
from pgrecall.memories.embed import DuplicatePolicy, Incoming, Policy, prepared
from pgrecall.memories.incoming import STORED_DEFAULTS, as_new
from pgrecall.memories.memory_statements import (
    DROP_STAGING,
    Staged,
    copy_staged,
    create_staging,
    remember,
    remember_staged,
    staged_fields,
)
from pgrecall.memories.reading import stored_trust
from pgrecall.schema import Tables
from pgrecall.schema.tables import require_owner

OnError = Literal["raise", "report"]


@needs(ALONE)
def add(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memory: NewMemory | NewMemoryDict | str,
    *,
    duplicates: DuplicatePolicy = "bump",
    near_duplicates: float | None = None,
    check_compliance: bool = True,
    actor: str | None = None,
    run: str | None = None,
    supersede_subject: bool = False,
    **fields: Unpack[NewMemoryFields],
) -> Operation[Added]:
    """Stores one memory. Returns its id as an Added, which also says whether it was stored.

    The memory is a text, and the fields of NewMemory are arguments; or it is a NewMemory, or a dict
    of its fields. The repository's embedder embeds the text unless there is an `embedding`.

    A memory with a `key` is identified by the key. Without one, two memories are the same if they
    have the same text (ignoring case, white space and Unicode form), memory_type and component, and
    their validities overlap. Adding an id or a key that is already there changes nothing.

    `duplicates` decides what happens to a memory that is already there: "bump" counts a retrieval
    of it, at the new one's `created_at`, "keep" leaves it as it is, "replace" gives it all fields
    of the new one, and "allow" stores the new one without looking. One that is invalidated or
    expired is revived. If it was superseded, its successor is superseded in turn;
    SupersessionConflict is raised if the new validity has passed and the successor holds for it.

    With `near_duplicates`, say 0.92, the most similar active memory is treated as a duplicate if
    its similarity is greater than that. This compares all of the agent's memories.

    `same_subject` of the result lists other active memories of the same `subject`, among its
    newest 20. With `supersede_subject`, the new memory supersedes all of them. Neither this nor
    `near_duplicates` works at REPEATABLE READ, which hides what others have just written.

    A memory with `compliant=False` is refused unless `check_compliance=False`. The history
    records `actor`, who wrote the memory, and `run`, a name of where it comes from.

    Raises InvalidMemory, NotCompliant, InvalidVector, UnknownName, EmbedderRequired or
    SupersessionConflict; then nothing is stored. In your own transaction at REPEATABLE READ or
    SERIALIZABLE, it raises DatabaseConflict if another writer stored the same memory meanwhile.
    """
    policy = Policy.of(duplicates, near_duplicates, check_compliance, actor, supersede_subject, run)
    agent_id = require_owner(tables, agent_id)
    new = as_new(memory, fields, add)
    [incoming] = yield from prepared(tables, agent_id, [new], policy, named=False)
    return (yield from stored(tables, agent_id, incoming, policy))


def add_many(
    tables: Tables,
    /,
    agent_id: str | UUID,
    memories: Iterable[NewMemory | NewMemoryDict | str],
    *,
    duplicates: DuplicatePolicy = "bump",
    near_duplicates: float | None = None,
    check_compliance: bool = True,
    actor: str | None = None,
    run: str | None = None,
    supersede_subject: bool = False,
    on_error: OnError = "raise",
) -> Operation[Batch]:
    """Stores a batch in one transaction. Returns the ids in its order; `add` has the rules.

    A memory is a text, a NewMemory, or a dict of its fields. If one is bad, none is stored, and the
    error names its position, counted from 0. With `on_error="report"` the others are stored, and
    `refused` of the result maps positions to errors. Of memories in the batch that are the same,
    the first is stored, so pass a history oldest first. With `near_duplicates` or
    `supersede_subject` they are added one by one.

    Raises what `add` raises.
    """
    policy = Policy.of(duplicates, near_duplicates, check_compliance, actor, supersede_subject, run)
    agent_id = require_owner(tables, agent_id)
    several = None if isinstance(memories, Mapping) else in_list(memories)
    if several is None:
        raise InvalidMemory(f"memories must be a list of memories, got {type(memories).__name__}")
    refused: dict[int, InputError] = {}
    reports = require_one_of("on_error", on_error, get_args(OnError)) == "report"
    batch = yield from prepared(
        tables, agent_id, several, policy, named=True, refused=refused if reports else None
    )
    if not batch:
        return Batch(refused=refused)
    firsts: dict[UUID, int] = {}
    for ordinal, memory in enumerate(batch):
        firsts.setdefault(memory["id"], ordinal)
    chosen = {ordinal: batch[ordinal] for ordinal in firsts.values()}
    results = yield from stored_batch(tables, agent_id, chosen, policy)
    added = (
        results[ordinal] if ordinal in results else _repeated(results[firsts[memory["id"]]])
        for ordinal, memory in enumerate(batch)
    )
    return Batch(added, refused=refused)


def _repeated(first: Added) -> Added:
    """The result for a row whose id occurs earlier in the same batch."""
    return Added(first, "known", trust=first.trust) if first.inserted else first


_PART = 10_000
"""Rows per call of `remember_rows`, which needs about 25 MB for them at 384 dimensions."""


def stored(tables: Tables, agent_id: str, memory: Incoming, policy: Policy) -> Operation[Added]:
    """Stores one memory, or handles the existing one by the policy."""
    [row] = yield remember(tables, agent_id, memory, policy)
    return _added(row, row.trust)


def stored_batch(
    tables: Tables, agent_id: str, memories: Mapping[int, Incoming], policy: Policy
) -> Operation[dict[int, Added]]:
    """Stores memories in one transaction. Maps ordinals to memories, whose ids must differ."""
    staged = staged_fields(set().union(*memories.values()))
    yield Run(create_staging(tables, staged))
    yield copy_staged(staged, _copied(staged, memories))
    results: dict[int, Added] = {}
    for first in range(0, max(memories) + 1, _PART):
        part = [ordinal for ordinal in memories if first <= ordinal < first + _PART]
        if part:
            bound = {"agent": agent_id, "first": first, "last": first + _PART - 1}
            rows = yield Run(remember_staged(tables, staged), bound | policy.arguments)
            ids = [row.memory_id for row in rows]
            trusts = yield from stored_trust(tables, agent_id, ids)
            results |= {
                part[row.ordinal - 1]: _added(row, trusts.get(row.memory_id)) for row in rows
            }
    yield DROP_STAGING
    yield from analysed_after(tables, len(memories))
    return results


def _added(row: Any, trust: float | None) -> Added:
    return Added(row.memory_id, row.outcome, row.similarity, tuple(row.same_subject), trust)


def _copied(staged: Staged, memories: Mapping[int, Incoming]) -> Iterator[tuple[Any, ...]]:
    """The values of each row, in the order of the staging table's columns."""
    defaults = [STORED_DEFAULTS.get(name) for name in staged]
    for ordinal, memory in memories.items():
        yield (ordinal, *map(memory.get, staged, defaults))
