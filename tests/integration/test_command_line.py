from __future__ import annotations

import gzip
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgrecall.cli.demonstrate import _program
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.core.resources import migrations_folder
from tests.integration.commands import Run, make_once, runner


@pytest.fixture
def as_installed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def run(as_installed: Run, monkeypatch: pytest.MonkeyPatch, local_embedder: LocalEmbedder) -> Run:
    make_once(monkeypatch, local_embedder)
    return as_installed


@pytest.fixture
def url(local_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database with embeddings of the local embedder's length, named in the environment."""
    monkeypatch.setenv("PGRECALL_DATABASE_URL", local_url)
    return local_url


def write_lines(path: Path, *lines: object) -> Path:
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


def stored(url: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT content, key FROM pgrecall.agent_memories ORDER BY content"
        ).fetchall()


def test_what_is_added_is_found(as_installed: Run, url: str) -> None:
    run = as_installed
    added = run("add", "Ines drinks tea", "--agent", "a", "--importance", "0.9", "--tag", "drink")
    run("add", "The build is broken", "--agent", "a")

    found = run("search", "tea", "--agent", "a", "-k", "1", "--json")

    [hit] = found.records
    assert hit["id"] == added.out.strip()
    assert list(hit) == [
        *("id", "content", "score", "similarity", "signals", "contributions", "created_at"),
        "relevance",
    ]
    assert hit["content"] == "Ines drinks tea"
    assert sum(hit["contributions"].values()) == pytest.approx(hit["score"], abs=1e-5)


def test_search_filters_counts_and_shows_a_table(run: Run, url: str) -> None:
    options = (("--tag", "x"), ("--type", "preference"), ("--filter", '{"entities": "Ines"}'))
    run("add", "tea", "--agent", "a", "--tag", "x", "--type", "preference", "--entity", "Ines")
    run("add", "tea too", "--agent", "a")
    asked = ("search", "tea", "--agent", "a", "--json")

    for option in options:
        found = run(*asked, *option, "--no-touch")
        assert [hit["content"] for hit in found.records] == ["tea"]
    first, second = run(*asked, "--tag", "x").records[0], run(*asked, "--tag", "x").records[0]
    assert (first["signals"]["frequency"], second["signals"]["frequency"]) == (0, 0.02)
    shown = run("search", "tea", "--agent", "a")
    assert shown.code == 0
    assert "tea too" in shown.out
    assert "score" in shown.out
    nothing = run("search", "tea", "--agent", "nobody")
    assert (nothing.code, nothing.out.splitlines()[-1]) == (0, "nothing found")
    assert "nobody has no memories" in nothing.err
    run("add", "tea of the team", "--agent", "a", "--of-team")
    [of_team] = run("search", "tea", "--agent", "a", "--of-team", "--json").records
    assert of_team["content"] == "tea of the team"


def test_import_stores_every_line_once_and_reads_gzip(run: Run, url: str, tmp_path: Path) -> None:
    lines = [{"id": f"note/{n}", "content": f"note {n}"} for n in range(3)]
    file = write_lines(tmp_path / "notes.jsonl", *lines, {"content": "without id"})
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"content": "packed"}\n\n{"content": "twice"}'))

    told = [run("import", path, "--agent", "a", "--json").records for path in (file, file, packed)]

    assert [(r["added"], r["already_there"]) for [r] in told] == [(4, 0), (0, 4), (2, 0)]
    assert stored(url) == [
        *((f"note {n}", f"note/{n}") for n in range(3)),
        *((content, None) for content in ("packed", "twice", "without id")),
    ]


BAD_LINES: tuple[tuple[str, str], ...] = (
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
    ('{"id": "", "content": "x"}', "id must be a text that is not empty"),
    ('{"id": "good", "content": "two"}', "has the id of line 1"),
)


def test_a_bad_line_is_named_and_what_went_before_it_stays(
    run: Run, url: str, tmp_path: Path
) -> None:
    good = {"id": "good", "content": "good"}
    for bad, reason in BAD_LINES:
        file = write_lines(tmp_path / "notes.jsonl", good, bad, {"content": "after"})
        done = run("import", file, "--agent", "a")

        assert done.code == 2
        assert f"{file}, line 2: " in done.err
        assert reason in done.err
        assert stored(url) == [("good", "good")]


