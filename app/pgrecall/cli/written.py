"""How values are written on the command line that are no plain text or number."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

import typer

from pgrecall.core.dates import instant
from pgrecall.core.quoting import shortened
from pgrecall.core.zones import require_zone
from pgrecall.errors import InputError
from pgrecall.scoring import profiles
from pgrecall.scoring.profile import Profile

ISO_8601 = "2026-11-21 or 2026-11-21T08:00+01:00, in --timezone if it has no zone"
COMPARISONS = {">=": "$gte", "<=": "$lte", "!=": "$ne", ">": "$gt", "<": "$lt"}
"""How metadata are compared → the operator of the filter; the longer ones come first."""


def option(help_: str | None, *names: str, **more: Any) -> Any:
    """An option of Typer's, its help first."""
    return typer.Option(*names, help=help_, **more)


def argument(help_: str, **more: Any) -> Any:
    """An argument of Typer's, its help first."""
    return typer.Argument(help=help_, **more)


@dataclass(frozen=True)
class Written:
    """The type that Typer reads for a type, and the function that converts its values."""

    typed: Any
    read: Callable[[Any], Any]

    @property
    def is_repeated(self) -> bool:
        """True if the option is written once for each value."""
        return bool(self.typed == list[str])


def moment(text: str) -> datetime:
    """The moment meant; `in_zone` completes a time without a zone."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{shortened(text)} is not an ISO 8601 time; write 2026-11-21 or "
            "2026-11-21T08:00:00+01:00"
        ) from None


def in_zone(value: Any, zone: tzinfo) -> Any:
    """A moment, or each of a period; a time without a zone is in this one. Others pass."""
    if isinstance(value, tuple):
        return tuple(in_zone(one, zone) for one in value)
    is_local = isinstance(value, datetime) and value.utcoffset() is None
    return instant(value.replace(tzinfo=zone)) if is_local else value


def period(ends: tuple[str, str]) -> tuple[datetime, datetime]:
    """From a moment to another."""
    return moment(ends[0]), moment(ends[1])


def shares(texts: Sequence[str]) -> dict[str, float]:
    """NAME=NUMBER, each name once."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            share = float(number)
        except ValueError:
            share = -1.0
        if not name or share < 0:
            raise InputError(f"write NAME=NUMBER, such as fact=0.5; got {shortened(text)}")
        if name in found:
            raise InputError(f"{shortened(name)} is given twice")
        found[name] = share
    return found


def conditions(texts: Sequence[str]) -> dict[str, Any]:
    """A metadata filter: KEY=VALUE, KEY>=VALUE and so on, or whole JSON objects."""
    contained = pairs([text for text in texts if _sign(text) == "="])
    compared: dict[str, Any] = {}
    for text in texts:
        if (sign := _sign(text)) != "=":
            key, _, value = text.partition(sign)
            compared.setdefault(key, {})[COMPARISONS[sign]] = _value(value)
    if both := contained.keys() & compared:
        raise InputError(f"{shortened(min(both))} is given with = and with a comparison")
    return contained | compared


def _sign(text: str) -> str:
    """The sign between key and value; = for a JSON object, too."""
    if text.lstrip().startswith("{"):
        return "="
    place = min((text.index(sign) for sign in "=!<>" if sign in text), default=0)
    for sign in ("=", *COMPARISONS):
        if place and text.startswith(sign, place):
            return sign
    raise InputError(f"write KEY=VALUE, KEY>=VALUE or a JSON object; got {shortened(text)}")


def pairs(texts: Sequence[str]) -> dict[str, Any]:
    """Metadata: KEY=VALUE, or whole JSON objects."""
    found: dict[str, Any] = {}
    for text in texts:
        if text.lstrip().startswith("{"):
            found |= json_object(text)
            continue
        key, sign, value = text.partition("=")
        if not key or not sign:
            raise InputError(f"write KEY=VALUE or a JSON object; got {shortened(text)}")
        if key in found:
            raise InputError(f"{shortened(key)} is given twice")
        found[key] = _value(value)
    return found


def standard_input() -> BinaryIO:
    """Standard input as bytes; raises InputError where it is closed."""
    if sys.stdin is None:
        raise InputError("standard input is closed")
    return sys.stdin.buffer


def content_of(text: str) -> str:
    """The text of a memory; for -, all of standard input but the line ends behind it."""
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
    """JSON, such as a number, true or a quoted text; any other text as it is."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def named_or_loaded(profile: str) -> Profile:
    """The profile of a file if the name ends like one, else the built-in one."""
    if Path(profile).suffix.lower() in (".toml", ".json"):
        return profiles.load(profile)
    return profiles.named(profile)


def several(texts: Sequence[str]) -> list[Profile]:
    """Profiles, also several with commas between them."""
    names = (name.strip() for text in texts for name in text.split(","))
    found = [named_or_loaded(name) for name in names if name]
    if not found:
        raise InputError("name at least one profile")
    return found


WRITTEN: dict[Any, Written] = {
    datetime: Written(str, moment),
    tuple[datetime, datetime]: Written(tuple[str, str], period),
    Sequence[str]: Written(list[str], list),
    Sequence[str | UUID]: Written(list[str], list),
    Mapping[str, float]: Written(list[str], shares),
    Mapping[str, Any]: Written(list[str], conditions),
    dict[str, Any]: Written(list[str], pairs),
    str | tzinfo: Written(str, require_zone),
    Profile | str: Written(str, named_or_loaded),
    list[Profile]: Written(list[str], several),
}
"""Type → how it is written. What is not here, Typer reads by itself."""
MOMENTS = (datetime, tuple[datetime, datetime])
"""Types of values that may be written without a time zone."""
