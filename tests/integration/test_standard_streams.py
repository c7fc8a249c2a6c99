"""`-` as standard input and output, names of files, and readers that leave early."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pgrecall import MemoryRepository, export_file, import_file
from pgrecall.errors import InputError
from tests.integration.commands import Run

PROGRAM = Path(sys.executable).with_name("pgrecall")


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return run


def test_a_text_is_read_from_standard_input(run: Run) -> None:
    assert run("add", "-", "--agent", "a", answer=b"\xef\xbb\xbfone\n\ntwo\n").code == 0
    assert run("upsert", "k", "-", "--agent", "a", answer="by key").code == 0
    found = {one["content"] for one in run("list", "--agent", "a", "--json").records}
    assert found == {"one\n\ntwo", "by key"}
    for bad in (b"", b" \n\n", b"\xe2\x80\x8b\n", b"\xff"):
        assert run("add", "-", "--agent", "a", answer=bad).code == 2, bad


def test_what_export_prints_is_what_import_reads(run: Run, local_url: str) -> None:
    for text in ("tea", "caf\u00e9\u2028latte"):
        run("add", text, "--agent", "a")
    printed = run("export", "-", "--agent", "a")
    assert (printed.code, "2 memories written to -" in printed.err) == (0, True)
    run("export", "same.jsonl", "--agent", "a")
    assert printed.out == Path("same.jsonl").read_text(encoding="utf-8")
    assert run("export", "-", "--resume").code == 2

    changes = {"agent_id": "b", "id": None, "events": None}
    lines = printed.out.strip().split("\n")
    text = "".join(f"{json.dumps(json.loads(one) | changes)}\n" for one in lines)
    for piped, added in ((gzip.compress(text.encode()), 2), (text.encode(), 0)):
        [done] = run("import", "-", "--json", answer=piped).records
        assert (done["added"], done["already_there"]) == (added, 2 - added)
    assert "line 1: not JSON" in run("import", "-", "--agent", "b", answer="tea").err
    unknown = '{"content": "tea", "has space": 1, "hash": 2}'
    refused = run("import", "-", "--agent", "b", answer=unknown)
    assert "To leave them out: --map 'has space=' --map hash=" in refused.err
    assert sorted(path.name for path in Path().iterdir()) == ["same.jsonl"]

    through_pipe = subprocess.run(
        [PROGRAM, "import", "/dev/stdin", "--agent", "c", "--database-url", local_url],
        input='{"content": "tea"}',
        text=True,
        check=False,
    )
    assert through_pipe.returncode == 0


@pytest.mark.parametrize("name", ["bob.csv", "bob.csv.gz", "bob.JSON", "bob.parquet"])
def test_a_suffix_of_another_format_is_refused(run: Run, name: str) -> None:
    """CSV is read, and not written."""
    Path(name).write_text('{"content": "tea"}')
    for command in ("export",) if "csv" in name else ("import", "export"):
        done = run(command, name, "--agent", "a")
        assert (done.code, "JSON Lines (.jsonl or .ndjson" in done.err) == (2, True), done.err
    assert Path(name).read_text() == '{"content": "tea"}'


def test_files_that_have_a_name_of_ours(
    shared_repo: MemoryRepository, agent: str, tmp_path: Path
) -> None:
    for name in ("all", "all.JSONL", "all.ndjson", "all.gz", "all.ndjson.gz"):
        assert export_file(shared_repo, tmp_path / name, agent_id=agent) == 0
        assert import_file(shared_repo, agent, tmp_path / name).added == 0
    with pytest.raises(InputError, match="a path must be"):
        import_file(shared_repo, agent, sys.stdin)  # type: ignore[arg-type]


def test_a_reader_that_has_seen_enough_is_no_failure(run: Run, local_url: str) -> None:
    lines = "".join(json.dumps({"content": f"{n} " + "x" * 5_000}) + "\n" for n in range(50))
    assert run("import", "-", "--agent", "a", answer=lines).code == 0
    for command in ("list --json", "list", "export -"):
        words = [str(PROGRAM), *command.split(), "--agent", "a", "--database-url", local_url]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            said = process.stderr.read().decode()
        assert (process.returncode, "rror" in said) == (0, False), (command, said)


def test_streams_that_are_closed(run: Run, local_url: str) -> None:
    """As for a job whose output nobody wants."""
    assert run("add", "tea", "--agent", "a").code == 0
    for command, code in (("list >&-", 0), ("export - >&-", 2), ("add - <&-", 2)):
        line = f'"{PROGRAM}" {command} --agent a --database-url "{local_url}"'
        done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=False)
        assert (done.returncode, b"Traceback" in done.stderr) == (code, False), done.stderr
