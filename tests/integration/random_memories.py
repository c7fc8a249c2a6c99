"""Memories drawn from a seed: the same ones in every process and version of Python.

Only `random()` of `random.Random` is used, which never changes. Vectors have small whole numbers,
whose products pgvector sums without rounding.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from pgrecall.scoring.signals import Curve
from tests.conftest import DIMENSIONS
from tests.integration.support import NOW

T = TypeVar("T")

ADA, BOB, TEAMS = "ada", "bob", ("red", "blue")
"""Ada's memories and those of the teams have an age at now(), Bob's have a date."""
SIZES = {ADA: 150, BOB: 110, "red": 80, "blue": 60}

TYPES = ("fact", "episodic", "task", "preference")
FURTHER_TYPES = ("recipe", "chore")
TIERS = ("short", "medium", "long")
STATUSES = ("active", "pending", "consolidated", "completed", "archived")
TAGS = ("home", "work", "urgent", "kind:plan", "%s")
ENTITIES = ("Ann Lee", "Bob", "Zoë", "Acme Corp", "Lisbon", "C++", "Captain Nemo", "Katarina")
SUBJECTS = ("Ann Lee", "kitchen", "budget", "Captain Nemo", "Katarina")
ALIASES = {"Annie": "Ann Lee", "the firm": "Acme Corp", "Lisboa": "Lisbon", "the cook": "kitchen"}
SAID = (
    "tea milk café fire great rain dancing dance dances garden gardens boat boats river painted "
    "paint letter letters winter summer train trains ticket budget kitchen table lamp broken "
    "repair repaired doctor visit visited garage window open closed early late 1,000 42 東京"
)
WORDS = tuple(SAID.split())
STOP_WORDS = ("the", "and", "of", "is", "to", "a")
PROVENANCE = {
    "component": ("hunter", "planner", "critic"),
    "output_type": ("action", "decision", "observation"),
    "domain": ("law", "art"),
    "category": ("x", "y"),
    "loop": ("inner", "outer"),
}


class Dice(random.Random):
    """Draws with `random()` alone."""

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self.random()

    def whole(self, low: int, high: int) -> int:
        return low + int(self.random() * (high - low + 1))

    def pick(self, values: Sequence[T]) -> T:
        return values[int(self.random() * len(values))]

    def some(self, values: Sequence[T], least: int, most: int) -> list[T]:
        left, chosen = [*values], []
        for _ in range(self.whole(least, most)):
            chosen.append(left.pop(int(self.random() * len(left))))
        return chosen

    def maybe(self, chance: float) -> bool:
        return self.random() < chance

    def vector(self) -> list[float]:
        while not any(found := [float(self.whole(-8, 8)) for _ in range(DIMENSIONS)]):
            pass
        # What all have in common, or the mean would be almost zero.
        return [found[0] + 6, found[1] + 3, *found[2:]]


class Embedder:
    """A vector for each text, from the text alone."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [*map(self.embed_query, texts)]

    def embed_query(self, text: str) -> list[float]:
        return Dice(text).vector()


@dataclass(frozen=True)
class Stored:
    """A memory: what is added, and what is changed afterwards."""

    owner: str
    new: dict[str, Any]
    state: dict[str, Any] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)

    @property
    def stored_owner(self) -> str:
        return f"team:{self.owner}" if self.owner in TEAMS else self.owner


def moments(owner: str, now: datetime) -> datetime:
    """What the times of an owner's memories are counted from."""
    return NOW if owner == BOB else now


def memories(now: datetime) -> list[Stored]:
    dice = Dice("memories")
    return [
        _memory(dice, owner, number, moments(owner, now))
        for owner, size in SIZES.items()
        for number in range(size)
    ]


