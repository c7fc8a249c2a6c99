"""Imports memories from files. An import can be resumed: nothing is stored twice."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, TypeVar
from uuid import UUID, uuid5

from pgrecall.core.ids import id_of_key
from pgrecall.core.interruption import says_how_far
from pgrecall.core.limits import MAX_BATCH
from pgrecall.core.memory import NewMemory
from pgrecall.core.quoting import LONGEST, path_of, shortened
from pgrecall.core.steps import Operation
from pgrecall.core.validation import require_bool, require_callable, require_count
from pgrecall.core.zones import require_zone
from pgrecall.errors import InputError, InvalidLine, PgRecallError, SupersessionConflict
from pgrecall.memories.added import Added
from pgrecall.memories.field_map import renamed, require_map
from pgrecall.memories.lines import (
    MOST_LINE_BYTES,
    TOO_LONG,
    Source,
    describe_line_error,
    file_of_memories,
    lines_of,
    name_of,
    require_new,
)
from pgrecall.memories.parquet_file import is_parquet, rows_of
from pgrecall.memories.reading import stored_ids
from pgrecall.memories.record import (
    OWNER_FIELDS,
    STATE,
    Record,
    UnknownField,
    parse_record,
    unknown_fields,
)
from pgrecall.schema import TEAM, Tables
from pgrecall.schema.owner import require_owner

T = TypeVar("T")

BATCH_SIZE = 500
MOST_LOOKED_AT = 10_000
"""Lines that are read for further unknown fields, once one is found."""
MOST_BATCH_BYTES = 2 * MOST_LINE_BYTES
"""The most bytes of one batch, so that long lines do not need more RAM than short ones."""
_NAMESPACE = UUID("9b0c1c0e-6d0b-4b53-9a0d-6f2d3f1f7c11")


class Transfer(Protocol):
    def restore(
        self, agent_id: str, memories: Iterable[Mapping[str, Any]], *, check_compliance: bool
    ) -> list[Added]: ...


class Store(Protocol):
    """The part of a repository that an import needs."""

    _tables: Tables

    @property
    def teams(self) -> Store: ...

    @property
    def transfer(self) -> Transfer: ...

    def add_many(
        self,
        agent_id: str,
        memories: list[NewMemory],
        *,
        duplicates: Literal["keep"],
        check_compliance: bool,
    ) -> list[Added]: ...

    def _run(self, start: partial[Operation[T]]) -> T: ...


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import."""

    added: int
    already_there: int
    duplicates: int = 0
    """Lines that were not stored because an active memory says the same."""
    rejected: int = 0
    """Lines that cannot be stored and were written to the file of rejects."""


@dataclass(frozen=True, slots=True)
class Line:
    """A memory of a file, and its place there."""

    number: int
    owner_id: str
    """The stored id, with the prefix of teams."""
    values: Record
    id: UUID
    content: bytes
    position: int
    """Bytes of the file read so far."""
    digest: bytes
    """Equal for lines with the same fields, apart from the embedding."""

    @property
    def has_state(self) -> bool:
        """True if it has fields that `restore` takes and `add_many` does not."""
        return not self.values.keys().isdisjoint(STATE)


