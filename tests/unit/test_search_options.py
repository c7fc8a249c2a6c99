"""Every argument of a search is an option of the commands that search."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime, timedelta
from typing import Any, Unpack
from zoneinfo import ZoneInfo

import pytest

from pgrecall import profiles
from pgrecall.cli.app import App
from pgrecall.cli.parsers import pairs, shares
from pgrecall.errors import InputError
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.filters import FilterArguments
from tests.integration.commands import BUILT

MAY, JUNE = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
CASES: dict[str, tuple[str, Any]] = {
    "filter": ("""--filter '{"importance": {"$gt": 0.8}}'""", {"importance": {"$gt": 0.8}}),
    "include_inactive": ("--include-inactive", True),
    "profile": ("-p trust", profiles.trust),
    "weights": ("--weight recency=0.3 --weight trust=0.7", {"recency": 0.3, "trust": 0.7}),
    "min_score": ("--min-score 0", 0.0),
    "min_relevance": ("--min-relevance 0.3", 0.3),
    "teams": ("--team a --team b", ["a", "b"]),
    "entities": ("--entity a --entity b", ["a", "b"]),
    "keywords": ("--keywords cello", "cello"),
    "period": ("--period 2026-05-01..2026-06-01", (MAY, JUNE)),
    "timezone": ("--timezone Europe/Berlin", ZoneInfo("Europe/Berlin")),
    "surrounding_turns": ("--surrounding-turns 2", 2),
    "as_of": ("--as-of 2026-06-01", JUNE),
}
FILTERS: tuple[tuple[str, Any], ...] = (
    ("--type a --type b", {"memory_type": ["a", "b"]}),
    ("--tag a", {"tags": ["a"]}),
    ("--session a --session b", {"session": ["a", "b"]}),
    ("--since 2026-05-01", {"created_at": {"$gte": MAY}}),
    ("--since 2026-05-01 --until 2026-06-01", {"created_at": {"$gte": MAY, "$lt": JUNE}}),
    ("--filter {}", {}),
    (
        """--tag a --until 2026-06-01T02:00+02:00 --filter '{"x": 1}' --filter '{"y": 2}'""",
        {"$and": [{"x": 1}, {"y": 2}, {"tags": ["a"]}, {"created_at": {"$lt": JUNE}}]},
    ),
)


def given(options: str) -> SearchArguments:
    """What a command gets that takes the arguments of a search."""
    app, got = App(), []

    @app.function("pgrecall probe")
    def probe(**arguments: Unpack[SearchArguments]) -> None:
        got.append(arguments)

    app(shlex.split(options), standalone_mode=False)
    [found] = got
    return found


def test_every_argument_is_an_option_and_every_option_has_help() -> None:
    assert CASES.keys() == SearchArguments.__annotations__.keys()
    filters = {"filter", "memory_type", "tags", "session", "since", "until", "status"}
    filters.add("include_inactive")
    reads = ("evaluate", "tune", "list", "delete", "export")
    commands = dict.fromkeys(("search", "explain", "context"), CASES.keys() | filters)
    for name, arguments in (commands | dict.fromkeys(reads, filters)).items():
        with_help = {one.name for one in BUILT.commands[name].params if one.help}
        assert arguments - with_help == set(), name
        in_panel = [one.name for one in BUILT.commands[name].params if _panel(one) == "Filters"]
        assert {*in_panel} == filters, name


def test_each_option_gives_its_argument_the_value_that_was_written() -> None:
    assert given("") == {}
    for name, (options, value) in CASES.items():
        assert given(options) == {name: value}
    for options, filter_ in FILTERS:
        assert given(options) == {"filter": filter_}
    statuses = {"filter": {"status": ["archived"]}, "include_inactive": True}
    assert given("--status archived") == statuses
    for word, value in (("auto", "auto"), ("de", "de"), ("none", None)):
        assert given(f"--period {word}") == {"period": value}


def test_times_without_a_zone_are_those_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    zone = "America/New_York"
    options = "--as-of 2026-03-08T12:00 --period 2026-03-08..2026-03-09 --since {}"
    midnights = tuple(datetime(2026, 3, day, tzinfo=ZoneInfo(zone)) for day in (8, 9))
    expected = {
        "as_of": datetime(2026, 3, 8, 12, tzinfo=ZoneInfo(zone)),
        "period": midnights,
        "filter": {"created_at": {"$gte": JUNE}},
    }

    found: Any = given(options.format("2026-06-01T00:00Z") + f" --timezone {zone}")
    monkeypatch.setenv("PGRECALL_TIMEZONE", zone)

    assert found.pop("timezone") == ZoneInfo(zone)
    assert found == expected
    start, end = found["period"]
    assert end - start == timedelta(hours=23)
    for written, day in (
        ("2026-03-08", midnights[0]),
        ("0001-01-01", datetime(1, 1, 1, tzinfo=UTC)),
    ):
        until = day.replace(tzinfo=ZoneInfo(zone))
        expected = {"filter": {"created_at": {"$lt": until}}, "timezone": ZoneInfo(zone)}
        assert given(f"--until {written}") == expected


def test_a_command_that_takes_times_takes_their_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    app, got = App(), []

    @app.function("pgrecall probe")
    def probe(**arguments: Unpack[FilterArguments]) -> None:
        got.append(arguments)

    for options in ("--since 2026-05-01 --timezone Pacific/Kiritimati", ""):
        app(options.split(), standalone_mode=False)

    since = datetime(2026, 5, 1, tzinfo=ZoneInfo("Etc/GMT-14"))
    assert got == [{"filter": {"created_at": {"$gte": since}}}, {}]
    takes = {name for name, one in BUILT.commands.items() if "timezone" in _names(one)}
    assert {
        "search",
        "context",
        "evaluate",
        "list",
        "delete",
        "export",
        "mcp",
        "serve",
        "import",
    } <= takes
    assert "get" not in takes


def _panel(parameter: Any) -> Any:
    return getattr(parameter, "rich_help_panel", None)


def _names(command: Any) -> set[str]:
    return {one.name for one in command.params}


def test_metadata_and_shares_are_written_readably() -> None:
    assert pairs(["a=b=c", "n=3.5", "u=x?y>z"]) == {"a": "b=c", "n": 3.5, "u": "x?y>z"}
    assert shares(["a=b=0.5", "c=1"]) == {"a=b": 0.5, "c": 1.0}


@pytest.mark.parametrize(
    ("read", "texts", "said"),
    [
        (pairs, ["a"], "write KEY=VALUE"),
        (pairs, ["a=1", "a=2"], "'a' is given twice"),
        (pairs, ["{1}"], "is not JSON"),
        (pairs, ["a>3"], "write KEY=VALUE"),
        (pairs, ["=3"], "write KEY=VALUE"),
        (shares, ["a=1", "a=1"], "'a' is given twice"),
        (shares, ["a=-1"], "write NAME=NUMBER"),
    ],
)
def test_what_cannot_be_read_is_named(read: Any, texts: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(texts)


def test_an_error_names_the_option() -> None:
    for options, said in (
        ("--period 2026-05-01..soon", "--period: 'soon' is not an ISO 8601 time"),
        ("--as-of soon", "--as-of: 'soon' is not an ISO 8601 time"),
        ("--type a -p none", "--profile: unknown profile 'none'"),
        ("--weight recency", "--weight: write NAME=NUMBER"),
        ("--filter {", "--filter: '{' is not JSON"),
        ("--filter [1]", r"--filter: write a JSON object; got '\[1\]'"),
        ("--until soon", "--until: 'soon' is not an ISO 8601 time"),
        ("--timezone Berlin", "--timezone: unknown time zone 'Berlin': give an IANA name such as"),
    ):
        with pytest.raises(InputError, match=said):
            given(options)
