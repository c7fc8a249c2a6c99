"""The commands that list, show, replace and delete memories."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Engine, create_engine

from pgrecall import NewMemory
from pgrecall.core.embedders import LocalEmbedder
from tests.integration.commands import CONTROLS, EVIL, Run
from tests.integration.owner import Owner
from tests.integration.support import before


@pytest.fixture(scope="module")
def commanded(commands_url: str) -> Iterator[Engine]:
    engine = create_engine(commands_url)
    yield engine
    engine.dispose()


@pytest.fixture
def mine(commanded: Engine, local_embedder: LocalEmbedder, agent: str) -> Owner:
    return Owner(commanded, agent, embedder=local_embedder)


@pytest.fixture
def runs_on(commands_url: str) -> str:
    return commands_url


def stock(mine: Owner) -> None:
    for n in range(5):
        metadata = {"user": {"age": 10 * n}}
        mine.add(
            NewMemory(
                f"m {n}", embedding=None, importance=n / 5, metadata=metadata, created_at=before(n)
            )
        )


def aged(least: int) -> tuple[str, str]:
    return "--filter", json.dumps({"metadata.user.age": {"$gte": least}})


def test_memories_are_listed_page_by_page(run: Run, mine: Owner) -> None:
    stock(mine)
    asked = ("list", "-a", mine.name, *aged(10), "--order", "-importance")
    same = "more: the same command with"

    first = run(*asked, "-n", 3, "--total", "--json").records
    rest = run(*asked, "-n", 3, "--after", first[-1]["next"], "--json").records

    assert [one["content"] for one in (*first, *rest)] == ["m 4", "m 3", "m 2", "m 1"]
    assert (first[-1]["total"], "next" in rest[-1], "embedding" in rest[0]) == (4, False, False)
    shown = run(*asked, "-n", 3, "--total")
    assert [line.split()[-1] for line in shown.out.splitlines()[2:]] == ["4", "3", "2"]
    assert "importance" in shown.out.splitlines()[0]
    ordered = f"{same} --order -importance --after {first[-1]['next']}"
    assert shown.err.splitlines() == ["4 memories in all", ordered]
    assert f"{same} --after" in run("list", "-a", mine.name, "-n", 1).err
    assert "no memory passes" in run("list", "-a", mine.name, "--tag", "x").out
    wrong, other = (
        run("list", "-a", mine.name, "--after", one) for one in ("x", first[-1]["next"])
    )
    assert (wrong.code, "error: --after must be" in wrong.err) == (2, True)
    assert (other.code, "give the same --order for each page" in other.err) == (2, True)
    assert run("list", "-a", mine.name, "--order", "content").code == 2


def test_a_memory_is_shown_by_its_id_or_its_key(run: Run, mine: Owner) -> None:
    id_ = mine.upsert(NewMemory(f"text {EVIL}", key="k", tags=["a"]))

    by_id = run("get", str(id_)[:12], "-a", mine.name)
    by_key = run("get", "--key", "k", "-a", mine.name)
    assert by_id.out == by_key.out
    assert not CONTROLS & set(by_id.out)
    for said in (str(id_), "tags", "importance", "retrieval_count"):
        assert said in by_id.out
    [record] = run("get", id_, "-a", mine.name, "--json").records
    assert (record["id"], record["key"], record["tags"]) == (str(id_), "k", ["a"])
    assert run("get", "-a", mine.name).code == 2
    missing = run("get", "--key", "x", "-a", mine.name)
    assert (missing.code, "has no memory" in missing.err) == (2, True)


def test_what_passes_a_filter_is_deleted_once_that_is_confirmed(run: Run, mine: Owner) -> None:
    stock(mine)
    asked = ("delete", "-a", mine.name, *aged(30))

    assert run(*asked, "--dry-run").out.strip() == "2 to be deleted"
    declined = run(*asked, answer="n\n")
    assert (declined.code, mine.count()) == (1, 5)
    assert f"Delete 2 memories of {mine.name}?" in declined.out + declined.err
    assert run(*asked, "--json", answer="y\n").records == [{"deleted": 2}]
    for passed_by_all in ([], ["--filter", "{}"], ["--include-inactive"]):
        refused = run("delete", "-a", mine.name, "--yes", *passed_by_all)
        assert (refused.code, "pgrecall erase --agent … --everything" in refused.err) == (2, True)
    ages = '{"metadata.user.age": {"$lt": 30}}'
    assert run("delete", "-a", mine.name, "--filter", ages, "--yes").out.strip() == "3 deleted"


def test_filters_and_shortcuts_must_all_pass(run: Run, mine: Owner) -> None:
    stock(mine)
    for name, type_ in (("a", "fact"), ("b", "task"), ("c", "rule")):
        named = NewMemory(name, memory_type=type_, tags=[name], session=f"s-{name}", embedding=None)
        mine.add(replace(named, requires_approval=name == "c"))
    gone = mine.add(NewMemory("gone", tags=["a"], embedding=None))
    mine.invalidate([gone])
    for options, names in (
        ("--type fact --type task", "ab"),
        ("--tag a --tag c", "a"),
        ("--tag a --tag c --include-inactive", "acg"),
        ("--type fact --type task --session s-b", "b"),
        ("--status pending", "c"),
        ("--status pending --status active --tag a", "ag"),
        ("""--tag a --tag b --filter '{"$not": {"session": "s-a"}}'""", "b"),
        ("""--filter '{"tags": ["a", "b"]}' --filter '{"memory_type": "fact"}'""", "a"),
        (f"--tag a --since {before(1).isoformat()} --until 2999-01-01", "a"),
        ("--type fact --until 2026-01-01", ""),
    ):
        asked = (*shlex.split(options), "-a", mine.name)
        listed = run("list", *asked, "--json").records
        assert "".join(sorted(one["content"][0] for one in listed)) == names, options
        assert run("list", *asked, "--count").out == f"{len(names)}\n", options
        assert run("export", "-", *asked).out.count("\n") == len(names), options
        assert run("delete", *asked, "--dry-run").out == f"{len(names)} to be deleted\n", options


BAD = {
    "{": "--filter: '{' is not JSON",
    "[1]": "--filter: write a JSON object; got '[1]'",
    '{"tag": "a"}': "filter: unknown key 'tag' (did you mean tags?)",
    '{"importance": {"$get": 1}}': "filter: importance: unknown operator '$get' (did you mean",
    '{"status": "archvied"}': "filter: status: unknown 'archvied' (did you mean archived?)",
    '{"tags": []}': "filter: tags: $in has an empty list",
}


@pytest.mark.parametrize("command", ["list", "list --count", "delete --yes", "search x"])
def test_a_filter_that_cannot_be_used_is_refused_in_one_sentence(
    run: Run, mine: Owner, command: str
) -> None:
    stock(mine)
    for written, said in BAD.items():
        refused = run(*command.split(), "-a", mine.name, "--filter", written)
        assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
        assert said in refused.err
    assert mine.count() == 5


def test_owners_are_listed(run: Run, mine: Owner) -> None:
    stock(mine)
    mine.team.add(NewMemory("of a team", embedding=None))

    asked = ("owners", "--prefix", mine.name)
    assert {"agent_id": mine.name, "team_id": None, "memories": 5} in run(*asked, "--json").records
    [team] = run(*asked, "--of-team", "--json").records
    assert (team["agent_id"], team["team_id"], team["memories"]) == (None, mine.name, 1)
    assert mine.name in run(*asked).out
    [one] = run("owners", "--limit", "1", "--json").records
    assert one["next"] == one["agent_id"]
    assert "nobody" in run("owners", "--prefix", "x" * 50).out
