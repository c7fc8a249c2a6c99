"""At most so many hits of one session, subject or day: as a plain loop over the whole ranking says.
That psql does the same for random arguments is told by test_statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta, timezone
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from psycopg import connect
from psycopg.rows import dict_row
from sqlalchemy import Engine

from pgrecall import MemoryRepository, NewMemory, ScoredMemory
from pgrecall.errors import InputError, UnknownName
from tests.integration.owner import Owner, north, plain
from tests.integration.recalling import recall
from tests.integration.support import NORTH, at, before, contents

AGENT, TEAM = "agent", "red"
BERLIN = ZoneInfo("Europe/Berlin")
ASKED: dict[str, Any] = {"touch": False, "profile": "five_factor", "as_of": before(0)}


@pytest.fixture(scope="module")
def repo(module_engine: Engine) -> MemoryRepository:
    dice = Random("max_per")

    def memory(number: int) -> NewMemory:
        """Some at the same place, in a session without a turn, or without any of the three."""
        in_session = number % 4
        return plain(
            f"memory {number}",
            embedding=at(dice.choice([7, dice.uniform(0, 90)])),
            created_at=before(dice.uniform(0, 9)) if number % 11 else None,
            observed_at=before(dice.uniform(0, 9)) if number % 3 else None,
            subject=dice.choice(["Ann", "Bob", None]),
            session=dice.choice(["a", "b", "c"]) if in_session else None,
            turn=number if in_session > 1 else None,
        )

    made = MemoryRepository(module_engine)
    made.add_many(AGENT, [memory(n) for n in range(80)])
    made.teams.add_many(TEAM, [memory(n) for n in range(80, 120)])
    return made


def limited(
    ranked: Sequence[ScoredMemory], most: Mapping[str, int], zone: Any
) -> dict[str, list[str]]:
    """Text → why a memory is left out; in the order of the ranking."""
    seen: Counter[Any] = Counter()
    found = {}
    for hit in ranked:
        memory = hit.memory
        moment = memory.observed_at or memory.created_at
        groups = {
            "session": memory.session and (memory.owner_id, memory.session),
            "subject": memory.subject,
            "day": moment and moment.astimezone(zone).date(),
        }
        mine = {name: (name, groups[name]) for name in most if groups[name] is not None}
        found[memory.content] = [
            f"left out by max_per: {seen[mine[name]]} of its {name} come before it"
            for name in groups
            if name in mine and seen[mine[name]] >= most[name]
        ]
        seen.update(mine.values())
    return found


CASES: tuple[dict[str, Any], ...] = (
    {"max_per": {"session": 2}},
    {"max_per": {"session": 2}, "teams": [TEAM]},
    {"max_per": {"subject": 1}, "teams": [TEAM]},
    {"max_per": {"day": 3}, "timezone": BERLIN},
    {"max_per": {"day": 1}, "timezone": timezone(timedelta(hours=-9, minutes=-30))},
    {"max_per": {"day": 2, "subject": 9, "session": 4}, "teams": [TEAM], "timezone": "UTC"},
    {"max_per": {"session": 1}, "min_score": 0.55, "min_similarity": 0.2},
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_hits_are_those_of_a_loop_over_the_ranking(
    repo: MemoryRepository, case: dict[str, Any]
) -> None:
    others = {name: value for name, value in case.items() if name != "max_per"}
    ranked = repo.search(AGENT, NORTH, k=500, **ASKED, **others)
    zone = others.get("timezone", UTC)
    reasons = limited(ranked, case["max_per"], UTC if zone == "UTC" else zone)
    expected = [text for text, why in reasons.items() if not why]
    assert 10 < len(expected) < len(ranked), "some are left out"

    for k in (5, 500):
        hits = repo.search(AGENT, NORTH, k=k, **ASKED, **case)
        assert contents(hits) == expected[:k]
        packed = repo.context(AGENT, NORTH, k=k, consider=k, **ASKED, **case).packed
        assert {one.hit.memory.content for one in packed} == {*expected[:k]}
    asked = {name: value for name, value in ASKED.items() if name != "touch"}
    for hit in ranked[::7]:
        why = repo.explain(AGENT, hit.memory.id, NORTH, k=500, **asked, **case)
        told = reasons[hit.memory.content]
        assert [*why.reasons] == told
        assert (why.returned, why.passes) == (not told, not told)
        assert why.ranked == len(expected) or "min_score" in case, "which is no filter"


def test_psql_counts_days_in_the_zone_of_the_session(
    repo: MemoryRepository, module_url: str
) -> None:
    asked: dict[str, Any] = {"max_per": {"day": 1}, "k": 99, "as_of": before(0)}
    with connect(module_url, autocommit=True, row_factory=dict_row) as connection:
        connection.execute("SET TimeZone = 'Europe/Berlin'")
        rows = recall(connection, "five_factor", AGENT, query=NORTH, **asked)

    hits = repo.search(AGENT, NORTH, profile="five_factor", touch=False, timezone=BERLIN, **asked)
    assert [row["id"] for row in rows] == [hit.memory.id for hit in hits]


def test_turns_that_come_along_do_not_count(mine: Owner) -> None:
    turns = [north(f"turn {n}", embedding=at(n), session="s", turn=n) for n in range(4)]
    ids = [*mine.add_many([*turns, plain("lone", embedding=at(50))])]
    asked: dict[str, Any] = {"max_per": {"session": 1}, "expand_session": 2, "k": 2}

    hits = mine.search(NORTH, touch=False, **asked)

    assert contents(hits) == ["turn 0", "turn 1", "turn 2", "lone"]
    assert mine.explain(ids[1], NORTH, **asked).reasons == ()
    assert mine.explain(ids[3], NORTH, **asked).reasons == (
        "left out by max_per: 3 of its session come before it",
    )


def test_what_cannot_be_limited_is_refused(mine: Owner) -> None:
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        (
            {"max_per": {"sesion": 1}},
            r"unknown sesion \(did you mean session\?\); known are sess",
        ),
        ({"max_per": {"day": 0}}, r"max_per\[day\] must lie within 1 and 1000, got 0"),
        ({"max_per": {"day": 1.5}}, r"max_per\[day\]"),
        ({"max_per": 3}, "max_per must map session, subject, day to numbers, got int"),
        ({"max_per": {"day": 1}, "expand_session": 1, "lend": 0.5}, "does not go with lend"),
    )
    for arguments, message in refused:
        with pytest.raises((InputError, UnknownName), match=message):
            mine.search(NORTH, **arguments)
