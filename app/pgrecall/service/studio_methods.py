"""Methods for the studio, which the repository does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgrecall.execution import AsyncMemoryRepository
from pgrecall.execution.method import LazyModule, method
from pgrecall.execution.namespace import Namespace

if TYPE_CHECKING:
    from pgrecall.search import shortlisting
else:
    shortlisting = LazyModule("search.shortlisting")


class StudioMethods(Namespace[AsyncMemoryRepository]):
    """Methods that take a repository as a namespace of it does."""

    candidates = method(lambda: shortlisting.candidates)
