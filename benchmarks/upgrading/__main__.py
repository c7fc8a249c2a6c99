"""`python -m benchmarks.upgrading`: eight clients during and after `migrate up`.

--from COMMIT: with clients of a wheel built from that commit, on a schema that it has made.
--memories N: beside so many memories of another owner.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any
from unittest.mock import patch

import psycopg
from rich.console import Console
from tests.migrations.called_functions import called
from tests.packaging.test_wheel import ROOT, environment

from benchmarks.index.setting import Setting
from benchmarks.loading import copy_rows, vacuum
from benchmarks.server import SETTINGS, log_lines, server
from benchmarks.upgrading import client
from benchmarks.upgrading.editions import edition
from pgrecall import migrate
from pgrecall.migrate import repeatable

CLIENTS = ("psycopg", "psycopg", "sync", "sync", "sync", "async", "async", "async")
DURING, AFTER = 1000, 100
LOGGED_MS = 10
"""Waits for locks that are shorter are not logged."""
WAITED = re.compile(r"acquired (?:AccessShare|RowShare|RowExclusive)Lock on .* after ([\d.]+) ms")
"""A wait for a lock of those that clients take, not `migrate up`."""
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
    parser.add_argument("--memories", type=int, default=0, help="of another owner")
    options = parser.parse_args()
    commit = options.commit
    settings = f"{SETTINGS}\nlog_lock_waits = on\ndeadlock_timeout = '{LOGGED_MS}ms'\n"
    with tempfile.TemporaryDirectory() as folder, built(commit) as python, server(settings) as url:
        subprocess.run([python, "-c", MIGRATE, url], check=True)
        load(url, options.memories)
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


def load(url: str, memories: int) -> None:
    setting = Setting(1.0, 2, 0, datetime.now(UTC), None)
    with psycopg.connect(url) as connection:
        copy_rows(connection, setting.one_agent(memories, dimensions=len(client.VECTOR)))
    vacuum(url, "agent_memories", "memory_usage")


def longest_wait_ms(url: str) -> float:
    """The longest time that a client waited for a lock; 0: none was logged."""
    waits = (WAITED.search(line) for line in log_lines(url))
    return max((float(wait[1]) for wait in waits if wait), default=0.0)


def migrate_under(clients: list[Client], url: str, *, columns: bool) -> list[tuple[float, float]]:
    """One `migrate up` after the other until the clients have made enough calls during them."""
    await_rounds(clients, 8 * len(clients))  # everything is prepared
    files = repeatable.files()
    spans, during = list[tuple[float, float]](), 0
    for number in range(999):
        before = sum(one.rounds for one in clients)
        began = time.monotonic()
        edited = edition(files, number, called(), columns=columns)
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
    console.print(
        f"The longest wait for a lock: {longest_wait_ms(url):.0f} ms (of those of {LOGGED_MS} ms "
        "or more)"
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
