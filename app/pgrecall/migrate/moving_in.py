"""Imports memories from the tables of other systems, as from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import URL, Connection, Engine

from pgrecall.core.embedders import model_name
from pgrecall.core.quoting import shortened
from pgrecall.core.steps import ALONE, READS, Ask, Operation, needs
from pgrecall.core.validation import require_callable, require_count, require_name
from pgrecall.core.zones import require_zone
from pgrecall.errors import EmbedderRequired, InputError
from pgrecall.execution import MemoryRepository
from pgrecall.execution.inspection import mismatch
from pgrecall.memories.imported_lines import Lines, path_value, renamed, require_map
from pgrecall.memories.importing import BATCH_SIZE, Imported, Options, import_lines
from pgrecall.memories.incoming import FIELDS
from pgrecall.memories.item_rules import OWNER_LABELS
from pgrecall.memories.lines import Reading
from pgrecall.memories.record import OWNER_FIELDS, STATE, is_uuid
from pgrecall.migrate.connecting import engine_of
from pgrecall.migrate.source_rows import Rows, Vectors, naming_source
from pgrecall.migrate.source_systems import System, SystemName, system_named
from pgrecall.schema import Layout, Tables
from pgrecall.schema.tables import require_owner
from pgrecall.schema.verbs import call

_KNOWN = (*FIELDS, *STATE, *OWNER_FIELDS)


def import_from(
    store: MemoryRepository,
    agent_id: str | UUID | None,
    system: SystemName,
    source: str | URL | Engine,
    *,
    table: str | None = None,
    collection: str | None = None,
    model: str | None = None,
    owner_labels: int = OWNER_LABELS,
    batch_size: int = BATCH_SIZE,
    check_compliance: bool = True,
    fields: Mapping[str, str] | None = None,
    timezone: str | tzinfo | None = None,
    rejects: Path | None = None,
    on_start: Callable[[int, str], None] = lambda rows, vectors: None,
    on_progress: Callable[[Imported, int], None] = lambda done, position: None,
    on_reject: Callable[[int, str], None] = lambda number, reason: None,
    dry_run: bool = False,
) -> Imported:
    """Stores each row of another system's table as a memory, as `import_file` does with lines.

    `system` is "mem0", "langgraph" (PostgresStore), "langchain" (PGVector; PGVectorStore with a
    `table`), "letta" (archival passages) or "table", any table with a column of text. `source` is
    its database, which is only read, in one transaction.

    `table` is the name of the table, with or without its schema, where it is not the usual one.
    `collection` is the only collection of LangChain to read. `fields` renames columns, and paths
    into them. Rows that name no owner are the agent's. `owner_labels` labels of a namespace of
    LangGraph name its agent.

    Vectors are taken over if their model is that of the schema, or else of the repository's
    embedder, and their dimensions are the schema's; otherwise texts are embedded anew. `model`
    names the model where the table does not. `on_start` is called with the number of rows, and a
    sentence about the vectors, which the result has as `vectors`.

    The other arguments, the result and the errors are those of `import_file`. Raises InputError if
    the source is not what `system` says.
    """
    if not isinstance(store, MemoryRepository):
        raise InputError(f"a store must be a MemoryRepository, got {type(store).__name__}")
    if agent_id is not None:
        require_owner(store._tables, agent_id)
    for name, value in (("table", table), ("collection", collection), ("model", model)):
        if value is not None:
            require_name(name, value)
    require_count("owner_labels", owner_labels, at_least=1, at_most=100)
    require_callable("on_start", on_start)
    options = Options(batch_size, check_compliance, rejects, on_progress, on_reject, dry_run)
    zone, renaming = require_zone(timezone), {} if fields is None else require_map(fields)
    chosen = system_named(system, table, collection)
    with _opened(source) as connection:
        rows = Rows.of(connection, chosen, table, collection, renaming)
        found = rows.vectors()
        taken, told = _decided(store, found, model)
        on_start(sum(one.rows for one in found), told)
        if not dry_run:
            _prepare(store, taken, told)
        naming = Naming(rows, renaming, owner_labels, taken)
        reading = Reading(
            rows.table.shown,
            lambda: rows.read(None if dry_run else taken),
            naming.fields,
            noun="row",
            about=naming.about,
            rejects_fields=True,
        )
        done = import_lines(store, Lines(store._tables, agent_id, zone, reading), options)
    if done.preview is not None:
        done.preview.left_behind.extend([*chosen.left_behind, *naming.left_out])
    return replace(done, vectors=told)


@contextmanager
def _opened(source: str | URL | Engine) -> Iterator[Connection]:
    """A connection in a transaction that only reads and shows one moment."""
    engine = engine_of(source)
    with naming_source():
        connection = engine.connect()
    with connection:
        yield connection.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )


@needs(READS)
def _layout(_: Tables, /) -> Operation[Layout]:
    layout: Layout = yield Ask("layout")
    return layout


def _layout_of(store: MemoryRepository) -> Layout:
    return store._run(partial(_layout, store._tables))


@needs(ALONE)
def _claim(tables: Tables, /, model: str) -> Operation[None]:
    """Records the model of the vectors, so that no others come beside them."""
    layout: Layout = yield Ask("layout")
    recorded = layout.model
    if recorded is None:  # unless it has been recorded since
        [(recorded,)] = yield call(tables, "claim_embedding_model", model=model)
    if recorded not in (None, model):
        raise mismatch(tables.schema, recorded, model)


def _prepare(store: MemoryRepository, taken: Vectors | None, told: str) -> None:
    """Before anything is stored."""
    if taken is not None and taken.model is not None:
        store._run(partial(_claim, store._tables, taken.model))
        return
    if store._tools.embedder is None:
        raise EmbedderRequired(f"{told}. Pass embedder=… to the repository")
    layout, ours = _layout_of(store), model_name(store._tools.embedder)
    if layout.model is not None and ours is not None and ours != layout.model:
        raise mismatch(store._tables.schema, layout.model, ours)


def _decided(
    store: MemoryRepository, found: Sequence[Vectors], named: str | None
) -> tuple[Vectors | None, str]:
    """The vectors to take over, or none of them, and why."""
    layout = _layout_of(store)
    with_vectors = [
        replace(one, model=one.model or named) for one in found if one.dimensions is not None
    ]
    if not with_vectors:
        return None, "the source has no vectors: every text is embedded"
    total = sum(one.rows for one in with_vectors)
    ours = layout.model or model_name(store._tools.embedder)
    for one in with_vectors:
        if one.model and one.model == (ours or one.model) and one.dimensions == layout.dimensions:
            return one, (
                f"{one.rows:,} of {total:,} vectors are taken over: they are of "
                f"{shortened(one.model)} and have {one.dimensions} dimensions, as those here"
            )
    most = with_vectors[0]
    if most.dimensions != layout.dimensions:
        why = f"they have {most.dimensions:,} dimensions, and those here {layout.dimensions:,}"
    elif not most.model:
        why = "the source does not say which model made them; name it (--model) to take them over"
    else:
        why = f"they are of {shortened(most.model)}, and those here of {shortened(ours)}"
    return None, f"{total:,} vectors are made anew: {why}"


@dataclass(frozen=True)
class Naming:
    """The names that a row's columns have here."""

    rows: Rows
    renaming: Mapping[str, str]
    owner_labels: int
    taken: Vectors | None

    @property
    def system(self) -> System:
        return self.rows.system

    def about(self, row: Mapping[str, Any]) -> str:
        """Says which row it is."""
        names = self.rows.table.key or [*self.rows.table.columns][:1]
        return ", ".join(f"{name} {shortened(row.get(name), 50)}" for name in names)

    def fields(self, row: dict[str, Any], vector: Sequence[float] | None) -> dict[str, Any]:
        if vector is not None and self.rows.vector is not None:
            row[self.rows.vector] = vector
        if self.system.shape is not None:
            row = self.system.shape(row, self.owner_labels)
        values = renamed(row, self._names(row))
        if self.system.keeps_others:
            _keep_others(values)
        for name in (*OWNER_FIELDS, "key", "session"):
            if type(values.get(name)) is int:
                values[name] = str(values[name])
        if self._id_of_key is not None and not is_uuid(values.get("id")):
            # Of another table, the same number is another memory.
            values["id"] = f"{self.rows.table.name}:{values.get('id')}"
        if values.get("embedding") is not None:
            if self.taken is None:
                del values["embedding"]
            else:
                values.setdefault("embedding_model", self.taken.model)
        return values

    def _names(self, row: Mapping[str, Any]) -> dict[str, str]:
        """Old → new name: the caller's, those of the first columns with a value, the system's."""
        names, given = {**self.renaming}, {*self.renaming.values()}
        for new, paths in self.system.firsts.items():
            if new in given or (new in OWNER_FIELDS and given & {*OWNER_FIELDS}):
                continue
            free = (path for path in paths if path not in names)
            path = next((one for one in free if path_value(row, one) is not None), None)
            if path is not None:
                names[path] = new
        for old, new in self._defaults.items():
            names.setdefault(old, new)
        return names

    @property
    def _defaults(self) -> Mapping[str, str]:
        """The system's names. A table's primary key is the id, if it is one column, or the key."""
        given = {*self.renaming.values()}
        if self.system.fields or self.system.shape is not None:
            return self.system.fields
        defaults = {}
        if self.rows.vector is not None and "embedding" not in given:
            defaults[self.rows.vector] = "embedding"
        if self._id_of_key is not None:
            defaults[self._id_of_key] = "id"
        return defaults

    @property
    def _id_of_key(self) -> str | None:
        """The column of the primary key, if ids are made from it."""
        table, given = self.rows.table, {*self.renaming.values()}
        is_table = not self.system.fields and self.system.shape is None
        alone = is_table and len(table.key) == 1 and not given & {"id", "key"}
        return table.key[0] if alone else None

    @property
    def left_out(self) -> list[str]:
        """A sentence about columns that the caller leaves behind."""
        names = sorted(old for old, new in self.renaming.items() if not new)
        return [f"what you left out: {', '.join(names)}"] if names else []


def _keep_others(values: dict[str, Any]) -> None:
    """Moves what is no field into the metadata."""
    others = [name for name in values if name not in _KNOWN]
    if not others:
        return
    metadata = values.get("metadata")
    if metadata is None:
        metadata = values["metadata"] = {}
    for name in others:
        value = values.pop(name)
        if value is not None and isinstance(metadata, dict):
            metadata.setdefault(name, value)
