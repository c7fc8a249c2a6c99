"""Clusters, consolidation, stale tasks, pruning."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Engine

from pgrecall import Consolidation, NewMemory
from pgrecall.errors import InputError
from tests.conftest import DIMENSIONS
from tests.integration.compass import Compass
from tests.integration.owner import Owner, north, plain
from tests.integration.support import at, before

Similarities = dict[UUID, dict[UUID, float]]
DAY = timedelta(days=1)


@pytest.fixture
def mine(shared_engine: Engine, agent: str) -> Owner:
    return Owner(shared_engine, agent, embedder=Compass())


class Crowd(Owner):
    """A few hundred random memories around some centres, and their similarities by NumPy."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, "crowd")
        around = np.random.default_rng(7)
        centres = around.normal(size=(12, DIMENSIONS))
        spread = centres[around.integers(0, 12, 180)] + around.normal(size=(180, DIMENSIONS)) * 0.75
        vectors = np.concatenate([spread, around.normal(size=(40, DIMENSIONS))]).astype(np.float32)
        around.shuffle(vectors)
        new = [
            NewMemory(f"memory {n}", embedding=vector.tolist(), created_at=before(n))
            for n, vector in enumerate(vectors)
        ]
        self.ids: list[UUID] = [*self.add_many(new)]
        unit = vectors.astype(np.float64)
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
        self._cosines = np.clip(unit @ unit.T, 0, 1)

    def newest(self, count: int) -> Similarities:
        """The first ones: each was created a day before the one before."""
        ids = self.ids[:count]
        return {
            one: {other: float(self._cosines[i, j]) for j, other in enumerate(ids) if i != j}
            for i, one in enumerate(ids)
        }


@pytest.fixture(scope="module")
def crowd(module_engine: Engine) -> Crowd:
    return Crowd(module_engine)


# Clusters


def clusters(owner: Owner, **asked: Any) -> list[Consolidation]:
    found: list[Consolidation] = owner.consolidate(**asked, dry_run=True)
    return found


def test_only_the_owners_active_and_valid_memories_are_compared(mine: Owner) -> None:
    ids = alike(mine, 24)
    mine.put(ids[0], status="archived")
    mine.put(ids[1], status="completed")
    mine.invalidate(ids[2])
    mine.put(ids[3], expires_at=before(1000))
    mine.add(plain("without a vector"))
    for owner in (mine.other, mine.team):
        owner.add(north("another's", embedding=at(1)))

    stored = mine.everything()
    [cluster] = clusters(mine, more_than=20)  # 21 are active, one without a vector
    assert set(cluster.source_ids) == set(ids[4:])
    assert clusters(mine, more_than=21) == []
    assert mine.everything() == stored


@pytest.mark.parametrize(
    "asked", [{}, {"min_similarity": 0.61, "min_size": 6}, {"newest": 100, "min_size": 4}], ids=repr
)
def test_clusters_are_those_of_the_greedy_rule(crowd: Crowd, asked: dict[str, Any]) -> None:
    least, min_size = asked.get("min_similarity", 0.80), asked.get("min_size", 3)
    expected = greedy(crowd.newest(asked.get("newest", 2_000)), least, min_size)

    found = clusters(crowd, **asked)

    assert [cluster.source_ids for cluster in found] == [
        [member for member, _ in cluster] for cluster in expected
    ]
    for cluster, members in zip(found, expected, strict=True):
        assert cluster.similarities == pytest.approx([share for _, share in members], abs=1e-6)
    assert len(expected) > 1


def greedy(
    similarities: Similarities, least: float, min_size: int
) -> list[list[tuple[UUID, float]]]:
    """The documented rule: a centre takes what is like it and not taken by an earlier centre.

    Centres in the order of how many are as similar to them, then of how similar those are.
    """
    like = {
        one: {other: share for other, share in others.items() if share >= least}
        for one, others in similarities.items()
    }
    shares = [share for others in similarities.values() for share in others.values()]
    assert all(abs(share - least) > 1e-6 for share in shares)
    centres = sorted(like, key=lambda one: (-len(like[one]), -sum(like[one].values()), one))
    taken: set[UUID] = set()
    found = []
    for centre in centres:
        free = {other: share for other, share in like[centre].items() if other not in taken}
        if centre in taken or len(free) + 1 < min_size:
            continue
        members = sorted(free.items(), key=lambda member: (-member[1], member[0]))
        found.append([(centre, 1.0), *members])
        taken |= {centre, *free}
    return found


