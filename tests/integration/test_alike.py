"""Adding memories that are alike reads no more rows for each the more there are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine, text

from pgrecall import NewMemory
from tests.integration.owner import Owner

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

FEW, MANY = 200, 800
READ = """
SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables
 WHERE schemaname = 'pgrecall' AND relname = 'agent_memories'
"""


@pytest.mark.parametrize("kind", ALIKE)
def test_a_batch_of_memories_that_are_alike_reads_few_rows_for_each(
    mine: Owner, shared_engine: Engine, kind: str
) -> None:
    """New, and added again. Where each read those before it, four times as many would read 16 times
    as much."""

    def rows_read(owner: str, number: int) -> list[int]:
        read = []
        for _ in ("new", "again"):
            with shared_engine.begin() as connection:
                before = connection.execute(text(READ)).scalar_one()
                memories = [ALIKE[kind](n) for n in range(number)]
                mine.within(connection).repo.add_many(f"{mine.name} {owner}", memories)
                read.append(int(connection.execute(text(READ)).scalar_one() - before))
        return read

    few, many = rows_read("few", FEW), rows_read("many", MANY)

    assert [b < 6 * a + MANY for a, b in zip(few, many, strict=True)] == [True, True], (few, many)
