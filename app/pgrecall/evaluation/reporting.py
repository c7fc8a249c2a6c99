"""`on_progress` of an evaluation or a tuning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import iscoroutine, iscoroutinefunction
from typing import Any

from pgrecall.core.quoting import shortened
from pgrecall.core.validation import require_callable
from pgrecall.errors import InputError

OnProgress = Callable[[int, int], Any]


@dataclass
class Reporting:
    """Counts what is done, and reports it. Raises InputError for a function that is awaited."""

    method: str
    on_progress: OnProgress | None
    of: int = 0
    done: int = 0

    def __post_init__(self) -> None:
        given = self.on_progress
        require_callable("on_progress", given)
        if iscoroutinefunction(given) or iscoroutinefunction(type(given).__call__):
            raise self._cannot_be_awaited()

    def add(self, steps: int = 1) -> None:
        """So many steps more are done."""
        self.done += steps
        reported = None if self.on_progress is None else self.on_progress(self.done, self.of)
        if iscoroutine(reported):
            reported.close()
            raise self._cannot_be_awaited()

    def _cannot_be_awaited(self) -> InputError:
        return InputError(
            f"on_progress of {self.method} is called within a transaction and cannot be awaited; "
            f"pass a plain function, got {shortened(self.on_progress)}"
        )
