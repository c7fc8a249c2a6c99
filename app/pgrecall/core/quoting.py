"""Shortens a caller's values for error messages."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from pathlib import Path, PurePath

from pgrecall.errors import InputError, UnknownName

LONGEST = 200
"""In characters: all that one message quotes together. It quotes at most three values."""
_SHORT = 60
_NAMES = 4
_MOST_BITS = 10_000
"""Python refuses to convert integers of more than 4,300 digits to text."""


def shortened(value: object, longest: int = _SHORT) -> str:
    """`repr(value)` in at most `longest` characters. A path is shown without repr.

    Never raises. Of long texts, numbers and collections only the part that is shown is converted.
    """
    if isinstance(value, PurePath):
        return cut(str(value), longest)
    try:
        text = " ".join(_Repr(longest).repr(value).split())
    except Exception:
        text = f"<{type(value).__name__}>"
    return cut(text, longest)


def path_of(value: object) -> Path:
    """Converts text to a Path; raises InputError for anything that cannot be a path."""
    if not isinstance(value, str | Path):
        raise InputError(f"a path must be a str or a Path, got {shortened(value)}")
    try:
        if b"\0" not in os.fsencode(value):
            return Path(value)
    except UnicodeEncodeError:
        pass
    raise InputError(f"not a valid path: {shortened(str(value))}")


def listed(names: Iterable[object]) -> str:
    """The first few names in alphabetical order, in at most LONGEST characters."""
    several = sorted(shortened(name, 40).strip("'") for name in names)
    shown = ", ".join(several[:_NAMES])
    return f"{shown} …" if len(several) > _NAMES else shown


_MEANT = {
    **dict.fromkeys(("limit", "top_k", "n_results"), "k"),
    **dict.fromkeys(("user_id", "agent", "owner", "owner_id", "namespace"), "agent_id"),
    **dict.fromkeys(("where", "metadata", "memory_type", "tags", "session", "status"), "filter"),
    **dict.fromkeys(("threshold", "score_threshold"), "min_score"),
    **dict.fromkeys(("embedding", "query_embedding", "vector", "question"), "query"),
}
"""Arguments of other libraries → ours."""
_LONGEST_NAME = 40


def did_you_mean(names: Iterable[object], known: Iterable[str]) -> str:
    """A question to add to an error about an unknown name; empty if no known one is near, or about
    several names."""
    match [*names]:
        case [str(name)] if len(name) <= _LONGEST_NAME:
            others = {one: one for one in known if one != name}
            others |= {one: meant for one, meant in _MEANT.items() if meant in others}
            near = [name] if name in others else get_close_matches(name, others, 1)
            near = near or get_close_matches(name.lower(), others, 1)
            return f" (did you mean {others[near[0]]}?)" if near else ""
    return ""


def unknown_field(
    names: Collection[object], known: Collection[str], also: Iterable[str] = ()
) -> UnknownName:
    """The error about names that are no fields; one may be meant for one of `also`."""
    return UnknownName(
        f"unknown field {listed(names)}{did_you_mean(names, [*known, *also])}; the fields are "
        f"{', '.join(sorted(known))}"
    )


def cut(text: str, longest: int = LONGEST) -> str:
    """The text, with its middle replaced by … if it has more than `longest` characters."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"


class _Repr(reprlib.Repr):
    """A `repr` that reads only the beginning of large values."""

    def __init__(self, longest: int) -> None:
        super().__init__()
        self.maxstring = self.maxother = longest
        self.maxlevel = 4

    def repr_int(self, value: int, level: int) -> str:
        if value.bit_length() > _MOST_BITS:
            return "<a whole number of too many digits>"
        return repr(value)

    def repr_instance(self, value: object, level: int) -> str:
        try:
            return repr(value)
        except Exception:
            return f"<{type(value).__name__}>"

    def repr_bytes(self, value: bytes, level: int) -> str:
        return repr(value[: self.maxother])

    repr_bytearray = repr_bytes
