"""The steps an operation asks for.

An operation is a generator: it yields steps and is sent their results. It is written once; the
synchronous and the asynchronous repository each carry out the steps in their own way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from sqlalchemy import Executable, Table

from pgrecall.core.vectors import VectorLike
from pgrecall.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Inspect:
    """Answered with the `Layout` of the database."""


@dataclass(frozen=True, slots=True)
class Autocommit:
    """Comes first, and says that each statement may be a transaction of its own; answered with
    None. On an Engine that saves two round trips."""


@dataclass(frozen=True, slots=True)
class Embed:
    """Answered with `Embedded`. Comes before any step that needs a connection."""

    texts: tuple[str, ...]
    as_query: bool = False


@dataclass(frozen=True, slots=True)
class CountTokens:
    """Answered with a list: how many tokens each text takes up. Needs no connection."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Execute:
    """Answered with all rows, or None for a statement that returns none."""

    statement: Executable
    parameters: Mapping[str, Any] = field(default_factory=dict)
    may_prepare: bool = True
    """Whether the server may cache the statement's plan."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A call of an installed function, atomic by itself; answered with all rows.

    Where it is the first step that needs a connection, on an Engine it is one autocommit statement,
    and no other step may change anything. In a caller's transaction it runs within
    a savepoint, so that the transaction can go on after a refusal.
    """

    statement: Executable
    parameters: Mapping[str, Any] = field(default_factory=dict)
    refuses: bool = True
    """Whether it may raise what is checked there only; otherwise it needs no savepoint."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Answered with all rows of a statement, which may be some seconds old.

    For what an operation still gets right when it is out of date. `anew` looks in the database,
    and forgets what was looked up before.
    """

    statement: Executable
    parameters: Mapping[str, Any]
    anew: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """COPY FROM STDIN of rows in the order of the table's columns; answered with None."""

    table: Table
    rows: Iterable[tuple[Any, ...]]
    embedding_oid: int


Step = Autocommit | Inspect | Embed | CountTokens | Execute | Verb | Lookup | Copy
Operation = Generator[Step, Any, T]


@dataclass(frozen=True, slots=True)
class Transact:
    """An operation to be carried out as a transaction of its own; answered with its result.

    On a caller's Connection or Session it takes part in the transaction there.
    """

    operation: Callable[[Any], Operation[Any]]
    """Called with the tables."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the caller's own function, outside any transaction of ours; answered with its
    result, which the asynchronous repository awaits if it can be awaited."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


Job = Generator[Transact | Call, Any, T]
"""Several transactions one after the other, each all or nothing."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """One vector per text, and the name of the model that made them."""

    vectors: Sequence[VectorLike]
    model: str | None

    @classmethod
    def checked(cls, step: Embed, vectors: Sequence[VectorLike], model: str | None) -> Self:
        """Raises InputError unless the embedder returned a vector for each text."""
        if len(vectors) != len(step.texts):
            raise InputError(
                f"the embedder returned {len(vectors)} vectors for {len(step.texts)} texts"
            )
        return cls(vectors, model)
