"""Finds the period that a text names, such as "last week" or "in May", with dateparser."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from itertools import islice, takewhile
from typing import Any

from pgrecall.core.calendar_phrases import (
    LANGUAGES,
    LONGEST,
    UNIT_DAYS,
    UNIT_MONTHS,
    Dated,
    calendar_phrase,
    is_half,
    may_have_phrases,
    midnight,
)
from pgrecall.core.quoting import shortened
from pgrecall.errors import ExtraMissing, InputError, UnknownName

Period = tuple[datetime, datetime]
"""Start and end; the end is excluded."""

AUTO = "auto"
ENGLISH = "en"
MOST_WORDS = 100
"""Only the first words of a text are parsed; a question takes some milliseconds."""

_WORD = re.compile(r"[^\W_]+(?:[-/.:'’][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s\b")
_ELIDED = re.compile(r"^(?:c|d|l|qu)['’]")
"""French articles before a vowel."""
_DOTTED = re.compile(r"\d\.\d")
_LETTERS = re.compile(r"[^\W\d_]+")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_NAME = re.compile(r"(?<![^\W_])(?!(?:the|and)\b)[^\W\d_]{3,}")
_FILLERS = frozenset(("the", "at", "of", "on"))
_ARTICLES = frozenset(("a", "an"))
"""They begin a period in "a week ago", but "a Friday" does not say which Friday."""
_HABITS = _ARTICLES | {"any", "each", "every", "per"}
_DOUBTFUL = frozenset(("may", "mar", "march", "mon", "sat", "sun", "we", "wed"))
"""Words that may not be dates if they are in lower case or begin a sentence …"""
_BEFORE_DATES = frozenset(
    (
        *("by", "during", "early", "from", "in", "last", "late", "mid", "next", "of", "on"),
        *("since", "this", "till", "until"),
    )
)
"""… but are dates after one of these words or next to a number."""
_SPANS = frozenset(("last", "past"))


def period_record(period: Period | None) -> dict[str, Any]:
    """The key `period` of a record; empty if there is no period."""
    return {} if period is None else {"period": [moment.isoformat() for moment in period]}


def period_text(period: Period | None) -> str:
    """The period of a query as the end of a line; empty if there is none."""
    if period is None:
        return ""
    ends = (f"{end:%Y-%m-%d %H:%M}".removesuffix(" 00:00") for end in period)
    return f", between {' and '.join(ends)}"


def require_language(name: str, language: str) -> str:
    """Returns AUTO, or the code of a language that dateparser knows.

    Raises UnknownName for another text, and ExtraMissing if a language is given and dateparser is
    not installed.
    """
    if language != AUTO and language not in _languages():
        raise UnknownName(
            f"{name} must be 'auto', the code of a language that dateparser knows, such as 'de', "
            f"two datetimes, or None, got {shortened(language)}"
        )
    return language


def found_period(
    text: str | None, period: Period | str | None, *, as_of: datetime | None, zone: tzinfo | None
) -> Period | None:
    """The period, or the one that the text names if only the language is given. AUTO is English, or
    none without dateparser."""
    if not isinstance(period, str):
        return period
    if text is None or (period == AUTO and not _can_find_dates()):
        return None
    return period_of(text, ENGLISH if period == AUTO else period, as_of=as_of, zone=zone)


def period_of(
    text: str,
    language: str = ENGLISH,
    *,
    as_of: datetime | None = None,
    zone: tzinfo | None = None,
) -> Period | None:
    """The period that a text names, relative to `as_of` (default: now) and in `zone` (default: that
    of `as_of`).

    Days begin at midnight, weeks on Monday. Of nested periods the inner one counts; several others
    are joined, from the first to the last. Times of day, "now", durations ("for two weeks"), habits
    ("on a Friday") and the future are ignored.
    """
    moment = as_of or datetime.now(UTC)
    moment = moment if zone is None else moment.astimezone(zone)
    every = _put_together(list(_phrases(_POSSESSIVE.sub("", text), language, moment)))
    periods = [one for one in every if one.start.year > 1 and one.start <= moment]
    narrow = [one for one in periods if not any(_holds(one, other) for other in periods)]
    if not narrow:
        return None
    start = instant(min(one.start for one in narrow))
    end = instant(max(one.end for one in narrow))
    return (start, end) if start < end else None  # a day that the zone left out, to change its date


def moment_of(name: str, value: Any, zone: tzinfo | None = None) -> datetime | None:
    """Parses an ISO 8601 time, in `zone` if it has no time zone; raises InputError."""
    if value is None:
        return None
    if not isinstance(value, str | datetime):
        raise InputError(f"{name} must be an ISO 8601 time as text, got {shortened(value)}")
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    except ValueError:
        raise InputError(f"{name} is not an ISO 8601 time: {shortened(value)}") from None
    return moment if zone is None or moment.tzinfo is not None else moment.replace(tzinfo=zone)


def instant(local: datetime) -> datetime:
    """The moment with its offset alone.

    Python subtracts and compares two moments of one zone by their clocks, as if summer time had not
    begun between them. A midnight that the clocks leave out becomes the moment when they jump.
    """
    try:
        moment = local.astimezone(UTC)
    except OverflowError:
        return local  # outside the years that are stored
    offset = moment.astimezone(local.tzinfo).utcoffset()
    assert offset is not None
    return moment.astimezone(timezone(offset))


def _phrases(text: str, language: str, moment: datetime) -> Iterator[Dated]:
    """Yields phrases that name a period. At each word, the longest phrase wins."""
    words = list(islice(_WORD.finditer(text), MOST_WORDS))
    known = [_LETTERS.findall(_plain(word[0])) for word in words]
    vocabulary = _words(language)
    plain = [_ELIDED.sub("", _plain(word[0])) for word in words]

    @cache
    def longest(place: int, most: int) -> Dated | None:
        beyond = takewhile(vocabulary.issuperset, known[place : place + most])
        for size in range(len(list(beyond)), 0, -1):
            with suppress(ValueError, OverflowError):  # outside the years of datetime
                if (found := _read(text, words, place, size, language, moment)) is not None:
                    return found
        return None

    has_more = may_have_phrases(plain, language)
    place = 0
    while place < len(words):
        phrase: Dated | None = None
        if has_more:
            with suppress(ValueError, OverflowError):
                phrase = calendar_phrase(plain, place, language, moment, longest)
        phrase = phrase or longest(place, LONGEST)
        if phrase is None:
            place += 1
        else:
            yield phrase._replace(first=place)
            place = phrase.beyond


def _read(
    text: str,
    words: Sequence[re.Match[str]],
    place: int,
    size: int,
    language: str,
    moment: datetime,
) -> Dated | None:
    """The period that `size` words from `place` on name together, or None."""
    window = words[place : place + size]
    phrase = text[window[0].start() : window[-1].end()]
    if not _may_name(phrase, window[0][0], size) or is_half(
        [_plain(word[0]) for word in window], language
    ):
        return None
    if language == ENGLISH and any(
        _is_doubtful(text, words, number) for number in range(place, place + size)
    ):
        return None
    if _is_no_date(phrase, language):
        return None
    # An odd time of day: if it reappears in the result, the phrase was relative ("2 weeks ago").
    base = moment.replace(tzinfo=None, hour=13, minute=17, second=23, microsecond=479_001)
    data = _parsed(phrase, language, base)
    if data.date_obj is None or data.period == "time":
        return None
    day: datetime = data.date_obj.replace(tzinfo=None)
    ahead = [
        _parsed(phrase, language, base, PREFER_DATES_FROM="future", DATE_ORDER=order)
        for order in ("MDY", "DMY")
    ]
    is_relative = day.time() == base.time()
    if not is_relative and any(_is_counted(phrase, data, other) for other in ahead):
        return None
    first = words[place][0].lower()
    before = first if first in _ARTICLES else words[place - 1][0].lower() if place else ""
    start, end = _whole(data.period, day, moment)
    if is_relative and ahead[0].date_obj != data.date_obj:
        if before not in _SPANS:
            return None  # a duration
        start, end = start if data.period == "day" else midnight(day, moment), moment
        return Dated("span", start, end, place + size, is_relative)
    if before in _HABITS and not is_relative:
        return None
    return Dated(data.period, start, end, place + size, is_relative)


def _may_name(phrase: str, first: str, size: int) -> bool:
    """True if a phrase can name a period at all. Bare numbers and lone abbreviations cannot."""
    if first.lower() in _FILLERS:
        return False  # tried without the filler
    if size == 1 and len(phrase) <= 3:
        return len(phrase) == 3 and phrase.istitle()
    return _YEAR.search(phrase) is not None or _NAME.search(phrase) is not None


@lru_cache(maxsize=4096)
def _is_no_date(phrase: str, language: str) -> bool:
    """True for words that are no date at any moment, such as "about the". Parsing them takes a
    third of a millisecond, and questions repeat them."""
    is_words = not any(map(str.isdigit, phrase))
    return (
        is_words
        and _parsed(phrase, language, datetime.fromisoformat("2000-01-01")).date_obj is None
    )


def _is_counted(phrase: str, data: Any, other: Any) -> bool:
    """True if the phrase consists of numbers only, such as "the 12th" or "one of three".

    Such a phrase gives another date if day and month are read in the other order.
    """
    if other.period != data.period:
        return True
    if data.period != "day" or any(one.isdigit() for one in phrase):
        return False
    past, future = data.date_obj, other.date_obj
    is_weekday = (future - past).days % 7 == 0
    return not is_weekday and (past.month, past.day) != (future.month, future.day)


def _is_doubtful(text: str, words: Sequence[re.Match[str]], place: int) -> bool:
    """True if a word may only look like the name of a day or a month."""
    word = words[place]
    if word[0].lower() not in _DOUBTFUL:
        return False
    begins = re.search(r"[^.?!:\s]\s*$", text[: word.start()]) is None
    if word[0].istitle() and len(word[0]) > 2 and not begins:
        return False
    beside = [words[at][0] for at in (place - 1, place + 1) if 0 <= at < len(words)]
    has_number = any(one[0].isdigit() or one in ("this", "last") for one in beside)
    return not (has_number or (place and words[place - 1][0].lower() in _BEFORE_DATES))


def _whole(kind: str, day: datetime, moment: datetime) -> Period:
    """The day, week, month or year that contains `day`."""
    if kind in UNIT_DAYS:
        start = midnight(day, moment)
        if kind == "week":
            start -= timedelta(days=start.weekday())
        return start, start + timedelta(days=UNIT_DAYS[kind])
    months = UNIT_MONTHS[kind]
    number = 12 * day.year + (day.month - 1) // months * months
    return _month(number, moment), _month(number + months, moment)


def _month(number: int, moment: datetime) -> datetime:
    """The first midnight of a month; `number` counts months from the year 0."""
    return datetime(number // 12, number % 12 + 1, 1, tzinfo=moment.tzinfo)


def _put_together(phrases: list[Dated]) -> list[Dated]:
    """Merges neighbouring phrases such as "June last year" and "last week on Monday"."""
    joined: list[Dated] = []
    for one in phrases:
        last = joined[-1] if joined else None
        if last is not None and one.first - last.beyond <= 1:
            inner, outer = (last, one) if one.is_relative else (one, last)
            if (both := _within(inner, outer)) is not None:
                joined[-1] = both._replace(first=last.first, beyond=one.beyond)
                continue
        joined.append(one)
    return joined


def _within(inner: Dated, outer: Dated) -> Dated | None:
    """A month or day placed in the year or week that is named next to it; None if neither fits."""
    if inner.is_relative or not outer.is_relative:
        return None
    if (inner.kind, outer.kind) == ("month", "year"):
        start = inner.start.replace(year=outer.start.year)
        return inner._replace(start=start, end=_whole("month", start, start)[1])
    if (inner.kind, outer.kind) == ("day", "week"):
        start = outer.start + timedelta(days=inner.start.weekday())
        return inner._replace(start=start, end=start + timedelta(days=1))
    return None


def _holds(outer: Dated, inner: Dated) -> bool:
    """True if `inner` lies within `outer` and is shorter."""
    within = outer.start <= inner.start and inner.end <= outer.end
    return within and inner.end - inner.start < outer.end - outer.start


def _parsed(phrase: str, language: str, base: datetime, **settings: str) -> Any:
    """dateparser's result for a phrase: date_obj, without a time zone, and period."""
    from dateparser.date import DateDataParser

    digits = _digits(language)
    phrase = " ".join(digits.get(word, word) for word in phrase.split()) if digits else phrase
    chosen = {
        "RELATIVE_BASE": base,
        "PREFER_DATES_FROM": "past",
        "PREFER_DAY_OF_MONTH": "first",
        "RETURN_TIME_AS_PERIOD": True,
        "TIMEZONE": "UTC",
        "RETURN_AS_TIMEZONE_AWARE": False,
        **settings,
        # With points the day comes first, in every language.
        **({"DATE_ORDER": "DMY"} if _DOTTED.search(phrase) else {}),
    }
    return DateDataParser(languages=[language], settings=chosen).get_date_data(phrase)


