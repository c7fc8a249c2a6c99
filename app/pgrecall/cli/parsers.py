"""Parsers of the values on the command line that are neither plain texts nor numbers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

import typer

from pgrecall.cli.named_objects import make_reranker
from pgrecall.core.dates import instant
from pgrecall.core.memory import NewMemory, NewMemoryDict
from pgrecall.core.quoting import shortened
from pgrecall.core.rerankers import Rerank, Reranker
from pgrecall.core.zones import require_zone
from pgrecall.errors import InputError
from pgrecall.scoring import profiles
from pgrecall.scoring.profile import Profile

ISO_8601 = "2026-11-21 or 2026-11-21T08:00+01:00, in --timezone if it has no zone"
NONE = object()
"""The word none: None, where an option that is left out means something else."""


def option(help_: str | None, *names: str, **more: Any) -> Any:
    """An option of Typer's, its help first."""
    return typer.Option(*names, help=help_, **more)


def argument(help_: str, **more: Any) -> Any:
    """An argument of Typer's, its help first."""
    return typer.Argument(help=help_, **more)


@dataclass(frozen=True)
class Parser:
    """The type that Typer reads, and the function that converts its values."""

    raw_type: Any
    parse: Callable[[Any], Any]

    @property
    def is_repeated(self) -> bool:
        """True if the option is written once for each value."""
        return bool(self.raw_type == list[str])


def moment(text: str) -> datetime:
    """A time in ISO 8601. `in_zone` adds the zone if there is none."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{shortened(text)} is not an ISO 8601 time; write 2026-11-21 or "
            "2026-11-21T08:00:00+01:00"
        ) from None


def days(number: float) -> timedelta:
    """A number of days."""
    try:
        return timedelta(days=number)
    except (OverflowError, ValueError):
        raise InputError(f"must be a number of days, got {number}") from None


def in_zone(value: Any, zone: tzinfo) -> Any:
    """A time, or both of a period, with this zone where it has none. Other values pass."""
    if isinstance(value, tuple):
        return tuple(in_zone(end, zone) for end in value)
    is_local = isinstance(value, datetime) and value.utcoffset() is None
    return instant(value.replace(tzinfo=zone)) if is_local else value


def period(text: str) -> Any:
    """The start and the end of a period, as FROM..TO; a language, or NONE."""
    start, dots, end = text.partition("..")
    if dots:
        return moment(start), moment(end)
    return NONE if text == "none" else text


def shares(texts: Sequence[str]) -> dict[str, float]:
    """NAME=NUMBER, each name once."""
    parsed: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if not name or share < 0:
            raise InputError(f"write NAME=NUMBER, such as fact=0.5; got {shortened(text)}")
        if name in parsed:
            raise InputError(f"{shortened(name)} is given twice")
        parsed[name] = share
    return parsed


def pairs(texts: Sequence[str]) -> dict[str, Any]:
    """Metadata: KEY=VALUE, or JSON objects."""
    parsed: dict[str, Any] = {}
    for text in texts:
        if text.lstrip().startswith("{"):
            parsed |= json_object(text)
            continue
        key, sign, value = text.partition("=")
        if not key or not sign:
            raise InputError(f"write KEY=VALUE or a JSON object; got {shortened(text)}")
        if key in parsed:
            raise InputError(f"{shortened(key)} is given twice")
        parsed[key] = _value(value)
    return parsed


def standard_input() -> BinaryIO:
    """Standard input as bytes; raises InputError where it is closed."""
    if sys.stdin is None:
        raise InputError("standard input is closed")
    return sys.stdin.buffer


def content_of(text: str) -> str:
    """The text of a memory; - stands for standard input, without the line ends after it."""
    if text != "-":
        return text
    try:
        return standard_input().read().decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as problem:
        raise InputError(f"standard input is not UTF-8: {problem}") from None


def json_object(text: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{shortened(text)} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"write a JSON object; got {shortened(text)}")
    return value


def _value(text: str) -> Any:
    """JSON, such as a number, true or a quoted text; other texts are taken as they are."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def load_profile(profile: str) -> Profile:
    """The profile of a file if the name ends like one, else the built-in one."""
    if Path(profile).suffix.lower() in (".toml", ".json"):
        return profiles.load(profile)
    return profiles.named(profile)


def several(texts: Sequence[str]) -> list[Profile]:
    """Profiles, also several with commas between them."""
    names = (name.strip() for text in texts for name in text.split(","))
    parsed = [load_profile(name) for name in names if name]
    if not parsed:
        raise InputError("name at least one profile")
    return parsed


PARSERS: dict[Any, Parser] = {
    datetime: Parser(str, moment),
    timedelta: Parser(float, days),
    tuple[datetime, datetime] | str: Parser(str, period),
    Sequence[str]: Parser(list[str], list),
    Sequence[str | UUID]: Parser(list[str], list),
    Mapping[str, float]: Parser(list[str], shares),
    Mapping[str, Any]: Parser(list[str], pairs),
    list[dict[str, Any]]: Parser(list[str], lambda texts: [*map(json_object, texts)]),
    str | tzinfo: Parser(str, require_zone),
    NewMemory | NewMemoryDict | str: Parser(str, content_of),
    Profile | str: Parser(str, load_profile),
    Rerank | Reranker | bool: Parser(str, make_reranker),
    list[Profile]: Parser(list[str], several),
}
"""Type → parser. Typer reads other types by itself."""
MOMENTS = (datetime, tuple[datetime, datetime] | str)
"""Types of values that may lack a time zone."""
