"""Keeping rank indexes: months of use, when maintenance is due, what it does, and checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Event
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
from sqlalchemy import Engine, NullPool, create_engine, event

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import InputError
from pgrecall.rank_index import MAX_AGE
from tests.conftest import DIMENSIONS
from tests.integration.rank_indexes import (
    AGED,
    BUILDING,
    FIRST,
    A,
    another,
    build,
    due,
    fill,
    found,
    ids,
    listed,
    maintain,
    tables_of,
)
from tests.integration.support import NORTH, at
from tests.migrations.asking import run, value, values, wait_until, wait_until_blocked

PROFILES = ("five_factor", "last_access", "half_life", "trust", "tiered")


@pytest.fixture
def background() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as executor:
        yield executor


# Months of use


WEEKS, AT_FIRST, A_WEEK, QUERIES = 14, 700, 15, 10
LOADING = """
    INSERT INTO pgrecall.agent_memories (agent_id, id, content, embedding, importance, confidence,
                                         usefulness, trust, tier, created_at)
    VALUES ('agent', gen_random_uuid(), %s, %s, %s, %s, %s, %s, %s, %s)
"""
USING = """
    INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count, last_accessed_at)
    VALUES ('agent', %s, 1, %s)
    ON CONFLICT (agent_id, memory_id) DO UPDATE
       SET retrieval_count = memory_usage.retrieval_count + 1,
           last_accessed_at = excluded.last_accessed_at
"""


class Life:
    """An agent whose memories are of some twenty topics."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.random = np.random.default_rng(1)
        self.topics = self.random.normal(size=(20, DIMENSIONS))
        self.connection = connection
        self.written = 0

    def vector(self) -> list[float]:
        topic = self.topics[self.random.integers(len(self.topics))]
        made: list[float] = (topic + 0.6 * self.random.normal(size=DIMENSIONS)).tolist()
        return made

    def write(self, number: int, since: datetime, until: datetime) -> None:
        """So many memories, spread over this time."""
        rows = []
        for share in np.sort(self.random.random(number)):
            tier = ("short", "medium", "long")[int(self.random.integers(3))]
            values = (str(self.vector()), *self.random.random(4).tolist(), tier)
            rows.append((f"memory {self.written}", *values, since + (until - since) * float(share)))
            self.written += 1
        self.connection.cursor().executemany(LOADING, rows)

    def use(self, ids: list[UUID], moment: datetime) -> None:
        self.connection.cursor().executemany(USING, [(memory_id, moment) for memory_id in ids])


