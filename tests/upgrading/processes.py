"""Processes of clients, with the pgrecall of a release."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg

from tests.packaging.test_wheel import ROOT, environment
from tests.upgrading import client

MIGRATE = "import sys; from pgrecall import migrate; migrate.upgrade(sys.argv[1], dimensions=3)"


class Client:
    """A client's process, and what it has printed."""

    def __init__(self, python: Path, kind: str, url: str, agent: str, stop: Path) -> None:
        command = [python, client.__file__, kind, url, agent, stop]
        self.process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, encoding="utf-8"
        )
        self.agent, self.rounds, self.told = agent, 0, dict[str, Any]()
        self._reader = Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                if line.startswith("{"):
                    self.told = json.loads(line)
                self.rounds += 1

    def wait(self) -> None:
        self._reader.join()
        assert self.process.wait() == 0, f"{self.agent} has ended with an error"


@contextmanager
def built(commit: str) -> Iterator[Path]:
    """The interpreter of an environment with a wheel of this commit."""
    with tempfile.TemporaryDirectory(prefix="pgrecall-release-") as name:
        folder = Path(name)
        tree = folder / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            build = [sys.executable, "-m", "build", "--no-isolation", "--wheel"]
            subprocess.run([*build, "-o", name, str(tree)], check=True, stdout=subprocess.DEVNULL)
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)
        [wheel] = folder.glob("*.whl")
        yield environment(wheel, folder, "binary")


def await_rounds(clients: list[Client], rounds: int) -> None:
    """Until all have made so many rounds together."""
    while sum(one.rounds for one in clients) < rounds:
        for one in clients:
            assert one.process.poll() is None, f"{one.agent} has ended"
        time.sleep(0.2)


def agrees(one: Client, url: str) -> bool:
    """Whether the database has what a client was told of."""
    with psycopg.connect(url) as connection:
        stored = connection.execute(client.STORED.encode(), [one.agent]).fetchall()
    return client.as_told(one.told, stored)
