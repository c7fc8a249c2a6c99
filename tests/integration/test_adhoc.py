"""The psql scripts of sql/adhoc, each run by the psql that comes with the embedded server."""

from __future__ import annotations

import csv
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from pgrecall import embedded, migrate
from pgrecall.core.ids import new_id
from pgrecall.core.resources import sql_folder
from pgrecall.testing import new_database
from tests.conftest import DIMENSIONS
from tests.integration.support import NORTH

FOLDER = sql_folder() / "adhoc"
AGENT = "agent-1"
PERISHABLE = 10
"""Days: recency at 0.05 a day is 0.61 now and 0.43 in a week."""

OTHERS = {
    "busiest_agents.sql": ("by", "limit"),
    "decaying.sql": ("profile", "threshold", "days", "limit"),
    "index_health.sql": (),
    "unused_memories.sql": ("days", "limit"),
}
"""Variables other than `agent` and `schema`, none of which takes any text."""
OF_ALL = {"busiest_agents.sql", "index_health.sql"}
each_script = pytest.mark.parametrize("script", OTHERS)
HOSTILE = (
    r"""'; DROP TABLE pgrecall.agent_memories; -- \! touch /tmp/x back\slash\' $$ $a$""",
    """O'Brien :agent :'agent' :"schema" "quoted" {x} %s %(agent)s\ntwo lines -- Ünïcode 👻""",
)

Row = dict[str, str]


@dataclass(frozen=True)
class Result:
    """What one run of a script printed: a table a title, or one table under ''."""

    code: int
    errors: str
    printed: str
    tables: dict[str, list[Row]] = field(default_factory=dict)

    @property
    def rows(self) -> list[Row]:
        [rows] = self.tables.values()
        return rows

    def column(self, name: str) -> list[str]:
        return [row[name] for row in self.rows]


@dataclass(frozen=True)
class Database:
    """A database to run scripts on and to fill."""

    url: str
    schema: str = "pgrecall"
    extensions: str = "public"

    def run(self, script: str, *, settings: str = "", **variables: Any) -> Result:
        """Runs it; `settings` are server options such as -csearch_path=x."""
        done = subprocess.run(
            [
                embedded.binaries() / "psql",
                *("--no-psqlrc", "--quiet", "--csv", f"--file={FOLDER / script}"),
                *(f"--set={name}={value}" for name, value in variables.items()),
                self.url,
            ],
            capture_output=True,
            encoding="utf-8",
            env=os.environ | {"PGOPTIONS": settings, "PGCLIENTENCODING": "UTF8"},
        )
        return Result(done.returncode, done.stderr, done.stdout, _tables(done.stdout))

    def ask(self, script: str, *, settings: str = "", **variables: Any) -> Result:
        """Runs it and expects that it succeeds in silence."""
        result = self.run(script, settings=settings, **variables)
        assert (result.code, result.errors) == (0, "")
        return result

    def add(
        self,
        content: str,
        *,
        agent: str = AGENT,
        retrievals: int | None = None,
        accessed: datetime | None = None,
        **values: Any,
    ) -> UUID:
        """Inserts a memory and, where it was retrieved, its counters."""
        added = new_id()
        values = {"agent_id": agent, "id": added, "content": content} | values
        if isinstance(values.get("embedding"), list):
            values["embedding"] = str(values["embedding"])
        with self.connect() as connection:
            _insert(connection, "agent_memories", values)
            if retrievals is not None:
                counters = {"retrieval_count": retrievals, "last_accessed_at": accessed}
                key = {"agent_id": agent, "memory_id": added}
                _insert(connection, "memory_usage", key | counters)
        return added

    def connect(self) -> psycopg.Connection:
        path = f"-csearch_path={self.schema},{self.extensions}"
        return psycopg.connect(self.url, autocommit=True, options=path)

    def rows(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(statement.encode(), values).fetchall()


def _insert(connection: psycopg.Connection, table: str, values: dict[str, Any]) -> None:
    connection.execute(
        sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, values)),
            sql.SQL(", ").join(sql.Placeholder() * len(values)),
        ),
        list(values.values()),
    )


def _tables(printed: str) -> dict[str, list[Row]]:
    titles = re.split(r"^([A-Z][a-z ]+):\n", printed, flags=re.MULTILINE)
    parts = (
        {"": titles[0]} if len(titles) == 1 else dict(zip(titles[1::2], titles[2::2], strict=True))
    )
    return {title: list(csv.DictReader(part.splitlines())) for title, part in parts.items()}


def days_ago(days: float) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


@pytest.fixture
def database(database_url: str) -> Database:
    return Database(database_url)


@pytest.fixture
def own(own_url: str) -> Database:
    """For tests that change more than rows of agents."""
    return Database(own_url)


