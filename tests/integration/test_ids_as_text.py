"""Owners and memories are named by a UUID or by its text, wherever a method takes an id."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, Engine, FromClause, select

from pgrecall import JudgedQuery, MemoryRepository, NewMemory
from pgrecall.errors import InputError, PgRecallError
from tests.calls import GOOD as METHODS
from tests.calls import ID, OTHER
from tests.integration.support import NORTH, in_full
from tests.methods import NOWHERE, NOWHERE_LATER, method, public

AGENT, TEAM, NEW = UUID(int=7), UUID(int=8), UUID(int=9)
KNOWN = {str(one) for one in (AGENT, TEAM, NEW, ID, OTHER)}
NAMED = {
    "agent_id": AGENT,
    "teams": [TEAM],
    "agents": [AGENT],
    "memory_id": ID,
    "memory_ids": [ID, OTHER],
    "source_id": ID,
    "target_id": OTHER,
    "to_id": TEAM,
    "after": (AGENT, ID),
}
"""Arguments that are ids, or may hold some."""
OF_A_PAGE = ("list", "owners")
"""Their `after` is a text that the page before gives."""
GIVEN: dict[str, dict[str, Any]] = {
    "add": {"memory": NewMemory("new", id=NEW, embedding=NORTH)},
    "add_many": {"memories": [NewMemory("new", id=NEW, embedding=NORTH)]},
    "supersede": {"new": NewMemory("new", id=NEW, embedding=NORTH)},
    "transfer.restore": {"memories": [{"content": "new", "id": str(NEW), "embedding": NORTH}]},
}
"""Arguments in place of those of METHODS, so that no id is made."""
MADE = re.compile(r"datetime\([^)]*\)|seconds=\S+|ranks_\w+|[a-z]\d{3}\b")
"""Names, times and marks that differ from call to call."""
UUIDS = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def ids_of(name: str) -> list[str]:
    """The arguments of a method that are ids."""
    taken = inspect.signature(method(NOWHERE, name)).parameters
    named = {one for one in taken if re.search("(^|_)ids?$", one)} | taken.keys() & NAMED.keys()
    return sorted(named - ({"after"} if name in OF_A_PAGE else set()) - {"id"})


def as_text(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(as_text, value))
    return str(value) if isinstance(value, UUID) else value


@pytest.mark.parametrize("repository", [NOWHERE, NOWHERE_LATER, NOWHERE.teams])
def test_every_id_of_every_method_may_be_text_or_a_uuid(repository: MemoryRepository) -> None:
    for name in public(repository):
        taken = inspect.signature(method(repository, name)).parameters
        for argument, one in taken.items():
            kinds = set(re.findall(r"\w+", str(one.annotation)))
            is_id = argument in ids_of(name) or argument == "id"
            assert ({"UUID", "str"} <= kinds) is is_id, (name, argument, one.annotation)


@pytest.fixture
def connection(module_engine: Engine) -> Iterator[Connection]:
    """With an agent and a team of two memories each, in a transaction that is rolled back."""
    with module_engine.connect() as opened:
        repo = MemoryRepository(opened)
        for whose, owner in ((repo, AGENT), (repo.teams, TEAM)):
            whose.add_many(
                owner, [NewMemory(f"memory {one}", id=one, embedding=NORTH) for one in (ID, OTHER)]
            )
        yield opened
        opened.rollback()


def done(connection: Connection, repo: MemoryRepository, name: str, given: Any) -> str:
    """What a call returns, without ids and times that it makes."""
    savepoint = connection.begin_nested()
    try:
        result = method(repo, name)(**given)
        if isinstance(result, FromClause):
            result = connection.execute(select(result.c.agent_id, result.c.id)).all()
        text = in_full(result)
    except PgRecallError as error:  # such as that of a job, which needs an Engine
        text = in_full(error)
    finally:
        savepoint.rollback()
    return MADE.sub("…", UUIDS.sub(lambda one: one[0] if one[0] in KNOWN else "…", text))


@pytest.mark.parametrize("name", [name for name in public(NOWHERE) if ids_of(name)])
def test_a_method_does_the_same_by_text_as_by_uuid(connection: Connection, name: str) -> None:
    repo = MemoryRepository(connection)
    for whose, owner in ((repo, AGENT), (repo.teams, TEAM)):
        stored = owner if whose is repo else f"team:{owner}"
        ids = {**NAMED, "agent_id": owner, "after": (stored, ID)}
        good = METHODS[name] | GIVEN.get(name, {})
        good |= {one: ids[one] for one in ids_of(name)}
        if name == "delete":
            good.pop("teams", None)
        by_uuid = done(connection, whose, name, good)
        assert done(connection, whose, name, {a: as_text(v) for a, v in good.items()}) == by_uuid


@pytest.mark.parametrize("name", [name for name in public(NOWHERE) if ids_of(name)])
def test_a_text_that_is_no_id_is_shown(name: str) -> None:
    good = {"agent_id": "a"} | METHODS[name]
    for argument in ids_of(name):
        bad = "a\0" if argument in ("agent_id", "to_id") else "no id"
        wrong = {"after": ("a", bad), "teams": ["a\0"], "agents": ["a\0"]}.get(argument, bad)
        with pytest.raises(InputError, match=r"'no id'|NUL"):
            method(NOWHERE, name)(**good | {argument: wrong})
        if argument.endswith("ids"):
            with pytest.raises(InputError, match="'no id'"):
                method(NOWHERE, name)(**good | {argument: [ID, bad]})


def test_results_are_the_same_by_text_as_by_uuid(connection: Connection) -> None:
    repo = MemoryRepository(connection)
    texts = [str(OTHER).upper(), str(ID), str(ID)]

    assert [*repo.get_many(str(AGENT), iter(texts))] == [OTHER, ID]
    assert repo.get(AGENT, str(ID)) == repo.get(AGENT, ID)
    assert repo.history(AGENT, str(ID))[0].memory_id == ID
    hits = repo.search(AGENT, NORTH, k=9, teams=[TEAM], touch=False)
    assert {hit.memory.owner_id for hit in hits} == {str(AGENT), f"team:{TEAM}"}
    added = repo.add(AGENT, NewMemory("new", id=str(NEW), embedding=NORTH))
    assert (added, added.outcome) == (NEW, "inserted")


def test_judged_queries_name_memories_and_owners_by_text_too(connection: Connection) -> None:
    repo = MemoryRepository(connection)
    by_uuid = [JudgedQuery(NORTH, [ID], agent_id=AGENT), JudgedQuery(NORTH, {OTHER: 2.0})]
    by_text: list[JudgedQuery] = [
        JudgedQuery(NORTH, [str(ID)], agent_id=str(AGENT)),
        JudgedQuery(NORTH, {str(OTHER): 2.0}),
    ]

    one, other = (repo.evaluation.evaluate(AGENT, each) for each in (by_uuid, by_text))
    assert one.profiles == other.profiles


def test_a_store_of_langchain_takes_a_uuid(connection: Connection) -> None:
    pytest.importorskip("langchain_core")
    from pgrecall.langchain import RecallRetriever, RecallVectorStore

    repo = MemoryRepository(connection)
    [found] = RecallVectorStore(repo, agent_id=AGENT).get_by_ids([str(ID)])
    assert found.page_content == f"memory {ID}"
    assert RecallRetriever(repository=repo, agent_id=AGENT, teams=[TEAM]).agent_id == AGENT
