"""Paths into metadata, such as `user.age`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

MISSING: Final = "missing"
_PIECES = re.compile(r"\\[.\\]|.", re.DOTALL)


def path_of(key: str) -> list[str]:
    """The keys that a path consists of, which dots separate.

    A backslash before a dot or a backslash makes it a part of the key. The SQL function
    metadata_path does the same.
    """
    steps = [""]
    for piece in _PIECES.findall(key):
        if piece == ".":
            steps.append("")
        else:
            steps[-1] += piece[-1]
    return steps


def value_at(metadata: Any, path: Sequence[str]) -> Any:
    """The value that a path leads to, or MISSING."""
    for step in path:
        try:
            metadata = metadata[int(step) if isinstance(metadata, list) else step]
        except (KeyError, IndexError, TypeError, ValueError):
            return MISSING
    return metadata
