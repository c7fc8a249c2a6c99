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


def test_trust_is_weighed_of_its_parts(mine: Owner) -> None:
    """By component, confidence and quality, and every combination of what was found."""
    named: dict[Any, Any] = {**REPUTATIONS, **dict.fromkeys(THE_ODD, 0.70)}
    memories = [
        plain(f"{name} {sure}", component=name, confidence=sure)
        for name, sure in product(named, (0.0, 0.37, 0.8, 1.0))
    ]
    memories += [
        plain(f"{n}", compliant=compliant, **dict(zip(FLAGS, flags, strict=True)))
        for n, (compliant, *flags) in enumerate(
            product((True, False, None), *[(False, True)] * len(FLAGS))
        )
    ]
    ids = mine.add_many(memories, check_compliance=False)

    found = mine.get_many(ids)
    for new, memory_id in zip(memories, ids, strict=True):
        assert_trusted(found[memory_id], expected_parts(new, named[new.component]))
    worst = min(memory.trust_governance for memory in found.values())
    assert worst == pytest.approx(0.3 * 0.8 * 0.7 * 0.5 * 0.8)
    usual = mine.read(mine.add(plain("tea")))
    assert usual.trust == pytest.approx(0.722)  # 0.3 · (0.6 · 0.70 + 0.4 · 0.8) + 0.25 · 0.8 + 0.3


def test_rows_of_a_batch_are_each_assessed_on_their_own(mine: Owner, add: Add) -> None:
    decay: dict[str, Any] = {"trust_curve": "linear", "trust_half_life_hours": 1.5}
    none = dict.fromkeys(("trust", "trust_curve", "trust_half_life_hours"))
    memories = [
        plain("computed", quality_score=0.13, confidence=0.41),
        plain("given", trust=0.1, trust_usage=0.2, tier="short", **decay),
        plain("unknown", component="hunter", **none),
        plain("part", trust_consensus=0.5, output_type="action", component="quorum"),
    ]

    ids, again = add(mine, memories, actor="Ines"), add(mine, memories)

    computed, given, unknown, part = (mine.read(memory_id) for memory_id in ids)
    parts = expected_parts(memories[0], 0.70)
    assert_trusted(computed, parts)
    assert (given.trust, given.trust_curve, given.trust_half_life_hours) == (0.1, "linear", 1.5)
    assert [getattr(given, name) for name in PARTS] == [None, None, None, 0.2]  # none is made up
    assert [getattr(unknown, name) for name in (*none, *PARTS)] == [None] * 7
    assert_trusted(part, expected_parts(memories[3], 0.92) | {"trust_consensus": 0.5})
    assert (part.trust_curve, part.trust_half_life_hours) == ("exponential", 72)
    trusts = [one.trust for one in (computed, given, unknown, part)]
    assert [one.trust for one in ids] == [one.trust for one in again] == trusts
    assert pickle.loads(pickle.dumps(ids[1])).trust == 0.1
    event = mine.event(ids[0], "initial")
    told = {name: event.new_values[name] for name in ("trust", *PARTS)}
    assert told == pytest.approx(parts | {"trust": weighed(parts)}, rel=1e-12)
    assert (event.actor, event.old_values) == ("Ines", {})


def test_each_output_type_has_its_decay_and_any_other_that_of_the_star(mine: Owner) -> None:
    types: dict[Any, Any] = {**HALF_LIVES, **dict.fromkeys(THE_ODD, ("hyperbolic", 168))}
    found = mine.get_many(mine.add_many([plain(f"{n!r}", output_type=n) for n in types])).values()
    curve = mine.read(mine.add(plain("c", output_type="action", trust_curve="linear")))
    hours = mine.read(mine.add(plain("h", output_type="action", trust_half_life_hours=5.5)))

    assert {m.output_type: (m.trust_curve, m.trust_half_life_hours) for m in found} == types
    assert (curve.trust_curve, curve.trust_half_life_hours) == ("linear", 72)
    assert (hours.trust_curve, hours.trust_half_life_hours) == ("exponential", 5.5)


