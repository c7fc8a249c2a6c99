"""Upserts: one memory for each key, whose text and fields are those of the last write."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from random import Random
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import NewMemory, RetentionPolicy
from pgrecall.core.ids import id_of_key
from pgrecall.errors import InvalidMemory, NotCompliant
from tests.integration.owner import Owner
from tests.integration.support import NORTH, at, before


def keyed(content: str, **more: Any) -> NewMemory:
    return NewMemory(content, **({"key": "k", "embedding": NORTH} | more))


def test_the_text_the_vector_and_the_fields_are_replaced_and_what_was_learned_stays(
    mine: Owner,
) -> None:
    first = mine.upsert(keyed("one", tags=["a"], subject="s", created_at=before(5), trust=0.3))
    mine.touch(first)
    mine.feedback(first, "useful")
    mine.record_outcome(first, "success", touch=False)
    old = mine.read(first)

    again = mine.upsert(
        keyed("two", embedding=at(90), importance=0.9), reason="said so", actor="me"
    )

    assert (first.outcome, again.outcome, again) == ("inserted", "replaced", first)
    new = mine.repo.get(mine.name, key="k", include_embedding=True)
    assert new is not None
    assert (new.content, new.importance, new.tags, new.subject) == ("two", 0.9, [], None)
    assert new.embedding == pytest.approx(at(90), abs=1e-6)
    kept = ("created_at", "trust", "trust_usage", "usefulness", "tier", "key", "retrieval_count")
    for name in (*kept, "success_count", "feedback_up", "last_accessed_at"):
        assert getattr(new, name) == getattr(old, name), name
    event = mine.event(first, "replaced")
    assert (event.reason, event.actor) == ("said so", "me")
    assert (event.old_values["content"], event.new_values["content"]) == ("one", "two")
    assert event.new_values.keys() == {"content", "importance", "tags", "subject"}
    assert mine.recalled() == ["two"]


def test_a_repeated_upsert_writes_nothing(mine: Owner) -> None:
    first = mine.upsert(keyed("one", metadata={"a": 1}, entities=["E"]))
    before = mine.read(first)

    assert mine.upsert(keyed("one", metadata={"a": 1}, entities=["E"])).outcome == "known"
    assert mine.read(first) == before
    assert mine.kinds(first) == ["initial"]
    assert mine.upsert(keyed("one", embedding=at(1))).outcome == "replaced"


def test_what_is_given_replaces_what_would_stay(mine: Owner) -> None:
    id_ = mine.upsert(keyed("one", created_at=before(5), trust=0.3, tier="short"))
    assert mine.read(id_).expires_at is not None
    mine.upsert(keyed("one", created_at=None, trust=None, tier="long", trust_curve=None))

    new = mine.read(id_)
    assert (new.created_at, new.trust, new.tier, new.expires_at) == (None, None, "long", None)
    assert new.trust_curve is None


@pytest.mark.parametrize("put_away", ["invalidate", "complete", "expire"])
def test_an_upserted_memory_is_recalled_again(mine: Owner, put_away: str) -> None:
    id_ = mine.upsert(keyed("one", memory_type="task", created_at=before(30)))
    match put_away:
        case "invalidate":
            mine.invalidate(id_)
        case "complete":
            mine.maintain(RetentionPolicy(stale_tasks_after=timedelta(0)))
        case _:
            mine.update(id_, expires_at=before(1))
    assert mine.recalled() == []

    assert mine.upsert(keyed("one", memory_type="task")).outcome == "replaced"

    assert mine.recalled() == ["one"]


def test_several_memories_come_in_the_order_they_were_named(mine: Owner) -> None:
    ids = mine.add_many([NewMemory(f"m {n}", embedding=at(n)) for n in range(4)])
    asked = [ids[2], ids[0], id_of_key(mine.name, "x"), ids[3], ids[2]]

    found = mine.get_many(asked)

    assert [*found] == [ids[2], ids[0], ids[3]]
    assert [one.content for one in found.values()] == ["m 2", "m 0", "m 3"]
    assert mine.get_many(ids, include_embedding=True)[ids[1]].embedding is not None
    assert mine.get_many([]) == {}


def test_a_batch_stores_what_is_new_and_replaces_what_is_there(mine: Owner) -> None:
    old = mine.upsert(keyed("old", key="b", created_at=before(5)))
    mine.touch(old)

    batch = [keyed(text, key=text[0]) for text in ("a", "b new", "c", "a again")]
    added = mine.upsert_many(batch, reason="why", actor="me")

    assert [one.outcome for one in added] == ["inserted", "replaced", "inserted", "replaced"]
    assert (added[0], added[1]) == (added[3], old)
    assert sorted(mine.recalled()) == ["a again", "b new", "c"]
    assert (mine.read(old).created_at, mine.read(old).retrieval_count) == (before(5), 1)
    assert (mine.event(old, "replaced").reason, mine.event(old, "replaced").actor) == ("why", "me")
    assert [one.outcome for one in mine.upsert_many(batch[1:3])] == ["known"] * 2
    assert mine.upsert_many([]) == []


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (NewMemory("no key", embedding=NORTH), InvalidMemory, "upsert needs a memory with a key"),
        ("text", InvalidMemory, "upsert needs a memory with a key"),
        (keyed("", key="c"), InvalidMemory, "content"),
        (keyed("no", key="c", compliant=False), NotCompliant, "check_compliance"),
        (keyed("no", importance=2), InvalidMemory, "importance"),
    ],
)
def test_a_bad_memory_changes_nothing(
    mine: Owner, bad: Any, error: type[Exception], message: str
) -> None:
    mine.upsert(keyed("old"))
    with pytest.raises(error, match=message):
        mine.upsert(bad)
    with pytest.raises(error, match=f"memory 1 of 2.*{message}"):
        mine.upsert_many([keyed("new"), bad])
    with pytest.raises(InvalidMemory, match="list of memories, got dict"):
        mine.upsert_many({})
    assert mine.recalled() == ["old"]
    assert mine.upsert(keyed("two", compliant=False), check_compliance=False).outcome == "replaced"


def test_batches_that_overlap_leave_one_memory_for_each_key(mine: Owner) -> None:
    keys = [str(number) for number in range(30)]
    together, engine = Barrier(4), mine.bind
    assert isinstance(engine, Engine)

    def write(writer: int) -> list[str]:
        order = Random(writer).sample(keys, 20)
        batch = [keyed(f"{key} of {writer}", key=key) for key in order]
        together.wait()
        with engine.begin() as transaction:  # where a deadlock is not retried
            return [one.outcome for one in Owner(transaction, mine.name).upsert_many(batch)]

    with ThreadPoolExecutor(4) as executor:
        outcomes = [outcome for done in executor.map(write, range(4)) for outcome in done]

    stored = {one.key: one.content for one in mine.list(limit=100)}
    assert len(stored) == outcomes.count("inserted")
    assert outcomes.count("inserted") + outcomes.count("replaced") == 80
    assert all(content.split()[0] == key for key, content in stored.items())
