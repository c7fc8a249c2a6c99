"""Keeping rank indexes: half a year of use, when maintenance is due, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from random import Random
from threading import Event
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
import pytest
from sqlalchemy import Engine, NullPool, create_engine, event

from pgrecall import MemoryRepository, NewMemory, RankIndex, migrate
from pgrecall.errors import InputError
from pgrecall.rank_index import MAX_AGE, MAX_BESIDE
from tests.conftest import DIMENSIONS
from tests.integration.conftest import RepositoryOf, repository_on
from tests.integration.support import NORTH, at, sql
from tests.migrations.asking import rows, run, value, values, wait_until, wait_until_blocked

A = "agent"
SOME = 120
START = datetime(2025, 3, 1, 8, tzinfo=UTC)
TABLES = (
    "SELECT relname FROM pg_class WHERE relnamespace = 'pgrecall'::regnamespace "
    "AND relkind = 'r' AND relname LIKE 'ranks\\_%%' ORDER BY 1"
)
BUILDING = 'SELECT * FROM "pgrecall".make_rank_index('
PROFILES = ("five_factor", "last_access", "half_life", "trust", "tiered")


def memories(number: int, start: int = 0) -> list[NewMemory]:
    random = Random(start)
    return [
        NewMemory(
            f"memory {n}",
            embedding=[random.gauss() for _ in range(DIMENSIONS)],
            importance=random.random(),
            created_at=START + timedelta(minutes=n),
        )
        for n in range(start, start + number)
    ]


def fill(
    repo: MemoryRepository, agent_id: str = A, number: int = SOME, start: int = 0
) -> list[UUID]:
    return list(repo.add_many(agent_id, memories(number, start)))


def build(repo: MemoryRepository, agent_id: str = A, **options: Any) -> RankIndex:
    [index] = repo.build_rank_indexes(agent_id=agent_id, at_least=1, **options)
    return index


def maintain(repo: MemoryRepository, at_least: int = 1) -> list[str]:
    return [index.agent_id for index in repo.maintain_rank_indexes(at_least=at_least)]


def due(repo: MemoryRepository, agent_id: str = A, at_least: int = 1) -> str | None:
    [status] = repo.rank_indexes(agent_id=agent_id, at_least=at_least)
    return status.due


def tables_of(url: str) -> list[str]:
    return values(url, TABLES)


def listed(url: str) -> list[tuple[Any, ...]]:
    return rows(url, "SELECT agent_id, relation FROM pgrecall.rank_indexes ORDER BY 1, 2")


def found(repo: MemoryRepository, query: list[float], strategy: Any, **more: Any) -> list[UUID]:
    hits = repo.search(A, query, strategy=strategy, touch=False, **more)
    assert hits.strategy == strategy
    return [hit.memory.id for hit in hits]


@pytest.fixture
def own_repo(own_engine: Engine) -> MemoryRepository:
    return MemoryRepository(own_engine)


@pytest.fixture
def background() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as executor:
        yield executor


# Half a year


WEEKS, AT_FIRST, A_WEEK, QUERIES = 26, 1_500, 20, 10
LOADING = """
    INSERT INTO pgrecall.agent_memories (agent_id, id, content, embedding, importance, confidence,
                                         usefulness, trust, tier, created_at)
    VALUES (%s, gen_random_uuid(), %s, %s, %s, %s, %s, %s, %s, %s)
"""
USING = """
    INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count, last_accessed_at)
    VALUES (%s, %s, 1, %s)
    ON CONFLICT (agent_id, memory_id) DO UPDATE
       SET retrieval_count = memory_usage.retrieval_count + 1,
           last_accessed_at = excluded.last_accessed_at
