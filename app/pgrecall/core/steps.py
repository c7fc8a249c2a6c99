"""The steps that operations yield.

An operation is a generator: it yields steps and is sent their results. So each operation is written
once, and the synchronous and the asynchronous repository both execute its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeVar

from sqlalchemy import Executable, Table

from pgrecall.core.vectors import VectorLike
from pgrecall.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Inspect:
    """Result: the `Layout` of the database."""


@dataclass(frozen=True, slots=True)
class Autocommit:
    """Allows each statement to be a transaction of its own, which saves two round trips on an
    Engine. Must be the first step. Result: None."""


@dataclass(frozen=True, slots=True)
class Unlimited:
    """Turns off the server's limits of time for the operation's transaction, as a job does; not
    for a caller's. Must come before any step that needs a connection. Result: None."""


@dataclass(frozen=True, slots=True)
class Reads:
    """Says that the operation only reads, apart from `Write`: it runs on the repository's replica,
    if there is one. Must come before any step that needs a connection. Result: whether there is a
    replica, where only `Write` can write.
    """

    shared: Literal["nothing", "transaction", "snapshot"] = "nothing"
    """What its statements share on an Engine: nothing, since each is a transaction of its own; a
    transaction, so that `now()` is the same; or a transaction at REPEATABLE READ, so that they see
    the database at one moment, without limits of time."""


@dataclass(frozen=True, slots=True)
class Embed:
    """Embeds texts. Must come before any step that needs a connection. Result: `Embedded`."""

    texts: tuple[str, ...]
    as_query: bool = False


@dataclass(frozen=True, slots=True)
class CountTokens:
    """Counts the tokens of each text, without a connection. Result: a list of numbers."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FindEntities:
    """Finds the entities of each text, without a connection. Result: `Found`, or None."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Execute:
    """Executes a statement. Result: all rows, or None for a statement that returns no rows."""

    statement: Executable
    parameters: Mapping[str, Any] = field(default_factory=dict)
    may_prepare: bool = True
    """Whether the server may cache the statement's plan."""
    counts: bool = False
    """Whether it counts retrievals, too. Result where it cannot: Uncounted, unless the transaction
    is the caller's."""


class Uncounted:
    """The result of a statement that could not count retrievals, which are not worth an error."""


@dataclass(frozen=True, slots=True)
class Verb:
    """Calls one SQL function, which is atomic by itself. Result: all rows.

    On an Engine, a verb that is the first step with a connection runs as one autocommit statement,
    and no other step of the operation may write then. In a caller's transaction it runs in a
    savepoint, so the transaction can continue after an error.
    """

    statement: Executable
    parameters: Mapping[str, Any] = field(default_factory=dict)
    refuses: bool = True
    """Whether the function may raise for valid arguments; if not, it needs no savepoint."""


@dataclass(frozen=True, slots=True)
class Write:
    """Executes a statement that writes, at the end of an operation that reads. Result: all rows.

    If the operation has read on a replica, it is a transaction of its own on the primary. Only
    further `Write`s may follow.
    """

    statement: Executable
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Lookup:
    """Executes a statement or returns its cached rows, which may be some seconds old.

    Only for data that an operation can handle when it is out of date. `refresh` clears the engine's
    cache first. Result: all rows.
    """

    statement: Executable
    parameters: Mapping[str, Any]
    refresh: bool = False
    rows: Sequence[Any] | None = None
    """What to cache in place of its rows, without executing it."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Sends rows by COPY FROM STDIN, with values in the order of the table's columns."""

    table: Table
    rows: Iterable[tuple[Any, ...]]
    embedding_oid: int


@dataclass(frozen=True, slots=True)
class Call:
    """Calls a function of the caller. Result: that of the function.

    In a job it is called outside of transactions; in an operation within its transaction, which is
    not retried afterwards. The asynchronous repository awaits the result if it is awaitable.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


Step = (
    Autocommit
    | Unlimited
    | Reads
    | Inspect
    | Embed
    | CountTokens
    | FindEntities
    | Execute
    | Verb
    | Write
    | Lookup
    | Copy
    | Call
)
Operation = Generator[Step, Any, T]


@dataclass(frozen=True, slots=True)
class Transact:
    """Runs an operation as a transaction of its own. Result: that of the operation.

    On a caller's Connection or Session, it takes part in the caller's transaction.
    """

    operation: Callable[[Any], Operation[Any]]
    """Called with the tables."""


@dataclass(frozen=True, slots=True)
class OnConnections:
    """Executes an operation on each of `number` connections of the engine's pool, all of which are
    borrowed first. Result: None. Refused on a Connection or Session."""

    operation: Callable[[Any], Operation[Any]]
    """Called with the tables."""
    number: int


Job = Generator[Transact | Call | OnConnections, Any, T]
"""Several transactions in sequence, each of them atomic."""


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
