"""NULL where psql may give it and Python may not: nothing is waived by it."""

from __future__ import annotations

import psycopg
import pytest

from pgrecall import MemoryRepository, NewMemory
from tests.integration.support import at

FORCED, NOT_COMPLIANT = "PM005", "PM002"


@pytest.mark.parametrize(
    ("waiving", "refused"),
    [
        ("supersede('{agent}', '{id}', pgrecall.new_memory('b'), force => NULL)", FORCED),
        ("revive('{agent}', ARRAY['{id}'::uuid], force => NULL)", FORCED),
        ("remember('{agent}', 'b', compliant => false, check_compliance => NULL)", NOT_COMPLIANT),
        (
            "supersede('{agent}', '{new}', pgrecall.new_memory('b', compliant => false), "
            "check_compliance => NULL)",
            NOT_COMPLIANT,
        ),
        (
            """update_memory('{agent}', '{new}', '{{"compliant": false}}', """
            "check_compliance => NULL)",
            NOT_COMPLIANT,
        ),
    ],
)
def test_null_waives_nothing(
    shared_url: str, shared_repo: MemoryRepository, agent: str, waiving: str, refused: str
) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=at(1)))
    new = shared_repo.supersede(agent, old, NewMemory("new", embedding=at(2)))
    call = f"SELECT * FROM pgrecall.{waiving.format(agent=agent, id=old, new=new)}"
    with psycopg.connect(shared_url) as connection, pytest.raises(psycopg.Error) as raised:
        connection.execute(call.encode())
    assert raised.value.sqlstate == refused
