"""The user's time zone: days in questions and dates in contexts, wherever a call comes from."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest

pytest.importorskip("mcp")

from mcp.client.client import Client
from sqlalchemy.ext.asyncio import create_async_engine

from pgrecall import AsyncMemoryRepository, JudgedQuery, MemoryRepository, Profile, score
from pgrecall.core.embedders import LocalEmbedder
from pgrecall.mcp import memory_server
from pgrecall.scoring.signals import Recency, Time
from tests.integration.commands import Run, make_once, runner
from tests.integration.owner import Owner, north, plain
from tests.integration.serving import Service
from tests.integration.support import NORTH
from tests.integration.test_mcp import Compass, answer

KIRITIMATI, PAGO_PAGO = "Pacific/Kiritimati", "Pacific/Pago_Pago"  # +14:00 and -11:00
NEW_YORK, BERLIN = "America/New_York", "Europe/Berlin"
AS_OF = datetime(2026, 8, 12, 21, tzinfo=UTC)
DATES = {None: "20260310", KIRITIMATI: "20260310", PAGO_PAGO: "20260309"}
"""Zone → the date there of NIGHT."""
NIGHT = datetime(2026, 3, 10, 2, tzinfo=UTC)
BY_TIME = Profile("by time", {Time(): 1.0})
ASKED: dict[str, Any] = {"keywords": "what was said in May?", "period": "auto", "as_of": AS_OF}


def may(zone: str) -> tuple[datetime, datetime]:
    first, last = (datetime(2026, month, 1, tzinfo=ZoneInfo(zone)) for month in (5, 6))
    return first, last


def dates_in(text: str) -> list[str]:
    return re.findall(r"\b\d{8}\b", text)


@pytest.mark.parametrize("zone", [KIRITIMATI, PAGO_PAGO, NEW_YORK, BERLIN])
def test_days_that_a_question_names_are_the_users(mine: Owner, zone: str) -> None:
    start, end = may(zone)
    second = timedelta(seconds=1)
    moments = [start - second, start, end - second, end + second]
    ids = mine.add_many([north(f"{one}", created_at=start, observed_at=one) for one in moments])

    found = mine.search(NORTH, profile=BY_TIME, timezone=zone, **ASKED)

    assert found.period == (start, end)
    assert {hit.memory.id for hit in found if hit.signals["time"] == 1} == set(ids[1:3])
    assert mine.explain(ids[1], NORTH, timezone=zone, **ASKED).period == (start, end)
    assert "time_nearness" in mine.plan(NORTH, timezone=ZoneInfo(zone), **ASKED).statement
    query = JudgedQuery(NORTH, ids[1:3], keywords=ASKED["keywords"])
    judged: dict[str, Any] = {"period": "auto", "as_of": AS_OF, "timezone": zone, "k": 2}
    [result] = mine.evaluation.evaluate([query], profiles=[BY_TIME], **judged).profiles
    assert result.per_query["recall"] == [1]


def test_that_of_a_call_precedes_that_of_its_repository(
    own_url: str, own_repo: MemoryRepository, agent: str
) -> None:
    own_repo.add(agent, north("late", created_at=NIGHT))
    engine: Any = own_repo._bind
    repo = MemoryRepository(engine, timezone=ZoneInfo(PAGO_PAGO))

    async def asked_later(timezone: Any) -> tuple[Any, str]:
        later = create_async_engine(engine.url.set(drivername="postgresql+psycopg"))
        asynchronous = AsyncMemoryRepository(later, timezone=PAGO_PAGO)
        hits = await asynchronous.search(agent, NORTH, timezone=timezone, **ASKED)
        context = await asynchronous.context(agent, NORTH, timezone=timezone)
        await later.dispose()
        return hits.period, context.text

    for given, used in ((None, PAGO_PAGO), (KIRITIMATI, KIRITIMATI), ("UTC", "UTC")):
        date = DATES.get(used, DATES[None])
        period, text = asyncio.run(asked_later(given))
        assert (period, dates_in(text)) == (may(used), [date])
        assert repo.search(agent, NORTH, timezone=given, **ASKED).period == may(used)
        assert dates_in(repo.context(agent, NORTH, timezone=given).text) == [date]
    for other, used in ((repo.primary, PAGO_PAGO), (repo.teams, PAGO_PAGO), (own_repo, "UTC")):
        assert other.search(agent, NORTH, **ASKED).period == may(used)


def test_psql_reads_and_shows_dates_in_the_zone_of_its_session(
    mine: Owner, shared_url: str
) -> None:
    """Their own files of time zones agree with Python's on these days."""
    moments = [NIGHT, *(datetime(2026, month, 1, 4, tzinfo=UTC) for month in range(1, 7))]
    mine.add_many([plain(f"{one}", created_at=one) for one in moments])
    asked: dict[str, Any] = {"period": "auto", "as_of": AS_OF, "weights": {"time": 1.0}, "k": 50}
    with psycopg.connect(shared_url, autocommit=True) as session:
        for zone in (KIRITIMATI, PAGO_PAGO, NEW_YORK, BERLIN, "UTC"):
            session.execute("SELECT set_config('TimeZone', %s, false)", [zone])
            shown = session.execute(
                "SELECT to_char(created_at, 'YYYYMMDD') FROM pgrecall.recall(%s) ORDER BY 1",
                [mine.name],
            ).fetchall()
            assert [date for (date,) in shown] == sorted(dates_in(mine.context(timezone=zone).text))

            march = datetime(2026, 3, 8, tzinfo=ZoneInfo(zone))
            ranked = session.execute(
                "SELECT id, score FROM pgrecall.recall(%s, profile => 'hybrid', as_of => %s, "
                "period => '[2026-03-08, 2026-03-09)', weights => '{\"time\": 1}', k => 50)",
                [mine.name, AS_OF],
            ).fetchall()
            question: dict[str, Any] = {"keywords": "on 8 March 2026", "timezone": zone}
            found = mine.search(touch=False, **question, **asked)
            assert found.period == (march, march + timedelta(days=1))
            assert dict(ranked) == pytest.approx({hit.memory.id: hit.score for hit in found})


