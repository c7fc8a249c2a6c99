"""Imports memories from files. An import can be resumed: nothing is stored twice."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar
from uuid import UUID

from pgrecall.core.limits import MAX_BATCH
from pgrecall.core.memory import NewMemory
from pgrecall.core.steps import Operation, says_how_far
from pgrecall.core.validation import require_bool, require_callable, require_count
from pgrecall.core.zones import require_zone
from pgrecall.errors import InputError, SupersessionConflict
from pgrecall.memories.added import Added
from pgrecall.memories.analysing import analysed_after
from pgrecall.memories.imported_lines import (
    Line,
    Lines,
    Rejects,
    csv_rows,
    is_csv,
    of_text,
    renamed,
    require_map,
)
from pgrecall.memories.lines import (
    CSV,
    MOST_LINE_BYTES,
    Read,
    Reading,
    Source,
    file_of_memories,
    lines_of,
    name_of,
)
from pgrecall.memories.reading import stored_ids
from pgrecall.schema import TEAM, Tables
from pgrecall.schema.tables import require_owner

T = TypeVar("T")

BATCH_SIZE = 500
MOST_BATCH_BYTES = 2 * MOST_LINE_BYTES
"""The most bytes of one batch, so that long lines do not need more RAM than short ones."""
_ALONE = "memory 0 of 1: "
FIRST = 10
"""The memories that a dry run shows."""


class Store(Protocol):
    """The part of a repository that an import needs."""

    _tables: Tables

    @property
    def teams(self) -> Store: ...

    @property
    def transfer(self) -> Any: ...

    def add_many(self, *arguments: Any, **options: Any) -> list[Added]: ...

    def _run(self, start: partial[Operation[T]]) -> T: ...


@dataclass(frozen=True, slots=True)
class Preview:
    """The findings of a dry run."""

    memories: list[dict[str, Any]] = field(default_factory=list)
    """The first ten as they would be, with their owners."""
    owners: dict[str, int] = field(default_factory=dict)
    """Agent, or `team:<id>` → its lines."""
    left_behind: list[str] = field(default_factory=list)
    """Sentences about what another system has and no memory holds."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import."""

    added: int
    """Of a dry run: those that would be, unless an active memory says the same."""
    already_there: int
    duplicates: int = 0
    """Lines that were not stored because an active memory says the same."""
    rejected: int = 0
    """Lines that cannot be stored and were written to the file of rejects."""
    vectors: str = ""
    """Of `import_from`: whether the vectors were taken over or made anew, and why."""
    preview: Preview | None = None
    """Of a dry run."""

    def record(self) -> dict[str, Any]:
        """As JSON; what no file has is left out."""
        values = asdict(self)
        return {name: one for name, one in values.items() if one not in ("", None)}


@dataclass(frozen=True, slots=True)
class Options:
    """How lines are stored, and who is told."""

    batch_size: int
    check_compliance: bool
    rejects: Path | None
    on_progress: Callable[[Imported, int], None]
    on_reject: Callable[[int, str], None]
    dry_run: bool

    def __post_init__(self) -> None:
        require_count("batch_size", self.batch_size, at_least=1, at_most=MAX_BATCH)
        for name in ("check_compliance", "dry_run"):
            require_bool(name, getattr(self, name))
        for name in ("on_progress", "on_reject"):
            require_callable(name, getattr(self, name))


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
    dry_run: bool = False,
) -> Imported:
    """Stores each line of a file as a memory: .jsonl or .csv, gzipped or not.

    An open binary file may be given instead, such as `sys.stdin.buffer`, of JSON Lines.

    A line is a JSON object with the fields of NewMemory and those that `transfer.restore` takes
    besides. `agent_id` or `team_id` in a line is its owner; lines without either are the agent's.
    Times without a time zone are in `timezone`. `id` may be any text: one that is no UUID becomes
    the key. A line without id or key gets an id derived from the whole line. `fields` renames
    fields first: old name, or path such as `meta.user`, → new name, or "" to leave the field out.

    A line without state is skipped if an active memory says the same; one with state is known by
    its id. `check_compliance=False` also stores memories that are not compliant. Each batch is a
    transaction for each owner in it. After it `on_progress` is called, with the result so far and
    the bytes of the file read so far.

    Raises InvalidLine with file and line number at the first line that cannot be stored; the lines
    before it remain stored. With `rejects`, such lines are written to this new file instead, and
    `on_reject` is called with number and reason of each. With `dry_run` nothing is stored, and
    `preview` of the result has the first memories as they would be.
    """
    if agent_id is not None:
        require_owner(store._tables, agent_id)
    options = Options(batch_size, check_compliance, rejects, on_progress, on_reject, dry_run)
    zone = require_zone(timezone)
    renaming = {} if fields is None else require_map(fields)
    file = path if isinstance(path, io.BufferedReader) else file_of_memories(path, CSV)
    lines = Lines(store._tables, agent_id, zone, _reading(file, renaming))
    return import_lines(store, lines, options)


