"""Rerankers judge texts by a query once more, after the score has ranked them."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, Protocol

from pgrecall.core.quoting import cut, shortened
from pgrecall.core.validation import require_callable, require_count, require_number, require_query
from pgrecall.errors import InputError

MAX_TOP = 1_000
"""Texts of one call at most: services refuse more."""
LONGEST = 3_600
"""Seconds of a budget at most."""


class Reranker(Protocol):
    """A function from a query and texts to a number for each text, in their order; more is better.

    AsyncMemoryRepository also takes a coroutine function. Several searches call it at once, from
    several threads.
    """

    def __call__(
        self, query: str, texts: list[str], /
    ) -> Iterable[float] | Awaitable[Iterable[float]]: ...


@dataclass(frozen=True, slots=True)
class Rerank:
    """A reranker, how many hits it judges, and how long it may take."""

    reranker: Reranker = field(hash=False)
    top: int = 20
    """How many hits are reranked: the best by score. The others follow in their order."""
    timeout: float = 1.0
    """Seconds after which the order by score stands. A call of a function cannot be interrupted: it
    ends by itself, and what it returns is ignored."""

    def __post_init__(self) -> None:
        require_callable("reranker", self.reranker)
        if self.reranker is None:
            raise InputError("Rerank needs a reranker, got None")
        require_count("top", self.top, at_least=1, at_most=MAX_TOP)
        if not require_number("timeout", self.timeout, 0, LONGEST, units=" seconds"):
            raise InputError("timeout must be more than 0 seconds, got 0")


class Verdict(NamedTuple):
    """A reranker's number for each text; None if the order by score stands, and why."""

    values: list[float] | None
    note: str | None = None
    reason: str = ""
    """The note without what a reranker wrote, which may quote texts; for the log."""


def require_rerank(value: object) -> Rerank | bool:
    """A function becomes a Rerank; True means the repository's, None and False none."""
    if value is None or isinstance(value, bool | Rerank):
        return value or False
    if not callable(value):
        raise InputError(
            "rerank must be a function from a query and texts to numbers, a Rerank, or True for "
            f"the repository's reranker, got {shortened(value)}"
        )
    return Rerank(value)


def require_reranker(value: object) -> Rerank | None:
    """A repository's reranker; None passes."""
    if isinstance(value, bool):
        raise InputError(f"reranker must be a function or a Rerank, got {value}")
    return require_rerank(value) or None  # type: ignore[return-value]


def judged_text(query: object, arguments: Mapping[str, Any]) -> str:
    """The text that a reranker judges by: the query, or else `keywords`; raises InputError."""
    text = query if isinstance(query, str) else arguments.get("keywords")
    if text is None:
        raise InputError("rerank needs a text: a query that is text, or keywords")
    return require_query(text)


def verdict(reply: Iterable[float], number: int) -> Verdict:
    """The verdict of a reranker that returned this for a number of texts."""
    values = [float(one) for one in islice(reply, number + 1)]
    if len(values) != number:
        got = f"{len(values)}" if len(values) < number else "more"
        return stands(f"the reranker returned {got} values for {number} texts")
    if not all(map(math.isfinite, values)):
        return stands("the reranker returned a value that is not a finite number")
    return Verdict(values)


def failed(error: BaseException) -> Verdict:
    """The verdict of a reranker that raised this."""
    kind = f"the reranker failed: {type(error).__name__}"
    try:
        note = f"{kind}: {cut(' '.join(str(error).split()))}"
    except Exception:  # an error of the caller's that cannot be written
        note = kind
    return Verdict(None, note, kind)


def late(timeout: float) -> Verdict:
    """The verdict of a reranker that has not answered."""
    return stands(f"the reranker took longer than {timeout:g} s")


def stands(reason: str) -> Verdict:
    """The order by score stands for this reason."""
    return Verdict(None, reason, reason)