def test_months_of_use_with_the_maintenance_it_prescribes_find_what_exact_ranking_finds(
    own_url: str, own_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a time of its own: the server's clock knows nothing of it, so four weeks are counted
    here, and that much was written is told by the list, at a limit to fit the small agent."""
    monkeypatch.setattr("pgrecall.rank_index.MAX_BESIDE", 100)
    now = built_at = FIRST
    builds = {"age": 0, "due": 0}
    recalls: dict[int, float] = {}
    repo = MemoryRepository(own_engine)
    with psycopg.connect(own_url, autocommit=True) as connection:
        life = Life(connection)
        life.write(AT_FIRST, now - timedelta(days=365), now)
        connection.execute("ANALYZE")
        build(repo, as_of=now)
        for week in range(WEEKS):
            since, now = now, now + timedelta(days=7)
            life.write(A_WEEK * (8 if week in (6, 11) else 1), since, now)
            shared = 0
            for number in range(QUERIES):
                query = life.vector()
                asked = {
                    "as_of": since + (now - since) * (number + 1) / QUERIES,
                    "profile": PROFILES[number % len(PROFILES)],
                }
                exact, through = (found(repo, query, s, **asked) for s in ("exact", "index"))
                assert len(through) == len(exact) == 10
                shared += len(set(exact) & set(through))
                if number % 4 == 0:
                    life.use(exact[:3], asked["as_of"])  # type: ignore[arg-type]
            recalls[week] = shared / (10 * QUERIES)
            if now - built_at >= MAX_AGE:
                build(repo, as_of=now)
                built_at, builds["age"] = now, builds["age"] + 1
            elif due(repo):
                assert maintain(repo) == [A]
                built_at, builds["due"] = now, builds["due"] + 1
            assert due(repo) is None

    assert min(recalls.values()) >= 0.98, recalls
    assert repo.count(A) == AT_FIRST + A_WEEK * (WEEKS + 2 * 7)
    assert builds["age"] >= 2
    assert builds["due"] >= 2
    assert len(tables_of(own_url)) == 1


# When it is due


def test_an_agent_that_has_grown_large_is_due_until_it_is_built(repo: MemoryRepository) -> None:
    fill(repo, number=49)
    assert repo.rank_indexes(agent_id=A, at_least=50) == repo.rank_indexes(at_least=50) == []
    fill(repo, number=1, start=49)

    [status] = repo.rank_indexes(at_least=50)

    assert (status.index, status.memories, status.due) == (None, 50, "not built yet")
    assert due(repo, at_least=50) == "not built yet"
    assert maintain(repo, 50) == [A]
    [status] = repo.rank_indexes(at_least=50)
    assert status.index is not None
    assert (status.due, status.memories, status.index.memories) == (None, None, 50)
    assert maintain(repo, 50) == []


def test_an_index_of_another_version_is_not_used_and_due(
    repo: MemoryRepository, database_url: str
) -> None:
    fill(repo)
    build(repo)
    run(database_url, "UPDATE pgrecall.rank_indexes SET space = space + 1")

    [status] = repo.rank_indexes(agent_id=A)

    assert status.due == "built by another version of pgrecall, not used"
    assert status.index is not None
    assert not status.index.is_usable
    for strategy in ("index", "auto"):
        hits = another(database_url).search(A, NORTH, strategy=strategy, touch=False)  # type: ignore[arg-type]
        assert hits.strategy == "exact"
    assert maintain(repo) == [A]
    assert due(repo) is None
    assert found(repo, NORTH, "index")


def test_only_active_memories_make_an_agent_large_and_keep_its_index(
    repo: MemoryRepository, database_url: str
) -> None:
    """As a search counts them, or there would be indexes that none takes. An index goes when fewer
    than half are left."""
    archive = (
        "UPDATE pgrecall.agent_memories SET status = 'archived' WHERE id = ANY (%s) RETURNING id"
    )
    stored = {agent_id: fill(repo, agent_id, 60) for agent_id in ("large", "small")}
    for agent_id, archived in (("large", 10), ("small", 11)):
        values(database_url, archive, stored[agent_id][:archived])

    [status] = repo.rank_indexes(at_least=50)

    assert (status.agent_id, status.memories) == ("large", 50)
    assert maintain(repo, 50) == ["large"]
    assert [one.agent_id for one in repo.build_rank_indexes(at_least=50)] == ["large"]
    assert repo.search("large", NORTH, touch=False).strategy == "index"
    for archived, left in ((25, ["large"]), (26, [])):
        values(database_url, archive, stored["large"][-archived:])
        assert maintain(repo, 60) == []
        assert [name for name, _ in listed(database_url)] == left


def test_the_indexes_of_agents_that_have_shrunk_are_dropped(
    repo: MemoryRepository, database_url: str
) -> None:
    stored = {agent_id: fill(repo, agent_id, 60) for agent_id in ("half", "less", "gone")}
    for agent_id in stored:
        build(repo, agent_id, at_least=60)
    repo.delete("half", stored["half"][30:])
    repo.delete("less", stored["less"][29:])
    repo.clear("gone")

    assert maintain(repo, 60) == []

    [(name, relation)] = listed(database_url)
    assert (name, tables_of(database_url)) == ("half", [relation])
    assert repo.search("less", NORTH, k=5, strategy="index").strategy == "exact"


def _write(repo: MemoryRepository, url: str, number: int) -> None:
    fill(repo, number=number, start=1_000 + repo.count(A))


def _change(repo: MemoryRepository, url: str, number: int) -> None:
    run(
        url,
        "INSERT INTO pgrecall.memory_events (agent_id, memory_id, id, event_type, occurred_at) "
        "SELECT 'agent', id, pgrecall.event_id(), 'updated', clock_timestamp() "
        "FROM pgrecall.agent_memories CROSS JOIN generate_series(1, 2) "  # twice is once
        f"WHERE id IN (SELECT id FROM pgrecall.agent_memories ORDER BY id LIMIT {number})",
    )


def _use(repo: MemoryRepository, url: str, number: int) -> None:
    used = values(url, "SELECT id FROM pgrecall.agent_memories ORDER BY id LIMIT %s", number)
    for _ in range(2):
        assert repo.touch(A, used) == number


@pytest.mark.parametrize(
    ("happen", "what"), [(_write, "written"), (_change, "changed"), (_use, "used")]
)
def test_what_has_happened_since_the_build_is_counted_and_makes_it_due(
    repo: MemoryRepository,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    happen: Callable[[MemoryRepository, str, int], None],
    what: str,
) -> None:
    fill(repo)
    build(repo)
    monkeypatch.setattr("pgrecall.rank_index.MAX_BESIDE", 40)

    happen(repo, database_url, 40)
    [enough] = repo.rank_indexes(agent_id=A)
    happen(repo, database_url, 1 if what == "written" else 41)
    [status] = repo.rank_indexes(agent_id=A)

    expected = dict.fromkeys(("written", "changed", "used"), 0) | {what: 41}
    assert (enough.due, enough.beside) == (None, 40)
    assert {name: getattr(status, name) for name in expected} == expected
    assert status.due == "41 memories written, changed or used since"
    assert maintain(repo) == [A]
    assert due(repo) is None


def test_real_changes_are_counted_once_for_each_memory(repo: MemoryRepository) -> None:
    stored = fill(repo)
    build(repo)

    for _ in range(3):
        repo.feedback(A, stored[0], "useful")
    repo.update(A, stored[1], importance=0.1)
    repo.add(A, NewMemory("new", embedding=NORTH))
    repo.touch(A, [stored[2], stored[2], stored[3]])

    [status] = repo.rank_indexes(agent_id=A)
    assert (status.written, status.changed, status.used, status.beside) == (1, 2, 2, 5)


def test_an_old_index_is_due(repo: MemoryRepository, database_url: str) -> None:
    fill(repo)
    build(repo)
    for days, said in ((27.9, None), (28.1, "28 days old")):
        run(
            database_url,
            f"UPDATE pgrecall.rank_indexes SET built_at = now() - {days} * interval '1 day'",
            "UPDATE pgrecall.agent_memories SET inserted_at = now() - interval '99 days'",
        )
        assert due(repo) == said
        assert maintain(repo) == ([A] if said else [])
    assert due(repo) is None


# What maintenance does


def test_only_what_is_due_is_built(repo: MemoryRepository, database_url: str) -> None:
    for agent_id in ("grown", "fresh", "old", "small"):
        fill(repo, agent_id, 30 if agent_id == "small" else 60)
    fill(repo.teams, "team", 60)
    kept, _ = build(repo, "fresh"), build(repo, "old")
    run(database_url, f"{AGED} WHERE agent_id = 'old'")
    told: list[tuple[str, int, int]] = []

    built = repo.maintain_rank_indexes(at_least=60, on_progress=lambda *about: told.append(about))

    assert [index.agent_id for index in built] == ["grown", "old"]
    assert told == [("grown", 0, 2), ("old", 1, 2), ("", 2, 2)]
    now_listed = dict(listed(database_url))
    assert sorted(now_listed) == ["fresh", "grown", "old"]
    assert now_listed["fresh"] == kept.relation
    assert tables_of(database_url) == sorted(now_listed.values())
    assert maintain(repo.teams, 60) == ["team:team"]
    run(database_url, "UPDATE pgrecall.rank_indexes SET space = 0 WHERE agent_id = 'old'")
    assert (maintain(repo.teams, 60), maintain(repo, 60)) == ([], ["old"])


def test_tables_left_behind_are_dropped_and_others_are_not(
    repo: MemoryRepository, database_url: str
) -> None:
    """Those are left behind that are partitions and in no list."""
    fill(repo)
    fill(repo, "left")
    build(repo, "left")
    used = build(repo).relation
    run(database_url, "DELETE FROM pgrecall.rank_indexes WHERE agent_id = 'left'")
    others = ["ranks_" + "0123456789abcdef" * 2, "ranks_of_mine"]
    for name in others:
        run(database_url, f"CREATE TABLE pgrecall.{name} ()")
    assert len(tables_of(database_url)) == 4

    assert maintain(repo, 10_000) == []

    assert tables_of(database_url) == sorted([used, *others])


def test_a_table_stays_while_somebody_reads_it_and_goes_with_the_next_maintenance(
    repo: MemoryRepository, engine: Engine, database_url: str
) -> None:
    fill(repo)
    old = build(repo)

    with engine.connect() as reader:
        within = MemoryRepository(reader)
        assert found(within, NORTH, "index")
        new = build(repo)
        assert tables_of(database_url) == sorted([old.relation, new.relation])
        assert listed(database_url) == [(A, new.relation)]
        assert found(within, NORTH, "index")
        assert repo.drop_rank_index(A) is True
        assert repo.search(A, NORTH, strategy="index").strategy == "exact"
        assert len(tables_of(database_url)) == 2
        reader.commit()

    assert maintain(repo, 10_000) == []
    assert tables_of(database_url) == []


@pytest.mark.parametrize("index_is_there", [True, False])
def test_of_two_maintenances_at_once_one_builds(
    repo: MemoryRepository,
    database_url: str,
    background: ThreadPoolExecutor,
    *,
    index_is_there: bool,
) -> None:
    """Both have seen that it is due; the second waits for the first and finds it done. A build
    going on is not taken for a table left behind."""
    fill(repo)
    if index_is_there:
        build(repo)
        run(database_url, AGED)
    with psycopg.connect(database_url) as other:
        other.execute("LOCK TABLE pgrecall.rank_indexes IN SHARE MODE")
        first = background.submit(maintain, repo)
        wait_until_blocked(database_url, BUILDING, "relation")
        second = background.submit(maintain, repo)
        wait_until_blocked(database_url, BUILDING, "advisory")
        assert maintain(repo.teams, 10_000) == []
        other.rollback()

    assert (first.result(), second.result()) == ([A], [])
    assert tables_of(database_url) == [relation for _, relation in listed(database_url)]
    assert len(tables_of(database_url)) == 1


def test_what_has_gone_during_maintenance_is_not_built(
    repo: MemoryRepository, database_url: str
) -> None:
    """The index, and then the agent."""
    fill(repo)
    for go in (repo.drop_rank_index, repo.clear):
        build(repo)
        run(database_url, AGED)

        def progress(name: str, *_: int, go: Callable[[str], Any] = go) -> None:
            if name:
                go(A)

        assert repo.maintain_rank_indexes(at_least=1, on_progress=progress) == []
        assert (tables_of(database_url), listed(database_url)) == ([], [])


def test_searches_go_on_through_maintenance_and_miss_nothing(
    repo: MemoryRepository, database_url: str, background: ThreadPoolExecutor
) -> None:
    fill(repo, number=150)
    build(repo)
    over = Event()
    engine = create_engine(database_url, pool_size=3, max_overflow=0)
    searching = MemoryRepository(engine)
    query = at(30)
    expected = set(found(repo, query, "exact", k=20))

    def search(strategy: Any) -> int:
        done = 0
        while not over.is_set():
            hits = searching.search(A, query, k=20, strategy=strategy, touch=False)
            assert len(hits) == 20
            assert len(set(ids(hits)) & expected) >= 19
            done += 1
        return done

    running = [background.submit(search, strategy) for strategy in ("auto", "index", "index")]
    try:
        for _ in range(3):
            run(database_url, "UPDATE pgrecall.rank_indexes SET space = 0")
            assert maintain(repo) == [A]
            assert repo.drop_rank_index(A)
            assert maintain(repo) == [A]
    finally:
        over.set()
    assert all(each.result() > 0 for each in running)
    engine.dispose()
    maintain(repo)
    assert tables_of(database_url) == [relation for _, relation in listed(database_url)]


@pytest.mark.parametrize("replaced", [True, False])
def test_a_search_whose_index_goes_in_the_middle_finds_everything(
    repo: MemoryRepository, database_url: str, *, replaced: bool
) -> None:
    """It has read the name of the table, which is dropped before it looks; what was written since
    is more than k, and not the best."""
    fill(repo, number=60)
    build(repo)
    repo.add_many(A, [NewMemory(f"far {n}", embedding=at(170 + n / 10)) for n in range(20)])
    searching = create_engine(database_url, poolclass=NullPool)

    def go(*arguments: Any) -> None:
        if "rank_candidates" in arguments[2]:
            build(repo) if replaced else repo.drop_rank_index(A)

    event.listen(searching, "before_cursor_execute", go)

    hits = MemoryRepository(searching).search(A, at(70), strategy="index", touch=False)

    assert ids(hits) == found(repo, at(70), "exact")
    assert len(tables_of(database_url)) == replaced


# Dropping, progress


def test_dropping_ends_the_use_of_an_index(repo: MemoryRepository, database_url: str) -> None:
    fill(repo)
    fill(repo, "other")
    build(repo)
    other = build(repo, "other")
    before = found(repo, NORTH, "index")

    assert repo.drop_rank_index(A) is True
    assert repo.drop_rank_index(A) is False

    hits = repo.search(A, NORTH, strategy="index", touch=False)
    assert (hits.strategy, ids(hits)) == ("exact", before)
    assert tables_of(database_url) == [other.relation]
    assert listed(database_url) == [("other", other.relation)]


def test_progress_is_not_that_of_another_index_of_the_host(
    own_engine: Engine, own_url: str, background: ThreadPoolExecutor
) -> None:
    """Which is seen by all while it waits for a writer."""
    with psycopg.connect(own_url) as writer:
        writer.execute(
            "INSERT INTO pgrecall.memory_links (agent_id, source_id, target_id, kind) "
            "VALUES ('t', gen_random_uuid(), gen_random_uuid(), 'x')"
        )
        running = background.submit(
            run, own_url, "CREATE INDEX CONCURRENTLY mine ON pgrecall.memory_links (weight)"
        )
        going_on = "SELECT pid FROM pg_stat_progress_create_index"
        wait_until("that index is being built", lambda: bool(values(own_url, going_on)))
        assert MemoryRepository(own_engine).rank_index_progress() is None
        writer.rollback()
    running.result()


# Checking


def test_a_check_compares_with_exact_ranking_and_counts_nothing(
    repo: MemoryRepository, database_url: str
) -> None:
    fill(repo)
    without = repo.check_rank_index(A, sample=4)
    assert (without.recall, without.in_index, without.queries) == (1.0, 0, 4)
    build(repo)
    told: list[tuple[int, int]] = []

    check = repo.check_rank_index(A, sample=7, k=5, on_progress=lambda *n: told.append(n))

    assert (check.agent_id, check.profile, check.k, check.queries) == (A, "hybrid", 5, 7)
    assert (check.recall, check.worst, check.in_index) == (1.0, 1.0, 7)
    assert min(check.exact_ms, check.index_ms) > 0
    assert told == [(n, 7) for n in range(1, 8)]
    for profile in PROFILES:
        check = repo.check_rank_index(A, queries=[NORTH, at(40), at(90)], profile=profile, k=3)
        assert (check.profile, check.queries, check.recall) == (profile, 3, 1.0)
    check = repo.check_rank_index(A, weights={"similarity": 0.7, "recency": 0.3}, sample=3)
    assert (check.recall, check.in_index) == (1.0, 3)
    assert value(database_url, "SELECT count(*) FROM pgrecall.memory_usage") == 0
    assert due(repo) is None


def test_a_check_draws_the_same_sample_each_time_and_no_more_than_there_is(
    repo: MemoryRepository, engine: Engine
) -> None:
    fill(repo, number=12)
    repo.add(A, NewMemory("without", embedding=None))
    build(repo)
    asked: list[list[Any]] = [[], []]

    for seen in asked:
        watched = create_engine(engine.url)

        def see(*arguments: Any, seen: list[Any] = seen) -> None:
            if "rank_candidates" in arguments[2]:
                # The moment asked about moves on, and with it what recency counts.
                seen.append(tuple(arguments[3]["source_0_direction"].split(",")[:DIMENSIONS]))

        event.listen(watched, "before_cursor_execute", see)
        assert MemoryRepository(watched).check_rank_index(A, sample=10_000).queries == 12
        watched.dispose()

    assert asked[0] == asked[1]
    assert len(set(asked[0])) == 12


def test_a_check_finds_an_index_that_finds_too_little(
    repo: MemoryRepository, database_url: str
) -> None:
    """Half of its positions are taken away behind its back."""
    fill(repo, number=300)
    index = build(repo)
    run(
        database_url,
        f"DELETE FROM pgrecall.{index.relation} WHERE memory_id IN "
        f"(SELECT memory_id FROM pgrecall.{index.relation} ORDER BY memory_id LIMIT 150)",
    )

    check = repo.check_rank_index(A, sample=20)

    assert check.in_index == 20
    assert 0.2 < check.recall < 0.8
    assert check.worst < check.recall


def test_a_check_of_nothing_or_of_nonsense_is_refused(repo: MemoryRepository) -> None:
    with pytest.raises(InputError, match=rf"{A}.*no embedded memories"):
        repo.check_rank_index(A)
    repo.add(A, NewMemory("one", embedding=None))
    with pytest.raises(InputError, match=rf"{A}.*no embedded memories"):
        repo.check_rank_index(A)
    repo.add(A, NewMemory("two", embedding=NORTH))
    cases: list[dict[str, Any]] = [
        *({"sample": n} for n in (0, 10_001, 1.5, "7", True, None)),
        *({"k": k} for k in (0, "7")),
        {"queries": []},
        {"queries": [[1.0, 2.0]]},
        {"profile": "unknown"},
        {"weights": {"similarity": 2.0}},
    ]
    for bad in cases:
        with pytest.raises(InputError):
            repo.check_rank_index(A, **bad)
