"""What a call passes through: the files and functions of pgrecall that it enters."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pgrecall

_ROOT = str(Path(pgrecall.__file__).parent)


@dataclass(frozen=True)
class Passage:
    """The functions that a call entered, as (file, name), in the order of their first entry."""

    functions: tuple[tuple[str, str], ...]
    calls: int

    @property
    def files(self) -> int:
        return len({file for file, _ in self.functions})

    def __str__(self) -> str:
        return f"{self.files} files, {len(self.functions)} functions, {self.calls} calls"


def traced(work: Callable[[], Any]) -> Passage:
    """Runs the work three times, and reports on the third, when all is imported and cached."""
    entered: dict[tuple[str, str], int] = {}

    def enter(frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(_ROOT):
            key = file.removeprefix(_ROOT).strip("/"), frame.f_code.co_qualname
            entered[key] = entered.get(key, 0) + 1

    work()
    work()
    sys.setprofile(enter)
    try:
        work()
    finally:
        sys.setprofile(None)
    return Passage(tuple(entered), sum(entered.values()))