"""


class Life:
    """An agent whose memories are of some twenty topics, of which each week has its own few."""

    def __init__(self, url: str) -> None:
        self.random = np.random.default_rng(1)
        self.topics = self.random.normal(size=(20, DIMENSIONS))
        self.connection = psycopg.connect(url, autocommit=True)
        self.written = 0

    def vector(self, topics: int = 20) -> list[float]:
        topic = self.topics[self.random.integers(topics)]
        made: list[float] = (topic + 0.6 * self.random.normal(size=DIMENSIONS)).tolist()
        return made

    def write(self, number: int, since: datetime, until: datetime) -> None:
        """So many memories, spread over this time."""
        with self.connection.cursor() as cursor:
            values = []
            for share in np.sort(self.random.random(number)):
                importance, confidence, usefulness, trust = self.random.random(4).tolist()
                tier = ("short", "medium", "long")[int(self.random.integers(3))]
                created_at = since + (until - since) * float(share)
                content = f"memory {self.written}"
                self.written += 1
                values.append(
                    (
                        *(A, content, str(self.vector()), importance, confidence, usefulness),
                        *(trust, tier, created_at),
                    )
                )
            cursor.executemany(LOADING, values)

    def use(self, ids: list[UUID], moment: datetime) -> None:
        with self.connection.cursor() as cursor:
            cursor.executemany(USING, [(A, memory_id, moment) for memory_id in ids])


def test_half_a_year_of_use_with_the_maintenance_it_prescribes_finds_what_exact_ranking_finds(
    own_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a time of its own: the server's clock knows nothing of it, so four weeks are counted
    here, and that much was written is told by the list, at a limit to fit the small agent."""
    monkeypatch.setattr("pgrecall.rank_index.MAX_BESIDE", 200)
    life = Life(own_url)
    now = START
    life.write(AT_FIRST, now - timedelta(days=365), now)
    life.connection.execute("ANALYZE")
    engine = create_engine(own_url)
    repo = MemoryRepository(engine)
    build(repo, as_of=now)
    built_at, builds = now, {"age": 0, "due": 0}
    recalls: dict[int, float] = {}

    for week in range(WEEKS):
        since, now = now, now + timedelta(days=7)
        life.write(A_WEEK * (12 if week in (9, 19) else 1), since, now)
        hits, shared, wanted = [], 0, 0
        for number in range(QUERIES):
            query = life.vector()
            moment = since + (now - since) * (number + 1) / QUERIES
            profile = PROFILES[number % len(PROFILES)]
            exact, through = (
                found(repo, query, strategy, as_of=moment, profile=profile)
                for strategy in ("exact", "index")
            )
            assert len(through) == len(exact) == 10
            wanted += len(exact)
            shared += len(set(exact) & set(through))
            if number % 4 == 0:
                hits += [(memory_id, moment) for memory_id in exact[:3]]
        recalls[week] = shared / wanted
        for memory_id, moment in hits:
            life.use([memory_id], moment)
        if now - built_at >= MAX_AGE:
            build(repo, as_of=now)
            built_at, builds["age"] = now, builds["age"] + 1
        elif due(repo):
            assert maintain(repo) == [A]
            built_at, builds["due"] = now, builds["due"] + 1
        assert due(repo) is None
    life.connection.close()

    assert min(recalls.values()) >= 0.98, recalls
    assert repo.count(A) == AT_FIRST + A_WEEK * (WEEKS + 2 * 11)
    assert builds["age"] >= 3
    assert builds["due"] >= 2
    assert len(tables_of(own_url)) == 1
    engine.dispose()


# When it is due


def test_an_agent_that_has_grown_large_is_due_until_it_is_built(
    repository_of: RepositoryOf, database_url: str
) -> None:
    repo = repository_of(database_url)
    fill(repo, number=49)
    assert repo.rank_indexes(agent_id=A, at_least=50) == repo.rank_indexes(at_least=50) == []
    fill(repo, number=1, start=49)

    [status] = repo.rank_indexes(at_least=50)

    assert (status.index, status.memories, status.due) == (None, 50, "not built yet")
    assert repo.rank_indexes(agent_id=A, at_least=50)[0].due == "not built yet"
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
    assert (
        repository_on("sync", database_url).search(A, NORTH, strategy="index").strategy == "exact"
    )
    assert maintain(repo) == [A]
    assert due(repo) is None
    assert repo.search(A, NORTH, strategy="index", touch=False).strategy == "index"


def test_only_active_memories_make_an_agent_large(
    repo: MemoryRepository, database_url: str
) -> None:
    """As a search counts them, or there would be indexes that none takes."""
    ids = {agent_id: fill(repo, agent_id, 60) for agent_id in ("large", "small")}
    for agent_id, archived in (("large", 10), ("small", 11)):
        values(
            database_url,
            "UPDATE pgrecall.agent_memories SET status = 'archived' WHERE id = ANY (%s) "
            "RETURNING id",
            ids[agent_id][:archived],
        )

    [status] = repo.rank_indexes(at_least=50)

    assert (status.agent_id, status.memories) == ("large", 50)
    assert repo.rank_indexes(agent_id="small", at_least=50) == []
    assert maintain(repo, 50) == ["large"]
    assert [one.agent_id for one in repo.build_rank_indexes(at_least=50)] == ["large"]
    assert repo.search("large", NORTH, touch=False).strategy == "index"
    assert maintain(repo, 50) == []


