"""What the functions read: rows of their owner alone, and single memories by their keys.

Counted by PostgreSQL, inside of every function, with plans made for the moment's arguments and
with those that are kept for any; with fresh statistics, and with those of a table that was almost
empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest

from pgrecall.testing import new_database
from tests.calls import ON_ALL, ON_FEW, named_calls, selected

Calls = dict[str, list[str]]
OWNERS, ROWS = 10, 10_000
OWN = ROWS // OWNERS
AGENT = "one"
FEW = 100
"""Rows of one table that a verb on a few memories reads, at most."""
TABLES = ("agent_memories", "memory_usage", "memory_links", "memory_events")

FILL = f"""
INSERT INTO pgrecall.agent_memories
       (agent_id, id, content, subject, trust, edition, created_at, memory_type, session, turn,
        embedding)
SELECT CASE n %% {OWNERS} WHEN 1 THEN '{AGENT}' ELSE 'agent ' || n %% {OWNERS} END,
       gen_random_uuid(), 'memory ' || n, 'subject ' || n, 0.5, 0,
       now() - make_interval(mins => n), (ARRAY['episodic', 'task'])[1 + n / 500 %% 2],
       CASE WHEN n > 5000 THEN 'session ' || n / 600 END, CASE WHEN n > 5000 THEN n / 10 %% 60 END,
       ARRAY[sin(n), cos(n), sin(n * 7), cos(n * 3), 1, sin(n * 11), 0, 1]::vector
  FROM generate_series(%s::integer, %s) AS n;
INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count)
SELECT agent_id, id, 1 FROM pgrecall.agent_memories
    ON CONFLICT DO NOTHING;
INSERT INTO pgrecall.memory_links (agent_id, source_id, target_id, kind)
SELECT agent_id, source_id, target_id, 'related'
  FROM (SELECT agent_id, id AS source_id,
               lead(id) OVER (PARTITION BY agent_id ORDER BY id) AS target_id
          FROM pgrecall.agent_memories) AS pairs
 WHERE target_id IS NOT NULL
    ON CONFLICT DO NOTHING;
INSERT INTO pgrecall.memory_events (agent_id, memory_id, id, event_type)
SELECT agent_id, id, id, 'initial' FROM pgrecall.agent_memories
 UNION ALL
SELECT agent_id, id, gen_random_uuid(), 'feedback' FROM pgrecall.agent_memories
    ON CONFLICT DO NOTHING
"""
STANDING = """
UPDATE pgrecall.agent_memories SET status = 'archived' WHERE content = 'memory 31';
UPDATE pgrecall.agent_memories SET status = 'pending' WHERE content IN ('memory 61', 'memory 71');
UPDATE pgrecall.agent_memories m
   SET invalidated_at = now(), invalidation_reason = 'superseded', superseded_by = s.id
  FROM pgrecall.agent_memories s
 WHERE m.content = 'memory 41' AND s.content = 'memory 51';
SELECT pgrecall.remember('one', 'known by its key', key => 'key 0');
UPDATE pgrecall.memory_events SET occurred_at = now() - interval '2 days'
 WHERE event_type = 'feedback'
"""


def together(listed: Calls, more: str) -> Calls:
    """Calls of every function, and some that reach other statements in it."""
    further = named_calls(more)
    return {name: [*calls, *further.get(name, [])] for name, calls in listed.items()}


FEW_CALLS = together(
    ON_FEW,
    """
consolidate_memories('one', ARRAY[<memory>, <other>], content => 'both')
next_judged('one', NULL, 1000, now(), NULL, NULL, NULL)
record_feedback('one', <memory>, 'useful', query => 'q')
remember('one', 'quite new')
remember('one', 'quite new', key => 'key')
remember('one', 'quite new', subject => 'subject 1')
remember('one', 'quite new', subject => 'subject 1', supersede_subject => true)
remember('one', 'memory 1', memory_type => 'entity')
remember('one', 'memory 1', duplicates => 'replace')
remember('one', 'memory 41')
remember('one', 'memory 1', duplicates => 'allow')
restore_rows('one', ARRAY[<new>],
    ARRAY['{"retrieval_count": 1}'::jsonb])
supersede('one', <memory>, new_memory('memory 11'))
upsert('one', new_memory('quite new', key => 'key 0'))
update_memory('one', <memory>, '{"content": "quite new", "embedding": null}')
""",
)
ALL_CALLS = together(
    ON_ALL,
    """
