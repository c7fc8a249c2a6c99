"""A database in three states of statistics, and the pages that a call reads in each.

The three differ in nothing but what PostgreSQL knows of them: `never` was never analysed, `tiny`
at a thousandth of its size, `analysed` now. PAGES counts
what sessions read of all but PostgreSQL's catalogue, found in memory or not.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from math import cos, radians, sin
from typing import Any
from uuid import UUID

import psycopg
from sqlalchemy import Connection, NullPool, create_engine, make_url, text
from sqlalchemy.exc import DBAPIError

from pgrecall import JudgedQuery, MemoryRepository, NewMemory, RetentionPolicy, embedded, migrate
from pgrecall.core.resources import sql_folder
from pgrecall.errors import InputError
from pgrecall.testing import new_database
from tests.calls import CALLS, GOOD, PROCEDURES, Direction, Things, works
from tests.integration.tenants import furnish, things_of
from tests.migrations.asking import rows, run, values

STATES = ("never", "tiny", "analysed")
LONGEST = "20s"
"""For one statement; a plan that compares all with all would run for hours."""


@dataclass(frozen=True)
class Shape:
    """What a database holds: so many memories of each of so many owners."""

    name: str
    owners: int
    memories: int
    dimensions: int = 8
    embedding_type: str = "vector"

    def at(self, degrees: float) -> list[float]:
        """A unit vector by its angle to the first axis."""
        rest = [0.0] * (self.dimensions - 2)
        return [cos(radians(degrees)), sin(radians(degrees)), *rest]


GROW = """
INSERT INTO pgrecall.agent_memories
       (agent_id, id, content, subject, key, edition, importance, trust, tier, memory_type,
        session, turn, tags, entities, metadata, created_at, status, tokens, embedding)
SELECT o.name, md5(o.name || n)::uuid,
       format('onesecret note %%s of %%s, %%s %%s %%s', n, o.name, w[1 + n %% 40],
              w[1 + n * 7 %% 40], w[1 + n * 13 %% 40]),
       CASE WHEN n %% 10 = 0 THEN 'subject ' || n END, CASE WHEN n %% 2 = 0 THEN 'key ' || n END,
       CASE WHEN n %% 2 = 1 THEN 0 END, n %% 100 / 100.0, n %% 97 / 97.0,
       (ARRAY['short', 'medium', 'long'])[1 + n %% 3],
       CASE WHEN n %% 20 = 0 THEN 'task' ELSE 'episodic' END, 'session ' || n / 20, n %% 20,
       ARRAY[(ARRAY['draft', 'note', 'x'])[1 + n %% 3]], ARRAY['Entity ' || n %% 50],
       jsonb_build_object('a', n %% 7), now() - make_interval(hours => n * 7919 %% 2000),
       CASE WHEN n %% 50 = 49 THEN 'archived' ELSE 'active' END, 12,
       (SELECT array_agg(sin(n * (d + 1)))::real[] FROM generate_series(1, {dimensions}) d
       )::public.{embedding_type}
  FROM unnest(%(owners)s::text[]) o(name), generate_series(%(first)s::integer, %(last)s) n,
       string_to_array(%(words)s, ' ') w
"""
BELONGINGS = """
INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count, last_accessed_at)
SELECT agent_id, id, 3, now() - interval '3 days' FROM pgrecall.agent_memories
 WHERE hashtext(id::text) % 2 = 0 ON CONFLICT DO NOTHING;
INSERT INTO pgrecall.memory_links (agent_id, source_id, target_id, kind)
SELECT agent_id, id, far, 'one'
  FROM (SELECT agent_id, id, lead(id, 7) OVER (PARTITION BY agent_id ORDER BY id) far
          FROM pgrecall.agent_memories) pairs
 WHERE hashtext(id::text) % 4 = 0 AND far IS NOT NULL ON CONFLICT DO NOTHING;
INSERT INTO pgrecall.memory_events
       (agent_id, memory_id, id, event_type, new_values, metadata, occurred_at)
SELECT agent_id, id, md5(id || kind)::uuid, kind,
       CASE kind WHEN 'initial' THEN '{"importance": 0.5}' ELSE '{"trust": 0.5}' END::jsonb,
       CASE kind WHEN 'initial' THEN '{}'
            ELSE jsonb_build_object('query', 'tea ' || abs(hashtext(id::text)) % 100) END,
       now() - interval '2 days'
  FROM pgrecall.agent_memories, unnest('{initial,reinforcement}'::text[]) kind
 WHERE kind = 'initial' OR hashtext(id::text) % 4 = 1 ON CONFLICT DO NOTHING;
