from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgrecall.embedders import LocalEmbedder
from pgrecall.resources import migrations_folder
from tests.conftest import new_database
from tests.integration.commands import BUILT, Run, make_once, runner


@pytest.fixture
def as_installed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture
def run(as_installed: Run, monkeypatch: pytest.MonkeyPatch, embedder: LocalEmbedder) -> Run:
    make_once(monkeypatch, embedder)
    return as_installed


@pytest.fixture
def url(local_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database with embeddings of the local embedder's length, named in the environment."""
    monkeypatch.setenv("PGRECALL_DATABASE_URL", local_url)
    return local_url


@pytest.fixture
def own_url(server_url: str, local_template: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The same for a test that installs profiles."""
    with new_database(server_url, local_template) as made:
        monkeypatch.setenv("PGRECALL_DATABASE_URL", made)
        yield made


def write_lines(path: Path, *lines: object) -> Path:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


def stored(url: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT content, metadata->>'source_id' FROM pgrecall.agent_memories ORDER BY content"
        ).fetchall()


@pytest.mark.usefixtures("url")
def test_turns_of_a_session_come_along_or_are_lent_to(run: Run) -> None:
    usual = ("--agent", "talk", "--json")
    place = ("--agent", "talk", "--session", "call", "--turn")
    said = ["Shall we book Porto?", "Yes.", "The 14th suits me."]
    [hit, near, _] = [run("add", one, *place, str(n)).out.strip() for n, one in enumerate(said)]

    asked = ("Porto", *usual, "-k", "1", "--expand-session", "2")
    along = run("search", *asked).records
    lent = run("search", *asked, "--lend", "0.3", "-k", "2").records
    why = run("explain", near, *asked, "--lend", "0.3").records
    packed = run("context", *asked).records

    assert [one["content"] for one in along] == said
    assert [one.get("beside") for one in along] == [None, hit, hit]
    assert (lent[0]["id"], lent[1]["lender"]) == (hit, hit)
    assert (why[0]["lender"], why[0]["lent"] > 0) == (hit, True)
    assert {one["content"] for one in packed[0]["packed"]} == set(said)
    shown = run("search", "Porto", "--agent", "talk", "-k", "3", "--expand-session=1", "--lend=0.3")
    assert "lent" in shown.out
    assert "comes along with" in run("explain", near, *asked[:3], "-k1", "--expand-session=1").out


def test_what_is_added_is_found(as_installed: Run, url: str) -> None:
    run = as_installed
    added = run("add", "Ines drinks tea", "--agent", "a", "--importance", "0.9", "--tag", "drink")
    run("add", "The build is broken", "--agent", "a")

    found = run("search", "tea", "--agent", "a", "-k", "1", "--json")

    [hit] = found.records
    assert hit["id"] == added.out.strip()
    assert list(hit) == [
        *("id", "content", "score", "similarity", "signals", "contributions", "created_at"),
    ]
    assert hit["content"] == "Ines drinks tea"
    assert sum(hit["contributions"].values()) == pytest.approx(hit["score"], abs=1e-5)


def test_search_shows_a_table(run: Run, url: str) -> None:
    run("add", "Ines drinks tea", "--agent", "a")

    shown = run("search", "tea", "--agent", "a")

    assert shown.code == 0
    assert "Ines drinks tea" in shown.out
    assert "score" in shown.out


def test_search_filters(run: Run, url: str) -> None:
    run("add", "tea", "--agent", "a", "--tag", "x", "--type", "preference", "--entity", "Ines")
    run("add", "tea too", "--agent", "a")

    for option in (("--tag", "x"), ("--type", "preference"), ("--entity", "Ines")):
        found = run("search", "tea", "--agent", "a", "--json", *option)
        assert [hit["content"] for hit in found.records] == ["tea"]


def test_search_of_nothing_says_so_and_succeeds(run: Run, url: str) -> None:
    found = run("search", "tea", "--agent", "nobody")

    assert (found.code, found.out.splitlines()[-1]) == (0, "nothing found")


def test_searching_counts_unless_told_not_to(run: Run, url: str) -> None:
    run("add", "tea", "--agent", "a")

    run("search", "tea", "--agent", "a", "--no-touch")
    first = run("search", "tea", "--agent", "a", "--json").records[0]
    second = run("search", "tea", "--agent", "a", "--json").records[0]

    assert (first["signals"]["frequency"], second["signals"]["frequency"]) == (0, 0.02)


def test_import_stores_every_line_once(run: Run, url: str, tmp_path: Path) -> None:
    lines = [{"id": f"note/{n}", "content": f"note {n}"} for n in range(3)]
    file = write_lines(tmp_path / "notes.jsonl", *lines, {"content": "without id"})

    first = run("import", str(file), "--agent", "a", "--json")
    second = run("import", str(file), "--agent", "a", "--json")

    assert [(r["added"], r["already_there"]) for r in first.records + second.records] == [
        (4, 0),
        (0, 4),
    ]
    assert stored(url) == [
        *((f"note {n}", f"note/{n}") for n in range(3)),
        ("without id", None),
    ]


def test_import_reads_gzip(run: Run, url: str, tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl.gz"
    file.write_bytes(gzip.compress(b'{"content": "packed"}\n\n{"content": "twice"}'))

    assert run("import", str(file), "--agent", "a").code == 0
    assert [content for content, _ in stored(url)] == ["packed", "twice"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{not json", "not JSON"),
        ("[1]", "one JSON object"),
        ('{"content": ""}', "content must not be empty"),
        ('{"text": "x"}', "unknown field text"),
        ('{"content": "x", "importance": 2}', "importance must lie within 0 and 1"),
        ('{"content": "x", "created_at": "2026-01-01"}', "no time zone"),
        ('{"content": "x", "created_at": "yesterday"}', "not an ISO 8601 time"),
        ('{"content": "x\\u0000"}', "NUL"),
        ('{"content": "x", "embedding": [1, 2, 3]}', "3 dimensions"),
        ('{"content": "x", "embedding": [NaN]}', "1 dimensions"),
        ("[" * 100_000, "nested too deeply"),
        ('{"id": "x"}', "no content"),
    ],
)
def test_a_bad_line_is_named_and_what_went_before_it_stays(
    run: Run, url: str, tmp_path: Path, bad: str, reason: str
) -> None:
    file = write_lines(tmp_path / "notes.jsonl", {"content": "good"}, bad, {"content": "after"})

    done = run("import", str(file), "--agent", "a")

    assert done.code == 2
    assert f"{file}, line 2: " in done.err
    assert reason in done.err
    assert [content for content, _ in stored(url)] == ["good"]


def test_bytes_that_are_not_text_are_named(run: Run, url: str, tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_bytes(b'{"content": "good"}\n{"content": "\xff"}\n')

    done = run("import", str(file), "--agent", "a")

    assert done.code == 2
    assert f"{file}, line 2: not UTF-8" in done.err


def test_a_file_cut_off_keeps_what_could_be_read(run: Run, url: str, tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl.gz"
    lines = b"".join(b'{"content": "note %d"}\n' % n for n in range(2000))
    file.write_bytes(gzip.compress(lines)[:-2000])

    done = run("import", str(file), "--agent", "a")

    assert done.code == 2
    assert "damaged or cut off after line" in done.err
    assert len(stored(url)) > 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("search", "tea", "--agent", "a", "-k", "0"), 2, "k must lie within 1"),
        (("search", "tea", "--agent", ""), 2, "agent_id must not be empty"),
        (("search", " ", "--agent", "a"), 2, "the query is empty"),
        (("search", "tea", "--agent", "a", "--profile", "x"), 2, "five_factor"),
        (("search", "tea", "--agent", "a", "--as-of", "soon"), 2, "not an ISO 8601 time"),
        (("search", "tea", "--agent", "a", "--tier", "x"), 2, "short, medium, long"),
        (("add", "x", "--agent", "a", "--metadata", "{"), 2, "--metadata is not JSON"),
        (("add", "x", "--agent", "a", "--metadata", "1"), 2, "must be a JSON object"),
        (("import", "no-such-file", "--agent", "a"), 2, "no-such-file is not a file"),
        (("search", "tea"), 2, "--agent"),
    ],
)
def test_bad_input_ends_with_two(
    run: Run, url: str, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = run(*arguments)

    assert done.code == code
    assert message in done.err
    assert "Traceback" not in done.err


def test_no_database_ends_with_three(run: Run, tmp_path: Path) -> None:
    done = run(
        *("search", "tea", "--agent", "a"),
        *("--database-url", f"postgresql:///x?host={tmp_path}"),
    )

    assert done.code == 3
    assert "no connection to the database" in done.err


def test_no_schema_ends_with_four_and_names_the_command(run: Run, empty_url: str) -> None:
    done = run("search", "tea", "--agent", "a", "--database-url", empty_url)

    assert done.code == 4
    assert "pgrecall migrate up" in done.err


def test_the_url_of_another_kind_of_database_is_refused(run: Run) -> None:
    done = run("status", "--database-url", "mysql://host/name")

    assert done.code == 2
    assert "postgresql://" in done.err


def test_migrate_up_status_down(run: Run, empty_url: str) -> None:
    database = ("--database-url", empty_url)
    up = run("migrate", "--dimensions", "12", "--embedding-type", "halfvec", *database)
    [status] = run("migrate", "status", "--json", *database).records
    down = run("migrate", "down", "--yes", *database)
    [after] = run("migrate", "status", "--json", *database).records

    assert (up.code, down.code) == (0, 0)
    assert (status["dimensions"], status["embedding_type"]) == (12, "halfvec")
    assert status["revision"] == status["head"]
    assert after["revision"] is None
    files = sorted(path.name for path in (migrations_folder() / "versions").glob("0*.py"))
    assert files[0].startswith("0001_")
    assert [line[:4] for line in after["pending"]] == [name[:4] for name in files]


def test_migrate_builds_and_drops_the_index_on_embeddings(run: Run, database_url: str) -> None:
    command = ("migrate", "embedding-index", "--database-url", database_url)

    built = run(*command)
    [again] = run(*command, "--json").records
    [dropped] = run(*command, "--drop", "--json").records

    assert (built.code, built.err) == (0, "")
    assert "True" in built.out
    assert (again["embedding_index"], dropped["embedding_index"]) == (True, False)
    [status] = run("migrate", "status", "--json", "--database-url", database_url).records
    assert status == dropped


def test_an_index_on_embeddings_needs_a_schema(run: Run, empty_url: str) -> None:
    done = run("migrate", "embedding-index", "--database-url", empty_url)

    assert done.code == 4
    assert "pgrecall migrate up" in done.err


def test_migrate_sql_prints_sql_alone(run: Run) -> None:
    printed = run("migrate", "sql", "--dimensions", "33")

    assert "vector(33)" in printed.out
    assert printed.err == ""


def test_status_counts(run: Run, url: str) -> None:
    run("add", "tea", "--agent", "a")
    run("add", "tea", "--agent", "b")
    run("add", "tea", "--agent", "b", "--of-team")
    run("search", "tea", "--agent", "a")

    [status] = run("status", "--json").records
    shown = run("status").out

    assert (status["memories"], status["owners"], status["memories_retrieved"]) == (3, 3, 1)
    assert "3 of 3 agents and teams" in shown


def test_status_of_a_database_without_schema(run: Run, empty_url: str) -> None:
    shown = run("status", "--database-url", empty_url)

    assert "pgrecall migrate up" in shown.out


def test_without_a_url_an_embedded_database_is_used_and_said(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PGRECALL_DATABASE_URL", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    added = run("add", "Ines drinks tea", "--agent", "a")
    found = run("search", "tea", "--agent", "a", "--json")

    assert "embedded PostgreSQL" in added.err
    assert [hit["content"] for hit in found.records] == ["Ines drinks tea"]


def test_the_demo_shows_what_is_relevant_and_stores_once(run: Run, url: str) -> None:
    first = run("demo", "-k", "3")
    second = run("demo", "-k", "3")

    assert first.code == second.code == 0
    assert first.out.count("made of") == 3
    [unanswered] = first.out.split("Which football club does Ines support?")[1:]
    assert unanswered.count("nothing found") == first.out.count("nothing found") == 1
    assert "stored in" in first.out
    assert "stored by an earlier run" in second.out
    assert len(stored(url)) >= 150


PROFILE = """
name = "mine"
[signals.similarity]
weight = 0.7
[signals.recency]
weight = 0.3
half_life = 14
half_lives_by_tier = { short = 0.25 }
"""


@pytest.fixture
def profile_file(tmp_path: Path) -> Path:
    file = tmp_path / "mine.toml"
    file.write_text(PROFILE, encoding="utf-8")
    return file


def test_explain_shows_why_in_a_table_and_as_json(run: Run, url: str) -> None:
    kept = run("add", "Ines drinks tea", "--agent", "a", "--tag", "x").out.strip()
    run("add", "tea", "--agent", "a")

    shown = run("explain", kept, "tea", "--agent", "a", "-k", "1")
    [record] = run("explain", kept, "tea", "--agent", "a", "--tag", "y", "--json").records

    assert "not returned: rank 2 of 2 that pass" in shown.out
    assert "outranked" in shown.out
    assert "similarity" in shown.out
    assert record["returned"] is False
    assert "filtered by tags" in record["reasons"][0]


def test_explain_shows_what_the_keyword_signal_is_made_of(run: Run, url: str) -> None:
    run("add", "Ines drinks tea", "--agent", "a")
    [record] = run("search", "tea", "--agent", "a", "--json").records

    asked = ("explain", record["id"], "tea of Mongolia", "--agent", "a", "--min-relevance", "0.99")
    shown, [told] = run(*asked), run(*asked, "--json").records

    assert "left out" in shown.out
    assert "keyword: 1.0000 of the terms by weight x 1.0000 for its length" in shown.out
    assert (
        told["reasons"][0] == f"its relevance {told['relevance']:.6f} is below min_relevance 0.99"
    )
    assert run("search", "tea", "--agent", "a", "--min-relevance", "0.99", "--json").records == []


def test_explain_of_no_memory_ends_with_two(run: Run, url: str) -> None:
    unknown = run("explain", "00000000-0000-7000-8000-000000000000", "tea", "--agent", "a")
    no_id = run("explain", "seven", "tea", "--agent", "a")

    assert (unknown.code, no_id.code) == (2, 2)
    assert "has no memory" in unknown.err
    assert "not the id of a memory" in no_id.err


def test_profiles_are_listed_and_shown(run: Run, profile_file: Path) -> None:
    listed = run("profiles", "list", "--json").records
    shown = run("profiles", "show", "trust")
    function = run("profiles", "show", str(profile_file), "--function")

    assert [profile["name"] for profile in listed] == [
        *("hybrid", "five_factor", "last_access", "half_life", "trust", "tiered"),
    ]
    assert "0.4 * decayed_trust(" in shown.out
    assert "CREATE OR REPLACE FUNCTION score_mine(" in function.out


def test_a_profile_of_ones_own_ranks_in_search_and_in_psql(
    run: Run, own_url: str, profile_file: Path
) -> None:
    run("add", "Ines drinks tea", "--agent", "a")
    found = run("search", "tea", "--agent", "a", "-p", str(profile_file), "--json")

    first = run("profiles", "install", str(profile_file))
    again = run("profiles", "install", str(profile_file))
    with psycopg.connect(own_url) as connection:
        rows = connection.execute(
            "SELECT content FROM pgrecall.recall('a', profile => 'mine')"
        ).fetchall()

    assert list(found.records[0]["signals"]) == ["similarity", "recency"]
    assert (first.code, again.code) == (0, 0)
    assert rows == [("Ines drinks tea",)]


def test_no_name_of_a_profile_and_no_text_in_it_is_anything_else(
    run: Run, own_url: str, profile_file: Path
) -> None:
    run("add", "Ines drinks tea", "--agent", "a", "--type", "@extschema@")
    profile_file.write_text(
        'name = "facts"\n[signals.recency]\nweight = 1\n'
        'half_life = 14\nhalf_lives_by_type = {"@extschema@" = 30}',
        encoding="utf-8",
    )

    done = run("profiles", "install", str(profile_file))
    with psycopg.connect(own_url) as connection:
        rows = connection.execute(
            "SELECT r.profile FROM (VALUES ('facts'), ('trust')) r(profile), "
            "pgrecall.recall('a', profile => r.profile)"
        ).fetchall()
        written = connection.execute(
            "SELECT pg_get_functiondef('pgrecall.score_facts'::regproc)"
        ).fetchone()

    assert done.code == 0
    assert len(rows) == 2
    assert written is not None
    assert "'@extschema@'" in written[0]


def test_the_plan_of_a_search_is_shown_instead_of_its_hits(run: Run, url: str) -> None:
    run("add", "Ines drinks tea", "--agent", "a")

    shown = run("search", "tea", "--agent", "a", "--plan")
    [record] = run("search", "tea", "--agent", "a", "--plan", "--json").records

    assert "LIMIT :k" in shown.out
    assert "Sort" in shown.out
    assert (record["strategy"], "Limit" in record["plan"]) == ("exact", True)


def test_a_built_in_profile_cannot_be_replaced(run: Run, url: str) -> None:
    done = run("profiles", "install", "five_factor")

    assert done.code == 2
    assert "another name" in done.err


def test_a_profile_installed_again_with_other_signals_takes_its_place(
    run: Run, own_url: str, profile_file: Path
) -> None:
    run("profiles", "install", str(profile_file))
    profile_file.write_text('name = "mine"\n[signals.importance]\nweight = 1', encoding="utf-8")
    run("profiles", "install", str(profile_file))

    with psycopg.connect(own_url) as connection:
        found = connection.execute(
            "SELECT count(*) FROM pg_proc WHERE proname = 'score_mine'"
        ).fetchone()

    assert found == (1,)


@pytest.mark.parametrize(
    "misplaced",
    [("--schema", "other"), ("--database-url", "postgresql://x/y"), ("--dimensions", "3")],
)
@pytest.mark.parametrize("subcommand", [("down", "--yes"), ("up",), ("status",)])
def test_an_option_before_a_subcommand_is_refused_rather_than_ignored(
    run: Run, url: str, misplaced: tuple[str, str], subcommand: tuple[str, ...]
) -> None:
    run("add", "precious", "--agent", "a")

    done = run("migrate", *misplaced, *subcommand)

    assert done.code == 2
    assert f"write {misplaced[0]} after `{subcommand[0]}`" in done.err
    assert stored(url) == [("precious", None)]


def test_lines_with_one_id_and_two_contents_are_named(run: Run, url: str, tmp_path: Path) -> None:
    same = {"id": "x", "content": "one"}
    file = write_lines(tmp_path / "notes.jsonl", same, same, {"id": "x", "content": "two"})

    done = run("import", str(file), "--agent", "a")

    assert done.code == 2
    assert "line 3: has the id of line 1" in done.err
    assert [content for content, _ in stored(url)] == ["one"]


def test_an_empty_id_is_refused(run: Run, url: str, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "notes.jsonl", {"id": "", "content": "one"})

    assert "id must be a text that is not empty" in run("import", str(file), "--agent", "a").err


def test_what_a_memory_says_cannot_speak_to_the_terminal(run: Run, url: str) -> None:
    kept = run("add", "evil \033[31mred \033]0;title\007 \x9b", "--agent", "a").out.strip()

    shown = run("search", "red \033[0m", "--agent", "a").out
    explained = run("explain", kept, "red", "--agent", "a").out

    for text in (shown, explained):
        assert "red" in text
        assert not {"\033", "\007", "\x9b"} & set(text)


def test_explain_takes_the_dates_that_search_takes(run: Run, url: str) -> None:
    kept = run("add", "tea", "--agent", "a", "--created-at", "2020-01-01").out.strip()

    [why] = run(
        "explain", kept, "tea", "--agent", "a", "--created-after", "2021-01-01", "--json"
    ).records

    assert "filtered by created_after" in why["reasons"][0]


def test_installed_profiles_are_listed_and_shown(
    run: Run, own_url: str, profile_file: Path
) -> None:
    run("profiles", "install", str(profile_file))

    listed = run("profiles", "list", "--installed", "--json").records
    shown = run("profiles", "show", "mine", "--installed")
    unknown = run("profiles", "show", "yours", "--installed")

    assert [profile["name"] for profile in listed] == [
        *("five_factor", "half_life", "hybrid", "last_access", "mine", "tiered", "trust"),
    ]
    assert "0.7 similarity + 0.3 recency" in next(
        profile["comment"] for profile in listed if profile["name"] == "mine"
    )
    assert "FUNCTION pgrecall.score_mine(" in shown.out
    assert (unknown.code, "five_factor" in unknown.err) == (2, True)


def test_the_version_is_told_without_a_database(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/nothing")

    told = run("--version")

    assert (told.code, told.out, told.err) == (0, f"pgrecall {version('pgrecall')}\n", "")


def _commands(group: Any, *names: str) -> Iterator[tuple[str, ...]]:
    yield names
    for name, command in getattr(group, "commands", {}).items():
        yield from _commands(command, *names, name)


@pytest.mark.parametrize("command", list(_commands(BUILT)), ids=" ".join)
def test_help_shows_no_type_beside_a_flag(run: Run, command: tuple[str, ...]) -> None:
    shown = run(*command, "--help")

    assert shown.code == 0
    assert "--help" in shown.out
    assert "bool" not in shown.out.lower()
