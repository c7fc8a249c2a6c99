from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from pgrecall import Memory, MemoryRepository, NewMemory
from tests.integration.support import NORTH, contents, sql

SHORT = [
    "'; DROP TABLE pgrecall.agent_memories; --",
    "\"double\" and 'single' and `back`",
    "%s %(name)s %% %",
    ":name ::text $1 ?",
    "{curly} {0} {{}} {",
    "},{",
    "back\\slash \\n \\\\ \\",
    "\\x00 \\u0000",
    "/* comment */ -- line",
    "NULL",
    "null",
    "{}",
    ",",
    " leading and trailing ",
    "tab\tnew\nline\r\n",
    "\x01\x1f\x7f\ufeff",
    "🙂👩‍👩‍👧 emoji",
    "שלום \u202eعربى",
    "e\u0301 is not é",
    "\U0010ffff\ufffe",
    "Ω" * 200,
]
LARGE = "large ' \" \\ % : { } 🙂 " * 50_000
HOSTILE = [*SHORT, LARGE]
assert len(LARGE) > 1_000_000


def _read(repo: MemoryRepository, agent: str, memory: NewMemory) -> list[Memory]:
    """The memory as it was stored through add and, but for its content, through add_many."""
    also = replace(memory, content=f"{memory.content}, too")
    ids = [repo.add(agent, memory), *repo.add_many(agent, [also])]
    found = [repo.get(agent, memory_id) for memory_id in ids]
    return [stored for stored in found if stored is not None]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: f"{text!a:.20}")
def test_content_is_stored_verbatim(shared_repo: MemoryRepository, agent: str, text: str) -> None:
    content = shared_repo.memories.c.content
    memory = NewMemory(text, embedding=NORTH)
    another = f"{agent} through COPY"

    added = [(agent, shared_repo.add(agent, memory))]
    added += [(another, memory_id) for memory_id in shared_repo.add_many(another, [memory])]

    assert len(added) == 2
    for owner, memory_id in added:
        stored = shared_repo.get(owner, memory_id)
        assert stored is not None
        assert (memory_id.inserted, stored.content == text) == (True, True)
        assert len(shared_repo.search(owner, NORTH, where=content == text)) == 1
        assert shared_repo.search(owner, NORTH, where=content != text) == []


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: f"{text!a:.20}")
def test_content_is_known_again_through_each_way(
    shared_repo: MemoryRepository, agent: str, text: str
) -> None:
    memory = NewMemory(text, embedding=NORTH)

    first = shared_repo.add(agent, memory)
    again = [shared_repo.add(agent, memory), *shared_repo.add_many(agent, [memory])]

    assert [(added, added.outcome) for added in again] == [(first, "duplicate")] * 2
    assert shared_repo.count(agent) == 1


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: f"{text!a:.20}")
def test_labels_are_stored_and_filtered_verbatim(
    shared_repo: MemoryRepository, agent: str, text: str
) -> None:
    other = text[:-1]
    shared_repo.add(agent, NewMemory("other", embedding=NORTH, tags=[other], entities=[other]))
    memory = NewMemory("it", embedding=NORTH, tags=[text, "b"], entities=["a", text])

    memories = _read(shared_repo, agent, memory)

    assert [[*m.tags, *m.entities] == [text, "b", "a", text] for m in memories] == [True, True]
    for name in ("tags", "all_tags", "entities", "all_entities"):
        found = shared_repo.search(agent, NORTH, **{name: [text]})  # type: ignore[arg-type]
        assert sorted(contents(found)) == ["it", "it, too"], name


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: f"{text!a:.20}")
def test_metadata_is_stored_and_filtered_verbatim(
    shared_repo: MemoryRepository, agent: str, text: str
) -> None:
    metadata = {text: [text, {"deep": text}]}
    shared_repo.add(agent, NewMemory("other", embedding=NORTH, metadata={"deep": text}))

    memories = _read(shared_repo, agent, NewMemory("it", embedding=NORTH, metadata=metadata))

    assert [memory.metadata == metadata for memory in memories] == [True, True]
    found = shared_repo.search(agent, NORTH, metadata={text: [text]})
    assert sorted(contents(found)) == ["it", "it, too"]


@pytest.mark.parametrize("text", SHORT, ids=lambda text: f"{text!a:.20}")
def test_memory_types_are_stored_and_filtered_verbatim(
    shared_repo: MemoryRepository, agent: str, text: str
) -> None:
    shared_repo.add(agent, NewMemory("other", embedding=NORTH, memory_type="other"))
    shared_repo.add(agent, NewMemory("also", embedding=NORTH, additional_types=["x", text]))

    memories = _read(shared_repo, agent, NewMemory("it", embedding=NORTH, memory_type=text))

    assert [memory.memory_type for memory in memories] == [text, text]
    found = shared_repo.search(agent, NORTH, memory_types=[text])
    assert sorted(contents(found)) == ["also", "it", "it, too"]


@pytest.mark.parametrize("text", SHORT, ids=lambda text: f"{text!a:.20}")
def test_agents_are_told_apart_verbatim(
    shared_repo: MemoryRepository, shared_engine: Engine, text: str
) -> None:
    memory_id = shared_repo.add(text, NewMemory("a", embedding=NORTH))
    shared_repo.add_many(text, [NewMemory("b", embedding=NORTH)])

    shared_repo.update(text, memory_id, importance=0.9)
    hits = shared_repo.search(text, NORTH)

    assert sorted(contents(hits)) == ["a", "b"]
    assert {hit.memory.agent_id for hit in hits} == {text}
    assert shared_repo.touch(text, memory_id) == shared_repo.delete(text, memory_id) == 1
    assert shared_repo.count(text) == 1
    assert sql(shared_engine, "SELECT to_regclass('pgrecall.agent_memories') IS NOT NULL") == [
        (True,)
    ]


def test_texts_that_only_look_alike_stay_apart(shared_repo: MemoryRepository, agent: str) -> None:
    alike = ["é", "e\u0301", "É", "e", "é ", "%", "_"]
    named = {text: f"{number}: {text}" for number, text in enumerate(alike)}
    shared_repo.add_many(
        agent,
        [NewMemory(content, embedding=NORTH, tags=[text]) for text, content in named.items()],
    )

    for text, content in named.items():
        assert contents(shared_repo.search(agent, NORTH, tags=[text])) == [content]
