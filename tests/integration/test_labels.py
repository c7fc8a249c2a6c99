from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import InputError, MemoryNotFound, UnknownName
from pgrecall.label import Label
from tests.conftest import new_database
from tests.integration.support import NORTH, at, before, contents, sql
from tests.integration.test_plans import custom_plan, generic_plan, nodes, plans, scans

KINDS = ("keyword", "tag", "concept", "component")
HOSTILE = [
    "'; DROP TABLE pgrecall.memory_labels; --",
    "%s %(name)s %% :name $1 ?",
    '{curly},{"a"} \\ \\x00 \\u0000',
    "NULL",
    " leading, trailing\t\n",
    "שלום \u202eعربى 🙂👩‍👧",
    "e\u0301",
    "Ω" * 200,
]


def test_a_memory_has_the_labels_it_was_given(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=NORTH))
    given = [Label("tea", kind, 0.5) for kind in KINDS]  # type: ignore[arg-type]

    assert either.label("agent", memory_id, [*given, "milk"]) == 5

    found = either.labels("agent", memory_id)
    assert set(found) == {*given, Label("milk", "keyword", 1.0)}
    assert found[0].value == "milk"


def test_labels_come_heaviest_first(shared_repo: MemoryRepository, agent: str) -> None:
    memory_id = shared_repo.add(agent, NewMemory("a", embedding=NORTH))
    weights = {"a": 0.2, "b": 1.0, "c": 0.0, "d": 0.7}

    shared_repo.label(agent, memory_id, [Label(value, "tag", w) for value, w in weights.items()])

    assert [label.value for label in shared_repo.labels(agent, memory_id)] == ["b", "d", "a", "c"]


def test_a_label_given_again_takes_the_new_weight(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=NORTH))
    either.label("agent", memory_id, [Label("tea", "tag", 0.2), Label("tea", "concept", 0.3)])

    assert either.label("agent", memory_id, Label("tea", "tag", 0.9), actor="ines") == 1

    assert either.labels("agent", memory_id) == [
        Label("tea", "tag", 0.9),
        Label("tea", "concept", 0.3),
    ]
    told = either.history("agent", memory_id)[-1]
    assert told.old_values == {"labels": [{"kind": "tag", "value": "tea", "weight": 0.2}]}
    assert told.new_values == {"labels": [{"kind": "tag", "value": "tea", "weight": 0.9}]}
    assert told.actor == "ines"


def test_of_a_label_given_twice_at_once_the_last_counts(
    shared_repo: MemoryRepository, agent: str
) -> None:
    memory_id = shared_repo.add(agent, NewMemory("a", embedding=NORTH))

    shared_repo.label(agent, memory_id, [Label("tea", weight=0.2), Label("tea", weight=0.6)])

    assert shared_repo.labels(agent, memory_id) == [Label("tea", "keyword", 0.6)]


def test_a_label_is_taken_away_by_kind_and_value(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=NORTH))
    either.label("agent", memory_id, [Label("tea", "tag", 0.5), "tea", "milk"])

    assert either.unlabel("agent", memory_id, ["tea", "coffee", Label("milk", "tag")]) == 1

    assert either.labels("agent", memory_id) == [Label("milk"), Label("tea", "tag", 0.5)]
    told = either.history("agent", memory_id)[-1]
    assert told.old_values == {"labels": [{"kind": "keyword", "value": "tea", "weight": 1}]}


def test_taking_what_is_not_there_leaves_no_trace(
    shared_repo: MemoryRepository, agent: str
) -> None:
    memory_id = shared_repo.add(agent, NewMemory("a", embedding=NORTH))

    assert shared_repo.unlabel(agent, memory_id, "tea") == 0
    assert shared_repo.label(agent, memory_id, []) == shared_repo.unlabel(agent, memory_id, []) == 0

    assert len(shared_repo.history(agent, memory_id)) == 1