def _reading(file: Source, renaming: Mapping[str, str]) -> Reading:
    of_csv = file if isinstance(file, Path) and is_csv(file) else None

    def read() -> Iterator[Read]:
        rows = lines_of(file, cut_long=True) if of_csv is None else csv_rows(of_csv)
        return (Read(*row) for row in rows)

    def fields(values: dict[str, Any], _: object) -> dict[str, Any]:
        if of_csv is not None:
            return of_text(renamed(of_text(values), renaming))
        return renamed(values, renaming)

    has_end = isinstance(file, Path)
    return Reading(
        name_of(file), read, fields, rejects_fields=of_csv is not None, looks_ahead=has_end
    )


def import_lines(store: Store, lines: Lines, options: Options) -> Imported:
    """Stores what is read, batch by batch."""
    reading, preview = lines.reading, Preview()
    with Rejects(reading, options.rejects, options.on_reject, dry_run=options.dry_run) as refused:
        done: Counter[str] = Counter()

        def so_far() -> Imported:
            counts = (done["inserted"], done["known"], done["duplicate"], refused.number)
            return Imported(*counts, preview=preview if options.dry_run else None)

        with says_how_far(lambda: f"{so_far().added:,} memories are stored"):
            for batch in _batches(lines.checked(refused), options.batch_size):
                if options.dry_run:
                    _look_at(preview, batch)
                groups: dict[tuple[str, bool], list[Line]] = {}
                for line in batch:
                    groups.setdefault((line.owner_id, line.has_state), []).append(line)
                for several in groups.values():
                    done.update(_stored(store, several, options, refused))
                options.on_progress(so_far(), batch[-1].read.position)
        store._run(partial(analysed_after, store._tables, 0 if options.dry_run else so_far().added))
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
            size += line.size
        if batch and (line is None or len(batch) == batch_size or size >= MOST_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        if problem is not None:
            raise problem
        if line is None:
            return


def _look_at(preview: Preview, batch: list[Line]) -> None:
    for line in batch[: FIRST - len(preview.memories)]:
        shown = {name: value for name, value in line.values.items() if value is not None}
        preview.memories.append({"owner": line.owner_id, **shown, "id": line.id})
    for line in batch:
        preview.owners[line.owner_id] = preview.owners.get(line.owner_id, 0) + 1


def _stored(store: Store, lines: list[Line], options: Options, refused: Rejects) -> Counter[str]:
    """Stores lines of one owner that all have state or all have none. How many had each outcome."""
    owner_id, has_state = lines[0].owner_id, lines[0].has_state
    if owner_id.startswith(TEAM):
        store, owner_id = store.teams, owner_id.removeprefix(TEAM)
    stored_as = require_owner(store._tables, owner_id)
    known = store._run(partial(stored_ids, store._tables, stored_as, [one.id for one in lines]))
    new = list({line.id: line for line in lines if line.id not in known}.values())
    counts = Counter(known=len(lines) - len(new))
    if options.dry_run:
        return counts + Counter(inserted=len(new))

    def outcomes(some: list[Line]) -> list[str]:
        check = {"check_compliance": options.check_compliance}
        if has_state:
            added: list[Added] = store.transfer.restore(
                owner_id, [line.values for line in some], **check
            )
        else:
            memories = [NewMemory(**line.values) for line in some]
            added = store.add_many(owner_id, memories, duplicates="keep", **check)
        return [
            one.outcome if one.outcome in ("inserted", "known") else "duplicate" for one in added
        ]

    try:
        counts.update(outcomes(new))
    except (InputError, SupersessionConflict):
        for line in new:  # one by one, to store the good lines and to name the bad one
            try:
                counts.update(outcomes([line]))
            except (InputError, SupersessionConflict) as error:
                error.args = (str(error).removeprefix(_ALONE),)
                refused.refuse(line.read, error)
    return counts