def test_an_index_of_an_agent_whose_memories_are_no_longer_active_is_dropped(
    repo: MemoryRepository, database_url: str
) -> None:
    ids = fill(repo, number=60)
    repo.build_rank_indexes(agent_id=A, at_least=60)
    archive = "UPDATE pgrecall.agent_memories SET status = 'archived' WHERE id = ANY (%s)"
    values(database_url, f"{archive} RETURNING id", ids[:30])
    assert maintain(repo, 60) == []
    assert len(listed(database_url)) == 1
    values(database_url, f"{archive} RETURNING id", ids[30:31])

    assert maintain(repo, 60) == []

    assert listed(database_url) == []


def test_an_index_without_the_words_as_they_are_compared_is_due(
    own_repo: MemoryRepository, own_url: str
) -> None:
    fill(own_repo)
    build(own_repo)
    migrate.change_language(own_url, "simple")

    assert due(own_repo) == "its words are those of a former language, not used"
    assert own_repo.search(A, NORTH, strategy="index", touch=False).strategy == "index"
    assert maintain(own_repo) == [A]
    assert due(own_repo) is None
    assert maintain(own_repo) == []


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
    ids = values(url, "SELECT id FROM pgrecall.agent_memories ORDER BY id LIMIT %s", number)
    for _ in range(2):
        assert repo.touch(A, ids) == number


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


def test_the_real_limit_is_reached_by_that_many(repo: MemoryRepository, database_url: str) -> None:
    fill(repo, number=30)
    build(repo)
    fill(repo, number=MAX_BESIDE, start=100)
    assert due(repo) is None

    repo.touch(A, values(database_url, "SELECT id FROM pgrecall.agent_memories LIMIT 1"))

    assert due(repo) == f"{MAX_BESIDE + 1:,} memories written, changed or used since"


def test_real_changes_are_counted_once_for_each_memory(repo: MemoryRepository) -> None:
    ids = fill(repo)
    build(repo)

    for _ in range(3):
        repo.feedback(A, ids[0], "useful")
    repo.update(A, ids[1], importance=0.1)
    repo.add(A, NewMemory("new", embedding=NORTH))
    repo.touch(A, [ids[2], ids[2], ids[3]])

    [status] = repo.rank_indexes(agent_id=A)
    assert (status.written, status.changed, status.used, status.beside) == (1, 2, 2, 5)


@pytest.mark.parametrize(("days", "said"), [(27.9, None), (28.1, "28 days old"), (90, "90 days")])
def test_an_old_index_is_due(
    repo: MemoryRepository, database_url: str, days: float, said: str | None
) -> None:
    fill(repo)
    build(repo)
    run(
        database_url,
        f"UPDATE pgrecall.rank_indexes SET built_at = now() - {days} * interval '1 day'",
        "UPDATE pgrecall.agent_memories SET inserted_at = now() - interval '99 days'",
    )

    told = due(repo)

    assert said in told if said and told else told is None is said
    assert maintain(repo) == ([A] if said else [])
    assert due(repo) is None


# What maintenance does


def test_only_what_is_due_is_built(repo: MemoryRepository, database_url: str) -> None:
    for agent_id in ("grown", "fresh", "old", "small"):
        fill(repo, agent_id, 30 if agent_id == "small" else 60)
    kept, _ = build(repo, "fresh"), build(repo, "old")
    run(
        database_url,
        "UPDATE pgrecall.rank_indexes SET built_at = now() - interval '30 days' "
        "WHERE agent_id = 'old'",
    )
    told: list[tuple[str, int, int]] = []

    built = repo.maintain_rank_indexes(at_least=60, on_progress=lambda *about: told.append(about))

    assert [index.agent_id for index in built] == ["grown", "old"]
    assert told == [("grown", 0, 2), ("old", 1, 2), ("", 2, 2)]
    now_listed = dict(listed(database_url))
    assert sorted(now_listed) == ["fresh", "grown", "old"]
    assert now_listed["fresh"] == kept.relation
    assert tables_of(database_url) == sorted(now_listed.values())


