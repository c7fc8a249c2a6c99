"""Arguments of the verbs that are refused before any server is asked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from pgrecall import GarbagePolicy, MemoryRepository, NewMemory
from pgrecall.errors import InputError, InvalidMemory, InvalidProfile, NotCompliant, UnknownName
from pgrecall.lifecycle.label import Label
from tests.methods import NOWHERE
from tests.methods import method as method_called

ID, OTHER = UUID(int=1), UUID(int=2)
NAN = float("nan")
NEW = NewMemory("x", embedding=None)
LONG = "x" * 201

GOOD: dict[str, dict[str, Any]] = {
    "add": {"memory": NEW},
    "add_many": {"memories": [NEW]},
    "upkeep.adjust_trust": {"memory_id": ID, "delta": 0.1, "reason": "r", "actor": "a"},
    "delete": {"memory_ids": ID},
    "feedback": {"memory_id": ID, "kind": "useful"},
    "history": {"memory_id": ID},
    "invalidate": {"memory_ids": ID},
    "labels.add": {"memory_id": ID, "labels": "x"},
    "labels.find": {"values": "x"},
    "links.add": {"source_id": ID, "target_id": OTHER},
    "upkeep.promote": {"memory_ids": ID},
    "upkeep.demote": {"memory_ids": ID},
    "record_outcome": {"memory_id": ID, "outcome": "success"},
    "revive": {"memory_ids": ID},
    "search": {"embedding": None},
    "upkeep.set_importance": {"memory_id": ID, "importance": 0.5},
    "supersede": {"memory_id": ID, "new": NEW},
    "labels.remove": {"memory_id": ID, "labels": "x"},
    "update": {"memory_id": ID},
}
"""What methods take beside an agent."""
Case = tuple[str, dict[str, Any], str]
NOTING = ("record_outcome", "upkeep.adjust_trust", "feedback")
SEVERAL = ("delete", "invalidate", "revive", "upkeep.promote", "upkeep.demote")


def each(name: str, argument: str, message: str, *wrong: Any) -> list[Case]:
    return [(name, {argument: value}, message) for value in wrong]


def memories(name: str, *wrong: Any) -> list[Case]:
    """Memories with a bad field, which the message has to name."""
    return [
        case
        for value in wrong
        for bad in [NewMemory("x", **{"embedding": None, name: value})]
        for case in (("add", {"memory": bad}, name), ("add_many", {"memories": [NEW, bad]}, name))
    ]


CASES: list[Case] = [
    # Use
    *each("record_outcome", "outcome", "success, failure", "Success", None, [1]),
    *each("record_outcome", "touch", "touch", None, 1, "yes"),
    *each("record_outcome", "query", "query", "", " \t", 5),
    *each("feedback", "kind", "useful, not_useful, outdated", "success", True),
    ("feedback", {"context": "\ud800"}, "reason"),
    *each(
        "upkeep.adjust_trust",
        "delta",
        "delta",
        1.000001,
        -1.000001,
        NAN,
        "0.1",
        None,
        True,
        10**400,
        1j,
    ),
    *each("upkeep.adjust_trust", "reason", "reason", "", " \n", None),
    *each("upkeep.adjust_trust", "actor", "actor", "", None),
    *(
        (name, {"actor": LONG}, "actor")
        for name in (*NOTING, "labels.add", "links.add", "supersede")
    ),
    *each("record_outcome", "metadata", "metadata", [], {1: "a"}, "text"),
    *each("upkeep.adjust_trust", "metadata", "metadata", {"a": "b\0"}, {"a": 1j}),
    *each("feedback", "metadata", "metadata", 5),
    *((name, {"memory_id": wrong}, "UUID") for name in NOTING for wrong in ("text", None, 5)),
    ("history", {"memory_id": "text"}, "UUID"),
    *((name, {"agent_id": wrong}, "agent_id") for name in GOOD for wrong in ("", None, "a\0b")),
    # Correcting
    *each("upkeep.set_importance", "importance", "importance", -0.1, 1.1, NAN, None, True),
    *((name, {"memory_ids": wrong}, "") for name in SEVERAL for wrong in ("no id", ["x"], None)),
    ("revive", {"force": None}, "force"),
    ("supersede", {"force": 1}, "force"),
    ("supersede", {"new": NewMemory("x", embedding=None, compliant=False)}, "check_compliance=Fa"),
    ("update", {}, "at least one field"),
    ("update", {"id": OTHER}, "id of a memory cannot be changed"),
    ("update", {"colour": "red"}, "colour.*content.*importance"),
    ("update", {"status": "archived"}, "status"),
    ("update", {"compliant": False}, "check_compliance=False"),
    ("update", {"content": ""}, "content must not be empty"),
    ("update", {"importance": None}, "importance.*None"),
    ("update", {"tags": None}, "tags.*None"),
    ("update", {"tier": "eternal"}, "eternal.*short, medium, long"),
    ("update", {"memory_id": "7", "importance": 1}, "'7'"),
    # Adding
    *memories("key", "", LONG, "a\0b", "\ud800", 5),
    ("add", {"memory": NewMemory("x", embedding=None, key="k", id=ID)}, "key"),
    *each("add", "duplicates", "duplicates", "no", None, []),
    *each("add_many", "duplicates", "duplicates", "no", None, []),
    *each("add", "near_duplicates", "near_dup", 1.01, -0.01, NAN, True, "0.9"),
    ("add", {"duplicates": "allow", "near_duplicates": 0.9}, "near_duplicates"),
    ("add", {"actor": ""}, "actor"),
    ("add", {"check_compliance": None}, "check_compliance"),
    *memories("compliant", False),
    # Curating
    *each("upkeep.near_duplicates", "threshold", "threshold", 1.5, -0.1, None, "0.9", NAN),
    *each("upkeep.near_duplicates", "limit", "limit", 0, 10**9, None),
    *each("upkeep.clusters", "min_similarity", "min_similarity", 1.5, -0.1, None),
    *each("upkeep.clusters", "min_size", "min_size", 1, None),
    ("upkeep.clusters", {"more_than": -1}, "more_than"),
    *(
        (name, {"newest": v}, "newest")
        for name in ("upkeep.near_duplicates", "upkeep.clusters", "upkeep.consolidate")
        for v in (1, 2.5)
    ),
    ("upkeep.consolidate", {"summarise": "text"}, "summarise"),
    *each("upkeep.complete_stale_tasks", "older_than", "older_than", timedelta(-1), 7),
    ("upkeep.prune", {}, "older_than or below_score"),
    ("upkeep.prune", {"older_than": 30}, "older_than"),
    ("upkeep.prune", {"below_score": 2}, "below_score"),
    ("upkeep.prune", {"below_score": 0.5, "profile": "nothing"}, "five_factor"),
    ("upkeep.prune", {"below_score": 0.5, "profile": 7}, "profile"),
    *each("upkeep.collect_garbage", "batch_size", "batch_size", 0, 1.5),
    ("upkeep.collect_garbage", {"dry_run": 1}, "dry_run"),
    *each("upkeep.collect_garbage", "policy", "policy", "default", {"name": "x"}),
    # Labels and links
    *(
        (name, {"labels": wrong}, "")
        for name in ("labels.add", "labels.remove")
        for wrong in (
            *(Label("x", "flavour"), Label("x", None), Label(5)),  # type: ignore[arg-type]
            *(Label("x", weight=1.5), Label("x", weight=NAN), Label("")),
            *("", LONG, "nul \0", "lone \ud800", ["good", 5], 5, None),
        )
    ),
    *each("labels.find", "values", "values|labels", 5, [5]),
    ("labels.find", {"limit": 0}, "limit"),
    *each("labels.find", "kinds", "kind", "tag", ["flavour"]),
    ("search", {"label_kinds": ["tag"]}, "label"),
    *each("search", "labels", "labels", "x", [5]),
    *(("search", {"labels": ["x"], "label_kinds": v}, "kind") for v in ("tag", ["flavour"])),
    *each("search", "expand", "expand", -1, 3, 1.5, True, None, "1"),
    *each("links.add", "kind", "kind", "", LONG, None, "nul \0"),
    *each("links.add", "weight", "weight", 1.1, -0.1, None, NAN, "1"),
    *each("links.add", "target_id", "", "text", None, ID, UUID(int=1)),
]
"""A method, an argument that makes no sense, and what the message says."""
KINDS: dict[tuple[str, str], type[InputError]] = {
    ("record_outcome", "outcome"): UnknownName,
    ("feedback", "kind"): UnknownName,
    ("add_many", "duplicates"): UnknownName,
    ("update", "colour"): UnknownName,
    ("update", "status"): UnknownName,
    ("update", "compliant"): NotCompliant,
    ("update", "tier"): InvalidMemory,
    ("upkeep.set_importance", "importance"): InvalidMemory,
}
"""Of some arguments the error is of a kind of its own."""


@pytest.fixture(scope="module")
def repo() -> MemoryRepository:
    """On a server that is not there."""
    return NOWHERE


@pytest.mark.parametrize("method", dict.fromkeys(name for name, *_ in CASES))
def test_what_makes_no_sense_is_refused(repo: MemoryRepository, method: str) -> None:
    for name, wrong, message in CASES:
        if name == method:
            given = {"agent_id": "a"} | GOOD.get(name, {}) | wrong
            with pytest.raises((InputError, InvalidProfile), match=message or None) as refused:
                method_called(repo, name)(**given)
            for argument in wrong:
                assert isinstance(refused.value, KINDS.get((name, argument), Exception)), wrong


@pytest.mark.parametrize(
    "wrong",
    [
        *({"name": ""}, {"name": None}, {"min_trust_threshold": 1.1}, {"delete_threshold": -0.1}),
        *({"delete_threshold": NAN}, {"max_age_hours": -1}, {"max_age_hours": float("inf")}),
        *({"max_age_hours": NAN}, {"max_live": -1}, {"max_live": 1.5}, {"max_live": True}),
        *({"min_trust_threshold": "0.2"}, {"max_age_hours": timedelta(hours=3)}),
    ],
    ids=repr,
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        GarbagePolicy(**wrong)


def test_only_the_bad_one_of_a_batch_is_named(repo: MemoryRepository) -> None:
    bad = NewMemory("x", embedding=None, compliant=False)

    with pytest.raises(NotCompliant, match="memory 1 of 3"):
        repo.add_many("a", [NEW, bad, NEW])
    with pytest.raises(NotCompliant, match="memory 1 of 3"):
        repo.add_many("a", [NEW, bad, NEW], near_duplicates=0.9)
