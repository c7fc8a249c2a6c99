"""`python -m benchmarks.upgrading`: eight clients during and after `migrate up`.

--from COMMIT: with clients of a wheel built from that commit, on a schema that it has made.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import patch

import psycopg
from rich.console import Console
from tests.migrations.called_functions import committed
from tests.packaging.test_wheel import ROOT, environment

from benchmarks.server import server
from benchmarks.upgrading import client
from benchmarks.upgrading.editions import edition
from pgrecall import migrate
from pgrecall.migrate import repeatable

CLIENTS = ("psycopg", "psycopg", "sync", "sync", "sync", "async", "async", "async")
DURING, AFTER = 1000, 100
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
def built(commit: str | None) -> Iterator[Path]:
    """The interpreter whose pgrecall the clients use."""
    if commit is None:
        yield Path(sys.executable)
        return
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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upgrading", description=__doc__)
    parser.add_argument("--from", dest="commit", help="a commit, such as HEAD~1")
    commit = parser.parse_args().commit
    with tempfile.TemporaryDirectory() as folder, built(commit) as python, server() as url:
        subprocess.run([python, "-c", MIGRATE, url], check=True)
        stop = Path(folder) / "stop"
        made = [Client(python, kind, url, f"{kind} {n}", stop) for n, kind in enumerate(CLIENTS)]
        try:
            spans = migrate_under(made, url, columns=commit is None)
            fresh = [Client(python, kind, url, f"fresh {kind}", stop) for kind in client.KINDS]
            made += fresh
            later = sum(one.rounds for one in made)
            await_rounds(fresh, AFTER)
            await_rounds(made, later + 2 * AFTER)
        finally:
            stop.touch()
        for one in made:
            one.wait()
        report(made, spans, url)


def migrate_under(clients: list[Client], url: str, *, columns: bool) -> list[tuple[float, float]]:
    """One `migrate up` after the other until the clients have made enough calls during them."""
    await_rounds(clients, 8 * len(clients))  # everything is prepared
    files, called = repeatable.files(), [one.name for one in committed()]
    spans, during = list[tuple[float, float]](), 0
    for number in range(999):
        before = sum(one.rounds for one in clients)
        began = time.monotonic()
        edited = edition(files, number, called, columns=columns)
        with patch.object(repeatable, "files", lambda edited=edited: edited):
            migrate.upgrade(url)
        spans.append((began, time.monotonic()))
        if number % 20 == 0:
            print(
                f"{number + 1} migrations, {during:,} rounds of calls", file=sys.stderr, flush=True
            )
        during += sum(one.rounds for one in clients) - before
        if during > 1.1 * DURING:
            break
    return spans


def report(clients: list[Client], spans: list[tuple[float, float]], url: str) -> None:
    """Prints how many calls failed, and compares ids and counters with what clients were told."""
    during, after, failed, errors = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    longest = 0.0
    for one in clients:
        for call, began, ended, error in one.told["calls"]:
            when = "before"
            if any(began < end and ended > start for start, end in spans):
                when, longest = "during", max(longest, ended - began)
                during[call] += 1
            elif began > spans[-1][1]:
                when = "after"
                after[call] += 1
            if error:
                failed[when] += 1
                errors[f"{one.agent}, {call}, {when}: {error}"] += 1
    differ = [one.agent for one in clients if not agrees(one, url)]
    console = Console(soft_wrap=True, highlight=False)
    for error, times in errors.most_common(20):
        console.print(f"  {times} times: {error}", markup=False)
    total = sum(len(one.told["ids"]) for one in clients)
    console.print(
        f"{len(clients)} clients, {len(spans)} migrations of {sum(e - b for b, e in spans):.0f} s "
        f"together. Of {len(client.CALLS)} kinds of calls at least {min(during.values()):,} each "
        f"during ({sum(during.values()):,} in all, {failed['during']} failed, longest "
        f"{longest:.2f} s), and {min(after.values()):,} after ({sum(after.values()):,} in all, "
        f"{failed['after']} failed); {failed['before']} failed before. Ids ({total:,}) and "
        f"counters differ for {len(differ)} clients{': ' * bool(differ)}{', '.join(differ)}"
    )
    if errors or differ:
        sys.exit(1)


def agrees(one: Client, url: str) -> bool:
    """Whether the database has what a client was told of."""
    with psycopg.connect(url) as connection:
        stored = connection.execute(client.STORED.encode(), [one.agent]).fetchall()
    return client.as_told(one.told, stored)


if __name__ == "__main__":
    main()