def test_the_indexes_of_agents_that_have_shrunk_are_dropped(
    repo: MemoryRepository, database_url: str
) -> None:
    ids = {agent_id: fill(repo, agent_id, 60) for agent_id in ("half", "less", "gone")}
    for agent_id in ids:
        repo.build_rank_indexes(agent_id=agent_id, at_least=60)
    repo.delete("half", ids["half"][30:])
    repo.delete("less", ids["less"][29:])
    repo.clear("gone")

    assert maintain(repo, 60) == []

    assert [name for name, _ in listed(database_url)] == ["half"]
    assert tables_of(database_url) == [relation for _, relation in listed(database_url)]
    assert repo.search("less", NORTH, k=5, strategy="index").strategy == "exact"


def test_maintenance_of_teams_leaves_agents_alone(
    repo: MemoryRepository, database_url: str
) -> None:
    fill(repo, "same")
    fill(repo.teams, "same")
    own = build(repo, "same")

    assert maintain(repo.teams) == ["team:same"]

    [theirs] = repo.teams.rank_indexes()
    assert theirs.index is not None
    assert tables_of(database_url) == sorted([own.relation, theirs.index.relation])
    assert maintain(repo) == []
    run(database_url, "UPDATE pgrecall.rank_indexes SET space = 0 WHERE agent_id = 'same'")
    assert (due(repo, "same") is None, due(repo.teams, "same")) == (False, None)


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


def test_the_old_table_stays_while_somebody_reads_it_and_goes_with_the_next_maintenance(
    repo: MemoryRepository, database_url: str
) -> None:
    fill(repo)
    old = build(repo)

    with psycopg.connect(database_url) as reader:
        reader.execute(f"SELECT count(*) FROM pgrecall.{old.relation}".encode())
        new = build(repo)
        assert tables_of(database_url) == sorted([old.relation, new.relation])
        assert listed(database_url) == [(A, new.relation)]
        assert maintain(repo) == []
    assert maintain(repo) == []

    assert tables_of(database_url) == [new.relation]


def test_a_build_going_on_is_not_taken_for_a_table_left_behind(
    repo: MemoryRepository, database_url: str, background: ThreadPoolExecutor
) -> None:
    """Seen by others only when it is listed as well."""
    fill(repo)
    with psycopg.connect(database_url) as other:
        other.execute("LOCK TABLE pgrecall.rank_indexes IN SHARE MODE")
        running = background.submit(build, repo)
        wait_until_blocked(database_url, BUILDING, "relation")
        assert maintain(repo, 10_000) == []
        other.rollback()

    relation = running.result().relation
    assert listed(database_url) == [(A, relation)]
    assert tables_of(database_url) == [relation]


@pytest.mark.parametrize("index_is_there", [True, False])
def test_of_two_maintenances_at_once_one_builds(
    repo: MemoryRepository,
    database_url: str,
    background: ThreadPoolExecutor,
    *,
    index_is_there: bool,
) -> None:
    """Both have seen that it is due; the second waits for the first and finds it done."""
    fill(repo)
    if index_is_there:
        build(repo)
        run(database_url, "UPDATE pgrecall.rank_indexes SET built_at = now() - interval '30 days'")
    with psycopg.connect(database_url) as other:
        other.execute("LOCK TABLE pgrecall.rank_indexes IN SHARE MODE")
        first = background.submit(maintain, repo)
        wait_until_blocked(database_url, BUILDING, "relation")
        second = background.submit(maintain, repo)
        wait_until_blocked(database_url, BUILDING, "advisory")
        other.rollback()

    assert (first.result(), second.result()) == ([A], [])
    assert len(tables_of(database_url)) == len(listed(database_url)) == 1


def test_a_maintenance_whose_agent_has_gone_meanwhile_builds_nothing(
    repo: MemoryRepository, database_url: str
) -> None:
    fill(repo)
    build(repo)
    run(database_url, "UPDATE pgrecall.rank_indexes SET built_at = now() - interval '30 days'")

    built = repo.maintain_rank_indexes(at_least=1, on_progress=lambda *_: repo.clear(A))

    assert built == []
    assert (tables_of(database_url), listed(database_url)) == ([], [])


def test_an_index_dropped_during_maintenance_stays_dropped(
    repo: MemoryRepository, database_url: str
) -> None:
    fill(repo)
    build(repo)
    run(database_url, "UPDATE pgrecall.rank_indexes SET built_at = now() - interval '30 days'")

    built = repo.maintain_rank_indexes(
        at_least=1, on_progress=lambda *about: about[0] and repo.drop_rank_index(A)
    )

    assert built == []
    assert (tables_of(database_url), listed(database_url)) == ([], [])


