"""System D's trust of a new memory, recomputed here, and the defaults that go with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, Engine, text

from pgrecall import Memory, MemoryRepository, NewMemory
from pgrecall.added import Added
from pgrecall.errors import InvalidMemory, NotCompliant
from tests.integration.support import NORTH

PARTS = ("trust_provenance", "trust_consensus", "trust_governance", "trust_usage")
REPUTATIONS = {
    "governance": 0.95,
    "parliament": 0.93,
    "quorum": 0.92,
    "hunter": 0.90,
    "specialist": 0.88,
    "reflection": 0.85,
    "causal": 0.85,
    "meta": 0.80,
    "temporal": 0.75,
}
HALF_LIVES = {
    "reasoning": ("hyperbolic", 7 * 24),
    "decision": ("hyperbolic", 5 * 24),
    "reflection": ("hyperbolic", 10 * 24),
    "action": ("exponential", 3 * 24),
    "prediction": ("exponential", 4 * 24),
    "observation": ("linear", 2 * 24),
    "generation": ("linear", 1 * 24),
}
FLAGS = {
    "requires_approval": 0.8,
    "has_errors": 0.7,
    "violates_policy": 0.5,
    "under_policy_review": 0.8,
}
THE_ODD = ["Governance", "hunter ", "", "*", "NULL", "'; --", "%s", "🙂", "unheard of", None]
"""Names that are not in the tables of defaults."""
DAY = timedelta(hours=24)

WAYS: dict[str, Callable[..., list[Added]]] = {
    "add": lambda repo, owner, memories, **options: [
        repo.add(owner, memory, **options) for memory in memories
    ],
    "add_many": lambda repo, owner, memories, **options: repo.add_many(owner, memories, **options),
    "one_by_one": lambda repo, owner, memories, **options: repo.add_many(
        owner, memories, near_duplicates=1.0, **options
    ),
}


@pytest.fixture(params=WAYS)
def add(request: pytest.FixtureRequest) -> Callable[..., list[Added]]:
    """Each way for memories to come in."""
    return WAYS[request.param]


@pytest.fixture
def connection(shared_engine: Engine) -> Iterator[Connection]:
    """A transaction in which the tables of defaults may be edited; it is rolled back."""
    with shared_engine.connect() as connection:
        yield connection
        connection.rollback()


def plain(content: str = "tea", **fields: Any) -> NewMemory:
    return NewMemory(content, embedding=None, **fields)


def read(repo: MemoryRepository, owner: str, memory_id: UUID) -> Memory:
    memory = repo.get(owner, memory_id)
    assert memory is not None
    return memory


def expected_parts(memory: NewMemory, reputation: float) -> dict[str, float]:
    """What system D says of a memory that comes with no part of its own."""
    quality = memory.quality_score
    governance = 0.3 if memory.compliant is False else 1.0
    for flag, factor in FLAGS.items():
        if getattr(memory, flag):
            governance *= factor
    return {
        "trust_provenance": reputation * 0.6 + memory.confidence * 0.4,
        "trust_consensus": memory.confidence if quality is None else quality,
        "trust_governance": governance,
        "trust_usage": 0.0,
    }


def weighed(parts: dict[str, float]) -> float:
    provenance, consensus, governance, usage = (parts[name] for name in PARTS)
    return (30 * provenance + 25 * consensus + 30 * governance + 15 * usage) / 100


def assert_trusted(memory: Memory, parts: dict[str, float]) -> None:
    found = {name: getattr(memory, name) for name in PARTS}
    assert found == pytest.approx(parts, rel=1e-12, abs=1e-15)
    assert memory.trust == pytest.approx(weighed(parts), rel=1e-12, abs=1e-15)


# The formulas


def test_a_memory_with_all_defaults_by_hand(
    either: MemoryRepository, add: Callable[..., list[Added]]
) -> None:
    [memory_id] = add(either, "agent", [plain()])

    memory = read(either, "agent", memory_id)
    assert memory.trust_provenance == pytest.approx(0.74)  # 0.6 · 0.70 + 0.4 · 0.8
    assert (memory.trust_consensus, memory.trust_governance) == (0.8, 1.0)
    assert memory.trust_usage == 0
    assert memory.trust == pytest.approx(0.722)  # 0.3 · 0.74 + 0.25 · 0.8 + 0.3 · 1


def test_the_governance_part_of_a_violation_is_three_tenths(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    [memory_id] = add(shared_repo, agent, [plain(compliant=False)], check_compliance=False)

    assert read(shared_repo, agent, memory_id).trust_governance == 0.3


def test_each_component_has_its_reputation(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    memories = [
        plain(f"{name} {sure}", component=name, confidence=sure)
        for name, sure in product(REPUTATIONS, (0.0, 0.37, 1.0))
    ]

    ids = add(shared_repo, agent, memories)

    for new, memory_id in zip(memories, ids, strict=True):
        reputation = REPUTATIONS[str(new.component)]
        assert_trusted(read(shared_repo, agent, memory_id), expected_parts(new, reputation))


def test_any_other_component_has_a_reputation_of_seven_tenths(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    memories = [plain(f"{n}", component=name) for n, name in enumerate(THE_ODD)]

    ids = add(shared_repo, agent, memories)

    for new, memory_id in zip(memories, ids, strict=True):
        assert_trusted(read(shared_repo, agent, memory_id), expected_parts(new, 0.70))


def test_governance_multiplies_what_was_found_in_every_combination(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    memories = [
        plain(f"{n}", compliant=compliant, **dict(zip(FLAGS, flags, strict=True)))
        for n, (compliant, *flags) in enumerate(
            product((True, False, None), *[(False, True)] * len(FLAGS))
        )
    ]
    assert len(memories) == 48

    ids = add(shared_repo, agent, memories, check_compliance=False)

    found = [read(shared_repo, agent, memory_id) for memory_id in ids]
    for new, memory in zip(memories, found, strict=True):
        assert_trusted(memory, expected_parts(new, 0.70))
    worst = min(memory.trust_governance or 0 for memory in found)
    assert worst == pytest.approx(0.3 * 0.8 * 0.7 * 0.5 * 0.8)


@pytest.mark.parametrize("quality", [0.0, 0.13, 1.0, None])
def test_consensus_is_the_quality_and_otherwise_the_confidence(
    shared_repo: MemoryRepository,
    agent: str,
    add: Callable[..., list[Added]],
    quality: float | None,
) -> None:
    new = plain(quality_score=quality, confidence=0.41)

    [memory_id] = add(shared_repo, agent, [new])

    memory = read(shared_repo, agent, memory_id)
    assert memory.trust_consensus == (0.41 if quality is None else quality)
    assert_trusted(memory, expected_parts(new, 0.70))


def test_the_largest_trust_is_that_of_parts_of_1(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    parts: dict[str, Any] = dict.fromkeys(PARTS, 1.0)

    [memory_id] = add(shared_repo, agent, [plain(**parts)])

    assert read(shared_repo, agent, memory_id).trust == 1


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_given_is_taken_as_it_is(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]], part: str
) -> None:
    given: dict[str, Any] = {part: 0.17}
    new = plain(component="hunter", **given)

    [memory_id] = add(shared_repo, agent, [new])

    parts = expected_parts(new, 0.90) | given
    assert_trusted(read(shared_repo, agent, memory_id), parts)


@pytest.mark.parametrize("trust", [0.0, 0.5, 1.0])
def test_trust_that_is_given_is_stored_and_no_part_is_made_up(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]], trust: float
) -> None:
    [memory_id] = add(shared_repo, agent, [plain(trust=trust, trust_usage=0.2)])

    memory = read(shared_repo, agent, memory_id)
    assert (memory.trust, memory.trust_usage) == (trust, 0.2)
    assert {memory.trust_provenance, memory.trust_consensus, memory.trust_governance} == {None}


def test_trust_that_is_given_as_none_was_never_assessed(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    [memory_id] = add(shared_repo, agent, [plain(trust=None, component="hunter")])

    memory = read(shared_repo, agent, memory_id)
    assert [memory.trust, *(getattr(memory, part) for part in PARTS)] == [None] * 5


@pytest.mark.parametrize("smallest", [1e-100, 1e-99, 5e-324])
def test_no_small_number_makes_trust_impossible_to_store(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]], smallest: float
) -> None:
    parts: dict[str, Any] = dict.fromkeys(PARTS, 0.0) | {"trust_provenance": smallest}

    [memory_id] = add(shared_repo, agent, [plain(**parts)])

    memory = read(shared_repo, agent, memory_id)
    assert memory.trust == pytest.approx(0, abs=1e-98)


def test_rows_of_a_batch_are_each_assessed_on_their_own(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    memories = [
        plain("computed"),
        plain("given", trust=0.1, tier="short", trust_curve="linear", trust_half_life_hours=1.5),
        plain("unknown", trust=None, trust_curve=None, trust_half_life_hours=None),
        plain("part", trust_consensus=0.5, output_type="action", component="quorum"),
    ]

    ids = add(shared_repo, agent, memories)

    computed, given, unknown, part = (read(shared_repo, agent, memory_id) for memory_id in ids)
    assert_trusted(computed, expected_parts(memories[0], 0.70))
    assert (given.trust, given.trust_curve, given.trust_half_life_hours) == (0.1, "linear", 1.5)
    assert (unknown.trust, unknown.trust_curve, unknown.trust_half_life_hours) == (None,) * 3
    assert_trusted(part, expected_parts(memories[3], 0.92) | {"trust_consensus": 0.5})
    assert (part.trust_curve, part.trust_half_life_hours) == ("exponential", 72)


def test_the_memories_of_teams_are_assessed_alike(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    new = plain(component="meta", has_errors=True, output_type="observation", tier="short")

    [memory_id] = add(shared_repo.teams, agent, [new])

    memory = read(shared_repo.teams, agent, memory_id)
    assert_trusted(memory, expected_parts(new, 0.80))
    assert (memory.trust_curve, memory.trust_half_life_hours) == ("linear", 48)
    assert memory.expires_at is not None


def test_the_first_event_tells_of_the_trust_and_its_parts(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    new = plain(component="causal", quality_score=0.4)

    [memory_id] = add(shared_repo, agent, [new], actor="Ines")

    [event] = shared_repo.history(agent, memory_id)
    parts = expected_parts(new, 0.85)
    told = {name: event.new_values[name] for name in ("trust", *PARTS)}
    assert told == pytest.approx(parts | {"trust": weighed(parts)}, rel=1e-12)
    assert (event.event_type, event.actor, event.old_values) == ("initial", "Ines", {})
    assert event.delta() is None


# Compliance


def test_a_memory_that_is_not_compliant_is_refused(
    either: MemoryRepository, add: Callable[..., list[Added]]
) -> None:
    with pytest.raises(NotCompliant, match="check_compliance=False"):
        add(either, "agent", [plain(compliant=False)])
    assert either.count("agent") == 0


@pytest.mark.parametrize("way", ["add_many", "one_by_one"])
def test_one_that_is_not_compliant_keeps_a_batch_out_and_is_named(
    shared_repo: MemoryRepository, agent: str, way: str
) -> None:
    batch = [plain("fine", compliant=True), plain("not", compliant=False), plain("unjudged")]

    with pytest.raises(NotCompliant, match="memory 1 of 3"):
        WAYS[way](shared_repo, agent, batch)
    assert shared_repo.count(agent) == 0


def test_what_is_not_compliant_does_not_revive_or_replace_what_is_there(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    tea = shared_repo.add(agent, plain())
    shared_repo.invalidate(agent, tea)
    before = read(shared_repo, agent, tea)

    with pytest.raises(NotCompliant):
        add(shared_repo, agent, [plain(compliant=False)], duplicates="replace")
    with pytest.raises(NotCompliant):
        shared_repo.supersede(agent, tea, plain("coffee", compliant=False))

    assert read(shared_repo, agent, tea) == before
    assert len(shared_repo.history(agent, tea)) == 2


def test_flags_alone_do_not_keep_a_memory_out(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    flags: dict[str, Any] = dict.fromkeys(FLAGS, True)

    [added] = add(shared_repo, agent, [plain(**flags)])

    assert added.inserted


# Decay by output type


def test_each_output_type_has_its_curve_and_half_life(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    ids = add(shared_repo, agent, [plain(name, output_type=name) for name in HALF_LIVES])

    found = [read(shared_repo, agent, memory_id) for memory_id in ids]
    decays = {m.output_type: (m.trust_curve, m.trust_half_life_hours) for m in found}
    assert decays == HALF_LIVES


def test_any_other_output_type_decays_hyperbolically_in_168_hours(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    ids = add(shared_repo, agent, [plain(f"{n}", output_type=t) for n, t in enumerate(THE_ODD)])

    found = [read(shared_repo, agent, memory_id) for memory_id in ids]
    assert {(m.trust_curve, m.trust_half_life_hours) for m in found} == {("hyperbolic", 168)}


def test_a_curve_or_half_life_that_is_given_stands(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    ids = add(
        shared_repo,
        agent,
        [
            plain("curve", output_type="action", trust_curve="linear"),
            plain("hours", output_type="action", trust_half_life_hours=5.5),
        ],
    )

    curve, hours = (read(shared_repo, agent, memory_id) for memory_id in ids)
    assert (curve.trust_curve, curve.trust_half_life_hours) == ("linear", 72)
    assert (hours.trust_curve, hours.trust_half_life_hours) == ("exponential", 5.5)


# Tiers


def test_only_the_short_tier_expires_and_that_after_a_day(
    connection: Connection, agent: str, add: Callable[..., list[Added]]
) -> None:
    repo = MemoryRepository(connection)
    now: datetime = connection.scalar(text("SELECT now()"))

    ids = add(repo, agent, [plain(tier, tier=tier) for tier in ("short", "medium", "long")])

    found = [read(repo, agent, memory_id) for memory_id in ids]
    assert [(memory.tier, memory.expires_at) for memory in found] == [
        ("short", now + DAY),
        ("medium", None),
        ("long", None),
    ]


def test_an_old_memory_expires_a_day_after_it_was_written(
    connection: Connection, agent: str, add: Callable[..., list[Added]]
) -> None:
    repo = MemoryRepository(connection)
    now: datetime = connection.scalar(text("SELECT now()"))
    old = plain(tier="short", created_at=datetime(2020, 1, 1, tzinfo=UTC))

    [memory_id] = add(repo, agent, [old])

    assert read(repo, agent, memory_id).expires_at == now + DAY


@pytest.mark.parametrize("expires_at", [None, datetime(2900, 1, 1, tzinfo=UTC)])
def test_an_expiry_that_is_given_stands(
    shared_repo: MemoryRepository,
    agent: str,
    add: Callable[..., list[Added]],
    expires_at: datetime | None,
) -> None:
    new = [plain(tier, tier=tier, expires_at=expires_at) for tier in ("short", "long")]

    ids = add(shared_repo, agent, new)

    assert {read(shared_repo, agent, each).expires_at for each in ids} == {expires_at}


def test_after_a_day_a_short_memory_is_not_recalled_any_longer(
    shared_repo: MemoryRepository, agent: str, add: Callable[..., list[Added]]
) -> None:
    [memory_id] = add(shared_repo, agent, [NewMemory("tea", embedding=NORTH, tier="short")])
    end = read(shared_repo, agent, memory_id).expires_at
    assert end is not None
    instant = timedelta(microseconds=1)

    until = shared_repo.search(agent, NORTH, touch=False, as_of=end - instant)
    after = shared_repo.search(agent, NORTH, touch=False, as_of=end)

    assert ([hit.memory.id for hit in until], after) == ([memory_id], [])


# Edited defaults


def test_an_edited_reputation_holds_for_what_is_written_then(
    connection: Connection, agent: str, add: Callable[..., list[Added]]
) -> None:
    repo = MemoryRepository(connection)
    [old] = add(repo, agent, [plain("old", component="hunter")])
    _run(connection, "UPDATE pgrecall.component_reputations SET reputation = 0.1")
    _run(connection, "INSERT INTO pgrecall.component_reputations VALUES ('mine', 0.33)")
    memories = [plain(f"{name}", component=name) for name in ("hunter", "mine", "other", None)]

    ids = add(repo, agent, memories)

    for new, memory_id, reputation in zip(memories, ids, (0.1, 0.33, 0.1, 0.1), strict=True):
        assert_trusted(read(repo, agent, memory_id), expected_parts(new, reputation))
    assert_trusted(read(repo, agent, old), expected_parts(plain(component="hunter"), 0.90))


@pytest.mark.parametrize(("reputation", "sure"), [(0.0, 0.0), (0.0, 1e-100), (1e-100, 0.0)])
def test_a_component_without_any_reputation_can_still_write(
    connection: Connection,
    agent: str,
    add: Callable[..., list[Added]],
    reputation: float,
    sure: float,
) -> None:
    _run(
        connection,
        "UPDATE pgrecall.component_reputations SET reputation = :value WHERE component = 'hunter'",
        value=reputation,
    )
    repo = MemoryRepository(connection)
    new = plain(component="hunter", confidence=sure)

    [memory_id] = add(repo, agent, [new])

    assert_trusted(read(repo, agent, memory_id), expected_parts(new, reputation))


def test_with_no_reputations_left_every_component_has_seven_tenths(
    connection: Connection, agent: str, add: Callable[..., list[Added]]
) -> None:
    _run(connection, "DELETE FROM pgrecall.component_reputations")
    repo = MemoryRepository(connection)
    memories = [plain(f"{name}", component=name) for name in ("hunter", None)]

    ids = add(repo, agent, memories)

    for new, memory_id in zip(memories, ids, strict=True):
        assert_trusted(read(repo, agent, memory_id), expected_parts(new, 0.70))


def test_an_edited_half_life_holds_for_what_is_written_then(
    connection: Connection, agent: str, add: Callable[..., list[Added]]
) -> None:
    table = "pgrecall.output_type_defaults"
    _run(connection, f"UPDATE {table} SET trust_half_life_hours = 9 WHERE output_type = 'action'")
    _run(connection, f"UPDATE {table} SET trust_curve = 'linear' WHERE output_type = '*'")
    _run(connection, f"INSERT INTO {table} VALUES ('mine', 'exponential', 0.5)")
    repo = MemoryRepository(connection)

    ids = add(repo, agent, [plain(name, output_type=name) for name in ("action", "mine", "other")])

    found = [read(repo, agent, memory_id) for memory_id in ids]
    assert [(memory.trust_curve, memory.trust_half_life_hours) for memory in found] == [
        ("exponential", 9),
        ("exponential", 0.5),
        ("linear", 168),
    ]


def test_with_no_half_lives_left_trust_decays_as_that_of_an_unknown_type(
    connection: Connection, agent: str, add: Callable[..., list[Added]]
) -> None:
    _run(connection, "DELETE FROM pgrecall.output_type_defaults")
    repo = MemoryRepository(connection)

    [memory_id] = add(repo, agent, [plain(output_type="action", trust=0.8)])
    repo.touch(agent, memory_id)

    memory = read(repo, agent, memory_id)
    assert memory.last_accessed_at is not None
    later = memory.last_accessed_at + timedelta(hours=168)
    [hit] = repo.search(agent, profile="trust", as_of=later, touch=False)
    assert hit.signals["trust"] == pytest.approx(0.4)


def test_short_can_be_made_the_tier_of_a_memory_that_names_none(
    connection: Connection, agent: str, add: Callable[..., list[Added]]
) -> None:
    _run(connection, "UPDATE pgrecall.tier_defaults SET is_default = tier = 'short'")
    repo = MemoryRepository(connection)
    now: datetime = connection.scalar(text("SELECT now()"))

    ids = add(repo, agent, [plain("none"), plain("never", expires_at=None)])

    none, never = (read(repo, agent, memory_id) for memory_id in ids)
    assert (none.tier, none.expires_at) == ("short", now + DAY)
    assert (never.tier, never.expires_at) == ("short", None)


def test_edited_expiries_hold_for_what_is_written_then(
    connection: Connection, agent: str, add: Callable[..., list[Added]]
) -> None:
    table = "pgrecall.tier_defaults"
    _run(connection, f"UPDATE {table} SET expires_after_hours = NULL WHERE tier = 'short'")
    _run(connection, f"UPDATE {table} SET expires_after_hours = 1.5 WHERE tier = 'long'")
    repo = MemoryRepository(connection)
    now: datetime = connection.scalar(text("SELECT now()"))

    ids = add(repo, agent, [plain("short", tier="short"), plain("long", tier="long")])

    found = [read(repo, agent, memory_id).expires_at for memory_id in ids]
    assert found == [None, now + timedelta(hours=1.5)]


def test_with_no_tiers_left_a_memory_is_meant_to_last(
    connection: Connection, agent: str, add: Callable[..., list[Added]]
) -> None:
    _run(connection, "DELETE FROM pgrecall.tier_defaults")
    repo = MemoryRepository(connection)

    ids = add(repo, agent, [plain("none"), plain("short", tier="short")])

    found = [read(repo, agent, memory_id) for memory_id in ids]
    assert [(memory.tier, memory.expires_at) for memory in found] == [
        ("long", None),
        ("short", None),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"trust": 1.01},
        {"trust": float("nan")},
        {"trust_usage": -0.1},
        {"quality_score": "high"},
        {"compliant": 1},
        {"has_errors": None},
        {"trust_curve": "sigmoid"},
        {"trust_half_life_hours": 0},
        {"trust_half_life_hours": float("inf")},
        {"tier": "eternal"},
        {"tier": None},
        {"component": "a\0b"},
        {"output_type": 5},
    ],
    ids=str,
)
def test_a_field_that_decides_on_trust_is_checked(
    shared_repo: MemoryRepository,
    agent: str,
    add: Callable[..., list[Added]],
    fields: dict[str, Any],
) -> None:
    with pytest.raises(InvalidMemory, match=next(iter(fields))):
        add(shared_repo, agent, [plain(**fields)])


def _run(connection: Connection, statement: str, **parameters: Any) -> None:
    connection.execute(text(statement), parameters)
