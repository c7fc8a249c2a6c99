"""What must not spoil a caller's transaction, or slip past a rule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, NullPool, create_engine

from pgrecall import GarbagePolicy, Label, MemoryRepository, NewMemory
from pgrecall.errors import DuplicateMemory, InputError, NotCompliant, SupersessionConflict
from tests.conftest import Direction

SOON = datetime.now(UTC) + timedelta(days=1)


def test_a_revival_that_cannot_be_leaves_the_callers_transaction_usable(engine: Engine) -> None:
    repo = MemoryRepository(engine)
    old = repo.add("agent", NewMemory("tea", embedding=None, trust=0.15))
    repo.collect_garbage(GarbagePolicy(max_age_hours=None))
    new = repo.add("agent", NewMemory("tea", embedding=None))

    with engine.begin() as connection:
        within = MemoryRepository(connection)
        mine = within.add("agent", NewMemory("my work", embedding=None))
        with pytest.raises(DuplicateMemory, match=str(new)):
            within.revive("agent", old)

    assert repo.get("agent", mine) is not None


def test_two_put_away_memories_of_one_text_are_not_revived_together(
    repo: MemoryRepository,
) -> None:
    ids = []
    for _ in range(2):
        ids.append(repo.add("agent", NewMemory("tea", embedding=None, trust=0.15)))
        repo.collect_garbage(GarbagePolicy(max_age_hours=None))

    with pytest.raises(DuplicateMemory, match="says the same"):
        repo.revive("agent", ids)
    revived = repo.revive("agent", ids[0])

    assert revived == 1


def test_near_duplicates_are_not_looked_for_where_rivals_cannot_be_seen(
    database_url: str, direction: Direction
) -> None:
    engine = create_engine(database_url, poolclass=NullPool, isolation_level="REPEATABLE READ")
    repo = MemoryRepository(engine)

    with pytest.raises(InputError, match="REPEATABLE READ"):
        repo.add("agent", NewMemory("tea", embedding=direction(0)), near_duplicates=0.92)

    assert repo.count("agent") == 0


def test_what_is_consolidated_holds_and_is_trusted_as_its_sources(
    repo: MemoryRepository, direction: Direction
) -> None:
    for n in range(4):
        memory = NewMemory(
            f"tea {n}",
            embedding=direction(n),
            trust=0.25,
            usefulness=0.125 if n else 0.375,
            valid_until=SOON + timedelta(days=n),
            expires_at=SOON + timedelta(days=9 - n),
        )
        memory_id = repo.add("agent", memory)
        repo.label("agent", memory_id, [Label("drink", "concept", 0.2 * n), f"l{n}"])

    [done] = repo.consolidate("agent", more_than=0)

    found = repo.get("agent", done.memory_id)
    assert found is not None
    assert (found.trust, found.usefulness) == (0.25, 0.1875)
    assert (found.valid_until, found.expires_at) == (SOON, SOON + timedelta(days=6))
    labels = {(one.value, one.kind): one.weight for one in repo.labels("agent", done.memory_id)}
    assert labels == {
        ("drink", "concept"): pytest.approx(0.6),
        **{(f"l{n}", "keyword"): 1.0 for n in range(4)},
    }


def test_a_memory_that_is_not_recalled_cannot_be_the_successor(repo: MemoryRepository) -> None:
    first = repo.add("agent", NewMemory("A", embedding=None))
    second = repo.supersede("agent", first, NewMemory("B", embedding=None))

    with pytest.raises(SupersessionConflict, match="not recalled any longer"):
        repo.supersede("agent", second, NewMemory("C", embedding=None, id=first))

    assert repo.count("agent") == 1


def test_a_change_to_not_compliant_is_refused_unless_it_is_meant(repo: MemoryRepository) -> None:
    memory_id = repo.add("agent", NewMemory("tea", embedding=None))

    with pytest.raises(NotCompliant):
        repo.update("agent", memory_id, compliant=False)
    changed = repo.update("agent", memory_id, compliant=False, check_compliance=False)

    assert changed.compliant is False


def test_what_is_put_away_may_say_what_an_active_memory_says(repo: MemoryRepository) -> None:
    away = repo.add("agent", NewMemory("tea", embedding=None, trust=0.15))
    repo.collect_garbage(GarbagePolicy(max_age_hours=None))
    repo.add("agent", NewMemory("coffee", embedding=None))

    changed = repo.update("agent", away, content="coffee", embedding=None)

    assert (changed.content, changed.status) == ("coffee", "archived")


def test_hundreds_of_memories_that_all_say_the_same_are_one_cluster(
    repo: MemoryRepository, direction: Direction
) -> None:
    memories = [NewMemory(f"tea {n}", embedding=direction(n / 1000)) for n in range(700)]
    repo.add_many("agent", memories)

    [cluster] = repo.clusters("agent")

    assert len(cluster.memories) == 700


def test_an_agent_may_be_called_what_once_stood_for_all(repo: MemoryRepository) -> None:
    repo.add("*", NewMemory("tea", embedding=None))
    repo.add("agent", NewMemory("tea", embedding=None))

    of_all, of_one = repo.collect_garbage(), repo.collect_garbage(agent_id="*")

    assert (of_all.owners, of_one.owners) == (2, 1)
