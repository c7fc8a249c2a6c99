"""NULL where psql may give it and Python may not: nothing is waived by it."""

from __future__ import annotations

import psycopg
import pytest

from pgrecall import MemoryRepository, NewMemory
from tests.integration.support import at


@pytest.mark.parametrize(
    "waiving",
    [
        "supersede('{agent}', '{id}', pgrecall.new_memory('another'), force => NULL)",
        "revive('{agent}', ARRAY['{id}'::uuid], force => NULL)",
    ],
)
def test_null_does_not_force(
    shared_url: str, shared_repo: MemoryRepository, agent: str, waiving: str
) -> None:
    old = shared_repo.add(agent, NewMemory("old", embedding=at(1)))
    shared_repo.supersede(agent, old, NewMemory("new", embedding=at(2)))
    with psycopg.connect(shared_url) as connection, pytest.raises(psycopg.Error) as raised:
        connection.execute(f"SELECT * FROM pgrecall.{waiving.format(agent=agent, id=old)}")
    assert raised.value.sqlstate == "PM005"


@pytest.mark.parametrize(
    "waiving",
    [
        "remember('{agent}', 'bad', compliant => false, check_compliance => NULL)",
        "supersede('{agent}', '{id}', pgrecall.new_memory('bad', compliant => false), "
        "check_compliance => NULL)",
        """update_memory('{agent}', '{id}', '{{"compliant": false}}', check_compliance => NULL)""",
    ],
)
def test_null_does_not_store_what_is_not_compliant(
    shared_url: str, shared_repo: MemoryRepository, agent: str, waiving: str
) -> None:
    known = shared_repo.add(agent, NewMemory("good", embedding=at(1)))
    with psycopg.connect(shared_url) as connection, pytest.raises(psycopg.Error) as raised:
        connection.execute(f"SELECT * FROM pgrecall.{waiving.format(agent=agent, id=known)}")
    assert raised.value.sqlstate == "PM002"
