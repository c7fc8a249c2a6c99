"""Texts that mean something to SQL, psql, COPY, formats or JSON are only data, wherever they go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory, Profile
from pgrecall.core.limits import MAX_FILTER_TEXT
from pgrecall.errors import UnknownName
from pgrecall.execution.error_mapping import map_errors
from pgrecall.scoring.signals import Recency
from tests.integration.recalling import Connection, installed, recall
from tests.integration.support import NORTH, NOW, at, before, contents, sql

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
OF_PLPGSQL = ["$condition$; DROP TABLE pgrecall.agent_memories; $recall$", "$$ END $$", "E'\\'"]
LARGE = "large ' \" \\ % : { } 🙂 " * 5_000
HOSTILE = [*SHORT, *OF_PLPGSQL, LARGE]
each_hostile = pytest.mark.parametrize("text", HOSTILE, ids=lambda text: f"{text!a:.20}")

COLUMNS = (
    "memory_nature",
    "content_type",
    "component",
    "output_type",
    "domain",
    "category",
    "loop",
)
FILTERS = (
    *(
        "memory_types",
        "memory_natures",
        "content_types",
        "tags",
        "all_tags",
        "entities",
        "all_entities",
    ),
    *("components", "output_types", "domains", "categories", "loops"),
)


def cut(text: str) -> str:
    """As a name may be."""
    return text if len(text) <= 150 else text[:100]


def labelled(text: str) -> dict[str, Any]:
    """Fields of a memory that passes every filter by this text."""
    several = {"tags": [text, "b"], "entities": ["a", text], "memory_type": cut(text)}
    return several | dict.fromkeys(COLUMNS, cut(text))


def filtering(text: str) -> dict[str, Any]:
    whole = ("tags", "all_tags", "entities", "all_entities")
    return {name: [text if name in whole else cut(text)] for name in FILTERS}


@each_hostile
def test_a_text_is_stored_and_known_again_verbatim(
    shared_repo: MemoryRepository, agent: str, text: str
) -> None:
    content = shared_repo.memories.c.content
    memory = NewMemory(text, embedding=NORTH, metadata={text: [text]}, **labelled(text))
    another = f"{agent} through COPY"

    one = shared_repo.add(agent, memory)
    [copied] = shared_repo.add_many(another, [memory])

    for owner, memory_id in ((agent, one), (another, copied)):
        stored = shared_repo.get(owner, memory_id)
        assert stored is not None
        assert stored.metadata == {text: [text]}
        for name in ("content", *labelled(text)):
            assert getattr(stored, name) == getattr(memory, name), name
        assert len(shared_repo.search(owner, NORTH, where=content == text)) == 1
        assert shared_repo.search(owner, NORTH, where=content != text) == []
        again = [shared_repo.add(owner, memory), *shared_repo.add_many(owner, [memory])]
        assert [(added, added.outcome) for added in again] == [(memory_id, "duplicate")] * 2


@each_hostile
def test_filters_find_the_very_same_text(
    shared_repo: MemoryRepository, connection: Connection, agent: str, text: str
) -> None:
    it = NewMemory("it", embedding=NORTH, metadata={text: {"deep": [text]}}, **labelled(text))
    other = NewMemory(
        "other", embedding=NORTH, metadata={"deep": [text]}, **labelled(text[:-1] or "x")
    )
    shared_repo.add_many(agent, [it, replace(other, memory_type="other")])
    filters = filtering(text)
    if len(text) <= MAX_FILTER_TEXT:  # of a path
        key = text.replace("\\", r"\\").replace(".", r"\.")
        filters |= {"metadata": {key: {"deep": [text]}}}

    assert contents(shared_repo.search(agent, NORTH, **filters)) == ["it"]
    assert [row["content"] for row in recall(connection, "tiered", agent, **filters)] == ["it"]
    with pytest.raises(UnknownName, match=r"(?s)unknown tiers .*; known are "), map_errors():
        recall(connection, "tiered", agent, tiers=[text])


@each_hostile
def test_owners_and_entities_asked_for_are_told_apart_verbatim(
    shared_repo: MemoryRepository, connection: Connection, agent: str, text: str
) -> None:
    owner, team = f"{agent} {cut(text)}", f"{cut(text)} {agent}"
    memory_id = shared_repo.add(owner, NewMemory("own", embedding=NORTH, entities=[text]))
    shared_repo.teams.add(team, NewMemory(text, embedding=at(60)))
    teams = [team, text[:100]]
    asked: dict[str, Any] = {"teams": teams, "query_entities": [text, "nobody"]}

    hits = shared_repo.search(owner, NORTH, profile="tiered", **asked)
    rows = recall(connection, "tiered", owner, query=NORTH, **asked)

    assert contents(hits) == [row["content"] for row in rows] == ["own", text]
    assert [row["signals"]["entity_overlap"] for row in rows] == [0.5, 0]
    assert [row["agent_id"] for row in rows] == [owner, f"team:{team}"]
    assert shared_repo.update(owner, memory_id, importance=0.9).importance == 0.9
    assert shared_repo.touch(owner, memory_id) == shared_repo.delete(owner, memory_id) == 1
    assert recall(connection, "trust", f"nobody {cut(text)}") == []


@pytest.mark.parametrize("text", SHORT, ids=lambda text: f"{text!a:.20}")
def test_memory_types_of_a_profile_are_only_data(
    connection: Connection, shared_repo: MemoryRepository, agent: str, text: str
) -> None:
    profile = Profile("mine", {Recency(half_life=1, half_lives_by_type=((text, 10.0),)): 1})
    old = NewMemory("it", embedding=NORTH, memory_type=text, created_at=before(10))
    shared_repo.add(agent, old)

    with installed(connection, profile):
        [row] = recall(connection, "mine", agent, as_of=NOW)

    assert row["score"] == pytest.approx(0.5, abs=1e-12)


def test_texts_that_only_look_alike_stay_apart(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    alike = ["é", "e\u0301", "É", "e", "é ", "%", "_"]
    named = {text: f"{number}: {text}" for number, text in enumerate(alike)}
    shared_repo.add_many(
        agent, [NewMemory(content, embedding=NORTH, tags=[text]) for text, content in named.items()]
    )

    for text, content in named.items():
        assert contents(shared_repo.search(agent, NORTH, tags=[text])) == [content]
    there = "SELECT to_regclass('pgrecall.agent_memories') IS NOT NULL"
    assert sql(shared_engine, there) == [(True,)]
