"""Adding memories."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from pgrecall.core.memory import NewMemory
from pgrecall.core.steps import Operation
from pgrecall.core.validation import in_list
from pgrecall.errors import InvalidMemory
from pgrecall.memories.added import Added
from pgrecall.memories.preparing import DuplicatePolicy, Policy, prepared
from pgrecall.memories.storing import stored, stored_batch
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner


def add(
    tables: Tables,
    /,
    agent_id: str,
    memory: NewMemory | str,
    *,
    duplicates: DuplicatePolicy = "bump",
    near_duplicates: float | None = None,
    check_compliance: bool = True,
    actor: str | None = None,
) -> Operation[Added]:
    """Stores one memory and returns its id, which also tells how it went: see Added.

    Text alone is a memory with all defaults, embedded by the repository's embedder. Adding an id
    or a key that is there already changes nothing and returns it, so that a retried add is safe.

    A memory with a `key` is known by it, whatever it says. Any other is the same as an active one
    of the same text (but for case, white space and Unicode form), memory_type and component, with
    a key or without, if the two hold at some same time; one that was invalidated counts until
    then. What is the same is not stored twice, and that memory's id is returned. `duplicates`
    says what becomes of it: its retrieval count is bumped, it is kept as it is, or it is replaced,
    taking on all the fields of the new one; "allow" stores every memory and looks for none. A bump
    is an access at the `created_at` of the new one, so that a history can be added later: it moves
    `last_accessed_at` forward to that moment, at most to now, and not at all where it is unknown.

    A memory that is no longer recalled (invalidated, expired) is revived, with the new one's
    expiry and validity, as far as other memories of the same text leave that free. If it had been
    superseded, what took its place is superseded in turn, with an event that says so. Where the
    new one's validity has passed and its successor claims that time, SupersessionConflict is
    raised.

    With `near_duplicates`, say 0.92, the most similar active memory is met like a duplicate if its
    similarity is greater than that, also by a memory with a key: exact, and safe against rivals
    that check too (but refused at isolation level REPEATABLE READ, which cannot see them), at the
    cost of comparing all the agent's memories.

    A memory with `compliant=False` is refused unless `check_compliance=False`. `actor` is noted
    in the memory's history.

    Raises InvalidMemory, NotCompliant, InvalidVector, EmbedderRequired or SupersessionConflict;
    nothing is stored then. In a transaction of yours at REPEATABLE READ or SERIALIZABLE, a rival
    that stored the same meanwhile means DatabaseConflict: repeat the transaction.
    """
    policy = Policy.of(duplicates, near_duplicates, check_compliance, actor)
    agent_id = require_owner(tables, agent_id)
    [incoming] = yield from prepared(tables, agent_id, [memory], policy, named=False)
    return (yield from stored(tables, agent_id, incoming, policy))


def add_many(
    tables: Tables,
    /,
    agent_id: str,
    memories: Iterable[NewMemory | str],
    *,
    duplicates: DuplicatePolicy = "bump",
    near_duplicates: float | None = None,
    check_compliance: bool = True,
    actor: str | None = None,
) -> Operation[list[Added]]:
    """Stores a batch and returns the ids in input order; see `add` for the rules.

    All or nothing: when one memory is bad, none is stored and the error names its position,
    counted from 0. Of several in the batch that say the same, the first is stored: add a history
    oldest first. The rows go through COPY, unless `near_duplicates` asks for each to be compared
    with all before it.

    Raises InvalidMemory, NotCompliant, InvalidVector or EmbedderRequired.
    """
    policy = Policy.of(duplicates, near_duplicates, check_compliance, actor)
    agent_id = require_owner(tables, agent_id)
    several = None if isinstance(memories, Mapping) else in_list(memories)
    if several is None:
        raise InvalidMemory(f"a batch is a list of memories, got {type(memories).__name__}")
    batch = yield from prepared(tables, agent_id, several, policy, named=True)
    if not batch:
        return []
    firsts: dict[UUID, int] = {}
    for ordinal, memory in enumerate(batch):
        firsts.setdefault(memory.id, ordinal)
    chosen = {ordinal: batch[ordinal] for ordinal in firsts.values()}
    results = yield from stored_batch(tables, agent_id, chosen, policy)
    return [
        results[ordinal] if ordinal in results else _repeated(results[firsts[memory.id]])
        for ordinal, memory in enumerate(batch)
    ]


def _repeated(first: Added) -> Added:
    """What becomes of a row whose id came before in the same batch."""
    return Added(first, "known") if first.inserted else first