def _memory(dice: Dice, owner: str, number: int, now: datetime) -> Stored:
    def ago(low: float, high: float) -> datetime:
        return now - timedelta(days=dice.between(low, high))

    def if_any(chance: float, value: T) -> T | None:
        return value if dice.maybe(chance) else None

    entities = dice.some(ENTITIES, 0, 3)
    age = dice.pick([dice.between(0, 3), dice.between(0, 30), dice.between(0, 400)])
    created_at = if_any(0.95, now - timedelta(days=age))
    new = {
        "id": UUID(int=int(dice.random() * 2**53) << 70 | number),
        "content": _text(dice, entities, number),
        "embedding": if_any(0.9, dice.vector()),
        "created_at": created_at,
        "observed_at": if_any(0.25, ago(-2, 200)),
        "valid_from": if_any(0.1, ago(-5, 100)),
        "valid_until": if_any(0.1, ago(-200, 5)),
        "expires_at": if_any(0.1, ago(-200, 5)),
        "memory_type": dice.pick(TYPES),
        "additional_types": dice.some(FURTHER_TYPES, 0, 2) if dice.maybe(0.2) else [],
        "tier": dice.pick(TIERS),
        "subject": if_any(0.4, dice.pick(SUBJECTS)),
        "tags": dice.some(TAGS, 0, 3),
        "entities": entities,
        "metadata": _metadata(dice),
        "importance": dice.random(),
        "usefulness": dice.random(),
        "confidence": dice.random(),
        "trust": if_any(0.85, dice.random()),
        "trust_curve": dice.pick([None, *map(str, Curve)]),
        "trust_half_life_hours": dice.pick([None, 24.0, 168.0, dice.between(1, 2_000)]),
        **{name: if_any(0.6, dice.pick(values)) for name, values in PROVENANCE.items()},
        "compliant": dice.pick([None, True, True, False]),
        "session": None if number % 3 == 0 else f"session {number % 9}",
        "turn": None if number % 3 == 0 or number % 10 == 1 else number // 9,
    }
    state: dict[str, Any] = {"status": "active", "needs_review": dice.maybe(0.2)}
    if dice.maybe(0.2):
        state["status"] = dice.pick(STATUSES)
    if dice.maybe(0.1):
        state["invalidated_at"] = ago(-5, 50)
    usage: dict[str, Any] = {}
    if dice.maybe(0.6):
        usage = {
            "retrieval_count": dice.pick([0, 1, 20, 50, 51, dice.whole(0, 60)]),
            "last_accessed_at": if_any(0.8, ago(0, dice.pick([3, 40, 300]))),
            "success_count": dice.whole(0, 5),
            "failure_count": dice.whole(0, 3),
        }
    return Stored(owner, new, state, usage)


def _text(dice: Dice, entities: Sequence[str], number: int) -> str:
    length = dice.pick([dice.whole(4, 10), dice.whole(8, 20), dice.whole(70, 120)])
    words = [dice.pick(WORDS) if dice.maybe(0.8) else dice.pick(STOP_WORDS) for _ in range(length)]
    said = [name for name in entities if dice.maybe(0.5)]
    return " ".join([*said, *words, str(1_000 + number)])


def _metadata(dice: Dice) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    if dice.maybe(0.8):
        metadata["project"] = dice.pick(["quay", "mill", "pier"])
    if dice.maybe(0.8):
        metadata["priority"] = dice.pick([1, 2, 3, 4, 5, 2.5, "high"])
    if dice.maybe(0.5):
        metadata["done"] = dice.maybe(0.5)
    if dice.maybe(0.7):
        metadata["user"] = {"age": dice.whole(20, 60), "name": dice.pick(["Ann", "Bo", "Cy"])}
        if dice.maybe(0.5):
            metadata["user"]["scores"] = [dice.whole(0, 3), dice.whole(0, 3)]
    if dice.maybe(0.6):
        metadata["stats"] = {"views": dice.between(0, 100)}
    return metadata


def links() -> Iterator[tuple[Stored, Stored, str, float]]:
    """Pairs of memories of one owner."""
    dice = Dice("links")
    stored = memories(NOW)
    for owner in SIZES:
        own = [one for one in stored if one.owner == owner]
        for _ in own:
            source, target = dice.some(own, 2, 2)
            yield source, target, dice.pick(["related", "caused"]), dice.random()
