"""The time signal in searches: what is near the period that a query names comes first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from pgrecall import JudgedQuery, NewMemory, Profile
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.scoring.signals import Importance, Similarity, Time
from tests.integration.commands import Run, make_once, runner
from tests.integration.owner import Owner, north
from tests.integration.support import NORTH, at, before, contents, sql

BY_TIME = Profile("by time", {Time(): 1.0})
WEEK = before(21), before(14)


def nearness(mine: Owner, **arguments: Any) -> dict[str, float]:
    hits = mine.search(profile=arguments.pop("profile", BY_TIME), k=50, **arguments)
    return {hit.memory.content: hit.signals["time"] for hit in hits}


def test_it_falls_evenly_over_the_length_of_the_period_or_a_day(mine: Owner) -> None:
    days = {22: 6 / 7, 21: 1, 17: 1, 14: 1, 10.5: 0.5, 24.5: 0.5, 7: 0, 28: 0, 2: 0, 400: 0}
    hour = before(17), before(17) + timedelta(hours=1)
    mine.add_many([north(f"{d}", created_at=before(d)) for d in days])

    week = nearness(mine, query_time=WEEK)
    short = nearness(mine, query_time=(hour[0] - timedelta(hours=7), hour[0]))

    assert week == pytest.approx({f"{day}": near for day, near in days.items()}, abs=1e-9)
    assert {day for day, near in short.items() if near} == {"17"}
    later = nearness(mine, query_time=tuple(one + timedelta(hours=6) for one in hour))
    assert later["17"] == pytest.approx(0.75)


def test_what_was_observed_counts_before_what_was_written(mine: Owner) -> None:
    mine.add(north("told", created_at=before(1), observed_at=before(15)))
    mine.add(north("written", created_at=before(15), observed_at=before(1)))
    mine.add(north("unknown", created_at=None))

    assert nearness(mine, query_time=WEEK) == {"told": 1, "written": 0, "unknown": 0}
    unknown = Profile("by time", {Time(unknown=0.25): 1.0})
    assert nearness(mine, query_time=WEEK, profile=unknown)["unknown"] == 0.25
    assert set(nearness(mine, profile=unknown).values()) == {0}


def test_without_a_period_its_weight_goes_to_the_others(mine: Owner) -> None:
    both = {Similarity(): 0.5, Importance(): 0.3}
    with_time = Profile("mine", {**both, Time(): 0.2}, redistribute=True)
    without = Profile("mine", {signal: weight / 0.8 for signal, weight in both.items()})
    mine.add_many([NewMemory(f"{n}", embedding=at(n * 9), importance=1 - n / 9) for n in range(9)])

    found = mine.search(NORTH, profile=with_time, touch=False)
    same = mine.search(NORTH, profile=without, touch=False)
    other = mine.search(NORTH, profile=with_time, query_time=WEEK, touch=False)

    assert contents(found) == contents(same)
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in same], abs=1e-12)
    assert found[0].score > other[0].score


def test_the_result_says_which_period_was_asked_for(mine: Owner) -> None:
    id_ = mine.add(north("it", created_at=before(16)))
    told = [moment.isoformat() for moment in WEEK]

    assert mine.search(NORTH, query_time=WEEK).query_time == WEEK
    assert mine.search(NORTH).query_time is None
    context = mine.context(NORTH, query_time=WEEK)
    assert (context.query_time, context.record()["query_time"]) == (WEEK, told)
    explained = mine.explain(id_, NORTH, query_time=WEEK)
    assert (explained.query_time, explained.record()["query_time"]) == (WEEK, told)
    assert {one.name: one.value for one in explained.signals}["time"] == 1
    assert "query_time" not in mine.explain(id_, NORTH).record()


def test_dates_in_the_text_are_found_when_asked_for(mine: Owner) -> None:
    asked = "What did Ines say last week?"
    monday = datetime(2026, 5, 25, tzinfo=UTC)
    week = monday - timedelta(days=7), monday
    as_of = monday + timedelta(days=2, hours=9)

    def period(**given: Any) -> object:
        return mine.search(NORTH, as_of=as_of, **given).query_time

    assert period(query_text=asked) is None
    assert period(query_text=asked, dates="auto") == week
    assert period(query_text=asked, dates="auto", query_time=WEEK) == WEEK
    assert period(query_text="Was war letzte Woche?", dates="de") == week
    assert period(dates="auto") is None
    assert period(query_text="What does Ines drink?", dates="auto") is None


def test_an_evaluation_finds_dates_too(mine: Owner) -> None:
    as_of = datetime(2026, 5, 27, tzinfo=UTC)
    moments = [as_of - timedelta(days=day) for day in (1, 6)]
    _, label = mine.add_many([north(f"{one}", created_at=one) for one in moments])
    query = JudgedQuery(NORTH, [label], query_text="What was said last week?", as_of=as_of)

    for dates, mrr in (("auto", 1), (None, 1 / 2)):
        [found] = mine.evaluation.evaluate([query], profiles=[BY_TIME], dates=dates).profiles
        assert found.per_query["mrr"] == [mrr]


def test_without_a_period_the_statement_is_as_it_was(mine: Owner, shared_engine: Engine) -> None:
    asked = mine.plan(NORTH, query_text="tea", query_time=WEEK)
    not_asked = mine.plan(NORTH, query_text="tea")

    assert "time_nearness" in asked.statement
    assert "time_nearness" not in not_asked.statement
    call = "SELECT * FROM pgrecall.recall_plan('a', query_text => 'tea'{})"
    plans = [
        "\n".join(line for (line,) in sql(shared_engine, call.format(period)))
        for period in (", query_time => '[2026-01-01, 2026-02-01)'", "")
    ]
    plans = [plan[plan.index("Output:") :] for plan in plans]  # after the text of the statement
    read = "COALESCE(agent_memories.observed_at, agent_memories.created_at)"
    assert read in plans[0]
    assert read not in plans[1]
    assert not any("time_nearness" in plan for plan in plans), "it is inlined"


# On the command line


@pytest.fixture
def run(local_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", local_url)
    make_once(monkeypatch, LocalEmbedder())
    return runner(monkeypatch, capsys)


def test_the_command_line_takes_a_period_or_finds_it_and_shows_it(run: Run) -> None:
    id_ = run("add", "tea", "--agent", "a").out.strip()
    between = ("--between", "2026-05-01", "2026-06-01")
    told = ["2026-05-01T00:00:00+00:00", "2026-06-01T00:00:00+00:00"]
    line = ", between 2026-05-01 and 2026-06-01"

    for command in (("search", "tea"), ("explain", id_, "tea"), ("context", "tea")):
        asked = (*command, "--agent", "a", *between)
        assert run(*asked, "--json").records[0]["query_time"] == told
        shown = run(*asked)
        assert line in " ".join((shown.out + shown.err).split())
    assert "query_time" not in run("search", "tea", "--agent", "a", "--json").records[0]
    named = ("search", "tea in May 2026", "--agent", "a")
    assert "between 2026-05-01" in " ".join(run(*named, "--dates", "auto").out.split())
    assert "between" not in run(*named).out
    for options, message in (
        (("--between", "2026-05-01", "May"), "--between: 'May' is not an ISO 8601 time"),
        (("--between", "2026-05-02", "2026-05-01"), "query_time must end after it begins"),
        (("--dates", "always"), "dates must be 'auto'"),
    ):
        done = run("search", "tea", "--agent", "a", *options)
        assert done.code == 2
        assert message in " ".join(done.err.split())
