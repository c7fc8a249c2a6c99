"""Reads lines of JSON as memories, each with its owner, its id and its place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from hashlib import sha256
from itertools import islice
from typing import Any
from uuid import UUID, uuid5

from pgrecall.core.ids import id_of_key
from pgrecall.core.quoting import shortened
from pgrecall.errors import InputError
from pgrecall.memories.lines import MOST_LINE_BYTES, TOO_LONG, Read, Reading
from pgrecall.memories.record import (
    OWNER_FIELDS,
    STATE,
    Record,
    UnknownField,
    parse_record,
    unknown_fields,
)
from pgrecall.memories.rejects import Rejects
from pgrecall.schema import Tables
from pgrecall.schema.owner import require_owner

MOST_LOOKED_AT = 10_000
"""Lines that are read for further unknown fields, once one is found."""
_BYTES = 8
"""Of a number in a vector, roughly."""
_NAMESPACE = UUID("9b0c1c0e-6d0b-4b53-9a0d-6f2d3f1f7c11")


@dataclass(frozen=True, slots=True)
class Line:
    """A memory that was read."""

    read: Read
    owner_id: str
    """The stored id, with the prefix of teams."""
    values: Record
    id: UUID
    digest: bytes
    """Equal for lines with the same fields, apart from the embedding."""
    size: int
    """In bytes."""

    @property
    def has_state(self) -> bool:
        """True if it has fields that `restore` takes and `add_many` does not."""
        return not self.values.keys().isdisjoint(STATE)


@dataclass(frozen=True, slots=True)
class Lines:
    """Checks what is read."""

    tables: Tables
    agent_id: str | UUID | None
    timezone: tzinfo | None
    reading: Reading

    def checked(self, refused: Rejects) -> Iterator[Line]:
        """The lines that can be stored; the others go to `refused`."""
        first_at: dict[UUID, tuple[int, bytes]] = {}
        several = iter(self.reading.read())
        for one in several:
            try:
                line = self._line(one)
                first, digest = first_at.setdefault(line.id, (one.number, line.digest))
                if digest != line.digest:
                    noun = self.reading.noun
                    raise InputError(f"has the id of {noun} {first} and says something else")
            except UnknownField as error:
                more = () if refused.goes_on else self._unknown(several)
                named = UnknownField([*error.names, *more])
                refused.refuse(one, named, is_last=not refused.goes_on)
            except (InputError, ValueError, TypeError, RecursionError) as error:
                refused.refuse(one, error)
            else:
                yield line

    def _unknown(self, rest: Iterator[Read]) -> Iterator[str]:
        """The unknown fields of further lines, to name all at once."""
        most = MOST_LOOKED_AT if self.reading.looks_ahead else 0
        with suppress(InputError):  # the file is damaged
            for one in islice(rest, most):
                with suppress(InputError, ValueError, TypeError, RecursionError):
                    values = self.reading.fields(json.loads(one.content), None)
                    yield from unknown_fields(values)

    def _line(self, one: Read) -> Line:
        if len(one.content) > MOST_LINE_BYTES:
            raise InputError(TOO_LONG)
        fields = json.loads(one.content.decode("utf-8-sig"))
        if not isinstance(fields, dict):
            raise InputError(f"a line must be one JSON object, got {type(fields).__name__}")
        fields = self.reading.fields(fields, one.vector)
        owner_id = self._owner({name: fields.pop(name, None) for name in OWNER_FIELDS})
        values = parse_record(fields, owner_id, zone=self.timezone)
        if values.get("key") is not None:
            id_ = id_of_key(owner_id, values["key"])
        elif values.get("id") is None:
            written = one.content.strip().decode("utf-8-sig")
            id_ = values["id"] = uuid5(_NAMESPACE, f"{owner_id}\n{written}")
        else:
            id_ = values["id"]
        size = len(one.content) + _BYTES * len(one.vector or ())
        digest = _digest(values)
        return Line(one, owner_id, values, id_, digest, size)

    def _owner(self, named: Mapping[str, Any]) -> str:
        agent_id, team_id = (named[name] for name in OWNER_FIELDS)
        if team_id is not None:
            if agent_id is not None:
                raise InputError("a memory has one owner: agent_id or team_id, not both")
            return require_owner(self.tables.of_teams(), team_id, "team_id")
        if agent_id is not None and self.tables.prefix:
            raise InputError(
                f"belongs to agent {shortened(agent_id)}, and only memories of teams are imported"
            )
        agent_id = self.agent_id if agent_id is None else agent_id
        if agent_id is None:
            raise InputError(
                f"names no owner: give an agent for {self.reading.noun}s without agent_id or "
                "team_id (--agent), or rename a field (--map user_id=agent_id)"
            )
        return require_owner(self.tables, agent_id)


def _digest(values: Mapping[str, Any]) -> bytes:
    fields = {name: value for name, value in values.items() if name != "embedding"}
    return sha256(json.dumps(fields, sort_keys=True, default=_as_text).encode()).digest()


def _as_text(value: object) -> str:
    return str(value.astimezone(UTC) if isinstance(value, datetime) else value)
