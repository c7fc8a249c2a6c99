"""What the migrations build, as pg_dump tells it: `migrations/schema.sql`.

Committed so that every change of the schema shows in review. Written anew by
`python -m tests.migrations.schema_dump`.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from pgrecall import embedded, migrate

COMMITTED = Path(__file__).parents[2] / "migrations" / "schema.sql"
_VOLATILE = re.compile(r"\\(un)?restrict |-- Dumped (from|by) ")


def dump(url: str, schema: str = "pgrecall") -> str:
    """The schema of this database as SQL, without what differs from one run to the next."""
    command: list[str | Path] = [
        embedded.binaries() / "pg_dump",
        *("--schema-only", "--no-owner", "--no-privileges", f"--schema={schema}", url),
    ]
    done = subprocess.run(
        command,
        env=os.environ | {"PGTZ": "UTC", "PGCLIENTENCODING": "UTF8"},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not _VOLATILE.match(line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def main() -> None:
    with embedded.database() as url:
        migrate.upgrade(url)
        COMMITTED.write_text(dump(url), encoding="utf-8")


if __name__ == "__main__":
    main()
