"""Lists of a memory's fields in the files of `sql/`, written out when these are installed.

`@columns@` becomes `usefulness, confidence, …`, and `@columns but usefulness: m.{}@` becomes
`m.confidence, …`: what stands behind the colon, once for each field of the group. There, {} is the
field, {name} its name in a text, {type} its type, {given} what `new_memory` has for it, {assessed}
what `with_defaults` has, and {read} its value in a memory m with the usage u.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from textwrap import fill

from pgrecall.schema.fields import (
    COUNTERS,
    FIELD,
    NEW,
    RECORD,
    SHOWN,
    STATE_COLUMNS,
    TABLE,
    USAGE,
    Field,
)
from pgrecall.schema.kinds import TEXT

_GROUPS: Mapping[str, tuple[Field, ...]] = {
    "columns": tuple(field for field in TABLE if field.part == "memory"),
    "counters": tuple(field for field in USAGE if field.name in COUNTERS),
    "memory": SHOWN,
    "new": NEW,
    "record": RECORD,
    "state": STATE_COLUMNS,
    "table": TABLE,
    "texts": tuple(
        field for field in NEW if field.kind is TEXT and field.name != "embedding_model"
    ),
    "usage": USAGE,
}
"""columns: what can be changed of a memory. memory and new: the fields of Memory and NewMemory, in
their order. record: the columns of memory_records. state: what only verbs and `restore` set. table:
the columns of agent_memories, in their order. texts: those that callers write, of any length.
usage: the columns of memory_usage. counters: those of them that never decrease."""
_LIST = re.compile(
    rf"(?P<comma>,\s+)?(?P<list>@(?P<group>{'|'.join(sorted(_GROUPS, reverse=True))})"
    r"(?: but (?P<but>[\w, ]+))?(?:: (?P<each>[^@]+))?@)"
)
_KEYWORDS = ("loop",)
"""Names that PL/pgSQL reserves."""


def with_fields(text: str) -> str:
    """The text of a file with its lists written out."""
    return _LIST.sub(_written, text)


def _written(match: re.Match[str]) -> str:
    fields = [*_GROUPS[match["group"]]]
    for name in re.findall(r"\w+", match["but"] or ""):
        fields.remove(FIELD[name])
    if not fields:
        return ""
    items = (_one(match["each"] or "{}", field).replace(" ", "\0") for field in fields)
    begun = match.string[: match.start("list")].rpartition("\n")[2]
    margin = len(begun) - len(begun.lstrip()) + 4 if begun.strip() else len(begun)
    lines = fill(
        ", ".join(items),
        96,
        initial_indent=" " * len(begun),
        subsequent_indent=" " * margin,
        break_long_words=False,
    )
    return (match["comma"] or "") + lines[len(begun) :].replace("\0", " ")


def _one(each: str, field: Field) -> str:
    name = f'"{field.name}"' if field.name in _KEYWORDS else field.name
    values = {
        "{}": name,
        "{name}": field.name,
        "{type}": field.kind.type,
        "{given}": name if field in NEW else "NULL",
        "{assessed}": _assessed(field, name),
        "{read}": f"coalesce(u.{name}, 0) AS {name}"
        if field.name in COUNTERS
        else f"{'u' if field.part == 'usage' else 'm'}.{name}",
    }
    return re.sub(r"\{\w*\}", lambda match: values[match[0]], each)


def _assessed(field: Field, name: str) -> str:
    if field.assessed:
        return f"decided.{name}"
    if field in NEW:
        return f"coalesce(m.{name}, {field.standard})" if field.standard else f"m.{name}"
    return field.standard or f"NULL::{field.kind.type}"