def test_labels_count_as_no_retrieval(shared_repo: MemoryRepository, agent: str) -> None:
    memory_id = shared_repo.add(agent, NewMemory("a", embedding=NORTH))

    shared_repo.label(agent, memory_id, "x")
    [(found, _)] = shared_repo.labelled(agent, "x")

    assert found.retrieval_count == 0


@pytest.mark.parametrize(
    ("labels", "error"),
    [
        (Label("tea", "flavour"), UnknownName),  # type: ignore[arg-type]
        (Label("tea", None), InputError),  # type: ignore[arg-type]
        (Label("tea", weight=1.5), InputError),
        (Label("tea", weight=float("nan")), InputError),
        (Label("tea", weight=None), InputError),  # type: ignore[arg-type]
        (Label(""), InputError),
        (Label(5), InputError),  # type: ignore[arg-type]
        ("", InputError),
        ("x" * 201, InputError),
        ("nul \0", InputError),
        ("lone \ud800", InputError),
        (["good", 5], InputError),
        (5, InputError),
        (None, InputError),
    ],
    ids=lambda one: f"{one!a:.40}",
)
@pytest.mark.parametrize("name", ["label", "unlabel"])
def test_a_label_that_cannot_be_stored_is_refused(
    shared_repo: MemoryRepository, agent: str, name: str, labels: Any, error: type[Exception]
) -> None:
    memory_id = shared_repo.add(agent, NewMemory("a", embedding=NORTH))

    with pytest.raises(error):
        getattr(shared_repo, name)(agent, memory_id, labels)

    assert shared_repo.labels(agent, memory_id) == []


