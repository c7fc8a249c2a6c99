"""Entities: those of owners that a text is about, and those of memories that come without any,
found by a function or by the built-in one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from pgrecall import AsyncMemoryRepository, MemoryRepository, ScoredMemory
from pgrecall.core.entity_finding import capitalised_names
from pgrecall.errors import InputError
from tests.integration.owner import Owner, north
from tests.integration.support import NORTH, read

LARGE = 199_000


class Deaf:
    """Embeds every text as the same direction. Without a name, no schema remembers it."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [NORTH for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return NORTH


@pytest.fixture
def mine(shared_engine: Engine, agent: str) -> Owner:
    return Owner(shared_engine, agent, embedder=Deaf())


def know(owner: Owner, entities: Sequence[str]) -> None:
    """One memory for each, with a text of its own even where two differ in case alone."""
    owner.add_many([north(f"{n}", entities=[name]) for n, name in enumerate(entities)])


def asked(owner: Owner, text: str, teams: Sequence[str] = ()) -> list[ScoredMemory]:
    hits: list[ScoredMemory] = owner.search(text, profile="tiered", k=200, teams=teams, touch=False)
    return hits


def found(owner: Owner, text: str, teams: Sequence[str] = ()) -> set[str]:
    """The entities found in the text, each a memory of its own by `know`.

    Each memory's signal is one share of all names that were found, so none is found but these.
    """
    hits = [hit for hit in asked(owner, text, teams) if hit.signals["entity_overlap"] > 0]
    names = {name for hit in hits for name in hit.memory.entities}
    assert len(names) == len(hits)
    for hit in hits:
        share = 1 / len({name.casefold() for name in names})
        assert hit.signals["entity_overlap"] == pytest.approx(share, abs=1e-12)
    return names


WHOLE_WORDS = {
    "Ann": (*("Ann", "ann", "Was ANN there?", "(Ann)", "Ann's", "Ann-Marie", "Annual Ann"),),
    "Ann, Bob": ("Bob,Ann;",),
    "New York": ("New York", "in new york city", "New  York", "new-york", "New"),
    "": ("Annual", "Joann", "Ann_1", "Ann2", "Annä", "new", "New Orleans", "nobody"),
}
"""Which occur, and in which texts."""
CHARACTERS = (
    ("Sir W.", "Where is Sir W. today?", "Where is Sir Winston?"),
    ("Sir W.", "It was Sir W., I think", "Sir Wx"),
    ("U.S.", "in the U.S. of old", "in the UxSx of old"),
    ("C++ (lib) [x]*", "uses c++ (LIB) [X]* today", "uses C (lib) x"),
    ("C++", "(C++)", "ObjC++ and C++ish"),
    (".NET", "a .NET shop", "a xNET shop"),
    ("\\d", "the class \\d", "the class 5"),
    ("***:x", "see ***:x there", "see x there"),
    ("two\nlines", "Two\nLines!", "two lanes"),
    ("Zoë", "wo ist Zoe?", "wo ist Zo?"),
    ("Москва", "в МОСКВА, да", "в Московских"),
    ("東京", "大東京都", "京都"),
    ("🙂", "so 🙂!", "so :-)"),
    ("Straße 5", "in der straße 5", "in der straße 55"),
    *(
        (hostile, f"Ann {hostile} Ann", "nobody")
        for hostile in (
            *("'; DROP TABLE pgrecall.agent_memories; --", '"double" `back` %s %(name)s %%'),
            *(":name ::text $1 ? $recall$", "{curly} {0} },{", "back\\slash \\n \\\\ \\"),
            *("[x]* (a|b)+ ^$ .*?", "***:.*", "***=a", "(?xi) a", "\\Y \\m \\1 \\w"),
            *("tab\tnew\nline\r\n", "🙂👩\u200d👩\u200d👧 \u202eعربى", "\x01\x1f\x7f\ufeff"),
        )
    ),
)
"""An entity, a text in which it occurs, and one in which it does not."""


