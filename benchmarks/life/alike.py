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
    "of one subject": lambda n: NewMemory(
        f"memory {n} of a subject", embedding=None, subject="Ines"
    ),
    "of one session": lambda n: NewMemory(
        f"memory {n} of a session", embedding=None, session="Monday"
    ),
    "turns of one session": lambda n: NewMemory(
        f"turn {n} of a session", embedding=None, session="Tuesday", turn=n
    ),
    "of one key prefix": lambda n: NewMemory(
        f"memory {n} with a key", embedding=None, key=f"notes/2026/{n:09}"
    ),
    "of one text and different types": lambda n: NewMemory(
        "the same text", embedding=None, memory_type=f"type {n}"
    ),
    "of one text and different keys": lambda n: NewMemory(
        "the same text", embedding=None, key=f"text {n}"
    ),
    "of one text, turns of one session": lambda n: NewMemory(
        "the same text", embedding=None, session="Friday", turn=n
    ),
    "of one text in different sessions": lambda n: NewMemory(
        "the same text", embedding=None, session=f"day {n}"
    ),
    "of one text, the same": lambda n: NewMemory("the same text", embedding=None),
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
            for took in (seconds, again):
                start = time.perf_counter()
                repo.add_many(f"{name} {number}", memories)
                took[name] = min(took[name], time.perf_counter() - start)
            progress.advance(task)
    progress.remove_task(task)
    engine.dispose()
    plain = seconds.pop("nothing")
    plain_again = again.pop("nothing")
    return [
        Measurement("with nothing in common", plain, "s"),
        *(Measurement(name, took / plain, "×", GOAL) for name, took in seconds.items()),
        Measurement("the same batch again", plain_again, "s"),
        *(Measurement(f"  {name}", took / plain_again, "×", GOAL) for name, took in again.items()),
    ]
