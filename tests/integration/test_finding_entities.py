"""Entities of memories that come without any: found by a function, or by the built-in one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from pgrecall import AsyncMemoryRepository, MemoryRepository
from pgrecall.core.entity_finding import capitalised_names
from pgrecall.errors import InputError
from tests.integration.owner import north
from tests.integration.support import read


def last_words(text: str) -> Iterable[str]:
    yield from text.split()[-2:]


def test_a_function_finds_the_entities_of_memories_without_any(
    shared_engine: Engine, agent: str
) -> None:
    repo = MemoryRepository(shared_engine, entities=last_words)
    ids = [
        repo.add(agent, north("Ines met Ole")),
        *repo.add_many(agent, [north("a b c"), north("d e f", entities=["own"]), north("x x")]),
        repo.upsert(agent, north("g h i", key="k")),
    ]
    ids.append(repo.supersede(agent, ids[0], north("j k l")))

    found = [read(repo, agent, memory_id).entities for memory_id in ids]
    assert found == [["met", "Ole"], ["b", "c"], ["own"], ["x"], ["h", "i"], ["k", "l"]]


def test_the_asynchronous_repository_awaits_it(async_engine: AsyncEngine, agent: str) -> None:
    async def finder(text: str) -> list[str]:
        await asyncio.sleep(0)
        return text.split()[:1]

    async def stored(entities: Any) -> list[str]:
        repo = AsyncMemoryRepository(async_engine, entities=entities)
        memory = await repo.get(agent, await repo.add(agent, north(f"Ines {entities}")))
        assert memory is not None
        return memory.entities

    async def all_stored() -> list[list[str]]:
        return [await stored(one) for one in (finder, lambda text: ["Ole"], "auto", None)]

    assert asyncio.run(all_stored()) == [["Ines"], ["Ole"], ["Ines"], []]


def test_the_built_in_one_finds_known_entities_and_names(shared_engine: Engine, agent: str) -> None:
    repo = MemoryRepository(shared_engine, entities="auto")
    repo.add(agent, north("x", entities=["oat milk", "Ines Castro"]))
    repo.add(f"{agent} other", north("x", entities=["tea"]))

    one = repo.add(agent, north("ines castro put Oat Milk into her tea at Quaybook."))
    two, three = repo.add_many(agent, [north("nothing at all"), north("Ole likes oat milk")])

    assert set(read(repo, agent, one).entities) == {"Ines Castro", "oat milk", "Quaybook"}
    assert read(repo, agent, two).entities == []
    assert set(read(repo, agent, three).entities) == {"Ole", "oat milk"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ines met Ole Lund in New York.", ["Ines", "Ole Lund", "New York"]),
        ("The parcel of Ines's aunt is at Quay-Book, Porto", ["Ines", "Quay-Book", "Porto"]),
        ("In May, they saw Élodie O'Neil. She's well", ["May", "Élodie O'Neil"]),
        ("INES ines Ines", ["INES"]),
        ("nothing, 42 and _Under", []),
        ("", []),
    ],
)
def test_names_are_runs_of_capitalised_words(text: str, names: list[str]) -> None:
    assert capitalised_names(text) == names


def test_what_is_no_finder_or_no_list_of_names_is_refused(
    shared_engine: Engine, agent: str
) -> None:
    several: tuple[Any, ...] = ("Ines", [3], [""], None, 7, ["a\x00"])
    for names in several:

        def find(_: str, names: Any = names) -> Any:
            return names

        repo = MemoryRepository(shared_engine, entities=find)
        with pytest.raises(InputError, match="entities= must return"):
            repo.add(agent, north("a"))
    assert MemoryRepository(shared_engine).count(agent) == 0

    async def finder(text: str) -> list[str]:
        return [text]

    with pytest.raises(InputError, match="entities must be a function"):
        MemoryRepository(shared_engine, entities="automatic")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs the AsyncMemoryRepository"):
        MemoryRepository(shared_engine, entities=finder).add(agent, north("a"))
