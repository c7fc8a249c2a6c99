"""A memory with its state as plain values: a line of an export, or one of another system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, tzinfo
from functools import partial
from typing import Any
from uuid import UUID

from pgrecall.core.dates import moment_of
from pgrecall.core.ids import id_of_key
from pgrecall.core.quoting import did_you_mean, listed, shortened
from pgrecall.core.validation import (
    require_aware,
    require_given_share,
    require_json_object,
    require_name,
    require_text,
)
from pgrecall.errors import InputError, InvalidMemory, UnknownName
from pgrecall.memories.incoming import FIELDS, checked
from pgrecall.schema.fields import CHECKS, NEW, NOTHING, STATE_COLUMNS, USAGE, Field
from pgrecall.schema.kinds import ID, MOMENT, Kind

_MOST_NAMES = 50
TOLD_BY_NULL = frozenset(NOTHING) | {"embedding", "tokens"}
"""Fields where NULL says something; in all others it means that the field is absent."""
OWNER_FIELDS = ("agent_id", "team_id")
"""The fields of an exported line that name its owner."""
_MOMENTS = tuple(field.name for field in NEW if field.kind is MOMENT)

Check = Callable[[Any, str, "tzinfo | None"], Any]
"""A function of a value, the owner's stored id, and the time zone of times without one."""


class Record(dict[str, Any]):
    """Fields that `parse_record` has checked, so that a file's lines are not checked twice."""

    __slots__ = ("owner_id",)

    def __init__(self, fields: Mapping[str, Any], owner_id: str) -> None:
        super().__init__(fields)
        self.owner_id = owner_id


class UnknownField(UnknownName):
    """Fields that no memory has."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(dict.fromkeys(names))
        shown = ", ".join(shortened(name, 40).strip("'") for name in self.names[:_MOST_NAMES])
        more = len(self.names) - _MOST_NAMES
        super().__init__(
            f"unknown field{'s' if more > 1 - _MOST_NAMES else ''} {shown}"
            f"{f' and {more} more' if more > 0 else ''}{did_you_mean(self.names, FIELDS)}: rename "
            f"or leave out; the fields are "
            f"{', '.join(sorted(FIELDS | STATE.keys()))}"
        )


def unknown_fields(values: Mapping[str, Any]) -> list[str]:
    """The fields with a value that no memory has, nor its state."""
    known = (*FIELDS, *STATE, *OWNER_FIELDS)
    return [name for name, value in values.items() if value is not None and name not in known]


def parse_record(values: Mapping[str, Any], owner_id: str, *, zone: tzinfo | None = None) -> Record:
    """The fields as they will be stored: times as datetimes, ids as UUIDs, what is None left out,
    unless it is one of TOLD_BY_NULL.

    Ids that are no UUIDs become keys, and references to them the ids of these keys. Times without a
    time zone are in `zone`. Raises InputError.
    """
    if unknown := unknown_fields(values):
        raise UnknownField(unknown)
    fields = {
        name: value
        for name, value in values.items()
        if name in FIELDS and (value is not None or name in TOLD_BY_NULL)
    }
    fields |= {name: moment_of(name, fields[name], zone) for name in _MOMENTS if name in fields}
    fields |= _identity(fields, owner_id)
    if "content" not in fields:
        raise InputError("the object has no content")
    state = {
        name: check(values[name], owner_id, zone)
        for name, check in STATE.items()
        if values.get(name) is not None
    }
    return Record(checked(fields) | state, owner_id)


def _identity(values: Mapping[str, Any], owner_id: str) -> dict[str, Any]:
    value, key = values.get("id"), values.get("key")
    if value is None or (isinstance(value, UUID) and key is None):
        return {}
    id_ = _referred("id", value, owner_id)
    if key is None and is_uuid(value):
        return {"id": id_}
    if key is None:
        return {"id": None, "key": str(value)}
    if isinstance(key, str) and id_ != id_of_key(owner_id, key):
        raise InvalidMemory(f"id {id_} is not that of key {shortened(key)}: leave one of them out")
    return {"id": None}


def id_of_source(value: str | int, owner_id: str) -> UUID:
    """The memory's id for an id in a file: the same if it is a UUID, else that of a key."""
    return UUID(str(value)) if is_uuid(value) else id_of_key(owner_id, str(value))


