"""The next releases: every function that clients call takes one more argument, and more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pgrecall.migrate.repeatable import File

_LAST = "coalesce(u.feedback_down, 0) AS feedback_down"
_ALL = "SELECT * FROM remember_rows("
_REMEMBERED = "similarity float8, same_subject uuid[]"


def edition(
    files: Sequence[File], number: int, called: Sequence[str], *, columns: bool = True
) -> tuple[File, ...]:
    """The files of a release that is `number` releases later; 0: these.

    Functions that are `called` have one or two arguments more, so that each edition drops and
    creates them again (unless their comment names types). With `columns`, memory_records, and so
    each verb that changes one memory, and remember have as many columns more. All other files are
    replaced.
    """
    if number == 0:
        return tuple(files)
    more = 1 + number % 2
    edited = [_text(file, more, called, columns) for file in files]
    return tuple(
        replace(file, text=f"{text}\n-- {number}\n")
        for file, text in zip(files, edited, strict=True)
    )


def _text(file: File, number: int, called: Sequence[str], columns: bool) -> str:
    text = file.text
    for name in file.names:
        if name in called:
            text = _with_arguments(text, name, number)
    if columns and file.path == "views/memory_records.sql":
        text = text.replace(_LAST, _LAST + "".join(f", {n} AS column_{n}" for n in range(number)))
    if columns and file.path == "verbs/remember.sql":
        text = text.replace(_REMEMBERED, _REMEMBERED + _declared(number))
        zeros = ", 0" * number
        text = text.replace(_ALL, f"SELECT r.*{zeros} FROM ({_ALL}")
        text = text.replace("supersede_subject, run);", "supersede_subject, run)) r;")
    return text


def _declared(number: int) -> str:
    return "".join(f", column_{n} integer" for n in range(number))


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
