"""The steps that operations yield, and what operations need of their connection.

An operation is a generator: it yields steps and is sent their results. So each operation is written
once, and the synchronous and the asynchronous repository both execute its steps. There are five:
`Ask`, `Run`, `Copy` and `Afterwards`, and `Part` in a job.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeVar

from pgrecall.core.statement import Statement
from pgrecall.errors import DatabaseError

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

Question = Literal[
    "embed",
    "embed_query",
    "count_tokens",
    "find_entities",
    "reranker",
    "rerank",
    "layout",
    "replica",
    "compute",
]
EMBEDS: Final = ("embed", "embed_query")


class Ask(NamedTuple):
    """Asks the repository, or calls a function of the caller. Result: the answer.

    The repository embeds texts (`Embedded`) or a query's, counts the tokens of texts and finds the
    entities in them (`Found`, or None), all without a connection, so before any step that needs
    one. It also knows the `Layout` of the database, and whether the operation reads on a replica,
    where only a `Run` that counts can write.

    "compute" calls a function of ours that takes long, within a transaction too; the asynchronous
    repository does so in a thread, and the function calls `go_on` in between. `reranker` is the
    `Rerank` for a caller's value; `rerank` judges texts by it (`Verdict`), between statements.

    A function of the caller is called outside of the transactions of a job, but within that of an
    operation, which is not retried afterwards.
    """

    function: Question | Callable[..., Any]
    arguments: tuple[Any, ...] = ()


class Keep(NamedTuple):
    """Caching of a statement's rows for some seconds, for data that an operation can handle when it
    is out of date."""

    anew: bool = False
    """Clears the engine's cache first."""
    rows: Sequence[Any] | None = None
    """Rows to cache in place of the statement's, without executing it."""
    outdated: Callable[[Sequence[Any]], bool] | None = None
    """Forgets the cached rows if this says so, without executing the statement."""


class Run(NamedTuple):
    """Executes a statement. Result: all rows, or None for a statement that returns no rows."""

    statement: Statement
    parameters: Mapping[str, Any] = MappingProxyType({})
    may_prepare: bool = True
    """True if the server may cache the statement's plan."""
    counts: bool = False
    """True if it counts retrievals. Result where it cannot: Uncounted, unless the transaction is
    the caller's. If the operation has read on a replica, it is a transaction of its own on the
    primary, and only others that count may follow."""
    keep: Keep | None = None
    """None: always executes it."""


class Uncounted:
    """The result of a statement that could not count retrievals, which are not worth an error."""


Rows = Iterable[tuple[Any, ...]]


class Copy(NamedTuple):
    """Sends rows by COPY FROM STDIN into a temporary table."""

    table: str
    columns: Mapping[str, str]
    """The columns, in the order of a row's values, and their types."""
    rows: Rows


class Afterwards(NamedTuple):
    """Runs an operation once the transaction is committed, unless that is the caller's. No error of
    the database there is one of the call."""

    operation: Callable[[Any], Generator[Any, Any, Any]]
    """Called with the tables."""


Operation = Generator[Ask | Run | Copy | Afterwards, Any, T]


class Part(NamedTuple):
    """Runs an operation as a transaction of its own, without limits of time. Result: that of the
    operation.

    On a caller's Connection or Session, it takes part in the caller's transaction.
    """

    operation: Callable[[Any], Operation[Any]]
    """Called with the tables."""


Job = Generator[Part | Ask, Any, T]
"""Several transactions in sequence, each of them atomic."""


@dataclass(frozen=True, slots=True)
class Mode:
    """Requirements of an operation for its connection. By default, a transaction."""

    reads: bool = False
    """It only reads, apart from counting: it runs on the repository's replica, if there is one."""
    alone: bool = False
    """On an Engine, each statement is a transaction of its own, which saves two round trips. So
    only one of them may write."""
    savepoint: bool = False
    """It may refuse valid arguments. So in a caller's transaction it runs in a savepoint, and the
    transaction can continue after an error."""
    snapshot: bool = False
    """Its statements see the database at one moment: REPEATABLE READ."""
    unlimited: bool = False
    """The server's limits of time are off in its transaction, unless that is the caller's."""


READS: Final = Mode(reads=True, alone=True)
READS_TOGETHER: Final = Mode(reads=True)
"""With the same `now()` in all statements."""
SNAPSHOT: Final = Mode(reads=True, snapshot=True, unlimited=True)
ALONE: Final = Mode(alone=True)
VERB: Final = Mode(alone=True, savepoint=True)
"""Of an operation that writes by calling one SQL function, which may refuse."""
TRANSACTION: Final = Mode()


def needs(mode: Mode | Callable[..., Mode]) -> Callable[[F], F]:
    """Says what an operation needs: a mode, or a function from its arguments to one."""

    def with_mode(operation: F) -> F:
        vars(operation)["mode"] = mode
        return operation

    return with_mode


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
