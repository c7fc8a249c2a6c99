"""Adding memories that are alike reads no more rows for each the more there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, text

from tests.integration.owner import Owner, plain

ALIKE: dict[str, Callable[[int], dict[str, Any]]] = {
    "of one subject": lambda n: {"content": f"memory {n} of a subject", "subject": "Ines"},
    "turns of one session": lambda n: {"content": f"turn {n}", "session": "Tuesday", "turn": n},
    "of one text and different types": lambda n: {"content": "same", "memory_type": f"type {n}"},
    "of one text and different keys": lambda n: {"content": "same", "key": f"text {n}"},
    "of one text, the same": lambda n: {"content": "the same text"},
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
                memories = [plain(**ALIKE[kind](n)) for n in range(number)]
                mine.within(connection).repo.add_many(f"{mine.name} {owner}", memories)
                read.append(int(connection.execute(text(READ)).scalar_one() - before))
        return read

    few, many = rows_read("few", FEW), rows_read("many", MANY)

    assert [b < 6 * a + MANY for a, b in zip(few, many, strict=True)] == [True, True], (few, many)
