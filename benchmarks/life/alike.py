"""Memories that are alike: what a batch of one subject, session, prefix or text costs."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.progress import Progress
from sqlalchemy import create_engine

from benchmarks.measurement import Measurement
from pgrecall import MemoryRepository, NewMemory, migrate
from pgrecall.migrate.connecting import database_url

GOAL = 2.0
"""How many times as long as memories that share nothing."""
ROUNDS = 3


def _plain(n: int) -> NewMemory:
    return NewMemory(f"memory {n} of the harbour", embedding=None)


ALIKE: dict[str, Callable[[int], NewMemory]] = {
    "subject": lambda n: NewMemory(f"memory {n} of a subject", embedding=None, subject="Ines"),
    "session": lambda n: NewMemory(f"memory {n} of a session", embedding=None, session="Monday"),
    "turns of a session": lambda n: NewMemory(
        f"turn {n} of a session", embedding=None, session="Tuesday", turn=n
    ),
    "key prefix": lambda n: NewMemory(
        f"memory {n} with a key", embedding=None, key=f"notes/2026/{n:09}"
    ),
    "text, of different types": lambda n: NewMemory(
        "the same text", embedding=None, memory_type=f"type {n}"
    ),
    "text, with different keys": lambda n: NewMemory(
        "the same text", embedding=None, key=f"text {n}"
    ),
    "text, in turns of a session": lambda n: NewMemory(
        "the same text", embedding=None, session="Friday", turn=n
    ),
    "text, in different sessions": lambda n: NewMemory(
        "the same text", embedding=None, session=f"day {n}"
    ),
    "text, again and again": lambda n: NewMemory("the same text", embedding=None),
}


def alike(url: str, rows: int, progress: Progress) -> list[Measurement]:
    """Each kind is one batch of an owner of its own; the fastest of several rounds counts."""
    migrate.upgrade(url)
    engine = create_engine(database_url(url))
    repo = MemoryRepository(engine)
    repo.add_many("warm", [_plain(n) for n in range(rows)])
    task = progress.add_task("adding", total=ROUNDS * (len(ALIKE) + 1))
    kinds = {"nothing": _plain, **ALIKE}
    seconds = dict.fromkeys(kinds, float("inf"))
    again = dict.fromkeys(kinds, float("inf"))
    for number in range(ROUNDS):
        for name, make in kinds.items():
            memories = [make(n) for n in range(rows)]
            for kind, took in ((name, seconds), (name, again)):
                start = time.perf_counter()
                repo.add_many(f"{name} {number}", memories)
                took[kind] = min(took[kind], time.perf_counter() - start)
            progress.advance(task)
    progress.remove_task(task)
    engine.dispose()
    plain = seconds.pop("nothing")
    plain_again = again.pop("nothing")
    return [
        Measurement("with nothing in common", plain, "s"),
        *(Measurement(f"one {name}", took / plain, "x", GOAL) for name, took in seconds.items()),
        Measurement("the same batch again", plain_again, "s"),
        *(Measurement(f"one {n}", took / plain_again, "x", GOAL) for n, took in again.items()),
    ]
