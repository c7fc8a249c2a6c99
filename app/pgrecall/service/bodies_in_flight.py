"""Limits the bytes of bodies that are there at a time, of each caller and of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from pgrecall.service.problems import Problem

OF_ONE, OF_ALL = 4, 16
"""The number of largest bodies that one caller may have in flight, and all callers together."""


class BodiesInFlight:
    """Counts bytes as they arrive, so that a length that is only announced takes no room."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._of: Counter[Hashable] = Counter()

    @contextmanager
    def of(self, caller: Hashable) -> Iterator[Callable[[int], None]]:
        """Yields a function that counts bytes of this caller; it raises Problem for too many."""
        total = 0

        def take(size: int) -> None:
            nonlocal total
            if self._of[caller] + size > OF_ONE * self._largest:
                raise Problem(429, "too many bytes of your bodies are on their way", retry_after=1)
            if self._of.total() + size > OF_ALL * self._largest:
                raise Problem(503, "too many bytes of bodies are on their way", retry_after=1)
            self._of[caller] += size
            total += size

        try:
            yield take
        finally:
            self._of[caller] -= total
            if not self._of[caller]:
                del self._of[caller]
