"""The trust of a new memory, recomputed here, and the defaults that go with it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import Memory, NewMemory
from pgrecall.errors import NotCompliant
from pgrecall.memories.added import Added
from tests.integration.owner import Owner, plain

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
THE_ODD = ["Governance", "hunter ", "x ", "*", "NULL", "'; --", "%s", "🙂", "unheard of", None]
"""Names that are not in the tables of defaults."""
DAY = timedelta(hours=24)

Add = Callable[..., list[Added]]
WAYS: dict[str, Add] = {
    "add": lambda of, memories, **options: [of.add(memory, **options) for memory in memories],
    "add_many": lambda of, memories, **options: of.add_many(memories, **options),
    "one_by_one": lambda of, memories, **options: of.add_many(
        memories, near_duplicates=1.0, **options
    ),
}


@pytest.fixture(params=WAYS)
def add(request: pytest.FixtureRequest) -> Add:
    """Each way for memories to come in."""
    return WAYS[request.param]


@pytest.fixture
def mine(shared_engine: Engine, agent: str) -> Iterator[Owner]:
    """In a transaction in which the tables of defaults may be edited; it is rolled back."""
    with shared_engine.connect() as connection:
        yield Owner(connection, agent)
        connection.rollback()


def now(of: Owner) -> datetime:
    [found] = of.sql("SELECT now()")
    assert isinstance(found, datetime)
    return found


def expected_parts(memory: NewMemory, reputation: float) -> dict[str, float]:
    """Of a memory that comes with no part of its own."""
    quality = memory.quality_score
    governance = 0.3 if memory.compliant is False else 1.0
    for flag, factor in FLAGS.items():
        governance *= factor if getattr(memory, flag) else 1
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


def test_a_memory_with_all_defaults_by_hand(mine: Owner, add: Add) -> None:
    [memory_id] = add(mine, [plain("tea")])

    memory = mine.read(memory_id)
    assert memory.trust_provenance == pytest.approx(0.74)  # 0.6 · 0.70 + 0.4 · 0.8
    assert (memory.trust_consensus, memory.trust_governance) == (0.8, 1.0)
    assert memory.trust_usage == 0
    assert memory.trust == pytest.approx(0.722)  # 0.3 · 0.74 + 0.25 · 0.8 + 0.3 · 1


def test_each_component_has_its_reputation_and_any_other_seven_tenths(
    mine: Owner, add: Add
) -> None:
    named: dict[Any, Any] = {**REPUTATIONS, **dict.fromkeys(THE_ODD, 0.70)}
    memories = [
        plain(f"{name} {sure}", component=name, confidence=sure)
        for name, sure in product(named, (0.0, 0.37, 1.0))
    ]

    for new, memory_id in zip(memories, add(mine, memories), strict=True):
        assert_trusted(mine.read(memory_id), expected_parts(new, named[new.component]))


def test_governance_multiplies_what_was_found_in_every_combination(mine: Owner) -> None:
    several = product((True, False, None), *[(False, True)] * len(FLAGS))
    memories = [
        plain(f"{n}", compliant=compliant, **dict(zip(FLAGS, flags, strict=True)))
        for n, (compliant, *flags) in enumerate(several)
    ]
    assert len(memories) == 48

    ids = mine.add_many(memories, check_compliance=False)

    found = [mine.read(memory_id) for memory_id in ids]
    for new, memory in zip(memories, found, strict=True):
        assert_trusted(memory, expected_parts(new, 0.70))
    worst = min(memory.trust_governance or 0 for memory in found)
    assert worst == pytest.approx(0.3 * 0.8 * 0.7 * 0.5 * 0.8)


def test_rows_of_a_batch_are_each_assessed_on_their_own(mine: Owner, add: Add) -> None:
    decay: dict[str, Any] = {"trust_curve": "linear", "trust_half_life_hours": 1.5}
    none = dict.fromkeys(("trust", "trust_curve", "trust_half_life_hours"))
    memories = [
        plain("computed", quality_score=0.13, confidence=0.41),
        plain("given", trust=0.1, trust_usage=0.2, tier="short", **decay),
        plain("unknown", component="hunter", **none),
        plain("part", trust_consensus=0.5, output_type="action", component="quorum"),
    ]

    ids = add(mine, memories)

    computed, given, unknown, part = (mine.read(memory_id) for memory_id in ids)
    assert_trusted(computed, expected_parts(memories[0], 0.70))
    assert (given.trust, given.trust_curve, given.trust_half_life_hours) == (0.1, "linear", 1.5)
    parts = [getattr(given, name) for name in PARTS]
    assert parts == [None, None, None, 0.2]  # no part is made up
    assert [getattr(unknown, name) for name in (*none, *PARTS)] == [None] * 7
    assert_trusted(part, expected_parts(memories[3], 0.92) | {"trust_consensus": 0.5})
    assert (part.trust_curve, part.trust_half_life_hours) == ("exponential", 72)


def test_a_part_that_is_given_is_taken_as_it_is(mine: Owner) -> None:
    given: list[dict[str, Any]] = [
        *({part: 0.17} for part in PARTS),
        dict.fromkeys(PARTS, 1.0),  # no trust is larger than 1
        *(dict.fromkeys(PARTS, 0.0) | {"trust_provenance": tiny} for tiny in (1e-100, 5e-324)),
    ]
    for n, parts in enumerate(given):
        new = plain(f"{n}", component="hunter", **parts)

        memory = mine.read(mine.add(new))

        expected = expected_parts(new, 0.90) | parts
        found = {name: getattr(memory, name) for name in PARTS}
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-98)
        assert memory.trust == pytest.approx(weighed(expected), abs=1e-15)


def test_what_is_returned_has_the_trust(mine: Owner, add: Add) -> None:
    """Also of one that is there already; None where none is stored."""
    new = [plain("a", component="hunter"), plain("b", trust=None), plain("c", trust=0.25)]

    first, again = add(mine, new), add(mine, new)

    stored = [mine.read(memory_id).trust for memory_id in first]
    assert [one.trust for one in first] == stored == [one.trust for one in again]
    assert (stored[1], stored[2]) == (None, 0.25)
    assert pickle.loads(pickle.dumps(first[2])).trust == 0.25


def test_the_first_event_tells_of_the_trust_and_its_parts(mine: Owner, add: Add) -> None:
    new = plain("tea", component="causal", quality_score=0.4)

    [memory_id] = add(mine, [new], actor="Ines")

    [event] = mine.history(memory_id)
    parts = expected_parts(new, 0.85)
    told = {name: event.new_values[name] for name in ("trust", *PARTS)}
    assert told == pytest.approx(parts | {"trust": weighed(parts)}, rel=1e-12)
    assert (event.event_type, event.actor, event.old_values) == ("initial", "Ines", {})


# Compliance


def test_what_is_not_compliant_does_not_revive_or_replace_what_is_there(
    mine: Owner, add: Add
) -> None:
    tea = mine.add(plain("tea"))
    mine.invalidate(tea)
    before = mine.read(tea)

    with pytest.raises(NotCompliant, match="check_compliance=False"):
        add(mine, [plain("tea", compliant=False)], duplicates="replace")

    assert mine.read(tea) == before
    assert mine.kinds(tea) == ["initial", "forgotten"]
    flagged = plain("flags alone", **dict.fromkeys(FLAGS, True))
    assert add(mine, [flagged])[0].inserted


# Decay by output type


def test_each_output_type_has_its_curve_and_half_life_and_any_other_that_of_the_star(
    mine: Owner, add: Add
) -> None:
    types: dict[Any, Any] = {**HALF_LIVES, **dict.fromkeys(THE_ODD, ("hyperbolic", 168))}
    ids = add(mine, [plain(f"{name!r}", output_type=name) for name in types])

    found = [mine.read(memory_id) for memory_id in ids]
    assert {m.output_type: (m.trust_curve, m.trust_half_life_hours) for m in found} == types


def test_a_curve_or_half_life_that_is_given_stands(mine: Owner) -> None:
    curve = mine.read(mine.add(plain("c", output_type="action", trust_curve="linear")))
    hours = mine.read(mine.add(plain("h", output_type="action", trust_half_life_hours=5.5)))

    assert (curve.trust_curve, curve.trust_half_life_hours) == ("linear", 72)
    assert (hours.trust_curve, hours.trust_half_life_hours) == ("exponential", 5.5)


# Tiers


def test_only_the_short_tier_expires_and_that_a_day_after_it_was_written(
    mine: Owner, add: Add
) -> None:
    old = datetime(2020, 1, 1, tzinfo=UTC)
    memories = [
        plain("short", tier="short"),
        plain("short and old", tier="short", created_at=old),
        plain("medium", tier="medium"),
        plain("none"),
        *(plain(f"until {d}", tier="short", expires_at=d) for d in (None, now(mine) + 9 * DAY)),
    ]

    found = [mine.read(memory_id) for memory_id in add(mine, memories)]

    day = now(mine) + DAY
    assert [(memory.tier, memory.expires_at) for memory in found] == [
        *(("short", day), ("short", day), ("medium", None), ("long", None)),
        *(("short", None), ("short", day + 8 * DAY)),
    ]


# Edited defaults


def test_an_edited_reputation_holds_for_what_is_written_then(mine: Owner, add: Add) -> None:
    [old] = add(mine, [plain("old", component="hunter")])
    mine.sql("UPDATE pgrecall.component_reputations SET reputation = 0.1")
    mine.sql("INSERT INTO pgrecall.component_reputations VALUES ('mine', 0.33), ('none', 0)")
    named = {"hunter": 0.1, "mine": 0.33, "none": 0.0, "other": 0.1, None: 0.1}
    memories = [plain(f"{name}", component=name, confidence=0) for name in named]

    for new, memory_id in zip(memories, add(mine, memories), strict=True):
        assert_trusted(mine.read(memory_id), expected_parts(new, named[new.component]))
    assert_trusted(mine.read(old), expected_parts(plain("x", component="hunter"), 0.90))


@pytest.mark.parametrize(("reputation", "sure"), [(0.0, 1e-100), (1e-100, 0.0)])
def test_a_component_with_hardly_any_reputation_can_still_write(
    mine: Owner, reputation: float, sure: float
) -> None:
    mine.sql(f"UPDATE pgrecall.component_reputations SET reputation = {reputation}")
    new = plain("tea", component="hunter", confidence=sure)

    assert_trusted(mine.read(mine.add(new)), expected_parts(new, reputation))


def test_edited_half_lives_and_tiers_hold_for_what_is_written_then(mine: Owner, add: Add) -> None:
    types, tiers = "pgrecall.output_type_defaults", "pgrecall.tier_defaults"
    mine.sql(f"UPDATE {types} SET trust_half_life_hours = 9 WHERE output_type = 'action'")
    mine.sql(f"UPDATE {types} SET trust_curve = 'linear' WHERE output_type = '*'")
    mine.sql(f"INSERT INTO {types} VALUES ('mine', 'exponential', 0.5)")
    mine.sql(f"UPDATE {tiers} SET expires_after_hours = NULL WHERE tier = 'short'")
    mine.sql(f"UPDATE {tiers} SET expires_after_hours = 1.5 WHERE tier = 'long'")
    mine.sql(f"UPDATE {tiers} SET is_default = tier = 'short'")
    given = {"action": "short", "mine": "long", "other": None}
    memories = [
        plain(name, output_type=name, **({"tier": tier} if tier else {}))
        for name, tier in given.items()
    ]

    found = [mine.read(memory_id) for memory_id in add(mine, memories)]

    assert [(m.trust_curve, m.trust_half_life_hours) for m in found] == [
        *(("exponential", 9), ("exponential", 0.5), ("linear", 168))
    ]
    assert [(m.tier, m.expires_at) for m in found] == [
        *(("short", None), ("long", now(mine) + timedelta(hours=1.5)), ("short", None))
    ]


def test_without_any_defaults_a_memory_lasts_and_is_trusted_as_one_of_unknown_kind(
    mine: Owner, add: Add
) -> None:
    for table in ("component_reputations", "output_type_defaults", "tier_defaults"):
        mine.sql(f"DELETE FROM pgrecall.{table}")
    memories = [
        plain("named", component="hunter", tier="short"),
        plain("decays", output_type="action", trust=0.8),
    ]

    named, decays = add(mine, memories)

    assert_trusted(mine.read(named), expected_parts(memories[0], 0.70))
    assert [mine.read(one).tier for one in (named, decays)] == ["short", "long"]
    assert [mine.read(one).expires_at for one in (named, decays)] == [None, None]
    mine.touch(decays)
    later = mine.read(decays).last_accessed_at + timedelta(hours=168)  # type: ignore[operator]
    hits = mine.search(profile="trust", as_of=later, touch=False)
    [trust] = [hit.signals["trust"] for hit in hits if hit.memory.id == decays]
    assert trust == pytest.approx(0.4)
