"""`pgrecall index …`, and what `search` and `status` say of rank indexes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

import pytest
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.rank_index.index import AT_LEAST, EF_CONSTRUCTION, M
from tests.integration.commands import Run
from tests.integration.rank_indexes import AGED, tables_of
from tests.migrations.asking import run as run_sql

pytestmark = pytest.mark.hnsw

FIRST = ("Ines", "Omar", "Ruth", "Jan", "Mei")
THINGS = ("tea", "coffee", "the build", "a bicycle", "Lisbon")
DOES = ("likes", "has lost", "asked about", "paid for")
TEXTS = [f"{one} {does} {what}" for one in FIRST for does in DOES for what in THINGS]
FILLED = len(TEXTS)
INDEX_FIELDS = [
    *("agent_id", "relation", "space", "as_of", "built_at"),
    *("written_until", "memories", "at_least", "m", "ef_construction", "seconds", "candidates"),
    *("candidates_alone", "candidates_by_profile"),
]
BUILD = ("index", "build", "-a", "a", "--at-least", "1")


def cells(line: str) -> list[str]:
    """Of a line of a table."""
    return [cell.strip() for cell in re.split("[│┃]", line)]


@pytest.fixture(scope="module")
def engine(emptied_local_url: str) -> Iterator[Engine]:
    made = create_engine(emptied_local_url)
    yield made
    made.dispose()


@pytest.fixture
def repo(engine: Engine, local_url: str, local_embedder: LocalEmbedder) -> MemoryRepository:
    """Of which agent `a` has all texts."""
    made = MemoryRepository(engine.execution_options(), embedder=local_embedder)
    made.add_many("a", TEXTS)
    return made


def test_an_index_is_built_used_and_dropped(
    run: Run, repo: MemoryRepository, local_url: str
) -> None:
    shown = run(*BUILD)
    [record] = run("index", "build", "--agent", "a", "--json").records
    options = ("--m", "6", "--ef-construction", "33", "--at-least", "7")
    [other] = run("index", "build", "-a", "a", *options, "--json").records

    assert (shown.code, shown.err) == (0, "")
    heading, _, line = shown.out.splitlines()
    assert cells(heading) == ["agent", "memories", "seconds"]
    assert cells(line)[:2] == ["a", str(FILLED)]
    assert list(record) == INDEX_FIELDS
    assert (record["agent_id"], record["memories"], record["at_least"]) == ("a", FILLED, AT_LEAST)
    assert (record["m"], record["ef_construction"]) == (M, EF_CONSTRUCTION)
    assert (other["m"], other["ef_construction"], other["at_least"]) == (6, 33, 7)
    assert tables_of(local_url) == [other["relation"]]
    for name in ("as_of", "built_at"):
        assert datetime.fromisoformat(record[name]).utcoffset() is not None

    for told, dropped in (("dropped", True), ("there was no rank index", False)):
        done = run("index", "drop", "-a", "a")
        assert (done.code, done.out.strip()) == (0, told)
        if dropped:
            run(*BUILD)
        assert run("index", "drop", "-a", "a", "--json").records == [{"dropped": dropped}]
    assert tables_of(local_url) == []


def test_bad_input_ends_with_two_and_its_reason(
    run: Run, repo: MemoryRepository, local_url: str
) -> None:
    for arguments, told in (
        (("build", "--m", "many"), "--m"),
        (("build", "--m", "60", "--ef-construction", "119"), "twice m"),
        (("build", "--at-least", "0"), "at_least"),
        (("list", "--at-least", "0"), "at_least"),
        (("list", "--agent", "x" * 201), "agent"),
        (("drop",), "--agent"),
    ):
        done = run("index", *arguments)
        assert (done.code, done.out) == (2, ""), arguments
        assert told in done.err.replace("\n", "")
        assert "Traceback" not in done.err
    unknown = run("search", "tea", "-a", "a", "--strategy", "guess")
    assert (unknown.code, unknown.out) == (2, "")
    assert "is not one of" in unknown.err
    assert tables_of(local_url) == []


def test_maintenance_builds_and_drops_what_is_due_and_says_when_nothing_is(
    run: Run, repo: MemoryRepository, local_url: str
) -> None:
    built = run("maintain", "--at-least", "50")
    nothing = run("maintain", "--at-least", "50")
    run_sql(local_url, AGED)
    [old] = run("index", "list", "--json").records
    assert old["due"] == "40 days old"
    assert "40 days old" in run("index", "list").out
    [again] = run("maintain", "--at-least", "50", "--json").records
    [new] = run("index", "list", "--json").records

    assert (built.code, nothing.code) == (0, 0)
    assert "build index" in built.out
    assert nothing.out.strip() == "nothing is due"
    assert [(task["task"], task["name"]) for task in again["done"]] == [("build index", "a")]
    assert (new["due"], tables_of(local_url)) == (None, [new["index"]["relation"]])
    run_sql(local_url, "DELETE FROM pgrecall.agent_memories")
    shrunk = run("maintain")
    assert (shrunk.code, "drop index" in shrunk.out) == (0, True)
    assert tables_of(local_url) == []


def test_the_list_tells_what_has_happened_and_what_is_due(run: Run, repo: MemoryRepository) -> None:
    repo.add_many("b", TEXTS[:60])
    run("index", "build", "-a", "a", "--at-least", "50")
    new = repo.add("a", "a new one")
    repo.feedback("a", repo.search("a", "tea", k=1, touch=False)[0].memory.id, "useful")
    repo.touch("a", new)

    a, b = run("index", "list", "--at-least", "50", "--json").records
    shown = run("index", "list", "--at-least", "50")

    assert list(a) == [
        *("agent_id", "due", "shrunk", "written", "changed", "used", "bytes"),
        *("memories", "progress", "index"),
    ]
    assert (a["agent_id"], a["due"], a["memories"]) == ("a", None, None)
    assert (a["written"], a["changed"]) == (1, 1)
    assert min(a["used"], a["bytes"]) > 0
    assert list(a["index"]) == INDEX_FIELDS
    assert b == {
        "agent_id": "b",
        "due": "not built yet",
        "shrunk": False,
        **dict.fromkeys(("written", "changed", "used", "bytes"), 0),
        "memories": 60,
        "progress": None,
        "index": None,
    }
    heading, _, first, second = shown.out.splitlines()
    assert cells(heading) == [
        *("agent", "memories", "written", "changed", "used", "MiB", "built", "due")
    ]
    assert cells(first)[:4] == ["a", str(FILLED), "1", "1"]
    built_at = datetime.fromisoformat(a["index"]["built_at"])
    assert cells(first)[6] == f"{built_at:%Y-%m-%d %H:%M}"
    assert cells(second) == ["b", "60", "", "", "", "", "", "not built yet"]
    [only] = run("index", "list", "-a", "b", "--at-least", "50", "--json").records
    assert (only, run("index", "list", "-a", "nobody", "--json").out) == (b, "")


def test_status_tells_of_indexes_and_the_maintenance_that_does_away_with_what_is_due(
    run: Run, repo: MemoryRepository, local_url: str
) -> None:
    """The command is for agents or for teams: what it says must fit whose index it is."""
    repo.teams.add_many("t", TEXTS[:60])
    before = run("status")
    run("index", "build", "-a", "a")
    run("index", "build", "-a", "t", "--of-team")
    built = run("status")
    run_sql(local_url, AGED + " WHERE agent_id = 'team:t'")
    due = run("status")
    [record] = run("status", "--json").records

    for shown, number in ((before, "0"), (built, "2")):
        [line] = [line.split() for line in shown.out.splitlines() if "rank indexes" in line]
        assert line[-1] == number
    [said] = [one for one in record["problems"] if one["problem"] == "rank index"]
    assert (said["name"], said["why"]) == ("team:t", "40 days old")
    assert ("team:t" in due.out, due.code) == (True, 1)

    run(*said["remedy"].split()[1:], "--at-least", "10")
    assert "40 days old" not in run("status").out
