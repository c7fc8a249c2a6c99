"""Ids by their first digits."""

from __future__ import annotations

import random
from collections.abc import Callable
from uuid import UUID

from pgrecall import MemoryRepository, NewMemory

LOWEST, HIGHEST = UUID(int=0), UUID(int=2**128 - 1)
SPELLINGS: tuple[Callable[[str], str], ...] = (str, str.upper, lambda text: text.replace("-", ""))


def crowded(seed: int) -> list[UUID]:
    """Ids of which many begin alike, for any number of digits."""
    rng = random.Random(seed)
    ids = {LOWEST, UUID(int=1), HIGHEST, UUID(int=HIGHEST.int - 1)}
    while len(ids) < 300:
        whole = rng.choice(sorted(ids)).int if rng.random() < 0.8 else rng.getrandbits(128)
        ids.add(UUID(int=whole ^ rng.getrandbits(rng.randint(1, 128))))
    return sorted(ids)


def test_short_ids_are_the_shortest_beginnings_that_one_memory_has(
    shared_repo: MemoryRepository, agent: str
) -> None:
    ids = crowded(7)
    shared_repo.add_many(agent, [NewMemory(str(id_), id=id_, embedding=None) for id_ in ids])
    shared_repo.add(f"{agent} another", NewMemory("another", id=UUID(int=2), embedding=None))

    short = shared_repo.ids.shorten(agent, ids)

    lengths = {len(digits.replace("-", "")) for digits in short.values()}
    assert {8, 32} < lengths
    assert short.keys() == set(ids)
    for id_, digits in short.items():
        assert str(id_).startswith(digits)
        assert [other for other in ids if str(other).startswith(digits)] == [id_]
        fewer = digits[:-1].rstrip("-")
        others = [other for other in ids if str(other).startswith(fewer)]
        assert len(others) > 1 or len(digits) == 8

    for number, id_ in enumerate(ids[::10]):
        for length in (4, 8, 15, 36):
            asked = str(id_)[:length]
            expected = [other for other in ids if str(other).startswith(asked)]
            spelled = SPELLINGS[number % len(SPELLINGS)](asked)
            assert shared_repo.ids.find(agent, spelled, limit=1_000) == expected
    assert shared_repo.ids.find(agent, "0000", limit=2) == [LOWEST, UUID(int=1)]
