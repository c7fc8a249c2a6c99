"""Dumps, recovery to a moment, and pg_upgrade, each with a rank index."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Engine, NullPool, create_engine, make_url

from pgrecall import MemoryRepository, embedded, migrate
from pgrecall.migrate.connecting import database_url
from pgrecall.testing import hurry, new_database
from tests.integration.owner import north
from tests.integration.support import at
from tests.migrations.asking import rows, run, value

MANY = 400
DIMENSIONS = len(at(0))
OWNER, COLLATED = "restorer", "pgrecall_collated"
_USER = "pgserver"
"""Who runs PostgreSQL where the tests run as root."""


def engine_of(url: str) -> Engine:
    """One whose connections end with their use."""
    return create_engine(database_url(url), poolclass=NullPool)


def filled(url: str) -> MemoryRepository:
    """An owner with a rank index, and a key, in a schema that is made here."""
    migrate.upgrade(url, dimensions=DIMENSIONS)
    repo = MemoryRepository(engine_of(url))
    new = [north(f"number {n}", embedding=at(n % 90), importance=n / MANY) for n in range(MANY)]
    repo.add_many("zoe", new)
    repo.rank_indexes.build(agent_id="zoe", at_least=1)
    return repo


def ranked(url: str, strategy: str = "index") -> tuple[str, list[UUID]]:
    engine = engine_of(url)
    found = MemoryRepository(engine).search(
        "zoe",
        at(30),
        k=10,
        profile="five_factor",
        strategy=strategy,  # type: ignore[arg-type]
        touch=False,
    )
    return found.strategy, [hit.memory.id for hit in found]


def with_words(url: str) -> list[Any]:
    found = rows(url, "SELECT id, tsvector_to_array(terms) FROM pgrecall.agent_memories ORDER BY 1")
    asked = (
        "SELECT id FROM pgrecall.recall('zoe', NULL, 'number 7 or 3', profile => 'hybrid', k => 2)"
    )
    return [*found, *rows(url, asked)]


def problems(url: str) -> dict[str, str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT problem, why FROM pgrecall.health(1)").fetchall()
    return {problem: why for problem, why in rows if problem not in ("statistics", "maintenance")}


def program(name: str, *arguments: Any, version: int = 18, **how: Any) -> str:
    """What a program of PostgreSQL prints; as the user who may run it."""
    done = subprocess.run(
        [embedded.binaries(version) / name, *arguments],
        capture_output=True,
        text=True,
        check=False,
        user=_user(),
        **how,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return f"{done.stdout}{done.stderr}"


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that PostgreSQL's user may enter, whatever other runs of pytest do."""
    with tempfile.TemporaryDirectory(prefix="pgrecall-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def folder(path: Path) -> Path:
    """A new folder of the user who runs PostgreSQL."""
    path.mkdir(mode=0o700)
    if user := _user():
        shutil.chown(path, user)
    return path


def _user() -> str | None:
    return _USER if os.name == "posix" and os.geteuid() == 0 else None


@contextmanager
def role(url: str) -> Iterator[None]:
    """A role that is no superuser."""
    run(url, f"DROP ROLE IF EXISTS {OWNER}", f"CREATE ROLE {OWNER} LOGIN")
    try:
        yield
    finally:
        run(url, f"DROP ROLE {OWNER}")


@pytest.mark.parametrize("left_out", [(), ("--exclude-table=pgrecall.ranks_*",)])
def test_a_dump_is_restored_by_who_is_no_superuser(
    server_url: str, left_out: tuple[str, ...]
) -> None:
    """On a managed server somebody else has installed pgvector before."""
    with new_database(server_url) as url:
        filled(url)
        before = ranked(url)
        dump = program("pg_dump", "--schema=pgrecall", "--no-owner", *left_out, url)
        with role(url), new_database(server_url) as other:
            name = make_url(other).database
            assert name is not None
            run(other, "CREATE EXTENSION vector")
            with psycopg.connect(other, autocommit=True) as connection:
                grant = sql.SQL("GRANT CREATE ON DATABASE {} TO {}")
                connection.execute(grant.format(sql.Identifier(name), sql.Identifier(OWNER)))
            restored = make_url(other).set(username=OWNER).render_as_string(hide_password=False)
            program("psql", "--quiet", "-v", "ON_ERROR_STOP=1", restored, input=dump)
            assert migrate.status(other).pending == []
            if left_out:
                assert "positions are missing" in problems(other)["rank index"]
                assert ranked(other) == ("exact", before[1])
                engine = engine_of(restored)
                assert (
                    MemoryRepository(engine).maintenance.run(at_least=1).tasks["build index"] == 1
                )
            assert ranked(other) == before
            assert with_words(other) == with_words(url) != []
            assert problems(other) == {}
            run(other, f"DROP OWNED BY {OWNER}")


def test_recovery_to_a_moment_brings_the_rank_index_of_that_moment(place: Path) -> None:
    archive = folder(place / "archive")
    with embedded.database(place / "primary") as primary:
        run(
            primary,
            "ALTER SYSTEM SET archive_mode = on",
            f"ALTER SYSTEM SET archive_command = 'cp %p {archive}/%f'",
        )
    with embedded.database(place / "primary") as primary:
        hurry(primary)
        repo = filled(primary)
        copy = folder(place / "copy")
        program("pg_basebackup", "-d", primary, "-D", copy, "-c", "fast")
        repo.add("zoe", north("after the copy", embedding=at(30), importance=1.0))
        repo.maintenance.run(agent_id="zoe", at_least=1)
        before = ranked(primary)
        moment = value(primary, "SELECT clock_timestamp()::text")
        run(primary, "SELECT pg_sleep(0.01)")
        repo.delete("zoe", [memory.id for memory in repo.list("zoe", limit=MANY + 1)])
        run(primary, "SELECT pg_switch_wal()")
    for left in copy.glob(".s.PGSQL.*"):
        left.unlink()
    with (copy / "postgresql.auto.conf").open("a") as file:
        file.write(
            f"restore_command = 'cp {archive}/%f %p'\nrecovery_target_time = '{moment}'\n"
            "recovery_target_action = 'promote'\narchive_mode = off\n"
        )
    (copy / "recovery.signal").touch()
    with embedded.database(copy) as recovered:
        assert ranked(recovered) == before
        assert problems(recovered) == {}


def test_pg_upgrade_from_16_keeps_rank_indexes(place: Path) -> None:
    old, new = place / "old", place / "new"
    with embedded.database(old, postgres_version=16) as url:
        hurry(url)
        filled(url)
        before = ranked(url)
        locale = value(url, "SELECT datcollate FROM pg_database WHERE datname = 'postgres'")
        encoding = value(url, "SHOW server_encoding")
    with embedded.database(new):
        pass
    assert (old / "PG_VERSION").read_text().strip() == "16"
    upgraded = folder(place / "upgraded")
    program(
        *("initdb", "-D", upgraded, "-U", "postgres", "--no-data-checksums"),
        *(f"--locale={locale}", f"--encoding={encoding}"),
    )
    work = folder(place / "work")
    program(
        *("pg_upgrade", "-b", embedded.binaries(16), "-B", embedded.binaries(18)),
        *("-d", old, "-D", upgraded, "-U", "postgres", "-s", work),
        cwd=work,
    )
    for name in ("postgresql.conf", "pg_hba.conf"):
        shutil.copy(new / name, upgraded / name)
    with embedded.database(upgraded) as url:
        assert ranked(url) == before
        assert problems(url) == {}


def test_a_changed_collation_is_told_until_indexes_are_built_again(server_url: str) -> None:
    with new_database(server_url) as beside:
        try:
            run(
                beside,
                f"CREATE DATABASE {COLLATED} TEMPLATE template0 LOCALE_PROVIDER icu "
                "ICU_LOCALE 'en'",
            )
        except psycopg.Error as error:
            pytest.skip(f"this server knows no collation with a version: {error}")
        url = make_url(beside).set(database=COLLATED).render_as_string(hide_password=False)
        try:
            filled(url)
            before = ranked(url)
            run(
                url,
                "UPDATE pg_database SET datcollversion = '1' WHERE datname = current_database()",
            )
            assert "indexes of texts" in problems(url)["collation"]
            [remedy] = rows(url, "SELECT remedy FROM pgrecall.health() WHERE problem = 'collation'")
            run(url, *remedy[0].split("; "))
            assert problems(url) == {}
            assert ranked(url) == before
        finally:
            run(beside, f"DROP DATABASE {COLLATED} WITH (FORCE)")