@pytest.mark.parametrize("strategy", ["auto", "index"])
def test_searches_go_on_through_maintenance_and_miss_nothing(
    repo: MemoryRepository, database_url: str, background: ThreadPoolExecutor, strategy: Any
) -> None:
    fill(repo, number=150)
    build(repo)
    over = Event()
    engine = create_engine(database_url, pool_size=3, max_overflow=0)
    searching = MemoryRepository(engine)
    query = at(30)
    expected = set(found(repo, query, "exact", k=20))

    def search() -> int:
        done = 0
        while not over.is_set():
            hits = searching.search(A, query, k=20, strategy=strategy, touch=False)
            assert len(hits) == 20
            assert len({hit.memory.id for hit in hits} & expected) >= 19
            done += 1
        return done

    running = [background.submit(search) for _ in range(3)]
    try:
        for _ in range(5):
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


def test_a_search_between_two_indexes_finds_everything_in_neither(
    repo: MemoryRepository, database_url: str
) -> None:
    """It has read the name of the old table, which is replaced and dropped before it looks."""
    fill(repo, number=60)
    build(repo)
    fill(repo, number=30, start=60)
    searching = create_engine(database_url, poolclass=NullPool)

    def replace(*arguments: Any) -> None:
        if "rank_candidates" in arguments[2]:
            build(repo)

    event.listen(searching, "before_cursor_execute", replace)

    hits = MemoryRepository(searching).search(A, at(70), strategy="index", touch=False)

    assert [hit.memory.id for hit in hits] == found(repo, at(70), "exact")
    assert len(tables_of(database_url)) == 1


# Dropping


def test_dropping_ends_the_use_of_an_index(repo: MemoryRepository, database_url: str) -> None:
    fill(repo)
    fill(repo, "other")
    build(repo)
    other = build(repo, "other")
    before = found(repo, NORTH, "index")

    assert repo.drop_rank_index(A) is True
    assert repo.drop_rank_index(A) is False
    assert repo.drop_rank_index("nobody") is False

    hits = repo.search(A, NORTH, strategy="index", touch=False)
    assert (hits.strategy, [hit.memory.id for hit in hits]) == ("exact", before)
    assert tables_of(database_url) == [other.relation]
    assert listed(database_url) == [("other", other.relation)]


def test_an_index_that_is_read_is_dropped_from_use_at_once(
    repo: MemoryRepository, database_url: str
) -> None:
    fill(repo)
    index = build(repo)
    with psycopg.connect(database_url) as reader:
        reader.execute(f"SELECT count(*) FROM pgrecall.{index.relation}".encode())
        assert repo.drop_rank_index(A) is True

        assert repo.search(A, NORTH, strategy="index").strategy == "exact"
        assert tables_of(database_url) == [index.relation]

    assert maintain(repo, 10_000) == []
    assert tables_of(database_url) == []


def test_a_search_that_has_begun_holds_up_a_drop_only_for_a_while(
    repo: MemoryRepository, engine: Engine, database_url: str
) -> None:
    fill(repo)
    build(repo)
    with engine.connect() as connection:
        within = MemoryRepository(connection)
        assert within.search(A, NORTH, strategy="index").strategy == "index"
        build(repo)
        assert within.search(A, NORTH, strategy="index").strategy == "index"
        connection.commit()

    maintain(repo)
    assert len(tables_of(database_url)) == 1


# Progress


def test_progress_is_that_of_this_database_only(
    own_repo: MemoryRepository, own_url: str, empty_url: str, background: ThreadPoolExecutor
) -> None:
    elsewhere = create_engine(empty_url, poolclass=NullPool)
    sql(elsewhere, "CREATE EXTENSION vector")
    sql(
        elsewhere,
        "CREATE TABLE t AS SELECT ARRAY[n, 1]::vector(2) AS v FROM generate_series(1, 9) n",
    )
    with psycopg.connect(own_url) as other:
        # An ordinary index of the host's own, seen by all while it waits.
        other.execute(
            "INSERT INTO pgrecall.memory_links (agent_id, source_id, target_id, kind) "
            "VALUES ('t', gen_random_uuid(), gen_random_uuid(), 'x')"
        )
        running = background.submit(
            run, own_url, "CREATE INDEX CONCURRENTLY mine ON pgrecall.memory_links (weight)"
        )
        wait_until(
            "that index is being built",
            lambda: bool(values(own_url, "SELECT pid FROM pg_stat_progress_create_index")),
        )
        assert own_repo.rank_index_progress() is None
        other.rollback()
    running.result()


# Checking


