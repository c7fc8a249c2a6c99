"""Searches drawn from a seed, of the memories in `random_memories.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from pgrecall import Decay, Profile, profiles
from pgrecall.scoring.attribute import Attribute
from pgrecall.scoring.signals import (
    Clock,
    Confidence,
    Curve,
    EntityOverlap,
    Frequency,
    Importance,
    Keyword,
    Recency,
    Similarity,
    Time,
    Trust,
    Usefulness,
)
from tests.integration.random_memories import (
    ADA,
    ALIASES,
    BOB,
    ENTITIES,
    PROVENANCE,
    STATUSES,
    STOP_WORDS,
    TAGS,
    TEAMS,
    TIERS,
    TYPES,
    WORDS,
    Dice,
    moments,
)

Case = dict[str, Any]

CASES = 2_000
DATES = ("yesterday", "last week", "in May 2026", "on 12 May 2026", "last month", "in April")

by_type = (("recipe", 3.0), ("episodic", 14.0), ("chore", 40.0), ("fact", 180.0))
by_tier = (("short", 0.25), ("medium", 7.0))
OWN = (
    Profile("meaning alone", {Similarity(): 1.0}),
    Profile("words alone", {Keyword(): 1.0}),
    Profile("words in full", {Keyword(b=0.3, pivot=60): 0.8, Similarity(missing=0.3): 0.2}),
    Profile("shifted alone", {Similarity(shift=0.5): 1.0}),
    Profile(
        "shifted, required", {Similarity(shift=0.9, required=True): 0.9, Recency(rate=0.1): 0.1}
    ),
    Profile(
        "redistributed",
        {
            Similarity(): 0.3,
            Keyword(): 0.3,
            EntityOverlap(): 0.2,
            Time(unknown=0.1): 0.1,
            Importance(): 0.1,
        },
        redistribute=True,
    ),
    Profile(
        "what the query has alone",
        {Similarity(missing=0.2): 0.4, EntityOverlap(subject=True): 0.35, Time(): 0.25},
        redistribute=True,
        min_relevance=0.3,
    ),
    Profile("names", {EntityOverlap(subject=True): 0.6, Recency(half_life=20): 0.4}),
    Profile("time", {Time(unknown=0.2): 0.7, Confidence(): 0.3}),
    Profile(
        "by type",
        {
            Recency(half_life=30, half_lives_by_type=by_type): 0.7,
            Similarity(): 0.3,
        },
    ),
    Profile(
        "by type, linear",
        {
            Recency(half_life=60, curve=Curve.LINEAR, half_lives_by_type=by_type): 0.5,
            Usefulness(): 0.5,
        },
    ),
    Profile(
        "by tier",
        {
            Recency(half_life=90, clock=Clock.LATEST, half_lives_by_tier=by_tier): 0.6,
            Importance(): 0.4,
        },
    ),
    Profile(
        "by tier, hyperbolic",
        {
            Recency(
                half_life=9,
                curve=Curve.HYPERBOLIC,
                clock=Clock.LAST_ACCESSED_AT,
                unknown=0.3,
                half_lives_by_tier=by_tier,
            ): 0.5,
            Similarity(missing=0.5): 0.5,
        },
    ),
    Profile("trust in decay", {Trust(missing=0.2): 0.7, Similarity(): 0.3}),
    Profile("trust as stored", {Trust(decay=False, missing=0.1): 0.7, Frequency(cap=10): 0.3}),
    Profile(
        "own numbers",
        {
            Attribute(name="views", metadata="stats.views", most=80, missing=0.4): 0.5,
            Attribute(name="age", metadata="user.age", least=25, most=55, falling=True): 0.3,
            Similarity(): 0.2,
        },
    ),
    Profile(
        "an own number of a list, decaying",
        {
            Attribute(name="last_score", metadata="user.scores.-1", most=3): 0.6,
            Similarity(): 0.4,
        },
        decay=Decay(Recency(half_life=40), 0.25),
    ),
    Profile(
        "decaying",
        {Similarity(): 0.5, Keyword(): 0.5},
        decay=Decay(Recency(half_life=30, clock=Clock.LATEST), 0.1),
    ),
    Profile(
        "decaying by type",
        {Similarity(shift=0.4): 0.6, Usefulness(): 0.4},
        redistribute=True,
        decay=Decay(Recency(half_life=30, half_lives_by_type=by_type)),
    ),
    profiles.half_life.with_half_life(3).renamed("half_life of three days"),
    profiles.five_factor.with_half_life(30).renamed("five_factor of thirty days"),
)
"""Profiles that are not built in."""
PROFILES: Mapping[str, Profile] = {one.name: one for one in (*profiles.BUILT_IN.values(), *OWN)}


def cases(now: datetime) -> list[Case]:
    """The searches, in the words of the filter language and of the arguments of `search`.

    A case also has `agent`, `query`, and maybe `also`: what else is asked.
    """
    dice = Dice("cases")
    return [_case(dice, now) for _ in range(CASES)]


def _case(dice: Dice, now: datetime) -> Case:
    agent = BOB if dice.maybe(0.3) else ADA
    now = moments(agent, now)
    profile = PROFILES[dice.pick([*profiles.BUILT_IN, *PROFILES])]
    case: Case = {"agent": agent, "query": None, "profile": profile.name}
    case["k"] = dice.pick([1, 3, 5, 10, 10, 10, 20])
    if dice.maybe(0.8):
        case["query"] = _question(dice) if dice.maybe(0.5) else dice.vector()
    if dice.maybe(0.2 if isinstance(case["query"], str) else 0.3):
        case["keywords"] = _question(dice)
    if dice.maybe(0.15):
        case["weights"] = _weights(dice, profile)
    if agent == ADA and dice.maybe(0.25):
        case["teams"] = dice.some(TEAMS, 1, 2)
    if agent == BOB or dice.maybe(0.25):
        case["as_of"] = now - timedelta(days=dice.pick([0.0, dice.between(-60, 60)]))
    if dice.maybe(0.2):
        case["entities"] = dice.some([*ENTITIES, *ALIASES, "Nobody"], 0, 3)
    case["period"] = _period(dice, now)
    if agent == BOB and dice.maybe(0.3):
        case["query"] = f"{_question(dice)} {dice.pick(DATES)}"
        case["period"] = "auto"
    if dice.maybe(0.15):
        case["include_inactive"] = True
    filters = _filters(dice, now, case)
    if filters:
        case["filter"] = filters
    has_words = isinstance(case["query"], str) or "keywords" in case
    if dice.maybe(0.12):
        case["min_score"] = dice.between(0.05, 0.6)
    if (case["query"] is not None or has_words) and dice.maybe(0.15):
        case["min_relevance"] = dice.pick([0.0, dice.between(0, 0.6)])
    chance = dice.random()
    if chance < 0.1:
        case["surrounding_turns"] = dice.whole(1, 3)
    elif chance < 0.2:
        case["linked"] = dice.whole(1, 2)
    elif chance < 0.3:
        case["diversity"] = dice.pick([0.2, 0.5, 0.9])
    if chance < 0.03:
        case["linked"] = 1
    elif chance < 0.5:
        _ask_more(dice, case, filters)
    return case


def _ask_more(dice: Dice, case: Case, filters: Mapping[str, Any]) -> None:
    """What else is asked: one memory explained, all counted, or the first of a list."""
    needs_query = "similarity" in str(filters)
    case["also"] = "explain" if needs_query else dice.pick(["explain", "count", "list"])
    if case["also"] == "explain":
        case["memory"] = dice.random()  # below one half a hit, if there is one
    elif case["also"] == "list":
        case["order"] = dice.pick(ORDERS)


def _question(dice: Dice) -> str:
    if dice.maybe(0.1):
        return " ".join(dice.some(STOP_WORDS, 2, 4))
    words = dice.some(WORDS, 1, 4)
    if dice.maybe(0.5):
        words += dice.some([*ENTITIES, *ALIASES, "Katerina", "Captain", "Ann"], 1, 2)
    return " ".join(words + dice.some(STOP_WORDS, 0, 2))


def _weights(dice: Dice, profile: Profile) -> dict[str, float]:
    """Of some signals, in thousandths."""
    names = dice.some([*profile.weights], 1, len(profile.weights))
    parts = [dice.whole(1, 999 // len(names)) for _ in names[1:]]
    return dict(
        zip(names, [(1_000 - sum(parts)) / 1_000, *(n / 1_000 for n in parts)], strict=True)
    )


def _period(dice: Dice, now: datetime) -> tuple[datetime, datetime] | None:
    if not dice.maybe(0.15):
        return None
    end = now - timedelta(days=dice.between(0, 100))
    return end - timedelta(days=dice.pick([0.01, 0.5, 7.0, 30.0])), end


def _filters(dice: Dice, now: datetime, case: Case) -> dict[str, Any]:
    conditions: dict[str, Any] = {}
    kinds = dice.some(KINDS, 0, 3) if dice.maybe(0.75) else []
    if case.get("include_inactive") and dice.maybe(0.6):
        conditions["status"] = _any_of(dice, STATUSES)
    for kind in kinds:
        conditions |= _condition(dice, now, case, kind)
    if len(conditions) > 1 and dice.maybe(0.3):
        return {"$and": [{key: value} for key, value in conditions.items()]}
    return conditions


KINDS = (
    *("tags", "entities", "column", "provenance", "created_at", "metadata", "metadata"),
    *("trust", "content", "similarity", "similarity", "needs_review"),
)


def _condition(dice: Dice, now: datetime, case: Case, kind: str) -> dict[str, Any]:
    match kind:
        case "tags" | "entities":
            known: Sequence[str] = TAGS if kind == "tags" else [*ENTITIES, *ALIASES]
            values = dice.some(known, 1, 3)
            form = dice.pick(["$in", "$in", "$all", "", "plain"])
            if form == "$all":
                return {kind: {"$all": values[:2]}}
            return {kind: {"$in": values} if form == "$in" else values if form else values[0]}
        case "column":
            name = dice.pick([*COLUMNS])
            return {name: _any_of(dice, COLUMNS[name])}
        case "provenance":
            if dice.maybe(0.2):
                return {"provenance.constitutional_compliance": dice.maybe(0.7)}
            name = dice.pick([*PROVENANCE])
            return {f"provenance.{name}": _any_of(dice, PROVENANCE[name])}
        case "created_at":
            first = now - timedelta(days=dice.between(20, 300))
            last = now - timedelta(days=dice.between(0, 10))
            return {
                "created_at": dice.pick(
                    [{"$gte": first, "$lt": last}, {"$gte": first}, {"$lt": last}]
                )
            }
        case "trust":
            return {"decayed_trust": {"$gte": dice.between(0, 0.5)}}
        case "content":
            return {"content": {"$match": dice.pick(MATCHES)}}
        case "similarity" if case["query"] is not None:
            return {"similarity": {"$gte": dice.between(-0.3, 0.6)}}
        case "needs_review":
            return {"needs_review": dice.maybe(0.3)}
        case "metadata":
            return {
                f"metadata.{path}": value for path, value in dice.some(_on_metadata(dice), 1, 2)
            }
        case _:
            return {}


COLUMNS = {"memory_type": TYPES, "tier": TIERS}
ORDERS = (["-created_at"], ["importance"], ["memory_type", "-trust"], ["-retrieval_count"])
MATCHES = (
    "tea or milk",
    "dance",
    '"the garden" or boats or fire',
    "-tea",
    "rain -winter",
    "42",
    "paint or Ann",
)


def _any_of(dice: Dice, values: Sequence[str]) -> Any:
    chosen = dice.some(values, 1, len(values) - 1)
    return dice.pick([chosen, {"$in": chosen}, chosen[0], {"$eq": chosen[0]}])


def _on_metadata(dice: Dice) -> list[tuple[str, Any]]:
    return [
        ("project", _any_of(dice, ["quay", "mill", "pier"])),
        ("project", dice.pick([{"$ne": "quay"}, {"$nin": ["quay", "mill"]}])),
        ("priority", {dice.pick(["$gt", "$gte"]): dice.whole(1, 3)}),
        ("priority", {"$gte": 2, "$lt": 4.5}),
        ("priority", {"$nin": [1, "high"]}),
        ("priority", 3),
        ("done", dice.maybe(0.5)),
        ("done", {"$exists": dice.maybe(0.5)}),
        ("user.age", {dice.pick(["$lt", "$lte"]): dice.whole(30, 60)}),
        ("user.name", {dice.pick(["$gt", "$ne", "$eq"]): dice.pick(["Ann", "Bo"])}),
        ("user.scores.0", {"$in": [0, 1, "x"]}),
        ("stats.views", {"$gt": dice.between(0, 60)}),
    ]
