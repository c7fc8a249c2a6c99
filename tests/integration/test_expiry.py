"""Moving the expiry of memories, and counting memories by their metadata."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pgrecall import NewMemory
from pgrecall.errors import InputError, UnknownName
from tests.integration.owner import Owner
from tests.integration.support import NORTH

NOW = datetime.now(UTC)
SOON, LATER, LATEST, PAST = (NOW + timedelta(days=days) for days in (1, 2, 3, -1))


def test_expiry_moves_to_a_later_time_and_nothing_else_changes(mine: Owner) -> None:
    expiring = {"soon": SOON, "latest": LATEST, "never": None, "past": PAST}
    ids = {
        text: mine.add(NewMemory(text, embedding=NORTH, expires_at=at))
        for text, at in expiring.items()
    }
    other = mine.other.add(NewMemory("soon", embedding=NORTH, expires_at=SOON))
    old = {text: mine.read(memory_id) for text, memory_id in ids.items()}

    assert mine.upkeep.extend_expiry([*ids.values(), other], expires_at=LATER) == 1
    assert mine.upkeep.extend_expiry([], expires_at=LATER) == 0
    new = {text: mine.read(memory_id) for text, memory_id in ids.items()}
    assert {text: one.expires_at for text, one in new.items()} == expiring | {"soon": LATER}
    assert {text: one.updated_at for text, one in new.items()} == {
        text: one.updated_at for text, one in old.items()
    }
    assert mine.kinds(ids["soon"]) == ["initial"]
    assert mine.other.read(other).expires_at == SOON


def test_metadata_is_counted_by_value_among_the_memories_that_pass(mine: Owner) -> None:
    for number, kind in enumerate(["a", "b", "b", ["a"], None, {"c": 1}]):
        metadata = {"kind": kind, "of": {"x.y": number % 2}}
        mine.add(NewMemory(f"memory {number}", embedding=NORTH, metadata=metadata, tags=["t"]))
    mine.add(NewMemory("without", embedding=NORTH))
    mine.add(NewMemory("gone", embedding=NORTH, metadata={"kind": "b"}, expires_at=PAST))
    mine.other.add(NewMemory("another's", embedding=NORTH, metadata={"kind": "b"}))

    counted = mine.upkeep.metadata_values("kind")
    assert counted[0] == ("b", 2)
    assert all(pair in counted for pair in [("a", 1), (["a"], 1), (None, 1), ({"c": 1}, 1)])
    assert len(counted) == 5
    assert mine.upkeep.metadata_values("kind.c") == [(1, 1)]
    assert mine.upkeep.metadata_values("of.x\\.y", tags=["t"]) == [(0, 3), (1, 3)]
    assert mine.upkeep.metadata_values("of", tags=["none"]) == []
    assert mine.upkeep.metadata_values("kind", include_invalid=True)[0] == ("b", 3)
    with pytest.raises(UnknownName, match="unknown filter"):
        mine.upkeep.metadata_values("kind", tagz=[])
    with pytest.raises(InputError, match="key must be text"):
        mine.upkeep.metadata_values(1)
