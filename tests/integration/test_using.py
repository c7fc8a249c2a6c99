"""Outcomes, manual changes of trust, feedback and the history they leave, recomputed here."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, func, select

from pgrecall import Memory
from tests.integration.owner import Owner, plain

PARTS = ("trust_provenance", "trust_consensus", "trust_governance", "trust_usage")
COUNTED = ("success_count", "failure_count", "retrieval_count")
VOTES = {"useful": (1, 0), "not_useful": (0, 1), "outdated": (0, 1), "incorrect": (0, 3)}


@dataclass
class Use:
    """What a memory in use is worth, recomputed."""

    trust: float | None
    success: int = 0
    failure: int = 0
    access: int = 0

    def record(self, outcome: str, *, touch: bool = True) -> None:
        self.access += touch
        if outcome == "success":
            self.success += 1
            change = 0.05 / (1 + self.success / 10)
        else:
            self.failure += 1
            change = -0.08 / (1 + self.failure / 20)
        if self.access > 5 and 5 * self.success > 4 * (self.success + self.failure):
            change += 0.02
        if self.trust is not None:
            self.trust = min(1.0, max(0.0, self.trust + change))

    @property
    def usage(self) -> float:
        return 0.7 * self.success / (self.success + self.failure) + 0.3 * min(self.access / 20, 1)


STEPS: dict[str, dict[str, Any]] = {
    "s": {"outcome": "success"},
    "f": {"outcome": "failure"},
    "S": {"outcome": "success", "touch": False},
    "F": {"outcome": "failure", "touch": False},
    "t": {},
}
"""Outcomes, those that are no retrieval, and retrievals."""


@pytest.mark.parametrize(
    ("trust", "steps"),
    [
        *((0.722, "s"), (0.722, "f"), (None, "stSf")),
        *((0.0, "s" * 20), (0.99, "f" * 12), (0.78, "sf" * 8)),
        *((0.78, "f" * 3 + "s" * 16), (0.1, "s" * 12 + "f" * 5)),  # to four of five from above
        (0.2, "ssssfssssf" + "ssssf" * 3),  # exactly four of five
        # Two hundredths more from six retrievals and over four of five on.
        *((0.5, "tttttS"), (0.5, "ttttttS"), (0.5, "tttttSSSSSSSSSS")),
        *((0.5, "tttttttttSSSFS"), (0.5, "tttttttttSSSSFS")),
        (0.5, "".join(random.Random(2).choices("stSF", (5, 2, 5, 1), k=40))),
    ],
)
def test_trust_follows_outcomes_and_retrievals_and_nothing_else_changes(
    mine: Owner, trust: float | None, steps: str
) -> None:
    memory_id, use = mine.add(plain("tea", trust=trust)), Use(trust)
    memory: Memory = mine.read(memory_id)

    for letter in steps:
        before, step = memory, STEPS[letter]
        if not step:
            assert mine.touch(memory_id) == 1
            use.access += 1
            memory = mine.read(memory_id)
        else:
            use.record(**step)
            memory = mine.record_outcome(memory_id, **step)
        moved: dict[str, Any] = {
            "trust": None if use.trust is None else pytest.approx(use.trust, abs=1e-12),
            "trust_usage": pytest.approx(use.usage, abs=1e-12) if step else before.trust_usage,
            "last_accessed_at": memory.last_accessed_at,
            "updated_at": memory.updated_at,
        }
        counted: dict[str, Any] = dict(
            zip(COUNTED, (use.success, use.failure, use.access), strict=True)
        )
        assert memory == replace(before, **moved, **counted)
        assert memory.last_accessed_at is not None
        assert before.last_accessed_at is None or before.last_accessed_at < memory.last_accessed_at
    assert memory == mine.read(memory_id)


def test_several_uses_in_one_transaction_keep_their_order(
    shared_engine: Engine, mine: Owner
) -> None:
    use = Use(0.5)
    with shared_engine.begin() as connection:
        inside = mine.within(connection)
        memory_id = inside.add(plain("tea", trust=0.5))
        now = connection.scalar(select(func.now()))
        for n in range(12):
            outcome = "failure" if n % 7 == 3 else "success"
            use.record(outcome)
            inside.record_outcome(memory_id, outcome, reason=f"{n}")
        events = inside.history(memory_id)

    memory = mine.read(memory_id)
    assert memory.trust == pytest.approx(use.trust, abs=1e-12)
    assert memory.last_accessed_at == now
    assert [event.reason for event in events[1:]] == [f"{n}" for n in range(12)]


@pytest.mark.parametrize(
    ("usefulness", "kinds"),
    [
        *((0.5, [kind]) for kind in VOTES),
        (0.5, ["useful", "not_useful", "incorrect", "outdated", "useful", "outdated", "incorrect"]),
        *((first, random.Random(1).choices([*VOTES], k=20)) for first in (0.0, 0.13, 1.0)),
        *((tiny, ["incorrect"] * 30 + ["useful"]) for tiny in (1e-100, 1e-79)),
    ],
)
def test_usefulness_is_the_posterior_mean_of_all_feedback(
    mine: Owner, usefulness: float, kinds: list[str]
) -> None:
    """What is outdated moves down a tier and is to be reviewed, but does not expire."""
    memory_id = mine.add(plain("tea", usefulness=usefulness))
    memory: Memory = mine.read(memory_id)
    ups = downs = 0

    for kind in kinds:
        before, outdated = memory, kind == "outdated"
        ups, downs = ups + VOTES[kind][0], downs + VOTES[kind][1]
        memory = mine.feedback(memory_id, kind)
        tier = {"long": "medium"}.get(before.tier, "short") if outdated else before.tier
        moved: dict[str, Any] = {
            "usefulness": pytest.approx((2 * usefulness + ups) / (2 + ups + downs), abs=1e-12),
            "updated_at": memory.updated_at,
        }
        votes: dict[str, Any] = {"feedback_up": ups, "feedback_down": downs, "tier": tier}
        review = before.needs_review or outdated
        assert memory == replace(before, **moved, **votes, needs_review=review)


def test_history_tells_every_change_in_order(mine: Owner) -> None:
    parts = dict.fromkeys(PARTS, 0.25) | {"trust_usage": 0.1}
    memory_id = mine.add(plain("tea", trust=0.5, **parts))
    mine.record_outcome(memory_id, "success", reason="it worked", actor="tool")
    mine.record_outcome(memory_id, "failure", metadata={"code": [1, None]})
    mine.adjust_trust(memory_id, 0.1, "by hand", "Ines", metadata={"ticket": "T-1"})
    note: dict[str, Any] = {"query": "where?", "metadata": {"run": 7, "kind": "incorrect"}}
    mine.feedback(memory_id, "outdated", "moved in May", actor="Kai", **note)
    mine.touch(memory_id)
    mine.update(memory_id, trust=0.3, **dict.fromkeys(PARTS[:3], 0.75), reason="audit")
    mine.delete(memory_id, reason="asked for", actor="Ines")

    events = mine.history(memory_id)

    assert [(event.event_type, event.reason, event.actor) for event in events] == [
        ("initial", None, None),
        ("reinforcement", "it worked", "tool"),
        ("penalty", None, None),
        ("manual", "by hand", "Ines"),
        ("feedback", "moved in May", "Kai"),
        ("updated", "audit", None),
        ("deleted", "asked for", "Ines"),
    ]
    _, success, failure, manual, feedback, update, _ = events
    told = [event.metadata for event in events[:5]]
    voted = {"kind": "outdated", "run": 7, "query": "where?"}
    assert told == [{}, {}, {"code": [1, None]}, {"ticket": "T-1"}, voted]
    assert success.old_values == {"trust": 0.5, **parts}
    assert success.delta("trust_usage") == pytest.approx(0.7 + 0.3 / 20 - 0.1)
    assert [[event.new_values[name] for name in COUNTED] for event in (success, failure)] == [
        *([1, 0, 1], [1, 1, 2])
    ]
    assert feedback.old_values == {"usefulness": 0.5, "needs_review": False, "tier": "long"}
    assert feedback.new_values == {
        "usefulness": pytest.approx(1 / 3),
        "needs_review": True,
        "tier": "medium",
        "feedback_up": 0,
        "feedback_down": 1,
    }
    assert (feedback.delta("usefulness"), feedback.delta()) == (pytest.approx(-1 / 6), None)
    assert [update.delta(part) for part in PARTS] == [0.5, 0.5, 0.5, None]
    assert {event.memory_id for event in events} == {memory_id}
    moments = [event.occurred_at for event in events]
    assert moments == sorted(set(moments))
    names = ("event_type", "reason", "actor", "old_values", "new_values", "metadata")
    assert manual.record() == {
        "id": str(manual.id),
        "memory_id": str(memory_id),
        "trust_delta": pytest.approx(0.1),
        "occurred_at": moments[3].isoformat(),
        **{name: getattr(manual, name) for name in names},
    }
    assert "tea" not in str([event.record() for event in events])
    assert mine.history(uuid4()) == mine.other.history(memory_id) == []


Change = Callable[[Owner, UUID, str | None], Any]
CHANGES: dict[str, Change] = {
    "record_outcome": lambda mine, id_, key: mine.record_outcome(id_, "failure", key=key),
    "feedback": lambda mine, id_, key: mine.feedback(id_, "useful", key=key),
    "touch": lambda mine, id_, key: mine.touch([id_], key=key),
}
each_change = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


def counts(mine: Owner, memory_id: UUID) -> list[int]:
    memory = mine.read(memory_id)
    return [memory.retrieval_count, memory.failure_count, memory.feedback_up]


@each_change
def test_what_is_repeated_under_the_callers_key_counts_once(mine: Owner, change: Change) -> None:
    memory_id = mine.add(plain("tea", trust=0.5))
    first = change(mine, memory_id, "a key")
    once, events = counts(mine, memory_id), mine.history(memory_id)

    assert change(mine, memory_id, "a key") == first
    assert (counts(mine, memory_id), mine.history(memory_id)) == (once, events)

    change(mine, memory_id, "another")
    assert counts(mine, memory_id) == [2 * number for number in once]
    change(mine, memory_id, None)
    assert counts(mine, memory_id) == [3 * number for number in once]


@each_change
def test_of_many_at_once_under_one_key_one_counts(mine: Owner, change: Change) -> None:
    memory_id = mine.add(plain("tea", trust=0.5))
    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(change, mine, memory_id, "a key") for _ in range(8)]
        [one.result() for one in done]

    assert max(counts(mine, memory_id)) == 1


def test_a_touch_counts_those_that_it_did_not_count_before(mine: Owner) -> None:
    ids = [mine.add(plain(text)) for text in ("tea", "milk")]
    assert mine.touch(ids[:1], key="a key") == 1

    assert mine.touch(ids, key="a key") == 2
    assert [counts(mine, one)[0] for one in ids] == [1, 1]
    assert mine.event(ids[1], "retrieved").new_values == {}
