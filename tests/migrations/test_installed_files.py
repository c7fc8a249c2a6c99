"""SQL files that a migration installs are frozen."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from pgrecall import migrate
from pgrecall.resources import sql_folder

FROZEN = {
    path: digest
    for digest, path in (
        line.split("  ", 1)
        for line in (sql_folder() / "installed.sha256").read_text(encoding="utf-8").splitlines()
    )
}
"""Path relative to sql/ and the SHA-256 of the file; `sha256sum -c` reads it too."""


@pytest.mark.parametrize("path", FROZEN)
def test_an_installed_file_never_changes(path: str) -> None:
    found = sha256((sql_folder() / path).read_bytes()).hexdigest()

    assert found == FROZEN[path], (
        f"sql/{path} has been installed by a migration and is frozen, databases have it as it was: "
        "leave it, write a new file beside it and a new revision that installs that, and add the "
        "new file to sql/installed.sha256"
    )


def test_the_list_names_what_migrations_install(monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[str] = []
    monkeypatch.setattr("pgrecall.migrate.operations.install", installed.append)

    migrate.sql()

    assert installed
    assert sorted(installed) == sorted(FROZEN), (
        "sql/installed.sha256 and the files that migrations install differ: "
        "add the new ones with `cd sql && sha256sum FILE >> installed.sha256`"
    )


def test_every_function_file_is_installed() -> None:
    folder = sql_folder()
    files = {_relative(path, folder) for path in (folder / "functions").rglob("*.sql")}

    assert files
    assert files <= FROZEN.keys(), (
        "files under sql/functions that no migration installs; write a revision that does"
    )


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()
