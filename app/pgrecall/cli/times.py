"""Moments on the command line."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError

ISO_8601 = "ISO 8601, such as 2026-11-21 or 2026-11-21T08:00+01:00; UTC if no zone."
When = Annotated[str | None, typer.Option(help=ISO_8601)]


def moment(option: str, text: str | None) -> datetime | None:
    """The moment meant; a time without a zone is taken as UTC. Raises InputError."""
    if text is None:
        return None
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{option}: {shortened(text)} is not an ISO 8601 time; write 2026-11-21 or "
            "2026-11-21T08:00:00+01:00"
        ) from None
    return value if value.utcoffset() is not None else value.replace(tzinfo=UTC)
