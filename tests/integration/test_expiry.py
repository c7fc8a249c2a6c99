"""Moving the expiry of memories, and counting memories by their metadata."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pgrecall import NewMemory
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