def test_only_the_short_tier_expires_and_that_a_day_after_it_was_written(
    mine: Owner, add: Add
) -> None:
    old, day = datetime(2020, 1, 1, tzinfo=UTC), now(mine) + DAY
    expiries: dict[str, tuple[dict[str, Any], datetime | None]] = {
        "short": ({"tier": "short"}, day),
        "short and old": ({"tier": "short", "created_at": old}, day),
        "medium": ({"tier": "medium"}, None),
        "none": ({}, None),
        "never": ({"tier": "short", "expires_at": None}, None),
        "later": ({"tier": "short", "expires_at": day + 8 * DAY}, day + 8 * DAY),
    }

    ids = add(mine, [plain(text, **given) for text, (given, _) in expiries.items()])

    found = [mine.read(memory_id) for memory_id in ids]
    assert [m.expires_at for m in found] == [expires_at for _, expires_at in expiries.values()]
    assert [m.tier for m in found] == ["short", "short", "medium", "long", "short", "short"]


# Edited defaults


def test_edited_defaults_hold_for_what_is_written_then(mine: Owner) -> None:
    old = mine.add(plain("old", component="hunter"))
    types, tiers = "pgrecall.output_type_defaults", "pgrecall.tier_defaults"
    for edit in (
        "UPDATE pgrecall.component_reputations SET reputation = 0.1",
        "INSERT INTO pgrecall.component_reputations VALUES ('mine', 0.33), ('none', 0)",
        "INSERT INTO pgrecall.component_reputations VALUES ('tiny', 1e-100)",
        f"UPDATE {types} SET trust_half_life_hours = 9 WHERE output_type = 'action'",
        f"UPDATE {types} SET trust_curve = 'linear' WHERE output_type = '*'",
        f"INSERT INTO {types} VALUES ('mine', 'exponential', 0.5)",
        f"UPDATE {tiers} SET expires_after_hours = NULL WHERE tier = 'short'",
        f"UPDATE {tiers} SET expires_after_hours = 1.5 WHERE tier = 'long'",
        f"UPDATE {tiers} SET expires_after_hours = 240 WHERE tier = 'medium'",
        f"UPDATE {tiers} SET is_default = tier = 'short'",
    ):
        mine.sql(edit)
    named = {"hunter": 0.1, "mine": 0.33, "none": 0.0, "tiny": 1e-100, "other": 0.1, None: 0.1}
    for (name, reputation), sure in product(named.items(), (0, 1e-100)):
        new = plain(f"{name} {sure}", component=name, confidence=sure)
        assert_trusted(mine.read(mine.add(new)), expected_parts(new, reputation))
    assert_trusted(mine.read(old), expected_parts(plain("x", component="hunter"), 0.90))

    given: list[tuple[str, dict[str, Any]]] = [
        *(("action", {"tier": "short"}), ("mine", {"tier": "long"}), ("other", {}))
    ]
    ids = mine.add_many([plain(name, output_type=name, **tier) for name, tier in given])
    found = [mine.read(memory_id) for memory_id in ids]
    assert [(m.trust_curve, m.trust_half_life_hours) for m in found] == [
        *(("exponential", 9), ("exponential", 0.5), ("linear", 168))
    ]
    assert [(m.tier, m.expires_at) for m in found] == [
        *(("short", None), ("long", now(mine) + timedelta(hours=1.5)), ("short", None))
    ]
    mine.update(ids[1], tier="medium")
    assert mine.read(ids[1]).expires_at == now(mine) + 10 * DAY


def test_without_any_defaults_it_lasts_and_is_trusted_as_one_of_unknown_kind(mine: Owner) -> None:
    for table in ("component_reputations", "output_type_defaults", "tier_defaults"):
        mine.sql(f"DELETE FROM pgrecall.{table}")
    new = plain("named", component="hunter", output_type="action")

    memory = mine.read(mine.add(new))

    assert_trusted(memory, expected_parts(new, 0.70))
    assert (memory.tier, memory.expires_at) == ("long", None)
