"""Questions of an operator: what changed, and who did it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine

from pgrecall import MemoryRepository
from tests.integration.owner import plain
from tests.integration.support import sql


def test_changes_are_told_newest_first_of_one_owner_and_of_all(
    engine: Engine, repo: MemoryRepository
) -> None:
    first = repo.add("zoe", plain("first"), actor="chat")
    repo.add("max", plain("of another"))
    repo.teams.add("red", plain("of a team"))
    repo.update("zoe", first, importance=0.9, actor="ann", reason="asked")
    repo.delete("zoe", [first], actor="nightly")

    def told(**asked: object) -> list[tuple[str | None, str, str | None]]:
        return [
            (one.agent_id, one.event.event_type, one.event.actor)
            for one in repo.changes(**asked)  # type: ignore[arg-type]
        ]

    of_zoe = [("zoe", "deleted", "nightly"), ("zoe", "updated", "ann")]
    assert told(agent_id="zoe") == of_zoe  # the first storing went with the memory
    assert [whose for whose, _, _ in told()] == ["zoe", "zoe", "max"]
    assert told(limit=1) == of_zoe[:1]
    assert told(actor="ann") == of_zoe[1:]
    assert told(since=datetime.now(UTC) + timedelta(minutes=1)) == []
    [of_team] = repo.teams.changes()
    assert (of_team.team_id, of_team.content) == ("red", "of a team")
    sql(engine, "UPDATE pgrecall.memory_events SET occurred_at = now() - interval '3 days'")
    sql(engine, "UPDATE pgrecall.agent_memories SET inserted_at = now() - interval '3 days'")
    assert told() == []
    assert len(sql(engine, "SELECT * FROM pgrecall.changes(now() - interval '4 days')")) == 4
