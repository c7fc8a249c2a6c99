"""A random life of memories, in the database and in a small model of the rules beside it.

The model is written from the rules, in plain Python; it shares nothing with the package but the
names of the operations. After every step all rows are compared with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import Engine, create_engine

from pgrecall import MemoryRepository, NewMemory
from pgrecall.core.memory import UNSET
from pgrecall.errors import (
    DuplicateMemory,
    InvalidMemory,
    MemoryNotFound,
    NotCompliant,
    SupersessionConflict,
)
from tests.integration.conftest import OWNED
from tests.integration.support import at

SEQUENCES, STEPS = 10, 120
CLOSE = timedelta(minutes=5)
NEAR = 0.92
UNTOLD: Any = object()

Owner = tuple[str, str]
OWNERS: list[Owner] = [("agent", "twin"), ("agent", "other"), ("team", "twin")]
"""A team that bears the name of an agent is somebody else."""

Drawn = Callable[[Random], Any]


def one_of(*values: Any) -> Drawn:
    return lambda chance: chance.choice(values)


def several(drawn: Drawn, least: int, most: int) -> Drawn:
    return lambda chance: [drawn(chance) for _ in range(chance.randint(least, most))]


RULES: dict[str, dict[str, Drawn]] = {}


def rule(**given: Drawn) -> Callable[[Any], Any]:
    """A step of a random life, and how its arguments are drawn."""

    def noted(step: Any) -> Any:
        RULES[step.__name__] = given
        return step

    return noted


owners = one_of(*[OWNERS[0]] * 4, *OWNERS[1:])
picks = one_of(*range(1_000))
flags = one_of(True, False)
outcomes = one_of([True] * 7, [True], [False, True], [False, False])


@dataclass
class Wanted:
    """A memory to be written, as the test tells of it."""

    text: str
    spelling: int
    key: str | None
    angle: float | None
    importance: float
    usefulness: float
    confidence: float
    quality: float | None
    component: str | None
    compliant: bool | None
    has_errors: bool
    under_review: bool
    trust: Any
    tier: str | None
    memory_type: str
    days: int
    ends: str | None
    expires: str | None

    @property
    def content(self) -> str:
        return [self.text, self.text.upper(), f"  {self.text.replace(' ', '   ')}\n"][self.spelling]


WISHES: dict[str, Drawn] = {
    "text": one_of("red tea", "green tea", "no milk", "two cups"),
    "spelling": one_of(0, 1, 2),
    "key": one_of(None, None, None, "first", "second"),
    "angle": one_of(None, 0.0, 7.0, 18.0, 50.0),
    "importance": one_of(0.0, 0.2, 0.5, 0.95),
    "usefulness": one_of(0.5, 0.5, 0.9),
    "confidence": one_of(0.8, 0.3),
    "quality": one_of(None, 0.9, 0.1),
    "component": one_of(None, None, None, "governance", "elsewhere"),
    "compliant": one_of(None, True, False),
    "has_errors": flags,
    "under_review": flags,
    "trust": one_of(UNSET, UNSET, UNSET, None, 0.05, 0.15, 0.98),
    "tier": one_of(None, "short", "medium", "long"),
    "memory_type": one_of("episodic", "episodic", "task"),
    "days": one_of(0, 8, 40),
    "ends": one_of(None, None, "past", "future"),
    "expires": one_of("unset", "unset", "never", "past", "future"),
}


def wishes(chance: Random) -> Wanted:
    return Wanted(**{name: drawn(chance) for name, drawn in WISHES.items()})


@dataclass
class Remembered:
    """A memory, as the rules say it must be."""

    text: str
    content: str
    angle: float | None
    importance: float
    usefulness: float
    prior: float
    trust: float | None
    trust_usage: float | None
    tier: str
    memory_type: str
    confidence: float
    component: str | None
    created_at: datetime
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    invalidated_at: datetime | None = None
    keyed: bool = False
    expires_at: datetime | None = None
    status: str = "active"
    invalidated: str | None = None
    superseded_by: UUID | None = None
    needs_review: bool = False
    retrieved: int = 0
    succeeded: int = 0
    failed: int = 0
    up: int = 0
    down: int = 0
    accessed: datetime | None = None
    said_under: set[str] = field(default_factory=set)

    @property
    def ends(self) -> datetime | None:
        times = [t for t in (self.valid_until, self.invalidated_at) if t is not None]
        return min(times, default=None)

    def overlaps(self, start: datetime | None, end: datetime | None) -> bool:
        after = end is not None and self.valid_from is not None and end <= self.valid_from
        before = start is not None and self.ends is not None and self.ends <= start
        return not after and not before

    def is_like(self, other: Remembered) -> bool:
        mine = (self.text, self.memory_type, self.component)
        return mine == (other.text, other.memory_type, other.component)

    def supersede(self, moment: datetime, successor: UUID) -> None:
        self.invalidated, self.superseded_by = "superseded", successor
        ended = self.invalidated_at
        self.invalidated_at = moment if ended is None else min(ended, moment)

    @property
    def recalled(self) -> bool:
        now = datetime.now(UTC)
        return (
            self.invalidated is None
            and (self.valid_from is None or self.valid_from <= now)
            and (self.valid_until is None or self.valid_until > now)
            and (self.expires_at is None or self.expires_at > now)
        )


@dataclass
class Life:
    """All of one owner."""

    memories: dict[UUID, Remembered] = field(default_factory=dict)
    events: dict[UUID, list[str]] = field(default_factory=dict)
    keys: dict[str, UUID] = field(default_factory=dict)

    def note(self, memory_id: UUID, event_type: str) -> None:
        self.events.setdefault(memory_id, []).append(event_type)

    def active(self) -> dict[UUID, Remembered]:
        return {i: m for i, m in self.memories.items() if m.status == "active"}

    def saying(
        self, wanted: Remembered, start: datetime | None, *, but: UUID | None = None
    ) -> UUID | None:
        """The memory that is the same: of the same text and kind, and at some same time."""
        now, never = datetime.now(UTC), datetime.max.replace(tzinfo=UTC)
        found = [
            (
                not m.recalled,
                m.keyed,
                m.valid_from is not None and m.valid_from > now,
                -(m.ends or never).timestamp(),
                i,
            )
            for i, m in self.active().items()
            if i != but and m.is_like(wanted) and m.overlaps(start, wanted.valid_until)
        ]
        return min(found)[-1] if found else None

    def successors(
        self, first: UUID | None, but: UUID, start: datetime | None, end: datetime | None
    ) -> list[UUID]:
        """What has taken the place of a memory and holds within these times."""
        now = datetime.now(UTC)
        if end is None or end > now:
            start = now if start is None else max(start, now)
        seen: list[UUID] = []
        while first is not None and first in self.memories and first not in seen:
            seen.append(first)
            first = self.memories[first].superseded_by
        return [
            i
            for i in seen
            if i != but and i in self.active() and self.memories[i].overlaps(start, end)
        ]

    def supersede_in_turn(
        self, memory_id: UUID, first: UUID | None, superseding: UUID | None
    ) -> None:
        memory = self.memories[memory_id]
        for other in self.successors(first, memory_id, memory.valid_from, memory.valid_until):
            if other != superseding:
                self.memories[other].supersede(memory.valid_from or datetime.now(UTC), memory_id)
                self.note(other, "superseded")

    def taken(self, memory: Remembered, but: UUID) -> bool:
        """Whether another active memory is the same, with validities as they are."""
        return any(
            i != but and m.is_like(memory) and m.overlaps(memory.valid_from, memory.ends)
            for i, m in self.active().items()
        )

    def superseded_by(self, memory: Remembered) -> list[UUID]:
        """What has superseded memories that are like this one."""
        alike = [m for m in self.memories.values() if m is not memory and m.is_like(memory)]
        return list({m.superseded_by for m in alike if m.superseded_by is not None})

    def between(self, there: UUID, memory: Remembered) -> tuple[Any, Any]:
        """The validity of what came in, between those of the same text before and after."""
        old = self.memories[there]
        start, end = memory.valid_from, memory.valid_until
        if not old.keyed and old.text == memory.text:
            for i, m in self.active().items():
                if i == there or m.keyed or not m.is_like(old):
                    continue
                if m.ends is not None and old.valid_from is not None and m.ends <= old.valid_from:
                    start = m.ends if start is None else max(start, m.ends)
                elif m.valid_from is not None and old.ends is not None and m.valid_from >= old.ends:
                    end = m.valid_from if end is None else min(end, m.valid_from)
        return start, end

    def most_similar(self, angle: float, threshold: float, key: str | None) -> UUID | None:
        """A write that is repeated under its key meets the one that it met before."""
        similar = [
            (-math.cos(math.radians(abs(m.angle - angle))), i)
            for i, m in self.active().items()
            if m.angle is not None and m.recalled
        ]
        close = [
            (key not in self.memories[i].said_under, round(s, 9), i)
            for s, i in similar
            if -s > threshold
        ]
        return min(close)[2] if close else None


def assessed(wanted: Wanted) -> tuple[float | None, float | None]:
    """Trust on write by system D, and its part from use."""
    if wanted.trust is not UNSET:
        return wanted.trust, None
    reputation = {"governance": 0.95}.get(wanted.component or "", 0.70)
    provenance = 0.6 * reputation + 0.4 * wanted.confidence
    consensus = wanted.confidence if wanted.quality is None else wanted.quality
    governance = 0.3 if wanted.compliant is False else 1.0
    governance *= 0.7 if wanted.has_errors else 1.0
    governance *= 0.8 if wanted.under_review else 1.0
    return 0.30 * provenance + 0.25 * consensus + 0.30 * governance + 0.15 * 0.0, 0.0


def tier_expiry(tier: str) -> datetime | None:
    return datetime.now(UTC) + timedelta(hours=24) if tier == "short" else None


def share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


class Lives:
    """Each rule does one thing to the database and to the model, and compares what they say."""

    def __init__(self, engine: Engine, connection: psycopg.Connection[dict[str, Any]]) -> None:
        for table in OWNED:
            connection.execute(f"DELETE FROM pgrecall.{table}")
        self.connection = connection
        self.agents = MemoryRepository(engine)
        self.lives = {owner: Life() for owner in OWNERS}
        self.written = 0

    def repository(self, owner: Owner) -> MemoryRepository:
        return self.agents if owner[0] == "agent" else self.agents.teams

    def one(self, owner: Owner, pick: int) -> UUID:
        """An id of the owner's, sometimes of a memory that is gone, sometimes of nobody's."""
        here = [*self.lives[owner].memories, *self.lives[owner].memories]
        gone = [i for i in self.lives[owner].events if i not in self.lives[owner].memories]
        known = [*here, *gone[:1]]
        return known[pick % len(known)] if known else uuid4()

    def some(self, owner: Owner, chosen: Iterable[int]) -> list[UUID]:
        return [self.one(owner, pick) for pick in chosen]

    # Writing

    def incoming(self, owner: Owner, wanted: Wanted) -> tuple[NewMemory, Remembered]:
        self.written += 1
        now = datetime.now(UTC)
        created = now - timedelta(days=wanted.days, milliseconds=self.written)
        tier = wanted.tier or "long"
        ends: dict[str | None, Any] = {
            None: None,
            "past": now - timedelta(days=1),
            "future": now + timedelta(days=30),
        }
        expires: dict[str | None, Any] = {"unset": UNSET, "never": None, **ends}
        trust, trust_usage = assessed(wanted)
        new = NewMemory(
            wanted.content,
            key=None if wanted.key is None else f"{owner[0]} {wanted.key}",
            embedding=None if wanted.angle is None else at(wanted.angle),
            importance=wanted.importance,
            usefulness=wanted.usefulness,
            confidence=wanted.confidence,
            quality_score=wanted.quality,
            component=wanted.component,
            compliant=wanted.compliant,
            has_errors=wanted.has_errors,
            under_policy_review=wanted.under_review,
            trust=wanted.trust,
            tier=wanted.tier or UNSET,
            memory_type=wanted.memory_type,
            created_at=created,
            valid_until=ends[wanted.ends],
            expires_at=expires[wanted.expires],
        )
        is_unset = wanted.expires == "unset"
        memory = Remembered(
            text=wanted.text,
            content=wanted.content,
            angle=wanted.angle,
            importance=wanted.importance,
            usefulness=wanted.usefulness,
            prior=wanted.usefulness,
            trust=trust,
            trust_usage=trust_usage,
            tier=tier,
            memory_type=wanted.memory_type,
            confidence=wanted.confidence,
            component=wanted.component,
            created_at=created,
            keyed=wanted.key is not None,
            valid_until=ends[wanted.ends],
            expires_at=tier_expiry(tier) if is_unset else expires[wanted.expires],
        )
        return new, memory

    def take(
        self,
        life: Life,
        memory: Remembered,
        key: str | None,
        policy: str,
        near: float | None,
        added: Any,
        start: datetime | None = None,
        superseding: UUID | None = None,
    ) -> str:
        """Does to the model what adding does, and says how it must have gone."""
        if key is not None and life.keys.get(key) in life.memories:
            assert added == life.keys[key]
            return "known"
        there = None if memory.keyed else life.saying(memory, start)
        outcome = "duplicate"
        if there is None and near is not None and memory.angle is not None:
            there = life.most_similar(memory.angle, near, key)
            outcome = "near_duplicate"
        if there is None:
            assert added not in life.memories
            new_id = UUID(int=added.int)
            life.memories[new_id] = memory
            life.note(new_id, "initial")
            if key is not None:
                life.keys[key] = new_id
            else:
                for first in life.superseded_by(memory):
                    life.supersede_in_turn(new_id, first, superseding)
            return "inserted"
        assert added == there
        old = life.memories[there]
        if outcome == "duplicate" and not old.recalled and memory.recalled:
            outcome = "revived"
        if key is not None and key in old.said_under:
            return UNTOLD  # type: ignore[no-any-return]  # a repeated write: nothing happens
        if key is not None:
            old.said_under.add(key)
        life.note(there, "restated")
        if policy == "bump":
            old.retrieved += 1
            moments = (old.accessed, old.created_at, memory.created_at)
            old.accessed = max(moment for moment in moments if moment is not None)
        start, end = life.between(there, memory)
        if policy == "replace":
            voted = old.up + old.down > 0  # what feedback has made of it stays
            life.memories[there] = replace(
                memory,
                valid_from=start,
                valid_until=end,
                keyed=old.keyed,
                usefulness=old.usefulness if voted else memory.usefulness,
                prior=old.prior if voted else memory.prior,
                needs_review=old.needs_review,
                said_under=old.said_under,
                accessed=old.accessed,
                **{n: getattr(old, n) for n in ("retrieved", "succeeded", "failed", "up", "down")},
            )
            life.note(there, "replaced")
            life.supersede_in_turn(there, old.superseded_by, superseding)
        elif outcome == "revived":
            by = old.superseded_by
            old.invalidated = old.invalidated_at = old.superseded_by = None
            old.valid_from, old.valid_until = start, end
            old.expires_at = memory.expires_at
            life.note(there, "revived")
            life.supersede_in_turn(there, by, superseding)
        return outcome

    def contradicts(self, life: Life, memory: Remembered) -> bool:
        """Whether it says of a time gone by what was superseded."""
        now = datetime.now(UTC)
        return (
            not memory.keyed
            and memory.valid_until is not None
            and memory.valid_until <= now
            and life.saying(memory, memory.valid_from) is None
            and any(
                life.successors(first, uuid4(), memory.valid_from, memory.valid_until)
                for first in life.superseded_by(memory)
            )
        )

    @rule(
        owner=owners,
        wanted=wishes,
        policy=one_of("bump", "keep", "replace"),
        near=one_of(None, None, NEAR),
        unchecked=flags,
        actor=one_of(None, "curator"),
    )
    def add(
        self,
        owner: Owner,
        wanted: Wanted,
        policy: Any,
        near: float | None,
        unchecked: bool,
        actor: str | None,
    ) -> None:
        new, memory = self.incoming(owner, wanted)

        def work() -> Any:
            return self.repository(owner).add(
                owner[1],
                new,
                duplicates=policy,
                near_duplicates=near,
                check_compliance=not unchecked,
                actor=actor,
            )

        if wanted.compliant is False and not unchecked:
            refused(NotCompliant, work)
            return
        if near is None and self.contradicts(self.lives[owner], memory):
            refused(SupersessionConflict, work)
            return
        added = work()
        outcome = self.take(self.lives[owner], memory, wanted.key, policy, near, added)
        assert outcome is UNTOLD or added.outcome == outcome

    @rule(owner=owners, several=several(wishes, 1, 4), policy=one_of("bump", "keep"))
    def add_many(self, owner: Owner, several: list[Wanted], policy: Any) -> None:
        for wanted in several:
            wanted.key = None
        pairs = [self.incoming(owner, wanted) for wanted in several]

        life = deepcopy(self.lives[owner])
        for _, memory in pairs:
            if self.contradicts(life, memory):
                return  # which of several is met first does not matter here
            if life.saying(memory, memory.valid_from) is None:
                life.memories[uuid4()] = deepcopy(memory)

        added = self.repository(owner).add_many(
            owner[1], [new for new, _ in pairs], duplicates=policy, check_compliance=False
        )

        # What is of no known text is stored first; then all the others, one by one.
        life = self.lives[owner]
        texts = {memory.text for memory in life.active().values()}
        first: list[Any] = []
        again: list[Any] = []
        for one, (new, memory) in zip(added, pairs, strict=True):
            (again if memory.text in texts else first).append((one, new, memory))
            texts.add(memory.text)
        for one, _, memory in (*first, *again):
            assert one.outcome == self.take(life, memory, None, policy, None, one)

    @rule(owner=owners, pick=picks, what=one_of(*range(7)), wanted=wishes)
    def update(self, owner: Owner, pick: int, what: int, wanted: Wanted) -> None:
        life, memory_id = self.lives[owner], self.one(owner, pick)
        new, memory = self.incoming(owner, wanted)
        trust = 0.05 if wanted.trust is UNSET else wanted.trust
        options: list[dict[str, Any]] = [
            {"content": new.content, "embedding": new.embedding},
            {"importance": memory.importance},
            {"memory_type": memory.memory_type, "tier": memory.tier},
            {"trust": trust},
            {"valid_until": memory.valid_until},
            {"expires_at": None if new.expires_at is UNSET else new.expires_at},
            {"created_at": memory.created_at, "confidence": memory.confidence},
        ]
        changes = options[what]

        def work() -> Any:
            return self.repository(owner).update(owner[1], memory_id, **changes)

        old = life.memories.get(memory_id)
        after = None if old is None else deepcopy(old)
        if after is not None and what == 0:
            after.text = memory.text
        elif after is not None:
            for name, value in changes.items():
                setattr(after, name, value)
        backwards = (
            what == 4
            and old is not None
            and old.valid_from is not None
            and memory.valid_until is not None
            and memory.valid_until <= old.valid_from
        )
        if (
            after is not None
            and after.status == "active"
            and not after.keyed
            and life.taken(after, memory_id)
        ):
            refused((DuplicateMemory, InvalidMemory), work)
        elif old is None:
            refused(MemoryNotFound, work)
        elif backwards:
            refused(InvalidMemory, work)
        else:
            work()
            if what == 0:
                old.text, old.content, old.angle = memory.text, memory.content, memory.angle
            else:
                for name, value in changes.items():
                    setattr(old, name, value)
            life.note(memory_id, "updated")

    @rule(owner=owners, chosen=several(picks, 0, 2), reason=one_of(None, "old"))
    def delete(self, owner: Owner, chosen: list[int], reason: str | None) -> None:
        life, ids = self.lives[owner], set(self.some(owner, chosen))

        deleted = self.repository(owner).delete(owner[1], ids, reason=reason)

        there = [i for i in ids if i in life.memories]
        assert deleted == len(there)
        for memory_id in there:
            del life.memories[memory_id]
            life.note(memory_id, "deleted")

    # Use

    @rule(owner=owners, chosen=several(picks, 0, 4))
    def touch(self, owner: Owner, chosen: list[int]) -> None:
        life, ids = self.lives[owner], set(self.some(owner, chosen))

        touched = self.repository(owner).touch(owner[1], ids)

        there = [life.memories[i] for i in ids if i in life.memories]
        assert touched == len(there)
        for memory in there:
            memory.retrieved += 1
            memory.accessed = datetime.now(UTC)

    @rule(owner=owners, pick=picks, wins=outcomes)
    def record_outcome(self, owner: Owner, pick: int, wins: list[bool]) -> None:
        life, memory_id = self.lives[owner], self.one(owner, pick)
        memory = life.memories.get(memory_id)

        def work(success: bool, touch: bool) -> Any:
            return self.repository(owner).record_outcome(
                owner[1], memory_id, "success" if success else "failure", touch=touch
            )

        if memory is None:
            refused(MemoryNotFound, lambda: work(True, True))
            return
        for success in wins:
            touch = pick % 3 != 0
            work(success, touch)
            memory.retrieved += touch
            memory.accessed = datetime.now(UTC)
            memory.succeeded += success
            memory.failed += not success
            rate = memory.succeeded / (memory.succeeded + memory.failed)
            if memory.trust is not None:
                moved = (
                    0.05 / (1 + 0.1 * memory.succeeded)
                    if success
                    else -0.08 / (1 + 0.05 * memory.failed)
                )
                often_good = memory.retrieved > 5 and rate > 0.8
                memory.trust = share(memory.trust + moved + (0.02 if often_good else 0.0))
            memory.trust_usage = 0.7 * rate + 0.3 * min(memory.retrieved / 20, 1.0)
            life.note(memory_id, "reinforcement" if success else "penalty")

    @rule(owner=owners, pick=picks, delta=one_of(-1.0, -0.6, -0.1, 0.2, 1.0))
    def adjust_trust(self, owner: Owner, pick: int, delta: float) -> None:
        life, memory_id = self.lives[owner], self.one(owner, pick)
        memory = life.memories.get(memory_id)

        def work() -> Any:
            return self.repository(owner).upkeep.adjust_trust(
                owner[1], memory_id, delta, "seen", "me"
            )

        if memory is None:
            refused(MemoryNotFound, work)
        elif memory.trust is None:
            refused(InvalidMemory, work)
        else:
            work()
            memory.trust = share(memory.trust + delta)
            life.note(memory_id, "manual")

    @rule(
        owner=owners,
        pick=picks,
        kinds=several(one_of("useful", "not_useful", "outdated", "incorrect"), 1, 3),
    )
    def feedback(self, owner: Owner, pick: int, kinds: list[Any]) -> None:
        life, memory_id = self.lives[owner], self.one(owner, pick)
        memory = life.memories.get(memory_id)

        def work(kind: Any) -> Any:
            return self.repository(owner).feedback(owner[1], memory_id, kind, "because")

        if memory is None:
            refused(MemoryNotFound, lambda: work("useful"))
            return
        for kind in kinds:
            work(kind)
            memory.up += kind == "useful"
            memory.down += {"useful": 0, "incorrect": 3}.get(kind, 1)
            memory.needs_review |= kind == "outdated"
            votes = memory.up + memory.down
            memory.usefulness = (2 * memory.prior + memory.up) / (2 + votes)
            life.note(memory_id, "feedback")

    # Correcting

    @rule(owner=owners, pick=picks, wanted=wishes, force=flags)
    def supersede(self, owner: Owner, pick: int, wanted: Wanted, force: bool) -> None:
        life, memory_id = self.lives[owner], self.one(owner, pick)
        new, memory = self.incoming(owner, wanted)
        now = datetime.now(UTC)
        old = life.memories.get(memory_id)

        def work() -> Any:
            return self.repository(owner).supersede(owner[1], memory_id, new, force=force)

        if wanted.compliant is False:
            refused(NotCompliant, work)
        elif old is None:
            refused(MemoryNotFound, work)
        elif wanted.key in life.keys and old.superseded_by == life.keys[wanted.key]:
            assert work().outcome == "known"  # a repeated write
        elif old.text == wanted.text or self.is_of_key(life, memory_id, wanted.key):
            refused(InvalidMemory, work)
        elif not force and (
            old.invalidated is not None or (old.valid_until is not None and old.valid_until > now)
        ):
            refused(SupersessionConflict, work)
        elif wanted.ends == "past":
            refused(InvalidMemory, work)
        elif self.is_put_away(life, wanted.key):
            refused(SupersessionConflict, work)
        else:
            memory.importance = max(memory.importance, old.importance)
            added = work()
            memory.valid_from = now
            successor = UUID(int=added.int)
            outcome = self.take(
                life, memory, wanted.key, "keep", None, added, superseding=memory_id
            )
            assert outcome is UNTOLD or added.outcome == outcome
            if outcome != "inserted" and life.memories[successor].importance < memory.importance:
                life.memories[successor].importance = memory.importance
                life.note(successor, "importance")
            old.supersede(now, successor)
            life.note(memory_id, "superseded")

    def is_put_away(self, life: Life, key: str | None) -> bool:
        known = None if key is None else life.memories.get(life.keys.get(key, uuid4()))
        return known is not None and (known.status != "active" or known.invalidated is not None)

    def is_of_key(self, life: Life, memory_id: UUID, key: str | None) -> bool:
        return key is not None and life.keys.get(key) == memory_id

    @rule(owner=owners, chosen=several(picks, 0, 2))
    def invalidate(self, owner: Owner, chosen: list[int]) -> None:
        life, ids = self.lives[owner], set(self.some(owner, chosen))

        count = self.repository(owner).invalidate(owner[1], ids)

        there = [i for i in ids if i in life.memories and life.memories[i].invalidated is None]
        assert count == len(there)
        for memory_id in there:
            life.memories[memory_id].invalidated = "forgotten"
            life.memories[memory_id].invalidated_at = datetime.now(UTC)
            life.note(memory_id, "forgotten")

    @rule(owner=owners, chosen=several(picks, 0, 3), force=flags)
    def revive(self, owner: Owner, chosen: list[int], force: bool) -> None:
        life, ids = self.lives[owner], set(self.some(owner, chosen))
        now = datetime.now(UTC)
        after = deepcopy(life)
        away = 0
        error: type[Exception] | None = None
        for memory_id in sorted(ids & life.memories.keys()):
            memory = after.memories[memory_id]
            expired = memory.expires_at is not None and memory.expires_at <= now
            if memory.status == "active" and memory.invalidated is None and not expired:
                continue
            away += 1
            first = memory.superseded_by
            memory.status, memory.invalidated, memory.superseded_by = "active", None, None
            memory.invalidated_at = None
            memory.expires_at = None if expired else memory.expires_at
            if not memory.keyed and after.taken(memory, memory_id):
                error = error or DuplicateMemory
            if not force and after.successors(
                first, memory_id, max(memory.valid_from or now, now), memory.valid_until
            ):
                error = error or SupersessionConflict
            after.note(memory_id, "revived")

        def work() -> Any:
            return self.repository(owner).revive(owner[1], ids, force=force)

        if error is not None:
            refused(error, work)
        else:
            assert work() == away
            self.lives[owner] = after

    @rule(owner=owners, pick=picks, importance=one_of(0.0, 0.4, 1.0))
    def set_importance(self, owner: Owner, pick: int, importance: float) -> None:
        life, memory_id = self.lives[owner], self.one(owner, pick)

        def work() -> Any:
            return self.repository(owner).upkeep.set_importance(owner[1], memory_id, importance)

        if memory_id not in life.memories:
            refused(MemoryNotFound, work)
        else:
            work()
            life.memories[memory_id].importance = importance
            life.note(memory_id, "importance")

    @rule(owner=owners, chosen=several(picks, 0, 3), up=flags)
    def change_tier(self, owner: Owner, chosen: list[int], up: bool) -> None:
        life, ids = self.lives[owner], set(self.some(owner, chosen))
        repo = self.repository(owner)
        tiers = ["short", "medium", "long"]

        count = (repo.upkeep.promote if up else repo.upkeep.demote)(owner[1], ids)

        moved = 0
        for memory_id in ids & life.memories.keys():
            memory = life.memories[memory_id]
            place = tiers.index(memory.tier) + (1 if up else -1)
            if 0 <= place < len(tiers):
                moved += 1
                memory.tier = tiers[place]
                memory.expires_at = tier_expiry(memory.tier)
                life.note(memory_id, "promoted" if up else "demoted")
        assert count == moved

    # Curating

    @rule(owner=owners, days=one_of(7, 30))
    def complete_stale_tasks(self, owner: Owner, days: int) -> None:
        life = self.lives[owner]
        cutoff = datetime.now(UTC) - timedelta(days=days)

        count = self.repository(owner).upkeep.complete_stale_tasks(
            owner[1], older_than=timedelta(days=days)
        )

        stale = [
            i
            for i, m in life.active().items()
            if m.memory_type == "task"
            and m.created_at < cutoff
            and (m.accessed is None or m.accessed < cutoff)
        ]
        assert count == len(stale)
        self.put_away(life, stale, "completed", "completed")

    @rule(owner=owners, days=one_of(5, 20))
    def prune(self, owner: Owner, days: int) -> None:
        life, age = self.lives[owner], timedelta(days=days)
        old = datetime.now(UTC) - age

        count = self.repository(owner).upkeep.prune(owner[1], older_than=age)

        chosen = [i for i, m in life.active().items() if m.created_at < old]
        assert count == len(chosen)
        self.put_away(life, chosen, "archived", "archived")

    @rule(owner=owners)
    def clear(self, owner: Owner) -> None:
        count = self.repository(owner).clear(owner[1])

        assert count == len(self.lives[owner].memories)
        self.lives[owner] = Life()

    def put_away(self, life: Life, ids: Sequence[UUID], status: str, event_type: str) -> None:
        for memory_id in ids:
            life.memories[memory_id].status = status
            life.note(memory_id, event_type)

    # Comparing

    def all_is_as_the_rules_say(self) -> None:
        for owner, life in self.lives.items():
            rows = self.rows(owner)
            assert rows.keys() == life.memories.keys()
            for memory_id, row in rows.items():
                compare(row, life.memories[memory_id])
        events: dict[tuple[str, UUID], list[str]] = {}
        for row in self.sql(
            "SELECT agent_id, memory_id, event_type FROM pgrecall.memory_events "
            "ORDER BY occurred_at, id"
        ):
            events.setdefault((row["agent_id"], row["memory_id"]), []).append(row["event_type"])
        assert events == {
            (stored_id(owner), memory_id): told
            for owner, life in self.lives.items()
            for memory_id, told in life.events.items()
        }

    def rows(self, owner: Owner) -> dict[UUID, dict[str, Any]]:
        found = self.sql(
            "SELECT m.*, u.* FROM pgrecall.agent_memories m LEFT JOIN pgrecall.memory_usage u "
            "ON u.agent_id = m.agent_id AND u.memory_id = m.id WHERE m.agent_id = %s",
            stored_id(owner),
        )
        return {row["id"]: row for row in found}

    def sql(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        return self.connection.execute(statement, values).fetchall()


def refused(error: type[Exception] | tuple[type[Exception], ...], work: Any) -> None:
    with pytest.raises(error):
        work()


def stored_id(owner: Owner) -> str:
    kind, name = owner
    return name if kind == "agent" else f"team:{name}"


def compare(row: dict[str, Any], memory: Remembered) -> None:
    for name in ("content", "status", "tier", "memory_type", "superseded_by", "needs_review"):
        assert row[name] == getattr(memory, name), name
    assert row["invalidation_reason"] == memory.invalidated
    assert (row["invalidated_at"] is None) == (memory.invalidated is None)
    assert (row["embedding"] is None) == (memory.angle is None)
    assert (row["last_accessed_at"] is None) == (memory.accessed is None)
    for name in ("importance", "usefulness", "confidence", "trust", "trust_usage"):
        told = getattr(memory, name)
        assert row[name] == (None if told is None else pytest.approx(told, abs=1e-9)), name
    for name, counter in {
        "retrieval_count": memory.retrieved,
        "success_count": memory.succeeded,
        "failure_count": memory.failed,
        "feedback_up": memory.up,
        "feedback_down": memory.down,
    }.items():
        assert (row[name] or 0) == counter, name
    assert row["created_at"] == memory.created_at
    for name in ("valid_from", "valid_until", "expires_at"):
        told = getattr(memory, name)
        assert (row[name] is None) == (told is None), name
        assert told is None or abs(row[name] - told) < CLOSE, name


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_a_random_life_goes_as_the_rules_say(database_url: str, seed: int) -> None:
    chance = Random(seed)
    engine = create_engine(database_url, pool_size=1, max_overflow=0)
    with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as connection:
        lives = Lives(engine, connection)
        for _ in range(STEPS):
            name = chance.choice([*RULES, "add", "supersede", "revive"])
            given = {argument: drawn(chance) for argument, drawn in RULES[name].items()}
            if name != "clear" or chance.random() < 0.2:
                getattr(lives, name)(**given)
                lives.all_is_as_the_rules_say()
    engine.dispose()