def test_bytes_that_are_not_text_or_cut_off_are_named(run: Run, url: str, tmp_path: Path) -> None:
    latin, short = tmp_path / "notes.jsonl", tmp_path / "notes.jsonl.gz"
    latin.write_bytes(b'{"content": "good"}\n{"content": "\xff"}\n')
    lines = b"".join(b'{"content": "note %d"}\n' % n for n in range(2000))
    short.write_bytes(gzip.compress(lines)[:-2000])

    of_latin, of_short = (run("import", file, "--agent", "a") for file in (latin, short))

    assert (of_latin.code, of_short.code) == (2, 2)
    assert f"{latin}, line 2: not UTF-8" in of_latin.err
    assert "damaged or cut off after line" in of_short.err
    assert len(stored(url)) > 1


NO_MEMORY = "00000000-0000-7000-8000-000000000000"
REFUSED: tuple[tuple[tuple[object, ...], str], ...] = (
    (("search", " ", "--agent", "a"), "the query is empty"),
    (("search", "tea", "--agent", "a", "--profile", "x"), "five_factor"),
    (("search", "tea", "--agent", "a", "--as-of", "soon"), "not an ISO 8601 time"),
    (("search", "tea"), "--agent"),
    (("add", "x", "--agent", "a", "--metadata", "{"), "--metadata: '{' is not JSON"),
    (("add", "x", "--agent", "a", "--metadata", "1"), "--metadata: write KEY=VALUE"),
    (("import", "no-such-file", "--agent", "a"), "no-such-file is not a file"),
    (("explain", NO_MEMORY, "tea", "--agent", "a"), "has no memory"),
    (("explain", "seven", "tea", "--agent", "a"), "neither the id of a memory"),
    (("profiles", "install", "five_factor"), "another name"),
    (("profiles", "show", "yours", "--installed"), "five_factor"),
    (("status", "--database-url", "mysql://host/name"), "postgresql://"),
    (("migrate", "--database-url", "postgresql://x/y", "down", "--yes"), "--database-url"),
)


def test_what_cannot_be_done_ends_with_two_and_says_why(run: Run, url: str) -> None:
    run("add", "precious", "--agent", "a")
    for arguments, message in REFUSED:
        done = run(*arguments)

        assert done.code == 2, arguments
        assert message in done.err
        assert "Traceback" not in done.err
    assert stored(url) == [("precious", None)]


def test_without_a_database_it_ends_with_three_and_without_a_schema_with_four(
    run: Run, empty_url: str, tmp_path: Path
) -> None:
    asked = ("search", "tea", "--agent", "a", "--database-url")
    nowhere = run(*asked, f"postgresql:///x?host={tmp_path}")
    down = run("migrate", "language", "german", "--database-url", empty_url)

    assert nowhere.code == 3
    assert "no connection to the database" in nowhere.err
    for done in (run(*asked, empty_url), down):
        assert done.code == 4
        assert "pgrecall migrate up" in done.err
    assert "pgrecall migrate up" in run("status", "--database-url", empty_url).out


@pytest.mark.hnsw
def test_migrate_up_status_down(run: Run, empty_url: str) -> None:
    database = ("--database-url", empty_url)
    index = ("migrate", "up", *database)
    up = run("migrate", "up", "--dimensions", "12", "--embedding-type", "halfvec", *database)
    [status] = run("status", "--json", *database).records
    built = run(*index, "--embedding-index")
    [again] = run(*index, "--json").records
    [dropped] = run(*index, "--no-embedding-index", "--json").records
    down = run("migrate", "down", "--yes", *database)
    [after] = run("status", "--json", *database).records

    assert (up.code, built.code, built.err, down.code) == (0, 0, "", 0)
    assert (status["dimensions"], status["embedding_type"]) == (12, "halfvec")
    assert status["revision"] == status["head"]
    assert "True" in built.out
    assert again["embedding_index"] is True
    assert dropped.items() <= status.items()
    assert after["revision"] is None
    files = sorted(path.name for path in (migrations_folder() / "versions").glob("0*.py"))
    assert files[0].startswith("0001_")
    assert [line[:4] for line in after["pending"]] == [name[:4] for name in files]
    printed = run("migrate", "sql", "--dimensions", "33")
    assert "vector(33)" in printed.out
    assert printed.err == ""


