"""Phrases about dates that dateparser does not read: seasons, weeks of a month, "before May"."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple

DAY = timedelta(days=1)
WEEK = timedelta(days=7)
UNIT_DAYS = {"day": 1, "part_of_day": 1, "week": 7}
UNIT_MONTHS = {"month": 1, "quarter": 3, "season": 3, "year": 12}
_SATURDAY = 5


class Dated(NamedTuple):
    """The period that a phrase names."""

    kind: str
    """The unit: day, week, month, season, year, span and so on."""
    start: datetime
    end: datetime
    beyond: int
    """The place after its last word."""
    is_relative: bool
    """True for a period counted from now, such as "two weeks ago"."""
    first: int = 0
    """The place of its first word."""


Read = Callable[[int, int], Dated | None]
"""Reads the longest phrase that begins at a word, of at most so many words."""
LONGEST = 5
"""The most words in one phrase, such as "the 3rd of May 2024"."""


def _numbered(*words: str) -> dict[str, int]:
    """Numbers by their words, from 1 on; several words for one number are joined by |."""
    return {one: n for n, some in enumerate(words, start=1) for one in some.split("|")}


def _numbers(words: str) -> dict[str, int]:
    return _numbered(*words.split())


def _units(**words: str) -> dict[str, str]:
    """The units by their words."""
    return {one: unit for unit, some in words.items() for one in some.split()}


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


@dataclass(frozen=True, slots=True)
class _Language:
    """Words in lower case, without accents."""

    seasons: Mapping[str, int]
    """Spring, summer, autumn and winter, from 1 on."""
    season_leads: frozenset[str]
    """Words before a season that is meant as a time even without a year."""
    units: Mapping[str, str]
    ordinals: Mapping[str, int]
    last: frozenset[str]
    this: frozenset[str]
    numbers: Mapping[str, int]
    before: frozenset[str]
    after: frozenset[str]
    since: frozenset[str]
    fillers: frozenset[str]
    """Words between the parts of a phrase."""
    last_follows: bool = False
    """True if "last" stands behind the noun."""


LANGUAGES: Mapping[str, _Language] = {
    "en": _Language(
        seasons=_numbered("spring", "summer", "autumn|fall", "winter"),
        season_leads=_set("in during since over early late mid"),
        units=_units(
            day="day days evening night",
            week="week weeks",
            month="month months",
            year="year years",
            weekend="weekend weekends",
        ),
        ordinals=_numbered("first|1st", "second|2nd", "third|3rd", "fourth|4th", "fifth|5th"),
        last=_set("last past final"),
        this=_set("this"),
        numbers=_numbers("a|one two three four five six seven eight nine ten"),
        before=_set("before"),
        after=_set("after"),
        since=_set("since"),
        fillers=_set("the of in on"),
    ),
    "de": _Language(
        seasons=_numbered("fruhling|fruhjahr", "sommer", "herbst", "winter"),
        season_leads=_set("im seit wahrend"),
        units=_units(
            day="tag tage tagen abend nacht",
            week="woche wochen",
            month="monat monate monaten",
            year="jahr jahre jahren",
            weekend="wochenende wochenenden",
        ),
        ordinals=_numbered(
            *("erste|ersten|erstes", "zweite|zweiten|zweites", "dritte|dritten|drittes"),
            *("vierte|vierten|viertes", "funfte|funften|funftes"),
        ),
        last=_set("letzte letzten letzter letztes letztem vergangenen vergangenes"),
        this=_set("diese diesen dieser dieses diesem"),
        numbers=_numbers("ein|eine|einen|einem zwei drei vier funf sechs sieben acht neun zehn"),
        before=_set("vor"),
        after=_set("nach"),
        since=_set("seit"),
        fillers=_set("der die das dem den des im in am von vom"),
    ),
    "fr": _Language(
        seasons=_numbered("printemps", "ete", "automne", "hiver"),
        season_leads=_set("en au depuis cet"),
        units=_units(
            day="jour jours",
            week="semaine semaines",
            month="mois",
            year="an ans annee annees",
            weekend="week-end weekend",
        ),
        ordinals=_numbered(
            *("premier|premiere", "deuxieme|second|seconde", "troisieme", "quatrieme", "cinquieme")
        ),
        last=_set("dernier derniere passe passee"),
        this=_set("ce cet cette"),
        numbers=_numbers("un|une deux trois quatre cinq six sept huit neuf dix"),
        before=_set("avant"),
        after=_set("apres"),
        since=_set("depuis"),
        fillers=_set("le la les de du en au"),
        last_follows=True,
    ),
    "es": _Language(
        seasons=_numbered("primavera", "verano", "otono", "invierno"),
        season_leads=_set("en desde durante"),
        units=_units(
            day="dia dias",
            week="semana semanas",
            month="mes meses",
            year="ano anos",
        ),
        ordinals=_numbered(
            *("primer|primera", "segunda|segundo", "tercera|tercer", "cuarta|cuarto"),
            "quinta|quinto",
        ),
        last=_set("ultima ultimo pasado pasada"),
        this=_set("este esta"),
        numbers=_numbers("un|una dos tres cuatro cinco seis siete ocho nueve diez"),
        before=_set("antes"),
        after=_set("despues tras"),
        since=_set("desde"),
        fillers=_set("el la los las de del en"),
        last_follows=True,
    ),
}
"""The languages for which these phrases are read. dateparser reads others without them."""


@cache
def _needed(language: str) -> frozenset[str]:
    known = LANGUAGES.get(language)
    if known is None:
        return frozenset()
    return known.before | known.after | known.since | known.seasons.keys() | known.units.keys()


def may_have_phrases(words: Sequence[str], language: str) -> bool:
    """True if some of the words is one without which there is no such phrase."""
    return not _needed(language).isdisjoint(words)


def calendar_phrase(
    words: Sequence[str], place: int, language: str, moment: datetime, read: Read
) -> Dated | None:
    """The period that a phrase from the word at `place` on names; None if it is none of these.

    - "spring of 2024", "last summer": March to May and so on; winter begins in December.
    - "the second week of March", "the first week of 2024": the days 8 to 14, 1 to 7.
    - "last weekend": Saturday and Sunday.
    - "the Friday before 10.01.2024", "two weeks before May", "the weekend after May 3rd".
    - "before May 3rd": the week before it; before a month or a year, the one before it; "after"
      likewise. "since May": from then to now.
    """
    phrase = _Phrase(words, LANGUAGES[language], moment, read)
    place = phrase.behind_fillers(place)
    return phrase.season(place) or phrase.of_units(place) or phrase.beside(place)


def is_half(words: Sequence[str], language: str) -> bool:
    """True if a phrase of these words goes on, such as "two days before the"."""
    known = LANGUAGES.get(language)
    if known is None:
        return False
    last = next((word for word in reversed(words) if word not in known.fillers), "")
    return last in known.before | known.after


def midnight(day: datetime, moment: datetime) -> datetime:
    """The start of a day in the time zone of another moment."""
    return datetime(day.year, day.month, day.day, tzinfo=moment.tzinfo)


@dataclass(frozen=True, slots=True)
class _Phrase:
    words: Sequence[str]
    known: _Language
    moment: datetime
    read: Read

    def _word(self, place: int) -> str:
        return self.words[place] if 0 <= place < len(self.words) else ""

    def behind_fillers(self, place: int) -> int:
        while self._word(place) in self.known.fillers:
            place += 1
        return place

    def _dated(self, place: int) -> Dated | None:
        """The period that a phrase names, behind fillers; not one such as "two weeks ago"."""
        behind = self.behind_fillers(place)
        found = self.season(behind) or self.read(behind, LONGEST)
        return None if found is None or found.is_relative else found

    def season(self, place: int) -> Dated | None:
        """A season, of a year or the latest."""
        number = self.known.seasons.get(self._word(place))
        if number is None:
            return None
        before, behind = self._word(place - 1), self._word(place + 1)
        at_year = self.behind_fillers(place + 1)
        year = self._word(at_year)
        if len(year) == 4 and year.isdecimal() and 1900 <= int(year) < 2100:
            return self._season(number, int(year), at_year + 1)
        lead = self._word(place - 2) if before in self.known.fillers else before
        is_last = (behind if self.known.last_follows else before) in self.known.last
        is_this = before in self.known.this
        if not (is_last or is_this or self.known.season_leads & {before, lead}):
            return None
        beyond = place + 1 + (is_last and self.known.last_follows)
        for past in range(3):
            found = self._season(number, self.moment.year - past, beyond)
            if (found.end if is_last else found.start) <= self.moment:
                return found
        return None

    def _season(self, number: int, year: int, beyond: int) -> Dated:
        start = datetime(year, 3 * number, 1, tzinfo=self.moment.tzinfo)
        return Dated("season", start, self._months(start, 3), beyond, is_relative=False)

    def of_units(self, place: int) -> Dated | None:
        """A week or weekend of a month or year, the last weekend, or a unit before a date."""
        word = self._word(place)
        ordinal = -1 if word in self.known.last else self.known.ordinals.get(word)
        number = int(word) if word.isdecimal() else self.known.numbers.get(word)
        at_unit = place if ordinal is number is None else place + 1
        unit = self.known.units.get(self._word(at_unit))
        if unit is None:
            return self._weekday(place)
        if (number or 1) > 1_000:
            return None
        behind = self._word(at_unit + 1)
        if behind in self.known.before or behind in self.known.after:
            other = self._dated(at_unit + 2)
            return other and self._counted(number or 1, unit, other, behind in self.known.before)
        if unit == "weekend" and ordinal is None:
            ordinal = -1 if behind in self.known.last else None
            if ordinal is not None:
                at_unit += 1
        if ordinal is None or unit not in ("week", "weekend"):
            return None
        other = self._dated(at_unit + 1)
        if other is not None and other.kind in UNIT_MONTHS:
            return self._nth(ordinal, unit, other)
        if unit == "weekend" and ordinal == -1:
            return self._weekend(midnight(self.moment, self.moment), at_unit + 1)
        return None

    def _weekday(self, place: int) -> Dated | None:
        """A weekday before or after a date, such as "the Friday before 10.01.2024"."""
        direction = self._word(place + 1)
        if direction not in self.known.before | self.known.after:
            return None
        day, other = self.read(place, 1), self._dated(place + 2)
        if day is None or other is None or day.kind != "day":
            return None
        if direction in self.known.before:
            start = other.start - ((other.start.weekday() - day.start.weekday() - 1) % 7 + 1) * DAY
        else:
            start = other.end + (day.start.weekday() - other.end.weekday()) % 7 * DAY
        return Dated("day", start, start + DAY, other.beyond, is_relative=False)

    def beside(self, place: int) -> Dated | None:
        """The time before or after a date, or since then."""
        word = self._word(place)
        if word not in self.known.before | self.known.after | self.known.since:
            return None
        other = self._dated(place + 1)
        if other is None:
            return None
        if word in self.known.since:
            return other._replace(kind="span", end=max(self.moment, other.start))
        unit = "week" if other.kind in UNIT_DAYS else other.kind
        return self._counted(1, unit, other, word in self.known.before, kind="span")

    def _counted(
        self, number: int, unit: str, other: Dated, before: bool, kind: str | None = None
    ) -> Dated:
        """The period that lies so many units before or after another."""
        if unit == "weekend":
            day = other.start if before else other.end + WEEK
            return self._weekend(day, other.beyond)
        edge, sign = (other.start, -1) if before else (other.end, 1)
        ends = (self._shifted(edge, unit, sign * n) for n in (number - 1, number))
        start, end = sorted(ends)
        return Dated(kind or unit, start, end, other.beyond, is_relative=False)

    def _nth(self, ordinal: int, unit: str, other: Dated) -> Dated | None:
        """The n-th seven days, or the n-th weekend, of a month or year; -1 is the last."""
        if unit == "weekend":
            if ordinal == -1:
                return self._weekend(other.end, other.beyond)
            first = other.start + (_SATURDAY - other.start.weekday()) % 7 * DAY
            start = first + (ordinal - 1) * WEEK
            return Dated("weekend", start, start + 2 * DAY, other.beyond, is_relative=False)
        start = other.end - WEEK if ordinal == -1 else other.start + (ordinal - 1) * WEEK
        end = min(start + WEEK, other.end)
        return Dated("week", start, end, other.beyond, is_relative=False) if start < end else None

    def _weekend(self, day: datetime, beyond: int) -> Dated:
        """The last weekend that ends by this midnight."""
        end = day - day.weekday() * DAY
        return Dated("weekend", end - 2 * DAY, end, beyond, is_relative=False)

    def _shifted(self, edge: datetime, unit: str, number: int) -> datetime:
        if unit in UNIT_DAYS:
            return edge + number * UNIT_DAYS[unit] * DAY
        return self._months(edge, number * UNIT_MONTHS[unit])

    @staticmethod
    def _months(start: datetime, number: int) -> datetime:
        """The same day so many months later, or the last of that month."""
        year, month = divmod(12 * start.year + start.month - 1 + number, 12)
        first = start.replace(year=year, month=month + 1, day=1)
        following = first.replace(year=year + month // 11, month=(month + 1) % 12 + 1)
        return first + min(start.day - 1, (following - first).days - 1) * DAY