def test_labels_are_for_memories_that_are_there(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    others = shared_repo.add(f"{agent} too", NewMemory("a", embedding=NORTH))
    of_team = shared_repo.teams.add(agent, NewMemory("a", embedding=NORTH))

    for unknown in (uuid4(), others, of_team):
        with pytest.raises(MemoryNotFound):
            shared_repo.label(agent, unknown, "x")
        with pytest.raises(MemoryNotFound):
            shared_repo.unlabel(agent, unknown, "x")
        assert shared_repo.labels(agent, unknown) == []


def test_labelled_memories_come_by_the_sum_of_the_weights(either: MemoryRepository) -> None:
    labels = {
        "one": [Label("tea", "tag", 0.9)],
        "two": [Label("tea", "tag", 0.5), Label("milk", "keyword", 0.6)],
        "both kinds": [Label("tea", "tag", 0.5), Label("tea", "concept", 0.5)],
        "other": [Label("coffee")],
        "none": [],
    }
    for text, given in labels.items():
        either.label("agent", either.add("agent", NewMemory(text, embedding=NORTH)), given)

    def found(*args: Any, **kwargs: Any) -> dict[str, Any]:
        return {m.content: pytest.approx(w) for m, w in either.labelled("agent", *args, **kwargs)}

    assert found(["tea", "milk"]) == {"two": 1.1, "both kinds": 1.0, "one": 0.9}
    assert list(found(["tea", "milk"])) == ["two", "both kinds", "one"]
    assert list(found("tea")) == ["both kinds", "one", "two"]
    assert found("tea", kinds=["concept"]) == {"both kinds": 0.5}
    assert found(["tea", "milk"], kinds=["keyword", "component"]) == {"two": 0.6}
    assert list(found(["tea", "milk"], limit=1)) == ["two"]
    assert found("TEA") == found([]) == found("tea", kinds=[]) == {}


def test_equal_weights_are_ordered_by_id(shared_repo: MemoryRepository, agent: str) -> None:
    ids = [shared_repo.add(agent, NewMemory(str(n), embedding=NORTH)) for n in range(5)]
    for memory_id in reversed(ids):
        shared_repo.label(agent, memory_id, "x")

    assert [m.id for m, _ in shared_repo.labelled(agent, "x")] == sorted(ids)
    assert [m.id for m, _ in shared_repo.labelled(agent, "x", limit=2)] == sorted(ids)[:2]


def test_labelled_memories_are_active_valid_and_the_owners_own(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    ids = {
        text: shared_repo.add(agent, NewMemory(text, embedding=NORTH))
        for text in ("good", "archived", "forgotten", "expired")
    }
    for memory_id in ids.values():
        shared_repo.label(agent, memory_id, "x")
    for assignment, text in (
        ("status = 'archived'", "archived"),
        ("expires_at = now()", "expired"),
    ):
        sql(
            shared_engine,
            f"UPDATE pgrecall.agent_memories SET {assignment} WHERE id = :id",
            id=UUID(int=ids[text].int),
        )
    shared_repo.invalidate(agent, ids["forgotten"])
    theirs = shared_repo.teams.add(agent, NewMemory("theirs", embedding=NORTH))
    shared_repo.teams.label(agent, theirs, "x")

    assert [m.content for m, _ in shared_repo.labelled(agent, "x")] == ["good"]
    assert [m.content for m, _ in shared_repo.teams.labelled(agent, "x")] == ["theirs"]
    assert shared_repo.labelled(f"{agent} too", "x") == []


@pytest.mark.parametrize(
    "bad",
    [
        *({"values": 5}, {"values": [5]}, {"values": "x", "limit": 0}),
        *({"values": "x", "kinds": "tag"}, {"values": "x", "kinds": ["flavour"]}),
    ],
    ids=repr,
)
def test_what_cannot_be_a_label_is_not_looked_for(
    shared_repo: MemoryRepository, agent: str, bad: dict[str, Any]
) -> None:
    with pytest.raises(InputError):
        shared_repo.labelled(agent, **bad)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"labels": ["tea"]}, ["tag tea", "concept tea", "both"]),
        ({"labels": ["tea", "milk"]}, ["tag tea", "concept tea", "both", "milk"]),
        ({"labels": ["tea"], "label_kinds": ["tag"]}, ["tag tea"]),
        ({"labels": ["tea"], "label_kinds": ["tag", "keyword"]}, ["tag tea", "both"]),
        ({"labels": ["milk"], "label_kinds": ["tag"]}, ["both"]),
        ({"labels": ["tea"], "label_kinds": ["component"]}, []),
        ({"labels": ["tea"], "tags": ["x"]}, ["both"]),
        ({"labels": []}, []),
        ({"labels": ["tea"], "label_kinds": []}, []),
        ({"labels": ["Tea"]}, []),
        ({"labels": None}, ["tag tea", "concept tea", "both", "milk", "none"]),
    ],
    ids=repr,
)
def test_a_search_is_narrowed_by_labels(
    shared_repo: MemoryRepository, agent: str, filters: dict[str, Any], expected: list[str]
) -> None:
    labels = {
        "tag tea": [Label("tea", "tag")],
        "concept tea": [Label("tea", "concept", 0.0)],
        "both": [Label("tea"), Label("milk", "tag")],
        "milk": [Label("milk")],
        "none": [],
    }
    for n, (text, given) in enumerate(labels.items()):
        new = NewMemory(
            text, embedding=at(10 * n), created_at=before(1), tags=["x"] if text == "both" else []
        )
        shared_repo.label(agent, shared_repo.add(agent, new), given)

    assert contents(shared_repo.search(agent, NORTH, touch=False, **filters)) == expected
    assert shared_repo.count(agent, **filters) == len(expected)
    with_team = shared_repo.search(agent, NORTH, teams=["none"], touch=False, **filters)
    assert contents(with_team) == expected


def test_memories_of_teams_are_narrowed_by_their_own_labels(
    shared_repo: MemoryRepository, agent: str
) -> None:
    mine = shared_repo.add(agent, NewMemory("mine", embedding=NORTH))
    theirs = [
        shared_repo.teams.add(f"{agent} red", NewMemory(text, embedding=NORTH))
        for text in ("a", "b")
    ]
    shared_repo.label(agent, mine, Label("x", "tag"))
    shared_repo.teams.label(f"{agent} red", theirs[0], Label("x", "concept"))

    def found(**filters: Any) -> list[str]:
        return sorted(contents(shared_repo.search(agent, NORTH, teams=[f"{agent} red"], **filters)))

    assert found(labels=["x"]) == ["a", "mine"]
    assert found(labels=["x"], label_kinds=["concept"]) == ["a"]
    assert found() == ["a", "b", "mine"]


