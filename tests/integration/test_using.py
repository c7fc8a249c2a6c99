"""Outcomes, manual changes of trust, feedback and the history they leave, recomputed here."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, func, select

from pgrecall import Memory, MemoryRepository, NewMemory
from pgrecall.errors import InputError, InvalidMemory, MemoryNotFound, UnknownName
from pgrecall.event import Event
from tests.integration.conftest import Transaction
from tests.integration.support import shown, sql

PARTS = ("trust_provenance", "trust_consensus", "trust_governance", "trust_usage")
VOTES = {"useful": (1, 0), "not_useful": (0, 1), "outdated": (0, 1), "incorrect": (0, 3)}
HOSTILE = ["'; DROP TABLE x; --", "%s :name $1 {0}", '"\\n\\', "🙂 \u202e e\u0301", "tab\t\x01\n"]


def remembered(repo: MemoryRepository, owner: str, **fields: Any) -> UUID:
    return repo.add(owner, NewMemory("tea", embedding=None, **fields))


def read(repo: MemoryRepository, owner: str, memory_id: UUID) -> Memory:
    memory = repo.get(owner, memory_id)
    assert memory is not None
    return memory


@dataclass
class Use:
    """What system D says of a memory in use."""

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


def test_the_first_success_adds_a_twentieth_over_one_point_one(either: MemoryRepository) -> None:
    memory_id = remembered(either, "agent", trust=0.78)

    memory = either.record_outcome("agent", memory_id, "success")

    assert memory.trust == pytest.approx(0.78 + 0.05 / 1.1, abs=1e-15)
    assert memory == either.get("agent", memory_id)


def test_the_first_failure_takes_eight_hundredths_over_one_point_oh_five(
    either: MemoryRepository,
) -> None:
    memory_id = remembered(either, "agent", trust=0.78)

    memory = either.record_outcome("agent", memory_id, "failure")

    assert memory.trust == pytest.approx(0.78 - 0.08 / 1.05, abs=1e-15)


SEQUENCES = {
    "only successes": "s" * 20,
    "only failures": "f" * 12,
    "alternating": "sf" * 8,
    "exactly four of five": "ssssfssssf" + "ssssf" * 3,
    "from above four of five to it": "s" * 12 + "f" * 5,
    "five failures then successes": "f" * 3 + "s" * 16,
}


@pytest.mark.parametrize("trust", [0.0, 0.78, 0.99])
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_trust_follows_each_outcome(
    shared_repo: MemoryRepository, agent: str, sequence: str, trust: float
) -> None:
    memory_id = remembered(shared_repo, agent, trust=trust)
    use = Use(trust)

    for letter in SEQUENCES[sequence]:
        outcome = "success" if letter == "s" else "failure"
        use.record(outcome)
        assert_used(shared_repo.record_outcome(agent, memory_id, outcome), use)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(4))
def test_trust_follows_any_order_of_outcomes_and_retrievals(
    shared_repo: MemoryRepository, agent: str, seed: int
) -> None:
    chance = random.Random(seed)
    good = 0.6 + seed / 10
    use = Use(chance.random())
    memory_id = remembered(shared_repo, agent, trust=use.trust)

    for _ in range(40):
        if chance.random() < 0.2:
            shared_repo.touch(agent, memory_id)
            use.access += 1
        outcome = "success" if chance.random() < good else "failure"
        touch = chance.random() < 0.5
        use.record(outcome, touch=touch)
        memory = shared_repo.record_outcome(agent, memory_id, outcome, touch=touch)  # type: ignore[arg-type]
        assert_used(memory, use)


@pytest.mark.parametrize(
    ("retrievals", "successes", "failures", "bonus"),
    [(5, 0, 0, 0.0), (6, 0, 0, 0.02), (9, 3, 1, 0.0), (9, 4, 1, 0.02), (5, 9, 0, 0.0)],
)
def test_two_hundredths_more_from_six_retrievals_and_over_four_of_five_on(
    shared_repo: MemoryRepository,
    shared_engine: Engine,
    agent: str,
    retrievals: int,
    successes: int,
    failures: int,
    bonus: float,
) -> None:
    memory_id = remembered(shared_repo, agent, trust=0.5)
    sql(
        shared_engine,
        "INSERT INTO pgrecall.memory_usage "
        "(agent_id, memory_id, retrieval_count, success_count, failure_count) "
        "VALUES (:agent, :id, :retrievals, :successes, :failures)",
        agent=agent,
        id=memory_id,
        retrievals=retrievals,
        successes=successes,
        failures=failures,
    )

    memory = shared_repo.record_outcome(agent, memory_id, "success", touch=False)

    change = 0.05 / (1 + 0.1 * (successes + 1)) + bonus
    assert memory.trust == pytest.approx(0.5 + change, abs=1e-12)


def test_a_failure_too_gets_the_bonus_while_the_rate_is_over_four_of_five(
    shared_repo: MemoryRepository, agent: str
) -> None:
    memory_id = remembered(shared_repo, agent, trust=0.2)
    for _ in range(9):
        before = shared_repo.record_outcome(agent, memory_id, "success").trust

    after = shared_repo.record_outcome(agent, memory_id, "failure").trust  # 9 of 10

    assert before is not None
    assert after == pytest.approx(before - 0.08 / 1.05 + 0.02, abs=1e-12)


def test_trust_stays_between_0_and_1_and_moves_on_from_there(
    shared_repo: MemoryRepository, agent: str
) -> None:
    high = remembered(shared_repo, agent, trust=0.99)
    low = shared_repo.add(agent, NewMemory("coffee", embedding=None, trust=0.01))

    top = [shared_repo.record_outcome(agent, high, "success").trust for _ in range(3)]
    bottom = [shared_repo.record_outcome(agent, low, "failure").trust for _ in range(3)]

    assert (top, bottom) == ([1, 1, 1], [0, 0, 0])
    down = shared_repo.record_outcome(agent, high, "failure")
    up = shared_repo.record_outcome(agent, low, "success")
    assert down.trust == pytest.approx(1 - 0.08 / 1.05)
    assert up.trust == pytest.approx(0.05 / 1.1)


def test_an_outcome_counts_as_a_retrieval_now(shared_engine: Engine, agent: str) -> None:
    with shared_engine.begin() as connection:
        repo = MemoryRepository(connection)
        memory_id = remembered(repo, agent)

        memory = repo.record_outcome(agent, memory_id, "failure")

        now = connection.scalar(select(func.now()))
    assert (memory.retrieval_count, memory.last_accessed_at) == (1, now)


def test_without_touch_an_outcome_is_no_retrieval_but_a_use(either: MemoryRepository) -> None:
    memory_id = remembered(either, "agent")

    fresh = either.record_outcome("agent", memory_id, "success", touch=False)
    either.touch("agent", memory_id)
    accessed = read(either, "agent", memory_id).last_accessed_at
    again = either.record_outcome("agent", memory_id, "success", touch=False)

    assert (fresh.retrieval_count, again.retrieval_count) == (0, 1)
    assert fresh.last_accessed_at is not None
    assert again.last_accessed_at is not None
    assert accessed is not None
    assert fresh.last_accessed_at < accessed < again.last_accessed_at
    assert again.trust_usage == pytest.approx(0.7 + 0.3 / 20)


def test_the_usage_part_is_stored_and_the_others_stay(
    shared_repo: MemoryRepository, agent: str
) -> None:
    memory_id = remembered(shared_repo, agent)
    before = read(shared_repo, agent, memory_id)

    after = shared_repo.record_outcome(agent, memory_id, "success")

    assert before.trust is not None
    assert before.trust_usage == 0
    assert after.trust_usage == pytest.approx(0.7 + 0.3 / 20)
    assert after.trust == pytest.approx(before.trust + 0.05 / 1.1)
    assert after == replace(
        before,
        **{name: getattr(after, name) for name in ("trust", "trust_usage", "updated_at")},
        **{name: getattr(after, name) for name in ("last_accessed_at",)},
        retrieval_count=1,
        success_count=1,
    )


@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_trust_never_assessed_stays_so_while_use_is_counted(
    either: MemoryRepository, outcome: Any
) -> None:
    memory_id = remembered(either, "agent", trust=None)

    memory = either.record_outcome("agent", memory_id, outcome)

    assert memory.trust is None
    assert memory.trust_usage == pytest.approx((0.7 if outcome == "success" else 0) + 0.3 / 20)
    assert memory.success_count + memory.failure_count == 1
    assert either.history("agent", memory_id)[-1].delta() is None


# Manual changes of trust


@pytest.mark.parametrize(
    ("trust", "delta", "after"),
    [
        (0.5, 0.25, 0.75),
        (0.5, -0.125, 0.375),
        (0.9, 0.2, 1.0),
        (0.1, -0.2, 0.0),
        (0.5, 1, 1.0),
        (0.5, -1, 0.0),
        (0.5, 0, 0.5),
        (0.5, 1e-300, 0.5),
        (0.0, 1e-300, 0.0),
    ],
)
def test_a_manual_change_is_added_and_stays_between_0_and_1(
    shared_repo: MemoryRepository, agent: str, trust: float, delta: float, after: float
) -> None:
    memory_id = remembered(shared_repo, agent, trust=trust)
    before = read(shared_repo, agent, memory_id)

    memory = shared_repo.adjust_trust(agent, memory_id, delta, "reviewed", "Ines")

    assert memory == replace(before, trust=after, updated_at=memory.updated_at)
    event = shared_repo.history(agent, memory_id)[-1]
    assert (event.event_type, event.reason, event.actor) == ("manual", "reviewed", "Ines")
    parts = {part: getattr(before, part) for part in PARTS}
    assert event.old_values == {"trust": trust, **parts}
    assert event.new_values == {"trust": after, **parts}
    assert event.delta() == pytest.approx(after - trust)


def test_trust_never_assessed_cannot_be_changed_by_hand(either: MemoryRepository) -> None:
    memory_id = remembered(either, "agent", trust=None)
    before = read(either, "agent", memory_id)

    with pytest.raises(InvalidMemory, match="never assessed"):
        either.adjust_trust("agent", memory_id, 0.1, "reason", "actor")

    assert read(either, "agent", memory_id) == before
    assert len(either.history("agent", memory_id)) == 1


# Feedback


@pytest.mark.parametrize("kind", VOTES)
def test_the_first_feedback_by_hand(either: MemoryRepository, kind: Any) -> None:
    memory_id = remembered(either, "agent")
    before = read(either, "agent", memory_id)

    memory = either.feedback("agent", memory_id, kind)

    up, down = VOTES[kind]
    expected = {"useful": 2 / 3, "not_useful": 1 / 3, "outdated": 1 / 3, "incorrect": 1 / 5}[kind]
    assert memory.usefulness == pytest.approx(expected, abs=1e-15)
    assert memory == replace(
        before,
        usefulness=memory.usefulness,
        needs_review=kind == "outdated",
        feedback_up=up,
        feedback_down=down,
        updated_at=memory.updated_at,
    )


@pytest.mark.parametrize("initial", [0.0, 0.13, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(2))
def test_usefulness_is_the_posterior_mean_of_all_feedback(
    shared_repo: MemoryRepository, agent: str, initial: float, seed: int
) -> None:
    chance = random.Random(seed)
    memory_id = remembered(shared_repo, agent, usefulness=initial)
    ups = downs = 0

    for _ in range(20):
        kind: Any = chance.choice(["useful", "useful", *VOTES])
        up, down = VOTES[kind]
        ups, downs = ups + up, downs + down
        memory = shared_repo.feedback(agent, memory_id, kind)
        mean = (2 * initial + ups) / (2 + ups + downs)
        assert memory.usefulness == pytest.approx(mean, abs=1e-12)
        assert (memory.feedback_up, memory.feedback_down) == (ups, downs)


@pytest.mark.parametrize("smallest", [1e-100, 1e-80, 1e-79, 0.0])
def test_no_usefulness_is_too_small_for_feedback(
    shared_repo: MemoryRepository, agent: str, smallest: float
) -> None:
    memory_id = remembered(shared_repo, agent, usefulness=smallest)

    for _ in range(30):
        low = shared_repo.feedback(agent, memory_id, "incorrect")
    high = shared_repo.feedback(agent, memory_id, "useful")

    assert low.usefulness == pytest.approx(0, abs=1e-79)
    assert high.usefulness == pytest.approx(1 / 93)


def test_outdated_marks_for_review_and_no_other_feedback_takes_the_mark_away(
    shared_repo: MemoryRepository, agent: str
) -> None:
    memory_id = remembered(shared_repo, agent)

    marks = [
        shared_repo.feedback(agent, memory_id, kind).needs_review
        for kind in ("useful", "not_useful", "incorrect", "outdated", "useful", "incorrect")
    ]

    assert marks == [False, False, False, True, True, True]


def test_feedback_leaves_trust_and_retrievals_alone(
    shared_repo: MemoryRepository, agent: str
) -> None:
    memory_id = remembered(shared_repo, agent)
    shared_repo.record_outcome(agent, memory_id, "success")
    before = read(shared_repo, agent, memory_id)

    after = shared_repo.feedback(agent, memory_id, "incorrect")

    same = ("trust", *PARTS, "retrieval_count", "last_accessed_at", "success_count")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]


def test_feedback_is_noted_with_its_kind_context_and_values(either: MemoryRepository) -> None:
    memory_id = remembered(either, "agent")

    either.feedback(
        "agent", memory_id, "outdated", "moved in May", actor="Kai", metadata={"run": 7}
    )

    event = either.history("agent", memory_id)[-1]
    assert (event.event_type, event.reason, event.actor) == ("feedback", "moved in May", "Kai")
    assert event.metadata == {"kind": "outdated", "run": 7}
    assert event.old_values == {"usefulness": 0.5, "needs_review": False}
    assert event.new_values["usefulness"] == pytest.approx(1 / 3)
    assert event.new_values["needs_review"] is True
    assert (event.new_values["feedback_up"], event.new_values["feedback_down"]) == (0, 1)
    assert event.delta("usefulness") == pytest.approx(1 / 3 - 1 / 2)
    assert event.delta() is None


def test_the_callers_own_fields_do_not_hide_the_kind_of_feedback(
    shared_repo: MemoryRepository, agent: str
) -> None:
    memory_id = remembered(shared_repo, agent)

    shared_repo.feedback(agent, memory_id, "useful", metadata={"kind": "incorrect"})

    assert shared_repo.history(agent, memory_id)[-1].metadata["kind"] == "useful"


# History


def test_history_tells_every_change_in_order(either: MemoryRepository) -> None:
    memory_id = remembered(either, "agent", trust=0.5)
    either.record_outcome("agent", memory_id, "success", reason="it worked", actor="tool")
    either.record_outcome("agent", memory_id, "failure", metadata={"code": [1, None]})
    either.adjust_trust("agent", memory_id, 0.1, "by hand", "Ines", metadata={"ticket": "T-1"})
    either.feedback("agent", memory_id, "useful")
    either.touch("agent", memory_id)
    either.update("agent", memory_id, trust=0.3)

    events = either.history("agent", memory_id)

    assert [event.event_type for event in events] == [
        *("initial", "reinforcement", "penalty", "manual", "feedback", "updated")
    ]
    assert _told(events, "reason") == [None, "it worked", None, "by hand", None, None]
    assert _told(events, "actor") == [None, "tool", None, "Ines", None, None]
    assert [event.metadata for event in events[:4]] == [
        *({}, {}, {"code": [1, None]}, {"ticket": "T-1"})
    ]
    assert {event.memory_id for event in events} == {memory_id}
    moments = [event.occurred_at for event in events]
    assert moments == sorted(set(moments))
    assert all(isinstance(event, Event) for event in events)


def test_the_changes_of_trust_in_a_history_join_up(
    shared_repo: MemoryRepository, agent: str
) -> None:
    memory_id = remembered(shared_repo, agent)
    chance = random.Random(1)
    for _ in range(20):
        outcome: Any = chance.choice(["success", "failure"])
        shared_repo.record_outcome(agent, memory_id, outcome)
        shared_repo.adjust_trust(agent, memory_id, chance.uniform(-0.1, 0.1), "reason", "actor")

    first, *events = shared_repo.history(agent, memory_id)

    trust = first.new_values["trust"]
    for event in events:
        assert event.old_values["trust"] == trust
        trust = event.new_values["trust"]
        assert event.delta() == pytest.approx(trust - event.old_values["trust"])
    assert trust == read(shared_repo, agent, memory_id).trust
    assert len(events) == 40


def test_an_outcome_notes_the_usage_part_and_the_counters(
    shared_repo: MemoryRepository, agent: str
) -> None:
    memory_id = remembered(shared_repo, agent, trust=0.5, trust_usage=0.1)

    shared_repo.record_outcome(agent, memory_id, "success")

    event = shared_repo.history(agent, memory_id)[-1]
    others = {part: None for part in PARTS if part != "trust_usage"}
    assert event.old_values == {"trust": 0.5, "trust_usage": 0.1, **others}
    assert event.delta() == pytest.approx(0.05 / 1.1)
    assert event.delta("trust_usage") == pytest.approx(0.7 + 0.3 / 20 - 0.1)
    counters = ("success_count", "failure_count", "retrieval_count")
    assert [event.new_values[name] for name in counters] == [1, 0, 1]


@pytest.mark.parametrize("part", PARTS)
def test_a_change_of_each_part_of_trust_is_told(
    shared_repo: MemoryRepository, agent: str, part: str
) -> None:
    memory_id = remembered(shared_repo, agent, **{part: 0.25})

    changes: dict[str, Any] = {part: 0.75, "reason": "audit", "actor": "Ines"}
    shared_repo.update(agent, memory_id, **changes)

    event = shared_repo.history(agent, memory_id)[-1]
    assert (event.delta(part), event.delta(), event.reason) == (0.5, None, "audit")


def test_the_history_of_a_deleted_memory_stays(either: MemoryRepository) -> None:
    memory_id = remembered(either, "agent", trust=0.5)
    either.record_outcome("agent", memory_id, "failure")
    either.delete("agent", memory_id, reason="asked for", actor="Ines")

    events = either.history("agent", memory_id)

    assert [event.event_type for event in events] == ["initial", "penalty", "deleted"]
    assert (events[-1].reason, events[-1].actor) == ("asked for", "Ines")
    assert "tea" not in str([event.record() for event in events])


def test_nothing_happened_to_an_unknown_memory(either: MemoryRepository) -> None:
    memory_id = remembered(either, "agent")

    assert either.history("agent", uuid4()) == []
    assert either.history("another", memory_id) == []


def test_an_event_as_a_record_is_json(shared_repo: MemoryRepository, agent: str) -> None:
    memory_id = remembered(
        shared_repo, agent, trust=0.5, expires_at=datetime(2900, 1, 1, tzinfo=UTC)
    )
    shared_repo.adjust_trust(agent, memory_id, 0.25, "reason", "actor", metadata={"a": None})

    event = shared_repo.history(agent, memory_id)[-1]

    assert event.record() == {
        "id": str(event.id),
        "memory_id": str(memory_id),
        "event_type": "manual",
        "reason": "reason",
        "actor": "actor",
        "old_values": {"trust": 0.5, **dict.fromkeys(PARTS)},
        "new_values": {"trust": 0.75, **dict.fromkeys(PARTS)},
        "trust_delta": 0.25,
        "metadata": {"a": None},
        "occurred_at": event.occurred_at.isoformat(),
    }


# Whose memory, and what is handed in

Act = Callable[..., Memory]
ACTS: dict[str, Act] = {
    "record_outcome": lambda repo, owner, memory_id, **more: repo.record_outcome(
        owner, memory_id, "success", **{"reason": "r", "actor": "a", **more}
    ),
    "adjust_trust": lambda repo, owner, memory_id, **more: repo.adjust_trust(
        owner, memory_id, 0.1, **{"reason": "r", "actor": "a", **more}
    ),
    "feedback": lambda repo, owner, memory_id, **more: repo.feedback(
        owner, memory_id, "useful", more.pop("reason", "r"), **{"actor": "a", **more}
    ),
}


@pytest.fixture(params=ACTS)
def act(request: pytest.FixtureRequest) -> Act:
    """Each way in which use is recorded."""
    return ACTS[request.param]


def test_a_memory_that_is_not_there_cannot_be_used(either: MemoryRepository, act: Act) -> None:
    hers = remembered(either, "another")

    with pytest.raises(MemoryNotFound, match="agent"):
        act(either, "agent", uuid4())
    with pytest.raises(MemoryNotFound, match=str(hers)):
        act(either, "agent", hers)

    assert len(either.history("another", hers)) == 1


def test_what_is_not_there_leaves_no_counter_and_no_event(
    repo: MemoryRepository, engine: Engine, act: Act
) -> None:
    with pytest.raises(MemoryNotFound):
        act(repo, "agent", uuid4())

    assert sql(engine, "SELECT * FROM pgrecall.memory_usage") == []
    assert sql(engine, "SELECT * FROM pgrecall.memory_events") == []


def test_only_the_memory_that_is_named_changes(
    shared_repo: MemoryRepository, agent: str, act: Act
) -> None:
    memory_id = remembered(shared_repo, agent)
    mine = shared_repo.add(agent, NewMemory("other", embedding=None))
    hers = shared_repo.add(f"{agent} other", NewMemory("hers", id=memory_id, embedding=None))
    others = [(agent, mine), (f"{agent} other", hers)]
    before = [read(shared_repo, *other) for other in others]

    act(shared_repo, agent, memory_id)

    assert [read(shared_repo, *other) for other in others] == before
    assert [len(shared_repo.history(*other)) for other in others] == [1, 1]


def test_the_memories_of_teams_are_used_alike(
    shared_repo: MemoryRepository, agent: str, act: Act
) -> None:
    teams = shared_repo.teams
    mine, theirs = remembered(shared_repo, agent), remembered(teams, agent)

    memory = act(teams, agent, theirs)
    act(shared_repo, agent, mine)

    assert (memory.team_id, memory.agent_id, memory.id) == (agent, None, theirs)
    counted = [
        (one.trust, one.usefulness, one.success_count, one.feedback_up)
        for one in (memory, read(shared_repo, agent, mine))
    ]
    assert counted[0] == counted[1]
    assert len(teams.history(agent, theirs)) == 2
    with pytest.raises(MemoryNotFound):
        act(teams, agent, mine)


def test_a_memory_that_is_not_recalled_any_longer_can_still_be_judged(
    shared_repo: MemoryRepository, agent: str, act: Act
) -> None:
    memory_id = remembered(shared_repo, agent)
    shared_repo.invalidate(agent, memory_id)

    assert act(shared_repo, agent, memory_id).invalidated_at is not None


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "rollback"])
def test_use_belongs_to_the_callers_transaction(
    transaction: Transaction, repo: MemoryRepository, act: Act, commit: bool
) -> None:
    memory_id = remembered(repo, "agent", trust=0.5)
    before = read(repo, "agent", memory_id)

    inside = transaction(lambda mine: act(mine, "agent", memory_id), commit=commit)

    assert inside != before
    assert read(repo, "agent", memory_id) == (inside if commit else before)
    assert len(repo.history("agent", memory_id)) == (2 if commit else 1)


def test_an_unknown_memory_leaves_the_callers_transaction_usable(
    transaction: Transaction, repo: MemoryRepository, act: Act
) -> None:
    memory_id = remembered(repo, "agent")

    def work(mine: MemoryRepository) -> None:
        with pytest.raises(MemoryNotFound):
            act(mine, "agent", uuid4())
        act(mine, "agent", memory_id)

    transaction(work, commit=True)

    assert len(repo.history("agent", memory_id)) == 2


def test_several_uses_in_one_transaction_keep_their_order(
    shared_engine: Engine, agent: str
) -> None:
    use = Use(0.5)
    with shared_engine.begin() as connection:
        repo = MemoryRepository(connection)
        memory_id = remembered(repo, agent, trust=0.5)
        for n in range(12):
            outcome: Any = "failure" if n % 7 == 3 else "success"
            use.record(outcome)
            repo.record_outcome(agent, memory_id, outcome, reason=f"{n}")
        events = repo.history(agent, memory_id)
        memory = read(repo, agent, memory_id)

    assert_used(memory, use)
    assert [event.reason for event in events[1:]] == [f"{n}" for n in range(12)]


@pytest.mark.parametrize("hostile", [*HOSTILE, "long " * 20_000], ids=lambda text: f"{text!a:.12}")
def test_reasons_actors_and_metadata_are_kept_verbatim(
    shared_repo: MemoryRepository, agent: str, act: Act, hostile: str
) -> None:
    memory_id = remembered(shared_repo, agent)
    metadata = {hostile: [hostile, {"deep": hostile}]}

    act(shared_repo, agent, memory_id, reason=hostile, actor=hostile[:200], metadata=metadata)

    event = shared_repo.history(agent, memory_id)[-1]
    assert (event.reason, event.actor) == (hostile, hostile[:200])
    assert event.metadata[hostile] == metadata[hostile]


@pytest.mark.parametrize(
    "more",
    [
        {"reason": "a\0b"},
        {"reason": "\ud800"},
        {"reason": 5},
        {"actor": ""},
        {"actor": "a" * 201},
        {"actor": "a\0b"},
        {"actor": b"bytes"},
        {"metadata": "text"},
        {"metadata": []},
        {"metadata": [["a", 1]]},
        {"metadata": 0},
        {"metadata": {1: "a"}},
        {"metadata": {"a": "b\0"}},
        {"metadata": {"a": float("nan")}},
        {"metadata": {"a": object()}},
        {"metadata": {"a": "\udfff"}},
    ],
    ids=lambda value: ascii(shown(value)),
)
def test_what_cannot_be_noted_is_refused(
    shared_repo: MemoryRepository, agent: str, act: Act, more: dict[str, Any]
) -> None:
    memory_id = remembered(shared_repo, agent)
    before = read(shared_repo, agent, memory_id)

    with pytest.raises(InputError):
        act(shared_repo, agent, memory_id, **more)
    assert read(shared_repo, agent, memory_id) == before


@pytest.mark.parametrize(
    "memory_id", ["text", None, 5, str(uuid4()), []], ids=["text", "None", "5", "its text", "[]"]
)
def test_an_id_that_is_none_is_refused(
    shared_repo: MemoryRepository, agent: str, act: Act, memory_id: Any
) -> None:
    with pytest.raises(InputError):
        act(shared_repo, agent, memory_id)
    with pytest.raises(InputError):
        shared_repo.history(agent, memory_id)


@pytest.mark.parametrize("owner", ["", None, 5, "a\0b", "a" * 201])
def test_an_owner_that_is_none_is_refused(
    shared_repo: MemoryRepository, act: Act, owner: Any
) -> None:
    with pytest.raises(InputError):
        act(shared_repo, owner, uuid4())
    with pytest.raises(InputError):
        shared_repo.history(owner, uuid4())


@pytest.mark.parametrize("value", ["Success", "", "useful", None, True, 1, ["success"], {}])
def test_an_outcome_or_feedback_that_is_none_is_refused(
    shared_repo: MemoryRepository, agent: str, value: Any
) -> None:
    memory_id = remembered(shared_repo, agent)

    with pytest.raises(UnknownName, match="success, failure"):
        shared_repo.record_outcome(agent, memory_id, value)
    if value != "useful":
        with pytest.raises(UnknownName, match="useful, not_useful, outdated, incorrect"):
            shared_repo.feedback(agent, memory_id, value)
    assert len(shared_repo.history(agent, memory_id)) == 1


@pytest.mark.parametrize("touch", [None, 1, "yes"])
def test_touch_is_true_or_false(shared_repo: MemoryRepository, agent: str, touch: Any) -> None:
    with pytest.raises(InputError, match="touch"):
        shared_repo.record_outcome(agent, uuid4(), "success", touch=touch)


@pytest.mark.parametrize(
    "delta",
    [
        1.000001,
        -1.000001,
        float("nan"),
        float("inf"),
        "0.1",
        None,
        True,
        10**400,
        -(10**400),
        [],
        1j,
    ],
    ids=lambda delta: f"{delta!s:.12}",
)
def test_a_change_of_trust_that_is_none_is_refused(
    shared_repo: MemoryRepository, agent: str, delta: Any
) -> None:
    memory_id = remembered(shared_repo, agent)

    with pytest.raises(InputError, match="delta"):
        shared_repo.adjust_trust(agent, memory_id, delta, "reason", "actor")
    assert len(shared_repo.history(agent, memory_id)) == 1


@pytest.mark.parametrize(("reason", "actor"), [("", "a"), ("r", ""), (None, "a"), ("r", None)])
def test_a_manual_change_of_trust_needs_a_reason_and_an_actor(
    shared_repo: MemoryRepository, agent: str, reason: Any, actor: Any
) -> None:
    memory_id = remembered(shared_repo, agent)

    with pytest.raises(InputError, match=r"reason|actor"):
        shared_repo.adjust_trust(agent, memory_id, 0.1, reason, actor)
    assert len(shared_repo.history(agent, memory_id)) == 1


def _told(events: Sequence[Event], name: str) -> list[Any]:
    return [getattr(event, name) for event in events]
