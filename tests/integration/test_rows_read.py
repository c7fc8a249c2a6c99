"""What the functions read: rows of their owner alone, and single memories by their keys.

Counted by PostgreSQL, inside of every function, with plans made for the moment's arguments and
with those that are kept for any; with fresh statistics, without any, and with those of a table
that was almost empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest

from pgrecall.testing import new_database

OWNERS, ROWS = 10, 10_000
OWN = ROWS // OWNERS
AGENT = "agent 1"
FEW = 100
"""Rows of one table that a verb on a few memories reads, at most."""
TABLES = ("agent_memories", "memory_usage", "memory_labels", "memory_links", "memory_events")

FILL = f"""
INSERT INTO pgrecall.agent_memories
       (agent_id, id, content, subject, trust, edition, created_at, memory_type, session, turn,
        embedding)
SELECT 'agent ' || n %% {OWNERS}, gen_random_uuid(), 'memory ' || n,
       'subject ' || n, 0.5, 0,
       now() - make_interval(mins => n), (ARRAY['episodic', 'task'])[1 + n / 500 %% 2],
       CASE WHEN n > 5000 THEN 'session ' || n / 600 END, CASE WHEN n > 5000 THEN n / 10 %% 60 END,
       ARRAY[sin(n), cos(n), sin(n * 7), cos(n * 3), 1, sin(n * 11), 0, 1]::vector
  FROM generate_series(%s::integer, %s) AS n;
INSERT INTO pgrecall.memory_usage (agent_id, memory_id, retrieval_count)
SELECT agent_id, id, 1 FROM pgrecall.agent_memories
    ON CONFLICT DO NOTHING;
INSERT INTO pgrecall.memory_labels (agent_id, memory_id, kind, value)
SELECT agent_id, id, 'keyword', 'label ' || n
  FROM pgrecall.agent_memories, generate_series(1, 2) AS n
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
SELECT pgrecall.remember('agent 1', 'known by its key', key => 'key 0');
UPDATE pgrecall.memory_events SET occurred_at = now() - interval '2 days'
 WHERE event_type = 'feedback'