@pytest.fixture(scope="module")
def shared(module_url: str) -> Database:
    """For tests that only read: every script finds something, of every hostile agent too."""
    database = Database(module_url)
    fill(database, AGENT, *HOSTILE)
    database.add("of the team", agent=f"team:{AGENT}", embedding=NORTH)
    with database.connect() as connection:
        connection.execute("CREATE SCHEMA shadow")
        for view in ("agent_memories", "memory_usage"):
            connection.execute(f"CREATE VIEW shadow.{view} AS SELECT 1 AS nothing")
    return database


def fill(database: Database, *agents: str) -> None:
    """Two memories each, unused and decaying."""
    values: dict[str, Any] = {"embedding": NORTH, "created_at": days_ago(PERISHABLE)}
    for number, agent in enumerate(agents):
        for copy in ("first", "second"):
            database.add(f"mine {number}. {copy}", agent=agent, **values)


def variables_of(script: str, agent: str = AGENT) -> dict[str, Any]:
    """A value for each variable that the script requires."""
    return {} if script in OF_ALL else {"agent": agent}


@each_script
def test_it_refuses_what_is_missing_or_no_value(shared: Database, script: str) -> None:
    variables = variables_of(script)
    if variables:
        result = shared.run(script)
        assert (result.code, result.printed) == (3, "")
        assert f"agent is not set: psql -v agent=… -f {script}" in result.errors
    for name in ("schema", *OTHERS[script]):
        hostile = "x'; CREATE TABLE public.broken_in (); --"
        result = shared.run(script, **variables | {name: hostile})
        assert result.code == 3
        assert re.search("does not exist|invalid input|unknown|malformed", result.errors), name
    assert shared.rows("SELECT to_regclass('public.broken_in')") == [(None,)]


@each_script
def test_it_writes_nothing_and_tells_each_agent_its_own(shared: Database, script: str) -> None:
    """Whatever the caller's search_path."""
    settings = "-cdefault_transaction_read_only=on -csearch_path=shadow,pgrecall,public"
    for number, agent in enumerate((AGENT, *HOSTILE)):
        variables = variables_of(script, agent)
        if "profile" in OTHERS[script]:
            variables["profile"] = "five_factor"
        printed = shared.ask(script, settings=settings, **variables).printed

        assert printed
        if script not in OF_ALL:
            assert set(re.findall(r"mine \d+\.", printed)) == {f"mine {number}."}
            assert "of the team" not in printed


@pytest.fixture(scope="module")
def elsewhere(server_url: str) -> Iterator[Database]:
    """Another schema, another type of vector, pgvector in a schema of its own."""
    with new_database(server_url) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute('CREATE SCHEMA "Ext"')
            connection.execute('CREATE EXTENSION vector SCHEMA "Ext"')
        migrate.upgrade(url, schema="ours", embedding_type="halfvec", dimensions=DIMENSIONS)
        database = Database(url, schema="ours", extensions='"Ext"')
        fill(database, AGENT)
        yield database


@each_script
def test_another_schema_and_type_of_vector(elsewhere: Database, script: str) -> None:
    assert elsewhere.ask(script, schema="ours", **variables_of(script)).printed


def test_decaying_this_week(database: Database) -> None:
    soon: dict[str, Any] = {"created_at": days_ago(PERISHABLE)}
    database.add("recent", created_at=days_ago(1))
    database.add("soon", **soon)
    database.add("long ago", created_at=days_ago(50))
    database.add("archived", status="archived", **soon)
    database.add("expired", expires_at=days_ago(1), **soon)
    database.add("expires", expires_at=days_ago(-1), **soon)
    database.add("ageless", created_at=None)

    def found(**variables: Any) -> list[str]:
        rows = database.ask("decaying.sql", agent=AGENT, profile="five_factor", **variables).rows
        assert {row["signal"] for row in rows} <= {"recency"}
        return sorted(row["content"] for row in rows)

    assert found() == ["expires", "soon"]
    assert found(days=1) == found(threshold=0.4) == found(limit=0) == []
    assert found(threshold=0.4, days=10) == found(threshold=0.6, days=0.5) == ["expires", "soon"]


def test_decaying_by_the_curve_of_trust(database: Database) -> None:
    old: dict[str, Any] = {"created_at": days_ago(200)}
    trusted = old | {"trust": 0.8, "trust_half_life_hours": 168.0}
    for curve in ("hyperbolic", "exponential", "linear"):
        database.add(curve, trust_curve=curve, retrievals=1, accessed=days_ago(2), **trusted)
    database.add("never accessed", trust_curve="linear", **trusted)
    database.add("never assessed", retrievals=1, accessed=days_ago(2), **old)
    decaying = database.ask("decaying.sql", agent=AGENT)
    values = {row["content"]: (float(row["now"]), float(row["later"])) for row in decaying.rows}
    assert set(decaying.column("signal")) == {"trust"}
    assert values == {
        "hyperbolic": pytest.approx((0.8 * 7 / 9, 0.8 * 7 / 16), abs=1e-3),
        "exponential": pytest.approx((0.8 * 2 ** (-2 / 7), 0.8 * 2 ** (-9 / 7)), abs=1e-3),
        "linear": pytest.approx((0.8 * 6 / 7, 0.8 * 5 / 14), abs=1e-3),
    }


