"""The moment asked about: what was there, what held, how old it was, and what moves the clock; and
the period that a query names, near which comes first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from pgrecall import JudgedQuery, Memory, NewMemory, Profile, profiles
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.scoring.signals import Time
from tests.integration.commands import Run, make_once, runner
from tests.integration.owner import Owner, north
from tests.integration.support import NORTH, NOW, at, before, contents

TICK = timedelta(microseconds=1)
FROM, UNTIL = before(20), before(10)
FAR = datetime(2999, 1, 1, tzinfo=NOW.tzinfo)


def test_an_explicit_moment_hides_what_was_created_later(mine: Owner) -> None:
    for text, created in (("earlier", before(1)), ("now", NOW), ("later", NOW + TICK)):
        mine.add(north(text, created_at=created))

    assert contents(mine.search(NORTH, as_of=NOW)) == ["now", "earlier"]
    assert mine.search(NORTH, as_of=datetime(1, 1, 2, tzinfo=NOW.tzinfo)) == []
    assert mine.count(as_of=NOW) == 2
    elsewhere = NOW.astimezone(timezone(timedelta(hours=-9, minutes=-30)))
    assert mine.count(as_of=elsewhere) == 2


@pytest.mark.parametrize("profile", profiles.BUILT_IN)
def test_what_is_dated_ahead_is_seen_now_with_age_zero(mine: Owner, profile: str) -> None:
    added = mine.add(north("ahead", created_at=FAR, trust=0.5))
    use(mine, [added], FAR)

    [hit] = mine.search(NORTH, profile=profile)

    assert hit.signals["recency"] == 1.0
    assert hit.signals.get("trust", 0.5) == 0.5
    assert mine.count() == 1


@pytest.mark.parametrize("profile", profiles.BUILT_IN)
def test_a_retrieval_after_the_moment_asked_about_is_not_seen(mine: Owner, profile: str) -> None:
    for degrees, days in ((0, 30), (20, 3), (40, 1)):
        new = NewMemory(f"{days} days", embedding=at(degrees), created_at=before(days), trust=0.8)
        mine.add(new)
    ids = [hit.memory.id for hit in mine.search(NORTH, touch=False)]
    asked: dict[str, Any] = {"profile": profile, "as_of": before(0.5)}
    queries = [JudgedQuery(NORTH, [id_]) for id_ in ids]
    at_their_own = [replace(query, as_of=before(n / 4)) for n, query in enumerate(queries, 1)]

    def answers() -> list[object]:
        hits = mine.search(NORTH, touch=False, filter={"decayed_trust": {"$gte": 0.1}}, **asked)
        explained = mine.explain(ids[0], NORTH, **asked)
        return [
            [(hit.memory.id, hit.score, hit.signals) for hit in hits],
            (explained.rank, explained.needed_score, explained.signals),
            mine.evaluation.evaluate(queries, profiles=[profile], as_of=before(0.5)),
            mine.evaluation.evaluate(at_their_own, profiles=[profile]),
            mine.sql(
                "SELECT id, score, signal_recency, signal_trust FROM pgrecall.recall("
                ":agent, CAST(:query AS vector), profile => :profile, as_of => :as_of)",
                **asked,
                query=str(NORTH),
            ),
        ]

    known = answers()
    use(mine, ids[1:], datetime.now(UTC))

    assert all(known)
    assert answers() == known


VALID: tuple[tuple[Mapping[str, Any], datetime, bool], ...] = (
    *(
        ({"valid_from": FROM, "valid_until": UNTIL}, as_of, seen)
        for as_of, seen in (
            *((FROM - TICK, False), (FROM, True), (UNTIL - TICK, True), (UNTIL, False)),
        )
    ),
    ({"valid_from": FROM}, FROM - TICK, False),
    ({"valid_from": FROM}, NOW, True),
    *(
        ({end: FROM}, as_of, seen)
        for end in ("valid_until", "expires_at", "invalidated_at")
        for as_of, seen in ((FROM - TICK, True), (FROM, False))
    ),
    *(({"status": status}, NOW, False) for status in ("consolidated", "completed", "archived")),
)


def test_what_does_not_hold_at_a_moment_is_not_seen(mine: Owner) -> None:
    for columns, as_of, seen in VALID:
        memory_id = mine.add(north("a", created_at=None))
        mine.put(memory_id, **columns)
        status = columns.get("status", "active")
        for filters, expected in (
            ({}, seen),
            ({"include_inactive": True, "filter": {"status": "active"}}, status == "active"),
            ({"include_inactive": True}, True),
        ):
            hits = mine.search(NORTH, as_of=as_of, touch=False, **filters)
            assert len(hits) == mine.count(as_of=as_of, **filters) == expected, columns
        mine.erase_owner()


def use(mine: Owner, ids: list[Any], moment: datetime) -> None:
    """Notes when memories were last used."""
    mine.sql(
        "INSERT INTO pgrecall.memory_usage (agent_id, memory_id, last_accessed_at) "
        "SELECT :agent, unnest(CAST(:ids AS uuid[])), :moment",
        ids=ids,
        moment=moment,
    )


# What moves the clock of a memory: its retrieval, or by a profile like trust its use alone

DAY = timedelta(days=1)
SEARCHES: dict[str, Callable[[Owner], Any]] = {
    "search": lambda mine: mine.search(NORTH, profile="trust"),
    "context": lambda mine: mine.context(NORTH, profile="trust"),
    "linked": lambda mine: mine.search(NORTH, profile="trust", linked=1),
    "recall": lambda mine: mine.sql(
        "SELECT id FROM pgrecall.recall(:agent, CAST(:query AS vector), profile => 'trust', "
        "touch => true)",
        query=str(NORTH),
    ),
}
"""Each way to find memories by the profile trust and to count that."""


def used(mine: Owner, days: int) -> Memory:
    """A memory whose trust decays since it was used so many days ago."""
    lasting = {"trust_curve": "exponential", "trust_half_life_hours": 24.0}
    now = datetime.now(UTC)
    memory_id = mine.add(north("tea", trust=0.8, created_at=now - 10 * DAY, **lasting))
    use(mine, [memory_id], now - days * DAY)
    return mine.read(memory_id)


def trusted(mine: Owner) -> float:
    [hit] = mine.search(NORTH, profile="trust", touch=False)
    return float(hit.signals["trust"])


@pytest.mark.parametrize("search", SEARCHES)
def test_a_search_by_trust_does_not_reset_the_decay_that_it_ranks_by(
    mine: Owner, search: str
) -> None:
    before = used(mine, days=1)
    assert trusted(mine) == pytest.approx(0.4, abs=1e-3)

    for age in (2, 3):
        SEARCHES[search](mine)
        assert mine.read(before.id) == replace(before, retrieval_count=age - 1)
        # A day later: what a row knows is a day older.
        mine.sql(
            "UPDATE pgrecall.memory_usage "
            "SET last_accessed_at = last_accessed_at - interval '1 day' WHERE agent_id = :agent"
        )
        before = mine.read(before.id)
        assert trusted(mine) == pytest.approx(0.8 / 2**age, abs=1e-3)


def test_what_was_never_used_does_not_begin_to_decay_by_being_found(mine: Owner) -> None:
    memory_id = mine.add(north("tea", trust=0.8))

    for search in SEARCHES.values():
        search(mine)

    memory = mine.read(memory_id)
    assert (memory.retrieval_count, memory.last_accessed_at) == (len(SEARCHES), None)


@pytest.mark.parametrize("outcome", ["success", "failure"])
def test_a_recorded_use_moves_the_clock(mine: Owner, outcome: Any) -> None:
    memory = used(mine, days=3)

    after = mine.record_outcome(memory.id, outcome, touch=outcome == "failure")

    assert datetime.now(UTC) - after.last_accessed_at < DAY / 24
    assert trusted(mine) == pytest.approx(after.trust, abs=1e-3)


def test_feedback_is_an_opinion_and_a_touch_of_the_callers_a_use(mine: Owner) -> None:
    memory = used(mine, days=3)

    assert mine.feedback(memory.id, "useful").last_accessed_at == memory.last_accessed_at
    mine.touch(memory.id)
    assert trusted(mine) == pytest.approx(0.8, abs=1e-3)


def test_a_profile_says_what_moves_the_clock(mine: Owner) -> None:
    memory_id = mine.add(north("tea"))

    for accessed_by in ("use", "retrieval"):
        mine.search(NORTH, profile=replace(profiles.half_life, accessed_by=accessed_by))
        memory = mine.read(memory_id)
        assert (memory.last_accessed_at is None) is (accessed_by == "use")
    assert memory.retrieval_count == 2


# The period asked about


BY_TIME = Profile("by time", {Time(): 1.0})
WEEK = before(21), before(14)


def nearness(mine: Owner, **arguments: Any) -> dict[str, float]:
    hits = mine.search(profile=arguments.pop("profile", BY_TIME), k=50, **arguments)
    return {hit.memory.content: hit.signals["time"] for hit in hits}


def test_it_falls_evenly_over_the_length_of_the_period_or_a_day(mine: Owner) -> None:
    days = {22: 6 / 7, 21: 1, 17: 1, 14: 1, 10.5: 0.5, 24.5: 0.5, 7: 0, 28: 0, 2: 0, 400: 0}
    hour = before(17), before(17) + timedelta(hours=1)
    mine.add_many([north(f"{d}", observed_at=before(d)) for d in days])

    week = nearness(mine, period=WEEK)
    short = nearness(mine, period=(hour[0] - timedelta(hours=7), hour[0]))

    assert week == pytest.approx({f"{day}": near for day, near in days.items()}, abs=1e-9)
    assert {day for day, near in short.items() if near} == {"17"}
    later = nearness(mine, period=tuple(one + timedelta(hours=6) for one in hour))
    assert later["17"] == pytest.approx(0.75)


def test_what_is_written_a_day_later_is_within_the_period(mine: Owner) -> None:
    day = timedelta(days=1)
    late = {"in it": -day / 4, "the day after": day / 2, "half a day too late": 3 * day / 2}
    mine.add_many([north(name, created_at=before(14) + by) for name, by in late.items()])
    mine.add(north("observed", created_at=before(9), observed_at=before(14) + day / 2))

    asked = before(15), before(14)
    expected = {"in it": 1, "the day after": 1, "half a day too late": 0.5, "observed": 0.5}
    assert nearness(mine, period=asked) == pytest.approx(expected)
    assert nearness(mine, period=WEEK)["half a day too late"] == pytest.approx(1 - 0.5 / 7)


def test_what_was_observed_counts_before_what_was_written(mine: Owner) -> None:
    mine.add(north("told", created_at=before(1), observed_at=before(15)))
    mine.add(north("written", created_at=before(15), observed_at=before(1)))
    mine.add(north("unknown", created_at=None))

    assert nearness(mine, period=WEEK) == {"told": 1, "written": 0, "unknown": 0}
    unknown = Profile("by time", {Time(unknown=0.25): 1.0})
    assert nearness(mine, period=WEEK, profile=unknown)["unknown"] == 0.25
    assert set(nearness(mine, profile=unknown).values()) == {0}


def test_the_result_says_which_period_was_asked_for(mine: Owner) -> None:
    id_ = mine.add(north("it", created_at=before(16)))
    told = [moment.isoformat() for moment in WEEK]

    assert mine.search(NORTH, period=WEEK).period == WEEK
    assert mine.search(NORTH).period is None
    context = mine.context(NORTH, period=WEEK)
    assert (context.period, context.record()["period"]) == (WEEK, told)
    explained = mine.explain(id_, NORTH, period=WEEK)
    assert (explained.period, explained.record()["period"]) == (WEEK, told)
    assert {one.name: one.value for one in explained.signals}["time"] == 1
    assert "period" not in mine.explain(id_, NORTH).record()


def test_dates_in_the_text_are_found_unless_told_otherwise(mine: Owner) -> None:
    asked = "What did Ines say last week?"
    monday = datetime(2026, 5, 25, tzinfo=UTC)
    week = monday - timedelta(days=7), monday
    as_of = monday + timedelta(days=2, hours=9)

    def found(**given: Any) -> object:
        return mine.search(NORTH, as_of=as_of, **given).period

    assert found(keywords=asked) == week
    assert found(keywords=asked, period="auto") == week
    assert found(keywords=asked, period=None) is None
    assert found(keywords=asked, profile="five_factor") is None  # it does not weigh time
    assert found(keywords=asked, period=WEEK) == WEEK
    assert found(keywords="Was war letzte Woche?", period="de") == week
    assert found(period="auto") is None
    assert found(keywords="What does Ines drink?", period="auto") is None


@pytest.fixture
def run(local_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", local_url)
    make_once(monkeypatch, LocalEmbedder())
    return runner(monkeypatch, capsys)


def test_the_command_line_takes_a_period_or_finds_it_and_shows_it(run: Run) -> None:
    id_ = run("add", "tea", "--agent", "a").out.strip()
    period = ("--period", "2026-05-01..2026-06-01")
    told = ["2026-05-01T00:00:00+00:00", "2026-06-01T00:00:00+00:00"]
    line = ", between 2026-05-01 and 2026-06-01"

    for command in (("search", "tea"), ("explain", id_, "tea"), ("context", "tea")):
        asked = (*command, "--agent", "a", *period)
        assert run(*asked, "--json").records[0]["period"] == told
        shown = run(*asked)
        assert line in " ".join((shown.out + shown.err).split())
    assert "period" not in run("search", "tea", "--agent", "a", "--json").records[0]
    named = ("search", "tea in May 2026", "--agent", "a")
    assert "between 2026-05-01" in " ".join(run(*named).out.split())
    assert "between" not in run(*named, "--period", "none").out
    for options, message in (
        (("--period", "2026-05-01..May"), "--period: 'May' is not an ISO 8601 time"),
        (("--period", "2026-05-02..2026-05-01"), "period must end after it begins"),
        (("--period", "always"), "period must be 'auto'"),
    ):
        done = run("search", "tea", "--agent", "a", *options)
        assert done.code == 2
        assert message in " ".join(done.err.split())
