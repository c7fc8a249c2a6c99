"""What RecallStore has beyond LangGraph's own stores, and an agent that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.config import get_store
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.base import GetOp, PutOp, SearchOp
from langgraph.store.base import InvalidNamespaceError as BadNames
from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import AsyncEngine

from pgrecall import AsyncMemoryRepository, MemoryRepository, NewMemory
from pgrecall.errors import InputError, InvalidMemory, UnknownName
from pgrecall.langgraph import RecallStore
from tests.left.libraries import Bags

AB = ("a", "b")


class Counting(Bags):
    """Counts how often it is called."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(len(texts))
        return [Bags.embed_query(self, text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.calls.append(1)
        return super().embed_query(text)


@pytest.fixture
def embedder() -> Counting:
    return Counting()


@pytest.fixture
def repo(engine: Engine, embedder: Counting) -> MemoryRepository:
    return MemoryRepository(engine, embedder=embedder)


@pytest.fixture
def store(repo: MemoryRepository) -> RecallStore:
    return RecallStore(repo)


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


def test_namespaces_belong_to_agents_by_their_first_labels(repo: MemoryRepository) -> None:
    store = RecallStore(repo, owner_labels=1, owner_prefix="graph ")
    for number, namespace in enumerate([("a",), AB, (*AB, "c"), ("a", "bb"), ("ab",)]):
        store.put(namespace, str(number), {"text": "tea"})
    repo.add("graph a", NewMemory("no item", key="9", content_type="text/plain"))
    repo.add("other", NewMemory("tea", key="1"))

    owners = {one.agent_id: one.memories for one in repo.owners(prefix="graph ")}
    assert owners == {"graph a": 5, "graph ab": 1}
    for prefix, expected in {(): "01234", ("a",): "0123", AB: "12", ("ab",): "4"}.items():
        assert sorted(keys(store.search(prefix))) == [*expected], prefix
        assert sorted(keys(store.search(prefix, query="tea"))) == [*expected], prefix
    assert store.get(("a",), "9") is None
    assert store.list_namespaces() == [("a",), AB, (*AB, "c"), ("a", "bb"), ("ab",)]


def test_with_one_of_each_both_ways_work_and_with_one_the_other_is_explained(
    repo: MemoryRepository, async_engine: AsyncEngine, loop: asyncio.Runner
) -> None:
    later = AsyncMemoryRepository(async_engine, embedder=Bags())
    both = RecallStore(later, repo)
    both.put(AB, "1", {"text": "tea"})
    found = loop.run(both.asearch(AB, query="tea"))
    assert keys(found) == keys(loop.run(RecallStore(repo).asearch(AB, query="tea"))) == ["1"]
    with pytest.raises(InputError, match="only an AsyncMemoryRepository: use its asynchronous"):
        RecallStore(later).get(AB, "1")


def test_scores_are_those_of_the_profile_and_retrievals_count(repo: MemoryRepository) -> None:
    search: dict[str, Any] = {"profile": "five_factor", "weights": {"similarity": 1.0}}
    store = RecallStore(repo, **search)
    for text in ("tea", "tea coffee", "coffee cat"):
        store.put(AB, text, {"text": text})

    expected = repo.search("a.b", "coffee", touch=False, **search)
    found = store.search(AB, query="coffee", limit=2)
    assert keys(found) == [hit.memory.key for hit in expected[:2]]
    assert [one.score for one in found] == pytest.approx([hit.score for hit in expected[:2]])
    assert keys(store.search(AB, query="coffee", limit=2, offset=2)) == [expected[2].memory.key]
    RecallStore(repo, touch=False).search(AB, query="coffee")
    counted = {one.key: one.retrieval_count for one in repo.list("a.b")}
    assert counted == {"tea": 1, "tea coffee": 1, "coffee cat": 1}


def test_without_an_embedder_words_decide(engine: Engine) -> None:
    store = RecallStore(MemoryRepository(engine))
    for text in ("green tea", "black coffee"):
        store.put(AB, text, {"text": text, "hot": True, "cups": [2]})

    assert store.search(AB, query="coffee")[0].key == "black coffee"
    memory = MemoryRepository(engine).get("a.b", key="green tea")
    assert memory is not None
    assert memory.content == "green tea\n2"


def test_a_batch_is_embedded_at_once_and_so_is_a_query_of_several_agents(
    store: RecallStore, embedder: Counting
) -> None:
    store.batch([PutOp(("a", agent), key, {"text": "tea"}) for agent in "xy" for key in "123"])
    store.batch([PutOp(("a", "x"), key, {"text": "cat"}) for key in "345"])
    assert embedder.calls == [3, 3, 3]
    assert len(store.search(("a",), query="tea", limit=9)) == 8
    assert embedder.calls == [3, 3, 3, 1]


def test_a_bad_item_in_a_batch_stores_nothing(store: RecallStore) -> None:
    with pytest.raises(InvalidMemory, match="memory 1 of 2"):
        store.batch([PutOp(AB, "1", {"text": "tea"}), PutOp(AB, "2", {"n": float("nan")})])
    assert store.search(()) == []


def test_in_a_transaction_of_the_caller_it_takes_part(engine: Engine) -> None:
    with engine.connect() as connection:
        store = RecallStore(MemoryRepository(connection, embedder=Bags()))
        store.put(AB, "1", {"text": "tea"}, ttl=5)
        store.batch([PutOp(AB, key, {"text": "cat"}) for key in "23"])
        assert len(store.search(AB, query="tea")) == 3
        connection.rollback()
        assert store.search(()) == []


store_of: Any = RecallStore
"""Without its types."""
ONE: Any = (1,)
Bad = tuple[Callable[[Any], Any], type[Exception], str]
BAD: dict[str, Bad] = {
    "no repository": (lambda r: RecallStore(), InputError, "needs a MemoryRepository"),
    "two of a kind": (lambda r: RecallStore(r, r), InputError, "one of each"),
    "an engine": (lambda r: RecallStore(r._bind), InputError, "got .*Engine"),
    "no labels": (lambda r: RecallStore(r, owner_labels=0), InputError, "owner_labels"),
    "a text as fields": (lambda r: RecallStore(r, fields="text"), InputError, "fields"),
    "a misspelt argument": (lambda r: store_of(r, profil="x"), UnknownName, "profil"),
    "an argument of its own": (lambda r: RecallStore(r, filter={}), InputError, "filter"),
    "no operation": (lambda r: store_of(r).batch(["get"]), InputError, "unknown operation str"),
    "no number of minutes": (lambda r: store_of(r).put(AB, "1", {}, ttl="x"), InputError, "ttl"),
    "a text as a filter": (
        lambda r: store_of(r).search(AB, filter="tea"),
        InputError,
        "takes mappings, got str 'tea'",
    ),
    "too many minutes": (lambda r: RecallStore(r).put(AB, "1", {}, ttl=1e300), InputError, "ttl"),
    "a long namespace": (lambda r: RecallStore(r).put(("a" * 201,), "1", {}), InputError, "200"),
    "no JSON": (lambda r: RecallStore(r).put(AB, "1", {"a": {1}}), InvalidMemory, "JSON"),
    "a bad key": (lambda r: RecallStore(r).put(AB, "a\ud800", {}), InvalidMemory, "surrogate"),
    "a dot": (lambda r: RecallStore(r).batch([GetOp(("a.b",), "1")]), BadNames, "dot.*a.b"),
    "a bad label": (lambda r: RecallStore(r).search(("a\ud800",)), BadNames, "surrogate"),
    "no label": (lambda r: RecallStore(r).batch([PutOp((), "1", {})]), BadNames, "empty"),
    "no text": (lambda r: store_of(r).batch([SearchOp(ONE)]), BadNames, "got 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_used_is_named(name: str, repo: MemoryRepository) -> None:
    call, error, message = BAD[name]
    with pytest.raises(error, match=message):
        call(repo)
    assert repo.owners() == []


@tool
def remember(text: str) -> str:
    """Remembers a fact about the user."""
    get_store().put(("memories", "ines"), text, {"text": text})
    return "remembered"


@tool
def recall(query: str) -> str:
    """Recalls what is known about a subject."""
    found = get_store().search(("memories", "ines"), query=query, limit=1)
    return str(found[0].value["text"])


def use_tools(state: MessagesState) -> dict[str, Any]:
    tools = {"remember": remember, "recall": recall}
    last: Any = state["messages"][-1]
    return {"messages": [tools[one["name"]].invoke(one) for one in last.tool_calls]}


def test_an_agent_remembers_in_one_conversation_and_recalls_in_another(
    store: RecallStore, loop: asyncio.Runner
) -> None:
    calls = [
        {"name": "remember", "args": {"text": "Ines drinks tea"}, "id": "1", "type": "tool_call"},
        {"name": "remember", "args": {"text": "Ines has a cat"}, "id": "2", "type": "tool_call"},
        {"name": "recall", "args": {"query": "which tea"}, "id": "3", "type": "tool_call"},
    ]
    model = FakeMessagesListChatModel(
        responses=[
            AIMessage("", tool_calls=calls[:2]),
            AIMessage("Noted."),
            AIMessage("", tool_calls=calls[2:]),
            AIMessage("Tea."),
        ]
    )
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", use_tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges(
        "model", lambda state: "tools" if state["messages"][-1].tool_calls else END
    )
    graph.add_edge("tools", "model")
    agent = graph.compile(store=store)

    agent.invoke({"messages": [HumanMessage("I drink tea and have a cat.")]})
    later = loop.run(agent.ainvoke({"messages": [HumanMessage("What do I drink?")]}))

    [answer] = [one for one in later["messages"] if isinstance(one, ToolMessage)]
    assert (answer.content, later["messages"][-1].content) == ("Ines drinks tea", "Tea.")