def test_an_entity_is_found_as_a_whole_word(mine: Owner) -> None:
    know(mine.other, ["Ann", "ANN", "ann"])
    assert found(mine.other, "aNN") == {"Ann", "ANN", "ann"}
    know(mine, ["Ann", "Bob", "New York"])
    for names, texts in WHOLE_WORDS.items():
        for text in texts:
            assert ", ".join(sorted(found(mine, text))) == names, text


def test_characters_of_an_entity_mean_themselves_in_every_script(mine: Owner) -> None:
    for number, (entity, there, not_there) in enumerate(CHARACTERS):
        owner = Owner(mine.bind, f"{mine.name} {number}", embedder=Deaf())
        know(owner, [entity, "other"])

        assert found(owner, there) == {entity}
        assert found(owner, not_there) == set(), entity


def test_entities_of_teams_are_found_when_the_teams_are_asked(mine: Owner) -> None:
    red, blue = (f"{mine.name}-{color}" for color in ("red", "blue"))
    erin = Owner(mine.bind, red, embedder=Deaf())  # another agent, named like a team
    know(mine, ["Ann"])
    know(erin.team, ["Bob"])
    know(Owner(mine.bind, blue, is_team=True, embedder=Deaf()), ["Carol"])
    know(mine.team, ["Dave"])  # a team that is named like the agent
    know(erin, ["Erin"])
    text = "Ann, Bob, Carol, Dave and Erin"

    assert found(mine, text) == {"Ann"}
    assert found(mine, text, [red]) == {"Ann", "Bob"}
    assert found(mine, text, [red, blue]) == {"Ann", "Bob", "Carol"}
    assert found(mine, text, [mine.name]) == {"Ann", "Dave"}
    assert found(erin, text) == {"Erin"}


def test_at_most_32_are_taken_and_the_longest_first(mine: Owner) -> None:
    names = ["x" * length for length in range(1, 41)]
    know(mine, names)

    assert found(mine, " ".join(names)) == set(names[-32:])


@pytest.mark.parametrize(
    "text",
    [
        "Annual " * (LARGE // 7) + "Ann",
        "A" * LARGE + " ann",
        "' \" \\ % : { } 🙂 Ann " * (LARGE // 20),
        "((((" * (LARGE // 4) + " Ann",
    ],
    ids=["found last", "one word", "quotes", "brackets"],
)
def test_a_large_text_is_searched_quickly(mine: Owner, text: str) -> None:
    """Names that are in it but as part of a word cost a whole reading each."""
    know(mine, ["Ann", "Bob", "(((((", "nnu", *(f"entity {n}" for n in range(200))])

    started = monotonic()
    names = found(mine, text)

    assert names - {"((((("} == {"Ann"}
    assert monotonic() - started < 30


def test_entities_of_the_text_beside_a_vector_count(mine: Owner) -> None:
    """Of two texts, those of the query; given entities replace what is found."""
    id_ = mine.add(north("a", entities=["Sarah", "React"]))

    def overlap(query: list[float] | str | None, **arguments: object) -> Any:
        [hit] = mine.search(query, profile="tiered", touch=False, **arguments)
        return hit.signals["entity_overlap"]

    both = "What does Sarah think about React?"
    assert overlap(NORTH, keywords=both) == 1
    assert overlap(None, keywords=both) == 1
    assert overlap(NORTH, keywords="tea") == overlap("tea", keywords=both) == 0
    assert overlap(NORTH, keywords=both, entities=["Sarah", "Vue"]) == 0.5
    explained = mine.explain(id_, NORTH, keywords=both, profile="tiered")
    assert explained.hit.signals["entity_overlap"] == 1


# Entities of memories


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
        return [
            await stored(one) for one in (finder, lambda text: ["Ole"], capitalised_names, None)
        ]

    assert asyncio.run(all_stored()) == [["Ines"], ["Ole"], ["Ines"], []]


def test_capitalised_names_come_with_known_entities(shared_engine: Engine, agent: str) -> None:
    repo = MemoryRepository(shared_engine, entities=capitalised_names)
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
        MemoryRepository(shared_engine, entities="auto")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs the AsyncMemoryRepository"):
        MemoryRepository(shared_engine, entities=finder).add(agent, north("a"))
