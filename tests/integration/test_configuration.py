"""Settings from options, the environment and the user's file; and embedders and rerankers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import psycopg
import pytest

from pgrecall.cli.output import console
from pgrecall.core.embedders import LocalEmbedder
from tests.integration.commands import Run, make_once, runner

HALVES = """
class Halves:
    model = "halves"

    def __init__(self, dimensions=8):
        self._dimensions = dimensions

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        return [0.5] * self._dimensions
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    here = tmp_path / "project" / "here"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    monkeypatch.delenv("PGRECALL_DATABASE_URL", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return here


@pytest.fixture
def run(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    local_embedder: LocalEmbedder,
) -> Run:
    make_once(monkeypatch, local_embedder)
    return runner(monkeypatch, capsys)


@pytest.fixture
def file(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's file."""
    path = tmp_path / "config" / "config.toml"
    path.parent.mkdir()
    monkeypatch.setattr("pgrecall.cli.configuration.user_file", lambda: path)
    return path


def shown(run: Run) -> dict[str, tuple[str, str]]:
    return {
        one["setting"]: (one["value"], one["source"]) for one in run("config", "--json").records
    }


def test_an_option_precedes_the_environment_and_that_the_users_file(
    run: Run, file: Path, local_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", local_url)
    file.write_text("agent = 'filed'\nprofile = 'mine.toml'\ndatabase_url = 'postgresql://x:1/x'")
    mine = file.parent / "mine.toml"
    mine.write_text("name = 'mine'\n[signals.similarity]\nweight = 1\n")

    assert run("add", "tea").code == 0
    [hit] = run("search", "tea", "--json").records
    assert hit["contributions"].keys() == {"similarity"}
    monkeypatch.setenv("PGRECALL_AGENT", "named")
    assert run("search", "tea", "--json", "--profile", "trust").records == []
    assert len(run("search", "tea", "--json", "--agent", "filed").records) == 1

    found = shown(run)
    assert found["agent"] == ("named", "PGRECALL_AGENT")
    assert found["profile"] == (str(mine), str(file))
    assert found["schema"] == ("pgrecall", "default")
    assert found["database_url"][1] == "PGRECALL_DATABASE_URL"
    assert "config.toml" in run("config").out.partition("Your file: ")[2]


@pytest.mark.parametrize("where", [".", ".."])
@pytest.mark.parametrize("name", ["pgrecall.toml", "config.toml", "pyproject.toml"])
def test_files_of_a_project_have_no_effect(
    run: Run, folder: Path, local_url: str, monkeypatch: pytest.MonkeyPatch, name: str, where: str
) -> None:
    before = shown(run)
    mark = folder / "mark"
    (folder / where / "planted.py").write_text(
        f"import pathlib\npathlib.Path({str(mark)!r}).touch()"
    )
    planted = {
        "agent": "theirs",
        "database_url": "postgresql://127.0.0.1:1/theirs",
        "embedder": "planted:Embedder",
        "rerank": "planted:reranker",
        "unknown": "x",
    }
    table = "[tool.pgrecall]" if name == "pyproject.toml" else ""
    lines = [table, *(f"{key} = {value!r}" for key, value in planted.items())]
    (folder / where / name).write_text("\n".join(lines))

    assert shown(run) == before
    monkeypatch.setenv("PGRECALL_DATABASE_URL", local_url)
    for command in (("add", "tea"), ("search", "tea"), ("list",)):
        done = run(*command, "--agent", "a")
        assert (done.code, done.err) == (0, ""), done
    assert not mark.exists()


def test_only_an_option_names_code_in_the_working_folder(
    run: Run, folder: Path, local_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", local_url)
    mark = folder / "mark"
    for name in ("planted_embedder", "openai"):
        leaves = f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n{HALVES}"
        (folder / f"{name}.py").write_text(leaves)

    run("search", "tea", "--agent", "a", "--embedder", "pgrecall:OpenAIEmbedder('x')")
    monkeypatch.setenv("PGRECALL_EMBEDDER", "planted_embedder:Halves")
    assert "cannot be imported" in run("search", "tea", "--agent", "a").err
    assert not mark.exists()
    run("search", "tea", "--agent", "a", "--embedder", "planted_embedder:Halves")
    assert mark.exists(), "an option names what lies in the working folder"


def test_scripts_for_psql_are_found(run: Run) -> None:
    folder = run("config").out.rpartition("Scripts for psql: ")[2].strip()
    assert (Path(folder) / "index_health.sql").is_file()


def test_secrets_are_masked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", "postgresql://me:hush@host/db?sslpassword=hush")
    assert "hush" not in run("config").out
    assert shown(run)["database_url"][0].startswith("postgresql://me:***@host/db")
    monkeypatch.setenv("PGRECALL_DATABASE_URL", "hush")
    assert "hush" not in run("config").out


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("agnet = 'x'", "unknown setting 'agnet' (did you mean agent?); known are agent, database"),
        ("agent = 7", "agent must be a text, got 7"),
        ("agent = ", "config.toml cannot be read"),
        ("[tool.pgrecall]", "unknown setting 'tool'"),
    ],
)
def test_a_file_that_cannot_be_used(run: Run, file: Path, text: str, problem: str) -> None:
    file.write_text(text)
    done = run("config")
    assert (done.code, problem in done.err) == (2, True), done.err


def test_any_embedder_and_any_schema(
    run: Run, folder: Path, file: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", database_url)
    (file.parent / "halves_embedder.py").write_text(HALVES)
    file.write_text("embedder = 'halves_embedder:Halves'\nagent = 'a'")
    vector = json.dumps([1.0] + [0.0] * 7)
    (folder / "vector.json").write_text(vector)

    assert run("add", "tea").code == 0
    [hit] = run("search", "tea", "--json").records
    assert hit["similarity"] == pytest.approx(1)
    for given in (vector, "@vector.json"):
        [hit] = run("search", "tea", "--json", "--vector", given).records
        assert hit["similarity"] == pytest.approx(8**-0.5, abs=1e-6)
    assert run("add", "coffee", "--vector", vector).code == 0
    assert "by halves" in run("status").out

    wrong = {
        "pgrecall:LocalEmbedder": "holds embeddings of 'halves'",
        "halves_embedder:Halves(dimensions=7)": "7 dimensions, the database stores 8",
        "halves_embedder:Halves(1, 2)": "makes none",
        "halves_embedder:Nothing": "cannot be imported",
        ":Halves": "cannot be imported",
        "no_such_module:Halves": "cannot be imported",
        "halves_embedder": "is neither MODULE:OBJECT nor",
        "halves_embedder:Halves(open('x'))": "is neither MODULE:OBJECT nor",
        "os:path": "makes none",
    }
    for name, problem in wrong.items():
        done = run("search", "tea", "--embedder", name)
        assert (done.code, problem in done.err) == (2, True), (name, done.err)
    for given in ("[1, 2", "7", "@nowhere", '["a"]'):
        assert run("search", "tea", "--vector", given).code == 2, given
    assert run("import", "nothing", "--vector", vector).code == 2, "many texts, many vectors"


RERANKERS = """
def longest(query, texts):
    return [len(text) for text in texts]

class Shortest:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, query, texts):
        return [-self.factor * len(text) for text in texts]

def fails(query, texts):
    raise ValueError("no answer")
"""


def test_any_reranker_orders_hits(
    run: Run, file: Path, local_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", local_url)
    (file.parent / "my_rerankers.py").write_text(RERANKERS)
    file.write_text("rerank = 'my_rerankers:longest'\nagent = 'a'")
    texts = ["tea", "tea for two", "tea for the three of us"]
    ids = [run("add", text).out.strip() for text in texts]

    hits = run("search", "tea", "--json").records
    assert [(hit["content"], hit["rerank_score"]) for hit in hits] == [
        (text, len(text)) for text in texts[::-1]
    ]
    assert [(hit["moved"], hit["reranked"]) for hit in hits] == [(2, True), (0, True), (-2, True)]
    shown = run("search", "tea").out
    assert "by hybrid, reranked" in shown
    assert "23 +2" in shown
    packed = run("context", "tea", "--min-relevance", "0")
    assert packed.out.index(texts[2]) < packed.out.index(texts[1])
    assert "23 +2" in packed.err

    other = ("--rerank", "my_rerankers:Shortest(0.5)")
    assert [hit["content"] for hit in run("search", "tea", "--json", *other).records] == texts
    failed = run("search", "tea", "--rerank", "my_rerankers:fails")
    assert (failed.code, "not reranked: the reranker failed: ValueError" in failed.out) == (0, True)
    for name, problem in {
        "my_rerankers:Nothing": "--rerank: 'my_rerankers:Nothing' cannot be imported",
        "my_rerankers:Shortest": "makes none",
        "my_rerankers:RERANKERS": "cannot be imported",
        "longest": "is neither MODULE:OBJECT nor",
    }.items():
        done = run("search", "tea", "--rerank", name)
        assert (done.code, problem in done.err) == (2, True), (name, done.err)

    judged = [{"query": "tea", "relevant": [id_]} for id_ in ids]
    queries = file.parent / "queries.jsonl"
    queries.write_text("\n".join(map(json.dumps, judged)))
    evaluated = run("evaluate", queries, "--agent", "a", "-p", "trust", "--json")
    assert evaluated.records[0]["profiles"][0]["profile"] == "trust_reranked"


def test_the_embedded_server_by_commands(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pgrecall.cli.server.data_folder", lambda: folder / "data")
    monkeypatch.setattr("pgrecall.cli.database.data_folder", lambda: folder / "data")

    added = run("add", "tea", "--agent", "a")
    assert added.err.count("Making an embedded PostgreSQL in ") == 1
    [started] = run("server", "start", "--json").records
    try:
        found = run("search", "tea", "--agent", "a", "--json")
        assert (found.err, len(found.records)) == ("", 1)
        assert run("server", "start", "--json").records[0]["url"] == started["url"]
        monkeypatch.setattr(console, "width", 20)
        assert f" URL: {started['url']}\n" in run("server", "start").out
        with psycopg.connect(started["url"]):
            refused = run("server", "stop")
            assert (refused.code, "1 connection." in refused.err) == (1, True)
    finally:
        stopped = run("server", "stop", "--force")
    assert "has stopped" in stopped.out
    assert "does not run" in run("server", "stop").out
