"""A random life of memories, in the database and in a small model of the rules beside it.

The model is written from the rules, in plain Python; it shares nothing with the package but the
names of the operations. After every step all rows are compared with it.
"""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import Engine

from pgrecall import NewMemory, RetentionPolicy
from pgrecall.core.memory import UNSET
from pgrecall.errors import (
    DuplicateMemory,
    InvalidMemory,
    MemoryNotFound,
    NotCompliant,
    SupersessionConflict,
)
from tests.integration.owner import Owner
from tests.integration.support import at

SEQUENCES, STEPS = 10, 120
CLOSE, DAY = timedelta(minutes=5), timedelta(days=1)
NEAR = 0.92
UNTOLD: Any = object()
TIERS = ["short", "medium", "long"]
FLAGS = (True, False)
WISHES: dict[str, tuple[Any, ...]] = {
    "text": ("red tea", "green tea", "no milk", "two cups"),
    "spelling": (0, 1, 2),
    "key": (None, None, None, "first", "second"),
    "angle": (None, 0.0, 7.0, 18.0, 50.0),
    "importance": (0.0, 0.2, 0.5, 0.95),
    "usefulness": (0.5, 0.5, 0.9),
    "confidence": (0.8, 0.3),
    "quality_score": (None, 0.9, 0.1),
    "component": (None, None, None, "governance", "elsewhere"),
    "compliant": (None, True, False),
    "has_errors": FLAGS,
    "under_policy_review": FLAGS,
    "trust": (UNSET, UNSET, UNSET, None, 0.05, 0.15, 0.98),
    "tier": (None, *TIERS),
    "memory_type": ("episodic", "episodic", "task"),
    "days": (0, 8, 40),
    "ends": (None, None, "past", "future"),
    "expires": ("unset", "unset", "never", "past", "future"),
}
"""What a memory to be written may be like."""


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
    invalidation_reason: str | None = None
    superseded_by: UUID | None = None
    needs_review: bool = False
    retrieval_count: int = 0
    success_count: int = 0
    failure_count: int = 0
    feedback_up: int = 0
    feedback_down: int = 0
    last_accessed_at: datetime | None = None
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
        self.invalidation_reason, self.superseded_by = "superseded", successor
        ended = self.invalidated_at
        self.invalidated_at = moment if ended is None else min(ended, moment)

    @property
    def recalled(self) -> bool:
        now = datetime.now(UTC)
        return (
            self.invalidation_reason is None
            and (self.valid_from is None or self.valid_from <= now)
            and (self.valid_until is None or self.valid_until > now)
            and (self.expires_at is None or self.expires_at > now)
        )


def assessed(wanted: Any) -> tuple[float | None, float | None]:
    """Trust on write by Grace, and its part from use."""
    if wanted.trust is not UNSET:
        return wanted.trust, None
    reputation = {"governance": 0.95}.get(wanted.component or "", 0.70)
    provenance = 0.6 * reputation + 0.4 * wanted.confidence
    consensus = wanted.confidence if wanted.quality_score is None else wanted.quality_score
    governance = 0.3 if wanted.compliant is False else 1.0
    governance *= 0.7 if wanted.has_errors else 1.0
    governance *= 0.8 if wanted.under_policy_review else 1.0
    return 0.30 * provenance + 0.25 * consensus + 0.30 * governance + 0.15 * 0.0, 0.0


def tier_expiry(tier: str) -> datetime | None:
    return datetime.now(UTC) + timedelta(hours=24) if tier == "short" else None


def share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def refused(error: Any, call: Any, *arguments: Any, **named: Any) -> None:
    with pytest.raises(error):
        call(*arguments, **named)