_retain_batch('one', _begin_maintenance('one', '{"min_trust_threshold": 0.9,
    "max_age_hours": 1, "delete_threshold": 0.8, "stale_tasks_after": "1 day"}'))
consolidate('one', min_similarity => 0.5, newest => 20)
recall('one', keywords => 'memory 1', profile => 'hybrid')
remember('one', 'new', <vector>, near_duplicates => 0.9)
""",
)


@dataclass(frozen=True)
class Large:
    """10,000 memories of ten owners, with all that can belong to one."""

    statistics: str
    connection: psycopg.Connection[Any]
    things: dict[str, str]


@pytest.fixture(scope="module")
def large(server_url: str, template: str, request: pytest.FixtureRequest) -> Iterator[Large]:
    statistics: str = request.param
    with (
        new_database(server_url, template) as url,
        psycopg.connect(url, autocommit=True) as connection,
    ):
        for table in TABLES:  # statistics are those of the test
            connection.execute(f"ALTER TABLE pgrecall.{table} SET (autovacuum_enabled = false)")
        if statistics == "of few rows":  # of each owner one
            fill(connection, 1, OWNERS)
            connection.execute("ANALYZE")
        fill(connection, 1 if statistics != "of few rows" else OWNERS + 1, ROWS)
        for statement in STANDING.split(";"):
            connection.execute(statement)
        connection.execute("SELECT pgrecall.refresh_owner(agent_id) FROM pgrecall.owners()")
        if statistics == "fresh":
            connection.execute(
                "ANALYZE"
            )  # no VACUUM, so that index-only scans count what they read
        named = connection.execute(
            "SELECT content, id FROM pgrecall.agent_memories WHERE agent_id = %s", [AGENT]
        )
        ids: dict[str, UUID] = dict(named.fetchall())
        run = connection.execute("SELECT pgrecall._begin_maintenance(%s, '{}')", [AGENT]).fetchone()
        named_things = {"memory": 1, "other": 11, "gone": 31, "waiting": 61, "over": 9001}
        yield Large(
            statistics,
            connection,
            {
                **{name: f"'{ids[f'memory {n}']}'::uuid" for name, n in named_things.items()},
                "vector": "'[1,0,0,0,0,0,0,0]'",
                "content": "'memory 1'",
                "new": "new_memory('quite new')",
                "run": f"'{run and run[0]}'::uuid",
            },
        )


def fill(connection: psycopg.Connection[Any], first: int, last: int) -> None:
    for number, statement in enumerate(FILL.split(";")):
        connection.execute(statement, (first, last) if number == 0 else None)


def read_by(large: Large, call: str, plans: str) -> dict[str, tuple[int, int]]:
    """Of each table: how often it was read as a whole, and how many rows were read in all."""
    counted = """
        SELECT relname, seq_scan, seq_tup_read + idx_tup_fetch
          FROM pg_stat_xact_user_tables
         WHERE schemaname = 'pgrecall' AND relname = ANY (%s)
    """
    with large.connection.transaction(force_rollback=True):
        large.connection.execute(f"SET LOCAL plan_cache_mode = {plans}")
        large.connection.execute("SET LOCAL search_path = pgrecall, public")
        # Of forgets that delete one of 1,000, one in 100 computes the mean, from all memories.
        large.connection.execute("SELECT setseed(0)")
        before = {row[0]: row[1:] for row in large.connection.execute(counted, [[*TABLES]])}

        large.connection.execute(selected(call.format(**large.things)).encode())

        after = {row[0]: row[1:] for row in large.connection.execute(counted, [[*TABLES]])}
    assert after.keys() == set(TABLES)
    return {
        table: (scans - before[table][0], rows - before[table][1])
        for table, (scans, rows) in after.items()
    }


kept_or_not = pytest.mark.parametrize(
    ("large", "plans"),
    [("fresh", "force_generic_plan"), ("of few rows", "force_custom_plan")],
    indirect=["large"],
    scope="module",
)


@kept_or_not
@pytest.mark.parametrize("name", FEW_CALLS)
def test_a_verb_on_few_memories_reaches_them_by_their_keys(
    large: Large, name: str, plans: str
) -> None:
    # Without statistics, or by old ones, the index of active texts seems to be nearly empty, and is
    # read for an owner in place of a key.
    most = FEW if large.statistics == "fresh" else 2 * OWN + FEW
    for call in FEW_CALLS[name]:
        read = read_by(large, call, plans)

        assert {table: scans for table, (scans, _) in read.items() if scans} == {}, call
        assert {table: rows for table, (_, rows) in read.items() if rows > most} == {}, call


@kept_or_not
@pytest.mark.parametrize("name", ALL_CALLS)
def test_what_is_done_for_an_owner_reads_nothing_of_the_others(
    large: Large, name: str, plans: str
) -> None:
    old = large.statistics == "of few rows"
    for call in ALL_CALLS[name]:
        read = read_by(large, call, plans)

        assert any(rows for _, rows in read.values()), call
        # PostgreSQL takes a table for as wide as it was, and may read a small one as a whole then;
        # but never once for each row.
        for table, (scans, rows) in read.items():
            assert scans == 0 or old, (table, call)
            # Several times those of its owner; once those of all would be more.
            most = ROWS * (2 if table in ("memory_events") else 1)
            assert rows < most * (4 if old else 1) + FEW, (table, call)
