"""Every argument of a search is an option of the commands that search."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Unpack
from zoneinfo import ZoneInfo

import pytest

from pgrecall import profiles
from pgrecall.cli.app import App
from pgrecall.cli.options import LEFT_OUT, WRITTEN_AS
from pgrecall.cli.parsers import conditions, pairs, shares
from pgrecall.errors import InputError
from pgrecall.ranking.arguments import SearchArguments
from pgrecall.ranking.filters import FilterArguments
from tests.integration.commands import BUILT

MAY, JUNE = datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
SEVERAL = (
    *("memory_types --type", "memory_natures --memory-nature", "content_types --content-type"),
    *("tiers --tier", "tags --tag", "all_tags --all-tag"),
    *("entities --entity", "all_entities --all-entity"),
    *("components --component", "output_types --output-type"),
    *("domains --domain", "categories --category", "loops --loop", "statuses --status"),
    *("teams --team", "query_entities --query-entity"),
)
CASES: dict[str, tuple[str, Any]] = {
    **{name: (f"{option} a {option} b", ["a", "b"]) for name, option in map(str.split, SEVERAL)},
    "text": ("--text cello", "cello"),
    "metadata": ("--metadata a=b --metadata n>=3", {"a": "b", "n": {"$gte": 3}}),
    "created_after": ("--created-after 2026-05-01", MAY),
    "created_before": ("--created-before 2026-06-01T02:00+02:00", JUNE),
    "compliant": ("--no-compliant", False),
    "needs_review": ("--needs-review", True),
    "min_trust": ("--min-trust 0.5", 0.5),
    "include_invalid": ("--include-invalid", True),
    "profile": ("-p trust", profiles.trust),
    "weights": ("--weight recency=0.3 --weight trust=0.7", {"recency": 0.3, "trust": 0.7}),
    "min_score": ("--min-score 0", 0.0),
    "min_similarity": ("--min-similarity 0.2", 0.2),
    "min_relevance": ("--min-relevance 0.3", 0.3),
    "keywords": ("--keywords cello", "cello"),
    "query_time": ("--between 2026-05-01 2026-06-01", (MAY, JUNE)),
    "dates": ("--dates auto", "auto"),
    "timezone": ("--timezone Europe/Berlin", ZoneInfo("Europe/Berlin")),
    "surrounding_turns": ("--surrounding-turns 2", 2),
    "as_of": ("--as-of 2026-06-01", JUNE),
}
ARGUMENTS = set(SearchArguments.__annotations__) - set(LEFT_OUT)


def given(options: str) -> SearchArguments:
    """What a command gets that takes the arguments of a search."""
    app, got = App(), []

    @app.function("pgrecall probe")
    def probe(**arguments: Unpack[SearchArguments]) -> None:
        got.append(arguments)

    app(options.split(), standalone_mode=False)
    [found] = got
    return found


def test_every_argument_is_an_option_with_help_or_left_out_for_a_reason() -> None:
    assert set(CASES) == ARGUMENTS
    assert set(WRITTEN_AS) < ARGUMENTS
    assert set(LEFT_OUT) == {"where"}
    filters = set(FilterArguments.__annotations__) - set(LEFT_OUT)
    commands = dict.fromkeys(("search", "explain", "context"), ARGUMENTS)
    commands |= dict.fromkeys(("evaluate", "tune", "list", "delete"), filters)
    for name, arguments in commands.items():
        with_help = {one.name for one in BUILT.commands[name].params if _help(one)}
        assert arguments - with_help == set(), name


def test_each_option_gives_its_argument_the_value_that_was_written() -> None:
    assert given("") == {}
    for name, (options, value) in CASES.items():
        assert given(options) == {name: value}


def test_times_without_a_zone_are_those_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    zone = "America/New_York"
    options = "--as-of 2026-03-08T12:00 --between 2026-03-08 2026-03-09 --created-after {}"
    midnights = tuple(datetime(2026, 3, day, tzinfo=ZoneInfo(zone)) for day in (8, 9))
    expected = {
        "as_of": datetime(2026, 3, 8, 12, tzinfo=ZoneInfo(zone)),
        "query_time": midnights,
        "created_after": JUNE,
    }

    found: Any = given(options.format("2026-06-01T00:00Z") + f" --timezone {zone}")
    monkeypatch.setenv("PGRECALL_TIMEZONE", zone)

    assert found.pop("timezone") == ZoneInfo(zone)
    assert found == expected
    start, end = found["query_time"]
    assert end - start == timedelta(hours=23)
    assert given("--created-before 2026-03-08")["created_before"] == midnights[0]
    assert given("--created-before 0001-01-01") == {
        "created_before": datetime(1, 1, 1, tzinfo=ZoneInfo(zone)),
        "timezone": ZoneInfo(zone),
    }


def test_a_command_that_takes_times_takes_their_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    app, got = App(), []

    @app.function("pgrecall probe")
    def probe(**arguments: Unpack[FilterArguments]) -> None:
        got.append(arguments)

    for options in ("--created-after 2026-05-01 --timezone Pacific/Kiritimati", ""):
        app(options.split(), standalone_mode=False)

    assert got == [{"created_after": datetime(2026, 5, 1, tzinfo=ZoneInfo("Etc/GMT-14"))}, {}]
    takes = {name for name, one in BUILT.commands.items() if "timezone" in _names(one)}
    assert {"search", "context", "evaluate", "list", "delete", "mcp", "serve", "import"} <= takes
    assert "get" not in takes


def _help(parameter: Any) -> str:
    said: str = parameter.help or ""
    return said


def _names(command: Any) -> set[str]:
    return {one.name for one in command.params}


def test_metadata_and_shares_are_written_readably() -> None:
    several = ["a=b", "n>=3", "n<5", 'v="4.19"', "x!=true", '{"s": {"$in": [1]}}', "t=[1, 2]"]
    assert conditions(several) == {
        "a": "b",
        "v": "4.19",
        "s": {"$in": [1]},
        "t": [1, 2],
        "n": {"$gte": 3, "$lt": 5},
        "x": {"$ne": True},
    }
    assert pairs(["a=b=c", "n=3.5", "u=x?y>z"]) == {"a": "b=c", "n": 3.5, "u": "x?y>z"}
    assert shares(["a=b=0.5", "c=1"]) == {"a=b": 0.5, "c": 1.0}


@pytest.mark.parametrize(
    ("read", "texts", "said"),
    [
        (conditions, ["a"], "write KEY=VALUE"),
        (conditions, [">=3"], "write KEY=VALUE"),
        (conditions, ["a=1", "a=2"], "'a' is given twice"),
        (conditions, ["a=1", "a>2"], "'a' is given with = and with a comparison"),
        (conditions, ["{1}"], "is not JSON"),
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
        ("--as-of soon", "--as-of: 'soon' is not an ISO 8601 time"),
        ("--type a -p none", "--profile: unknown profile 'none'"),
        ("--weight recency", "--weight: write NAME=NUMBER"),
        ("--timezone Berlin", "--timezone: unknown time zone 'Berlin': give an IANA name such as"),
    ):
        with pytest.raises(InputError, match=said):
            given(options)