def test_labels_do_not_change_a_score(shared_repo: MemoryRepository, agent: str) -> None:
    memory_id = shared_repo.add(agent, NewMemory("a", embedding=at(20), created_at=before(3)))
    asked: dict[str, Any] = {"as_of": before(0), "touch": False}
    [plain] = shared_repo.search(agent, NORTH, **asked)
    shared_repo.label(agent, memory_id, [Label("x", weight=0.5), Label("x", "tag", 0.5)])

    [hit] = shared_repo.search(agent, NORTH, labels=["x"], **asked)

    assert (hit.score, hit.signals) == (plain.score, plain.signals)


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ({"label_kinds": ["tag"]}, InputError),
        ({"labels": ["x"], "label_kinds": ["flavour"]}, UnknownName),
        ({"labels": "x"}, InputError),
        ({"labels": [5]}, InputError),
        ({"labels": ["x"], "label_kinds": "tag"}, InputError),
    ],
    ids=repr,
)
def test_a_filter_by_labels_that_makes_no_sense_is_refused(
    shared_repo: MemoryRepository, agent: str, bad: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        shared_repo.search(agent, NORTH, **bad)
    with pytest.raises(error):
        shared_repo.count(agent, **bad)


@pytest.mark.parametrize(
    "filters", [{"labels": ["tea"]}, {"labels": ["milk"], "label_kinds": ["tag"]}], ids=repr
)
def test_a_memory_without_the_label_is_told_that_it_is_filtered(
    either: MemoryRepository, filters: dict[str, Any]
) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=NORTH))
    either.label("agent", memory_id, Label("milk", "keyword"))

    why = either.explain("agent", memory_id, NORTH, **filters)

    assert (why.passes, why.returned) == (False, False)
    [reason] = why.reasons
    assert "labels" in reason
    assert filters["labels"][0] in reason


def test_a_memory_with_the_label_is_explained_as_returned(either: MemoryRepository) -> None:
    memory_id = either.add("agent", NewMemory("a", embedding=NORTH))
    either.label("agent", memory_id, Label("milk", "tag"))

    why = either.explain("agent", memory_id, NORTH, labels=["milk"], label_kinds=["tag"])

    assert (why.passes, why.returned, why.reasons) == (True, True, ())


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: f"{text!a:.20}")
@pytest.mark.parametrize("kind", ["keyword", "component"])
def test_labels_are_stored_and_found_verbatim(
    shared_repo: MemoryRepository, agent: str, text: str, kind: Any
) -> None:
    memory_id, other = (
        shared_repo.add(agent, NewMemory(content, embedding=NORTH)) for content in ("it", "other")
    )
    shared_repo.label(agent, other, text[:-1])

    shared_repo.label(agent, memory_id, Label(text, kind))

    assert shared_repo.labels(agent, memory_id) == [Label(text, kind)]
    assert [m.content for m, _ in shared_repo.labelled(agent, text, kinds=[kind])] == ["it"]
    assert contents(shared_repo.search(agent, NORTH, labels=[text])) == ["it"]
    told = shared_repo.history(agent, memory_id)[-1]
    assert told.new_values["labels"] == [{"kind": kind, "value": text, "weight": 1}]
    assert shared_repo.unlabel(agent, memory_id, Label(text, kind)) == 1


def test_labels_are_gone_with_their_memory(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str
) -> None:
    gone, kept = (shared_repo.add(agent, NewMemory(text, embedding=NORTH)) for text in ("a", "b"))
    for memory_id in (gone, kept):
        shared_repo.label(agent, memory_id, ["x", "y"])

    shared_repo.delete(agent, gone)

    left = sql(
        shared_engine,
        "SELECT memory_id, value FROM pgrecall.memory_labels WHERE agent_id = :agent ORDER BY 2",
        agent=agent,
    )
    assert left == [(UUID(int=kept.int), "x"), (UUID(int=kept.int), "y")]


