"""Tuning beyond weights: parameters, and arguments of a search that come with the profile."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from pgrecall import JudgedQuery, NewMemory, Profile, Tuning
from pgrecall.evaluation.tunable import LENDING
from pgrecall.scoring.signals import (
    Importance,
    Keyword,
    Recency,
    Signal,
    Similarity,
    Time,
    Usefulness,
)
from tests.conftest import DIMENSIONS
from tests.integration.owner import Owner
from tests.integration.support import NOW, before

MONTHS = ("January", "March", "May", "July", "September", "November")
START = Profile("start", {Similarity(): 0.8, Time(): 0.1, Importance(): 0.1})
ALONE = Profile("alone", {Similarity(): 1.0})


def vector(dice: random.Random) -> list[float]:
    return [dice.gauss(0.3, 1) for _ in range(DIMENSIONS)]


def about_months(mine: Owner) -> list[JudgedQuery]:
    """Questions that name a month, in which their two answers were written."""
    dice = random.Random("months")
    queries = []
    for year in (2024, 2025):
        for number, month in enumerate(MONTHS):
            written = datetime(year, 2 * number + 1, 10, tzinfo=UTC)
            new = [
                NewMemory(f"{n} {written:%x}", embedding=vector(dice), created_at=written)
                for n in range(2)
            ]
            ids = mine.add_many(new)
            queries.append(JudgedQuery(vector(dice), ids, query_text=f"in {month} {year}?"))
    return queries


def tuned(mine: Owner, queries: list[JudgedQuery], start: Profile, **more: Any) -> Tuning:
    found: Tuning = mine.evaluation.tune(queries, start=start, as_of=NOW, k=2, **more)
    return found


def test_time_is_weighed_where_questions_name_it(mine: Owner) -> None:
    """Also by a profile that has no such signal; and not where their dates are ignored."""
    queries = about_months(mine)

    found = tuned(mine, queries, START)
    gained = tuned(mine, queries, ALONE)
    off = tuned(mine, queries, START, dates="off")

    for one in (found, gained):
        assert one.found.weights["time"] > 0.2
        assert one.held_out.profiles[1].overall.means["recall"] > 0.9
        assert one.found_arguments == {}
    assert off.found.weights["time"] == 0.1
    assert off.held_out.profiles[0] != found.held_out.profiles[0]


def test_lending_is_proposed_where_answers_lie_beside_what_is_found(mine: Owner) -> None:
    dice = random.Random("turns")
    queries = []
    for session in range(24):
        asked = vector(dice)
        near = [number + dice.gauss(0, 0.1) for number in asked]
        answer = [0.7 * number + dice.gauss(0, 1) for number in asked]
        turns = [vector(dice), near, answer, vector(dice)]
        _, _, relevant, _ = mine.add_many(
            NewMemory(f"{session} {n}", embedding=one, session=f"{session}", turn=n, created_at=NOW)
            for n, one in enumerate(turns)
        )
        queries.append(JudgedQuery(asked, [relevant]))

    found = tuned(mine, queries, ALONE)

    assert {**found.arguments} in [one._asdict() for one in LENDING]
    assert found.difference.low > 0.1
    asked_so: dict[str, Any] = {"profiles": [found.found], "as_of": NOW, "k": 2}
    lent = mine.evaluation.evaluate(queries, **asked_so, **found.arguments)
    # Each fold is ranked by what the others find, which is nearly the same.
    promised = found.held_out.profiles[1].overall.means
    assert lent.profiles[0].overall.means == pytest.approx(promised, abs=0.06)
    assert tuned(mine, queries, ALONE, arguments=False).found_arguments == {}


@pytest.mark.parametrize(
    ("start", "planted", "parameter"),
    [
        (Keyword(), Keyword(b=0.0), "keyword.b"),
        (Recency(half_life=256), Recency(half_life=8), "recency.half_life"),
        (Recency(rate=0.001), Recency(half_life=8), "recency.half_life"),
        (Similarity(), Similarity(shift=0.9), "similarity.shift"),
    ],
)
def test_a_parameter_is_found_again(mine: Owner, start: Any, planted: Any, parameter: str) -> None:
    dice = random.Random("parameters")
    mine.add_many(
        NewMemory(
            " ".join(dice.choices(("tea", "milk", "rain", "harbour", "fire"), k=dice.randint(1, 3)))
            + f" {number} "
            + "x" * dice.choice((0, 600, 3000)),
            embedding=vector(dice),
            usefulness=dice.random(),
            created_at=before(dice.uniform(0, 60)),
        )
        for number in range(80)
    )
    other: Signal = Similarity() if planted.name != Similarity.name else Keyword()
    rest: dict[Signal, float] = {other: 0.3, Usefulness(): 0.2}
    profile = Profile("planted", {planted: 0.5, **rest})
    queries = []
    for _ in range(30):
        asked: dict[str, Any] = {"query_text": " ".join(dice.sample(("tea", "rain", "fire"), 2))}
        given = vector(dice)
        hits = mine.search(given, **asked, k=4, profile=profile, as_of=NOW, touch=False)
        queries.append(JudgedQuery(given, [hit.memory.id for hit in hits], **asked))

    found = tuned(mine, queries, Profile("start", {start: 0.5, **rest}))

    assert parameter in [one.parameter for one in found.changes]
    assert planted in found.found.signals
    assert found.held_out.profiles[1].overall.means["ndcg"] > 0.9