class Life:
    """All of one owner: each rule does one thing to the database and to the model."""

    RULES = (
        *("add", "add_many", "update", "delete", "touch", "record_outcome", "adjust_trust"),
        *("feedback", "supersede", "invalidate", "revive"),
        *("maintain", "erase_owner"),
    )

    def __init__(self, of: Owner) -> None:
        self.of = of
        self.written = 0
        self.forget_everything()

    def forget_everything(self) -> None:
        self.memories: dict[UUID, Remembered] = {}
        self.events: dict[UUID, list[str]] = {}
        self.keys: dict[str, UUID] = {}

    def note(self, memory_id: UUID, event_type: str) -> None:
        self.events.setdefault(memory_id, []).append(event_type)

    def active(self) -> dict[UUID, Remembered]:
        return {i: m for i, m in self.memories.items() if m.status == "active"}

    def one(self, chance: Random) -> UUID:
        """An id of the owner's, sometimes of a memory that is gone, sometimes of nobody's."""
        gone = [i for i in self.events if i not in self.memories]
        return chance.choice([*self.memories, *self.memories, *gone[:1]] or [uuid4()])

    def some(self, chance: Random, most: int) -> set[UUID]:
        return {self.one(chance) for _ in range(chance.randint(0, most))}

    # What memories have to do with each other

    def saying(self, wanted: Remembered, start: datetime | None) -> UUID | None:
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
            if m.is_like(wanted) and m.overlaps(start, wanted.valid_until)
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
        active = self.active()
        return [i for i in seen if i != but and i in active and active[i].overlaps(start, end)]

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

    def superseded_by(self, memory: Remembered) -> set[UUID]:
        """What has superseded memories that are like this one."""
        alike = [m for m in self.memories.values() if m is not memory and m.is_like(memory)]
        return {m.superseded_by for m in alike if m.superseded_by is not None}

    def between(self, there: UUID, memory: Remembered) -> tuple[Any, Any]:
        """The validity of what came in, between those of the same text before and after."""
        old = self.memories[there]
        start, end = memory.valid_from, memory.valid_until
        if old.keyed or old.text != memory.text:
            return start, end
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
            (math.cos(math.radians(abs(m.angle - angle))), i, m)
            for i, m in self.active().items()
            if m.angle is not None and m.recalled
        ]
        close = [(key not in m.said_under, -round(s, 9), i) for s, i, m in similar if s > threshold]
        return min(close)[2] if close else None

    def contradicts(self, memory: Remembered) -> bool:
        """Whether it says of a time gone by what was superseded."""
        return (
            not memory.keyed
            and memory.valid_until is not None
            and memory.valid_until <= datetime.now(UTC)
            and self.saying(memory, memory.valid_from) is None
            and any(
                self.successors(first, uuid4(), memory.valid_from, memory.valid_until)
                for first in self.superseded_by(memory)
            )
        )

    # Writing

    def incoming(self, chance: Random, *, keyed: bool = True) -> tuple[NewMemory, Remembered]:
        wanted = SimpleNamespace(**{name: chance.choice(some) for name, some in WISHES.items()})
        now, said = datetime.now(UTC), wanted.text
        self.written += 1
        times: dict[str | None, Any] = {None: None, "past": now - DAY, "future": now + 30 * DAY}
        tier = wanted.tier or "long"
        expires_at = {"unset": tier_expiry(tier), "never": None, **times}[wanted.expires]
        trust, trust_usage = assessed(wanted)
        content = [said, said.upper(), f"  {said.replace(' ', '   ')}\n"][wanted.spelling]
        kept = ("importance", "usefulness", "confidence", "component", "memory_type")
        judged = ("quality_score", "compliant", "has_errors", "under_policy_review", "trust")
        both = {name: getattr(wanted, name) for name in kept} | {
            "created_at": now - timedelta(days=wanted.days, milliseconds=self.written),
            "valid_until": times[wanted.ends],
        }
        key = f"{self.of.is_team} {wanted.key}" if wanted.key and keyed else None
        new = NewMemory(
            content,
            key=key,
            embedding=None if wanted.angle is None else at(wanted.angle),
            tier=wanted.tier or UNSET,
            expires_at=UNSET if wanted.expires == "unset" else expires_at,
            **both,
            **{name: getattr(wanted, name) for name in judged},
        )
        memory = Remembered(
            *(said, content, wanted.angle),
            prior=wanted.usefulness,
            trust=trust,
            trust_usage=trust_usage,
            tier=tier,
            keyed=key is not None,
            expires_at=expires_at,
            **both,
        )
        return new, memory

    def take(
        self,
        key: str | None,
        memory: Remembered,
        added: Any,
        policy: str = "keep",
        near: float | None = None,
        superseding: UUID | None = None,
    ) -> str:
        """Does to the model what adding does, and says how it must have gone."""
        if key is not None and self.keys.get(key) in self.memories:
            assert added == self.keys[key]
            return "known"
        there, outcome = None if memory.keyed else self.saying(memory, None), "duplicate"
        if there is None and near is not None and memory.angle is not None:
            there, outcome = self.most_similar(memory.angle, near, key), "near_duplicate"
        if there is None:
            assert added not in self.memories
            new_id = UUID(int=added.int)
            self.memories[new_id] = memory
            self.note(new_id, "initial")
            if key is not None:
                self.keys[key] = new_id
            else:
                for first in self.superseded_by(memory):
                    self.supersede_in_turn(new_id, first, superseding)
            return "inserted"
        assert added == there
        old = self.memories[there]
        if outcome == "duplicate" and not old.recalled and memory.recalled:
            outcome = "revived"
        if key is not None and key in old.said_under:
            return UNTOLD  # type: ignore[no-any-return]  # a repeated write: nothing happens
        if key is not None:
            old.said_under.add(key)
        self.note(there, "restated")
        if policy == "bump":
            old.retrieval_count += 1
            moments = (old.last_accessed_at, old.created_at, memory.created_at)
            old.last_accessed_at = max(moment for moment in moments if moment is not None)
        valid_from, valid_until = self.between(there, memory)
        if policy == "replace":
            counted = ("retrieval_count", "success_count", "failure_count", "last_accessed_at")
            stays = [*counted, "feedback_up", "feedback_down", "keyed", "needs_review"]
            if old.feedback_up + old.feedback_down:  # what feedback has made of it
                stays += ["usefulness", "prior"]
            self.memories[there] = replace(
                memory,
                valid_from=valid_from,
                valid_until=valid_until,
                said_under=old.said_under,
                **{name: getattr(old, name) for name in stays},
            )
            self.note(there, "replaced")
            self.supersede_in_turn(there, old.superseded_by, superseding)
        elif outcome == "revived":
            by = old.superseded_by
            old.invalidation_reason = old.invalidated_at = old.superseded_by = None
            old.valid_from, old.valid_until = valid_from, valid_until
            old.expires_at = memory.expires_at
            self.note(there, "revived")
            self.supersede_in_turn(there, by, superseding)
        return outcome

    def add(self, chance: Random) -> None:
        new, memory = self.incoming(chance)
        policy, near = chance.choice(["bump", "keep", "replace"]), chance.choice([None, None, NEAR])
        checked = chance.choice(FLAGS)
        options: dict[str, Any] = {"duplicates": policy, "near_duplicates": near}
        options |= {"check_compliance": checked, "actor": chance.choice([None, "curator"])}
        if new.compliant is False and checked:
            refused(NotCompliant, self.of.add, new, **options)
        elif near is None and self.contradicts(memory):
            refused(SupersessionConflict, self.of.add, new, **options)
        else:
            added = self.of.add(new, **options)
            assert self.take(new.key, memory, added, policy, near) in (added.outcome, UNTOLD)

    def add_many(self, chance: Random) -> None:
        pairs = [self.incoming(chance, keyed=False) for _ in range(chance.randint(1, 4))]
        policy, before = chance.choice(["bump", "keep"]), {**self.memories}
        contradictory = False
        for _, memory in pairs:
            contradictory |= self.contradicts(memory)
            if self.saying(memory, memory.valid_from) is None:
                self.memories[uuid4()] = memory
        self.memories = before
        if contradictory:
            return  # which of several is met first does not matter here
        added = self.of.add_many(
            [new for new, _ in pairs], duplicates=policy, check_compliance=False
        )
        # What is of no known text is stored first; then all the others, one by one.
        texts = {memory.text for memory in self.active().values()}
        first: list[Any] = []
        again: list[Any] = []
        for one, (_, memory) in zip(added, pairs, strict=True):
            (again if memory.text in texts else first).append((memory, one))
            texts.add(memory.text)
        for memory, one in (*first, *again):
            assert self.take(None, memory, one, policy) == one.outcome

    def update(self, chance: Random) -> None:
        memory_id, (new, memory) = self.one(chance), self.incoming(chance)
        changes: dict[str, Any] = chance.choice(
            [
                {"content": new.content, "embedding": new.embedding},
                {"importance": memory.importance},
                {"memory_type": memory.memory_type, "tier": memory.tier},
                {"trust": 0.05 if new.trust is UNSET else new.trust},
                {"valid_until": memory.valid_until},
                {"expires_at": None if new.expires_at is UNSET else new.expires_at},
                {"created_at": memory.created_at, "confidence": memory.confidence},
            ]
        )
        old = self.memories.get(memory_id)
        if old is None:
            refused(MemoryNotFound, self.of.update, memory_id, **changes)
            return
        after = replace(old, **{n: v for n, v in changes.items() if n != "embedding"})
        if "content" in changes:
            after.text, after.angle = memory.text, memory.angle
        if after.tier != old.tier:
            after.expires_at = tier_expiry(after.tier)
        backwards = after.valid_from and after.valid_until and after.valid_until <= after.valid_from
        if after.status == "active" and not after.keyed and self.taken(after, memory_id):
            refused((DuplicateMemory, InvalidMemory), self.of.update, memory_id, **changes)
        elif "valid_until" in changes and backwards:
            refused(InvalidMemory, self.of.update, memory_id, **changes)
        else:
            self.of.update(memory_id, **changes)
            self.memories[memory_id] = after
            self.note(memory_id, "updated")

    def delete(self, chance: Random) -> None:
        ids = self.some(chance, 2)
        there = [i for i in ids if i in self.memories]
        assert self.of.delete(ids, reason=chance.choice([None, "old"])) == len(there)
        for memory_id in there:
            del self.memories[memory_id]
            self.note(memory_id, "deleted")

    # Use

    def touch(self, chance: Random) -> None:
        ids = self.some(chance, 4)
        there = [self.memories[i] for i in ids if i in self.memories]
        assert self.of.touch(ids) == len(there)
        for memory in there:
            memory.retrieval_count += 1
            memory.last_accessed_at = datetime.now(UTC)

    def record_outcome(self, chance: Random) -> None:
        memory_id, touch = self.one(chance), chance.random() < 0.7
        memory = self.memories.get(memory_id)
        if memory is None:
            refused(MemoryNotFound, self.of.record_outcome, memory_id, "success")
            return
        for success in chance.choice([[True] * 7, [True], [False, True], [False, False]]):
            self.of.record_outcome(memory_id, "success" if success else "failure", touch=touch)
            memory.retrieval_count += touch
            memory.last_accessed_at = datetime.now(UTC)
            memory.success_count += success
            memory.failure_count += not success
            rate = memory.success_count / (memory.success_count + memory.failure_count)
            if memory.trust is not None:
                raised = 0.05 / (1 + 0.1 * memory.success_count)
                lowered = -0.08 / (1 + 0.05 * memory.failure_count)
                often_good = 0.02 if memory.retrieval_count > 5 and rate > 0.8 else 0.0
                memory.trust = share(memory.trust + (raised if success else lowered) + often_good)
            memory.trust_usage = 0.7 * rate + 0.3 * min(memory.retrieval_count / 20, 1.0)
            self.note(memory_id, "reinforcement" if success else "penalty")

    def adjust_trust(self, chance: Random) -> None:
        memory_id, delta = self.one(chance), chance.choice([-1.0, -0.6, -0.1, 0.2, 1.0])
        memory = self.memories.get(memory_id)
        asked = (self.of.adjust_trust, memory_id, delta, "seen", "me")
        if memory is None or memory.trust is None:
            refused(MemoryNotFound if memory is None else InvalidMemory, *asked)
        else:
            asked[0](*asked[1:])
            memory.trust = share(memory.trust + delta)
            self.note(memory_id, "manual")

    def feedback(self, chance: Random) -> None:
        memory_id = self.one(chance)
        memory = self.memories.get(memory_id)
        if memory is None:
            refused(MemoryNotFound, self.of.feedback, memory_id, "useful", "because")
            return
        kinds = ("useful", "not_useful", "outdated", "incorrect")
        for kind in chance.choices(kinds, k=chance.randint(1, 3)):
            self.of.feedback(memory_id, kind, "because")
            memory.feedback_up += kind == "useful"
            memory.feedback_down += {"useful": 0, "incorrect": 3}.get(kind, 1)
            memory.needs_review |= kind == "outdated"
            if kind == "outdated":
                memory.tier = {"long": "medium"}.get(memory.tier, "short")
            votes = memory.feedback_up + memory.feedback_down
            memory.usefulness = (2 * memory.prior + memory.feedback_up) / (2 + votes)
            self.note(memory_id, "feedback")

    # Correcting

    def supersede(self, chance: Random) -> None:
        memory_id, force = self.one(chance), chance.choice(FLAGS)
        new, memory = self.incoming(chance)
        now, old = datetime.now(UTC), self.memories.get(memory_id)
        error = self.why_not_supersede(memory_id, new, memory, force=force)
        if error is not None:
            refused(error, self.of.supersede, memory_id, new, force=force)
            return
        assert old is not None
        memory.importance = max(memory.importance, old.importance)
        added = self.of.supersede(memory_id, new, force=force)
        if new.key in self.keys and old.superseded_by == self.keys[new.key]:
            assert added.outcome == "known"  # a repeated write
            return
        memory.valid_from = now
        told = self.take(new.key, memory, added, superseding=memory_id)
        assert told in (added.outcome, UNTOLD)
        successor = UUID(int=added.int)
        if added.outcome != "inserted" and self.memories[successor].importance < memory.importance:
            self.memories[successor].importance = memory.importance
            self.note(successor, "importance")
        old.supersede(now, successor)
        self.note(memory_id, "superseded")

    def why_not_supersede(
        self, memory_id: UUID, new: NewMemory, memory: Remembered, *, force: bool
    ) -> Any:
        now, old = datetime.now(UTC), self.memories.get(memory_id)
        of_key = None if new.key is None else self.keys.get(new.key)
        known = self.memories.get(of_key or uuid4())
        if new.compliant is False:
            return NotCompliant
        if old is None:
            return MemoryNotFound
        if of_key is not None and old.superseded_by == of_key:
            return None
        if old.text == memory.text or of_key == memory_id:
            return InvalidMemory
        if not force and old.invalidation_reason is not None:
            return SupersessionConflict
        if memory.valid_until is not None and memory.valid_until <= now:
            return InvalidMemory
        if not force and old.valid_until is not None and old.valid_until > now:
            return SupersessionConflict
        put_away = known is not None and (known.status != "active" or known.invalidation_reason)
        return SupersessionConflict if put_away else None

    def invalidate(self, chance: Random) -> None:
        ids = self.some(chance, 2)
        there = {i: m for i, m in self.memories.items() if i in ids and not m.invalidation_reason}
        assert self.of.invalidate(ids) == len(there)
        for memory_id, memory in there.items():
            memory.invalidation_reason = "forgotten"
            memory.invalidated_at = datetime.now(UTC)
            self.note(memory_id, "forgotten")

    def revive(self, chance: Random) -> None:
        ids, force = self.some(chance, 3), chance.choice(FLAGS)
        now, before = datetime.now(UTC), deepcopy((self.memories, self.events))
        away, errors = 0, list[type[Exception]]()
        for memory_id in sorted(ids & self.memories.keys()):
            memory = self.memories[memory_id]
            expired = memory.expires_at is not None and memory.expires_at <= now
            if memory.status == "active" and memory.invalidation_reason is None and not expired:
                continue
            away += 1
            first, start = memory.superseded_by, max(memory.valid_from or now, now)
            memory.status, memory.invalidation_reason = "active", None
            memory.invalidated_at = memory.superseded_by = None
            memory.expires_at = None if expired else memory.expires_at
            if not memory.keyed and self.taken(memory, memory_id):
                errors.append(DuplicateMemory)
            if not force and self.successors(first, memory_id, start, memory.valid_until):
                errors.append(SupersessionConflict)
            self.note(memory_id, "revived")
        if errors:
            self.memories, self.events = before
            refused(errors[0], self.of.revive, ids, force=force)
        else:
            assert self.of.revive(ids, force=force) == away

    # Curating

    def maintain(self, chance: Random) -> None:
        age, idle = chance.choice([20, 60]) * DAY, chance.choice([7, 30]) * DAY
        policy = RetentionPolicy(max_age_hours=age / timedelta(hours=1), stale_tasks_after=idle)
        run = self.of.maintain(policy)
        now = datetime.now(UTC)
        archived, completed = list[UUID](), list[UUID]()
        for memory_id, m in self.memories.items():
            used = m.last_accessed_at or m.created_at
            expired = m.expires_at is not None and m.expires_at <= now
            if m.status == "archived":
                continue
            if expired or m.created_at < now - age:
                archived.append(memory_id)
            elif m.status == "active" and m.memory_type == "task":
                completed += [memory_id] if max(used, m.created_at) < now - idle else []
        self.archive_memories(archived, run.archived, "archived")
        self.archive_memories(completed, run.completed, "completed")

    def archive_memories(self, ids: list[UUID], count: int, status: str) -> None:
        assert count == len(ids)
        for memory_id in ids:
            self.memories[memory_id].status = status
            self.note(memory_id, status)

    def erase_owner(self, chance: Random) -> None:
        if chance.random() < 0.2:
            assert self.of.erase_owner().memories == len(self.memories)
            self.forget_everything()