def import_file(
    store: Store,
    agent_id: str | UUID | None,
    path: Source,
    *,
    batch_size: int = BATCH_SIZE,
    check_compliance: bool = True,
    fields: Mapping[str, str] | None = None,
    timezone: str | tzinfo | None = None,
    rejects: Path | None = None,
    on_progress: Callable[[Imported, int], None] = lambda done, position: None,
    on_reject: Callable[[int, str], None] = lambda number, reason: None,
) -> Imported:
    """Stores each line of a file as a memory: .jsonl, gzipped or not, or .parquet.

    An open binary file may be given instead, such as `sys.stdin.buffer`, of JSON Lines.

    A line is a JSON object with the fields of NewMemory and those that `transfer.restore` takes
    besides, such as `status` and `retrieval_count`. `agent_id` or `team_id` in a line is its owner;
    lines without either are the agent's. Times are ISO 8601; those without a time zone are in
    `timezone`. `id` may be any text: one that is no UUID becomes the key. A line without id or key
    gets an id derived from the whole line. Therefore an import can be repeated.
    `fields` renames fields first: old name, or path such as `meta.user`, → new name, or "" to
    leave the field out.

    A line without state is skipped if an active memory says the same; one with state is known by
    its id, see `transfer.restore`. `check_compliance=False` also stores memories that are not
    compliant. Each batch is a transaction for each owner in it. After it `on_progress` is called,
    with the result so far and the bytes of the file read so far.

    Raises InvalidLine with file and line number at the first line that cannot be stored; the lines
    before it remain stored. With `rejects`, such lines are written to this new file instead, and
    `on_reject` is called with number and reason of each. A line may have 32 MiB; a longer one is
    cut in the file of rejects.
    """
    if agent_id is not None:
        require_owner(store._tables, agent_id)
    require_count("batch_size", batch_size, at_least=1, at_most=MAX_BATCH)
    require_bool("check_compliance", check_compliance)
    require_callable("on_progress", on_progress)
    require_callable("on_reject", on_reject)
    zone = require_zone(timezone)
    renaming = {} if fields is None else require_map(fields)
    file = path if isinstance(path, io.BufferedReader) else file_of_memories(path)
    source = _File(store._tables, agent_id, file, renaming, zone)
    with Rejects(name_of(file), rejects, on_reject) as refused:
        done: Counter[str] = Counter()

        def so_far() -> Imported:
            return Imported(done["inserted"], done["known"], done["duplicate"], refused.number)

        with says_how_far(lambda: f"{so_far().added:,} memories are stored"):
            for batch in _batches(source.lines(refused), batch_size):
                groups: dict[tuple[str, bool], list[Line]] = {}
                for line in batch:
                    groups.setdefault((line.owner_id, line.has_state), []).append(line)
                for lines in groups.values():
                    done.update(_stored(store, lines, check_compliance, refused))
                on_progress(so_far(), batch[-1].position)
        return so_far()


