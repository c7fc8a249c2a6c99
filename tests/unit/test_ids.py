"""Ids sort in the order they were made in, and no two are the same."""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from uuid import RFC_4122, UUID

import pytest

from pgrecall.core import ids
from pgrecall.core.ids import new_id

MANY = 5_000

FORKING = """
import os, threading
from pgrecall.core.ids import new_id

def busy():
    while True:
        new_id()

threading.Thread(target=busy, daemon=True).start()
for _ in range(20):
    if (child := os.fork()) == 0:
        os.write(1, f"{new_id()}\\n".encode())
        os._exit(0)
    os.waitpid(child, 0)
"""


def milliseconds(made: UUID) -> int:
    return made.int >> 80


def test_an_id_is_of_version_7_and_begins_with_the_time() -> None:
    before = time.time_ns() // 1_000_000
    made = new_id()
    after = time.time_ns() // 1_000_000

    assert (made.version, made.variant) == (7, RFC_4122)
    # Whatever was made before in a burst may be a few 4096ths of a millisecond ahead.
    assert before <= milliseconds(made) <= after + 10


def test_ids_of_several_threads_differ_and_each_sorts_after_those_before() -> None:
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda _: [new_id() for _ in range(MANY)], range(4)))

    for one in made:
        assert one == sorted(one)
    assert len({an_id for one in made for an_id in one}) == 4 * MANY


@pytest.mark.parametrize("step", [0, -1, -3_600_000_000_000], ids=["stands", "falls", "set back"])
def test_ids_stay_in_order_whatever_the_clock_does(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = time.time_ns()
    clock = iter(range(begun, begun + step * 5_000 - 1, step) if step else [begun] * 5_000)
    monkeypatch.setattr(ids, "time", SimpleNamespace(time_ns=lambda: next(clock)))

    made = [new_id() for _ in range(5_000)]

    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert {one.version for one in made} == {7}


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_a_child_forked_while_an_id_is_made_makes_ids_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )

    assert len(set(done.stdout.split())) == 20