SELECT pgrecall.refresh_owner(agent_id) FROM pgrecall.owners()
"""
WORDS = (
    "tea coffee milk sugar lisbon porto train release deploy branch monday friday door code cat "
    "dog river bridge stone window paper orange quarterly invoice parcel garden violin server "
    "backup night morning recipe salad budget ticket flight museum dentist novel bicycle"
)
TABLES = """
SELECT oid::regclass::text FROM pg_class
 WHERE relnamespace = 'pgrecall'::regnamespace AND relkind = 'r'
"""
KNOWN = """
SELECT oid, relpages, reltuples, relallvisible FROM pg_class
 WHERE relnamespace = 'pgrecall'::regnamespace AND relkind IN ('r', 'i', 'p', 'I')
"""
FORGET = (
    "DELETE FROM pg_statistic WHERE starelid = %s",
    "UPDATE pg_class SET relpages = %s, reltuples = %s, relallvisible = %s WHERE oid = %s",
)
PAGES = """
SELECT pg_stat_get_db_blocks_fetched(d.oid)
       - (SELECT sum(pg_stat_get_blocks_fetched(c.oid)) FROM pg_class c
           WHERE c.oid < 16384 AND NOT c.relisshared)
  FROM pg_database d WHERE d.datname = current_database()
"""

More = Callable[[MemoryRepository, list[UUID], Direction], Any]
OLD = timedelta(hours=1000)


SEARCHED: dict[str, dict[str, Any]] = {
    **{
        f"{profile} {strategy}": {"profile": profile, "strategy": strategy}
        for profile in ("five_factor", "last_access")
        for strategy in ("exact", "index")
    },
    "words exact": {"keywords": "tea milk", "strategy": "exact"},
    "words index": {"keywords": "tea milk", "strategy": "index"},
    "metadata": {"filter": {"metadata.a": {"$gte": 5}}},
    "match": {"filter": {"content": {"$match": "tea"}}},
    "linked": {"linked": 1},
    "surrounding_turns": {"keywords": "tea", "surrounding_turns": 2},
    "teams": {"keywords": "tea", "teams": ["one"]},
    "min_relevance": {"keywords": "tea", "min_relevance": 0.1},
}


def searching(asked: dict[str, Any]) -> More:
    return lambda r, ids, at: r.search("one", at(3), **asked)


MORE: dict[str, More] = {
    **{f"search {name}": searching(asked) for name, asked in SEARCHED.items()},
    "search words alone": lambda r, ids, at: r.search("one", keywords="tea milk"),
    "context diversity": lambda r, ids, at: r.context(
        "one", at(3), keywords="tea", diversity=0.3, max_similarity=0.9
    ),
    "list tags total": lambda r, ids, at: r.list("one", filter={"tags": "draft"}, total=True),
    "list decayed_trust": lambda r, ids, at: r.list(
        "one", order="retrieval_count", filter={"decayed_trust": {"$gte": 0.1}}
    ),
    "get by key": lambda r, ids, at: r.get("one", key="key 100"),
    "get_many 100": lambda r, ids, at: r.get_many("one", ids),
    "touch 100": lambda r, ids, at: r.touch("one", ids),
    "add near_duplicates": lambda r, ids, at: r.add(
        "one", NewMemory("fresh", embedding=at(1)), near_duplicates=0.95
    ),
    "add supersede_subject": lambda r, ids, at: r.add(
        "one", NewMemory("fresh", embedding=at(1), subject="subject 10"), supersede_subject=True
    ),
    "add_many 100": lambda r, ids, at: r.add_many(
        "one", [NewMemory(f"fresh {n}", embedding=at(n)) for n in range(100)]
    ),
    "upsert_many 100": lambda r, ids, at: r.upsert_many(
        "one", [NewMemory(f"fresh {n}", key=f"key {n}", embedding=at(n)) for n in range(100)]
    ),
    "transfer.restore 100": lambda r, ids, at: r.transfer.restore(
        "one", [{"content": f"fresh {n}", "id": f"x{n}", "embedding": at(n)} for n in range(100)]
    ),
    "update content": lambda r, ids, at: r.update("one", ids[0], content="new", embedding=at(2)),
    "delete tags": lambda r, ids, at: r.delete("one", filter={"tags": "draft"}),
    "erase 100": lambda r, ids, at: r.erase("one", ids),
    "maintain max_live": lambda r, ids, at: r.maintenance.run(
        RetentionPolicy(max_live=100, max_event_age_hours=24), agent_id="one"
    ),
    "maintain deletes": lambda r, ids, at: r.maintenance.run(
        RetentionPolicy(max_age_hours=1000, min_trust_threshold=0.9, delete_threshold=0.5),
        agent_id="one",
    ),
    "maintain all dry": lambda r, ids, at: r.maintenance.run(
        RetentionPolicy(max_age_hours=1000, max_live=100, max_event_age_hours=24), dry_run=True
    ),
    "maintain tasks": lambda r, ids, at: r.maintenance.run(
        RetentionPolicy(stale_tasks_after=OLD), agent_id="one"
    ),
    "consolidate newest": lambda r, ids, at: r.consolidate("one", newest=200),
    "evaluate 10": lambda r, ids, at: r.evaluation.evaluate(
        "one", queries(ids, at), profiles=["five_factor", "hybrid"], k=5
    ),
    "tune": lambda r, ids, at: r.evaluation.tune(
        "one", queries(ids, at), filter={"memory_type": "task"}
    ),
}
"""Arguments that change what is read, beside those of tests/calls.py."""
SCRIPTS: dict[str, dict[str, str]] = {
    **{one: {} for one in ("busiest_agents", "index_health", "last_used", "without_embedding")},
    "contradictions": {"agent": "one"},
    "decaying": {"agent": "one"},
    "duplicates": {"agent": "one"},
    "unused_memories": {"agent": "one"},
    "would_recall": {"agent": "one", "words": "tea milk"},
    "why_not": {"agent": "one", "words": "tea milk"},
}
"""The scripts of sql/adhoc with their variables."""


def queries(ids: list[UUID], at: Direction) -> list[JudgedQuery]:
    return [JudgedQuery(at(n), [ids[n]], keywords="tea milk") for n in range(10)]


@dataclass(frozen=True)
class State:
    """One of the three databases, with a session on it."""

    url: str
    shape: Shape
    connection: Connection
    things: dict[str, str]
    ids: list[UUID]

    def work(self, name: str) -> list[Callable[[], Any]]:
        """What a name stands for; all but a procedure and a script is to be rolled back."""
        kind, _, called = name.partition(": ")
        things, repository = Things.named(self.things), MemoryRepository(self.connection)
        at = self.shape.at
        match kind:
            case "method":
                return [partial(work, repository) for work in works(called, things, at)]
            case "more":
                return [lambda: MORE[called](repository, self.ids, at)]
            case "procedure":
                return [partial(self._call, call) for call in PROCEDURES[called]]
            case "script":
                return [lambda: self._script(called)]
            case "view":
                query = f"* FROM pgrecall.{called} WHERE agent_id = 'one'"
                key = "term" if called == "telling_terms" else "id"
                both = (query, f"{query} AND {key}::text = '{things.memory}'")
                return [partial(self._ask, asked) for asked in both]
        return [partial(self._ask, self._function(call)) for call in CALLS[called]]

    def pages(self, name: str) -> int:
        """How many pages of tables and indexes it reads, found in memory or not."""
        before = self._read()
        self.run(name)
        return self._read() - before

    def run(self, name: str) -> None:
        """What it changes is rolled back, unless it is a procedure. What is left to chance, such as
        when a mean is computed again, is the same each time."""
        for work in self.work(name):
            self.connection.exec_driver_sql("SELECT setseed(0.5)")
            self.connection.rollback()
            try:
                with suppress(InputError):  # too few queries to tune by
                    work()
            finally:
                self.connection.rollback()

    def _read(self) -> int:
        self.connection.execute(text("SELECT pg_stat_force_next_flush()"))
        self.connection.rollback()
        [pages] = self.connection.execute(text(PAGES)).one()
        self.connection.rollback()
        return int(pages)

    def _function(self, call: str) -> str:
        start = "" if re.match(r"(count|length|cardinality|max)\(", call) else "* FROM "
        return start + call.format(**self.things)

    def _ask(self, asked: str) -> None:
        self.connection.exec_driver_sql("SET LOCAL search_path = pgrecall, public")
        try:
            self.connection.exec_driver_sql(f"SELECT {asked}")
        except DBAPIError as refused:  # what only another function may call
            if isinstance(refused.orig, psycopg.errors.QueryCanceled):
                raise

    def _call(self, call: str) -> None:
        """In a session of its own, which says what it read before it ends."""
        run(
            self.url,
            "SET search_path = pgrecall, public",
            f"SET statement_timeout = '{LONGEST}'",
            f"CALL {call}",
            "SELECT pg_stat_force_next_flush()",
        )

    def _script(self, script: str) -> None:
        subprocess.run(
            [
                *(str(embedded.binaries() / "psql"), "--no-psqlrc", "--quiet"),
                f"--file={sql_folder() / 'adhoc' / script}.sql",
                *("--command=SELECT pg_stat_force_next_flush()", "--output=/dev/null"),
                *(f"--set={name}={value}" for name, value in SCRIPTS[script].items()),
                f"--set=id={self.ids[0]}",
                "--set=ON_ERROR_STOP=1",
                self.url,
            ],
            check=True,
            capture_output=True,
        )


@contextmanager
def filled(
    server: str, shape: Shape, before: Callable[[str], None] = lambda url: None
) -> Iterator[dict[str, str]]:
    """The URL of each of the three databases; `before` is called while there is little in it."""
    with ExitStack() as opened:
        tiny = opened.enter_context(new_database(server))
        migrate.upgrade(tiny, dimensions=shape.dimensions, embedding_type=shape.embedding_type)
        never = rows(tiny, KNOWN)
        _keep(tiny)
        few = max(1, shape.memories // 1000)
        grow(tiny, shape, 1, few)
        run(tiny, "ANALYZE")
        furnish(tiny, "one", shape.at)
        grow(tiny, shape, few + 1, shape.memories)
        repository = MemoryRepository(_engine(tiny))
        repository.rank_indexes.build(agent_id="one", at_least=1)
        _keep(tiny)
        analysed, blank = (
            opened.enter_context(new_database(server, str(make_url(tiny).database)))
            for _ in range(2)
        )
        run(analysed, "ANALYZE")
        with psycopg.connect(blank) as connection:
            for oid, *counts in never:
                connection.execute(FORGET[0], [oid])
                connection.execute(FORGET[1], [*counts, oid])
        yield dict(zip(STATES, (blank, tiny, analysed), strict=True))


def _keep(url: str) -> None:
    """Keeps autovacuum away from all tables, and so from what is counted."""
    off = "autovacuum_enabled = off, toast.autovacuum_enabled = off"
    run(url, *(f"ALTER TABLE {table} SET ({off})" for table in values(url, TABLES)))


def _engine(url: str) -> Any:
    driven = make_url(url).set(drivername="postgresql+psycopg")
    limit = {"options": f"-c statement_timeout={LONGEST}"}
    return create_engine(driven, poolclass=NullPool, connect_args=limit)


def grow(url: str, shape: Shape, first: int, last: int) -> None:
    """Adds these memories of each owner, by SQL, and what belongs to them."""
    names = ["one", *(f"agent {n}" for n in range(1, shape.owners))]
    query = GROW.format(dimensions=shape.dimensions, embedding_type=shape.embedding_type)
    with psycopg.connect(url) as connection:
        given = {"owners": names, "first": first, "last": last, "words": WORDS}
        connection.execute(query.encode(), given)
        for statement in BELONGINGS.split(";"):
            connection.execute(statement.encode())


@contextmanager
def state(url: str, shape: Shape) -> Iterator[State]:
    """A session on one of the databases."""
    things = things_of(url, "one", shape.at)
    ids = values(
        url,
        "SELECT id FROM pgrecall.agent_memories "
        "WHERE agent_id = 'one' AND left(key, 4) = 'key ' ORDER BY id LIMIT 100",
    )
    engine = _engine(url)
    with engine.connect() as connection:
        yield State(url, shape, connection, things, ids)
    engine.dispose()


NAMES = [
    *(f"method: {name}" for name in GOOD),
    *(f"more: {name}" for name in MORE),
    *(f"function: {name}" for name in CALLS),
    *(f"view: {path.stem}" for path in sorted(sql_folder().glob("views/*.sql"))),
    *(f"script: {name}" for name in SCRIPTS),
    *(f"procedure: {name}" for name in PROCEDURES),
]
"""All that is called, with what kind it is; last what changes the database, erasing at the end."""