def test_busiest_agents(own: Database) -> None:
    long_ago, lately = days_ago(30), days_ago(1)
    for text in "abc":
        own.add(text, agent="many")
    own.add("b", agent="much", retrievals=40, accessed=long_ago)
    own.add("c", agent="late", retrievals=2, accessed=lately)
    own.add("d", agent="late", retrievals=0)
    own.add("e", agent="team:much", retrievals=30, accessed=days_ago(40))

    def found(**variables: Any) -> list[str]:
        return own.ask("busiest_agents.sql", **variables).column("agent_id")

    assert found() == ["much", "team:much", "late", "many"]
    assert found(by="memories") == ["many", "late", "much", "team:much"]
    assert found(by="last_access", limit=2) == ["late", "much"]
    [much, _, late, many] = own.ask("busiest_agents.sql").rows
    assert (much["memories"], much["retrievals"]) == ("1", "40")
    assert (late["memories"], late["retrieved_memories"], late["retrievals"]) == ("2", "1", "2")
    assert (many["memories"], many["retrievals"], many["last_access"]) == ("3", "0", "")


def test_health_shows_indexes_scans_dead_rows_and_hot_updates(own: Database) -> None:
    def health() -> tuple[dict[str, Row], dict[str, Row]]:
        tables = own.ask("index_health.sql").tables
        indexes = {row["index_name"]: row for row in tables["Indexes"]}
        return indexes, {row["table_name"]: row for row in tables["Tables"]}

    indexes, tables = health()
    assert {"agent_memories", "memory_usage", "memory_events"} <= tables.keys()
    assert {"pk_agent_memories", "pk_memory_usage"} <= indexes.keys()
    assert indexes["ix_agent_memories_words"]["method"] == "gin"
    assert {row["valid"] for row in indexes.values()} == {"t"}
    assert all(int(row["bytes"]) > 0 for row in indexes.values())

    memory = own.add("counted", retrievals=1, accessed=days_ago(1))
    with own.connect() as connection:
        connection.execute(
            "UPDATE pg_index SET indisvalid = false "
            "WHERE indexrelid = 'ix_agent_memories_words'::regclass"
        )
        connection.execute("ALTER TABLE memory_usage SET (autovacuum_enabled = off)")
        connection.execute("SET enable_seqscan = off")
        for _ in range(4):
            connection.execute(
                "UPDATE memory_usage SET retrieval_count = retrieval_count + 1 "
                "WHERE agent_id = %s AND memory_id = %s",
                [AGENT, memory],
            )
        connection.execute("SELECT pg_stat_force_next_flush()")

    indexes, tables = health()
    invalid = [name for name, row in indexes.items() if row["valid"] == "f"]
    assert invalid == ["ix_agent_memories_words"]
    assert int(indexes["pk_memory_usage"]["scans"]) >= 4
    usage = tables["memory_usage"]
    assert (usage["updates"], usage["hot_percent"]) == ("4", "100.0")
    assert int(usage["dead_rows"]) > 0


def test_unused_memories_the_longest_unused_first(database: Database) -> None:
    database.add("never, new", created_at=days_ago(1))
    database.add("never, old", created_at=days_ago(60))
    database.add("never, of unknown age", created_at=None)
    database.add("once", created_at=days_ago(100), retrievals=3, accessed=days_ago(40.5))
    lately = "lately\nor\t so" + "x" * 100_000  # which has to fit a line
    database.add(lately, created_at=days_ago(100), retrievals=3, accessed=days_ago(2))
    database.add("archived", created_at=days_ago(100), status="archived")
    database.add("forgotten", created_at=days_ago(100), invalidated_at=days_ago(1))

    unused = database.ask("unused_memories.sql", agent=AGENT)
    fewer = database.ask("unused_memories.sql", agent=AGENT, days=41, limit=2)
    more = database.ask("unused_memories.sql", agent=AGENT, days=1)

    assert unused.column("content") == [
        *("never, of unknown age", "never, old", "once", "never, new")
    ]
    assert unused.column("days_unused") == ["", "60", "40", "1"]
    assert unused.column("never_retrieved") == ["t", "t", "f", "t"]
    assert unused.column("retrievals") == ["0", "0", "3", "0"]
    assert fewer.column("content") == ["never, of unknown age", "never, old"]
    [shown] = [content for content in more.column("content") if "lately or soxxx" in content]
    assert len(shown) <= 80