def test_the_scorer_measures_over_a_change_of_summer_time_as_the_database_does(mine: Owner) -> None:
    zone = ZoneInfo(BERLIN)
    period = datetime(2026, 3, 28, tzinfo=zone), datetime(2026, 3, 31, tzinfo=zone)
    created = datetime(2026, 4, 1, 12, tzinfo=zone)
    mine.add(north("later", created_at=created))

    [hit] = mine.search(NORTH, profile=BY_TIME, period=period)

    assert hit.score == pytest.approx(1 - 12 / 71)  # the day after the period counts as within
    scored = score(BY_TIME, {"created_at": created, "period": period})
    assert scored.score == pytest.approx(hit.score)
    by_age = Profile("by age", {Recency(half_life=1 / 24): 1.0})
    told = {"created_at": datetime(2026, 3, 29, 1, tzinfo=zone)}
    as_of = datetime(2026, 3, 29, 4, tzinfo=zone)
    assert score(by_age, told, as_of=as_of).score == pytest.approx(1 / 4)


@pytest.fixture
def run(local_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setenv("PGRECALL_DATABASE_URL", local_url)
    make_once(monkeypatch, LocalEmbedder())
    return runner(monkeypatch, capsys)


def test_the_command_line_takes_it_from_an_option_or_the_users_settings(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run("add", "tea in the night", "--agent", "a", "--created-at", "2026-03-10T02:00Z")
    search = ("search", "tea in May 2026", "--agent", "a", "--period", "auto", "--json")
    for zone in (KIRITIMATI, PAGO_PAGO):
        [record] = run(*search, "--timezone", zone).records
        assert record["period"] == [one.isoformat() for one in may(zone)]
        shown = run("context", "tea", "--agent", "a", "--timezone", zone)
        assert dates_in(shown.out) == [DATES[zone]]

    monkeypatch.setenv("PGRECALL_TIMEZONE", PAGO_PAGO)
    [record] = run(*search).records
    assert record["period"] == [one.isoformat() for one in may(PAGO_PAGO)]
    listed = ("list", "--agent", "a", "--json", "--until", "2026-03-10")
    assert len(run(*listed).records) == 1
    assert len(run(*listed, "--timezone", "UTC").records) == 0
    assert run("add", "milk", "--agent", "a").code == 0

    monkeypatch.delenv("PGRECALL_TIMEZONE")
    file = tmp_path / "config.toml"
    file.write_text(f"timezone = '{KIRITIMATI}'\n")
    monkeypatch.setattr("pgrecall.cli.configuration.user_file", lambda: file)
    shown = run("context", "night", "--agent", "a")
    assert dates_in(shown.out)[0] == DATES[KIRITIMATI]
    done = run(*search, "--timezone", "Mars")
    assert done.code == 2
    assert "--timezone: unknown time zone 'Mars'" in " ".join(done.err.split())


def test_a_request_names_it(service: Service, agent: str) -> None:
    client = service.client(agent)
    client.post("/memories", json={"content": "tea at night", "created_at": NIGHT.isoformat()})
    asked = {"query": "tea in May", "period": "auto", "as_of": AS_OF.isoformat()}

    for zone in (KIRITIMATI, PAGO_PAGO):
        named = {"query": "tea", "timezone": zone}
        text = client.post("/context", json=named).json()["text"]
        assert dates_in(text) == [DATES[zone]]
        found = client.post("/context", json=asked | {"timezone": zone}).json()
        assert found["period"] == [one.isoformat() for one in may(zone)]
    for period in (None, [one.isoformat() for one in may("UTC")]):
        found = client.post("/search", json=asked | {"period": period}).json()["period"]
        assert found == (period and [one.replace("+00:00", "Z") for one in period])
    refused = client.post("/search", json={"query": "tea", "timezone": "Mars"})
    assert refused.status_code == 422
    assert "unknown time zone 'Mars'" in refused.text
    document = client.get("/openapi.json").json()
    for body in ("SearchBody", "ContextBody", "ExplainBody"):
        field = document["components"]["schemas"][body]["properties"]["timezone"]
        assert [one["type"] for one in field["anyOf"]] == ["string", "null"]
        assert "Europe/Berlin" in field["description"]


def test_a_model_names_it_or_the_server_has_one(
    shared_url: str, shared_repo: MemoryRepository, agent: str
) -> None:
    shared_repo.add(agent, north("Zoe plays the cello", created_at=NIGHT))

    async def session() -> None:
        engine = create_async_engine(shared_url.replace("postgresql:", "postgresql+psycopg:"))
        repo = AsyncMemoryRepository(engine, embedder=Compass(), timezone=PAGO_PAGO)
        async with Client(memory_server(repo, agent)) as client:
            for named, used in (({}, PAGO_PAGO), ({"timezone": KIRITIMATI}, KIRITIMATI)):
                found = await answer(client, "recall_context", query="the cello?", **named)
                assert dates_in(found["text"]) == [DATES[used]]
        await engine.dispose()

    asyncio.run(session())