def test_status_counts(run: Run, url: str) -> None:
    for owner in (("a",), ("b",), ("b", "--of-team")):
        run("add", "tea", "--agent", *owner)
    run("search", "tea", "--agent", "a")

    [status] = run("status", "--json").records

    assert (status["memories"], status["owners"], status["memories_retrieved"]) == (3, 3, 1)
    assert "3 of 3 agents and teams" in run("status").out


def test_the_demo_shows_what_is_relevant_and_stores_once(run: Run, url: str) -> None:
    first, second = run("demo", "-k", "3"), run("demo", "-k", "3")

    assert first.code == second.code == 0
    assert first.out.count("made of") == 4
    [beside] = first.out.split("Who won the football world cup of 1966?")[1:]
    said = "nothing on this subject"
    assert beside.count(said) == first.out.count(said) == 1
    assert "stored in" in first.out
    assert "stored by an earlier run" in second.out
    assert len(stored(url)) >= 150
    said, command = first.out.splitlines()[-1].split(": ", 1)
    assert said == "Try your own"
    assert "Ines" in run(*shlex.split(command)[1:]).out


def test_the_demo_names_the_program_as_the_shell_finds_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    program = Path(sys.executable).with_name("pgrecall")
    monkeypatch.setattr(sys, "argv", [str(program)])
    for path, name in (("/nowhere", str(program)), (str(program.parent), "pgrecall")):
        monkeypatch.setenv("PATH", path)
        assert _program() == name


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
    asked = ("explain", kept, "tea", "--agent", "a")

    shown = run(*asked, "-k", "1").out
    by_tag, by_date = (
        run(*asked, *option, "--json").records[0]
        for option in (("--tag", "y"), ("--since", "2999-01-01"))
    )
    of_words = ("explain", kept, "tea of Mongolia", "--agent", "a", "--min-relevance", "0.99")
    words, [told] = run(*of_words).out, run(*of_words, "--json").records

    for said in ("not returned: rank 2 of 2 that pass", "outranked", "similarity"):
        assert said in shown
    assert by_tag["returned"] is False
    assert "filtered by 'tags'" in by_tag["reasons"][0]
    assert "filtered by 'created_at'" in by_date["reasons"][0]
    assert "left out" in words
    assert "keyword: 1.0000 of the terms by weight x 1.0000 for its length" in words
    reason = f"its relevance {told['relevance']:.6f} is below min_relevance 0.99"
    assert told["reasons"][0] == reason
    floor = ("--min-relevance", "0.99", "--json")
    assert run("search", "tea of Mongolia", "--agent", "a", *floor).records == []
    plan = ("search", "tea", "--agent", "a", "--tag", "a", "--plan")
    assert re.search(r"LIMIT [\s\S]*Sort", run(*plan).out)
    [record] = run(*plan, "--json").records
    assert (record["strategy"], "Limit" in record["plan"]) == ("exact", True)


