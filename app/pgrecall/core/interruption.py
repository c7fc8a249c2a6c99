"""Jobs that the database interrupts say how far they came."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pgrecall.errors import DatabaseError


@contextmanager
def says_how_far(done: Callable[[], str]) -> Iterator[None]:
    """Adds what a job has done to an error of the database that ends it.

    Only for jobs of which each part is a transaction, and that go on when they are called again.
    What the database refused, it refuses again until somebody has changed something.
    """
    try:
        yield
    except DatabaseError as error:
        once = ", once the cause is gone" if type(error) is DatabaseError else ""
        error.args = (f"{error}. {done()}; the same call goes on from there{once}",)
        raise
