"""`python -m tests.left`: writes the dumps anew, by the libraries in .venv-peers."""

from __future__ import annotations

import subprocess

from pgrecall import embedded
from pgrecall.testing import new_database
from tests.left import FOLDER, write

LEFT_OUT = ("--", "\\", "SET ", "SELECT pg_catalog.set_config", "COMMENT ON", "CREATE INDEX")
"""Lines that an older server does not know, or that no import reads."""


def main() -> None:
    for system in ("mem0", "langchain"):
        with embedded.database() as server, new_database(server) as url:
            write(system, url)
            command = str(embedded.binaries() / "pg_dump")
            dump = [command, "--no-owner", "--inserts", url.replace("+psycopg", "")]
            told = subprocess.run(dump, check=True, capture_output=True, encoding="utf-8").stdout
        lines = [line for line in told.splitlines() if line and not line.startswith(LEFT_OUT)]
        (FOLDER / f"{system}.sql").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