"""

ON_FEW = {
    "adjust_trust": "adjust_trust(%(agent)s, %(a)s, 0.1, 'why')",
    "approve": "approve(%(agent)s, %(waiting)s)",
    "consolidate_memories": "consolidate_memories(%(agent)s, %(ab)s)",
    "consolidate_memories anew": "consolidate_memories(%(agent)s, %(ab)s, content => 'both')",
    "count_retrievals": "count_retrievals(%(agent)s, %(ab)s, ARRAY[now(), now()])",
    "turns_beside": "turns_beside(%(agent)s, %(turn)s, 2)",
    "exported": "exported(%(agent)s, %(a)s, true)",
    "forget": "forget(%(agent)s, %(ab)s)",
    "history": "history(%(agent)s, %(a)s)",
    "is_repeated": "is_repeated(%(agent)s, %(a)s, 'a key')",
    "invalidate": "invalidate(%(agent)s, %(ab)s)",
    "label": "label(%(agent)s, %(a)s, '{x,label 1}')",
    "labels": "labels(%(agent)s, %(a)s)",
    "link": "link(%(agent)s, %(a)s, %(b)s)",
    "links": "links(%(agent)s, %(a)s)",
    "move_tier": "move_tier(%(agent)s, %(ab)s, false)",
    "next_exported": (
        "next_exported(%(agent)s, '00000000-0000-0000-0000-000000000000', 90, 100000)"
    ),
    "next_judged": "next_judged(%(agent)s, NULL, 90, now(), 0.2, now(), 0.1)",
    "record_feedback": "record_feedback(%(agent)s, %(a)s, 'useful', query => 'q')",
    "record_outcome": "record_outcome(%(agent)s, %(a)s, 'success')",
    "remember": "remember(%(agent)s, 'quite new')",
    "remember a key": "remember(%(agent)s, 'quite new', key => 'key')",
    "remember with labels": "remember(%(agent)s, 'quite new', labels => '[\"x\", \"label 1\"]')",
    "remember a subject": "remember(%(agent)s, 'quite new', subject => 'subject 1')",
    "remember in place of a subject": (
        "remember(%(agent)s, 'quite new', subject => 'subject 1', supersede_subject => true)"
    ),
    "remember another type": "remember(%(agent)s, 'memory 1', memory_type => 'entity')",
    "remember what is there": "remember(%(agent)s, 'memory 1')",
    "remember in its place": "remember(%(agent)s, 'memory 1', duplicates => 'replace')",
    "remember what was superseded": "remember(%(agent)s, 'memory 41')",
    "remember beside it": "remember(%(agent)s, 'memory 1', duplicates => 'allow')",
    "remember_rows": (
        "remember_rows(%(agent)s, ARRAY[new_memory('memory 1'), new_memory('new')],"
        " 'bump', NULL, true, 'who')"
    ),
    "reject": "reject(%(agent)s, %(waiting)s)",
    "revive": "revive(%(agent)s, %(gone)s, force => true)",
    "set_importance": "set_importance(%(agent)s, %(a)s, 0.4)",
    "restore_rows": (
        "restore_rows(%(agent)s, ARRAY[new_memory('memory 1', id => %(a)s), new_memory('new')],"
        ' ARRAY[\'{}\', \'{"retrieval_count": 1, "labels": [{"value": "x"}]}\']::jsonb[])'
    ),
    "supersede": "supersede(%(agent)s, %(a)s, new_memory('quite new'))",
    "supersede by another": "supersede(%(agent)s, %(a)s, new_memory('memory 11'))",
    "touch": "touch(%(agent)s, %(ab)s)",
    "touch_once": "touch_once(%(agent)s, %(ab)s, 'a key')",
    "note_event": "note_event(%(agent)s, 'x', %(a)s, '{}', '{}', NULL, 'who', '{}', 'a key')",
    "extend_expiry": "extend_expiry(%(agent)s, %(ab)s, now() + '1 day')",
    "trust_of": "trust_of(%(agent)s, %(a)s)",
    "unlabel": "unlabel(%(agent)s, %(a)s, '{label 1}')",
    "unlink": "unlink(%(agent)s, %(a)s, %(b)s)",
    "update_memory": """update_memory(%(agent)s, %(a)s, '{"importance": 0.4}')""",
    "upsert": "upsert(%(agent)s, new_memory('quite new', key => 'key'))",
    "upsert what is there": "upsert(%(agent)s, new_memory('quite new', key => 'key 0'))",
    "upsert labels": (
        "upsert(%(agent)s, new_memory('quite new', key => 'key 0'), labels => '[\"label 1\"]')"
    ),
    "update_memory's text": (
        """update_memory(%(agent)s, %(a)s, '{"content": "quite new", "embedding": null}')"""
    ),
}
"""Calls on one memory or two, or that bring one; the first word is the function."""

ON_ALL = {
    "archive_excess_batch": "archive_excess_batch(%(agent)s, 900)",
    "clusters": "clusters(%(agent)s, newest => 20)",
    "collect_garbage_batch": "collect_garbage_batch(%(agent)s, begin_garbage_run(%(agent)s))",
    "collect_garbage_batch deletes": (
        "collect_garbage_batch(%(agent)s, begin_garbage_run(%(agent)s, 0.9, 1, 0.8))"
    ),
    "common_terms": "common_terms(%(agent)s, 10, now())",
    "complete_stale_tasks": "complete_stale_tasks(%(agent)s, '1 day')",
    "consolidate": "consolidate(%(agent)s, min_similarity => 0.5, newest => 20)",
    "context": "context(%(agent)s, %(vector)s)",
    "count_garbage": "count_garbage(%(agent)s)",
    "count_owner": "count_owner(%(agent)s)",
    "erase": "erase(%(agent)s, %(ab)s)",
    "erase_owner_batch": "erase_owner_batch(%(agent)s)",
    "expire_events_batch": "expire_events_batch(%(agent)s, 24)",
    "explain": "explain(%(agent)s, %(a)s, %(vector)s)",
    "forget_matching": "forget_matching(%(agent)s, labels => '{label 1}')",
    "list_memories": "list_memories(%(agent)s)",
    "list_memories by use": "list_memories(%(agent)s, '{retrieval_count}', min_trust => 0.1)",
    "make_rank_index": "make_rank_index(%(agent)s, now(), 100)",
    "near_duplicates": "near_duplicates(%(agent)s, newest => 20)",
    "positions_of": "positions_of(%(agent)s, now())",
    "prune": "prune(%(agent)s, '1 day')",
    "prune by score": "prune(%(agent)s, below_score => 0.5)",
    "prune among few": "prune(%(agent)s, '1 day', among => %(ab)s)",
    "rank_questions": "rank_questions(%(agent)s, 10)",
    "recall": "recall(%(agent)s, %(vector)s)",
    "recall words": "recall(%(agent)s, query_text => 'memory 1', profile => 'hybrid')",
    "recall with both": "recall(%(agent)s, %(vector)s, 'memory 1', profile => 'hybrid')",
    "recall_plan": "recall_plan(%(agent)s, %(vector)s)",
    "recorded_queries": "recorded_queries(%(agent)s)",
    "remember near": "remember(%(agent)s, 'new', %(vector)s, near_duplicates => 0.9)",
    "sweep_orphans_batch": "sweep_orphans_batch(%(agent)s)",
    "term_weights": "term_weights(%(agent)s, 'memory 1')",
}
"""Calls that look at all memories of the owner."""

WITHIN = {
    *("assessed", "forget_positions", "insert_memories", "lock_memories", "lock_same"),
    *("mark_superseded", "memories_below", "near_memory", "newest_memories", "next_edition"),
    *("note_events", "noted_labels", "put_away", "question", "require_incoming", "restate"),
    *(
        "same_memory",
        "same_subject",
        "active_kinds",
        "new_kinds",
        "successors",
        "supersede_in_turn",
        "supersede_subject",
        "supersede_successors",
        "take_place",
        "together",
    ),
    *("store_labels", "store_memories", "unmet_condition", "write_memory"),
    *("begin_garbage_run", "copy_used_positions", "create_positions", "erase_rows"),
    *("active_memories", "count_rows", "erase_mentions", "replaced_by"),
    *("events_expire_before", "note_use"),
    *("note_placed", "place_memories", "wait_for_writers"),
    *("forget_positions_here", "give_up_positions", "gone_memories", "make_rank_index_here"),
    *("note_use_here", "place_memories_here", "share_timeout"),
    *("beside_index", "beside_since", "count_with", "is_said", "memories_with", "used_since"),
    *("await_writers", "drop_former_positions", "has_memories", "orphaned"),
}
"""What the calls above call in their turn."""
OF_NO_MEMORIES = {
    *("id_of_key", "incoming_fault", "named_owner", "require_found", "require_note"),
    *("require_owner", "term_key", "term_keys"),
    *("drop_rank_index", "count_runs", "end_garbage_run", "expire_runs"),
}
OF_RANK_INDEXES = {
    *("memories_beside", "memories_of", "rank_candidates", "rank_index_progress"),
    *("rank_index_states", "worded_candidates"),
}
"""Asked for an owner with a rank index, or for all owners; they have tests of their own."""


@dataclass(frozen=True)
class Large:
    """10,000 memories of ten owners, with all that can belong to one."""

    statistics: str
    connection: psycopg.Connection[Any]
    arguments: dict[str, Any]


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
        if statistics == "fresh":
            connection.execute(
                "ANALYZE"
            )  # no VACUUM, so that index-only scans count what they read
        named = connection.execute(
            "SELECT content, id FROM pgrecall.agent_memories WHERE agent_id = %s", [AGENT]
        )
        ids: dict[str, UUID] = dict(named.fetchall())
        a, b = ids["memory 1"], ids["memory 11"]
        yield Large(
            statistics,
            connection,
            {
                "agent": AGENT,
                "a": a,
                "b": b,
                "ab": [a, b],
                "gone": [ids["memory 31"], ids["memory 41"]],
                "waiting": [ids["memory 61"], ids["memory 71"]],
                "turn": ids["memory 9001"],
                "vector": "[1,0,0,0,0,0,0,0]",
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
        before = {row[0]: row[1:] for row in large.connection.execute(counted, [[*TABLES]])}

        large.connection.execute(f"SELECT * FROM {call}", large.arguments)

        after = {row[0]: row[1:] for row in large.connection.execute(counted, [[*TABLES]])}
    assert after.keys() == set(TABLES)
    return {
        table: (scans - before[table][0], rows - before[table][1])
        for table, (scans, rows) in after.items()
    }


kept_or_not = pytest.mark.parametrize(
    ("large", "plans"),
    [
        ("fresh", "force_custom_plan"),
        ("fresh", "force_generic_plan"),
        ("none", "force_generic_plan"),
        ("of few rows", "force_custom_plan"),
    ],
    indirect=["large"],
    scope="module",
)


@kept_or_not
@pytest.mark.parametrize("name", ON_FEW)
def test_a_verb_on_few_memories_reaches_them_by_their_keys(
    large: Large, name: str, plans: str
) -> None:
    read = read_by(large, ON_FEW[name], plans)

    assert {table: scans for table, (scans, _) in read.items() if scans} == {}
    # Without statistics, or by old ones, the index of active texts seems to be nearly empty, and is
    # read for an owner in place of a key.
    most = FEW if large.statistics == "fresh" else 2 * OWN + FEW
    assert {table: rows for table, (_, rows) in read.items() if rows > most} == {}


@kept_or_not
@pytest.mark.parametrize("name", ON_ALL)
def test_what_is_done_for_an_owner_reads_nothing_of_the_others(
    large: Large, name: str, plans: str
) -> None:
    read = read_by(large, ON_ALL[name], plans)

    assert any(rows for _, rows in read.values()) or name == "recall_plan"
    # PostgreSQL takes a table for as wide as it was, and may read a small one as a whole then; but
    # never once for each row.
    old = large.statistics == "of few rows"
    for table, (scans, rows) in read.items():
        assert scans == 0 or old, table
        # Several times those of its owner; once those of all would be more.
        most = ROWS * (2 if table in ("memory_labels", "memory_events") else 1)
        assert rows < most * (4 if old else 1), table


@pytest.mark.parametrize("large", ["fresh"], indirect=True)
def test_every_function_is_looked_at(large: Large) -> None:
    found = {
        name
        for (name,) in large.connection.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'pgrecall'::regnamespace "
            "AND prokind = 'f' AND proargnames[1] = 'agent'"
        )
    }

    called = {name.split()[0].removesuffix("'s") for name in (*ON_FEW, *ON_ALL)}
    assert found == called | WITHIN | OF_NO_MEMORIES | OF_RANK_INDEXES