@cache
def _can_find_dates() -> bool:
    return find_spec("dateparser") is not None


@cache
def _vocabulary(language: str) -> frozenset[str]:
    """Every word that dateparser knows in a language. Other words rule a phrase out cheaply."""
    data = import_module(f"dateparser.data.date_translation_data.{language}")
    return frozenset(_LETTERS.findall(_plain(str(data.info)))) | {"q"}


@cache
def _words(language: str) -> frozenset[str]:
    """Every word that a phrase may consist of."""
    return _vocabulary(language) | _digits(language).keys()


@cache
def _digits(language: str) -> Mapping[str, str]:
    """The words for numbers that dateparser does not know in a language, such as the Spanish."""
    known = LANGUAGES.get(language)
    numbers = {} if known is None else known.numbers
    return {
        word: str(number)
        for word, number in numbers.items()
        if number > 1 and word not in _vocabulary(language)
    }


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    """The text in lower case and without accents."""
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return "".join(one for one in decomposed if not unicodedata.combining(one))


@cache
def _languages() -> frozenset[str]:
    try:
        from dateparser.data.languages_info import language_order
    except ImportError as problem:
        raise ExtraMissing(
            "finding dates in texts needs dateparser: pip install 'pgrecall[local]'"
        ) from problem
    return frozenset(language_order)
