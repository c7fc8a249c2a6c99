"""What is exported and imported is the same: rows, files and rankings."""

from __future__ import annotations

import gzip
import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, create_engine, text

from pgrecall import (
    MemoryRepository,
    NewMemory,
    RetentionPolicy,
    export_file,
    import_file,
    profiles,
)
from pgrecall.errors import InputError
from pgrecall.testing import new_database
from tests.integration.conftest import Transaction
from tests.integration.support import sql
from tests.integration.test_profiles_agree import WORDS, random_memories, whole_vector

NOTES = {"$or": [{"memory_type": "note"}, {"additional_types": "note"}]}
OWNERS = {"ada": 90, "bob": 25, "team:red": 25}
TABLES = (*("agent_memories", "memory_usage", "memory_events", "memory_links"),)
AS_OF = datetime(2027, 3, 1, tzinfo=UTC)
QUERIES = 200
FORMATS = ("all.jsonl", "all.jsonl.gz")


@pytest.fixture(scope="module")
def source(server_url: str, template: str) -> Iterator[Engine]:
    """Memories of two agents and a team that have lived through everything that leaves state."""
    with new_database(server_url, template) as url:
        engine = create_engine(url)
        repo = MemoryRepository(engine)
        dice = random.Random("moving")
        for stored_id, size in OWNERS.items():
            owner = stored_id.removeprefix("team:")
            _live(repo if owner == stored_id else repo.teams, owner, size, dice)
        yield engine
        engine.dispose()


def _live(repo: MemoryRepository, owner: str, size: int, dice: random.Random) -> None:
    new = [
        replace(one, key=f"key {n}" if n % 9 == 0 else None, tokens=None)
        for n, one in enumerate(random_memories(dice, size))
    ]
    ids = repo.add_many(owner, new, check_compliance=False)
    same = NewMemory("Said twice.", embedding=None, session="talk", turn=3)
    ids += [repo.add(owner, same, duplicates="allow") for _ in range(2)]
    one, two, *_, last = ids
    for id_ in dice.choices(ids, k=size):
        repo.touch(owner, id_)
        repo.record_outcome(owner, id_, dice.choice(["success", "failure"]))
        repo.feedback(owner, id_, dice.choice(["useful", "not_useful", "outdated"]), context="ü\n")
        if id_ != last:
            repo.links.add(owner, id_, last, kind="then", weight=dice.random())
    newer = repo.supersede(owner, one, NewMemory("Newer.", embedding=None), force=True)
    repo.supersede(owner, newer, NewMemory("Newest.", embedding=None), force=True)
    repo.invalidate(owner, two, reason="wrong")
    repo.update(owner, last, importance=1 / 3)
    repo.update(owner, last, tier="short")
    if owner == "bob":
        repo.maintenance.run(RetentionPolicy(max_age_hours=7_200), agent_id=owner)


@pytest.fixture
def target(own_url: str) -> Iterator[Engine]:
    engine = create_engine(own_url)
    yield engine
    engine.dispose()


def everything(engine: Engine) -> dict[str, list[Any]]:
    """All rows but for when they were written here."""
    left_out = {"agent_memories": "inserted_at"}
    return {
        table: [
            row
            for (row,) in sql(
                engine,
                f"SELECT (to_jsonb(t) - '{left_out.get(table, '')}')::text FROM pgrecall.{table} t "
                "ORDER BY 1",
            )
        ]
        for table in TABLES
    }


def rankings(engine: Engine) -> list[Any]:
    """Every profile for each query, with scores and their parts as they are."""
    repo = MemoryRepository(engine)
    with engine.begin() as connection:  # the mean depends on when it was computed
        connection.exec_driver_sql("SELECT pgrecall.refresh_owner(agent_id) FROM pgrecall.owners()")
    dice = random.Random("queries")
    found = []
    for number in range(QUERIES):
        owner = dice.choice(["ada", "bob", "red"])
        profile = [*profiles.BUILT_IN.values()][number % len(profiles.BUILT_IN)]
        hits = (repo.teams if owner == "red" else repo).search(
            owner,
            whole_vector(dice),
            k=100,
            keywords=" ".join(dice.choices(WORDS, k=2)),
            profile=profile,
            as_of=AS_OF,
            include_inactive=True,
            touch=False,
        )
        found.append([(hit.memory.id, hit.score, hit.signals) for hit in hits])
    assert sum(map(len, found)) > 20 * QUERIES
    return found


@pytest.fixture(scope="module")
def ranked(source: Engine) -> list[Any]:
    return rankings(source)


@pytest.mark.parametrize("name", FORMATS)
def test_what_was_exported_and_imported_is_the_same_to_the_last_bit(
    source: Engine, ranked: list[Any], target: Engine, tmp_path: Path, name: str
) -> None:
    first, again = tmp_path / name, tmp_path / "again.jsonl"
    number = export_file(MemoryRepository(source), first, events=True)

    done = import_file(MemoryRepository(target), None, first, batch_size=40, check_compliance=False)

    assert number == done.added == len(everything(source)["agent_memories"])
    assert everything(target) == everything(source)
    assert rankings(target) == ranked
    export_file(MemoryRepository(target), again, events=True)
    if name.endswith(".jsonl"):
        assert again.read_text("utf-8") == first.read_text("utf-8")

    known = import_file(MemoryRepository(target), None, first, check_compliance=False)
    assert (known.added, known.already_there) == (0, number)
    assert everything(target) == everything(source)