def test_a_similarity_of_080_and_three_of_more_than_20_are_enough(mine: Owner) -> None:
    """4/5 is exact: a cluster's members are at least so similar."""
    central = mine.add(north("central"))
    for n, vector in enumerate([axes(4, 3), axes(4, -3)]):
        mine.add(north(str(n), embedding=vector))
    mine.add_many([plain(f"other {n}") for n in range(17)])
    assert clusters(mine) == []
    mine.add(plain("the 21st"))

    [cluster] = clusters(mine)

    assert (cluster.source_ids[0], cluster.similarities) == (central, [1.0, 0.8, 0.8])
    assert clusters(mine, min_similarity=0.8000001) == []
    assert clusters(mine, min_size=4) == []


# Consolidating


@pytest.mark.parametrize("by", ["summary", "central"])
def test_one_memory_stands_for_its_sources(mine: Owner, by: str) -> None:
    now = datetime.now(UTC)
    several: list[dict[str, Any]] = [
        {"importance": 0.3, "tags": ["a"], "entities": ["Ines"], "trust": 0.1, "has_errors": True},
        {"importance": 0.6, "tags": ["b", "a"], "trust": None, "compliant": True, "tokens": 7},
        {"importance": 0.5, "entities": ["Otto", "Ines"], "trust": 0.5, "expires_at": None},
    ]
    kind: dict[str, Any] = {"memory_type": "preference", "subject": "tea", "tier": "medium"}
    ids = []
    for n, given in enumerate(several):
        times = {"valid_until": now + (n + 1) * DAY, "expires_at": now + (9 - n) * DAY}
        use = {"usefulness": 0.125 if n else 0.375, "confidence": 0.5 + n / 10}
        text = str(10 + 2 * n)
        ids.append(mine.add(north(text, **kind, **(use | times | given), embedding=at(10 + 2 * n))))
    asked: list[list[str]] = []

    def summarise(texts: list[str]) -> str:
        asked.append(texts)
        return "12.5"

    [done] = mine.consolidate(summarise if by == "summary" else None, more_than=0, actor="curator")
    memory_id, sources, importance = done.memory_id, done.source_ids, done.importance

    assert (sources[0], sorted(sources)) == (ids[1], sorted(ids))
    assert done.contents == ["12", "10", "14"] == [mine.read(source).content for source in sources]
    new = mine.get(memory_id, include_embedding=True)
    assert new.content == ("12.5" if by == "summary" else "12")
    assert new.embedding == pytest.approx(at(12.5 if by == "summary" else 12), abs=1e-6)
    assert new.embedding_model == ("compass-1" if by == "summary" else None)
    assert [texts[0] for texts in asked] == ["12"] * (by == "summary")
    assert importance == new.importance == pytest.approx(0.7)
    assert (sorted(new.tags), sorted(new.entities)) == (["a", "b"], ["Ines", "Otto"])
    assert {name: getattr(new, name) for name in kind} == kind
    assert (new.trust, new.confidence) == (pytest.approx(0.3), 0.7)
    assert new.usefulness == pytest.approx(0.625 / 3)
    assert (new.valid_until, new.expires_at) == (now + DAY, now + 8 * DAY)
    assert (new.compliant, new.has_errors, new.metadata) == (None, True, {"consolidates": 3})
    links = [(link.target_id, link.kind, link.weight) for link in mine.links.of(memory_id)]
    assert links == [(source, "consolidates", 1.0) for source in sorted(ids)]
    for source in ids:
        told = mine.event(source, "consolidated")
        changed = ({"status": "active"}, {"status": "consolidated"})
        assert (told.old_values, told.new_values, told.actor) == (*changed, "curator")


def test_the_importance_is_at_most_one(mine: Owner) -> None:
    mine.add_many([north(str(n), embedding=at(n), importance=0.95) for n in range(3)])
    assert mine.consolidate(more_than=0)[0].importance == 1.0


@pytest.mark.parametrize("text", ["1.5", "90", " 1 "])
def test_a_summary_may_say_what_is_there_already(mine: Owner, text: str) -> None:
    ids = mine.add_many(["0", "1", "2"])
    other = mine.add(NewMemory("90", embedding=at(90), importance=0.2))

    [done] = mine.consolidate(lambda _: text, more_than=0)

    assert (done.memory_id == other) == (text == "90")
    assert done.memory_id not in ids
    memory = mine.read(done.memory_id)
    assert (memory.status, memory.importance) == ("active", 0.6)
    assert {link.target_id for link in mine.links.of(done.memory_id)} == set(ids)
    assert [mine.read(one).status for one in ids] == ["consolidated"] * 3


