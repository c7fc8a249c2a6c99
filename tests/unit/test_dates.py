"""Periods that texts name, seen from a Wednesday evening."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgrecall.core import dates
from pgrecall.core.dates import found_period, period_of, require_language
from pgrecall.core.zones import require_zone
from pgrecall.errors import ExtraMissing, InputError, UnknownName

NOW = datetime(2026, 8, 12, 21, tzinfo=UTC)

NAMED: list[tuple[str, str, str]] = [
    ("What did I do last week?", "2026-08-03", "2026-08-10"),
    ("last week on Monday", "2026-08-03", "2026-08-04"),
    ("What happened yesterday?", "2026-08-11", "2026-08-12"),
    ("the day before yesterday", "2026-08-10", "2026-08-11"),
    ("What went wrong last night?", "2026-08-11", "2026-08-12"),
    ("What did Ines say on Tuesday?", "2026-08-11", "2026-08-12"),
    ("last month", "2026-07-01", "2026-08-01"),
    ("what happened in May", "2026-05-01", "2026-06-01"),
    ("which releases went out in October?", "2025-10-01", "2025-11-01"),
    ("June last year", "2025-06-01", "2025-07-01"),
    ("Q2 2025", "2025-04-01", "2025-07-01"),
    ("last year", "2025-01-01", "2026-01-01"),
    ("the minutes of 10.01.2026", "2026-01-10", "2026-01-11"),
    # Seasons
    ("what went live in autumn 2025", "2025-09-01", "2025-12-01"),
    ("in spring of 2026", "2026-03-01", "2026-06-01"),
    ("last summer", "2025-06-01", "2025-09-01"),
    # Weeks and weekends
    ("in the first week of 2026", "2026-01-01", "2026-01-08"),
    ("the first weekend of August 2025", "2025-08-02", "2025-08-04"),
    ("the last weekend of July", "2026-07-25", "2026-07-27"),
    # Before and after
    ("before May 3rd", "2026-04-26", "2026-05-03"),
    ("since May", "2026-05-01", "2026-08-12T21:00"),
    ("after January 4th", "2026-01-05", "2026-01-12"),
    ("two weeks before May 3rd", "2026-04-19", "2026-04-26"),
    ("the night before Friday", "2026-08-06", "2026-08-07"),
    ("the month before March 31st 2025", "2025-02-28", "2025-03-31"),
    ("on 3 May 2024", "2024-05-03", "2024-05-04"),
    ("invoices of 2024-05", "2024-05-01", "2024-06-01"),
    ("two weeks ago", "2026-07-27", "2026-08-03"),
    ("in the last two weeks", "2026-07-29", "2026-08-12T21:00"),
    ("between March and June", "2026-03-01", "2026-07-01"),
    ("in early summer this year, June and July", "2026-06-01", "2026-08-01"),
    ("in the 3rd quarter of 2025", "2025-01-01", "2026-01-01"),
]

NOTHING = (
    *("What do we pay for the mooring?", "We stop at the Somme.", "May I stay in Uzbekistan?"),
    *("how long may I dig", "until when may we merge on a Friday", "mon ami", "They march on."),
    *("a dog that may have eaten glass", "Where we sat, the sun came in.", "at noon", "next week"),
    *("the pricing worker that is restarted every Thursday", "what is it a month", "tomorrow"),
    *("how many days a week do I work", "What does a day in the studio cost?", "one of three"),
    *("a second lorry", "count ten seconds", "for two weeks", "after a week of lessons", "…", ""),
    *("Who chairs the committee now?", "the 14:30 train", "an eye for an eye", "10 12 14"),
    *("what about the 12th", "3.5 metres, 2/3 of it, room 12", "1000 bricks and ISO 27001"),
    *("What will fall?", "the spring in the watch broke", "a summer job", "the winter coat"),
    *("the day before", "two days before the race", "since when", "after the meeting"),
    *("in the 90s", "what is planned in two weeks", "in 2030", "99999999999 years ago"),
)

OTHER_LANGUAGES: list[tuple[str, str, str, str]] = [
    ("de", "Was war letzte Woche?", "2026-08-03", "2026-08-10"),
    ("fr", "qu'a-t-elle dit hier ?", "2026-08-11", "2026-08-12"),
    ("fr", "l'année dernière", "2025-01-01", "2026-01-01"),
    ("es", "en junio de 2025", "2025-06-01", "2025-07-01"),
    ("de", "im letzten Sommer", "2025-06-01", "2025-09-01"),
    ("de", "vor dem 4. Januar", "2025-12-28", "2026-01-04"),
    ("fr", "l'été dernier", "2025-06-01", "2025-09-01"),
    ("nl", "vorige maand", "2026-07-01", "2026-08-01"),
    ("pt", "semana passada", "2026-08-03", "2026-08-10"),
    ("ru", "на прошлой неделе", "2026-08-03", "2026-08-10"),
]


def periods(texts: Iterable[tuple[str, str]]) -> dict[str, Any]:
    found = {text: period_of(text, language, as_of=NOW) for language, text in texts}
    return {text: one and [f"{moment:%FT%R}" for moment in one] for text, one in found.items()}


def test_a_period_is_found() -> None:
    expected = {text: [f"{one}T00:00"[:16] for one in ends] for text, *ends in NAMED}

    assert periods(("en", text) for text in expected) == expected


def test_what_only_looks_like_a_date_is_none() -> None:
    assert periods(("en", text) for text in NOTHING) == dict.fromkeys(NOTHING)
    for language, text in (
        *(("de", "So war das: die drei, die da kamen"), ("de", "nach Hause, vor allem")),
        *(("fr", "elle a été à Paris"), ("fr", "depuis toujours")),
    ):
        assert period_of(text, language, as_of=NOW) is None


def test_other_languages_are_looked_at_where_named() -> None:
    expected = {text: [f"{one}T00:00" for one in ends] for _, text, *ends in OTHER_LANGUAGES}

    assert periods((language, text) for language, text, *_ in OTHER_LANGUAGES) == expected


ZONES = ("Pacific/Kiritimati", "Pacific/Pago_Pago")


@pytest.mark.parametrize(
    ("zone", "text", "start", "end", "hours"),
    [
        ("Europe/Berlin", "on 29 March 2026", "2026-03-28T23:00", "2026-03-29T22:00", 23),
        ("Europe/Berlin", "on 26 October 2025", "2025-10-25T22:00", "2025-10-26T23:00", 25),
        ("America/New_York", "on 2 November 2025", "2025-11-02T04:00", "2025-11-03T05:00", 25),
        # Midnight is left out, or comes twice.
        ("Africa/Cairo", "on 24 April 2026", "2026-04-23T22:00", "2026-04-24T21:00", 23),
        ("America/Havana", "on 2 November 2025", "2025-11-02T04:00", "2025-11-03T05:00", 25),
    ],
)
def test_a_period_is_as_long_as_its_days(
    zone: str, text: str, start: str, end: str, hours: int
) -> None:
    found = period_of(text, as_of=NOW, zone=ZoneInfo(zone))

    assert found is not None
    assert [f"{one.astimezone(UTC):%Y-%m-%dT%H:%M}" for one in found] == [start, end]
    assert found[1] - found[0] == timedelta(hours=hours)


def test_a_day_that_a_zone_left_out_is_no_period() -> None:
    """Samoa went from 29 to 31 December 2011."""
    apia = ZoneInfo("Pacific/Apia")

    assert period_of("on 30 December 2011", as_of=NOW, zone=apia) is None
    assert period_of("on 31 December 2011", as_of=NOW, zone=apia) is not None


class Broken(tzinfo):
    """A zone whose methods raise."""

    utcoffset = dst = tzname = cast("Any", lambda *_: 1 / 0)


def test_a_zone_is_named_or_given() -> None:
    berlin, fixed = ZoneInfo("Europe/Berlin"), timezone(timedelta(hours=14))
    pytz = pytest.importorskip("pytz")
    named: list[Any] = [None, "Europe/Berlin", berlin, pytz.timezone("Europe/Berlin"), fixed, "UTC"]

    assert [require_zone(one) for one in named] == [None, berlin, berlin, berlin, fixed, UTC]
    names = ("", "Berlin", "europe/berlin", "Europe", "../zoneinfo/UTC", "/etc", "\0", "x" * 999)
    for bad in names:
        with pytest.raises(UnknownName, match=r"unknown time zone .*: give .* such as 'Europe/B"):
            require_zone(bad)
    for wrong in (7, True, ["UTC"], Broken()):
        with pytest.raises(InputError, match="timezone must be a name such as 'Europe/Berlin'"):
            require_zone(wrong)  # type: ignore[arg-type]


def test_moments_at_the_ends_of_the_calendar_are_no_error() -> None:
    for text in ("last week", "this year", "yesterday", "last 3000 years"):
        for year in (1, 2, 9999):
            for zone in (None, *map(ZoneInfo, ZONES)):
                found = period_of(text, as_of=datetime(year, 12, 30, tzinfo=UTC), zone=zone)
                assert found is None or found[0] < found[1]


PARTS = (
    *("last", "this", "May", "3", "2024", "week", "Monday", "two", "ago", "in", "of", "the"),
    *("and", "3.5", "a", "-", "Q2", "year", "ten", "days", "②", "Ⅳ", "9" * 20, "12:30"),
    *("\0", "'s", "²", "٢٠٢٤", "tonight", "may,", "between"),
)


@given(text=st.lists(st.sampled_from(PARTS), max_size=8).map(" ".join) | st.text(max_size=60))
@settings(deadline=None, max_examples=30, derandomize=True)
def test_any_text_has_a_period_or_none(text: str) -> None:
    found = period_of(text, as_of=NOW)

    assert found is None or (found[0] < found[1] and found[0] <= NOW)


def test_a_period_is_given_or_found_in_a_language() -> None:
    april = datetime(2024, 4, 1, tzinfo=UTC), datetime(2024, 5, 1, tzinfo=UTC)
    may = datetime(2024, 5, 1, tzinfo=UTC), datetime(2024, 6, 1, tzinfo=UTC)
    for text, period, expected in (
        *(("in May 2024", one, may) for one in ("auto", "en")),
        ("im Mai 2024", "de", may),
        ("letzte Woche", "auto", None),
        *((text, april, april) for text in ("in May 2024", None)),
        *((text, None, None) for text in ("in May 2024", None)),
        *((None, one, None) for one in ("auto", "de")),
    ):
        assert found_period(text, period, as_of=NOW, zone=None) == expected
    for bad in ("", "AUTO", "xx", "en-GB", "../en"):
        with pytest.raises(UnknownName, match="period must be 'auto', the code of a language"):
            require_language("period", bad)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    dates._languages.cache_clear()
    dates._can_find_dates.cache_clear()
    monkeypatch.setitem(sys.modules, "dateparser.data.languages_info", None)
    monkeypatch.setattr(dates, "find_spec", lambda name: None)

    with pytest.raises(ExtraMissing, match=r"pip install 'pgrecall\[local\]'"):
        require_language("period", "en")
    assert require_language("period", "auto") == "auto"
    assert found_period("in May 2024", "auto", as_of=NOW, zone=None) is None
    dates._can_find_dates.cache_clear()
