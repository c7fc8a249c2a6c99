"""Databases that other libraries have left: by the library itself, or a dump of what it wrote."""

from __future__ import annotations

import subprocess
from pathlib import Path

import psycopg

ROOT = Path(__file__).parents[2]
PEERS = ROOT / ".venv-peers" / "bin" / "python"
"""Where the libraries are: `make .venv-peers/peers`."""
FOLDER = Path(__file__).parent


def left_by(system: str, url: str) -> None:
    """Writes to an empty database: by the library, where it is installed."""
    if PEERS.exists():
        write(system, url)
        return
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((FOLDER / f"{system}.sql").read_bytes())


def write(system: str, url: str) -> None:
    """Writes by the library."""
    command = [str(PEERS), str(FOLDER / "libraries.py"), system, url.replace("+psycopg", "")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