LABELLED = 2_000
"""Memories of the one agent, with ten labels each of some 5,000; others have as many together."""

FILL = """
INSERT INTO pgrecall.agent_memories (agent_id, id, content, embedding)
SELECT 'agent ' || n % 2, gen_random_uuid(), 'memory ' || n, ARRAY[sin(n), cos(n), 1, 0, 0, 0, 0, 1]
  FROM generate_series(1, {memories}) AS n;
INSERT INTO pgrecall.memory_labels (agent_id, memory_id, kind, value)
SELECT agent_id, id, (ARRAY['keyword', 'tag', 'concept', 'component'])[1 + n % 4],
       'label ' || (substr(content, 8)::int * 10 + n) % 5000
  FROM pgrecall.agent_memories, generate_series(1, {labels}) AS n;
"""
INDEX = "ix_memory_labels_agent_id_value_kind"


@pytest.fixture(scope="module")
def large(server_url: str, template: str) -> Iterator[Engine]:
    """Some 20,000 labels of some 2,000 memories of two agents."""
    with new_database(server_url, template) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(FILL.format(memories=LABELLED, labels=10))
            connection.execute(
                "VACUUM ANALYZE pgrecall.agent_memories, pgrecall.memory_usage, "
                "pgrecall.memory_labels"
            )
        engine = create_engine(url)
        MemoryRepository(engine).count("agent 1")
        yield engine
        engine.dispose()


@pytest.mark.parametrize("planned", [custom_plan, generic_plan])
@pytest.mark.parametrize(
    "arguments",
    [{}, {"label_kinds": ["tag"]}, {"teams": ["red"]}],
    ids=["labels", "kinds", "teams"],
)
def test_a_search_by_labels_is_served_by_their_index(
    large: Engine, planned: Any, arguments: dict[str, Any]
) -> None:
    asked: dict[str, Any] = {"labels": ["label 77"], "touch": False, **arguments}

    [plan] = plans(large, lambda repo: repo.search("agent 1", NORTH, **asked), planned)

    assert indexes(plan, "memory_labels") == {INDEX}
    conditions = [one["Index Cond"] for one in nodes(plan) if one.get("Index Name") == INDEX]
    assert all("value" in one and "agent_id" in one for one in conditions)


@pytest.mark.parametrize("planned", [custom_plan, generic_plan])
@pytest.mark.parametrize("kinds", [None, ["tag"]])
def test_labelled_memories_are_found_by_the_index(large: Engine, planned: Any, kinds: Any) -> None:
    [plan] = plans(large, lambda repo: repo.labelled("agent 1", ["label 77"], kinds=kinds), planned)

    assert indexes(plan, "memory_labels") == {INDEX}
    [condition] = [one["Index Cond"] for one in nodes(plan) if one.get("Index Name") == INDEX]
    assert ("kind" in condition) == (kinds is not None)


def test_the_search_on_the_large_table_finds_what_is_labelled(large: Engine) -> None:
    expected = sql(
        large,
        "SELECT DISTINCT memory_id FROM pgrecall.memory_labels "
        "WHERE agent_id = 'agent 1' AND value = 'label 77'",
    )

    hits = MemoryRepository(large).search(
        "agent 1", NORTH, k=1_000, labels=["label 77"], touch=False
    )

    assert len(expected) > 1
    assert {hit.memory.id for hit in hits} == {memory_id for (memory_id,) in expected}


def indexes(plan: Any, table: str) -> set[str]:
    """The indexes a table is read by; its own name for a scan of the whole table."""
    found: set[str] = set()
    for scan in scans(plan, table):
        names = {one["Index Name"] for one in nodes(scan) if "Index Cond" in one}
        assert re.search(r"^(Index|Bitmap)", scan["Node Type"]) or not names
        found |= names or {table}
    return found
