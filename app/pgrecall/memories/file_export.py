"""Exports memories to a file. An interrupted export can be resumed."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Unpack
from uuid import UUID

from pgrecall.core.memory import TEAM
from pgrecall.core.quoting import LONGEST, shortened
from pgrecall.core.validation import require_bool, require_callable
from pgrecall.errors import InputError
from pgrecall.memories.exporting import BATCH_SIZE
from pgrecall.memories.lines import file_of_memories, require_new
from pgrecall.ranking.filters import FilterArguments

_PIECE = 2**20


class Source(Protocol):
    """The part of a repository that an export needs."""

    @property
    def transfer(self) -> Any: ...


def export_file(
    store: Source,
    path: str | Path,
    *,
    agent_id: str | UUID | Sequence[str | UUID] | None = None,
    events: bool = False,
    resume: bool = False,
    on_progress: Callable[[int], None] = lambda exported: None,
    **filters: Unpack[FilterArguments],
) -> int:
    """Writes memories to a new file that `import_file` reads, and returns how many.

    The file has JSON Lines, and is gzipped if its name ends with .gz. It is written as <path>.part,
    and renamed once it is complete. If an export was interrupted, `resume` goes on behind the last
    memory in <path>.part; give the same arguments.

    The other arguments are those of `transfer.export`. `on_progress` is called after each batch
    with the number of memories written. Raises InputError.
    """
    path = require_new(file_of_memories(path))
    require_bool("resume", resume)
    require_callable("on_progress", on_progress)
    part = path.with_name(f"{path.name}.part")
    shown = shortened(path, LONGEST)
    if not resume and part.exists():
        raise InputError(
            f"{shortened(part, LONGEST)} is there from an interrupted export: resume it, or delete "
            "it"
        )
    exported = 0
    try:
        writer = _LinesWriter(part)

        def write(lines: list[str]) -> None:
            nonlocal exported
            writer.write(lines)
            exported += len(lines)
            on_progress(exported)

        try:
            after = writer.last() if resume else None
            chosen = {"agent_id": agent_id, "after": after, **filters}
            store.transfer.export(write, events=events, batch_size=BATCH_SIZE, **chosen)
        finally:
            writer.close()
        part.replace(path)
    except OSError as error:
        raise InputError(f"{shown} cannot be written: {error.strerror or error}") from error
    return exported


class _LinesWriter:
    """Appends lines to a file. Gzipped, each batch is a member of its own, complete by itself."""

    def __init__(self, path: Path) -> None:
        self._packs = path.name.endswith(".gz.part")
        self._path = path
        self._file: BinaryIO = path.open("a+b")

    def last(self) -> tuple[str, UUID] | None:
        """Owner and id of the last memory; cuts off what was not written completely."""
        end, line = (_last_member if self._packs else _last_line)(self._file)
        self._file.truncate(end)
        if not line:
            return None
        try:
            values = json.loads(line)
            team_id = values["team_id"]
            owner_id = values["agent_id"] if team_id is None else f"{TEAM}{team_id}"
            return owner_id, UUID(values["id"])
        except (ValueError, TypeError, LookupError):
            raise InputError(
                f"{shortened(self._path, LONGEST)} is not an export that can be resumed"
            ) from None

    def write(self, lines: list[str]) -> None:
        text = "".join(f"{line}\n" for line in lines).encode()
        self._file.write(gzip.compress(text, 6) if self._packs else text)
        self._file.flush()

    def close(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


def _last_line(file: BinaryIO) -> tuple[int, bytes]:
    """The end of the last complete line, and the line."""
    place = file.seek(0, os.SEEK_END)
    tail, end = b"", 0
    while place:
        piece = min(_PIECE, place)
        place -= piece
        file.seek(place)
        tail = file.read(piece) + tail
        end = end or (place + tail.rfind(b"\n") + 1 if b"\n" in tail else 0)
        begin = tail.rfind(b"\n", 0, end - place - 1) + 1 if end else 0
        if begin or (end and not place):
            return end, tail[begin : end - place]
    return 0, b""


def _last_member(file: BinaryIO) -> tuple[int, bytes]:
    """The end of the last complete member of a gzip file, and its last line."""
    file.seek(0)
    end, line = 0, b""
    member, text, rest = zlib.decompressobj(31), bytearray(), b""
    while data := rest or file.read(_PIECE):
        try:
            text += member.decompress(data)
        except zlib.error:
            break
        rest = member.unused_data
        if member.eof:
            end = file.tell() - len(rest)
            line = bytes(text).rstrip(b"\n").rpartition(b"\n")[2]
            member, text = zlib.decompressobj(31), bytearray()
    return end, line
