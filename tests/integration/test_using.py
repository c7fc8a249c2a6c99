"""Outcomes, manual changes of trust, feedback and the history they leave, recomputed here."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine, func, select

from pgrecall import Memory
from pgrecall.errors import InvalidMemory
from pgrecall.lifecycle.event import Event
from tests.integration.owner import Owner, north, plain
from tests.integration.support import NORTH

PARTS = ("trust_provenance", "trust_consensus", "trust_governance", "trust_usage")
VOTES = {"useful": (1, 0), "not_useful": (0, 1), "outdated": (0, 1), "incorrect": (0, 3)}


@dataclass
class Use:
    """What a memory in use is worth, recomputed."""

    trust: float
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
        self.trust = min(1.0, max(0.0, self.trust + change))

    @property
    def usage(self) -> float:
        return 0.7 * self.success / (self.success + self.failure) + 0.3 * min(self.access / 20, 1)


def assert_used(memory: Memory, use: Use) -> None:
    assert memory.trust == pytest.approx(use.trust, abs=1e-12)
    assert memory.trust_usage == pytest.approx(use.usage, abs=1e-12)
    counted = (memory.success_count, memory.failure_count, memory.retrieval_count)
    assert counted == (use.success, use.failure, use.access)


# Outcomes


@pytest.mark.parametrize(
    ("outcome", "change"), [("success", 0.05 / 1.1), ("failure", -0.08 / 1.05)]
)
def test_the_first_outcome_by_hand(mine: Owner, outcome: str, change: float) -> None:
    memory_id = mine.add(plain("tea"))
    before = mine.read(memory_id)
    assert before.trust_usage == 0

    after = mine.record_outcome(memory_id, outcome)

    assert before.trust is not None
    assert after == mine.read(memory_id)
    assert after.trust == pytest.approx(before.trust + change, abs=1e-15)
    assert after.trust_usage == pytest.approx((0.7 if outcome == "success" else 0) + 0.3 / 20)
    moved = {name: getattr(after, name) for name in ("trust", "trust_usage", "last_accessed_at")}
    counted = {f"{outcome}_count": 1, "retrieval_count": 1, "updated_at": after.updated_at}
    assert after == replace(before, **moved, **counted)


@pytest.mark.parametrize(
    ("trust", "outcomes"),
    [
        (0.0, "s" * 20),
        (0.99, "f" * 12),
        (0.78, "sf" * 8),
        (0.2, "ssssfssssf" + "ssssf" * 3),  # exactly four of five
        (0.1, "s" * 12 + "f" * 5),  # from above four of five to it
        (0.78, "f" * 3 + "s" * 16),
    ],
)
def test_trust_follows_each_outcome(mine: Owner, outcomes: str, trust: float) -> None:
    memory_id = mine.add(plain("tea", trust=trust))
    use = Use(trust)

    for letter in outcomes:
        outcome = "success" if letter == "s" else "failure"
        use.record(outcome)
        assert_used(mine.record_outcome(memory_id, outcome), use)


def test_trust_follows_any_order_of_outcomes_and_retrievals(mine: Owner) -> None:
    chance = random.Random(2)
    use = Use(chance.random())
    memory_id = mine.add(plain("tea", trust=use.trust))

    for _ in range(40):
        if chance.random() < 0.2:
            mine.touch(memory_id)
            use.access += 1
        outcome = "success" if chance.random() < 0.85 else "failure"
        touch = chance.random() < 0.5
        use.record(outcome, touch=touch)
        assert_used(mine.record_outcome(memory_id, outcome, touch=touch), use)


@pytest.mark.parametrize(
    ("retrievals", "successes", "failures", "bonus"),
    [(5, 0, 0, 0.0), (6, 0, 0, 0.02), (9, 3, 1, 0.0), (9, 4, 1, 0.02), (5, 9, 0, 0.0)],
)
def test_two_hundredths_more_from_six_retrievals_and_over_four_of_five_on(
    mine: Owner, retrievals: int, successes: int, failures: int, bonus: float
) -> None:
    memory_id = mine.add(plain("tea", trust=0.5))
    columns = "agent_id, memory_id, retrieval_count, success_count, failure_count"
    mine.sql(
        f"INSERT INTO pgrecall.memory_usage ({columns}) VALUES (:agent, :id, :r, :s, :f)",
        id=memory_id,
        r=retrievals,
        s=successes,
        f=failures,
    )

    memory = mine.record_outcome(memory_id, "success", touch=False)

    change = 0.05 / (1 + 0.1 * (successes + 1)) + bonus
    assert memory.trust == pytest.approx(0.5 + change, abs=1e-12)


def test_without_touch_an_outcome_is_no_retrieval_but_a_use(mine: Owner) -> None:
    memory_id = mine.add(plain("tea"))

    fresh = mine.record_outcome(memory_id, "success", touch=False)
    mine.touch(memory_id)
    accessed = mine.read(memory_id).last_accessed_at
    again = mine.record_outcome(memory_id, "success", touch=False)

    assert (fresh.retrieval_count, again.retrieval_count) == (0, 1)
    assert fresh.last_accessed_at < accessed < again.last_accessed_at


def test_trust_never_assessed_stays_so_while_use_is_counted(mine: Owner) -> None:
    memory_id = mine.add(plain("tea", trust=None))

    memory = mine.record_outcome(memory_id, "success")

    assert (memory.trust, memory.success_count) == (None, 1)
    assert memory.trust_usage == pytest.approx(0.7 + 0.3 / 20)
    assert mine.history(memory_id)[-1].delta() is None


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
        assert_used(inside.read(memory_id), use)

    assert mine.read(memory_id).last_accessed_at == now
    assert [event.reason for event in events[1:]] == [f"{n}" for n in range(12)]


# Manual changes of trust


@pytest.mark.parametrize(
    ("trust", "delta", "after"),
    [
        (0.5, 0.25, 0.75),
        (0.5, -0.125, 0.375),
        (0.9, 0.2, 1.0),
        (0.1, -0.2, 0.0),
        (0.5, 1, 1.0),
        (0.5, 1e-300, 0.5),
        (0.0, 1e-300, 0.0),
    ],
)
def test_a_manual_change_is_added_and_stays_between_0_and_1(
    mine: Owner, trust: float, delta: float, after: float
) -> None:
    memory_id = mine.add(plain("tea", trust=trust))
    before = mine.read(memory_id)

    memory = mine.upkeep.adjust_trust(memory_id, delta, "reviewed", "Ines")

    assert memory == replace(before, trust=after, updated_at=memory.updated_at)
    event = mine.history(memory_id)[-1]
    assert (event.event_type, event.reason, event.actor) == ("manual", "reviewed", "Ines")
    parts = {part: getattr(before, part) for part in PARTS}
    assert (event.old_values, event.new_values) == (
        {"trust": trust} | parts,
        parts | {"trust": after},
    )
    assert event.delta() == pytest.approx(after - trust)


def test_trust_never_assessed_cannot_be_changed_by_hand(mine: Owner) -> None:
    memory_id = mine.add(plain("tea", trust=None))
    stored = mine.everything()

    with pytest.raises(InvalidMemory, match="never assessed"):
        mine.upkeep.adjust_trust(memory_id, 0.1, "reason", "actor")

    assert mine.everything() == stored


# Feedback


@pytest.mark.parametrize(
    ("kind", "usefulness"),
    [("useful", 2 / 3), ("not_useful", 1 / 3), ("outdated", 1 / 3), ("incorrect", 1 / 5)],
)
def test_the_first_feedback_by_hand(mine: Owner, kind: str, usefulness: float) -> None:
    memory_id = mine.add(plain("tea"))
    before = mine.read(memory_id)

    memory = mine.feedback(memory_id, kind)

    assert memory.usefulness == pytest.approx(usefulness, abs=1e-15)
    up, down = VOTES[kind]
    votes: dict[str, Any] = {
        "feedback_up": up,
        "feedback_down": down,
        "needs_review": kind == "outdated",
        "tier": "medium" if kind == "outdated" else "long",
    }
    moved = {"usefulness": memory.usefulness, "updated_at": memory.updated_at}
    assert memory == replace(before, **votes, **moved)


@pytest.mark.parametrize("initial", [0.0, 0.13, 0.5, 1.0])
def test_usefulness_is_the_posterior_mean_of_all_feedback(mine: Owner, initial: float) -> None:
    chance = random.Random(1)
    memory_id = mine.add(plain("tea", usefulness=initial))
    ups = downs = 0

    for _ in range(20):
        kind = chance.choice(["useful", "useful", *VOTES])
        up, down = VOTES[kind]
        ups, downs = ups + up, downs + down
        memory = mine.feedback(memory_id, kind)
        mean = (2 * initial + ups) / (2 + ups + downs)
        assert memory.usefulness == pytest.approx(mean, abs=1e-12)
        assert (memory.feedback_up, memory.feedback_down) == (ups, downs)


@pytest.mark.parametrize("smallest", [1e-100, 1e-79])
def test_no_usefulness_is_too_small_for_feedback(mine: Owner, smallest: float) -> None:
    memory_id = mine.add(plain("tea", usefulness=smallest))

    for _ in range(30):
        low = mine.feedback(memory_id, "incorrect")

    assert low.usefulness == pytest.approx(0, abs=1e-79)
    assert mine.feedback(memory_id, "useful").usefulness == pytest.approx(1 / 93)


def test_no_other_feedback_takes_the_mark_for_review_away(mine: Owner) -> None:
    memory_id = mine.add(plain("tea"))

    kinds = ("useful", "not_useful", "incorrect", "outdated", "useful", "incorrect")
    marks = [mine.feedback(memory_id, kind).needs_review for kind in kinds]

    assert marks == [False, False, False, True, True, True]


def test_what_is_outdated_decays_faster_but_does_not_expire(mine: Owner) -> None:
    memory_id = mine.add(north("tea", created_at=datetime.now(UTC) - timedelta(days=7)))
    asked: dict[str, Any] = {"profile": "tiered", "weights": {"recency": 1.0}, "touch": False}

    seen = []
    for _ in range(4):
        [hit] = mine.search(NORTH, **asked)
        seen.append((hit.memory.tier, hit.score, hit.memory.expires_at))
        mine.feedback(memory_id, "outdated")

    decays = [("long", 2 ** (-7 / 90)), ("medium", 0.5), *[("short", 2**-28)] * 2]
    assert seen == [(tier, pytest.approx(score, rel=1e-4), None) for tier, score in decays]


def test_feedback_is_noted_with_its_kind_context_and_values(mine: Owner) -> None:
    memory_id = mine.add(plain("tea"))

    note: dict[str, Any] = {"actor": "Kai", "metadata": {"run": 7, "kind": "incorrect"}}
    mine.feedback(memory_id, "outdated", "moved in May", query="where?", **note)

    event = mine.history(memory_id)[-1]
    assert (event.event_type, event.reason, event.actor) == ("feedback", "moved in May", "Kai")
    assert event.metadata == {"kind": "outdated", "run": 7, "query": "where?"}
    assert event.old_values == {"usefulness": 0.5, "needs_review": False, "tier": "long"}
    assert event.new_values == {
        "usefulness": pytest.approx(1 / 3),
        "needs_review": True,
        "tier": "medium",
        "feedback_up": 0,
        "feedback_down": 1,
    }
    assert event.delta("usefulness") == pytest.approx(1 / 3 - 1 / 2)
    assert event.delta() is None


# History


def test_history_tells_every_change_in_order(mine: Owner) -> None:
    memory_id = mine.add(plain("tea", trust=0.5))
    mine.record_outcome(memory_id, "success", reason="it worked", actor="tool")
    mine.record_outcome(memory_id, "failure", metadata={"code": [1, None]})
    mine.upkeep.adjust_trust(memory_id, 0.1, "by hand", "Ines", metadata={"ticket": "T-1"})
    mine.feedback(memory_id, "useful")
    mine.touch(memory_id)
    mine.update(memory_id, trust=0.3)
    mine.delete(memory_id, reason="asked for", actor="Ines")

    events: list[Event] = mine.history(memory_id)

    assert [(event.event_type, event.reason, event.actor) for event in events] == [
        ("initial", None, None),
        ("reinforcement", "it worked", "tool"),
        ("penalty", None, None),
        ("manual", "by hand", "Ines"),
        ("feedback", None, None),
        ("updated", None, None),
        ("deleted", "asked for", "Ines"),
    ]
    told = [event.metadata for event in events[:4]]
    assert told == [{}, {}, {"code": [1, None]}, {"ticket": "T-1"}]
    assert {event.memory_id for event in events} == {memory_id}
    moments = [event.occurred_at for event in events]
    assert moments == sorted(set(moments))
    assert events[3].record() == {
        "id": str(events[3].id),
        "memory_id": str(memory_id),
        "trust_delta": pytest.approx(0.1),
        "occurred_at": moments[3].isoformat(),
        **{name: getattr(events[3], name) for name in ("event_type", "reason", "actor")},
        **{name: getattr(events[3], name) for name in ("old_values", "new_values", "metadata")},
    }
    assert "tea" not in str([event.record() for event in events])
    assert mine.history(uuid4()) == mine.other.history(memory_id) == []


def test_an_outcome_notes_the_usage_part_and_the_counters(mine: Owner) -> None:
    memory_id = mine.add(plain("tea", trust=0.5, trust_usage=0.1))

    mine.record_outcome(memory_id, "success")

    event = mine.history(memory_id)[-1]
    others = {part: None for part in PARTS if part != "trust_usage"}
    assert event.old_values == {"trust": 0.5, "trust_usage": 0.1, **others}
    assert event.delta("trust_usage") == pytest.approx(0.7 + 0.3 / 20 - 0.1)
    counters = ("success_count", "failure_count", "retrieval_count")
    assert [event.new_values[name] for name in counters] == [1, 0, 1]


def test_a_change_of_each_part_of_trust_is_told(mine: Owner) -> None:
    memory_id = mine.add(plain("tea", **dict.fromkeys(PARTS, 0.25)))
    for part in PARTS:
        mine.update(memory_id, reason="audit", actor="Ines", **{part: 0.75})

        event = mine.history(memory_id)[-1]
        assert (event.delta(part), event.delta(), event.reason) == (0.5, None, "audit")


# Which memory


def test_only_the_memory_that_is_named_changes_whether_it_is_recalled_or_not(mine: Owner) -> None:
    memory_id, another = mine.add(plain("tea")), mine.add(plain("milk"))
    of_others = [(of, of.add(plain("tea", id=memory_id))) for of in (mine.other, mine.team)]
    others = [(mine, another), *of_others]
    before = [(of.read(one), of.kinds(one)) for of, one in others]
    mine.invalidate(memory_id)

    mine.record_outcome(memory_id, "success")
    mine.upkeep.adjust_trust(memory_id, 0.1, "r", "a")
    assert mine.feedback(memory_id, "useful").invalidated_at is not None

    assert [(of.read(one), of.kinds(one)) for of, one in others] == before
    assert mine.kinds(memory_id)[2:] == ["reinforcement", "manual", "feedback"]
