"""The psql scripts of sql/adhoc, each run by the psql that comes with the embedded server."""

from __future__ import annotations

import csv
import os
import re
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from pgrecall import embedded
from pgrecall.core.ids import new_id
from pgrecall.core.resources import sql_folder
from tests.integration.support import NORTH, at

FOLDER = sql_folder() / "adhoc"
AGENT = "agent-1"
OF_ALL = {"busiest_agents.sql", "index_health.sql", "last_used.sql", "without_embedding.sql"}
OF_AGENT = {
    *("contradictions.sql", "decaying.sql", "duplicates.sql", "unused_memories.sql"),
    *("why_not.sql", "would_recall.sql"),
}
each_script = pytest.mark.parametrize("script", sorted(OF_ALL | OF_AGENT))
HOSTILE = (
    r"""'; DROP TABLE pgrecall.agent_memories; -- \! touch /tmp/x back\slash\' $$ $a$""",
    """O'Brien :agent :'agent' :"schema" "quoted" {x} %s %(agent)s\ntwo lines -- Ünïcode 👻""",
)

Row = dict[str, str]


@dataclass(frozen=True)
class Result:
    """What one run of a script printed."""

    code: int
    errors: str
    printed: str

    @property
    def rows(self) -> list[Row]:
        return list(csv.DictReader(self.printed.splitlines()))

    def column(self, name: str) -> list[str]:
        return [row[name] for row in self.rows]


@dataclass(frozen=True)
class Database:
    """A database to run scripts on and to fill."""

    url: str

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
        return Result(done.returncode, done.stderr, done.stdout)

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
        path = "-csearch_path=pgrecall,public"
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
    """Memories that each script finds."""
    for number, agent in enumerate(agents):
        for copy, values in (
            ("first", {"embedding": NORTH}),
            ("second", {"embedding": NORTH}),
            ("third", {"subject": "tea", "embedding": None}),
            ("fourth", {"subject": "tea", "retrievals": 3, "accessed": days_ago(2)}),
        ):
            given: dict[str, Any] = {"created_at": days_ago(10), **values}
            database.add(f"mine {number}. {copy} door", agent=agent, **given)


def variables_of(database: Database, script: str, agent: str = AGENT) -> dict[str, Any]:
    """A value for each variable that the script requires."""
    if script in OF_ALL:
        return {}
    given: dict[str, Any] = {"agent": agent, "words": "the door 'code"}
    [[id_], *_] = database.rows(
        "SELECT id FROM agent_memories WHERE agent_id = %s ORDER BY id", agent
    )
    return given | {"id": id_}


def test_there_are_ten_each_with_its_question() -> None:
    scripts = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.sql")}
    assert scripts.keys() == OF_ALL | OF_AGENT
    assert len(scripts) == 10
    for name, text in scripts.items():
        question, usage, *lines = text.splitlines()
        assert re.fullmatch(r"-- [A-Z].*\?.*", question), name
        assert re.fullmatch(rf"--   psql .*-f {name}", usage), name
        assert 2 <= len(lines) <= 12, name


@each_script
def test_it_refuses_what_is_missing(shared: Database, script: str) -> None:
    if script in OF_AGENT:
        result = shared.run(script, ON_ERROR_STOP=1)
        assert (result.code, result.printed) == (3, "")
        assert "syntax error" in result.errors


@each_script
def test_it_writes_nothing_and_tells_each_agent_its_own(shared: Database, script: str) -> None:
    """Whatever the caller's search_path."""
    settings = "-cdefault_transaction_read_only=on -csearch_path=shadow,pgrecall,public"
    for number, agent in enumerate((AGENT, *HOSTILE)):
        variables = variables_of(shared, script, agent)
        printed = shared.ask(script, settings=settings, **variables).printed

        assert len(printed.splitlines()) > 1
        if script in OF_AGENT - {"why_not.sql"}:
            assert set(re.findall(r"mine \d+\.", printed)) == {f"mine {number}."}
            assert "of the team" not in printed


def test_decaying_this_week(database: Database) -> None:
    soon: dict[str, Any] = {"created_at": days_ago(10)}
    database.add("recent", created_at=days_ago(1))
    database.add("soon", **soon)
    database.add("long ago", created_at=days_ago(50))
    database.add("archived", status="archived", **soon)
    database.add("expired", expires_at=days_ago(1), **soon)
    database.add("expires", expires_at=days_ago(-1), **soon)
    database.add("ageless", created_at=None)

    rows = database.ask("decaying.sql", agent=AGENT).rows
    assert sorted(row["content"] for row in rows) == ["expires", "soon"]
    assert {(row["recency"], row["in_a_week"]) for row in rows} == {("0.607", "0.427")}


