"""Adds memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, Unpack, get_args
from uuid import UUID

from pgrecall.core.memory import NewMemory, NewMemoryDict, NewMemoryFields
from pgrecall.core.steps import ALONE, Operation, needs
from pgrecall.core.validation import in_list, require_one_of
from pgrecall.errors import InputError, InvalidMemory
from pgrecall.memories.added import Added
from pgrecall.memories.batch import Batch
from pgrecall.memories.embed import DuplicatePolicy, Policy, prepared
from pgrecall.memories.incoming import as_new
from pgrecall.memories.insert import stored, stored_batch
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner

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
    their validities overlap. Invalidated memories count as valid until they were invalidated.
    Adding an id or a key that is already there changes nothing, so an add can safely be retried.

    `duplicates` decides what happens to a memory that is already there: "bump" counts a retrieval
    of it, "keep" leaves it as it is, "replace" gives it all fields of the new one, and "allow"
    stores the new one without looking. A bump counts as an access at the new memory's `created_at`:
    `last_accessed_at` moves forward to it, but never past now, and not at all if it is unknown.

    If the same memory is there but invalidated or expired, it is revived with the new one's
    validity and expiry. If it was superseded, its successor is superseded in turn, and an event
    records it. SupersessionConflict is raised if the new validity has passed and the successor
    holds for that time.

    With `near_duplicates`, say 0.92, the most similar active memory is treated as a duplicate if
    its similarity is greater than that, even if the new memory has a key. This is exact and safe
    with concurrent writers, but compares all of the agent's memories. It is refused at isolation
    level REPEATABLE READ, which hides what others have just written.

    `same_subject` of the result lists other active memories of the same `subject`, among its
    newest 20. With `supersede_subject`, the new memory supersedes all of them in the same
    transaction, as `supersede` does with one memory: of several writers about one subject, one
    memory stays active. This is refused at REPEATABLE READ, too. A memory without a subject, or one
    that has ended by now, supersedes nothing.

    A memory with `compliant=False` is refused unless `check_compliance=False`. The history
    records `actor`, who wrote the memory, and `run`, a name of where it comes from, such as that of
    a conversation or a job.

    Raises InvalidMemory, NotCompliant, InvalidVector, UnknownName, EmbedderRequired or
    SupersessionConflict; then nothing is stored. In your own transaction at REPEATABLE READ or
    SERIALIZABLE, it raises DatabaseConflict if another writer stored the same memory meanwhile:
    repeat the transaction.
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

    A memory is a text, a NewMemory, or a dict of its fields: `{"content": "…", "importance": 0.8}`.
    If one memory is bad, none is stored, and the error names its position, counted from 0. With
    `on_error="report"` the others are stored, and `refused` of the result maps the position of each
    bad memory to its error. Errors that concern the whole batch are raised all the same. Of
    memories in the batch that are the same, the first is stored, so pass a history oldest first.
    Rows are sent by COPY. With `near_duplicates` or `supersede_subject` they are added one by one
    instead, since each is compared with those before it.

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
