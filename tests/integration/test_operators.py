"""Questions of an operator: what changed, who did it, and a copy of an owner."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.core.vectors import EmbeddingType
from pgrecall.errors import InputError
from pgrecall.migrate.connecting import database_url
from pgrecall.testing import new_database
from tests.integration.commands import Run
from tests.integration.owner import north, plain
from tests.integration.support import NORTH, sql

SIZES = """
SELECT 'memories', pg_table_size('pgrecall.agent_memories')
UNION ALL SELECT 'their indexes', pg_indexes_size('pgrecall.agent_memories')
UNION ALL SELECT 'history', pg_total_relation_size('pgrecall.memory_events')
"""


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
    keyed = repo.upsert("zoe", north("by its key", key="k"))
    repo.links.add("zoe", new, keyed, "related")
    repo.supersede("zoe", old, north("newer"))
    repo.links.add("zoe", new, kept[2], "related")
    repo.feedback("zoe", kept[3], "useful")
    repo.search("zoe", NORTH, k=5)
    repo.names.alias("zoe", "Kate", "Emi")
    now = datetime.now(UTC)

    assert repo.transfer.copy("zoe", "max") == 32

    def ranked(whose: str) -> list[tuple[UUID, float]]:
        hits = repo.search(whose, NORTH, k=40, touch=False, as_of=now)
        return [(hit.memory.id, hit.score) for hit in hits if hit.memory.key is None]

    assert ranked("max") == ranked("zoe")
    for ask in (
        lambda whose: repo.count(whose, include_invalid=True),
        lambda whose: len(repo.links.of(whose, new)),
        lambda whose: [one.event_type for one in repo.history(whose, kept[3])],
        repo.names.aliases,
    ):
        assert ask("max") == ask("zoe")
    copied = repo.resolve("max", "k")
    assert copied in {link.target_id for link in repo.links.of("max", new)}
    assert keyed not in {memory.id for memory in repo.list("max", limit=99)}
    assert repo.transfer.copy("zoe", "max") == 0
    assert repo.transfer.copy("zoe", "late", events=False, actor="ann") == 32
    assert [one.actor for one in repo.history("late", new)] == ["ann"]
    with pytest.raises(InputError, match="itself"):
        repo.transfer.copy("zoe", "zoe")


def test_commands_answer(run: Run) -> None:
    [added] = run("add", "Zoe plays the cello.", "--agent", "zoe", "--json").records
    assert run("copy", "max", "--agent", "zoe").out.strip() == "1 memory copied"
    assert run("copy", "zoe", "--agent", "zoe").code == 2
    run("invalidate", added["id"], "--agent", "zoe")
    assert run("revive", added["id"], "--agent", "zoe").code == 0


@pytest.mark.parametrize(
    ("dimensions", "embedding_type", "length"),
    [(256, "vector", 200), (768, "vector", 600), (1_536, "halfvec", 200), (1_536, "vector", 200)],
)
def test_estimates_are_near_a_real_run(
    server_url: str, dimensions: int, embedding_type: EmbeddingType, length: int
) -> None:
    number, random = 1_500, np.random.default_rng(0)
    words = [f"{word}{n}" for word in ("rain", "letter", "harbour") for n in range(900)]
    with new_database(server_url) as url:
        migrate.upgrade(url, dimensions=dimensions, embedding_type=embedding_type)
        engine = create_engine(database_url(url))
        repo = MemoryRepository(engine)
        for _ in range(3):
            texts = [" ".join(random.choice(words, length // 7)) for _ in range(number // 3)]
            vectors = random.standard_normal((len(texts), dimensions))
            new = [
                NewMemory(text[:length], embedding=vector.tolist())
                for text, vector in zip(texts, vectors, strict=True)
            ]
            repo.add_many("zoe", new)
        [index] = repo.rank_indexes.build(agent_id="zoe", at_least=1)
        real = dict(sql(engine, SIZES))
        real["rank index"] = repo.rank_indexes.status(agent_id="zoe", at_least=1)[0].bytes
        told = {one.part: one.bytes for one in repo.upkeep.estimate(number, text_length=length)}
        engine.dispose()
    for part in ("memories", "their indexes", "history"):
        assert told[part] == pytest.approx(real[part], rel=0.3), part
    # Random directions need whole embeddings, of which the estimate counts 256 coordinates.
    assert index.memories == number
    assert told["rank index"] <= 1.3 * real["rank index"]
    assert told["total"] >= sum(told[part] for part in ("memories", "history", "rank index"))
