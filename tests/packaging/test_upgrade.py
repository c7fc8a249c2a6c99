"""A database of the newest release before this commit, upgraded while its clients run.

The wheel is built from the tag of that release; until there is one, from this checkout.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pgrecall import migrate
from tests.packaging import test_wheel
from tests.upgrading import client
from tests.upgrading.processes import MIGRATE, Client, agrees, await_rounds, built

ROOT = Path(__file__).parents[2]
STORE = """
import sys
from pgrecall import MemoryRepository, NewMemory
from sqlalchemy import create_engine

repo = MemoryRepository(create_engine(sys.argv[1]))
for n in range(40):
    text = f"note {n} on {('tea', 'trains', 'cats')[n % 3]}"
    vector = [1.0, n / 40, (n % 7) / 7]
    new = NewMemory(text, embedding=vector, importance=n % 5 / 5, trust=n % 4 / 4, tags=[text[-4:]])
    id = repo.add("kept", new)
    if n % 6 == 0:
        repo.touch("kept", id)
    if n % 9 == 0:
        repo.feedback("kept", id, "useful")
"""
FIND = """
import json, sys
from datetime import datetime
from pgrecall import MemoryRepository
from sqlalchemy import create_engine

repo = MemoryRepository(create_engine(sys.argv[1]))
for profile in sys.argv[3:]:
    moment = datetime.fromisoformat(sys.argv[2])
    hits = repo.search("kept", [1.0, 0.5, 0.2], keywords="tea or trains?", profile=profile, k=20,
                       as_of=moment, touch=False)
    print(json.dumps([profile, [[str(hit.memory.id), hit.score] for hit in hits]]))
"""
PROFILES = ("five_factor", "half_life", "hybrid", "last_access", "tiered", "trust")


def newest_release() -> str:
    """The tag of the newest release before this commit; "": there is none."""
    listed = ("tag", "--list", "v*", "--merged", "HEAD", "--no-contains", "HEAD")
    command = ["git", "-C", str(ROOT), *listed, "--sort=-version:refname"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    return (done.stdout.split() or [""])[0]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The interpreter of an environment with the wheel of that release."""
    if tag := newest_release():
        with built(tag) as python:
            yield python
    else:
        folder = tmp_path_factory.mktemp("release")
        yield test_wheel.environment(test_wheel.built(folder), folder, "binary")


def printed(python: Path | str, program: str, *arguments: str) -> list[str]:
    command = [str(python), "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_clients_of_a_release_go_on_and_find_the_same(
    released: Path, empty_url: str, tmp_path: Path
) -> None:
    stop = tmp_path / "stop"
    of_sqlalchemy = empty_url.replace("postgresql:", "postgresql+psycopg:", 1)
    printed(released, MIGRATE, empty_url)
    printed(released, STORE, of_sqlalchemy)
    wanted = (of_sqlalchemy, datetime.now(UTC).isoformat(), *PROFILES)
    before = printed(released, FIND, *wanted)
    clients = [Client(released, kind, empty_url, f"{kind} client", stop) for kind in client.KINDS]
    try:
        await_rounds(clients, 8 * len(clients))  # every statement is prepared
        status = migrate.upgrade(empty_url)
        await_rounds(clients, sum(one.rounds for one in clients) + 8 * len(clients))
    finally:
        stop.touch()
    for one in clients:
        one.wait()
    after = printed(released, FIND, *wanted)
    now = printed(sys.executable, FIND, *wanted)
    told = [agrees(one, empty_url) for one in clients]

    calls = [call for one in clients for call in one.told["calls"]]
    assert status.pending == []
    assert [f"{call}: {error}" for call, _, _, error in calls if error] == []
    assert {call for call, *_ in calls} == set(client.CALLS)
    assert told == [True] * len(clients), "ids and counters are those that clients were told"
    assert len(before) == len(PROFILES)
    assert after == before
    assert now == before
