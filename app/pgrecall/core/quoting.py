"""Values of a caller in error messages: always short, whatever they are."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterable
from pathlib import Path, PurePath

from pgrecall.errors import InputError

LONGEST = 200
"""Characters of all that a message quotes together; a message quotes at most three values."""
_SHORT = 60
_NAMES = 4
_MOST_BITS = 10_000
"""Python writes no number of more than 4,300 digits."""


def shortened(value: object, longest: int = _SHORT) -> str:
    """`repr(value)` in at most `longest` characters; never raises, and builds no more than it shows
    of texts, numbers and collections. A path is shown as it is written.
    """
    if isinstance(value, PurePath):
        return cut(str(value), longest)
    try:
        text = " ".join(_Repr(longest).repr(value).split())
    except Exception:
        text = f"<{type(value).__name__}>"
    return cut(text, longest)


def path_of(value: object) -> Path:
    """A path given as text or as a Path. Raises InputError."""
    if not isinstance(value, str | Path):
        raise InputError(f"a path is a str or a Path, got {shortened(value)}")
    try:
        if b"\0" not in os.fsencode(value):
            return Path(value)
    except UnicodeEncodeError:
        pass
    raise InputError(f"no file can be called {shortened(str(value))}")


def listed(names: Iterable[object]) -> str:
    """The first few of these names, in order and in at most LONGEST characters."""
    several = sorted(shortened(name, 40).strip("'") for name in names)
    shown = ", ".join(several[:_NAMES])
    return f"{shown} …" if len(several) > _NAMES else shown


def cut(text: str, longest: int = LONGEST) -> str:
    """A text, its middle left out if it is longer than that."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"


class _Repr(reprlib.Repr):
    """`repr` that looks only at the beginning of what is large."""

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
