"""Ids by their first digits, and by keys."""

from __future__ import annotations

import random
from collections.abc import Callable
from uuid import UUID

import pytest

from pgrecall import MemoryRepository, NewMemory
from pgrecall.cli.memory_ids import resolve, short_ids
from pgrecall.errors import InputError, MemoryNotFound

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

    short = short_ids(shared_repo, agent, ids)

    lengths = {len(digits.replace("-", "")) for digits in short.values()}
    assert {8, 32} < lengths
    assert short.keys() == set(ids)
    for number, (id_, digits) in enumerate(short.items()):
        assert [other for other in ids if str(other).startswith(digits)] == [id_]
        fewer = digits[:-1].rstrip("-")
        others = [other for other in ids if str(other).startswith(fewer)]
        assert len(others) > 1 or len(digits) == 8
        if number % 10 == 0:
            spelled = SPELLINGS[number // 10 % len(SPELLINGS)]
            assert resolve(shared_repo, agent, spelled(digits)) == id_
            if len(others) > 1:
                with pytest.raises(InputError, match=str(others[0])):
                    resolve(shared_repo, agent, spelled(fewer))
    with pytest.raises(InputError) as raised:
        resolve(shared_repo, agent, "0000")
    assert str(raised.value).startswith(f"several ids begin with '0000': {LOWEST}, {UUID(int=1)}, ")


def test_a_key_precedes_the_digits_of_an_id(shared_repo: MemoryRepository, agent: str) -> None:
    repo, team = shared_repo, f"{agent} team"
    ids = repo.add_many(
        agent,
        [
            NewMemory("of digits", id=UUID("abcd0000" + "1" * 24), embedding=None),
            NewMemory("of a key", key="abcd", embedding=None),
        ],
    )
    of_team = repo.teams.add(team, NewMemory("a", id=UUID("eeee" + "1" * 28), embedding=None))
    keyed = repo.teams.add(team, NewMemory("b", key="k", embedding=None))

    assert [resolve(repo, agent, text) for text in ("abcd0", "abcd")] == ids
    assert [resolve(repo, agent, text, [team]) for text in ("eeee", "k")] == [of_team, keyed]
    assert resolve(repo, agent, str(LOWEST)) == LOWEST
    for text in ("eeee", "k", "abc", "abcdefg"):
        with pytest.raises(MemoryNotFound, match=f"'{text}'"):
            resolve(repo, agent, text)
