"""Time zones of users: which days and months their dates mean."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError, UnknownName


def require_zone(timezone: str | tzinfo | None) -> tzinfo | None:
    """The time zone of this IANA name, or the argument if it is a time zone; None passes.

    Raises UnknownName for a name that Python has no zone for, and InputError for anything else.
    """
    # A zone of pytz that no moment has chosen an offset of is local mean time: its name counts.
    named = getattr(timezone, "zone", None) if isinstance(timezone, tzinfo) else timezone
    if isinstance(named, str):
        return _named(named)
    if timezone is None:
        return None
    try:
        assert isinstance(timezone, tzinfo)
        datetime.now(UTC).astimezone(timezone)
    except Exception:
        raise InputError(
            f"timezone must be a name such as 'Europe/Berlin', a tzinfo or None, got "
            f"{shortened(timezone)}"
        ) from None
    return timezone


def _named(name: str) -> tzinfo:
    if name == "UTC":
        return UTC  # also where Python has no files of zones
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UnknownName(
            f"unknown time zone {shortened(name)}: give an IANA name such as 'Europe/Berlin'"
        ) from None
