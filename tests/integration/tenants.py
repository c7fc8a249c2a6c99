"""Two tenants with everything a tenant may have, behind the recipe of row-level security."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import psycopg
from psycopg import sql

from pgrecall import NewMemory, embedded
from pgrecall.core.ids import new_id
from pgrecall.core.resources import sql_folder
from tests.calls import Direction
from tests.integration.conftest import repository_on
from tests.integration.support import at
from tests.migrations.asking import run, value, values

WRITER, MAINTAINER = ROLES = ("pgrecall_tenant", "pgrecall_tenants_maintainer")
OWN = {tenant: f"{{{tenant},team:{tenant}}}" for tenant in ("one", "two")}
"""What the sessions of each tenant name."""
SCRIPT = sql_folder() / "policies" / "row_level_security.sql"
MEMORIES = 40
LONG_AGO = datetime.now(UTC) - timedelta(days=400)


def guard(url: str, *, schema: str | None = None) -> str:
    """Runs the recipe by psql; returns what it says."""
    given = [] if schema is None else ["-v", f"schema={schema}"]
    done = subprocess.run(
        [embedded.binaries() / "psql", "-X", *given, "-f", SCRIPT, url],
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def furnish(url: str, tenant: str, at: Direction = at) -> None:
    """Gives a tenant and its team memories, counters, links, history and rank indexes."""
    repo = repository_on("sync", url)
    for one in (repo, repo.teams):
        new = [
            NewMemory(f"{tenant}secret number {n}", embedding=at(n), tags=[tenant], tier="medium")
            for n in range(MEMORIES - 2)
        ]
        new[2] = replace(new[2], session="s", turn=1)
        task = NewMemory(
            f"{tenant}secret task", embedding=at(40), memory_type="task", created_at=LONG_AGO
        )
        over = NewMemory(
            f"{tenant}secret of old", embedding=at(1), created_at=LONG_AGO, valid_until=LONG_AGO
        )
        over = replace(over, session="s", turn=0)
        ids = one.add_many(tenant, [*new, task, over])
        one.touch(tenant, ids[:-2])
        one.links.add(tenant, ids[0], ids[1], tenant)
        one.record_outcome(tenant, ids[0], "success", reason=tenant, query=f"{tenant}secret?")
        one.evaluation.judge(tenant, ids[1], f"{tenant}secret?")
        one.rank_indexes.build(agent_id=tenant, at_least=1)
        one.invalidate(tenant, ids[-3])
        one.add(tenant, NewMemory(f"{tenant} told", embedding=at(1), subject=f"{tenant}subject"))
        one.add(tenant, NewMemory(f"{tenant} waiting", embedding=at(1), requires_approval=True))
        one.names.alias(tenant, f"{tenant}alias", f"{tenant}subject")
    run(url, f"SELECT pgrecall._begin_maintenance('{tenant}', '{{}}')")


def empty(url: str, tenant: str) -> None:
    """Deletes all of a tenant, but for the tables that its rank indexes leave, by now empty."""
    owners = (tenant, f"team:{tenant}")
    for relation in indexes_of(url, tenant):
        run(url, f"DELETE FROM pgrecall.{relation}")
    for table in owned_tables(url):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                sql.SQL("DELETE FROM {} WHERE agent_id = ANY (%s)").format(
                    sql.Identifier("pgrecall", table)
                ),
                (list(owners),),
            )


def indexes_of(url: str, tenant: str) -> list[str]:
    query = (
        "SELECT unnest(ARRAY[relation, pgrecall.used_positions(relation)]) "
        "FROM pgrecall.rank_indexes WHERE agent_id = ANY (%s) ORDER BY agent_id"
    )
    return values(url, query, [tenant, f"team:{tenant}"])


_first_indexes_of = cache(indexes_of)
"""As they were when first asked for; another one shows in the table that lists them."""


@cache
def owned_tables(url: str) -> list[str]:
    return values(
        url,
        "SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
        "WHERE c.relnamespace = 'pgrecall'::regnamespace AND c.relkind = 'r' "
        "AND a.attname = 'agent_id' ORDER BY 1",
    )


def snapshot(connection: psycopg.Connection, url: str, tenant: str) -> list[Any]:
    """A hash of all that a tenant has, table by table, as this transaction sees it."""
    owned = f"agent_id IN ('{tenant}', 'team:{tenant}')"
    each = [f"pgrecall.{table} t WHERE {owned}" for table in owned_tables(url)]
    there = "SELECT to_regclass(%s) IS NOT NULL"
    each += [
        f"pgrecall.{relation} t"
        for relation in _first_indexes_of(url, tenant)
        if connection.execute(there, [f"pgrecall.{relation}"]).fetchone() == (True,)
    ]
    hashes = " UNION ALL ".join(
        f"SELECT {number}, md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM {one}"
        for number, one in enumerate(each)
    )
    return connection.execute(f"{hashes} ORDER BY 1".encode()).fetchall()


def things_of(url: str, tenant: str, at: Direction = at) -> dict[str, str]:
    """What a call names that is about a tenant's own things."""
    agent = f"WHERE agent_id = '{tenant}'"
    memory, other = values(
        url, f"SELECT memory_id FROM pgrecall.memory_usage {agent} ORDER BY memory_id LIMIT 2"
    )
    relation = value(url, f"SELECT relation FROM pgrecall.rank_indexes {agent}")
    content = value(url, f"SELECT content FROM pgrecall.agent_memories {agent} AND id = %s", memory)
    hash_query = f"SELECT content_hash::text FROM pgrecall.agent_memories {agent} AND id = %s"
    hashed = value(url, hash_query, memory)
    row = {
        "agent_id": tenant,
        "id": str(memory),
        "content_hash": hashed,
        "status": "active",
        "memory_type": "episodic",
        "tags": [],
        "inserted_at": "2026-01-01",
    }
    return {
        "memory": f"'{memory}'::uuid",
        "other": f"'{other}'::uuid",
        "over": f"'{_id(url, tenant, 'of old')}'::uuid",
        "relation": f"'{relation}'",
        "position": f"'{value(url, f'SELECT position::text FROM pgrecall.{relation} LIMIT 1')}'",
        "vector": f"'{at(3)}'",
        "content": f"'{content}'",
        "run": f"'{value(url, f'SELECT id FROM pgrecall.maintenance_runs {agent}')}'::uuid",
        "new": f"new_memory('{tenant}secret new', '{at(1)}', id => '{new_id()}')",
        "about": f"new_memory('{tenant} says', '{at(1)}', subject => '{tenant}subject')",
        "waiting": f"'{_id(url, tenant, '% waiting')}'::uuid",
        "gone": f"'{_id(url, tenant, f'number {MEMORIES - 3}')}'::uuid",
        "row": f"jsonb_populate_record(new_memory({content!r}), '{json.dumps(row)}')",
    }


def _id(url: str, tenant: str, like: str) -> Any:
    return value(
        url,
        "SELECT id FROM pgrecall.agent_memories WHERE agent_id = %s AND content LIKE %s",
        tenant,
        f"%{like}",
    )


def outcome(connection: psycopg.Connection, statement: str) -> str:
    """What a session gets from a statement: its rows, or how it is refused."""
    try:
        found = connection.execute(statement.encode())
        text = str(found.fetchall() if found.description else found.statusmessage)
    except psycopg.Error as refused:
        text = f"{refused.sqlstate} {refused.diag.message_primary}"
    return re.sub(r"\(cost=\S+ rows=\S+ width=\S+\)", "", text)  # of a plan


def name_owners(connection: psycopg.Connection, named: str | None) -> None:
    """None: as a session that has named some in a transaction that is over; '-': never any."""
    if named != "-":
        owners = OWN["one"] if named is None else named
        with connection.transaction():
            local = named is None
            connection.execute("SELECT set_config('pgrecall.owners', %s, %s)", (owners, local))