def test_what_would_be_recalled_and_why_not(database: Database) -> None:
    door = database.add("the door code is 4711", created_at=days_ago(1))
    database.add("the code of the door is gone", created_at=days_ago(1), status="archived")
    old = database.add("a code", created_at=days_ago(90), invalidated_at=days_ago(3))
    database.add("tea", created_at=days_ago(1))

    recalled = database.ask("would_recall.sql", agent=AGENT, words="the door code")
    assert recalled.column("content") == ["the door code is 4711", "tea"]
    assert recalled.column("words") == ["1.000", "0.000"]
    given = {"agent": AGENT, "words": "door code"}
    [here] = database.ask("why_not.sql", id=door, **given).rows
    assert (here["rank"], here["ranked"], here["reasons"]) == ("1", "2", "{}")
    [gone] = database.ask("why_not.sql", id=old, **given).rows
    assert (gone["rank"], gone["reasons"].startswith('{"invalidated at ')) == ("2", True)


def test_duplicates_and_contradictions(database: Database) -> None:
    database.add("tea", embedding=NORTH, subject="drinks", created_at=days_ago(2))
    database.add("also tea", embedding=at(5), subject="drinks", created_at=days_ago(1))
    database.add("coffee", embedding=at(90), subject="drinks", status="archived")
    database.add("milk", embedding=at(3), subject="milk", agent="another")

    [pair] = database.ask("duplicates.sql", agent=AGENT).rows
    assert (pair["cosine"], pair["content"], pair["other_content"]) == ("0.996", "tea", "also tea")
    [subject] = database.ask("contradictions.sql", agent=AGENT).rows
    assert (subject["subject"], subject["memories"]) == ("drinks", "2")
    assert subject["contents"] == '{"also tea",tea}'


def test_busiest_agents_and_who_used_what_last(own: Database) -> None:
    long_ago, lately = days_ago(30), days_ago(1)
    for text in "abc":
        own.add(text, agent="many")
    own.add("b", agent="much", retrievals=40, accessed=long_ago)
    own.add("c", agent="late", retrievals=2, accessed=lately)
    own.add("d", agent="late", retrievals=0)
    own.add("e", agent="team:much", retrievals=30, accessed=days_ago(40), embedding=NORTH)

    [much, of_team, late, many] = own.ask("busiest_agents.sql").rows
    assert [row["agent_id"] for row in (much, of_team, late, many)] == [
        *("much", "team:much", "late", "many")
    ]
    assert (much["memories"], much["retrievals"]) == ("1", "40")
    assert (late["memories"], late["retrievals"]) == ("2", "2")
    assert (many["memories"], many["retrievals"], many["last_access"]) == ("3", "0", "")
    last = own.ask("last_used.sql")
    assert last.column("content") == ["c", "b", "e"]
    assert last.column("retrieval_count") == ["2", "40", "30"]
    missing = own.ask("without_embedding.sql")
    assert missing.column("agent_id") == ["many", "late", "much"]
    assert missing.column("without_embedding") == ["3", "2", "1"]


def test_health_shows_indexes_and_scans(own: Database) -> None:
    def health() -> dict[str, Row]:
        return {row["index_name"]: row for row in own.ask("index_health.sql").rows}

    indexes = health()
    assert {"pk_agent_memories", "pk_memory_usage"} <= indexes.keys()
    assert {row["valid"] for row in indexes.values()} == {"t"}

    memory = own.add("counted", retrievals=1, accessed=days_ago(1))
    with own.connect() as connection:
        connection.execute(
            "UPDATE pg_index SET indisvalid = false "
            "WHERE indexrelid = 'ix_agent_memories_words'::regclass"
        )
        connection.execute("SET enable_seqscan = off")
        for _ in range(4):
            connection.execute(
                "UPDATE memory_usage SET retrieval_count = retrieval_count + 1 "
                "WHERE agent_id = %s AND memory_id = %s",
                [AGENT, memory],
            )
        connection.execute("SELECT pg_stat_force_next_flush()")

    indexes = health()
    invalid = [name for name, row in indexes.items() if row["valid"] == "f"]
    assert invalid == ["ix_agent_memories_words"]
    assert int(indexes["pk_memory_usage"]["scans"]) >= 4


def test_unused_memories_the_longest_unused_first(database: Database) -> None:
    database.add("never, new", created_at=days_ago(1))
    database.add("never, old", created_at=days_ago(60))
    database.add("never, of unknown age", created_at=None)
    database.add("once", created_at=days_ago(100), retrievals=3, accessed=days_ago(40.5))
    database.add("lately" * 50, created_at=days_ago(100), retrievals=3, accessed=days_ago(2))
    database.add("archived", created_at=days_ago(100), status="archived")
    database.add("forgotten", created_at=days_ago(100), invalidated_at=days_ago(1))

    unused = database.ask("unused_memories.sql", agent=AGENT)

    assert unused.column("content") == [
        *("never, of unknown age", "never, old", "once", "never, new")
    ]
    assert unused.column("retrieval_count") == ["0", "0", "3", "0"]
