"""Whether pgrecall can be installed and imported beside others, each in its newest version.

    python -m tests.beside [name …]

For each peer, in a virtual environment that is deleted afterwards: pip finds the newest version of
the peer alone, then installs that very version together with `pgrecall[local]` of this checkout,
and both are imported. What others release changes from day to day: this is no part of `make test`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Peer:
    packages: tuple[str, ...]
    modules: tuple[str, ...]
    """Imported in an environment that holds them; none: only resolved, as it takes gigabytes."""


PEERS = {
    "langgraph": Peer(("langgraph",), ("langgraph.graph",)),
    "langchain": Peer(("langchain",), ("langchain.agents",)),
    "crewai": Peer(("crewai",), ("crewai",)),
    "llama-index": Peer(
        ("llama-index-core", "llama-index-vector-stores-postgres"),
        ("llama_index.core", "llama_index.vector_stores.postgres"),
    ),
    "mem0ai": Peer(("mem0ai",), ("mem0",)),
    "fastapi-users": Peer(
        ("fastapi", "fastapi-users-db-sqlalchemy"), ("fastapi", "fastapi_users_db_sqlalchemy")
    ),
    "apache-airflow": Peer(("apache-airflow",), ("airflow",)),
    "open-webui": Peer(("open-webui",), ()),
}

OURS = """
from sqlalchemy import create_engine
from pgrecall import MemoryRepository, migrate
assert "CREATE TABLE" in migrate.sql()
MemoryRepository(create_engine("postgresql+psycopg://"))
"""


class Failed(Exception):
    """What a command said before it failed."""


def run(*command: str | Path, folder: str, **environment: str) -> str:
    done = subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise Failed("\n".join((done.stderr or done.stdout).splitlines()[-12:]))
    return done.stdout


def chosen(python: Path, *requirements: str, folder: str) -> dict[str, str]:
    """The versions that pip would install, by name."""
    options = ("--dry-run", "--ignore-installed", "--quiet", "--report", "-")
    report: dict[str, Any] = json.loads(
        run(python, "-m", "pip", "install", *options, *requirements, folder=folder)
    )
    found = (one["metadata"] for one in report["install"])
    return {one["name"].lower().replace("_", "-"): one["version"] for one in found}


def together(name: str, peer: Peer, ours: str) -> str:
    with tempfile.TemporaryDirectory(prefix=f"beside-{name}-") as folder:
        venv.create(Path(folder) / "venv", with_pip=True)
        python = Path(folder) / "venv" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--upgrade", "pip", folder=folder)
        newest = chosen(python, *peer.packages, folder=folder)
        pinned = [f"{package}=={newest[package]}" for package in peer.packages]
        if peer.modules:
            run(python, "-m", "pip", "install", "--quiet", ours, *pinned, folder=folder)
            run(python, "-m", "pip", "check", folder=folder)
            for module in peer.modules:
                run(python, "-c", f"import {module}\n{OURS}", folder=folder, HOME=folder)
        else:
            chosen(python, ours, *pinned, folder=folder)
        return ", ".join(pinned) + ("" if peer.modules else " (resolved, not installed)")


def main(*names: str) -> int:
    failed = 0
    with tempfile.TemporaryDirectory(prefix="beside-") as folder:
        pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps")
        run(*pip, "--wheel-dir", folder, ROOT, folder=folder)
        [wheel] = Path(folder).glob("*.whl")
        for name in names or PEERS:
            start = time.monotonic()
            try:
                said = f"ok      {together(name, PEERS[name], f'{wheel}[local]')}"
            except Failed as problem:
                said, failed = f"FAILED  {problem}", failed + 1
            print(f"{name:15} {time.monotonic() - start:5.0f} s  {said}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