def test_a_profile_of_ones_own_ranks_in_search_and_in_psql(
    run: Run, commands_url: str, monkeypatch: pytest.MonkeyPatch, profile_file: Path
) -> None:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", commands_url)
    run("add", "Ines drinks tea", "--agent", "a", "--type", "@extschema@")
    found = run("search", "tea", "--agent", "a", "-p", str(profile_file), "--json")
    # No name and no text of a profile is anything else; installed again it takes its own place.
    evil = profile_file.with_name("facts.toml")
    evil.write_text(
        'name = "facts"\n[signals.recency]\nweight = 1\n'
        'half_life = 14\nhalf_lives_by_type = {"@extschema@" = 30}',
        encoding="utf-8",
    )
    codes = [run("profiles", "install", file).code for file in (evil, profile_file, profile_file)]

    with psycopg.connect(commands_url) as connection:
        rows = connection.execute(
            "SELECT r.profile, content FROM (VALUES ('facts'), ('mine'), ('trust')) r(profile), "
            "pgrecall.recall('a', profile => r.profile)"
        ).fetchall()
        written = connection.execute(
            "SELECT pg_get_functiondef('pgrecall.ranked'::regproc)"
        ).fetchone()
    listed = run("profiles", "show", "--installed", "--json").records
    shown = run("profiles", "show", "mine", "--installed")
    profile_file.write_text('name = "mine"\n[signals.importance]\nweight = 1', encoding="utf-8")
    codes.append(run("profiles", "install", profile_file).code)

    assert codes == [0] * 4
    assert list(found.records[0]["signals"]) == ["similarity", "recency"]
    assert rows == [(name, "Ines drinks tea") for name in ("facts", "mine", "trust")]
    assert written is not None
    assert "'@extschema@'" in written[0]
    assert [profile["name"] for profile in listed] == [
        *("hybrid", "five_factor", "last_access", "half_life", "trust", "trust_stored", "tiered"),
        *("facts", "mine"),
    ]
    assert "0.7 * coalesce(m.similarity, 0.0) + 0.3 * recency_exponential(" in shown.out
    with psycopg.connect(commands_url) as connection:
        count = "SELECT count(*) FROM pg_proc WHERE proname = 'ranked'"
        assert connection.execute(count).fetchone() == (1,)
        row = connection.execute(
            "SELECT signal_importance, score FROM pgrecall.recall('a', profile => 'mine')"
        ).fetchone()
    assert row == (0.5, 0.5)


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("search tea --limit 3", "-k"),
        ("search tea --top-k 3", "-k"),
        ("context tea --top 3", "-k"),
        ("context tea --format json", "--json"),
        ("list --cursor x", "--after"),
    ],
)
def test_an_option_by_another_name_is_known(run: Run, command: str, meant: str) -> None:
    refused = run(*command.split())

    assert refused.code == 2
    assert meant in refused.err.partition(command.split()[-2])[2]


def test_an_export_is_imported_again(run: Run, url: str, tmp_path: Path) -> None:
    file, facts, bad = (tmp_path / name for name in ("a.jsonl.gz", "facts.jsonl", "bad.jsonl"))
    run("add", "Ines drinks tea", "--agent", "a", "--type", "fact")
    run("add", "Ines has a cat", "--agent", "b")
    run("add", "tea of the team", "--agent", "a", "--of-team")

    [all_] = run("export", file, "--events", "--json").records
    [few] = run("export", facts, "--agent", "a", "--type", "fact", "--json").records
    refused = run("export", file)
    [again] = run("import", file, "--json").records

    assert (all_["exported"], few["exported"], refused.code) == (3, 1, 2)
    assert (again["added"], again["already_there"]) == (0, 3)
    lines = ['{"text": "x", "at": "2026-01-01"}', "{", '{"text": "y", "odd": 1}']
    notes = write_lines(tmp_path / "notes.jsonl", *lines)
    mapping = write_lines(tmp_path / "old.map", "# What we had", "", "  at=created_at ")
    names = ("--map", "text=content", "--map", f"@{mapping}", "--timezone", "Europe/Berlin")
    done = run("import", notes, "--agent", "c", *names, "--rejects", bad)
    assert done.code == 2
    assert "1 memory added for c" in done.out
    assert "notes.jsonl, line 2: not JSON" in done.err
    assert "2 lines could not be stored" in done.err
    assert bad.read_text().splitlines() == lines[1:]
    for options, reason in (
        (("--timezone", "Moon"), "--timezone: unknown time zone 'Moon'"),
        (("--map", "text"), "--map: write OLD=NEW"),
        (("--map", f"@{tmp_path}/none"), "--map: cannot read"),
        (("--map", f"@{mapping}", "--map", "at=b"), "--map: 'at' is given twice"),
        (("--map", "a=b", "--map", "a=c"), "--map: 'a' is given twice"),
        ((), "names no owner"),
    ):
        wrong = run("import", notes, *options)
        assert wrong.code == 2
        assert reason in wrong.err
