"""Adding memories that are alike reads no more rows for each the more there are."""

from __future__ import annotations

import pytest
from benchmarks.life.alike import ALIKE
from sqlalchemy import Engine, text

from tests.integration.owner import Owner

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
