"""Texts that mean something to SQL, psql, COPY, formats or JSON are only data, wherever they go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory, Profile
from pgrecall.core.limits import MAX_FILTER_TEXT
from pgrecall.errors import InputError, UnknownName
from pgrecall.scoring.signals import Recency
from tests.integration.owner import Owner, north
from tests.integration.recalling import Connection, installed, recall
from tests.integration.support import NORTH, NOW, at, before, contents

SHORT = [
    *("'; DROP TABLE pgrecall.agent_memories; --", "\"double\" and 'single' and `back`"),
    *("%s %(name)s %% %", ":name ::text $1 ?", "{curly} {0} {{}} {", "},{", ",", "{}"),
    *("back\\slash \\n \\\\ \\", "\\x00 \\u0000", "/* comment */ -- line", "NULL", "null"),
    *(" leading and trailing ", "tab\tnew\nline\r\n", "\x01\x1f\x7f\ufeff", "\U0010ffff\ufffe"),
    *("🙂👩‍👩‍👧 emoji", "שלום \u202eعربى", "e\u0301 is not é", "Ω" * 200),
]
OF_PLPGSQL = ["$condition$; DROP TABLE pgrecall.agent_memories; $recall$", "$$ END $$", "E'\\'"]
LARGE = "large ' \" \\ % : { } 🙂 " * 5_000
each_hostile = pytest.mark.parametrize(
    "text", [*SHORT, *OF_PLPGSQL, LARGE], ids=lambda text: f"{text!a:.20}"
)
COLUMNS = (
    *("memory_nature", "content_type", "component", "output_type", "domain", "category", "loop"),
)
OF_PROVENANCE = ("component", "output_type", "domain", "category", "loop")


def cut(text: str) -> str:
    """As a name may be."""
    return text if len(text) <= 150 else text[:100]


def of_kind(text: str) -> dict[str, Any]:
    """Fields of a memory that passes every filter by this text."""
    several = {"tags": [text, "b"], "entities": ["a", text], "memory_type": cut(text)}
    return several | dict.fromkeys(COLUMNS, cut(text))


@each_hostile
def test_a_text_is_stored_known_again_and_found_verbatim(
    mine: Owner, connection: Connection, text: str
) -> None:
    content = mine.repo.memories.c.content
    memory = north(text, metadata={text: {"deep": [text]}}, **of_kind(text))
    similar = of_kind(text[:-1] or "x") | {"memory_type": "other"}
    asked: dict[str, Any] = {"tags": {"$all": [text]}, "entities": text, "memory_type": cut(text)}
    for name in COLUMNS:
        asked[f"provenance.{name}" if name in OF_PROVENANCE else name] = cut(text)
    if len(text) <= MAX_FILTER_TEXT:  # of a path
        key = text.replace("\\", r"\\").replace(".", r"\.")
        asked[f"metadata.{key}"] = {"$eq": {"deep": [text]}}

    ways: list[Callable[[Owner], Any]] = [  # the other by COPY
        lambda of: of.add(memory),
        lambda of: of.add_many([memory])[0],
    ]
    for of, add in zip((mine, mine.other), ways, strict=True):
        memory_id = add(of)
        of.add(north("other", metadata={"deep": [text]}, **similar))

        stored = of.read(memory_id)
        for name in ("content", "metadata", *of_kind(text)):
            assert getattr(stored, name) == getattr(memory, name), name
        assert [one.memory.id for one in of.search(NORTH, filter=content == text)] == [memory_id]
        again = [way(of) for way in ways]
        assert [(added, added.outcome) for added in again] == [(memory_id, "duplicate")] * 2
        if len(text) <= MAX_FILTER_TEXT:
            assert contents(of.search(NORTH, filter=asked)) == [text]
        else:
            with pytest.raises(InputError, match="at most 10,000 characters"):
                of.search(NORTH, filter=asked)
        rows = connection.execute(
            "SELECT content FROM pgrecall.ranked(%s, keywords => %s, profile => 'tiered') "
            "WHERE tags @> ARRAY[%s] AND entities && ARRAY[%s] AND memory_type = %s",
            (of.name, text[:1_000], text, text, cut(text)),
        ).fetchall()
        assert rows == [{"content": text}]


@each_hostile
def test_a_text_is_no_key_and_no_operator_of_a_filter(mine: Owner, text: str) -> None:
    memory_id = mine.add(north("own", metadata={"a": {text: 1}, text: text}))
    key = text.replace("\\", r"\\").replace(".", r"\.")
    unknown: list[dict[str, Any]] = [
        *({text: 1}, {f"provenance.{text}": 1}, {"tags": {text: ["a"]}}, {f"${text}": []})
    ]
    for asked in unknown:
        for read in (mine.count, mine.list, partial(mine.delete, dry_run=True)):
            with pytest.raises(UnknownName, match=r"unknown (key|operator)"):
                read(filter=asked)
    for path in (key, f"a.{key}"):
        there: dict[str, Any] = {"filter": {f"metadata.{path}": {"$exists": True}}}
        if len(path) < MAX_FILTER_TEXT:
            assert [one.id for one in mine.list(**there)] == [memory_id]
        else:
            with pytest.raises(InputError, match="10,000"):
                mine.list(**there)
    if len(text) <= MAX_FILTER_TEXT:
        asked = {"$or": [{"metadata.a.x": text}, {f"metadata.{key}": {"$in": [text, 1]}}]}
        assert mine.count(filter=asked) == 1
        assert mine.count(filter={"$not": asked}) == 0


@each_hostile
def test_owners_entities_links_and_notes_are_told_apart_verbatim(
    shared_engine: Engine, connection: Connection, agent: str, text: str
) -> None:
    name, team = cut(text), f"{cut(text)} {agent}"
    owner = Owner(shared_engine, f"{agent} {name}")
    memory_id = owner.add(north("own", entities=[text], trust=0.25))
    owner.team.repo.add(team, NewMemory(text, embedding=at(60)))
    asked: dict[str, Any] = {"teams": [team, text[:100]], "entities": [text, "nobody"]}

    hits = owner.search(NORTH, profile="tiered", **asked)
    rows = recall(connection, "tiered", owner.name, query=NORTH, **asked)

    assert contents(hits) == [row["content"] for row in rows] == ["own", text]
    assert [row["signal_entity_overlap"] for row in rows] == [0.5, 0]
    assert [row["agent_id"] for row in rows] == [owner.name, f"team:{team}"]
    assert recall(connection, "trust", f"nobody {name}") == []

    other = owner.add(north("other"))
    owner.links.add(memory_id, other, name)
    assert [link.kind for link in owner.links.of(memory_id)] == [name]
    assert owner.links.remove(memory_id, other, name[:-1] or "x") is False
    assert owner.links.remove(memory_id, other, name) is True

    if name.strip():
        note: dict[str, Any] = {"actor": name, "metadata": {text: [text]}}
        owner.record_outcome(memory_id, "failure", reason=text, **note)
        owner.adjust_trust(memory_id, 0.01, text, **note)
        owner.feedback(memory_id, "useful", text, **note)
        noted = owner.history(memory_id)[-3:]
        assert {(event.reason, event.actor) for event in noted} == {(text, name)}
        assert all(event.metadata[text] == [text] for event in noted)
    assert owner.delete([memory_id, other]) == 2
    assert owner.erase_owner().events > 0


@pytest.mark.parametrize("text", SHORT, ids=lambda text: f"{text!a:.20}")
def test_memory_types_of_a_profile_are_only_data(
    connection: Connection, shared_repo: MemoryRepository, agent: str, text: str
) -> None:
    profile = Profile("mine", {Recency(half_life=1, half_lives_by_type=((text, 10.0),)): 1})
    shared_repo.add(agent, north("it", memory_type=text, created_at=before(10)))

    with installed(connection, profile):
        [row] = recall(connection, "mine", agent, as_of=NOW)

    assert row["score"] == pytest.approx(0.5, abs=1e-12)


def test_texts_that_only_look_alike_stay_apart(mine: Owner) -> None:
    alike = ["é", "e\u0301", "É", "e", "é ", "%", "_"]
    named = {text: f"{number}: {text}" for number, text in enumerate(alike)}
    mine.add_many([replace(north(content), tags=[text]) for text, content in named.items()])

    for text, content in named.items():
        assert contents(mine.search(NORTH, filter={"tags": text})) == [content]
