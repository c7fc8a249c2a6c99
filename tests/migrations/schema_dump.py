"""What the revisions build, as pg_dump tells it: `migrations/schema.sql`.

Without functions and views: they stand in `sql/`.
Committed so that every change of the schema shows in review. Written anew by
`python -m tests.migrations.schema_dump`.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from pgrecall import embedded, migrate

COMMITTED = Path(__file__).parents[2] / "migrations" / "schema.sql"
_REPEATABLE = re.compile(r"^\d+; \d+ \d+ (COMMENT \S+ )?(FUNCTION|PROCEDURE|VIEW) ")
_VOLATILE = re.compile(r"\\(un)?restrict |-- Dumped (from|by) ")
_COLUMN_VERSION = re.compile(r"pg_attver=\d+(, )?")
"""An option of every column on some servers (Debian's PostgreSQL 17.12), new with each change."""


def dump(url: str, schema: str = "pgrecall", *, repeatable: bool = True) -> str:
    """The schema of this database as SQL, without what differs from one run to the next.

    Without functions and views, where it is not to have what is `repeatable`.
    """
    with TemporaryDirectory() as folder:
        archive, contents = Path(folder) / "archive", Path(folder) / "contents"
        _run(
            "pg_dump",
            "--schema-only",
            "--format=custom",
            f"--file={archive}",
            url,
            *("--no-owner", "--no-privileges", f"--schema={schema}"),
        )
        listed = _run("pg_restore", "--list", archive).splitlines()
        views = {line.split()[5] for line in listed if " VIEW " in line}
        kept = [
            line
            for line in listed
            if repeatable
            or (
                not _REPEATABLE.match(line)
                and not (" COLUMN " in line and line.split()[6].split(".")[0] in views)
            )
        ]
        contents.write_text("\n".join(kept), encoding="utf-8")
        restored = _run(
            "pg_restore",
            "--no-owner",
            "--no-privileges",
            f"--use-list={contents}",
            "--file=-",
            archive,
        )
    lines = [
        _COLUMN_VERSION.sub("", line) for line in restored.splitlines() if not _VOLATILE.match(line)
    ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def _run(program: str, *arguments: str | Path) -> str:
    done = subprocess.run(
        [embedded.binaries() / program, *arguments],
        env=os.environ | {"PGTZ": "UTC", "PGCLIENTENCODING": "UTF8"},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def main() -> None:
    with embedded.database() as url:
        migrate.upgrade(url)
        COMMITTED.write_text(dump(url, repeatable=False), encoding="utf-8")


if __name__ == "__main__":
    main()