Meddling = Callable[[Owner, list[UUID]], object]
MEDDLING: dict[str, Meddling] = {
    "changed": lambda mine, ids: mine.update(ids[1], importance=0.9),
    "superseded": lambda mine, ids: mine.supersede(ids[0], "45"),
    "deleted": lambda mine, ids: mine.delete(ids[1]),
    "erased": lambda mine, ids: mine.erase_owner(),
    "consolidated": lambda mine, ids: mine.consolidate(more_than=0),
}


@pytest.mark.parametrize("meddle", MEDDLING.values(), ids=MEDDLING)
def test_a_cluster_that_was_changed_meanwhile_is_left(mine: Owner, meddle: Meddling) -> None:
    ids: list[UUID] = [*mine.add_many(["0", "1", "2"])]
    stored = []

    def summarise(_: list[str]) -> str:
        meddle(mine, ids)
        stored.append(mine.everything())
        return "1.5"

    assert mine.consolidate(summarise, more_than=0) == []
    assert [mine.everything()] == stored


def test_a_change_by_a_transaction_begun_before_the_cluster_was_read_counts(
    shared_engine: Engine, mine: Owner
) -> None:
    """Its updated_at, the transaction's begin, is earlier than that of the other members."""
    with shared_engine.connect() as connection:
        connection.exec_driver_sql("SELECT now()")
        ids = mine.add_many(["0", "1", "2"])

        def summarise(_: list[str]) -> str:
            mine.within(connection).update(ids[1], content="45", embedding=at(45))
            connection.commit()
            return "1.5"

        assert mine.consolidate(summarise, more_than=0) == []
    assert mine.count(filter={"status": "consolidated"}, include_inactive=True) == 0


class TooDifficultError(Exception):
    pass


def test_a_summariser_that_fails_leaves_its_cluster_and_what_was_done(mine: Owner) -> None:
    first = mine.add_many(["0", "1", "2", "3"])
    second = mine.add_many(["90", "91", "92"])

    def summarise(texts: list[str]) -> str:
        if "91" in texts:
            raise TooDifficultError
        return "1.5"

    with pytest.raises(TooDifficultError):
        mine.consolidate(summarise, more_than=0)

    statuses = [mine.read(one).status for one in (*first, *second)]
    assert statuses == ["consolidated"] * 4 + ["active"] * 3
    stored = mine.everything()
    for nothing in (None, "", "  \n", 5, b"bytes"):
        with pytest.raises(InputError, match="summarise must return a text"):
            mine.consolidate(lambda _, nothing=nothing: nothing, more_than=0)
    with pytest.raises(InputError, match="embed"):  # without an embedder
        Owner(mine.bind, mine.name).consolidate(lambda _: "summary", more_than=0)
    assert mine.everything() == stored


def test_what_cannot_be_consolidated_by_hand_is_left(mine: Owner) -> None:
    """psql only: the first of the memories stands for all, unless there is a summary."""
    ids = sorted(alike(mine, 4))
    theirs = alike(mine.other, 1)
    mine.put(ids[0], status="archived")
    stored, now = mine.everything(), datetime.now(UTC)
    call = "SELECT * FROM pgrecall.consolidate_memories(:agent, :ids, :seen, :text)"

    for several in ([*ids[1:3], ids[0]], [*ids[1:3], ids[1]], [*ids[1:3], *theirs], None, []):
        given = several and [UUID(int=one.int) for one in several]
        assert mine.sql(call, ids=given, seen=None, text=None) == []
    plain_ids = [UUID(int=one.int) for one in (ids[3], ids[1])]
    assert mine.sql(call, ids=plain_ids, seen=[now, now], text=None) == []
    assert mine.everything() == stored

    [(memory_id, sources, _)] = mine.sql(call, ids=plain_ids, seen=None, text="summary")
    assert (mine.read(memory_id).content, sources) == ("summary", sorted(plain_ids))


def test_two_who_consolidate_at_once_do_it_once(mine: Owner) -> None:
    for angle in (0, 90):
        alike(mine, 4, angle)

    def run(_: int) -> int:
        return len(mine.sql("SELECT pgrecall.consolidate(:agent, more_than => 3)"))

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(run, range(4))) == 2
    assert mine.count(filter={"status": "consolidated"}, include_inactive=True) == 8
    assert mine.count() == 2


# Stale tasks, pruning


def alike(mine: Owner, count: int, turned: float = 0.0) -> list[UUID]:
    """Memories within a few degrees of each other."""
    texts = [(f"alike {turned} {n}", turned + n / 10) for n in range(count)]
    return [mine.add(north(text, embedding=at(angle))) for text, angle in texts]


def axes(*values: float) -> list[float]:
    return [*map(float, values), *[0.0] * (DIMENSIONS - len(values))]