def _batches(lines: Iterator[Line], batch_size: int) -> Iterator[list[Line]]:
    """The lines in batches. An InputError is raised after the last batch before it."""
    batch: list[Line] = []
    size = 0
    problem: InputError | None = None
    while True:
        try:
            line = next(lines, None)
        except InputError as error:
            line, problem = None, error
        if line is not None:
            batch.append(line)
            size += len(line.content)
        if batch and (line is None or len(batch) == batch_size or size >= MOST_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        if problem is not None:
            raise problem
        if line is None:
            return


def _stored(
    store: Store, lines: list[Line], check_compliance: bool, refused: Rejects
) -> Counter[str]:
    """Stores lines of one owner that all have state or all have none. How many had each outcome."""
    owner_id, has_state = lines[0].owner_id, lines[0].has_state
    if owner_id.startswith(TEAM):
        store, owner_id = store.teams, owner_id.removeprefix(TEAM)
    stored_as = require_owner(store._tables, owner_id)
    known = store._run(partial(stored_ids, store._tables, stored_as, [one.id for one in lines]))
    new = list({line.id: line for line in lines if line.id not in known}.values())

    def outcomes(some: list[Line]) -> list[str]:
        if has_state:
            values = [line.values for line in some]
            added = store.transfer.restore(owner_id, values, check_compliance=check_compliance)
        else:
            memories = [NewMemory(**line.values) for line in some]
            added = store.add_many(
                owner_id, memories, duplicates="keep", check_compliance=check_compliance
            )
        return [
            one.outcome if one.outcome in ("inserted", "known") else "duplicate" for one in added
        ]

    counts = Counter(known=len(lines) - len(new))
    try:
        counts.update(outcomes(new))
    except (InputError, SupersessionConflict):
        for line in new:  # one by one, to store the good lines and to name the bad one
            try:
                counts.update(outcomes([line]))
            except (InputError, SupersessionConflict) as error:
                refused.refuse(line.number, line.content, error)
    return counts


@dataclass(frozen=True, slots=True)
class _File:
    """A file of memories, and how to read its lines."""

    tables: Tables
    agent_id: str | UUID | None
    source: Source
    fields: Mapping[str, str]
    timezone: tzinfo | None

    def lines(self, refused: Rejects) -> Iterator[Line]:
        """Reads and checks the lines; those that cannot be stored go to `refused`."""
        first_at: dict[UUID, tuple[int, bytes]] = {}
        source = self.source
        if isinstance(source, Path) and is_parquet(source):
            read = rows_of(source)
        else:
            read = lines_of(source, cut_long=True)
        for number, content, position in read:
            try:
                line = self._line(number, content, position)
                first, digest = first_at.setdefault(line.id, (number, line.digest))
                if digest != line.digest:
                    raise InputError(f"has the id of line {first} and says something else")
            except UnknownField as error:
                more = () if refused.goes_on else self._unknown(read)
                refused.refuse(number, content, UnknownField([*error.names, *more]))
            except (InputError, ValueError, TypeError, RecursionError) as error:
                refused.refuse(number, content, error)
            else:
                yield line

    def _unknown(self, rest: Iterator[tuple[int, bytes, int]]) -> Iterator[str]:
        """The unknown fields of further lines, to name all of a file at once.

        None of a pipe, whose end may never come.
        """
        most = MOST_LOOKED_AT if isinstance(self.source, Path) else 0
        with suppress(InputError):  # the file is damaged
            for _, content, _ in islice(rest, most):
                with suppress(InputError, ValueError, TypeError, RecursionError):
                    yield from unknown_fields(renamed(json.loads(content), self.fields))

    def _line(self, number: int, content: bytes, position: int) -> Line:
        if len(content) > MOST_LINE_BYTES:
            raise InputError(TOO_LONG)
        fields = json.loads(content.decode("utf-8-sig"))
        if not isinstance(fields, dict):
            raise InputError(f"a line must be one JSON object, got {type(fields).__name__}")
        fields = renamed(fields, self.fields)
        owner_id = self._owner({name: fields.pop(name, None) for name in OWNER_FIELDS})
        values = parse_record(fields, owner_id, zone=self.timezone)
        if values.get("key") is not None:
            id_ = id_of_key(owner_id, values["key"])
        elif values.get("id") is None:
            written = content.strip().decode("utf-8-sig")
            id_ = values["id"] = uuid5(_NAMESPACE, f"{owner_id}\n{written}")
        else:
            id_ = values["id"]
        digest = _digest(values)
        return Line(number, owner_id, values, id_, content, position, digest)

    def _owner(self, named: Mapping[str, Any]) -> str:
        agent_id, team_id = (named[name] for name in OWNER_FIELDS)
        if team_id is not None:
            if agent_id is not None:
                raise InputError("a memory has one owner: agent_id or team_id, not both")
            return require_owner(self.tables.of_teams(), team_id, "team_id")
        if agent_id is not None and self.tables.prefix:
            raise InputError(
                f"belongs to agent {shortened(agent_id)}, and only memories of teams are imported"
            )
        agent_id = self.agent_id if agent_id is None else agent_id
        if agent_id is None:
            raise InputError(
                "names no owner: give an agent for lines without agent_id or team_id (--agent), or "
                "rename a field (--map user_id=agent_id)"
            )
        return require_owner(self.tables, agent_id)


def _digest(values: Mapping[str, Any]) -> bytes:
    fields = {name: value for name, value in values.items() if name != "embedding"}
    return sha256(json.dumps(fields, sort_keys=True, default=_as_text).encode()).digest()


def _as_text(value: object) -> str:
    return str(value.astimezone(UTC) if isinstance(value, datetime) else value)


class Rejects:
    """Lines that cannot be stored: written to a new file, or raised where there is none."""

    def __init__(
        self, source: str, path: Path | None, on_reject: Callable[[int, str], None]
    ) -> None:
        self._shown, self._path = source, path
        self._on_reject = on_reject
        self._file: BinaryIO | None = None
        self.number = 0
        if path is not None:
            self._path = require_new(path_of(path))

    @property
    def goes_on(self) -> bool:
        """True if the import continues after a line that cannot be stored."""
        return self._path is not None

    def __enter__(self) -> Rejects:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def refuse(self, number: int, content: bytes, error: Exception) -> None:
        """Writes the line, or raises InvalidLine where there is no file."""
        reason = str(error) if isinstance(error, PgRecallError) else describe_line_error(error)
        if self._path is None:
            raise InvalidLine(f"{self._shown}, line {number}: {reason}") from error
        try:
            if self._file is None:
                self._file = self._path.open("xb")
            self._file.write(content.rstrip(b"\r\n") + b"\n")
        except OSError as problem:
            raise InputError(
                f"{shortened(self._path, LONGEST)} cannot be written: {problem.strerror or problem}"
            ) from problem
        self.number += 1
        self._on_reject(number, reason)