# Comparing


def all_is_as_the_rules_say(lives: list[Life], cursor: psycopg.Cursor[dict[str, Any]]) -> None:
    rows = cursor.execute(
        "SELECT u.*, m.* FROM pgrecall.agent_memories m LEFT JOIN pgrecall.memory_usage u "
        "ON u.agent_id = m.agent_id AND u.memory_id = m.id"
    ).fetchall()
    told: dict[tuple[str, UUID], list[str]] = {}
    for event in cursor.execute("SELECT * FROM pgrecall.memory_events ORDER BY occurred_at, id"):
        told.setdefault((event["agent_id"], event["memory_id"]), []).append(event["event_type"])
    expected = {(life.of.stored_id, i): m for life in lives for i, m in life.memories.items()}
    assert {(row["agent_id"], row["id"]) for row in rows} == expected.keys()
    for row in rows:
        compare(row, expected[row["agent_id"], row["id"]])
    assert told == {(life.of.stored_id, i): e for life in lives for i, e in life.events.items()}


def compare(row: dict[str, Any], memory: Remembered) -> None:
    for name in (
        *("content", "status", "tier", "memory_type", "superseded_by", "needs_review"),
        *("invalidation_reason", "created_at"),
    ):
        assert row[name] == getattr(memory, name), name
    assert (row["invalidated_at"] is None) == (memory.invalidation_reason is None)
    assert (row["embedding"] is None) == (memory.angle is None)
    for name in ("importance", "usefulness", "confidence", "trust", "trust_usage"):
        told = getattr(memory, name)
        assert row[name] == (None if told is None else pytest.approx(told, abs=1e-9)), name
    for counter in ("retrieval", "success", "failure"):
        assert (row[f"{counter}_count"] or 0) == getattr(memory, f"{counter}_count"), counter
    for counter in ("feedback_up", "feedback_down"):
        assert (row[counter] or 0) == getattr(memory, counter), counter
    for name in ("valid_from", "valid_until", "expires_at", "last_accessed_at"):
        told = getattr(memory, name)
        assert (row[name] is None) == (told is None), name
        assert told is None or abs(row[name] - told) < CLOSE, name


@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_a_random_life_goes_as_the_rules_say(
    engine: Engine, emptying: psycopg.Connection[Any], seed: int
) -> None:
    """A team that bears the name of an agent is somebody else."""
    chance, twin = Random(seed), Owner(engine, "twin")
    lives = [Life(twin), Life(Owner(engine, "other")), Life(twin.team)]
    with emptying.cursor(row_factory=dict_row) as cursor:
        for _ in range(STEPS):
            rule = chance.choice([*Life.RULES, "add", "supersede", "revive"])
            getattr(chance.choice([lives[0]] * 4 + lives[1:]), rule)(chance)
            all_is_as_the_rules_say(lives, cursor)
