"""RecallStore beside LangGraph's own stores: the same calls, the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import ANY

import pytest
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from pgrecall.testing import new_database
from tests.integration.stores import Store, in_memory, ours, theirs

AB, ABC, AD, OTHER = ("a", "b"), ("a", "b", "c"), ("a", "d"), ("ab",)
ITEMS: dict[tuple[tuple[str, ...], str], dict[str, Any]] = {
    (AB, "1"): {"text": "green tea", "n": 1, "tag": "x"},
    (AB, "2"): {"text": "coffee", "n": 2, "tag": "y", "deep": {"m": 1, "o": 2}},
    (ABC, "3"): {"text": "a cat", "n": 9, "tag": "x", "a.b": 1},
    (AD, "4"): {"text": "a dog", "n": 3},
    (OTHER, "5"): {"text": "the train to paris", "list": [1, 2]},
}
ASKED = "cat cat cat cat dog dog dog tea tea coffee"
ALL = ["1", "2", "3", "4", "5"]
EVERYTHING: dict[str, Any] = {
    "text": "größer ☕",
    "none": None,
    "flags": [True, False],
    "numbers": [0, -1, 2.5, 10**20],
    "deep": {"er": {"est": [{"a": []}, {}]}},
}
KEYS = (
    *("", "[", "x", '["c", "x"]', '["x"]', "a..b", ".", "%_", "*", "x" * 300),
    "5b6ad3a0-0000-4000-8000-000000000000",
)


def fill(store: Store) -> None:
    for (namespace, key), value in ITEMS.items():
        store.put(namespace, key, value)


def keys(found: Any) -> list[str]:
    return [item.key for item in found]


def having(**values: Any) -> Callable[[Store], Any]:
    return lambda store: sorted(keys(store.search((), filter=values)))


def below(*prefix: str) -> Callable[[Store], Any]:
    return lambda store: sorted(keys(store.search(prefix)))


def asked(query: str, *prefix: str, **more: Any) -> Callable[[Store], Any]:
    return lambda store: keys(store.search(prefix, query=query, **more))


def namespaces(**asked: Any) -> Callable[[Store], Any]:
    return lambda store: store.list_namespaces(**asked)


def refused(call: Callable[[Store], Any]) -> Callable[[Store], Any]:
    def run(store: Store) -> Any:
        with pytest.raises(ValueError) as error:  # noqa: PT011  of each store its own
            call(store)
        return isinstance(error.value, InvalidNamespaceError)

    return run


def rewritten(store: Store) -> Any:
    old = store.get(AB, "1")
    store.put(AB, "1", {"text": "black tea"})
    new = store.get(AB, "1")
    return new.value, new.updated_at > old.updated_at, new.created_at == old.created_at


def deleted(store: Store) -> Any:
    store.delete(AB, "1")
    store.delete(AB, "1")
    return store.get(AB, "1"), below()(store), asked("tea", *AB, limit=1)(store) != ["1"]


def written_again(store: Store) -> Any:
    store.delete(AB, "1")
    store.put(AB, "1", {"text": "back"})
    return store.get(AB, "1").value


def stored_and_read(store: Store) -> Any:
    store.put(("größe ☕", "a b"), "schlüssel ☕", EVERYTHING)
    [found] = store.search(("größe ☕",))
    got = store.get(("größe ☕", "a b"), "schlüssel ☕")
    return got.value == found.value == EVERYTHING, got.namespace, got.key, got == found


def odd_keys(store: Store) -> Any:
    for namespace in (AB, ABC, OTHER):
        for key in KEYS:
            store.put(namespace, key, {"at": [*namespace, key]})
    return all(
        store.get(namespace, key).value == {"at": [*namespace, key]}
        for namespace in (AB, ABC, OTHER)
        for key in KEYS
    )


def mixed_up(store: Store) -> Any:
    results = store.batch(
        [
            PutOp(AB, "1", {"text": "first"}),
            GetOp(AB, "1"),
            PutOp(AB, "1", {"text": "second"}),
            SearchOp(AD),
            PutOp(AB, "2", None),
            GetOp(AB, "none"),
            ListNamespacesOp((MatchCondition("prefix", AB),)),
            PutOp(AB, "6", {"text": "new"}),
            PutOp(AD, "7", {"text": "a new one"}),
            GetOp(AD, "4"),
        ]
    )
    shown: list[Any] = [
        keys(one) if isinstance(one, list) and one and not isinstance(one[0], tuple) else one
        for one in results
    ]
    shown[1], shown[9] = shown[1].value["text"], shown[9].key
    return shown, store.get(AB, "1").value, sorted(keys(store.search(())))


def paged(query: str | None) -> Callable[[Store], Any]:
    def run(store: Store) -> Any:
        pages = [store.search((), query=query, limit=2, offset=at) for at in (0, 2, 4, 6)]
        return [len(page) for page in pages], sorted(key for page in pages for key in keys(page))

    return run


def scored(store: Store) -> Any:
    best, *others = store.search((), query="cat")
    rest = [item.score for item in others]
    unasked = [item.score for item in store.search(AB)]
    return best.key, best.score > max(rest), rest == sorted(rest, reverse=True), unasked


def of_fields(store: Store) -> Any:
    store.put(("f",), "a", {"title": "ship", "text": "dog"}, index=["title"])
    store.put(("f",), "b", {"title": "dog", "parts": [{"t": "x"}, {"t": "cat"}]}, ["parts[*].t"])
    return [asked(word, "f", limit=1)(store) for word in ("ship", "cat")]


def not_indexed(store: Store) -> Any:
    store.put(("f",), "a", {"text": "ship"}, index=False)
    store.put(("f",), "b", {"text": "a dog"})
    store.put(("f",), "c", {"other": "ship"})
    return asked("ship", "f", limit=1)(store), sorted(keys(store.search(("f",))))


def moved(store: Store) -> Any:
    store.put(AB, "1", {"text": "a ship"})
    return asked("ship", *AB, limit=1)(store)


class Case(NamedTuple):
    name: str
    work: Callable[[Store], Any]
    expected: Any
    memory: Any = ...
    """What their store in memory answers, if something else."""
    postgres: Any = ...
    """What their store in PostgreSQL answers, if something else."""


CASES = (
    Case("get", lambda s: s.get(AB, "1").value, ITEMS[AB, "1"]),
    Case("get says where", lambda s: (s.get(ABC, "3").namespace, s.get(ABC, "3").key), (ABC, "3")),
    Case("get, missing", lambda s: s.get(AB, "9"), None),
    Case("get, of the namespace above", lambda s: s.get(AB, "3"), None),
    Case(
        "put replaces",
        rewritten,
        ({"text": "black tea"}, True, True),
        memory=({"text": "black tea"}, True, False),
    ),
    Case("put replaces the vector", moved, ["1"]),
    Case("delete", deleted, (None, ["2", "3", "4", "5"], True)),
    Case("put after delete", written_again, {"text": "back"}),
    Case("values come back", stored_and_read, (True, ("größe ☕", "a b"), "schlüssel ☕", True)),
    Case("any key", odd_keys, True),
    Case(
        "a batch",
        mixed_up,
        (
            [None, "green tea", None, ["4"], None, None, [AB, ABC], None, None, "4"],
            {"text": "second"},
            ["1", "3", "4", "5", "6", "7"],
        ),
    ),
    Case("an empty batch", lambda s: s.batch([]), []),
    Case("below nothing", below(), ALL),
    Case("below a label", below("a"), ["1", "2", "3", "4"]),
    Case("below two labels", below(*AB), ["1", "2", "3"]),
    Case("below three labels", below(*ABC), ["3"]),
    Case("below four labels", below(*ABC, "d"), []),
    Case("below a beginning of a label", below("a", "bb"), []),
    Case("newest first", lambda s: keys(s.search(())), ALL[::-1], memory=ALL),
    Case("pages", paged(None), ([2, 2, 1, 0], ALL)),
    # A page of theirs may lack items or repeat them: its rows are limited before they are grouped.
    Case("pages of a query", paged(ASKED), ([2, 2, 1, 0], ALL), postgres=ANY),
    Case("no limit to speak of", lambda s: len(s.search((), limit=50_000)), 5),
    Case("no offset to speak of", lambda s: s.search((), offset=50_000), []),
    Case("filter", having(tag="x"), ["1", "3"]),
    Case("filter by two", having(tag="x", n=9), ["3"]),
    Case("filter by an unknown key", having(nothing=1), []),
    Case("filter by a list", having(list=[1, 2]), ["5"]),
    Case("filter by part of a list", having(list=[1]), []),
    Case("filter by a key with a dot", having(**{"a.b": 1}), ["3"]),
    Case("filter by a type", having(n="1"), []),
    Case("filter by a part", having(deep={"m": 1}), ["2"], postgres=ValueError),
    Case("filter within a part", having(deep={"m": {"$gt": 0}}), ["2"], postgres=ValueError),
    Case("$eq", having(n={"$eq": 2}), ["2"]),
    Case("$eq, a list", having(list={"$eq": [1, 2]}), ["5"]),
    Case("$ne", having(tag={"$ne": "x"}), ["2", "4", "5"], postgres=["2"]),
    Case("$gt", having(n={"$gt": 2}), ["3", "4"], memory=TypeError),
    Case("$gt, more digits", having(n={"$gt": 10}), [], memory=TypeError, postgres=["2", "3", "4"]),
    Case("$gte", having(n={"$gte": 2}), ["2", "3", "4"], memory=TypeError),
    Case("$lt", having(n={"$lt": 2}), ["1"], memory=TypeError),
    Case("$lte", having(n={"$lte": 2}), ["1", "2"], memory=TypeError),
    Case("two operators", having(n={"$gte": 2, "$lt": 9}), ["2", "4"], memory=TypeError),
    Case("$or", having(**{"$or": [{"n": 1}, {"tag": "y"}]}), ["1", "2"], memory=[], postgres=[]),
    Case(
        "$between",
        having(n={"$between": [2, 3]}),
        ["2", "4"],
        memory=ValueError,
        postgres=ValueError,
    ),
    Case("unknown operator", refused(having(n={"$near": 2})), False),
    Case("query", asked("cat", limit=1), ["3"]),
    Case("query below a label", lambda s: sorted(asked("train", "a")(s)), ["1", "2", "3", "4"]),
    Case("query below a namespace", asked("coffee", *AB, limit=1), ["2"]),
    Case("query and filter", asked("coffee cat", filter={"tag": "x"}, limit=1), ["3"]),
    Case("scores", scored, ("3", True, True, [None] * 3)),
    Case("fields of an item", of_fields, [["a"], ["b"]]),
    Case("no fields", not_indexed, (["b"], ["a", "b", "c"])),
    Case("namespaces", namespaces(), [AB, ABC, AD, OTHER]),
    Case("namespaces, prefix", namespaces(prefix=AB), [AB, ABC]),
    Case("namespaces, suffix", namespaces(suffix=("b",)), [AB]),
    Case("namespaces, wildcard", namespaces(prefix=("*", "b")), [AB, ABC]),
    Case("namespaces, wildcards behind", namespaces(suffix=("b", "*")), [ABC]),
    Case("namespaces, both", namespaces(prefix=("a",), suffix=("*", "c")), [ABC]),
    Case("namespaces, too long", namespaces(prefix=(*ABC, "*")), []),
    Case("namespaces, depth", namespaces(max_depth=1), [("a",), OTHER]),
    Case("namespaces, depth below", namespaces(prefix=("a",), max_depth=2), [AB, AD]),
    Case("namespaces, a page", namespaces(limit=2, offset=1), [ABC, AD]),
    Case("no namespace", refused(lambda s: s.put((), "k", {})), True),
    Case("a dot in a label", refused(lambda s: s.put(("a.b",), "1", {})), True),
    Case("an empty label", refused(lambda s: s.put(("a", ""), "1", {})), True),
    Case("their own root", refused(lambda s: s.put(("langgraph",), "k", {})), True),
)

KINDS = [f"{kind}, {way}" for kind in ("memory", "postgres", "ours") for way in ("sync", "async")]


@pytest.fixture(scope="session")
def their_url(server_url: str) -> Iterator[str]:
    """A database for their store, which makes its own tables."""
    with new_database(server_url) as url:
        yield url


@pytest.fixture
def store(
    request: pytest.FixtureRequest, their_url: str, database_url: str, loop: asyncio.Runner
) -> Iterator[Store]:
    kind, way = request.param.split(", ")
    runner = loop if way == "async" else None
    if kind == "memory":
        yield in_memory(runner and runner.run)
    else:
        of_kind = {"postgres": partial(theirs, their_url), "ours": partial(ours, database_url)}
        with of_kind[kind](runner) as made:
            yield made


@pytest.mark.parametrize("store", KINDS, indirect=True)
def test_each_store_answers_alike(store: Store, request: pytest.FixtureRequest) -> None:
    kind = request.node.callspec.id.split(",")[0]
    for case in CASES:
        store.empty()
        fill(store)
        expected = getattr(case, kind) if kind != "ours" else ...
        expected = case.expected if expected is ... else expected
        if isinstance(expected, type) and issubclass(expected, Exception):
            with pytest.raises(expected):
                case.work(store)
        else:
            assert case.work(store) == expected, case.name


KEEPING_TIME = [kind for kind in KINDS if not kind.startswith("memory")]


@pytest.mark.parametrize("store", KEEPING_TIME, indirect=True)
def test_an_item_is_gone_when_its_time_is_over(store: Store) -> None:
    store.put(AB, "short", {"text": "tea"}, ttl=10)
    store.put(AB, "long", {"text": "tea"}, ttl=100)
    store.put(AB, "for ever", {"text": "tea"})
    store.pass_time(20)

    assert store.get(AB, "short") is None
    assert sorted(keys(store.search(AB))) == ["for ever", "long"]
    assert sorted(keys(store.search(AB, query="tea"))) == ["for ever", "long"]
    assert [store.sweep_ttl() for _ in range(2)] == [1, 0]
    store.pass_time(100)
    assert keys(store.search(())) == ["for ever"]
    store.put(AB, "short", {"text": "again"}, ttl=None)
    store.pass_time(100)
    assert store.get(AB, "short").value == {"text": "again"}


READS: dict[str, Callable[[Store, bool | None], Any]] = {
    "get": lambda s, refresh: s.get(AB, "1", refresh_ttl=refresh),
    "search": lambda s, refresh: s.search(AB, refresh_ttl=refresh),
    "query": lambda s, refresh: s.search((), query="tea", refresh_ttl=refresh),
}


@pytest.mark.parametrize("refresh", [True, False])
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("store", KEEPING_TIME, indirect=True)
def test_reading_begins_the_time_anew_unless_it_is_not_to(
    store: Store, read: str, refresh: bool
) -> None:
    store.put(AB, "1", {"text": "tea"}, ttl=10)
    store.pass_time(6)
    assert READS[read](store, refresh)
    store.pass_time(6)

    assert (store.get(AB, "1") is not None) == refresh
