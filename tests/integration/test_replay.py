"""Months told in one go, in order and one by one: the same memories."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from pgrecall import NewMemory
from tests.integration.owner import Owner, north
from tests.integration.rank_indexes import build
from tests.integration.support import NORTH, at, before

IN_ONE_GO, IN_ORDER = "in one go", "in order"


def history() -> list[tuple[datetime, NewMemory]]:
    """Months of notes, oldest first, in which a third say what an earlier one said."""
    dice = random.Random(13)
    found: list[tuple[datetime, NewMemory]] = []
    for number, moment in enumerate(sorted(dice.uniform(0, 120) for _ in range(60))):
        text = dice.choice(found)[1].content if number % 3 == 2 else f"note {number}"
        created, id_ = before(120 - moment), UUID(int=dice.getrandbits(128))
        vector = at(float(text.split()[1]))
        new = NewMemory(text, id=id_, embedding=vector, trust=0.8, created_at=created)
        found.append((created, new))
    return found


def state(owner: Owner) -> list[Any]:
    """All that is known of its memories, but whose they are and when that was told."""
    return owner.sql(
        "SELECT to_jsonb(r) - '{agent_id,inserted_at,updated_at,expires_at}'::text[] "
        "FROM pgrecall.memory_records r WHERE agent_id = :agent ORDER BY id"
    )


def test_a_history_is_the_same_however_it_is_told(mine: Owner) -> None:
    by_month, one_by_one = mine.other, mine.other.other
    mine.add_many([one for _, one in history()])
    for days in (90, 60, 30, 0):
        told = [one for moment, one in history() if before(days + 30) < moment <= before(days)]
        by_month.add_many(told)
    for _, one in history():
        one_by_one.add(one)

    assert len(state(mine)) == 40
    assert state(by_month) == state(one_by_one) == state(mine)
    # What is said again was accessed when it was last said.
    said: dict[str, list[datetime]] = {}
    for moment, one in history():
        said.setdefault(one.content, []).append(moment)
    hits = mine.search(None, k=100, touch=False)
    for hit in hits:
        memory, (first, *again) = hit.memory, said.pop(hit.memory.content)
        assert (memory.created_at, memory.retrieval_count) == (first, len(again))
        assert memory.last_accessed_at == (again[-1] if again else None)
    assert not said
    # Told late, it does not move the clock back.
    [known, *_] = [hit.memory for hit in hits if hit.memory.last_accessed_at]
    after = mine.read(mine.add(north(known.content, created_at=known.created_at)))
    assert after.retrieval_count == known.retrieval_count + 1
    assert after.last_accessed_at == known.last_accessed_at


def test_an_index_sees_what_was_said_again_in_the_past_since_its_build(mine: Owner) -> None:
    now = datetime.now(UTC)
    mine.add(north("old", importance=0.5, created_at=before(999)))
    mine.add(north("new", importance=0.1, created_at=now))
    mine.add_many([north(f"{n}", importance=0.6, created_at=before(300)) for n in range(200)])
    built = build(mine.repo, mine.name)
    mine.add(north("old", created_at=now - timedelta(days=2)))

    [hit] = found = mine.search(NORTH, k=1, profile="last_access", strategy="index", touch=False)
    assert (found.strategy, hit.memory.content) == ("index", "old")
    assert hit.memory.last_accessed_at < built.as_of