def is_uuid(value: object) -> bool:
    """True if an id in a file is a UUID."""
    try:
        UUID(str(value))
    except ValueError:
        return False
    return True


def _moment(name: str, value: Any, _: str, zone: tzinfo | None) -> datetime | None:
    moment = moment_of(name, value, zone)
    require_aware(name, moment, error=InvalidMemory)
    return moment


def _referred(name: str, value: Any, owner_id: str, _: Any = None) -> UUID:
    """The id of a memory that is named by its id, whether a UUID or not."""
    if isinstance(value, UUID):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= 512:
        value = str(value)
    if not isinstance(value, str) or not value:
        raise InvalidMemory(f"{name} must be a text that is not empty, got {shortened(value)}")
    if not is_uuid(value):
        require_name(name, str(value), error=InvalidMemory)
    return id_of_source(value, owner_id)


def _several(
    check: Callable[[str, Mapping[str, Any], str, tzinfo | None], dict[str, Any]],
    name: str,
    values: Any,
    owner_id: str,
    zone: tzinfo | None,
) -> list[dict[str, Any]]:
    if isinstance(values, str | Mapping):
        values = [values]
    if not isinstance(values, list | tuple):
        raise InvalidMemory(f"{name} must be a list, got {shortened(values)}")
    return [check(f"{name}[{place}]", one, owner_id, zone) for place, one in enumerate(values)]


def _fields(name: str, value: Any, known: Mapping[str, Any]) -> Mapping[str, Any]:
    """The value, which has these fields and no others; raises InvalidMemory."""
    if not isinstance(value, Mapping):
        raise InvalidMemory(f"{name} must be a JSON object, got {shortened(value)}")
    unknown = [key for key in value if key not in known]
    if unknown:
        raise UnknownName(
            f"{name}: unknown field {listed(unknown)}{did_you_mean(unknown, known)}; known are "
            f"{', '.join(known)}"
        )
    return {**known, **{key: one for key, one in value.items() if one is not None}}


def _link(name: str, value: Any, owner_id: str, _: Any = None) -> dict[str, Any]:
    fields = value if isinstance(value, Mapping) else {"target_id": value}
    link = _fields(name, fields, {"target_id": None, "kind": "related", "weight": 1.0})
    return {
        "target_id": _referred(f"target_id of {name}", link["target_id"], owner_id),
        "kind": require_name(f"kind of {name}", link["kind"], error=InvalidMemory),
        "weight": require_given_share(f"weight of {name}", link["weight"], error=InvalidMemory),
    }


_EVENT = ("id", "event_type", "reason", "actor", "old_values", "new_values", "metadata")


def _event(name: str, value: Any, owner_id: str, zone: tzinfo | None) -> dict[str, Any]:
    event = _fields(name, value, dict.fromkeys((*_EVENT, "occurred_at")))
    for key in ("reason", "actor"):
        if event[key] is not None:
            require_text(f"{key} of {name}", event[key], error=InvalidMemory)
    for key in ("old_values", "new_values", "metadata"):
        if event[key] is not None:
            require_json_object(f"{key} of {name}", event[key], error=InvalidMemory)
    if event["id"] is not None and not is_uuid(event["id"]):
        raise InvalidMemory(f"id of {name} must be a UUID, got {shortened(event['id'])}")
    return {
        **event,
        "event_type": require_name(
            f"event_type of {name}", event["event_type"], error=InvalidMemory
        ),
        "occurred_at": _moment(f"occurred_at of {name}", event["occurred_at"], owner_id, zone),
    }


def _checked(name: str, value: Any, *_: Any) -> Any:
    return CHECKS[name](name, value)


def _check(field: Field) -> Check:
    """The check of a field of the state, whose values may be text."""
    of_kind: Mapping[Kind, Callable[..., Any]] = {MOMENT: _moment, ID: _referred}
    return partial(of_kind.get(field.kind, _checked), field.name)


STATE: Mapping[str, Check] = {field.name: _check(field) for field in (*STATE_COLUMNS, *USAGE)} | {
    "links": partial(_several, _link, "links"),
    "events": partial(_several, _event, "events"),
}
"""The fields of a memory's state, which `restore` takes and `add` does not, with their checks."""
