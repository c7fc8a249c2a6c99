"""The next releases: every function that clients call takes one more argument, and more."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from pgrecall.migrate.repeatable import File

_LAST = "coalesce(u.feedback_down, 0) AS feedback_down"
_RECORDS = tuple(
    f"verbs/{name}.sql"
    for name in (
        "adjust_trust",
        "record_feedback",
        "record_outcome",
        "set_importance",
        "update_memory",
    )
)
_REMEMBERED = "similarity float8, same_subject uuid[]"


def edition(
    files: Sequence[File], number: int, called: Collection[str], *, columns: bool = True
) -> tuple[File, ...]:
    """The files of a release that is `number` releases later; 0: these.

    Functions that are `called` have one or two arguments more, so that each edition drops and
    creates them again (unless their comment names types). With `columns`, memory_records, and so
    each verb that changes one memory, and remember have a column more every tenth time. All other
    functions are replaced.
    """
    if number == 0:
        return tuple(files)
    return tuple(_edited(file, number, called, columns) for file in files)


def _edited(file: File, number: int, called: Collection[str], columns: bool) -> File:
    text, more = file.text, 1 + number // 10
    if columns and file.path == "views/memory_records.sql":
        return replace(file, text=text.replace(_LAST, _LAST + _columns(more, "0 AS column_{}")))
    if "CREATE OR REPLACE VIEW" in text:
        return file
    for name in file.names:
        if name in called:
            text = _with_arguments(text, name, 1 + number % 2)
    if columns and file.path in ("verbs/remember.sql", *_RECORDS):
        text = text.replace(_REMEMBERED, _REMEMBERED + _columns(more, "column_{} integer"))
        text = text.replace("r.same_subject", "r.same_subject" + ", 0" * more)
        text = text.replace("r.feedback_down", "r.feedback_down" + _columns(more, "r.column_{}"))
    return replace(file, text=f"{text}\n-- {number}\n")


def _columns(number: int, written: str) -> str:
    return "".join(f", {written.format(n)}" for n in range(number))


def _with_arguments(text: str, name: str, number: int) -> str:
    opened = re.search(rf"^CREATE OR REPLACE FUNCTION {name}\(", text, re.MULTILINE)
    if opened is None or f"COMMENT ON FUNCTION {name}(" in text:
        return text
    depth, end = 1, opened.end()
    while depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    added = "".join(f", added_{n} integer DEFAULT 0" for n in range(number))
    before = text[: end - 1].rstrip()
    return f"{before}{added if before[-1] != '(' else added[2:]}{text[end - 1 :]}"
