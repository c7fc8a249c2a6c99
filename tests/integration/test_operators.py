"""Questions of an operator: what changed, who did it, and a copy of an owner."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.errors import InputError
from tests.integration.commands import fast_runner
from tests.integration.owner import north, plain
from tests.integration.support import NORTH, sql


@pytest.fixture
def repo(engine: Engine) -> MemoryRepository:
    return MemoryRepository(engine)


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
            for one in repo.upkeep.changes(**asked)  # type: ignore[arg-type]
        ]

    of_zoe = [("zoe", "deleted", "nightly"), ("zoe", "updated", "ann")]
    assert told(agent_id="zoe") == of_zoe  # the first storing went with the memory
    assert [whose for whose, _, _ in told()] == ["zoe", "zoe", "max"]
    assert told(limit=1) == of_zoe[:1]
    assert told(actor="ann") == of_zoe[1:]
    assert told(since=datetime.now(UTC) + timedelta(minutes=1)) == []
    [of_team] = repo.teams.upkeep.changes()
    assert (of_team.team_id, of_team.content) == ("red", "of a team")
    sql(engine, "UPDATE pgrecall.memory_events SET occurred_at = now() - interval '3 days'")
    sql(engine, "UPDATE pgrecall.agent_memories SET inserted_at = now() - interval '3 days'")
    assert told() == []
    assert len(sql(engine, "SELECT * FROM pgrecall.changes(now() - interval '4 days')")) == 4


def test_a_copy_is_searched_like_the_original(engine: Engine, repo: MemoryRepository) -> None:
    kept = repo.add_many("zoe", [north(f"number {n}", importance=n / 50) for n in range(30)])
    old, new = kept[0], kept[1]
    repo.supersede("zoe", old, north("newer"))
    repo.labels.add("zoe", new, ["x"])
    repo.links.add("zoe", new, kept[2], "related")
    repo.feedback("zoe", kept[3], "useful")
    repo.search("zoe", NORTH, k=5)
    repo.names.alias("zoe", "Kate", "Emi")
    now = datetime.now(UTC)

    assert repo.transfer.copy("zoe", "max") == 31

    def ranked(whose: str) -> list[tuple[UUID, float]]:
        hits = repo.search(whose, NORTH, k=40, touch=False, as_of=now)
        return [(hit.memory.id, hit.score) for hit in hits]

    assert ranked("max") == ranked("zoe")
    for ask in (
        lambda whose: repo.count(whose, include_invalid=True),
        lambda whose: repo.labels.of(whose, new),
        lambda whose: repo.links.of(whose, new),
        lambda whose: [one.event_type for one in repo.history(whose, kept[3])],
        repo.names.aliases,
    ):
        assert ask("max") == ask("zoe")
    assert repo.transfer.copy("zoe", "max") == 0
    assert repo.transfer.copy("zoe", "late", events=False, actor="ann") == 31
    assert [one.actor for one in repo.history("late", new)] == ["ann"]
    with pytest.raises(InputError, match="itself"):
        repo.transfer.copy("zoe", "zoe")


def test_commands_answer(
    local_url: str,
    local_embedder: LocalEmbedder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = fast_runner(monkeypatch, capsys, local_url, local_embedder)
    [added] = run("add", "Zoe plays the cello.", "--agent", "zoe", "--json").records
    assert run("copy", "max", "--agent", "zoe").out.strip() == "1 memory copied"
    assert run("copy", "zoe", "--agent", "zoe").code == 2
    run("invalidate", added["id"], "--agent", "zoe")
    [newest, *_] = run("changes", "--json").records
    assert (newest["agent_id"], newest["event_type"]) == ("zoe", "forgotten")
    assert "plays the cello" in run("changes", "--agent", "max").out
    assert run("changes", "--since", "9000-01-01").out.strip() == "nothing changed"
    assert run("revive", added["id"], "--agent", "zoe").code == 0
