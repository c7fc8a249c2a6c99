"""`pgrecall index …`, and what `search` and `status` say of rank indexes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository
from pgrecall.embedders import LocalEmbedder
from pgrecall.rank_index import AT_LEAST, EF_CONSTRUCTION, M
from tests.integration.commands import CONTROLS, EVIL, Run, fast_runner
from tests.migrations.asking import rows, value, values, wait_until
from tests.migrations.asking import run as run_sql

FIRST = ("Ines", "Omar", "Ruth", "Jan", "Mei", "Ada")
THINGS = ("tea", "coffee", "the build", "a bicycle", "Lisbon", "an invoice", "the garden")
DOES = ("likes", "has lost", "asked about", "paid for", "wrote of", "dreams of")
TEXTS = [f"{one} {does} {what}" for one in FIRST for does in DOES for what in THINGS]
AGED = "UPDATE pgrecall.rank_indexes SET built_at = now() - interval '40 days'"
TABLES = (
    "SELECT relname FROM pg_class WHERE relnamespace = 'pgrecall'::regnamespace "
    "AND relkind = 'r' AND relname LIKE 'ranks\\_%%'"
)
INDEX_FIELDS = [
    *("agent_id", "relation", "space", "as_of", "built_at", "memories"),
    *("at_least", "m", "ef_construction", "seconds", "candidates"),
]


def cells(line: str) -> list[str]:
    """Of a line of a table."""
    return [cell.strip() for cell in re.split("[│┃]", line)]


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture
def url(local_url: str) -> str:
    return local_url


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    url: str,
    embedder: LocalEmbedder,
) -> Run:
    return fast_runner(monkeypatch, capsys, url, embedder)


@pytest.fixture(scope="module")
def engine(emptied_local_url: str) -> Iterator[Engine]:
    made = create_engine(emptied_local_url)
    yield made
    made.dispose()


@pytest.fixture
def repo(engine: Engine, url: str, embedder: LocalEmbedder) -> MemoryRepository:
    return MemoryRepository(engine.execution_options(), embedder=embedder)


@pytest.fixture
def filled(repo: MemoryRepository) -> int:
    repo.add_many("a", TEXTS)
    return len(TEXTS)


# Building


def test_an_index_is_built_and_told(run: Run, url: str, filled: int) -> None:
    shown = run("index", "build", "-a", "a", "--at-least", "1")
    [record] = run("index", "build", "--agent", "a", "--at-least", "1", "--json").records

    assert (shown.code, shown.err) == (0, "")
    heading, _, line = shown.out.splitlines()
    assert cells(heading) == ["agent", "memories", "seconds"]
    assert cells(line)[:2] == ["a", str(filled)]
    assert list(record) == INDEX_FIELDS
    assert (record["agent_id"], record["memories"], record["at_least"]) == ("a", filled, 1)
    assert (record["m"], record["ef_construction"]) == (M, EF_CONSTRUCTION)
    assert values(url, TABLES) == [record["relation"]]
    for name in ("as_of", "built_at"):
        assert datetime.fromisoformat(record[name]).utcoffset() is not None


def test_the_parameters_of_a_build_arrive(run: Run, url: str, filled: int) -> None:
    options = ("--m", "6", "--ef-construction", "33", "--at-least", "7")

    [record] = run("index", "build", "-a", "a", *options, "--json").records

    assert (record["m"], record["ef_construction"], record["at_least"]) == (6, 33, 7)
    stored = rows(url, "SELECT m, ef_construction, at_least FROM pgrecall.rank_indexes")
    assert stored == [(6, 33, 7)]


def test_without_an_agent_those_with_many_memories_are_built(
    run: Run, repo: MemoryRepository
) -> None:
    for agent_id, number in (("small", 19), ("large", 20), ("larger", 21)):
        repo.add_many(agent_id, TEXTS[:number])

    none = run("index", "build")
    built = run("index", "build", "--at-least", "20", "--json").records

    assert (none.code, none.out.strip()) == (0, "nothing to build: no agent has so many memories")
    assert [record["agent_id"] for record in built] == ["large", "larger"]


def test_nothing_is_built_of_nothing(run: Run) -> None:
    shown = run("index", "build", "-a", "nobody")

    assert (shown.code, shown.out.count("nothing to build")) == (0, 1)
    assert run("index", "build", "-a", "nobody", "--json").out == ""
    assert run("index", "maintain", "--json").out == ""


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("build", ("--m", "1")),
        ("build", ("--m", "many")),
        ("build", ("--m", "60", "--ef-construction", "119")),
        ("build", ("--ef-construction", "1001")),
        ("build", ("--at-least", "0")),
        ("build", ("--agent", "")),
        ("maintain", ("--m", "101")),
        ("maintain", ("--ef-construction", "3")),
        ("maintain", ("--at-least", "-1")),
        ("list", ("--at-least", "0")),
        ("list", ("--agent", "x" * 201)),
        ("check", ()),
        ("check", ("-a", "a", "--sample", "0")),
        ("check", ("-a", "a", "-k", "0")),
        ("check", ("-a", "a", "--profile", "unknown")),
        ("check", ("-a", "a", "--queries", "/nowhere/at/all")),
        ("check", ("-a", "nobody")),
        ("drop", ()),
        ("drop", ("-a", "")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_bad_input_ends_with_two_and_its_reason(
    run: Run, url: str, filled: int, command: str, options: tuple[str, ...]
) -> None:
    done = run("index", command, *options)

    assert (done.code, done.out) == (2, "")
    assert done.err.strip()
    assert "Traceback" not in done.err
    assert values(url, TABLES) == []


def test_a_writer_that_does_not_end_is_told(
    run: Run, url: str, filled: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.jobs.indexing.PATIENCE", 0.3)
    with psycopg.connect(url) as writer:
        writer.execute("UPDATE pgrecall.agent_memories SET importance = 0.5")

        done = run("index", "build", "-a", "a")

    assert done.code == 5
    assert "has not ended" in done.err
    assert "Traceback" not in done.err


def test_without_the_schema_the_command_is_named(run: Run) -> None:
    for command in (
        ("build",),
        ("maintain",),
        ("list",),
        ("check", "-a", "a"),
        ("drop", "-a", "a"),
    ):
        done = run("index", *command, "--schema", "elsewhere")

        assert done.code == 4
        assert "pgrecall migrate up" in done.err


def test_without_a_database_it_is_said(run: Run) -> None:
    nowhere = "postgresql://127.0.0.1:9/nothing"
    for command in (
        ("build",),
        ("maintain",),
        ("list",),
        ("check", "-a", "a"),
        ("drop", "-a", "a"),
    ):
        done = run("index", *command, "--database-url", nowhere)

        assert done.code == 3
        assert "Traceback" not in done.err


def test_help_names_every_command(run: Run) -> None:
    for arguments in ((), ("--help",)):
        shown = run("index", *arguments)
        assert all(
            name in shown.out + shown.err for name in ("build", "maintain", "list", "check", "drop")
        )


# Maintaining


def test_maintenance_builds_what_is_due_and_says_when_nothing_is(
    run: Run, url: str, filled: int
) -> None:
    built = run("index", "maintain", "--at-least", "50")
    nothing = run("index", "maintain", "--at-least", "50")
    run_sql(url, AGED)
    [again] = run("index", "maintain", "--at-least", "50", "--json").records

    assert (built.code, nothing.code) == (0, 0)
    assert cells(built.out.splitlines()[-1])[:2] == ["a", str(filled)]
    assert nothing.out.strip() == "nothing is due"
    assert (again["agent_id"], again["at_least"], again["m"]) == ("a", 50, M)
    assert values(url, TABLES) == [again["relation"]]


def test_maintenance_drops_the_indexes_of_agents_that_are_small(
    run: Run, url: str, filled: int
) -> None:
    run("index", "build", "-a", "a")
    run_sql(url, "DELETE FROM pgrecall.agent_memories")

    done = run("index", "maintain")

    assert (done.code, done.out.strip()) == (0, "nothing is due")
    assert values(url, TABLES) == []


# Listing


def test_the_list_tells_what_has_happened_and_what_is_due(
    run: Run, repo: MemoryRepository, url: str, filled: int
) -> None:
    repo.add_many("b", TEXTS[:60])
    run("index", "build", "-a", "a", "--at-least", "50")
    new = repo.add("a", "a new one")
    repo.feedback("a", repo.search("a", "tea", k=1, touch=False)[0].memory.id, "useful")
    repo.touch("a", new)

    records = run("index", "list", "--at-least", "50", "--json").records
    shown = run("index", "list", "--at-least", "50")

    a, b = records
    assert list(a) == [
        *("agent_id", "due", "shrunk", "written", "changed", "used", "bytes"),
        *("memories", "index"),
    ]
    assert (a["agent_id"], a["due"], a["memories"]) == ("a", None, None)
    assert (a["written"], a["changed"]) == (1, 1)
    assert a["used"] >= 1
    assert list(a["index"]) == INDEX_FIELDS
    assert a["bytes"] > 0
    assert b == {
        "agent_id": "b",
        "due": "not built yet",
        "shrunk": False,
        **dict.fromkeys(("written", "changed", "used", "bytes"), 0),
        "memories": 60,
        "index": None,
    }
    assert shown.code == 0
    heading, _, first, second = shown.out.splitlines()
    assert cells(heading) == [
        *("agent", "memories", "written", "changed", "used", "MiB", "built", "due"),
    ]
    of_a = cells(first)
    assert of_a[:4] == ["a", str(filled), "1", "1"]
    assert of_a[6] == f"{datetime.fromisoformat(a['index']['built_at']):%Y-%m-%d %H:%M}"
    assert cells(second) == [
        *("b", "60", "", "", "", "", "", "not built yet"),
    ]


def test_the_list_of_one_agent(run: Run, repo: MemoryRepository, filled: int) -> None:
    repo.add_many("b", TEXTS[:60])
    run("index", "build", "--at-least", "50")

    [record] = run("index", "list", "-a", "b", "--json").records
    nobody = run("index", "list", "-a", "nobody", "--json")

    assert record["agent_id"] == "b"
    assert (nobody.code, nobody.out) == (0, "")


def test_a_list_of_nothing_says_so(run: Run, filled: int) -> None:
    shown = run("index", "list")

    assert shown.code == 0
    assert (
        shown.out.strip() == f"no rank indexes, and no agent of {AT_LEAST:,} memories without one"
    )


def test_the_list_tells_why_an_index_is_due(run: Run, url: str, filled: int) -> None:
    run("index", "build", "-a", "a")
    run_sql(url, AGED)

    [record] = run("index", "list", "--json").records

    assert record["due"] == "40 days old"
    assert "40 days old" in run("index", "list").out


# Checking


def test_a_check_is_a_table_of_every_profile(run: Run, filled: int) -> None:
    run("index", "build", "-a", "a", "--at-least", "1")

    shown = run("index", "check", "-a", "a", "--sample", "5", "-k", "3")
    records = run("index", "check", "-a", "a", "--sample", "5", "-k", "3", "--json").records

    profiles = ["hybrid", "five_factor", "last_access", "half_life", "trust", "tiered"]
    assert (shown.code, shown.err) == (0, "")
    heading, _, *lines = shown.out.splitlines()
    assert cells(heading) == [
        *("profile", "queries", "in index", "recall", "worst", "exact ms", "index ms", "faster"),
    ]
    assert [line.split()[0] for line in lines] == profiles
    assert all("×" in line for line in lines)
    assert [record["profile"] for record in records] == profiles
    for record in records:
        assert list(record) == [
            *("agent_id", "profile", "k", "queries", "recall", "worst"),
            *("exact_ms", "index_ms", "in_index"),
        ]
        assert (record["agent_id"], record["k"], record["queries"]) == ("a", 3, 5)
        assert record["in_index"] == 5
        assert 0.9 <= record["worst"] <= record["recall"] <= 1


def test_a_check_counts_no_retrievals(run: Run, url: str, filled: int) -> None:
    run("index", "build", "-a", "a", "--at-least", "1")
    run("index", "check", "-a", "a", "--sample", "5")

    assert value(url, "SELECT count(*) FROM pgrecall.memory_usage") == 0


def test_a_check_asks_the_queries_of_a_file_by_profiles_of_files(
    run: Run, filled: int, tmp_path: Path
) -> None:
    queries = tmp_path / "queries.txt"
    queries.write_text("\ufeffwho likes tea?\n\n  \nwhere is the bicycle?\n", encoding="utf-8")
    run("index", "build", "-a", "a", "--at-least", "1")

    found = run(
        *("index", "check", "-a", "a", "--queries", queries, "-p", "trust", "-p", "tiered"),
        "--json",
    ).records
    missing = run("index", "check", "-a", "a", "-p", tmp_path / "none.toml")

    assert [(one["profile"], one["queries"]) for one in found] == [("trust", 2), ("tiered", 2)]
    assert missing.code == 2


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xff\xfe\xff"], ids=repr)
def test_a_file_without_queries_is_refused(
    run: Run, filled: int, tmp_path: Path, content: bytes
) -> None:
    queries = tmp_path / "queries.txt"
    queries.write_bytes(content)

    done = run("index", "check", "-a", "a", "--queries", queries)

    assert done.code == 2
    assert str(queries) in done.err.replace("\n", "")


@pytest.mark.parametrize(("least", "code"), [("0", 0), ("0.5", 0), ("1.01", 1)])
def test_a_check_that_finds_too_little_ends_with_one(
    run: Run, filled: int, least: str, code: int
) -> None:
    run("index", "build", "-a", "a", "--at-least", "1")
    options = ("-a", "a", "--sample", "3", "--min-recall", least)

    shown = run("index", "check", *options)
    records = run("index", "check", *options, "--json")

    assert (shown.code, records.code) == (code, code)
    assert "five_factor" in shown.out
    assert len(records.records) == 6


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_check_without_an_index_says_so(run: Run, filled: int, options: tuple[str, ...]) -> None:
    done = run("index", "check", "-a", "a", "--sample", "3", "-p", "trust", *options)

    assert (done.code, done.out) == (2, "")
    assert "agent 'a' has no rank index to check" in done.err


def test_a_check_of_an_index_that_no_search_takes_tells_no_recall(
    run: Run, repo: MemoryRepository, filled: int
) -> None:
    repo.build_rank_indexes(agent_id="a", at_least=1, as_of=datetime.now(UTC) + timedelta(days=1))

    done = run("index", "check", "-a", "a", "--sample", "3", "-p", "trust")

    assert done.code == 0
    assert "index not used" in done.out
    assert "1.000" not in done.out


# Dropping


def test_dropping_says_whether_there_was_one(run: Run, url: str, filled: int) -> None:
    run("index", "build", "-a", "a")

    dropped, none = run("index", "drop", "-a", "a"), run("index", "drop", "-a", "a")
    run("index", "build", "-a", "a")
    as_json = [run("index", "drop", "-a", "a", "--json").records for _ in range(2)]

    assert (dropped.code, dropped.out.strip()) == (0, "dropped")
    assert (none.code, none.out.strip()) == (0, "there was none")
    assert as_json == [[{"dropped": True}], [{"dropped": False}]]
    assert values(url, TABLES) == []


# Teams


def test_every_command_works_on_a_team(run: Run, repo: MemoryRepository, filled: int) -> None:
    repo.teams.add_many("a", TEXTS[:80])
    team = ("-a", "a", "--of-team")

    [built] = run("index", "build", *team, "--json").records
    [listed] = run("index", "list", "--of-team", "--json").records
    checked = run("index", "check", *team, "--sample", "2", "-p", "trust", "--json").records
    kept = run("index", "maintain", "--of-team", "--at-least", "50")
    of_agents = run("index", "list", "--json").records
    [dropped] = run("index", "drop", *team, "--json").records

    assert (built["agent_id"], built["memories"]) == ("team:a", 80)
    assert listed["index"]["relation"] == built["relation"]
    assert [(one["agent_id"], one["in_index"], one["queries"]) for one in checked] == [
        ("team:a", 2, 2)
    ]
    assert kept.out.strip() == "nothing is due"
    assert of_agents == []
    assert dropped == {"dropped": True}


# Names


def test_hostile_names_move_no_terminal_and_break_no_table(
    run: Run, repo: MemoryRepository, url: str
) -> None:
    repo.add_many(EVIL, TEXTS[:20])

    outputs = [
        run("index", "list", "--at-least", "20"),
        run("status"),
        run("index", "build", "-a", EVIL, "--at-least", "1"),
        run("index", "list"),
        run("index", "check", "-a", EVIL, "--sample", "2"),
        run("search", "tea", "-a", EVIL, "--strategy", "index"),
    ]
    run_sql(url, AGED)
    outputs += [
        run("status"),
        run("index", "list"),
        run("index", "maintain", "--at-least", "20"),
        run("index", "drop", "-a", EVIL),
    ]

    for done in outputs:
        assert done.code == 0, done.err
        assert not CONTROLS & set(done.out + done.err)
    for number in (0, 2, 3, 7, 8):
        assert "[bold]x[/bold] [/nothing]" in outputs[number].out


def test_hostile_names_come_back_whole_as_json(run: Run, repo: MemoryRepository) -> None:
    repo.add_many(EVIL, TEXTS[:20])

    [built] = run("index", "build", "-a", EVIL, "--json").records
    [listed] = run("index", "list", "--json").records

    assert (built["agent_id"], listed["agent_id"]) == (EVIL, EVIL)


# Searching


def test_a_search_looks_as_it_is_told(run: Run, filled: int) -> None:
    run("index", "build", "-a", "a", "--at-least", "1")

    def hits(strategy: str) -> list[str]:
        done = run(
            "search", "who likes tea?", "-a", "a", "--strategy", strategy, "--no-touch", "--json"
        )
        assert done.code == 0
        return [record["id"] for record in done.records]

    shown = {
        strategy: run("search", "who likes tea?", "-a", "a", "--strategy", strategy, "--no-touch")
        for strategy in ("auto", "exact", "index")
    }

    assert hits("index") == hits("exact") == hits("auto")
    assert len(hits("index")) == 10
    for strategy, done in shown.items():
        assert ("scored of the rank index" in done.out) == (strategy != "exact")


def test_a_search_of_an_unknown_strategy_is_refused(run: Run, filled: int) -> None:
    done = run("search", "tea", "-a", "a", "--strategy", "guess")

    assert (done.code, done.out) == (2, "")
    assert "auto, exact, index" in done.err


def test_auto_takes_the_index_from_so_many_memories_on(run: Run, filled: int) -> None:
    run("index", "build", "-a", "a", "--at-least", str(filled + 1))
    small = run("search", "tea", "-a", "a")
    run("index", "build", "-a", "a", "--at-least", str(filled))
    large = run("search", "tea", "-a", "a")

    assert "scored of the rank index" not in small.out
    assert "scored of the rank index" in large.out


# Status


def test_status_tells_of_indexes_and_of_what_is_due(
    run: Run, repo: MemoryRepository, url: str, filled: int
) -> None:
    repo.teams.add_many("t", TEXTS[:60])
    before = run("status")
    run("index", "build", "-a", "a")
    run("index", "build", "-a", "t", "--of-team")
    built = run("status")
    run_sql(url, AGED + " WHERE agent_id = 'team:t'")
    due = run("status")
    [record] = run("status", "--json").records

    assert "rank index" not in before.out
    lines = [line.split() for line in built.out.splitlines() if "rank index" in line]
    assert [(line[3], line[-1]) for line in lines] == [("agents", "1"), ("teams", "1")]
    [said] = [line for line in due.out.splitlines() if "rank index due" in line]
    assert "team:t: 40 days old; run `pgrecall index maintain" in said
    assert "40 days old" in json.dumps(record)


def test_the_maintenance_that_status_names_does_away_with_what_is_due(
    run: Run, repo: MemoryRepository, url: str
) -> None:
    """The command is for agents or for teams: what it says must fit whose index it is."""
    repo.teams.add_many("t", TEXTS[:60])
    run("index", "build", "-a", "t", "--of-team")
    run_sql(url, "UPDATE pgrecall.rank_indexes SET space = 0")
    said = " ".join(run("status").out.split())
    assert "rank index due" in said

    command = said.split("`pgrecall ")[1].split("`")[0].split()
    run(*command, "--at-least", "10")

    assert "rank index due" not in run("status").out


def test_a_long_build_shows_no_progress_where_nobody_looks(run: Run, url: str, filled: int) -> None:
    """Neither output is a terminal here: a bar would only be noise in a log."""
    done = run("index", "build", "-a", "a", "--json")

    assert done.err == ""
    wait_until(
        "the watcher is gone",
        lambda: (
            not values(
                url,
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
                "AND pid <> pg_backend_pid() AND query LIKE '%%pg_stat_progress_create_index%%' "
                "AND state = 'active'",
            )
        ),
    )
