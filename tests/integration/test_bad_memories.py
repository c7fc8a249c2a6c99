from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory
from pgrecall.errors import InputError, InvalidMemory
from tests.integration.support import NORTH, NOW, before, shown, stored

GOOD = NewMemory("good", embedding=NORTH)
NAIVE = NOW.replace(tzinfo=None)
NAN = float("nan")
MOMENTS = ["created_at", "observed_at", "valid_from", "valid_until", "expires_at"]
SHARES = ["importance", "usefulness", "confidence"]
OPTIONAL_SHARES = [
    *("trust", "trust_provenance", "trust_consensus", "trust_governance", "trust_usage"),
    "quality_score",
]
FLAGS = ["requires_approval", "has_errors", "violates_policy", "under_policy_review"]
TEXTS = [
    *("embedding_model", "memory_nature", "content_type", "subject", "component"),
    *("output_type", "domain", "category", "loop"),
]
LISTS = ["tags", "entities", "additional_types"]


def _deep(levels: int) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for _ in range(levels):
        nested = {"n": nested}
    return nested


DEEP = _deep(5_000)


def _name(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    [(field, given), *_] = value.items()
    return f"{field}={shown(given):.40}" if given is not DEEP else "metadata=deep"


BAD: list[tuple[dict[str, Any], str]] = [
    ({"content": ""}, r"content must not be empty"),
    ({"content": "a\0b"}, r"content.*NUL.*position 1.*remove"),
    ({"content": "ab\ud800"}, r"content.*surrogate.*position 2"),
    ({"content": "x" * 10_000_000}, r"content has 10,000,000 bytes.*2,097,152.*split"),
    ({"content": "🙂" * 524_289}, r"content has 2,097,156 bytes"),
    ({"content": 7}, r"content must be text, got int"),
    ({"content": None}, r"content must be text, got NoneType"),
    ({"content": b"bytes"}, r"content must be text, got bytes"),
    ({"id": "7"}, r"id.*UUID.*'7'"),
    ({"memory_type": ""}, r"memory_type must not be empty"),
    ({"memory_type": "x" * 201}, r"memory_type.*200.*201"),
    ({"memory_type": None}, r"memory_type must be text"),
    ({"memory_type": "a\0"}, r"memory_type.*NUL"),
    ({"tier": "eternal"}, r"unknown tier 'eternal'.*short, medium, long"),
    ({"tier": None}, r"unknown tier None"),
    ({"trust_curve": "cubic"}, r"unknown trust_curve 'cubic'.*hyperbolic"),
    ({"trust_half_life_hours": 0}, r"trust_half_life_hours.*0"),
    ({"trust_half_life_hours": NAN}, r"trust_half_life_hours.*nan"),
    ({"trust_half_life_hours": "9"}, r"trust_half_life_hours.*'9'"),
    ({"compliant": "yes"}, r"compliant.*'yes'"),
    *[({name: "naive"}, rf"{name} must be a datetime, got str") for name in MOMENTS],
    *[({name: NAIVE}, rf"{name} has no time zone: 2026-06-01.*give one") for name in MOMENTS],
    *[({name: NOW.date()}, rf"{name} must be a datetime, got date") for name in MOMENTS],
    *[({name: None}, rf"{name} must be a number, got None") for name in SHARES],
    *[({name: 1.01}, rf"{name}.*1\.01") for name in SHARES + OPTIONAL_SHARES],
    *[({name: -0.01}, rf"{name}.*-0\.01") for name in SHARES + OPTIONAL_SHARES],
    *[({name: NAN}, rf"{name}.*nan") for name in SHARES + OPTIONAL_SHARES],
    *[({name: "1"}, rf"{name} must be a number, got str") for name in SHARES + OPTIONAL_SHARES],
    *[({name: True}, rf"{name} must be a number, got bool") for name in SHARES],
    *[({name: 1}, rf"{name}.*1") for name in FLAGS],
    *[({name: None}, rf"{name}.*None") for name in FLAGS],
    *[({name: 7}, rf"{name} must be text, got int") for name in TEXTS],
    *[({name: "a\0b"}, rf"{name}.*NUL.*position 1") for name in TEXTS],
    *[({name: "\udfff"}, rf"{name}.*surrogate.*position 0") for name in TEXTS],
    *[({name: "text"}, rf"{name} must be a list of texts, got str") for name in LISTS],
    *[({name: None}, rf"{name} must be a list of texts, got None") for name in LISTS],
    *[({name: ["a", 7]}, rf"{name}.*text, got int") for name in LISTS],
    *[({name: ["a", None]}, rf"{name}.*text, got NoneType") for name in LISTS],
    *[({name: ["a", "b\0"]}, rf"{name}.*NUL.*position 1") for name in LISTS],
    *[({name: ["a\ud800"]}, rf"{name}.*surrogate.*position 1") for name in LISTS],
    ({"metadata": None}, r"metadata must be a JSON object, got NoneType"),
    ({"metadata": [1]}, r"metadata must be a JSON object, got list"),
    ({"metadata": {"n": object()}}, r"metadata.*JSON.*object"),
    ({"metadata": {"n": NAN}}, r"metadata.*JSON"),
    ({"metadata": {"n": float("inf")}}, r"metadata.*JSON"),
    ({"metadata": {"n": NOW}}, r"metadata.*JSON.*datetime"),
    ({"metadata": {1: "n"}}, r"metadata.*key.*int"),
    ({"metadata": {"a": [{"b": "x\0"}]}}, r"metadata.*'a'.*0.*'b'.*NUL"),
    ({"metadata": {"a\0": 1}}, r"metadata.*NUL"),
    ({"metadata": {"a": "\ud800"}}, r"metadata.*'a'.*surrogate"),
    ({"metadata": DEEP}, r"metadata.*JSON"),
    ({"valid_from": NOW, "valid_until": NOW}, r"valid_from.*before valid_until"),
    ({"valid_from": NOW, "valid_until": before(1)}, r"valid_from.*before valid_until"),
]


@pytest.mark.parametrize(("fields", "message"), BAD, ids=_name)
def test_a_memory_that_cannot_be_stored_is_refused(
    shared_repo: MemoryRepository,
    shared_engine: Engine,
    agent: str,
    fields: dict[str, Any],
    message: str,
) -> None:
    bad = replace(GOOD, **fields)

    with pytest.raises(InvalidMemory, match=rf"^{message}") as alone:
        shared_repo.add(agent, bad)
    with pytest.raises(InvalidMemory, match=rf"^memory 2 of 4: {message}") as in_batch:
        shared_repo.add_many(agent, [GOOD, GOOD, bad, GOOD])

    assert type(alone.value) is type(in_batch.value) is InvalidMemory
    assert len(str(alone.value)) < 300
    assert stored(shared_engine, agent) == 0


@pytest.mark.parametrize("memory", [None, 7, {"content": "a"}, b"text"])
def test_what_is_no_memory_is_refused(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, memory: Any
) -> None:
    kind = type(memory).__name__

    with pytest.raises(InvalidMemory, match=rf"^a memory is a NewMemory or text, got {kind}"):
        shared_repo.add(agent, memory)
    with pytest.raises(InvalidMemory, match=rf"^memory 1 of 2: .*got {kind}"):
        shared_repo.add_many(agent, [GOOD, memory])

    assert stored(shared_engine, agent) == 0


@pytest.mark.parametrize("batch", ["text", GOOD, 7, None])
def test_what_is_no_batch_is_refused(
    shared_repo: MemoryRepository, shared_engine: Engine, agent: str, batch: Any
) -> None:
    with pytest.raises(InputError, match=type(batch).__name__):
        shared_repo.add_many(agent, batch)

    assert stored(shared_engine, agent) == 0


def test_a_refusal_in_the_asynchronous_repository_is_the_same(either: MemoryRepository) -> None:
    with pytest.raises(InvalidMemory, match="memory 1 of 2: importance"):
        either.add_many("agent", [GOOD, replace(GOOD, importance=2)])

    assert either.count("agent") == 0


@pytest.mark.parametrize("content", ["x" * 2_097_152, "🙂" * 524_288])
def test_the_largest_content_is_stored(
    shared_repo: MemoryRepository, agent: str, content: str
) -> None:
    another = f"{agent} through COPY"
    one = shared_repo.add(agent, content_of(content))
    [other] = shared_repo.add_many(another, [content_of(content)])

    found = [shared_repo.get(agent, one), shared_repo.get(another, other)]
    assert [memory.content == content for memory in found if memory] == [True, True]


def content_of(content: str) -> NewMemory:
    return NewMemory(content, embedding=None)


def test_metadata_may_be_deep_and_large(shared_repo: MemoryRepository, agent: str) -> None:
    metadata = {"deep": _deep(200), "large": "x" * 1_000_000, "number": 10**100, "float": 1e-300}

    ids = [shared_repo.add(agent, NewMemory("a", embedding=None, metadata=metadata))]
    ids += shared_repo.add_many(agent, [NewMemory("b", embedding=None, metadata=metadata)])

    found = [shared_repo.get(agent, memory_id) for memory_id in ids]
    assert [memory.metadata == metadata for memory in found if memory] == [True, True]