def test_what_psql_exports_does_not_depend_on_its_settings(
    source: Engine, target: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "ada.jsonl"
    with source.connect() as session:
        session.execute(text("SET TimeZone = 'Asia/Kathmandu'"))
        session.execute(text("SET extra_float_digits = -15"))
        session.execute(text("SET DateStyle = 'German'"))
        rows = session.execute(
            text(
                "SELECT pgrecall.exported(agent_id, id, true) FROM pgrecall.agent_memories "
                "ORDER BY id"
            )
        )
        file.write_text("".join(f"{line}\n" for (line,) in rows), encoding="utf-8")

    import_file(MemoryRepository(target), None, file, check_compliance=False)

    assert everything(target) == everything(source)


def test_both_repositories_move_memories_in_a_callers_transaction(
    source: Engine, transaction: Transaction
) -> None:
    """The asynchronous repository, which awaits what it calls, and a caller's transaction."""
    lines: list[str] = []
    repo = MemoryRepository(source)
    number = repo.transfer.export(
        lines.extend, agent_id=["bob", "ada"], batch_size=7, filter=NOTES, include_inactive=True
    )
    read = [json.loads(line) for line in lines]

    assert number == len(read) > 7
    assert {one["agent_id"] for one in read} == {"ada", "bob"}
    assert all("note" in (one["memory_type"], *one["additional_types"]) for one in read)
    assert {one["status"] for one in read} | {one["events"] for one in read} >= {"active", None}

    def restored(there: MemoryRepository) -> list[str]:
        of_bob = [one for one in read if one["agent_id"] == "bob"]
        there.transfer.restore("bob", of_bob, check_compliance=False)
        found: list[str] = []
        there.transfer.export(found.extend, agent_id="bob")
        return found

    assert transaction(restored, commit=False) == [
        line for line in lines if json.loads(line)["agent_id"] == "bob"
    ]


def test_an_export_shows_one_moment(engine: Engine) -> None:
    repo = MemoryRepository(engine)
    repo.add_many("a", [NewMemory(f"memory {n}", embedding=None) for n in range(10)])
    seen: list[str] = []

    def write(lines: list[str]) -> None:
        seen.extend(lines)
        assert len(seen) <= 20  # each batch would find what the one before it has added
        repo.add("a", NewMemory(f"later {len(seen)}", embedding=None))
        repo.add("b", NewMemory(f"later {len(seen)}", embedding=None))
        repo.delete("a", [UUID(json.loads(line)["id"]) for line in seen])

    assert repo.transfer.export(write, batch_size=3) == 10
    assert sorted(json.loads(line)["content"] for line in seen) == [
        f"memory {n}" for n in range(10)
    ]


def written(file: Path) -> bytes:
    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


KILLED = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import create_engine
from pgrecall import MemoryRepository, export_file
from pgrecall.memories import file_export
from pgrecall.migrate.connecting import database_url

file_export.BATCH_SIZE = 11

def kill(exported):
    if exported > 100:
        os.kill(os.getpid(), signal.SIGKILL)

repo = MemoryRepository(create_engine(database_url(sys.argv[1])))
export_file(repo, Path(sys.argv[2]), on_progress=kill)
"""


@pytest.mark.parametrize("name", ["part.jsonl", "part.jsonl.gz"])
@pytest.mark.parametrize("lost", [0, 1, 300])
def test_an_export_whose_process_was_killed_goes_on_where_it_stopped(
    source: Engine, tmp_path: Path, name: str, lost: int
) -> None:
    repo = MemoryRepository(source)
    whole, file, part = (tmp_path / one for one in ("whole.jsonl", name, f"{name}.part"))
    number = export_file(repo, whole)
    url = source.url.render_as_string(hide_password=False)
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, url, str(file)], capture_output=True, check=False
    )

    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    part.write_bytes(part.read_bytes()[: -lost or None])
    with pytest.raises(InputError, match="interrupted export: resume it"):
        export_file(repo, file)
    assert 0 < export_file(repo, file, resume=True) < number - 80
    assert written(file) == whole.read_bytes()
    assert not part.exists()
    with pytest.raises(InputError, match="exists already"):
        export_file(repo, file)


def test_a_resumed_export_that_was_complete_adds_nothing(source: Engine, tmp_path: Path) -> None:
    repo = MemoryRepository(source)
    whole, file = tmp_path / "whole.jsonl", tmp_path / "file.jsonl"
    export_file(repo, whole, agent_id="bob")
    whole.rename(tmp_path / "file.jsonl.part")

    assert export_file(repo, file, agent_id="bob", resume=True) == 0
    assert file.exists()
    (tmp_path / "other.jsonl.part").write_text('{"content": "no export"}\n')
    with pytest.raises(InputError, match="is not an export that can be resumed"):
        export_file(repo, tmp_path / "other.jsonl", resume=True)