def test_a_check_compares_with_exact_ranking_and_counts_nothing(
    repo: MemoryRepository, database_url: str
) -> None:
    fill(repo)
    build(repo)
    told: list[tuple[int, int]] = []

    check = repo.check_rank_index(A, sample=7, k=5, on_progress=lambda *n: told.append(n))

    assert (check.agent_id, check.profile, check.k, check.queries) == (A, "hybrid", 5, 7)
    assert (check.recall, check.worst, check.in_index) == (1.0, 1.0, 7)
    assert check.exact_ms > 0
    assert check.index_ms > 0
    assert told == [(n, 7) for n in range(1, 8)]
    assert value(database_url, "SELECT count(*) FROM pgrecall.memory_usage") == 0
    assert due(repo) is None
    assert set(check.record()) == {
        *("agent_id", "profile", "k", "queries", "recall", "worst"),
        *("exact_ms", "index_ms", "in_index"),
    }


def test_a_check_draws_the_same_sample_each_time_and_no_more_than_there_is(
    repo: MemoryRepository, engine: Engine
) -> None:
    fill(repo, number=30)
    repo.add(A, NewMemory("without", embedding=None))
    build(repo)
    asked: list[list[Any]] = [[], []]

    for seen in asked:
        watched = create_engine(engine.url, poolclass=NullPool)

        def see(*arguments: Any, seen: list[Any] = seen) -> None:
            if "rank_candidates" in arguments[2]:
                seen.append(arguments[3]["source_0_direction"])

        event.listen(watched, "before_cursor_execute", see)
        assert MemoryRepository(watched).check_rank_index(A, sample=10_000).queries == 30

    # The moment asked about moves on, and with it what recency counts.
    assert [d.split(",")[:DIMENSIONS] for d in asked[0]] == [
        d.split(",")[:DIMENSIONS] for d in asked[1]
    ]
    assert len({tuple(d.split(",")[:DIMENSIONS]) for d in asked[0]}) == 30


def test_a_check_asks_ones_own_queries_by_ones_own_profile_or_weights(
    repo: MemoryRepository,
) -> None:
    fill(repo)
    build(repo)

    for profile in PROFILES:
        check = repo.check_rank_index(A, queries=[NORTH, at(40), at(90)], profile=profile, k=3)
        assert (check.profile, check.queries, check.recall) == (profile, 3, 1.0)

    check = repo.check_rank_index(A, weights={"similarity": 0.7, "recency": 0.3}, sample=3)

    assert (check.recall, check.in_index) == (1.0, 3)


def test_a_check_without_an_index_says_that_none_was_used(repo: MemoryRepository) -> None:
    fill(repo)

    check = repo.check_rank_index(A, sample=4)

    assert (check.recall, check.in_index, check.queries) == (1.0, 0, 4)


def test_a_check_finds_an_index_that_finds_too_little(
    repo: MemoryRepository, database_url: str
) -> None:
    """Half of its positions are taken away behind its back."""
    fill(repo, number=600)
    index = build(repo)
    run(
        database_url,
        f"DELETE FROM pgrecall.{index.relation} WHERE memory_id IN "
        f"(SELECT memory_id FROM pgrecall.{index.relation} ORDER BY memory_id LIMIT 300)",
    )

    check = repo.check_rank_index(A, sample=20)

    assert check.in_index == 20
    assert 0.2 < check.recall < 0.8
    assert check.worst < check.recall


@pytest.mark.parametrize(
    "bad",
    [
        *({"sample": n} for n in (0, -1, 10_001, 1.5, "7", True, None)),
        *({"k": k} for k in (0, -1, "7")),
        {"queries": []},
        {"queries": [[1.0, 2.0]]},
        {"profile": "unknown"},
        {"weights": {"similarity": 2.0}},
    ],
    ids=repr,
)
def test_a_check_of_nothing_or_of_nonsense_is_refused(
    shared_repo: MemoryRepository, agent: str, bad: dict[str, Any]
) -> None:
    shared_repo.add(agent, NewMemory("one", embedding=NORTH))

    with pytest.raises(InputError):
        shared_repo.check_rank_index(agent, **bad)


@pytest.mark.parametrize("embedded", [False, None])
def test_a_check_of_an_agent_without_embeddings_is_refused(
    shared_repo: MemoryRepository, agent: str, embedded: bool | None
) -> None:
    if embedded is False:
        shared_repo.add(agent, NewMemory("one", embedding=None))

    with pytest.raises(InputError, match=rf"{agent}.*no embedded memories"):
        shared_repo.check_rank_index(agent)
